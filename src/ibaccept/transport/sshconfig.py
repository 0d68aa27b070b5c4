"""What OpenSSH's configuration says about a host: ``ssh -G``, or paramiko's parser without it."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import paramiko

from ibaccept.errors import InputError
from ibaccept.transport import Host, TransportError

SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")
USER_KNOWN_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
GLOBAL_KNOWN_HOSTS = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
DEFAULT_KEYS = ("~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa")

_RESOLVE_SECONDS = 10
_SSH_PORT = 22


@dataclass(frozen=True, slots=True)
class SshSettings:
    """Everything needed to connect to one host.

    Attributes:
        hostname: what to resolve and connect to.
        port: TCP port.
        user: login name.
        identity_files: private keys in the order to try; they need not exist.
        identities_only: offer only the keys of ``identity_files``.
        use_agent: False with ``IdentityAgent none``.
        known_hosts: files to look the host key up in; they need not exist.
        host_key_alias: name to look the host key up by, instead of ``hostname``.
        proxy_jump: hosts to go through, in order: ``user@host:port``.
        proxy_command: command whose stdin and stdout is the connection; tokens are expanded.
    """

    hostname: str
    port: int
    user: str
    identity_files: tuple[Path, ...] = ()
    identities_only: bool = False
    use_agent: bool = True
    known_hosts: tuple[Path, ...] = ()
    host_key_alias: str | None = None
    proxy_jump: tuple[str, ...] = ()
    proxy_command: str | None = None

    @property
    def endpoint(self) -> str:
        """``host port 22`` for messages."""
        return f"{self.hostname} port {self.port}"


def resolve(host: Host, *, config: Path | None = None) -> SshSettings:
    """Settings of a host: inventory first, then the configuration, then OpenSSH's defaults.

    Args:
        host: the host.
        config: used instead of the user's and the system's configuration (``ssh -F``).

    Raises:
        TransportError: the configuration could not be read for this host.
        InputError: ``config`` does not exist.
    """
    if config is not None and not config.is_file():
        raise InputError(f"the SSH configuration {config} does not exist")
    target = host.address or host.name
    if target.startswith("-") or not re.fullmatch(r"[^\s\x00]+", target):
        raise TransportError(host.name, "resolve", f"{target!r} is not a host name")
    ssh = shutil.which("ssh")
    options = _ask_ssh(ssh, host, target, config) if ssh else _parse(host, target, config)
    return _settings(host, target, options)


def _ask_ssh(ssh: str, host: Host, target: str, config: Path | None) -> Mapping[str, list[str]]:
    command = [ssh, "-G"]
    if config is not None:
        command += ["-F", str(config)]
    if host.user is not None:
        command += ["-l", host.user]
    if host.port is not None:
        command += ["-p", str(host.port)]
    try:
        done = subprocess.run(
            [*command, "--", target],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_RESOLVE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TransportError(
            host.name, "resolve", f"'ssh -G {target}' did not end; see 'Match exec' in ssh_config"
        ) from None
    if done.returncode != 0:
        printed = done.stderr.decode("utf-8", "replace").strip()
        raise TransportError(host.name, "resolve", f"'ssh -G {target}' failed: {printed}")
    options: dict[str, list[str]] = {}
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        key, _, value = line.partition(" ")
        options.setdefault(key.lower(), []).append(value.strip())
    return options


def _parse(host: Host, target: str, config: Path | None) -> Mapping[str, list[str]]:
    """As ``ssh -G``, by paramiko: first match wins, user's file before the system's."""
    files = [config] if config is not None else [Path("~/.ssh/config").expanduser(), SYSTEM_CONFIG]
    parsed = paramiko.SSHConfig()
    try:
        for file in files:
            if file.is_file():
                with file.open(encoding="utf-8") as text:
                    parsed.parse(text)
        found = parsed.lookup(target)
    except (paramiko.ConfigParseError, OSError, UnicodeDecodeError) as error:
        raise TransportError(
            host.name, "resolve", f"the SSH configuration is not readable: {error}"
        ) from error
    return {
        key: [str(item) for item in value] if isinstance(value, list) else [str(value)]
        for key, value in found.items()
    }


def _settings(host: Host, target: str, options: Mapping[str, list[str]]) -> SshSettings:
    def first(key: str) -> str | None:
        values = options.get(key)
        return values[0] if values and values[0] and values[0] != "none" else None

    hostname = first("hostname") or target
    port = host.port if host.port is not None else int(first("port") or _SSH_PORT)
    user = host.user or first("user") or getpass.getuser()
    tokens = {
        "%": "%",
        "d": str(Path.home()),
        "h": hostname,
        "n": target,
        "p": str(port),
        "r": user,
        "u": getpass.getuser(),
    }

    def paths(values: Iterable[str]) -> list[Path]:
        return [
            Path(os.path.expanduser(expand(value.strip('"'), tokens)))  # noqa: PTH111 - "~nobody" stays as it is, Path raises
            for value in values
            if value != "none"
        ]

    identities = options.get("identityfile") or list(DEFAULT_KEYS)
    known = options.get("userknownhostsfile") or [" ".join(USER_KNOWN_HOSTS)]
    known = known + (options.get("globalknownhostsfile") or [" ".join(GLOBAL_KNOWN_HOSTS)])
    jump, command = first("proxyjump"), first("proxycommand")
    return SshSettings(
        hostname,
        port,
        user,
        tuple([host.key_file.expanduser()] if host.key_file is not None else paths(identities)),
        host.key_file is not None or first("identitiesonly") == "yes",
        options.get("identityagent") != ["none"],
        tuple(paths(word for line in known for word in line.split())),
        first("hostkeyalias"),
        tuple(part.strip() for part in jump.split(",")) if jump else (),
        expand(command, tokens) if command and not jump else None,
    )


def expand(text: str, tokens: Mapping[str, str]) -> str:
    """Replace ``%h`` and the like; a token that is not known stays as it is."""
    return re.sub(r"%(.)", lambda match: tokens.get(match[1], match[0]), text)


def jump_host(text: str) -> Host:
    """The host of one ProxyJump step: ``user@host:port``, ``[v6]:port`` or ``ssh://...``.

    Raises:
        ValueError: none of these.
    """
    match = re.fullmatch(
        r"(?:ssh://)?(?:(?P<user>[^@]+)@)?(?:\[(?P<v6>[^\]]+)\]|(?P<name>[^:@\[\]]+))(?::(?P<port>\d+))?/?",
        text,
    )
    if match is None:
        raise ValueError(f"{text!r} is not a ProxyJump host such as user@host:22")
    port = match["port"]
    return Host(match["v6"] or match["name"], port=int(port) if port else None, user=match["user"])

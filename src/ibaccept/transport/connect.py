"""One SSH connection: reach the server, check its key, log in. Each failure is one sentence."""

from __future__ import annotations

import contextlib
import logging
import random
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paramiko
from paramiko.message import Message
from paramiko.ssh_exception import IncompatiblePeer

from ibaccept.transport import TransportError
from ibaccept.transport.hostkeys import HostKeyError, KnownHosts
from ibaccept.transport.sshconfig import SshSettings

# every failure is reported as a TransportError; paramiko logs a traceback of each, which must not
# appear beside it, whatever handlers pytest or a caller has put on the root logger
logging.getLogger("paramiko").addHandler(logging.NullHandler())
logging.getLogger("paramiko").propagate = False

_RETRIES = (0.3, 0.8, 2.0, 4.0)
"""Seconds before connecting again where the server drops connections (sshd's MaxStartups)."""

_KEY_CLASSES: tuple[type[paramiko.PKey], ...] = (
    paramiko.Ed25519Key,
    paramiko.ECDSAKey,
    paramiko.RSAKey,
)

_CHANNEL_REQUEST = 98  # SSH_MSG_CHANNEL_REQUEST, RFC 4254 section 9


def _note_exit_signal(channel: paramiko.Channel, message: Message) -> None:
    """Keep the name of an ``exit-signal`` request (RFC 4254, 6.10), which paramiko drops."""
    peek = Message(message.get_remainder())
    if peek.get_text() == "exit-signal":
        peek.get_boolean()
        vars(channel)["exit_signal"] = peek.get_text()
    # no public way to add a request: paramiko's own handler follows
    handler: Any = paramiko.Channel._handle_request  # type: ignore[attr-defined]  # noqa: SLF001 - not in the stubs
    handler(channel, message)


class SignalTransport(paramiko.Transport):
    """paramiko's Transport that also hears how a command was ended by a signal."""

    _channel_handler_table = {  # noqa: RUF012 - overrides paramiko's table
        **paramiko.Transport._channel_handler_table,  # type: ignore[attr-defined]  # noqa: SLF001 - not in the stubs
        _CHANNEL_REQUEST: _note_exit_signal,
    }


def exit_signal(channel: paramiko.Channel) -> str | None:
    """Name of the signal that ended the channel's command (``KILL``), None otherwise."""
    name = vars(channel).get("exit_signal")
    return None if name is None else str(name)


class ProxyProcess:
    """A ProxyCommand: its stdin and stdout are the connection."""

    def __init__(self, host: str, command: str) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    ["/bin/sh", "-c", f"exec {command}"],
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),
                )
            except OSError as error:
                ours.close()
                raise TransportError(
                    host, "connect", f"the ProxyCommand {command!r} could not be started: {error}"
                ) from error
        self.socket = ours

    def close(self) -> None:
        """End the command."""
        self.socket.close()
        self._process.terminate()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def dial(host: str, settings: SshSettings, timeout: float) -> socket.socket:
    """Resolve the name and connect.

    Raises:
        TransportError: the name does not resolve, the port is closed, or nothing answers.
    """
    where = settings.endpoint
    try:
        sock = socket.create_connection((settings.hostname, settings.port), timeout)
    except (socket.gaierror, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a valid name"
        raise TransportError(
            host,
            "resolve",
            f"the name {settings.hostname} does not resolve ({why}); check the inventory, "
            "ssh_config and DNS",
        ) from error
    except ConnectionRefusedError as error:
        raise TransportError(
            host, "connect", f"{where} refused the connection; is sshd running on that port?"
        ) from error
    except TimeoutError as error:
        raise TransportError(
            host,
            "connect",
            f"{where} did not answer within {timeout:g} s; is it up, and is a firewall between?",
        ) from error
    except OSError as error:
        raise TransportError(
            host, "connect", f"{where} cannot be reached: {error.strerror or error}"
        ) from error
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # a command is a few small packets each way: Nagle's delay would cost more than the command
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def retry_delays() -> Iterator[float]:
    """Waits between attempts, with jitter so that many hosts do not come back together."""
    for delay in _RETRIES:
        yield delay * random.uniform(0.7, 1.3)  # noqa: S311 - jitter, no secret


class DroppedError(Exception):
    """The server closed the connection before its banner: it may be busy, try again."""


def handshake(host: str, settings: SshSettings, sock: Any, timeout: float) -> SignalTransport:
    """Exchange keys and check the server's; nothing is sent to a server that is not known.

    Args:
        host: inventory name, for messages.
        settings: of the host.
        sock: a connected socket or a ``direct-tcpip`` channel.
        timeout: seconds for the banner, and for the key exchange.

    Raises:
        TransportError: no SSH server, no common algorithm, or a host key that is not accepted.
        DroppedError: worth another attempt.
    """
    where = settings.endpoint
    try:
        known = KnownHosts.read(
            settings.known_hosts, settings.hostname, settings.port, settings.host_key_alias
        )
    except HostKeyError as error:
        raise TransportError(host, "host key", str(error)) from error
    started = time.monotonic()
    try:
        transport = SignalTransport(sock)
    except (paramiko.SSHException, OSError, EOFError) as error:
        raise DroppedError(str(error)) from error
    transport.daemon = True
    transport.banner_timeout = transport.auth_timeout = timeout
    _prefer(transport, known)
    try:
        try:
            transport.start_client(timeout=timeout)
            key = transport.get_remote_server_key()
        except IncompatiblePeer as error:
            raise TransportError(
                host, "connect", f"{where} shares no algorithm with us: {error}"
            ) from error
        except (paramiko.SSHException, OSError, EOFError) as error:
            if time.monotonic() - started >= timeout * 0.95:
                raise TransportError(
                    host,
                    "connect",
                    f"{where} accepted the connection and did not greet as an SSH server "
                    f"within {timeout:g} s; is it an SSH port, and is the host overloaded?",
                ) from error
            if "Indecipherable protocol version" in str(error):
                raise TransportError(
                    host, "connect", f"{where} does not speak SSH; check the port"
                ) from error
            raise DroppedError(str(error) or type(error).__name__) from error
        try:
            known.check(key.get_name(), key.asbytes())
        except HostKeyError as error:
            raise TransportError(host, "host key", str(error)) from error
    except BaseException:
        transport.close()
        raise
    return transport


def _prefer(transport: paramiko.Transport, known: KnownHosts) -> None:
    """Ask for the key types that known_hosts holds first."""

    def rank(algorithm: str) -> bool:
        plain = "ssh-rsa" if algorithm.startswith("rsa-sha2-") else algorithm
        return plain not in known.types

    options = transport.get_security_options()
    options.key_types = tuple(sorted(options.key_types, key=rank))


def log_in(host: str, settings: SshSettings, transport: paramiko.Transport) -> None:
    """Authenticate with the agent's keys and the key files, as OpenSSH orders them.

    Raises:
        TransportError: no key was accepted.
    """
    tried: list[str] = []
    encrypted: list[str] = []
    agent = paramiko.Agent() if settings.use_agent else None
    try:
        for name, key in _keys(settings, agent, encrypted):
            try:
                further = transport.auth_publickey(settings.user, key)
            except paramiko.BadAuthenticationType as error:
                raise TransportError(
                    host,
                    "authentication",
                    f"the server takes no keys from {settings.user}, only "
                    f"{', '.join(error.allowed_types)}; an unattended run needs a key",
                ) from error
            except (paramiko.SSHException, OSError, EOFError):
                tried.append(name)
                if not transport.is_active():
                    break
                continue
            if not further:
                return
            raise TransportError(
                host,
                "authentication",
                f"the server took the key {name} and wants {', '.join(further)} as well, "
                "which an unattended run cannot give",
            )
    finally:
        if agent is not None:
            agent.close()
    raise TransportError(host, "authentication", _refusal(settings, transport, tried, encrypted))


def _refusal(
    settings: SshSettings, transport: paramiko.Transport, tried: list[str], encrypted: list[str]
) -> str:
    where = f"{settings.user}@{settings.endpoint}"
    locked = (
        f"{', '.join(encrypted)} needs a passphrase and no agent holds it; "
        "start ssh-agent and run ssh-add"
        if encrypted
        else ""
    )
    if not tried:
        if locked:
            return f"no key to log in to {where} with: {locked}"
        return (
            f"no key to log in to {where} with: the agent holds none and no key file exists; "
            "set ansible_ssh_private_key_file or IdentityFile"
        )
    ended = "" if transport.is_active() else " and ended the connection"
    also = f"; {locked}" if locked else ""
    return (
        f"{where} accepted none of the keys offered ({', '.join(tried)}){ended}{also}; "
        "check authorized_keys and the user name there"
    )


def _keys(
    settings: SshSettings, agent: paramiko.Agent | None, encrypted: list[str]
) -> Iterator[tuple[str, paramiko.PKey]]:
    """Keys in OpenSSH's order: the agent's that IdentityFile names, its others, the files."""
    held = list(agent.get_keys()) if agent is not None else []
    named = {blob for file in settings.identity_files if (blob := _public(file)) is not None}
    wanted = [key for key in held if key.asbytes() in named]
    if not settings.identities_only:
        wanted += [key for key in held if key.asbytes() not in named]
    for number, key in enumerate(wanted, 1):
        yield f"agent key {number} ({key.get_name()})", key
    offered = {key.asbytes() for key in wanted}
    for file in settings.identity_files:
        if _public(file) in offered:
            continue
        try:
            loaded = load_key(file)
        except paramiko.PasswordRequiredException:
            encrypted.append(str(file))
            continue
        if loaded is not None and loaded.asbytes() not in offered:
            yield str(file), loaded


def _public(file: Path) -> bytes | None:
    """The public key beside a private key file, None where there is none."""
    public = file if file.suffix == ".pub" else file.with_name(f"{file.name}.pub")
    with contextlib.suppress(OSError, UnicodeDecodeError, ValueError, paramiko.SSHException):
        return paramiko.pkey.PublicBlob.from_string(public.read_text(encoding="utf-8")).key_blob
    return None


def load_key(file: Path) -> paramiko.PKey | None:
    """A private key, None where the file does not exist or is no key that we know.

    Raises:
        paramiko.PasswordRequiredException: it is encrypted.
    """
    for kind in _KEY_CLASSES:
        try:
            return kind.from_private_key_file(str(file))
        except paramiko.PasswordRequiredException:
            raise
        except (paramiko.SSHException, ValueError, IndexError):
            continue
        except OSError:
            return None
    return None

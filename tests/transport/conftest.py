"""A real OpenSSH server on loopback, started by the tests as an ordinary process."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ibaccept.transport import Host
from ibaccept.transport.local import LocalTransport
from ibaccept.transport.ssh import SshTransport


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def keygen(path: Path, *, kind: str = "ed25519", passphrase: str = "") -> str:
    """Make a key pair; returns the public key's line."""
    command = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "test", "-f", str(path)]
    subprocess.run(command, check=True)
    return path.with_name(f"{path.name}.pub").read_text().strip()


@dataclass
class Server:
    """One sshd. ``known_hosts`` and ``config`` are what a client needs to use it as ``h``."""

    folder: Path
    port: int
    process: subprocess.Popen
    host_key: str
    key_file: Path
    known_hosts: Path
    config: Path
    transports: list[SshTransport] = field(default_factory=list)

    def host(self, name: str = "h", **changes) -> Host:
        values = {"address": "127.0.0.1", "port": self.port, "user": "root"} | changes
        return Host(name, key_file=values.pop("key_file", self.key_file), **values)

    def transport(self, **options) -> SshTransport:
        options = {"ssh_config": self.config, "connect_timeout": 20} | options
        made = SshTransport(options.pop("permit", lambda _: True), **options)
        self.transports.append(made)
        return made

    def sessions(self) -> list[int]:
        """Process ids of the connections this server holds."""
        return children_of(self.process.pid)


def children_of(pid: int) -> list[int]:
    with contextlib.suppress(FileNotFoundError):
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(word) for word in text.split()]
    return []


def start_sshd(folder: Path, *lines: str) -> Server:
    Path("/run/sshd").mkdir(exist_ok=True)  # sshd's privilege separation wants it
    folder.mkdir()
    port = free_port()
    host_key = keygen(folder / "host_key")
    (folder / "authorized_keys").write_text(keygen(folder / "user_key") + "\n")
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host_key\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\nUseDNS no\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\n" + "\n".join(lines) + "\n"
    )
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key}\n")
    (folder / "ssh_config").write_text(
        f"Host *\n  UserKnownHostsFile {folder}/known_hosts\n  GlobalKnownHostsFile none\n"
        "  IdentityAgent none\n"
    )
    log = (folder / "log").open("wb")
    process = subprocess.Popen(
        ["/usr/sbin/sshd", "-D", "-e", "-f", str(folder / "sshd_config")],
        stdin=subprocess.DEVNULL,
        stderr=log,
    )
    log.close()
    server = Server(
        folder,
        port,
        process,
        host_key,
        folder / "user_key",
        folder / "known_hosts",
        folder / "ssh_config",
    )
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return server
        time.sleep(0.05)
    stop_sshd(server)
    raise RuntimeError((folder / "log").read_text())


def stop_sshd(server: Server) -> None:
    for transport in server.transports:
        transport.close()
    server.process.terminate()
    server.process.wait(10)


@pytest.fixture(scope="session")
def sshd(tmp_path_factory) -> Iterator[Server]:
    server = start_sshd(tmp_path_factory.mktemp("sshd") / "one")
    yield server
    stop_sshd(server)


@pytest.fixture
def new_sshd(tmp_path) -> Iterator[Callable[..., Server]]:
    """Starts servers of the test's own: ``new_sshd("name", "MaxStartups 2")``."""
    started: list[Server] = []

    def start(name: str, *lines: str) -> Server:
        started.append(start_sshd(tmp_path / name, *lines))
        return started[-1]

    yield start
    for server in started:
        stop_sshd(server)


@pytest.fixture(params=["local", "ssh"])
def runner(request) -> Iterator[Callable]:
    """``run(*argv, **options)`` on this machine and over SSH: both must do the same."""
    if request.param == "local":
        transport = LocalTransport(lambda _: True)
        host = Host("h", local=True)
    else:
        server = request.getfixturevalue("sshd")
        transport = server.transport()
        host = server.host()

    def run(*argv, host=host, timeout=20, **options):
        return transport.run(host, argv, timeout=timeout, **options)

    run.transport = transport
    run.host = host
    yield run
    transport.close()


def processes_with(marker: str) -> list[int]:
    """Process ids whose command line holds ``marker``, this process excepted."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError):
                if marker.encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
    return found


@pytest.fixture
def leftovers() -> Callable[[str], list[int]]:
    """Waits up to twenty seconds for a marker to disappear; what is left then."""

    def wait(marker: str) -> list[int]:
        deadline = time.monotonic() + 20
        while (found := processes_with(marker)) and time.monotonic() < deadline:
            time.sleep(0.05)
        for pid in found:
            os.kill(pid, signal.SIGKILL)
        return found

    return wait


@pytest.fixture
def wait_for() -> Callable[[str], list[int]]:
    """Waits up to five seconds for a marker to appear."""

    def wait(marker: str) -> list[int]:
        deadline = time.monotonic() + 5
        while not (found := processes_with(marker)) and time.monotonic() < deadline:
            time.sleep(0.02)
        return found

    return wait

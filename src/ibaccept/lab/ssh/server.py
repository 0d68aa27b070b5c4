"""A real SSH server on loopback: one port, the user name says which host.

Every exec request is run by ``sh -c`` as a real process, as sshd does: three pipes, exit status or
exit signal, and when the channel or the connection closes the process sees EOF on its stdin (and
SIGPIPE when it writes) and is otherwise left alone. The server knows nothing of the simulated
fabric; a :class:`Site` answers what it needs to know.
"""

from __future__ import annotations

import contextlib
import json
import logging
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import paramiko
from paramiko.common import (
    AUTH_FAILED,
    AUTH_SUCCESSFUL,
    MSG_CHANNEL_SUCCESS,
    OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED,
    OPEN_SUCCEEDED,
    cMSG_CHANNEL_REQUEST,
)

from ibaccept.lab.ssh.process import Processes
from ibaccept.lab.ssh.pump import Pump

MAX_CONNECTIONS = 1024
MAX_COMMANDS = 512
"""Commands that run at a time; more wait. A thread each, started when first needed."""

# Two hundred hosts are connected to at once by a test, from one process, on two cores.
_HANDSHAKE_SECONDS = 120.0
_BACKLOG = 512

_LOGGER = logging.getLogger("ibaccept.lab.ssh.server")
# A client that goes away without a word is no news for the terminal.
_LOGGER.addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Request:
    """One exec request.

    Attributes:
        host: SSH user name.
        text: the exec string as it came.
    """

    host: str
    text: str


@dataclass(frozen=True, slots=True)
class CommandRun:
    """How to serve a request.

    Attributes:
        text: what ``sh -c`` gets.
        env: whole environment of the process.
        disconnect_at: per cent of stdout after which the connection is cut; None = not.
    """

    text: str
    env: Mapping[str, str]
    disconnect_at: int | None = None


class Site(Protocol):
    """What the server asks about the hosts it plays."""

    def admits(self, host: str, key: paramiko.PKey) -> bool:
        """Whether this public key logs in as that host."""
        ...

    def prepare(self, request: Request) -> CommandRun:
        """Called before the process starts."""
        ...

    def served(self, request: Request) -> None:
        """Called when the process has ended, before the client gets its exit status.

        Not called where the client was gone before.
        """
        ...


def _listen() -> socket.socket:
    """A socket listening on a free port of loopback."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
    listener.setblocking(True)
    return listener


@dataclass
class Listener:
    """A port to listen on and the host key shown there."""

    key: paramiko.PKey
    socket: socket.socket = field(default_factory=_listen)

    @property
    def port(self) -> int:
        """The TCP port, on 127.0.0.1."""
        return int(self.socket.getsockname()[1])


class _Transport(paramiko.Transport):
    """Tells when the answer to an exec request has been sent: output must not overtake it."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        self.answered: dict[int, threading.Event] = {}
        self.host = ""

    def _send_user_message(self, data: paramiko.Message) -> None:
        # Private in paramiko, which has no public way to know this or to send an exit-signal.
        super()._send_user_message(data)  # type: ignore[misc]  # not in the type stubs
        raw = data.asbytes()
        if raw[:1] == bytes([MSG_CHANNEL_SUCCESS]):
            event = self.answered.pop(int.from_bytes(raw[1:5], "big"), None)
            if event is not None:
                event.set()


class _Session(paramiko.ServerInterface):
    """One connection: who logged in, and the exec requests on its channels."""

    def __init__(self, server: SshServer, transport: _Transport) -> None:
        self._server = server
        self._transport = transport
        self._host = ""

    def get_allowed_auths(self, username: str) -> str:  # noqa: ARG002 - paramiko's signature
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        self._transport.host = username
        if username in self._server.dead:
            self._transport.close()
            return AUTH_FAILED
        if not self._server.site.admits(username, key):
            return AUTH_FAILED
        self._host = username
        return AUTH_SUCCESSFUL

    def check_channel_request(self, kind: str, chanid: int) -> int:  # noqa: ARG002 - paramiko's
        return OPEN_SUCCEEDED if kind == "session" else OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_env_request(
        self,
        channel: paramiko.Channel,  # noqa: ARG002 - paramiko's signature
        name: bytes,  # noqa: ARG002 - as above
        value: bytes,  # noqa: ARG002 - as above
    ) -> bool:
        # OpenSSH sends LANG and the like; as sshd without AcceptEnv: not taken.
        return False

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        answered = threading.Event()
        self._transport.answered[_remote_id(channel)] = answered
        request = Request(self._host, command.decode("utf-8", "surrogateescape"))
        return self._server.submit(channel, request, answered)


class SshServer:
    """Listens, authenticates, runs commands and writes them to a log.

    Args:
        site: answers about hosts.
        processes: what starts child processes.
        listeners: ports and host keys.
        cwd: working directory of every command.
        log: JSON lines ``{"time", "host", "exec", "exit"}``, one per command when it has ended.
    """

    def __init__(
        self,
        site: Site,
        processes: Processes,
        listeners: tuple[Listener, ...],
        cwd: Path,
        log: Path,
    ) -> None:
        self.site = site
        self._processes = processes
        self._listeners = listeners
        self._cwd = cwd
        self._log = log
        self._lock = threading.Lock()
        self._transports: set[_Transport] = set()
        self._stopping = threading.Event()
        self.dead: set[str] = set()
        self._pool = ThreadPoolExecutor(MAX_COMMANDS, thread_name_prefix="lab-exec")
        self._acceptor = threading.Thread(target=self._accept, name="lab-accept", daemon=True)
        self._wake_read, self._wake_write = socket.socketpair()

    def start(self) -> None:
        """Accept connections from now on."""
        self._acceptor.start()

    def stop(self) -> None:
        """Close every connection; running commands see EOF. Call ``Processes.stop`` before."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._wake_write.send(b"x")
        if self._acceptor.ident is not None:
            self._acceptor.join()
        for listener in self._listeners:
            listener.socket.close()
        with self._lock:
            transports = tuple(self._transports)
        for transport in transports:
            transport.close()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for transport in transports:
            transport.join(5.0)
        self._wake_read.close()
        self._wake_write.close()

    def power_off(self, host: str) -> None:
        """A host is gone: its connections break, new ones are cut before anybody is let in."""
        self.dead.add(host)
        with self._lock:
            gone = [transport for transport in self._transports if transport.host == host]
        for transport in gone:
            transport.close()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake_read, selectors.EVENT_READ)
            for listener in self._listeners:
                selector.register(listener.socket, selectors.EVENT_READ, listener)
            while not self._stopping.is_set():
                for key, _events in selector.select():
                    if isinstance(key.data, Listener):
                        self._greet(key.data)

    def _greet(self, listener: Listener) -> None:
        try:
            connection, _address = listener.socket.accept()
        except OSError:
            return
        with self._lock:
            self._transports = {t for t in self._transports if t.is_alive()}
            if len(self._transports) >= MAX_CONNECTIONS:
                connection.close()
                return
        transport = _Transport(connection)
        transport.daemon = True
        transport.set_log_channel(_LOGGER.name)
        transport.banner_timeout = _HANDSHAKE_SECONDS
        transport.handshake_timeout = _HANDSHAKE_SECONDS
        transport.auth_timeout = _HANDSHAKE_SECONDS
        transport.add_server_key(listener.key)
        with self._lock:
            self._transports.add(transport)
        # With an event given, paramiko does not wait for the handshake here.
        transport.start_server(event=threading.Event(), server=_Session(self, transport))

    def submit(
        self, channel: paramiko.Channel, request: Request, answered: threading.Event
    ) -> bool:
        """Queue a command; False when the server is being stopped."""
        try:
            self._pool.submit(self._serve, channel, request, answered)
        except RuntimeError:
            return False
        return True

    def _serve(
        self, channel: paramiko.Channel, request: Request, answered: threading.Event
    ) -> None:
        started = time.time()
        answered.wait(_HANDSHAKE_SECONDS)
        code: int | None = None

        def ended(returncode: int) -> None:
            self.site.served(request)
            if run.disconnect_at is None:
                _send_exit(channel, returncode)

        try:
            run = self.site.prepare(request)
            process = self._processes.start(
                ["sh", "-c", run.text], env=run.env, cwd=self._cwd, stdin=subprocess.PIPE
            )
            try:
                Pump(channel, process, run.disconnect_at).run(ended)
            finally:
                # Whatever became of the channel, the command is left to itself until it ends.
                code = process.wait()
                self._processes.forget(process)
        except Exception as error:  # noqa: BLE001 - a command must not take the server down
            with contextlib.suppress(OSError):
                channel.sendall_stderr(f"ibaccept lab: {error}\n".encode())
                channel.send_exit_status(255)
        finally:
            with contextlib.suppress(OSError, EOFError):
                channel.close()
            self._record(started, request, code)

    def _record(self, started: float, request: Request, code: int | None) -> None:
        line = json.dumps(
            {"time": round(started, 3), "host": request.host, "exec": request.text, "exit": code}
        )
        with self._lock, self._log.open("a", encoding="utf-8") as log:
            log.write(line + "\n")


def _send_exit(channel: paramiko.Channel, code: int) -> None:
    """Exit status, or the exit-signal of RFC 4254 section 6.10 for a process ended by a signal."""
    if code >= 0:
        channel.send_exit_status(code)
        return
    message = paramiko.Message()
    message.add_byte(cMSG_CHANNEL_REQUEST)
    message.add_int(_remote_id(channel))
    message.add_string("exit-signal")
    message.add_boolean(False)
    message.add_string(signal.Signals(-code).name.removeprefix("SIG"))
    message.add_boolean(False)
    message.add_string("")
    message.add_string("")
    transport = channel.get_transport()
    if isinstance(transport, _Transport):
        transport._send_user_message(message)  # noqa: SLF001 - our own override, see there


def _remote_id(channel: paramiko.Channel) -> int:
    """The client's number for a channel, by which messages to it are addressed."""
    return int(channel.remote_chanid)

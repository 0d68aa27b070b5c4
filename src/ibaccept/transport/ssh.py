"""Commands over SSH: one connection a host, several channels on it, a bounded number in all."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import paramiko

from ibaccept.transport import OUTPUT_LIMIT, CommandResult, Hold, Host, Permit, TransportError
from ibaccept.transport.channel import SshProcess
from ibaccept.transport.connect import (
    DroppedError,
    ProxyProcess,
    SignalTransport,
    dial,
    handshake,
    log_in,
    retry_delays,
)
from ibaccept.transport.fanout import check_permitted
from ibaccept.transport.running import Started
from ibaccept.transport.sshconfig import SshSettings, jump_host, resolve
from ibaccept.transport.wrap import Ending, result_of, wrap

_SESSIONS = 8
"""Channels at a time on a connection; OpenSSH's MaxSessions is 10."""

_HANDSHAKES = 6
"""Handshakes at a time with one server; OpenSSH's MaxStartups begins to drop at 10."""

_MAX_JUMPS = 8

_HELD_WITHIN = 60.0
"""Seconds for a login shell to begin, where hundreds begin at a time on one small host."""


class _Connection:
    """A logged-in connection, and what it stands on.

    Attributes:
        sessions: room for commands.
        lasting: room for commands that are not waited for, a part of ``sessions``.
        lasting_now: such commands there are.
        uses: commands that run on it and connections that lead through it.
        used: when it was last let go, to close the longest idle one first.
    """

    def __init__(self, transport: SignalTransport, let_go: Callable[[], None]) -> None:
        self.transport = transport
        self.sessions = threading.BoundedSemaphore(_SESSIONS)
        self.lasting = threading.BoundedSemaphore(_SESSIONS // 2)
        self.lasting_now = 0
        self.uses = 0
        self.used = 0.0
        self._let_go = let_go

    def close(self) -> None:
        self.transport.close()
        let_go, self._let_go = self._let_go, lambda: None
        let_go()


@dataclasses.dataclass(slots=True)
class _Slot:
    """The place of one connection; its lock is held while it is being made."""

    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    connection: _Connection | None = None


_Key = tuple[Host, tuple[Host, ...], int]


class SshTransport:
    """Runs permitted argv over SSH; implements ``Transport``.

    Args:
        permit: says which argv may leave.
        ssh_config: used instead of the user's and the system's OpenSSH configuration.
        connect_timeout: seconds to connect, for the banner, the key exchange, the login and the
            opening of a session, each. ``ConnectTimeout`` of an ssh_config is not read.
        max_connections: idle connections above this number are closed, longest idle first.
    """

    def __init__(
        self,
        permit: Permit,
        *,
        ssh_config: Path | None = None,
        connect_timeout: float = 10,
        max_connections: int = 64,
    ) -> None:
        self._permit = permit
        self._ssh_config = ssh_config
        self._connect_timeout = connect_timeout
        self._max_connections = max_connections
        self._lock = threading.Lock()
        self._slots: dict[_Key, _Slot] = {}
        self._handshakes: defaultdict[tuple[str, int], threading.Semaphore] = defaultdict(
            lambda: threading.Semaphore(_HANDSHAKES)
        )
        self._closed = threading.Event()

    def run(
        self,
        host: Host,
        argv: Sequence[str],
        *,
        timeout: float,
        root: bool = False,
        limit: int = OUTPUT_LIMIT,
    ) -> CommandResult:
        """See ``Transport.run``."""
        check_permitted(self._permit, argv)
        wrapped = wrap(argv, timeout=timeout, root=root and host.sudo)
        with self._session(host) as channel:
            command = SshProcess(channel, limit)
            try:
                command.begin(wrapped, timeout)
                ending = command.drive()
            except (paramiko.SSHException, OSError, EOFError) as error:
                if not channel.closed:
                    raise _not_run(host, error) from error
                ending = Ending(lost=True)
        if self._closed.is_set() and ending.lost:
            raise TransportError(
                host.name, "session", f"the transport was closed while {argv[0]} ran"
            )
        return result_of(
            host, wrapped, bytes(command.out.data), bytes(command.err.data), ending, limit=limit
        )

    def start(
        self,
        host: Host,
        argv: Sequence[str],
        *,
        timeout: float,
        root: bool = False,
        held: Hold = False,
        limit: int = OUTPUT_LIMIT,
    ) -> Started:
        """See ``Transport.start``."""
        check_permitted(self._permit, argv)
        wrapped = wrap(argv, timeout=timeout, root=root and host.sudo, held=held)
        connection, channel = self._lasting_session(host)
        process = SshProcess(channel, limit, lambda: self._let_go(connection))
        try:
            process.begin(wrapped, timeout)
            started = Started(
                host, wrapped, process, timeout=timeout, limit=limit, is_closed=self._closed.is_set
            )
            if held:
                started.until_held(self._connect_timeout + _HELD_WITHIN)
        except (paramiko.SSHException, OSError, EOFError) as error:
            process.close()
            raise _not_run(host, error) from error
        except BaseException:
            process.close()
            raise
        return started

    def close(self) -> None:
        """Close every connection; the hosts end what still runs. Nothing can be run afterwards."""
        self._closed.set()
        with self._lock:
            found = [slot.connection for slot in self._slots.values()]
            self._slots.clear()
        # the later ones may lead through the earlier ones
        for connection in reversed(found):
            if connection is not None:
                connection.close()

    @contextlib.contextmanager
    def _session(self, host: Host) -> Iterator[paramiko.Channel]:
        """A channel to run one command on; always closed, which ends the command."""
        connection = self._acquire(host)
        try:
            with connection.sessions:
                channel = self._open_session(host, connection)
                try:
                    yield channel
                finally:
                    channel.close()
        finally:
            self._release(connection)

    def _lasting_session(self, host: Host) -> tuple[_Connection, paramiko.Channel]:
        """A channel for a command that is not waited for, on the first connection with room.

        Commands that are waited for keep half of the sessions of every connection, so that those
        that only run can never keep them from running.
        """
        for lane in count():
            connection = self._acquire(host, lane=lane)
            if not connection.lasting.acquire(blocking=False):
                self._release(connection)
                continue
            with self._lock:
                # on the first connection other commands may hold what sessions the server allows
                alone = lane > 0 and connection.lasting_now == 0
                connection.lasting_now += 1
            connection.sessions.acquire()
            try:
                return connection, self._open_session(host, connection, patient=alone)
            except BaseException as error:
                self._let_go(connection)
                if alone or not isinstance(error, TransportError):
                    raise
        raise AssertionError("there is always another lane")

    def _let_go(self, connection: _Connection) -> None:
        """What ``_lasting_session`` took."""
        connection.sessions.release()
        with self._lock:
            connection.lasting_now -= 1
        connection.lasting.release()
        self._release(connection)

    def _open_session(
        self, host: Host, connection: _Connection, *, patient: bool = True
    ) -> paramiko.Channel:
        error: Exception
        for delay in (*(retry_delays() if patient else ()), None):
            try:
                return connection.transport.open_session(timeout=self._connect_timeout)
            except paramiko.ChannelException as refused:  # MaxSessions, shared with others
                error = refused
            except (paramiko.SSHException, OSError, EOFError) as broken:
                error = broken
                break
            if delay is not None:
                time.sleep(delay)
        raise TransportError(
            host.name, "session", f"the server opens no session for a command: {error}"
        ) from error

    def _acquire(
        self,
        host: Host,
        hops: tuple[Host, ...] | None = None,
        trail: tuple[_Key, ...] = (),
        lane: int = 0,
    ) -> _Connection:
        """The connection to a host, made where there is none; to be let go by ``_release``.

        Args:
            host: where to.
            hops: hosts to go through, None = what the configuration says.
            trail: connections being made that wait for this one.
            lane: which of several connections to the host.
        """
        key = (host, hops or (), lane)
        if key in trail or len(trail) > _MAX_JUMPS:
            raise TransportError(host.name, "resolve", "ProxyJump leads in a circle")
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
        with slot.lock:
            dead = None
            with self._lock:
                self._refuse_if_closed(host)
                connection = slot.connection
                if connection is not None:
                    if connection.transport.is_active():
                        connection.uses += 1
                        return connection
                    dead, slot.connection = connection, None
            if dead is not None:
                dead.close()
            connection = self._open(host, hops, (*trail, key))
            with self._lock:
                if not self._closed.is_set():
                    slot.connection = connection
                    connection.uses += 1
                    return connection
        connection.close()
        self._refuse_if_closed(host)
        raise AssertionError("closed a moment ago")

    def _refuse_if_closed(self, host: Host) -> None:
        if self._closed.is_set():
            raise TransportError(host.name, "session", "the transport was closed")

    def _release(self, connection: _Connection) -> None:
        idle: list[_Connection] = []
        with self._lock:
            connection.uses -= 1
            connection.used = time.monotonic()
            held = {key: slot.connection for key, slot in self._slots.items() if slot.connection}
            spare = len(held) - self._max_connections
            if spare > 0:
                candidates = sorted(
                    (used.used, index, key)
                    for index, (key, used) in enumerate(held.items())
                    if used.uses == 0
                )
                for _, _, key in candidates[:spare]:
                    idle.append(held[key])
                    self._slots[key].connection = None
        for unused in idle:
            unused.close()

    def _open(
        self, host: Host, hops: tuple[Host, ...] | None, trail: tuple[_Key, ...]
    ) -> _Connection:
        settings = resolve(host, config=self._ssh_config)
        if hops is None:
            hops = _hops(host, settings)
        error: DroppedError
        for delay in (*retry_delays(), None):
            try:
                return self._attempt(host, settings, hops, trail)
            except DroppedError as dropped:
                error = dropped
            if delay is None or self._closed.wait(delay):
                break
        raise TransportError(
            host.name,
            "connect",
            f"{settings.endpoint} closed the connection before it greeted as an SSH server, "
            f"several times ({' '.join(str(error).split())}); is it an SSH port, is it overloaded "
            "(MaxStartups), or does it refuse this machine?",
        ) from error

    def _attempt(
        self,
        host: Host,
        settings: SshSettings,
        hops: tuple[Host, ...],
        trail: tuple[_Key, ...],
    ) -> _Connection:
        with contextlib.ExitStack() as undo:
            via = None
            if hops:
                via = self._through(host, hops, trail)
                undo.callback(self._release, via)
            with self._handshake_slot(settings):
                sock = self._socket(host, settings, via, undo)
                undo.callback(sock.close)
                transport = handshake(host.name, settings, sock, self._connect_timeout)
                undo.callback(transport.close)
                log_in(host.name, settings, transport)
            return _Connection(transport, undo.pop_all().close)

    def _handshake_slot(self, settings: SshSettings) -> threading.Semaphore:
        with self._lock:
            return self._handshakes[settings.hostname, settings.port]

    def _socket(
        self,
        host: Host,
        settings: SshSettings,
        via: _Connection | None,
        undo: contextlib.ExitStack,
    ) -> socket.socket | paramiko.Channel:
        if via is not None:
            return self._tunnel(host, settings, via)
        if settings.proxy_command is not None:
            proxy = ProxyProcess(host.name, settings.proxy_command)
            undo.callback(proxy.close)
            return proxy.socket
        return dial(host.name, settings, self._connect_timeout)

    def _through(self, host: Host, hops: tuple[Host, ...], trail: tuple[_Key, ...]) -> _Connection:
        *before, jump = hops
        try:
            # the first of a chain follows its own configuration, a later one the chain
            return self._acquire(jump, tuple(before) or None, trail)
        except TransportError as error:
            raise TransportError(
                host.name, error.step, f"the way through {jump.name} failed: {error}"
            ) from error

    def _tunnel(self, host: Host, settings: SshSettings, via: _Connection) -> paramiko.Channel:
        try:
            return via.transport.open_channel(
                "direct-tcpip",
                (settings.hostname, settings.port),
                ("127.0.0.1", 0),
                timeout=self._connect_timeout,
            )
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise TransportError(
                host.name,
                "connect",
                f"the jump host could not reach {settings.endpoint} for us: {error}",
            ) from error


def _hops(host: Host, settings: SshSettings) -> tuple[Host, ...]:
    try:
        return tuple(jump_host(text) for text in settings.proxy_jump)
    except ValueError as error:
        raise TransportError(host.name, "resolve", str(error)) from error


def _not_run(host: Host, error: Exception) -> TransportError:
    return TransportError(host.name, "session", f"the server did not run the command: {error}")

"""This machine as a host: the same wrapper and the same results as over SSH."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Sequence
from typing import IO

from ibaccept.transport import OUTPUT_LIMIT, CommandResult, Hold, Host, Permit, TransportError
from ibaccept.transport.fanout import check_permitted
from ibaccept.transport.running import Started
from ibaccept.transport.wrap import GRACE, Ending, Kept, Wrapped, result_of, wrap

_TICK = 0.2
_SHORT_TICK = 0.005
_HELD_WITHIN = 60.0
"""Seconds for a shell to begin."""

_CHUNK = 1 << 16
_CHUNKS = 64

_SPARED: list[subprocess.Popen[bytes]] = []
"""Commands that go on without us; an object that is dropped while its process runs warns of it."""


class LocalTransport:
    """Runs permitted argv as processes of this machine; implements ``Transport``."""

    def __init__(self, permit: Permit) -> None:
        self._permit = permit
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._started: weakref.WeakSet[LocalProcess] = weakref.WeakSet()

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
        if self._stop.is_set():
            raise TransportError(host.name, "session", "the transport was closed")
        wrapped = wrap(argv, timeout=timeout, root=root and host.sudo)
        process = LocalProcess(self._popen(host, wrapped), limit, self._stop)
        try:
            process.expire(timeout)
            ending = process.drive()
        finally:
            process.close()
        if self._stop.is_set() and ending.lost:
            raise TransportError(
                host.name, "session", f"the transport was closed while {argv[0]} ran"
            )
        return result_of(
            host, wrapped, bytes(process.out.data), bytes(process.err.data), ending, limit=limit
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
        if self._stop.is_set():
            raise TransportError(host.name, "session", "the transport was closed")
        wrapped = wrap(argv, timeout=timeout, root=root and host.sudo, held=held)
        process = LocalProcess(self._popen(host, wrapped), limit, self._stop, spare=held == "last")
        with self._lock:
            self._started.add(process)
        started = Started(
            host, wrapped, process, timeout=timeout, limit=limit, is_closed=self._stop.is_set
        )
        if held:
            started.until_held(_HELD_WITHIN)
        return started

    @staticmethod
    def _popen(host: Host, wrapped: Wrapped) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                wrapped.words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise TransportError(
                host.name, "session", f"no process could be started here: {error}"
            ) from error

    def close(self) -> None:
        """End what runs; nothing can be run afterwards."""
        self._stop.set()
        with self._lock:
            started = tuple(self._started)
        for process in started:
            process.cut()


class LocalProcess:
    """One wrapped process: its pipes, read without a thread; implements ``running.Process``.

    Args:
        process: started with three pipes.
        limit: bytes of each stream that are kept.
        stop: set when the transport is closed.
        spare: leave it to itself when it is given up: it must be done whatever becomes of us.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        limit: int,
        stop: threading.Event,
        *,
        spare: bool = False,
    ) -> None:
        self._process = process
        self._stop = stop
        self._spare = spare
        self.out = Kept(limit, tail=False)
        self.err = Kept(limit, tail=True)
        self._timed_out = self._stopped = False
        self._deadline = float("inf")
        self._give_up: float | None = None
        self._streams = {
            stream.fileno(): kept
            for stream, kept in ((process.stdout, self.out), (process.stderr, self.err))
            if stream is not None
        }
        for number in self._streams:
            os.set_blocking(number, False)

    def send(self, data: bytes) -> None:
        """Give the command its input; the pipe stays open, it is the life line."""
        stdin = self._process.stdin
        if data and stdin is not None and not stdin.closed:
            # a process that is gone already shows that in its exit code
            with contextlib.suppress(BrokenPipeError):
                stdin.write(data)
                stdin.flush()

    def expire(self, seconds: float) -> None:
        """See ``running.Process``."""
        self._deadline = time.monotonic() + seconds

    def drive(self) -> Ending:
        """Step until it has ended, its time has passed, or the transport is closed."""
        while (ending := self.step()) is None:
            if self._streams:
                select.select(tuple(self._streams), (), (), _TICK)
            else:
                time.sleep(_SHORT_TICK)
        return ending

    def step(self) -> Ending | None:
        """See ``running.Process``."""
        for number in tuple(self._streams):
            self._read(number)
        now = time.monotonic()
        if self._process.poll() is not None:
            # what the tool left behind may hold the streams; the watchdog ends it
            self.hang_up(GRACE + 5)
            if not self._streams:
                return self._ending()
        elif self._give_up is None:
            self._timed_out = now > self._deadline
            self._stopped = self._stop.is_set()
            if self._timed_out or self._stopped or self._is_over:
                self.hang_up(GRACE + 5)
        return self._ending() if self._give_up is not None and now > self._give_up else None

    def _ending(self) -> Ending:
        code = self._process.poll()
        cut = self._timed_out or self._is_over
        return Ending(
            code if code is not None and code >= 0 else None,
            None if code is None or code >= 0 else _signal_name(-code),
            timed_out=self._timed_out,
            lost=self._stopped or (code is None and not cut),
            truncated=self._is_over,
        )

    def _read(self, number: int) -> None:
        """Take what is there, a bounded part of it: a command that prints without end is ended."""
        kept = self._streams[number]
        with contextlib.suppress(BlockingIOError):
            for _ in range(_CHUNKS):
                data = os.read(number, _CHUNK)
                if not data:
                    del self._streams[number]
                    return
                kept.add(data)

    @property
    def _is_over(self) -> bool:
        return self.out.is_cut or self.err.is_cut

    def hang_up(self, grace: float) -> None:
        """See ``running.Process``."""
        stdin: IO[bytes] | None = self._process.stdin
        if stdin is not None and not stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                stdin.close()
        if self._give_up is None:
            self._give_up = time.monotonic() + grace

    def cut(self) -> None:
        """End it because the transport is closed."""
        self._stopped = self._process.poll() is None
        self.hang_up(GRACE + 5)

    def close(self) -> None:
        """Cut the life line, wait for the watchdog to do its work, and free everything."""
        self.hang_up(0)
        try:
            self._process.wait(0 if self._spare else GRACE + 5)
        except subprocess.TimeoutExpired:
            if self._spare:
                _SPARED.append(self._process)
                return
            # the watchdog is gone too: last resort (fails for root's processes; then it is left)
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._streams.clear()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name.removeprefix("SIG")
    except ValueError:
        return str(number)

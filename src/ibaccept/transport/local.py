"""This machine as a host: the same wrapper and the same results as over SSH."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO

from ibaccept.transport import CommandResult, Host, Permit, TransportError
from ibaccept.transport.fanout import Job, check_permitted, run_each
from ibaccept.transport.wrap import FRAME_ROOM, GRACE, Ending, Wrapped, result_of, wrap

_TICK = 0.2
_CHUNK = 1 << 16


class LocalTransport:
    """Runs permitted argv as processes of this machine; implements ``Transport``."""

    def __init__(self, permit: Permit) -> None:
        self._permit = permit
        self._stop = threading.Event()

    def run(
        self,
        host: Host,
        argv: Sequence[str],
        *,
        timeout: float,
        root: bool = False,
        limit: int = 1 << 30,
        stdin: bytes = b"",
    ) -> CommandResult:
        """See ``Transport.run``."""
        check_permitted(self._permit, argv)
        if self._stop.is_set():
            raise TransportError(host.name, "session", "the transport was closed")
        wrapped = wrap(argv, timeout=timeout, root=root and host.sudo, length=len(stdin))
        try:
            process = subprocess.Popen(
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
        running = _Running(process, limit)
        try:
            running.send(stdin)
            ending = running.drive(time.monotonic() + timeout, self._stop)
        finally:
            running.end()
        if self._stop.is_set() and ending.lost:
            raise TransportError(
                host.name, "session", f"the transport was closed while {argv[0]} ran"
            )
        return self._result(host, wrapped, running, ending, limit)

    @staticmethod
    def _result(
        host: Host, wrapped: Wrapped, running: _Running, ending: Ending, limit: int
    ) -> CommandResult:
        return result_of(host, wrapped, bytes(running.out), bytes(running.err), ending, limit=limit)

    def run_many(
        self,
        jobs: Sequence[Job],
        *,
        timeout: float,
        root: bool = False,
        fan_out: int = 32,
    ) -> Mapping[int, CommandResult | TransportError]:
        """See ``Transport.run_many``."""
        for _, argv in jobs:
            check_permitted(self._permit, argv)
        return run_each(
            lambda host, argv: self.run(host, argv, timeout=timeout, root=root),
            jobs,
            fan_out=fan_out,
            abort=self.close,
        )

    def close(self) -> None:
        """End what runs; nothing can be run afterwards."""
        self._stop.set()


class _Running:
    """One wrapped process: its pipes, read without a thread."""

    def __init__(self, process: subprocess.Popen[bytes], limit: int) -> None:
        self._process = process
        self._limit = limit + FRAME_ROOM
        self.out = bytearray()
        self.err = bytearray()
        self._over = False

    def send(self, data: bytes) -> None:
        """Give the command its input; the pipe stays open, it is the life line."""
        stdin = self._process.stdin
        if data and stdin is not None:
            # a process that is gone already shows that in its exit code
            with contextlib.suppress(BrokenPipeError):
                stdin.write(data)
                stdin.flush()

    def drive(self, deadline: float, stop: threading.Event) -> Ending:
        """Read both streams until they end, our limit passes, or we are told to stop."""
        timed_out = stopped = False
        give_up: float | None = None
        with selectors.DefaultSelector() as selector:
            for stream, kept in (
                (self._process.stdout, self.out),
                (self._process.stderr, self.err),
            ):
                if stream is not None:
                    selector.register(stream, selectors.EVENT_READ, kept)
            while selector.get_map():
                for key, _ in selector.select(_TICK):
                    if not self._read(key.fd, key.data):
                        selector.unregister(key.fileobj)
                now = time.monotonic()
                if self._process.poll() is not None:
                    self._hang_up()
                    # what the tool left behind may hold the streams; the watchdog ends it
                    give_up = give_up if give_up is not None else now + GRACE + 5
                elif give_up is None:
                    timed_out = now > deadline
                    stopped = stop.is_set()
                    if timed_out or stopped or self._over:
                        self._hang_up()
                        give_up = now + GRACE + 5
                if give_up is not None and now > give_up:
                    break
        code = self._process.poll() if give_up is not None else self._process.wait()
        signal_name = None if code is None or code >= 0 else _signal_name(-code)
        return Ending(
            code if code is not None and code >= 0 else None,
            signal_name,
            timed_out=timed_out,
            lost=stopped,
            truncated=self._over,
        )

    def _read(self, fd: int, kept: bytearray) -> bool:
        data = os.read(fd, _CHUNK)
        room = self._limit - len(kept)
        kept += data[: max(room, 0)] if kept is self.out else data
        if len(data) > room:
            self._over = True
        return bool(data)

    def _hang_up(self) -> None:
        stdin: IO[bytes] | None = self._process.stdin
        if stdin is not None and not stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                stdin.close()

    def end(self) -> None:
        """Cut the life line, wait for the watchdog to do its work, and free everything."""
        self._hang_up()
        try:
            self._process.wait(GRACE + 5)
        except subprocess.TimeoutExpired:
            # the watchdog is gone too: last resort (fails for root's processes; then it is left)
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name.removeprefix("SIG")
    except ValueError:
        return str(number)

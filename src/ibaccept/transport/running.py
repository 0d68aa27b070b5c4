"""A command that runs while its caller does something else: polled, never waited for by a thread.

Hundreds of them run at a time from one process, so none has a thread or a file descriptor of its
own beyond what its connection has; a caller that waits polls each in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from ibaccept.transport import Argv, CommandResult, Host, TransportError
from ibaccept.transport.wrap import RELEASE, Ending, Kept, Wrapped, is_held, result_of

_TICK = 0.05
_FIRST_TICK = 0.002


class Process(Protocol):
    """A wrapped command, over SSH or here.

    Attributes:
        out: what its framed stdout holds so far.
        err: as ``out``.
    """

    out: Kept
    err: Kept

    def step(self) -> Ending | None:
        """Take what is there; how it ended, None while it runs. Never blocks."""
        ...

    def send(self, data: bytes) -> None:
        """Give it input; a process that is gone shows that in ``step``."""
        ...

    def expire(self, seconds: float) -> None:
        """Time it out ``seconds`` from now."""
        ...

    def hang_up(self, grace: float) -> None:
        """Close its stdin, upon which the host ends it; given up after ``grace`` seconds."""
        ...

    def close(self) -> None:
        """Free everything. Cuts the life line where it still runs."""
        ...


class Started:
    """Implements ``Running``.

    Args:
        host: where it runs.
        wrapped: what was sent.
        process: the command, begun.
        timeout: seconds it may run.
        limit: bytes of each stream that are kept.
        is_closed: whether the transport was closed, which ends the command.
    """

    def __init__(
        self,
        host: Host,
        wrapped: Wrapped,
        process: Process,
        *,
        timeout: float,
        limit: int,
        is_closed: Callable[[], bool],
    ) -> None:
        self.host = host
        self.argv: Argv = wrapped.argv
        self._wrapped = wrapped
        self._process = process
        self._timeout = timeout
        self._limit = limit
        self._is_closed = is_closed
        self._held = wrapped.held
        self._result: CommandResult | None = None
        self._error: TransportError | None = None
        process.expire(timeout)

    def until_held(self, seconds: float) -> None:
        """Wait until the host says that the command waits for its release, or it has ended.

        Raises:
            TransportError: neither came in time; the command was ended.
        """
        deadline = time.monotonic() + seconds
        tick = _FIRST_TICK
        while not is_held(self._wrapped.token, bytes(self._process.err.data)):
            if self.poll() is not None:
                return
            if time.monotonic() > deadline:
                self._process.close()
                self._error = TransportError(
                    self.host.name,
                    "session",
                    f"{self.argv[0]} was not ready to begin within {seconds:g} s; is the host "
                    "overloaded?",
                )
                raise self._error
            time.sleep(tick)
            tick = min(2 * tick, _TICK)

    def release(self) -> None:
        """See ``Running.release``."""
        if self._held:
            self._held = False
            self._process.expire(self._timeout)
            self._process.send(RELEASE)

    def poll(self) -> CommandResult | None:
        """See ``Running.poll``."""
        if self._error is not None:
            raise self._error
        if self._result is None:
            ending = self._process.step()
            if ending is not None:
                self._finish(ending)
        return self._result

    def wait(self) -> CommandResult:
        """See ``Running.wait``."""
        tick = _FIRST_TICK
        while True:
            result = self.poll()
            if result is not None:
                return result
            time.sleep(tick)
            tick = min(2 * tick, _TICK)

    def stop(self, grace: float = 7.0) -> CommandResult:
        """See ``Running.stop``."""
        if self.poll() is None:
            self._process.hang_up(grace)
        return self.wait()

    def _finish(self, ending: Ending) -> None:
        process = self._process
        process.close()
        try:
            self._result = self._result_of(ending)
        except TransportError as error:
            self._error = error
            raise

    def _result_of(self, ending: Ending) -> CommandResult:
        if ending.lost and self._is_closed():
            raise TransportError(
                self.host.name, "session", f"the transport was closed while {self.argv[0]} ran"
            )
        return result_of(
            self.host,
            self._wrapped,
            bytes(self._process.out.data),
            bytes(self._process.err.data),
            ending,
            limit=self._limit,
        )

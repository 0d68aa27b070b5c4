"""Processes on many hosts that begin together, are watched while they run, and all end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from ibaccept.load.clocks import Clocks
from ibaccept.load.pace import Pace
from ibaccept.transport import CommandResult, Hold, Running, Transport, TransportError
from ibaccept.transport.fanout import Job, each, start_many
from ibaccept.transport.replay import cleaning

_TICK = 0.1


@dataclass
class Together:
    """A set of started processes. Use as a context manager: none outlives it.

    Attributes:
        running: by number of the job.
        results: what has come so far, by number of the job.
        started: processes started.
    """

    transport: Transport
    pace: Pace
    clocks: Clocks
    running: dict[int, Running] = field(default_factory=dict)
    results: dict[int, CommandResult | TransportError] = field(default_factory=dict)
    started: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self, jobs: Sequence[Job], *, timeout: float, held: Hold = False) -> None:
        """Start jobs, numbered on from those there are; held ones wait for ``release``."""
        first = self.started
        self.started += len(jobs)
        begun = start_many(
            self.transport, jobs, timeout=timeout, held=held, fan_out=self.pace.fan_out
        )
        for number, one in enumerate(begun, first):
            if isinstance(one, TransportError):
                self.results[number] = one
            else:
                self.running[number] = one
        self.poll()

    def release(self, numbers: Sequence[int]) -> None:
        """Let held processes begin, one right after the other."""
        for number in numbers:
            if number in self.running:
                self.running[number].release()

    def poll(self) -> bool:
        """Take the results there are; whether all have ended."""
        for number in list(self.running):
            self._take(number, self.running[number].poll)
        return not self.running

    def _take(self, number: int, take: Callable[[], CommandResult | None]) -> None:
        try:
            result = take()
        except TransportError as error:
            self.results[number] = error
            del self.running[number]
            return
        if result is not None:
            self.results[number] = result
            self.clocks.note(result)
            del self.running[number]

    def has_ended(self, numbers: Sequence[int]) -> bool:
        """Whether all of those have ended, as far as the last poll saw."""
        return all(number in self.results for number in numbers)

    def any_ended(self, numbers: Sequence[int]) -> bool:
        """Whether one of those has ended, as far as the last poll saw."""
        return any(number in self.results for number in numbers)

    def finish(self, seconds: float) -> None:
        """Give what still runs a moment to end by itself, then stop it."""
        for _ in range(round(seconds / _TICK)):
            if self.poll():
                return
            self.pace.sleep(_TICK)
        self.stop()

    def stop(self) -> None:
        """End what still runs, many at a time, and take the results."""
        left = dict(self.running)

        def stop(number: int) -> None:
            self._take(number, left[number].stop)

        with cleaning(self.transport):
            each(stop, list(left), fan_out=self.pace.fan_out)

    @property
    def ended(self) -> tuple[int, int]:
        """Processes started, and those seen to end."""
        return self.started, len(self.results)

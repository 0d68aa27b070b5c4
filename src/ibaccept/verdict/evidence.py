"""What proves a finding: counters, routes, captured lines. Data only; printing is elsewhere."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class CounterState(enum.StrEnum):
    """Whether the difference of two readings means anything."""

    OK = "ok"
    SATURATED = "saturated"
    CLEARED = "cleared"
    UNSUPPORTED = "unsupported"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter of one port, read twice.

    Attributes:
        name: as perfquery prints it.
        port: name of the port: ``SwitchB/25``.
        before: first reading, None when not read; with state ok, when it was read only once.
        after: second reading, None when not read.
        seconds: between the readings, by the clock of the host that read; None when unknown.
        bits: width of the counter; it sticks at 2^bits - 1.
    """

    name: str
    port: str
    before: int | None
    after: int | None
    seconds: float | None
    bits: int
    state: CounterState

    @property
    def delta(self) -> int | None:
        """Growth over the window; None unless the state is ok."""
        if self.state is not CounterState.OK or self.before is None or self.after is None:
            return None
        return self.after - self.before

    @classmethod
    def between(
        cls,
        name: str,
        port: str,
        before: int | None,
        after: int | None,
        *,
        seconds: float | None,
        bits: int,
    ) -> Counter:
        """Judge two readings: a value at its maximum is saturated, a smaller one was cleared."""
        full = (1 << bits) - 1
        if before is None or after is None:
            state = CounterState.UNREAD
        elif before >= full or after >= full:
            state = CounterState.SATURATED
        elif after < before:
            state = CounterState.CLEARED
        else:
            state = CounterState.OK
        return cls(name, port, before, after, seconds, bits, state)


@dataclass(frozen=True, slots=True)
class RouteExample:
    """One route as the tables give it: hops by name, and how it ended."""

    slid: int
    dlid: int
    hops: tuple[str, ...]
    disposition: str


@dataclass(frozen=True, slots=True)
class RouteRef:
    """The routes over a link: how many of all pairs, and a few whole ones.

    Attributes:
        crossing: ordered (source, destination) LID pairs over the link, both directions.
        of: all ordered pairs.
        whose: empty for all pairs of the fabric; ``job`` where only pairs of the job, in one
            direction, are counted and shown.
    """

    crossing: int
    of: int
    examples: tuple[RouteExample, ...] = ()
    whose: str = ""


@dataclass(frozen=True, slots=True)
class CaptureRef:
    """A line of a captured output; ``file`` is relative to the run's folder."""

    file: str
    line: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Proof:
    """All that is attached to one finding.

    Attributes:
        again: the command line that shows it again.
        missing: evidence that could not be had, a sentence each ("forwarding tables not read").
    """

    counters: tuple[Counter, ...] = ()
    routes: RouteRef | None = None
    captures: tuple[CaptureRef, ...] = ()
    again: str = ""
    missing: tuple[str, ...] = ()

"""Error counters between two runs, per day: what grew while no suite was looking."""

from __future__ import annotations

from dataclasses import dataclass

from ibaccept.fabric.counters import COUNTERS, CounterClass
from ibaccept.fabric.model import PortId
from ibaccept.observe.counters import Sweep
from ibaccept.observe.snapshot import Snapshot, Window
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CounterState

DAY = 86_400.0

ERRORS = tuple(name for name, kind in COUNTERS.items() if kind.cls is not CounterClass.DATA)
"""Counters that are compared."""


@dataclass(frozen=True, slots=True)
class CounterGrowth:
    """One counter of one port in the last sweep of the old run and the first of the new one.

    Attributes:
        state: ``ok``; ``cleared`` or ``saturated`` where the growth is not known.
        growth: ``after - before``; of a saturated counter the least it can be; None where cleared.
        per_day: growth over the days between; None where that is not known.
    """

    port: str
    counter: str
    before: int
    after: int
    state: str
    growth: int | None
    per_day: float | None


@dataclass(frozen=True, slots=True)
class GrowthBetween:
    """GrowthBetween of all counters.

    Attributes:
        days: between the two sweeps, by the observers' clocks; None where not known.
        rows: counters that changed, the fastest first.
        unread: ports of which a counter that one sweep lists was not read in the other.
    """

    days: float | None
    rows: tuple[CounterGrowth, ...] = ()
    unread: tuple[str, ...] = ()


def _edge(snapshot: Snapshot, *, last: bool) -> Sweep | NotSeen:
    """The first or the last sweep that could be made."""
    sweeps = [sweep for _, sweep in sorted(snapshot.sweeps.items(), reverse=last)]
    good = [sweep for sweep in sweeps if isinstance(sweep, Sweep)]
    if good:
        return good[0]
    return next(
        (sweep for sweep in sweeps if isinstance(sweep, NotSeen)),
        NotSeen("the error counters", "the run read none"),
    )


def growth(old: Snapshot, new: Snapshot) -> GrowthBetween | NotSeen:
    """What the counters of both runs show together. Ports of replaced nodes are left out.

    Raises:
        NotSeenError: one of the runs shows no fabric.
    """
    before, after = _edge(old, last=True), _edge(new, last=False)
    for sweep in (before, after):
        if isinstance(sweep, NotSeen):
            return sweep
    assert isinstance(before, Sweep)  # noqa: S101 - not NotSeen
    assert isinstance(after, Sweep)  # noqa: S101 - not NotSeen
    window = Window(before, after)
    days = None if window.seconds is None else window.seconds / DAY
    if days is not None and days <= 0:
        return NotSeen(
            "growth of the counters",
            "the clock of the observer says that the new run read them first",
            "name the earlier run first",
        )
    rows, unread = [], []
    for port in sorted({*before.errors, *after.errors}):
        if port.guid not in old.fabric.nodes or port.guid not in new.fabric.nodes:
            continue
        name = new.fabric.port_name(port)
        for counter in _listed(window, port):
            row = _row(window, port, name, counter, days)
            if row is None:
                unread.append(f"{name} {counter}")
            elif row.before != row.after or row.state != CounterState.OK:
                rows.append(row)
    rows.sort(key=lambda row: (-(row.growth or 0), row.port, row.counter))
    return GrowthBetween(days, tuple(rows), tuple(unread))


def _listed(window: Window, port: PortId) -> list[str]:
    """Error counters that either sweep lists for a port."""
    found = {
        name
        for sweep in (window.before, window.after)
        if (row := sweep.errors.get(port)) is not None
        for name in row.counters
    }
    return [name for name in ERRORS if name in found]


def _row(
    window: Window, port: PortId, name: str, counter: str, days: float | None
) -> CounterGrowth | None:
    """The row of a counter; None where one sweep did not read it."""
    seen = window.counter(port, counter, label=name)
    if seen.before is None or seen.after is None:
        return None
    known = seen.state in {CounterState.OK, CounterState.SATURATED}
    grown = seen.after - seen.before if known else None
    is_exact = seen.state is CounterState.OK
    per_day = grown / days if grown is not None and is_exact and days is not None else None
    return CounterGrowth(name, counter, seen.before, seen.after, str(seen.state), grown, per_day)

"""A comparison as plain text: the answer last, as every report of the suite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ibaccept.compare.comparison import Comparison, RunSide
from ibaccept.compare.findings import Change, EntryChange, Status
from ibaccept.compare.growth import CounterGrowth, GrowthBetween
from ibaccept.compare.hardware import HardwareChange, Moved
from ibaccept.compare.rates import RateChange
from ibaccept.compare.routes import RouteChanges
from ibaccept.fabric.harmless import clean
from ibaccept.fabric.wording import and_more, listed
from ibaccept.verdict.absence import NotSeen

T = TypeVar("T")

ROWS = 20
"""Rows of a section shown; all are in the JSON."""

ELSEWHERE = "all with --json or --html"


def comparison_lines(comparison: Comparison) -> list[str]:
    """The whole comparison, a line each; the last one says whether anything is new."""
    lines = [*_side("old", comparison.old), *_side("new", comparison.new)]
    lines += [f"warning: {clean(text)}" for text in comparison.warnings]
    for status in Status:
        lines += _findings(status, [c for c in comparison.findings if c.status is status])
    lines += _entries(comparison.entries)
    lines += _section("hardware", comparison.hardware, _hardware)
    lines += _section("error counters between the runs", comparison.counters, _growth)
    lines += _section("routes", comparison.routes, _routes)
    lines += _section("load runs", comparison.rates, _rates)
    return [*lines, summary(comparison)]


def summary(comparison: Comparison) -> str:
    """``1 new, 0 no longer judged, 2 still open, 1 fixed: worse than the old run``."""
    counts = ", ".join(
        f"{sum(row.status is status for row in comparison.findings):,} {status}"
        for status in Status
    )
    if comparison.is_worse:
        return f"{counts}: worse than the old run"
    if comparison.is_unknown:
        return f"{counts}: nothing new was seen, and not everything was judged again"
    return f"{counts}: nothing new"


def _side(word: str, side: RunSide) -> Iterator[str]:
    facts = f"{side.fabric}, {side.started}, {side.result}"
    yield f"{word}: {clean(side.folder)} ({clean(facts)})"


def _findings(status: Status, rows: list[Change]) -> Iterator[str]:
    if not rows:
        return
    yield f"{status}: {len(rows):,}"
    for row in rows[:ROWS]:
        yield f"  {clean(row.entry)}: {clean(row.subject) or 'the whole entry'}"
        if row.was and row.now and row.was != row.now:
            yield f"    was  {clean(row.was)}"
            yield f"    now  {clean(row.now)}"
        else:
            yield f"    {clean(row.now or row.was)}"
        if row.why:
            yield f"    because {clean(row.why)}"
        if row.waived:
            yield f"    waived {clean(row.waived)}"
    yield from _more(len(rows))


def _entries(rows: tuple[EntryChange, ...]) -> Iterator[str]:
    """Entries by the same change of their outcome, a line each."""
    if not rows:
        return
    groups: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        groups.setdefault((row.was, row.now, row.why), []).append(clean(row.entry))
    yield "entries with another outcome"
    for (was, now, why), names in groups.items():
        reason = f" ({clean(why)})" if why else ""
        yield f"  {was} -> {now}{reason}: {listed(names, ROWS)}"


def _section(title: str, part: T | NotSeen, lines: Callable[[T], Iterator[str]]) -> Iterator[str]:
    if isinstance(part, NotSeen):
        yield f"{title}: not compared: {clean(part.reason)}"
        return
    body = list(lines(part))
    if body:
        yield title
        yield from (f"  {line}" for line in body)


def _hardware(rows: tuple[HardwareChange, ...]) -> Iterator[str]:
    for what in Moved:
        group = [row for row in rows if row.what is what]
        for row in group[:ROWS]:
            change = f"{row.was} -> {row.now}" if row.was and row.now else row.was or row.now
            shown = "" if change == row.name else f": {clean(change)}"
            name = "" if what is Moved.CABLE_MOVED else f" {clean(row.name)}"
            yield f"{what}{name}{shown}"
        yield from _more(len(group))


def _growth(growth: GrowthBetween) -> Iterator[str]:
    for row in growth.rows[:ROWS]:
        yield _counter(row)
    yield from _more(len(growth.rows))
    if growth.unread:
        yield f"not read in one of the runs: {clean(listed(growth.unread))}"
    if growth.days is None:
        yield "the clocks of the observers do not say how long it was between the runs"


def _counter(row: CounterGrowth) -> str:
    head = f"{clean(row.port)} {row.counter} {row.before:,} then {row.after:,}"
    if row.growth is None:
        return f"{head}: cleared in between, so its growth is not known"
    if row.per_day is None:
        return f"{head} (+{row.growth:,}{' or more, saturated' if row.state != 'ok' else ''})"
    return f"{head} (+{row.growth:,}, {row.per_day:,.1f} a day)"


def _routes(routes: RouteChanges) -> Iterator[str]:
    if not routes.changed and not routes.skipped:
        return
    yield (
        f"{routes.changed:,} of {routes.of:,} table entries send elsewhere now, "
        f"on {len(routes.switches):,} switches"
    )
    for row in routes.switches[:ROWS]:
        yield f"  {clean(row.switch)}: {row.changed:,} of {row.of:,}"
    yield from _more(len(routes.switches))
    if routes.skipped:
        yield f"{routes.skipped:,} entries are known in one run only and are not compared"


def _rates(rows: tuple[RateChange, ...]) -> Iterator[str]:
    for row in rows:
        was, now = gib(row.was), gib(row.now)
        change = f" ({row.percent:+.1f} %)" if row.percent is not None else ""
        why = f": {clean(row.why)}" if row.why else ""
        yield f"{row.name}: {was} -> {now}{change}{why}"


def gib(value: float | None) -> str:
    """``51.1 GiB/s``, or that it was not measured."""
    return "not measured" if value is None else f"{value:.1f} GiB/s"


def _more(rows: int) -> Iterable[str]:
    more = and_more(rows - ROWS)
    return [f"  ... {more}, {ELSEWHERE}"] if more else []

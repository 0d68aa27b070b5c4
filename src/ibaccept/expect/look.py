"""From an entry's words to the things it judges, in a snapshot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ibaccept.cabling import Cable, EndState
from ibaccept.counters import COUNTERS
from ibaccept.evidence import Counter, CounterState
from ibaccept.expect.counters import ErrorCounters
from ibaccept.expect.selector import AbsentNode, Item, LinkSelector, find, select
from ibaccept.model import Link, PortId, Rate
from ibaccept.plan import PlannedCable
from ibaccept.snapshot import Gap, NotSeen, NotSeenError, Snapshot, Window
from ibaccept.verdict import Different, Unseen

BOTH_ENDS = 2
SHORT, SLACK = 0.99, 0.1
"""So much shorter a window may be: clocks are set while it passes (share; seconds)."""

ANOTHER_LOOK = "look again; if it stays, query that node by hand"


@dataclass(frozen=True, slots=True)
class Judged:
    """What an entry judges: the selection, and the gaps of the sweep. ``noun`` in the plural."""

    items: tuple[Item | Gap, ...]
    noun: str


def links_of(snapshot: Snapshot, links: LinkSelector, cable: PlannedCable | None = None) -> Judged:
    """What ``links:`` selects, or the one planned cable of ``each: cable``.

    Gaps of the sweep are items too: a node that answered nothing is in no selection, and what was
    not seen must not pass.

    Raises:
        NotSeenError: the fabric was not seen.
        InputError: a name that nobody knows.
    """
    if cable is not None:
        return Judged((find(cable, snapshot.planned),), "planned cables")
    chosen = select(links, snapshot.fabric, snapshot.inventory, snapshot.plan)
    items = [item for item in chosen.items if not _is_elsewhere(item)]
    return Judged((*(_or_gap(snapshot, item) for item in items), *snapshot.gaps), chosen.noun)


def _is_elsewhere(item: Item) -> bool:
    """A planned cable whose ends are both up in other cables: those are judged in its place."""
    return isinstance(item, Cable) and all(state is EndState.OTHER for state in item.states)


def _or_gap(snapshot: Snapshot, item: Item) -> Item | Gap:
    """A gap where a thing that is not there may only be a thing that did not answer."""
    if snapshot.gaps and isinstance(item, AbsentNode):
        return Gap(item.name, f"{item.name} was not seen, and the sweep was not whole")
    if snapshot.gaps and isinstance(item, Cable) and not item.is_absent:
        return Gap(item.name, f"not seen, and the sweep was not whole: {item.state_text()}")
    return item


def rate_of(item: Any) -> Rate | Unseen | Different:
    """Active rate of a selected item, or why there is none."""
    if isinstance(item, Link):
        return _link_rate(item)
    if isinstance(item, Cable):
        if item.is_unseen:
            return Unseen(f"not seen: {item.state_text()}", ANOTHER_LOOK)
        return Different(
            f"down: {item.state_text()}" if item.is_down else f"missing: {item.state_text()}"
        )
    return _absent(item)


def _link_rate(link: Link) -> Rate | Unseen | Different:
    if any(end.is_down for end in link.ends):
        return Different("down")
    if link.a.rate is None or link.b.rate is None:
        shown = " / ".join(end.rate_text or "nothing" for end in link.ends)
        return Unseen(
            f"the two tools or the two ends do not agree on a rate: {shown}", ANOTHER_LOOK
        )
    if link.a.rate != link.b.rate:
        return Different(f"{link.a.rate} at one end, {link.b.rate} at the other")
    return link.a.rate


def _absent(item: Any) -> Unseen | Different:
    if isinstance(item, Gap):
        return Unseen(item.reason, ANOTHER_LOOK)
    if isinstance(item, AbsentNode):
        return Different(f"missing: {item.name} is not in the fabric")
    raise TypeError(f"{type(item).__name__} has no rate")


def ports_of(item: Any) -> tuple[PortId, ...]:
    """Both ends of a link, or those ends of a planned cable that were seen."""
    if isinstance(item, Link):
        return (item.a.id, item.b.id)
    if isinstance(item, Cable):
        return tuple(end for end in (item.a, item.b) if end is not None)
    return ()


def growth_of(
    snapshot: Snapshot, window: Window, expected: ErrorCounters
) -> Callable[[Any], str | Unseen | Different]:
    """Judges the counters of both ends of an item over a window.

    Returns:
        A function of the item: ``"within limits"``, what grew beyond its limit, or what could not
        be judged. Growth that is proven is told also where another counter could not be judged.
    """
    judged = [(name, limit) for name in COUNTERS if (limit := expected.limit(name)) is not None]
    always = all(COUNTERS[name].cap_bit is None for name, _ in judged)

    def growth(item: Any) -> str | Unseen | Different:
        if isinstance(item, Gap | AbsentNode):
            return _absent(item)
        ports = [port for port in ports_of(item) if snapshot.fabric.port(port) is not None]
        grown, unclear = [], []
        if len(ports) < BOTH_ENDS:
            unclear.append(f"not seen at both ends: {item.state_text()}")
        for port in ports:
            if always and window.is_clean(port):
                continue
            label = snapshot.fabric.port_name(port)
            for name, limit in judged:
                wrong, unknown = _growth(window, port, label, name, limit)
                grown += wrong
                unclear += unknown
        if grown:
            return Different("; ".join(grown))
        if unclear:
            return Unseen("; ".join(dict.fromkeys(unclear)), "read the port again in a new window")
        return WITHIN

    return growth


WITHIN = "within limits"


def _growth(
    window: Window, port: PortId, label: str, name: str, limit: int
) -> tuple[list[str], list[str]]:
    """What one counter grew beyond its limit, and what of it could not be judged."""
    counter = window.counter(port, name, label=label)
    if counter.delta is None:
        return [], [_unclear(counter, window, port)]
    return ([_grown(counter, limit)] if counter.delta > limit else []), []


def _grown(counter: Counter, limit: int) -> str:
    over = f", limit {limit}" if limit else ""
    return f"{counter.port} {counter.name} +{counter.delta}{_in(counter)}{over}"


def _in(counter: Counter) -> str:
    return f" in {counter.seconds:.0f} s" if counter.seconds is not None else ""


def _unclear(counter: Counter, window: Window, port: PortId) -> str:
    where = f"{counter.port} {counter.name}"
    if counter.state is CounterState.SATURATED:
        return f"{where} is saturated at {(1 << counter.bits) - 1}: it can no longer grow"
    if counter.state is CounterState.CLEARED:
        return (
            f"{where} fell from {counter.before} to {counter.after}: somebody cleared it within "
            "the window"
        )
    return window.why_unread(port, counter.name)


def window_of(snapshot: Snapshot, expected: ErrorCounters) -> Window:
    """The two sweeps an entry compares.

    Raises:
        NotSeenError: one of them could not be made.
    """
    assert not isinstance(expected.window, str)  # noqa: S101 - load entries have their own test
    ordered = expected.window.seconds
    window = snapshot.window(ordered)
    if window.between is None or window.between < ordered * SHORT - SLACK:
        # A replay can be asked for a longer window than was waited for.
        shown = "an unknown time" if window.between is None else f"{window.between:.1f} s"
        raise NotSeenError(
            NotSeen(
                f"a window of {expected.window}",
                f"the two readings are {shown} apart, the entry orders {expected.window}",
                "look at the fabric again with this window",
            )
        )
    return window

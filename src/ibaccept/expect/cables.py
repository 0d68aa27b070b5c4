"""Judging the cabling: the planned cables, and those that nobody planned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ibaccept.cabling import Cable, CableDifference, compare, locate
from ibaccept.expect.cabling import Cabling, LinkCount
from ibaccept.expect.look import ANOTHER_LOOK, links_of
from ibaccept.model import Link
from ibaccept.plan import Plan, PlannedCable
from ibaccept.prove import Aspect
from ibaccept.snapshot import Gap, Snapshot
from ibaccept.verdict import Different, Unseen

IN_PLACE = "in place"


def cables_of(
    snapshot: Snapshot, plan: Plan, expected: Cabling, cable: PlannedCable | None
) -> list[Any]:
    """What is judged: a difference stands for its planned cables, the others are in place.

    With ``each: cable`` every planned cable is an item of its own, and one more (``cable`` is
    None) is about the cables that nobody planned.

    Raises:
        NotSeenError: the fabric was not seen.
        InputError: a name in the plan that is misspelt or names several nodes.
    """
    differences = [
        difference
        for difference in compare(plan, snapshot.fabric)
        if difference.kind != "extra" or expected.extra == "refused"
    ]
    about: dict[PlannedCable, CableDifference] = {}
    for difference in differences:
        for planned in difference.planned:
            about[planned.planned] = difference
    if cable is not None:
        return [about[cable] if cable in about else _located(plan, snapshot, cable)]
    extras = [difference for difference in differences if not difference.planned]
    if expected.each is not None:
        others = Aspect("cables", "cables that the plan does not name", command="iblinkinfo --line")
        unplanned: list[Any] = [*extras]
        return [*(unplanned or [others]), *snapshot.gaps]
    told: set[int] = set()
    items: list[Any] = []
    for located in locate(plan, snapshot.fabric):
        found = about.get(located.planned)
        if found is None:
            items.append(located)
        elif id(found) not in told:
            told.add(id(found))
            items.append(found)
    items += extras
    # Without the nodes that did not answer, a cable at them is neither there nor missing; compare
    # calls those unseen. Other gaps cannot hide a planned cable, but may hide an extra one.
    return [*items, *snapshot.gaps] if expected.extra == "refused" else items


def _located(plan: Plan, snapshot: Snapshot, cable: PlannedCable) -> Cable:
    return next(c for c in locate(plan, snapshot.fabric) if c.planned == cable)


def cabling_of(item: Any, *, gaps: bool) -> str | Different | Unseen:
    """``in place``, what differs from the plan, or what was not seen.

    Args:
        item: from ``cables_of``.
        gaps: nodes did not answer the sweep, so that "not there" proves nothing by itself.
    """
    match item:
        case CableDifference(kind="unseen"):
            return Unseen(item.text, ANOTHER_LOOK)
        case CableDifference(kind="missing") if gaps and not all(c.is_absent for c in item.planned):
            return Unseen(f"{item.text}, but the sweep was not whole", ANOTHER_LOOK)
        case CableDifference():
            return Different(item.text, item.expected)
        case Cable():
            return IN_PLACE if item.is_there else Unseen(item.state_text(), ANOTHER_LOOK)
        case Aspect():
            return IN_PLACE
        case Gap():
            return Unseen(item.reason, ANOTHER_LOOK)
        case _:
            raise TypeError(f"{type(item).__name__} is no cable")


def count_of(
    snapshot: Snapshot, expected: LinkCount
) -> tuple[list[Aspect], Callable[[Aspect], int | Unseen]]:
    """The count as one item, and how many links are up between the two sides.

    Raises:
        NotSeenError: the fabric was not seen.
        InputError: a side that nobody knows.
    """
    chosen = links_of(snapshot, expected.links)
    links = tuple(item for item in chosen.items if isinstance(item, Link))
    up = tuple(link for link in links if not any(end.is_down for end in link.ends))
    gaps = [item.reason for item in chosen.items if isinstance(item, Gap)]
    aspect = Aspect("count", chosen.noun, links=up, command="iblinkinfo --line")

    def of(_aspect: Aspect) -> int | Unseen:
        if gaps and len(up) <= expected.count:
            return Unseen(f"{len(up)} are up, but {'; '.join(gaps[:3])}", ANOTHER_LOOK)
        return len(up)

    return [aspect], of

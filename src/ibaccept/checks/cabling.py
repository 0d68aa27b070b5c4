"""Expectations about which port is cabled to which."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from ibaccept.checks.base import Area, Expectation
from ibaccept.checks.links import ANOTHER_LOOK
from ibaccept.checks.proof import Aspect
from ibaccept.checks.selector import LinkSelector
from ibaccept.observe.cabling import CableDifference, compare, replaced_nodes
from ibaccept.observe.placement import PlacedCable, ReplacedNode, locate
from ibaccept.observe.snapshot import Gap, Snapshot
from ibaccept.site.fields import Text
from ibaccept.site.plan import Plan, PlannedCable
from ibaccept.verdict import Different, ItemAnswer, Met
from ibaccept.verdict.absence import NotSeen


class Cabling(Expectation):
    """The fabric is cabled as planned.

    Missing, extra, moved and swapped cables are reported with both ends; a swap is one difference.
    A cable in place that is not Active/LinkUp at both ends differs too, with what its states mean.
    A node of the planned name with another GUID is one difference (replaced?), and its cables are
    judged at the new node. A row of the plan that fits nothing is an error of this entry alone. A
    cable that the plan does not name is extra where it takes a planned port, joins two planned
    nodes, or joins such types of nodes as the plan has cables between.

    ```yaml
    - id: all-cabled
      kind: cabling
      plan: inventory/cables.csv
      extra: allowed
    ```
    """

    area: ClassVar[Area] = "cabling"

    kind: Literal["cabling"]
    plan: Text = Field(
        description="CSV file or the folder of an earlier run, relative to the expectations file"
    )
    extra: Literal["refused", "allowed"] = Field(
        default="refused", description="cables that the plan does not name"
    )
    each: Literal["cable"] | None = Field(default=None, description="one item per planned cable")

    unplanned_too: ClassVar[bool] = True

    def each_cables(self) -> LinkSelector | None:
        """Every planned cable, with ``each: cable``."""
        return LinkSelector(type="all") if self.each is not None else None

    def plan_named(self) -> str | None:
        """The plan the fabric is held against."""
        return self.plan

    @property
    def ordered(self) -> str:
        """The whole order; of one cable see ``planned_as``."""
        return CABLED


CABLED = "cabled as planned"
CORRECT = "correct the row of the plan"
REPLACED = "write the new GUID into the plan, or look for the hardware that was planned"
UNPLANNED = "cables that the plan does not name"


def cables_of(
    snapshot: Snapshot, plan: Plan, expected: Cabling, cable: PlannedCable | None
) -> list[Any]:
    """What is judged: a difference stands for its planned cables, the others are in place.

    With ``each: cable`` every planned cable is an item of its own, and one more (``cable`` is
    None) is about what no planned cable stands for: cables that are not in the plan, and replaced
    nodes, each of which is one item whatever number of its cables is planned.

    Raises:
        NotSeenError: the fabric was not seen.
    """
    cables = locate(plan, snapshot.fabric)
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
        return [about[cable] if cable in about else next(c for c in cables if c.planned == cable)]
    extras: list[Any] = [difference for difference in differences if not difference.planned]
    extras += replaced_nodes(cables)
    if expected.each is not None:
        others = Aspect("cables", UNPLANNED, command="iblinkinfo --line")
        return [*(extras or [others]), *snapshot.gaps]
    listed: set[int] = set()
    items: list[Any] = []
    for located in cables:
        found = about.get(located.planned)
        if found is None:
            items.append(located)
        elif id(found) not in listed:
            listed.add(id(found))
            items.append(found)
    items += extras
    # Without the nodes that did not answer, a cable at them is neither there nor missing; compare
    # calls those unseen. Other gaps cannot hide a planned cable, but may hide an extra one.
    return [*items, *snapshot.gaps] if expected.extra == "refused" else items


def planned_as(item: Any) -> str:
    """What is expected of an item of ``cables_of``: ``cabled as planned: SwitchA/13 - calc1/1``."""
    match item:
        case CableDifference(expected=str(text)) if text:
            return text
        case PlacedCable():
            return f"{CABLED}: {item.name}"
        case ReplacedNode():
            return f"GUID {item.planned}"
        case Aspect():
            return "no cable that the plan does not name"
        case _:
            return CABLED


def cabling_of(item: Any, *, gaps: bool) -> ItemAnswer:
    """Met where it is in place, what differs from the plan, or what was not seen.

    Args:
        item: from ``cables_of``.
        gaps: nodes did not answer the sweep, so that "not there" proves nothing by itself.
    """
    match item:
        case CableDifference():
            return _difference(item, gaps=gaps)
        case PlacedCable():
            # compare stands in for every other cable with a difference
            is_up = item.live is not None and item.live.is_up
            return Met() if is_up else NotSeen(item.name, item.state_text(), ANOTHER_LOOK)
        case ReplacedNode():
            return Different(str(item), hint=REPLACED)
        case Aspect():
            return Met()
        case Gap():
            return item.not_seen(ANOTHER_LOOK)
        case _:
            raise TypeError(f"{type(item).__name__} is no cable")


def _difference(item: CableDifference, *, gaps: bool) -> ItemAnswer:
    if item.kind == "unseen":
        hint = CORRECT if all(cable.problem for cable in item.planned) else ANOTHER_LOOK
        return NotSeen("the cable", item.text, hint)
    if item.kind == "missing" and gaps and not all(c.is_absent for c in item.planned):
        return NotSeen("the cable", f"{item.text}, but the sweep was not whole", ANOTHER_LOOK)
    return Different(item.text)

"""Expectations about the rate of links."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ibaccept.checks.base import Absent, AbsentField, Area, Expectation
from ibaccept.checks.proof import Aspect
from ibaccept.checks.selector import (
    AbsentNode,
    Between,
    Item,
    LinkSelector,
    find,
    may_be_at,
    select,
    unnamed_hosts,
)
from ibaccept.fabric.model import Link, PortId, Rate, Speed, Width
from ibaccept.fabric.wording import reasons
from ibaccept.observe.linkstate import LinkState, link_state
from ibaccept.observe.placement import EndState, PlacedCable
from ibaccept.observe.snapshot import Gap, Snapshot
from ibaccept.site.fields import AtLeastOne, SpeedField, WidthField
from ibaccept.site.plan import PlannedCable
from ibaccept.verdict import Different, ItemAnswer, Met
from ibaccept.verdict.absence import NotSeen


@dataclass(frozen=True, slots=True)
class RateOrder:
    """The ordered width, speed, or both."""

    width: Width | None
    speed: Speed | None

    def met(self, actual: Rate) -> bool:
        """True where the rate has the ordered width and speed; 2X NDR is not 4X HDR."""
        return self.width in {None, actual.width} and self.speed in {None, actual.speed}

    def __str__(self) -> str:
        return " ".join(str(part) for part in (self.width, self.speed) if part is not None)


class LinkRate(Expectation):
    """Every selected link trains at the ordered width and speed.

    Width and speed are compared separately. A port that is down has no rate: with a plan it is
    reported as down, never as slow.

    ```yaml
    - id: isl-4x-hdr
      kind: link-rate
      links: isl
      width: 4X
      speed: HDR
      because: "spine ordered as HDR"
    - id: storage-4x-edr
      kind: link-rate
      links: {nodes: storage, except: {names: "stor09/*"}}
      speed: EDR
    ```
    """

    area: ClassVar[Area] = "links"

    kind: Literal["link-rate"]
    links: LinkSelector
    width: WidthField | None = None
    speed: SpeedField | None = None
    each: Literal["cable"] | None = Field(
        default=None, description="one item per planned cable; needs an entry of kind cabling"
    )
    absent: AbsentField = "refused"

    @model_validator(mode="after")
    def _is_ordered(self) -> Self:
        if self.width is None and self.speed is None:
            raise ValueError("nothing is ordered; give width, speed or both")
        return self

    def each_cables(self) -> LinkSelector | None:
        """The links, with ``each: cable``."""
        return self.links if self.each is not None else None

    @property
    def rate(self) -> RateOrder:
        """What was ordered."""
        return RateOrder(self.width, self.speed)

    @property
    def ordered(self) -> str:
        """``4X HDR``."""
        return str(self.rate)


BOTH_ENDS = 2


SHORT, SLACK = 0.99, 0.1
"""How much shorter a window may be, as clocks can be set meanwhile (share; seconds)."""


ANOTHER_LOOK = "look again; if it stays, query that node by hand"


@dataclass(frozen=True, slots=True)
class Judged:
    """What an entry judges: the selection, and the gaps of the sweep. ``noun`` in the plural."""

    items: tuple[Item | Gap, ...]
    noun: str


def links_of(
    snapshot: Snapshot,
    links: LinkSelector,
    cable: PlannedCable | None = None,
    *,
    absent: Absent = "refused",
) -> Judged:
    """What ``links:`` selects, or the one planned cable of ``each: cable``.

    Gaps of the sweep are items too: a node that answered nothing is in no selection, and what was
    not seen must not pass. So are hosts that the fabric does not show, unless they are allowed.

    Raises:
        NotSeenError: the fabric was not seen.
        InputError: an unknown name.
    """
    if cable is not None:
        return Judged((find(cable, snapshot.planned),), "planned cables")
    chosen = select(links, snapshot.fabric, snapshot.inventory, snapshot.plan)
    items = [item for item in chosen.items if not _is_elsewhere(item)]
    if absent == "allowed":
        items = [item for item in items if not isinstance(item, AbsentNode)]
    gaps = [
        *_gaps(snapshot, links),
        *(_absent_hosts(snapshot, links) if absent == "refused" else ()),
    ]
    return Judged((*(_or_gap(snapshot, item) for item in items), *gaps), chosen.noun)


def _gaps(snapshot: Snapshot, links: LinkSelector) -> Iterator[Gap]:
    """Gaps that can hide a link which ``links:`` means."""
    if snapshot.open_gaps:
        yield from snapshot.gaps
        return
    fabric, inventory, plan = snapshot.fabric, snapshot.inventory, snapshot.plan
    for gap in snapshot.gaps:
        if gap.at is None or may_be_at(links, fabric, inventory, plan, gap.at):
            yield gap


def _absent_hosts(snapshot: Snapshot, links: LinkSelector) -> Iterator[Gap]:
    """Hosts whose links ``links:`` means without naming them, and that the fabric has not."""
    meant = unnamed_hosts(
        links,
        snapshot.fabric,
        snapshot.inventory,
        snapshot.plan,
        [gap.name for gap in snapshot.absent],
    )
    yield from (gap for gap in snapshot.absent if gap.name in meant)


def _is_elsewhere(item: Item) -> bool:
    """A planned cable whose ends are both up in other cables: those are judged in its place."""
    return isinstance(item, PlacedCable) and all(state is EndState.OTHER for state in item.states)


def _or_gap(snapshot: Snapshot, item: Item) -> Item | Gap:
    """A gap where a thing that is not there may only be a thing that did not answer."""
    lines = tuple(line for gap in snapshot.gaps for line in gap.captures)
    if snapshot.gaps and isinstance(item, AbsentNode):
        return Gap(item.name, f"{item.name} was not seen, and the sweep was not whole", lines)
    if snapshot.gaps and isinstance(item, PlacedCable) and not item.is_absent:
        own = tuple(line for port in ports_of(item) for line in snapshot.lines.get(port, ()))
        reason = f"not seen, and the sweep was not whole: {item.state_text()}"
        return Gap(item.name, reason, (*own, *lines))
    return item


def rate_judge(snapshot: Snapshot, ordered: RateOrder) -> Callable[[Any], ItemAnswer]:
    """A function of the selected item: whether its link is up and has the ordered rate."""

    def judged(item: Any) -> ItemAnswer:
        if isinstance(item, Link):
            return _not_up(link_state(item, snapshot.fabric)) or _link_rate(item, ordered)
        if isinstance(item, PlacedCable):
            if item.is_unseen:
                return NotSeen(item.name, f"not seen: {item.state_text()}", ANOTHER_LOOK)
            return Different(
                f"down: {item.state_text()}" if item.is_down else f"missing: {item.state_text()}"
            )
        return absent(item)

    return judged


def _not_up(state: LinkState) -> Different | NotSeen | None:
    """Why a link has no rate that carries data; None where it is up."""
    if state.is_up is None:
        return NotSeen("the state of the link", f"not seen to be up: {state.text}", ANOTHER_LOOK)
    return None if state.is_up else Different(f"not up: {state.text}")


def _link_rate(link: Link, ordered: RateOrder) -> ItemAnswer:
    if link.a.rate is None or link.b.rate is None:
        shown = " / ".join(end.rate_text or "nothing" for end in link.ends)
        return NotSeen(
            "the rate",
            f"the two tools or the two ends do not agree on a rate: {shown}",
            ANOTHER_LOOK,
        )
    if link.a.rate != link.b.rate:
        return Different(f"{link.a.rate} at one end, {link.b.rate} at the other")
    return Met() if ordered.met(link.a.rate) else Different(str(link.a.rate))


def absent(item: Gap | AbsentNode) -> NotSeen | Different:
    """The answer for a node that gave none, or that the fabric does not show."""
    if isinstance(item, Gap):
        return item.not_seen(ANOTHER_LOOK)
    if isinstance(item, AbsentNode):
        return Different(f"missing: {item.name} is not in the fabric")
    raise TypeError(f"{type(item).__name__} is no selected item")


def ports_of(item: Any) -> tuple[PortId, ...]:
    """Both ends of a link, or those ends of a planned cable that were seen."""
    if isinstance(item, Link):
        return (item.a.id, item.b.id)
    if isinstance(item, PlacedCable):
        return tuple(end for end in (item.a, item.b) if end is not None)
    return ()


class LinkCount(Expectation):
    """The number of links that are up is the one ordered.

    ```yaml
    - id: isl-count
      kind: link-count
      between: [SwitchA, SwitchB]
      count: 8
    ```
    """

    area: ClassVar[Area] = "cabling"

    kind: Literal["link-count"]
    between: Between
    count: AtLeastOne = Field(description="number of links that are up, exactly")

    @property
    def links(self) -> LinkSelector:
        """The links to count."""
        return LinkSelector(between=self.between)

    @property
    def ordered(self) -> str:
        """``8 up``."""
        return f"{self.count} up"


def count_of(
    snapshot: Snapshot, expected: LinkCount
) -> tuple[list[Aspect], Callable[[Aspect], ItemAnswer]]:
    """The count as one item, and its judge: how many links are up between the two sides.

    Raises:
        NotSeenError: the fabric was not seen.
        InputError: an unknown name on either side.
    """
    chosen = links_of(snapshot, expected.links)
    fabric = snapshot.fabric
    links = tuple(item for item in chosen.items if isinstance(item, Link))
    states = {link: link_state(link, fabric) for link in links}
    up = tuple(link for link in links if states[link].is_up)
    idle = tuple(link for link in links if states[link].is_up is False)
    gaps = [item for item in chosen.items if isinstance(item, Gap)]
    unclear = tuple(link for link in links if states[link].is_up is None)
    shown = (*idle, *unclear, *up)
    lines = tuple(line for gap in gaps for line in gap.captures)
    aspect = Aspect("count", chosen.noun, links=shown, captures=lines, command="iblinkinfo --line")

    def named(some: tuple[Link, ...]) -> list[str]:
        return [f"{fabric.link_name(link)}: {states[link].text}" for link in some]

    def of(_aspect: Aspect) -> ItemAnswer:
        if (gaps or unclear) and len(up) <= expected.count:
            why = reasons([*(gap.reason for gap in gaps), *named(unclear)])
            return NotSeen(chosen.noun, f"{len(up)} up, but {why}", ANOTHER_LOOK, lines)
        if len(up) == expected.count:
            return Met()
        return Different(f"{len(up)} up" + (f"; not up: {reasons(named(idle))}" if idle else ""))

    return [aspect], of

"""A cabling plan laid on a fabric: where each planned cable is, and what differs. Pure.

Each port ends at most one planned and one found cable. So the cables that differ, joined where
they share a port, form chains and rings of alternating planned and found cables. A ring is a swap
(the same ports, joined otherwise); in a chain each planned cable is paired with the found cable
beside it (moved), and one cable may be left over at the end (missing or extra). Every planned and
every found cable is so named exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ibaccept.errors import IbacceptError
from ibaccept.fabric.model import Fabric, Link, PortId
from ibaccept.fabric.wording import listed
from ibaccept.observe.placement import EndKey, PlacedCable, ReplacedNode, locate
from ibaccept.site.plan import Plan

SWAPPED = 12
"""Cables of a swap listed in its sentence; all of them are in its data."""

ROWS_SHOWN = 50
"""Rows that fit nothing which are listed one by one; thousands have one cause."""


@dataclass(frozen=True, slots=True)
class CableDifference:
    """One difference between plan and fabric.

    Attributes:
        kind: ``down`` is a cable that is where it was planned and carries no data; ``unseen`` is
            not a difference but a cable that could not be looked at (an error).
        planned: the planned cables it is about.
        found: the cables that are there instead.
        expected: what the plan says.
        text: what is there, starting with the kind.
    """

    kind: Literal["missing", "extra", "moved", "swapped", "down", "unseen"]
    planned: tuple[PlacedCable, ...]
    found: tuple[Link, ...]
    expected: str
    text: str


def compare(plan: Plan, fabric: Fabric) -> tuple[CableDifference, ...]:
    """What differs between plan and fabric, in the plan's order, extra cables last.

    A cable that the plan does not name is extra where it takes a planned port, where the plan has
    cables between such types of nodes (a plan of inter-switch links says nothing of host links),
    or where both its nodes appear in the plan. Links of SHARP aggregation nodes, which are inside
    the switches, count only by the first and last rule; links between nodes of one system image
    GUID, which are inside a box, only by the first.

    Raises:
        IbacceptError: the fabric is empty.
    """
    if not fabric.nodes:
        raise IbacceptError("no node was seen, so the cabling cannot be compared with the plan")
    cables = locate(plan, fabric)
    open_cables = [cable for cable in cables if not cable.is_there and not cable.problem]
    open_ports = {key: cable for cable in open_cables for key in cable.keys}
    planned_links = {cable.link.key for cable in cables if cable.link is not None}
    confirmed = {key for cable in cables if cable.is_there for key in cable.keys}
    confirmed |= {port for cable in cables for port in cable.claims}
    coverage = _Coverage(cables, fabric)
    found = [
        link
        for link in fabric.links
        if link.key not in planned_links
        and not {link.a.id, link.b.id} & confirmed
        and (
            link.a.id in open_ports
            or link.b.id in open_ports
            or (coverage.includes(link) and not fabric.is_internal(link))
        )
    ]
    found_at: dict[EndKey, Link] = {end.id: link for link in found for end in link.ends}
    graph = _Graph(fabric, open_ports, found_at)
    problems = [cable for cable in cables if cable.problem]
    rest = tuple(problems[ROWS_SHOWN:])
    late = set(rest)
    shown = [cable for cable in cables if cable not in late]
    differences = [d for cable in shown for d in _idle(cable) or graph.component(cable)]
    if rest:
        text = f"{plan.file}: {len(rest):,} more rows fit nothing"
        differences.append(CableDifference("unseen", rest, (), "", text))
    differences += [d for link in found for d in graph.leftover(link)]
    return tuple(differences)


def replaced_nodes(cables: Iterable[PlacedCable]) -> tuple[ReplacedNode, ...]:
    """Nodes that stand in the place of planned ones, each once, in the plan's order."""
    return tuple(dict.fromkeys(node for cable in cables for node in cable.replaced))


def _idle(cable: PlacedCable) -> tuple[CableDifference, ...]:
    """A cable that is in place, as far as it was seen, and is not known to carry data."""
    if cable.problem:
        return (CableDifference("unseen", (cable,), (), cable.name, cable.problem),)
    if not cable.is_there:
        return ()
    if cable.link is None or cable.live is None:
        text = f"not seen: {cable.state_text()}"
        return (CableDifference("unseen", (cable,), (), cable.name, text),)
    if cable.live.is_up:
        return ()
    # a port that is Down has no peer: one tool shows a cable there, the other none
    unclear = cable.live.is_up is None or any(end.is_down for end in cable.link.ends)
    kind: Literal["down", "unseen"] = "unseen" if unclear else "down"
    found = "not up" if kind == "down" else "not seen to be up"
    text = f"{found}: {cable.live.text}"
    return (CableDifference(kind, (cable,), (cable.link,), f"{cable.name} up", text),)


class _Coverage:
    """Says whether the plan speaks of a link at all."""

    def __init__(self, cables: Iterable[PlacedCable], fabric: Fabric) -> None:
        self.fabric = fabric
        self.nodes = {end.guid for c in cables for end in (c.a, c.b) if end is not None}
        self.pairs = {
            self.types(c.a, c.b)
            for c in cables
            if c.a is not None and c.b is not None
            if c.a.guid in fabric.nodes and c.b.guid in fabric.nodes
        }

    def types(self, a: PortId, b: PortId) -> tuple[str, ...]:
        nodes = (self.fabric.node_of(a), self.fabric.node_of(b))
        return tuple(sorted("SHARP" if n.is_aggregation else n.type.value for n in nodes))

    def includes(self, link: Link) -> bool:
        pair = self.types(link.a.id, link.b.id)
        if link.a.id.guid in self.nodes and link.b.id.guid in self.nodes:
            return True
        return "SHARP" not in pair and pair in self.pairs


def _other(keys: tuple[EndKey, EndKey], key: EndKey) -> EndKey:
    return keys[1] if keys[0] == key else keys[0]


class _Graph:
    """Chains and rings of planned and found cables that share ports."""

    def __init__(
        self, fabric: Fabric, planned: Mapping[EndKey, PlacedCable], found: Mapping[EndKey, Link]
    ) -> None:
        self.fabric = fabric
        self.planned = planned
        self.found = found
        self.done: set[PlacedCable | Link] = set()

    def walk(
        self, start: PlacedCable | Link, key: EndKey
    ) -> Iterator[tuple[PlacedCable | Link, EndKey]]:
        """Cables from ``start`` on over its end ``key``, each with the port it was entered by."""
        at: PlacedCable | Link | None = start
        while True:
            at = self.found.get(key) if isinstance(at, PlacedCable) else self.planned.get(key)
            if at is None or at == start:
                return
            yield at, key
            key = _other(at.keys if isinstance(at, PlacedCable) else at.key, key)

    def component(self, cable: PlacedCable) -> Iterator[CableDifference]:
        """Differences of the chain or ring an open cable is in; none when already listed."""
        if cable in self.done or cable.is_there or cable.problem:
            return
        ahead, behind = (list(self.walk(cable, key)) for key in cable.keys)
        is_ring = bool(ahead) and ahead[-1][0] in [at for at, _ in behind]
        chain: list[PlacedCable | Link] = [cable, *(at for at, _ in ahead)]
        if not is_ring:
            chain = [*(at for at, _ in reversed(behind)), *chain]
        self.done.update(chain)
        if is_ring:
            yield self.swapped(chain)
            return
        yield from self.chain(chain)

    def chain(self, chain: list[PlacedCable | Link]) -> Iterator[CableDifference]:
        """Differences of a chain; of a chain with found cables at both ends one is extra."""
        over = chain[0] if isinstance(chain[0], Link) and isinstance(chain[-1], Link) else None
        if over is not None:
            chain = chain[1:]
        yield from self.pairs(chain if isinstance(chain[0], PlacedCable) else chain[::-1])
        if isinstance(over, Link):
            yield self.unplanned(over)

    def pairs(self, chain: list[PlacedCable | Link]) -> Iterator[CableDifference]:
        for n in range(0, len(chain), 2):
            cable = chain[n]
            assert isinstance(cable, PlacedCable)  # noqa: S101 - chains alternate, planned first
            if n + 1 < len(chain):
                link = chain[n + 1]
                assert isinstance(link, Link)  # noqa: S101 - as above
                text = self.moves(cable, link)
                yield CableDifference("moved", (cable,), (link,), cable.name, f"moved: {text}")
            elif cable.is_unseen:
                text = f"not seen: {cable.state_text()}"
                yield CableDifference("unseen", (cable,), (), cable.name, text)
            else:
                text = f"missing: {cable.state_text()}"
                yield CableDifference("missing", (cable,), (), cable.name, text)

    def moves(self, cable: PlacedCable, link: Link) -> str:
        """``SwitchA/13 goes to SwitchB/26 instead of SwitchB/25``."""
        shared = next(key for key in cable.keys if key in link.key)
        names = dict(zip(cable.keys, cable.names, strict=True))
        now = _other(link.key, shared)
        there = self.fabric.port_name(now) if isinstance(now, PortId) else str(now)
        return f"{names[shared]} goes to {there} instead of {names[_other(cable.keys, shared)]}"

    def swapped(self, ring: list[PlacedCable | Link]) -> CableDifference:
        cables = tuple(at for at in ring if isinstance(at, PlacedCable))
        links = tuple(at for at in ring if isinstance(at, Link))
        moves = [self.moves(cable, link) for cable, link in zip(cables, links, strict=True)]
        return CableDifference(
            "swapped",
            cables,
            links,
            listed((cable.name for cable in cables), SWAPPED),
            f"swapped: {listed(moves, SWAPPED)}",
        )

    def unplanned(self, link: Link) -> CableDifference:
        text = f"extra: {self.fabric.link_name(link)} is not in the plan"
        return CableDifference("extra", (), (link,), "no cable", text)

    def leftover(self, link: Link) -> Iterator[CableDifference]:
        """A found cable that touches no planned one."""
        if link not in self.done:
            self.done.add(link)
            yield self.unplanned(link)

"""A cabling plan laid on a fabric: where each planned cable is, and what differs. Pure.

Each port ends at most one planned and one found cable. So the cables that differ, joined where
they share a port, form chains and rings of alternating planned and found cables. A ring is a swap
(the same ports, joined otherwise); in a chain each planned cable is paired with the found cable
beside it (moved), and one cable may be left over at the end (missing or extra). Every planned and
every found cable is so named exactly once.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ibaccept.errors import IbacceptError, InputProblemsError
from ibaccept.fabric.model import Fabric, Link, Node, Port, PortId
from ibaccept.fabric.suggest import Names
from ibaccept.fabric.wording import and_more, listed
from ibaccept.observe.linkstate import LinkState, link_state, port_is_up, port_state
from ibaccept.site.plan import End, Plan, PlannedCable

EndKey = PortId | tuple[str, int]
"""Identity of a planned end: the port, or (name, port number) of a node that is not there."""

SWAPPED = 12
"""Cables of a swap listed in its sentence; all of them are in its data."""

ROWS_TOLD = 50
"""Rows that cannot be resolved listed in a message; thousands have one cause."""


class EndState(enum.Enum):
    """What was seen of one end of a planned cable, in words for the reader."""

    CONNECTED = "is cabled as planned"
    OTHER = "is cabled elsewhere"
    DOWN = "is {shown}"
    UP = "is {shown}, but what it is cabled to was not seen"
    NO_LINK = "shows no link"
    NO_NODE = "is not in the fabric"


@dataclass(frozen=True, slots=True)
class PlacedCable:
    """One planned cable, looked for in the fabric.

    Attributes:
        planned: its row.
        a: its first end; None where the plan gives a name only and no node has it.
        b: its second end, likewise.
        link: the cable as seen, both ends as planned; None when it is not there.
        states: what was seen of each end.
        names: the ends, for people.
        shown: state of each end, ``up`` or ``Down/Polling (no peer or no cable)``.
        live: whether the cable carries data; None where the link was not seen whole.
    """

    planned: PlannedCable
    a: PortId | None
    b: PortId | None
    link: Link | None
    states: tuple[EndState, EndState]
    names: tuple[str, str]
    shown: tuple[str, str] = ("", "")
    live: LinkState | None = None

    @property
    def keys(self) -> tuple[EndKey, EndKey]:
        """Identity of both ends."""
        return (self.a or self.planned.a.key, self.b or self.planned.b.key)

    @property
    def name(self) -> str:
        """``SwitchA/13 - SwitchB/25``."""
        return " - ".join(self.names)

    @property
    def is_there(self) -> bool:
        """True where at least one end names the other and the other does not contradict."""
        return self.link is not None or EndState.CONNECTED in self.states

    @property
    def is_down(self) -> bool:
        """True where both nodes were seen and an end is down: the cable may be plugged."""
        return EndState.DOWN in self.states and EndState.NO_NODE not in self.states

    @property
    def is_unseen(self) -> bool:
        """True where the link was not seen whole and nothing shows that the cable is absent.

        One end names the other, which was not read; or an end is up and its peer not read.
        """
        if self.link is not None:
            return False
        proofs = {EndState.OTHER, EndState.DOWN, EndState.NO_LINK, EndState.NO_NODE}
        return self.is_there or not proofs & set(self.states)

    @property
    def is_absent(self) -> bool:
        """True where an end that was seen proves it: it is down, without a link or elsewhere."""
        proofs = {EndState.OTHER, EndState.DOWN, EndState.NO_LINK}
        return not self.is_there and bool(proofs & set(self.states))

    def state_text(self) -> str:
        """``SwitchA/13 is Down/Polling (no peer or no cable); SwitchB is not in the fabric``."""
        parts = []
        for name, state, shown in zip(self.names, self.states, self.shown, strict=True):
            match state:
                case EndState.NO_NODE:
                    parts.append(f"{name.rsplit('/', 1)[0]} {state.value}")
                case EndState.DOWN | EndState.UP:
                    parts.append(f"{name} {state.value.format(shown=shown)}")
                case _:
                    parts.append(f"{name} {state.value}")
        return "; ".join(dict.fromkeys(parts))


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


def locate(plan: Plan, fabric: Fabric) -> tuple[PlacedCable, ...]:
    """Every planned cable as the fabric shows it, in the plan's order. GUIDs come before names.

    Raises:
        InputError: a name that several nodes have or that only resembles one, a port GUID in
            place of a node GUID, a port the node does not have, a port used twice.
    """
    resolver = _Resolver(plan, fabric)
    cables = []
    users: dict[EndKey, PlannedCable] = {}
    for planned in plan.cables:
        cable = resolver.cable(planned)
        for key, end in zip(cable.keys, planned.ends, strict=True):
            if key in users:
                resolver.problem(planned, f"{end} is already used in {plan.where(users[key])}")
            users[key] = planned
        cables.append(cable)
    problems = resolver.problems
    if len(problems) > ROWS_TOLD:
        more = and_more(len(problems) - ROWS_TOLD, "problems")
        problems = [*problems[:ROWS_TOLD], f"{plan.file}: {more}"]
    if problems:
        raise InputProblemsError(problems)
    return tuple(cables)


class _Resolver:
    def __init__(self, plan: Plan, fabric: Fabric) -> None:
        self.plan = plan
        self.fabric = fabric
        self.problems: list[str] = []
        self.port_guids = {
            port.guid: port.id for port in fabric.ports() if port.guid not in {None, port.id.guid}
        }
        named = {end.name for cable in plan.cables for end in cable.ends}
        guids = {end.guid for cable in plan.cables for end in cable.ends}
        self.unplanned = Names(
            node.name.strip()
            for node in fabric.nodes.values()
            if node.name.strip() not in named and node.guid not in guids
        )

    def problem(self, planned: PlannedCable, sentence: str) -> None:
        self.problems.append(f"{self.plan.where(planned)}: {sentence}")

    def cable(self, planned: PlannedCable) -> PlacedCable:
        a, b = self.port(planned.a, planned), self.port(planned.b, planned)
        link = self.fabric.link_at.get(a) if a is not None else None
        if link is not None and {link.a.id, link.b.id} != {a, b}:
            link = None
        states = (self.state(a, b), self.state(b, a))
        if EndState.OTHER in states:  # one end contradicts the other: not there
            states = tuple(EndState.UP if s is EndState.CONNECTED else s for s in states)  # type: ignore[assignment] # still two
        names = (self.name(planned.a, a), self.name(planned.b, b))
        ports = [self.fabric.port(port) if port is not None else None for port in (a, b)]
        shown = (_shown(ports[0]), _shown(ports[1]))
        live = link_state(link, self.fabric) if link is not None else None
        return PlacedCable(planned, a, b, link, states, names, shown, live)

    def name(self, end: End, port: PortId | None) -> str:
        if port is not None and port.guid in self.fabric.nodes:
            return self.fabric.port_name(port)
        return str(end)

    def state(self, port: PortId | None, peer: PortId | None) -> EndState:
        if port is None or port.guid not in self.fabric.nodes:
            return EndState.NO_NODE
        seen = self.fabric.port(port)
        if seen is None:
            return EndState.NO_LINK
        if seen.remote is not None:
            return EndState.CONNECTED if seen.remote == peer else EndState.OTHER
        if seen.is_down:
            return EndState.DOWN
        return EndState.UP

    def port(self, end: End, planned: PlannedCable) -> PortId | None:
        node = self.node(end, planned)
        if node is None:
            return PortId(end.guid, end.port) if end.guid is not None else None
        if end.port > node.num_ports:
            self.problem(planned, f"{end}: {node.name.strip()} has {node.num_ports} ports")
        return PortId(node.guid, end.port)

    def node(self, end: End, planned: PlannedCable) -> Node | None:
        if end.guid is not None:
            if end.guid not in self.fabric.nodes and end.guid in self.port_guids:
                port = self.port_guids[end.guid]
                self.problem(
                    planned,
                    f"{end.guid} is the port GUID of {self.fabric.port_name(port)}; "
                    f"write its node GUID {port.guid}",
                )
            return self.fabric.nodes.get(end.guid)
        nodes = self.fabric.by_name.get(end.name, ())
        if len(nodes) > 1:
            guids = ", ".join(str(guid) for guid in sorted(node.guid for node in nodes))
            self.problem(
                planned, f"{len(nodes)} nodes are named {end.name!r}; write the GUID ({guids})"
            )
        if not nodes:
            near = self.unplanned.near(end.name)
            if near:
                self.problem(
                    planned,
                    f"no node is named {end.name!r}; did you mean {' or '.join(map(repr, near))}?",
                )
        return nodes[0] if nodes else None


def _shown(port: Port | None) -> str:
    return "up" if port_is_up(port) else port_state(port)


def compare(plan: Plan, fabric: Fabric) -> tuple[CableDifference, ...]:
    """What differs between plan and fabric, in the plan's order, extra cables last.

    A cable that the plan does not name is extra where it takes a planned port, where the plan has
    cables between such types of nodes (a plan of inter-switch links says nothing of host links),
    or where both its nodes appear in the plan. Links of SHARP aggregation nodes, which are inside
    the switches, count only by the first and last rule; links between nodes of one system image
    GUID, which are inside a box, only by the first.

    Raises:
        InputError: as ``locate``; or the fabric is empty.
    """
    if not fabric.nodes:
        raise IbacceptError("no node was seen, so the cabling cannot be compared with the plan")
    cables = locate(plan, fabric)
    open_cables = [cable for cable in cables if not cable.is_there]
    open_ports = {key: cable for cable in open_cables for key in cable.keys}
    planned_links = {cable.link.key for cable in cables if cable.link is not None}
    confirmed = {key for cable in cables if cable.is_there for key in cable.keys}
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
    differences = [d for cable in cables for d in _idle(cable) or graph.component(cable)]
    differences += [d for link in found for d in graph.leftover(link)]
    return tuple(differences)


def _idle(cable: PlacedCable) -> tuple[CableDifference, ...]:
    """A cable that is in place, as far as it was seen, and is not known to carry data."""
    if not cable.is_there:
        return ()
    if cable.link is None or cable.live is None:
        text = f"not seen: {cable.state_text()}"
        return (CableDifference("unseen", (cable,), (), cable.name, text),)
    if cable.live.is_up:
        return ()
    kind: Literal["down", "unseen"] = "unseen" if cable.live.is_up is None else "down"
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
        if cable in self.done or cable.is_there:
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

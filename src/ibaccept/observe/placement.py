"""A cabling plan laid on a fabric: at which ports each planned cable is. Pure.

A node of the plan is found by its GUID, else by its name: exact, else by the host part of the
name, as hosts of the inventory are. A row that fits nothing has a problem of its own and does not
keep the others from being placed. Where a planned GUID is gone and one node of that name is there
that no row plans, the node was replaced: its cables are placed at the new node.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from ibaccept.fabric.model import Fabric, Guid, Link, Node, NodeType, Port, PortId
from ibaccept.fabric.names import host_part, is_same_host
from ibaccept.fabric.suggest import Names
from ibaccept.observe.linkstate import LinkState, link_state, port_is_up, port_state
from ibaccept.site.plan import End, Plan, PlannedCable

EndKey = PortId | tuple[str, int]
"""Identity of a planned end: the port, or (name, port number) of a node that is not there."""


class EndState(enum.Enum):
    """What was seen of one end of a planned cable, in words for the reader."""

    CONNECTED = "is cabled as planned"
    OTHER = "is cabled elsewhere"
    DOWN = "is {shown}"
    UP = "is {shown}, but what it is cabled to was not seen"
    NO_LINK = "shows no link"
    NO_NODE = "is not in the fabric"


@dataclass(frozen=True, slots=True)
class ReplacedNode:
    """A node of the planned name with another GUID, where the planned GUID is not in the fabric.

    Attributes:
        name: in the plan's words.
        type: of the node that was found.
        planned: node GUID of the plan.
        found: node GUID of the node that was found.
    """

    name: str
    type: NodeType
    planned: Guid
    found: Guid

    def __str__(self) -> str:
        kind = "adapter" if self.type is NodeType.CA else self.type.name.lower()
        return (
            f"{self.name}: {kind} with GUID {self.planned} planned, {self.found} found: replaced?"
        )


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
        replaced: nodes that stand in the place of planned ones.
        problem: why the row is at no port; empty where it is placed.
        claims: ports of a row with a problem that are known all the same.
    """

    planned: PlannedCable
    a: PortId | None
    b: PortId | None
    link: Link | None
    states: tuple[EndState, EndState]
    names: tuple[str, str]
    shown: tuple[str, str] = ("", "")
    live: LinkState | None = None
    replaced: tuple[ReplacedNode, ...] = ()
    problem: str = ""
    claims: tuple[PortId, ...] = ()

    def refused(self, problem: str) -> PlacedCable:
        """The cable of a row that cannot be placed."""
        claims = tuple(end for end in (self.a, self.b) if end is not None)
        return replace(self, a=None, b=None, link=None, live=None, problem=problem, claims=claims)

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
        if self.problem:
            return False
        return self.link is not None or EndState.CONNECTED in self.states

    @property
    def is_down(self) -> bool:
        """True where both nodes were seen and an end is down: the cable may be plugged."""
        return (
            not self.problem
            and EndState.DOWN in self.states
            and EndState.NO_NODE not in self.states
        )

    @property
    def is_unseen(self) -> bool:
        """True where the link was not seen whole and nothing shows that the cable is absent.

        One end names the other, which was not read; or an end is up and its peer not read.
        """
        if self.link is not None:
            return False
        if self.problem:
            return True
        proofs = {EndState.OTHER, EndState.DOWN, EndState.NO_LINK, EndState.NO_NODE}
        return self.is_there or not proofs & set(self.states)

    @property
    def is_absent(self) -> bool:
        """True where an end that was seen proves it: it is down, without a link or elsewhere."""
        proofs = {EndState.OTHER, EndState.DOWN, EndState.NO_LINK}
        return not self.problem and not self.is_there and bool(proofs & set(self.states))

    def state_text(self) -> str:
        """``SwitchA/13 is Down/Polling (no peer or no cable); SwitchB is not in the fabric``."""
        if self.problem:
            return self.problem
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


def locate(plan: Plan, fabric: Fabric) -> tuple[PlacedCable, ...]:
    """Every planned cable as the fabric shows it, in the plan's order. GUIDs come before names.

    A row that fits nothing, or several nodes, has a ``problem`` and is at no port; the other rows
    are placed as if it were not there.
    """
    resolver = _Resolver(plan, fabric)
    cables = []
    users: dict[EndKey, PlannedCable] = {}
    for planned in plan.cables:
        cable = resolver.cable(planned)
        for key, end in zip(cable.keys, planned.ends, strict=True):
            user = users.setdefault(key, planned)
            if user is not planned and not cable.problem:
                twice = f"{end} is already used in {plan.where(user)}"
                cable = cable.refused(f"{plan.where(planned)}: {twice}")
        cables.append(cable)
    return tuple(cables)


class _RowError(Exception):
    """A row of the plan that fits nothing in the fabric, or fits it in two ways."""


class _Resolver:
    """Finds the nodes and ports of planned ends.

    Attributes:
        port_guids: ports by a GUID that is not their node's, which plans hold by mistake.
        planned_guids: node GUIDs of the plan.
        missing: names of planned GUIDs that the fabric does not show.
    """

    def __init__(self, plan: Plan, fabric: Fabric) -> None:
        self.plan = plan
        self.fabric = fabric
        self.port_guids = {
            port.guid: port.id for port in fabric.ports() if port.guid not in {None, port.id.guid}
        }
        ends = [end for cable in plan.cables for end in cable.ends]
        named = {end.name for end in ends}
        self.planned_guids = {end.guid for end in ends if end.guid is not None}
        self.missing: dict[str, set[Guid]] = {}
        for end in ends:
            if end.guid is not None and end.guid not in fabric.nodes:
                self.missing.setdefault(end.name, set()).add(end.guid)
        self.hosts: dict[str, list[Node]] = {}
        for node in fabric.nodes.values():
            self.hosts.setdefault(host_part(node.name), []).append(node)
        unplanned = [
            node
            for node in fabric.nodes.values()
            if node.name.strip() not in named and node.guid not in self.planned_guids
        ]
        self.unplanned = Names(
            node.name.split()[0] if node.type is NodeType.CA and node.name.strip() else node.name
            for node in unplanned
        )

    def cable(self, planned: PlannedCable) -> PlacedCable:
        try:
            (a, was_a), (b, was_b) = (self.port(end) for end in planned.ends)
        except _RowError as error:
            names = (str(planned.a), str(planned.b))
            cable = PlacedCable(planned, None, None, None, (EndState.NO_NODE,) * 2, names)
            known = tuple(port for end in planned.ends if (port := self.known(end)) is not None)
            return replace(cable.refused(f"{self.plan.where(planned)}: {error}"), claims=known)
        link = self.fabric.link_at.get(a) if a is not None else None
        if link is not None and {link.a.id, link.b.id} != {a, b}:
            link = None
        states = (self.state(a, b), self.state(b, a))
        if EndState.OTHER in states:  # one end contradicts the other: not there
            states = tuple(EndState.UP if s is EndState.CONNECTED else s for s in states)  # type: ignore[assignment] # still two
        names = (self.name(planned.a, a), self.name(planned.b, b))
        ports = [self.fabric.port(port) if port is not None else None for port in (a, b)]
        return PlacedCable(
            planned,
            a,
            b,
            link,
            states,
            names,
            shown=(_shown(ports[0]), _shown(ports[1])),
            live=link_state(link, self.fabric) if link is not None else None,
            replaced=tuple(was for was in (was_a, was_b) if was is not None),
        )

    def known(self, end: End) -> PortId | None:
        """The port of an end whose row cannot be placed, where this end can."""
        try:
            return self.port(end)[0]
        except _RowError:
            return None

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

    def port(self, end: End) -> tuple[PortId | None, ReplacedNode | None]:
        """The port of an end, and the node that stands in the planned one's place."""
        node, replaced = self.node(end)
        if node is None:
            return (PortId(end.guid, end.port) if end.guid is not None else None), None
        if end.port > node.num_ports:
            raise _RowError(f"{end}: {node.name.strip()} has {node.num_ports} ports")
        return PortId(node.guid, end.port), replaced

    def node(self, end: End) -> tuple[Node | None, ReplacedNode | None]:
        if end.guid is None:
            return self.by_name(end.name), None
        node = self.fabric.nodes.get(end.guid)
        if node is not None:
            self.agrees(end, node)
            return node, None
        if end.guid in self.port_guids:
            port = self.port_guids[end.guid]
            raise _RowError(
                f"{end.guid} is the port GUID of {self.fabric.port_name(port)}; "
                f"write its node GUID {port.guid}"
            )
        other = self.successor(end)
        if other is None:
            return None, None
        return other, ReplacedNode(end.name, other.type, end.guid, other.guid)

    def agrees(self, end: End, node: Node) -> None:
        """Raises unless the name is the node's, or at least no other node's."""
        if not end.name or host_part(end.name) == host_part(node.name):
            return
        others = self.fabric.by_name.get(end.name, ())
        if others:
            raise _RowError(
                f"name and GUID contradict each other: {end.name!r} has the GUID "
                f"{others[0].guid}, and {end.guid} is {node.name.strip()!r}"
            )

    def successor(self, end: End) -> Node | None:
        """The one node of a planned name that no row plans, where the planned GUID is gone."""
        if not end.name or len(self.missing[end.name]) > 1:
            return None
        nodes = [node for node in self.named(end.name) if node.guid not in self.planned_guids]
        return nodes[0] if len(nodes) == 1 else None

    def named(self, name: str) -> tuple[Node, ...]:
        """Nodes of a name: exact, else by host part, as the inventory's hosts are found."""
        return self.fabric.by_name.get(name, ()) or tuple(
            node
            for node in self.hosts.get(host_part(name), ())
            if is_same_host(name, node.name, is_adapter=node.type is NodeType.CA)
        )

    def by_name(self, name: str) -> Node | None:
        nodes = self.named(name)
        if len(nodes) > 1:
            guids = ", ".join(str(guid) for guid in sorted(node.guid for node in nodes))
            raise _RowError(f"{len(nodes)} nodes are named {name!r}; write the GUID ({guids})")
        if not nodes:
            near = self.unplanned.near(name)
            if near:
                names = " or ".join(map(repr, near))
                raise _RowError(f"no node is named {name!r}; did you mean {names}?")
        return nodes[0] if nodes else None


def _shown(port: Port | None) -> str:
    return "up" if port_is_up(port) else port_state(port)

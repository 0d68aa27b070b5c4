"""Parsed outputs -> ``Fabric``: ibnetdiscover alone, or together with iblinkinfo.

Identity, LIDs, LMC and cables are ibnetdiscover's; state and rate are iblinkinfo's. Where the two
disagree on one port, its rate is None (not seen) and a sentence says so: never one tool's word.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ibaccept.fabric.model import (
    Fabric,
    Guid,
    Lid,
    Node,
    NodeType,
    Port,
    PortId,
    PortState,
    Rate,
    Speed,
    Width,
)
from ibaccept.parse import ParseError
from ibaccept.parse.iblinkinfo import LinkRow
from ibaccept.parse.ibnetdiscover import TOOL, NodeRecord, PortRecord, Topology


def to_fabric(topology: Topology) -> Fabric:
    """The fabric as ibnetdiscover alone shows it: no port states, no ports that are down.

    Ports recorded at one end only are linked from both ends; the end without a line of its own
    has no rate, so such a link has none either. ``gaps`` says in words what is missing.

    Raises:
        ParseError: a node or a peer without a GUID, or one GUID on nodes of two types.
    """
    return _Draft.of(topology).fabric()


def gaps(topology: Topology) -> tuple[str, ...]:
    """What the output does not describe, a sentence each; empty for a whole output.

    Raises:
        ParseError: as ``to_fabric``.
    """
    return tuple(_Draft.of(topology).sentences)


def merge(topology: Topology, link_rows: Iterable[LinkRow]) -> tuple[Fabric, tuple[str, ...]]:
    """The fabric of both tools.

    Returns:
        The fabric, with the ports that only iblinkinfo lists (those that are down), and a sentence
        for each thing the tools disagree on or do not show: the gaps of ``gaps``, the rate, the
        peer or the LID of a port, whether it is up, a port that one of them does not list.

    Raises:
        ParseError: as ``to_fabric``.
    """
    draft = _Draft.of(topology)
    rows = draft.place(link_rows)
    for port_id in sorted(draft.ports.keys() | rows.keys()):
        port, row = draft.ports.get(port_id), rows.get(port_id)
        if row is None:
            draft.say(port_id, "is in ibnetdiscover, but iblinkinfo has no row of it")
        elif port is None:
            draft.ports[port_id] = draft.added(port_id, row)
        else:
            draft.ports[port_id] = draft.combined(port, row)
    return draft.fabric(), tuple(draft.sentences)


def unread_peers(fabric: Fabric) -> dict[PortId, str]:
    """Ports that are up and whose peer neither tool could read, and the sentence of ``merge``."""
    found = {}
    for port in fabric.ports():
        if port.remote is None and port.state not in {None, PortState.DOWN}:
            node = fabric.node_of(port)
            name = f"{node.name.strip() or node.guid}/{port.id.port}"
            found[port.id] = f"{name} ({node.guid}) {_unread(port.state)}"
    return found


def _unread(state: PortState | None) -> str:
    shown = "up" if state is None else state.value
    return f"is {shown}, but neither tool could read its peer"


@dataclass(slots=True)
class _Draft:
    """A fabric being built.

    Attributes:
        nodes: without their ports.
        printed: width, speed and text of a port as ibnetdiscover printed them.
        by_port_guid: CA and router ports by their own GUID.
        switches: node GUID of a switch by either of its GUIDs.
    """

    nodes: dict[Guid, Node] = field(default_factory=dict)
    ports: dict[PortId, Port] = field(default_factory=dict)
    printed: dict[PortId, tuple[Width | None, Speed | None, str]] = field(default_factory=dict)
    by_port_guid: dict[Guid, PortId] = field(default_factory=dict)
    switches: dict[Guid, Guid] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, topology: Topology) -> _Draft:
        draft = cls()
        for record in topology.nodes:
            draft.add_node(record)
        for record in topology.nodes:
            for port in record.ports:
                draft.add_port(record, port)
        for record in topology.nodes:
            for port in record.ports:
                draft.add_far_end(record, port)
        for port_id, seen in draft.ports.items():
            if seen.guid is not None:
                draft.by_port_guid[seen.guid] = port_id
        return draft

    def add_node(self, record: NodeRecord) -> None:
        guid = _identity(record.guid, record.id_text, record.line)
        if guid in self.nodes:
            raise ParseError(
                TOOL,
                f"two nodes have the GUID {guid}: {self.nodes[guid].name!r} and {record.name!r}",
                line=record.line,
            )
        self.nodes[guid] = Node(
            guid=guid,
            type=record.type,
            name=record.name,
            num_ports=record.num_ports,
            lid=record.lid,
            lmc=record.lmc,
            vendor_id=record.vendor_id,
            device_id=record.device_id,
            system_guid=record.system_guid,
            chassis=record.chassis,
        )
        if record.type is NodeType.SWITCH:
            self.switches[guid] = guid
            if record.port_guid is not None:
                self.switches[record.port_guid] = guid

    def add_port(self, record: NodeRecord, port: PortRecord) -> None:
        if port.number == 0 or record.guid is None:  # port 0 is the node itself
            return
        remote = _remote(port)
        port_id = PortId(record.guid, port.number)
        self.printed[port_id] = (port.width, port.speed, port.rate_text)
        self.ports[port_id] = Port(
            id=port_id,
            guid=port.guid,
            lid=port.lid,
            lmc=port.lmc,
            rate=_rate(port.width, port.speed),
            rate_text=port.rate_text,
            remote=remote,
            label=port.label,
        )

    def add_far_end(self, record: NodeRecord, port: PortRecord) -> None:
        if port.number == 0 or record.guid is None:
            return
        near, far = PortId(record.guid, port.number), _remote(port)
        if far in self.ports or far.port == 0:
            return
        node = self.nodes.get(far.guid)
        if node is None:
            node = self.add_peer_node(port, far)
        self.ports[far] = Port(
            id=far,
            guid=port.peer_port_guid,
            lid=None if node.is_switch else port.peer_lid,
            remote=near,
        )
        self.say(far, f"has no line of its own in ibnetdiscover; {self.name(near)} names it")

    def add_peer_node(self, port: PortRecord, far: PortId) -> Node:
        kind = port.peer_type
        if kind is None:
            raise ParseError(
                TOOL,
                f"the peer {port.peer_id_text} has no block, and its id does not tell its type",
                line=port.line,
            )
        switch = kind is NodeType.SWITCH
        node = Node(
            guid=far.guid,
            type=kind,
            name=port.peer_name,
            num_ports=far.port,
            lid=port.peer_lid if switch else None,
        )
        self.nodes[far.guid] = node
        if switch:
            self.switches[far.guid] = far.guid
        self.sentences.append(
            f"{node.name.strip() or far.guid} ({far.guid}) has no block in ibnetdiscover: only its "
            "ports that others name are known; its port count is not"
        )
        return node

    def place(self, link_rows: Iterable[LinkRow]) -> dict[PortId, LinkRow]:
        """Rows by port; a row that cannot be placed, or a second one, gives a sentence."""
        rows: dict[PortId, LinkRow] = {}
        for row in link_rows:
            port_id = self.where(row.guid, row.port)
            if port_id is None:
                whose = f"{row.name or '(no name)'} ({row.guid or 'no GUID'})"
                self.sentences.append(
                    f"iblinkinfo line {row.line} shows port {row.port} of {whose}, which "
                    "ibnetdiscover does not list"
                )
            elif port_id not in rows:
                rows[port_id] = row
            elif _content(rows[port_id]) != _content(row):
                self.say(
                    port_id,
                    f"has two rows in iblinkinfo that differ, lines {rows[port_id].line} and "
                    f"{row.line}",
                )
                rows[port_id] = replace(rows[port_id], width=None, speed=None)
                self.printed[port_id] = (None, None, "unknown")
        return rows

    def where(self, guid: Guid | None, port: int) -> PortId | None:
        """The port iblinkinfo means by a GUID (a switch's node, a CA's port) and a number."""
        if guid is None:
            return None
        port_id = self.by_port_guid.get(guid)
        if port_id is not None and port_id.port == port:
            return port_id
        switch = self.switches.get(guid)
        return None if switch is None else PortId(switch, port)

    def added(self, port_id: PortId, row: LinkRow) -> Port:
        """A port that only iblinkinfo lists; unless it is down, that is a disagreement."""
        port = Port(
            id=port_id,
            state=row.state,
            phys=row.phys,
            rate_text=row.rate_text,
            label=row.label,
        )
        if port.is_down and row.remote_port is None:
            return port
        if row.remote_port is None:
            self.say(port_id, _unread(row.state))
            return replace(port, rate=_rate(row.width, row.speed))
        self.say(
            port_id,
            f"is {row.state.value} with the peer {_peer(row)} in iblinkinfo (line {row.line}), but "
            "ibnetdiscover does not list it",
        )
        return replace(
            port,
            rate_text=f"ibnetdiscover nothing, iblinkinfo {row.rate_text}",
            remote=self.where(row.remote_guid, row.remote_port),
        )

    def combined(self, port: Port, row: LinkRow) -> Port:
        """A port that both tools list."""
        width, speed, text = self.printed.get(port.id, (None, None, ""))
        differs = False
        if row.state is PortState.DOWN:
            self.say(
                port.id,
                f"is Down in iblinkinfo (line {row.line}), but ibnetdiscover shows a cable to "
                f"{self.name(port.remote)}",
            )
            differs = True
        elif not self.same_peer(port, row):
            self.say(
                port.id,
                f"is cabled to {self.name(port.remote)} in ibnetdiscover, but to {_peer(row)} in "
                f"iblinkinfo (line {row.line})",
            )
            differs = True
        if _differ(width, row.width) or _differ(speed, row.speed):
            self.say(
                port.id,
                f"is {text} in ibnetdiscover, but {row.rate_text} in iblinkinfo (line {row.line})",
            )
            differs = True
        self.compare_lids(port, row)
        rate = _rate(row.width or width, row.speed or speed)
        whole = row.width is not None and row.speed is not None
        both = f"ibnetdiscover {text or 'nothing'}, iblinkinfo {row.rate_text or row.state.value}"
        return replace(
            port,
            state=row.state,
            phys=row.phys,
            rate=None if differs else rate,
            rate_text=row.rate_text if whole and not differs else both,
            label=port.label or row.label,
        )

    def same_peer(self, port: Port, row: LinkRow) -> bool:
        """Whether iblinkinfo's peer is ibnetdiscover's; by LID where the row has no GUID."""
        if port.remote is None or row.remote_port is None:
            return False
        if row.remote_guid is not None:
            return self.where(row.remote_guid, row.remote_port) == port.remote
        lid = self.lid(port.remote)
        return row.remote_port == port.remote.port and (
            lid is None or row.remote_lid is None or lid == row.remote_lid
        )

    def compare_lids(self, port: Port, row: LinkRow) -> None:
        lid = self.lid(port.id)
        if lid != row.lid:
            self.say(
                port.id,
                f"has LID {lid or 'none'} in ibnetdiscover, but {row.lid or 'none'} in iblinkinfo "
                f"(line {row.line})",
            )

    def lid(self, port_id: PortId) -> Lid | None:
        node = self.nodes[port_id.guid]
        return node.lid if node.is_switch else self.ports[port_id].lid

    def name(self, port_id: PortId | None) -> str:
        if port_id is None:
            return "nothing"
        node = self.nodes.get(port_id.guid)
        name = node.name.strip() if node is not None else ""
        return f"{name or port_id.guid}/{port_id.port}"

    def say(self, port_id: PortId, what: str) -> None:
        self.sentences.append(f"{self.name(port_id)} ({port_id.guid}) {what}")

    def fabric(self) -> Fabric:
        ports: dict[Guid, dict[int, Port]] = {guid: {} for guid in self.nodes}
        for port_id in sorted(self.ports):
            ports[port_id.guid][port_id.port] = self.ports[port_id]
        return Fabric.of(
            replace(
                node,
                ports=ports[guid],
                num_ports=max(node.num_ports, *ports[guid], 0),
            )
            for guid, node in self.nodes.items()
        )


def _identity(guid: Guid | None, id_text: str, line: int) -> Guid:
    if guid is None:
        raise ParseError(
            TOOL,
            f"{id_text!r} is not a GUID, and identity is the GUID: no fabric can be built from an "
            "output whose GUIDs were removed; take it from the observer as the tool prints it",
            line=line,
        )
    return guid


def _remote(port: PortRecord) -> PortId:
    guid = _identity(port.peer_guid, port.peer_id_text, port.line)
    return PortId(guid, port.peer_port or 0)


def _rate(width: Width | None, speed: Speed | None) -> Rate | None:
    return None if width is None or speed is None else Rate(width, speed)


def _differ(one: object | None, other: object | None) -> bool:
    return one is not None and other is not None and one != other


def _peer(row: LinkRow) -> str:
    if row.remote_port is None:
        return "no peer that answered"
    name = (row.remote_name or "").strip()
    guid = f" ({row.remote_guid})" if row.remote_guid is not None else ""
    return f"{name or 'a node without a name'}/{row.remote_port}{guid}"


def _content(row: LinkRow) -> LinkRow:
    return replace(row, line=0, text="")

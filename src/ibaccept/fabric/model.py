"""The nouns of an InfiniBand fabric. Frozen values, standard library only.

Identity is the GUID (and the port number); names are for people. A value that was not seen is
``None``, never 0.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

_GUID = re.compile(r"(?:0x)?([0-9a-fA-F]{1,16})\Z")

UNICAST_LIDS = range(1, 0xC000)
"""LIDs a port may own; 0xc000 and above are multicast, 0 and 0xffff mean "none"."""

LIDS = range(1 << 16)
"""Every number a LID field holds."""

LMCS = range(8)
"""LID mask controls: a port owns 2^LMC LIDs."""

PORT_NUMBERS = range(255)
"""Numbers of a node's ports; 0 is a switch's own, 255 means "all" or "none"."""


class Guid(int):
    """A 64-bit globally unique identifier; prints padded: ``0x0002c90300000001``."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Guid:
        """Read a GUID as the tools print it: with or without ``0x``, padded or not.

        Raises:
            ValueError: the text is not 1 to 16 hexadecimal digits.
        """
        match = _GUID.match(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a GUID (1 to 16 hexadecimal digits)")
        return cls(match.group(1), 16)

    def __str__(self) -> str:
        return f"0x{int(self):016x}"

    def __repr__(self) -> str:
        return f"Guid({self})"


class Lid(int):
    """A local identifier, 1 to 0xbfff for unicast; prints decimal, as perfquery takes it."""

    __slots__ = ()

    @property
    def is_unicast(self) -> bool:
        """True where a port can own this LID."""
        return int(self) in UNICAST_LIDS


class NodeType(enum.Enum):
    """What a node is, in the words ibnetdiscover uses."""

    CA = "Ca"
    SWITCH = "Switch"
    ROUTER = "Rt"


class Width(enum.IntEnum):
    """Lanes of a link."""

    X1 = 1
    X2 = 2
    X4 = 4
    X8 = 8
    X12 = 12

    def __str__(self) -> str:
        return f"{int(self)}X"

    @classmethod
    def parse(cls, text: str) -> Width:
        """Read ``4X`` or ``4x``.

        Raises:
            ValueError: not one of 1X 2X 4X 8X 12X.
        """
        match = re.fullmatch(r"\s*(1|2|4|8|12)[xX]\s*", text)
        if match is None:
            raise ValueError(f"{text!r} is not a link width (1X, 2X, 4X, 8X, 12X)")
        return cls(int(match.group(1)))


class Speed(enum.Enum):
    """A generation: name, Gb/s per lane as iblinkinfo prints it, data Gb/s per lane.

    The data rate is already net of line coding (InfiniBand Architecture Specification volume 2;
    53.125 * 514/544 * 256/257 = 50 for the PAM4 generations).
    """

    SDR = ("SDR", "2.5", 2.0)
    DDR = ("DDR", "5.0", 4.0)
    QDR = ("QDR", "10.0", 8.0)
    FDR10 = ("FDR10", "10.0", 10.0)
    FDR = ("FDR", "14.0625", 14.0625 * 64 / 66)
    EDR = ("EDR", "25.78125", 25.0)
    HDR = ("HDR", "53.125", 50.0)
    NDR = ("NDR", "106.25", 100.0)
    XDR = ("XDR", "212.5", 200.0)

    def __init__(self, label: str, lane_printed: str, lane_gbps: float) -> None:
        self.label = label
        self.lane_printed = lane_printed
        self.lane_gbps = lane_gbps

    def __str__(self) -> str:
        return self.label

    @classmethod
    def parse(cls, text: str) -> Speed:
        """Read a generation name, ``HDR``.

        Raises:
            ValueError: not a generation name.
        """
        try:
            return cls[text.strip().upper()]
        except KeyError:
            names = ", ".join(cls.__members__)
            raise ValueError(f"{text!r} is not a link speed ({names})") from None

    @classmethod
    def from_lane(cls, text: str) -> Speed | None:
        """The generation of iblinkinfo's per-lane text, ``53.125 Gbps`` or ``10.0 Gbps (FDR10)``.

        Returns:
            None for text this version does not know, such as ``undefined (8)``: an older tool
            than the link, so the speed was not seen.
        """
        return _BY_LANE.get(text.strip())


_BY_LANE = {
    **{f"{s.lane_printed} Gbps": s for s in Speed if s is not Speed.FDR10},
    "10.0 Gbps (FDR10)": Speed.FDR10,
}


@dataclass(frozen=True, slots=True, order=True)
class Rate:
    """Width and speed of a link. 4X HDR and 2X NDR are both 200 Gb/s and are not equal."""

    width: Width
    speed: Speed

    @classmethod
    def parse(cls, text: str) -> Rate:
        """Read ``4X HDR`` (also ``4xHDR``).

        Raises:
            ValueError: not a width followed by a speed.
        """
        match = re.fullmatch(r"\s*(\d+[xX])\s*([A-Za-z]+\d*)\s*", text)
        if match is None:
            raise ValueError(f"{text!r} is not a link rate such as 4X HDR")
        return cls(Width.parse(match.group(1)), Speed.parse(match.group(2)))

    @property
    def gbps(self) -> float:
        """Data rate of the whole link, Gb/s (10^9 bit/s), net of line coding."""
        return int(self.width) * self.speed.lane_gbps

    def __str__(self) -> str:
        return f"{self.width} {self.speed}"


class PortState(enum.Enum):
    """Logical port state, in the words iblinkinfo and smpquery print."""

    NO_CHANGE = "NoChange"
    DOWN = "Down"
    INITIALIZE = "Initialize"
    ARMED = "Armed"
    ACTIVE = "Active"


class PhysState(enum.Enum):
    """Physical port state, in the words iblinkinfo and smpquery print."""

    NO_CHANGE = "NoChange"
    SLEEP = "Sleep"
    POLLING = "Polling"
    DISABLED = "Disabled"
    TRAINING = "PortConfigurationTraining"
    LINK_UP = "LinkUp"
    ERROR_RECOVERY = "LinkErrorRecovery"
    PHY_TEST = "PhyTest"


class PortId(NamedTuple):
    """Identity of a port: node GUID and the port number on that node."""

    guid: Guid
    port: int

    def __str__(self) -> str:
        return f"{self.guid}/{self.port}"


@dataclass(frozen=True, slots=True)
class Port:
    """One physical port as seen.

    Attributes:
        id: node GUID and port number.
        guid: port GUID, where the tool shows one (CAs).
        lid: base LID; on a switch's external port this is None (port 0 owns the LID).
        lmc: the port owns 2^lmc LIDs from ``lid`` on.
        state: logical state; None where no tool showed it.
        phys: physical state; None where no tool showed it.
        rate: active width and speed; None when down or when the tool could not name them.
        rate_text: what the tool printed for width and speed, for the reader.
        remote: the port at the other end, None when down or not seen.
        label: external label, ``[ext 3]`` of director chassis.
    """

    id: PortId
    guid: Guid | None = None
    lid: Lid | None = None
    lmc: int = 0
    state: PortState | None = None
    phys: PhysState | None = None
    rate: Rate | None = None
    rate_text: str = ""
    remote: PortId | None = None
    label: str | None = None

    @property
    def is_down(self) -> bool:
        """True when a tool showed the logical state Down: the default rate printed is no rate."""
        return self.state is PortState.DOWN

    def lids(self) -> range:
        """Every LID this port owns (2^lmc of them); empty when it has none."""
        if self.lid is None or not self.lid.is_unicast:
            return range(0)
        return range(int(self.lid), int(self.lid) + (1 << self.lmc))


AGGREGATION_NODE = "Aggregation Node"
"""SHARP aggregation nodes appear as CAs with this in their name; they are not job hosts."""


@dataclass(frozen=True, slots=True)
class Node:
    """A CA, switch or router, with the ports a tool showed (port 0 is not among them).

    Attributes:
        guid: node GUID.
        lid: LID of port 0 for a switch; for CAs see the ports.
        system_guid: system image GUID, one for every node of a box; None where not shown.
    """

    guid: Guid
    type: NodeType
    name: str
    num_ports: int
    ports: Mapping[int, Port] = field(default_factory=dict)
    lid: Lid | None = None
    lmc: int = 0
    vendor_id: int | None = None
    device_id: int | None = None
    system_guid: Guid | None = None
    chassis: int | None = None

    @property
    def is_switch(self) -> bool:
        """True for switches."""
        return self.type is NodeType.SWITCH

    @property
    def is_aggregation(self) -> bool:
        """True for a SHARP aggregation node (a CA by type, but no host)."""
        return self.type is NodeType.CA and AGGREGATION_NODE in self.name

    @property
    def is_host(self) -> bool:
        """True for a CA that a job can run on."""
        return self.type is NodeType.CA and not self.is_aggregation

    def lids(self) -> Iterator[int]:
        """Every LID of this node: a switch's port 0, a CA's ports, 2^lmc each."""
        if self.type is NodeType.CA:
            for port in self.ports.values():
                yield from port.lids()
        elif self.lid is not None and self.lid.is_unicast:
            yield from range(int(self.lid), int(self.lid) + (1 << self.lmc))


@dataclass(frozen=True, slots=True)
class Link:
    """One cable: two ports that name each other. ``a`` is the end with the smaller PortId."""

    a: Port
    b: Port

    @property
    def ends(self) -> tuple[Port, Port]:
        """Both ends."""
        return (self.a, self.b)

    @property
    def key(self) -> tuple[PortId, PortId]:
        """Identity of the cable, ordered."""
        return (self.a.id, self.b.id)

    @property
    def rate(self) -> Rate | None:
        """Rate both ends agree on; None where an end was not readable or they differ."""
        return self.a.rate if self.a.rate == self.b.rate else None


@dataclass(frozen=True)
class Fabric:
    """What the sweep saw: nodes by GUID. Links are derived from the ports."""

    nodes: Mapping[Guid, Node]

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """Every cable once, ordered by its identity; also a switch cabled to itself."""
        seen: dict[tuple[PortId, PortId], Link] = {}
        for port in self.ports():
            if port.remote is None:
                continue
            other = self.port(port.remote)
            if other is None or other.remote != port.id:
                continue
            first, second = (port, other) if port.id <= other.id else (other, port)
            seen[(first.id, second.id)] = Link(first, second)
        return tuple(seen[key] for key in sorted(seen))

    @cached_property
    def link_at(self) -> Mapping[PortId, Link]:
        """The cable plugged into a port."""
        return {end.id: link for link in self.links for end in link.ends}

    @cached_property
    def by_name(self) -> Mapping[str, tuple[Node, ...]]:
        """Nodes by (stripped) name; default names repeat, hence tuples."""
        names: dict[str, list[Node]] = {}
        for node in self.nodes.values():
            names.setdefault(node.name.strip(), []).append(node)
        return {name: tuple(nodes) for name, nodes in names.items()}

    @cached_property
    def lid_owner(self) -> Mapping[int, PortId]:
        """Owner of every LID: a CA port, or (switch, 0)."""
        owners: dict[int, PortId] = {}
        for node in self.nodes.values():
            if node.type is NodeType.CA:
                for port in node.ports.values():
                    owners.update(dict.fromkeys(port.lids(), port.id))
            else:
                owners.update(dict.fromkeys(node.lids(), PortId(node.guid, 0)))
        return owners

    def ports(self) -> Iterator[Port]:
        """Every port seen, in no promised order."""
        for node in self.nodes.values():
            yield from node.ports.values()

    def port(self, port_id: PortId) -> Port | None:
        """The port of that identity, None when not seen."""
        node = self.nodes.get(port_id.guid)
        return None if node is None else node.ports.get(port_id.port)

    def node_of(self, port: Port | PortId) -> Node:
        """The node a port sits on.

        Raises:
            KeyError: no such node was seen.
        """
        return self.nodes[port.id.guid if isinstance(port, Port) else port.guid]

    def is_isl(self, link: Link) -> bool:
        """True for an inter-switch link (a router end counts as a switch)."""
        return all(self.node_of(end).type is not NodeType.CA for end in link.ends)

    def is_internal(self, link: Link) -> bool:
        """True for a link inside a box: two nodes, not both CAs, of one system image GUID.

        The chips of a director, a switch and its router or its aggregation node. A cable between
        two ports of one node is a cable.
        """
        a, b = (self.node_of(end) for end in link.ends)
        return (
            a.guid != b.guid
            and bool(a.system_guid)
            and a.system_guid == b.system_guid
            and not a.type is b.type is NodeType.CA
        )

    def is_host_link(self, link: Link) -> bool:
        """True where one end is a host (aggregation nodes are not hosts)."""
        return any(self.node_of(end).is_host for end in link.ends)

    def port_name(self, port: Port | PortId) -> str:
        """``SwitchB/25``; a CA keeps its port number too, ``node001/1``.

        A name that several nodes share is followed by the GUID, so that it names one port.
        """
        port_id = port.id if isinstance(port, Port) else port
        node = self.nodes.get(port_id.guid)
        if node is None:
            return str(port_id)
        name = node.name.strip() or str(node.guid)
        if len(self.by_name.get(node.name.strip(), ())) > 1:
            name = f"{name} ({node.guid})"
        return f"{name}/{port_id.port}"

    def link_name(self, link: Link) -> str:
        """``SwitchA/13 - SwitchB/25``."""
        return f"{self.port_name(link.a)} - {self.port_name(link.b)}"

    def switches(self) -> Iterator[Node]:
        """Every switch."""
        return (node for node in self.nodes.values() if node.is_switch)

    def hosts(self) -> Iterator[Node]:
        """Every CA that is not an aggregation node."""
        return (node for node in self.nodes.values() if node.is_host)

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> Fabric:
        """A fabric of these nodes.

        Raises:
            ValueError: two nodes with one GUID.
        """
        by_guid: dict[Guid, Node] = {}
        for node in nodes:
            if node.guid in by_guid:
                raise ValueError(
                    f"two nodes have the GUID {node.guid}: "
                    f"{by_guid[node.guid].name!r} and {node.name!r}"
                )
            by_guid[node.guid] = node
        return cls(by_guid)

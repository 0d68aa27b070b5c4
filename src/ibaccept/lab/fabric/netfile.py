"""The net file of a simulated fabric: the text ``ibnetdiscover`` prints, which ibsim loads.

Reads a capture as it is, and changes single cables before the simulator starts. The grammar is
that of infiniband-diags, ibnetdiscover.c::

    switchguid=0x2c90300000001(2c90300000001)
    Switch  56 "S-0002c90300000001"         # "SwitchA" enhanced port 0 lid 1 lmc 0
    [13]    "S-0002c90300000002"[25]                # "SwitchB" lid 2 4xHDR
    Ca      1 "H-0c42a10300f00100"          # "client-01"
    [1](c42a10300f00101)    "S-0002c90300000001"[1]         # lid 3 lmc 0 "SwitchA" lid 1 4xHDR
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ibaccept.errors import InputError
from ibaccept.fabric.model import Guid, Rate

_NODE = re.compile(r'(Switch|Ca|Hca|Rt)\s+(\d+)\s+"([^"]+)"\s*(?:#\s?(.*))?$')
_PORT = re.compile(
    r'\[(\d+)\](\[ext \d+\])?(?:\(([0-9a-f]+)\))?\s+"([^"]+)"\[(\d+)\](?:\(([0-9a-f]+)\))?'
    r"\s*(?:#\s?(.*))?$"
)
_ATTRIBUTE = re.compile(r"(\w+)=(0x[0-9a-f]+)(?:\([0-9a-f]+\))?$")
_NAME = re.compile(r'"(.*)"')
_RATE = re.compile(r"\b(\d+x[A-Z]+\d*)\b(?!.*\")")


class PortRef(NamedTuple):
    """A port by node name (or node id, or GUID) and number, written ``SwitchA/13``."""

    node: str
    port: int

    @classmethod
    def parse(cls, text: str) -> PortRef:
        """Read ``SwitchA/13``.

        Raises:
            InputError: no port number after the last slash.
        """
        node, slash, port = text.rpartition("/")
        if not slash or not node or not port.isdecimal():
            raise InputError(f"{text!r} is not a port; write NODE/PORT, as in SwitchA/13")
        return cls(node, int(port))

    def __str__(self) -> str:
        return f"{self.node}/{self.port}"


@dataclass(slots=True)
class NetPort:
    """One cabled port line. ``comment`` is what follows the ``#``, kept as it was."""

    number: int
    remote: str
    remote_port: int
    guid: str = ""
    remote_guid: str = ""
    ext: str = ""
    comment: str = ""

    @property
    def rate(self) -> Rate | None:
        """The rate of the comment, ``4xHDR``; None where the line shows none."""
        match = _RATE.search(self.comment)
        return None if match is None else Rate.parse(match.group(1))

    def line(self) -> str:
        """The port line."""
        own = f"({self.guid})" if self.guid else ""
        far = f"({self.remote_guid})" if self.remote_guid else ""
        head = f'[{self.number}]{self.ext}{own}\t"{self.remote}"[{self.remote_port}]{far}'
        return f"{head} \t\t# {self.comment}" if self.comment else head


@dataclass(slots=True)
class NetNode:
    """One node block. ``id`` is the quoted word other lines refer to (``H-0c42a10300f00100``).

    Attributes:
        kind: ``Switch``, ``Ca``, ``Hca`` (ibsim's own word) or ``Rt``.
        attributes: ``vendid=`` ... lines as they were.
        comment: what follows the ``#`` of the node line; holds the node description.
    """

    kind: str
    num_ports: int
    id: str
    comment: str
    attributes: list[str] = field(default_factory=list)
    ports: dict[int, NetPort] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Node description, or the id where the file shows none."""
        match = _NAME.search(self.comment)
        return self.id if match is None else match.group(1).strip()

    @property
    def is_switch(self) -> bool:
        """True for switches."""
        return self.kind == "Switch"

    @property
    def guid(self) -> Guid:
        """Node GUID, from ``switchguid=``/``caguid=`` or from the id.

        Raises:
            InputError: neither shows one.
        """
        for line in self.attributes:
            match = _ATTRIBUTE.match(line)
            if match and match.group(1) in {"switchguid", "caguid", "hcaguid", "rtguid"}:
                return Guid.parse(match.group(2))
        match = re.match(r"[SHR]-([0-9a-f]{16})", self.id)
        if match is None:
            raise InputError(f"the net file shows no GUID for node {self.id}")
        return Guid.parse(match.group(1))

    def text(self) -> str:
        """The block, without the blank line that ends it."""
        comment = f"\t\t# {self.comment}" if self.comment else ""
        head = f'{self.kind}\t{self.num_ports} "{self.id}"{comment}'
        lines = [self.ports[number].line() for number in sorted(self.ports)]
        return "\n".join([*self.attributes, head, *lines])


@dataclass(frozen=True, slots=True)
class SimCable:
    """One cable of a net file: both ends by node name, and the rate the file gives it."""

    a: PortRef
    b: PortRef
    rate: Rate | None

    def __str__(self) -> str:
        return f"{self.a} - {self.b}"


@dataclass(slots=True)
class NetFile:
    """A whole net file: nodes by id in the order of the file. Changed in place.

    The first port in the file is where ibsim and OpenSM start by default; ``SIM_HOST`` overrides.
    """

    nodes: dict[str, NetNode]

    @classmethod
    def parse(cls, text: str, source: str = "net file") -> NetFile:
        """Read ibnetdiscover output (or an ibsim net file).

        Raises:
            InputError: a line is not understood, a node comes twice, or there is no node.
        """
        nodes: dict[str, NetNode] = {}
        attributes: list[str] = []
        node: NetNode | None = None
        for number, raw in enumerate(text.splitlines(), 1):
            line = raw.strip()
            if not line or line.startswith("#"):
                continue
            if match := _PORT.match(line):
                if node is None:
                    raise InputError(f"{source}, line {number}: a port before any node: {line!r}")
                port = NetPort(
                    int(match.group(1)),
                    match.group(4),
                    int(match.group(5)),
                    match.group(3) or "",
                    match.group(6) or "",
                    match.group(2) or "",
                    match.group(7) or "",
                )
                node.ports[port.number] = port
            elif match := _NODE.match(line):
                node = NetNode(
                    match.group(1),
                    int(match.group(2)),
                    match.group(3),
                    match.group(4) or "",
                    attributes,
                )
                if node.id in nodes:
                    raise InputError(f"{source}, line {number}: node {node.id} comes twice")
                nodes[node.id] = node
                attributes = []
            elif _ATTRIBUTE.match(line):
                attributes.append(line)
            else:
                raise InputError(
                    f"{source}, line {number} is not a node, port or attribute of ibnetdiscover "
                    f"output: {line[:120]!r}"
                )
        if not nodes:
            raise InputError(f"{source} holds no node; give the output of 'ibnetdiscover'")
        return cls(nodes)

    def text(self) -> str:
        """The file, as ibsim loads it."""
        return "\n\n".join(node.text() for node in self.nodes.values()) + "\n"

    def node(self, name: str) -> NetNode:
        """The node of that id, GUID or name.

        Raises:
            InputError: none or several are called so.
        """
        if name in self.nodes:
            return self.nodes[name]
        found = [node for node in self.nodes.values() if node.name == name]
        if not found and name.startswith("0x"):
            found = [node for node in self.nodes.values() if node.guid == int(name, 16)]
        if len(found) != 1:
            many = "several nodes are" if found else "no node is"
            raise InputError(f"{many} called {name!r} in the topology; use its id or GUID")
        return found[0]

    def hosts(self) -> tuple[NetNode, ...]:
        """Every CA, in the order of the file."""
        return tuple(node for node in self.nodes.values() if node.kind in {"Ca", "Hca"})

    def switches(self) -> tuple[NetNode, ...]:
        """Every switch, in the order of the file."""
        return tuple(node for node in self.nodes.values() if node.is_switch)

    def cables(self) -> tuple[SimCable, ...]:
        """Every cable once, in the order of the file. A port cabled to itself is no cable."""
        return tuple(
            SimCable(
                PortRef(node.name, port.number),
                PortRef(self.nodes[port.remote].name, port.remote_port),
                port.rate,
            )
            for node, port in self._first_ends()
        )

    def _first_ends(self) -> Iterator[tuple[NetNode, NetPort]]:
        order = {node_id: index for index, node_id in enumerate(self.nodes)}
        for node in self.nodes.values():
            for number in sorted(node.ports):
                port = node.ports[number]
                if port.remote not in order:
                    continue
                if (order[node.id], number) < (order[port.remote], port.remote_port):
                    yield node, port

    def ends(self, ref: PortRef) -> tuple[NetPort, NetPort]:
        """Both port lines of the cable plugged in at a port: this end, the far end.

        Raises:
            InputError: nothing is plugged in there.
        """
        near = self.node(ref.node).ports.get(ref.port)
        if near is None:
            raise InputError(f"no cable is plugged in at {ref} in the topology")
        far = self.nodes[near.remote].ports.get(near.remote_port)
        if far is None:
            raise InputError(f"the far end of {ref} does not name it back in the topology")
        return near, far

    def set_rate(self, ref: PortRef, rate: Rate) -> None:
        """Give the cable at a port another rate, at both ends."""
        for end in self.ends(ref):
            word = f"{int(rate.width)}x{rate.speed}"
            if _RATE.search(end.comment):
                end.comment = _RATE.sub(word, end.comment)
            else:
                end.comment = f"{end.comment} {word}".strip()

    def rename(self, name: str, other: str) -> None:
        """Give a node another node description, which a second node may have too."""
        node = self.node(name)
        node.comment = _NAME.sub(lambda _match: f'"{other}"', node.comment, count=1)

    def remove(self, ref: PortRef) -> None:
        """Take the cable at a port away; both ports are down."""
        near, _far = self.ends(ref)
        del self.nodes[near.remote].ports[near.remote_port]
        del self.node(ref.node).ports[ref.port]

    def swap(self, first: PortRef, second: PortRef) -> None:
        """Exchange the far ends of the cables plugged in at two ports."""
        near_1, far_1 = self.ends(first)
        near_2, far_2 = self.ends(second)
        for name in ("remote", "remote_port", "remote_guid", "comment"):
            for one, two in ((near_1, near_2), (far_1, far_2)):
                kept = getattr(one, name)
                setattr(one, name, getattr(two, name))
                setattr(two, name, kept)

    def plan(self) -> str:
        """The cabling plan of this topology: CSV with a header, one row a cable."""
        rows = ["a_name,a_guid,a_port,b_name,b_guid,b_port"]
        for node, port in self._first_ends():
            far = self.nodes[port.remote]
            rows.append(
                f"{node.name},{node.guid},{port.number},{far.name},{far.guid},{port.remote_port}"
            )
        return "\n".join(rows) + "\n"

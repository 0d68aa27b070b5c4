"""Lists of cables, ``.lst``: of ibdiagnet (both generations) and OpenSM's ``opensm-subnet.lst``.

    { CA Ports:01 SystemGUID:... NodeGUID:... PortGUID:... VenID:... DevID:... Rev:...
      {node001 mlx5_0} LID:00b5 PN:01 } { SW Ports:41 ... {leaf01} LID:0001 PN:0d } PHY=4x LOG=ACT

One line a cable (old versions: one for each end). Every number is hexadecimal without ``0x``:
``Ports:41`` is 65 ports. ``SPD=``, where printed, is Gb/s per lane; it is kept as text. The type
``CA-SM`` is the CA the SM runs on. The LMC is not shown and read as 0.
Format: ibutils ibdebug.tcl and IBFabric.cpp; OpenSM osm_subnet.c writes the same.
"""

from __future__ import annotations

import re

from ibaccept.fabric.model import PORT_NUMBERS, Guid, Lid, NodeType
from ibaccept.parse import ParseError
from ibaccept.parse.diags import bounded, plain, refuse_overlong
from ibaccept.parse.ibnetdiscover import NodeRecord, PortRecord, Topology

TOOL = ".lst"

_END = (
    r"\{ (?P<type%s>CA-SM|SW-SM|CA|SW|Rt|RT) Ports:(?P<ports%s>[0-9a-fA-F]{1,4}) "
    r"SystemGUID:(?P<system%s>[0-9a-fA-F]{1,16}) NodeGUID:(?P<node%s>[0-9a-fA-F]{1,16}) "
    r"PortGUID:(?P<port%s>[0-9a-fA-F]{1,16}) VenID:[0-9a-fA-F]+ DevID:[0-9a-fA-F]+ "
    r"Rev:[0-9a-fA-F]+ \{(?P<name%s>.*?)\} LID:(?P<lid%s>[0-9a-fA-F]{1,4}) "
    r"PN:(?P<number%s>[0-9a-fA-F]{1,4}) \}"
)
_LINE = re.compile(
    f"{_END.replace('%s', 'A')} {_END.replace('%s', 'B')}"
    r" PHY=(?P<width>\S+) LOG=(?P<state>\S+)(?: SPD=(?P<speed>\S+))?\s*\Z"
)
_TYPES = {"CA": NodeType.CA, "SW": NodeType.SWITCH, "RT": NodeType.ROUTER}
_PREFIXES = {NodeType.CA: "H-", NodeType.SWITCH: "S-", NodeType.ROUTER: "R-"}


class _End:
    """One end of a line.

    Raises:
        ValueError: a number that is not one of a port.
    """

    def __init__(self, match: re.Match[str], side: str) -> None:
        def hexadecimal(key: str) -> int:
            return int(match[key + side], 16)

        self.type = _TYPES[match["type" + side].removesuffix("-SM").upper()]
        self.guid = Guid(hexadecimal("node"))
        self.port_guid = Guid(hexadecimal("port"))
        self.system_guid = Guid(hexadecimal("system"))
        self.name = match["name" + side]
        self.ports = bounded(hexadecimal("ports"), PORT_NUMBERS, "a number of ports")
        self.number = bounded(hexadecimal("number"), PORT_NUMBERS, "a port number")
        lid = Lid(hexadecimal("lid"))
        self.lid = lid if lid.is_unicast else None

    @property
    def id_text(self) -> str:
        return f"{_PREFIXES[self.type]}{int(self.guid):016x}"


def parse(text: str) -> Topology:
    """The cables of a ``.lst`` file.

    Raises:
        ParseError: a line that is not understood, no cable at all, or two lines that contradict
            each other about a port or a node.
    """
    text = plain(TOOL, text)
    refuse_overlong(TOOL, text)
    nodes: dict[Guid, tuple[_End, int]] = {}
    ports: dict[Guid, dict[int, PortRecord]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.match(line)
        if match is None:
            raise ParseError(TOOL, "not a cable of a .lst file", line=number, text=line)
        try:
            a, b = _End(match, "A"), _End(match, "B")
        except ValueError as error:
            raise ParseError(TOOL, str(error), line=number, text=line) from None
        for own, peer in ((a, b), (b, a)):
            first, at = nodes.setdefault(own.guid, (own, number))
            if first.type is not own.type or (own.type is NodeType.SWITCH and first.lid != own.lid):
                raise ParseError(
                    TOOL,
                    f"{own.guid} is another node here than in line {at}",
                    line=number,
                    text=line,
                )
            made = _record(own, peer, match, number)
            known = ports.setdefault(own.guid, {}).setdefault(own.number, made)
            if (known.peer_guid, known.peer_port, known.lid) != (
                made.peer_guid,
                made.peer_port,
                made.lid,
            ):
                raise ParseError(
                    TOOL,
                    f"port {own.number} of {own.guid} has another cable or LID in line "
                    f"{known.line}",
                    line=number,
                    text=line,
                )
    if not nodes:
        raise ParseError(TOOL, "no cable; give the whole file")
    return Topology(
        tuple(_node(end, line, ports[guid]) for guid, (end, line) in nodes.items()), None, ()
    )


def _record(own: _End, peer: _End, match: re.Match[str], line: int) -> PortRecord:
    switch = own.type is NodeType.SWITCH
    speed = f" {match['speed']} Gb/s a lane" if match["speed"] else ""
    return PortRecord(
        number=own.number,
        label=None,
        guid=None if switch else own.port_guid,
        lid=None if switch else own.lid,
        lmc=0,
        peer_type=peer.type,
        peer_guid=peer.guid,
        peer_id_text=peer.id_text,
        peer_port=peer.number,
        peer_port_guid=None if peer.type is NodeType.SWITCH else peer.port_guid,
        peer_name=peer.name,
        peer_lid=peer.lid,
        width=None,
        speed=None,
        rate_text=f"{match['width']}{speed} {match['state']}",
        line=line,
    )


def _node(end: _End, line: int, ports: dict[int, PortRecord]) -> NodeRecord:
    switch = end.type is NodeType.SWITCH
    return NodeRecord(
        type=end.type,
        guid=end.guid,
        id_text=end.id_text,
        name=end.name,
        num_ports=end.ports,
        lid=end.lid if switch else None,
        lmc=0,
        vendor_id=None,
        device_id=None,
        system_guid=end.system_guid,
        chassis=None,
        ports=tuple(ports[number] for number in sorted(ports)),
        line=line,
        port_guid=end.port_guid if switch else None,
    )

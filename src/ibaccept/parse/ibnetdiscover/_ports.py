"""The listing of ports, ``ibnetdiscover -p``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibaccept.fabric.model import Guid, NodeType
from ibaccept.parse import ParseError, ParseWarning
from ibaccept.parse.diags import is_banner, is_foreign, is_noise, plain, refuse_overlong
from ibaccept.parse.ibnetdiscover._records import (
    TOOL,
    TYPES,
    ListedPort,
    NodeRecord,
    PortListing,
    PortRecord,
    Topology,
    print_id,
    read_lid,
    read_port,
    read_speed,
    read_width,
    refuse_contradictions,
)

_ROW = re.compile(
    r"(SW|CA|RT)\s+(\d+)\s+(\d+)\s+0x([0-9a-fA-F]{1,16}) ((\d+x|\?\?) ([A-Z]+\d*|\?\?\?))"
    r"(?: - (SW|CA|RT)\s+(\d+)\s+(\d+)\s+0x([0-9a-fA-F]{1,16}) \( '(.*?)' - '(.*)' \)"
    r"| {20,}(?:'(.*)'|([^'].*)))\Z"
)


def parse_ports(text: str) -> PortListing:
    """Read ``ibnetdiscover -p``, one row a port, also of ports without a peer.

    ``SW    19 11 0x00066a00ec002dea 4x QDR - CA   179  1 0x001175000077cef2 ( 'leaf' - 'node' )``

    Raises:
        ParseError: a line that is not understood, or no row at all.
    """
    text = plain(TOOL, text)
    refuse_overlong(TOOL, text)
    rows: list[ListedPort] = []
    warnings: list[ParseWarning] = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.replace("\r", "").lstrip().rstrip("\n")
        if not line.strip() or line.startswith("#"):
            continue
        if match := _ROW.match(line.rstrip()):
            try:
                rows.append(_row(number, match))
            except ValueError as error:
                raise ParseError(TOOL, str(error), line=number, text=line) from None
        elif is_noise(line) or is_foreign(line) or (not rows and is_banner(line)):
            warnings.append(ParseWarning(number, line.rstrip()))
        else:
            raise ParseError(TOOL, "this row of -p is not understood", line=number, text=line)
    if not rows:
        raise ParseError(TOOL, "no row of a port was printed by -p, so no fabric was seen")
    return PortListing(tuple(rows), tuple(warnings))


def _row(number: int, match: re.Match[str]) -> ListedPort:
    kind, lid, port, guid, rate, width, speed, *peer = match.groups()
    peer_kind, peer_lid, peer_port, peer_guid, name, peer_name, own, bare = peer
    return ListedPort(
        type=TYPES[kind],
        lid=read_lid(lid),
        port=read_port(port),
        guid=Guid(guid, 16),
        rate_text=rate,
        width=read_width(width) if peer_kind else None,
        speed=read_speed(speed) if peer_kind else None,
        name=next(word for word in (name, own, bare) if word is not None),
        peer_type=TYPES[peer_kind] if peer_kind else None,
        peer_lid=read_lid(peer_lid),
        peer_port=read_port(peer_port) if peer_port else None,
        peer_guid=Guid(peer_guid, 16) if peer_guid else None,
        peer_name=peer_name,
        line=number,
    )


def to_topology(listing: PortListing) -> Topology:
    """The connected ports of a ``-p`` listing as a topology.

    The listing shows port GUIDs only. For a switch that is its node GUID on every switch known;
    for CAs and routers **each port becomes a node of its own**, with the port GUID as node GUID.
    ``num_ports`` is the highest port listed, the LMC is not printed (0).
    """
    groups: dict[tuple[NodeType, Guid], list[ListedPort]] = {}
    for row in listing.rows:
        groups.setdefault((row.type, row.guid), []).append(row)
    nodes = tuple(
        NodeRecord(
            type=kind,
            guid=guid,
            id_text=print_id(kind, guid),
            name=rows[0].name,
            num_ports=max(row.port for row in rows),
            lid=rows[0].lid if kind is NodeType.SWITCH else None,
            lmc=0,
            vendor_id=None,
            device_id=None,
            system_guid=None,
            chassis=None,
            ports=tuple(_listed(rows)),
            line=rows[0].line,
        )
        for (kind, guid), rows in groups.items()
    )
    refuse_contradictions(nodes)
    return Topology(nodes, None, listing.warnings)


def _listed(rows: list[ListedPort]) -> Iterator[PortRecord]:
    for row in sorted(rows, key=lambda row: row.port):
        if row.peer_type is None or row.peer_guid is None:
            continue
        switch = row.type is NodeType.SWITCH
        yield PortRecord(
            number=row.port,
            label=None,
            guid=None if switch else row.guid,
            lid=None if switch else row.lid,
            lmc=0,
            peer_type=row.peer_type,
            peer_guid=row.peer_guid,
            peer_id_text=print_id(row.peer_type, row.peer_guid),
            peer_port=row.peer_port,
            peer_port_guid=None if row.peer_type is NodeType.SWITCH else row.peer_guid,
            peer_name=row.peer_name or "",
            peer_lid=row.peer_lid,
            width=row.width,
            speed=row.speed,
            rate_text=row.rate_text.replace(" ", ""),
            line=row.line,
        )

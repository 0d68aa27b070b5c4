"""``iblinkinfo``: state, width and speed of every port, also of ports that are down.

Normal mode prints a header a node, then its ports; a CA's row starts with its *port* GUID::

    Switch: 0x0c42a103008982a4 Quantum Mellanox Technologies:
               3    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>      20    1[  ] "cu07" ( )
               3    2[  ] ==(                Down/ Polling)==>             [  ] "" ( )
    CA: cu07 HCA-1:
          0x043f720300f744e2     20    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==> ...

``--line`` prints GUID and name (padded to 30) in each row and the GUID of the peer before its LID.

Source of the format: rdma-core ``infiniband-diags/iblinkinfo.c`` (``print_port``,
``print_node_header``) and ``libibmad/dump.c`` for states, widths and speeds. The speed is of one
lane. ``-p`` adds ``(HOQ:n VL_Stall:n)``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from ibaccept.fabric.model import (
    LIDS,
    PORT_NUMBERS,
    UNICAST_LIDS,
    Guid,
    Lid,
    NodeType,
    PhysState,
    PortState,
    Speed,
    Width,
)
from ibaccept.parse import ParseError, ParseWarning
from ibaccept.parse.diags import (
    bounded,
    is_banner,
    is_error,
    is_foreign,
    is_noise,
    plain,
    refuse_overlong,
)

TOOL = "iblinkinfo"


@dataclass(frozen=True, slots=True)
class LinkRow:
    """One port.

    Attributes:
        node_type: from the header of normal mode; None without a header and in ``--line`` mode.
        guid: node GUID of a switch, **port** GUID of a CA; None where neither a header nor the
            row shows one.
        name: node description, blanks at its ends removed; None where not shown.
        lid: own LID (a switch's port 0); None where the tool printed 0 or 65535.
        port: port number.
        label: external port (``[ 7]``), of director chassis.
        width: active lanes; None when down or not named by this version of the tool.
        speed: active generation; None as ``width``.
        rate_text: ``4X 53.125 Gbps`` as printed, blanks folded.
        state: logical state.
        phys: physical state; None where the tool had no word for it.
        remote_guid: as ``guid``, of the peer (``--line`` only).
        remote_lid: LID of the peer; None where there is no peer or no LID.
        remote_port: port number on the peer; None where no peer was seen.
        remote_label: external port of the peer.
        remote_name: node description of the peer exactly as printed.
        hints: ``Could be 12X``; the tool's opinion of the link, not the ordered rate.
        line: 1-based line number.
        text: the raw line.
    """

    node_type: NodeType | None
    guid: Guid | None
    name: str | None
    lid: Lid | None
    port: int
    label: str | None
    width: Width | None
    speed: Speed | None
    rate_text: str
    state: PortState
    phys: PhysState | None
    remote_guid: Guid | None
    remote_lid: Lid | None
    remote_port: int | None
    remote_label: str | None
    remote_name: str | None
    hints: tuple[str, ...]
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class LinkInfo:
    """The whole output; the warnings are lines of known noise."""

    rows: tuple[LinkRow, ...]
    warnings: tuple[ParseWarning, ...]


_ROW = re.compile(
    r'\s*(?:0x([0-9a-fA-F]{1,16})\s+)?(?:"(.*?)"\s+)?(\d+)\s+(\d+)\[\s*(\d*)\s*\] '
    r"==\((.*?)\)(?: \(HOQ:\d+ VL_Stall:\d+\))?==>\s*(.*?)\s*\Z"
)
_HEADER = re.compile(r"(?:Switch: 0x([0-9a-fA-F]{1,16})|(CA|Router):) (.*):\s*\Z")
_LINK = re.compile(r"\s*(?:(\d+X|undefined \(\d+\)|\?+)\s+(\S.*?)\s+)?(\S+)/\s*(\S(?:.*\S)?)\s*\Z")
_REMOTE = re.compile(
    r'(?:0x([0-9a-fA-F]{1,16})\s+)?(\d+)\s+(\d+)\[\s*(\d*)\s*\] "(.*)" \(([^"]*)\)\Z'
)
_NO_REMOTE = re.compile(r'\[\s*\] "" \( \)\Z|"Port not available"\Z')
_FAILED = re.compile(r"Failed to |discover failed")


@dataclass(frozen=True, slots=True)
class _Header:
    type: NodeType
    guid: Guid | None
    name: str


def parse(text: str) -> LinkInfo:
    """Read either mode; rows whose header was lost (grep) keep what the row itself shows.

    Raises:
        ParseError: a line that is not understood or is cut, or no row at all.
    """
    text = plain(TOOL, text)
    refuse_overlong(TOOL, text)
    rows: list[LinkRow] = []
    warnings: list[ParseWarning] = []
    header: _Header | None = None
    first: LinkRow | None = None  # the first row under the header
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip("\r")
        if not line.strip():
            continue
        if match := _HEADER.match(line):
            header, first = _header(match), None
        elif match := _ROW.match(line):
            row = _row(match, number, line)
            if header is not None and not _belongs(row, header, first, rows):
                warnings.append(
                    ParseWarning(
                        number, f"not a row of {header.name!r}: the header of this node is missing"
                    )
                )
                header = None
            if header is not None:
                row = _under(row, header)
                first = first or row
            rows.append(row)
        elif is_error(line) or _FAILED.match(line):
            raise ParseError(
                TOOL,
                "the sweep failed; see that the HCA's port is active and that the user may open "
                "/dev/infiniband/umad*",
                line=number,
                text=line,
            )
        elif _is_noise(line, begun=bool(rows) or header is not None):
            warnings.append(ParseWarning(number, line))
        else:
            raise ParseError(
                TOOL, "this line is not understood, or it is cut", line=number, text=line
            )
    if not rows:
        raise ParseError(
            TOOL,
            "no row of a port was printed, so no link was seen; run it by hand on the observer "
            "and look at its error text",
        )
    return LinkInfo(tuple(rows), tuple(warnings))


def _is_noise(line: str, *, begun: bool) -> bool:
    return (
        line.startswith("#")
        or is_noise(line)
        or is_foreign(line)
        or (not begun and is_banner(line))
    )


def _header(match: re.Match[str]) -> _Header:
    guid, word, name = match.groups()
    if guid is not None:
        return _Header(NodeType.SWITCH, Guid(guid, 16), name.strip())
    return _Header(NodeType.CA if word == "CA" else NodeType.ROUTER, None, name.strip())


def _belongs(row: LinkRow, header: _Header, first: LinkRow | None, rows: list[LinkRow]) -> bool:
    """False for a row whose own header was lost: it must not be given to the node before it."""
    switch = header.type is NodeType.SWITCH
    if row.name is not None or (row.guid is None) is not switch:
        return False
    if first is None:
        return True
    # ports are printed in ascending order, and a switch has one LID
    return row.port > rows[-1].port and (not switch or row.lid == first.lid)


def _under(row: LinkRow, header: _Header) -> LinkRow:
    guid = header.guid if header.type is NodeType.SWITCH else row.guid
    return replace(row, node_type=header.type, guid=guid, name=header.name)


def _row(match: re.Match[str], number: int, line: str) -> LinkRow:
    try:
        return _read(match, number, line)
    except ValueError as error:
        raise ParseError(TOOL, str(error), line=number, text=line) from None


def _read(match: re.Match[str], number: int, line: str) -> LinkRow:
    """One row.

    Raises:
        ParseError: a part of it is not understood.
        ValueError: a LID or port number that cannot be.
    """
    guid, name, lid, port, label, link, remote = match.groups()
    inner = _LINK.match(link)
    if inner is None:
        raise ParseError(
            TOOL, "the part between ==( and )==> is not understood", line=number, text=line
        )
    width, speed, state_word, phys_word = inner.groups()
    state = _STATES.get(state_word)
    if state is None:
        raise ParseError(
            TOOL, f"{state_word!r} is not a port state known here", line=number, text=line
        )
    there = _REMOTE.match(remote)
    if there is not None and there[6].count("(") != there[6].count(")"):
        there = None  # cut inside a hint that has brackets of its own
    if there is None and _NO_REMOTE.match(remote) is None:
        raise ParseError(
            TOOL, "the peer after ==> is not understood, or it is cut", line=number, text=line
        )
    r_guid, r_lid, r_port, r_label, r_name, r_hints = there.groups() if there else (None,) * 6
    down = state is PortState.DOWN  # what is printed for a port that is down is a default
    return LinkRow(
        node_type=None,
        guid=Guid(guid, 16) if guid else None,
        name=None if name is None else name.strip(),
        lid=_lid(lid),
        port=bounded(port, PORT_NUMBERS, "a port number"),
        label=label or None,
        width=None if down else _width(width),
        speed=None if down or speed is None else Speed.from_lane(speed),
        rate_text="" if width is None else f"{width} {' '.join(speed.split())}",
        state=state,
        phys=_PHYS.get(phys_word),
        remote_guid=Guid(r_guid, 16) if r_guid else None,
        remote_lid=_lid(r_lid),
        remote_port=bounded(r_port, PORT_NUMBERS, "a port number") if r_port else None,
        remote_label=r_label or None,
        remote_name=r_name,
        hints=_hints(r_hints),
        line=number,
        text=line,
    )


_STATES = {state.value: state for state in PortState}
_PHYS = {phys.value: phys for phys in PhysState}


@lru_cache(maxsize=1024)
def _hints(text: str | None) -> tuple[str, ...]:
    parts = re.split(r"(?=Could be )", text or "")
    return tuple(part.strip() for part in parts if part.strip())


def _lid(text: str | None) -> Lid | None:
    lid = Lid(bounded(text or 0, LIDS, "a LID"))
    return lid if int(lid) in UNICAST_LIDS else None


@lru_cache(maxsize=64)
def _width(text: str | None) -> Width | None:
    try:
        return Width.parse(text or "")
    except ValueError:
        return None

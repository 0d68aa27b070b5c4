"""PortInfo, NodeInfo, SwitchInfo and NodeDescription of ``smpquery``.

Source of the format: ``smpquery.c`` and libibmad's ``dump.c``::

    # Port info: Lid 2 port 3
    LinkWidthActive:.................4X
    LinkState:.......................Active

Capability bits follow their mask as indented words. A port that is down prints default width and
speed. LinkSpeedActive alone is the legacy field: it says ``10.0 Gbps`` on an HDR link.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from ibaccept.fabric.model import (
    UNICAST_LIDS,
    Guid,
    Lid,
    NodeType,
    PhysState,
    PortState,
    Rate,
    Speed,
    Width,
)
from ibaccept.parse import ParseError
from ibaccept.parse.diags import ROW, is_noise, numbered

TOOL = "smpquery"

_HEADER = re.compile(
    r"# (?P<what>Port|Node|Switch) info: (?P<who>\S.*?)(?: port (?P<port>\d+))?\s*\Z"
)
_LID = re.compile(r"Lid (\d+)")
_FLAG = re.compile(r"\s+\w+\s*\Z")
_TYPES = {"Channel Adapter": NodeType.CA, "Switch": NodeType.SWITCH, "Router": NodeType.ROUTER}
_NO_EXTENDED = frozenset({"No Extended Speed", "0"})
_DESCRIPTION = re.compile(r"Node Description:\.+(?P<name>.*)\Z")


@dataclass(frozen=True, slots=True)
class PortInfo:
    """PortInfo of one port.

    Attributes:
        asked: LID of the query; None for a directed route.
        port: port number of the query.
        lid: base LID; None for 0 (a switch's external ports own none).
        state: None for a word this version does not know.
        rate: active width and speed; None when down, or where the tool could not name them (a
            version that prints no extended speed cannot tell HDR from QDR).
        rate_text: width and speed as printed.
        neighbor_mtu: octets; None where not printed as a number.
        fields: every row, by key, as printed.
        flags: capability bits by name, both masks.
    """

    asked: Lid | None
    port: int
    lid: Lid | None
    lmc: int
    state: PortState | None
    phys: PhysState | None
    rate: Rate | None
    rate_text: str
    cap_mask: int
    neighbor_mtu: int | None
    fields: Mapping[str, str]
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """NodeInfo: type and GUIDs. ``local_port`` is the port the query came in by."""

    asked: Lid | None
    type: NodeType
    num_ports: int
    guid: Guid
    port_guid: Guid
    system_guid: Guid
    local_port: int
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SwitchInfo:
    """SwitchInfo: ``fdb_top`` is the highest LID of the linear forwarding table in use."""

    asked: Lid | None
    fdb_cap: int
    fdb_top: int
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Dump:
    who: str
    port: str | None
    fields: dict[str, str]
    flags: tuple[str, ...]
    line: int

    @property
    def asked(self) -> Lid | None:
        match = _LID.match(self.who)
        return None if match is None else Lid(int(match[1]))

    def text(self, key: str) -> str:
        if key not in self.fields:
            self.fail(f"no {key} row: the output is cut; run it again")
        return self.fields[key]

    def number(self, key: str) -> int:
        value = self.text(key)
        if not re.fullmatch(r"0x[0-9a-fA-F]+|\d+", value):
            self.fail(f"{key} is {value!r}, not a number")
        return int(value, 16 if value.startswith("0x") else 10)

    def guid(self, key: str) -> Guid:
        try:
            return Guid.parse(self.text(key))
        except ValueError as error:
            self.fail(f"{key}: {error}")

    def fail(self, message: str) -> NoReturn:
        raise ParseError(TOOL, message, line=self.line)


def _dump(text: str, what: str) -> _Dump:
    header: re.Match[str] | None = None
    at = 0
    fields: dict[str, str] = {}
    flags: list[str] = []
    for number, line in numbered(TOOL, text):
        if not line.strip() or is_noise(line):
            continue
        if header is None:
            header, at = _HEADER.match(line), number
            if header is None or header["what"] != what:
                raise ParseError(TOOL, f"expected '# {what} info: ...'", line=number, text=line)
        elif (row := ROW.match(line)) is not None and row["dots"] and not line[0].isspace():
            if row["key"] in fields:
                raise ParseError(TOOL, "the row is printed twice", line=number, text=line)
            fields[row["key"]] = row["value"]
        elif _FLAG.match(line):
            flags.append(line.strip())
        else:
            raise ParseError(TOOL, "not a 'Key:...value' row", line=number, text=line)
    if header is None:
        raise ParseError(TOOL, f"no '# {what} info: ...' was seen; see its stderr")
    return _Dump(header["who"], header["port"], fields, tuple(flags), at)


def parse_portinfo(text: str) -> PortInfo:
    """Read ``smpquery portinfo``.

    Raises:
        ParseError: not one PortInfo, or a row that it must have is missing.
    """
    dump = _dump(text, "Port")
    if dump.port is None:
        dump.fail("the header lacks its port number")
    state = {word.value: word for word in PortState}.get(dump.text("LinkState"))
    phys = {word.value: word for word in PhysState}.get(dump.text("PhysLinkState"))
    speed_text, speed = _speed(dump)
    width_text = dump.text("LinkWidthActive")
    width = {str(width): width for width in Width}.get(width_text)
    rate = None
    if state not in {None, PortState.DOWN} and width is not None and speed is not None:
        rate = Rate(width, speed)
    lid = dump.number("Lid")
    mtu = dump.text("NeighborMTU")
    return PortInfo(
        dump.asked,
        int(dump.port),
        Lid(lid) if lid in UNICAST_LIDS else None,
        dump.number("LMC"),
        state,
        phys,
        rate,
        f"{width_text} {speed_text}",
        dump.number("CapMask"),
        int(mtu) if mtu.isdecimal() else None,
        dump.fields,
        dump.flags,
    )


def _speed(dump: _Dump) -> tuple[str, Speed | None]:
    """Text and generation of the active speed; the newest field that names one decides."""
    legacy = dump.text("LinkSpeedActive")
    extended = [v for k, v in dump.fields.items() if k.startswith("LinkSpeedExtActive")]
    named = [value for value in extended if value not in _NO_EXTENDED]
    if named:
        return named[-1], Speed.from_lane(named[-1])
    # without an extended field the tool is too old (or the output is cut) to tell HDR from QDR
    return legacy, Speed.from_lane(legacy) if extended else None


def parse_nodeinfo(text: str) -> NodeInfo:
    """Read ``smpquery nodeinfo``.

    Raises:
        ParseError: not one NodeInfo, a row is missing, or the type is not known.
    """
    dump = _dump(text, "Node")
    word = dump.text("NodeType")
    if word not in _TYPES:
        dump.fail(f"NodeType is {word!r}, not one of {', '.join(_TYPES)}")
    dump.text("VendorId")  # the last row: without it the output is cut
    return NodeInfo(
        dump.asked,
        _TYPES[word],
        dump.number("NumPorts"),
        dump.guid("Guid"),
        dump.guid("PortGuid"),
        dump.guid("SystemGuid"),
        dump.number("LocalPort"),
        dump.fields,
    )


def parse_switchinfo(text: str) -> SwitchInfo:
    """Read ``smpquery switchinfo``.

    Raises:
        ParseError: not one SwitchInfo, or LinearFdbCap or LinearFdbTop is missing.
    """
    dump = _dump(text, "Switch")
    return SwitchInfo(
        dump.asked, dump.number("LinearFdbCap"), dump.number("LinearFdbTop"), dump.fields
    )


def parse_nodedesc(text: str) -> str:
    """Read ``smpquery nodedesc``: the node description, filled up by dots from the left.

    Raises:
        ParseError: not exactly one such line.
    """
    found = None
    for number, line in numbered(TOOL, text):
        if not line.strip() or is_noise(line):
            continue
        match = _DESCRIPTION.match(line)
        if match is None or found is not None:
            raise ParseError(TOOL, "not one 'Node Description:...' line", line=number, text=line)
        found = match["name"]
    if found is None:
        raise ParseError(TOOL, "no 'Node Description:...' line was seen; see its stderr")
    return found

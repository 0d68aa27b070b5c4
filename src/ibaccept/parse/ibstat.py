"""A host's own HCAs, as ``ibstat`` prints them.

Source of the format: ``ibstat.c``::

    CA 'mlx5_0'
            CA type: MT4129
            Number of ports: 1
            Port 1:
                    State: Active
                    Rate: 200
                    Base lid: 48

``Effective speed`` is printed since rdma-core 65. State words are ibstat's own (``Initializing``
where smpquery says ``Initialize``). Rate is 40 or 10 on a port that is down: a default, no rate.
The tool can list whole HCAs, then end with an ibpanic for the next: those are kept, the panic is
a problem.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ibaccept.fabric.model import LIDS, LMCS, PORT_NUMBERS, UNICAST_LIDS, Guid, Lid
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

TOOL = "ibstat"

INFINIBAND = frozenset({"InfiniBand", "IB"})
"""Link layers of a port of the fabric; umad's simulator says ``IB``."""

_CA = re.compile(r"(?P<type>CA|Switch|Router|iWARP RNIC|\?\?\?) '(?P<name>[^']+)'\s*\Z")
_PORT = re.compile(r"\s+Port (?P<number>\d+):\s*\Z")
_PAIR = re.compile(r"\s+(?P<key>[A-Za-z][\w ]*?): ?(?P<value>.*)\Z")
_LAST = re.compile(r"\s+Link layer: (?:InfiniBand|Ethernet|IB)\Z")
"""The last row of a port. Each of its values is whole also where the text has no final line end."""

_PORT_KEYS = frozenset(
    {
        "State",
        "Physical state",
        "Rate",
        "Effective speed",
        "Base lid",
        "LMC",
        "SM lid",
        "Capability mask",
        "Port GUID",
        "Link layer",
    }
)
_CA_KEYS = frozenset(
    {"Number of ports", "Firmware version", "Hardware version", "Node GUID", "System image GUID"}
)


@dataclass(frozen=True, slots=True)
class CaPort:
    """One port of an HCA. What was not printed is None, as is a LID or GUID of 0.

    Attributes:
        state: ``Active``, ``Initializing``, ``Armed``, ``Down``, ``???``.
        rate: Gb/s of the link as printed: ``200``, ``2.5``, ``40 (FDR10)``.
        effective_speed: as printed, on versions that print it.
        lid: base LID; the port owns 2^lmc LIDs.
        cap_mask: PortInfo capability mask.
        link_layer: ``InfiniBand`` or ``Ethernet``; an Ethernet port is not of this fabric.
        extra: rows this version does not know.
        line: number of the ``Port N:`` line.
    """

    number: int
    state: str | None
    phys_state: str | None
    rate: str | None
    effective_speed: str | None
    lid: Lid | None
    lmc: int | None
    sm_lid: Lid | None
    cap_mask: int | None
    port_guid: Guid | None
    link_layer: str | None
    line: int
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_infiniband(self) -> bool | None:
        """False for Ethernet (RoCE) and others; None where the link layer was not printed."""
        return None if self.link_layer is None else self.link_layer in INFINIBAND


@dataclass(frozen=True, slots=True)
class Ca:
    """One HCA. What was not printed is None.

    Attributes:
        name: name of the device on the host, ``mlx5_0``.
        type: part or board, ``MT4129``.
        ports: the ports that were printed; ``num_ports`` says how many there are.
        line: number of the ``CA 'x'`` line.
    """

    name: str
    type: str | None
    num_ports: int | None
    firmware: str | None
    hardware: str | None
    node_guid: Guid | None
    system_guid: Guid | None
    ports: tuple[CaPort, ...]
    line: int
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IbStat:
    """A host's HCAs, and what could not be read.

    Attributes:
        problems: an ibpanic after HCAs, a cut last line, a port block without its Port GUID, an
            HCA with fewer ports than it announces. With any, the list is not known to be whole.
    """

    cas: tuple[Ca, ...]
    problems: tuple[ParseWarning, ...]


@dataclass(slots=True)
class _OpenPort:
    number: int
    line: int
    rows: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _OpenCa:
    name: str
    kind: str
    line: int
    rows: dict[str, str] = field(default_factory=dict)
    ports: list[_OpenPort] = field(default_factory=list)


def parse(text: str) -> IbStat:
    """Read an output.

    Raises:
        ParseError: no HCA was listed (not an ibstat output, or the tool gave up), or a line is
            not understood.
    """
    cas: list[_OpenCa] = []
    problems: list[ParseWarning] = []
    text = plain(TOOL, text)
    refuse_overlong(TOOL, text)
    lines = text.split("\n")
    if _LAST.match(lines[-1]):
        lines.append("")
    for number, raw in enumerate(lines[:-1], 1):
        line = raw.rstrip()
        if not line or is_foreign(line) or (not cas and is_banner(line)):
            continue
        if is_error(line) or is_noise(line):
            problems.append(ParseWarning(number, line))
        else:
            _take(cas, number, line)
    if lines[-1].strip() and not is_foreign(lines[-1]):
        problems.append(ParseWarning(len(lines), lines[-1]))
    if not cas:
        why = f": {problems[0].text}" if problems else "; does this host have an HCA?"
        raise ParseError(TOOL, f"not an ibstat output, no HCA is listed{why}")
    problems += [problem for ca in cas for problem in _gaps(ca)]
    return IbStat(
        tuple(_ca(ca) for ca in cas), tuple(sorted(problems, key=lambda problem: problem.line))
    )


def _take(cas: list[_OpenCa], number: int, line: str) -> None:
    head = _CA.match(line)
    port = _PORT.match(line)
    pair = _PAIR.match(line)
    if head is not None:
        cas.append(_OpenCa(head["name"], head["type"], number))
    elif not cas:
        raise ParseError(
            TOOL, "not an ibstat output: it begins with \"CA 'name'\"", line=number, text=line
        )
    elif port is not None:
        if any(seen.number == int(port["number"]) for seen in cas[-1].ports):
            raise ParseError(TOOL, "a port is printed twice", line=number, text=line)
        cas[-1].ports.append(_OpenPort(int(port["number"]), number))
    elif pair is not None:
        rows = cas[-1].ports[-1].rows if cas[-1].ports else cas[-1].rows
        if pair["key"] in rows:
            raise ParseError(TOOL, "the row is printed twice", line=number, text=line)
        try:
            _check(pair["key"], pair["value"])
        except ValueError as error:
            raise ParseError(TOOL, str(error), line=number, text=line) from None
        rows[pair["key"]] = pair["value"].strip()
    else:
        raise ParseError(TOOL, "not a line of ibstat", line=number, text=line)


_FIELDS = {
    "Base lid": (LIDS, "a LID"),
    "SM lid": (LIDS, "a LID"),
    "LMC": (LMCS, "an LMC"),
    "Number of ports": (PORT_NUMBERS, "a number of ports"),
}
"""What a number can be, and how a message calls it."""


def _check(key: str, value: str) -> None:
    if key in _FIELDS:
        bounded(_int(value), *_FIELDS[key])
    elif key == "Capability mask":
        _int(value)
    elif key.endswith("GUID"):
        Guid.parse(value)


def _gaps(ca: _OpenCa) -> list[ParseWarning]:
    gaps = [
        ParseWarning(port.line, f"the block of {ca.name} port {port.number} is cut: no Port GUID")
        for port in ca.ports
        if "Port GUID" not in port.rows
    ]
    count = ca.rows.get("Number of ports")
    if count is None or _int(count) != len(ca.ports):
        shown = "an unknown number" if count is None else count
        gaps.append(
            ParseWarning(ca.line, f"{len(ca.ports)} of {shown} of ports of {ca.name} are printed")
        )
    return gaps


def _ca(ca: _OpenCa) -> Ca:
    rows = ca.rows
    count = rows.get("Number of ports")
    return Ca(
        ca.name,
        rows.get(f"{ca.kind} type"),
        None if count is None else _int(count),
        rows.get("Firmware version"),
        rows.get("Hardware version"),
        _guid(rows.get("Node GUID")),
        _guid(rows.get("System image GUID")),
        tuple(_port(port) for port in ca.ports),
        ca.line,
        {k: v for k, v in rows.items() if k not in _CA_KEYS and k != f"{ca.kind} type"},
    )


def _port(port: _OpenPort) -> CaPort:
    rows = port.rows
    lmc, mask = rows.get("LMC"), rows.get("Capability mask")
    return CaPort(
        port.number,
        rows.get("State"),
        rows.get("Physical state"),
        rows.get("Rate"),
        rows.get("Effective speed"),
        _lid(rows.get("Base lid")),
        None if lmc is None else _int(lmc),
        _lid(rows.get("SM lid")),
        None if mask is None else _int(mask),
        _guid(rows.get("Port GUID")),
        rows.get("Link layer"),
        port.line,
        {key: value for key, value in rows.items() if key not in _PORT_KEYS},
    )


def _int(text: str) -> int:
    if not re.fullmatch(r"0x[0-9a-fA-F]+|\d+", text.strip()):
        raise ValueError("not a number")
    return int(text, 16 if text.strip().startswith("0x") else 10)


def _lid(text: str | None) -> Lid | None:
    """None for a LID that was not printed and for 0 and 65535, which mean "none"."""
    if text is None or _int(text) not in UNICAST_LIDS:
        return None
    return Lid(_int(text))


def _guid(text: str | None) -> Guid | None:
    """None for a GUID that was not printed and for 0."""
    return None if text is None else Guid.parse(text) or None

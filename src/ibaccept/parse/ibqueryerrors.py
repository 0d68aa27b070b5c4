"""Error and data counters of every port, as ``ibqueryerrors`` prints them.

Source of the format: ``ibqueryerrors.c``::

    Errors for 0x2c90300000200 "SwitchB"
       GUID 0x2c90300000200 port ALL: [SymbolErrorCounter == 65535]
       GUID 0x2c90300000200 port 3: [SymbolErrorCounter == 65535] [PortXmitWait == 12]

    ## Summary: 6 nodes checked, 1 bad nodes found
    ##          21 ports checked, 1 ports have errors beyond threshold
    ## Thresholds:
    ##          1 PMA query failures
    ## Suppressed:

What it does not say matters as much. Clean nodes are not listed, so "not listed" is clean only if
the summary counts the node and ``pma_failures`` is 0: a node that does not answer is counted as
checked and clean, and one that the sweep lost is not counted at all. Where only its ClassPortInfo
is silent, the rest is read as if it had no capabilities: PortXmitWait vanishes and data counters
are the 32-bit ones. ``parse_stderr`` names the node. The exit code is 1 when a port is listed, 0
otherwise, also after failures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from ibaccept.fabric import counters as table
from ibaccept.fabric.model import PORT_NUMBERS, Guid, Lid
from ibaccept.parse import ParseError, ParseWarning
from ibaccept.parse.diags import LONGEST_LINE, bounded, is_noise, numbered

TOOL = "ibqueryerrors"

_BEGINS = re.compile(r"(?:Errors|Data Counters) for |##| +GUID ")
_HEADER = re.compile(
    r'(?P<mode>Errors|Data Counters) for (?:0x(?P<guid>[0-9a-fA-F]{1,16}) )?"(?P<name>.*)"\s*\Z'
)
_DATA_NODE = re.compile(r"^Data Counters for 0x([0-9a-fA-F]{1,16}) ", re.MULTILINE)
_PORT = re.compile(
    r"\s+GUID 0x(?P<guid>[0-9a-fA-F]{1,16}) port (?P<port>\d+|ALL):(?P<counters>.*)\Z"
)
_UNIT = r" \( *(?:[\d.]+|inf|nan)[A-Z]*\)"
_COUNTER = re.compile(rf" \[(\w+) == (\d+)({_UNIT})?\]")
_LINK = re.compile(r"\s+Link info: ")
_FATAL = re.compile(r"Query SA failed: |discover failed\s*\Z|loading cached fabric failed")
_SUMMARY = (
    re.compile(r"## Summary: (\d+) nodes checked, (\d+) bad nodes found\s*\Z"),
    re.compile(r"## +(\d+) ports checked, (\d+) ports have errors beyond threshold\s*\Z"),
    re.compile(r"## Thresholds:(.*)\Z"),
    re.compile(r"## Suppressed:(.*)\Z"),
)
_PMA = re.compile(r"## +(\d+) PMA query failures\s*\Z")
_PMA_WARNING = re.compile(
    r"ibwarn: \[\d+\] \w+: (?P<query>\S+) query failed on (?P<name>.*), "
    r"(?:Lid (?P<lid>\d{1,9})|DR path .*) port (?P<port>\d{1,9})\s*\Z"
)

_SWEEP = re.compile(r"\S+\.c:\d+; ")

AllPorts = Literal["ALL"]


@dataclass(frozen=True, slots=True)
class PortErrors:
    """Counters of one port above the threshold (0 by default).

    Attributes:
        guid: node GUID of a switch; None for a CA, whose header carries none.
        port_guid: GUID of the row: of the port for a CA (so two CAs of one name differ), of the
            node for a switch.
        name: node description, for people.
        port: port number; ``"ALL"`` = the switch's own sum, which can omit a counter that is
            saturated on single ports: not to be judged.
        counters: value by name; a counter that is not listed was 0 or suppressed.
        wide: names read from the 64-bit set; the others have the basic widths.
        link_info: what ``-r`` printed under the row, in iblinkinfo's grammar.
        text: the row as printed.
    """

    guid: Guid | None
    port_guid: Guid
    name: str
    port: int | AllPorts
    counters: Mapping[str, int]
    wide: frozenset[str]
    link_info: str | None
    line: int
    text: str

    def bits(self, name: str) -> int | None:
        """Width of a counter in this row; None for a detail counter."""
        return table.bits(name, extended=name in self.wide)


@dataclass(frozen=True, slots=True)
class PortData:
    """Data counters of one port (``--counters``), also of clean ports.

    Attributes:
        guid: node GUID, of CAs too.
        counters: value by name; data in units of four octets.
        bits: 64 where the row shows that the extended set was read; 32 where it may be the basic
            set, so that 4294967295 is "saturated".
        link_info: as in ``PortErrors``.
    """

    guid: Guid
    name: str
    port: int | AllPorts
    counters: Mapping[str, int]
    bits: int
    link_info: str | None
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The trailer. Ports: a clean switch counts its external ports, one with errors port 0 too.

    Attributes:
        thresholds: as printed after ``Thresholds:``, without edge blanks.
        pma_failures: queries that got no answer; above 0 nothing is proven clean.
        suppressed: counters that were not looked at.
    """

    nodes_checked: int
    bad_nodes: int
    ports_checked: int
    bad_ports: int
    thresholds: str
    pma_failures: int
    suppressed: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class QueryErrors:
    """One output.

    Attributes:
        ports: rows under ``Errors for``.
        data_blocks: rows under ``Data Counters for``.
        summary: None where it was not printed: the tool did not end its work, or the text is a
            part of an output. "Not listed" means nothing then.
        warnings: noise of the MAD libraries, and node headers without a port row.
    """

    ports: tuple[PortErrors, ...]
    summary: Summary | None
    data_blocks: tuple[PortData, ...]
    warnings: tuple[ParseWarning, ...]


@dataclass(frozen=True, slots=True)
class PmaFailure:
    """One query that got no answer, from stderr.

    Attributes:
        query: ``classportinfo``, ``IB_GSI_PORT_COUNTERS`` or ``IB_GSI_PORT_COUNTERS_EXT``.
        name: node description.
        lid: LID of the query: the switch's, or the CA port's.
        port: port number; 255 = all ports of the node; 0 for the ClassPortInfo of a switch.
    """

    query: str
    name: str
    lid: Lid | None
    port: int
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Stderr:
    """The tool's stderr.

    Attributes:
        failures: counter queries without an answer.
        sweep: lines of the discovery that precedes them. With any, nodes or ports can be missing
            from the output and from its counts, and the exit code is still 0.
        other: every other line, kept to be shown.
    """

    failures: tuple[PmaFailure, ...]
    sweep: tuple[ParseWarning, ...]
    other: tuple[ParseWarning, ...]


@dataclass(slots=True)
class _Node:
    line: int
    text: str
    mode: str
    guid: Guid | None
    name: str
    rows: int = 0


@dataclass(frozen=True, slots=True)
class _Shape:
    """Which counters a row lists, and with which of them a unit.

    Most rows of an output list the same ones: a pattern of all of them reads such a row at once.
    """

    names: tuple[str, ...]
    wide: frozenset[str]
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, counters: Mapping[str, int], wide: frozenset[str]) -> _Shape:
        """The shape of a row."""
        parts = (rf" \[{name} == (\d+){_UNIT if name in wide else ''}\]" for name in counters)
        row = rf"\s+GUID 0x([0-9a-fA-F]{{1,16}}) port (\d+|ALL):{''.join(parts)}\s*\Z"
        return cls(tuple(counters), wide, re.compile(row))


@dataclass(slots=True)
class _Row:
    node: _Node
    guid: Guid
    port: int | AllPorts
    counters: dict[str, int]
    wide: frozenset[str]
    line: int
    text: str
    link_info: str | None = None


@dataclass(slots=True)
class _Reader:
    nodes: list[_Node] = field(default_factory=list)
    rows: list[_Row] = field(default_factory=list)
    trailer: list[tuple[int, str]] = field(default_factory=list)
    warnings: list[ParseWarning] = field(default_factory=list)
    shape: _Shape | None = None

    def take(self, number: int, line: str) -> None:
        if line[0] == " " and not self.trailer:  # most lines: nothing but a row begins so
            self.row(number, line)
        elif line.startswith("##"):
            self.trailer.append((number, line))
        elif is_noise(line):
            self.warnings.append(ParseWarning(number, line))
        elif _FATAL.match(line):
            raise ParseError(
                TOOL,
                "it gave up before it read a counter; use --skip-sl, and check the subnet manager",
                line=number,
                text=line,
            )
        elif self.trailer:
            raise ParseError(TOOL, "a line after the summary", line=number, text=line)
        elif (header := _HEADER.match(line)) is not None:
            guid = None if header["guid"] is None else Guid.parse(header["guid"])
            self.nodes.append(_Node(number, line, header["mode"], guid, header["name"]))
            if header["mode"] != "Errors" and guid is None:
                raise ParseError(TOOL, "the header lacks its GUID", line=number, text=line)
        else:
            self.row(number, line)

    def row(self, number: int, line: str) -> None:
        alike = self.shape.pattern.match(line) if self.shape is not None else None
        if alike is not None and self.shape is not None and self.nodes:
            guid, port, *values = alike.groups()
            counters = dict(zip(self.shape.names, map(int, values), strict=True))
            self.add(number, line, guid, port, counters, self.shape.wide)
        elif (match := _PORT.match(line)) is not None:
            self.add_port(number, line, match)
        elif _LINK.match(line) and self.rows and self.rows[-1].link_info is None:
            self.rows[-1].link_info = line.strip().removeprefix("Link info: ").rstrip()
        else:
            raise ParseError(TOOL, "not a line of this tool", line=number, text=line)

    def add_port(self, number: int, line: str, match: re.Match[str]) -> None:
        if not self.nodes:
            raise ParseError(TOOL, "a port before any node header", line=number, text=line)
        counters: dict[str, int] = {}
        wide = set()
        rest = match["counters"].rstrip()
        end = 0
        while (counter := _COUNTER.match(rest, end)) is not None:
            name, value, suffix = counter.groups()
            if name in counters:
                raise ParseError(TOOL, f"{name} is printed twice", line=number, text=line)
            counters[name] = int(value)
            if suffix:
                wide.add(name)
            end = counter.end()
        if end != len(rest) or not counters:
            raise ParseError(
                TOOL, "a port row that is not a list of [Counter == N]", line=number, text=line
            )
        self.shape = _Shape.of(counters, frozenset(wide))
        self.add(number, line, match["guid"], match["port"], counters, self.shape.wide)

    def add(
        self,
        number: int,
        line: str,
        guid: str,
        shown: str,
        counters: dict[str, int],
        wide: frozenset[str],
    ) -> None:
        try:
            port: int | AllPorts = "ALL" if shown == "ALL" else _port_number(shown)
        except ValueError as error:
            raise ParseError(TOOL, str(error), line=number, text=line) from None
        node = self.nodes[-1]
        node.rows += 1
        self.rows.append(_Row(node, Guid(guid, 16), port, counters, wide, number, line))


@lru_cache(maxsize=1024)
def _port_number(text: str) -> int:
    return bounded(text, PORT_NUMBERS, "a port number")


def parse(text: str) -> QueryErrors:
    """Read an output, of any of the modes (``-r``, ``--data``, ``--details``, ``--counters``).

    Raises:
        ParseError: nothing of the tool's was seen, a line is not understood, the summary is cut,
            or it counts other bad nodes and ports than are listed (lines are missing).
    """
    reader = _Reader()
    for number, line in numbered(TOOL, text, _BEGINS):
        if line.strip():
            reader.take(number, line)
    if not reader.nodes and not reader.trailer:
        raise ParseError(
            TOOL, "neither a port nor the summary was seen; see its stderr and exit code"
        )
    summary = _summary(reader.trailer)
    if summary is not None:
        _check(reader, summary)
    empty = [ParseWarning(node.line, node.text) for node in reader.nodes if not node.rows]
    return QueryErrors(
        tuple(_errors(row) for row in reader.rows if row.node.mode == "Errors"),
        summary,
        tuple(_data(row) for row in reader.rows if row.node.mode != "Errors"),
        tuple(sorted([*reader.warnings, *empty], key=lambda warning: warning.line)),
    )


def _errors(row: _Row) -> PortErrors:
    # --data adds traffic to the row, always with a unit: the unit says nothing of its width
    wide = row.wide - set(table.DATA_COUNTERS)
    if row.wide and _bits(row) == table.EXTENDED_BITS:
        wide = row.wide
    return PortErrors(
        row.node.guid,
        row.guid,
        row.node.name,
        row.port,
        row.counters,
        wide,
        row.link_info,
        row.line,
        row.text,
    )


def _data(row: _Row) -> PortData:
    return PortData(
        row.node.guid if row.node.guid is not None else row.guid,
        row.node.name,
        row.port,
        row.counters,
        _bits(row),
        row.link_info,
        row.line,
        row.text,
    )


def _bits(row: _Row) -> int:
    """64 where a data counter shows that the extended set was read, else 32."""
    if not _EXTENDED_ONLY.isdisjoint(row.counters):
        return table.EXTENDED_BITS
    data = {name: row.counters[name] for name in table.DATA_COUNTERS if name in row.counters}
    proven = any(value >> table.WIDTH[name] for name, value in data.items())
    return table.EXTENDED_BITS if proven else table.WIDTH["PortXmitData"]


_EXTENDED_ONLY = frozenset(
    name for name in table.DATA_COUNTERS if table.WIDTH[name] == table.EXTENDED_BITS
)


def _summary(trailer: list[tuple[int, str]]) -> Summary | None:
    if not trailer:
        return None
    pma = [(number, match) for number, line in trailer if (match := _PMA.match(line))]
    rest = [(number, line) for number, line in trailer if not _PMA.match(line)]
    if len(rest) != len(_SUMMARY) or len(pma) > 1:
        raise ParseError(
            TOOL, "the summary is cut or printed twice", line=trailer[-1][0], text=trailer[-1][1]
        )
    found = []
    for (number, line), pattern in zip(rest, _SUMMARY, strict=True):
        match = pattern.match(line)
        if match is None:
            raise ParseError(TOOL, "not the summary's line", line=number, text=line)
        found.append(match)
    nodes, ports, thresholds, suppressed = found
    return Summary(
        int(nodes[1]),
        int(nodes[2]),
        int(ports[1]),
        int(ports[2]),
        thresholds[1].strip(),
        int(pma[0][1][1]) if pma else 0,
        tuple(suppressed[1].split()),
        rest[0][0],
    )


def _check(reader: _Reader, summary: Summary) -> None:
    """Compare what is listed with what the summary counts.

    Raises:
        ParseError: lines are missing.
    """
    headers = sum(node.mode == "Errors" for node in reader.nodes)
    ports = sum(row.node.mode == "Errors" and row.port != "ALL" for row in reader.rows)
    if (headers, ports) != (summary.bad_nodes, summary.bad_ports):
        raise ParseError(
            TOOL,
            f"{headers} nodes and {ports} ports with errors are listed, the summary counts "
            f"{summary.bad_nodes} and {summary.bad_ports}: lines are missing, run it again",
            line=summary.line,
        )
    data = sum(row.node.mode != "Errors" for row in reader.rows)
    if len(reader.nodes) > headers and not (
        summary.ports_checked - summary.pma_failures <= data <= summary.ports_checked
    ):
        raise ParseError(
            TOOL,
            f"data counters of {data} ports are listed, the summary counts "
            f"{summary.ports_checked}: lines are missing, run it again",
            line=summary.line,
        )


def data_nodes(text: str) -> frozenset[Guid]:
    """Nodes with a block of data counters, by their headers alone; no row is read."""
    return frozenset(Guid(digits, 16) for digits in _DATA_NODE.findall(text))


def parse_stderr(text: str) -> Stderr:
    """Read stderr: which node and port did not answer.

    A line looks like ``ibwarn: [7403] print_errors: IB_GSI_PORT_COUNTERS_EXT query failed on
    node002 HCA-1, Lid 7 port 2``, one of the sweep ``src/query_smp.c:199; umad (DR path slid 0;
    dlid 0; 0,1 Attr 0x11:0) bad status 110; Connection timed out``. Never raises.
    """
    failures: list[PmaFailure] = []
    sweep: list[ParseWarning] = []
    other: list[ParseWarning] = []
    for number, line in enumerate(text.split("\n"), 1):
        match = _PMA_WARNING.match(line) if len(line) <= LONGEST_LINE else None
        if match is None:
            if line.strip():
                (sweep if _SWEEP.match(line) else other).append(ParseWarning(number, line))
            continue
        lid = None if match["lid"] is None else Lid(int(match["lid"]))
        failures.append(
            PmaFailure(match["query"], match["name"], lid, int(match["port"]), number, line)
        )
    return Stderr(tuple(failures), tuple(sweep), tuple(other))

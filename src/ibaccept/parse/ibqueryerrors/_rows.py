"""Headers and rows of ports, line by line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from ibaccept.fabric import counters as table
from ibaccept.fabric.model import PORT_NUMBERS, Guid
from ibaccept.parse import ParseError, ParseWarning
from ibaccept.parse.diags import bounded, is_noise
from ibaccept.parse.ibqueryerrors._records import TOOL, AllPorts, PortData, PortErrors

_HEADER = re.compile(
    r'(?P<mode>Errors|Data Counters) for (?:0x(?P<guid>[0-9a-fA-F]{1,16}) )?"(?P<name>.*)"\s*\Z'
)
_PORT = re.compile(
    r"\s+GUID 0x(?P<guid>[0-9a-fA-F]{1,16}) port (?P<port>\d+|ALL):(?P<counters>.*)\Z"
)
_UNIT = r" \( *(?:[\d.]+|inf|nan)[A-Z]*\)"
_COUNTER = re.compile(rf" \[(\w+) == (\d+)({_UNIT})?\]")
_LINK = re.compile(r"\s+Link info: ")
_FATAL = re.compile(r"Query SA failed: |discover failed\s*\Z|loading cached fabric failed")


@dataclass(slots=True)
class NodeRows:
    """A header, and how many rows stand under it."""

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
class CounterRow:
    """A row as printed; whether of errors or of data says its header's ``mode``."""

    node: NodeRows
    guid: Guid
    port: int | AllPorts
    counters: dict[str, int]
    wide: frozenset[str]
    line: int
    text: str
    link_info: str | None = None


@dataclass(slots=True)
class RowReader:
    """Takes the lines of an output, one by one.

    Attributes:
        trailer: lines of the summary, with their numbers.
        shape: of the row read last.
    """

    nodes: list[NodeRows] = field(default_factory=list)
    rows: list[CounterRow] = field(default_factory=list)
    trailer: list[tuple[int, str]] = field(default_factory=list)
    warnings: list[ParseWarning] = field(default_factory=list)
    shape: _Shape | None = None

    def take(self, number: int, line: str) -> None:
        """Read a line that is not blank.

        Raises:
            ParseError: it is not understood, or stands where it cannot.
        """
        if line[0] == " " and not self.trailer:  # most lines: nothing but a row begins so
            self._row(number, line)
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
            self.nodes.append(NodeRows(number, line, header["mode"], guid, header["name"]))
            if header["mode"] != "Errors" and guid is None:
                raise ParseError(TOOL, "the header lacks its GUID", line=number, text=line)
        else:
            self._row(number, line)

    def _row(self, number: int, line: str) -> None:
        alike = self.shape.pattern.match(line) if self.shape is not None else None
        if alike is not None and self.shape is not None and self.nodes:
            guid, port, *values = alike.groups()
            counters = dict(zip(self.shape.names, map(int, values), strict=True))
            self._add(number, line, guid, port, counters, self.shape.wide)
        elif (match := _PORT.match(line)) is not None:
            self._add_port(number, line, match)
        elif _LINK.match(line) and self.rows and self.rows[-1].link_info is None:
            self.rows[-1].link_info = line.strip().removeprefix("Link info: ").rstrip()
        else:
            raise ParseError(TOOL, "not a line of this tool", line=number, text=line)

    def _add_port(self, number: int, line: str, match: re.Match[str]) -> None:
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
        self._add(number, line, match["guid"], match["port"], counters, self.shape.wide)

    def _add(
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
        self.rows.append(CounterRow(node, Guid(guid, 16), port, counters, wide, number, line))


@lru_cache(maxsize=1024)
def _port_number(text: str) -> int:
    return bounded(text, PORT_NUMBERS, "a port number")


def errors_of(row: CounterRow) -> PortErrors:
    """A row under ``Errors for``."""
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


def data_of(row: CounterRow) -> PortData:
    """A row under ``Data Counters for``."""
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


def _bits(row: CounterRow) -> int:
    """64 where a data counter shows that the extended set was read, else 32."""
    if not _EXTENDED_ONLY.isdisjoint(row.counters):
        return table.EXTENDED_BITS
    data = {name: row.counters[name] for name in table.DATA_COUNTERS if name in row.counters}
    proven = any(value >> table.WIDTH[name] for name, value in data.items())
    return table.EXTENDED_BITS if proven else table.WIDTH["PortXmitData"]


_EXTENDED_ONLY = frozenset(
    name for name in table.DATA_COUNTERS if table.WIDTH[name] == table.EXTENDED_BITS
)

"""Port counters of ``perfquery``: basic, extended (``-x``), and the detail sets (``-E``, ``-D``).

Source of the format: ``perfquery.c`` and libibmad's ``dump.c`` and ``fields.c``::

    # Port extended counters: Lid 2 port 3 (CapMask: 0x1300 CapMask2: 0x0000000)
    PortSelect:......................3
    CounterSelect:...................0x0000
    PortXmitData:....................27072

CapMask is printed since about 2013; QP1Dropped since rdma-core's first years. Versions up to OFED
1.5 print other names (``counters.HISTORIC_NAMES``); the values are the same registers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ibaccept.fabric import counters as table
from ibaccept.fabric.model import LIDS, Lid
from ibaccept.parse import ParseError, ParseWarning
from ibaccept.parse.diags import ROW, bounded, is_noise, numbered

TOOL = "perfquery"

_BEGINS = re.compile(r"# ")
ALL_PORTS = 255
"""Port number of a block that sums over all ports of the node; never to be judged as a port."""

PORTS = range(ALL_PORTS + 1)

_HEADER = re.compile(
    r"# (?P<kind>\S.*?) counters: (?P<who>\S.*?) port (?P<port>\d+)"
    r"(?:\s+\(CapMask: 0x(?P<cap>[0-9A-Fa-f]+)(?:\s+CapMask2:\s+0x(?P<cap2>[0-9A-Fa-f]+))?\))?\s*\Z"
)
_LID = re.compile(r"Lid (?:0x(?P<hex>[0-9a-fA-F]+)|(?P<dec>\d+))")
_TIMESTAMP = re.compile(r"timestamp \d+(?:\.\d+)?\s*\Z")
_SELECT = frozenset({"PortSelect", "CounterSelect", "CounterSelect2"})
_VALUE_COLUMN = 33
_PLAIN = re.compile(
    r"(?:# Port (?:extended )?counters: Lid \d{1,5} port \d{1,3}"
    r"(?: \(CapMask: 0x[0-9A-F]{1,8}(?: CapMask2: 0x[0-9A-F]{1,8})?\))?\n"
    r"PortSelect:\.+\d{1,3}\nCounterSelect:\.+0x[0-9a-f]{1,8}\n"
    r"(?:[A-Z][A-Za-z0-9]{2,39}:\.+\d{1,20}\n|CounterSelect2:\.+0x[0-9a-f]{1,8}\n)+)+\Z"
)

_BASE = frozenset(
    name
    for name, bits in table.WIDTH.items()
    if bits < table.EXTENDED_BITS and name not in {"QP1Dropped", "PortXmitWait"}
)
_IETF = frozenset(name for name, bits in table.WIDTH.items() if bits == table.EXTENDED_BITS)
_EXTENDED_BASE = frozenset(table.DATA_COUNTERS) - _IETF
_ADDITIONAL = frozenset(table.FAULT_COUNTERS) | frozenset(table.REPORT_COUNTERS)


@dataclass(frozen=True, slots=True)
class CounterBlock:
    """The counters of one port, as one header and its rows give them.

    Attributes:
        kind: ``basic``, ``extended``, or the header's own word (``PortRcvErrorDetails``).
        lid: LID of the query; None where the header shows a directed route.
        port: port number; 255 = all ports of the node summed.
        cap_mask: CapMask of the header; None where the version does not print it.
        cap_mask2: CapMask2 of an extended header.
        counters: value by today's counter name; a name that was not printed is absent. Data
            counters are in units of four octets.
        unsupported: printed values that the capability bits say were not measured (a 0 there is
            no reading). Empty when CapMask was not printed: then nothing is known.
        line: number of the header line.
        printed: names as printed where they differ, by today's name.
        warnings: lines of known noise inside the block.
        lines: line number by counter name.
    """

    kind: str
    lid: Lid | None
    port: int | None
    cap_mask: int | None
    cap_mask2: int | None
    counters: Mapping[str, int]
    unsupported: frozenset[str]
    line: int
    printed: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[ParseWarning, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)

    def bits(self, name: str) -> int | None:
        """Width of a counter in this block; it sticks at 2^bits - 1. None for a detail counter."""
        return table.bits(name, extended=self.kind == "extended")


@dataclass(slots=True)
class _Block:
    line: int
    text: str
    rows: dict[str, int] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)
    select: dict[str, int] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    warnings: list[ParseWarning] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not self.rows and not self.select


def parse(text: str) -> tuple[CounterBlock, ...]:
    """Read every block of an output (``-l`` prints one a port).

    Raises:
        ParseError: no block, a line that is not understood, a row without value, a counter twice,
            a value wider than its counter, or a block that lacks a counter which its header
            promises. A block is whole or it is an error: a missing counter must not read as 0.
    """
    blocks = _plain(text)
    if blocks is None:
        blocks = _any(text)
    if not blocks:
        raise ParseError(TOOL, "no '# ... counters:' header was seen; see its stderr and exit code")
    return tuple(_finish(block) for block in blocks)


def _plain(text: str) -> list[_Block] | None:
    """The blocks of an output that is nothing but headers and rows of today's names.

    A sample of a large fabric has thousands of blocks; the careful way takes ten times as long.
    None where one line is anything else: then the careful way says what it is.
    """
    if not _PLAIN.match(text):
        return None
    blocks: list[_Block] = []
    for number, line in enumerate(text.split("\n")[:-1], 1):
        if line[0] == "#":
            blocks.append(_Block(number, line))
            continue
        block = blocks[-1]
        name, _, rest = line.partition(":")
        value = rest.lstrip(".")
        if len(line) - len(value) != _VALUE_COLUMN or name in table.HISTORIC_NAMES:
            return None
        into = block.select if name in _SELECT else block.rows
        if name in into:
            return None
        into[name] = int(value, 16 if value.startswith("0x") else 10)
        if into is block.rows:
            block.lines[name] = number
    return blocks


def _any(text: str) -> list[_Block]:
    """The blocks of any output, line by line.

    Raises:
        ParseError: as ``parse``.
    """
    blocks: list[_Block] = []
    for number, line in numbered(TOOL, text, _BEGINS):
        if line.startswith("# "):
            blocks.append(_Block(number, line.rstrip()))
        elif blocks and blocks[-1].empty and _HEADER.match(blocks[-1].text + " " + line.strip()):
            # mail software wraps the long header line
            blocks[-1].text += " " + line.strip()
        elif is_noise(line) or _TIMESTAMP.match(line):
            if blocks:
                blocks[-1].warnings.append(ParseWarning(number, line))
        elif line.strip():
            if not blocks:
                raise ParseError(
                    TOOL, "a line before the first '# ... counters:' header", line=number, text=line
                )
            _add_row(blocks[-1], number, line.rstrip())
    return blocks


def row_text(printed: str, value: int) -> str:
    """A row as perfquery prints it: dots up to the column of the values."""
    return f"{printed}:".ljust(_VALUE_COLUMN, ".") + str(value)


def _add_row(block: _Block, number: int, line: str) -> None:
    match = ROW.match(line)
    value = None if match is None else re.fullmatch(r"0x[0-9a-fA-F]+|\d+", match["value"])
    if match is None or value is None:
        raise ParseError(TOOL, "not a 'Counter:...value' row", line=number, text=line)
    if match["dots"] and match.start("value") < _VALUE_COLUMN:
        raise ParseError(
            TOOL, "dots are missing from the row, so its text was altered", line=number, text=line
        )
    printed = match["key"]
    if printed in block.select or table.HISTORIC_NAMES.get(printed, printed) in block.rows:
        raise ParseError(TOOL, "the counter is printed twice in one block", line=number, text=line)
    if printed in _SELECT:
        block.select[printed] = int(value[0], 0 if value[0].startswith("0x") else 10)
        return
    if value[0].startswith("0x"):
        raise ParseError(TOOL, "a counter value is decimal", line=number, text=line)
    name = table.HISTORIC_NAMES.get(printed, printed)
    block.rows[name] = int(value[0])
    block.lines[name] = number
    if name != printed:
        block.printed[name] = printed


def _finish(block: _Block) -> CounterBlock:
    header = _HEADER.match(block.text)
    if header is None:
        raise ParseError(
            TOOL, "not a '# ... counters: Lid N port N' header", line=block.line, text=block.text
        )
    lid = _LID.match(header["who"])
    try:
        port = bounded(header["port"], PORTS, "a port number")
        queried = None if lid is None else _lid(lid)
    except ValueError as error:
        raise ParseError(TOOL, str(error), line=block.line, text=block.text) from None
    cap = None if header["cap"] is None else int(header["cap"], 16)
    cap2 = None if header["cap2"] is None else int(header["cap2"], 16)
    kind = _kind(header["kind"], block)
    if block.select.get("PortSelect", port) != port:
        raise ParseError(
            TOOL,
            f"the header says port {port}, PortSelect says {block.select['PortSelect']}",
            line=block.line,
            text=block.text,
        )
    missing = _promised(kind, cap, cap2) - block.rows.keys()
    if missing or not block.rows:
        names = ", ".join(sorted(missing)) or "every counter"
        raise ParseError(
            TOOL,
            f"the block is cut: {names} not printed; run it again",
            line=block.line,
            text=block.text,
        )
    for name, value in block.rows.items():
        width = table.bits(name, extended=kind == "extended") or table.EXTENDED_BITS
        if value >> width:
            raise ParseError(
                TOOL,
                f"{name} = {value} does not fit its {width} bits",
                line=block.line,
                text=block.text,
            )
    unsupported: frozenset[str] = frozenset()
    if kind in {"basic", "extended"}:
        unsupported = table.unmeasured(
            frozenset(block.rows), cap, cap2, extended=kind == "extended"
        )
    return CounterBlock(
        kind,
        queried,
        port,
        cap,
        cap2,
        block.rows,
        unsupported,
        block.line,
        block.printed,
        tuple(block.warnings),
        block.lines,
    )


def _lid(match: re.Match[str]) -> Lid:
    value = int(match["dec"]) if match["dec"] else int(match["hex"], 16)
    return Lid(bounded(value, LIDS, "a LID"))


def _kind(words: str, block: _Block) -> str:
    if words == "Port extended":
        return "extended"
    if words == "Port":
        # Up to OFED 1.5 the extended set had the same header. Only the basic set begins with
        # SymbolErrorCounter, and only the extended set has no error counters at all.
        return "extended" if block.rows and not _ADDITIONAL & block.rows.keys() else "basic"
    return words


def _promised(kind: str, cap: int | None, cap2: int | None) -> frozenset[str]:
    """Counters that a whole block of this kind holds, going by its capability bits."""
    if kind == "basic":
        # A version that prints CapMask is newer than the PortXmitWait row, the last of the set.
        return _BASE if cap is None else _BASE | {"PortXmitWait"}
    if kind != "extended":
        return frozenset()
    names = _EXTENDED_BASE
    if cap is not None and cap >> table.CAP_EXTENDED & 1:
        names |= _IETF
    if cap2 is not None and cap2 >> table.CAP2_ADDITIONAL & 1:
        # QP1Dropped, the last row, came later than the others
        names |= _ADDITIONAL - {"QP1Dropped"}
    return names

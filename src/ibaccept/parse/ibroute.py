"""``ibroute``: the forwarding table of one switch (or of several, one output after the other).

    Unicast lids [0x0-0x40] of switch Lid 4 guid 0x100000b000000300 (leaf3):
      Lid  Out   Destination
           Port     Info
    0x0001 021 : (Channel Adapter portguid 0x2000000000000001: 'node0-0 HCA-1')
    63 valid lids dumped

Formats: rdma-core infiniband-diags/ibroute.c and dump_fts.c, ``dump_unicast_tables``. With ``-n``
the part after the port is empty; with ``-a`` every LID has a row and the trailer says ``lids
dumped``. On a failed read ibroute stops without a trailer and exits 0.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ibaccept.fabric.lft import NO_ENTRY, SwitchTable, TableRow
from ibaccept.fabric.model import Guid
from ibaccept.parse import ParseError
from ibaccept.parse.diags import LONGEST_LINE, is_banner, is_foreign, is_noise
from ibaccept.parse.lft import Section, SectionHead, build_table, head_of, void_by_stderr
from ibaccept.parse.lft_rows import Dump, Ints, Text, decimals, lids_of

TOOL = "ibroute"

_START = b"Unicast lids ["
_MULTICAST = "Multicast mlids ["
_HEADER = re.compile(
    r"Unicast lids \[0x([0-9a-f]{1,16})-0x([0-9a-f]{1,16})\] of switch "
    r"(Lid (\d{1,5})|DR path slid \d+; dlid \d+; [\d,]+|.+?) guid 0x([0-9a-f]{16}) \((.*)\):\s*\Z"
)
_TRAILER = re.compile(r"(\d{1,9}) (?:valid )?lids dumped ?\Z")
_TITLES = ("Lid  Out   Destination", "Port     Info")
_ERROR = re.compile(r"(?:.*: )?iberror: failed: .+|ibpanic: .+|SubnGet\(.*\) failed.*")
_AFTER_PORT = (int.from_bytes(b" \n", "little"), int.from_bytes(b" :", "little"))
_END = ord("\n")


def parse(text: Text, stderr: str = "") -> tuple[SwitchTable, ...]:
    """The tables of an ``ibroute`` output.

    Multicast sections are left out. An output may hold several tables.

    Raises:
        ParseError: a line is not understood, or there is no unicast table at all.
    """
    return parse_sections(TOOL, text, stderr, above=False)


def parse_sections(
    tool: str, text: Text, stderr: str = "", *, above: bool
) -> tuple[SwitchTable, ...]:
    """The shared reader of ``ibroute`` and ``dump_fts``.

    Args:
        tool: whose output it is.
        text: standard output.
        stderr: standard error.
        above: as in `SwitchTable`; the tool ends each table with its trailer, also after a failed
            read, so that a table without one has lost lines.

    Raises:
        ParseError: a line is not understood, a switch has two tables, or there is none.
    """
    dump = Dump(tool, text)
    positions = dump.sections(_START)
    warnings, multicast = _before_tables(dump, positions[0] if positions else dump.size)
    tables: list[SwitchTable] = []
    addresses: dict[str, Guid] = {}
    number = 1 + dump.count_lines(0, positions[0]) if positions else 1
    for start, stop in pairwise([*positions, dump.size]):
        if not _cut_header(dump, start, stop):
            tables.append(_table(dump, start, stop, number, warnings, addresses, above=above))
        number += dump.count_lines(start, stop)
    if not tables:
        what = "multicast tables only" if multicast else "no forwarding table"
        raise ParseError(tool, f"{what}; read the unicast tables with {tool} -n")
    seen: set[Guid] = set()
    for table in tables:
        if table.guid in seen:
            raise ParseError(tool, f"switch {table.guid} has two tables; give one capture of it")
        seen.add(table.guid)
    return void_by_stderr(tool, tuple(tables), "\n".join([stderr, *warnings]), addresses)


def _cut_header(dump: Dump, start: int, stop: int) -> bool:
    """True for a header the file ends in: that switch has no table, the others keep theirs."""
    text = dump.text(start, min(stop, start + 1000))
    return "\n" not in text and _HEADER.match(text) is None


def _before_tables(dump: Dump, stop: int) -> tuple[list[str], bool]:
    """Lines of warning before the first table, and whether there are multicast tables.

    Raises:
        ParseError: there is something else, or a tool's error is all there is.
    """
    warnings: list[str] = []
    starts, _ = dump.lines(0, stop)
    for start in starts.tolist():
        line = dump.line(start).strip()
        if line.startswith(_MULTICAST):
            return warnings, True
        if _ERROR.fullmatch(line):
            raise dump.error(start, "the tool failed; see its message")
        if not line or is_foreign(line) or (not warnings and is_banner(line)):
            continue
        if not is_noise(line):
            raise dump.error(start, "not the header of a forwarding table")
        warnings.append(line)
    return warnings, False


def _table(
    dump: Dump,
    start: int,
    stop: int,
    number: int,
    warnings: list[str],
    addresses: dict[str, Guid],
    *,
    above: bool,
) -> SwitchTable:
    """One section; lines of warning and the address of the switch are added to what is given."""
    starts, whole = dump.lines(start, stop)
    every = starts
    bounds = [*starts[:2].tolist(), stop]
    header = dump.text(start, bounds[1]).rstrip("\n")
    match = _HEADER.match(header) if len(header) <= LONGEST_LINE else None
    if match is None:
        raise dump.error(start, "not the header of a forwarding table")
    first, top, guid = (int(match.group(i), 16) for i in (1, 2, 5))
    lid = None if match.group(4) is None else int(match.group(4))
    try:
        head = head_of(guid, lid, match.group(6), first=first, top=top)
    except ValueError as error:
        raise dump.error(start, str(error)) from None
    addresses[match.group(3)] = head.guid
    faults: list[str] = []
    notes: list[str] = []
    if not whole:
        # A line without its newline is cut: "0x0010 02" of "0x0010 021".
        starts = starts[:-1]
    rows, others = dump.split_rows(starts[1:])
    for position in others.tolist():
        if dump.bytes[position] == ord("M") and dump.line(position).startswith(_MULTICAST):
            rows, others = rows[rows < position], others[others < position]
            break
    trailer = _other_lines(dump, others, notes, warnings)
    section = replace(
        _rows(dump, rows, head),
        lines=number + np.searchsorted(every, rows),
        head=TableRow(number, header.strip()),
    )
    if trailer is None:
        faults.append("the trailer is missing")
    faults += [f"it ends with {note!r}" for note in notes]
    table = build_table(
        dump.tool,
        head,
        section,
        faults=faults,
        absent=True,
        hole=True,
        above=above and first == 0,
    )
    contradiction = _contradiction(head, section, trailer)
    if trailer is None and above:
        contradiction = contradiction or "the trailer is missing"
    if contradiction is None:
        return table
    why = (
        f"table of {table.label} not usable: {contradiction}, so lines are lost and its rows may "
        "be those of two switches; read the tables again"
    )
    return replace(table.voided(why), problems=(why,))


def _contradiction(head: SectionHead, rows: Section, trailer: int | None) -> str | None:
    """What of the rows cannot be true of one switch's output; None where nothing is.

    A block of lines that is lost can hold the trailer of one switch and the header of the next:
    then rows of the next stand under the header of the first.
    """
    if trailer is not None and trailer != rows.lids.size:
        return f"the trailer says {trailer} rows, {rows.lids.size} were read"
    if bool((np.diff(rows.lids) < 0).any()):
        return "its rows are not in the order of their LIDs"
    own = rows.ports[rows.lids == head.lid] if head.lid is not None else rows.ports[:0]
    astray = own[(own != 0) & (own != NO_ENTRY)]
    if astray.size:
        return f"it sends packets to its own LID {head.lid} out of port {int(astray[0])}"
    return None


def _other_lines(dump: Dump, others: Ints, notes: list[str], warnings: list[str]) -> int | None:
    """Lines of a section that are no rows; the count the trailer gives."""
    trailer: int | None = None
    for start in others.tolist():
        line = dump.line(start).strip()
        if not line or line in _TITLES or is_foreign(line):
            continue
        if (match := _TRAILER.match(line)) and trailer is None:
            trailer = int(match.group(1))
        elif is_noise(line) or line.startswith("SubnGet("):
            warnings.append(line)
        elif _ERROR.fullmatch(line):
            notes.append(line)
        else:
            raise dump.error(start, "not a row of a forwarding table")
    return trailer


def _rows(dump: Dump, rows: Ints, head: SectionHead) -> Section:
    words = dump.words(rows, 6)
    lids, good = lids_of(words)
    ports, decimal = decimals(words, 3)
    good &= decimal
    # Editors and mail strip the blank at the end of a row of -n.
    good &= np.isin(words[:, 5], _AFTER_PORT) | (words[:, 5] & 0xFF == _END)
    if not good.all():
        raise dump.error(int(rows[~good][0]), "not a row of a forwarding table")
    inside = (lids >= head.first) & (lids <= head.top)
    if not inside.all():
        raise dump.error(
            int(rows[~inside][0]),
            f"the LID is outside the range of the header, {head.first:#x}-{head.top:#x}",
        )
    return Section(lids, ports)

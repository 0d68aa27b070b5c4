"""OpenSM's own dumps: ``opensm-lfts.dump`` and ``opensm.fdbs`` (log flag ROUTING, 0x40).

opensm-lfts.dump, with rows for valid entries only and a trailer that repeats the top LID::

    Unicast lids [0-5994] of switch Lid 96 guid 0x1c34da030047f700 ('leaf3'):
    0x0001 025 # Switch portguid 0x0c42a103005de410: 'spine1'
    5994 lids dumped

opensm.fdbs, with a row for every LID and neither range nor trailer::

    dump_ucast_routes: Switch 0x1c34da030047f700
    LID    : Port : Hops : Optimal
    0x0001 : 025  : 04   : yes
    0x0002 : UNREACHABLE

Formats: OpenSM opensm/osm_dump.c, ``dump_ucast_lfts`` and ``dump_ucast_routes``.
"""

from __future__ import annotations

import re
from itertools import pairwise

from ibaccept.fabric.lft import NO_ENTRY, SwitchTable
from ibaccept.fabric.model import UNICAST_LIDS, Guid
from ibaccept.parse import ParseError
from ibaccept.parse.diags import LONGEST_LINE
from ibaccept.parse.lft import Section, SectionHead, build_table, head_of
from ibaccept.parse.lft_rows import Dump, Ints, Text, decimals, lids_of, two_digits

LFTS = "opensm-lfts.dump"
FDBS = "opensm.fdbs"

_LFTS_START = b"Unicast lids ["
_LFTS_HEADER = re.compile(
    r"Unicast lids \[0-(\d{1,5})\] of switch Lid (\d{1,5}) guid 0x([0-9a-f]{16}) \('(.*)'\):\s*\Z"
)
_AFTER_PORT = int.from_bytes(b" #", "little")
_LFTS_TRAILER = re.compile(r"(\d{1,6}) lids dumped\Z")


def parse_lfts(text: Text) -> tuple[SwitchTable, ...]:
    """The tables of an ``opensm-lfts.dump``.

    Raises:
        ParseError: a line is not understood, or there is no table.
    """
    dump = Dump(LFTS, text)
    positions = _sections(dump, _LFTS_START)
    tables = [
        _lfts_table(dump, start, stop)
        for start, stop in pairwise([*positions, dump.size])
        if not _cut_header(dump, start, stop, _LFTS_HEADER)
    ]
    return _unique(LFTS, tables)


def _sections(dump: Dump, start: bytes) -> list[int]:
    """Where the sections start; nothing but blanks may stand before the first."""
    positions = dump.sections(start)
    if not positions:
        raise ParseError(dump.tool, "no forwarding table; give the whole dump file")
    before = dump.text(0, positions[0])
    if before.strip():
        raise dump.error(0, "not the header of a forwarding table")
    return positions


def _cut_header(dump: Dump, start: int, stop: int, header: re.Pattern[str]) -> bool:
    """True for a header the file ends in: that switch has no table, the others keep theirs."""
    text = dump.text(start, min(stop, start + 1000))
    return "\n" not in text and header.match(text) is None


def _unique(tool: str, tables: list[SwitchTable]) -> tuple[SwitchTable, ...]:
    if not tables:
        raise ParseError(tool, "no forwarding table; give the whole dump file")
    seen: set[Guid] = set()
    for table in tables:
        if table.guid in seen:
            raise ParseError(tool, f"switch {table.guid} has two tables; give one dump")
        seen.add(table.guid)
    return tuple(tables)


def _lfts_table(dump: Dump, start: int, stop: int) -> SwitchTable:
    starts, whole = dump.lines(start, stop)
    bounds = [*starts[:2].tolist(), stop]
    match = _LFTS_HEADER.match(dump.text(start, min(bounds[1], start + LONGEST_LINE)).rstrip("\n"))
    if match is None:
        raise dump.error(start, "not the header of a forwarding table")
    top, lid, guid = int(match.group(1)), int(match.group(2)), int(match.group(3), 16)
    try:
        head = head_of(guid, lid, match.group(4), first=0, top=top)
    except ValueError as error:
        raise dump.error(start, str(error)) from None
    rows, others = dump.split_rows(starts[1:] if whole else starts[1:-1])
    ended = False
    for position in others.tolist():
        line = dump.line(position).strip()
        trailer = _LFTS_TRAILER.match(line)
        if trailer is not None and int(trailer.group(1)) == top:
            ended = True
        elif line:
            raise dump.error(position, "not a row of a forwarding table")
    words = dump.words(rows, 6)
    lids, good = lids_of(words)
    ports, decimal = decimals(words, 3)
    good &= decimal & (words[:, 5] == _AFTER_PORT) & (lids <= top)
    if not good.all():
        raise dump.error(int(rows[~good][0]), "not a row of a forwarding table")
    return build_table(
        LFTS,
        head,
        Section(lids, ports),
        faults=[] if ended else ["the trailer is missing"],
        absent=True,
        hole=False,
        above=True,
    )


_FDBS_START = b"dump_ucast_routes: Switch "
_FDBS_HEADER = re.compile(r"\w+: Switch 0x([0-9a-f]{16})\s*\Z")
_FDBS_TITLE = re.compile(r"LID\s*: Port\s*: Hops\s*: Optimal")
_FDBS_TAIL = re.compile(
    r"0x[0-9A-Fa-f]{4} : (?:"
    r"UNREACHABLE(?: : HOPS UNKNOWN)?"
    r"|\d{3}  : (?:HOPS UNKNOWN|\d{2,3}\s*: (?:yes|No \d+ hop path possible via port \d+!.*))"
    r")\s*\Z"
)
_COLON = int.from_bytes(b" :", "little")
_UNREACHABLE = int.from_bytes(b" U", "little")
_YES = int.from_bytes(b" y", "little")


def parse_fdbs(text: Text) -> tuple[SwitchTable, ...]:
    """The tables of an ``opensm.fdbs``; a LID that is not printed is unknown.

    Raises:
        ParseError: a line is not understood, or there is no table.
    """
    return parse_fdbs_sections(FDBS, text, _FDBS_START)


def parse_fdbs_sections(
    tool: str,
    text: Text,
    start: bytes,
    extra: re.Pattern[str] | None = None,
) -> tuple[SwitchTable, ...]:
    """The shared reader of OpenSM's and ibdiagnet's ``.fdbs``.

    Args:
        tool: whose file it is.
        text: the file.
        start: start of the first line of a section.
        extra: further lines that may stand in a section; they become notes.

    Raises:
        ParseError: a line is not understood, or there is no table.
    """
    dump = Dump(tool, text)
    positions = _sections(dump, start)
    found: list[tuple[SectionHead, Section, list[str], list[str]]] = []
    for begin, stop in pairwise([*positions, dump.size]):
        if _cut_header(dump, begin, stop, _FDBS_HEADER):
            continue
        starts, whole = dump.lines(begin, stop)
        bounds = [*starts[:2].tolist(), stop]
        match = _FDBS_HEADER.match(dump.text(begin, min(bounds[1], begin + LONGEST_LINE)))
        if match is None:
            raise dump.error(begin, "not the header of a forwarding table")
        rows, others = dump.split_rows(starts[1:] if whole else starts[1:-1])
        notes = _fdbs_other_lines(dump, others, extra)
        section = _fdbs_rows(dump, rows)
        top = int(section.lids.max()) if section.lids.size else 0
        faults = [] if whole else ["the last line is cut"]
        found.append(
            (SectionHead(Guid(int(match.group(1), 16)), None, None, 1, top), section, faults, notes)
        )
    last = max((head.top for head, *_ in found), default=0)
    tables = [
        build_table(
            tool,
            SectionHead(head.guid, None, None, 1, last),
            section,
            faults=faults,
            absent=False,
            hole=False,
            above=False,
            notes=tuple(notes),
        )
        for head, section, faults, notes in found
    ]
    return _unique(tool, tables)


def _fdbs_other_lines(dump: Dump, others: Ints, extra: re.Pattern[str] | None) -> list[str]:
    notes: list[str] = []
    for position in others.tolist():
        line = dump.line(position).strip()
        if not line or _FDBS_TITLE.fullmatch(line):
            continue
        if extra is None or not extra.fullmatch(line):
            raise dump.error(position, "not a row of a forwarding table")
        notes.append(line)
    return notes


def _fdbs_rows(dump: Dump, rows: Ints) -> Section:
    """Rows ``0x0001 : 025  : 04   : yes`` and ``0x0002 : UNREACHABLE``."""
    words = dump.words(rows, 12)
    lids, good = lids_of(words)
    good &= (words[:, 3] == _COLON) & (lids <= UNICAST_LIDS[-1])
    ports, routed = decimals(words, 4)
    hops, counted = two_digits(words, 8)
    unreachable = words[:, 4] == _UNREACHABLE
    ordinary = good & (unreachable | (routed & counted & (words[:, 11] == _YES)))
    for position, lid in zip(rows[~ordinary].tolist(), lids[~ordinary].tolist(), strict=True):
        if lid > UNICAST_LIDS[-1] or not _FDBS_TAIL.match(dump.line(position)):
            raise dump.error(position, "not a row of a forwarding table")
    hops[unreachable | ~counted] = NO_ENTRY
    ports[unreachable] = NO_ENTRY
    return Section(lids, ports, hops)

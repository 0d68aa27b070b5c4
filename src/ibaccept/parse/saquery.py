"""Records of the subnet administration, as ``saquery`` prints them.

Source of the format: ``saquery.c``: a ``... dump:`` line, then rows with dots; ``saquery -s``
prints the ports with the IsSM bit, then those with IsSMdisabled::

    IsSM ports
    PortInfoRecord dump:
                    EndPortLid..............1
                    capability_mask.........0x50C04A

    IsSMdisabled ports

The exit code is 0 also for an answer without records. Without a subnet manager it says
``No SM/SA found on port`` and ``Failed to bind to the SA: Success`` (the errno text means nothing).
A short list proves nothing about what is not in it: compare with what the sweep found, and ask
``sminfo LID`` of each subnet manager for its state.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from ibaccept.fabric.model import UNICAST_LIDS, Guid, Lid
from ibaccept.parse import ParseError
from ibaccept.parse.diags import is_error, is_noise, numbered

TOOL = "saquery"

_BEGINS = re.compile(r"Is\w+ ports|.* dump:")
BLOCK_ROWS = 64
"""Forwarding entries of one block."""

NO_ROUTE = 255
"""Port number in a forwarding table that means: no entry for this LID."""

_KIND = re.compile(r"(?P<kind>\S.*?) dump:\s*\Z")
_ROW = re.compile(r"\s*(?P<key>[^:.\s](?:[^:]*?[^:.])??)(?::\.*|\.{2,})(?P<value>.*)\Z")
_PARTS = frozenset(
    {"RID", "SMInfo dump:", "PortInfo dump:", "SwitchInfo dump:", "InformInfo dump:"}
)
_FLAG = re.compile(r"\s+Is\w+\s*\Z")
_SECTIONS = {"IsSM ports": "IsSM", "IsSMdisabled ports": "IsSMdisabled"}
_NO_SA = "No SM/SA found"
_PAIR = re.compile(r"\s*(\d+)\s+(\d+)\s*\Z")


@dataclass(frozen=True, slots=True)
class Record:
    """One record.

    Attributes:
        kind: word before ``dump:``: ``NodeRecord``, ``PortInfoRecord``, ``SMInfoRecord``.
        fields: value by key, both as printed.
        flags: names of capability bits printed under a mask.
        section: ``IsSM`` or ``IsSMdisabled`` in the output of ``saquery -s``.
        line: number of the ``dump:`` line.
    """

    kind: str
    fields: Mapping[str, str]
    flags: tuple[str, ...]
    section: str | None
    line: int


@dataclass(frozen=True, slots=True)
class SaSm:
    """A subnet manager the SA knows. What the record does not hold is None.

    Attributes:
        kind: ``PortInfoRecord`` (LID only) or ``SMInfoRecord`` (which can be stale).
        section: ``IsSM`` or ``IsSMdisabled``; None where no heading was printed.
        state: 0 not active, 1 discovering, 2 standby, 3 master.
        master_lid: LID of the master, as that port has it.
    """

    lid: Lid
    kind: str
    section: str | None
    guid: Guid | None
    activity: int | None
    priority: int | None
    state: int | None
    master_lid: Lid | None
    capability_mask: int | None
    line: int


@dataclass(frozen=True, slots=True)
class LftBlock:
    """One block of a switch's linear forwarding table.

    Attributes:
        lid: LID of the switch.
        block: LIDs ``64 * block`` to ``64 * block + 63``.
        ports: output port by destination LID, 64 entries; 255 = no entry.
    """

    lid: Lid
    block: int
    ports: Mapping[int, int]
    line: int


@dataclass(slots=True)
class _Open:
    kind: str
    line: int
    section: str | None
    fields: dict[str, str]
    flags: list[str]

    def closed(self) -> Record:
        return Record(self.kind, self.fields, tuple(self.flags), self.section, self.line)


def _records(text: str) -> tuple[tuple[Record, ...], tuple[str, ...]]:
    records: list[_Open] = []
    sections: list[str] = []
    _check_sa(text)
    for number, line in numbered(TOOL, text, _BEGINS):
        words = line.strip()
        kind = _KIND.match(words)
        if not words or is_noise(line):
            continue
        if words in _SECTIONS:
            sections.append(_SECTIONS[words])
        elif words in _PARTS and records:
            continue
        elif kind is not None and words not in _PARTS:
            section = sections[-1] if sections else None
            records.append(_Open(kind["kind"], number, section, {}, []))
        elif records and _FLAG.match(line):
            records[-1].flags.append(words)
        else:
            row = _ROW.match(line)
            if row is None or not records or row["key"].strip() in records[-1].fields:
                raise ParseError(TOOL, "not a row of a record", line=number, text=line)
            records[-1].fields[row["key"].strip()] = row["value"]
    for record in records:
        if not record.fields:
            raise ParseError(TOOL, "a record without rows: the output is cut", line=record.line)
    return tuple(record.closed() for record in records), tuple(sections)


def _check_sa(text: str) -> None:
    """Name the reason when the tool gave up.

    Raises:
        ParseError: it says that no SA was found.
    """
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if _NO_SA in line:
            raise ParseError(
                TOOL,
                "no subnet administration answered: start a subnet manager, or ask from a port "
                "that is cabled to it",
                line=number,
                text=line,
            )
        if is_error(line) or line.startswith("Query SA failed"):
            raise ParseError(
                TOOL,
                "the query did not reach the SA, or the SA did not answer",
                line=number,
                text=line,
            )


def parse_sms(text: str) -> tuple[SaSm, ...]:
    """Read ``saquery -s``: PortInfoRecords of the ports with an SM, and any SMInfoRecords.

    Returns:
        One entry a record, in the printed order; empty when both headings stand without records.

    Raises:
        ParseError: no heading and no record, a heading is missing (cut), a record lacks a row.
    """
    records, sections = _records(text)
    if not records and not sections:
        raise ParseError(TOOL, "neither a record nor 'IsSM ports' was printed; see its stderr")
    if sections and sections != ("IsSM", "IsSMdisabled"):
        raise ParseError(
            TOOL,
            f"expected the headings 'IsSM ports' and 'IsSMdisabled ports', got {sections}: "
            "the output is cut; run it again",
        )
    return tuple(_sm(record) for record in records)


def _sm(record: Record) -> SaSm:
    if record.kind == "PortInfoRecord":
        return SaSm(
            _lid(record, "base_lid"),
            record.kind,
            record.section,
            None,
            None,
            None,
            None,
            _master(record),
            _number(record, "capability_mask"),
            record.line,
        )
    if record.kind == "SMInfoRecord":
        return SaSm(
            _lid(record, "LID"),
            record.kind,
            record.section,
            Guid(_number(record, "GUID")),
            _number(record, "ActCount"),
            _number(record, "Priority"),
            _number(record, "SMState"),
            None,
            None,
            record.line,
        )
    raise ParseError(
        TOOL, "neither a PortInfoRecord nor an SMInfoRecord", line=record.line, text=record.kind
    )


def parse_lftr(text: str) -> LftBlock:
    """Read ``saquery LFTR LID/BLOCK``: one record of 64 rows, ``LID<tab>port``.

    Raises:
        ParseError: no record (the SA has no such block), more than one, or a cut one.
    """
    lid = block = header = None
    rows: dict[int, int] = {}
    _check_sa(text)
    for number, line in numbered(TOOL, text, _BEGINS):
        words = line.strip()
        pair = _PAIR.match(line)
        row = _ROW.match(line)
        if (
            not words
            or is_noise(line)
            or words == "LFT:"
            or words.split() == ["LID", "Port", "Number"]
        ):
            continue
        if words == "LFT Record dump:" and header is None:
            header = number
        elif header is not None and row is not None and row["key"] == "LID" and lid is None:
            lid = _as_int(row["value"], number, line)
        elif header is not None and row is not None and row["key"] == "Block" and block is None:
            block = _as_int(row["value"], number, line)
        elif header is not None and pair is not None and int(pair[1]) not in rows:
            rows[int(pair[1])] = int(pair[2])
        else:
            raise ParseError(TOOL, "not a line of one LFT record", line=number, text=line)
    if header is None or lid is None or block is None:
        raise ParseError(TOOL, "no LFT record was printed, or its head is cut; run it again")
    first = block * BLOCK_ROWS
    if list(rows) != list(range(first, first + BLOCK_ROWS)):
        raise ParseError(
            TOOL,
            f"{len(rows)} forwarding entries instead of the 64 from LID {first} on: the output is "
            "cut; run it again",
            line=header,
        )
    if not Lid(lid).is_unicast or max(rows.values()) > NO_ROUTE:
        raise ParseError(TOOL, "a LID or port that cannot be", line=header)
    return LftBlock(Lid(lid), block, rows, header)


def _as_int(value: str, number: int, line: str) -> int:
    if not re.fullmatch(r"0x[0-9a-fA-F]+|\d+", value.strip()):
        raise ParseError(TOOL, "not a number", line=number, text=line)
    return int(value, 16 if value.strip().startswith("0x") else 10)


def _number(record: Record, key: str) -> int:
    value = record.fields.get(key)
    if value is None:
        _missing(record, key)
    return _as_int(value, record.line, f"{key} {value}")


def _lid(record: Record, key: str) -> Lid:
    """A LID that a port owns.

    Raises:
        ParseError: the row is missing, or holds 0 or another number that no port can own.
    """
    lid = Lid(_number(record, key))
    if not lid.is_unicast:
        raise ParseError(
            TOOL,
            f"its {key} is {int(lid)}, which is not a LID a port can own "
            f"({UNICAST_LIDS[0]} to {UNICAST_LIDS[-1]})",
            line=record.line,
            text=f"{record.kind} dump:",
        )
    return lid


def _master(record: Record) -> Lid | None:
    """LID of the master, None where the port has none."""
    return _lid(record, "master_sm_base_lid") if _number(record, "master_sm_base_lid") else None


def _missing(record: Record, key: str) -> NoReturn:
    raise ParseError(
        TOOL,
        f"the {record.kind} lacks its {key}: the output is cut; run it again",
        line=record.line,
    )

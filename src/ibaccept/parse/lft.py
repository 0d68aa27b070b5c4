"""The forwarding table of one switch, and how rows become one.

A linear forwarding table (LFT) holds one output port per destination LID. What was not read is
*unknown*; it is never "no entry". A table says which LIDs it knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ibaccept.fabric.lft import NO_ENTRY, SwitchTable, TableLines, TableRow, frozen
from ibaccept.fabric.model import UNICAST_LIDS, Guid
from ibaccept.parse.diags import is_banner, is_foreign
from ibaccept.parse.lft_rows import Ints

LFT_BLOCK = 64
"""LIDs per LinearForwardingTable MAD (InfiniBand Architecture Specification, 14.2.5.6)."""


def with_lftr(table: SwitchTable, entries: Mapping[int, int]) -> SwitchTable:
    """Fill unknown entries of a table from ``saquery LFTR SWITCH_LID/BLOCK``.

    Args:
        table: a table with unknown entries.
        entries: output port by LID, as the SA gives it (255 = no entry). LIDs already known and
            LIDs outside the range of the table are left alone.

    Raises:
        ValueError: a port is not 0 to 255, or the SA contradicts an entry that was read: the
            tables changed between the two readings, so both must be read again.
    """
    ports, known = table.ports.copy(), table.known.copy()
    for lid, port in entries.items():
        if not 0 <= port <= NO_ENTRY:
            raise ValueError(f"{port} is not a port of a forwarding table")
        if not table.first <= lid <= table.top:
            continue
        if known[lid] and ports[lid] != port:
            raise ValueError(
                f"{table.label}: {table.tool} gave port {ports[lid]} for LID {lid}, the SA gives "
                f"{port}: the tables changed in between; read both again"
            )
        ports[lid], known[lid] = port, True
    complete = bool(known[max(table.first, 1) :].all())
    return replace(
        table,
        ports=frozen(ports),
        known=frozen(known),
        complete=complete,
        problems=() if complete else table.problems,
    )


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of one switch before they become a table.

    Attributes:
        lids: LID of each row, int64 of shape (rows,).
        ports: output port, likewise.
        hops: Hops column, likewise; None for tools without one.
        lines: 1-based line number, likewise; None where it is not kept.
        head: the line of the header, where ``lines`` are kept.
    """

    lids: Ints
    ports: Ints
    hops: Ints | None = None
    lines: Ints | None = None
    head: TableRow | None = None


@dataclass(frozen=True, slots=True)
class SectionHead:
    """What the header of a section says."""

    guid: Guid
    lid: int | None
    name: str | None
    first: int
    top: int


def head_of(guid: int, lid: int | None, name: str | None, *, first: int, top: int) -> SectionHead:
    """The head of a section, its numbers within what a switch can have.

    Raises:
        ValueError: a range that no linear table has.
    """
    if not 0 <= first <= top <= UNICAST_LIDS[-1]:
        raise ValueError(
            f"{first:#x} to {top:#x} is not a range of a forwarding table "
            f"(0x0 to {UNICAST_LIDS[-1]:#x})"
        )
    return SectionHead(Guid(guid), lid, name, first, top)


def build_table(
    tool: str,
    head: SectionHead,
    rows: Section,
    *,
    faults: Iterable[str],
    absent: bool,
    hole: bool,
    above: bool,
    notes: tuple[str, ...] = (),
) -> SwitchTable:
    """The table of one switch from its rows.

    Args:
        tool: whose output it is.
        head: GUID, name and range.
        rows: LID and port of every row, LIDs within the range.
        faults: what is wrong with the section as a whole, a sentence each; then a LID without a
            row is unknown.
        absent: in a section without fault, a LID without a row has no entry (ibroute prints valid
            entries only); else it is unknown.
        hole: the tool drops the row of ``top`` when that is a multiple of 64.
        above: LIDs above the range have no entry, if the section has no fault.
        notes: kept for the reader.
    """
    size = head.top + 1
    ports = np.full(size, NO_ENTRY, dtype=np.uint8)
    ports[rows.lids] = rows.ports.astype(np.uint8)
    read = np.zeros(size, dtype=np.bool_)
    read[rows.lids] = True
    whole = list(faults)
    if rows.lids.size > 1 and not bool((np.diff(rows.lids) > 0).all()):
        counts = np.bincount(rows.lids, minlength=size)
        read = counts == 1
        repeated = np.flatnonzero(counts > 1).tolist()
        whole += [f"LID {lid:#06x} has {counts[lid]} rows" for lid in repeated]
        ports[counts > 1] = NO_ENTRY
    known = read
    sound = not whole
    first = max(head.first, 1)
    label = (head.name or "").strip() or str(head.guid)
    if not read[first:].all():
        if absent and not whole:
            known = np.ones(size, dtype=np.bool_)
            known[: head.first] = False
            if hole and head.top % LFT_BLOCK == 0 and head.top and not read[head.top]:
                known[head.top] = False
                whole = [
                    f"table of {label}: LID {head.top:#x} is the last of the table and a multiple "
                    f"of {LFT_BLOCK}, which {tool} does not print; ask the SA for it (saquery LFTR)"
                ]
        else:
            last = int(rows.lids.max()) if rows.lids.size else 0
            reasons = "; ".join(whole) or "rows are missing"
            whole = [
                f"table of {label} read up to {last:#x} of {head.top:#x}: {reasons}; "
                "read the table again"
            ]
    elif whole:
        notes = (*notes, *whole)
        whole = []
    known[0] = False
    complete = bool(known[first:].all())
    hops = None
    if rows.hops is not None:
        hops = np.full(size, 255, dtype=np.uint8)
        hops[rows.lids] = rows.hops
        hops = frozen(hops)
    return SwitchTable(
        *(tool, head.guid, head.lid, head.name, head.first, head.top),
        ports=frozen(ports),
        known=frozen(known),
        complete=complete,
        problems=tuple(whole),
        above=above and sound,
        notes=notes,
        hops=hops,
        lines=_lines(rows),
    )


def _lines(rows: Section) -> TableLines | None:
    """Where the table stands in its output; a LID with several rows has no line."""
    if rows.lines is None or rows.head is None:
        return None
    single = np.bincount(rows.lids)[rows.lids] == 1
    return TableLines(
        rows.head,
        frozen(rows.lines[single].astype(np.int32)),
        frozen(rows.lids[single].astype(np.int32)),
        frozen(rows.ports[single].astype(np.uint8)),
    )


_NAMED = re.compile(r"GUID (0x[0-9a-fA-F]+)")


_ADDRESSED = re.compile(r"dport \((.+)\)")
_DISCOVERY = re.compile(
    r"\S*query_smp\.c:\d+; umad \((?P<at>DR path slid \d+; dlid \d+; [\d,]+) Attr 0x\w+:\w+\) .*"
)
"""libibnetdisc, which only looks for the switches: a node that did not answer it has no table."""


def void_by_stderr(
    tool: str, tables: tuple[SwitchTable, ...], stderr: str, addresses: Mapping[str, Guid]
) -> tuple[SwitchTable, ...]:
    """Void the tables that lines on standard error cast doubt on.

    dump_fts prints the previous block again after a failed MAD and exits 0; only the lines on
    standard error tell. A line that names the GUID or the address of a switch voids that table,
    any other line voids all. Lines from outside the tool, and words before its first line, say
    nothing.

    Args:
        tool: whose output it is.
        tables: the tables read.
        stderr: standard error.
        addresses: switches by the address of the header, ``Lid 5`` or ``DR path slid 0; ...``.
    """
    everyone = {table.guid for table in tables}
    doubts: dict[Guid, str] = {}
    begun = False
    for line in filter(str.strip, stderr.splitlines()):
        if is_foreign(line) or (not begun and is_banner(line)):
            continue
        begun = True
        if discovery := _DISCOVERY.fullmatch(line.strip()):
            if discovery["at"] in addresses:
                doubts[addresses[discovery["at"]]] = line.strip()
            continue
        named = {Guid.parse(text) for text in _NAMED.findall(line)}
        named |= {addresses[at] for at in _ADDRESSED.findall(line) if at in addresses}
        for guid in named & everyone or everyone:
            doubts[guid] = line.strip()
    return tuple(
        table.voided(
            f"table of {table.label} not usable: {tool} reported {doubts[table.guid]!r}; "
            "rows after a failed read may be those of another block; read the table again"
        )
        if table.guid in doubts
        else table
        for table in tables
    )

"""The forwarding table of one switch, and the vectorised core that reads rows of them.

A linear forwarding table (LFT) holds one output port per destination LID. The tools print a row an
entry; a fabric of 666 switches gives 3.3 million rows, so rows are decoded as arrays: one gather of
eight bytes a row, then table look-ups. Python only sees the few lines that are not rows.

What was not read is *unknown*; it is never "no entry". A table says which LIDs it knows.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ibaccept.model import Guid
from ibaccept.parse import ParseError

NO_ENTRY = 255
"""Port 255 in a table: the switch drops packets to that LID."""

LFT_BLOCK = 64
"""LIDs per LinearForwardingTable MAD (InfiniBand Architecture Specification, 14.2.5.6)."""

_Scalar = TypeVar("_Scalar", bound=np.generic)
Bytes = NDArray[np.uint8]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Text = bytes | bytearray | memoryview | mmap.mmap | NDArray[np.uint8]
"""What a reader takes: bytes, a memory map, or an array of bytes (uint8)."""


@dataclass(frozen=True, slots=True, eq=False)
class SwitchTable:
    """The forwarding table of one switch as a tool printed it.

    Attributes:
        tool: whose output it is.
        guid: node GUID of the switch.
        lid: LID of the switch; None where the tool shows none.
        name: node description; None where the tool shows none.
        first: first LID of the range the header names.
        top: last LID of the range the header names (opensm.fdbs has no range: the last LID printed
            for any switch of the file).
        ports: output port by LID, uint8 of shape (top + 1,); ``NO_ENTRY`` where there is none.
        known: whether that entry was really read, bool of shape (top + 1,).
        complete: every LID of the range is known.
        problems: why entries are unknown, a sentence each; empty exactly when complete.
        above: LIDs above ``top`` are known to have no entry (top is the switch's LinearFDBTop).
        notes: what the tool printed besides, kept for the reader.
        hops: Hops column of opensm.fdbs, uint8 by LID (255 = none); None for other tools.
    """

    tool: str
    guid: Guid
    lid: int | None
    name: str | None
    first: int
    top: int
    ports: Bytes
    known: Bools
    complete: bool
    problems: tuple[str, ...] = ()
    above: bool = False
    notes: tuple[str, ...] = ()
    hops: Bytes | None = None

    @property
    def label(self) -> str:
        """Name for people: the node description, else LID or GUID."""
        if self.name:
            return self.name.strip()
        return str(self.guid) if self.lid is None else f"switch LID {self.lid}"

    def entries(self) -> dict[int, int]:
        """Output port by LID of every known entry (255 = no entry)."""
        lids = np.flatnonzero(self.known)
        return dict(zip(lids.tolist(), self.ports[lids].tolist(), strict=True))

    def voided(self, why: str) -> SwitchTable:
        """This table with nothing known, because ``why``."""
        return replace(
            self,
            known=_frozen(np.zeros_like(self.known)),
            complete=False,
            above=False,
            problems=(why, *self.problems),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SwitchTable):
            return NotImplemented
        return self._plain() == other._plain()

    def __hash__(self) -> int:
        return hash((self.tool, self.guid, self.top))

    def _plain(self) -> tuple[object, ...]:
        hops = None if self.hops is None else self.hops.tobytes()
        return (
            *(self.tool, self.guid, self.lid, self.name, self.first, self.top),
            *(self.complete, self.problems, self.above, self.notes),
            *(self.ports.tobytes(), self.known.tobytes(), hops),
        )


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
        ports=_frozen(ports),
        known=_frozen(known),
        complete=complete,
        problems=() if complete else table.problems,
    )


def _frozen(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    array.setflags(write=False)
    return array


_BAD = 1 << 24
"""Value of two bytes that are not what they should be; larger than any sum of good ones."""


def _pairs(firsts: str, seconds: str, value: Callable[[str], int]) -> NDArray[np.int32]:
    """Value of two characters by their two bytes (a little-endian uint16)."""
    values = np.full(1 << 16, _BAD, dtype=np.int32)
    for first in firsts:
        for second in seconds:
            values[ord(second) << 8 | ord(first)] = value(first + second)
    return values


_HEX = "0123456789abcdefABCDEF"
_DEC = "0123456789"
_HEX_HIGH = _pairs(_HEX, _HEX, lambda two: int(two, 16) << 8)
_HEX_LOW = _pairs(_HEX, _HEX, lambda two: int(two, 16))
_HUNDREDS = _pairs(" ", _DEC, lambda two: int(two) * 100)
_DEC2 = _pairs(_DEC, _DEC, int)
_0X = 0x7830  # "0x" as a little-endian uint16


class Dump:
    """The text of a dump as an array of bytes, with what the readers of rows need."""

    def __init__(self, tool: str, text: Text) -> None:
        self.tool = tool
        raw = np.frombuffer(text, dtype=np.uint8)
        searched: object = text
        if bool((raw[: 1 << 16] == ord("\r")).any()):
            raw = raw[raw != ord("\r")]
            searched = raw.tobytes()
        if not isinstance(searched, bytes | bytearray | mmap.mmap):
            searched = raw.tobytes()
        self._searched = searched
        self.bytes: Bytes = raw
        self.size = int(raw.size)

    def text(self, start: int, stop: int) -> str:
        """Bytes from start to stop as text."""
        return self.bytes[start:stop].tobytes().decode("utf-8", errors="replace")

    def line(self, start: int) -> str:
        """The line that starts at a byte, as far as a message needs it."""
        return self.text(start, start + 400).split("\n", 1)[0]

    def error(self, position: int, message: str) -> ParseError:
        """The error for the line that starts at a byte."""
        number = int(np.count_nonzero(self.bytes[:position] == ord("\n"))) + 1
        return ParseError(self.tool, message, line=number, text=self.line(position))

    def sections(self, *starts: bytes) -> list[int]:
        """Positions of the lines that begin with one of ``starts``, in order."""
        found: list[int] = []
        for start in starts:
            if self.text(0, len(start)).encode() == start:
                found.append(0)
            position = self._searched.find(b"\n" + start)
            while position >= 0:
                found.append(position + 1)
                position = self._searched.find(b"\n" + start, position + 1)
        return sorted(found)

    def lines(self, start: int, stop: int) -> tuple[Ints, bool]:
        """Starts of the lines from start to stop, and whether the last one has its newline."""
        if start >= stop:
            return np.empty(0, dtype=np.int64), True
        ends = np.flatnonzero(self.bytes[start:stop] == ord("\n"))
        starts = np.empty(ends.size + 1, dtype=np.int64)
        starts[0] = start
        np.add(ends, start + 1, out=starts[1:])
        whole = bool(starts[-1] == stop)
        return (starts[:-1] if whole else starts), whole

    def split_rows(self, starts: Ints) -> tuple[Ints, Ints]:
        """Starts of lines that begin with ``0x``, and the others."""
        is_row = self.words(starts, 1)[:, 0] == _0X
        return starts[is_row], starts[~is_row]

    def words(self, starts: Ints, count: int) -> NDArray[np.uint16]:
        """The first ``count`` little-endian 16-bit words of each line, shape (lines, count).

        Bytes beyond the end of the text read as 0.
        """
        width = 2 * count
        lines = int(starts.size)
        if not lines:
            return np.empty((0, count), dtype="<u2")
        step = int(starts[-1] - starts[0]) // max(lines - 1, 1)
        last = self.size - width
        if starts[-1] <= last and lines > 1 and bool((np.diff(starts) == step).all()):
            # Rows of one length (-n): a strided view, nothing is copied.
            return np.ndarray(
                (lines, count), "<u2", self.bytes.data, offset=int(starts[0]), strides=(step, 2)
            )
        if last < 0 or starts[-1] > last:
            inside = starts[starts <= last]
            tail = np.zeros((lines - inside.size, width), dtype=np.uint8)
            for row, position in enumerate(starts[inside.size :].tolist()):
                rest = self.bytes[position : position + width]
                tail[row, : rest.size] = rest
            return np.concatenate([self.words(inside, count), tail.view("<u2")])
        # Overlapping windows over the same bytes: element i is what starts at byte i.
        windows = np.ndarray((last + 1,), f"V{width}", self.bytes.data, strides=(1,))
        return windows[starts].view("<u2").reshape(lines, count)


def lids_of(words: NDArray[np.uint16]) -> tuple[NDArray[np.int32], Bools]:
    """LIDs of rows ``0x0001...`` (words of `Dump.words`), and whether they are four hex digits."""
    lids = _HEX_HIGH[words[:, 1]]
    lids += _HEX_LOW[words[:, 2]]
    return lids, lids < _BAD


def decimals(words: NDArray[np.uint16], at: int) -> tuple[NDArray[np.int32], Bools]:
    """Ports `` 021`` from word ``at`` on, and whether they are a blank and 0 to 255."""
    values = _HUNDREDS[words[:, at]]
    values += _DEC2[words[:, at + 1]]
    return values, values <= NO_ENTRY


def two_digits(words: NDArray[np.uint16], at: int) -> tuple[NDArray[np.int32], Bools]:
    """Hops ``04`` in word ``at``, and whether they are two digits."""
    values = _DEC2[words[:, at]]
    return values, values < _BAD


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of one switch before they become a table."""

    lids: NDArray[np.int32]
    ports: NDArray[np.int32]
    hops: NDArray[np.int32] | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """What the header of a section says."""

    guid: Guid
    lid: int | None
    name: str | None
    first: int
    top: int


def build_table(
    tool: str,
    head: Head,
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
    ports[rows.lids] = rows.ports
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
        hops = _frozen(hops)
    return SwitchTable(
        *(tool, head.guid, head.lid, head.name, head.first, head.top),
        ports=_frozen(ports),
        known=_frozen(known),
        complete=complete,
        problems=tuple(whole),
        above=above and sound,
        notes=notes,
        hops=hops,
    )


_HARMLESS = re.compile(r"ibwarn: \[\d+\] sim_connect: attached as client .*")
"""What libumad2sim (the simulated fabric of the lab) says when a tool starts."""

_NAMED = re.compile(r"GUID (0x[0-9a-fA-F]+)")
_ADDRESSED = re.compile(r"dport \((.+)\)")


def void_by_stderr(
    tool: str, tables: tuple[SwitchTable, ...], stderr: str, addresses: Mapping[str, Guid]
) -> tuple[SwitchTable, ...]:
    """Void the tables that lines on standard error cast doubt on.

    dump_fts prints the previous block again after a failed MAD and exits 0; only the lines on
    standard error tell. A line that names the GUID or the address of a switch voids that table,
    any other line voids all.

    Args:
        tool: whose output it is.
        tables: the tables read.
        stderr: standard error.
        addresses: switches by the address of the header, ``Lid 5`` or ``DR path slid 0; ...``.
    """
    everyone = {table.guid for table in tables}
    doubts: dict[Guid, str] = {}
    for line in filter(None, map(str.strip, stderr.splitlines())):
        if _HARMLESS.fullmatch(line):
            continue
        named = {Guid.parse(text) for text in _NAMED.findall(line)}
        named |= {addresses[at] for at in _ADDRESSED.findall(line) if at in addresses}
        for guid in named & everyone or everyone:
            doubts[guid] = line
    return tuple(
        table.voided(
            f"table of {table.label} not usable: {tool} reported {doubts[table.guid]!r}; "
            "rows after a failed read may be those of another block; read the table again"
        )
        if table.guid in doubts
        else table
        for table in tables
    )

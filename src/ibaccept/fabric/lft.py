"""Forwarding tables as arrays: the noun that parsers fill and routing reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ibaccept.fabric.model import Guid

NO_ENTRY = 255
"""Port 255 in a table: the switch drops packets to that LID."""

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int32]
Bools = NDArray[np.bool_]

_Scalar = TypeVar("_Scalar", bound=np.generic)


def frozen(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """The same array, read-only from now on."""
    array.setflags(write=False)
    return array


@dataclass(frozen=True, slots=True)
class TableRow:
    """A line of an output that a table was read from.

    Attributes:
        line: 1-based number in the output.
        text: header or row, without the destination's name, as ``-n`` leaves it out.
    """

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class TableLines:
    """Where a table stands in the output it was read from; a LID with several rows is left out.

    Attributes:
        head: line number and text of the header.
        numbers: line number of each row in the order of the output, int32 of shape (rows,).
        lids: LID of each row, likewise.
        ports: output port of each row, uint8 of shape (rows,).
    """

    head: TableRow
    numbers: Numbers
    lids: Numbers
    ports: Bytes

    def of(self, lids: Iterable[int]) -> tuple[TableRow, ...]:
        """The header, and the rows of these LIDs in the order of the output."""
        at = np.flatnonzero(np.isin(self.lids, list(lids)))
        rows = [
            TableRow(int(self.numbers[n]), f"{int(self.lids[n]):#06x} {int(self.ports[n]):03d}")
            for n in at.tolist()
        ]
        return (self.head, *rows)


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
        lines: where it stands in the output; None for tools whose rows are no evidence.
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
    lines: TableLines | None = field(default=None, repr=False)

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
            known=frozen(np.zeros_like(self.known)),
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

"""Rows of forwarding tables decoded as arrays: the vectorised core of the readers.

The tools print a row an entry; a fabric of 666 switches gives 3.3 million rows. One gather of a few
bytes a row (none where rows have one length), then table look-ups; Python only sees the few lines
that are not rows.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ibaccept.fabric.lft import NO_ENTRY, Bools, Bytes
from ibaccept.parse import ParseError
from ibaccept.parse.diags import BOM, SAVE_AS_UTF8, is_utf16

Ints = NDArray[np.int64]
Text = bytes | bytearray | memoryview | mmap.mmap | NDArray[np.uint8]
"""What a reader takes: bytes, a memory map, or an array of bytes (uint8)."""

_BAD = 1 << 24
"""Value of two bytes that are not what they should be; larger than any sum of good ones."""


def _pairs(firsts: str, seconds: str, value: Callable[[str], int]) -> Ints:
    """Value of two characters by their two bytes (a little-endian uint16)."""
    values = np.full(1 << 16, _BAD, dtype=np.int64)
    for first in firsts:
        for second in seconds:
            values[ord(second) << 8 | ord(first)] = value(first + second)
    return values


_BOM = BOM.encode()
_HEX = "0123456789abcdefABCDEF"
_DEC = "0123456789"
_HEX_HIGH = _pairs(_HEX, _HEX, lambda two: int(two, 16) << 8)
_HEX_LOW = _pairs(_HEX, _HEX, lambda two: int(two, 16))
_HUNDREDS = _pairs(" ", _DEC, lambda two: int(two) * 100)
_DEC2 = _pairs(_DEC, _DEC, int)
_0X = 0x7830  # "0x" as a little-endian uint16


class Dump:
    """The text of a dump as an array of bytes, with what the readers of rows need.

    Raises:
        ParseError: the text is UTF-16.
    """

    def __init__(self, tool: str, text: Text) -> None:
        self.tool = tool
        raw = np.frombuffer(text, dtype=np.uint8)
        if is_utf16(raw[:512].tobytes()):
            raise ParseError(tool, f"the text is UTF-16; {SAVE_AS_UTF8}")
        searched: object = text
        if raw[: len(_BOM)].tobytes() == _BOM:
            raw = raw[len(_BOM) :]
            searched = raw.tobytes()
        if bool((raw[: 1 << 16] == ord("\r")).any()):
            raw = raw[raw != ord("\r")]
            searched = raw.tobytes()
        if not isinstance(searched, bytes | bytearray | mmap.mmap):
            searched = raw.tobytes()
        self._searched = searched
        self.bytes: Bytes = raw
        self.size = int(raw.size)
        self._is_end = np.empty(0, dtype=np.bool_)

    def text(self, start: int, stop: int) -> str:
        """Bytes from start to stop as text."""
        return self.bytes[start:stop].tobytes().decode("utf-8", errors="replace")

    def line(self, start: int) -> str:
        """The line that starts at a byte, as far as a message needs it."""
        return self.text(start, start + 400).split("\n", 1)[0]

    def error(self, position: int, message: str) -> ParseError:
        """The error for the line that starts at a byte."""
        number = self.count_lines(0, position) + 1
        return ParseError(self.tool, message, line=number, text=self.line(position))

    def count_lines(self, start: int, stop: int) -> int:
        """How many lines end between two bytes."""
        return int(np.count_nonzero(self.bytes[start:stop] == ord("\n")))

    def sections(self, start: bytes) -> list[int]:
        """Positions of the lines that begin with ``start``, in order."""
        found = [0] if self.bytes[: len(start)].tobytes() == start else []
        position = self._searched.find(b"\n" + start)
        while position >= 0:
            found.append(position + 1)
            position = self._searched.find(b"\n" + start, position + 1)
        return found

    def lines(self, start: int, stop: int) -> tuple[Ints, bool]:
        """Starts of the lines from start to stop, and whether the last one has its newline."""
        if start >= stop:
            return np.empty(0, dtype=np.int64), True
        size = stop - start
        if size > self._is_end.size:
            self._is_end = np.empty(size, dtype=np.bool_)
        is_end = self._is_end[:size]
        np.equal(self.bytes[start:stop], ord("\n"), out=is_end)
        ends = np.flatnonzero(is_end)
        starts = np.empty(ends.size + 1, dtype=np.int64)
        starts[0] = start
        np.add(ends, start + 1, out=starts[1:])
        whole = bool(starts[-1] == stop)
        return (starts[:-1] if whole else starts), whole

    def split_rows(self, starts: Ints) -> tuple[Ints, Ints]:
        """Starts of lines that begin with ``0x``, and the others.

        Between the lines of the header and the trailer there are rows only, as a rule; then no
        line is looked at on its own.
        """
        middle = starts[2:-1]
        if bool((self.words(middle, 1)[:, 0] == _0X).all()):
            ends = np.concatenate([starts[:2], starts[max(2, starts.size - 1) :]])
            is_row = self.words(ends, 1)[:, 0] == _0X
            if not is_row.any():
                return middle, ends
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


def lids_of(words: NDArray[np.uint16]) -> tuple[Ints, Bools]:
    """LIDs of rows ``0x0001...`` (words of `Dump.words`), and whether they are four hex digits."""
    lids = _HEX_HIGH[words[:, 1]]
    lids += _HEX_LOW[words[:, 2]]
    return lids, lids < _BAD


def decimals(words: NDArray[np.uint16], at: int) -> tuple[Ints, Bools]:
    """Ports `` 021`` from word ``at`` on, and whether they are a blank and 0 to 255."""
    values = _HUNDREDS[words[:, at]]
    values += _DEC2[words[:, at + 1]]
    return values, values <= NO_ENTRY


def two_digits(words: NDArray[np.uint16], at: int) -> tuple[Ints, Bools]:
    """Hops ``04`` in word ``at``, and whether they are two digits."""
    values = _DEC2[words[:, at]]
    return values, values < _BAD

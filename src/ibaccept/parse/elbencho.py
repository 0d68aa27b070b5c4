"""``elbencho``: throughput of its write and read phases.

Source of the format: elbencho's ``Statistics.cpp`` (``printPhaseResultsTableHeaderToStream``)::

    OPERATION RESULT TYPE        FIRST DONE  LAST DONE
    ========= ================   ==========  =========
    WRITE     Elapsed ms       :      85656      99973
              Throughput MiB/s :      10572      10488
              Total MiB        :     905632    1048576
    ---

FIRST DONE is the moment the first thread was done, when all still ran: it flatters. LAST DONE
holds all the data over all the time, so it alone is taken as the aggregate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ibaccept.parse import ParseError
from ibaccept.parse.diags import numbered

TOOL = "elbencho"

_HEADER = re.compile(r"OPERATION\s+RESULT TYPE\s+FIRST DONE\s+LAST DONE\s*")
_RULER = re.compile(r"=+ =+\s+=+\s+=+\s*|=+\s+=+\s+=+\s+=+\s*")
_HEAD = re.compile(r"(?P<operation>[A-Z][A-Z0-9]*+)?\s++(?P<kind>\S.*)")
"""What stands before the colon of a row."""

_ONE_OR_TWO = {1, 2}
_FIRST_LINE = re.compile(r"[A-Z][A-Z0-9]*\s+\S.*:.*")
_MILLISECONDS = re.compile(r"(?P<ms>\d+)")
_TIME = re.compile(
    r"(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m(?!s))?(?:(?P<s>\d+(?:\.\d+)?)s)?(?:(?P<ms>\d+)ms)?"
)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_MIB = 1 << 20
_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class ElbenchoPhase:
    """One phase, when its last thread was done.

    Attributes:
        operation: ``WRITE``, ``READ``, ``DROPCACHE``, ``RMFILES``.
        seconds: elapsed.
        bytes_per_second: None where the phase has no throughput (it moves no data).
        bytes: moved; None as above.
        first_seconds: elapsed when the first thread was done; None where it was not printed.
        line: line of the phase's first row.
    """

    operation: str
    seconds: float
    bytes_per_second: float | None
    bytes: int | None
    first_seconds: float | None
    line: int


def parse(text: str) -> tuple[ElbenchoPhase, ...]:
    """Read every phase of an output, in order; other lines are the comments of scripts around it.

    Raises:
        ParseError: no table, a phase that was not ended by ``---``, a row that is not understood
            or comes twice, a throughput without its total, or figures that do not agree.
    """
    reader = _Reader()
    for number, line in numbered(TOOL, text):
        reader.add(number, line)
    if reader.rows:
        raise reader.cut()
    if not reader.phases:
        raise ParseError(TOOL, "no phase was seen: not the output of elbencho, or it failed")
    return tuple(reader.phases)


class _Reader:
    """Takes an output line by line."""

    def __init__(self) -> None:
        self.phases: list[ElbenchoPhase] = []
        self.header = False
        self.name = ""
        self.first = 0
        self.rows: dict[str, tuple[str | None, str]] = {}

    def cut(self) -> ParseError:
        return ParseError(
            TOOL, "the phase that begins here has no end; run it again", line=self.first
        )

    def add(self, number: int, line: str) -> None:
        if _HEADER.fullmatch(line) or _RULER.fullmatch(line):
            if self.rows:
                raise self.cut()
            self.header = True
        elif line.strip() == "---":
            if self.rows:
                self.phases.append(self.phase())
            self.rows = {}
        elif self.rows or (self.header and _FIRST_LINE.fullmatch(line)):
            self.row(number, line)
        elif re.match(r"ERROR\b", line):
            raise ParseError(TOOL, "elbencho reports an error", line=number, text=line)

    def row(self, number: int, line: str) -> None:
        head, _, tail = line.partition(":")
        match, values = _HEAD.fullmatch(head), tail.split()
        begins = not self.rows
        kind = "" if match is None else match["kind"].rstrip()
        if (
            match is None
            or len(values) not in _ONE_OR_TWO
            or kind in self.rows
            or begins != bool(match["operation"])
        ):
            raise ParseError(TOOL, "not a row of the table", line=number, text=line)
        if begins:
            self.name, self.first = match["operation"], number
        # a phase of one thread has the last column only
        self.rows[kind] = (values[0] if values[1:] else None, values[-1])

    def phase(self) -> ElbenchoPhase:
        first, last = self.elapsed()
        rate, total = self.number("Throughput MiB/s"), self.number("Total MiB")
        if (rate is None) != (total is None):
            raise self.wrong("has a throughput without a total, or the reverse")
        if rate is not None and last <= 0:
            raise self.wrong("it took less than a millisecond, so it was not timed")
        if rate is not None and total is not None and self.differs(total, last, rate):
            raise self.wrong(f"{total:g} MiB in {last:g} s are not {rate:g} MiB/s")
        return ElbenchoPhase(
            self.name,
            last,
            None if rate is None else rate * _MIB,
            None if total is None else round(total * _MIB),
            first,
            self.first,
        )

    @staticmethod
    def differs(total: float, seconds: float, rate: float) -> bool:
        """True where MiB by seconds are not the MiB/s printed, beyond rounding to whole numbers."""
        return abs(total / seconds - rate) > 1 + 1 / seconds + _TOLERANCE * rate

    def wrong(self, words: str) -> ParseError:
        return ParseError(TOOL, f"{self.name}: {words}", line=self.first)

    def number(self, kind: str) -> float | None:
        if kind not in self.rows:
            return None
        value = self.rows[kind][1]
        if not re.fullmatch(r"\d+(?:\.\d+)?", value):
            raise self.wrong(f"{kind} is {value!r}, no number")
        return float(value)

    def elapsed(self) -> tuple[float | None, float]:
        """Seconds when the first and when the last thread was done."""
        if "Elapsed ms" in self.rows:
            pattern, (first, last) = _MILLISECONDS, self.rows["Elapsed ms"]
        elif "Elapsed time" in self.rows:
            pattern, (first, last) = _TIME, self.rows["Elapsed time"]
        else:
            raise self.wrong("its elapsed time was not printed")

        def seconds(text: str) -> float:
            match = pattern.fullmatch(text)
            if match is None or not text:
                raise self.wrong(f"the elapsed time is {text!r}, none")
            return sum(
                float(value) * _SECONDS[unit] for unit, value in match.groupdict("0").items()
            )

        return (None if first is None else seconds(first)), seconds(last)

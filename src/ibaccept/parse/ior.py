"""``IOR``: bandwidth of an MPI job's writes and reads, versions 2.10 to 4.

Source of the format: IOR's ``ior-output.c`` (3 and later) and ``IOR.c`` (before)::

    access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
    write     421.05     2097152    2048.00    0.025594   9.69       0.011016   9.73       0
    Max Write: 421.05 MiB/sec (441.51 MB/sec)

With ``-v`` the column loses its decimals; ``Max`` keeps them. Between the lines read here stand
settings, task lists and comments: they are passed over, warnings are kept, an ERROR is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ibaccept.parse import ParseError, ParseWarning
from ibaccept.parse.diags import numbered

TOOL = "ior"

Direction = Literal["read", "write"]

_START = re.compile(r"IOR-(?P<version>\d\S*): MPI Coordinated Test of Parallel I/O\s*")
_END = re.compile(r"(?:Run finished|Finished)\s*: \S.*")
_SETTING = re.compile(r"\s+(?P<key>\w[\w ]*?)\s*[=:]\s*(?P<value>\S.*?)\s*")
_COLUMNS = re.compile(r"access\s+bw\(MiB/s\)\s+(?P<rest>.*\btotal\(s\)\s+iter)\s*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_MAX = re.compile(
    r"Max (?P<what>Write|Read):\s+(?P<mib>\d+\.\d+) MiB/sec \((?P<mb>\d+\.\d+) MB/sec\)\s*"
)
_AGGREGATE = re.compile(r"(?P<amount>\d{1,15}(?:\.\d{1,9})?) (?P<unit>bytes|[KMGTP]iB)")
_BYTES = {
    "bytes": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
    "PiB": 1 << 50,
}
_MOVED = re.compile(r".*WARNING: Using actual aggregate bytes moved = (?P<bytes>\d+)\.?\s*")
_WARNING = re.compile(r".*\bWARNING\b.*")
_ERROR = re.compile(r".*\bERROR\b.*")
_CLIENTS = re.compile(r"(?P<tasks>\d+)(?: \((?P<each>\d+) per node\))?")
_MIB = 1 << 20
_DIGIT = 0.01
"""Seconds: the last digit of ``total(s)``; that of the rate is a MiB/s with ``-v``."""
_AMOUNT = 0.01
"""The amount has two decimals, so it can be off by half a percent."""


@dataclass(frozen=True, slots=True)
class IorResult:
    """One direction of a run.

    Attributes:
        bytes_per_second: the best repetition (``Max``).
        seconds: ``total(s)`` of each repetition.
        repetitions: bytes a second of each, as the table has them (whole MiB/s with ``-v``).
    """

    bytes_per_second: float
    seconds: tuple[float, ...]
    repetitions: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class IorRun:
    """One invocation that was finished.

    Attributes:
        version: ``3.1.0``.
        tasks: MPI tasks.
        tasks_per_node: None where it was not printed.
        write: None where it was not run: that is no measurement of 0.
        read: as ``write``.
        aggregate_bytes: of all tasks, in one repetition; printed with two decimals (``1.95 TiB``).
            None where it was not printed.
        moved_bytes: where that is not what was moved (stonewalling ended it early); else None.
        warnings: what IOR warns of.
    """

    version: str
    tasks: int
    tasks_per_node: int | None
    write: IorResult | None
    read: IorResult | None
    aggregate_bytes: int | None = None
    moved_bytes: int | None = None
    warnings: tuple[ParseWarning, ...] = ()


class _Run:
    """The lines of one invocation."""

    def __init__(self, version: str, line: int) -> None:
        self.version = version
        self.line = line
        self.finished = False
        self.settings: dict[str, str] = {}
        self.columns: list[str] | None = None
        self.rows: dict[str, list[tuple[float, float]]] = {"write": [], "read": []}
        self.best: dict[str, float] = {}
        self.moved: int | None = None
        self.warnings: list[ParseWarning] = []

    def add(self, number: int, line: str) -> None:
        words = line.split()
        if _ERROR.fullmatch(line):
            raise ParseError(TOOL, "IOR reports an error", line=number, text=line)
        if _WARNING.fullmatch(line):
            self.warnings.append(ParseWarning(number, line.strip()))
            if moved := _MOVED.fullmatch(line):
                self.moved = int(moved["bytes"])
        elif match := _COLUMNS.fullmatch(line):
            self.columns = ["access", "bw(MiB/s)", *match["rest"].split()]
        elif match := _MAX.fullmatch(line):
            self.set_best(number, line, match)
        elif _END.fullmatch(line):
            self.finished = True
        elif words[:1] == ["Operation"] or line.startswith("Summary of all tests"):
            self.columns = []  # a second table, of the same rows with other columns
        elif self.columns and words and words[0] in self.rows:
            self.rows[words[0]].append(self.row(number, line, self.columns))
        elif self.columns is None and (match := _SETTING.fullmatch(line)):
            self.settings.setdefault(match["key"], match["value"])

    def row(self, number: int, line: str, columns: list[str]) -> tuple[float, float]:
        # version 2 marks a row that one task alone may print with XXCEL
        words = [word for word in line.split() if word != "XXCEL"]
        cells = dict(zip(columns, words, strict=False))
        bandwidth, total = cells.get("bw(MiB/s)", ""), cells.get("total(s)", "")
        numbers = _NUMBER.fullmatch(bandwidth) and _NUMBER.fullmatch(total)
        if len(words) != len(columns) or not numbers:
            raise ParseError(TOOL, "not a row of the table", line=number, text=line)
        rate, seconds = float(bandwidth) * _MIB, float(total)
        if not (math.isfinite(rate) and 0 < seconds < math.inf):
            raise ParseError(TOOL, "the row cannot be", line=number, text=line)
        return rate, seconds

    def set_best(self, number: int, line: str, match: re.Match[str]) -> None:
        mib, mb = float(match["mib"]), float(match["mb"])
        # both are rounded to two decimals
        if abs(mib * _MIB / 1e6 - mb) > 0.005 * (1 + _MIB / 1e6) + 1e-9 * mb:
            raise ParseError(TOOL, "MiB/sec and MB/sec do not agree", line=number, text=line)
        what = match["what"].lower()
        if what in self.best:
            raise ParseError(TOOL, "the line comes twice in one run", line=number, text=line)
        self.best[what] = mib * _MIB

    def finish(self) -> IorRun:
        def cut(what: str) -> ParseError:
            return ParseError(
                TOOL, f"the run that begins here {what}; run it again", line=self.line
            )

        if not self.finished:
            raise cut("has no end")
        found = {direction for direction, rows in self.rows.items() if rows}
        if found != set(self.best) or not found:
            raise cut("has not one 'Max' line for what its table shows")
        tasks, each = _tasks(self.settings)
        if tasks is None:
            raise cut("does not tell its number of tasks")
        aggregate = _aggregate(self.settings)
        moved = aggregate if self.moved is None else self.moved
        if self.moved is not None and sum(map(len, self.rows.values())) > 1:
            moved = None  # of which row is not known
        results = {name: _result(name, self, moved) for name in found}
        return IorRun(
            self.version,
            tasks,
            each,
            results.get("write"),
            results.get("read"),
            aggregate,
            self.moved,
            tuple(self.warnings),
        )


def _tasks(settings: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Tasks, and tasks on a node: ``clients = 100 (10 per node)``; since 3.2 a line each."""
    tasks, each = settings.get("tasks"), settings.get("clients per node")
    if tasks is None and (match := _CLIENTS.fullmatch(settings.get("clients", ""))):
        tasks, each = match["tasks"], match["each"]
    return (
        int(tasks) if tasks and tasks.isdecimal() else None,
        int(each) if each and each.isdecimal() else None,
    )


def _aggregate(settings: Mapping[str, str]) -> int | None:
    match = _AGGREGATE.fullmatch(settings.get("aggregate filesize", ""))
    return None if match is None else round(float(match["amount"]) * _BYTES[match["unit"]])


def _agree(moved: int, rate: float, seconds: float) -> bool:
    """True where bytes, bytes a second and seconds fit each other as far as they were printed."""
    least, most = (max(0.0, rate - _MIB), seconds - _DIGIT), (rate + _MIB, seconds + _DIGIT)
    low, high = least[0] * max(0.0, least[1]), most[0] * most[1]
    return low * (1 - _AMOUNT) <= moved <= high * (1 + _AMOUNT)


def _result(name: str, run: _Run, moved: int | None) -> IorResult:
    rows = run.rows[name]
    best = run.best[name]
    # with -v the table is in whole MiB/s
    if abs(max(rate for rate, _ in rows) - best) > _MIB:
        raise ParseError(
            TOOL, f"'Max {name.capitalize()}' is not the best row of the table", line=run.line
        )
    for rate, seconds in rows:
        if moved is not None and not _agree(moved, rate, seconds):
            raise ParseError(
                TOOL,
                f"{name}: {moved} bytes in {seconds:g} s are not {rate / _MIB:g} MiB/s",
                line=run.line,
            )
    return IorResult(best, tuple(seconds for _, seconds in rows), tuple(rate for rate, _ in rows))


def parse(text: str) -> tuple[IorRun, ...]:
    """Read every invocation of an output, in order.

    Raises:
        ParseError: no invocation, one without its end or its ``Max`` lines, a row that is not
            understood, figures that do not agree, or an error that IOR reports.
    """
    runs: list[_Run] = []
    for number, line in numbered(TOOL, text):
        if match := _START.fullmatch(line):
            runs.append(_Run(match["version"], number))
        elif runs:
            runs[-1].add(number, line)
        elif _ERROR.fullmatch(line):
            raise ParseError(TOOL, "IOR reports an error", line=number, text=line)
    if not runs:
        raise ParseError(TOOL, "no 'IOR-...: MPI Coordinated Test' line was seen")
    return tuple(run.finish() for run in runs)

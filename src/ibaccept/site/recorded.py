"""A throughput that the site's own benchmark measured, written down in YAML or JSON.

A file is::

    tool: h5perf 1.14
    nodes: node[001-012]        # who took part; a list of names is right too
    direction: read             # or write
    bytes: 768GiB               # moved by all of them; a plain number is bytes
    seconds: 15.6               # from the first to the last; 15.6s is right too
    start: 2026-11-30T10:16:03Z # with its zone, or seconds since 1970
    end: 2026-11-30T10:16:19Z
    per_client:                 # optional: bytes of each
      node001: 64GiB

The node list and the times are not optional: without them it is not known which cables the data
crossed and when, so counters could not be held against it.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ibaccept.errors import InputError, InputProblemsError
from ibaccept.fabric.nodeset import expand
from ibaccept.fabric.suggest import did_you_mean
from ibaccept.fabric.units import Duration, Size
from ibaccept.site.yamlfile import Document, loads

Direction = Literal["read", "write"]

REQUIRED = ("tool", "nodes", "direction", "bytes", "seconds", "start", "end")
OPTIONAL = ("per_client",)
_CLOCK = 1.0
"""Seconds by which start and end may be rounded."""
_LAST = 1 << 40
"""Seconds since 1970: tens of thousands of years, so milliseconds are none."""
_MOST = 1 << 80
"""Bytes."""
_LEAST = 0.9
"""Share of the time from start to end over which the bytes were moved, at least."""


@dataclass(frozen=True)
class RecordedRun:
    """One run of a benchmark.

    Attributes:
        tool: what measured it.
        nodes: every client, each once.
        direction: as the clients see it.
        bytes: moved by all of them.
        seconds: over which they were moved.
        start: seconds since the epoch.
        end: as ``start``.
        per_client: bytes by node, of all nodes; None where it was not recorded.
    """

    tool: str
    nodes: tuple[str, ...]
    direction: Direction
    bytes: int
    seconds: float
    start: float
    end: float
    per_client: Mapping[str, int] | None = None

    @property
    def bytes_per_second(self) -> float:
        """The aggregate."""
        return self.bytes / self.seconds


def parse(text: str, *, name: str) -> RecordedRun:
    """Read a file's text.

    Args:
        text: YAML or JSON.
        name: how messages call the file.

    Raises:
        InputError: not YAML; or every problem: a key unknown, missing or of another type, no
            node, a node twice, an end not after the start, seconds that are not about those
            between, or bytes of clients that are not the whole.
    """
    return _Reader(loads(text, name=name)).read()


def parse_all(files: Iterable[tuple[str, str]]) -> tuple[RecordedRun, ...]:
    """Read the results of one job, at most one a direction.

    Args:
        files: how messages call each file, and its text.

    Raises:
        InputError: every problem of every file, or two results of one direction.
    """
    runs: dict[Direction, tuple[str, RecordedRun]] = {}
    problems: list[str] = []
    for name, text in files:
        try:
            run = parse(text, name=name)
        except InputProblemsError as error:
            problems += error.problems
            continue
        except InputError as error:
            problems.append(str(error))
            continue
        if run.direction in runs:
            problems.append(
                f"{name}: is a {run.direction} run, and so is {runs[run.direction][0]}; "
                "give one result a direction"
            )
        runs.setdefault(run.direction, (name, run))
    if problems:
        raise InputProblemsError(problems)
    return tuple(run for _, run in runs.values())


class _Reader:
    """Collects values and problems of one file."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[str] = []
        self.values: Mapping[str, Any] = {}

    def problem(self, sentence: str, *where: str) -> None:
        self.problems.append(self.document.problem(where, sentence))

    def check(self) -> None:
        if self.problems:
            raise InputProblemsError(self.problems)

    def read(self) -> RecordedRun:
        values = self.document.value
        if not isinstance(values, dict):
            self.problem(f"a recorded result is a mapping with the keys {', '.join(REQUIRED)}")
            self.check()
        self.values = values
        known = (*REQUIRED, *OPTIONAL)
        for key in values:
            if key not in known:
                self.problem(f"the key {key!r} is not known{did_you_mean(key, known)}", key)
        for key in REQUIRED:
            if values.get(key) is None:
                self.problem(f"{key} is missing{_why(key)}")
        self.check()
        nodes, per_client = self.nodes(), self.clients()
        tool, direction = values["tool"], values["direction"]
        if not isinstance(tool, str) or not tool.strip():
            self.problem("tool must name what measured it", "tool")
        if direction not in {"read", "write"}:
            self.problem(f"direction must be read or write, not {direction!r}", "direction")
        total, seconds = self.size("bytes"), self.seconds()
        start, end = self.time("start"), self.time("end")
        self.check()
        self.compare_times(seconds, end - start)
        if per_client is not None:
            self.compare(per_client, nodes, total)
        self.check()
        return RecordedRun(tool, nodes, direction, total, seconds, start, end, per_client)

    def nodes(self) -> tuple[str, ...]:
        value = self.values["nodes"]
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            self.problem("nodes must be a node set or a list of names", "nodes")
            return ()
        found: list[str] = []
        for item in items:
            try:
                found += expand(item)
            except ValueError as error:
                self.problem(str(error), "nodes")
        repeated = sorted({name for name in found if found.count(name) > 1})
        if repeated:
            self.problem(f"{', '.join(repeated)} is named twice", "nodes")
        if not found and not self.problems:
            self.problem("nodes is empty" + _why("nodes"), "nodes")
        return tuple(found)

    def clients(self) -> dict[str, int] | None:
        value = self.values.get("per_client")
        if value is None:
            return None
        if not isinstance(value, dict):
            self.problem("per_client must give bytes by node", "per_client")
            return None
        return {name: self.size("per_client", name) for name in value}

    def size(self, *where: str) -> int:
        value: Any = self.values
        for key in where:
            value = value[key]
        try:
            found = Size.parse(value).bytes if isinstance(value, str) else value
        except ValueError as error:
            self.problem(f"{where[-1]}: {error}", *where)
            return 1
        if isinstance(found, bool) or not isinstance(found, int) or not 0 < found < _MOST:
            self.problem(
                f"{where[-1]}: {value!r} is no amount of data; write 64GiB or whole bytes", *where
            )
            return 1
        return found

    def seconds(self) -> float:
        value = self.values["seconds"]
        try:
            found = Duration.parse(value).seconds if isinstance(value, str) else value
        except ValueError as error:
            self.problem(f"seconds: {error}", "seconds")
            return math.nan
        if (
            isinstance(found, bool)
            or not isinstance(found, int | float)
            or not 0 < found < math.inf
        ):
            self.problem(f"seconds: {value!r} is no length of time; write 15.6 or 15.6s", "seconds")
            return math.nan
        return float(found)

    def time(self, key: str) -> float:
        value = self.values[key]
        if isinstance(value, int | float) and not isinstance(value, bool):
            if not 0 <= value < _LAST:
                self.problem(f"{key}: {value!r} is no number of seconds since 1970", key)
                return math.nan
            return float(value)
        try:
            moment = dt.datetime.fromisoformat(str(value))
        except ValueError:
            self.problem(f"{key}: {value!r} is no time; write 2026-11-30T10:16:03Z", key)
            return math.nan
        if moment.tzinfo is None:
            self.problem(f"{key}: {value!r} has no zone; write Z or +01:00 behind it", key)
            return math.nan
        return moment.timestamp()

    def compare_times(self, seconds: float, between: float) -> None:
        """Two ways to say how long it took: start and end may be rounded, seconds may not."""
        if between <= 0:
            self.problem(
                "end is not after start; give both to the second, of a run of several seconds",
                "end",
            )
        elif seconds > between + _CLOCK:
            self.problem(
                f"{seconds:g} s do not fit between start and end, {between:g} s apart", "seconds"
            )
        elif seconds < max(_LEAST * between - _CLOCK, between / 2):
            self.problem(
                f"{seconds:g} s are too few: start and end are {between:g} s apart; give the "
                "seconds in which all the bytes were moved, and the times when that began and "
                "ended",
                "seconds",
            )

    def compare(self, per_client: Mapping[str, int], nodes: tuple[str, ...], total: int) -> None:
        if set(per_client) != set(nodes):
            other = ", ".join(sorted(set(per_client) ^ set(nodes)))
            self.problem(f"per_client and nodes differ in {other}", "per_client")
        elif sum(per_client.values()) != total:
            self.problem(
                f"the clients' bytes add up to {sum(per_client.values())}, not to {total}",
                "per_client",
            )


def _why(key: str) -> str:
    if key == "nodes":
        return ": without the nodes it is not known which cables the data crossed"
    if key in {"start", "end"}:
        return ": without the times no counters can be held against it"
    return ""

"""The cabling plan: which port is to be cabled to which. A table, or a fabric known to be good.

Columns (any order): ``a_name,a_guid,a_port,b_name,b_guid,b_port``, and optional ``a_rack``,
``b_rack`` (or ``rack`` for both), ``a_label``, ``b_label``, ``label``, ``length``, ``part``; others
are kept. GUIDs are node GUIDs in hex; a name alone serves where it is unique.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ibaccept.errors import InputError, InputProblemsError
from ibaccept.fabric.harmless import acts
from ibaccept.fabric.model import Fabric, Guid, Port
from ibaccept.fabric.names import host_part
from ibaccept.fabric.suggest import closest
from ibaccept.site.planfile import PlanRow, PlanRows, read_rows

END_COLUMNS = ("a_name", "a_guid", "a_port", "b_name", "b_guid", "b_port")
OPTIONAL_COLUMNS = (*("rack", "a_rack", "b_rack", "label", "a_label", "b_label", "length", "part"),)
COLUMNS = END_COLUMNS + OPTIONAL_COLUMNS
MAX_PORT = 254
"""Highest port number of a node (InfiniBand Architecture Specification volume 1, NodeInfo)."""


@dataclass(frozen=True, slots=True)
class End:
    """One planned end: at least one of name and node GUID, and the port number.

    Attributes:
        rack: where it is, in the site's words.
        label: of this end of the cable.
    """

    name: str
    guid: Guid | None
    port: int
    rack: str = ""
    label: str = ""

    def __str__(self) -> str:
        return f"{self.name or self.guid}/{self.port}"

    @property
    def key(self) -> tuple[str, int]:
        """The node as the plan identifies it, and the port."""
        return (str(self.guid) if self.guid is not None else self.name, self.port)


@dataclass(frozen=True, slots=True)
class PlannedCable:
    """One row.

    Attributes:
        label: of the cable.
        length: in the site's words: ``3 m``.
        part: number of the cable's maker.
        line: of the file, or row of the sheet; 0 where the plan is a recorded fabric.
        more: columns this suite does not know, by name.
    """

    a: End
    b: End
    label: str = ""
    length: str = ""
    part: str = ""
    line: int = 0
    more: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """``SwitchA/13 - SwitchB/25``, in the plan's words and order."""
        return f"{self.a} - {self.b}"

    @property
    def ends(self) -> tuple[End, End]:
        """Both ends."""
        return (self.a, self.b)


@dataclass(frozen=True, slots=True)
class Plan:
    """Every planned cable. ``file`` is how messages call the plan."""

    cables: tuple[PlannedCable, ...]
    file: str

    def where(self, cable: PlannedCable) -> str:
        """``cables.csv:7``; the plan's name alone where it has no lines."""
        return f"{self.file}:{cable.line}" if cable.line else self.file

    @classmethod
    def from_fabric(cls, fabric: Fabric, *, name: str) -> Self:
        """The cables of a fabric known to be good, called ``name`` in messages.

        Raises:
            InputError: the fabric has no cable.
        """
        cables = tuple(
            PlannedCable(_end(fabric, link.a), _end(fabric, link.b)) for link in fabric.links
        )
        if not cables:
            raise InputError(f"{name}: no cable was seen, so there is no plan to take from it")
        return cls(cables, name)

    @classmethod
    def load(cls, path: Path, *, name: str | None = None) -> Self:
        """Read a file, as ``planfile`` takes it.

        Raises:
            InputError: not readable, or every problem of its rows, a sentence each.
        """
        file = name if name is not None else str(path)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise InputError(f"{file}: cannot be read: {error.strerror}") from None
        return cls.read(data, name=file)

    @classmethod
    def read(cls, data: bytes | str, *, name: str) -> Self:
        """As ``load``, for what the file holds, or text.

        Raises:
            InputError: every problem of the rows, a sentence each.
        """
        data = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        found = read_rows(data, name=name, columns=COLUMNS)
        problems: list[str] = []
        cables = tuple(_cables(found, problems))
        problems += _used_twice(cables, found.where)
        problems += _two_names(cables, found.where)
        if problems:
            raise InputProblemsError(problems)
        if not cables:
            raise InputError(f"{found.where}: the plan has no cable; add a row for each")
        return cls(cables, name)


def write_plan(fabric: Fabric) -> str:
    """The cables of a fabric as CSV, to record a plan from a fabric known to be good.

    A node whose name would act on a terminal or in a spreadsheet is written by its GUID alone.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(END_COLUMNS)
    for link in fabric.links:
        a, b = _end(fabric, link.a), _end(fabric, link.b)
        writer.writerow((a.name, a.guid, a.port, b.name, b.guid, b.port))
    return out.getvalue()


def _end(fabric: Fabric, port: Port) -> End:
    node = fabric.node_of(port)
    name = " ".join(node.name.split())
    return End("" if acts(name) else name, node.guid, port.id.port)


def _cables(found: PlanRows, problems: list[str]) -> Iterator[PlannedCable]:
    if not found.rows:
        problems.append(
            f"{found.where}:1: the file is empty; its first line is {','.join(END_COLUMNS)}"
        )
        return
    head, *rows = found.rows
    header = [name.lower() if name.lower() in COLUMNS else name for name in head.cells]
    wrong = _header_problems(header)
    problems += [f"{found.where}:{head.line}: {sentence}" for sentence in wrong]
    for row in () if wrong else rows:
        faults: list[str] = []
        cable = _cable(header, row, faults)
        problems += [f"{found.where}:{row.line}: {sentence}" for sentence in faults]
        if cable is not None:
            yield cable


def _header_problems(header: list[str]) -> list[str]:
    """What is wrong with the first line. A column that is not known is kept, unless misspelt."""
    if not set(header) & set(COLUMNS) and all(closest(name, COLUMNS) is None for name in header):
        return [
            "the first line is no header; put above it the names of the columns, such as "
            f"{','.join(END_COLUMNS)}"
        ]
    absent = [name for name in COLUMNS if name not in header]
    wrong = [
        f"unknown column {name!r}; did you mean {near!r}?"
        for name in header
        if name and name not in COLUMNS
        if (near := closest(name, absent, cutoff=MISSPELT)) is not None
    ]
    wrong += [
        f"the column {name!r} is there twice"
        for name in sorted(set(header))
        if name and header.count(name) > 1
    ]
    if not wrong:
        wrong += [
            f"the column {side}_port is missing" for side in "ab" if f"{side}_port" not in header
        ]
        wrong += [
            f"the columns {side}_name and {side}_guid are both missing; one is needed"
            for side in "ab"
            if f"{side}_name" not in header and f"{side}_guid" not in header
        ]
    return wrong


MISSPELT = 0.75
"""Likeness from which a column's name is taken for a misspelling and not for the site's own."""


def _cable(header: list[str], found: PlanRow, problems: list[str]) -> PlannedCable | None:
    # Spreadsheets leave out, or add, empty cells at the end of a row.
    cells = [*found.cells, *("",) * (len(header) - len(found.cells))]
    if any(cells[len(header) :]):
        problems.append(f"{len(found.cells)} cells where the header has {len(header)} columns")
        return None
    row = dict(zip(header, cells, strict=False))
    a, b = _read_end("a", row, problems), _read_end("b", row, problems)
    if a is None or b is None:
        return None
    if a.key == b.key:
        problems.append(f"both ends are {a}")
        return None
    label, length, part = (row.get(name, "") for name in ("label", "length", "part"))
    more = tuple((name, text) for name, text in row.items() if name and name not in COLUMNS)
    return PlannedCable(a, b, label, length, part, found.line, more)


def _read_end(side: str, row: Mapping[str, str], problems: list[str]) -> End | None:
    before = len(problems)
    name, text = row.get(f"{side}_name", ""), row.get(f"{side}_guid", "")
    guid = None
    if text:
        try:
            guid = Guid.parse(text)
        except ValueError as error:
            problems.append(f"{side}_guid: {error}")
    if not name and not text:
        problems.append(f"{side}_name and {side}_guid are both empty; one is needed")
    port = row[f"{side}_port"]
    number = int(port) if port.isascii() and port.isdigit() else 0
    if not 1 <= number <= MAX_PORT:
        problems.append(f"{side}_port: {port!r} is not a port number (1 to {MAX_PORT})")
    if len(problems) > before:
        return None
    rack = row.get(f"{side}_rack", "") or row.get("rack", "")
    return End(name, guid, number, rack, row.get(f"{side}_label", ""))


def _used_twice(cables: tuple[PlannedCable, ...], file: str) -> Iterator[str]:
    first: dict[tuple[str, int], int] = {}
    for cable in cables:
        for end in cable.ends:
            if end.key in first:
                yield f"{file}:{cable.line}: {end} is already used in line {first[end.key]}"
            else:
                first[end.key] = cable.line


def _two_names(cables: tuple[PlannedCable, ...], file: str) -> Iterator[str]:
    """A GUID that rows give to hosts of different names: one of the two is wrong."""
    first: dict[Guid, tuple[str, int]] = {}
    for cable in cables:
        for end in cable.ends:
            if end.guid is None or not end.name:
                continue
            name, line = first.setdefault(end.guid, (end.name, cable.line))
            if host_part(name) != host_part(end.name):
                yield (
                    f"{file}:{cable.line}: {end.guid} is {end.name!r} here and {name!r} in line "
                    f"{line}"
                )

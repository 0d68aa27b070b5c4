"""index.html: one self-contained page for the site and for the vendor who will argue.

No script, no external resource: it opens from a mail attachment years later. The filter is radio
buttons and style rules, folding is ``details``. Every text is cleaned here and escaped by Jinja2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ibaccept.fabric.harmless import clean
from ibaccept.fabric.wording import and_more
from ibaccept.report.grouping import GroupedFinding, group
from ibaccept.report.meta import RunMeta
from ibaccept.report.terminal import counts_text
from ibaccept.report.text import (
    WORDS,
    by_port,
    capture_place,
    count,
    coverage_text,
    crossing_text,
    is_zero,
    natural,
    numeric_columns,
    ordered,
    route_text,
    seconds,
)
from ibaccept.verdict import Finding, Outcome, Table, Verdict
from ibaccept.verdict.answer import Result, outcome_of
from ibaccept.verdict.evidence import CaptureRef, Counter, CounterState

PROVED = 200
"""Entries of a verdict shown with their evidence; the others by name, all in verdicts.json."""
NAMED = 2000
"""Further entries shown by name."""
ROWS = 1000
"""Rows of a table shown."""
LINE_CHARS = 1000
"""A captured line is shown up to here."""

_RANK = {
    Outcome.FAIL: 0,
    Outcome.ERROR: 1,
    Outcome.WAIVED: 2,
    Outcome.SKIP: 3,
    Outcome.PASS: 4,
}
# A link only to a file the suite itself wrote; anything else is shown as text.
_CAPTURE_FILE = re.compile(r"captures/[A-Za-z0-9][A-Za-z0-9._@+-]*\Z")


def environment(*folders: Path) -> Environment:
    """What renders a page from the templates here, or in a folder that comes before."""
    return Environment(
        loader=FileSystemLoader([*folders, Path(__file__).parent / "templates"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


_ENVIRONMENT = environment()


@dataclass(frozen=True, slots=True)
class _CounterRow:
    name: str
    before: str
    after: str
    growth: str
    style: str


@dataclass(frozen=True, slots=True)
class _PortCounters:
    """The counters of one port; those that read 0 twice are named together."""

    port: str
    window: str
    rows: list[_CounterRow]
    zeros: list[str]


@dataclass(frozen=True, slots=True)
class _Capture:
    place: str
    href: str
    text: str


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    identity: str
    ports: list[_PortCounters]
    crossing: str
    routes: list[str]
    captures: list[_Capture]
    missing: list[str]
    hint: str
    again: str


@dataclass(frozen=True, slots=True)
class _Group:
    head: str
    outcome: str
    size: str
    entries: list[_Entry]
    names: list[str]
    left_out: str


@dataclass(frozen=True, slots=True)
class _Table:
    title: str
    columns: list[tuple[str, bool]]
    rows: list[list[tuple[str, bool]]]
    left_out: str


@dataclass(frozen=True, slots=True)
class _Verdict:
    id: str
    anchor: str
    kind: str
    outcome: str
    word: str
    sentence: str
    because: str
    source: str
    nodeid: str
    coverage: str
    groups: list[_Group]
    tables: list[_Table]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class _Chip:
    """One choice of the filter."""

    outcome: str
    word: str
    number: str


_STATES = {
    CounterState.OK: "unknown",
    CounterState.SATURATED: "saturated",
    CounterState.CLEARED: "cleared",
    CounterState.UNSUPPORTED: "not supported",
    CounterState.UNREAD: "not read",
}
"""What stands where a growth cannot: a difference of such readings means nothing."""


def _number(value: int | None) -> str:
    return "not read" if value is None else count(value)


def _row(counter: Counter) -> _CounterRow:
    delta = counter.delta
    if counter.state is CounterState.OK and counter.before is None:
        growth, style = "read once", ""
    elif delta is None:
        growth, style = _STATES[counter.state], "odd"
    else:
        growth, style = f"+{count(delta)}", "grown" if delta else ""
    return _CounterRow(
        clean(counter.name), _number(counter.before), _number(counter.after), growth, style
    )


def _ports(counters: Iterable[Counter]) -> Iterator[_PortCounters]:
    for port, alike in by_port(counters).items():
        windows = sorted({c.seconds for c in alike if c.seconds is not None})
        # One reading takes its time, so two counters of a port may have slightly other windows.
        window = " to ".join(
            seconds(value) for value in dict.fromkeys((*windows[:1], *windows[-1:]))
        )
        rows = [_row(counter) for counter in alike if not is_zero(counter)]
        zeros = [clean(counter.name) for counter in alike if is_zero(counter)]
        yield _PortCounters(clean(port), window, rows, zeros)


def _capture(capture: CaptureRef) -> _Capture:
    href = quote(capture.file) if _CAPTURE_FILE.match(capture.file) else ""
    text = clean(capture.text.rstrip())
    if len(text) > LINE_CHARS:
        text = f"{text[: LINE_CHARS - 4]} ..."
    return _Capture(capture_place(capture), href, text)


def _identity(finding: Finding) -> str:
    """``0x0002c90300000001/2 - 0x0002c90300000002/2``: what a name cannot prove."""
    subject = finding.subject
    if len(subject.guids) == len(subject.ports):
        pairs = (f"{clean(g)}/{p}" for g, p in zip(subject.guids, subject.ports, strict=True))
        return " - ".join(pairs)
    ports = f" ports {', '.join(map(str, subject.ports))}" if subject.ports else ""
    return ", ".join(map(clean, subject.guids)) + ports


def _entry(entry: GroupedFinding) -> _Entry:
    finding = entry.finding
    routes = finding.routes
    return _Entry(
        entry.name,
        _identity(finding) if entry.size == 1 else "",
        list(_ports(finding.counters)),
        "" if routes is None else crossing_text(routes),
        [] if routes is None else [route_text(example) for example in routes.examples],
        [_capture(capture) for capture in finding.captures],
        [clean(sentence) for sentence in finding.missing],
        clean(finding.hint),
        clean(finding.again),
    )


def _groups(verdict: Verdict) -> Iterator[_Group]:
    proved, named, more = PROVED, NAMED, 0
    for alike in group(verdict.findings):
        full, rest = alike.entries[:proved], alike.entries[proved:]
        names, hidden = rest[:named], rest[named:]
        proved -= len(full)
        named -= len(names)
        left_out = sum(entry.size for entry in hidden)
        if not full and not names:
            # Verdicts with thousands of differences: the page stays readable, the data is whole.
            more += alike.size
            continue
        yield _Group(
            alike.head,
            alike.outcome,
            count(alike.size),
            [_entry(entry) for entry in full],
            [entry.name for entry in names],
            and_more(left_out),
        )
    if more:
        head = "further findings that differ otherwise, in verdicts.json and punchlist.csv"
        yield _Group(head, str(outcome_of(verdict)), count(more), [], [], "")


def _table(table: Table) -> _Table:
    rows = [[clean(cell) for cell in row] for row in table.rows[:ROWS]]
    span = max(len(table.columns), *(len(row) for row in rows), 0)
    numeric = numeric_columns(rows, span)
    return _Table(
        clean(table.title),
        # A row may be shorter than the widest one; its missing cells are simply not there.
        list(zip(map(clean, table.columns), numeric, strict=False)),
        [list(zip(row, numeric, strict=False)) for row in rows],
        and_more(len(table.rows) - ROWS, "rows"),
    )


def _view(verdict: Verdict, number: int) -> _Verdict:
    outcome = outcome_of(verdict)
    return _Verdict(
        clean(verdict.id),
        f"v{number}",
        clean(verdict.kind),
        str(outcome),
        WORDS[outcome],
        clean(verdict.sentence),
        clean(verdict.because),
        clean(verdict.source),
        clean(verdict.nodeid),
        coverage_text(verdict),
        list(_groups(verdict)),
        [_table(table) for table in verdict.tables],
        [clean(note) for note in verdict.notes],
    )


def _chips(result: Result) -> list[_Chip]:
    counts = result.counts
    numbers = (
        ("fail", WORDS[Outcome.FAIL], counts.failed),
        ("error", WORDS[Outcome.ERROR], counts.errors),
        ("waived", WORDS[Outcome.WAIVED], counts.waived),
        ("skip", WORDS[Outcome.SKIP], counts.skipped),
        ("notrun", "not run", counts.not_run),
        ("pass", WORDS[Outcome.PASS], counts.passed),
    )
    return [_Chip(outcome, word, count(number)) for outcome, word, number in numbers if number]


def render(verdicts: Iterable[Verdict], meta: RunMeta, result: Result) -> str:
    """The text of index.html: failures first, then what was not judged, waived, met."""
    arranged = sorted(ordered(verdicts), key=lambda verdict: _RANK[outcome_of(verdict)])
    return _ENVIRONMENT.get_template("index.html").render(
        fabric=clean(meta.fabric),
        answer=str(result.answer),
        counts=counts_text(result),
        chips=_chips(result),
        total=count(len(arranged) + len(result.not_run)),
        facts=meta.facts(),
        warnings=[clean(warning) for warning in meta.warnings],
        verdicts=[_view(verdict, number) for number, verdict in enumerate(arranged, 1)],
        not_run=[
            (clean(name), clean(entry.kind), clean(entry.reason))
            for name, entry in sorted(result.not_run.items(), key=lambda item: natural(item[0]))
        ],
    )

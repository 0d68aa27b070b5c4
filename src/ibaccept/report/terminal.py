"""A verdict as plain text for the terminal, the JUnit body and the Allure attachment.

The layout is section 7 of the design: the sentence, the reason of the entry, what differs
(grouped, folded), the proof, the way back to it. No line is broken: terminals wrap, and a route
or a command must be copied whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Columns
from rich.text import Text

from ibaccept.fabric.harmless import clean
from ibaccept.fabric.wording import and_more
from ibaccept.report.grouping import FindingGroup, GroupedFinding, group
from ibaccept.report.meta import RunMeta
from ibaccept.report.text import (
    WORDS,
    by_port,
    capture_place,
    count,
    counters_text,
    coverage_text,
    crossing_text,
    numeric_columns,
    route_text,
    squeeze,
)
from ibaccept.verdict import Finding, Outcome, Table, Verdict
from ibaccept.verdict.answer import NotRun, Result, outcome_of

GROUPS = 10
"""Different differences shown for a verdict."""
SUBJECTS = 10
"""Subjects shown for a difference."""
CAPTURES = 3
"""Captured lines and routes shown for a subject."""
ROWS = 40
"""Rows of a table shown."""
ELSEWHERE = "all in verdicts.json"

HEADS = {
    Outcome.PASS: "PASSED",
    Outcome.FAIL: "FAILED",
    Outcome.ERROR: "ERROR",
    Outcome.WAIVED: "WAIVED",
    Outcome.SKIP: "SKIPPED",
}

_COLOURS = {
    "fail": "31",
    "error": "33",
    "waived": "36",
    "skip": "36",
    "pass": "32",
    "ACCEPTED": "1;32",
    "NOT ACCEPTED": "1;31",
    "INCOMPLETE": "1;33",
    "strong": "1",
    "quiet": "2",
}


@dataclass(frozen=True, slots=True)
class _Paint:
    """Puts ANSI colour around text where colour is on."""

    on: bool

    def __call__(self, text: str, style: str) -> str:
        return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m" if self.on and text else text


@dataclass
class AlreadyShown:
    """Tables, notes and causes that were shown already, with the entry they were shown under.

    Entries about one load run share its tables, figures and diagnosis, and a switch that does not
    answer explains findings of many entries; once is enough.
    """

    tables: dict[Table, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    causes: dict[str, str] = field(default_factory=dict)

    def fresh_tables(self, verdict: Verdict) -> Iterator[tuple[Table, str]]:
        """Each table, and the entry it was shown under before; empty where it was not."""
        for table in verdict.tables:
            yield table, self.tables.get(table, "")
            self.tables.setdefault(table, verdict.id)

    def fresh_notes(self, verdict: Verdict) -> Iterator[str]:
        """Notes not shown before, and where the others stand."""
        elsewhere: dict[str, int] = {}
        for note in verdict.notes:
            if note in self.notes:
                elsewhere[self.notes[note]] = elsewhere.get(self.notes[note], 0) + 1
            else:
                self.notes[note] = verdict.id
                yield note
        for entry, number in elsewhere.items():
            yield f"{count(number)} {'notes' if number > 1 else 'note'} as under {entry}"


def failure_text(
    verdict: Verdict,
    width: int,
    *,
    colour: bool = False,
    heading: bool = True,
    already: AlreadyShown | None = None,
) -> str:
    """The verdict as the terminal shows it.

    Args:
        verdict: of any outcome; one that passes gives its sentence, coverage, tables and notes.
        width: columns; only the source at the right of the sentence depends on it.
        colour: put ANSI colours in.
        heading: begin with ``FAILED <nodeid>``.
        already: what was shown under other entries and is not repeated; this one is added.

    Returns:
        Lines without a newline at the end.
    """
    paint = _Paint(colour)
    outcome = outcome_of(verdict)
    lines: list[str] = []
    if heading:
        lines.append(paint(f"{HEADS[outcome]} {clean(verdict.nodeid or verdict.id)}", outcome))
    lines += _sentence(verdict, width, paint)
    if verdict.because:
        lines.append(f"because: {clean(verdict.because)}")
    if verdict.coverage.judged < verdict.coverage.of or outcome is not verdict.outcome:
        lines.append(f"coverage: {coverage_text(verdict)}")
    if outcome is Outcome.ERROR and outcome is not verdict.outcome:
        lines.append(
            f"not believed: recorded as {verdict.outcome} without bearing it out; "
            "run this entry again, and report the suite if it stays"
        )
    already = AlreadyShown() if already is None else already
    groups = group(verdict.findings)
    for shown in groups[:GROUPS]:
        before = already.causes.setdefault(shown.cause, verdict.id) if shown.cause else verdict.id
        if before != verdict.id:
            text = f"{shown.cause}, {count(shown.size)} cables not judged:"
            lines.append(f"  {paint(text, shown.outcome)} as under {clean(before)}")
        else:
            lines += _group(shown, paint)
    if len(groups) > GROUPS:
        more = sum(hidden.size for hidden in groups[GROUPS:])
        lines.append(f"  ... {and_more(more, 'that differ otherwise')}, {ELSEWHERE}")
    for table, before in already.fresh_tables(verdict):
        if before:
            lines.append(f"  {paint(f'{clean(table.title)}:', 'strong')} as under {clean(before)}")
        else:
            lines += _table(table, paint)
    lines += [f"note: {clean(note)}" for note in already.fresh_notes(verdict)]
    return "\n".join(lines)


def _sentence(verdict: Verdict, width: int, paint: _Paint) -> list[str]:
    """The sentence with its source right aligned; on a line of its own where it does not fit."""
    text, source = f"{clean(verdict.id)}: {clean(verdict.sentence)}", clean(verdict.source)
    if not source:
        return [paint(text, "strong")]
    room = width - cell_len(text) - cell_len(source)
    if room > 1:
        return [paint(text, "strong") + " " * room + paint(source, "quiet")]
    return [paint(text, "strong"), paint(source, "quiet").rjust(max(width, 0))]


def _group(shown: FindingGroup, paint: _Paint) -> Iterator[str]:
    yield "  " + paint(f"{shown.head}:", shown.outcome)
    for entry in shown.entries[:SUBJECTS]:
        yield from _entry(entry, paint)
    hidden = sum(entry.size for entry in shown.entries[SUBJECTS:])
    if hidden:
        yield f"    ... {and_more(hidden)}, {ELSEWHERE}"


def _entry(entry: GroupedFinding, paint: _Paint) -> Iterator[str]:
    yield "    " + paint(entry.name, "strong")
    for label, lines in _proof(entry.finding):
        for number, line in enumerate(lines):
            yield f"      {paint((label if number == 0 else '').ljust(10), 'quiet')}{line}"


def _proof(finding: Finding) -> Iterator[tuple[str, list[str]]]:
    """Label and lines of each piece of evidence, in the order a reader argues with them."""
    if finding.counters:
        yield "counters", _counters(finding)
    if finding.routes is not None:
        texts = [route_text(example) for example in finding.routes.examples[:CAPTURES]]
        crossing = crossing_text(finding.routes)
        first = f"{crossing}, e.g. {texts[0]}" if texts else crossing
        yield "routes", [first, *texts[1:]]
    if finding.captures:
        places = [
            f"{capture_place(c)}: {squeeze(c.text)}" if c.text.strip() else capture_place(c)
            for c in finding.captures[:CAPTURES]
        ]
        more = and_more(len(finding.captures) - CAPTURES, "lines")
        yield "seen in", [*places, f"... {more}"] if more else places
    if finding.missing:
        yield "lacking", [clean(sentence) for sentence in finding.missing]
    if finding.hint:
        yield "to do", [clean(finding.hint)]
    if finding.again:
        yield "again", [clean(finding.again)]


def _counters(finding: Finding) -> list[str]:
    """A line for each port. The port is named unless it is the only one and heads the subject."""
    ports = by_port(finding.counters)
    only = next(iter(ports)) if len(ports) == 1 else None
    if only is not None and finding.subject.name.split(" - ")[0] == only:
        return [counters_text(finding.counters)]
    return [f"{clean(port)}: {counters_text(counters)}" for port, counters in ports.items()]


def _table(table: Table, paint: _Paint) -> Iterator[str]:
    """Title and aligned columns; columns of numbers are right aligned."""
    yield "  " + paint(f"{clean(table.title)}:", "strong")
    head = [clean(cell) for cell in table.columns]
    rows = [[clean(cell) for cell in row] for row in table.rows[:ROWS]]
    for number, line in enumerate(_aligned(head, rows)):
        yield "    " + (paint(line, "quiet") if number == 0 else line)
    if more := and_more(len(table.rows) - ROWS, "rows"):
        yield f"    ... {more}, {ELSEWHERE}"
    elif not rows:
        yield "    (no rows)"


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table, its columns two blanks apart; no line is broken or cut."""
    span = max([len(head), *(len(row) for row in rows)])
    columns = Columns(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for name, to_right in itertools.zip_longest(head, numeric_columns(rows, span), fillvalue=""):
        columns.add_column(Text(str(name)), justify="right" if to_right else "left", no_wrap=True)
    for row in rows:
        columns.add_row(*map(Text, row))
    width = sum(max(map(cell_len, cells)) + 2 for cells in _columns(head, rows))
    console = Console(width=max(width, 1), color_system=None, force_terminal=False)
    with console.capture() as shown:
        console.print(columns)
    return [line.rstrip() for line in shown.get().splitlines()]


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    return itertools.zip_longest(head, *rows, fillvalue="")


def counts_text(result: Result) -> str:
    """``12 passed, 2 failed, 1 not judged``; what did not happen is left out."""
    counts = result.counts
    parts = (
        (counts.passed, WORDS[Outcome.PASS]),
        (counts.failed, WORDS[Outcome.FAIL]),
        (counts.errors, WORDS[Outcome.ERROR]),
        (counts.waived, WORDS[Outcome.WAIVED]),
        (counts.skipped, WORDS[Outcome.SKIP]),
        (counts.not_run, "not run"),
    )
    text = ", ".join(f"{count(number)} {word}" for number, word in parts if number)
    return text or "no entry was judged"


def not_run_lines(not_run: Mapping[str, NotRun]) -> list[str]:
    """One line a reason: ``not run (needs --load): fabric-carries, fs-at-ceiling``."""
    reasons: dict[str, list[str]] = {}
    for name, entry in not_run.items():
        reasons.setdefault(entry.reason, []).append(clean(name))
    return [f"not run ({clean(why)}): {', '.join(names)}" for why, names in reasons.items()]


def closing_lines(
    result: Result, meta: RunMeta, unwritten: Sequence[str] = (), *, colour: bool = False
) -> list[str]:
    """The site's answer, to be the last lines of the terminal.

    Args:
        result: the answer.
        meta: the run.
        unwritten: why reports could not be written, a sentence each; empty where all were.
        colour: put ANSI colours in.

    Returns:
        Warnings, entries not run, counts, the path of the report; the last line is the answer.
    """
    paint = _Paint(colour)
    lines = [f"warning: {clean(warning)}" for warning in meta.warnings]
    lines += not_run_lines(result.not_run)
    lines.append(f"{clean(meta.fabric)}: {counts_text(result)}")
    if meta.replayed:
        lines.append(f"judged again: {clean(meta.replayed)}; nothing was looked at")
    if unwritten:
        lines += [f"warning: {clean(sentence)}" for sentence in unwritten]
    else:
        lines.append(f"orders: {clean(str(meta.run_dir / 'inputs' / 'expectations.yaml'))}")
        lines.append(f"report: {clean(str(meta.run_dir / 'index.html'))}")
    lines.append(paint(str(result.answer), result.answer))
    return lines

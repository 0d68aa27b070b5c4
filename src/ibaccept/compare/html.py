"""A comparison as one page without script and without any other file, as index.html of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ibaccept.compare.comparison import Comparison
from ibaccept.compare.findings import Status
from ibaccept.compare.text import gib, summary
from ibaccept.fabric.harmless import clean
from ibaccept.fabric.wording import and_more
from ibaccept.report.html import environment
from ibaccept.verdict.absence import NotSeen

ROWS = 1000
"""Rows of a table shown; all are in the JSON."""

_ENVIRONMENT = environment(Path(__file__).parent / "templates")

_STYLES = {
    Status.NEW: "fail",
    Status.UNJUDGED: "error",
    Status.OPEN: "waived",
    Status.FIXED: "pass",
}


@dataclass(frozen=True, slots=True)
class PageTable:
    """One table of the page. Cells are cleaned; ``note`` says what is left out or not known."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    style: str = ""


def render(comparison: Comparison) -> str:
    """The text of the page."""
    answer = "bad" if comparison.is_worse else "open" if comparison.is_unknown else "good"
    return _ENVIRONMENT.get_template("compare.html").render(
        fabric=clean(comparison.new.fabric),
        answer=answer,
        summary=summary(comparison),
        sides=[
            (
                word,
                tuple(
                    clean(text)
                    for text in (side.folder, side.started, side.result, side.observer, side.job)
                ),
            )
            for word, side in (("old", comparison.old), ("new", comparison.new))
        ],
        warnings=[clean(text) for text in comparison.warnings],
        tables=[table for table in _tables(comparison) if table.rows or table.note],
    )


def _table(
    title: str,
    columns: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    note: str = "",
    style: str = "",
) -> PageTable:
    shown = tuple(tuple(map(clean, row)) for row in rows[:ROWS])
    more = and_more(len(rows) - ROWS, "rows")
    return PageTable(title, columns, shown, "; ".join(filter(None, (clean(note), more))), style)


def _tables(comparison: Comparison) -> list[PageTable]:
    return [
        *_findings(comparison),
        _table(
            "entries with another outcome",
            ("entry", "was", "now", "why"),
            [(row.entry, row.was, row.now, row.why) for row in comparison.entries],
        ),
        _hardware(comparison),
        _counters(comparison),
        _routes(comparison),
        _rates(comparison),
    ]


def _findings(comparison: Comparison) -> list[PageTable]:
    return [
        _table(
            f"{status}",
            ("entry", "subject", "was", "now", "why", "waived"),
            [
                (row.entry, row.subject, row.was, row.now, row.why, row.waived)
                for row in comparison.findings
                if row.status is status
            ],
            style=style,
        )
        for status, style in _STYLES.items()
    ]


def _unknown(title: str, part: NotSeen) -> PageTable:
    return _table(title, (), [], f"not compared: {part.reason}")


def _hardware(comparison: Comparison) -> PageTable:
    title = "hardware"
    if isinstance(comparison.hardware, NotSeen):
        return _unknown(title, comparison.hardware)
    rows = [(str(row.what), row.name, row.was, row.now) for row in comparison.hardware]
    return _table(title, ("what", "name", "was", "now"), rows)


def _counters(comparison: Comparison) -> PageTable:
    title, found = "error counters between the runs", comparison.counters
    if isinstance(found, NotSeen):
        return _unknown(title, found)
    rows = [
        (
            row.port,
            row.counter,
            f"{row.before:,}",
            f"{row.after:,}",
            "not known" if row.growth is None else f"{row.growth:,}",
            row.state if row.per_day is None else f"{row.per_day:,.1f}",
        )
        for row in found.rows
    ]
    note = f"not read in one of the runs: {', '.join(found.unread)}" if found.unread else ""
    return _table(title, ("port", "counter", "then", "now", "growth", "a day"), rows, note)


def _routes(comparison: Comparison) -> PageTable:
    title, found = "routes", comparison.routes
    if isinstance(found, NotSeen):
        return _unknown(title, found)
    rows = [(row.switch, f"{row.changed:,}", f"{row.of:,}") for row in found.switches]
    note = f"{found.skipped:,} entries are known in one run only" if found.skipped else ""
    return _table(title, ("switch", "changed entries", "of"), rows, note)


def _rates(comparison: Comparison) -> PageTable:
    title, found = "load runs", comparison.rates
    if isinstance(found, NotSeen):
        return _unknown(title, found)
    rows = [
        (
            row.name,
            gib(row.was),
            gib(row.now),
            "not known" if row.percent is None else f"{row.percent:+.1f} %",
            row.why,
        )
        for row in found
    ]
    return _table(title, ("run", "was", "now", "change", "why"), rows)

"""punchlist.csv: a row per finding, for the spreadsheet that goes to the vendor."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from ibaccept.fabric.harmless import cell
from ibaccept.report.text import capture_place, ordered
from ibaccept.verdict import Finding, Outcome, Subject, Verdict
from ibaccept.verdict.answer import outcome_of

HEADER = (
    "id",
    "kind",
    "outcome",
    "subject",
    "a_name",
    "a_guid",
    "a_port",
    "b_name",
    "b_guid",
    "b_port",
    "expected",
    "found",
    "because",
    "again",
    "capture",
)


def ends(subject: Subject) -> tuple[str, str]:
    """Node names of both ends of ``SwitchB/25 - SwitchA/13``.

    The ports of the subject say where a name ends. A name that does not follow this form, or
    could be split in two ways, is the first end's whole.
    """
    if not subject.ports:
        return subject.name, ""
    first = f"/{subject.ports[0]}"
    if len(subject.ports) == 1:
        return subject.name.removesuffix(first), ""
    last = f"/{subject.ports[1]}"
    pieces = subject.name.split(" - ")
    splits = [
        (a.removesuffix(first), b.removesuffix(last))
        for cut in range(1, len(pieces))
        if (a := " - ".join(pieces[:cut])).endswith(first)
        and (b := " - ".join(pieces[cut:])).endswith(last)
    ]
    return splits[0] if len(splits) == 1 else (subject.name, "")


def _row(verdict: Verdict, finding: Finding) -> tuple[str, ...]:
    subject = finding.subject
    a_name, b_name = ends(subject)
    # More or other than two ports are not the two ends of one cable.
    ends_known = len(subject.ports) == len(subject.guids) == len((a_name, b_name)) and b_name != ""
    guids = (*subject.guids[: 2 if ends_known else 1], "", "")
    ports = (*map(str, subject.ports[: 2 if ends_known else 0]), "", "")
    return (
        verdict.id,
        verdict.kind,
        finding.outcome if finding.waived is None else "waived",
        subject.name,
        a_name,
        guids[0],
        ports[0],
        b_name,
        guids[1],
        ports[1],
        finding.expected,
        finding.found,
        verdict.because,
        finding.again,
        "; ".join(map(capture_place, finding.captures)),
    )


def _rows(verdicts: Iterable[Verdict]) -> Iterator[tuple[str, ...]]:
    for verdict in ordered(verdicts):
        for finding in verdict.findings:
            yield _row(verdict, finding)
        if not verdict.findings and outcome_of(verdict) in (Outcome.FAIL, Outcome.ERROR):
            # An entry that selected nothing has no finding, and must not vanish from the list.
            nothing = Finding(Subject("", ""), "error", "", verdict.sentence)
            row = list(_row(verdict, nothing))
            row[2] = str(outcome_of(verdict))
            yield tuple(row)


def render(verdicts: Iterable[Verdict]) -> str:
    """The text of punchlist.csv, as RFC 4180 says.

    Every cell is quoted: no list separator of a locale cuts one into a cell that begins with a
    formula.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(HEADER)
    writer.writerows([cell(value) for value in row] for row in _rows(verdicts))
    return text.getvalue()

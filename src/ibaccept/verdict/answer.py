"""What all verdicts together make: ACCEPTED, NOT ACCEPTED or INCOMPLETE, and the exit code."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ibaccept.verdict import Outcome, Verdict


class Answer(enum.StrEnum):
    """The site's answer, as the last line of the terminal prints it."""

    ACCEPTED = "ACCEPTED"
    NOT_ACCEPTED = "NOT ACCEPTED"
    INCOMPLETE = "INCOMPLETE"


@dataclass(frozen=True, slots=True)
class NotRun:
    """An entry of the expectations file that has no verdict.

    Attributes:
        reason: why, as printed: ``needs --load``.
        deliberate: left out on purpose (a load entry without ``--load``). Anything else, such as
            an interrupted run, a crash or a deselected entry, keeps the exit code from being 0.
        kind: kind of the entry, where known.
        nodeid: pytest's id of the item, where known.
    """

    reason: str
    deliberate: bool = False
    kind: str = ""
    nodeid: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """Entries by what became of them."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    waived: int = 0
    skipped: int = 0
    not_run: int = 0

    @property
    def judged(self) -> int:
        """Entries that have an answer, good or bad."""
        return self.passed + self.failed + self.waived


@dataclass(frozen=True, slots=True)
class Result:
    """The answer of a run.

    Attributes:
        exit_code: 0 with ACCEPTED, or with INCOMPLETE where something was judged, nothing failed
            or errored and the rest was deliberately not run (a skipped verdict is that, too);
            1 otherwise.
        not_run: by entry id, sorted.
    """

    answer: Answer
    counts: Counts
    exit_code: int
    not_run: Mapping[str, NotRun] = field(default_factory=dict)


def outcome_of(verdict: Verdict) -> Outcome:
    """The outcome a report may show: a pass that does not bear itself out is an error.

    ``judge`` never makes one, but a verdict may also come from a file. A pass needs everything
    judged and no open finding, a waiver needs every finding waived.
    """
    open_findings = [finding for finding in verdict.findings if finding.waived is None]
    whole = 0 < verdict.coverage.of <= verdict.coverage.judged
    if verdict.outcome is Outcome.PASS and (open_findings or not whole):
        return Outcome.ERROR
    if verdict.outcome is Outcome.WAIVED and (open_findings or not verdict.findings):
        return Outcome.ERROR
    return verdict.outcome


def overall(verdicts: Iterable[Verdict], not_run: Mapping[str, NotRun]) -> Result:
    """Sum up a run.

    Args:
        verdicts: every verdict of the run.
        not_run: entries without a verdict, by id.

    Returns:
        NOT ACCEPTED where anything failed; ACCEPTED where every entry was judged and is met or
        waived; INCOMPLETE otherwise, also where there is no verdict at all.
    """
    outcomes = [outcome_of(verdict) for verdict in verdicts]
    counts = Counts(
        passed=outcomes.count(Outcome.PASS),
        failed=outcomes.count(Outcome.FAIL),
        errors=outcomes.count(Outcome.ERROR),
        waived=outcomes.count(Outcome.WAIVED),
        skipped=outcomes.count(Outcome.SKIP),
        not_run=len(not_run),
    )
    met = counts.passed + counts.waived
    if counts.failed:
        answer = Answer.NOT_ACCEPTED
    elif not met or counts.errors or counts.skipped or counts.not_run:
        answer = Answer.INCOMPLETE
    else:
        answer = Answer.ACCEPTED
    good = (
        met > 0
        and not counts.failed
        and not counts.errors
        and all(entry.deliberate for entry in not_run.values())
    )
    return Result(answer, counts, 0 if good else 1, dict(sorted(not_run.items())))

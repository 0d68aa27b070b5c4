"""The answer and the exit code: nothing passes on nothing."""

from dataclasses import replace

import pytest

from ibaccept.verdict import Coverage, Finding, Outcome, Subject, Verdict
from ibaccept.verdict.answer import Answer, Counts, NotRun, Result, outcome_of, overall

LOAD = {"x": NotRun("needs --load", deliberate=True)}
CUT = {"x": NotRun("the run was interrupted")}


def verdict(name, outcome, *findings, covered=1):
    coverage = Coverage(covered, covered)
    return Verdict(name, "link-rate", f"t.py::t[{name}]", outcome, "", "", coverage, findings)


WRONG = Finding(Subject("link", "a/1 - b/1"), "fail", "4X HDR", "1X HDR")
UNKNOWN = Finding(Subject("link", "a/1 - b/1"), "error", "4X HDR", "not seen")
PASSED = verdict("passed", Outcome.PASS)
WAIVED = verdict("waived", Outcome.WAIVED, replace(WRONG, waived="RMA-4711"))
FAILED = verdict("failed", Outcome.FAIL, WRONG)
NOT_JUDGED = verdict("not_judged", Outcome.ERROR, UNKNOWN)
SKIPPED = verdict("skipped", Outcome.SKIP, covered=0)
VERDICTS = {each.id: each for each in (PASSED, WAIVED, FAILED, NOT_JUDGED, SKIPPED)}


@pytest.mark.parametrize(
    ("names", "not_run", "answer", "exit_code"),
    [
        ((), {}, Answer.INCOMPLETE, 1),
        ((), LOAD, Answer.INCOMPLETE, 1),
        (("passed",), {}, Answer.ACCEPTED, 0),
        (("passed", "waived"), {}, Answer.ACCEPTED, 0),
        (("waived",), {}, Answer.ACCEPTED, 0),
        (("passed",), LOAD, Answer.INCOMPLETE, 0),
        (("passed",), CUT, Answer.INCOMPLETE, 1),
        (("passed",), CUT | {"y": LOAD["x"]}, Answer.INCOMPLETE, 1),
        (("passed", "skipped"), {}, Answer.INCOMPLETE, 0),
        (("skipped",), {}, Answer.INCOMPLETE, 1),
        (("passed", "not_judged"), {}, Answer.INCOMPLETE, 1),
        (("passed", "not_judged"), LOAD, Answer.INCOMPLETE, 1),
        (("passed", "failed"), {}, Answer.NOT_ACCEPTED, 1),
        (("failed", "not_judged"), LOAD, Answer.NOT_ACCEPTED, 1),
    ],
)
def test_answer_and_exit_code(names, not_run, answer, exit_code):
    verdicts = [VERDICTS[name] for name in names]

    result = overall(verdicts, not_run)

    assert (result.answer, result.exit_code) == (answer, exit_code)


def test_counts_of_a_whole_run():
    assert overall([FAILED, PASSED, NOT_JUDGED, WAIVED], LOAD) == Result(
        Answer.NOT_ACCEPTED,
        Counts(passed=1, failed=1, errors=1, waived=1, skipped=0, not_run=1),
        1,
        LOAD,
    )


def test_a_pass_that_does_not_bear_itself_out_is_an_error():
    """Nothing passes on nothing, nor beside an open finding."""
    doubtful = [
        replace(PASSED, coverage=Coverage(0, 0)),
        replace(PASSED, coverage=Coverage(0, 5)),
        replace(PASSED, coverage=Coverage(4, 5)),
        replace(PASSED, findings=FAILED.findings),
        replace(WAIVED, findings=()),
        replace(WAIVED, findings=WAIVED.findings + FAILED.findings),
    ]

    assert [outcome_of(verdict) for verdict in doubtful] == [Outcome.ERROR] * 6
    assert overall(doubtful[:1], {}).answer is Answer.INCOMPLETE
    assert overall([PASSED, *doubtful], {}).exit_code == 1

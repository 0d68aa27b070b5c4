"""The answer and the exit code: nothing passes on nothing."""

from dataclasses import replace

import pytest

from ibaccept.report import Answer, Counts, NotRun, Result, outcome_of, overall
from ibaccept.verdict import Coverage, Outcome

LOAD = {"x": NotRun("needs --load", deliberate=True)}
CUT = {"x": NotRun("the run was interrupted")}


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
def test_answer_and_exit_code(request, passed, names, not_run, answer, exit_code):
    known = {"skipped": replace(passed, outcome=Outcome.SKIP, coverage=Coverage(0, 0))}
    verdicts = [known.get(name) or request.getfixturevalue(name) for name in names]

    result = overall(verdicts, not_run)

    assert (result.answer, result.exit_code) == (answer, exit_code)


def test_counts_of_a_whole_run(verdicts, not_run):
    assert overall(verdicts, not_run) == Result(
        Answer.NOT_ACCEPTED,
        Counts(passed=1, failed=1, errors=1, waived=1, skipped=0, not_run=1),
        1,
        not_run,
    )


def test_a_pass_that_does_not_bear_itself_out_is_an_error(passed, failed, waived):
    """Whoever built such a verdict: nothing passes on nothing, nor beside an open finding."""
    doubtful = [
        replace(passed, coverage=Coverage(0, 0)),
        replace(passed, coverage=Coverage(0, 5)),
        replace(passed, coverage=Coverage(4, 5)),
        replace(passed, findings=failed.findings),
        replace(waived, findings=()),
        replace(waived, findings=waived.findings + failed.findings),
    ]

    assert [outcome_of(verdict) for verdict in doubtful] == [Outcome.ERROR] * 6
    assert overall(doubtful[:1], {}).answer is Answer.INCOMPLETE
    assert overall([passed, *doubtful], {}).exit_code == 1

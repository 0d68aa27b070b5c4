"""What became of a finding: the whole table of old and new outcomes."""

from dataclasses import replace

import pytest

from ibaccept.compare.findings import (
    Change,
    EntryChange,
    Status,
    changes,
    entry_changes,
    is_unknown,
    is_worse,
)
from ibaccept.report.json_report import VerdictsDocument
from ibaccept.verdict import Coverage, Finding, Outcome, Subject, Verdict
from ibaccept.verdict.answer import Answer, Counts, NotRun

CABLE = Subject("link", "A/1 - B/1", ("0x1", "0x2"), (1, 1))
OTHER = Subject("link", "A/2 - B/2", ("0x1", "0x2"), (2, 2))
COUNT = Subject("count", "links between A and B")


def finding(subject, outcome="fail", found="1X", waived=None):
    return Finding(subject, outcome, "4X", found, waived=waived)


def verdict(outcome, *findings, judged=8, of=8, name="rate"):
    return Verdict(
        name, "link-rate", "", Outcome(outcome), "said", "", Coverage(judged, of), findings
    )


def document(*verdicts, not_run=None):
    return VerdictsDocument(
        *(1, Answer.INCOMPLETE, 1, Counts(), "f", "", "", verdicts), not_run=not_run or {}
    )


def rows(old, new, *, reordered=None, absent="", not_run=None):
    """Status, was, now and why of each finding; ``old`` and ``new`` may be None."""
    found = changes(
        document(*filter(None, [old])),
        document(*filter(None, [new]), not_run=not_run),
        reordered=reordered or {},
        presence=lambda subject: absent if subject.guids else None,
    )
    return [(str(row.status), row.was, row.now, row.why) for row in found]


PASS, FAIL = verdict("pass"), verdict("fail", finding(CABLE))
UNKNOWN = verdict("error", finding(CABLE, "error", "silent"), judged=7)
F, E = "fail: 1X", "not judged: silent"
TABLE = {
    "good and good": (PASS, PASS, {}, []),
    "good and wrong": (PASS, FAIL, {}, [("new", "", F, "")]),
    "good and unknown": (PASS, UNKNOWN, {}, [("new", "", E, "")]),
    "wrong and good": (FAIL, PASS, {}, [("fixed", F, "", "")]),
    "wrong and wrong": (FAIL, FAIL, {}, [("still open", F, F, "")]),
    "wrong and wrong otherwise": (
        *(FAIL, verdict("fail", finding(CABLE, found="2X")), {}),
        [("still open", F, "fail: 2X", "")],
    ),
    "wrong and unknown": (FAIL, UNKNOWN, {}, [("no longer judged", F, E, "")]),
    "unknown and wrong": (
        *(UNKNOWN, FAIL, {}),
        [("new", E, F, "it was not judged in the old run")],
    ),
    "unknown and unknown": (UNKNOWN, UNKNOWN, {}, [("still open", E, E, "")]),
    "unknown and good": (UNKNOWN, PASS, {}, [("fixed", E, "", "")]),
    "wrong, and another wrong": (
        *(FAIL, verdict("fail", finding(OTHER)), {}),
        [("new", "", F, ""), ("fixed", F, "", "")],
    ),
    "wrong, and the entry is gone": (
        *(FAIL, None, {}),
        [("no longer judged", F, "", "the new run has no such entry")],
    ),
    "wrong, and the entry was not run": (
        *(FAIL, None, {"not_run": {"rate": NotRun("needs --load")}}),
        [("no longer judged", F, "", "not run: needs --load")],
    ),
    "wrong, and the entry is another": (
        *(FAIL, PASS, {"reordered": {"rate": "the plan is another"}}),
        [("no longer judged", F, "", "the plan is another")],
    ),
    "a new entry that is wrong": (
        *(None, FAIL, {}),
        [("new", "", F, "the entry has no verdict in the old run")],
    ),
    "an entry that is another and wrong": (
        *(PASS, FAIL, {"reordered": {"rate": "the plan is another"}}),
        [("new", "", F, "the plan is another")],
    ),
    "wrong, and the cable is gone": (
        *(FAIL, PASS, {"absent": "it is not in the fabric of the new run"}),
        [("no longer judged", F, "", "it is not in the fabric of the new run")],
    ),
    "wrong, and the new run does not name what it left out": (
        *(FAIL, verdict("error", judged=7), {}),
        [
            ("new", "", "not judged: said", ""),
            (
                *("no longer judged", F, ""),
                "the new run judged 7 of 8 and does not name what it left out",
            ),
        ],
    ),
    "wrong, and the new run names another as not judged": (
        *(FAIL, verdict("error", finding(OTHER, "error", "silent"), judged=7), {}),
        [("new", "", E, ""), ("fixed", F, "", "")],
    ),
    "a count that is right now": (
        *(
            verdict("fail", finding(COUNT, found="7"), judged=1, of=1),
            verdict("pass", of=1, judged=1),
        ),
        *({}, [("fixed", "fail: 7", "", "")]),
    ),
    "a group that is gone": (
        *(verdict("fail", finding(COUNT, found="7")), verdict("pass", of=7, judged=7), {}),
        [("no longer judged", "fail: 7", "", "the new run selected 7, the old one 8")],
    ),
    "an entry that selects nothing now": (
        *(PASS, verdict("error", judged=0, of=0), {}),
        [("new", "", "not judged: said", "")],
    ),
}


@pytest.mark.parametrize("case", TABLE)
def test_table_of_outcomes(case):
    old, new, more, expected = TABLE[case]

    assert rows(old, new, **more) == expected


def test_findings_about_one_subject_are_one_row():
    two = verdict("fail", finding(CABLE, found="+3"), finding(CABLE, "error", "one unread"))

    assert rows(PASS, two) == [("new", "", "fail: +3; one unread", "")]


def test_a_waived_finding_is_new_and_not_worse():
    waived = verdict("waived", finding(CABLE, waived="RMA-1: on order"))

    (row,) = changes(document(PASS), document(waived), reordered={}, presence=lambda _: "")
    assert row == Change(
        Status.NEW, "rate", "link-rate", "A/1 - B/1", "", F, "", waived="RMA-1: on order"
    )
    assert (is_worse([row]), is_worse([replace(row, waived="")])) == (False, True)


def test_what_is_no_longer_judged_is_unknown():
    (row,) = changes(document(FAIL), document(), reordered={}, presence=lambda _: "")

    assert (is_worse([row]), is_unknown([row])) == (False, True)
    assert is_unknown([replace(row, status=Status.FIXED)]) is False


def test_the_worst_stands_first_and_entries_keep_their_order():
    old = document(FAIL, verdict("pass", name="second"))
    new = document(PASS, verdict("fail", finding(OTHER), name="second"))

    found = changes(old, new, reordered={}, presence=lambda _: "")
    assert [(row.status, row.entry) for row in found] == [("new", "second"), ("fixed", "rate")]


def test_entries_with_another_outcome():
    old = document(PASS, verdict("fail", finding(CABLE), name="gone"))
    new = document(FAIL, not_run={"gone": NotRun("needs --load"), "fresh": NotRun("-k")})

    assert entry_changes(old, new) == (
        EntryChange("rate", "pass", "fail"),
        EntryChange("gone", "fail", "not run", "needs --load"),
        EntryChange("fresh", "no such entry", "not run", "-k"),
    )
    assert entry_changes(old, old) == ()

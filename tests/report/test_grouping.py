"""Findings that differ in the same way are one group, their names one set."""

from dataclasses import replace

import pytest

from ibaccept.report.grouping import group
from ibaccept.report.terminal import AlreadyShown, failure_text
from ibaccept.verdict import Finding, Subject


def finding(name, found="4X EDR", outcome="fail", *, guids=(), **more):
    return Finding(Subject("node", name, guids), outcome, "4X HDR", found, **more)


def told(findings):
    """Head, outcome, and name and size of each entry, of every group."""
    return [
        (shown.head, shown.outcome, [(entry.name, entry.size) for entry in shown.entries])
        for shown in group(findings)
    ]


EDR = "expected 4X HDR, found 4X EDR"


@pytest.mark.parametrize(
    ("names", "entries"),
    [
        (["n1", "n2", "n3"], [("n[1-3] (3)", 3)]),
        (["n1/1", "n2/1"], [("n[1-2]/1 (2)", 2)]),
        (["leaf-a", "leaf-b"], [("leaf-a", 1), ("leaf-b", 1)]),
        (["n1", "m1"], [("n1", 1), ("m1", 1)]),
        (["n1 HCA-1", "n2 HCA-1"], [("n1 HCA-1", 1), ("n2 HCA-1", 1)]),
        (["@n1", "@n2"], [("@n1", 1), ("@n2", 1)]),
        (["n1234567", "n1234568"], [("n1234567", 1), ("n1234568", 1)]),
        (["", "x\x1b"], [("(no name)", 1), ("x\\x1b", 1)]),
    ],
)
def test_names(names, entries):
    assert told(map(finding, names)) == [(EDR, "fail", entries)]


def test_two_nodes_of_one_name_are_told_by_their_guids():
    findings = [finding("n1", guids=(guid,)) for guid in ("0x1", "0x2")]

    assert told(findings) == [(EDR, "fail", [("n1 (0x1)", 1), ("n1 (0x2)", 1)])]


def test_other_evidence_is_another_entry():
    findings = [finding("n1"), finding("n2"), finding("n3", again="perfquery 3 1")]

    assert told(findings) == [(EDR, "fail", [("n[1-2] (2)", 2), ("n3", 1)])]


def test_failures_come_first_and_what_is_waived_last():
    waived = finding("n1", waived="RMA-1: on order")
    unseen = replace(finding("n2", "no answer"), outcome="error")

    assert told([waived, unseen, finding("n3")]) == [
        (EDR, "fail", [("n3", 1)]),
        ("expected 4X HDR, not seen: no answer", "error", [("n2", 1)]),
        (f"waived (RMA-1: on order): {EDR}", "waived", [("n1", 1)]),
    ]


def cable(switch, number, found):
    name = f"{switch}/{number} - n{number:02}/1"
    subject = Subject("link", name, ("0x1", "0x2"), (number, 1))
    return Finding(subject, "error", name, found.format(end=f"n{number:02}"))


def test_a_switch_that_does_not_answer_is_stated_once():
    """The sentences of its cables differ in the names of the other ends alone."""
    silent = "missing: core-3 is not in the fabric; {end} is not in the fabric"
    other = "n01/1 is up, but what it is cabled to was not seen"
    findings = [
        *(cable("core-3", number, silent) for number in range(1, 14)),
        cable("leaf-1", 40, other),
    ]

    assert told(findings) == [
        (
            "core-3, 13 cables: expected the cable, not seen: missing: core-3 is not in the "
            "fabric; its other end is not in the fabric",
            "error",
            [("core-3/1 - n01/1, core-3/2 - n02/1, core-3/3 - n03/1 and 10 more cables", 13)],
        ),
        (f"expected leaf-1/40 - n40/1, not seen: {other}", "error", [("leaf-1/40 - n40/1", 1)]),
    ]


def test_what_differs_by_more_than_names_is_not_put_together():
    findings = [cable("core-3", number, "core-3 counted " + "x" * number) for number in range(1, 5)]

    assert [size for _, _, entries in told(findings) for _, size in entries] == [1, 1, 1, 1]


def test_a_later_entry_refers_to_the_cause(not_judged):
    silent = "core-3 is not in the fabric; {end} is not in the fabric"
    cables = tuple(cable("core-3", number, silent) for number in range(1, 14))
    first = replace(not_judged, id="all-cabled", findings=cables)
    before = AlreadyShown()

    whole = failure_text(first, 100, already=before).splitlines()
    later = failure_text(replace(first, id="hosts"), 100, already=before).splitlines()
    assert whole[-2:] == [
        "  core-3, 13 cables: expected the cable, not seen: core-3 is not in the fabric; its other "
        "end is not in the fabric:",
        "    core-3/1 - n01/1, core-3/2 - n02/1, core-3/3 - n03/1 and 10 more cables",
    ]
    assert later[-1] == "  core-3, 13 cables not judged: as under all-cabled"
    assert len(later) == len(whole) - 1

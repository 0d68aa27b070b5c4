"""Waivers, and how a verdict is completed with its entry."""

from datetime import date

import pytest

from ibaccept.checks.links import LinkRate
from ibaccept.run.items import Entry, item_id
from ibaccept.run.waivers import apply_waivers, covers
from ibaccept.site.plan import End, PlannedCable
from ibaccept.site.settings import Waiver
from ibaccept.verdict import Coverage, Finding, Outcome, Subject, Verdict

TODAY = date(2027, 1, 31)
CABLE = PlannedCable(End("SwitchA", None, 13), End("SwitchB", None, 25), line=7)
RATE = LinkRate.model_validate(
    {
        "id": "isl-4x-hdr",
        "kind": "link-rate",
        "links": "isl",
        "speed": "HDR",
        "because": "ordered so",
        "severity": "critical",
    }
)
USELESS = Finding(
    Subject("waiver", "RMA-1 for SwitchA/13"),
    "fail",
    "a failure of SwitchA/13 to waive",
    "nothing fails there",
    "remove the waiver from the expectations file",
)


def waiver(subject="SwitchA/13", until="2027-01-31", ticket="RMA-1"):
    return Waiver.model_validate(
        {
            "expectation": "isl-4x-hdr",
            "subject": subject,
            "until": until,
            "ticket": ticket,
            "because": "on order",
        }
    )


def finding(name="SwitchA/13 - SwitchB/25", outcome="fail", **words):
    return Finding(Subject("link", name), outcome, "4X HDR", "1X HDR", **words)


def verdict(outcome, *findings, sentence="so it is"):
    return Verdict("", "", "", outcome, sentence, "", Coverage(2, 2), findings)


COVERED = "RMA-1 until 2027-01-31: on order"


@pytest.mark.parametrize(
    ("before", "waivers", "after"),
    [
        # A failure that a waiver covers; its last day is the day it names.
        (
            verdict(Outcome.FAIL, finding()),
            [waiver()],
            verdict(Outcome.WAIVED, finding(waived=COVERED)),
        ),
        # One of two.
        (
            verdict(Outcome.FAIL, finding(), finding("SwitchA/14 - SwitchB/26")),
            [waiver()],
            verdict(Outcome.FAIL, finding(waived=COVERED), finding("SwitchA/14 - SwitchB/26")),
        ),
        # Expired.
        (
            verdict(Outcome.FAIL, finding(hint="look")),
            [waiver(until="2027-01-30")],
            verdict(Outcome.FAIL, finding(hint="look; the waiver RMA-1 expired on 2027-01-30")),
        ),
        # For nothing.
        (
            verdict(Outcome.PASS),
            [waiver()],
            verdict(Outcome.FAIL, USELESS, sentence="so it is, but a waiver covers nothing"),
        ),
        # What was not seen stays an error, and nothing is said of a waiver that may be needed.
        (
            verdict(Outcome.ERROR, finding(outcome="error")),
            [waiver()],
            verdict(Outcome.ERROR, finding(outcome="error")),
        ),
        # Waived, but something else was not seen.
        (
            verdict(Outcome.FAIL, finding(), finding("x", "error")),
            [waiver()],
            verdict(Outcome.ERROR, finding(waived=COVERED), finding("x", "error")),
        ),
        # Two for one: the second is for nothing as the first is enough.
        (
            verdict(Outcome.FAIL, finding()),
            [waiver(ticket="RMA-0"), waiver()],
            verdict(
                Outcome.FAIL,
                finding(waived="RMA-0 until 2027-01-31: on order"),
                USELESS,
            ),
        ),
        # An expired one beside one that holds.
        (
            verdict(Outcome.FAIL, finding()),
            [waiver(until="2026-01-30", ticket="RMA-0"), waiver()],
            verdict(
                Outcome.WAIVED,
                finding(hint="the waiver RMA-0 expired on 2026-01-30", waived=COVERED),
            ),
        ),
        (verdict(Outcome.SKIP), [waiver()], verdict(Outcome.SKIP)),
        (verdict(Outcome.PASS), [], verdict(Outcome.PASS)),
    ],
)
def test_waivers(before, waivers, after):
    assert apply_waivers(before, waivers, TODAY) == after


@pytest.mark.parametrize(
    ("subject", "answer"),
    [
        ("SwitchA/13", True),
        ("SwitchB/25", True),
        (" SwitchA/13 - SwitchB/25 ", True),
        ("SwitchB/25 - SwitchA/13", True),
        ("SwitchA/1", False),
        ("SwitchA", False),
        ("SwitchA/13 - SwitchB/26", False),
        ("-", False),
    ],
)
def test_whom_a_waiver_covers(subject, answer):
    assert covers(waiver(subject), "SwitchA/13 - SwitchB/25") is answer


def test_ids_are_without_lines_and_values():
    assert item_id(RATE, None) == "isl-4x-hdr"
    assert item_id(RATE, CABLE) == "isl-4x-hdr:SwitchA/13 - SwitchB/25"


def test_a_verdict_is_completed_with_its_entry():
    entry = Entry(RATE, None, "expectations.yaml:9", (waiver(),), TODAY)

    assert entry.completer("test_links.py::t")(verdict(Outcome.FAIL, finding())) == Verdict(
        id="isl-4x-hdr",
        kind="link-rate",
        nodeid="test_links.py::t",
        outcome=Outcome.WAIVED,
        sentence="so it is",
        because="ordered so",
        coverage=Coverage(2, 2),
        findings=(finding(waived=COVERED),),
        source="expectations.yaml:9",
        area="links",
        severity="critical",
    )


def test_a_cable_has_only_its_own_waivers():
    others = (waiver("SwitchA/14"), waiver("SwitchC/1 - SwitchB/25"))
    entry = Entry(RATE, CABLE, "expectations.yaml:9", others, TODAY)

    done = entry.completer("t")(verdict(Outcome.PASS))
    assert (done.id, done.outcome, done.findings) == (
        "isl-4x-hdr:SwitchA/13 - SwitchB/25",
        Outcome.PASS,
        (),
    )

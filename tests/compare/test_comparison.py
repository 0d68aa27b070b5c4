"""Two runs as a whole: recorded by the observer of captured text, judged by the suite."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from ibaccept.checks.catalogue import kinds
from ibaccept.compare.comparison import compare, dump
from ibaccept.compare.findings import Status
from ibaccept.compare.past import PastRun
from ibaccept.load.result import LoadRuns
from ibaccept.report.json_report import VerdictsDocument
from ibaccept.verdict import Coverage, Finding, Outcome, Subject, Verdict
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.answer import Answer, Counts, NotRun

RATE = {"id": "rate", "kind": "link-rate", "links": "isl", "width": "4X", "speed": "HDR"}
EVEN = {
    "id": "even",
    "kind": "lid-spread",
    "lids": "clients",
    "per_cable": "even",
}


@pytest.fixture
def run(site_of, tmp_path):
    """A past run of two switches with two cables; the verdict of one entry about the first."""

    def make(outcome="pass", *, cables=2, started="2026-11-30T10:00:00Z", entry=RATE, **parts):
        site = site_of("a", "b")
        for port in range(1, cables + 1):
            site.cable("a", port, "b", port)
        snapshot = parts.pop("snapshot", None) or site.seen()
        subject = Subject("link", "a/1 - b/1", (str(site.guid("a")), str(site.guid("b"))), (1, 1))
        findings = () if outcome == "pass" else (Finding(subject, "fail", "4X HDR", "1X HDR"),)
        verdict = Verdict(
            *(entry["id"], entry["kind"], "", Outcome(outcome), "said", "", Coverage(2, 2)),
            findings,
        )
        known = {
            "schema": 1,
            "result": Answer.ACCEPTED,
            "exit_code": 0,
            "counts": Counts(),
            "fabric": "hall-3",
            "started": started,
            "ended": "",
            "verdicts": (verdict,),
            "observer": "mgmt01",
        }
        document = VerdictsDocument(**{**known, **parts.pop("document", {})})
        order = kinds()[entry["kind"]].model_validate(entry)
        settings = {"workloads": (), "ceilings": None, **parts.pop("settings", {})}
        inputs = SimpleNamespace(
            plan=parts.pop("plan", None), expectations=SimpleNamespace(entries=(order,), **settings)
        )
        return PastRun(tmp_path, document, inputs, snapshot, parts.pop("loads", None))

    return make


def statuses(comparison):
    return [(row.status, row.why) for row in comparison.findings]


def test_nothing_new(run):
    comparison = compare(run(), run())

    assert (comparison.findings, comparison.entries, comparison.hardware) == ((), (), ())
    assert (comparison.warnings, comparison.rates) == ((), ())
    assert (comparison.is_worse, comparison.is_unknown) == (False, False)


def test_a_fault_that_was_mended(run):
    assert statuses(compare(run("fail"), run())) == [(Status.FIXED, "")]


def test_a_faulty_cable_that_was_pulled_is_not_mended(run):
    old, new = run("fail", cables=2), run()
    without = run(cables=0)

    comparison = compare(old, replace(new, snapshot=without.snapshot))
    assert statuses(comparison) == [(Status.UNJUDGED, "it is not in the fabric of the new run")]
    assert comparison.is_unknown


def test_of_a_fabric_that_was_not_seen_nothing_is_mended(run):
    blind = NotSeen("the captures of x", "captures/0001-ibstat.txt was changed")

    comparison = compare(run("fail"), replace(run(), snapshot=blind))
    assert statuses(comparison) == [(Status.UNJUDGED, "the fabric of the new run was not seen")]
    assert (comparison.hardware, comparison.counters, comparison.routes) == (blind,) * 3
    assert comparison.warnings == (
        f"{run().folder} could not be read in full, so less is compared: "
        "captures/0001-ibstat.txt was changed",
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"entry": {**RATE, "speed": "EDR"}},
            "the entry expects something else in the new run",
        ),
        ({"entry": {**RATE, "because": "sold as HDR"}}, ""),
    ],
)
def test_an_entry_that_expects_something_else_mends_nothing(run, change, why):
    (row,) = compare(run("fail"), run(**change)).findings

    assert row.why == why


def test_another_job_is_another_order_of_entries_about_the_job(run):
    old = run("fail", entry=EVEN, document={"job": "clients n[1-2]"})
    new = run(entry=EVEN, document={"job": "clients n[1-4]"})

    comparison = compare(old, new)
    assert statuses(comparison) == [(Status.UNJUDGED, "the job is another")]
    assert comparison.warnings == (
        "the jobs differ: clients n[1-2]; clients n[1-4]",
        "1 of the entries are not held against each other (the job is another)",
    )


def test_what_a_reader_must_know_first(run):
    old = run(document={"fabric": "hall-4", "observer": "mgmt02"})

    assert compare(old, run()).warnings == (
        "the runs are about hall-4 and hall-3: is it one fabric?",
        "other observers: mgmt02 and mgmt01",
    )


def test_an_entry_that_did_not_run(run):
    new = run(document={"not_run": {"rate": NotRun("deselected by -k")}})
    new = replace(new, document=replace(new.document, verdicts=()))

    comparison = compare(run("fail"), new)
    assert statuses(comparison) == [(Status.UNJUDGED, "not run: deselected by -k")]
    assert [(e.entry, e.was, e.now) for e in comparison.entries] == [("rate", "fail", "not run")]


def test_rates_of_one_run_alone_are_not_compared(run):
    silent = NotSeen("the load runs of x", "captures were cut")

    assert compare(run(), run()).rates == ()
    assert compare(run(loads=LoadRuns()), run()).rates == NotSeen(
        "the rates", "the new run made no load runs", "run with --load"
    )
    assert compare(run(), run(loads=silent)).rates == NotSeen(
        "the rates", "the old run made no load runs", "run with --load"
    )
    assert compare(run(loads=LoadRuns()), run(loads=LoadRuns())).rates == ()
    assert compare(run(loads=silent), run(loads=silent)).rates == silent


def test_the_json_holds_everything_and_absences_as_such(run):
    blind = NotSeen("the captures of x", "cut", "run again")
    data = json.loads(json.dumps(dump(compare(run("fail"), replace(run(), snapshot=blind)))))

    assert set(data) == {
        *("schema", "old", "new", "warnings", "findings", "entries"),
        *("hardware", "counters", "routes", "rates"),
    }
    assert data["counters"] == {
        "what": "the captures of x",
        "reason": "cut",
        "hint": "run again",
        "captures": [],
    }
    assert data["findings"][0]["status"] == "no longer judged"

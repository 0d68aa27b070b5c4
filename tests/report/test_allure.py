"""allure-results/, compared whole: status, labels, attachments, ids that make trends work."""

import json
import uuid
from dataclasses import replace

from ibaccept.report import NotRun, allure, failure_text, json_report, overall
from ibaccept.verdict import Outcome


def results(verdicts, meta, not_run=None):
    """The result files by entry id, and the names of all files."""
    files = allure.render(verdicts, meta, overall(verdicts, not_run or {}))
    items = [json.loads(text) for name, text in files.items() if name.endswith("-result.json")]
    return {item["name"]: item for item in items}, files


def labels(feature, story, suite, severity):
    rows = (
        ("severity", severity),
        ("epic", "hall-3"),
        ("feature", feature),
        ("story", story),
        ("parentSuite", "hall-3"),
        ("suite", suite),
        ("host", "mgmt01"),
        ("framework", "ibaccept"),
        ("language", "python"),
    )
    return [{"name": name, "value": value} for name, value in rows]


UUID = "5f401dc0-99c0-51fd-af2d-530c8a9785da"
ATTACHED = (
    ("evidence", "text/plain", "txt"),
    ("verdict", "application/json", "json"),
    ("counters", "text/csv", "csv"),
    ("routes", "text/plain", "txt"),
    ("captured lines", "text/plain", "txt"),
)


def test_a_failure_whole(meta, failed):
    items, files = results([failed], meta)

    assert items == {
        "isl-4x-hdr": {
            "name": "isl-4x-hdr",
            "status": "failed",
            "statusDetails": {
                "message": "2 of 96 inter-switch links are not 4X HDR",
                "trace": failure_text(failed, 100),
            },
            "stage": "finished",
            "description": "because: spine ordered as HDR",
            "attachments": [
                {
                    "name": name,
                    "source": f"{uuid.uuid5(uuid.UUID(UUID), name)}-attachment.{ending}",
                    "type": kind,
                }
                for name, kind, ending in ATTACHED
            ],
            "start": 1796033763000,
            "stop": 1796033921000,
            "uuid": UUID,
            "historyId": "77a480378516f65ea5e6decff2c13b5c",
            "testCaseId": "c878d958927b9b07d17a15c10d3e599e",
            "fullName": "tests_fabric.test_links#test_link_rate[isl-4x-hdr]",
            "labels": labels("links", "link-rate", "tests_fabric.test_links", "critical"),
            "titlePath": ["tests_fabric", "test_links"],
        }
    }
    *attached, result = files.items()
    assert (result[0], [name for name, _ in attached]) == (
        f"{UUID}-result.json",
        [row["source"] for row in items["isl-4x-hdr"]["attachments"]],
    )
    evidence, verdict, counters, routes, lines = (text for _, text in attached)
    assert evidence == failure_text(failed, 100) + "\n"
    assert json.loads(verdict) == json_report.dump_verdict(failed)
    assert counters.splitlines() == [
        "port,counter,before,after,growth,seconds,state",
        "leaf01/2,SymbolErrorCounter,0,47,47,60.0,ok",
        "leaf01/2,LinkDownedCounter,255,255,,60.0,saturated",
    ]
    assert routes == "LID 10 to 87: node001 -> leaf01/2 -> spine01/5 -> node087, delivered\n"
    assert lines == (
        "captures/0003-iblinkinfo.txt:12:    5    2[ ] ==( 4X    25.78125 Gbps Active/  LinkUp)"
        "==> ...\n"
    )


def test_statuses(meta, verdicts, not_run, passed):
    not_run = not_run | {"cut-short": NotRun("the run was interrupted")}
    skipped = replace(passed, id="skipped", outcome=Outcome.SKIP, sentence="needs --load")
    items, _ = results([*verdicts, skipped], meta, not_run)

    assert {
        name: (item["status"], item["statusDetails"]["message"], "trace" in item["statusDetails"])
        for name, item in items.items()
    } == {
        "one-sm": ("passed", "1 of 1 masters runs on a host", False),
        "skipped": ("skipped", "needs --load", False),
        "all-cabled": (
            "skipped",
            "waived (RMA-4711: cable on order): 1 of 480 planned cables is missing",
            False,
        ),
        "isl-4x-hdr": ("failed", "2 of 96 inter-switch links are not 4X HDR", True),
        "no-errors": ("broken", "1 of 1,580 links could not be judged", True),
        "fabric-carries": ("skipped", "not run: needs --load", False),
        "cut-short": ("broken", "not run: the run was interrupted", False),
    }
    assert items["all-cabled"]["statusDetails"]["known"] is True
    assert {name: item["labels"][0]["value"] for name, item in items.items()} == {
        "one-sm": "blocker",
        "skipped": "blocker",
        "all-cabled": "critical",
        "isl-4x-hdr": "critical",
        "no-errors": "critical",
        "fabric-carries": "normal",
        "cut-short": "normal",
    }


def test_history_follows_an_entry_whatever_was_found(meta, failed):
    """Another run has other uuids and the same history; the same run again has the same files."""
    met = replace(failed, outcome=Outcome.PASS, findings=(), sentence="96 of 96 are 4X HDR")
    later = replace(meta, started="2026-12-01T10:16:03Z", ended="2026-12-01T10:17:03Z")
    (first, files), (second, _) = results([failed], meta), results([met], later)
    (elsewhere, _) = results([failed], replace(meta, fabric="hall-4"))
    ids = [run["isl-4x-hdr"] for run in (first, second, elsewhere)]

    assert [item["historyId"] == ids[0]["historyId"] for item in ids] == [True, True, False]
    assert [item["testCaseId"] == ids[0]["testCaseId"] for item in ids] == [True, True, True]
    assert len({item["uuid"] for item in ids}) == 3
    assert results([failed], meta)[1] == files


def test_markdown_and_html_of_a_reason_do_not_act(meta, failed):
    items, _ = results([replace(failed, because="<img src=x onerror=alert(1)>")], meta)

    assert items["isl-4x-hdr"]["description"] == ("because: &lt;img src=x onerror=alert(1)&gt;")


def test_cells_and_lines_do_not_act(failed, slow_link):
    """A port's name comes from the fabric: no formula, no escape."""
    port = "=cmd|' /C calc'!A0/2"
    named = replace(
        slow_link,
        counters=tuple(replace(counter, port=port) for counter in slow_link.counters),
        captures=(replace(slow_link.captures[0], text="sw\x1b[2J"),),
    )
    texts = {
        name: text for name, _, text in allure.attachments(replace(failed, findings=(named, named)))
    }

    assert [row.partition(",")[0] for row in texts["counters"].splitlines()[1:]] == [f"'{port}"] * 2
    assert texts["captured lines"] == "captures/0003-iblinkinfo.txt:12: sw\\x1b[2J\n"

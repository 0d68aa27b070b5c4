"""allure-results/, compared whole: status, labels, attachments, ids that make trends work."""

import json
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
                    "name": "evidence",
                    "source": "0b2204be-0495-5e41-ae46-62b445d482e7-attachment.txt",
                    "type": "text/plain",
                },
                {
                    "name": "verdict",
                    "source": "9fabc96f-31ad-5556-b221-81005f756bc1-attachment.json",
                    "type": "application/json",
                },
            ],
            "start": 1796033763000,
            "stop": 1796033921000,
            "uuid": "5f401dc0-99c0-51fd-af2d-530c8a9785da",
            "historyId": "77a480378516f65ea5e6decff2c13b5c",
            "testCaseId": "c878d958927b9b07d17a15c10d3e599e",
            "fullName": "tests_fabric.test_links#test_link_rate[isl-4x-hdr]",
            "labels": labels("links", "link-rate", "tests_fabric.test_links", "critical"),
            "titlePath": ["tests_fabric", "test_links"],
        }
    }
    assert list(files) == [
        "0b2204be-0495-5e41-ae46-62b445d482e7-attachment.txt",
        "9fabc96f-31ad-5556-b221-81005f756bc1-attachment.json",
        "5f401dc0-99c0-51fd-af2d-530c8a9785da-result.json",
    ]
    assert (
        files["0b2204be-0495-5e41-ae46-62b445d482e7-attachment.txt"]
        == failure_text(failed, 100) + "\n"
    )
    assert json.loads(
        files["9fabc96f-31ad-5556-b221-81005f756bc1-attachment.json"]
    ) == json_report.dump_verdict(failed)


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

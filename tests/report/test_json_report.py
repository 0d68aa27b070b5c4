"""verdicts.json: the contract, the round trip, the stable order."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ibaccept.errors import IbacceptError
from ibaccept.report import json_report, overall

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def write(tmp_path, meta, not_run):
    def write(verdicts, meta=meta):
        path = tmp_path / "verdicts.json"
        path.write_text(
            json_report.render(verdicts, meta, overall(verdicts, not_run)), encoding="utf-8"
        )
        return path

    return write


def test_the_whole_document(write, failed):
    assert json.loads(write((failed,)).read_text()) == {
        "schema": 1,
        "result": "NOT ACCEPTED",
        "exit_code": 1,
        "counts": {
            "passed": 0,
            "failed": 1,
            "errors": 0,
            "waived": 0,
            "skipped": 0,
            "not_run": 1,
        },
        "fabric": "hall-3",
        "started": "2026-11-30T10:16:03Z",
        "ended": "2026-11-30T10:18:41Z",
        "observer": "mgmt01",
        "run": "2026-11-30T101603Z-hall-3",
        "expectations": "expectations.yaml",
        "replayed": "",
        "ibaccept": "0.1.0",
        "job": "clients node[001-012]",
        "tools": {"ibnetdiscover": "44.0", "perfquery": "44.0"},
        "warnings": ["2 hosts had no SSH"],
        "not_run": {
            "fabric-carries": {
                "reason": "needs --load",
                "deliberate": True,
                "kind": "rdma-ceiling",
                "nodeid": "",
            }
        },
        "verdicts": [
            {
                "id": "isl-4x-hdr",
                "kind": "link-rate",
                "nodeid": "tests_fabric/test_links.py::test_link_rate[isl-4x-hdr]",
                "outcome": "fail",
                "sentence": "2 of 96 inter-switch links are not 4X HDR",
                "because": "spine ordered as HDR",
                "coverage": {"judged": 96, "of": 96},
                "findings": [
                    {
                        "subject": {
                            "kind": "link",
                            "name": "leaf01/2 - spine01/2",
                            "guids": ["0x0002c90300000001", "0x0002c90300000002"],
                            "ports": [2, 2],
                        },
                        "outcome": "fail",
                        "expected": "4X HDR",
                        "found": "4X EDR",
                        "hint": "",
                        "counters": [
                            {
                                "name": "SymbolErrorCounter",
                                "port": "leaf01/2",
                                "before": 0,
                                "after": 47,
                                "seconds": 60.0,
                                "bits": 16,
                                "state": "ok",
                            },
                            {
                                "name": "LinkDownedCounter",
                                "port": "leaf01/2",
                                "before": 255,
                                "after": 255,
                                "seconds": 60.0,
                                "bits": 8,
                                "state": "saturated",
                            },
                        ],
                        "routes": {
                            "crossing": 118,
                            "of": 4032,
                            "examples": [
                                {
                                    "slid": 10,
                                    "dlid": 87,
                                    "hops": ["node001", "leaf01/2", "spine01/5", "node087"],
                                    "disposition": "delivered",
                                }
                            ],
                            "whose": "",
                        },
                        "captures": [
                            {
                                "file": "captures/0003-iblinkinfo.txt",
                                "line": 12,
                                "text": "   5    2[ ] ==( 4X    25.78125 Gbps Active/  "
                                "LinkUp)==> ...",
                            }
                        ],
                        "again": "ssh mgmt01 'iblinkinfo --line' | grep 0x0002c90300000001",
                        "missing": [],
                        "waived": None,
                    }
                ],
                "source": "expectations.yaml:9",
                "area": "links",
                "tables": [],
                "notes": [],
                "severity": "normal",
            }
        ],
    }


def test_round_trip_in_the_order_of_the_expectations(
    write, verdicts, failed, not_judged, waived, passed
):
    assert json_report.load(write(verdicts)) == (passed, waived, failed, not_judged)
    assert json_report.load(write(())) == ()


def test_two_runs_differ_only_in_the_head(write, verdicts, meta):
    later = replace(
        meta,
        started="2026-12-01T10:16:03Z",
        ended="2026-12-01T10:17:00Z",
        run_dir=Path("reports/2026-12-01T101603Z-hall-3"),
    )

    first = write(verdicts).read_bytes().splitlines()
    second = write(tuple(reversed(verdicts)), later).read_bytes().splitlines()

    assert [a.split(b":")[0] for a, b in zip(first, second, strict=True) if a != b] == [
        b' "started"',
        b' "ended"',
        b' "run"',
    ]


def test_a_finding_is_one_line(write, failed, slow_link):
    two = replace(failed, findings=(slow_link, replace(slow_link, found="2X HDR")))

    lines = [line for line in write((two,)).read_text().splitlines() if "leaf01/2 - spine" in line]

    assert [json.loads(line.rstrip(","))["found"] for line in lines] == ["4X EDR", "2X HDR"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON (Expecting property name enclosed in double quotes: line 1 column 2 "
              "(char 1)); it is cut or was edited: judge the bundle again with --replay"),
        ("[]", "has schema None, this ibaccept reads schema 1; use the version that wrote it, "
               "or judge the bundle again with --replay"),
        ('{"schema": 2}', "has schema 2, this ibaccept reads schema 1; use the version that "
                          "wrote it, or judge the bundle again with --replay"),
    ],
)  # fmt: skip
def test_what_is_no_verdicts_json_is_refused(tmp_path, text, message):
    path = tmp_path / "verdicts.json"
    path.write_text(text)

    with pytest.raises(IbacceptError) as caught:
        json_report.load(path)

    assert str(caught.value) == f"{path} {message}"


def test_a_field_of_the_wrong_type_is_named(write, failed):
    path = write((failed,))
    path.write_text(path.read_text().replace('"judged": 96', '"judged": "most"'))

    with pytest.raises(IbacceptError) as caught:
        json_report.load(path)

    assert str(caught.value) == (
        f"{path}: verdicts.0.coverage.judged: Input should be a valid integer, unable to parse "
        "string as an integer (1 such); it was edited or written by another version: "
        "judge the bundle again with --replay"
    )


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(IbacceptError) as caught:
        json_report.load(tmp_path / "verdicts.json")

    assert str(caught.value) == (
        f"{tmp_path / 'verdicts.json'} could not be read (No such file or directory); "
        "name the folder of a finished run"
    )


def test_no_nan_is_written(write, failed, slow_link):
    counter = replace(slow_link.counters[0], seconds=float("nan"))
    bad = replace(failed, findings=(replace(slow_link, counters=(counter,)),))

    with pytest.raises(ValueError, match=r"^Out of range float values are not JSON compliant"):
        write((bad,))


def test_the_schema_in_docs_is_the_one_of_the_code(tmp_path):
    json_report.write_schema(tmp_path / "schema.json")

    assert (tmp_path / "schema.json").read_text() == (
        ROOT / "docs/verdicts.schema.json"
    ).read_text()
    assert json_report.schema()["properties"]["schema"]["const"] == 1

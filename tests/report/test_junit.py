"""junit.xml, compared whole, and what CI servers need of it."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from ibaccept.report import NotRun, failure_text, junit, overall
from ibaccept.verdict import Outcome


def parse(text):
    return ET.fromstring(text)  # noqa: S314 - our own output, no entities


def tree(element):
    """Tag, attributes, text and children, for comparison."""
    text = (element.text or "").strip()
    return (element.tag, element.attrib, text, [tree(child) for child in element])


def leaf(tag, attributes, text=""):
    return (tag, attributes, text, [])


def properties(**rows):
    return (
        "properties",
        {},
        "",
        [leaf("property", {"name": name, "value": value}) for name, value in rows.items()],
    )


def test_whole(verdicts, meta, not_run, failed, not_judged, waived, passed):
    text = junit.render(verdicts, meta, overall(verdicts, not_run))
    totals = {"tests": "5", "failures": "1", "errors": "1", "skipped": "2", "time": "158.000"}

    assert tree(parse(text)) == (
        "testsuites",
        {"name": "ibaccept", **totals},
        "",
        [
            (
                "testsuite",
                {
                    "name": "ibaccept.hall-3",
                    "timestamp": "2026-11-30T10:16:03Z",
                    "hostname": "mgmt01",
                    **totals,
                },
                "",
                [
                    properties(
                        result="NOT ACCEPTED",
                        fabric="hall-3",
                        started="2026-11-30T10:16:03Z",
                        ended="2026-11-30T10:18:41Z",
                        observer="mgmt01",
                        job="clients node[001-012]",
                        expectations="expectations.yaml",
                        ibaccept="0.1.0",
                        ibnetdiscover="44.0",
                        perfquery="44.0",
                        warning="2 hosts had no SSH",
                    ),
                    (
                        "testcase",
                        {
                            "classname": "tests_fabric.test_subnet",
                            "name": "test_subnet_manager[one-sm]",
                        },
                        "",
                        [
                            properties(
                                id="one-sm",
                                kind="subnet-manager",
                                area="subnet",
                                source="expectations.yaml:7",
                                because="embedded SMs hide routing options",
                                coverage="1 of 1 judged",
                            ),
                            leaf("system-out", {}, failure_text(passed, 100)),
                        ],
                    ),
                    (
                        "testcase",
                        {
                            "classname": "tests_fabric.test_cabling",
                            "name": "test_cabling[all-cabled]",
                        },
                        "",
                        [
                            properties(
                                id="all-cabled",
                                kind="cabling",
                                area="cabling",
                                source="expectations.yaml:8",
                                coverage="480 of 480 judged",
                            ),
                            leaf(
                                "skipped",
                                {
                                    "type": "waived",
                                    "message": "waived (RMA-4711: cable on order): "
                                    "1 of 480 planned cables is missing",
                                },
                            ),
                            leaf("system-out", {}, failure_text(waived, 100)),
                        ],
                    ),
                    (
                        "testcase",
                        {
                            "classname": "tests_fabric.test_links",
                            "name": "test_link_rate[isl-4x-hdr]",
                        },
                        "",
                        [
                            properties(
                                id="isl-4x-hdr",
                                kind="link-rate",
                                area="links",
                                source="expectations.yaml:9",
                                because="spine ordered as HDR",
                                coverage="96 of 96 judged",
                            ),
                            leaf(
                                "failure",
                                {
                                    "type": "fail",
                                    "message": "2 of 96 inter-switch links are not 4X HDR",
                                },
                                failure_text(failed, 100),
                            ),
                        ],
                    ),
                    (
                        "testcase",
                        {
                            "classname": "tests_fabric.test_counters",
                            "name": "test_error_counters[no-errors]",
                        },
                        "",
                        [
                            properties(
                                id="no-errors",
                                kind="error-counters",
                                area="counters",
                                source="expectations.yaml:10",
                                coverage="1,579 of 1,580 judged",
                            ),
                            leaf(
                                "error",
                                {
                                    "type": "error",
                                    "message": "1 of 1,580 links could not be judged",
                                },
                                failure_text(not_judged, 100),
                            ),
                        ],
                    ),
                    (
                        "testcase",
                        {"classname": "ibaccept.rdma-ceiling", "name": "fabric-carries"},
                        "",
                        [
                            leaf(
                                "skipped",
                                {"type": "not-run", "message": "not run: needs --load"},
                            )
                        ],
                    ),
                ],
            )
        ],
    )


def test_names_hold_nothing_measured(meta, failed, not_judged):
    """The same entries with other findings keep class name and name, so a history stays one."""

    def names(*verdicts, not_run=()):
        root = parse(junit.render(verdicts, meta, overall(verdicts, dict(not_run))))
        return [(c.get("classname"), c.get("name")) for c in root.iter("testcase")]

    met = replace(failed, outcome=Outcome.PASS, findings=(), sentence="96 of 96 are 4X HDR")
    skipped = replace(failed, outcome=Outcome.SKIP, findings=(), sentence="needs --load")
    away = NotRun("deselected", nodeid=failed.nodeid)
    both = [
        ("tests_fabric.test_links", "test_link_rate[isl-4x-hdr]"),
        ("tests_fabric.test_counters", "test_error_counters[no-errors]"),
    ]

    assert names(failed, not_judged) == both
    assert names(met, not_judged) == both
    assert names(skipped, not_judged) == both
    assert names(not_judged, not_run=[("isl-4x-hdr", away)]) == both[::-1]


def test_a_run_without_times_has_no_duration(meta, passed):
    text = junit.render((passed,), replace(meta, ended=""), overall((passed,), {}))

    assert parse(text).attrib == {
        "name": "ibaccept",
        "tests": "1",
        "failures": "0",
        "errors": "0",
        "skipped": "0",
    }


@pytest.mark.parametrize(
    ("not_run", "cases"),
    [
        ({}, [("anything-judged", "error")]),
        (
            {"a": NotRun("needs --load", deliberate=True)},
            [("a", "skipped"), ("anything-judged", "error")],
        ),
        (
            {"a": NotRun("needs --load", deliberate=True), "b": NotRun("interrupted")},
            [("a", "skipped"), ("b", "error")],
        ),
    ],
)
def test_a_run_cut_short_or_of_nothing_is_red_in_ci(meta, not_run, cases):
    root = parse(junit.render((), meta, overall((), not_run)))

    assert [(case.get("name"), case[-1].tag) for case in root.iter("testcase")] == cases
    assert [root.get(key) for key in ("tests", "failures", "errors", "skipped")] == [
        str(len(cases)),
        "0",
        "1",
        str(len(cases) - 1),
    ]

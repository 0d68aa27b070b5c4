"""One run told by every report: a failure with all evidence, an error, a waiver, a pass."""

from pathlib import Path

import pytest

from ibaccept.report import NotRun, RunMeta
from ibaccept.verdict import Coverage, Finding, Outcome, Subject, Table, Verdict
from ibaccept.verdict.evidence import CaptureRef, Counter, RouteExample, RouteRef

LEAF = "0x0002c90300000001"
SPINE = "0x0002c90300000002"


def counter(name, port, before, after, bits=16):
    return Counter.between(name, port, before, after, seconds=60.0, bits=bits)


@pytest.fixture(scope="session")
def slow_link():
    """The finding of the design's example."""
    return Finding(
        Subject("link", "leaf01/2 - spine01/2", (LEAF, SPINE), (2, 2)),
        "fail",
        "4X HDR",
        "4X EDR",
        counters=(
            counter("SymbolErrorCounter", "leaf01/2", 0, 47),
            counter("LinkDownedCounter", "leaf01/2", 255, 255, bits=8),
        ),
        routes=RouteRef(
            118,
            4032,
            (RouteExample(10, 87, ("node001", "leaf01/2", "spine01/5", "node087"), "delivered"),),
        ),
        captures=(
            CaptureRef(
                "captures/0003-iblinkinfo.txt",
                12,
                "   5    2[ ] ==( 4X    25.78125 Gbps Active/  LinkUp)==> ...",
            ),
        ),
        again="ssh mgmt01 'iblinkinfo --line' | grep 0x0002c90300000001",
    )


@pytest.fixture(scope="session")
def failed(slow_link):
    return Verdict(
        id="isl-4x-hdr",
        kind="link-rate",
        nodeid="tests_fabric/test_links.py::test_link_rate[isl-4x-hdr]",
        outcome=Outcome.FAIL,
        sentence="2 of 96 inter-switch links are not 4X HDR",
        because="spine ordered as HDR",
        coverage=Coverage(96, 96),
        findings=(slow_link,),
        source="expectations.yaml:9",
        area="links",
    )


@pytest.fixture(scope="session")
def not_judged():
    return Verdict(
        id="no-errors",
        kind="error-counters",
        nodeid="tests_fabric/test_counters.py::test_error_counters[no-errors]",
        outcome=Outcome.ERROR,
        sentence="1 of 1,580 links could not be judged",
        because="",
        coverage=Coverage(1579, 1580),
        findings=(
            Finding(
                Subject("link", "leaf07/3 - node101/1", ("0x7", "0x101"), (3, 1)),
                "error",
                "no growth in 60 s",
                "perfquery of LID 12 port 3 timed out",
                hint="look at the management port of leaf07, then run again",
                missing=("the second reading of leaf07/3 was not had",),
                again="ssh mgmt01 perfquery -x 12 3",
            ),
        ),
        source="expectations.yaml:10",
        area="counters",
    )


@pytest.fixture(scope="session")
def waived():
    return Verdict(
        id="all-cabled",
        kind="cabling",
        nodeid="tests_fabric/test_cabling.py::test_cabling[all-cabled]",
        outcome=Outcome.WAIVED,
        sentence="1 of 480 planned cables is missing",
        because="",
        coverage=Coverage(480, 480),
        findings=(
            Finding(
                Subject("link", "leaf01/17 - spine03/9", (LEAF, "0x3"), (17, 9)),
                "fail",
                "a cable",
                "leaf01/17 is down",
                waived="RMA-4711: cable on order",
            ),
        ),
        source="expectations.yaml:8",
        area="cabling",
    )


@pytest.fixture(scope="session")
def passed():
    return Verdict(
        id="one-sm",
        kind="subnet-manager",
        nodeid="tests_fabric/test_subnet.py::test_subnet_manager[one-sm]",
        outcome=Outcome.PASS,
        sentence="1 of 1 masters runs on a host",
        because="embedded SMs hide routing options",
        coverage=Coverage(1, 1),
        source="expectations.yaml:7",
        area="subnet",
        tables=(Table("Subnet managers", ("host", "priority"), (("mgmt01", "14"),)),),
        notes=("A standby would be seen by sminfo only.",),
    )


@pytest.fixture(scope="session")
def verdicts(failed, not_judged, waived, passed):
    """In no particular order, as workers hand them in."""
    return (failed, passed, not_judged, waived)


@pytest.fixture(scope="session")
def not_run():
    return {"fabric-carries": NotRun("needs --load", deliberate=True, kind="rdma-ceiling")}


@pytest.fixture(scope="session")
def meta():
    return RunMeta(
        fabric="hall-3",
        started="2026-11-30T10:16:03Z",
        ended="2026-11-30T10:18:41Z",
        tools={"perfquery": "44.0", "ibnetdiscover": "44.0"},
        observer="mgmt01",
        run_dir=Path("reports/2026-11-30T101603Z-hall-3"),
        expectations="expectations.yaml",
        ibaccept="0.1.0",
        job="clients node[001-012]",
        warnings=("2 hosts had no SSH",),
    )

"""expectations.yaml: accepted whole, or refused with a sentence and a line for every problem."""

from datetime import date
from pathlib import Path

import pytest

from ibaccept.checks import Expectations, Waiver, expectations, load_expectations, read_expectations
from ibaccept.checks.cabling import Cabling
from ibaccept.checks.counters import ErrorCounters
from ibaccept.checks.links import LinkCount, LinkRate, RateOrder
from ibaccept.checks.routes.kinds import Delivery, LidSpread
from ibaccept.checks.selector import LinkSelector
from ibaccept.checks.subnet import SubnetManager
from ibaccept.checks.throughput.kinds import CableLoad, Filesystem, Forecast, RdmaCeiling
from ibaccept.errors import InputError
from ibaccept.fabric.model import Fabric, Guid, Node, NodeType, Port, PortId, Rate, Speed, Width
from ibaccept.fabric.units import Bandwidth, Duration, Percent, Size
from ibaccept.site.adaptive import AdaptiveRouting, FileSign
from ibaccept.site.fields import parse_guid
from ibaccept.site.files import SiteFiles
from ibaccept.site.inventory import read_inventory
from ibaccept.site.plan import End, Plan, PlannedCable
from ibaccept.site.settings import FilesystemWorkload, JobSetting, RdmaWorkload, Workloads
from ibaccept.site.yamlfile import loads
from ibaccept.verdict.evidence import CaptureRef

WHOLE = """\
version: 1
fabric: hall-3
adaptive_routing: off
ceilings: {4X HDR: 22.6 GiB/s}
job: {clients: "node[001-012]", storage: storage}
expect:
  - {id: one-sm, kind: subnet-manager, on: host, guid: 0x0002c90300000001, standbys: 0}
  - {id: all-cabled, kind: cabling, plan: cables.csv, severity: blocker, marks: [nightly]}
  - {id: isl-count, kind: link-count, between: [SwitchA, SwitchB], count: 8}
  - {id: isl-hdr, kind: link-rate, links: isl, width: 4X, speed: HDR, each: cable, because: ordered}
  - id: no-errors
    kind: error-counters
    links: {nodes: storage, except: {names: "x*"}}
    window: 60s
    limits: {SymbolErrorCounter: 10}
  - {id: delivered, kind: routes, every: pair, max_hops: 4}
  - {id: reads-spread, kind: lid-spread, lids: clients, per_cable: even}
  - {id: read-is-write, kind: filesystem, read_within: 5%, of: write}
  - {id: carries, kind: rdma-ceiling, relation: at-least, of: filesystem-write, within: 5%}
  - {id: as-forecast, kind: forecast, within: 5%}
  - {id: hot, kind: cable-load, during: rdma, at_most: 90%, while_under: 50%}
  - {id: clean-load, kind: error-counters, links: isl, window: load}
workloads:
  filesystem: {tool: fio, path: /scratch/x, size_per_client: 64GiB}
  rdma: {duration: 10s}
waivers:
  - {expectation: isl-hdr, subject: leaf01/17, until: 2027-01-31, ticket: RMA-1, because: ordered}
"""
PLAN = "a_name,a_port,b_name,b_port\nSwitchA,13,SwitchB,25\n"


def write(folder: Path, text: str = WHOLE, plan: str = PLAN) -> Path:
    (folder / "cables.csv").write_text(plan)
    path = folder / "expectations.yaml"
    path.write_text(text)
    return path


def test_a_whole_file(tmp_path: Path):
    path = write(tmp_path)
    five = Percent(5)

    loaded = load_expectations(path, name="expectations.yaml")

    assert loaded == Expectations(
        file="expectations.yaml",
        fabric="hall-3",
        adaptive_routing=AdaptiveRouting(
            "off", CaptureRef("inputs/expectations.yaml", 3, "adaptive_routing: off")
        ),
        ceilings={Rate(Width.X4, Speed.HDR): Bandwidth.from_gib(22.6)},
        job=JobSetting(clients="node[001-012]", storage="storage"),
        entries=(
            SubnetManager(
                id="one-sm",
                kind="subnet-manager",
                on="host",
                guid=Guid(0x0002C90300000001),
                standbys=0,
            ),
            Cabling(
                id="all-cabled",
                kind="cabling",
                plan="cables.csv",
                severity="blocker",
                marks=("nightly",),
            ),
            LinkCount(id="isl-count", kind="link-count", between=("SwitchA", "SwitchB"), count=8),
            LinkRate(
                id="isl-hdr",
                kind="link-rate",
                links=LinkSelector(type="isl"),
                width=Width.X4,
                speed=Speed.HDR,
                each="cable",
                because="ordered",
            ),
            ErrorCounters(
                id="no-errors",
                kind="error-counters",
                links=LinkSelector.model_validate({"nodes": "storage", "except": {"names": "x*"}}),
                window=Duration(60),
                limits={"SymbolErrorCounter": 10},
            ),
            Delivery(id="delivered", kind="routes", max_hops=4),
            LidSpread(id="reads-spread", kind="lid-spread", lids="clients", per_cable="even"),
            Filesystem(id="read-is-write", kind="filesystem", read_within=five, of="write"),
            RdmaCeiling(
                id="carries",
                kind="rdma-ceiling",
                relation="at-least",
                of="filesystem-write",
                within=five,
            ),
            Forecast(id="as-forecast", kind="forecast", within=five),
            CableLoad(
                id="hot",
                kind="cable-load",
                during="rdma",
                at_most=Percent(90),
                while_under=Percent(50),
            ),
            ErrorCounters(
                id="clean-load",
                kind="error-counters",
                links=LinkSelector(type="isl"),
                window="load",
            ),
        ),
        lines={
            "one-sm": 7,
            "all-cabled": 8,
            "isl-count": 9,
            "isl-hdr": 10,
            "no-errors": 11,
            "delivered": 16,
            "reads-spread": 17,
            "read-is-write": 18,
            "carries": 19,
            "as-forecast": 20,
            "hot": 21,
            "clean-load": 22,
        },
        workloads=Workloads(
            filesystem=FilesystemWorkload(
                tool="fio", path="/scratch/x", size_per_client=Size(64 << 30)
            ),
            rdma=RdmaWorkload(duration=Duration(10)),
        ),
        waivers=(
            Waiver(
                expectation="isl-hdr",
                subject="leaf01/17",
                until=date(2027, 1, 31),
                ticket="RMA-1",
                because="ordered",
            ),
        ),
        plans={
            "cables.csv": Plan(
                (PlannedCable(End("SwitchA", None, 13), End("SwitchB", None, 25), line=2),),
                str(tmp_path / "cables.csv"),
            )
        },
        job_lines={"clients": 5, "storage": 5},
    )
    assert (loaded.line_of("isl-hdr"), loaded.source(loaded.entries[0])) == (
        10,
        "expectations.yaml:7",
    )
    assert [entry.id for entry in loaded.entries if entry.is_under_load] == [
        "read-is-write",
        "carries",
        "as-forecast",
        "hot",
        "clean-load",
    ]
    assert [entry.id for entry in loaded.entries if entry.needs().job] == [
        "reads-spread",
        "read-is-write",
        "carries",
        "as-forecast",
        "hot",
    ]
    assert loaded.plan == loaded.plans["cables.csv"]


def refused(tmp_path: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        read_expectations(loads(text, name="e.yaml"), SiteFiles(tmp_path))
    return str(caught.value)


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("{id: a, kind: link-rat}", "a: unknown kind 'link-rat'; did you mean 'link-rate'?"),
        ("{id: a}", "a: the key 'kind' is missing"),
        ("{id: a, kind: }", "kind has no value; give one or leave it out"),
        (
            "{id: a, kind: subnet-manager, guid: }",
            "guid has no value; give one or leave it out",
        ),
        (
            "{id: a, kind: link-rate, width: 4X, links: {nodes: }}",
            "links.nodes has no value; give one or leave it out",
        ),
        ("", "expect has no value; give one or leave it out"),
        ("{kind: balance, max_minus_min: 1}", "the key 'id' is missing"),
        ("text", "an entry is a mapping with id and kind, not 'text'"),
        (
            "{id: a b, kind: balance, max_minus_min: 1}",
            "a b: id: must be letters, digits, '.', '_' and '-', at most 64, not 'a b'",
        ),
        (
            "{id: a, kind: link-rate, links: isl, widht: 4X, speed: HDR}",
            "a: unknown key 'widht'; did you mean 'width'?",
        ),
        (
            "{id: a, kind: link-rate, links: isl}",
            "a: nothing is ordered; give width, speed or both",
        ),
        (
            "{id: a, kind: link-rate, links: isl, width: 5X}",
            "a: width: '5X' is not a link width (1X, 2X, 4X, 8X, 12X)",
        ),
        (
            "{id: a, kind: link-rate, links: isls, width: 4X}",
            "a: links: 'isls' is no selection of links; did you mean 'isl'?",
        ),
        (
            "{id: a, kind: link-rate, links: 3, width: 4X}",
            "a: links: must be isl, host, internal, all or a mapping, not 3",
        ),
        (
            "{id: a, kind: link-rate, links: {node: x}, width: 4X}",
            "a: unknown key 'node'; did you mean 'nodes'?",
        ),
        (
            "{id: a, kind: link-rate, links: {except: {exept: isl}}, width: 4X}",
            "a: unknown key 'exept'; did you mean 'except'?",
        ),
        (
            "{id: a, kind: link-rate, links: {nodes: 'n[1-'}, width: 4X}",
            "a: links.nodes: 'n[1-' is not a node set: '[' without ']'",
        ),
        (
            "{id: a, kind: link-rate, links: {nodes: 'n[1-2]*'}, width: 4X}",
            "a: links.nodes: 'n[1-2]*' mixes a pattern (* ?) with a node set ([...]); use one",
        ),
        (
            "{id: a, kind: link-rate, links: isl, width: 4X, each: cable}",
            "a: each: cable needs exactly one plan in the entries of kind cabling; they name none",
        ),
        (
            "{id: a, kind: link-count, between: [A, B], count: true}",
            "a: count: must be a whole number, not true",
        ),
        (
            "{id: a, kind: link-count, between: [A, B], count: 0}",
            "a: count: must be at least 1, not 0",
        ),
        (
            "{id: a, kind: link-count, between: [A], count: 1}",
            "a: between: must be two names",
        ),
        (
            "{id: a, kind: link-count, between: [A, B, C], count: 1}",
            "a: between: must be two names, not 3",
        ),
        (
            "{id: a, kind: subnet-manager, on: hots}",
            "a: on: 'hots' is not known here; did you mean 'host'?",
        ),
        (
            "{id: a, kind: subnet-manager, priority: 16}",
            "a: priority: must be at most 15, not 16",
        ),
        (
            "{id: a, kind: subnet-manager, guid: 2c9}",
            "a: guid: '2c9' has 3 hexadecimal digits; did you mean '0x2c9'?",
        ),
        (
            "{id: a, kind: error-counters, links: all, window: 60}",
            "a: window: '60' has no unit; did you mean '60s'?",
        ),
        (
            "{id: a, kind: error-counters, links: all, window: 500ms}",
            "a: window: '500ms' is not between 1s and 24h",
        ),
        (
            "{id: a, kind: error-counters, links: all, window: load}",
            "a: window: load needs 'workloads:' with filesystem or rdma",
        ),
        (
            "{id: a, kind: error-counters, links: all, window: 1m, limits: {SymbolErrors: 1}}",
            "a: limits.SymbolErrors: unknown counter 'SymbolErrors'; "
            "did you mean 'SymbolErrorCounter'?",
        ),
        (
            "{id: a, kind: error-counters, links: all, window: 1m, limits: {PortXmitData: 1}}",
            "a: limits.PortXmitData: PortXmitData counts traffic, not errors",
        ),
        (
            "{id: a, kind: error-counters, links: all, window: 1m, limits: {PortRcvErrors: -1}}",
            "a: limits.PortRcvErrors: must be at least 0, not -1",
        ),
        ("{id: a, kind: cabling, plan: no.csv}", "a: plan: there is no file {folder}/no.csv"),
        ("{id: a, kind: cabling, plan: run}", "a: plan: the folder run is not that of a run"),
        (
            "{id: a, kind: routes, credit_loops: no}",
            "a: credit_loops: 'no' is not known here; did you mean 'none'?",
        ),
        ("{id: a, kind: routes, every: job}", "a: routes needs 'job:' with clients and storage"),
        (
            "{id: a, kind: balance, max_minus_min: 1, severity: bloker}",
            "a: severity: 'bloker' is not known here; did you mean 'blocker'?",
        ),
        (
            "{id: a, kind: balance, max_minus_min: 1, because: 3}",
            "a: because: must be text, not 3 (put it in quotes)",
        ),
        (
            "{id: a, kind: balance, max_minus_min: 1, marks: [Nightly]}",
            "a: marks: a mark is lower-case letters, digits and '_', not 'Nightly'",
        ),
        (
            "{id: a, kind: lid-spread, lids: storage, per_cable: odd}",
            "a: per_cable: must be even or a number from 1, not 'odd'",
        ),
        (
            "{id: a, kind: filesystem, read_within: 5, of: write}",
            "a: read_within: '5' has no unit; did you mean '5%'?",
        ),
        (
            "{id: a, kind: filesystem, read_within: 5%}",
            "a: read_within and of go together: read_within: 5%, of: write",
        ),
        (
            "{id: a, kind: filesystem}",
            "a: nothing is ordered; give read_within and of, read_at_least, write_at_least or "
            "client_at_least",
        ),
        (
            "{id: a, kind: cable-load, during: rdma, at_most: 5%, while_under: 9%}",
            "a: while_under 9% is not below at_most 5%",
        ),
        (
            "{id: a, kind: cable-load, during: rdma, at_most: 120%, while_under: 50%}",
            "a: at_most: must be above 0% and at most 100%, not 120%: it could never fail; "
            "write such as 90%",
        ),
        (
            "{id: a, kind: cable-load, during: rdma, at_most: 90%, while_under: 0%}",
            "a: while_under: must be above 0% and at most 100%, not 0%: it could never fail; "
            "write such as 90%",
        ),
        (
            "{id: a, kind: filesystem, read_within: 100%, of: write}",
            "a: read_within: must be below 100%, not 100%: it could never fail; write such as 5%",
        ),
        (
            "{id: a, kind: filesystem, read_within: 250%, of: write}",
            "a: read_within: must be below 100%, not 250%: it could never fail; write such as 5%",
        ),
        *(
            (
                f"{{id: a, kind: rdma-ceiling, relation: {relation}, of: filesystem-write, "
                "within: 100%}",
                "a: within: must be below 100%, not 100%: it could never fail; write such as 5%",
            )
            for relation in ("at-least", "matches")
        ),
        (
            "{id: a, kind: forecast, within: 1e2%}",
            "a: within: must be below 100%, not 100%: it could never fail; write such as 5%",
        ),
        *(
            (
                f"{{id: a, kind: filesystem, {floor}: 1e-400 GiB/s}}",
                f"a: {floor}: must be above 0, not 0 GiB/s: it could never fail; "
                "write such as 90 GiB/s",
            )
            for floor in ("read_at_least", "write_at_least", "client_at_least")
        ),
    ],
)
def test_bad_entries(tmp_path: Path, entry, sentence):
    (tmp_path / "run").mkdir()
    text = f"version: 1\nfabric: f\nexpect:\n  - {entry}\n"

    assert refused(tmp_path, text) == f"e.yaml:4: {sentence.replace('{folder}', str(tmp_path))}"


ONE = "expect: [{id: a, kind: balance, max_minus_min: 1}]\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[]", "e.yaml:1: must be a mapping with version, fabric and expect"),
        (
            "version: 1\nfabric: f\nexpect: []\n",
            "e.yaml:3: expect: there is no entry, so nothing would be judged",
        ),
        (
            "version: 1\nfabric: f\nexpect:\n",
            "e.yaml:3: expect has no value; give one or leave it out",
        ),
        ("fabric: f\n" + ONE, "e.yaml:1: the key 'version' is missing"),
        (
            "version: '1'\nfabric: f\n" + ONE,
            "e.yaml:1: version: must not be text; write 1 without quotes",
        ),
        (
            "version: 'x'\nfabric: f\n" + ONE,
            "e.yaml:1: version: 'x' is not known here; known are 1",
        ),
        (
            "version: 1\nfabric: f\nexpect: [{id: a, kind: subnet-manager, masters: '2'}]\n",
            "e.yaml:3: a: masters: must not be text; write 2 without quotes",
        ),
        ("version: 2\nfabric: f\n" + ONE, "e.yaml:1: version: 2 is not known here; known are 1"),
        ("version: 1\nfabric: ''\n" + ONE, "e.yaml:2: fabric: must not be empty"),
        (
            "version: 1\nfabric: f\nwaiver: []\n" + ONE,
            "e.yaml:3: unknown key 'waiver'; did you mean 'waivers'?",
        ),
        (
            "version: 1\nfabric: f\nadaptive_routing: true\n" + ONE,
            "e.yaml:3: adaptive_routing: true is not known here; known are on, off",
        ),
        (
            "version: 1\nfabric: f\nceilings:\n  4X HDR: 22.6\n" + ONE,
            "e.yaml:4: ceilings.4X HDR: '22.6' has no unit; did you mean '22.6 GiB/s'?",
        ),
        (
            "version: 1\nfabric: f\nceilings:\n  4X HDR: 226 GiB/s\n" + ONE,
            "e.yaml:4: ceilings.4X HDR: 226 GiB/s is 1941.3 Gb/s; "
            "a 4X HDR link carries at most 200.0 Gb/s",
        ),
        (
            "version: 1\nfabric: f\nceilings:\n  4XX: 2 GiB/s\n" + ONE,
            "e.yaml:4: ceilings.4XX: 'X' is not a link speed "
            "(SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR)",
        ),
        (
            "version: 1\nfabric: f\njob: {client: x}\n" + ONE,
            "e.yaml:3: unknown key 'client'; did you mean 'clients'?",
        ),
        (
            "version: 1\nfabric: f\nworkloads: {filesystem: {tool: fio}}\n" + ONE,
            "e.yaml:3: workloads.filesystem: fio needs path and size_per_client",
        ),
        (
            "version: 1\nfabric: f\nworkloads: {filesystem: "
            "{tool: fio, path: x, size_per_client: 1GiB}}\n" + ONE,
            "e.yaml:3: workloads.filesystem.path: must be absolute, not 'x'",
        ),
        (
            "version: 1\nfabric: f\n" + ONE + "waivers:\n"
            "  - {expectation: aa, subject: s, until: 2027-01-31, ticket: T, because: b}\n",
            "e.yaml:5: a waiver for 'aa', which is no entry; did you mean 'a'?",
        ),
        (
            "version: 1\nfabric: f\n" + ONE + "waivers:\n"
            "  - {expectation: a, subject: s, until: 31.1.2027, ticket: T, because: b}\n",
            "e.yaml:5: waivers.until: must be a date such as 2027-01-31, not '31.1.2027'",
        ),
        (
            "version: 1\nfabric: f\n" + ONE + "waivers:\n"
            "  - {expectation: a, subject: s, until: 2027-02-31, ticket: T, because: b}\n",
            "e.yaml:5: waivers.until: there is no day 2027-02-31",
        ),
        (
            "version: 1\nfabric: f\n" + ONE + "waivers:\n"
            "  - {expectation: a, subject: s, until: 2027-01-31, ticket: T, because: b}\n"
            "  - {expectation: a, subject: s, until: 2027-01-31, ticket: T, because: b}\n",
            "e.yaml:6: s of a is already waived in line 5",
        ),
        (
            "version: 1\nfabric: f\nexpect:\n"
            "  - {id: a, kind: balance, max_minus_min: 1}\n"
            "  - {id: a, kind: balance, max_minus_min: 2}\n",
            "e.yaml:5: the id 'a' is already used in line 4",
        ),
        (
            "version: 1\nfabric: f\njob: {}\nexpect:\n  - {id: a, kind: forecast, within: 5%}\n",
            "e.yaml:5: a: forecast needs 'workloads:' with filesystem",
        ),
        (
            "version: 1\nfabrik: f\nexpect:\n"
            "  - {id: a, kind: balance, max_minus_min: x, mark: 1}\n"
            "  - {id: b, kind: balanse}\n",
            "e.yaml:1: the key 'fabric' is missing\n"
            "e.yaml:2: unknown key 'fabrik'; did you mean 'fabric'?\n"
            "e.yaml:4: a: max_minus_min: must be a whole number, not 'x'\n"
            "e.yaml:4: a: unknown key 'mark'; did you mean 'marks'?\n"
            "e.yaml:5: b: unknown kind 'balanse'; did you mean 'balance'?",
        ),
    ],
)
def test_bad_files(tmp_path: Path, text, sentence):
    assert refused(tmp_path, text) == sentence


LOAD = """\
version: 1
fabric: f
ceilings: {4X HDR: 22.6 GiB/s}
job: {}
workloads:
  filesystem: {tool: fio, path: /scratch, size_per_client: 96GiB, block: 1MiB, at_most: 40s}
  rdma: {tool: ib_write_bw, duration: 12s, message: 1MiB, qps: 4, direction: read}
expect:
  - {id: a, kind: rdma-ceiling, relation: at-least, of: filesystem-write, within: 5%}
"""


@pytest.mark.parametrize(
    ("good", "bad", "sentence"),
    [
        ("block: 1MiB", "block: 0B", "6: workloads.filesystem.block: must be more than 0B"),
        (
            "path: /scratch", "path: /scratch/../etc",
            "6: workloads.filesystem.path: may hold letters, digits and _ . + @ - only, no blanks "
            "and no . or .. alone, not '/scratch/../etc'",
        ),
        ("96GiB", "0GiB", "6: workloads.filesystem.size_per_client: must be more than 0B"),
        (
            "96GiB", "1KiB",
            "6: workloads.filesystem.size_per_client: 1KiB for 1 processes is less than one block "
            "of 1MiB each",
        ),
        (
            "at_most: 40s", "at_most: 0s",
            "6: workloads.filesystem.at_most: must be 1s or more: no run ends sooner",
        ),
        (
            "at_most: 40s", "processes: 10000",
            "6: workloads.filesystem.processes: must be at most 9999",
        ),
        (
            "at_most: 40s", "file: x.yaml",
            "6: workloads.filesystem.file: is of tool: recorded only",
        ),
        (
            "12s", "1.5s",
            "7: workloads.rdma.duration: must be whole seconds, from 1s to 99999s, not 1.5s",
        ),
        ("message: 1MiB", "message: 0B", "7: workloads.rdma.message: must be more than 0B"),
        ("qps: 4", "qps: 10000", "7: workloads.rdma.qps: must be at most 9999"),
        (
            "direction: read", "direction: write",
            "9: a: rdma-ceiling is about storage that sends to clients; workloads: rdma: direction "
            "is write, make it read or both",
        ),
        (
            "22.6 GiB/s", "0.001 GiB/s",
            "3: ceilings.4X HDR: 0.001 GiB/s is 0.00859 Gb/s, less than half of what a 4X HDR link "
            "carries (200.0 Gb/s); compare the unit, or leave it to be derived",
        ),
    ],
)  # fmt: skip
def test_a_load_that_cannot_be_made_is_refused(tmp_path: Path, good, bad, sentence):
    assert LOAD.count(good) == 1

    assert refused(tmp_path, LOAD.replace(good, bad)) == f"e.yaml:{sentence}"


def test_a_bad_plan_is_told_with_its_own_lines(tmp_path: Path):
    path = write(tmp_path, plan=PLAN + "SwitchA,13,SwitchB,26\nx,y,z,1\n")

    with pytest.raises(InputError) as caught:
        load_expectations(path, name="e.yaml")

    plan = tmp_path / "cables.csv"
    assert str(caught.value) == (
        f"{plan}:4: a_port: 'y' is not a port number (1 to 254)\n"
        f"{plan}:3: SwitchA/13 is already used in line 2"
    )


def test_a_plan_from_an_earlier_run(tmp_path: Path, monkeypatch):
    (tmp_path / "run/captures").mkdir(parents=True)
    (tmp_path / "run/captures/index.jsonl").write_text("")
    text = "version: 1\nfabric: f\nexpect: [{id: a, kind: cabling, plan: run}]\n"
    a, b = PortId(Guid(1), 1), PortId(Guid(2), 1)
    seen = Fabric.of(
        Node(own.guid, NodeType.SWITCH, f"s{own.guid:d}", 2, {1: Port(own, remote=other)})
        for own, other in ((a, b), (b, a))
    )

    monkeypatch.setattr(expectations, "fabric_of", lambda _: seen)

    loaded = read_expectations(loads(text, name="e.yaml"), SiteFiles(tmp_path))

    assert loaded.plan == Plan.from_fabric(seen, name="run")


def test_names_are_held_against_the_inventory(tmp_path: Path):
    site = "observers: {hosts: {node001: }}\nstorage:\nswitches:\n"
    inventory = read_inventory(loads(site, name="site.yaml"))
    text = """\
version: 1
fabric: f
job: {clients: "node[001-002]"}
expect:
  - {id: a, kind: link-rate, speed: HDR, links: {type: all, except: {nodes: switches}}}
  - {id: b, kind: lid-spread, lids: storage, per_cable: 1}
  - {id: c, kind: link-count, between: [storage, node*], count: 1}
"""

    with pytest.raises(InputError) as caught:
        read_expectations(loads(text, name="e.yaml"), SiteFiles(tmp_path)).check(inventory)

    assert str(caught.value) == (
        "e.yaml:3: job.clients: node002 is not in site.yaml; did you mean 'node001'?\n"
        "e.yaml:3: job.storage: the group 'storage' is empty in site.yaml\n"
        "e.yaml:5: a: links.except.nodes: the group 'switches' is empty in site.yaml\n"
        "e.yaml:7: c: between: the group 'storage' is empty in site.yaml"
    )


@pytest.mark.parametrize(
    ("written", "guid"),
    [
        ("0x0002c90300000001", Guid(0x0002C90300000001)),
        ("0x2C9", Guid(0x2C9)),
        ("0002c90300000001", Guid(0x0002C90300000001)),
        (785117634068481, Guid(785117634068481)),
        ("0000000000000016", Guid(0x16)),
    ],
)
def test_guids(written, guid):
    assert parse_guid(written) == guid


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        (
            5849560701112222,
            "5849560701112222 could be hexadecimal or decimal; "
            "write 0x5849560701112222 or 0x14c824fbae8f9e",
        ),
        ("switch", "'switch' is not a GUID; write it as 0x0002c90300000001"),
        (True, "True is not a GUID; write it as 0x0002c90300000001"),
        (1 << 64, "18446744073709551616 is not a GUID; write it as 0x0002c90300000001"),
    ],
)
def test_no_guids(written, sentence):
    with pytest.raises(ValueError) as caught:
        parse_guid(written)

    assert str(caught.value) == sentence


def test_an_ordered_rate():
    order = RateOrder(Width.X4, None), RateOrder(None, Speed.NDR), RateOrder(Width.X4, Speed.HDR)
    seen = Rate(Width.X4, Speed.HDR), Rate(Width.X2, Speed.NDR)

    assert [(str(o), [o.met(rate) for rate in seen]) for o in order] == [
        ("4X", [True, False]),
        ("NDR", [False, True]),
        ("4X HDR", [True, False]),
    ]


def test_limits_of_counters():
    entry = ErrorCounters(
        id="a",
        kind="error-counters",
        links=LinkSelector(),
        window=Duration(60),
        limits={"SymbolErrorCounter": 10, "VL15Dropped": 5},
    )
    names = ("SymbolErrorCounter", "VL15Dropped", "PortRcvErrors", "PortXmitWait")

    assert [entry.limit(name) for name in names] == [10, 5, 0, None]


def test_a_waiver_holds_through_its_last_day():
    waiver = Waiver(expectation="a", subject="s", until=date(2027, 1, 31), ticket="T", because="b")

    assert [waiver.is_expired(date(2027, *day)) for day in ((1, 31), (2, 1))] == [False, True]


ENTRY = "expect:\n  - {id: a, kind: routes}\n"


def adaptive(folder, head, **files):
    """What a file with these subnet files says of adaptive routing."""
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    text = f"version: 1\nfabric: f\n{head}{ENTRY}"
    return read_expectations(loads(text, name="e.yaml"), SiteFiles(folder)).adaptive_routing


def test_subnet_files_say_whether_switches_route_adaptively(tmp_path: Path):
    said = CaptureRef("inputs/expectations.yaml", 3, "adaptive_routing: off")
    on = FileSign(
        "on",
        "opensm.conf",
        CaptureRef("inputs/subnet-1-opensm.conf", 2, "routing_engine ar_updn"),
    )
    silent = FileSign(None, "ufm.conf", CaptureRef("inputs/subnet-2-ufm.conf", None, ""))

    known = adaptive(
        tmp_path,
        "adaptive_routing: off\nsubnet_files: [opensm.conf, ufm.conf]\n",
        opensm_conf="# x\nrouting_engine ar_updn\n",
        ufm_conf="routing_engine (null)\n",
    )

    assert known == AdaptiveRouting("off", said, (on, silent))
    assert (known.state, known.captures) == ("on", (said, on.capture))
    assert adaptive(tmp_path, "") == AdaptiveRouting()


def test_subnet_files_that_tell_nothing_known_are_refused(tmp_path: Path):
    with pytest.raises(InputError) as caught:
        adaptive(tmp_path, "subnet_files: [no.conf, x.log, x.log]\n", x_log="hello\n")

    assert str(caught.value).splitlines() == [
        f"e.yaml:3: subnet_files: {tmp_path}/no.conf cannot be read: No such file or directory",
        "e.yaml:3: subnet_files: x.log: subnet file output: nothing in it is about adaptive "
        "routing; give opensm.conf with its routing_engine, OpenSM's log, or ibdiagnet's log, "
        "db_csv or .far",
        "e.yaml:3: subnet_files: x.log is there twice",
    ]

"""``ibaccept check`` and ``show`` without a fabric; ``capture`` and ``plan`` against the lab."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ibaccept.cli import main
from ibaccept.lab import Lab
from ibaccept.report import NotRun, RunMeta, overall
from ibaccept.report.json_report import render
from ibaccept.run.record import RunInfo
from ibaccept.site.plan import Plan
from ibaccept.verdict import Coverage, Finding, Outcome, Subject, Verdict

ROOT = Path(__file__).resolve().parents[2]

INVENTORY = """\
observers:
  hosts:
    mgmt01: {ansible_host: 10.0.0.1, ansible_port: 2222, ansible_user: ops, ib_sudo: true}
    mgmt02: {ansible_connection: local, ib_hca: mlx5_0, ib_port: 1}
clients: {hosts: {"node[01-04]": }}
storage: {hosts: {"stor-[1-2]": }}
switches: {hosts: {leaf1: , spine1: }}
"""
EXPECTATIONS = """\
version: 1
fabric: hall-3
job: {clients: clients, storage: storage}
expect:
  - {id: one-sm, kind: subnet-manager, masters: 1}
  - {id: cabled, kind: cabling, plan: cables.csv}
  - {id: isl, kind: link-rate, links: isl, width: 4X, speed: HDR, each: cable}
  - {id: reads-spread, kind: lid-spread, lids: clients, per_cable: even}
  - {id: clean-load, kind: error-counters, links: isl, window: load}
workloads:
  rdma: {tool: ib_write_bw, duration: 30s, direction: read}
waivers:
  - expectation: cabled
    subject: leaf1/40
    until: 2027-01-31
    ticket: RMA-1
    because: on order
"""
PLAN = """\
a_name,a_port,b_name,b_port
leaf1,1,node01,1
leaf1,40,spine1,1
"""


def run(capsys, *argv):
    code = main(list(map(str, argv)))
    out, err = capsys.readouterr()
    return code, out.splitlines(), err.splitlines()


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A project's folder with inputs that are accepted."""
    monkeypatch.chdir(tmp_path)
    for name in ("INVENTORY", "EXPECTATIONS", "JOB", "REPORTS", "SSH_CONFIG"):
        monkeypatch.delenv(f"IBACCEPT_{name}", raising=False)
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory" / "site.yaml").write_text(INVENTORY)
    (tmp_path / "expectations.yaml").write_text(EXPECTATIONS)
    (tmp_path / "cables.csv").write_text(PLAN)
    return tmp_path


@pytest.mark.usefixtures("site")
def test_check_lists_entries_hosts_and_commands(capsys):
    code, out, err = run(capsys, "check", "--job=node[01-02]")

    assert (code, err) == (0, [])
    assert out[:13] == [
        "expectations.yaml: 5 entries for hall-3",
        "  one-sm        subnet-manager  expectations.yaml:5  masters 1",
        "  cabled        cabling         expectations.yaml:6  plan cables.csv",
        "  isl           link-rate       expectations.yaml:7  inter-switch links; width 4X; speed "
        "HDR; each cable",
        "  reads-spread  lid-spread      expectations.yaml:8  lids clients; per cable even",
        "  clean-load    error-counters  expectations.yaml:9  inter-switch links; window load; "
        "only with --load",
        "  waived until 2027-01-31: cabled, leaf1/40",
        "cabling plan cables.csv: 2 cables",
        "inventory/site.yaml: 10 hosts",
        "job: clients node[01-02], storage stor-[1-2]",
        "A run connects to:",
        "  to observe the fabric (read-only):",
        "    mgmt01: ssh 10.0.0.1 port 2222 as ops, sudo",
    ]
    assert out[13:17] == [
        "    mgmt02: this machine, HCA mlx5_0, port 1 of the HCA",
        "  and sends to the first of these that sees the fabric no other commands than:",
        "    ibstat",
        "    sudo -n ibnetdiscover [-C HCA] [-P PORT]",
    ]
    asked = out.index("  to read their LIDs (read-only), ibstat on:")
    assert out[asked + 1 : asked + 4] == [
        "    node[01-02],stor-[1-2]",
        "Only with --load, for clean-load:",
        "  load is made on node[01-02],stor-[1-2], by no other commands than:",
    ]


def test_check_reads_the_environment_too(capsys, site, monkeypatch):
    (site / "expectations.yaml").rename(site / "other.yaml")
    monkeypatch.setenv("IBACCEPT_EXPECTATIONS", "other.yaml")

    code, out, _ = run(capsys, "check")

    assert (code, out[0]) == (0, "other.yaml: 5 entries for hall-3")


def test_check_names_the_problems_of_all_files_at_once(capsys, site):
    expectations = EXPECTATIONS.replace("width: 4X", "widht: 4X").replace(
        "masters: 1", "masters: x"
    )
    (site / "expectations.yaml").write_text(expectations)
    (site / "inventory" / "site.yaml").write_text(INVENTORY.replace("ib_hca", "ib_hcaa"))
    (site / "cables.csv").write_text(PLAN.replace("spine1,1", "spine1,999"))

    code, out, err = run(capsys, "check")

    assert (code, out) == (4, [])
    assert err == [
        "ibaccept: expectations.yaml:5: one-sm: masters: must be a whole number, not 'x'",
        "ibaccept: expectations.yaml:7: isl: unknown key 'widht'; did you mean 'width'?",
        "ibaccept: cables.csv:3: b_port: '999' is not a port number (1 to 254)",
        "ibaccept: inventory/site.yaml:4: mgmt02: unknown variable 'ib_hcaa'; did you mean "
        "'ib_hca'?",
    ]


def test_check_needs_the_files(capsys, site):
    (site / "expectations.yaml").unlink()

    assert run(capsys, "check", "--inventory=none.yaml") == (
        4,
        [],
        [
            "ibaccept: there is no file expectations.yaml; name the expectations with "
            "--expectations=FILE",
            "ibaccept: there is no file none.yaml; name the inventory with --inventory=FILE",
        ],
    )


def test_check_refuses_an_entry_per_cable_that_no_cable_is_for(capsys, site):
    (site / "cables.csv").write_text("a_name,a_port,b_name,b_port\nleaf1,5,node01,1\n")

    assert run(capsys, "check") == (
        4,
        [],
        [
            "ibaccept: expectations.yaml:7: isl: the plan has no inter-switch links, so nothing "
            "would be judged"
        ],
    )


@pytest.mark.usefixtures("site")
def test_check_refuses_a_job_that_is_not_in_the_inventory(capsys):
    code, out, err = run(capsys, "check", "--job=node[01-09]")

    assert (code, out) == (4, [])
    assert err[0].startswith("ibaccept: ")
    assert "node[05-09]" in err[0]


def test_capture_and_plan_refuse_bad_input(capsys, site):
    assert run(capsys, "capture", "--ssh-config=none") == (
        4,
        [],
        ["ibaccept: there is no file none; --ssh-config names an OpenSSH configuration"],
    )
    assert not (site / "reports").exists()
    code, out, err = run(capsys, "plan", "no-run")
    assert (code, out) == (4, [])
    assert err[0].startswith(
        "ibaccept: no-run is not the folder of a run (no-run/run.json cannot be read"
    )
    assert run(capsys, "plan", "--inventory=none.yaml") == (
        4,
        [],
        ["ibaccept: there is no file none.yaml; name the inventory with --inventory=FILE"],
    )


def test_a_folder_that_cannot_be_made_is_one_sentence(capsys, site):
    (site / "file").touch()

    found = run(capsys, "capture", f"--reports={site}/file")

    assert found == (
        4,
        [],
        [
            f"ibaccept: {site}/file cannot be made a folder for reports: File exists; name another "
            "with --reports=FOLDER"
        ],
    )


# -- show ----------------------------------------------------------------------------------------


def verdict(name, outcome, *, findings=(), judged=8):
    return Verdict(
        id=name,
        kind="link-rate",
        nodeid=f"tests_fabric/test_links.py::test_link_rate[{name}]",
        outcome=outcome,
        sentence="what it says",
        because="",
        coverage=Coverage(judged, 8),
        findings=findings,
        source="expectations.yaml:9",
    )


def finding(outcome):
    return Finding(Subject("link", "leaf1/1 - spine1/1"), outcome, "4X HDR", "1X HDR", "")


@pytest.fixture
def judged(tmp_path):
    """A run's folder with the verdicts given."""

    def write(*verdicts, not_run=None):
        folder = tmp_path / "run"
        folder.mkdir()
        result = overall(verdicts, not_run or {})
        meta = RunMeta("hall-3", "2026-11-30T10:00:00Z", "2026-11-30T10:01:00Z", run_dir=folder)
        (folder / "verdicts.json").write_text(render(verdicts, meta, result))
        return folder

    return write


def test_show_prints_verdicts_and_ends_with_the_runs_exit_code(capsys, judged, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    folder = judged(
        verdict("good", Outcome.PASS),
        verdict("bad", Outcome.FAIL, findings=(finding("fail"),)),
        verdict("dark", Outcome.ERROR, findings=(finding("error"),), judged=7),
        not_run={"later": NotRun("needs --load", deliberate=True)},
    )
    closing = [
        "not run (needs --load): later",
        "hall-3: 1 passed, 1 failed, 1 not judged, 1 not run",
        f"orders: {folder}/inputs/expectations.yaml",
        f"report: {folder}/index.html",
        "NOT ACCEPTED",
    ]

    everything = run(capsys, "show", folder)
    failures = run(capsys, "show", folder / "verdicts.json", "--failures")
    one = run(capsys, "show", folder, "--id=bad")
    later = run(capsys, "show", folder, "--id=later")
    none = run(capsys, "show", folder, "--id=god")

    def heads(out):
        return [line for line in out if "::" in line]

    assert [heads(part[1]) for part in (everything, failures, one, later)] == [
        [
            "FAILED tests_fabric/test_links.py::test_link_rate[bad]",
            "ERROR tests_fabric/test_links.py::test_link_rate[dark]",
            "PASSED tests_fabric/test_links.py::test_link_rate[good]",
        ],
        [
            "FAILED tests_fabric/test_links.py::test_link_rate[bad]",
            "ERROR tests_fabric/test_links.py::test_link_rate[dark]",
        ],
        ["FAILED tests_fabric/test_links.py::test_link_rate[bad]"],
        [],
    ]
    for code, out, err in (everything, failures, one, later):
        assert (code, out[-5:], err) == (1, closing, [])
    assert none == (
        4,
        [],
        [
            f"ibaccept: {folder}/verdicts.json has no verdict on 'god'; did you mean 'good'?",
        ],
    )


def test_show_of_an_accepted_run_exits_0_and_a_pass_without_proof_does_not(capsys, judged):
    folder = judged(verdict("good", Outcome.PASS))
    path = folder / "verdicts.json"

    accepted = run(capsys, "show", folder)
    text = path.read_text()
    path.write_text(re.sub(r'"judged": 8', '"judged": 0', text))
    edited = run(capsys, "show", folder, "--failures")

    assert (accepted[0], accepted[1][-1]) == (0, "ACCEPTED")
    assert (edited[0], edited[1][0], edited[1][-1]) == (
        1,
        "ERROR tests_fabric/test_links.py::test_link_rate[good]",
        "INCOMPLETE",
    )


def test_show_of_no_run_says_so(capsys, tmp_path):
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "verdicts.json").write_text('{"schema": 1')

    missing = run(capsys, "show", tmp_path)
    cut = run(capsys, "show", tmp_path / "cut")

    assert missing == (
        4,
        [],
        [f"ibaccept: {tmp_path} holds no verdicts.json: no run was judged there; see --help"],
    )
    assert (cut[0], cut[1], len(cut[2])) == (3, [], 1)
    assert cut[2][0].startswith(f"ibaccept: {tmp_path}/cut/verdicts.json is not JSON (")


# -- against the lab -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lab():
    with Lab.start("slow-cable") as running:
        yield running


def inputs(lab):
    return (
        f"--inventory={lab.inventory}",
        f"--expectations={lab.expectations}",
        f"--ssh-config={lab.ssh_config}",
    )


@pytest.mark.real
def test_a_capture_is_judged_by_replay_and_shown_and_gives_a_plan(capsys, lab, tmp_path):
    code, out, err = run(capsys, "capture", *inputs(lab), f"--reports={tmp_path}/reports")

    folder = Path(out[0])
    assert (code, out) == (0, [str(folder)])
    assert folder.parent == tmp_path / "reports"
    assert err[-1] == f"ibaccept: judge it with: pytest tests_fabric --replay={folder}"
    assert sorted(p.name for p in folder.iterdir()) == ["captures", "inputs", "run.json"]
    assert RunInfo.read(folder).fabric == "two-switch"
    files = json.loads((folder / "captures" / "index.jsonl").read_text().splitlines()[0])
    assert files["argv"] == ["ibstat"]

    # A process of its own, as a person would: this pytest run is about the package.
    replay = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "tests_fabric",
            f"--replay={folder}",
            f"--reports={tmp_path}/judged",
            "-p",
            "no:cacheprovider",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (replay.returncode, replay.stdout.splitlines()[-1]) == (1, "NOT ACCEPTED")
    code, out, err = run(capsys, "show", tmp_path / "judged" / "latest", "--failures")
    assert (code, err) == (1, [])
    assert out[0] == "FAILED tests_fabric/test_links.py::test_link_rate[isl-4x-hdr]"
    assert out[-4] == "two-switch: 8 passed, 3 failed, 6 not run"

    code, out, err = run(capsys, "plan", folder)
    assert (code, err) == (
        0,
        [
            "ibaccept: 65 cables between 59 nodes; 16 ports are down: a cable that is down now is "
            "not in the plan"
        ],
    )
    ordered = Plan.load(lab.plan)
    assert {cable.name for cable in Plan.read("\n".join(out), name="plan").cables} == {
        cable.name for cable in ordered.cables
    }


@pytest.mark.real
def test_a_plan_of_the_fabric_as_it_is_now(capsys, lab, tmp_path):
    file = tmp_path / "cables.csv"

    code, out, err = run(capsys, "plan", *inputs(lab)[::2], f"--output={file}")

    assert (code, out) == (0, [])
    assert err[0] == "ibaccept: ibstat on mgmt01"
    assert len(Plan.load(file).cables) == 65


@pytest.mark.real
def test_a_capture_that_sees_nothing_is_kept_and_says_so(capsys, tmp_path):
    with Lab.start("unreachable-observer") as lab:
        code, out, err = run(capsys, "capture", *inputs(lab), f"--reports={tmp_path}/reports")
        plan = run(capsys, "plan", out[0])

    assert (code, len(out)) == (3, 1)
    assert (Path(out[0]) / "captures" / "index.jsonl").is_file()
    unseen = [line for line in err if "could not be seen" in line]
    assert len(unseen) == len(set(unseen)) >= 1
    assert plan[:2] == (3, [])
    assert plan[2][0].startswith("ibaccept: the fabric could not be seen: ")


def test_check_and_complaints_are_plain_text(site, capsys):
    """The fabric's name and the text of a file act on no terminal."""
    text = EXPECTATIONS.replace("fabric: hall-3", 'fabric: "x\\e[2Jy"')
    (site / "expectations.yaml").write_text(text)
    accepted = run(capsys, "check")
    (site / "expectations.yaml").write_text(text.replace("kind: cabling", 'kind: "\\e[31m"'))
    refused = run(capsys, "check")

    assert (accepted[0], refused[0]) == (0, 4)
    assert accepted[1][0] == "expectations.yaml: 5 entries for x\\x1b[2Jy"
    assert [line for line in (*accepted[1], *refused[2]) if not line.isprintable()] == []

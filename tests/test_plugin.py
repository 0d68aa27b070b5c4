"""The pytest side: options, items, outcomes, waivers, what is not run, and the answer.

One run against the lab makes a bundle; everything else judges that bundle again, which needs no
lab and shows the same code at work.
"""

import errno
import hashlib
import importlib
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from allure_commons import utils as allure_utils

import ibaccept
from ibaccept.lab import scenario as lab

pytestmark = pytest.mark.real

# pytester forgets what an inner run imported, and C extensions cannot be loaded twice.
for module in pkgutil.walk_packages(ibaccept.__path__, "ibaccept."):
    if module.name != "ibaccept.__main__":
        importlib.import_module(module.name)

ROOT = Path(__file__).resolve().parents[1]

SCENARIO = """\
description: one of two inter-switch cables is not plugged in
topology: {builder: two-switch, clients: 2, storage: 1, isls: 2}
hosts: {clients: "client-[1-2]", storage: stor-1}
faults:
  - {type: missing, cable: SwitchA/14}
expectations: |
  version: 1
  fabric: small
  expect:
    - {id: all-cabled, kind: cabling, plan: inventory/cables.csv}
    - {id: no-errors, kind: error-counters, links: all, window: 1s}
"""

HEAD = "version: 1\nfabric: small\nexpect:\n"
PLANNED = "  - {id: all-cabled, kind: cabling, plan: inventory/cables.csv}\n"
ISL = "  - {id: isl-4x-hdr, kind: link-rate, links: isl, width: 4X, speed: HDR}\n"
HOSTS = "  - {id: hosts-4x-hdr, kind: link-rate, links: host, speed: HDR, marks: [nightly]}\n"
ERRORS = "  - {id: no-errors, kind: error-counters, links: all, window: 1s}\n"
WITH_LOAD = (
    "version: 1\nfabric: small\njob: {clients: clients, storage: storage}\n"
    "workloads:\n  rdma: {}\nexpect:\n"
)
LOAD = "  - {id: clean-load, kind: error-counters, links: isl, window: load}\n"
MISSING = "SwitchA/14 - SwitchB/26"


def waiver(subject, until="2999-12-31", entry="isl-4x-hdr"):
    return (
        f"  - {{expectation: {entry}, subject: {subject}, until: {until}, ticket: RMA-1, "
        "because: on order}\n"
    )


def waived(*waivers):
    return HEAD.replace("expect:\n", "waivers:\n" + "".join(waivers) + "expect:\n")


def without_ibaccept():
    return {name: text for name, text in os.environ.items() if not name.startswith("IBACCEPT_")}


@pytest.fixture(scope="session")
def bundle(tmp_path_factory):
    """The run's folder of one look at the fabric of SCENARIO."""
    folder = tmp_path_factory.mktemp("bundle")
    (folder / "small.yaml").write_text(SCENARIO)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "tests_fabric", "-q", "-p", "no:cacheprovider"),
            *(f"--lab={folder / 'small.yaml'}", f"--reports={folder / 'reports'}"),
        ],
        cwd=ROOT,
        env=without_ibaccept(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "NOT ACCEPTED"), done.stdout
    return (folder / "reports/latest").resolve()


@dataclass(frozen=True)
class Judged:
    """A replay: what pytest counted, the last line, and the files it left."""

    code: int
    counts: dict[str, int]
    lines: list[str]
    errors: str
    folder: Path

    @property
    def document(self):
        return json.loads((self.folder / "verdicts.json").read_text())

    @property
    def outcomes(self):
        return {verdict["id"]: verdict["outcome"] for verdict in self.document["verdicts"]}

    @property
    def not_run(self):
        return {name: entry["reason"] for name, entry in self.document["not_run"].items()}

    @property
    def answer(self):
        """Exit code, last line, and the same in verdicts.json."""
        document = self.document
        assert (document["result"], document["exit_code"]) == (self.lines[-1], self.code)
        return self.code, self.lines[-1]


@pytest.fixture
def site(pytester, bundle, monkeypatch):
    """A site's folder: the suite, the plan and the inventory; and how to judge the bundle."""
    for name in [name for name in os.environ if name.startswith("IBACCEPT_")]:
        monkeypatch.delenv(name)
    shutil.copytree(
        ROOT / "tests_fabric",
        pytester.path / "tests_fabric",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (pytester.path / "inventory").mkdir()
    shutil.copy(bundle / "inputs/cables.csv", pytester.path / "inventory/cables.csv")
    shutil.copy(bundle / "inputs/inventory.yaml", pytester.path / "inventory/site.yaml")
    return pytester


@pytest.fixture
def judge(site, bundle):
    """Judge the bundle by other expectations."""

    def run(expectations, *options, replay=True):
        site.path.joinpath("expectations.yaml").write_text(expectations)
        named = [f"--replay={bundle}", "--expectations=expectations.yaml"] if replay else []
        chosen = [option for option in options if option.startswith("tests_fabric")]
        done = site.runpytest_inprocess(
            *(chosen or ["tests_fabric"]),
            *("-p", "ibaccept.plugin", "-p", "no:cacheprovider", "--strict-markers"),
            *named,
            *[option for option in options if option not in chosen],
        )
        counts = {}
        if any("= " in line and " in " in line for line in done.outlines):
            counts = done.parseoutcomes()
        # Where this run's reports are: "latest" moves on with the next one.
        folder = (site.path / "reports/latest").resolve()
        return Judged(int(done.ret), counts, done.outlines, done.stderr.str(), folder)

    return run


# -- options -------------------------------------------------------------------------------------


def test_environment_variables_are_options(judge, bundle, monkeypatch, tmp_path):
    monkeypatch.setenv("IBACCEPT_REPLAY", str(bundle))
    monkeypatch.setenv("IBACCEPT_EXPECTATIONS", "expectations.yaml")
    monkeypatch.setenv("IBACCEPT_REPORTS", str(tmp_path / "elsewhere"))
    ran = judge(HEAD + HOSTS, replay=False)

    document = json.loads((tmp_path / "elsewhere/latest/verdicts.json").read_text())
    assert (ran.code, ran.lines[-1], document["result"]) == (0, "ACCEPTED", "ACCEPTED")


def test_an_option_wins_over_its_variable(judge, monkeypatch):
    monkeypatch.setenv("IBACCEPT_REPLAY", "nowhere")
    monkeypatch.setenv("IBACCEPT_EXPECTATIONS", "nowhere.yaml")

    assert judge(HEAD + HOSTS).answer == (0, "ACCEPTED")


def test_a_run_with_other_inputs_keeps_them(judge, bundle):
    """The new folder can be judged again by itself."""
    ran = judge(HEAD + HOSTS + ERRORS)
    folder = ran.folder

    assert (folder / "inputs/expectations.yaml").read_text() == HEAD + HOSTS + ERRORS
    ours, theirs = (path / "captures/index.jsonl" for path in (folder, bundle))
    assert ours.read_bytes() == theirs.read_bytes()


# -- items ---------------------------------------------------------------------------------------


def test_one_item_per_entry(judge):
    ran = judge(HEAD + PLANNED + ISL + HOSTS + ERRORS, "--collect-only", "-q")

    assert [line for line in ran.lines if "::" in line] == [
        "tests_fabric/test_cabling.py::test_cabling[all-cabled]",
        "tests_fabric/test_counters.py::test_error_counters[no-errors]",
        "tests_fabric/test_links.py::test_link_rate[isl-4x-hdr]",
        "tests_fabric/test_links.py::test_link_rate[hosts-4x-hdr]",
    ]
    assert ran.code == 0
    assert not ran.folder.exists()


def test_one_item_per_planned_cable(judge):
    """A cable that is not there is an item, and that item fails."""
    ran = judge(HEAD + PLANNED + ISL.replace("HDR}", "HDR, each: cable}"))

    assert ran.outcomes == {
        "all-cabled": "fail",
        "isl-4x-hdr:SwitchA/13 - SwitchB/25": "pass",
        f"isl-4x-hdr:{MISSING}": "fail",
    }
    assert ran.answer == (1, "NOT ACCEPTED")


def test_a_cabling_entry_per_planned_cable(judge):
    ran = judge(HEAD + PLANNED.replace("csv}", "csv, each: cable}"))

    failed = [name for name, outcome in ran.outcomes.items() if outcome != "pass"]
    planned = (ran.folder / "inputs/cables.csv").read_text().splitlines()[1:]
    assert failed == [f"all-cabled:{MISSING}"]
    assert len([name for name in ran.outcomes if MISSING in name or "/" in name]) == len(planned)


# -- what is chosen ------------------------------------------------------------------------------

OTHERS = "not among the tests chosen"


@pytest.mark.parametrize(
    ("option", "ids", "left"),
    [
        ("-m nightly", {"hosts-4x-hdr"}, {"no-errors"}),
        ("-k no-errors", {"no-errors"}, {"hosts-4x-hdr"}),
        ("tests_fabric/test_links.py", {"hosts-4x-hdr"}, {"no-errors"}),
    ],
)
def test_what_was_not_chosen_leaves_the_answer_open(judge, option, ids, left):
    ran = judge(HEAD + HOSTS + ERRORS, *option.split(" ", 1))

    assert ran.outcomes == dict.fromkeys(ids, "pass")
    assert ran.not_run == dict.fromkeys(left, OTHERS)
    assert ran.answer == (0, "INCOMPLETE")


def test_nothing_chosen_is_no_success(judge):
    ran = judge(HEAD + HOSTS, "-k", "nothing-of-that-name")

    assert (ran.code, ran.lines[-1], ran.outcomes) == (5, "INCOMPLETE", {})


def test_an_entry_whose_test_was_taken_away_is_missed(judge):
    """--deselect is no choice that the answer may be silent about."""
    ran = judge(
        HEAD + HOSTS + ERRORS,
        "--deselect=tests_fabric/test_links.py::test_link_rate[hosts-4x-hdr]",
    )

    assert ran.outcomes == {"no-errors": "pass"}
    assert ran.not_run == {"hosts-4x-hdr": "its test did not run"}
    assert ran.answer == (1, "INCOMPLETE")


def test_load_entries_wait_for_load(judge):
    ran = judge(WITH_LOAD + HOSTS + LOAD)

    assert ran.outcomes == {"hosts-4x-hdr": "pass"}
    assert ran.not_run == {"clean-load": "needs --load"}
    assert (ran.counts, ran.answer) == ({"passed": 1, "skipped": 1}, (0, "INCOMPLETE"))


def test_only_load_entries_and_no_load_is_no_success(judge):
    assert judge(WITH_LOAD + LOAD).answer == (1, "INCOMPLETE")


# -- waivers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("subject", [MISSING, "SwitchB/26 - SwitchA/14", "SwitchA/14"])
def test_a_waiver_names_a_cable_or_an_end_of_it(judge, subject):
    ran = judge(waived(waiver(subject)) + PLANNED + ISL, "-k", "isl")

    assert ran.outcomes == {"isl-4x-hdr": "waived"}
    assert ran.answer == (0, "INCOMPLETE")


def test_a_waiver_covers_no_other_cable(judge):
    ran = judge(waived(waiver("SwitchA/13")) + PLANNED + ISL, "-k", "isl")

    assert [finding["subject"]["name"] for finding in ran.document["verdicts"][0]["findings"]] == [
        MISSING,
        "RMA-1 for SwitchA/13",
    ]
    assert ran.answer == (1, "NOT ACCEPTED")


def test_waivers_of_planned_cables(judge):
    """Each cable has its own; one for a cable that nobody planned is for nothing."""
    each = PLANNED + ISL.replace("HDR}", "HDR, each: cable}")
    covered = judge(waived(waiver(MISSING)) + each, "-k", "isl")
    useless = judge(waived(waiver("SwitchA/13")) + each, "-k", "isl")

    good = "isl-4x-hdr:SwitchA/13 - SwitchB/25"
    assert covered.outcomes == {good: "pass", f"isl-4x-hdr:{MISSING}": "waived"}
    assert useless.outcomes == {good: "fail", f"isl-4x-hdr:{MISSING}": "fail"}


def test_waivers(judge):
    """Covered: expected to fail. Expired: fails. For nothing: fails."""
    covered = judge(waived(waiver(MISSING, entry="all-cabled")) + PLANNED + HOSTS)
    expired = judge(waived(waiver(MISSING, "2020-01-31", "all-cabled")) + PLANNED + HOSTS)
    useless = judge(waived(waiver("client-1/1", entry="hosts-4x-hdr")) + HOSTS)

    assert (covered.outcomes, covered.counts, covered.answer) == (
        {"all-cabled": "waived", "hosts-4x-hdr": "pass"},
        {"passed": 1, "xfailed": 1},
        (0, "ACCEPTED"),
    )
    assert (expired.outcomes, expired.counts, expired.answer) == (
        {"all-cabled": "fail", "hosts-4x-hdr": "pass"},
        {"passed": 1, "failed": 1},
        (1, "NOT ACCEPTED"),
    )
    assert (useless.outcomes, useless.counts, useless.answer) == (
        {"hosts-4x-hdr": "fail"},
        {"failed": 1},
        (1, "NOT ACCEPTED"),
    )
    (finding,) = covered.document["verdicts"][0]["findings"]
    assert finding["waived"] == "RMA-1 until 2999-12-31: on order"
    (finding,) = expired.document["verdicts"][0]["findings"]
    assert finding["hint"] == "the waiver RMA-1 expired on 2020-01-31"
    (finding,) = useless.document["verdicts"][0]["findings"]
    assert (finding["subject"]["name"], finding["expected"], finding["found"]) == (
        "RMA-1 for client-1/1",
        "a failure of client-1/1 to waive",
        "nothing fails there",
    )


def test_a_waiver_for_a_cable_that_nobody_planned_is_refused(judge):
    """With an item per planned cable it would be in none of them."""
    each = PLANNED + ISL.replace("HDR}", "HDR, each: cable}")
    ran = judge(waived(waiver("SwitchC/1")) + each)

    assert (ran.code, ran.errors.strip()) == (
        4,
        "ERROR: expectations.yaml:7: isl-4x-hdr: the waiver RMA-1 names 'SwitchC/1', which is "
        "none of the planned cables of isl-4x-hdr",
    )


def test_what_was_not_seen_cannot_be_waived(judge, site, bundle):
    broken = cut(bundle, site.path / "cut", "iblinkinfo")
    text = waived(waiver(MISSING)) + PLANNED + ISL
    ran = judge(
        text, f"--replay={broken}", "-k", "isl", "--expectations=expectations.yaml", replay=False
    )

    assert ran.outcomes == {"isl-4x-hdr": "error"}


# -- wrong, unknown, and broken ------------------------------------------------------------------


def cut(bundle, folder, tool):
    """The bundle with one output of a tool cut, its checksum right."""
    shutil.copytree(bundle, folder)
    index = folder / "captures/index.jsonl"
    entries = [json.loads(line) for line in index.read_text().splitlines()]
    for entry in entries:
        if entry["argv"][0] == tool:
            file = folder / "captures" / entry["stdout"]
            half = file.read_bytes()[: file.stat().st_size // 2]
            file.write_bytes(half)
            entry["stdout_sha256"] = hashlib.sha256(half).hexdigest()
    index.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return folder


def cases(path):
    """What a JUnit file says of each test: its name, and failure, error or nothing."""
    return {
        case.get("name"): [child.tag for child in case if child.tag in {"failure", "error"}]
        for case in ET.parse(path).iter("testcase")  # noqa: S314 - pytest wrote it
    }


BUGGY = """
from ibaccept.checks.links import LinkRate
from ibaccept.observe.snapshot import Snapshot


def test_bug(snapshot: Snapshot, expected: LinkRate, evidence) -> None:
    raise ZeroDivisionError("a mistake in a test")
"""

SILENT = """
from ibaccept.checks.links import LinkRate


def test_silent(expected: LinkRate, evidence) -> None:
    pass
"""


def test_wrong_is_failed_and_unknown_is_error(judge, site, bundle):
    """In pytest's own counts and JUnit, as in ours."""
    broken = cut(bundle, site.path / "cut", "ibqueryerrors")
    ran = judge(
        HEAD + PLANNED + HOSTS + ERRORS,
        f"--replay={broken}",
        "--expectations=expectations.yaml",
        "--junitxml=own.xml",
        replay=False,
    )

    expected = {
        "test_cabling[all-cabled]": ["failure"],
        "test_link_rate[hosts-4x-hdr]": [],
        "test_error_counters[no-errors]": ["error"],
    }
    assert ran.counts == {"failed": 1, "passed": 1, "errors": 1}
    assert cases(site.path / "own.xml") == expected
    assert ran.outcomes == {"all-cabled": "fail", "hosts-4x-hdr": "pass", "no-errors": "error"}
    assert ran.answer == (1, "NOT ACCEPTED")
    assert sorted(cases(ran.folder / "junit.xml").values()) == sorted(expected.values())


def test_a_bug_keeps_its_traceback_and_is_no_failure_of_the_fabric(judge, site):
    (site.path / "tests_fabric/test_links.py").write_text(BUGGY)
    ran = judge(HEAD + HOSTS + ERRORS, "--junitxml=own.xml")

    assert ran.outcomes == {"hosts-4x-hdr": "error", "no-errors": "pass"}
    assert (ran.counts, ran.answer) == ({"errors": 1, "passed": 1}, (1, "INCOMPLETE"))
    assert '    raise ZeroDivisionError("a mistake in a test")' in [
        line.removeprefix(">").replace("       raise", "    raise") for line in ran.lines
    ]
    (verdict,) = [v for v in ran.document["verdicts"] if v["id"] == "hosts-4x-hdr"]
    assert verdict["findings"][0]["found"] == (
        "a bug in the suite, ZeroDivisionError: a mistake in a test"
    )
    assert cases(site.path / "own.xml")["test_bug[hosts-4x-hdr]"] == ["error"]


def test_a_test_that_judges_nothing_is_an_error(judge, site):
    (site.path / "tests_fabric/test_links.py").write_text(SILENT)
    ran = judge(HEAD + HOSTS)

    (verdict,) = ran.document["verdicts"]
    assert (verdict["outcome"], verdict["findings"][0]["found"]) == (
        "error",
        "the test judged nothing",
    )
    assert ran.answer == (1, "INCOMPLETE")


@pytest.mark.parametrize(
    ("links", "found"),
    [
        (
            "{names: 'SwitchC/* - *'}",
            "no links named SwitchC/* - * were seen, so nothing was judged",
        ),
        (
            "{type: isl, nodes: clients}",
            "no inter-switch links of clients were seen, so nothing was judged",
        ),
        ("{nodes: nobody}", "what the entry is about could not be seen, so nothing was judged"),
    ],
)
def test_an_empty_selection_is_an_error(judge, links, found):
    ran = judge(HEAD + f"  - {{id: some, kind: link-rate, links: {links}, speed: HDR}}\n")

    (verdict,) = ran.document["verdicts"]
    assert verdict["outcome"] == "error"
    assert verdict["sentence"] == f"{found} (expected: HDR)"
    assert ran.answer == (1, "INCOMPLETE")


@pytest.mark.parametrize(
    ("row", "outcome", "found"),
    [
        (
            "SwichA,9,SwitchB,9",
            "error",
            "inventory/cables.csv:2: no node is named 'SwichA'; did you mean 'SwitchA'?",
        ),
        (
            "SwitchA,99,SwitchB,9",
            "error",
            "inventory/cables.csv:2: SwitchA/99: SwitchA has 14 ports",
        ),
        (
            "SwitchA,13,rack17-pdu,1",
            "fail",
            "moved: SwitchA/13 goes to SwitchB/25 instead of rack17-pdu/1",
        ),
    ],
    ids=["misspelt", "no-such-port", "not-there"],
)
def test_a_plan_that_names_what_the_fabric_does_not_have(judge, site, row, outcome, found):
    """A misspelt name is an error, told with the names there are; it is no missing cable."""
    (site.path / "inventory/cables.csv").write_text(f"a_name,a_port,b_name,b_port\n{row}\n")
    ran = judge(HEAD + PLANNED)

    (verdict,) = ran.document["verdicts"]
    said = verdict["findings"][0]["found"].replace(f"{site.path}/", "")
    assert (verdict["outcome"], said) == (outcome, found)


# -- refused before anything is done -------------------------------------------------------------

KNOWN = ", ".join(lab.names())
OBSERVERS = "observers: {hosts: {mgmt01: {}}}\n"
PLAN = "a_name,a_port,b_name,b_port\nSwitchA,13,SwitchB,25\n"


@pytest.mark.parametrize(
    ("expectations", "inventory", "plan", "sentences"),
    [
        (
            HEAD + HOSTS.replace("speed", "sped"),
            OBSERVERS,
            PLAN,
            ["expectations.yaml:4: hosts-4x-hdr: unknown key 'sped'; did you mean 'speed'?"],
        ),
        (
            HEAD + ISL + ISL,
            OBSERVERS,
            PLAN,
            ["expectations.yaml:5: the id 'isl-4x-hdr' is already used in line 4"],
        ),
        (
            HEAD + HOSTS.replace("id:", "kind: cabling, id:"),
            OBSERVERS,
            PLAN,
            ["expectations.yaml:4: the key 'kind' is already set in line 4"],
        ),
        (
            HEAD + ERRORS.replace("1s", "1 GiB/s"),
            OBSERVERS,
            PLAN,
            [
                "expectations.yaml:4: no-errors: window: '1 GiB/s': 'GiB/s' is no unit of a "
                "duration; units are ms, s, m, h"
            ],
        ),
        (
            HEAD + ERRORS.replace("all", "{nodes: clients}"),
            OBSERVERS + "clients: {hosts: {}}\n",
            PLAN,
            [
                "expectations.yaml:4: no-errors: links.nodes: the group 'clients' is empty in "
                "inventory/site.yaml"
            ],
        ),
        (
            "version: 1\nfabric: f\njob: {clients: nobody, storage: mgmt01}\nexpect:\n" + HOSTS,
            OBSERVERS,
            PLAN,
            [
                "expectations.yaml:3: job.clients: nobody is not in inventory/site.yaml; "
                "known are all, mgmt01, observers"
            ],
        ),
        (
            HEAD + HOSTS,
            "clients: {hosts: {a: {}}}\n",
            PLAN,
            [
                "inventory/site.yaml:1: there is no group 'observers'; name a host there "
                "that runs infiniband-diags; known are all, clients"
            ],
        ),
        (
            HEAD + PLANNED,
            OBSERVERS,
            PLAN.replace("13", "thirteen"),
            ["inventory/cables.csv:2: a_port: 'thirteen' is not a port number (1 to 254)"],
        ),
        (
            HEAD + PLANNED,
            OBSERVERS,
            "",
            [
                "inventory/cables.csv:1: the file is empty; its first line is "
                "a_name,a_guid,a_port,b_name,b_guid,b_port"
            ],
        ),
        (
            waived(waiver("SwitchA/1", entry="nothing")) + HOSTS,
            OBSERVERS,
            PLAN,
            [
                "expectations.yaml:4: a waiver for 'nothing', which is no entry; known are "
                "hosts-4x-hdr"
            ],
        ),
        (
            HEAD,
            OBSERVERS,
            PLAN,
            ["expectations.yaml:3: expect has no value; give one or leave it out"],
        ),
    ],
    ids=[
        "unknown-key",
        "id-twice",
        "key-twice",
        "wrong-unit",
        "empty-group",
        "unknown-host",
        "no-observers",
        "no-port-number",
        "empty-plan",
        "waiver-for-nothing",
        "no-entries",
    ],
)
def test_bad_input_is_a_usage_error(judge, site, expectations, inventory, plan, sentences):
    """Refused whole: exit code 4, no run's folder, no connection."""
    (site.path / "inventory/site.yaml").write_text(inventory)
    (site.path / "inventory/cables.csv").write_text(plan)
    ran = judge(expectations, "--inventory=inventory/site.yaml", replay=False)

    said = [line.replace(f"{site.path}/", "") for line in ran.errors.splitlines() if line]
    assert (ran.code, said) == (4, [f"ERROR: {sentences[0]}", *sentences[1:]])
    assert not (site.path / "reports").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--replay=nowhere"],
            "nowhere is not the folder of a run (nowhere/run.json cannot be read: No such file or "
            "directory)",
        ),
        (
            ["--lab=nothing-of-that-name"],
            f"there is no lab scenario 'nothing-of-that-name'; there are {KNOWN}, a path ending in "
            ".yaml, or capture:FILE",
        ),
        (
            ["--lab=healthy", "--replay=x"],
            "--replay judges what was captured; it cannot be used with --lab",
        ),
        (
            ["--expectations=none.yaml"],
            "there is no file none.yaml; name the expectations with --expectations=FILE",
        ),
    ],
)
def test_options_that_cannot_be(judge, site, options, sentence):
    ran = judge(HEAD + HOSTS, *options, replay=False)

    said = [line.replace(f"{site.path}/", "") for line in ran.errors.splitlines() if line]
    assert (ran.code, said) == (4, [f"ERROR: {sentence}"])
    assert not (site.path / "reports").exists()


def test_a_bundle_that_was_changed_is_refused(judge, site, bundle):
    changed = site.path / "changed"
    shutil.copytree(bundle, changed)
    (file,) = (changed / "captures").glob("*-iblinkinfo.txt")
    file.write_text(file.read_text().replace("53.125", "25.78125"))
    ran = judge(HEAD + HOSTS, f"--replay={changed}", replay=False)

    assert (ran.code, ran.errors.strip().replace(f"{site.path}/", "")) == (
        4,
        f"ERROR: changed/captures/{file.name} was changed after it was captured: its sha256 is not "
        "the one in changed/captures/index.jsonl:6",
    )


def test_a_bundle_that_was_cut_short_is_refused(judge, site, bundle):
    short = site.path / "short"
    shutil.copytree(bundle, short)
    (short / "captures/complete").unlink()
    ran = judge(HEAD + HOSTS, f"--replay={short}", replay=False)

    assert (ran.code, ran.errors.strip().replace(f"{site.path}/", "")) == (
        4,
        "ERROR: the sweep of the fabric in short was cut short, so its captures are not complete; "
        "run the suite against the fabric",
    )


def test_a_bundle_that_lacks_what_an_entry_needs_is_an_error(judge):
    """Another window than the one that was looked at cannot be judged."""
    ran = judge(HEAD + HOSTS + ERRORS + ERRORS.replace("no-errors", "long").replace("1s", "9s"))

    assert ran.outcomes == {"hosts-4x-hdr": "pass", "no-errors": "pass", "long": "error"}


# -- the job of a replay, and of load ------------------------------------------------------------

JOB = "version: 1\nfabric: small\njob: {clients: clients, storage: storage}\n"
DELIVERED = "expect:\n  - {id: job-delivered, kind: routes, every: job}\n"
RECORDED = "workloads: {filesystem: {tool: recorded, file: [read.yaml]}}\n"
FLOOR = "expect:\n  - {id: floor, kind: filesystem, read_at_least: 1 GiB/s}\n"


def test_a_replay_judges_the_job_it_is_given(judge):
    """Tables tell of any job; the LIDs of hosts that were not asked are known by their names."""
    own, other = judge(JOB + DELIVERED), judge(JOB + DELIVERED, "--job=client-1")

    assert own.outcomes == other.outcomes == {"job-delivered": "pass"}
    assert (own.document["job"], other.document["job"]) == (
        "clients client-[1-2], storage stor-1",
        "clients client-1, storage stor-1",
    )
    sentences = [ran.document["verdicts"][0]["sentence"] for ran in (own, other)]
    assert sentences == [
        f"2 of 2 properties of the routes of {pairs} pairs are as expected (every pair of the job "
        "delivered, no credit loop on one virtual lane)"
        for pairs in (6, 2)
    ]


@pytest.mark.parametrize("job", ["nonsense", "client-[1-9]"])
def test_a_replay_refuses_a_job_of_unknown_hosts(judge, job):
    ran = judge(JOB + DELIVERED, f"--job={job}")

    assert ran.code == 4
    assert ran.errors.startswith("ERROR: ")


def test_a_replay_of_a_run_without_load_says_so(judge, site):
    (site.path / "read.yaml").write_text(GOOD)
    ran = judge(JOB + RECORDED + FLOOR + HOSTS, "--load")

    assert ran.not_run == {"floor": "the run that is replayed made no load"}
    assert ran.outcomes == {"hosts-4x-hdr": "pass"}
    assert ran.answer == (0, "INCOMPLETE")


GOOD = """\
{tool: x, nodes: "client-[1-2]", direction: read, bytes: 40GiB, seconds: 10,
 start: 2026-11-30T10:00:00Z, end: 2026-11-30T10:00:10Z}
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "read.yaml:1: the file is empty"),
        (GOOD[:60], "read.yaml:1: "),
        ("\x00\x01", "read.yaml"),
        (
            GOOD.replace("2026", "3026"),
            "workloads: filesystem: the recorded read run ends 3026-11-30",
        ),
        (None, "read.yaml: No such file or directory; see workloads: filesystem: file"),
    ],
    ids=["empty", "cut", "binary", "future", "missing"],
)
def test_a_recorded_result_that_cannot_be_read_is_refused_before_any_load(
    judge, site, text, sentence
):
    if text is not None:
        (site.path / "read.yaml").write_text(text)
    ran = judge(JOB + RECORDED + FLOOR, "--load", "--inventory=inventory/site.yaml", replay=False)

    assert ran.code == 4
    assert sentence in ran.errors
    assert "Traceback" not in ran.errors
    assert not (site.path / "reports").exists()


def test_a_host_that_is_client_and_storage_is_refused_for_load(judge, site):
    (site.path / "read.yaml").write_text(GOOD)
    text = (JOB + RECORDED + FLOOR).replace("storage: storage", 'storage: "client-[1-2]"')
    ran = judge(text, "--load", "--inventory=inventory/site.yaml", replay=False)

    assert (ran.code, ran.errors.strip()) == (
        4,
        "ERROR: job: client-[1-2] are client and storage server: what such a host reads from "
        "itself crosses no cable; name it once",
    )


# -- Allure, as allure-pytest writes it ----------------------------------------------------------

ENTRIES = (
    waived(waiver(MISSING))
    + PLANNED
    + ISL.replace("HDR}", "HDR, because: ordered so}")
    + HOSTS
    + ERRORS
)
VARIES = ("uuid", "start", "stop")


def allure_results(folder):
    """Results by name, without what differs between two runs; attachments as texts by name."""
    found = {}
    for file in sorted(folder.glob("*-result.json")):
        result = json.loads(file.read_text())
        for key in VARIES:
            result.pop(key, None)
        result["labels"] = sorted(
            (row["name"], row["value"])
            for row in result["labels"]
            if row["name"] not in {"host", "thread"}
        )
        result["attachments"] = {
            row["name"]: (row["type"], (folder / row["source"]).read_text())
            for row in result.get("attachments", ())
        }
        found[result["name"]] = result
    return found


def allure_labels(area, kind, severity, *tags):
    rows = (
        ("severity", severity),
        ("epic", "small"),
        ("feature", area),
        ("story", kind),
        ("parentSuite", "tests_fabric"),
        ("suite", f"test_{area}"),
        ("framework", "pytest"),
        ("language", f"cpython{sys.version_info.major}"),
        ("package", f"tests_fabric.test_{area}"),
        *(("tag", tag) for tag in tags),
    )
    return sorted(rows)


def ours(folder, name):
    """What the run's own allure-results/ say of an entry: message, trace, history, attachments."""
    own = allure_results(folder / "allure-results")[name]
    return own["statusDetails"], own["historyId"], own["attachments"]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_alluredir(judge, site, bundle, workers):
    """Wrong is failed, unknown is broken; the evidence is attached; a replay like any run."""
    broken = cut(bundle, site.path / "cut", "ibqueryerrors")
    ran = judge(
        ENTRIES,
        *(f"--replay={broken}", "--expectations=expectations.yaml", "--alluredir=own", *workers),
        replay=False,
    )

    assert ran.outcomes == {
        "all-cabled": "fail",
        "isl-4x-hdr": "waived",
        "hosts-4x-hdr": "pass",
        "no-errors": "error",
    }
    expected = {}
    for entry, status, description, labels in (
        (
            "test_cabling[all-cabled]",
            "failed",
            "The fabric is cabled as planned.",
            allure_labels("cabling", "cabling", "critical"),
        ),
        (
            "test_link_rate[isl-4x-hdr]",
            "skipped",
            "Every selected link trains at the expected width and speed.\n\nbecause: ordered so",
            allure_labels("links", "link-rate", "critical"),
        ),
        (
            "test_link_rate[hosts-4x-hdr]",
            "passed",
            "Every selected link trains at the expected width and speed.",
            allure_labels("links", "link-rate", "critical", "nightly"),
        ),
        (
            "test_error_counters[no-errors]",
            "broken",
            "No error counter grows beyond its limit.",
            allure_labels("counters", "error-counters", "critical"),
        ),
    ):
        test, _, name = entry.removesuffix("]").partition("[")
        module = f"test_{dict(labels)['feature']}"
        details, history, attached = ours(ran.folder, name)
        expected[entry] = {
            "name": entry,
            "status": status,
            "statusDetails": details,
            "description": description,
            "attachments": attached,
            "parameters": [{"name": "entry", "value": name}],
            "historyId": history,
            "testCaseId": allure_utils.md5(f"tests_fabric.{module}#{test}"),
            "fullName": f"tests_fabric.{module}#{test}",
            "labels": labels,
            "titlePath": ["tests_fabric", f"{module}.py"],
        }
    assert allure_results(site.path / "own") == expected
    assert expected["test_link_rate[isl-4x-hdr]"]["statusDetails"]["known"] is True
    assert list(expected["test_cabling[all-cabled]"]["attachments"]) == [
        "evidence",
        "verdict",
        "captured lines",
    ]


def test_alluredir_of_what_did_not_run_and_of_a_bug(judge, site):
    (site.path / "tests_fabric/test_links.py").write_text(BUGGY)
    ran = judge(WITH_LOAD + HOSTS + LOAD, "--alluredir=own")

    assert ran.outcomes == {"hosts-4x-hdr": "error"}
    results = allure_results(site.path / "own")
    assert {
        name: (result["status"], result["statusDetails"]["message"], list(result["attachments"]))
        for name, result in results.items()
    } == {
        "test_bug[hosts-4x-hdr]": (
            "broken",
            "ZeroDivisionError: a mistake in a test",
            ["evidence", "verdict"],
        ),
        "test_error_counters[clean-load]": ("skipped", "Skipped: needs --load", []),
    }
    assert results["test_bug[hosts-4x-hdr]"]["statusDetails"]["trace"].endswith("ZeroDivisionError")
    ids = {result["parameters"][0]["value"]: result["historyId"] for result in results.values()}
    own = allure_results(ran.folder / "allure-results")
    assert ids == {name: own[name]["historyId"] for name in ("hosts-4x-hdr", "clean-load")}


def test_allures_own_choice_of_severity_and_feature(judge):
    ran = judge(HEAD + HOSTS + ERRORS, "--allure-features=links")

    assert (ran.outcomes, ran.not_run) == (
        {"hosts-4x-hdr": "pass"},
        {"no-errors": "not among the tests chosen"},
    )
    assert ran.answer == (0, "INCOMPLETE")


def test_a_run_without_allure_pytest(judge):
    ran = judge(HEAD + HOSTS, "-p", "no:allure_pytest")

    assert ran.answer == (0, "ACCEPTED")


# -- a folder that cannot be written, and runs that only show something ---------------------------


def full(*_args, **_kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("entries", "code", "answer"),
    [(HOSTS, 0, "ACCEPTED"), (HOSTS + PLANNED, 1, "NOT ACCEPTED")],
    ids=["accepted", "not-accepted"],
)
def test_the_answer_is_printed_though_the_reports_cannot_be_written(
    judge, site, monkeypatch, entries, code, answer
):
    monkeypatch.setattr("ibaccept.report.writer.tempfile.mkstemp", full)
    ran = judge(HEAD + entries)
    (run,) = (site.path / "reports").iterdir()

    assert (ran.code, ran.lines[-1]) == (code, answer)
    assert [line for line in ran.lines if line.startswith(("warning", "report", "orders"))] == [
        f"warning: the reports could not be written to {run} (No space left on device); free space "
        "or permissions, then judge the bundle again with --replay"
    ]
    assert not (site.path / "reports/latest").exists()
    assert "Traceback" not in ran.errors + "\n".join(ran.lines)


def test_the_answer_is_printed_though_another_report_cannot_be_written(judge):
    ran = judge(HEAD + HOSTS, "--junitxml=/dev/full")

    assert ran.answer == (0, "ACCEPTED")
    assert [line for line in ran.lines if line.startswith("warning")] == [
        "warning: a report could not be written: No space left on device"
    ]
    assert "Traceback" not in ran.errors + "\n".join(ran.lines)


def test_a_look_that_cannot_be_recorded_is_no_bug(judge, monkeypatch):
    monkeypatch.setattr("ibaccept.run.session.recorded_snapshot", full)
    ran = judge(HEAD + HOSTS)

    (verdict,) = ran.document["verdicts"]
    assert [(f["found"], f["hint"]) for f in verdict["findings"]] == [
        (
            "the run's folder could not be written: No space left on device",
            "free space or permissions, then run again",
        )
    ]
    assert ran.answer == (1, "INCOMPLETE")
    assert "Traceback" not in "\n".join(ran.lines)


def test_a_folder_that_is_full_at_the_start_is_a_usage_error(judge, site, monkeypatch):
    monkeypatch.setattr("ibaccept.run.session.keep_inputs", full)
    ran = judge(HEAD + HOSTS)

    said = ran.errors.strip().replace(f"{site.path}/", "")
    assert ran.code == 4
    assert re.sub(r"[0-9TZ-]+-small", "RUN", said) == (
        "ERROR: reports/RUN could not be written (No space left on device); free space, or name "
        "another folder with --reports=FOLDER"
    )
    assert list((site.path / "reports").iterdir()) == []


@pytest.mark.parametrize(
    "option",
    ["--help", "--version", "--fixtures", "--fixtures-per-test", "--markers", "--collect-only"],
)
def test_what_only_shows_something_leaves_no_folder(judge, site, option):
    ran = judge(HEAD + HOSTS, option)

    assert ran.code == 0
    assert not (site.path / "reports").exists()
    assert list(Path(tempfile.gettempdir()).glob("ibaccept-*/*-small")) == []


def test_fixtures_are_shown_without_any_input(judge, site):
    (site.path / "inventory/site.yaml").unlink()
    ran = judge(HEAD + HOSTS, "--fixtures", replay=False)

    assert ran.code == 0
    assert any(line.startswith("snapshot -- ") for line in ran.lines)


def test_a_run_leaves_no_lock(bundle):
    assert sorted(path.name for path in bundle.iterdir()) == [
        "allure-results",
        "captures",
        "index.html",
        "inputs",
        "junit.xml",
        "punchlist.csv",
        "run.json",
        "verdicts.json",
    ]
    assert [path for path in bundle.rglob("*") if "lock" in path.name] == []


def test_secrets_of_the_inventory_are_nowhere(judge, site, bundle):
    """Not in the run's folder, the page, JUnit, Allure, nor on the terminal."""
    text = (bundle / "inputs/inventory.yaml").read_text()
    secrets = [f"s3cr3t{number}" for number in range(4)]
    variables = (
        "  vars:\n    ansible_password: s3cr3t0\n    ansible_become_pass: s3cr3t1  # s3cr3t2\n"
        "    bmc_login: {user: admin, word: s3cr3t3}\n"
    )
    (site.path / "inventory/site.yaml").write_text(f"{text}\nplaces:\n  hosts:\n{variables}")
    ran = judge(
        HEAD + PLANNED + HOSTS,
        *("--inventory=inventory/site.yaml", "--alluredir=own", "--junitxml=own.xml"),
    )

    files = [path for top in (ran.folder, site.path / "own") for path in top.rglob("*")]
    texts = [path.read_text(errors="replace") for path in files if path.is_file()]
    texts += [(site.path / "own.xml").read_text(), ran.errors, "\n".join(ran.lines)]
    assert ran.outcomes == {"all-cabled": "fail", "hosts-4x-hdr": "pass"}
    assert [secret for secret in secrets if any(secret in text for text in texts)] == []
    assert "ansible_password: not copied" in (ran.folder / "inputs/inventory.yaml").read_text()

"""A whole run by the suite's own tests, from captured text: outcomes, answer, reports."""

import importlib
import json
import os
import pkgutil
import shutil
from pathlib import Path

import pytest

import ibaccept
from ibaccept.cli import main
from ibaccept.run.session import begin
from ibaccept.site.plan import Plan

# pytester forgets what an inner run imported, and C extensions cannot be loaded twice.
for module in pkgutil.walk_packages(ibaccept.__path__, "ibaccept."):
    if module.name != "ibaccept.__main__":
        importlib.import_module(module.name)

ROOT = Path(__file__).resolve().parents[2]
HEAD = "version: 1\nfabric: scripted\nexpect:\n"
ONE_SM = "  - {id: one-sm, kind: subnet-manager, masters: 1}\n"
TWO_SM = "  - {id: two-sm, kind: subnet-manager, masters: 2, because: one must be spare}\n"
HDR = "  - {id: isl-hdr, kind: link-rate, links: isl, width: 4X, speed: HDR}\n"
NDR = "  - {id: isl-ndr, kind: link-rate, links: isl, width: 4X, speed: NDR, marks: [nightly]}\n"
COUNT = "  - {id: isl-count, kind: link-count, between: [SwitchA, SwitchB], count: 1}\n"
CLEAN = "  - {id: no-errors, kind: error-counters, links: all, window: 1s}\n"
LONG = "  - {id: long, kind: error-counters, links: all, window: 1h}\n"
ROUTES = "  - {id: delivered, kind: routes}\n"
EVEN = "  - {id: even, kind: balance, within: 1}\n"
LOAD = (
    "version: 1\nfabric: scripted\njob: {clients: clients, storage: storage}\n"
    "workloads:\n  rdma: {}\nexpect:\n"
    "  - {id: clean-load, kind: error-counters, links: isl, window: load}\n"
)
WAIVERS = (
    "waivers:\n  - {expectation: isl-ndr, subject: SwitchA/13 - SwitchB/25, until: 2099-01-01,"
    " ticket: RMA-1, because: on order}\n"
)


@pytest.fixture
def judge(desk, pytester, monkeypatch):
    """Judge one look by expectations: exit code, outcome by id, last line, folder."""
    for name in [name for name in os.environ if name.startswith("IBACCEPT_")]:
        monkeypatch.delenv(name)
    run = begin(desk.given(), lambda _text: None)
    run.snapshot()
    shutil.copytree(
        ROOT / "tests_fabric",
        pytester.path / "tests_fabric",
        ignore=shutil.ignore_patterns("__pycache__"),
    )

    def by(expectations, *options):
        (pytester.path / "site.yaml").write_text(expectations)
        done = pytester.runpytest_inprocess(
            *("tests_fabric", "-p", "ibaccept.plugin", "-p", "no:cacheprovider"),
            *(f"--replay={run.run_dir}", "--expectations=site.yaml", *options),
        )
        folder = pytester.path / "reports/latest"
        document = json.loads((folder / "verdicts.json").read_text())
        outcomes = {each["id"]: each["outcome"] for each in document["verdicts"]}
        return int(done.ret), outcomes, done.outlines[-1], folder.resolve()

    return by


def test_everything_is_as_expected(judge):
    code, outcomes, answer, folder = judge(HEAD + ONE_SM + HDR + COUNT + CLEAN + ROUTES)

    assert (code, answer.split()[0]) == (0, "ACCEPTED")
    assert outcomes == {
        "one-sm": "pass",
        "isl-hdr": "pass",
        "isl-count": "pass",
        "no-errors": "pass",
        "delivered": "pass",
    }
    assert {path.name for path in folder.iterdir()} >= {
        "index.html",
        "verdicts.json",
        "punchlist.csv",
        "junit.xml",
        "allure-results",
        "inputs",
        "captures",
        "run.json",
    }


def test_wrong_fails_and_unknown_is_an_error(judge):
    code, outcomes, answer, _folder = judge(HEAD + ONE_SM + TWO_SM + NDR + LONG)

    assert (code, answer) == (1, "NOT ACCEPTED")
    assert outcomes == {"one-sm": "pass", "two-sm": "fail", "isl-ndr": "fail", "long": "error"}


def test_what_cannot_be_judged_leaves_it_incomplete(judge):
    code, outcomes, answer, _folder = judge(HEAD + ONE_SM + LONG)

    assert (code, answer.split()[0]) == (1, "INCOMPLETE")
    assert outcomes == {"one-sm": "pass", "long": "error"}


def test_a_waiver_accepts_what_differs(judge):
    code, outcomes, answer, _folder = judge(HEAD + ONE_SM + NDR + WAIVERS)

    assert (code, answer.split()[0]) == (0, "ACCEPTED")
    assert outcomes == {"one-sm": "pass", "isl-ndr": "waived"}


@pytest.mark.parametrize(
    ("options", "judged"),
    [(("-m", "nightly"), {"isl-ndr": "fail"}), (("-k", "one-sm"), {"one-sm": "pass"})],
)
def test_entries_that_are_left_out_on_purpose(judge, options, judged):
    code, outcomes, answer, _folder = judge(HEAD + ONE_SM + NDR, *options)

    failed = "fail" in judged.values()
    assert outcomes == judged
    assert (code, answer.split()[0]) == ((1, "NOT") if failed else (0, "INCOMPLETE"))


def test_load_is_not_judged_without_load(judge):
    code, outcomes, answer, folder = judge(LOAD + ONE_SM)

    assert (code, outcomes, answer.split()[0]) == (0, {"one-sm": "pass"}, "INCOMPLETE")
    document = json.loads((folder / "verdicts.json").read_text())
    assert list(document["not_run"]) == ["clean-load"]


# -- the same steps by the command -----------------------------------------------------------------


def ibaccept_of(capsys, *argv):
    code = main([str(word) for word in argv])
    out, err = capsys.readouterr()
    return code, out.splitlines(), err.splitlines()


def test_a_capture_gives_a_run_to_judge_and_a_plan(desk, capsys, monkeypatch):
    monkeypatch.chdir(desk.folder)

    code, out, err = ibaccept_of(capsys, "capture")
    (folder,) = map(Path, out)
    planned = ibaccept_of(capsys, "plan", folder)

    assert (code, err[-1]) == (0, f"ibaccept: judge it with: pytest tests_fabric --replay={folder}")
    assert sorted(path.name for path in folder.iterdir()) == ["captures", "inputs", "run.json"]
    assert planned[0] == 0
    assert [cable.name for cable in Plan.read("\n".join(planned[1]), name="plan").cables] == [
        "SwitchA/1 - client-1/1",
        "SwitchA/13 - SwitchB/25",
        "SwitchB/1 - stor-1/1",
        "SwitchB/26 - mgmt01/1",
    ]


@pytest.mark.parametrize(
    ("options", "heads"),
    [
        ((), ["PASSED", "FAILED", "FAILED", "ERROR"]),
        (("--failures",), ["FAILED", "FAILED", "ERROR"]),
        (("--id=long",), ["ERROR"]),
    ],
)
def test_a_judged_run_is_shown_again(judge, capsys, options, heads):
    code, _outcomes, answer, folder = judge(HEAD + ONE_SM + TWO_SM + NDR + LONG)
    capsys.readouterr()

    shown, out, err = ibaccept_of(capsys, "show", folder, *options)

    assert (shown, err, out[-1]) == (code, [], answer)
    assert [
        word for line in out if (word := line.split(" ")[0]) in {"PASSED", "FAILED", "ERROR"}
    ] == (heads)


def test_a_verdict_that_is_not_there_is_not_shown(judge, capsys):
    folder = judge(HEAD + ONE_SM)[3]
    capsys.readouterr()

    code, out, err = ibaccept_of(capsys, "show", folder, "--id=one-sn")

    assert (code, out) == (4, [])
    assert err == [
        f"ibaccept: {folder}/verdicts.json has no verdict on 'one-sn'; did you mean 'one-sm'?"
    ]

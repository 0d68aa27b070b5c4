"""The tree is as CONTRIBUTING says: layers, one test file a module, one class a name."""

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src/ibaccept"
TESTS = ROOT / "tests"
MODULES = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
TREES = {name: ast.parse(path.read_text("utf-8")) for name, path in MODULES.items()}
TEST_FILES = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}


# -- layers ------------------------------------------------------------------------------------


def rungs():
    """The layers of the contract, the lowest first; each with its names."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (contract,) = (each for each in settings["contracts"] if each["type"] == "layers")
    return [layer.split(" | ") for layer in reversed(contract["layers"])]


def first_sentence(name):
    """Of the docstring of a folder's ``__init__`` or of a module at the top."""
    file = f"{name}/__init__.py" if f"{name}/__init__.py" in TREES else f"{name}.py"
    return re.split(r"(?<=\.)\s", ast.get_docstring(TREES[file]), maxsplit=1)[0]


def test_the_picture_in_contributing_is_the_contract():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    (picture,) = re.findall(r"```text\n(\d\d .*?)```", text, re.DOTALL)

    ladder = [
        f"{number:>2} {name:<9} {first_sentence(name)}"
        for number, names in reversed(list(enumerate(rungs(), start=1)))
        for name in names
    ]
    assert picture.splitlines() == ladder


def test_every_folder_says_what_it_may_import():
    folders = [name for names in rungs() for name in names if f"{name}/__init__.py" in TREES]

    silent = [
        name
        for name in folders
        if "Imports " not in ast.get_docstring(TREES[f"{name}/__init__.py"])
    ]
    assert silent == []


# -- names -------------------------------------------------------------------------------------


def test_a_class_name_is_unique_in_the_package():
    """A private one is seen in its own module only."""
    where = defaultdict(list)
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(name)

    assert {name: files for name, files in where.items() if len(files) > 1} == {}


# -- one test file a module --------------------------------------------------------------------

STRUCTURE = (ast.Expr, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)

TESTED_BY = {
    "__main__.py": "cli/test_cli.py",
    "checks/diagnosis/facts.py": "checks/diagnosis/test_diagnosis.py",
    "checks/diagnosis/rules.py": "checks/diagnosis/test_diagnosis.py",
    "checks/routes/groups.py": "checks/routes/test_spread.py",
    "checks/routes/notes.py": "checks/routes/test_spread.py",
    "checks/throughput/cable_load.py": "checks/throughput/test_judge.py",
    "checks/throughput/tables.py": "checks/throughput/test_judge.py",
    "checks/throughput/trust.py": "checks/throughput/test_judge.py",
    "checks/throughput/under_load.py": "checks/throughput/test_judge.py",
    "checks/throughput/watched.py": "checks/throughput/test_measured.py",
    "cli/inputs.py": "cli/test_check.py",
    "cli/options.py": "cli/test_cli.py",
    "cli/show.py": "cli/test_capture.py",
    "cli/site.py": "cli/test_cli.py",
    "cli/text.py": "cli/test_cli.py",
    "lab/backend.py": "a Protocol; its backend is ibsim",
    "lab/fabric/network.py": "lab/fabric/test_ibsim.py",
    "lab/faults.py": "lab/test_scenario.py",
    "lab/hosts/equip.py": "lab/ssh/test_server.py",
    "lab/hosts/played.py": "lab/ssh/test_server.py",
    "lab/hosts/shims.py": "lab/ssh/test_server.py",
    "lab/session.py": "test_scenarios.py",
    "lab/ssh/access.py": "lab/ssh/test_server.py",
    "lab/ssh/process.py": "lab/ssh/test_server.py",
    "lab/ssh/pump.py": "lab/ssh/test_server.py",
    "lab/standins/fio.py": "lab/test_standins.py",
    "lab/standins/ib_bw.py": "lab/test_standins.py",
    "lab/standins/link.py": "lab/test_standins.py",
    "lab/standins/ss.py": "lab/test_standins.py",
    "lab/traffic/plane.py": "lab/traffic/test_dataplane.py",
    "lab/traffic/runs.py": "lab/traffic/test_dataplane.py",
    "lab/traffic/settings.py": "lab/test_scenario.py",
    "lab/traffic/tally.py": "lab/traffic/test_dataplane.py",
    "load/pace.py": "load/test_runs.py",
    "parse/__init__.py": "the errors of every parser; each parser tests its own",
    "parse/ibdiagnet_fdbs.py": "parse/test_lft.py",
    "parse/ibnetdiscover/_blocks.py": "parse/test_ibnetdiscover.py",
    "parse/ibnetdiscover/_ports.py": "parse/test_ibnetdiscover.py",
    "parse/ibnetdiscover/_records.py": "parse/test_ibnetdiscover.py",
    "parse/ibqueryerrors/_records.py": "parse/test_ibqueryerrors.py",
    "parse/ibqueryerrors/_rows.py": "parse/test_ibqueryerrors.py",
    "parse/ibroute.py": "parse/test_lft.py",
    "parse/lft_rows.py": "parse/test_lft.py",
    "parse/opensm_dump.py": "parse/test_lft.py",
    "parse/perftest/accept.py": "parse/test_perftest.py",
    "parse/perftest/row.py": "parse/test_perftest.py",
    "parse/perftest/text.py": "parse/test_perftest.py",
    "plugin/ending.py": "test_plugin.py",
    "plugin/fixtures.py": "test_plugin.py",
    "plugin/items.py": "test_plugin.py",
    "plugin/options.py": "test_plugin.py",
    "plugin/outcomes.py": "test_plugin.py",
    "plugin/progress.py": "test_plugin.py",
    "plugin/session.py": "test_plugin.py",
    "routing/census.py": "routing/test_naive.py",
    "routing/credit.py": "routing/test_naive.py",
    "routing/crossings.py": "routing/test_naive.py",
    "routing/inward.py": "routing/test_naive.py",
    "routing/route.py": "routing/test_paths.py",
    "routing/tables.py": "routing/test_paths.py",
    "routing/trees.py": "routing/test_naive.py",
    "run/waivers.py": "run/test_items.py",
    "site/adaptive.py": "checks/routes/test_spread.py",
    "site/problems.py": "checks/test_expectations.py",
    "site/settings.py": "checks/test_expectations.py",
    "transport/__init__.py": "transport/test_local.py",
    "verdict/evidence.py": "verdict/test_verdict.py",
}
"""Modules without a test file of their name -> the file that tests them, or why none does."""

WITHOUT_MODULE = {
    "checks/test_outcomes.py": "every kind has each outcome in its table",
    "lab/test_standins.py": "the four stand-ins against the text of the real tools",
    "lab/traffic/test_rates.py": "rates of the model, end to end",
    "load/test_load_lab.py": "load runs against a lab",
    "parse/test_garbage.py": "every reader against damaged text",
    "parse/test_ibnetdiscover.py": "the package, whose private modules are its parts",
    "parse/test_perftest.py": "the package and its modules, which share their samples",
    "rdma_vm/test_load_runner.py": "load runs with real perftest in an emulated machine",
    "rdma_vm/test_perftest.py": "real perftest in an emulated machine",
    "report/test_untrusted.py": "every report against names that try to break it",
    "routing/test_naive.py": "every count against a pair-by-pair walk",
    "routing/test_real_tables.py": "tables that a real OpenSM wrote",
    "routing/test_samples.py": "tables of fabrics that were captured",
    "run/test_whole_run.py": "whole runs from captured text, by pytest and by the command",
    "test_layout.py": "the tree itself",
    "test_plugin.py": "the package, whose modules are its parts",
    "test_readme.py": "README and docs",
    "test_scenarios.py": "every scenario of the lab, end to end",
    "transport/test_sudo.py": "commands as root",
}
"""Test files that are about no one module -> what they are about."""


def wanted(module):
    """Where the tests of a module may be; nowhere for an ``__init__`` that only names things."""
    path = Path(module)
    if path.name != "__init__.py":
        return [path.with_name(f"test_{path.stem}.py").as_posix()]
    if all(isinstance(node, STRUCTURE) for node in TREES[module].body):
        return []
    name = f"test_{path.parent.name or 'ibaccept'}.py"
    return [(path.parent.parent / name).as_posix(), (path.parent / name).as_posix()]


def test_every_module_has_its_test_file():
    missing = [
        module
        for module in sorted(MODULES)
        if (places := wanted(module)) and not TEST_FILES.intersection(places)
    ]

    assert sorted(set(missing) - set(TESTED_BY)) == []


def test_every_test_file_has_its_module():
    known = {place for module in MODULES for place in wanted(module)}

    assert sorted(TEST_FILES - known - set(WITHOUT_MODULE)) == []


@pytest.mark.parametrize("module", sorted(TESTED_BY))
def test_what_tests_a_module_instead_is_there(module):
    reason = TESTED_BY[module]

    assert reason in TEST_FILES or " " in reason

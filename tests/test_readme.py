"""What the README and the docs say is true of this tree."""

import re
import subprocess
from pathlib import Path

import pytest

from ibaccept.checks.catalogue import kinds
from ibaccept.lab import names
from ibaccept.plugin import OPTIONS
from ibaccept.run.inputs import Inputs

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
DOCS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_example_site_is_accepted():
    inputs = Inputs.load(ROOT / "expectations.yaml", ROOT / "inventory/site.yaml")

    assert [entry.id for entry in inputs.expectations.entries] == [
        "one-sm",
        "all-cabled",
        "isl-count",
        "isl-4x-hdr",
        "hosts-4x-hdr",
        "no-errors",
        "delivered",
        "reads-spread",
        "writes-spread",
    ]


def test_the_files_a_newcomer_writes_by_hand_are_accepted(tmp_path):
    inventory, expectations = blocks(README, "yaml")
    (tmp_path / "my-inventory.yaml").write_text(inventory)
    (tmp_path / "my-expectations.yaml").write_text(expectations)

    inputs = Inputs.load(tmp_path / "my-expectations.yaml", tmp_path / "my-inventory.yaml")

    assert inputs.inventory.group("observers") == ("mgmt01",)


def test_every_kind_is_in_the_readmes_table():
    table = README[README.index("## What it can check") :]

    assert set(re.findall(r"`([a-z-]+)`", table)) & set(kinds()) == set(kinds())


@pytest.mark.parametrize("page", DOCS, ids=lambda path: path.name)
def test_links_scenarios_and_options_exist(page):
    text = page.read_text("utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    labs = set(re.findall(r"--lab=([a-z][a-z0-9-]+)", text))
    known = {name for name, _, _ in OPTIONS}
    spelled = re.findall(r"pytest tests_fabric[^\n`]*", text)
    used = {word for line in spelled for word in re.findall(r"--([a-z-]+)", line)}

    assert [link for link in links if not (page.parent / link).exists()] == []
    assert labs - set(names()) == set()
    assert used - known == set()


@pytest.mark.real
def test_no_path_of_a_machine_is_in_the_tree():
    found = subprocess.run(
        ["git", "grep", "-nIE", r"/(work|home)/[a-z]+/|/tmp/(me|h|wt)/"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    lines = [line for line in found.stdout.splitlines() if "test_readme.py" not in line]
    assert lines == []

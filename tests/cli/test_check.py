"""ibaccept check: a new kind's names are held against the inventory as those of the shipped."""

import os
from typing import ClassVar, Literal

import pytest

from ibaccept.checks import expectations
from ibaccept.checks.base import Area, Expectation
from ibaccept.checks.catalogue import kinds
from ibaccept.cli import main
from ibaccept.errors import InputError
from ibaccept.run.inputs import Inputs
from ibaccept.site.fields import HostNames

INVENTORY = "observers: {hosts: {mgmt01: }}\nclients: {hosts: {}}\nstorage: {hosts: {stor1: }}\n"


class NamedHosts(Expectation):
    """Hosts are called what they should be called."""

    area: ClassVar[Area] = "hosts"

    kind: Literal["node-description"]
    hosts: HostNames


@pytest.fixture(name="checked")
def checked_fixture(tmp_path, monkeypatch, capsys):
    """Exit code and stderr of ``ibaccept check`` for entries; the class above is a kind."""
    monkeypatch.setattr(expectations, "kinds", lambda: {**kinds(), "node-description": NamedHosts})

    def run(*entries, more=""):
        written = "".join(f"  - {entry}\n" for entry in entries)
        (tmp_path / "e.yaml").write_text(f"version: 1\nfabric: f\nexpect:\n{written}{more}")
        (tmp_path / "inv.yaml").write_text(INVENTORY)
        code = main(
            ["check", f"--expectations={tmp_path}/e.yaml", f"--inventory={tmp_path}/inv.yaml"]
        )
        return code, capsys.readouterr().err.replace(f"{tmp_path}/", "")

    return run


def test_an_empty_group_is_refused_whatever_the_field_is_called(checked):
    assert checked(
        "{id: a, kind: node-description, hosts: clients}",
        "{id: b, kind: link-rate, links: {nodes: clients}, speed: HDR}",
    ) == (
        4,
        "ibaccept: e.yaml:4: a: hosts: the group 'clients' is empty in inv.yaml\n"
        "ibaccept: e.yaml:5: b: links.nodes: the group 'clients' is empty in inv.yaml\n",
    )


def test_an_unknown_host_is_refused(checked):
    assert checked("{id: a, kind: node-description, hosts: nosuch}") == (
        4,
        "ibaccept: e.yaml:4: a: hosts: nosuch is not in inv.yaml; known are all, clients, mgmt01, "
        "observers, stor1, storage\n",
    )


def test_hosts_that_are_there_are_accepted(checked):
    assert checked("{id: a, kind: node-description, hosts: storage}") == (0, "")


@pytest.mark.parametrize("key", ["plan", "subnet"])
def test_a_fifo_is_not_waited_for(checked, tmp_path, key):
    os.mkfifo(tmp_path / "f")
    entry = "{id: a, kind: cabling, plan: f}"
    more = ""
    if key == "subnet":
        entry = "{id: a, kind: link-rate, links: isl, speed: HDR}"
        more = "subnet_files: [f]\n"
    where = {"plan": "e.yaml:4: a: plan", "subnet": "e.yaml:5: subnet_files"}[key]

    assert checked(entry, more=more) == (4, f"ibaccept: {where}: f is no regular file\n")


def test_an_entry_without_an_item_is_refused_by_a_run_too(checked, tmp_path):
    """It would be in no report, and the others would make the site accepted."""
    (tmp_path / "p.csv").write_text("a_name,a_port,b_name,b_port\nA,13,B,25\n")
    entries = (
        "{id: plan, kind: cabling, plan: p.csv}",
        "{id: a, kind: link-rate, links: {names: nosuch}, speed: HDR, each: cable}",
    )
    problem = "e.yaml:5: a: the plan has no links named nosuch, so nothing would be judged"

    assert checked(*entries) == (4, f"ibaccept: {problem}\n")
    with pytest.raises(InputError) as caught:
        Inputs.load(tmp_path / "e.yaml", tmp_path / "inv.yaml")
    assert str(caught.value) == problem


def test_the_problems_of_both_files_come_together(checked, tmp_path):
    checked("{id: a, kind: routes}")
    (tmp_path / "e.yaml").write_text("version: 1\nfabric: f\nexpect: []\n")
    (tmp_path / "inv.yaml").write_text("clients: {hosts: {a: }}\n")

    with pytest.raises(InputError) as caught:
        Inputs.load(tmp_path / "e.yaml", tmp_path / "inv.yaml")

    assert str(caught.value).replace(f"{tmp_path}/", "").splitlines() == [
        "e.yaml:3: expect: there is no entry, so nothing would be judged",
        "inv.yaml:1: there is no group 'observers'; name a host there that runs "
        "infiniband-diags; known are all, clients",
    ]

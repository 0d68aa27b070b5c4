"""ibaccept check: a new kind's names are held against the inventory as those of the shipped."""

from typing import ClassVar, Literal

import pytest

from ibaccept.checks import expectations
from ibaccept.checks.base import Area, Expectation
from ibaccept.checks.catalogue import kinds
from ibaccept.cli import main
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

    def run(*entries):
        written = "".join(f"  - {entry}\n" for entry in entries)
        (tmp_path / "e.yaml").write_text(f"version: 1\nfabric: f\nexpect:\n{written}")
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

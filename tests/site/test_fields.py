"""Fields that name nodes: each type says by itself what the inventory does not hold."""

from collections.abc import Mapping

import pytest
from pydantic import Field, ValidationError

from ibaccept.site.fields import HostNames, JobNames, Nodes, Strict, node_names
from ibaccept.site.inventory import read_inventory
from ibaccept.site.yamlfile import loads

SITE = read_inventory(
    loads(
        'observers: {hosts: {mgmt01: }}\nclients:\nracks: {hosts: {"node[001-002]": }}\n',
        name="site.yaml",
    )
)


class Inner(Strict):
    """A mapping inside an entry."""

    pair: tuple[Nodes, Nodes] | None = None
    many: Mapping[str, HostNames] = Field(default={})


class Outer(Strict):
    """Fields of every shape, and of names that no walk by name would know."""

    whoever: HostNames = HostNames("racks")
    label: str = "clients"
    inner: Inner = Inner()


@pytest.mark.parametrize(
    ("kind", "text", "problems"),
    [
        (Nodes, "racks", ()),
        (Nodes, "spine*", ()),
        (Nodes, "SwitchA", ()),  # a switch stands in no inventory
        (Nodes, "clients", ("the group 'clients' is empty in site.yaml",)),
        (HostNames, "node[001-002]", ()),
        (HostNames, "clients", ("the group 'clients' is empty in site.yaml",)),
        (HostNames, "node003", ("node003 is not in site.yaml; did you mean 'node002'?",)),
        (JobNames, "clients", ()),  # of the job
        (JobNames, "storage", ()),
        (
            JobNames,
            "nosuch",
            ("nosuch is not in site.yaml; known are all, clients, mgmt01, node001, node002, "
             "observers, racks",),
        ),
    ],
)  # fmt: skip
def test_a_type_holds_its_names_against_the_inventory(kind, text, problems):
    assert kind.parse(text).problems(SITE) == problems


def test_names_are_found_by_type_wherever_they_stand():
    given = Outer.model_validate(
        {"whoever": "node001", "inner": {"pair": ["a", "b*"], "many": {"x": "racks"}}}
    )

    assert list(node_names(given)) == [
        (("whoever",), "node001"),
        (("inner", "pair"), "a"),
        (("inner", "pair"), "b*"),
        (("inner", "many", "x"), "racks"),
    ]


def test_a_default_is_found_too():
    assert list(node_names(Outer())) == [(("whoever",), "racks")]


@pytest.mark.parametrize("value", [3, ["a"], "a[", "spine*[1-2]", "spine*", ""])
def test_text_that_names_no_nodes_is_refused(value):
    with pytest.raises(ValidationError):
        Outer.model_validate({"whoever": value})

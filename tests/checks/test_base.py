"""What a kind needs, and what it says is wrong with itself: all of it in the kind."""

from typing import ClassVar, Literal

import pytest

from ibaccept.checks.base import Area, Expectation, Need
from ibaccept.checks.cabling import Cabling
from ibaccept.checks.catalogue import example, kinds
from ibaccept.checks.counters import ErrorCounters
from ibaccept.checks.links import LinkRate
from ibaccept.checks.selector import LinkSelector
from ibaccept.site.settings import Settings
from ibaccept.site.yamlfile import loads

FILESYSTEM = frozenset({"filesystem"})
RDMA = frozenset({"rdma"})


class Plain(Expectation):
    """Needs nothing."""

    area: ClassVar[Area] = "links"
    kind: Literal["plain"]


class Loaded(Plain):
    """Needs a load run."""

    workloads = RDMA


def settings(**parts):
    return Settings.model_validate({"version": 1, "fabric": "f", "expect": [], **parts})


def examples(name):
    cls = kinds()[name]
    return [
        cls.model_validate(entry)
        for entry in loads("expect:\n" + example(cls), name="e").value["expect"]
    ]


@pytest.mark.parametrize(
    ("kind", "needs"),
    [
        ("balance", [Need()]),
        ("cable-load", [Need(job=True, workloads=FILESYSTEM)]),
        ("cabling", [Need()]),
        (
            "error-counters",
            [Need(windows=frozenset({60.0})), Need(windows=frozenset({600.0}))],
        ),
        ("filesystem", [Need(job=True, workloads=FILESYSTEM)] * 2),
        ("forecast", [Need(job=True, workloads=FILESYSTEM)]),
        ("lid-spread", [Need(job=True)]),
        ("link-count", [Need()]),
        ("link-rate", [Need()] * 2),
        ("rdma-ceiling", [Need(job=True, workloads=FILESYSTEM | RDMA)]),
        ("routes", [Need()]),
        ("subnet-manager", [Need()]),
    ],
)
def test_what_each_kind_needs(kind, needs):
    assert [entry.needs() for entry in examples(kind)] == needs


def test_no_kind_needs_load_without_saying_so():
    """``needs_load`` is of the class and for the documentation; the entry's need decides."""
    assert {name for name in kinds() for entry in examples(name) if entry.is_under_load} == {
        name for name, cls in kinds().items() if cls.needs_load
    }


def test_a_window_under_load_needs_any_load_run():
    entry = ErrorCounters(
        id="a", kind="error-counters", links=LinkSelector(type="isl"), window="load"
    )

    assert (entry.needs(), entry.is_under_load) == (Need(any_load=True), True)


def test_needs_add_up():
    window, load = Need(windows=frozenset({60.0})), Need(job=True, workloads=RDMA)

    assert (window.load, load.load, Need(any_load=True).load) == (False, True, True)
    assert window | load | Need(windows=frozenset({5.0}), any_load=True) == Need(
        frozenset({5.0, 60.0}), job=True, workloads=RDMA, any_load=True
    )


def test_an_entry_names_what_the_file_lacks():
    entry = Loaded(id="a", kind="plain")

    assert list(entry.problems(settings())) == [
        "plain needs 'job:' with clients and storage",
        "plain needs 'workloads:' with rdma",
    ]
    assert not list(entry.problems(settings(job={}, workloads={"rdma": {}})))


def test_which_planned_cables_are_items():
    links = LinkSelector(type="isl")
    whole = LinkRate(id="a", kind="link-rate", links=links, speed="HDR")
    each = LinkRate(id="a", kind="link-rate", links=links, speed="HDR", each="cable")
    plan = Cabling(id="b", kind="cabling", plan="p.csv", each="cable")

    assert [(e.each_cables(), e.unplanned_too, e.plan_named()) for e in (whole, each, plan)] == [
        (None, False, None),
        (links, False, None),
        (LinkSelector(type="all"), True, "p.csv"),
    ]

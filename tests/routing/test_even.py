"""What even demands: never what no table reaches, and all that some table does."""

from itertools import product
from pathlib import Path

import pytest

from ibaccept.fabric.model import Rate
from ibaccept.observe.captured import read_tables, read_topology
from ibaccept.observe.lids import host_names, lids_of
from ibaccept.routing.even import even_spread
from ibaccept.routing.paths import Routes
from ibaccept.routing.spread import spread

CASES = Path(__file__).resolve().parents[2] / "../shared/cases/routing"
LEAF1, LEAF2, SPINE1, SPINE2 = range(4)


def judged(routes, sources, lids):
    """Groups and stages above what they may carry, in words; and the notes."""
    found = spread(routes, sources, lids)
    even = even_spread(routes, found)
    groups = [
        (group.name, group.worst, even.limits[index])
        for index, group in enumerate(found.groups)
        if even.is_over(index)
    ]
    stages = [
        (stage.before, stage.after, stage.worst, stage.limit) for stage in even.stages if stage.over
    ]
    return groups, stages, even.notes


# -- uneven uplinks --------------------------------------------------------------------------------


@pytest.fixture(name="uneven")
def uneven_fixture(fabric_of, table_of):
    """Three clients on leaf2, a server on leaf1; leaf1 - spine1 and leaf2 - spine2 are double."""
    cables = [
        ((LEAF1, 1), (SPINE1, 1)),
        ((LEAF1, 2), (SPINE1, 2)),
        ((LEAF1, 3), (SPINE2, 1)),
        ((LEAF2, 1), (SPINE1, 3)),
        ((LEAF2, 2), (SPINE2, 2)),
        ((LEAF2, 3), (SPINE2, 3)),
    ]
    hosts = [(f"client{n}", LEAF2, 3 + n) for n in (1, 2, 3)] + [("stor1", LEAF1, 4)]
    fabric = fabric_of(["leaf1", "leaf2", "spine1", "spine2"], cables, hosts)

    def build(up, down):
        """Port of leaf1 for each client, and of spine2."""
        tables = [
            table_of(LEAF1, dict(zip((1, 2, 3), up, strict=True)) | {4: 4}, 8),
            table_of(LEAF2, {1: 4, 2: 5, 3: 6, 4: 1}, 8),
            table_of(SPINE1, {1: 3, 2: 3, 3: 3, 4: 1}, 8),
            table_of(SPINE2, dict(zip((1, 2, 3), down, strict=True)) | {4: 1}, 8),
        ]
        return Routes(fabric, tables)

    return build


def every_table():
    """All 64: a port of leaf1 for each client, and of spine2 where the client is behind it."""
    for up in product((1, 2, 3), repeat=3):
        yield from ((up, down) for down in product(*((2, 3) if u == 3 else (2,) for u in up)))


def test_of_all_tables_of_uneven_uplinks_those_pass_that_none_is_better_than(uneven):
    passing, best = [], []
    for up, down in every_table():
        groups, stages, _ = judged(uneven(up, down), [4], [1, 2, 3])
        if not groups and not stages:
            passing.append((up, down))
        by_spine2 = [d for u, d in zip(up, down, strict=True) if u == 3]
        loads = [up.count(1), up.count(2), up.count(3), 3 - len(by_spine2)]
        loads += [by_spine2.count(2), by_spine2.count(3)]
        # No table has fewer than two pairs on the fullest cable, and one of them is enough.
        if max(loads) == 2 and loads.count(2) == 1:
            best.append((up, down))

    assert len(list(every_table())) == 64
    assert passing == best
    assert len(best) > 0


def test_what_is_demanded_instead_of_the_even_share_is_said(uneven):
    groups, stages, notes = judged(uneven((1, 3, 3), (2, 2, 3)), [4], [1, 2, 3])

    assert (groups, stages) == ([], [])
    assert notes == (
        "no static table is known to give every cable its even share at once: judged by the best "
        "that any static table can do, with 2 pairs on the fullest cable above its share",
    )


def test_a_choice_between_parallel_cables_is_never_excused(uneven):
    groups, stages, _ = judged(uneven((1, 3, 3), (2, 2, 2)), [4], [1, 2, 3])

    assert groups == [("spine2", 2, 1)]
    assert stages == [(("spine1", "spine2"), ("leaf2",), 2, 1)]


# -- cables of several rates -----------------------------------------------------------------------


def test_a_trunk_of_two_rates_counts_bandwidth(fabric_of, table_of):
    hdr, edr = Rate.parse("4X HDR"), Rate.parse("4X EDR")
    cables = [((0, 1), (1, 1)), ((0, 2), (1, 2))]
    hosts = [(f"client{n}", 1, 2 + n) for n in range(1, 4)] + [("stor", 0, 5)]
    fabric = fabric_of(["A", "B"], cables, hosts, rates=[hdr, edr])
    b = table_of(1, {1: 3, 2: 4, 3: 5, 4: 1}, 8)

    def table(ports):
        return Routes(
            fabric, [table_of(0, dict(zip((1, 2, 3), ports, strict=True)) | {4: 5}, 8), b]
        )

    assert judged(table((1, 1, 2)), [4], [1, 2, 3]) == ([], [], ())
    assert judged(table((1, 2, 2)), [4], [1, 2, 3]) == ([("A", 2, 2)], [], ())


# -- the captures, where they are present ----------------------------------------------------------


def case(name):
    topology = CASES / f"{name}.ibnetdiscover.txt"
    if not topology.exists():
        pytest.skip("the captured fabrics are not here")
    fabric = read_topology(topology).fabric
    tables = read_tables([CASES / f"{name}.ibroute.txt"], None)
    sides = [lids_of(fabric, host_names(fabric, text)).lids for text in ("stor*", "client*")]
    return Routes(fabric, tables.tables), *sides


@pytest.mark.parametrize("name", ["one-cable-pulled", "dragonfly-5of8"])
def test_what_no_table_does_better_is_even(name):
    routes, storage, clients = case(name)

    groups, stages, notes = judged(routes, storage, clients)

    assert (groups, stages, len(notes)) == ([], [], 1)


def test_more_pairs_on_one_global_cable_than_need_be():
    routes, storage, clients = case("dragonfly-4of8")

    groups, stages, _ = judged(routes, storage, clients)

    spines = ("g0-spine0", "g0-spine1")
    assert groups == []
    assert stages == [
        (spines, ("g1-spine0", "g1-spine1"), 16, 12),
        (spines, ("g2-spine0", "g2-spine1"), 16, 12),
    ]


@pytest.mark.parametrize(
    ("name", "pods", "worst", "limit"),
    [("core-collapse", 2, 16, 8), ("core-collapse-big", 4, 128, 32)],
)
def test_a_collapse_between_cores_and_pods_shows(name, pods, worst, limit):
    routes, storage, clients = case(name)

    groups, stages, notes = judged(routes, clients, storage)

    assert (groups, notes) == ([], ())
    assert [(after, *counts) for _, after, *counts in stages] == [
        ((f"pod{pod}-aggA", f"pod{pod}-aggB"), worst, limit) for pod in range(pods)
    ]

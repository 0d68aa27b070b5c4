"""LIDs of a job by cable: the collapse of the case in the domain notes, and what is judged how."""

import pytest

from ibaccept.errors import InputError
from ibaccept.fabric.model import Guid, PortId
from ibaccept.routing.crossings import over
from ibaccept.routing.paths import Disposition, Routes
from ibaccept.routing.spread import Spread, SpreadGroup, SpreadRow, fabric_spread, spread

A, B = Guid(0x5000), Guid(0x5001)
CLIENTS = range(1, 49)
STORAGE = range(49, 57)
JOB = [*range(1, 49, 8), *range(2, 42, 8), 3]
"""Six clients of one residue class modulo 8, five of the next, one of a third."""


@pytest.fixture(name="two_switches")
def two_switches_fixture(fabric_of, table_of):
    """SwitchA with 48 clients, SwitchB with 8 storage servers, 8 cables between them."""

    def build(shift=lambda lid: (lid - 1) % 8, *, unknown=()):
        cables = [((0, 60 + k), (1, 25 + k)) for k in range(8)]
        hosts = [(f"client-{n:02d}", 0, n) for n in CLIENTS]
        hosts += [(f"stor-{n - 48}", 1, n - 48) for n in STORAGE]
        fabric = fabric_of(["SwitchA", "SwitchB"], cables, hosts, ports=80)
        a = {lid: lid for lid in CLIENTS} | {lid: 60 + lid - 49 for lid in STORAGE}
        b = {lid: 25 + shift(lid) for lid in CLIENTS} | {lid: lid - 48 for lid in STORAGE}
        return Routes(fabric, [table_of(0, a, 58), table_of(1, b, 58, unknown=unknown)])

    return build


def test_reads_collapse_on_three_cables(two_switches):
    found = spread(two_switches(), STORAGE, JOB)

    expected = [
        (25, 60, tuple(range(1, 49, 8))),
        (26, 61, tuple(range(2, 42, 8))),
        (27, 62, (3,)),
        *((25 + k, 60 + k, ()) for k in range(3, 8)),
    ]
    assert found == Spread(
        rows=tuple(
            SpreadRow(
                port=PortId(B, port),
                name=f"SwitchB/{port}",
                towards=PortId(A, far),
                towards_name=f"SwitchA/{far}",
                count=len(lids),
                lids_job=lids,
                lids_all=6,
                group=0,
                usable=True,
                share=2,
            )
            for port, far, lids in expected
        ),
        groups=(
            SpreadGroup(
                switch=B,
                name="SwitchB",
                towards=("SwitchA",),
                ports=tuple(range(25, 33)),
                lids=12,
                usable=8,
                bound=2,
                worst=6,
                least=0,
                used=3,
                over=4,
            ),
        ),
        reach=found.reach,
        problems=(),
        sources=tuple(STORAGE),
        lids=tuple(JOB),
    )
    assert found.reach.by_end == {Disposition.DELIVERED: 96}
    assert (found.worst, found.groups[0].balance) == (6, 6)


def test_writes_of_the_same_job_are_even(two_switches):
    found = spread(two_switches(), JOB, STORAGE)

    assert [(row.name, row.count, row.lids_all) for row in found.rows] == [
        (f"SwitchA/{60 + k}", 1, 1) for k in range(8)
    ]
    assert [(g.bound, g.worst, g.least, g.used) for g in found.groups] == [(1, 1, 1, 8)]


def test_another_order_cures_the_reads(two_switches):
    place = {lid: n % 8 for n, lid in enumerate(JOB)}

    found = spread(two_switches(lambda lid: place.get(lid, lid % 8)), STORAGE, JOB)

    assert [(g.bound, g.worst) for g in found.groups] == [(2, 2)]


def test_the_whole_fabric_is_balanced_all_the_same(two_switches):
    found = fabric_spread(two_switches())

    assert [(g.name, g.lids, g.worst, g.least, g.balance) for g in found.groups] == [
        ("SwitchA", 8, 1, 1, 0),
        ("SwitchB", 48, 6, 6, 0),
    ]
    assert {row.lids_job for row in found.rows} == {()}
    assert sum(row.count for row in found.rows) == 56


def test_unknown_entries_are_counted_nowhere_and_said(two_switches):
    found = spread(two_switches(unknown=[1, 9]), STORAGE, JOB)

    assert [row.count for row in found.rows] == [4, 5, 1, 0, 0, 0, 0, 0]
    assert found.reach.by_end == {Disposition.DELIVERED: 80, Disposition.UNKNOWN: 16}
    assert found.problems == ("some entries were not read",)


def test_a_job_on_one_switch_crosses_no_cable(two_switches):
    found = spread(two_switches(), [1], [2, 3])

    assert (found.rows, found.groups, found.worst) == ((), (), 0)
    assert found.reach.by_end == {Disposition.DELIVERED: 2}


def test_a_lid_nobody_owns_is_an_error(two_switches):
    with pytest.raises(InputError, match="owns LID 99"):
        spread(two_switches(), [99], [1])


def test_a_detour_counts_against_the_cables_it_should_have_used(fabric_of, table_of):
    """Three switches in a triangle; the direct cable is usable, the way round is not."""
    cables = [((0, 1), (1, 1)), ((0, 2), (2, 1)), ((2, 2), (1, 2))]
    fabric = fabric_of(["S", "T", "U"], cables, [("x", 0, 5), ("y", 1, 5), ("z", 1, 6)])
    tables = [
        table_of(0, {1: 5, 2: 2, 3: 1}, 6),
        table_of(1, {1: 1, 2: 5, 3: 6}, 6),
        table_of(2, {1: 1, 2: 2, 3: 2}, 6),
    ]

    found = spread(Routes(fabric, tables), [1], [2, 3])

    assert [(r.name, r.lids_job, r.group, r.usable) for r in found.rows] == [
        ("S/1", (3,), 0, True),
        ("S/2", (2,), 0, False),
        ("U/2", (2,), 1, True),
    ]
    assert [(g.name, g.lids, g.usable, g.bound, g.worst, g.least) for g in found.groups] == [
        ("S", 2, 1, 2, 1, 1),
        ("U", 1, 1, 1, 1, 1),
    ]


def test_the_jobs_own_pairs_over_a_cable(two_switches):
    found = over(two_switches(), STORAGE, JOB, PortId(B, 26))

    assert (found.crossing, found.of, found.whose) == (5 * 8, 12 * 8, "job")
    assert [(e.slid, e.dlid, e.hops, e.disposition) for e in found.examples] == [
        (49, 2, ("stor-1/1", "SwitchB/26", "SwitchA/2", "client-02"), "delivered"),
        (49, 10, ("stor-1/1", "SwitchB/26", "SwitchA/10", "client-10"), "delivered"),
    ]
    idle = over(two_switches(), STORAGE, JOB, PortId(B, 28))
    assert (idle.crossing, idle.of, idle.examples) == (0, 12 * 8, ())


@pytest.mark.parametrize(("sources", "lids"), [([999], [1]), ([49], [999]), ([0], [1])])
def test_a_lid_that_nobody_owns_has_no_pairs(two_switches, sources, lids):
    with pytest.raises(InputError, match="no port that the sweep saw owns LID"):
        over(two_switches(), sources, lids, PortId(B, 25))


def test_pairs_are_of_switch_ports_and_of_two_hosts(two_switches):
    routes = two_switches()
    client = next(end.id for end in routes.cabling.endpoints if end.id.guid not in (A, B))

    assert over(routes, STORAGE, JOB, client) is None
    assert over(routes, [1], [1], PortId(B, 25)) is None

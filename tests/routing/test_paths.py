"""Routes by name and by disposition, on two switches and by hand."""

from dataclasses import replace

import pytest

from ibaccept.errors import InputError
from ibaccept.fabric.model import Fabric, Guid, Lid, Node, NodeType, Port, PortId
from ibaccept.routing.credit import credit_loops
from ibaccept.routing.even import even_spread
from ibaccept.routing.losses import losses
from ibaccept.routing.paths import Disposition, Route, Routes
from ibaccept.routing.spread import spread
from ibaccept.verdict.evidence import RouteExample

NAMES = ["SwitchA", "SwitchB"]
CABLES = [((0, 3), (1, 3)), ((0, 4), (1, 4))]
HOSTS = [("client-a", 0, 1), ("client-b", 0, 2), ("stor-1", 1, 1)]
A = {1: 1, 2: 2, 3: 3, 4: 0, 5: 3}
B = {1: 3, 2: 4, 3: 1, 4: 3, 5: 0}


@pytest.fixture(name="build")
def build_fixture(fabric_of, table_of):
    def build(a=None, b=None, **options):
        fabric = fabric_of(NAMES, CABLES, HOSTS)
        tables = [table_of(0, A | (a or {}), 5), table_of(1, B | (b or {}), 5, **options)]
        return Routes(fabric, tables)

    return build


def test_a_delivered_route_is_named_hop_by_hop(build):
    route = build().path(3, 1)

    assert route == Route(
        slid=3,
        dlid=1,
        hops=("stor-1/1", "SwitchB/3", "SwitchA/1", "client-a"),
        disposition=Disposition.DELIVERED,
        ports=(
            PortId(Guid(0x9002), 1),
            PortId(Guid(0x5001), 3),
            PortId(Guid(0x5000), 1),
        ),
        switches=2,
    )
    assert route.example == RouteExample(
        3, 1, ("stor-1/1", "SwitchB/3", "SwitchA/1", "client-a"), "delivered"
    )


@pytest.mark.parametrize(
    ("a", "b", "hops", "disposition"),
    [
        ({}, {1: 255}, ("stor-1/1", "SwitchB"), "no-entry"),
        ({}, {1: 7}, ("stor-1/1", "SwitchB/7"), "dead-end"),
        ({}, {1: 200}, ("stor-1/1", "SwitchB/200"), "dead-end"),
        ({}, {1: 0}, ("stor-1/1", "SwitchB"), "wrong-port"),
        ({1: 2}, {}, ("stor-1/1", "SwitchB/3", "SwitchA/2", "client-b"), "wrong-port"),
        ({1: 4}, {}, ("stor-1/1", "SwitchB/3", "SwitchA/4", "SwitchB/3"), "loop"),
    ],
)
def test_a_route_that_is_not_delivered_shows_where_it_stops(build, a, b, hops, disposition):
    routes = build(a, b)

    assert routes.path(3, 1).example == RouteExample(3, 1, hops, disposition)
    assert routes.reach_of([3], [1]).by_end == {Disposition(disposition): 1}
    assert routes.reach_of([3], [1]).examples == (routes.path(3, 1),)


def test_what_was_not_read_is_unknown_and_neither_delivered_nor_lost(build):
    routes = build(unknown=[1])

    assert routes.path(3, 1).disposition is Disposition.UNKNOWN
    assert routes.reach.by_end == {Disposition.DELIVERED: 5, Disposition.UNKNOWN: 1}
    assert (routes.reach.delivered, routes.reach.unknown, routes.reach.undelivered) == (5, 1, 0)
    assert routes.problems == ("some entries were not read",)


def test_a_switch_without_table_is_unknown(fabric_of, table_of):
    routes = Routes(fabric_of(NAMES, CABLES, HOSTS), [table_of(0, A, 5)])

    assert routes.reach.by_end == {Disposition.DELIVERED: 2, Disposition.UNKNOWN: 4}
    assert routes.problems == (
        "the table of SwitchB was not read; read it with dump_fts -n or ibroute",
    )


def test_a_table_of_an_unseen_switch_is_a_problem(fabric_of, table_of):
    tables = [table_of(0, A, 5), table_of(1, B, 5), table_of(7, {}, 5)]
    routes = Routes(fabric_of(NAMES, CABLES, HOSTS), tables)

    assert routes.problems == (
        "by hand has a table of 0x0000000000005007 (0x0000000000005007), which the sweep did not "
        "see; take both at the same time",
    )
    with pytest.raises(ValueError, match="two tables of switch"):
        Routes(fabric_of(NAMES, CABLES, HOSTS), [tables[0], tables[0]])


def test_crossing_a_cable_counts_both_directions_and_shows_routes(build):
    routes = build()
    first, second = (link.key for link in routes.fabric.links if routes.fabric.is_isl(link))

    assert routes.crossing(first) == (
        3,
        6,
        (
            RouteExample(1, 3, ("client-a/1", "SwitchA/3", "SwitchB/1", "stor-1"), "delivered"),
            RouteExample(3, 1, ("stor-1/1", "SwitchB/3", "SwitchA/1", "client-a"), "delivered"),
        ),
    )
    assert routes.crossing(second) == (
        1,
        6,
        (RouteExample(3, 2, ("stor-1/1", "SwitchB/4", "SwitchA/2", "client-b"), "delivered"),),
    )
    host = routes.fabric.link_at[PortId(Guid(0x9000), 1)].key
    assert routes.crossing(host, examples=1) == (
        4,
        6,
        (RouteExample(2, 1, ("client-b/1", "SwitchA/1", "client-a"), "delivered"),),
    )


def test_from_a_switch_and_to_a_switch(build):
    routes = build()

    assert routes.path(5, 1).hops == ("SwitchB/3", "SwitchA/1", "client-a")
    assert routes.path(1, 5).hops == ("client-a/1", "SwitchA/3", "SwitchB")
    assert routes.path(1, 5).disposition is Disposition.DELIVERED


def test_a_lid_nobody_owns_is_an_error(build):
    with pytest.raises(InputError, match="owns LID 99"):
        build().path(1, 99)


def test_the_longest_route_is_kept(build):
    assert build().reach.longest == build().path(3, 1)
    assert build().reach.max_switches == 2


def test_every_lid_of_a_port_with_lmc_is_its_own_column(fabric_of, table_of):
    fabric = fabric_of(["S"], [], [("x", 0, 1), ("y", 0, 2)], lmc=1)
    routes = Routes(fabric, [table_of(0, {2: 1, 3: 1, 4: 2, 5: 9, 6: 0}, 6)])

    assert routes.reach.by_end == {Disposition.DELIVERED: 3, Disposition.DEAD_END: 1}
    assert routes.path(2, 5).disposition is Disposition.DEAD_END


def test_two_cas_back_to_back_and_one_without_cable():
    def ca(number, remote):
        port = Port(PortId(Guid(number), 1), lid=Lid(number), remote=remote)
        return Node(Guid(number), NodeType.CA, f"h{number}", 1, {1: port})

    one, two = PortId(Guid(1), 1), PortId(Guid(2), 1)
    routes = Routes(Fabric.of([ca(1, two), ca(2, one), ca(3, None)]), [])

    assert routes.reach.by_end == {
        Disposition.DELIVERED: 2,
        Disposition.DEAD_END: 2,
        Disposition.WRONG_PORT: 2,
    }
    assert routes.path(1, 2).hops == ("h1/1", "h2")


def test_old_dump_fts_hides_ports_above_127(fabric_of, table_of):
    fabric = fabric_of(["S"], [], [("x", 0, 1), ("y", 0, 200)], ports=250)
    hidden = replace(table_of(0, {1: 1, 3: 0}, 3), tool="dump_fts")
    shown = replace(table_of(0, {1: 1, 2: 200, 3: 0}, 3), tool="dump_fts")

    assert Routes(fabric, [hidden]).reach.by_end == {
        Disposition.DELIVERED: 1,
        Disposition.UNKNOWN: 1,
    }
    assert len(Routes(fabric, [hidden]).problems) == 1
    assert Routes(fabric, [shown]).reach.by_end == {Disposition.DELIVERED: 2}


def test_a_lid_of_two_ports_is_unknown(build):
    routes = build()
    nodes = dict(routes.fabric.nodes)
    twin = nodes[Guid(0x9001)]
    port = replace(twin.ports[1], lid=Lid(1))
    nodes[twin.guid] = replace(twin, ports={1: port})

    found = Routes(Fabric(nodes), routes.tables)

    assert found.reach.by_end[Disposition.UNKNOWN] == 2
    assert found.problems == (
        "LID 1 belongs to several ports (client-a/1, client-b/1), so where it should arrive is "
        "not known; look at the subnet manager's log for duplicate LIDs",
    )


def test_a_host_without_lid_is_in_no_pair_and_named(build):
    routes = build()
    nodes = dict(routes.fabric.nodes)
    mute = nodes[Guid(0x9001)]
    nodes[mute.guid] = replace(mute, ports={1: replace(mute.ports[1], lid=None)})

    found = Routes(Fabric(nodes), routes.tables)

    assert (found.reach.pairs, found.without_lid) == (2, (PortId(Guid(0x9001), 1),))
    assert routes.without_lid == ()


def test_a_part_of_a_table_says_so(fabric_of, table_of):
    part = table_of(1, {1: 3, 2: 4}, 2)
    routes = Routes(fabric_of(NAMES, CABLES, HOSTS), [table_of(0, A, 5), part])

    assert routes.reach.by_end == {Disposition.DELIVERED: 4, Disposition.UNKNOWN: 2}
    assert routes.problems == (
        "table of 0x0000000000005001 has 0x0-0x2 only, 3 LIDs of the fabric are outside; "
        "read the whole table with dump_fts -n",
    )


# -- two hosts joined by one cable, without a switch ---------------------------------------------


@pytest.fixture(name="back_to_back")
def back_to_back_fixture():
    ends = [PortId(Guid(0x9000 + n), 1) for n in range(2)]
    nodes = [
        Node(here.guid, NodeType.CA, name, 1, {1: Port(here, lid=Lid(n), remote=there)})
        for n, (name, here, there) in enumerate(
            [("a", ends[0], ends[1]), ("b", ends[1], ends[0])], 1
        )
    ]
    return Routes(Fabric.of(nodes), [])


def test_both_reach_each_other_over_no_switch(back_to_back):
    assert (back_to_back.reach.by_end, back_to_back.reach.pairs) == ({Disposition.DELIVERED: 2}, 2)
    assert back_to_back.path(1, 2).hops == ("a/1", "b")
    assert (back_to_back.problems, losses(back_to_back)) == ((), [])


def test_there_is_nothing_to_spread_and_no_loop(back_to_back):
    found = spread(back_to_back, [1], [2])
    even = even_spread(back_to_back, found)

    assert (found.groups, even.stages, even.notes) == ((), (), ())
    assert not credit_loops(back_to_back).found

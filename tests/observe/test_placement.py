"""Which node a row of the plan means, and what becomes of rows that mean none or another."""

import pytest

from ibaccept.fabric.model import Fabric, Guid, Node, NodeType, PhysState, Port, PortId, PortState
from ibaccept.observe.cabling import compare, replaced_nodes
from ibaccept.observe.placement import EndState, PlacedCable, ReplacedNode, locate
from ibaccept.site.plan import Plan

LEAF, CALC = Guid(0xA), Guid(0x50)


def fabric(*nodes):
    """A switch ``leaf`` and hosts (guid, name), the n-th of them at port n."""
    up = {"state": PortState.ACTIVE, "phys": PhysState.LINK_UP}
    hosts, ports = [], {}
    for number, (guid, name) in enumerate(nodes, 1):
        here, there = PortId(Guid(guid), 1), PortId(LEAF, number)
        hosts.append(Node(Guid(guid), NodeType.CA, name, 1, {1: Port(here, remote=there, **up)}))
        ports[number] = Port(there, remote=here, **up)
    return Fabric.of([Node(LEAF, NodeType.SWITCH, "leaf", 40, ports), *hosts])


def plan(*rows):
    head = "a_name,a_guid,a_port,b_name,b_guid,b_port\n"
    return Plan.read(head + "".join(f"leaf,,{n},{row}\n" for n, row in rows), name="p")


@pytest.mark.parametrize(
    ("planned", "described"),
    [
        ("calc05", "calc05"),
        ("calc05", "calc05 HCA-1"),
        ("calc05", "calc05 mlx5_0"),
        ("CALC05", "calc05 HCA-1"),
        ("calc05.site.example", "calc05 HCA-1"),
        ("calc05", "calc05.site.example HCA-1"),
        ("calc05 HCA-1", "calc05"),
        ("calc05 hca-1", "calc05 HCA-1"),
    ],
)
def test_a_host_is_found_by_its_host_part(planned, described):
    seen = fabric((0x50, described), (0x51, "calc051"))

    rows = plan((1, f"{planned},,1"), (2, "calc051,,1"))

    assert [(cable.problem, cable.link) for cable in locate(rows, seen)] == [
        ("", link) for link in seen.links
    ]
    assert compare(rows, seen) == ()


def test_an_exact_name_comes_before_the_host_part():
    seen = fabric((0x50, "calc05 HCA-1"), (0x51, "calc05"))

    (cable,) = locate(plan((2, "calc05,,1")), seen)

    assert cable.link == seen.links[1]


def test_a_host_of_two_adapters_is_no_unique_node():
    seen = fabric((0x50, "calc05 HCA-1"), (0x51, "calc05 HCA-2"))

    (cable,) = locate(plan((1, "calc05,,1")), seen)

    assert cable.problem == (
        "p:2: 2 nodes are named 'calc05'; write the GUID (0x0000000000000050, 0x0000000000000051)"
    )


def test_another_adapter_of_the_host_is_another_node():
    (cable,) = locate(plan((1, "calc05 HCA-2,,1")), fabric((0x50, "calc05 HCA-1")))

    assert (cable.link, cable.b) == (None, None)


def test_a_replaced_adapter_is_one_finding_and_its_cable_is_in_place():
    seen = fabric((0x51, "calc05 HCA-1"))
    rows = plan((1, "calc05,0x50,1"))

    (cable,) = locate(rows, seen)

    node = ReplacedNode("calc05", NodeType.CA, Guid(0x50), Guid(0x51))
    assert cable == PlacedCable(
        rows.cables[0],
        PortId(LEAF, 1),
        PortId(Guid(0x51), 1),
        seen.links[0],
        (EndState.CONNECTED, EndState.CONNECTED),
        ("leaf/1", "calc05 HCA-1/1"),
        ("up", "up"),
        cable.live,
        (node,),
    )
    assert compare(rows, seen) == ()
    assert [str(found) for found in replaced_nodes([cable])] == [
        "calc05: adapter with GUID 0x0000000000000050 planned, 0x0000000000000051 found: replaced?"
    ]


def test_a_replaced_switch_is_one_finding_with_all_its_cables_in_place():
    seen = fabric(*((0x100 + n, f"calc{n:02}") for n in range(1, 14)))
    rows = [f"leaf,0xdead,{n},calc{n:02},{0x100 + n:#x},1" for n in range(1, 14)]
    head = "a_name,a_guid,a_port,b_name,b_guid,b_port\n"
    planned = Plan.read(head + "\n".join(rows), name="p")

    cables = locate(planned, seen)

    assert sorted(cable.link.key for cable in cables) == sorted(link.key for link in seen.links)
    assert compare(planned, seen) == ()
    assert replaced_nodes(cables) == (ReplacedNode("leaf", NodeType.SWITCH, Guid(0xDEAD), LEAF),)
    assert str(replaced_nodes(cables)[0]) == (
        "leaf: switch with GUID 0x000000000000dead planned, 0x000000000000000a found: replaced?"
    )


@pytest.mark.parametrize(
    ("rows", "nodes"),
    [
        # the node of that name is planned by its own GUID: nothing stands in the place of 0x50
        ([(1, "calc05,0x50,1"), (2, "calc05,0x51,1")], [(0x60, "x"), (0x51, "calc05")]),
        # two nodes of that name may be it
        ([(1, "calc05,0x50,1")], [(0x51, "calc05"), (0x52, "calc05")]),
        # two planned nodes of that name are gone
        ([(1, "calc05,0x50,1"), (2, "calc05,0x51,1")], [(0x52, "calc05")]),
    ],
)
def test_a_node_that_may_be_another_is_no_replacement(rows, nodes):
    cables = locate(plan(*rows), fabric(*nodes))

    assert replaced_nodes(cables) == ()
    assert cables[0].b == PortId(Guid(0x50), 1)
    assert cables[0].states[1] is EndState.NO_NODE


def test_a_name_and_a_guid_that_contradict_each_other_are_a_problem_of_their_row():
    seen = fabric((0x50, "calc05"), (0x51, "calc06"))

    found = [cable.problem for cable in locate(plan((1, "calc06,0x50,1"), (2, ",0x51,1")), seen)]

    assert found == [
        "p:2: name and GUID contradict each other: 'calc06' has the GUID 0x0000000000000051, and "
        "0x0000000000000050 is 'calc05'",
        "",
    ]


def test_a_host_with_another_name_is_known_by_its_guid():
    seen = fabric((0x50, "MT4123 ConnectX6 Mellanox Technologies"))

    assert compare(plan((1, "calc05,0x50,1")), seen) == ()


def test_one_wrong_name_keeps_no_other_row_from_its_place():
    names = [f"calc{n:02}" for n in range(1, 66)]
    seen = fabric(*((0x100 + n, name) for n, name in enumerate(names)))
    rows = [(n, f"{name},,1") for n, name in enumerate(names, 1)]
    rows[3] = (4, "clac04,,1")

    # the port number of leaf is bounded by its port count only where it has one
    cables = locate(plan(*rows[:40]), seen)

    assert [cable.problem for cable in cables if cable.problem] == [
        "p:5: no node is named 'clac04'; did you mean 'calc04'?"
    ]
    assert [cable.link for cable in cables if not cable.problem] == [
        link
        for n, link in enumerate(sorted(seen.links, key=lambda link: link.a.id.port)[:40])
        if n != 3
    ]

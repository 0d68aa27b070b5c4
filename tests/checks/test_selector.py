"""What ``links:`` selects: links, planned cables that are not there, hosts that are not there."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from ibaccept.checks.links import links_of
from ibaccept.checks.selector import (
    AbsentNode,
    LinkSelector,
    by_plan,
    find,
    may_be_at,
    planned_cables,
    select,
    unnamed_hosts,
)
from ibaccept.errors import InputError
from ibaccept.fabric.model import Fabric, Guid, Node, NodeType, Port, PortId, PortState
from ibaccept.observe.placement import PlacedCable
from ibaccept.observe.snapshot import Gap, Snapshot
from ibaccept.site.inventory import Inventory, InventoryHost, read_inventory
from ibaccept.site.plan import End, Plan, PlannedCable
from ibaccept.site.yamlfile import loads
from ibaccept.transport import Host

A, B, R = Guid(0xA), Guid(0xB), Guid(0xC)
NODES = {
    A: (NodeType.SWITCH, "SwitchA"),
    B: (NodeType.SWITCH, "SwitchB"),
    R: (NodeType.ROUTER, "router"),
    Guid(1): (NodeType.CA, "node001 mlx5_0"),
    Guid(2): (NodeType.CA, "node001 mlx5_1"),
    Guid(3): (NodeType.CA, "node002"),
    Guid(4): (NodeType.CA, "storage server one"),
    Guid(5): (NodeType.CA, "Mellanox Technologies Aggregation Node"),
}
CABLES = [
    ((A, 13), (B, 25)),
    ((A, 14), (B, 26)),
    ((A, 20), (R, 1)),
    ((A, 1), (Guid(1), 1)),
    ((A, 2), (Guid(2), 1)),
    ((A, 3), (Guid(3), 1)),
    ((B, 1), (Guid(4), 1)),
    ((B, 41), (Guid(5), 1)),
]


def fabric(cables=CABLES, nodes=NODES, down=()):
    remote = {}
    for a, b in cables:
        if a[0] in nodes and b[0] in nodes:
            remote[PortId(*a)] = PortId(*b)
            remote[PortId(*b)] = PortId(*a)
    seen = []
    for guid, (kind, name) in nodes.items():
        ports = {
            p.port: Port(p, remote=r, state=PortState.ACTIVE)
            for p, r in remote.items()
            if p.guid == guid
        }
        ports |= {n: Port(PortId(g, n), state=PortState.DOWN) for g, n in down if g == guid}
        seen.append(Node(guid, kind, name, 41 if kind is NodeType.SWITCH else 2, ports))
    return Fabric.of(seen)


INVENTORY = read_inventory(
    loads(
        """\
observers: {hosts: {node002: }}
clients: {hosts: {'node[001-003]': }}
storage: {hosts: {stor01: {ib_name: storage server one}}}
switches: {hosts: {SwitchA: , SwitchB: }}
spare: {hosts: {SwitchC: }}
none:
""",
        name="site.yaml",
    )
)


def names(selector, *, seen=None, inventory=INVENTORY, plan=None):
    seen = fabric() if seen is None else seen
    selection = select(LinkSelector.model_validate(selector), seen, inventory, plan)
    return (
        [
            i.name if isinstance(i, PlacedCable | AbsentNode) else seen.link_name(i)
            for i in selection.items
        ],
        selection.noun,
    )


ISL = ["SwitchA/13 - SwitchB/25", "SwitchA/14 - SwitchB/26"]
NODE1 = ["node001 mlx5_0/1 - SwitchA/1", "node001 mlx5_1/1 - SwitchA/2"]
NODE2 = ["node002/1 - SwitchA/3"]
STOR1 = ["storage server one/1 - SwitchB/1"]
AGGR = ["Mellanox Technologies Aggregation Node/1 - SwitchB/41"]
ROUTER = ["SwitchA/20 - router/1"]


@pytest.mark.parametrize(
    ("selector", "selected", "noun"),
    [
        ("isl", [*ISL, *ROUTER], "inter-switch links"),
        ("host", [*NODE1, *NODE2, *STOR1], "host links"),
        ("all", [*NODE1, *NODE2, *STOR1, *AGGR, *ISL, *ROUTER], "links"),
        ({"between": ["SwitchB", "SwitchA"]}, ISL, "links between SwitchB and SwitchA"),
        ({"between": ["switches", "switches"]}, ISL, "links between switches and switches"),
        (
            {"between": ["Switch*", "storage"]},
            [*STOR1, "SwitchC"],
            "links between Switch* and storage",
        ),
        (
            {"nodes": "clients"},
            [*NODE1, *NODE2, "node003"],
            "links of clients",
        ),
        ({"nodes": "node[001-002]"}, [*NODE1, *NODE2], "links of node[001-002]"),
        ({"nodes": "node*"}, [*NODE1, *NODE2, "node003"], "links of node*"),
        ({"nodes": "storage server one"}, STOR1, "links of storage server one"),
        ({"names": "SwitchB/25*"}, ISL[:1], "links named SwitchB/25*"),
        (
            {"type": "isl", "except": {"names": "*/26"}},
            [ISL[0], *ROUTER],
            "inter-switch links (except named */26)",
        ),
        (
            {"nodes": "clients", "except": {"nodes": "node[001,003]"}},
            NODE2,
            "links of clients (except of node[001,003])",
        ),
        ({"type": "isl", "except": "all"}, [], "inter-switch links (except links)"),
    ],
)
def test_select(selector, selected, noun):
    assert names(selector) == (selected, noun)


@pytest.mark.parametrize(
    ("selector", "sentence"),
    [
        (
            {"nodes": "SwichA"},
            "'SwichA' is no group, and no node has that name; did you mean 'SwitchA'?",
        ),
        ({"nodes": "leaf*"}, "no node's name matches 'leaf*'"),
        ({"nodes": "none"}, "site.yaml: the group 'none' is empty; add hosts to it"),
        (
            {"between": ["SwitchA", "storge"]},
            "'storge' is no group, and no node has that name; did you mean 'storage'?",
        ),
        (
            {"type": "isl", "except": {"nodes": "node00[1-9]"}},
            "'node004' is no group, and no node has that name; did you mean 'node003'?",
        ),
    ],
)
def test_unknown_names(selector, sentence):
    with pytest.raises(InputError) as caught:
        names(selector)

    assert str(caught.value) == sentence


def test_an_absent_switch_of_the_inventory_is_an_item():
    seen = fabric(nodes={guid: node for guid, node in NODES.items() if guid != B})

    assert names({"type": "isl", "nodes": "switches"}, seen=seen)[0] == [*ROUTER, "SwitchB"]
    assert names({"type": "host", "nodes": "switches"}, seen=seen)[0] == [*NODE1, *NODE2]


PLAN = Plan.read(
    "a_name,a_port,b_name,b_port\n"
    "SwitchA,13,SwitchB,25\n"
    "SwitchA,14,SwitchB,26\n"
    "SwitchA,3,node002,1\n"
    "SwitchA,4,node009,1\n",
    name="p",
)


def test_planned_cables_that_are_down_are_items():
    seen = fabric([c for c in CABLES if c[0] != (A, 14)], down=[(A, 14), (B, 26)])

    selection = select(LinkSelector(type="isl"), seen, INVENTORY, PLAN)

    down = selection.items[-1]
    assert names("isl", seen=seen, plan=PLAN)[0] == [ISL[0], *ROUTER, ISL[1]]
    assert isinstance(down, PlacedCable)
    assert (down.is_down, down.state_text()) == (
        True,
        "SwitchA/14 is Down/? (no physical state was shown); "
        "SwitchB/26 is Down/? (no physical state was shown)",
    )
    assert find(PLAN.cables[1], by_plan(PLAN, seen)) == down
    assert find(PLAN.cables[0], by_plan(PLAN, seen)) == selection.items[0]


def test_an_absent_planned_host_is_a_host_link_and_an_absent_planned_switch_an_isl():
    seen = fabric(nodes={guid: node for guid, node in NODES.items() if guid != B})

    assert names("isl", seen=seen, plan=PLAN, inventory=None)[0] == [*ROUTER, *ISL]
    assert names("host", seen=seen, plan=PLAN, inventory=None)[0] == [
        *NODE1,
        *NODE2,
        "SwitchA/4 - node009/1",
    ]


def test_a_planned_host_is_told_once_as_its_cable():
    seen = fabric(nodes={guid: node for guid, node in NODES.items() if guid != Guid(3)})

    assert names({"nodes": "node[002-003]"}, seen=seen, plan=PLAN)[0] == [
        "SwitchA/3 - node002/1",
        "node003",
    ]


def test_planned_cables_need_no_fabric():
    plan = Plan.read(
        "a_name,a_port,b_name,b_port\n"
        "SwitchA,13,SwitchB,25\n"
        "SwitchA,1,SwitchB,1\n"
        "SwitchA,3,node002,1\n"
        "SwitchA,4,node001 mlx5_0,1\n"
        "SwitchA,5,node003,1\n"
        "SwitchA,6,storage server one,1\n",
        name="p",
    )

    def lines(selector):
        chosen = LinkSelector.model_validate(selector)
        return [cable.line for cable in planned_cables(chosen, plan, INVENTORY)]

    assert [
        lines("isl"),
        lines("host"),
        lines("all"),
        lines({"nodes": "SwitchB"}),
        lines({"nodes": "clients"}),
        lines({"nodes": "storage"}),
        lines({"between": ["switches", "node*"]}),
    ] == [[2, 3], [4, 5, 6, 7], [2, 3, 4, 5, 6, 7], [2, 3], [4, 5, 6], [7], [4, 5, 6]]


@pytest.mark.parametrize(
    ("selector", "sentence"),
    [
        (
            "isl",
            "p: it is unclear whether node009 is a switch or a host; name it in the inventory, "
            "switches in the group 'switches'",
        ),
        ({"nodes": "clients"}, "p: has no cable of node[001,003]; add it to the plan"),
    ],
)
def test_planned_cables_that_cannot_be_told(selector, sentence):
    with pytest.raises(InputError) as caught:
        planned_cables(LinkSelector.model_validate(selector), PLAN, INVENTORY)

    assert str(caught.value) == sentence


def test_a_selector_word_is_checked():
    with pytest.raises(ValidationError) as caught:
        LinkSelector.model_validate("hosts")

    assert [str(error["ctx"]["error"]) for error in caught.value.errors()] == [
        "'hosts' is no selection of links; did you mean 'host'?"
    ]


@pytest.mark.parametrize(
    ("selector", "meant"),
    [
        ({"type": "isl"}, set()),
        ({"type": "internal"}, set()),
        ({"type": "host"}, {"gone1", "gone2"}),
        ({"type": "all"}, {"gone1", "gone2"}),
        ({"type": "all", "except": {"nodes": "gone1"}}, {"gone2"}),
        ({"type": "all", "except": {"type": "host", "nodes": "gone1"}}, {"gone2"}),
        ({"type": "all", "except": {"type": "isl", "nodes": "gone1"}}, {"gone1", "gone2"}),
        ({"type": "all", "except": {"nodes": "gone1", "names": "*/2"}}, {"gone1", "gone2"}),
        ({"type": "all", "nodes": "gone*"}, set()),  # an AbsentNode of select
        ({"type": "all", "names": "leaf/*"}, set()),
    ],
)
def test_hosts_that_a_selector_means_without_naming_them(selector, meant):
    hosts = {name: InventoryHost(name, Host(name)) for name in ("gone1", "gone2")}
    inventory = Inventory({}, hosts)

    found = unnamed_hosts(
        LinkSelector.model_validate(selector), Fabric.of([]), inventory, None, hosts
    )

    assert found == meant


def test_an_absent_host_of_the_plan_is_missed_by_its_cable_alone():
    hosts = {name: InventoryHost(name, Host(name)) for name in ("gone1", "gone2")}
    plan = Plan((PlannedCable(End("leaf", None, 20), End("gone1", None, 1)),), "p.csv")

    found = unnamed_hosts(
        LinkSelector(type="all"), Fabric.of([]), Inventory({}, hosts), plan, hosts
    )

    assert found == {"gone2"}


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("isl", ["SwitchA/13 - SwitchB/25", "SwitchA/14 - SwitchB/26"]),
        ("internal", ["SwitchA/20 - router/1", "SwitchB/41 - {an}/1"]),
        ("all", [
            "SwitchA/1 - node001 mlx5_0/1", "SwitchA/13 - SwitchB/25", "SwitchA/14 - SwitchB/26",
            "SwitchA/2 - node001 mlx5_1/1", "SwitchA/3 - node002/1",
            "SwitchB/1 - storage server one/1", "SwitchB/41 - {an}/1",
        ]),
    ],
)  # fmt: skip
def test_links_inside_a_box_are_no_cables(word, names):
    """A switch's own router and aggregation node have its system image GUID."""
    inside = {A: Guid(0x70), R: Guid(0x70), B: Guid(0x71), Guid(5): Guid(0x71)}
    seen = fabric()
    boxed = Fabric.of(
        replace(node, system_guid=inside.get(node.guid)) for node in seen.nodes.values()
    )
    found = select(LinkSelector.model_validate(word), boxed, INVENTORY)
    shown = {tuple(sorted(map(boxed.port_name, link.ends))) for link in found.items
             if not isinstance(link, AbsentNode)}  # fmt: skip
    an = "Mellanox Technologies Aggregation Node"

    assert shown == {tuple(sorted(name.format(an=an).split(" - "))) for name in names}


@pytest.mark.parametrize(
    ("selector", "may_be"),
    [
        ("all", True),
        ("isl", True),
        ({"nodes": "SwitchA"}, True),
        ({"nodes": "SwitchB"}, False),
        ({"nodes": "*B"}, True),  # a node that was not seen can have such a name
        ({"between": ["SwitchA", "SwitchB"]}, True),
        ({"between": ["SwitchB", "node002"]}, False),
    ],
)
def test_a_link_behind_a_port_of_which_no_peer_was_seen(selector, may_be):
    """At SwitchA/22: an entry about other nodes has nothing to do with it."""
    chosen = LinkSelector.model_validate(selector)

    assert may_be_at(chosen, fabric(), INVENTORY, None, PortId(A, 22)) is may_be


@pytest.mark.parametrize(
    ("between", "at", "gaps"),
    [
        (["SwitchA", "SwitchB"], PortId(A, 22), 1),
        (["SwitchB", "node002"], PortId(A, 22), 0),
        (["SwitchB", "node002"], None, 1),
    ],
)
def test_a_gap_is_judged_where_it_can_hide_a_link(between, at, gaps):
    """A gap whose place is not known can hide any."""
    gap = Gap("the node behind SwitchA/22", "it did not answer", at=at)
    snapshot = Snapshot(
        observer="m", inventory=INVENTORY, plan=None, fabric_seen=fabric(), gaps=(gap,)
    )
    judged = links_of(snapshot, LinkSelector.model_validate({"between": between}))

    assert list(judged.items).count(gap) == gaps

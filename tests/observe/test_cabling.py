"""A plan laid on a fabric: every difference has its name, and no cable is lost or told twice."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibaccept.errors import IbacceptError
from ibaccept.fabric.model import Fabric, Guid, Node, NodeType, PhysState, Port, PortId, PortState
from ibaccept.observe.cabling import compare
from ibaccept.observe.placement import locate
from ibaccept.site.plan import Plan

A, B, H = Guid(0xA), Guid(0xB), Guid(0x1)
NAMES = {A: "SwitchA", B: "SwitchB"}


def fabric(cables, *, hosts=(), down=(), up=(), without=(), names=None):
    """SwitchA, SwitchB and hosts 0x1.. with the cables ((guid, port), (guid, port))."""
    names = {**NAMES, **{h: f"node{int(h):03}" for h in hosts}, **(names or {})}
    remote = {}
    for a, b in cables:
        remote[PortId(*a)] = PortId(*b)
        remote[PortId(*b)] = PortId(*a)
    nodes = []
    for guid, name in names.items():
        if guid in without:
            continue
        switch = guid in NAMES
        ports = {
            p.port: Port(p, remote=r, state=PortState.ACTIVE, phys=PhysState.LINK_UP)
            for p, r in remote.items()
            if p.guid == guid
        }
        states = ((PortState.DOWN, PhysState.POLLING), (PortState.ACTIVE, PhysState.LINK_UP))
        for (state, phys), ids in zip(states, (down, up), strict=True):
            for g, n in ids:
                if g == guid:
                    ports[n] = Port(PortId(g, n), state=state, phys=phys)
        kind = NodeType.SWITCH if switch else NodeType.CA
        nodes.append(Node(guid, kind, name, 64 if switch else 2, ports))
    return Fabric.of(nodes)


def plan(*rows):
    head = "a_name,a_guid,a_port,b_name,b_guid,b_port\n"
    return Plan.read(head + "".join(f"{row}\n" for row in rows), name="p")


ISLS = [((A, 13), (B, 25)), ((A, 14), (B, 26))]
PLAN = plan("SwitchA,,13,SwitchB,,25", "SwitchA,,14,SwitchB,,26")


def told(plan, seen):
    return [
        (d.kind, [c.planned.line for c in d.planned], d.expected, d.text)
        for d in compare(plan, seen)
    ]


def test_cabled_as_planned():
    assert compare(PLAN, fabric(ISLS)) == ()
    assert [cable.link for cable in locate(PLAN, fabric(ISLS))] == list(fabric(ISLS).links)


def test_a_link_inside_a_box_is_not_extra():
    """Else a plan of the cables would have to name the back plane of a director."""
    seen = fabric([*ISLS, ((A, 30), (B, 30))])
    boxed = Fabric.of(replace(node, system_guid=Guid(7)) for node in seen.nodes.values())

    assert [difference.kind for difference in compare(PLAN, seen)] == ["extra"]
    assert compare(PLAN, boxed) == ()


def test_missing():
    assert told(PLAN, fabric(ISLS[:1], down=[(A, 14)])) == [
        (
            "missing",
            [3],
            "SwitchA/14 - SwitchB/26",
            "missing: SwitchA/14 is Down/Polling (no peer or no cable); SwitchB/26 shows no link",
        )
    ]


def test_a_node_that_is_not_there():
    assert told(PLAN, fabric([], without=[B], up=[(A, 13)])) == [
        (
            "missing",
            [2],
            "SwitchA/13 - SwitchB/25",
            "missing: SwitchA/13 is up, but what it is cabled to was not seen; "
            "SwitchB is not in the fabric",
        ),
        (
            "missing",
            [3],
            "SwitchA/14 - SwitchB/26",
            "missing: SwitchA/14 shows no link; SwitchB is not in the fabric",
        ),
    ]


def test_two_ends_up_whose_peers_were_not_read_are_unseen_not_missing():
    assert told(PLAN, fabric(ISLS[:1], up=[(A, 14), (B, 26)])) == [
        (
            "unseen",
            [3],
            "SwitchA/14 - SwitchB/26",
            "not seen: SwitchA/14 is up, but what it is cabled to was not seen; "
            "SwitchB/26 is up, but what it is cabled to was not seen",
        )
    ]


def test_a_cable_that_one_end_alone_confirms_was_not_seen_whole():
    a, b = PortId(A, 14), PortId(B, 26)
    seen = fabric(ISLS[:1])
    nodes = dict(seen.nodes)
    ports = {**nodes[A].ports, 14: Port(a, remote=b, state=PortState.ACTIVE)}
    nodes[A] = Node(A, NodeType.SWITCH, "SwitchA", 64, ports)

    cable = locate(PLAN, Fabric(nodes))[1]
    assert told(PLAN, Fabric(nodes)) == [
        (
            "unseen",
            [3],
            "SwitchA/14 - SwitchB/26",
            "not seen: SwitchA/14 is cabled as planned; SwitchB/26 shows no link",
        )
    ]
    assert (cable.link, cable.is_there, cable.is_unseen, cable.state_text()) == (
        None,
        True,
        True,
        "SwitchA/14 is cabled as planned; SwitchB/26 shows no link",
    )


@pytest.mark.parametrize(
    ("a", "b", "kind", "text"),
    [
        (
            (PortState.INITIALIZE, PhysState.LINK_UP),
            (PortState.INITIALIZE, PhysState.LINK_UP),
            "down",
            "not up: both ends are Initialize/LinkUp (no subnet manager has configured it)",
        ),
        (
            (PortState.ARMED, PhysState.ERROR_RECOVERY),
            (PortState.ACTIVE, PhysState.LINK_UP),
            "down",
            "not up: SwitchA/14 is Armed/LinkErrorRecovery (the link is retraining after errors); "
            "SwitchB/26 is Active/LinkUp",
        ),
        (
            (PortState.ACTIVE, PhysState.LINK_UP),
            (None, None),
            "unseen",
            "not seen to be up: SwitchA/14 is Active/LinkUp; SwitchB/26 is in no state that was "
            "seen",
        ),
    ],
)
def test_a_cable_in_place_that_is_not_up_is_a_difference(a, b, kind, text):
    seen = fabric(ISLS)
    nodes = dict(seen.nodes)
    for guid, port, (state, phys) in ((A, 14, a), (B, 26, b)):
        ports = dict(nodes[guid].ports)
        ports[port] = replace(ports[port], state=state, phys=phys)
        nodes[guid] = replace(nodes[guid], ports=ports)

    assert told(PLAN, Fabric(nodes)) == [(kind, [3], "SwitchA/14 - SwitchB/26 up", text)]


def test_moved():
    assert told(PLAN, fabric([ISLS[0], ((A, 14), (B, 30))])) == [
        (
            "moved",
            [3],
            "SwitchA/14 - SwitchB/26",
            "moved: SwitchA/14 goes to SwitchB/30 instead of SwitchB/26",
        )
    ]


def test_swapped_is_one_difference():
    assert told(PLAN, fabric([((A, 13), (B, 26)), ((A, 14), (B, 25))])) == [
        (
            "swapped",
            [2, 3],
            "SwitchA/13 - SwitchB/25, SwitchA/14 - SwitchB/26",
            "swapped: SwitchA/13 goes to SwitchB/26 instead of SwitchB/25, "
            "SwitchA/14 goes to SwitchB/25 instead of SwitchB/26",
        )
    ]


def test_a_long_swap_is_told_in_part():
    ports = range(1, 15)
    rows = plan(*(f"SwitchA,,{n},SwitchB,,{n}" for n in ports))
    difference = compare(rows, fabric([((A, n), (B, n % 14 + 1)) for n in ports]))[0]

    assert difference.kind == "swapped"
    assert len(difference.planned) == len(difference.found) == 14
    assert difference.expected.endswith(", SwitchA/12 - SwitchB/12 and 2 more")
    assert difference.text.startswith("swapped: SwitchA/1 goes to SwitchB/2 instead of SwitchB/1, ")
    assert difference.text.count("goes to") == 12


def test_a_chain_of_moves_ends_in_an_extra_cable():
    rows = plan("SwitchA,,1,SwitchB,,1")

    assert told(rows, fabric([((A, 1), (B, 2)), ((A, 2), (B, 1))])) == [
        (
            "moved",
            [2],
            "SwitchA/1 - SwitchB/1",
            "moved: SwitchA/1 goes to SwitchB/2 instead of SwitchB/1",
        ),
        ("extra", [], "no cable", "extra: SwitchA/2 - SwitchB/1 is not in the plan"),
    ]


def test_thousands_of_rows_with_one_cause_are_listed_in_part():
    rows = plan(*(f"SwitchA,,{n},SwichB,,{n}" for n in range(1, 61)))

    differences = told(rows, fabric([]))

    assert len(differences) == 51
    assert differences[0] == (
        "unseen",
        [2],
        "SwitchA/1 - SwichB/1",
        "p:2: no node is named 'SwichB'; did you mean 'SwitchB'?",
    )
    assert differences[-1] == ("unseen", [*range(52, 62)], "", "p: 10 more rows fit nothing")


def test_two_planned_ports_joined_by_one_cable():
    assert told(PLAN, fabric([((A, 13), (A, 14))])) == [
        (
            "moved",
            [2],
            "SwitchA/13 - SwitchB/25",
            "moved: SwitchA/13 goes to SwitchA/14 instead of SwitchB/25",
        ),
        (
            "missing",
            [3],
            "SwitchA/14 - SwitchB/26",
            "missing: SwitchA/14 is cabled elsewhere; SwitchB/26 shows no link",
        ),
    ]


def test_extra_between_planned_nodes():
    assert told(PLAN, fabric([*ISLS, ((A, 20), (B, 30))])) == [
        ("extra", [], "no cable", "extra: SwitchA/20 - SwitchB/30 is not in the plan")
    ]


def test_a_plan_of_isls_says_nothing_of_host_links():
    assert told(PLAN, fabric([*ISLS, ((A, 1), (H, 1))], hosts=[H])) == []


def test_a_host_on_a_planned_port_is_told():
    assert told(PLAN, fabric([ISLS[0], ((A, 14), (H, 1))], hosts=[H])) == [
        (
            "moved",
            [3],
            "SwitchA/14 - SwitchB/26",
            "moved: SwitchA/14 goes to node001/1 instead of SwitchB/26",
        )
    ]


def test_a_plan_with_hosts_covers_every_host():
    two = Guid(0x2)
    rows = plan("SwitchA,,1,node001,,1")
    seen = fabric([((A, 1), (H, 1)), ((A, 2), (two, 1))], hosts=[H, two])

    assert told(rows, seen) == [
        ("extra", [], "no cable", "extra: node002/1 - SwitchA/2 is not in the plan")
    ]


def test_the_guid_comes_before_the_name():
    rows = plan("old name,0xa,13,new name,0xb,25", "old name,0xa,14,,0xb,26")

    assert compare(rows, fabric(ISLS)) == ()


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("SwitchA,,13,SwichC,,25", "p:2: no node is named 'SwichC'; did you mean 'SwitchC'?"),
        (
            "SwitchA,,13,nod001,,1",
            "p:2: no node is named 'nod001'; did you mean 'node001'?",
        ),
        (
            "SwitchA,,13,twin,,1",
            "p:2: 2 nodes are named 'twin'; write the GUID (0x0000000000000003, "
            "0x0000000000000004)",
        ),
        ("SwitchA,,65,SwitchB,,25", "p:2: SwitchA/65: SwitchA has 64 ports"),
        (
            "SwitchA,,13,x,0x77,1",
            "p:2: 0x0000000000000077 is the port GUID of node001 mlx5_0/1; "
            "write its node GUID 0x0000000000000001",
        ),
    ],
)
def test_rows_that_cannot_be_resolved(row, sentence):
    seen = fabric(
        ISLS,
        names={
            Guid(0xC): "SwitchC",
            H: "node001 mlx5_0",
            Guid(3): "twin",
            Guid(4): "twin",
        },
    )
    nodes = dict(seen.nodes)
    nodes[H] = Node(H, NodeType.CA, "node001 mlx5_0", 1, {1: Port(PortId(H, 1), Guid(0x77))})

    whole = "SwitchA,,14,SwitchB,,26"
    cable, other = locate(plan(row, whole), Fabric(nodes))
    assert (cable.problem, cable.state_text(), cable.is_unseen) == (sentence, sentence, True)
    assert (cable.is_there, cable.is_absent, cable.is_down, cable.link) == (False,) * 3 + (None,)
    # the row beside it is judged, and the link at the port of the bad row is not extra
    assert other.link == Fabric(nodes).links[-1]
    assert told(plan(row, whole), Fabric(nodes)) == [("unseen", [2], cable.name, sentence)]


def test_a_port_used_twice_under_two_names_is_of_the_first_row():
    rows = plan("SwitchA,,13,SwitchB,,25", "x,0xa,13,SwitchB,,26")

    assert told(rows, fabric(ISLS[:1])) == [
        ("unseen", [3], "SwitchA/13 - SwitchB/26", "p:3: x/13 is already used in p:2")
    ]


def test_nothing_is_compared_with_an_empty_fabric():
    with pytest.raises(IbacceptError) as caught:
        compare(PLAN, Fabric.of([]))

    assert str(caught.value) == "no node was seen, so the cabling cannot be compared with the plan"


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 12),
    st.randoms(use_true_random=False),
    st.integers(0, 4),
    st.integers(0, 4),
    st.booleans(),
)
def test_every_cable_is_explained_exactly_once(count, rng: random.Random, lost, added, any_port):
    planned = [((A, n), (B, 63 - n)) for n in range(1, count + 1)]
    rows = plan(*(f"SwitchA,,{a[1]},SwitchB,,{b[1]}" for a, b in planned))
    far = [b for _, b in planned]
    if any_port:
        ports = [end for cable in planned for end in cable]
        rng.shuffle(ports)
        cables = list(zip(ports[::2], ports[1::2], strict=True))
    else:
        rng.shuffle(far)
        cables = [(a, b) for (a, _), b in zip(planned, far, strict=True)]
    cables = cables[lost:]
    cables += [((A, 20 + n), (B, 20 + n)) for n in range(added)]
    seen = fabric(cables)

    differences = compare(rows, seen)

    same = {frozenset(c) for c in planned} & {frozenset(c) for c in cables}
    told_planned = [c.planned.line for d in differences for c in d.planned]
    told_found = [link.key for d in differences for link in d.found]
    assert sorted(told_planned) == [
        line for line, cable in enumerate(planned, 2) if frozenset(cable) not in same
    ]
    assert sorted(told_found) == sorted(
        link.key
        for link in seen.links
        if frozenset((tuple(link.a.id), tuple(link.b.id))) not in same
    )
    for d in differences:
        shape = (len(d.planned), len(d.found))
        if d.kind == "swapped":
            ends = {key for c in d.planned for key in c.keys}
            assert shape[0] == shape[1] >= 2
            assert ends == {key for link in d.found for key in link.key}
        else:
            assert shape == {"missing": (1, 0), "extra": (0, 1), "moved": (1, 1)}[d.kind]

"""The builders: right sizes, right cables, the same every time."""

from collections import Counter

import pytest

from ibaccept.errors import InputError
from ibaccept.lab.fabric import topology
from ibaccept.lab.fabric.netfile import NetFile

BUILT = {
    "two-switch": topology.two_switch(),
    "small": topology.two_switch(clients=3, storage=2, isls=2, rate="4X EDR", isl_rate="1X EDR"),
    "tree": topology.fat_tree(leaves=4, spines=2, hosts=8, links=2),
    "pods": topology.fat_tree(levels=3, leaves=2, spines=2, hosts=3, pods=3, cores=2, links=2),
    "ring": topology.ring(5, hosts=2),
    "kary": topology.kary(4, 3),
}


def ends(net: NetFile, one: str, other: str) -> list[tuple[int, int]]:
    """Port pairs of the cables between two nodes."""
    return [
        (cable.a.port, cable.b.port)
        for cable in net.cables()
        if (cable.a.node, cable.b.node) == (one, other)
    ]


def test_two_switch_is_the_case_of_the_article():
    net = BUILT["two-switch"]

    assert ends(net, "SwitchA", "SwitchB") == list(zip(range(13, 21), range(25, 33), strict=True))
    a, b = net.node("SwitchA"), net.node("SwitchB")
    assert (a.num_ports, len(a.ports)) == (56, 56)
    assert (b.num_ports, sorted(b.ports)) == (33, [*range(1, 9), *range(25, 34)])
    names = [node.name for node in net.hosts()]
    assert names == [
        *(f"client-{n:02d}" for n in range(1, 49)),
        *(f"stor-{n}" for n in range(1, 9)),
        "mgmt01",
    ]
    assert {str(cable.rate) for cable in net.cables()} == {"4X HDR"}


def test_guids_are_those_the_docs_name():
    net = BUILT["two-switch"]

    assert net.node("SwitchA").text().splitlines()[3:6] == [
        "switchguid=0x2c90300000001",
        'Switch\t56 "S-0002c90300000001"\t\t# "SwitchA" enhanced port 0 lid 0 lmc 0',
        '[1]\t"H-0c42a10300f00100"[1](c42a10300f00101) \t\t# "client-01" lid 0 4xHDR',
    ]
    assert net.node("client-02").text().splitlines()[3:] == [
        "caguid=0xc42a10300f00200",
        'Ca\t1 "H-0c42a10300f00200"\t\t# "client-02"',
        '[1](c42a10300f00201)\t"S-0002c90300000001"[2] \t\t# lid 0 lmc 0 "SwitchA" lid 0 4xHDR',
    ]


def test_hosts_of_two_ports():
    net = topology.two_switch(clients=2, storage=1, isls=1, host_ports=2)

    assert [str(cable) for cable in net.cables()] == [
        "SwitchA/1 - client-1/1",
        "SwitchA/2 - client-1/2",
        "SwitchA/3 - client-2/1",
        "SwitchA/4 - client-2/2",
        "SwitchA/13 - SwitchB/25",
        "SwitchB/1 - stor-1/1",
        "SwitchB/2 - stor-1/2",
        "SwitchB/26 - mgmt01/1",
    ]
    assert {node.name: node.num_ports for node in net.hosts()} == {
        "client-1": 2,
        "client-2": 2,
        "stor-1": 2,
        "mgmt01": 1,
    }
    with pytest.raises(InputError, match="SwitchB has 24 ports for storage servers, not 26"):
        topology.two_switch(storage=13, host_ports=2)


def test_rates_of_isls_and_leaves():
    small = BUILT["small"]
    mixed = topology.fat_tree(leaves=2, spines=1, hosts=2, leaf_rates={1: "4X EDR"})

    assert Counter(str(c.rate) for c in small.cables()) == {"4X EDR": 6, "1X EDR": 2}
    assert {(str(c.a), str(c.rate)) for c in mixed.cables()} == {
        ("leaf01/1", "4X EDR"),
        ("leaf01/2", "4X EDR"),
        ("leaf01/3", "4X EDR"),
        ("leaf01/4", "4X EDR"),
        ("leaf02/1", "4X HDR"),
        ("leaf02/2", "4X HDR"),
        ("leaf02/3", "4X HDR"),
    }


def test_two_level_tree():
    net = BUILT["tree"]

    assert (len(net.switches()), len(net.hosts()), len(net.cables())) == (6, 33, 33 + 16)
    assert ends(net, "leaf03", "spine02") == [(11, 5), (12, 6)]


def test_three_level_tree():
    net = BUILT["pods"]

    assert (len(net.switches()), len(net.hosts())) == (3 * 4 + 2, 19)
    assert len(net.cables()) == 19 + 3 * 2 * 2 * 2 + 3 * 2 * 2 * 2
    assert ends(net, "pod2-leaf01", "pod2-spine02") == [(6, 1), (7, 2)]
    assert ends(net, "pod2-leaf01", "pod1-spine02") == []
    assert ends(net, "pod3-spine01", "core02") == [(7, 9), (8, 10)]


def test_ring_closes():
    net = BUILT["ring"]

    isls = [(str(c.a), str(c.b)) for c in net.cables() if c.b.node.startswith("switch")]
    assert isls == [
        ("switch1/1", "switch2/2"),
        ("switch1/2", "switch5/1"),
        ("switch2/1", "switch3/2"),
        ("switch3/1", "switch4/2"),
        ("switch4/1", "switch5/2"),
    ]


def test_kary_tree_has_full_bisection():
    net = BUILT["kary"]

    switches, hosts = len(net.switches()), len(net.hosts())
    isls = [c for c in net.cables() if net.node(c.b.node).is_switch]
    assert (switches, hosts, len(isls)) == (3 * 16, 64 + 1, 2 * 64)
    top = [net.node(f"sw-2-{a:02d}{b:02d}") for a in range(4) for b in range(4)]
    assert [sorted(node.ports) for node in top] == [[1, 2, 3, 4]] * 16


@pytest.mark.parametrize("name", BUILT)
def test_every_cable_has_two_ends_that_agree(name):
    net = BUILT[name]

    for node in net.nodes.values():
        for port in node.ports.values():
            far = net.nodes[port.remote].ports[port.remote_port]
            assert (far.remote, far.remote_port, far.rate) == (node.id, port.number, port.rate)


@pytest.mark.parametrize("name", BUILT)
def test_what_is_built_survives_the_round_trip(name):
    net = BUILT[name]

    assert NetFile.parse(net.text()) == net


@pytest.mark.parametrize("name", BUILT)
def test_guids_and_names_are_unique(name):
    net = BUILT[name]

    nodes = net.nodes.values()
    ports = [p.guid for node in nodes for p in node.ports.values() if p.guid]
    assert len({node.guid for node in nodes}) == len(net.nodes)
    assert len({node.name for node in nodes}) == len(net.nodes)
    assert not {str(node.guid) for node in nodes} & set(ports)
    assert len(set(ports)) == len(net.hosts())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: topology.fat_tree(levels=4), "a fat tree has 2 or 3 levels here, not 4"),
        (lambda: topology.ring(2), "a ring has 3 or more switches, not 2"),
        (
            lambda: topology.two_switch(storage=25),
            "SwitchB has 24 ports for storage servers, not 25",
        ),
        (
            lambda: topology.fat_tree(hosts=300),
            "leaf01 would need 303 ports; a switch has 1 to 254",
        ),
    ],
)
def test_what_cannot_be_built_is_refused(build, message):
    with pytest.raises(InputError) as caught:
        build()

    assert str(caught.value) == message


def test_a_capture_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"nothing\.txt cannot be read: No such file"):
        topology.capture(tmp_path / "nothing.txt")

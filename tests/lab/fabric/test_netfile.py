"""The net file: read as ibnetdiscover prints it, written as ibsim loads it, one cable changed."""

from pathlib import Path

import pytest

from ibaccept.errors import InputError
from ibaccept.fabric.model import Rate
from ibaccept.lab.fabric import topology
from ibaccept.lab.fabric.netfile import NetFile, PortRef, SimCable

SAMPLES = Path(__file__).resolve().parents[3] / "../shared/samples"

TEXT = """\
#
# Topology file: generated on Mon Nov 30 12:00:00 2026
#
# Initiated from node 000000000000000a port 000000000000000b

vendid=0x2c9
devid=0xd2f0
sysimgguid=0x1
switchguid=0x1(1)
Switch\t4 "S-0000000000000001"\t\t# "leaf 1 xEDR" enhanced port 0 lid 2 lmc 0
[1]\t"H-000000000000000a"[1](b) \t\t# "node1 HCA-1" lid 1 4xHDR
[2][ext 7]\t"S-0000000000000002"[3]\t\t# "spine" lid 3 4xHDR
[4]\t"S-0000000000000002"[4]\t\t# "spine" lid 3 2xHDR

switchguid=0x2(2)
Switch\t4 "S-0000000000000002"\t\t# "spine" base port 0 lid 3 lmc 0
[3]\t"S-0000000000000001"[2]\t\t# "leaf 1 xEDR" lid 2 4xHDR
[4]\t"S-0000000000000001"[4]\t\t# "leaf 1 xEDR" lid 2 2xHDR

caguid=0xa
Ca\t1 "H-000000000000000a"\t\t# "node1 HCA-1"
[1](b) \t"S-0000000000000001"[1]\t\t# lid 1 lmc 0 "leaf 1 xEDR" lid 2 4xHDR
"""

HOST_CABLE = SimCable(PortRef("leaf 1 xEDR", 1), PortRef("node1 HCA-1", 1), Rate.parse("4X HDR"))
FIRST = SimCable(PortRef("leaf 1 xEDR", 2), PortRef("spine", 3), Rate.parse("4X HDR"))
SECOND = SimCable(PortRef("leaf 1 xEDR", 4), PortRef("spine", 4), Rate.parse("2X HDR"))


def test_reads_nodes_and_cables():
    net = NetFile.parse(TEXT)

    assert [(n.name, n.kind, n.num_ports, int(n.guid)) for n in net.nodes.values()] == [
        ("leaf 1 xEDR", "Switch", 4, 1),
        ("spine", "Switch", 4, 2),
        ("node1 HCA-1", "Ca", 1, 10),
    ]
    assert net.cables() == (HOST_CABLE, FIRST, SECOND)
    assert [node.name for node in net.hosts()] == ["node1 HCA-1"]
    assert [node.name for node in net.switches()] == ["leaf 1 xEDR", "spine"]


def test_writes_what_it_read():
    """A capture goes in and comes out as the same fabric, external labels and comments too."""
    net = NetFile.parse(TEXT)

    again = NetFile.parse(net.text())

    assert again == net
    assert '[2][ext 7]\t"S-0000000000000002"[3]' in net.text()


def test_rate_changes_at_both_ends_only():
    net = NetFile.parse(TEXT)

    net.set_rate(PortRef("spine", 3), Rate.parse("1X HDR"))

    changed = SimCable(FIRST.a, FIRST.b, Rate.parse("1X HDR"))
    assert net.cables() == (HOST_CABLE, changed, SECOND)
    lines = net.text().splitlines()
    assert [line.split()[-1] for line in lines if "1xHDR" in line] == ["1xHDR", "1xHDR"]


def test_rate_of_a_port_line_without_one():
    net = NetFile.parse('Switch 2 "a"\n[1] "b"[1]\n\nHca 1 "b"\n[1] "a"[1]\n')

    net.set_rate(PortRef("a", 1), Rate.parse("4X EDR"))

    assert net.cables() == (SimCable(PortRef("a", 1), PortRef("b", 1), Rate.parse("4X EDR")),)


def test_a_removed_cable_is_gone_at_both_ends():
    net = NetFile.parse(TEXT)

    net.remove(PortRef("spine", 4))

    assert net.cables() == (HOST_CABLE, FIRST)
    assert sorted(net.node("spine").ports) == [3]
    assert sorted(net.node("leaf 1 xEDR").ports) == [1, 2]


def test_swapped_cables_keep_their_near_ends():
    net = NetFile.parse(TEXT)

    net.swap(PortRef("leaf 1 xEDR", 2), PortRef("leaf 1 xEDR", 4))

    assert [(c.a, c.b) for c in net.cables()] == [
        (HOST_CABLE.a, HOST_CABLE.b),
        (FIRST.a, SECOND.b),
        (SECOND.a, FIRST.b),
    ]


def test_a_renamed_node_keeps_its_id_and_may_share_its_name():
    net = topology.two_switch(clients=2, storage=1, isls=1)

    net.rename("client-2", "client-1")

    assert [(node.id, node.name) for node in net.hosts()[:2]] == [
        ("H-0c42a10300f00100", "client-1"),
        ("H-0c42a10300f00200", "client-1"),
    ]
    assert NetFile.parse(net.text()).hosts()[1].name == "client-1"
    with pytest.raises(InputError, match="several nodes are called 'client-1'"):
        net.node("client-1")


def test_plan_has_a_row_per_cable():
    assert NetFile.parse(TEXT).plan().splitlines() == [
        "a_name,a_guid,a_port,b_name,b_guid,b_port",
        "leaf 1 xEDR,0x0000000000000001,1,node1 HCA-1,0x000000000000000a,1",
        "leaf 1 xEDR,0x0000000000000001,2,spine,0x0000000000000002,3",
        "leaf 1 xEDR,0x0000000000000001,4,spine,0x0000000000000002,4",
    ]


@pytest.mark.parametrize("name", ["spine", "S-0000000000000002", "0x2", "0x0000000000000002"])
def test_a_node_is_found_by_name_id_or_guid(name):
    net = NetFile.parse(TEXT)

    assert net.node(name) is net.nodes["S-0000000000000002"]


def test_an_unknown_or_repeated_name_is_refused():
    net = NetFile.parse(TEXT.replace('"spine" base', '"leaf 1 xEDR" base'))

    with pytest.raises(InputError, match="no node is called 'nobody'"):
        net.node("nobody")
    with pytest.raises(InputError, match="several nodes are called 'leaf 1 xEDR'"):
        net.node("leaf 1 xEDR")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "net file holds no node; give the output of 'ibnetdiscover'"),
        ("# only a comment\n", "net file holds no node; give the output of 'ibnetdiscover'"),
        ('[1] "b"[1]\n', "net file, line 1: a port before any node: '[1] \"b\"[1]'"),
        (
            'Switch 2 "a"\n\nSwitch 2 "a"\n',
            "net file, line 3: node a comes twice",
        ),
        (
            'Switch 2 "a"\nibwarn: [298726] mad_rpc failed\n',
            "net file, line 2 is not a node, port or attribute of ibnetdiscover output: "
            "'ibwarn: [298726] mad_rpc failed'",
        ),
    ],
)
def test_what_is_no_net_file_is_refused(text, message):
    with pytest.raises(InputError) as caught:
        NetFile.parse(text)

    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["SwitchA", "/3", "SwitchA/", "SwitchA/x", "SwitchA/-1"])
def test_a_port_reference_needs_node_and_number(text):
    with pytest.raises(InputError, match="is not a port; write NODE/PORT"):
        PortRef.parse(text)


def test_a_node_name_may_hold_a_slash():
    assert PortRef.parse("MF0;sw1:IS5600/L10/U1/20") == PortRef("MF0;sw1:IS5600/L10/U1", 20)


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="shared/ is not beside the project")
@pytest.mark.parametrize(
    ("name", "nodes", "cables"),
    [
        ("selene-compute-hdr.txt", 5007, 12852),
        ("janus-qdr-2014.txt", 1570, 4168),
        ("kary-tree-all-lids-0.txt", 208, 384),
        ("only-self-no-link.txt", 1, 0),
    ],
)
def test_real_captures_survive_the_round_trip(name, nodes, cables):
    text = (SAMPLES / "ibnetdiscover" / name).read_text(errors="surrogateescape")

    net = NetFile.parse(text)

    assert (len(net.nodes), len(net.cables())) == (nodes, cables)
    assert NetFile.parse(net.text()) == net

"""What a sweep saw of the fabric, and what it says that it did not see."""

import pytest

from ibaccept.fabric.model import Fabric, Guid, Node, NodeType, Port, PortId
from ibaccept.observe import topology
from ibaccept.observe.observer import Observer
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import CommandResult, Host

HOST, LEAF, SPINE = Guid(1), Guid(2), Guid(3)


def node(guid, kind, name, *cables):
    """``cables``: own port, peer, peer's port."""
    ports = {
        number: Port(PortId(guid, number), remote=PortId(peer, far)) for number, peer, far in cables
    }
    return Node(guid, kind, name, 40, ports)


FABRIC = Fabric.of(
    [
        node(HOST, NodeType.CA, "mgmt01", (1, LEAF, 13)),
        node(LEAF, NodeType.SWITCH, "leaf", (13, HOST, 1), (22, SPINE, 5)),
        node(SPINE, NodeType.SWITCH, "spine", (5, LEAF, 22)),
    ]
)


@pytest.mark.parametrize(
    ("route", "port"),
    [
        ((1,), PortId(HOST, 1)),
        ((1, 22), PortId(LEAF, 22)),
        ((1, 22, 5), PortId(SPINE, 5)),
        ((1, 7), None),  # no such port was seen
        ((1, 7, 1), None),
        ((), None),
    ],
)
def test_the_port_a_directed_route_ends_at(route, port):
    assert topology._behind(FABRIC, HOST, route) == port
    assert topology._behind(FABRIC, None, route) is None


NET = """\
# Initiated from node 0000000000000001 port 0000000000000001

Switch\t40 "S-0000000000000002"\t\t# "leaf" enhanced port 0 lid 5 lmc 0
[1]\t"H-0000000000000001"[1](1) \t\t# "mgmt01" lid 1 4xHDR

Ca\t1 "H-0000000000000001"\t\t# "mgmt01"
[1](1) \t"S-0000000000000002"[1]\t\t# lid 1 lmc 0 "leaf" lid 5 4xHDR
"""
UP = "==( 4X        53.125 Gbps Active/  LinkUp)==> "
LINKS = (
    f'0x0000000000000002 "leaf" 5 1[  ] {UP} 0x0000000000000001 1 1[  ] "mgmt01" ( )\n'
    f'0x0000000000000002 "leaf" 5 30[  ] {UP} "Port not available"\n'
    f'0x0000000000000001 "mgmt01" 1 1[  ] {UP} 0x0000000000000002 5 1[  ] "leaf" ( )\n'
)
TIMEOUT = (
    "src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1,30 Attr 0x11:0) bad status 110; "
    "Connection timed out\n"
)


class Tools:
    """What the tools print; both the same on standard error."""

    def __init__(self, stderr):
        self.stderr = stderr.encode()

    def run(self, host, argv, **_limits):
        text = NET if argv[0] == "ibnetdiscover" else LINKS
        return CommandResult(host.name, argv, text.encode(), self.stderr, 0)


@pytest.mark.parametrize(
    ("stderr", "reason", "route"),
    [
        (TIMEOUT, "the node behind leaf/30 did not answer", (1, 30)),
        (
            "",
            "leaf/30 (0x0000000000000002) is Active, but neither tool could read its peer",
            (),
        ),
    ],
)
def test_a_port_whose_peer_no_tool_could_read_is_one_gap(stderr, reason, route):
    observer = Observer(Tools(stderr), InventoryHost("m", Host("m")), lambda _text: None)
    (gap,) = topology.topology_of(observer).gaps

    assert (gap.name, gap.reason) == ("the node behind leaf/30", reason)
    assert (gap.at, gap.route) == (PortId(LEAF, 30), route)
    assert len(gap.captures) == 1


def boxed(*nodes):
    """Switches and routers (GUID, type, system image GUID), each cabled to the next."""
    made = []
    for at, (guid, kind, system) in enumerate(nodes):
        ports = {}
        if at:
            ports[1] = Port(PortId(guid, 1), remote=PortId(nodes[at - 1][0], 2))
        if at + 1 < len(nodes):
            ports[2] = Port(PortId(guid, 2), remote=PortId(nodes[at + 1][0], 1))
        made.append(Node(guid, kind, f"n{guid:d}", 40, ports, system_guid=system))
    return Fabric.of(made)


def test_links_inside_a_box_are_shown():
    """A router in its switch; the link of the switch to another is a cable."""
    fabric = boxed(
        (Guid(1), NodeType.ROUTER, Guid(9)),
        (Guid(2), NodeType.SWITCH, Guid(9)),
        (Guid(3), NodeType.SWITCH, Guid(8)),
    )

    assert topology.internal_links(fabric) == [
        "1 of 2 links are inside a box (one system image GUID), so no inter-switch cables: "
        "n1/2 - n2/1; 'links: internal' selects them"
    ]


@pytest.mark.parametrize("system", [None, Guid(0)])
def test_without_a_system_image_guid_nothing_is_inside_a_box(system):
    fabric = boxed((Guid(1), NodeType.SWITCH, system), (Guid(2), NodeType.SWITCH, system))

    assert topology.internal_links(fabric) == []

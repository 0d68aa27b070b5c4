"""What a sweep saw of the fabric, and what it says that it did not see."""

import pytest

from ibaccept.fabric.model import Fabric, Guid, Node, NodeType, Port, PortId
from ibaccept.observe import topology

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
        ((1,), "mgmt01/1"),
        ((1, 22), "leaf/22"),
        ((1, 22, 5), "spine/5"),
        ((1, 7), None),  # no such port was seen
        ((1, 7, 1), None),
        ((), None),
    ],
)
def test_the_port_a_directed_route_ends_at(route, port):
    assert topology._behind(FABRIC, HOST, route) == port
    assert topology._behind(FABRIC, None, route) is None


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

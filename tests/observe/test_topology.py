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

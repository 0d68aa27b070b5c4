"""Cables among which routing could choose are compared, parallel or not."""

from ibaccept.fabric.model import Guid, PortId
from ibaccept.routing.comparable import comparable
from ibaccept.routing.paths import Routes

LEAF1, LEAF2, SPINE1, SPINE2 = range(4)


def port(switch, number):
    return PortId(Guid(0x5000 + switch), number)


def test_single_cables_to_two_spines_are_compared(fabric_of):
    cables = [
        ((LEAF1, 1), (SPINE1, 1)),
        ((LEAF1, 2), (SPINE2, 1)),
        ((LEAF2, 1), (SPINE1, 2)),
        ((LEAF2, 2), (SPINE2, 2)),
    ]
    fabric = fabric_of(["l1", "l2", "s1", "s2"], cables, [("a", LEAF1, 5), ("b", LEAF2, 5)])

    assert comparable(Routes(fabric, []), [1], [2]) == (
        (port(LEAF1, 1), port(LEAF1, 2)),
        (port(SPINE1, 2), port(SPINE2, 2)),
    )


def test_hosts_of_one_switch_cross_nothing_to_compare(fabric_of):
    fabric = fabric_of(["l1"], [], [("a", 0, 5), ("b", 0, 6)])

    assert comparable(Routes(fabric, []), [1], [2]) == ()

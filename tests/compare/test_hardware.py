"""Two sweeps of fabrics made by hand: every difference, and none where there is none."""

from dataclasses import replace

import pytest

from ibaccept.compare.hardware import HardwareChange, Moved, Places, hardware_changes
from ibaccept.fabric.model import Fabric, Guid, Lid, PortId, PortState, Rate
from ibaccept.observe.snapshot import Gap
from ibaccept.parse.ibstat import Ca, IbStat
from ibaccept.verdict.absence import NotSeen, NotSeenError


@pytest.fixture
def tree(site_of):
    """Two leaves, two spines, two hosts a leaf."""

    def make(*, spare=False, hosts=4):
        site = site_of("leaf1", "leaf2", "spine1", "spine2")
        for leaf in ("leaf1", "leaf2"):
            for spine, port in (("spine1", 21), ("spine2", 22)):
                site.cable(leaf, port, spine, int(leaf[-1]))
        if spare:
            site.cable("leaf1", 23, "spine1", 9)
        for number in range(hosts):
            site.host(f"n{number + 1}", f"leaf{1 + number // 2}", 1 + number % 2)
        return site

    return make


def nodes_of(snapshot, change):
    """The snapshot with its nodes changed by a function; None drops one."""
    nodes = filter(None, map(change, snapshot.fabric.nodes.values()))
    return replace(snapshot, fabric_seen=Fabric.of(nodes))


def test_nothing_differs(tree):
    assert hardware_changes(tree().seen(), tree().seen()) == ()


def test_a_cable_that_was_added_and_one_that_is_gone(tree):
    name = "leaf1/23 - spine1/9"

    assert hardware_changes(tree().seen(), tree(spare=True).seen()) == (
        HardwareChange(Moved.CABLE_ADDED, name, now=name),
    )
    assert hardware_changes(tree(spare=True).seen(), tree().seen()) == (
        HardwareChange(Moved.CABLE_GONE, name, was=name),
    )


def test_a_cable_in_another_port_was_moved(tree):
    site = tree()
    old = site.seen()
    del site.at["leaf1"][21]
    site.cable("leaf1", 24, "spine1", 1)

    assert hardware_changes(old, site.seen()) == (
        HardwareChange(
            *(Moved.CABLE_MOVED, "leaf1/24 - spine1/1"),
            *("leaf1/21 - spine1/1", "leaf1/24 - spine1/1"),
        ),
    )


def test_two_cables_that_were_swapped(tree):
    site = tree()
    old = site.seen()
    site.cable("leaf1", 21, "spine2", 1)
    site.cable("leaf1", 22, "spine1", 1)

    assert [(row.what, row.was, row.now) for row in hardware_changes(old, site.seen())] == [
        (Moved.CABLE_MOVED, "leaf1/21 - spine1/1", "leaf1/21 - spine2/1"),
        (Moved.CABLE_MOVED, "leaf1/22 - spine2/1", "leaf1/22 - spine1/1"),
    ]


def test_a_node_that_is_gone_takes_its_cable(tree):
    site = tree()
    old = site.seen()
    guid = site.node_guid("n4")
    site.lose("n4")

    assert hardware_changes(old, site.seen()) == (
        HardwareChange(Moved.CABLE_GONE, "leaf2/2 - n4/1", was="leaf2/2 - n4/1"),
        HardwareChange(Moved.NODE_GONE, "n4", was=str(guid)),
    )


def test_of_a_sweep_with_gaps_nothing_is_said_to_be_gone(tree):
    site = tree()
    old = site.seen()
    guid = site.node_guid("n4")
    site.lose("n4")

    new = site.seen(gaps=(Gap("leaf2/2", "it did not answer"),))
    assert hardware_changes(old, new) == (
        HardwareChange(Moved.CABLE_UNSEEN, "leaf2/2 - n4/1", was="leaf2/2 - n4/1"),
        HardwareChange(Moved.NODE_UNSEEN, "n4", was=str(guid)),
    )


def test_a_port_that_is_seen_down_has_lost_its_cable_whatever_else_was_not_seen(tree):
    old, site = tree().seen(), tree()
    for name, port in (("leaf1", 21), ("spine1", 1)):
        site.change(name, port, state=PortState.DOWN, remote=None, rate=None)

    new = site.seen(gaps=(Gap("leaf9/2", "it did not answer"),))
    name = "leaf1/21 - spine1/1"
    assert hardware_changes(old, new) == (HardwareChange(Moved.CABLE_GONE, name, was=name),)


def test_a_replaced_adapter_is_one_line(tree):
    old = tree().seen()
    fresh = Guid(0xABCD)
    was = tree().node_guid("n1")

    def replaced(node):
        ports = {
            number: replace(port, remote=PortId(fresh, 1))
            if port.remote == PortId(was, 1)
            else port
            for number, port in node.ports.items()
        }
        if node.name == "n1":
            ports = {1: replace(node.ports[1], id=PortId(fresh, 1))}
            return replace(node, guid=fresh, ports=ports)
        return replace(node, ports=ports)

    new = nodes_of(old, replaced)
    assert hardware_changes(old, new) == (
        HardwareChange(Moved.REPLACED, "n1", f"GUID {was}", f"GUID {fresh}"),
    )
    assert Places(old.fabric, new.fabric).port(PortId(was, 1)) == PortId(fresh, 1)


def test_two_nodes_of_one_name_are_never_matched_by_it(tree):
    old = nodes_of(tree().seen(), lambda node: replace(node, name="same"))
    other = nodes_of(
        old, lambda node: replace(node, guid=Guid(node.guid + 0x10000), ports={}, lid=None)
    )

    assert Places(old.fabric, other.fabric).replaced == {}


def test_renamed_rate_state_and_lid(tree):
    old, site = tree().seen(), tree()
    for name, port in (("leaf1", 21), ("spine1", 1)):
        site.change(name, port, rate=Rate.parse("4X EDR"))
    site.change("leaf1", 22, state=PortState.INITIALIZE)
    site.change("n2", 1, lid=Lid(40), lmc=1)
    new = nodes_of(
        site.seen(), lambda node: replace(node, name="n3-new") if node.name == "n3" else node
    )

    assert hardware_changes(old, new) == (
        HardwareChange(Moved.RENAMED, "n3-new", "n3", "n3-new"),
        HardwareChange(Moved.RATE, "leaf1/21 - spine1/1", "4X HDR", "4X EDR"),
        HardwareChange(Moved.STATE, "leaf1/22 - spine2/1", "Active", "Initialize / Active"),
        HardwareChange(Moved.LID, "n2/1", "2", "40 (LMC 1)"),
    )


def test_firmware_of_hosts_that_both_runs_read(tree):
    def stat(version, name="mlx5_0"):
        ca = Ca(name, "MT4123", 1, version, "0", Guid(1), Guid(1), (), 1)
        return IbStat((ca,), ())

    silent = NotSeen("n3", "connection refused")
    old = tree().seen(hosts={"n1": stat("20.1"), "n2": stat("20.1"), "n3": stat("20.1")})
    new = tree().seen(hosts={"n1": stat("20.2"), "n2": stat("20.1"), "n3": silent, "n4": stat("9")})

    assert hardware_changes(old, new) == (
        HardwareChange(Moved.FIRMWARE, "n1 mlx5_0", "20.1", "20.2"),
    )


def test_a_fabric_that_was_not_seen_is_not_compared(tree):
    blind = tree().seen(fabric_seen=NotSeen("the fabric", "mgmt01: it was silent"))

    with pytest.raises(NotSeenError, match="the fabric could not be seen: mgmt01: it was silent"):
        hardware_changes(tree().seen(), blind)

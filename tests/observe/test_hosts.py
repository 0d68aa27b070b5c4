"""Hosts of the inventory that the topology does not show."""

import pytest

from ibaccept.fabric.model import Fabric, Guid, Lid, Node, NodeType, Port, PortId
from ibaccept.observe.hosts import absent_gap, absent_hosts
from ibaccept.observe.snapshot import Gap
from ibaccept.parse import ibstat
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import Host
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

CA, SWITCH = Guid(0x10), Guid(0x20)
IBSTAT = """\
CA 'mlx5_0'
\tCA type: MT4123
\tNumber of ports: 1
\tNode GUID: 0x{guid:016x}
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 200
\t\tBase lid: 3
\t\tLMC: 0
\t\tSM lid: 1
\t\tPort GUID: 0x{guid:016x}
\t\tLink layer: InfiniBand
"""


def fabric(description):
    at_host, at_switch = PortId(CA, 1), PortId(SWITCH, 7)
    own = Port(at_host, guid=CA, lid=Lid(3), remote=at_switch)
    return Fabric.of(
        [
            Node(CA, NodeType.CA, description, 1, {1: own}),
            Node(SWITCH, NodeType.SWITCH, "leaf", 36, {7: Port(at_switch, remote=at_host)}),
        ]
    )


def host(name, **more):
    return InventoryHost(name, Host(name), **more)


@pytest.mark.parametrize(
    ("description", "given"),
    [
        ("calc08", host("calc08")),
        ("calc08 HCA-1", host("calc08")),
        ("calc08.hall3.example mlx5_0", host("calc08")),
        ("calc08 mlx5_0", host("calc08.hall3.example")),
        ("CALC08 HCA-1", host("calc08")),
        ("ConnectX board 5", host("calc08", ib_name="ConnectX board 5")),
        ("MT4123", host("0x0000000000000010")),
        ("MT4123", host("3")),
    ],
)
def test_a_host_is_there_by_any_spelling_of_its_name(description, given):
    assert absent_hosts([given], fabric(description), {}) == ()


@pytest.mark.parametrize(
    ("description", "given"),
    [
        ("calc07", host("calc08")),
        ("calc080 HCA-1", host("calc08")),
        ("calc08", host("calc08", ib_name="calc09")),
        ("calc08", host("4")),
    ],
)
def test_another_name_is_another_host(description, given):
    assert absent_hosts([given], fabric(description), {}) == (given,)


@pytest.mark.parametrize(("guid", "there"), [(CA, True), (Guid(0x99), False)])
def test_its_own_ibstat_shows_a_host_of_any_description(guid, there):
    given = host("calc08")
    stats = {"calc08": ibstat.parse(IBSTAT.format(guid=guid))}

    assert absent_hosts([given], fabric("MT4123 ConnectX6"), stats) == (() if there else (given,))


def test_a_host_that_could_not_be_asked_is_known_by_its_name_alone():
    stats = dict.fromkeys(("calc08", "leaf"), NotSeen("the LIDs", "connection refused"))

    assert absent_hosts([host("calc08"), host("leaf")], fabric("x"), stats) == (host("calc08"),)


def test_without_a_topology_no_host_is_called_absent():
    assert absent_hosts([host("calc08")], NotSeen("the fabric", "silent"), {}) == ()


def test_the_gap_names_the_host_and_cites_the_topology():
    assert absent_gap(host("a", ib_name="b"), "captures/2.txt") == Gap(
        "a",
        "a (ib_name b) is in the inventory and not in the fabric",
        (CaptureRef("captures/2.txt", None, ""),),
        "it is off, unplugged, in another subnet, or has another node description (then set "
        "ib_name); entries about links and routes leave it out with 'absent: allowed'",
    )

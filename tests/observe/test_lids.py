"""Hosts of a job to LIDs: by their own ibstat, by node description, by LID and GUID."""

from dataclasses import replace
from pathlib import Path

import pytest

from ibaccept.errors import InputError
from ibaccept.fabric.model import Fabric, Guid, Lid, Node, NodeType, Port, PortId
from ibaccept.observe.assemble import to_fabric
from ibaccept.observe.lids import HostLids, JobLids, host_names, lids_of
from ibaccept.parse import ParseWarning, ibnetdiscover
from ibaccept.parse.ibstat import Ca, CaPort, IbStat
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import Host

GOLDEN = Path(__file__).parents[1] / "golden" / "aliased-reads"


def ca(guid, name, *ports, lmc=0):
    """A CA; ports are (number, LID or None), port GUID = node GUID + number."""
    made = {
        number: Port(
            PortId(Guid(guid), number),
            guid=Guid(guid + number),
            lid=None if lid is None else Lid(lid),
            lmc=lmc,
        )
        for number, lid in ports
    }
    return Node(Guid(guid), NodeType.CA, name, len(ports), made)


def switch(guid, name, lid):
    return Node(Guid(guid), NodeType.SWITCH, name, 8, {}, lid=Lid(lid))


FABRIC = Fabric.of(
    [
        switch(0x10, "leaf1", 1),
        ca(0x100, "node001 HCA-1", (1, 4), lmc=2),
        ca(0x200, "node002 HCA-1", (1, 8)),
        ca(0x300, "node003 mlx5_0", (1, 9), (2, 10)),
        ca(0x400, "node004 mlx5_0", (1, 11)),
        ca(0x500, "node004 mlx5_1", (1, 12)),
        ca(0x600, "MT4123 ConnectX6", (1, 13)),
        ca(0x700, "MT4123 ConnectX6", (1, 14)),
        ca(0x800, "node008.cluster HCA-1", (1, 15), (2, None)),
        ca(0x900, "node009 HCA-1", (1, None)),
        ca(0xA00, "Mellanox Technologies Aggregation Node", (1, 16)),
        ca(0xB00, "node011 HCA-1", (1, 17)),
        ca(0xC00, "node011 spare card", (1, 18)),
    ]
)


def found(*hosts, **more):
    return {h.host: (h.lids, h.source, h.notes) for h in lids_of(FABRIC, hosts, **more).hosts}


def refusal(*hosts, **more):
    with pytest.raises(InputError) as caught:
        lids_of(FABRIC, hosts, **more)
    return str(caught.value)


def stat_port(number, guid, lid, *, lmc=0, layer="InfiniBand", state="Active"):
    return CaPort(
        number=number,
        state=state,
        phys_state="LinkUp",
        rate="200",
        effective_speed=None,
        lid=None if lid is None else Lid(lid),
        lmc=lmc,
        sm_lid=Lid(1),
        cap_mask=0,
        port_guid=Guid(guid),
        link_layer=layer,
        line=number,
    )


def stat(*cas, problems=()):
    """An ibstat of CAs (name, ports)."""
    return IbStat(
        tuple(
            Ca(name, "MT4123", len(ports), None, None, None, None, tuple(ports), 1)
            for name, ports in cas
        ),
        problems,
    )


def test_a_name_is_a_description_or_its_first_word_and_says_so():
    assert found("node001 HCA-1", "node002", "node003", "node008") == {
        "node001 HCA-1": ((4, 5, 6, 7), "node description", ()),
        "node002": ((8,), "node description", ()),
        "node003": ((9, 10), "node description", ()),
        "node008": ((15,), "node description", ("node008: no LID on port 2",)),
    }


def test_hcas_of_one_host_are_all_of_it_and_that_is_said():
    assert found("node004") == {
        "node004": (
            (11, 12),
            "node description",
            ("node004 has 2 HCAs: node004 mlx5_0, node004 mlx5_1",),
        )
    }


def test_lids_and_guids_name_ports():
    assert found("9", "0xa", "0x0000000000000200", "0x0000000000000401") == {
        "9": ((9,), "LID", ()),
        "0xa": ((10,), "LID", ()),
        "0x0000000000000200": ((8,), "GUID", ()),
        "0x0000000000000401": ((11,), "GUID", ()),
    }


def test_every_host_that_cannot_be_told_is_named_with_candidates():
    message = refusal("node2", "MT4123 ConnectX6", "node009", "node011", "1", "99", "nodo003")

    assert message.splitlines() == [
        "no host of the fabric is called 'node2'; did you mean 'node002'?",
        "'MT4123 ConnectX6' names 2 nodes: 'MT4123 ConnectX6' 0x0000000000000600, "
        "'MT4123 ConnectX6' 0x0000000000000700; name the one that is meant by its GUID or its LID",
        "no port of 'node009' has a LID: it is down, or no SM reached it",
        "'node011' names 2 nodes: 'node011 HCA-1' 0x0000000000000b00, 'node011 spare card' "
        "0x0000000000000c00; name the one that is meant by its GUID or its LID",
        "LID 1 is that of 'leaf1', a switch, and a job runs on hosts",
        "no port that the sweep saw owns LID 99",
        "no host of the fabric is called 'nodo003'; did you mean 'node003'?",
    ]


def test_switches_and_sharp_nodes_are_no_hosts_unless_asked_for():
    assert refusal("leaf1", "Mellanox Technologies Aggregation Node").splitlines() == [
        "'leaf1' is a switch, and a job runs on hosts; name a host",
        "'Mellanox Technologies Aggregation Node' is a SHARP node, and a job runs on hosts; name a "
        "host",
    ]
    assert found("leaf1", switches=True) == {"leaf1": ((1,), "node description", ())}


def test_nobody_and_one_port_twice_are_refused():
    assert refusal() == "no host is named, so there is no LID"
    assert refusal("node002", "8") == "'8' and 'node002' are one port: name it once"


def test_a_hosts_own_ibstat_beats_its_description():
    host = InventoryHost("c1", Host("c1"), ib_name="node002")
    seen = stat(
        ("mlx5_0", [stat_port(1, 0x601, 13), stat_port(2, 0x999, 5, state="Active")]),
        ("mlx5_1", [stat_port(1, 0x701, None, state="Down")]),
        ("rocep1", [stat_port(1, 0x101, 4, layer="Ethernet")]),
    )

    assert found(host) == {"c1": ((8,), "node description", ())}
    assert found(host, stats={"c1": seen}) == {
        "c1": (
            (13,),
            "ibstat",
            (
                "c1: mlx5_0 port 2 (0x0000000000000999) is not on this fabric",
                "c1: mlx5_1 port 1 has no LID (Down)",
            ),
        )
    }


def test_a_second_node_that_begins_with_a_hosts_name_may_be_its_other_rail():
    """Taking ``node1`` alone would leave the LIDs of ``node1 mlx5_1`` out of every count."""
    fabric = Fabric.of([ca(0x100, "node1", (1, 4)), ca(0x200, "node1 mlx5_1", (1, 5))])
    meant = InventoryHost("node1", Host("node1"), ib_name="node1")

    with pytest.raises(InputError) as caught:
        lids_of(fabric, ["node1"])

    assert str(caught.value) == (
        "'node1' names 2 nodes: 'node1' 0x0000000000000100, 'node1 mlx5_1' 0x0000000000000200; "
        "name the one that is meant by its GUID or its LID"
    )
    assert lids_of(fabric, [meant]).lids == (4,)


def test_an_ibstat_that_hides_a_port_of_its_hca_tells_no_lid():
    seen = stat(("mlx5_0", [stat_port(1, 0x301, 9)]))
    whole = IbStat((replace(seen.cas[0], node_guid=Guid(0x300)),), ())
    port = InventoryHost("c1", Host("c1"), ib_port=1)

    assert refusal("c1", stats={"c1": whole}) == (
        "c1: mlx5_0 has a LID on port 2 too, which its ibstat does not show; set ib_port, or find "
        "out why"
    )
    assert found(port, stats={"c1": whole}) == {"c1": ((9,), "ibstat", ())}


def test_the_inventorys_hca_and_port_choose_among_those_of_ibstat():
    seen = stat(("mlx5_0", [stat_port(1, 0x301, 9), stat_port(2, 0x302, 10)]))
    port = InventoryHost("c1", Host("c1"), ib_hca=("mlx5_0",), ib_port=2)
    other = InventoryHost("c2", Host("c2"), ib_hca=("mlx5_7",))

    assert found(port, stats={"c1": seen}) == {"c1": ((10,), "ibstat", ())}
    assert refusal(other, stats={"c2": seen}) == "c2 has no HCA mlx5_7 (it has mlx5_0)"


def test_an_ibstat_that_does_not_agree_with_the_sweep_tells_no_lid():
    hosts = [InventoryHost(f"c{n}", Host(f"c{n}")) for n in range(1, 5)]
    stats = {
        "c1": stat(("mlx5_0", [stat_port(1, 0x201, 7)])),
        "c2": stat(("mlx5_0", [stat_port(1, 0x101, 4, lmc=0)])),
        "c3": stat(
            ("mlx5_0", [stat_port(1, 0x201, 8)]), problems=(ParseWarning(9, "ibpanic: no"),)
        ),
        "c4": stat(("mlx5_0", [stat_port(1, 0x999, 8)])),
    }

    assert refusal(*hosts, stats=stats).splitlines() == [
        "c1: mlx5_0 port 1 says LID 7, LMC 0, the sweep LID 8, LMC 0: LIDs changed in between, or "
        "the host is on another subnet; look again",
        "c2: mlx5_0 port 1 says LID 4, LMC 0, the sweep LID 4, LMC 2: LIDs changed in between, or "
        "the host is on another subnet; look again",
        "c3: its ibstat was not read whole (line 9: 'ibpanic: no'), so some of its ports may not "
        "be known; run ibstat there and see what it says",
        "no port of 'c4' is on this fabric: c4: mlx5_0 port 1 (0x0000000000000999) is not on this "
        "fabric",
    ]


def test_folding_names_hosts_and_adds_lids_where_a_host_has_several():
    job = lids_of(FABRIC, ["node001", "node002", "node003"])

    assert job.lids == (4, 5, 6, 7, 8, 9, 10)
    assert job.folded([8]) == "node002"
    assert job.folded([10, 4, 5, 7, 8]) == "node[001-003] (LIDs 4-5, 7-8, 10)"
    assert job.sources_text() == "LIDs by node description: node[001-003]"
    assert JobLids((HostLids("a1", (), (3,), "ibstat"), HostLids("a2", (), (4,), "LID"))).notes == (
        "LIDs from the hosts' own ibstat: a1; given as LIDs: a2",
    )


def test_a_set_a_pattern_and_a_description_name_hosts():
    assert host_names(FABRIC, "node[001-003,^node002]") == ("node001", "node003")
    assert host_names(FABRIC, "node00[12]*") == ("node001", "node002")
    assert host_names(FABRIC, " MT4123 ConnectX6 ") == ("MT4123 ConnectX6",)
    assert host_names(FABRIC, "[4-5],9") == ("4", "5", "9")
    with pytest.raises(InputError) as caught:
        host_names(FABRIC, "gpu*")
    assert str(caught.value) == "no host of the fabric has a name that matches 'gpu*'"
    with pytest.raises(InputError) as caught:
        host_names(FABRIC, "node[1-")
    assert str(caught.value) == "'node[1-' is not a node set: '[' without ']'"


def test_a_fabric_of_the_real_tools():
    topology = ibnetdiscover.parse((GOLDEN / "ibnetdiscover.txt").read_text())

    assert lids_of(to_fabric(topology), ["client-01", "stor-1"]).lids == (3, 51)

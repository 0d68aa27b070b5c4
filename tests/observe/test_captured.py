"""Captured text is told by what it holds; tables and topology of one fabric agree."""

import shutil
from pathlib import Path

import pytest

from ibaccept.errors import InputError, InputProblemsError
from ibaccept.observe.captured import read_tables, read_topology
from ibaccept.routing.paths import Disposition, Routes

GOLDEN = Path(__file__).parents[1] / "golden" / "aliased-reads"
SAMPLES = Path(__file__).resolve().parents[2] / "../shared/samples"
shared = pytest.mark.skipif(not SAMPLES.is_dir(), reason="shared/ is not beside the project")

TOPOLOGIES = ["ibnetdiscover.txt", "ibnetdiscover-p.txt", "opensm-subnet.lst"]
TABLES = [
    ["dump_fts.txt"],
    ["dump_fts-n.txt"],
    ["ibroute-SwitchA.txt", "ibroute-SwitchB.txt"],
    ["opensm-lfts.dump"],
    ["opensm.fdbs"],
]


def cables(fabric):
    """Cables by names: ``-p`` and ``.lst`` show other GUIDs of CAs."""
    return {fabric.link_name(link) for link in fabric.links}


def entries(tables):
    return {(table.guid, lid): port for table in tables for lid, port in table.entries().items()}


def refusal(call, *given):
    with pytest.raises(InputError) as caught:
        call(*given)
    return str(caught.value)


def test_three_captures_of_one_fabric_show_the_same_cables_and_lids():
    fabrics = [read_topology(GOLDEN / name) for name in TOPOLOGIES]

    assert [len(seen.fabric.links) for seen in fabrics] == [65, 65, 65]
    assert cables(fabrics[1].fabric) == cables(fabrics[0].fabric) == cables(fabrics[2].fabric)
    owners = [
        {lid: seen.fabric.nodes[port.guid].name for lid, port in seen.fabric.lid_owner.items()}
        for seen in fabrics
    ]
    assert owners[0] == owners[1] == owners[2]
    assert [seen.notes for seen in fabrics] == [
        (),
        (
            f"{GOLDEN}/ibnetdiscover-p.txt: ibnetdiscover -p does not show the LMC; it is taken to "
            "be 0, and every port of an HCA is a node of its own",
        ),
        (f"{GOLDEN}/opensm-subnet.lst: an .lst file does not show the LMC; it is taken to be 0",),
    ]


def test_five_dumps_of_one_routing_are_the_same_tables():
    read = [read_tables([GOLDEN / name for name in names]) for names in TABLES]
    first = read[0].tables

    assert [{table.tool for table in each.tables} for each in read] == [
        {"dump_fts"},
        {"dump_fts"},
        {"ibroute"},
        {"opensm-lfts.dump"},
        {"opensm.fdbs"},
    ]
    for each in read:
        routed = {key: port for key, port in entries(each.tables).items() if port != 255}
        assert routed == {k: p for k, p in entries(first).items() if p != 255}
        assert len(routed) == 2 * 59
    note = (
        "dump_fts tells of failed reads on its standard error only; hand that in with "
        "--stderr=FILE to have such tables left out",
    )
    assert [each.notes for each in read] == [note, note, (), (), ()]


def test_a_line_on_standard_error_voids_a_table(tmp_path):
    stderr = tmp_path / "err"
    stderr.write_text("ibwarn: [1] mad_rpc: _do_madrpc failed; dport (DR path slid 0; dlid 0; 0)\n")

    read = read_tables([GOLDEN / "dump_fts.txt"], stderr)

    assert [table.complete for table in read.tables] == [False, False]
    assert read.notes == ()


def test_ibdiagnets_header_tells_its_fdbs_from_opensms(tmp_path):
    text = (GOLDEN / "opensm.fdbs").read_text()
    path = tmp_path / "any name"
    path.write_text(text.replace("dump_ucast_routes", "osm_ucast_mgr_dump_ucast_routes"))

    read = read_tables([path])

    assert {table.tool for table in read.tables} == {"ibdiagnet.fdbs"}
    assert entries(read.tables) == entries(read_tables([GOLDEN / "opensm.fdbs"]).tables)


def test_what_is_no_topology_is_refused(tmp_path):
    empty = tmp_path / "empty"
    empty.write_text(" \n")
    cut = tmp_path / "cut"
    cut.write_text((GOLDEN / "opensm-subnet.lst").read_text()[:-30])
    tools = "ibnetdiscover, ibnetdiscover -p, or an .lst file of ibdiagnet or OpenSM"

    assert refusal(read_topology, tmp_path / "none") == (
        f"{tmp_path}/none cannot be read: No such file or directory"
    )
    assert refusal(read_topology, empty) == f"{empty} is empty; it should hold a topology"
    assert refusal(read_topology, GOLDEN / "dump_fts.txt") == (
        f"{GOLDEN}/dump_fts.txt shows no topology; give the output of {tools}"
    )
    assert refusal(read_topology, cut).startswith(
        f"{cut}: .lst output, line 130: not a cable of a .lst file: '{{ "
    )


def test_every_file_without_a_table_is_named(tmp_path):
    with pytest.raises(InputProblemsError) as caught:
        read_tables([GOLDEN / "ibnetdiscover.txt", tmp_path / "none", GOLDEN / "opensm.fdbs"])

    tools = "dump_fts, ibroute, opensm-lfts.dump, opensm.fdbs or ibdiagnet's .fdbs"
    assert caught.value.problems == (
        f"{GOLDEN}/ibnetdiscover.txt holds no forwarding table; give the output of {tools}",
        f"{tmp_path}/none cannot be read: No such file or directory",
    )


def test_a_switch_with_two_tables_is_refused(tmp_path):
    again = tmp_path / "again"
    shutil.copy(GOLDEN / "ibroute-SwitchA.txt", again)

    assert refusal(read_tables, [GOLDEN / "ibroute-SwitchA.txt", again]) == (
        f"SwitchA (0x0002c90300000001) has a table in {GOLDEN}/ibroute-SwitchA.txt and another in "
        f"{again}; give one of them"
    )


def routed(topology, tables):
    seen = read_topology(SAMPLES / topology)
    routes = Routes(seen.fabric, read_tables(sorted(SAMPLES.glob(tables))).tables)
    return routes.reach.by_end, routes.reach.switches, len(routes.problems)


@shared
def test_the_fabrics_of_the_samples_route_as_their_index_says():
    good, unknown = Disposition.DELIVERED, Disposition.UNKNOWN
    facts = {
        name: routed(f"sets/{name}/ibnetdiscover-p.txt", f"sets/{name}/ibroute-*.txt")
        for name in ("avakas/subnet0", "plafrim2/subnet0", "plafrim2/subnet1")
    }
    facts["osm-old"] = routed("ibdiagnet1/subnet-old.lst", "opensm_fdbs/osm-old.fdbs")

    # The index has 7025 (1: 1575, 3: 5450) with the first of 22 rows of one LID: unknown here.
    assert facts == {
        "avakas/subnet0": ({good: 78680}, facts["avakas/subnet0"][1], 0),
        "plafrim2/subnet0": ({good: 7005, unknown: 2115}, {1: 1575, 3: 5430}, 1),
        "plafrim2/subnet1": ({good: 506}, {1: 506}, 0),
        "osm-old": ({good: 6}, facts["osm-old"][1], 0),
    }


@shared
def test_every_row_of_the_old_fdbs_leads_to_its_node_over_the_old_lst():
    """INDEX.md: walked hops equal the Hops column on all 4030 rows."""
    seen = read_topology(SAMPLES / "ibdiagnet1/subnet-old.lst")
    tables = read_tables([SAMPLES / "opensm_fdbs/osm-old.fdbs"]).tables
    routes = Routes(seen.fabric, tables)
    lids = sorted(seen.fabric.lid_owner)

    ends = [
        routes.path(int(node.lid), lid).disposition
        for node in seen.fabric.switches()
        for lid in lids
        if node.lid != lid
    ]

    assert (len(seen.fabric.links), len(lids), len(tables)) == (172, 65, 62)
    assert (len(ends), set(ends)) == (62 * 64, {Disposition.DELIVERED})


@shared
def test_the_list_of_a_new_ibdiagnet_is_hexadecimal():
    fabric = read_topology(SAMPLES / "ibdiagnet2/fabric-a.lst").fabric

    switches = list(fabric.switches())
    assert (len(fabric.links), len(switches), len(fabric.nodes)) == (271, 9, 272)
    assert {node.num_ports for node in switches} == {65}
    assert sum(fabric.is_isl(link) for link in fabric.links) == 8
    assert min(fabric.lid_owner) == 1


def test_utf16_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "fabric.txt"
    path.write_text("{ CA Ports:1 }", "utf-16")
    with pytest.raises(InputError, match=r"fabric.txt is UTF-16 text; save it as UTF-8"):
        read_topology(path)
    path.write_bytes(b"\xef\xbb\xbf")
    with pytest.raises(InputError, match="is empty"):
        read_topology(path)

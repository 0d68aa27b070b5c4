"""Tables and topologies of real fabrics, against facts found by two other methods."""

import re
from pathlib import Path

import numpy as np
import pytest

from ibaccept.fabric.model import Fabric, Guid, Lid, Node, NodeType, Port, PortId
from ibaccept.observe.assemble import to_fabric
from ibaccept.parse import ibroute, opensm_dump
from ibaccept.parse.ibnetdiscover import parse_ports, to_topology
from ibaccept.parse.lft import with_lftr
from ibaccept.routing.paths import Disposition, Routes
from ibaccept.routing.tables import DELIVERED
from ibaccept.routing.trees import trees

SAMPLES = Path(__file__).resolve().parents[2] / "../shared/samples"
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="shared/ is not beside the project")


def routes_of(folder):
    text = (folder / "ibnetdiscover-p.txt").read_text()
    fabric = to_fabric(to_topology(parse_ports(text)))
    tables = [
        table
        for path in sorted(folder.glob("ibroute-lid*.txt"))
        for table in ibroute.parse(path.read_bytes())
    ]
    return Routes(fabric, tables)


def isl_lids(routes):
    """Switch LID -> (ports to switches in use, fewest, most CA LIDs its table sends there)."""
    cabling, found = routes.cabling, {}
    for number, guid in enumerate(cabling.switches):
        column = routes.lfts.out[cabling.ca_lids, number]
        counts = np.bincount(column, minlength=256)[cabling.isl[number]]
        used = counts[counts > 0]
        lid = int(routes.fabric.nodes[guid].lid)
        found[lid] = (len(used), int(used.min()), int(used.max()))
    return found


def test_avakas():
    routes = routes_of(SAMPLES / "sets/avakas/subnet0")

    assert routes.problems == ()
    assert routes.reach.by_end == {Disposition.DELIVERED: 78680}
    assert routes.reach.switches == {1: 4660, 3: 74020}
    expected = {1: (18, 14, 15), 2: (32, 7, 10), 3: (32, 8, 9), 4: (32, 8, 9), 5: (32, 8, 9)}
    expected |= {11: (18, 14, 15), 12: (18, 14, 16), 13: (18, 14, 16), 25: (18, 14, 15)}
    assert {lid: isl_lids(routes)[lid] for lid in expected} == expected


def test_plafrim2_routes_over_the_broken_table_are_unknown():
    routes = routes_of(SAMPLES / "sets/plafrim2/subnet0")
    broken = next(table for table in routes.tables if not table.complete)
    # The facts take the first of the 22 rows of LID 0x3f, port 16, for read; taking the last one
    # instead sends 20 pairs to the wrong CA.
    first_row = with_lftr(broken, {0x3F: 16})
    others = [table for table in routes.tables if table is not broken]

    assert routes.reach.by_end == {Disposition.DELIVERED: 7025 - 20, Disposition.UNKNOWN: 2095 + 20}
    assert {route.hops[-1] for route in routes.reach.examples} == {"TS-i12k00066a00e30076ab"}
    assert routes.problems == broken.problems
    assert len(broken.problems) == 1
    reach = Routes(routes.fabric, [*others, first_row]).reach
    assert reach.by_end == {Disposition.DELIVERED: 7025, Disposition.UNKNOWN: 2095}
    assert reach.switches == {1: 1575, 3: 5450}


def test_plafrim2_second_subnet():
    routes = routes_of(SAMPLES / "sets/plafrim2/subnet1")

    assert routes.reach.by_end == {Disposition.DELIVERED: 506}
    assert routes.reach.switches == {1: 506}


END = re.compile(
    r"\{ (CA-SM|CA|SW) Ports:(\w+) .*?NodeGUID:(\w+) .*?\{(.*?)\} LID:(\w+) PN:(\w+) \}"
)


def old_subnet():
    """Nodes and cables of ibutils' subnet.lst (numbers in hex)."""
    nodes, ports = {}, {}
    for line in (SAMPLES / "ibdiagnet1/subnet-old.lst").read_text().splitlines():
        ends = []
        for kind, count, guid, name, lid, port in END.findall(line):
            here = PortId(Guid(int(guid, 16)), int(port, 16))
            nodes[here.guid] = (kind, int(count, 16), name, Lid(int(lid, 16)))
            ends.append(here)
        ports[ends[0]], ports[ends[1]] = ends[1], ends[0]
    built = []
    for guid, (kind, count, name, lid) in nodes.items():
        switch = kind == "SW"
        own = {
            here.port: Port(here, lid=None if switch else lid, remote=far)
            for here, far in ports.items()
            if here.guid == guid
        }
        type_ = NodeType.SWITCH if switch else NodeType.CA
        built.append(Node(guid, type_, name, count, own, lid=lid if switch else None))
    return Fabric.of(built)


def test_every_row_of_the_old_fdbs_leads_to_its_lid_in_its_hops():
    tables = opensm_dump.parse_fdbs((SAMPLES / "opensm_fdbs/osm-old.fdbs").read_bytes())
    routes = Routes(old_subnet(), tables)
    cabling = routes.cabling
    lids = np.flatnonzero(cabling.owner >= 0)
    found = trees(routes.lfts, lids)
    hops = np.array([t.hops for t in sorted(tables, key=lambda t: t.guid)]).T[lids]
    is_switch = np.array([not cabling.endpoints[end].is_ca for end in cabling.owner[lids]])

    assert found.end.shape == (65, 62)
    assert (found.end == DELIVERED).all()
    # OpenSM counts cables: to a switch one less than the switches crossed.
    assert (found.crossed - is_switch[:, None] == hops).all()

"""Real OpenSM tables over simulated fabrics, held against ibdmchk's findings on the same dumps."""

import pytest

from ibaccept.observe.assemble import to_fabric
from ibaccept.parse import dump_fts, opensm_dump
from ibaccept.parse.ibnetdiscover import parse as parse_topology
from ibaccept.routing.credit import credit_loops
from ibaccept.routing.paths import Disposition, Routes

pytestmark = pytest.mark.real


def findings(fabric, tables):
    routes = Routes(fabric, tables)
    assert routes.problems == ()
    return {
        "pairs": routes.reach.pairs,
        "bad": routes.reach.undelivered + routes.reach.unknown,
        "switches": routes.reach.switches,
        "lids_per_port": routes.lids_per_port(),
        "credit_loops": credit_loops(routes).found,
    }


@pytest.mark.parametrize("engine", ["minhop", "updn", "ftree", "lash"])
def test_an_800_host_tree_equals_ibdmchk(lab, nets, tmp_path, engine):
    roots = tmp_path / "roots"
    roots.write_text("".join(f"{0x2C90300000000 + 0x10000 * (n + 1):#018x}\n" for n in range(20)))
    options = ("-R", engine, *(("-a", str(roots)) if engine == "updn" else ()))
    subnet = lab(nets["tree"](40, 20, 20), *options)
    fabric = to_fabric(parse_topology(subnet["ibnetdiscover.txt"].decode()))

    oracle = subnet.oracle()

    assert (oracle["pairs"], oracle["bad"]) == (800 * 799, 0)
    assert findings(fabric, dump_fts.parse(subnet["dump_fts.txt"])) == oracle
    assert findings(fabric, opensm_dump.parse_fdbs(subnet["opensm.fdbs"])) == oracle
    assert findings(fabric, opensm_dump.parse_lfts(subnet["opensm-lfts.dump"])) == oracle


def test_a_ring_has_a_credit_loop_that_is_shown_hop_by_hop(lab, nets):
    subnet = lab(nets["ring"](6, 4), "-R", "minhop")
    fabric = to_fabric(parse_topology(subnet["ibnetdiscover.txt"].decode()))
    tables = dump_fts.parse(subnet["dump_fts.txt"])

    oracle = subnet.oracle()
    loops = credit_loops(Routes(fabric, tables))

    assert findings(fabric, tables) == oracle
    assert oracle["credit_loops"]
    ports = [step.port for step in loops.cycle]
    assert len(ports) == 6
    for step, following in zip(loops.cycle, [*loops.cycle[1:], loops.cycle[0]], strict=True):
        # A route of each step leaves by its port and then by the port of the next step.
        at = step.route.ports.index(step.port)
        assert step.route.ports[at + 1] == following.port
        assert step.route.disposition is Disposition.DELIVERED
        assert fabric.link_at[step.port] is not None

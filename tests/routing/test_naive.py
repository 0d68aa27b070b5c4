"""Random fabrics with random tables: every count equals that of a walker that goes pair by pair."""

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from ibaccept.fabric.lft import NO_ENTRY
from ibaccept.fabric.model import Guid, PortId
from ibaccept.routing.credit import credit_loops
from ibaccept.routing.paths import Disposition, Routes
from ibaccept.routing.spread import spread


@st.composite
def worlds(draw):
    """Switches, cables, hosts, LMC and, by (switch, LID), a port, 255 or None (not read)."""
    switches = draw(st.integers(1, 5))
    free = {n: list(range(1, 8)) for n in range(switches)}

    def plug(number):
        return number, free[number].pop(0)

    cables = [
        (plug(n), plug(draw(st.integers(0, n - 1))))
        for n in range(1, switches)  # a tree
    ]
    for _ in range(draw(st.integers(0, 3))):
        a, b = draw(st.integers(0, switches - 1)), draw(st.integers(0, switches - 1))
        if len(free[a]) > 2 and len(free[b]) > 2:
            cables.append((plug(a), plug(b)))
    hosts = []
    for n in range(draw(st.integers(2, 5))):
        at = draw(st.integers(0, switches - 1))
        if free[at]:
            hosts.append((f"host{n}", *plug(at)))
    lmc = draw(st.integers(0, 1))
    top = ((len(hosts) + 1) << lmc) + switches - 1
    # Sound tables now and then: random ones hardly ever deliver over several switches.
    towards = min_hop(switches, cables, hosts, lmc)
    entry = st.one_of(st.none(), st.just(NO_ENTRY), st.integers(0, 8))
    entries = {}
    for number in range(switches):
        for lid in range(1, top + 1):
            spoilt = draw(st.integers(0, 9)) == 0
            right = towards.get((number, lid), NO_ENTRY)
            entries[number, lid] = draw(entry) if spoilt else right
    return switches, cables, hosts, lmc, top, entries


def min_hop(switches, cables, hosts, lmc):
    """First port of a shortest way, by (switch, LID)."""
    ways = {}
    for (a, p), (b, q) in cables:
        ways.setdefault(a, []).append((p, b))
        ways.setdefault(b, []).append((q, a))
    table = {}
    for index, (_, leaf, port) in enumerate(hosts):
        away, todo = {leaf: 0}, [leaf]
        for here in todo:
            for _, there in ways.get(here, ()):
                if there not in away:
                    away[there] = away[here] + 1
                    todo.append(there)
        for lid in range((index + 1) << lmc, (index + 2) << lmc):
            table[leaf, lid] = port
            for number in range(switches):
                nearer = [p for p, to in ways.get(number, ()) if away[to] < away[number]]
                if nearer:
                    table[number, lid] = nearer[lid % len(nearer)]
    return table


def walk(world, source, dlid):
    """(disposition, ports taken) of one pair, hop by hop."""
    _, cables, hosts, lmc, _, entries = world
    far = {}
    for one, other in cables:
        far[one], far[other] = other, one
    for index, (_, switch, port) in enumerate(hosts):
        far[switch, port] = ("host", index)
    here, taken, seen = hosts[source][1], [], set()
    while True:
        port = entries[here, dlid]
        if port is None:
            return Disposition.UNKNOWN, taken
        if port == NO_ENTRY:
            return Disposition.NO_ENTRY, taken
        if port == 0:
            return Disposition.WRONG_PORT, taken
        if here in seen:
            return Disposition.LOOP, taken
        seen.add(here)
        taken.append((here, port))
        there = far.get((here, port))
        if there is None:
            return Disposition.DEAD_END, taken
        if there[0] == "host":
            right = there[1] == (dlid >> lmc) - 1
            return (Disposition.DELIVERED if right else Disposition.WRONG_PORT), taken
        here = there[0]


def all_walks(world):
    _, _, hosts, lmc, _, _ = world
    return {
        (source, dlid): walk(world, source, dlid)
        for source in range(len(hosts))
        for dlid in range(1 << lmc, (len(hosts) + 1) << lmc)
        if (dlid >> lmc) - 1 != source
    }


def routes_of(world, make_fabric, make_table):
    switches, cables, hosts, lmc, top, entries = world
    fabric = make_fabric([f"s{n}" for n in range(switches)], cables, hosts, lmc=lmc)
    tables = [
        make_table(
            number,
            {lid: port for (at, lid), port in entries.items() if at == number and port is not None},
            top,
            unknown=[lid for (at, lid), port in entries.items() if at == number and port is None],
        )
        for number in range(switches)
    ]
    return Routes(fabric, tables)


def has_cycle(after):
    """Whether a graph has a cycle: drop what nothing follows until nothing more can be dropped."""
    left = {node: set(targets) for node, targets in after.items()}
    while True:
        live = {node for node, targets in left.items() if targets & left.keys()}
        if live == left.keys():
            return bool(left)
        left = {node: targets for node, targets in left.items() if node in live}


@settings(max_examples=300, deadline=None)
@given(world=worlds())
def test_every_count_is_that_of_a_pair_by_pair_walk(fabric_of, table_of, world):
    walks = all_walks(world)
    routes = routes_of(world, fabric_of, table_of)
    delivered = {
        pair: taken for pair, (end, taken) in walks.items() if end is Disposition.DELIVERED
    }

    assert routes.reach.pairs == len(walks)
    assert routes.reach.by_end == dict(Counter(end for end, _ in walks.values()))
    assert routes.reach.switches == dict(Counter(len(taken) for taken in delivered.values()))
    assert {
        (number, port): int(routes.port_pairs[number, port])
        for number, port in zip(*routes.port_pairs.nonzero(), strict=True)
    } == dict(Counter(step for taken in delivered.values() for step in taken))
    lids = {(step, dlid) for (_, dlid), taken in delivered.items() for step in taken}
    assert {
        (number, port): int(routes.port_lids[number, port])
        for number, port in zip(*routes.port_lids.nonzero(), strict=True)
    } == dict(Counter(step for step, _ in lids))
    sent = Counter(source for source, _ in delivered)
    for index, (_, switch, port) in enumerate(world[2]):
        one, other = PortId(Guid(0x9000 + index), 1), PortId(Guid(0x5000 + switch), port)
        assert routes.crossing_from(one) == sent[index]
        total, of, _ = routes.crossing((one, other))
        received = sum(taken[-1] == (switch, port) for taken in delivered.values())
        assert (total, of) == (sent[index] + received, len(walks))


@settings(max_examples=150, deadline=None)
@given(world=worlds())
def test_single_routes_and_credit_loops_are_those_of_a_walk(fabric_of, table_of, world):
    lmc = world[3]
    walks = all_walks(world)
    routes = routes_of(world, fabric_of, table_of)
    after = {}
    for (source, dlid), (end, taken) in walks.items():
        route = routes.path((source + 1) << lmc, dlid)
        ports = [(int(port.guid) - 0x5000, port.port) for port in route.ports[1:]]
        assert route.disposition is end
        if end is Disposition.DELIVERED:
            assert (ports, route.switches) == (taken, len(taken))
            for here, there in pairwise([*taken[:-1], None]):
                after.setdefault(here, set()).update([] if there is None else [there])

    loops = credit_loops(routes)

    assert loops.found == has_cycle(after)
    steps = [(int(step.port.guid) - 0x5000, step.port.port) for step in loops.cycle]
    for here, there in zip(steps, [*steps[1:], *steps[:1]], strict=True):
        assert there in after[here]


@settings(max_examples=150, deadline=None)
@given(world=worlds(), data=st.data())
def test_the_spread_of_a_job_is_that_of_a_walk(fabric_of, table_of, world, data):
    _, cables, hosts, lmc, _, _ = world
    everyone = list(range(len(hosts)))
    sources = data.draw(st.lists(st.sampled_from(everyone), unique=True, min_size=1))
    targets = data.draw(st.lists(st.sampled_from(everyone), unique=True, min_size=1))
    lids = [lid for t in targets for lid in range((t + 1) << lmc, (t + 2) << lmc)]
    walks = {
        pair: found
        for pair, found in all_walks(world).items()
        if pair[0] in sources and pair[1] in lids
    }
    isl = {end for cable in cables for end in cable}
    crossed = {}
    for (_, dlid), (end, taken) in walks.items():
        for step in taken:
            if end is Disposition.DELIVERED and step in isl:
                crossed.setdefault(step, set()).add(dlid)

    routes = routes_of(world, fabric_of, table_of)
    found = spread(routes, [(s + 1) << lmc for s in sources], lids)

    assert found.reach.pairs == len(walks)
    assert found.reach.by_end == dict(Counter(end for end, _ in walks.values()))
    assert {
        (int(row.port.guid) - 0x5000, row.port.port): set(row.lids_job)
        for row in found.rows
        if row.count
    } == crossed
    for index, group in enumerate(found.groups):
        rows = found.rows_of(index)
        assert group.worst == max(row.count for row in rows)
        assert group.usable == sum(row.usable for row in rows)
        assert group.bound == -(-group.lids // group.usable)

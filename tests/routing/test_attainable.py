"""The best static table: held against trying every table of small fabrics."""

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.fabric.model import Rate
from ibaccept.routing.attainable import Attainable, Measure, entries_of
from ibaccept.routing.paths import Routes
from ibaccept.routing.stages import JobStages

HDR, EDR = Rate.parse("4X HDR"), Rate.parse("4X EDR")


class Net:
    """A small fabric of switches, with every table of shortest routes."""

    def __init__(self, switches, cables, hosts, rates=()):
        self.switches, self.cables, self.hosts, self.rates = switches, cables, hosts, rates

    def fabric(self, fabric_of):
        names = [f"sw{n}" for n in range(self.switches)]
        hosts = [(f"h{n}", switch, 30 + n) for n, switch in enumerate(self.hosts)]
        return fabric_of(names, self.cables, hosts, ports=64, rates=self.rates)

    def out(self, switch):
        """(port, next switch) of a switch's cables."""
        for (a, p), (b, q) in self.cables:
            if a == switch:
                yield p, b
            if b == switch:
                yield q, a

    def away(self, goal):
        found, waiting = {goal: 0}, [goal]
        for switch in waiting:
            for _, peer in self.out(switch):
                if peer not in found:
                    found[peer] = found[switch] + 1
                    waiting.append(peer)
        return found

    def tables_to(self, lid):
        """Every choice of a port by each switch on shortest routes to a LID."""
        goal = self.hosts[lid - 1]
        away = self.away(goal)
        others = [switch for switch in away if switch != goal]
        choices = [
            [(p, peer) for p, peer in self.out(switch) if away[peer] == away[switch] - 1]
            for switch in others
        ]
        for chosen in product(*choices):
            yield dict(zip(others, chosen, strict=True))

    def loads_to(self, lid, table, senders):
        """Pairs by (switch, port), counted hop by hop."""
        loads = {}
        for sender in senders:
            at = self.hosts[sender - 1]
            while at != self.hosts[lid - 1]:
                port, peer = table[at]
                loads[at, port] = loads.get((at, port), 0) + 1
                at = peer
        return loads

    def all_loads(self, senders, lids):
        """The loads of every static table, once each."""
        found = {frozenset()}
        for lid in lids:
            single = {
                frozenset(self.loads_to(lid, table, senders).items())
                for table in self.tables_to(lid)
            }
            found = {added(a, b) for a in found for b in single}
        return found


def added(one, other):
    total = dict(one)
    for place, count in other:
        total[place] = total.get(place, 0) + count
    return frozenset(total.items())


def attainable(net, fabric_of, senders, lids, tables=()):
    routes = Routes(net.fabric(fabric_of), tables)
    return Attainable(JobStages(routes, senders, lids))


def shares(found):
    return {
        divmod(code, 256): share
        for stage in found.stages.stages
        for code, share in zip(stage.cables, stage.shares, strict=True)
    }


def measured(loads, share, width):
    over = {place: n for place, n in loads if n > share[place]}
    peak = max((Fraction(n, width[place]) for place, n in over.items()), default=Fraction(0))
    return Measure(peak, sum(n - share[place] for place, n in over.items()))


def trunk(a, b, count, ports):
    """``count`` cables between two switches, on the next free ports."""
    for _ in range(count):
        ports[a], ports[b] = ports.get(a, 0) + 1, ports.get(b, 0) + 1
        yield (a, ports[a]), (b, ports[b])


def random_tree(seed):
    """Two or three leaves, two or three spines, one or two cables each, some missing."""
    rng = random.Random(seed)  # noqa: S311 - a fabric, no secret
    leaves, spines = rng.choice([(2, 2), (2, 3), (3, 2)])
    ports, cables = {}, []
    for leaf in range(leaves):
        for spine in range(leaves, leaves + spines):
            cables += trunk(
                leaf, spine, rng.choice([1, 1, 2, 2, 3][: 5 if leaves == 2 else 3]), ports
            )
    hosts = [0] * rng.choice([2, 3, 4]) + [1 + n % (leaves - 1) for n in range(rng.choice([1, 2]))]
    clients = [n + 1 for n, at in enumerate(hosts) if at == 0]
    servers = [n + 1 for n, at in enumerate(hosts) if at]
    rates = [rng.choice([HDR, HDR, EDR]) for _ in cables] if seed % 4 == 0 else ()
    return Net(leaves + spines, cables, hosts, rates), servers, clients


def uneven_uplinks():
    """A leaf with two cables to one spine and one to the other, the next leaf the other way."""
    ports = {}
    cables = [
        *trunk(0, 2, 2, ports),
        *trunk(0, 3, 1, ports),
        *trunk(1, 2, 1, ports),
        *trunk(1, 3, 2, ports),
    ]
    return Net(4, cables, [1, 1, 1, 0])


@pytest.mark.parametrize("seed", range(60))
def test_the_best_table_is_that_of_all_tables(seed, fabric_of):
    net, servers, clients = random_tree(seed)
    found = attainable(net, fabric_of, servers, clients)
    share = shares(found)
    width = dict.fromkeys(share, 1)
    if net.rates:
        gbps = [round(rate.gbps) // 100 for rate in net.rates]
        width = {end: n for ends, n in zip(net.cables, gbps, strict=True) for end in ends}
        least = min(width[place] for place in share)
        width = {
            place: n // least if len(set(width.values())) > 1 else 1 for place, n in width.items()
        }

    measures = [measured(loads, share, width) for loads in net.all_loads(servers, clients)]

    best = found.best
    assert best.proven
    assert best.measure == min(measures, key=lambda one: (one.peak, one.excess))
    assert found.measure(best.layout.loads) == best.measure


@pytest.mark.parametrize("seed", range(20))
def test_the_table_found_delivers_and_loads_as_said(seed, fabric_of):
    net, servers, clients = random_tree(seed)
    found = attainable(net, fabric_of, servers, clients)
    layout = found.best.layout
    entry = dict(
        zip(
            zip(layout.lid.tolist(), layout.switch.tolist(), strict=True),
            layout.port.tolist(),
            strict=True,
        )
    )
    total = frozenset()
    for lid in clients:
        peer = {switch: dict(net.out(switch)) for switch in range(net.switches)}
        table = {
            switch: (port, peer[switch][port]) for (of, switch), port in entry.items() if of == lid
        }
        total = added(total, net.loads_to(lid, table, servers).items())
    expected = np.zeros_like(layout.loads)
    for (switch, port), pairs in total:
        expected[switch * 256 + port] = pairs

    assert np.array_equal(layout.loads, expected)


def test_uneven_uplinks_cannot_all_have_their_even_share(fabric_of):
    net = uneven_uplinks()
    found = attainable(net, fabric_of, [4], [1, 2, 3])

    assert shares(found)[0, 1] == 1
    assert (found.best.measure, found.best.proven) == (Measure(Fraction(2), 1), True)


@given(
    spines=st.integers(1, 4),
    links=st.integers(1, 2),
    clients=st.integers(1, 12),
    senders=st.integers(1, 3),
)
def test_in_a_uniform_tree_all_have_the_even_share(fabric_of, spines, links, clients, senders):
    ports, cables = {}, []
    for leaf in range(3):
        for spine in range(3, 3 + spines):
            cables += trunk(leaf, spine, links, ports)
    hosts = [0] * clients + [1] * senders + [2] * senders
    net = Net(3 + spines, cables, hosts)
    servers = range(clients + 1, clients + 2 * senders + 1)

    found = attainable(net, fabric_of, servers, range(1, clients + 1))

    cables_up = spines * links
    even = -(-clients // cables_up)
    assert {stage.shares for stage in found.stages.stages} == {
        (even * senders,) * cables_up,
        (even * 2 * senders,) * cables_up,
    }
    assert (found.best.measure, found.best.proven) == (Measure(Fraction(0), 0), True)


def test_the_table_can_be_put_into_routes(fabric_of, table_of):
    net = uneven_uplinks()
    own = [table_of(0, {4: 33}, 8), table_of(1, {1: 30, 2: 31, 3: 32}, 8)]
    found = attainable(
        net, fabric_of, [4], [1, 2, 3], [*own, table_of(2, {}, 8), table_of(3, {}, 8)]
    )

    routes = entries_of(found.stages.routes, found.best.layout)

    to_hosts = np.zeros_like(found.best.layout.loads)
    to_hosts[256 + np.array([30, 31, 32])] = 1
    assert np.array_equal(found.stages.loads(routes), found.best.layout.loads + to_hosts)
    assert found.stages.loads(found.stages.routes).sum() == 0

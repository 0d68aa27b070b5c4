"""Which end of a slow RDMA pair is slow, and when neither is."""

import pytest

from ibaccept.diagnosis import SlowHost
from ibaccept.evidence import CaptureRef
from ibaccept.expect.pairs import RdmaPairs
from ibaccept.forecast import Ceiling
from ibaccept.load.result import (
    Balance,
    CableRate,
    CableWatch,
    ClientRate,
    DirectedRate,
    FilesystemRun,
    LoadRuns,
    Pair,
    PairRate,
    RateState,
    RdmaRun,
    WaitRate,
    Window,
)
from ibaccept.model import Rate
from ibaccept.snapshot import NotSeen
from ibaccept.units import Bandwidth

HDR = Rate.parse("4X HDR")
CLIENTS = ("c1", "c2", "c3", "c4")
SERVERS = ("s1", "s2")


def gib(value):
    return Bandwidth.from_gib(value)


class Job:
    """A with c1 to c4, B with s1 and s2, a cable of its own for each two clients."""

    def __init__(self, site_of):
        site = site_of("A", "B")
        for number, name in enumerate(CLIENTS):
            (lid,) = site.host(name, "A", number + 1)
            site.tables["B"][lid] = 25 + number % 2
        for number, name in enumerate(SERVERS):
            (lid,) = site.host(name, "B", number + 1)
            site.tables["A"][lid] = 13 + number
        site.cable("A", 13, "B", 25)
        site.cable("A", 14, "B", 26)
        self.snapshot = site.snapshot()

    def client_cable(self, name, rate, *, waits):
        """The cable from A to a client, at so many GiB/s, with its port's wait and rank 1."""
        fabric = self.snapshot.fabric
        port = next(
            end
            for link in fabric.links
            for end in link.key
            if fabric.port_name(end) == f"A/{CLIENTS.index(name) + 1}"
        )
        link = fabric.link_at[port]
        wait = WaitRate(port, RateState.OK, waits, 1, 4)
        busy = DirectedRate(
            port, fabric.port_name(port), RateState.OK, gib(rate), 100 * rate / 22.6, wait
        )
        return CableRate(link.key, fabric.link_name(link), "client", name, HDR, busy, busy)

    def pairs(self, rates, *, served=(0, 1, 0, 1), cables=(), write=7.0):
        """One round: each client's server by number, each pair's rate."""
        found = {}
        for number, (name, rate) in enumerate(zip(CLIENTS, rates, strict=True)):
            server = SERVERS[served[number]]
            pair = Pair(name, server, server, name, 18600 + number)
            found[pair] = PairRate(pair, gib(rate), 9, 4096, CaptureRef("captures/x", 1, "row"))
        wrote = write
        if isinstance(write, float):
            clients = {name: ClientRate(name, 1, 1.0, gib(write)) for name in CLIENTS}
            wrote = FilesystemRun("write", "fio", clients, None, None)
        watch = CableWatch(
            "rdma-read",
            "read",
            Window(0.0, 10.0, 5, 0.1),
            tuple(cables),
            Balance(1.0, 1.0, "bytes/s", 0.01, None),
        )
        runs = LoadRuns(
            filesystem_write=wrote,
            rdma_read=(RdmaRun("read", "ib_write_bw", found, None),),
            watches={"rdma-read": watch},
        )
        return RdmaPairs(
            self.snapshot,
            runs,
            {HDR: Ceiling(gib(22.6), "configured")},
            {name: number for number, name in enumerate(CLIENTS, 1)},
            {name: number for number, name in enumerate(SERVERS, 5)},
        )


@pytest.fixture(name="job")
def job_fixture(site_of):
    return Job(site_of)


def slow(host, found, fair=7.0):
    return SlowHost(host, pytest.approx(found), pytest.approx(fair))


def test_no_host_is_slow_where_all_carry_their_share(job):
    assert job.pairs([7, 7, 7, 7]).slow_hosts() == ((), ())


def test_a_server_all_of_whose_pairs_are_slow_is_the_slow_end(job):
    assert job.pairs([7, 3, 7, 3]).slow_hosts() == ((slow("s2", 6, 14),), ())


def test_a_client_whose_server_is_fast_with_others_is_the_slow_end(job):
    assert job.pairs([7, 3, 7, 7]).slow_hosts() == ((), (slow("c2", 3),))


@pytest.mark.parametrize(
    ("waits", "expected"),
    [
        (0.0, ((slow("s2", 3),), ())),
        (9000.0, ((), (slow("c2", 3),))),
    ],
)
def test_of_a_single_pair_the_wait_before_the_client_tells_which_end(job, waits, expected):
    """What a server cannot send waits nowhere; what a client does not take waits before it."""
    cables = [job.client_cable("c2", 3.0, waits=waits)]

    assert job.pairs([7, 3, 7, 7], served=(0, 1, 0, 0), cables=cables).slow_hosts() == expected


def test_a_pair_whose_cable_others_fill_has_no_slow_end(job):
    cables = [job.client_cable("c2", 22.0, waits=9000.0)]

    assert job.pairs([7, 3, 7, 7], served=(0, 1, 0, 0), cables=cables).slow_hosts() == ((), ())


def test_a_cable_that_the_pair_itself_fills_is_no_excuse(job):
    cables = [job.client_cable("c2", 22.0, waits=9000.0)]
    pairs = job.pairs([22, 22, 22, 22], served=(0, 1, 0, 0), cables=cables, write=30.0)

    assert pairs.slow_hosts() == ((), ())


@pytest.mark.parametrize("write", [None, NotSeen("the write run", "fio is missing on c1")])
def test_without_a_write_run_no_pair_is_asked_for_more_than_the_best_moved(job, write):
    """The cables have room for 22.6 GiB/s; that no client takes it is no fault of one host."""
    assert job.pairs([7, 7, 7, 7], write=write).slow_hosts() == ((), ())
    assert job.pairs([7, 3, 7, 7], write=write).slow_hosts() == ((), (slow("c2", 3),))

"""Which end of a slow RDMA pair is slow, and when neither is."""

from dataclasses import replace

import pytest

from ibaccept.checks.diagnosis.facts import SlowHost
from ibaccept.checks.throughput.pairs import RdmaPairs, SlowHosts
from ibaccept.fabric.model import Rate
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.result import (
    CableRate,
    CableWatch,
    ClientRate,
    DirectedRate,
    FilesystemRun,
    LoadRuns,
    LoadWindow,
    Pair,
    PairRate,
    RateState,
    RdmaRun,
    WaitRate,
)
from ibaccept.routing.forecast import Ceiling
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

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

    def cable(self, end, share=0.3, *, waits=None, rank=1):
        """A watched cable by one of its ports: so full in both directions, with the port's wait."""
        fabric = self.snapshot.fabric
        link = next(
            link for link in fabric.links for each in link.key if fabric.port_name(each) == end
        )
        host = next((n for n in (*CLIENTS, *SERVERS) if f"{n}/" in fabric.link_name(link)), None)
        kind = "isl" if host is None else "client" if host in CLIENTS else "storage"
        ways = []
        for port in sorted(link.key, key=fabric.port_name):
            wait = None if waits is None else WaitRate(port, RateState.OK, waits, rank, 4)
            rate, percent = (None, None) if share is None else (gib(22.6 * share), 100 * share)
            state = RateState.UNREAD if share is None else RateState.OK
            ways.append(DirectedRate(port, fabric.port_name(port), state, rate, percent, wait))
        if kind != "client":
            ways.reverse()
        return CableRate(link.key, fabric.link_name(link), kind, host, HDR, *ways)

    def cables(self, **changes):
        """All cables of the job with room, but for those given by a port, ``A_2``."""
        ends = ("A/13", "A/14", "A/1", "A/2", "A/3", "A/4", "B/1", "B/2")
        found = {end: self.cable(end) for end in ends}
        found |= {name.replace("_", "/"): cable for name, cable in changes.items()}
        return [cable for cable in found.values() if cable is not None]

    def pairs(self, rates, *, served=(0, 1, 0, 1), cables=None, write=7.0):
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
            LoadWindow(0.0, 10.0, 5, 0.1),
            tuple(self.cables() if cables is None else cables),
        )
        runs = LoadRuns(
            filesystem_write=wrote,
            rdma_read=(RdmaRun("read", "ib_write_bw", found, None, 12.0),),
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
    assert job.pairs([7, 7, 7, 7]).slow_hosts() == SlowHosts((), ())


def test_a_server_all_of_whose_pairs_are_slow_is_the_slow_end(job):
    """Its clients were paired with no other, so nobody knows what they can take."""
    assert job.pairs([7, 3, 7, 3]).slow_hosts() == SlowHosts(
        (slow("s2", 6, 14),), None, {"client": "c2 was only paired with s2, which is slow"}
    )


def test_a_client_whose_server_is_fast_with_others_is_the_slow_end(job):
    assert job.pairs([7, 3, 7, 7]).slow_hosts() == SlowHosts((), (slow("c2", 3),))


SENDER = SlowHosts((slow("s2", 3),), None, {"client": "c2 was only paired with s2, which is slow"})
RECEIVER = SlowHosts(
    None, (slow("c2", 3),), {"storage": "s2 was only paired with c2, which is slow"}
)
EITHER = SlowHosts(
    None,
    None,
    dict.fromkeys(
        ("storage", "client"),
        "s2 and c2 are slow with each other, and PortXmitWait toward the client does not tell "
        "which of them it is",
    ),
)


@pytest.mark.parametrize(
    ("waits", "rank", "expected"),
    [
        (0.0, 1, SENDER),
        (9000.0, 1, RECEIVER),
        (9000.0, 2, EITHER),
        (9000.0, 3, SENDER),
        (None, None, EITHER),
    ],
)
def test_of_a_single_pair_the_wait_before_the_client_tells_which_end(job, waits, rank, expected):
    """What a server cannot send waits nowhere; what a client does not take waits before it.

    A second slow client of a switch is not the one whose port waits most.
    """
    cables = job.cables(A_2=job.cable("A/2", waits=waits, rank=rank))

    assert job.pairs([7, 3, 7, 7], served=(0, 1, 0, 0), cables=cables).slow_hosts() == expected


DOUBT = " was in no RDMA pair, or only in slow ones that crossed a cable which was full or not read"


@pytest.mark.parametrize("end", ["A_2", "A_14", "B_2"])
@pytest.mark.parametrize("share", [0.97, None])
def test_a_slow_pair_over_a_full_cable_tells_nothing_of_its_hosts(job, end, share):
    """What others leave of that cable is not what a host can do, be they of the job or not.

    Nor is anything known where the cable was not read.
    """
    cables = job.cables(**{end: job.cable(end.replace("_", "/"), share)})

    assert job.pairs([7, 3, 7, 7], served=(0, 1, 0, 0), cables=cables).slow_hosts() == SlowHosts(
        None, None, {"storage": f"s2{DOUBT}", "client": f"c2{DOUBT}"}
    )


def test_a_slow_pair_whose_cables_were_not_watched_tells_nothing_of_its_hosts(job):
    assert job.pairs([7, 3, 7, 7], served=(0, 1, 0, 0), cables=()).slow_hosts() == SlowHosts(
        None, None, {"storage": f"s2{DOUBT}", "client": f"c2{DOUBT}"}
    )


def test_a_pair_that_fills_its_cable_has_no_slow_end(job):
    cables = job.cables(A_2=job.cable("A/2", 0.97, waits=9000.0))
    pairs = job.pairs([22, 22, 22, 22], served=(0, 1, 0, 0), cables=cables, write=30.0)

    assert pairs.slow_hosts() == SlowHosts((), ())


@pytest.mark.parametrize("write", [None, NotSeen("the write run", "fio is missing on c1")])
def test_without_a_write_run_no_pair_is_asked_for_more_than_the_best_moved(job, write):
    """The cables have room for 22.6 GiB/s; that no client takes it is no fault of one host."""
    assert job.pairs([7, 7, 7, 7], write=write).slow_hosts() == SlowHosts((), ())
    assert job.pairs([7, 3, 7, 7], write=write).slow_hosts() == SlowHosts((), (slow("c2", 3),))


# -- what is not known of a pair -----------------------------------------------------------------


def both(why):
    return SlowHosts(None, None, {"client": why, "storage": why})


def test_without_a_run_there_is_no_slow_host_and_no_fast_one(job):
    pairs = replace(job.pairs([7, 7, 7, 7]), loads=LoadRuns())

    assert pairs.slow_hosts() == SlowHosts(None, None)


def test_where_one_pair_was_not_measured_no_share_is_fair(job):
    """It took what the others did not have, and nobody knows how much."""
    pairs = job.pairs([7, 3, 7, 7])
    (round_,) = pairs.loads.rdma_read
    lost = NotSeen("the pair of c4", "c4: the connection was lost")
    rates = {pair: lost if pair.client == "c4" else rate for pair, rate in round_.pairs.items()}
    pairs = replace(pairs, loads=replace(pairs.loads, rdma_read=(replace(round_, pairs=rates),)))

    assert pairs.slow_hosts() == both(
        "the pair of c4 could not be seen: c4: the connection was lost"
    )


def test_a_host_with_several_ports_has_no_known_way(job):
    pairs = job.pairs([7, 3, 7, 7])

    assert replace(pairs, clients={**pairs.clients, "c2": None}).slow_hosts() == both(
        "the way of each RDMA pair could not be seen: c2 has several ports on this fabric"
    )


def test_a_server_without_a_pair_is_not_known_to_be_fast(job):
    assert job.pairs([7, 7, 7, 7], served=(0, 0, 0, 0)).slow_hosts() == SlowHosts(
        None, (), {"storage": f"s2{DOUBT}"}
    )


def test_a_port_is_not_the_one_that_waits_most_where_no_other_was_ranked(job):
    busy = job.cable("A/2", waits=9000.0)
    way = busy.toward_clients
    alone = replace(busy, toward_clients=replace(way, wait=replace(way.wait, of=1)))

    assert job.pairs([7, 3, 7, 7], cables=job.cables(A_2=busy)).waiting() == ("c2",)
    assert job.pairs([7, 3, 7, 7], cables=job.cables(A_2=alone)).waiting() == ()


def test_a_pair_that_the_tables_do_not_deliver_has_no_fair_share(job):
    told = job.pairs([7.0] * 4)
    row = told.snapshot.tables_seen[1]
    row.ports[1] = 99  # B sends LID 1 where no cable is

    found = told.slow_hosts()

    assert (found.senders, found.receivers) == (None, None)
    assert set(found.unjudged.values()) == {
        "the way of each RDMA pair could not be seen: s1 and c1: LID 5 to 1 is dead-end by the "
        "tables"
    }


def test_without_the_rate_of_a_cable_no_share_is_fair(job):
    told = replace(job.pairs([7.0] * 4), ceilings={})

    found = told.slow_hosts()

    assert (found.senders, found.receivers) == (None, None)
    assert set(found.unjudged.values()) == {
        "the fair share of each RDMA pair could not be seen: the rate of the cable at s1/1 is not "
        "known"
    }


def test_rounds_that_follow_each_other_do_not_add_up(job):
    once = job.pairs([3.0, 7.0, 3.0, 7.0])
    (round_,) = once.loads.rdma_read
    watches = dict.fromkeys(("rdma-read", "rdma-read-2"), once.loads.watches["rdma-read"])
    loads = replace(once.loads, rdma_read=(round_, replace(round_, round=1)), watches=watches)
    twice = replace(once, loads=loads)

    assert once.slow_hosts().senders == twice.slow_hosts().senders == (slow("s1", 6.0, 14.0),)

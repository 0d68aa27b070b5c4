"""Judging load runs: what passes, what fails, and above all what may not pass."""

from dataclasses import replace
from unittest.mock import ANY

import pytest

from ibaccept.checks.throughput import judge as carrying
from ibaccept.checks.throughput.cable_load import cable_checks
from ibaccept.checks.throughput.kinds import CableLoad, Filesystem, Forecast, RdmaCeiling
from ibaccept.checks.throughput.measured import Measured
from ibaccept.checks.throughput.under_load import load_note, under_load
from ibaccept.fabric.model import Rate
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.rates import HEADERS
from ibaccept.load.result import (
    ByteBalance,
    CableRate,
    CableWatch,
    ClientRate,
    DataSet,
    DirectedRate,
    FilesystemRun,
    LinkCeiling,
    LoadRuns,
    LoadWindow,
    Pair,
    PairRate,
    RateState,
    RdmaRun,
    TimeSpread,
)
from ibaccept.routing.forecast import Ceiling
from ibaccept.verdict import Different, Met, Outcome, judge
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

HDR = Rate.parse("4X HDR")
CLIENTS = ("c1", "c2", "c3", "c4")
LOST = NotSeen("the rate of c4", "read: c4: the connection was lost while fio ran", "run it again")
NO_RUN = NotSeen("the run", "fio is missing on c1", "install fio")
STARTED = TimeSpread(0.1, 0.01, "c1", "c4")
GIB = 2**30


def gib(value):
    return Bandwidth.from_gib(value)


def fs(direction, rate=7.0, **changes):
    """A run of all four clients at so many GiB/s each; a client by name is another's."""
    clients = {name: ClientRate(name, 70 * GIB, 10.0, gib(rate)) for name in CLIENTS}
    data = DataSet(70 * GIB, 4, 16 * GIB, 32 * GIB)
    return FilesystemRun(direction, "fio", clients | changes, data, STARTED, 10.0)


def rdma(rate=7.0, **changes):
    """One round, a pair a client."""
    pairs = {}
    for number, name in enumerate(CLIENTS):
        server = f"s{number % 2 + 1}"
        pair = Pair(name, server, server, name, 18600 + number)
        seen = PairRate(pair, gib(rate), 1000, 4096, CaptureRef(f"captures/{number}.txt", 1, "row"))
        pairs[pair] = changes.get(name, seen)
    return RdmaRun("read", "ib_write_bw", pairs, STARTED, 12.0)


EQUAL = ByteBalance(10.0, 10.0, "bytes", 0.02, None)
CACHED = ByteBalance(4.0, 10.0, "bytes", 0.02, "cached")
OTHERS = ByteBalance(12.0, 10.0, "bytes", 0.02, "other-traffic")
FORECAST = Forecast(id="x", kind="forecast", within="5%")
READ_IS_WRITE = Filesystem(id="x", kind="filesystem", read_within="5%", of="write")
FLOORS = Filesystem(
    id="x",
    kind="filesystem",
    read_at_least="28 GiB/s",
    write_at_least="28 GiB/s",
    client_at_least="7 GiB/s",
)
NO_HOT = CableLoad(
    id="x", kind="cable-load", during="filesystem-read", at_most="80%", while_under="50%"
)
NO_HOT_RDMA = NO_HOT.model_copy(update={"during": "rdma"})


def ceiling(relation, of):
    return RdmaCeiling(id="x", kind="rdma-ceiling", relation=relation, of=of, within="5%")


CARRIES = ceiling("at-least", "filesystem-write")
MATCHES = ceiling("matches", "filesystem-read")


class Job:
    """A with clients c1 to c4, B with s1 and s2, cables A/13 - B/25 and A/14 - B/26.

    Of reads, three clients share the first cable.
    """

    def __init__(self, site_of, sides_of):
        site = site_of("A", "B")
        for number, name in enumerate(CLIENTS, 1):
            (lid,) = site.host(name, "A", number)
            site.tables["B"][lid] = 26 if name == "c4" else 25
        for number, name in enumerate(("s1", "s2")):
            (lid,) = site.host(name, "B", number + 1)
            site.tables["A"][lid] = 13 + number
        site.cable("A", 13, "B", 25)
        site.cable("A", 14, "B", 26)
        self.snapshot = site.snapshot()
        self.sides = sides_of(self.snapshot, CLIENTS, ["s1", "s2"])

    def watch(self, run="filesystem-read", shares=(93.0, 31.0), **changes):
        """Both cables at so many per cent toward the clients; a state in place of one."""
        fabric = self.snapshot.fabric
        cables = []
        for number, share in enumerate(shares):
            link = next(
                link
                for link in fabric.links
                if fabric.is_isl(link) and fabric.link_name(link).startswith(f"A/{13 + number}")
            )
            a, b = sorted(link.key, key=fabric.port_name)
            idle = DirectedRate(a, fabric.port_name(a), RateState.OK, gib(0.0), 0.0, None)
            if isinstance(share, RateState):
                why = f"B/{25 + number} PortXmitData: {share}"
                busy = DirectedRate(b, fabric.port_name(b), share, None, None, None, why, 2)
            else:
                busy = DirectedRate(
                    b, fabric.port_name(b), RateState.OK, gib(0.226 * share), share, None, flows=2
                )
            name = fabric.link_name(link)
            cables.append(CableRate(link.key, name, "isl", None, HDR, busy, idle))
        told = CableWatch(
            run,
            "read",
            LoadWindow(100.0, 110.0, 10, 0.2),
            tuple(cables),
        )
        return replace(told, **changes)

    def watches(self, **others):
        """Of every run, as ordered, but for these."""
        names = ("filesystem-write", "filesystem-read", "rdma-read")
        found = {name: self.watch(name) for name in names}
        return {**found, **{name.replace("_", "-"): watch for name, watch in others.items()}}

    def measured(self, adaptive=None, balances=None, served=None, **changes):
        """As ordered but for the changes; bytes agree where the cables were watched."""
        watches = changes.get("watches", self.watches())
        known = {
            name: watch if isinstance(watch, NotSeen) else EQUAL for name, watch in watches.items()
        }
        runs = {
            "filesystem_write": fs("write"),
            "filesystem_read": fs("read"),
            "rdma_read": (rdma(),),
            "watches": watches,
            "balances": known | (balances or {}),
            "served": known | (served or {}),
            "ceilings": {
                HDR: LinkCeiling(HDR, Ceiling(gib(22.6), "configured"), "the site says so")
            },
        }
        return Measured(self.snapshot, self.sides, LoadRuns(**{**runs, **changes}), None, adaptive)


@pytest.fixture(name="job")
def job_fixture(site_of, sides_of):
    return Job(site_of, sides_of)


CHECKS = {
    Filesystem: carrying.filesystem_checks,
    RdmaCeiling: carrying.rdma_checks,
    Forecast: carrying.forecast_checks,
    CableLoad: cable_checks,
}


MET = Met()


def answers(measured, entry):
    """What is said of each item, by name."""
    checks = CHECKS[type(entry)](measured, entry)
    return {check.aspect().name: expecting(check) for check in checks}


def expecting(check):
    """The answer; a difference with what was expected."""
    answer = carrying.answer_of(check)
    if isinstance(answer, Different) and not answer.expected:
        return replace(answer, expected=check.expected)
    return answer


def outcome(measured, entry):
    checks = CHECKS[type(entry)](measured, entry)
    judgement = judge(
        checks,
        expected=entry.ordered,
        expected_of=carrying.expected_of,
        actual=carrying.answer_of,
        noun="items",
    )
    return carrying.told(judgement, measured).outcome


ALL = (READ_IS_WRITE, FLOORS, CARRIES, MATCHES, FORECAST, NO_HOT, NO_HOT_RDMA)


def test_what_is_as_ordered_passes(job):
    even = {name: job.watch(name, (70.0, 70.0)) for name in job.watches()}
    measured = job.measured(watches=even)

    assert {entry: outcome(measured, entry) for entry in ALL} == dict.fromkeys(ALL, Outcome.PASS)


# -- a part that was not seen never passes -------------------------------------------------------

UNSEEN = {
    "no write run": ({"filesystem_write": NO_RUN}, {MATCHES, NO_HOT, NO_HOT_RDMA}),
    "no read run": ({"filesystem_read": NO_RUN}, {CARRIES, NO_HOT_RDMA}),
    "no RDMA run": ({"rdma_read": NO_RUN}, {READ_IS_WRITE, FLOORS, FORECAST, NO_HOT}),
    "write not asked for": ({"filesystem_write": None}, {MATCHES, NO_HOT, NO_HOT_RDMA}),
    "read not asked for": ({"filesystem_read": None}, {CARRIES, NO_HOT, NO_HOT_RDMA}),
    "RDMA not asked for": (
        {"rdma_read": None},
        {READ_IS_WRITE, FLOORS, FORECAST, NO_HOT, NO_HOT_RDMA},
    ),
    "RDMA without a round": (
        {"rdma_read": ()},
        {READ_IS_WRITE, FLOORS, FORECAST, NO_HOT, NO_HOT_RDMA},
    ),
    "RDMA without a pair": (
        {"rdma_read": (RdmaRun("read", "ib_write_bw", {}, None, 12.0),)},
        {READ_IS_WRITE, FLOORS, FORECAST, NO_HOT, NO_HOT_RDMA},
    ),
    "a client of the write run": (
        {"filesystem_write": fs("write", c4=LOST)},
        {MATCHES, NO_HOT, NO_HOT_RDMA},
    ),
    "a client of the read run": (
        {"filesystem_read": fs("read", c4=LOST)},
        {CARRIES, NO_HOT_RDMA},
    ),
    "a pair": ({"rdma_read": (rdma(c4=LOST),)}, {READ_IS_WRITE, FLOORS, FORECAST, NO_HOT}),
    "a pair of a second round": (
        {"rdma_read": (rdma(), replace(rdma(c4=LOST), round=1))},
        {READ_IS_WRITE, FLOORS, FORECAST, NO_HOT},
    ),
    # without the bytes on the cables nobody knows what came from a cache
    "no watch": ({"watches": {}}, set()),
    "watches not seen": ({"watches": {"filesystem-read": NO_RUN, "rdma-read": NO_RUN}}, set()),
}
"""What was not seen, and the entries it does not matter to."""


@pytest.mark.parametrize("name", UNSEEN)
def test_a_part_that_was_not_seen_is_an_error_and_never_a_pass(job, name):
    changes, apart = UNSEEN[name]
    even = {run: job.watch(run, (70.0, 70.0)) for run in job.watches()}
    measured = job.measured(**{"watches": even, **changes})

    assert {entry: outcome(measured, entry) for entry in ALL} == {
        entry: Outcome.PASS if entry in apart else Outcome.ERROR for entry in ALL
    }


def test_the_error_names_host_and_step(job):
    measured = job.measured(filesystem_read=fs("read", c4=LOST))

    assert answers(measured, READ_IS_WRITE) == {
        "read against write": NotSeen(ANY, LOST.reason, LOST.hint)
    }
    assert answers(measured, NO_HOT) == {
        "cables, filesystem-read": NotSeen(ANY, LOST.reason, LOST.hint),
    }


def test_a_client_that_a_recorded_run_does_not_tell_of_is_not_known_to_be_fast_enough(job):
    run = fs("read")
    told = {name: rate for name, rate in run.clients.items() if name != "c4"}
    measured = job.measured(filesystem_read=replace(run, clients=told, recorded=gib(28.0)))

    assert answers(measured, FLOORS)["slowest client, read"] == NotSeen(
        ANY,
        "the read run does not tell what c4 did",
        "give the rate of every client, or run the load again",
    )


def test_a_recorded_total_stands_for_itself(job):
    recorded = {
        f"filesystem_{way}": FilesystemRun(way, "recorded: x", {}, None, None, recorded=gib(28.0))
        for way in ("read", "write")
    }
    measured = job.measured(**recorded)

    assert answers(measured, READ_IS_WRITE) == {"read against write": Met()}
    assert outcome(measured, FORECAST) is Outcome.ERROR


def test_a_client_without_a_pair_is_not_carried(job):
    whole = rdma()
    part = {pair: rate for pair, rate in whole.pairs.items() if pair.client != "c4"}
    measured = job.measured(
        rdma_read=(replace(whole, pairs=part),), filesystem_write=fs("write", 5)
    )

    assert answers(measured, CARRIES) == {
        "RDMA alone": NotSeen(ANY, "RDMA had no pair for c4", "run the load again")
    }


@pytest.mark.parametrize("state", [s for s in RateState if s is not RateState.OK])
def test_a_cable_whose_counter_means_nothing_is_not_even(job, state):
    measured = job.measured(watches={"filesystem-read": job.watch(shares=(70.0, state))})

    assert answers(measured, NO_HOT) == {
        "A - B": NotSeen(ANY, f"B/26 PortXmitData: {state}", "run the load again")
    }


# -- what fails ----------------------------------------------------------------------------------


def test_reads_below_writes_fail(job):
    measured = job.measured(filesystem_read=fs("read", 4))

    assert answers(measured, READ_IS_WRITE) == {
        "read against write": Different(
            "read 16.0 GiB/s, write 28.0 GiB/s: reads are 43 % below writes",
            "reads at most 5% below writes",
        )
    }
    assert answers(measured, FLOORS) == {
        "read rate": Different("read 16.0 GiB/s", "read at least 28 GiB/s"),
        "write rate": Met(),
        "slowest client, read": Different("c1 4.0 GiB/s", "each client reads at least 7 GiB/s"),
        "slowest client, write": Met(),
    }


def test_reads_from_a_cache_are_not_reads_of_storage(job):
    """They are above what was written; the cables carried less than half of them."""
    even = job.watch(shares=(40.0, 40.0))
    measured = job.measured(
        filesystem_read=fs("read", 20),
        watches=job.watches(filesystem_read=even),
        balances={"filesystem-read": CACHED},
        rdma_read=(rdma(),),
    )
    why = NotSeen(
        ANY,
        "filesystem-read: the clients claim 80.0 GiB/s, but their cables carried 60 % less: that "
        "part is a cache's",
        "move a data set larger than the caches of clients and servers",
    )

    assert answers(measured, READ_IS_WRITE) == {"read against write": why}
    assert answers(measured, FLOORS) == {
        "read rate": why,
        "write rate": Met(),
        "slowest client, read": why,
        "slowest client, write": Met(),
    }
    assert answers(measured, FORECAST) == {"reads as forecast": why}


def test_a_cache_that_happens_to_match_rdma_is_no_match(job):
    measured = job.measured(balances={"filesystem-read": CACHED})

    assert outcome(measured, MATCHES) is Outcome.ERROR


def test_writes_into_a_cache_are_no_measure_of_reads(job):
    measured = job.measured(filesystem_write=fs("write", 20), balances={"filesystem-write": CACHED})
    entries = (READ_IS_WRITE, CARRIES, FORECAST)

    assert {entry: outcome(measured, entry) for entry in entries} == dict.fromkeys(
        entries, Outcome.ERROR
    )


def ends(direction, *seconds):
    """Each client moves 70 GiB, all begin together and end apart."""
    clients = {
        name: ClientRate(name, 70 * GIB, s, gib(70 / s))
        for name, s in zip(CLIENTS, seconds, strict=True)
    }
    return replace(fs(direction), clients=clients, total_seconds=max(seconds))


def on_client_cables(watch, rate):
    """The watch with the cables of the four clients, each at so many GiB/s of payload."""
    like = watch.cables[0]
    busy = replace(like.toward_clients, rate=gib(rate * HEADERS), flows=0)
    return replace(
        watch,
        cables=(
            *watch.cables,
            *(replace(like, kind="client", host=name, toward_clients=busy) for name in CLIENTS),
        ),
    )


def test_a_sum_of_rates_of_clients_that_end_apart_must_be_seen_on_the_cables(job):
    """70 GiB in 10, 20, 30 and 40 s add up to 14.6 GiB/s, over the whole run to 7.0."""
    run = ends("read", 10.0, 20.0, 30.0, 40.0)
    floor = Filesystem(id="x", kind="filesystem", read_at_least="14 GiB/s")

    def judged(rate, entry=floor):
        watch = on_client_cables(job.watch(), rate)
        return answers(
            job.measured(filesystem_read=run, watches=job.watches(filesystem_read=watch)), entry
        )

    assert judged(2.0) == {
        "read rate": NotSeen(
            ANY,
            "read: the clients ended after 10.0 to 40.0 s; while all ran, their cables carried "
            "8.0 GiB/s, so the 14.6 GiB/s that their rates add up to was never there",
            "let all clients run for the same time, or see why some are slower",
        )
    }
    assert judged(14.6 / 4) == {
        "read rate": NotSeen(
            ANY,
            "read 14.6 GiB/s while all clients ran, but 7.0 GiB/s from the first start to the "
            "last end: which of the two was ordered as 14 GiB/s is not said",
            "see why some clients end late; a floor is met where both are above it",
        )
    }
    low = floor.model_copy(update={"read_at_least": gib(7.0)})
    assert judged(14.6 / 4, low) == {"read rate": Met()}
    high = floor.model_copy(update={"read_at_least": gib(15.0)})
    assert judged(14.6 / 4, high) == {
        "read rate": Different("read 14.6 GiB/s", "read at least 15 GiB/s")
    }
    assert answers(job.measured(filesystem_read=run), floor) == {
        "read rate": NotSeen(
            ANY,
            "read: the clients ended after 10.0 to 40.0 s, and what they did at once was not "
            "read: no client's cable was watched",
            "run the load again",
        )
    }


@pytest.mark.parametrize(
    ("spread", "why"),
    [
        (None, "read: it is not known when they began"),
        (
            TimeSpread(0.4, 0.8, "c1", "c4"),
            "read: c4 began 0.40 s after c1, known to +-0.80 s by the hosts' clocks, of a run of "
            "10.0 s: whether they ran together is not known",
        ),
        (
            TimeSpread(500.0, float("inf"), "c1", "c4"),
            "read: c4 began 500.00 s after c1, known to +-inf s by the hosts' clocks, of a run of "
            "10.0 s: whether they ran together is not known",
        ),
    ],
)
def test_clients_that_are_not_known_to_have_run_together_do_not_add_up(job, spread, why):
    measured = job.measured(filesystem_read=replace(fs("read"), spread=spread))

    assert answers(measured, READ_IS_WRITE)["read against write"].reason == why


def test_a_run_that_others_served_is_not_the_jobs(job):
    """Half of the servers are not named: routes, forecast and cables are not those of the data."""
    measured = job.measured(served={"filesystem-read": CACHED})
    unknown = job.measured(served={"filesystem-read": NO_RUN})
    hint = "name every server of the file system in job: storage, and no other host"

    for entry in (READ_IS_WRITE, FORECAST):
        assert list(answers(measured, entry).values()) == [
            NotSeen(
                ANY,
                "filesystem-read: the cables of s[1-2] carried 60 % less than the clients claim, "
                "so hosts that are not in job: storage served the rest",
                hint,
            )
        ]
        assert list(answers(unknown, entry).values()) == [
            NotSeen(
                ANY,
                "filesystem-read: whether s[1-2] served it is not known: fio is missing on c1",
                NO_RUN.hint,
            )
        ]
    # more than the clients claim: others use the servers, too
    assert answers(job.measured(served={"filesystem-read": OTHERS}), READ_IS_WRITE) == {
        "read against write": Met()
    }


def test_a_cache_that_is_allowed_is_no_measure_of_the_fabric(job):
    small = replace(fs("read", 7), data_set=DataSet(16 * GIB, 4, 16 * GIB, 32 * GIB))
    measured = job.measured(filesystem_read=small, balances={"filesystem-read": CACHED})
    less = (
        "filesystem-read: the clients claim 28.0 GiB/s, but their cables carried 60 % less: that "
    )

    assert answers(measured, READ_IS_WRITE) == {"read against write": Met()}
    for entry in (MATCHES, FORECAST):
        (answer,) = answers(measured, entry).values()
        assert answer.reason == f"{less}part is a cache's"


def test_a_floor_is_of_a_whole_run_whose_ends_are_known(job):
    measured = job.measured(filesystem_read=replace(fs("read"), total_seconds=None))

    assert answers(measured, FLOORS)["read rate"] == NotSeen(
        ANY,
        "read: a client does not tell when it began and ended, so what all did from the first "
        "start to the last end is not known",
        "run the load again",
    )


def test_a_recorded_figure_is_held_against_links_that_were_seen(job):
    recorded = FilesystemRun("read", "recorded: x", {}, None, None, recorded=gib(28))
    measured = job.measured(filesystem_read=recorded, filesystem_write=fs("write"))
    port = job.sides.clients.hosts[0].ports[0]
    links = {**job.snapshot.fabric.link_at}
    del links[port]
    job.snapshot.fabric.__dict__["link_at"] = links

    assert answers(measured, READ_IS_WRITE)["read against write"].reason == (
        "read: the rate of a client's link is not known, so the recorded figure cannot be held "
        "against what the links carry"
    )


def test_pairs_that_did_not_run_together_are_no_ceiling(job):
    late = replace(rdma(), spread=TimeSpread(5.0, 0.1, "s1", "s2"))

    assert answers(job.measured(rdma_read=(late,)), CARRIES) == {
        "RDMA alone": NotSeen(
            ANY,
            "rdma-read: s2 began 4.9 s after s1, of a run of 12.0 s: rates of what did not run "
            "together do not add up",
            "see what delays s2, or let the run be longer",
        )
    }


def test_rdma_that_went_another_way_is_no_ceiling_of_these_cables(job):
    less = NotSeen(
        ANY,
        "rdma-read: the pairs claim 28.0 GiB/s, but their cables carried 60 % less: the rest went "
        "by another adapter, port or fabric",
        "name the adapter and port of the job with ib_hca and ib_port in the inventory",
    )

    for entry in (CARRIES, MATCHES):
        measured = job.measured(balances={"rdma-read": CACHED})
        assert answers(measured, entry) == {"RDMA alone": less}
        unknown = job.measured(balances={"rdma-read": NO_RUN})
        assert answers(unknown, entry)["RDMA alone"].reason == (
            "rdma-read: whether 28.0 GiB/s crossed the cables is not known: fio is missing on c1"
        )


def test_rdma_beside_the_traffic_of_others_shows_no_lack_but_may_be_enough(job):
    shared = NotSeen(
        ANY,
        "rdma-read: the clients' cables carried 20 % more than the pairs: others used them too, "
        "so RDMA was not alone",
        "run it again while the job's hosts are idle",
    )
    enough = job.measured(balances={"rdma-read": OTHERS})
    short = job.measured(balances={"rdma-read": OTHERS}, rdma_read=(rdma(6),))

    assert answers(enough, CARRIES) == {"RDMA alone": Met()}
    assert answers(short, CARRIES) == {"RDMA alone": shared}
    assert answers(short, MATCHES) == {"RDMA alone": shared}


def test_more_than_the_clients_links_carry_is_no_rate(job):
    """A recorded file in another unit, say: four HDR links carry 90.4 GiB/s together."""
    recorded = FilesystemRun("read", "recorded: x", {}, None, None, recorded=gib(1000))

    assert answers(job.measured(filesystem_read=recorded), READ_IS_WRITE) == {
        "read against write": NotSeen(
            ANY,
            "read: 1000.0 GiB/s is claimed, more than the 90.4 GiB/s that the links of the 4 "
            "clients carry together: it is a cache's, or given in another unit",
            "compare the units, and the data set with the caches",
        )
    }


def test_a_cable_above_its_ceiling_shows_that_the_ceiling_is_wrong(job):
    measured = job.measured(watches=job.watches(filesystem_read=job.watch(shares=(339.0, 113.0))))
    wrong = NotSeen(
        ANY,
        "A/13 - B/25 carried 339 % of the ceiling of a 4X HDR link: so that ceiling is wrong",
        "correct it in ceilings:, or leave it out",
    )

    assert answers(measured, NO_HOT) == {"A - B": wrong}
    assert answers(measured, FORECAST) == {"reads as forecast": wrong}


def test_cables_that_a_cached_run_did_not_load_are_not_evenly_used(job):
    even = job.watches(filesystem_read=job.watch(shares=(0.0, 0.0)))
    measured = job.measured(watches=even, balances={"filesystem-read": CACHED})

    assert answers(measured, NO_HOT) == {
        "A - B": NotSeen(
            ANY,
            "filesystem-read: the clients claim more, but their cables carried 60 % less: that "
            "part is a cache's",
            "move a data set larger than the caches of clients and servers",
        )
    }
    # one that is full all the same is
    full = job.measured(balances={"filesystem-read": CACHED})
    assert isinstance(answers(full, NO_HOT)["A - B"], Different)


def test_where_clients_are_on_both_sides_each_way_is_judged(job):
    """One cable is even toward A; the other way it is full beside an idle one."""
    watch = job.watch(shares=(60.0, 60.0))
    first, second = (
        replace(cable, toward_storage=replace(cable.toward_storage, percent=share, flows=1))
        for cable, share in zip(watch.cables, (97.0, 0.0), strict=True)
    )
    both = replace(watch, cables=(first, second))

    assert answers(job.measured(watches=job.watches(filesystem_read=both)), NO_HOT) == {
        "B -> A": Met(),
        "A -> B": Different(
            "A/13 - B/25 97 % while A/14 - B/26 0 %",
            "no cable above 80% while another of its group is under 50%",
        ),
    }


@pytest.mark.parametrize("direction", ["read", "write"])
def test_rates_of_clients_that_did_not_run_together_do_not_add_up(job, direction):
    """Each ran 10 s; the last began when the first was half through."""
    late = replace(fs(direction), spread=TimeSpread(5.0, 0.1, "c1", "c4"))
    why = NotSeen(
        ANY,
        f"{direction}: c4 began 4.9 s after c1, of a run of 10.0 s: rates of what did not run "
        "together do not add up",
        "see what delays c4, or let the run be longer",
    )
    measured = job.measured(**{f"filesystem_{direction}": late})

    assert answers(measured, READ_IS_WRITE) == {"read against write": why}
    assert answers(measured, FORECAST) == {"reads as forecast": why}


def test_where_caches_are_allowed_their_reads_count(job):
    small = replace(fs("read", 20), data_set=DataSet(16 * GIB, 4, 16 * GIB, 32 * GIB))
    measured = job.measured(filesystem_read=small, balances={"filesystem-read": CACHED})

    assert answers(measured, READ_IS_WRITE) == {"read against write": Met()}


@pytest.mark.parametrize(
    ("read", "where"),
    [
        (5, "the limit is above the network"),
        (9, "something was cached, or RDMA alone did not have the cables to itself"),
    ],
)
def test_rdma_and_file_system_apart(job, read, where):
    measured = job.measured(filesystem_read=fs("read", read))

    assert answers(measured, MATCHES) == {
        "RDMA alone": Different(
            f"28.0 GiB/s, the file system reads {4 * read:.1f} GiB/s: {where}",
            "the file system's read within 5%",
        )
    }


def test_rdma_that_carries_less_than_is_written_fails(job):
    second = replace(rdma(), round=1)
    measured = job.measured(rdma_read=(rdma(6), second), balances={"rdma-read-2": EQUAL})

    assert answers(measured, CARRIES) == {
        "RDMA alone, round 1": Different(
            "24.0 GiB/s in the read direction, the file system writes 28.0 GiB/s: the fabric "
            "cannot carry to the clients what they write",
            "at least the file system's write, less 5%",
        ),
        "RDMA alone, round 2": Met(),
    }


def test_the_forecast_is_of_the_tables_the_ceilings_and_the_write_run(job):
    """Three clients at 10 GiB/s share one cable of 22.6, the fourth has one for itself."""
    measured = job.measured(filesystem_write=fs("write", 10), filesystem_read=fs("read", 9))

    assert answers(measured, FORECAST) == {
        "reads as forecast": Different(
            "measured 36.0 GiB/s, 10.4 % above max-min fair (32.6)",
            "30.1 (in lock-step) to 32.6 GiB/s (max-min fair) within 5% (22.6 + 10.0 = 32.6 GiB/s)",
        )
    }


@pytest.mark.parametrize(("rate", "met"), [(7.1, False), (7.3, True), (7.7, True), (8.5, True)])
def test_the_bracket_of_the_forecast_is_what_is_judged(job, rate, met):
    """30.1 GiB/s in lock-step, 32.6 max-min fair: anything between them is as forecast."""
    measured = job.measured(filesystem_write=fs("write", 10), filesystem_read=fs("read", rate))

    assert (answers(measured, FORECAST)["reads as forecast"] == Met()) is met


def test_where_the_reads_lie_in_the_bracket_is_said(job):
    even = {name: job.watch(name, (70.0, 70.0)) for name in job.watches()}
    measured = job.measured(
        watches=even, filesystem_write=fs("write", 10), filesystem_read=fs("read", 7.8)
    )

    assert carrying.forecast_place(measured) == (
        "measured 31.2 GiB/s: 43 % of the way from lock-step to max-min fair; the forecast is "
        "30.1 to 32.6 GiB/s",
    )
    assert carrying.forecast_place(job.measured(adaptive=True)) == ()


# -- cables that are not parallel ------------------------------------------------------------------


class Tree(Job):
    """A leaf A with the clients, a leaf B with the servers; one cable from each to P and to Q.

    All reads go by P.
    """

    def __init__(self, site_of, sides_of):
        site = site_of("A", "B", "P", "Q")
        for number, name in enumerate(CLIENTS, 1):
            (lid,) = site.host(name, "A", number)
            site.tables["B"][lid] = 13
            site.tables["P"][lid] = site.tables["Q"][lid] = 1
        for number, name in enumerate(("s1", "s2")):
            (lid,) = site.host(name, "B", number + 1)
            site.tables["A"][lid] = 13 + number
            site.tables["P"][lid] = site.tables["Q"][lid] = 2
        for spine, port in (("P", 13), ("Q", 14)):
            site.cable("A", port, spine, 1)
            site.cable("B", port, spine, 2)
        self.snapshot = site.snapshot()
        self.sides = sides_of(self.snapshot, CLIENTS, ["s1", "s2"])

    def watch(self, run="filesystem-read", shares=(100.0, 0.0), **changes):
        """Cables over P, and over Q, at so many per cent toward the clients."""
        fabric = self.snapshot.fabric
        cables = []
        for link in filter(fabric.is_isl, fabric.links):
            spine = next(end.id for end in link.ends if fabric.node_of(end).name in "PQ")
            leaf = next(end.id for end in link.ends if end.id != spine)
            sends, returns = (leaf, spine) if fabric.nodes[leaf.guid].name == "B" else (spine, leaf)
            at = "PQ".index(fabric.nodes[spine.guid].name)
            share = shares[at]
            busy = DirectedRate(
                *(sends, fabric.port_name(sends), RateState.OK, gib(0.226 * share), share, None),
                flows=0 if at else 8,
            )
            idle = DirectedRate(
                returns, fabric.port_name(returns), RateState.OK, gib(0.0), 0.0, None
            )
            name = fabric.link_name(link)
            cables.append(CableRate(link.key, name, "isl", None, HDR, busy, idle))
        return replace(
            CableWatch(run, "read", LoadWindow(100.0, 110.0, 10, 0.2), tuple(cables)), **changes
        )


def test_a_spine_that_is_full_while_the_other_idles_fails(site_of, sides_of):
    job = Tree(site_of, sides_of)
    order = "no cable above 80% while another of its group is under 50%"

    assert answers(job.measured(), NO_HOT) == {
        "B -> P,Q": Different("B/13 - P/2 100 % while B/14 - Q/2 0 %", order),
        "P,Q -> A": Different("A/13 - P/1 100 % while A/14 - Q/1 0 %", order),
    }


def test_a_spine_that_is_full_while_the_other_idles_is_no_ruled_out_collapse(site_of, sides_of):
    facts = Tree(site_of, sides_of).measured().facts()

    assert facts.uneven is True
    assert {(cable.name, cable.group) for cable in facts.cables} == {
        ("B/13 - P/2", "B -> P,Q"),
        ("B/14 - Q/2", "B -> P,Q"),
        ("A/13 - P/1", "P,Q -> A"),
        ("A/14 - Q/1", "P,Q -> A"),
    }


def test_where_routing_is_adaptive_nothing_is_forecast(job):
    assert answers(job.measured(adaptive=True), FORECAST) == {
        "reads as forecast": NotSeen(
            ANY,
            "adaptive routing is on: the tables are only the fallback, and no forecast of theirs "
            "holds",
            "judge by the load of the cables (cable-load) and by RDMA alone (rdma-ceiling)",
        )
    }


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ((93.0, 31.0), "A/13 - B/25 93 % while A/14 - B/26 31 %"),
        ((31.0, 93.0), "A/14 - B/26 93 % while A/13 - B/25 31 %"),
        ((93.0, 60.0), None),
        ((70.0, 0.0), None),
    ],
)
def test_a_full_cable_beside_an_idle_one(job, shares, expected):
    measured = job.measured(watches={"filesystem-read": job.watch(shares=shares)})
    least = "no cable above 80% while another of its group is under 50%"

    assert answers(measured, NO_HOT) == {
        "A - B": Met() if expected is None else Different(expected, least)
    }


@pytest.mark.parametrize("share", [79.0, 81.0])
def test_so_near_the_limit_that_readings_do_not_tell(job, share):
    """A reading took 0.2 s of 10 s: each rate is known to 2 % of itself."""
    measured = job.measured(watches={"filesystem-read": job.watch(shares=(share, 10.0))})

    assert answers(measured, NO_HOT) == {
        "A - B": NotSeen(
            ANY,
            f"A/13 - B/25 {share:.0f} % while A/14 - B/26 10 %, each known to +-2 % of itself by "
            "10 readings: too near the limits to tell",
            "let it run longer: more duration, or a larger data set",
        )
    }


@pytest.mark.parametrize("adaptive", [None, False, True])
def test_a_cable_that_was_not_watched_is_not_idle(job, adaptive):
    only = {"filesystem-read": job.watch(shares=(93.0,))}

    assert answers(job.measured(adaptive=adaptive, watches=only), NO_HOT) == {
        "A - B": NotSeen(ANY, "A/14 - B/26 was not watched", "run the load again")
    }


def test_a_cable_that_the_entry_does_not_name_is_not_compared(job):
    first = CableLoad(
        id="x",
        kind="cable-load",
        during="filesystem-read",
        at_most="80%",
        while_under="50%",
        links={"type": "isl", "except": {"names": "A/14*"}},
    )

    assert answers(job.measured(), first) == {"A - B": Met()}


def test_every_round_of_rdma_is_looked_at(job):
    watches = {
        "rdma-read": job.watch("rdma-read", (70.0, 70.0)),
        "rdma-read-2": job.watch("rdma-read-2", (93.0, 31.0)),
    }

    found = answers(job.measured(watches=watches), NO_HOT_RDMA)
    assert found == {
        "A - B, rdma-read": Met(),
        "A - B, rdma-read-2": Different(
            "A/13 - B/25 93 % while A/14 - B/26 31 %",
            "no cable above 80% while another of its group is under 50%",
        ),
    }


# -- error counters over the load ----------------------------------------------------------------


def under(job, answer=MET, **changes):
    """What is said of the first inter-switch link, of which the sweeps say ``answer``."""
    fabric = job.snapshot.fabric
    link = next(link for link in fabric.links if fabric.link_name(link).startswith("A/13"))
    return under_load(job.measured(**changes).loads, lambda _link: answer)(link)


def test_errors_that_did_not_grow_under_the_whole_load_are_as_ordered(job):
    assert under(job) == Met()


@pytest.mark.parametrize(
    ("changes", "why", "hint"),
    [
        ({"filesystem_read": fs("read", c4=LOST)}, LOST.reason, LOST.hint),
        ({"rdma_read": (rdma(c4=LOST),)}, LOST.reason, LOST.hint),
        ({"filesystem_write": NO_RUN}, NO_RUN.reason, NO_RUN.hint),
        ({"rdma_read": NO_RUN}, NO_RUN.reason, NO_RUN.hint),
        (
            {"filesystem_write": None, "filesystem_read": None, "rdma_read": None},
            "no load run was made",
            "run the load again",
        ),
    ],
)
def test_no_growth_means_nothing_where_the_load_was_not_there(job, changes, why, hint):
    assert under(job, **changes) == NotSeen(
        ANY, f"not all of the ordered load was there: {why}", hint
    )


def test_errors_that_grew_are_told_whatever_the_load_was(job):
    grown = Different("B/25 SymbolErrorCounter +3")

    assert under(job, grown, filesystem_write=NO_RUN) == grown


def test_counters_that_were_cleared_between_the_sweeps_are_not_clean(job):
    """0, then errors, then cleared: 0 again. The data counters of the port fell."""
    fabric = job.snapshot.fabric
    port = next(p for p in fabric.link_at if fabric.port_name(p) == "B/25")
    loads = replace(job.measured().loads, cleared={port: "B/25 PortXmitData fell"})
    first, second = (
        next(link for link in fabric.links if fabric.link_name(link).startswith(name))
        for name in ("A/13", "A/14")
    )
    judged = under_load(loads, lambda _link: Met())

    assert judged(first) == NotSeen(ANY, "B/25 PortXmitData fell", "run the load again")
    assert judged(second) == Met()


@pytest.mark.parametrize(
    ("balances", "why"),
    [
        (
            {"filesystem-read": CACHED, "rdma-read": CACHED},
            "filesystem-read: the clients claim more, but their cables carried 60 % less: that "
            "part is a cache's",
        ),
        (
            {"filesystem-write": NO_RUN},
            "filesystem-write: whether all crossed the cables or came from a cache is not known: "
            "fio is missing on c1",
        ),
    ],
)
def test_cables_that_were_not_loaded_in_one_direction_are_not_clean_under_load(job, balances, why):
    answer = under(job, balances=balances)

    assert answer.reason == f"not all of the ordered load was there: {why}"


def test_links_none_of_which_carried_load_are_not_clean_under_load(job):
    fabric = job.snapshot.fabric
    isls = [link for link in fabric.links if fabric.is_isl(link)]
    hosts = [link for link in fabric.links if not fabric.is_isl(link)]
    loads = job.measured().loads

    assert under_load(loads, lambda _link: Met(), isls)(isls[0]) == Met()
    assert under_load(loads, lambda _link: Met(), hosts)(hosts[0]) == NotSeen(
        ANY,
        "not all of the ordered load was there: none of these 6 links is known to have carried it",
        "name links that the job's traffic crosses, or load them more",
    )
    assert load_note(loads, [*isls, *hosts]) == (
        "2 of 8 of these links are known to have carried load in the load runs"
    )
    assert load_note(loads, isls) == (
        "2 of 2 of these links are known to have carried load in the load runs"
    )


def test_reads_loaded_by_rdma_alone_are_a_load(job):
    assert under(job, balances={"filesystem-read": CACHED}) == Met()


def test_a_recorded_run_is_no_load(job):
    recorded = FilesystemRun("read", "recorded: x", {}, None, None, recorded=gib(28.0))
    changes = {"filesystem_write": None, "rdma_read": None, "filesystem_read": recorded}

    assert under(job, **changes) == NotSeen(
        ANY, "not all of the ordered load was there: no load run was made", "run the load again"
    )


# -- what the reader is told ---------------------------------------------------------------------


def notes(measured, entry):
    checks = CHECKS[type(entry)](measured, entry)
    judgement = judge(
        checks,
        expected=entry.ordered,
        expected_of=carrying.expected_of,
        actual=carrying.answer_of,
        noun="items",
    )
    return carrying.told(judgement, measured).notes


def test_no_figure_without_nodes_direction_caches_and_cables(job):
    measured = job.measured(watches=job.watches(rdma_read=NO_RUN))
    data = "70 GiB each, 4.4 x a client's memory, in all 8.8 x the servers' memory"

    assert notes(measured, READ_IS_WRITE) == (
        f"file system write (fio): 28.0 GiB/s, 4 clients c[1-4]; {data}, started within 0.10 s; "
        "inter-switch cables as in the table, over 10 s of the steady part (10 readings, +-2 %)",
        f"file system read (fio): 28.0 GiB/s, 4 clients c[1-4]; {data}, started within 0.10 s; "
        "inter-switch cables as in the table, over 10 s of the steady part (10 readings, +-2 %)",
        "RDMA alone (ib_write_bw), storage to clients: 28.0 GiB/s, 4 pairs at once, clients "
        "c[1-4], servers s[1-2]; from memory to memory, no cache and no disk, started within 0.10 "
        "s; distribution over inter-switch cables not known: fio is missing on c1",
        "ceiling of one 4X HDR link: 22.6 GiB/s, the site says so",
    )


def test_a_total_without_all_its_clients_is_no_figure(job):
    measured = job.measured(filesystem_read=fs("read", c4=LOST), rdma_read=(rdma(c4=LOST),))

    assert [note for note in notes(measured, CARRIES) if " GiB/s, 4 " in note] == [
        note for note in notes(job.measured(), CARRIES) if "file system write" in note
    ]


def test_what_could_not_be_seen_has_no_diagnosis_where_nothing_fits(job):
    even = {run: job.watch(run, (70.0, 70.0)) for run in job.watches()}
    unseen = job.measured(filesystem_read=fs("read", c4=LOST), watches=even)
    failed = job.measured(filesystem_read=fs("read", 4))

    assert [n for n in notes(unseen, READ_IS_WRITE) if n.startswith(("diagnosis", "next"))] == []
    assert [n for n in notes(failed, READ_IS_WRITE) if n.startswith(("diagnosis", "next"))] != []


def test_what_is_left_moved_and_not_seen_is_told_whatever_the_verdict(job):
    moved = replace(rdma(), moved=("c1: TCP port 18600 is in use, the next one was taken",))
    runs = job.measured(rdma_read=(moved,))
    loads = replace(
        runs.loads,
        left=("c4: /scratch/x was not removed",),
        kept=("/scratch/y of c1",),
        problems=tuple(NotSeen("x", f"{n}: no answer") for n in (1, 1, *range(1, 11))),
    )

    assert notes(replace(runs, loads=loads), READ_IS_WRITE)[-12:] == (
        "left behind: c4: /scratch/x was not removed",
        "kept, as ordered: /scratch/y of c1",
        "c1: TCP port 18600 is in use, the next one was taken",
        *(f"not seen: {n}: no answer" for n in range(1, 9)),
        "not seen: and 2 more",
    )


def test_cables_of_a_run_that_was_refused_have_its_reason(job):
    measured = job.measured(filesystem_read=NO_RUN, watches={})

    assert answers(measured, NO_HOT) == {
        "cables, filesystem-read": NotSeen(ANY, NO_RUN.reason, NO_RUN.hint)
    }


def test_a_run_whose_cables_were_not_seen_may_come_from_a_cache(job):
    unwatched = job.measured(watches=job.watches(filesystem_read=NO_RUN))

    assert answers(unwatched, READ_IS_WRITE) == {
        "read against write": NotSeen(
            ANY,
            "filesystem-read: whether 28.0 GiB/s crossed the cables or came from a cache is not "
            f"known: {NO_RUN.reason}",
            NO_RUN.hint or "run the load again",
        )
    }

"""From samples of counters to what cables carried: directions, clears, ends that do not agree."""

from dataclasses import replace

import pytest

from ibaccept.fabric.model import Guid, PortId, Rate
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.cables import job_cables, queries
from ibaccept.load.rates import HEADERS, Growth, Reckoning, growth
from ibaccept.load.result import RateState
from ibaccept.load.watch import RCV, WAIT, XMIT, Sample, Watch, WatchReading
from ibaccept.routing.forecast import Ceiling
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import Host
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef, Counter, CounterState

HDR = Rate.parse("4X HDR")
GIB = 1 << 30
CEILINGS = {HDR: Ceiling(Bandwidth.from_gib(20), "configured")}
TIMES = (0.0, 10.0, 20.0, 30.0, 40.0)
STEADY = [1, 2, 3]


def hosts(*names):
    return [InventoryHost(name, Host(name)) for name in names]


class Job:
    """c1 and c2 on A, s1 and s2 on B, cables A/13 - B/25 and A/14 - B/26; reads use the first."""

    def __init__(self, site_of):
        site = site_of("A", "B")
        for number, name in enumerate(("c1", "c2"), 1):
            (lid,) = site.host(name, "A", number)
            site.tables["B"][lid] = 25
        for number, name in enumerate(("s1", "s2"), 1):
            (lid,) = site.host(name, "B", number)
            site.tables["A"][lid] = 12 + number
        site.cable("A", 13, "B", 25)
        site.cable("A", 14, "B", 26)
        self.snapshot = site.snapshot()
        self.fabric = self.snapshot.fabric
        self.cables = job_cables(self.snapshot, hosts("c1", "c2"), hosts("s1", "s2"))
        self.port = {self.fabric.port_name(p): p for p in self.fabric.link_at}

    def watch(self, **gib):
        """Samples of what ports send, at GiB/s on the cable each: ``watch(B25=10)``."""
        watch = Watch(
            None, InventoryHost("mgmt", Host("mgmt")), queries(self.fabric, self.cables.cables),
        )  # fmt: skip
        sent = {self.port[f"{name[0]}/{name[1:]}"]: rate * GIB / 4 for name, rate in gib.items()}
        for number, time in enumerate(TIMES):
            readings = {}
            for query in watch.queries:
                for line, port in enumerate(query.ports.values(), 1):
                    other = next(e.id for e in self.fabric.link_at[port].ends if e.id != port)
                    for name, rate in ((XMIT, sent.get(port)), (RCV, sent.get(other)), (WAIT, 0)):
                        value = 1000 + round((rate or 0) * time)
                        readings[port, name] = WatchReading(
                            value, 64, time, f"captures/{number}.txt", line, name
                        )
            watch.samples.append(Sample(readings, time, time, 0.0, {}))
        watch.steady = list(STEADY)
        watch.before, watch.after = watch.samples[0], watch.samples[-1]
        return watch

    def set(self, watch, sample, name, counter, value):
        """Another reading in one sample; None takes it away."""
        old = watch.samples[sample]
        readings = dict(old.readings)
        key = (self.port[name], counter)
        if value is None:
            del readings[key]
        else:
            readings[key] = replace(readings[key], value=value)
        watch.samples[sample] = replace(old, readings=readings)
        watch.before, watch.after = watch.samples[0], watch.samples[-1]

    def reckoning(self, watch):
        return Reckoning(self.fabric, self.cables, watch, CEILINGS)

    def cable(self, watch, name):
        found = self.reckoning(watch).watch("filesystem-read", "read")
        return next(cable for cable in found.cables if cable.name.startswith(name))


@pytest.fixture(name="job")
def job_fixture(site_of):
    return Job(site_of)


def test_parallel_cables_are_watched_whether_or_not_the_tables_use_them(site_of):
    site = site_of("A", "B")
    (client,) = site.host("c1", "A", 1)
    (server,) = site.host("s1", "B", 1)
    for number in range(3):
        site.cable("A", 13 + number, "B", 25 + number)
    site.tables["B"][client] = 25
    site.tables["A"][server] = 14
    snapshot = site.snapshot()

    found = job_cables(snapshot, hosts("c1"), hosts("s1"))

    name = snapshot.fabric.port_name
    assert [
        (name(cable.to_clients), cable.reads, cable.writes)
        for cable in found.cables
        if cable.kind == "isl"
    ] == [("B/25", (1, 0), (0, 0)), ("B/26", (0, 0), (0, 1)), ("B/27", (0, 0), (0, 0))]
    assert [list(query.ports) for query in queries(snapshot.fabric, found.cables)] == [
        [1, 13, 14, 15],
        [1, 25, 26, 27],
    ]


def test_a_cable_between_two_sides_with_clients_on_both(site_of):
    site = site_of("A", "B")
    lids = {name: site.host(name, name[0], int(name[1]))[0] for name in ("A1", "A2", "B1", "B2")}
    for name, lid in lids.items():
        site.tables["B" if name[0] == "A" else "A"][lid] = 13
    site.cable("A", 13, "B", 13)
    snapshot = site.snapshot()

    (isl,) = [
        cable
        for cable in job_cables(snapshot, hosts("A1", "B1"), hosts("A2", "B2")).cables
        if cable.kind == "isl"
    ]

    # B2 sends to A1 and A2 to B1, each its read; their writes go the same two ways
    assert (isl.reads, isl.writes) == ((1, 1), (1, 1))
    assert (isl.flows("read"), isl.flows("write")) == (isl.reads, isl.writes)


def test_the_rate_of_a_cable_with_the_readings_it_comes_from(job):
    cable = job.cable(job.watch(B25=10), "A/13")

    way = cable.toward_clients
    grown = 10 * GIB // 4 * 20
    assert (way.name, way.state, way.flows) == ("B/25", RateState.OK, 4)
    assert way.rate == Bandwidth.from_gib(10)
    assert way.percent == pytest.approx(100 * 10 / (20 * HEADERS))
    first = 1000 + 10 * GIB // 4 * 10
    assert way.counters == (
        Counter(XMIT, "B/25", first, first + grown, 20.0, 64, CounterState.OK),
        Counter(RCV, "A/13", first, first + grown, 20.0, 64, CounterState.OK),
        Counter(WAIT, "B/25", 1000, 1000, 20.0, 64, CounterState.OK),
    )
    dots = "." * 20
    assert way.captures[0] == CaptureRef("captures/1.txt", 3, f"{XMIT}:{dots}{first}")
    assert [capture.file for capture in way.captures] == [
        f"captures/{number}.txt" for number in (1, 3, 1, 3)
    ]
    assert (cable.toward_storage.rate, cable.toward_storage.flows) == (Bandwidth(0.0), 0)


def test_a_counter_that_fell_is_shown_by_the_two_readings_it_fell_between(job):
    watch = job.watch(B25=10)
    job.set(watch, 2, "B/25", XMIT, 7)
    job.set(watch, 2, "A/13", RCV, None)

    way = job.cable(watch, "A/13").toward_clients

    before = 1000 + 10 * GIB // 4 * 10
    assert (way.state, way.rate, way.percent) == (RateState.CLEARED, None, None)
    assert way.why == (f"B/25 PortXmitData fell from {before} to 7: it was cleared during the run")
    assert way.counters[0] == Counter(XMIT, "B/25", before, 7, 10.0, 64, CounterState.CLEARED)


def test_where_one_end_was_cleared_the_other_tells_and_the_clear_is_kept(job):
    watch = job.watch(B25=10)
    job.set(watch, 2, "B/25", XMIT, 7)

    assert job.cable(watch, "A/13").toward_clients.rate == Bandwidth.from_gib(10)
    before = 1000 + 10 * GIB // 4 * 10
    assert job.reckoning(watch).cleared(None) == {
        job.port["B/25"]: f"B/25 PortXmitData fell from {before} to 7: it was cleared during "
        "the run"
    }


def test_a_clear_between_two_runs_is_kept(job):
    watch = job.watch(B25=10)
    readings = {key: replace(one, value=10**15) for key, one in watch.samples[0].readings.items()}
    earlier = replace(watch.samples[0], readings=readings)

    assert set(job.reckoning(watch).cleared(earlier)) == {
        port for query in watch.queries for port in query.ports.values()
    }
    assert job.reckoning(watch).cleared(watch.samples[0]) == {}


def test_two_ends_that_do_not_agree_are_no_rate(job):
    """B was cleared after the first reading and has outgrown it since: nothing fell."""
    watch = job.watch(B25=10)
    job.set(watch, 3, "B/25", XMIT, 1000 + 10 * GIB // 4 * 22)

    way = job.cable(watch, "A/13").toward_clients

    assert (way.state, way.rate, way.why) == (
        RateState.CLEARED,
        None,
        "B/25 PortXmitData grew by 6.0 GiB/s, A/13 PortRcvData at the other end by 10.0 GiB/s: "
        "one of the two was cleared during the run, or stands still",
    )


def test_what_management_sends_need_not_agree(job):
    watch = job.watch()
    job.set(watch, 3, "B/25", XMIT, 90_000)

    assert job.cable(watch, "A/13").toward_clients.state is RateState.OK


def test_bytes_of_a_run_take_the_samples_around_it(job):
    watch = job.watch(A1=3, A2=4)
    reckoning = job.reckoning(watch)

    assert reckoning.toward("client", "read", whole=True) == Growth(
        RateState.OK, 7 * GIB * 40, 40.0
    )
    assert reckoning.toward("client", "read", whole=False) == Growth(RateState.OK, 7 * GIB, 1.0)
    watch.before = None
    assert reckoning.toward("client", "read", whole=True).why == (
        "the cables were not read before the run"
    )
    watch.before, watch.after = watch.samples[0], None
    assert reckoning.toward("client", "read", whole=True).why == (
        "the cables were not read after the run"
    )


def test_a_clear_within_a_run_is_no_cache(job):
    """After it more is counted than before the run: only the readings between show the fall."""
    watch = job.watch(A1=3, A2=4)
    for number in (2, 3, 4):
        job.set(watch, number, "A/1", XMIT, 5000 * number)

    grown = job.reckoning(watch).toward("client", "read", whole=True)

    assert (grown.state, grown.why.partition(" fell")[0]) == (RateState.CLEARED, "A/1 PortXmitData")


def test_a_gap_between_the_first_and_the_last_sample_does_not_matter_to_bytes(job):
    watch = job.watch(A1=3, A2=4)
    job.set(watch, 2, "A/1", XMIT, None)
    port = job.port["A/1"]

    assert job.reckoning(watch).toward("client", "read", whole=True).delta == 7 * GIB * 40
    assert growth(watch.samples, port, XMIT, "A/1").state is RateState.UNREAD


def test_a_side_whose_cables_are_not_all_known_has_no_bytes(job):
    watch = job.watch(A1=3, A2=4)
    job.cables = replace(job.cables, lacking={"client": "the cable of c3: it shows no other end"})

    assert job.reckoning(watch).toward("client", "read", whole=True) == Growth(
        RateState.UNREAD, why="the cable of c3: it shows no other end"
    )
    assert job.reckoning(watch).toward("storage", "read", whole=True).state is RateState.OK


def test_a_clock_that_did_not_go_forward_gives_no_rate(job):
    watch = job.watch(B25=10)
    watch.samples[3] = replace(watch.samples[3], start=10.0, end=10.0)

    assert job.reckoning(watch).watch("filesystem-read", "read").reason == (
        "mgmt: its clock did not go forward between the readings"
    )


@pytest.mark.parametrize(("steady", "words"), [([], "no sample lies"), ([2], "one sample lies")])
def test_less_than_two_samples_are_no_rate(job, steady, words):
    watch = job.watch(B25=10)
    watch.steady = steady

    assert job.reckoning(watch).watch("filesystem-read", "read") == NotSeen(
        "the cables during filesystem-read",
        f"mgmt: {words} inside the steady part of the run",
        "let it run longer: more duration, or a larger data set",
    )
    assert job.reckoning(watch).toward("client", "read", whole=True).state is RateState.OK


PORT = PortId(Guid(2), 25)
FULL32, FULL64 = (1 << 32) - 1, (1 << 64) - 1


def samples(*values, bits=64):
    made = []
    for second, value in enumerate(values):
        reading = (
            {} if value is None else {(PORT, "PortXmitData"): WatchReading(value, bits, second)}
        )
        made.append(Sample(reading, second, second, 0.0, {PORT: "it did not answer"}))
    return made


@pytest.mark.parametrize(
    ("values", "bits", "expected"),
    [
        ((100, 400, 1000), 64, Growth(RateState.OK, 900, 2.0)),
        ((5, 5), 64, Growth(RateState.OK, 0, 1.0)),
        (
            (100, 50, 1000), 64,
            Growth(RateState.CLEARED, why="B/25 PortXmitData fell from 100 to 50: it was cleared "
                   "during the run"),
        ),
        (
            (100, FULL64), 64,
            Growth(RateState.SATURATED, why=f"B/25 PortXmitData is saturated at {FULL64}: it can "
                   "no longer grow"),
        ),
        (
            (1, FULL32), 32,
            Growth(RateState.SATURATED, why=f"B/25 PortXmitData is saturated at {FULL32}: it can "
                   "no longer grow"),
        ),
        (
            (0, 0), 0,
            Growth(RateState.UNSUPPORTED, why="B/25 does not measure PortXmitData"),
        ),
        (
            (1, None, 3), 64,
            Growth(RateState.UNREAD, why="B/25 PortXmitData was not read: it did not answer"),
        ),
        (
            (1,), 64,
            Growth(RateState.UNREAD, why="B/25 PortXmitData was not read twice in the run"),
        ),
    ],
)  # fmt: skip
def test_growth_of_a_counter(values, bits, expected):
    assert growth(samples(*values, bits=bits), PORT, "PortXmitData", "B/25") == expected

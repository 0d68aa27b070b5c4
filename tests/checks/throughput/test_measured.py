"""What load runs, tables and links are taken for: the facts, and the cause they name."""

from dataclasses import replace

import pytest

from ibaccept.checks.diagnosis import Cause, RuleAnswer, State, diagnose
from ibaccept.checks.diagnosis.facts import CableShare, Carried, Excess, HostCable
from ibaccept.checks.throughput.measured import Measured
from ibaccept.fabric.model import Fabric, Rate
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.result import (
    ByteBalance,
    CableRate,
    CableWatch,
    ClientRate,
    DirectedRate,
    FilesystemRun,
    LinkCeiling,
    LoadRuns,
    LoadWindow,
    Pair,
    PairRate,
    RateState,
    RdmaRun,
)
from ibaccept.observe.counters import Sweep
from ibaccept.observe.snapshot import Window as Sweeps
from ibaccept.parse.ibqueryerrors import PortData, PortErrors
from ibaccept.routing.forecast import Ceiling
from ibaccept.verdict.absence import NotSeen, NotSeenError
from ibaccept.verdict.evidence import CaptureRef

HDR, EDR = Rate.parse("4X HDR"), Rate.parse("4X EDR")
CEILING = {HDR: 22.6, EDR: 11.3}
EVEN = (7.5, 7.5, 7.5, 7.5)
CLIENTS, SERVERS = ("c1", "c2", "c3", "c4"), ("s1", "s2")
NO_WATCH = NotSeen("the cables", "mgmt01: no sample lies inside the steady part of the run")
EQUAL = ByteBalance(1.0, 1.0, "bytes", 0.02, None)
A13, A14 = "A/13 - B/25", "A/14 - B/26"


def gib(value):
    return Bandwidth.from_gib(value)


def fs(direction, *rates):
    """What c1 to c4 moved, GiB/s; None for one whose rate was lost."""
    lost = NotSeen("the rate of c4", "read: c4: the connection was lost while fio ran")
    moved = {
        name: lost if rate is None else ClientRate(name, 2**36, 10.0, gib(rate))
        for name, rate in zip(CLIENTS, rates, strict=True)
    }
    return FilesystemRun(direction, "fio", moved, None, None)


def rdma(*rates):
    """One pair a client, with s1 and s2 in turn."""
    pairs = {}
    for number, (name, rate) in enumerate(zip(CLIENTS, rates, strict=True)):
        pair = Pair(name, SERVERS[number % 2], SERVERS[number % 2], name, 18600 + number)
        pairs[pair] = PairRate(pair, gib(rate), 1000, 4096, CaptureRef("captures/x", 1, "row"))
    return (RdmaRun("read", "ib_write_bw", pairs, None, 12.0),)


class Job:
    """A with c1 to c4, B with s1 and s2, cables A/13 - B/25 and A/14 - B/26.

    Reads of c1 to c3 take the first cable, those of c4 the second, or what ``columns`` says.
    """

    def __init__(self, site_of, sides_of, columns=(25, 25, 25, 26), rates=None, ports=1):
        site = site_of("A", "B")
        for number, name in enumerate(CLIENTS):
            for port in range(ports):
                text = name if ports == 1 else f"{name} HCA-{port + 1}"
                (lid,) = site.host(text, "A", 1 + number * ports + port)
                site.tables["B"][lid] = columns[number]
        for number, name in enumerate(SERVERS):
            (lid,) = site.host(name, "B", number + 1)
            site.tables["A"][lid] = 13 + number
        site.cable("A", 13, "B", 25)
        site.cable("A", 14, "B", 26)
        snapshot = site.snapshot()
        self.fabric = _rated(snapshot.fabric, rates or {})
        self.snapshot = replace(snapshot, fabric_seen=self.fabric)
        self.sides = sides_of(self.snapshot, CLIENTS, SERVERS)

    def port(self, name):
        return next(p for link in self.fabric.links for p in link.key if self.named(p) == name)

    def named(self, port):
        return self.fabric.port_name(port)

    def watch(self, isls=(66.0, 66.0), rates=EVEN, hosts=(), skip=()):
        """Per cent on the cables between switches, GiB/s of the clients; per cent of hosts."""
        shares = dict(zip(("A/13", "A/14"), isls, strict=True))
        shares |= {c: 100 * rate / 22.6 for c, rate in zip(CLIENTS, rates, strict=True)}
        shares |= dict(hosts)
        found = []
        for link in self.fabric.links:
            name = self.fabric.link_name(link)
            kind, host = _kind(name)
            if name in skip:
                continue
            # A sends to its clients, B to A; a server sends to B
            near, far = sorted(link.key, key=self.named)
            sender, other = (near, far) if kind == "client" else (far, near)
            share = shares.get(host or name.split(" ")[0], 66.0)
            busy = DirectedRate(sender, self.named(sender), RateState.UNREAD, None, None, None)
            if share is not None:
                rate = gib(CEILING.get(link.rate, 22.6) * share / 100)
                busy = replace(busy, state=RateState.OK, rate=rate, percent=share)
            idle = DirectedRate(other, self.named(other), RateState.OK, gib(0.0), 0.0, None)
            found.append(CableRate(link.key, name, kind, host, link.rate, busy, idle))
        return CableWatch("a run", "read", LoadWindow(100.0, 110.0, 10, 0.2), tuple(found))

    def measured(self, read=None, *, errors=None, **changes):
        """All as ordered but for the changes; ``read`` is the watch of the read and RDMA runs."""
        read = read or self.watch()
        names = ("filesystem-write", "filesystem-read", "rdma-read")
        runs = {
            "filesystem_write": fs("write", *EVEN),
            "filesystem_read": fs("read", *EVEN),
            "rdma_read": rdma(*EVEN),
            "watches": dict(zip(names, (self.watch(), read, read), strict=True)),
            "balances": dict.fromkeys(names, EQUAL),
            "ceilings": {
                rate: LinkCeiling(rate, Ceiling(gib(most), "configured"), "the site says so")
                for rate, most in CEILING.items()
            },
        }
        sent = {
            port.id: PortData(port.id.guid, "", port.id.port, {"PortXmitData": 0}, 64, None, 1, "")
            for port in self.snapshot.fabric.ports()
        }
        window = Sweeps(
            Sweep(1.0, 2.0, "a", read_data=lambda: sent),
            Sweep(100.0, 101.0, "b", errors=errors or {}, read_data=lambda: sent),
        )
        loads = LoadRuns(**{**runs, **changes})
        return Measured(self.snapshot, self.sides, loads, window, adaptive=False)


def _rated(fabric, rates):
    """The fabric with other rates, by the port of the switch: ``A/4``; None = not seen."""
    ends = {}
    for link in fabric.links:
        name = next((fabric.port_name(p) for p in link.key if fabric.port_name(p) in rates), None)
        if name is not None:
            ends |= dict.fromkeys(link.key, rates[name])
    nodes = []
    for node in fabric.nodes.values():
        ports = {
            number: replace(port, rate=ends[port.id]) if port.id in ends else port
            for number, port in node.ports.items()
        }
        nodes.append(replace(node, ports=ports))
    return Fabric.of(nodes)


def _kind(name):
    host = name.split(" - ")[1].split("/")[0]
    if host in SERVERS:
        return "storage", host
    return ("isl", None) if host == "B" else ("client", host.split(" ")[0])


@pytest.fixture(name="job_of")
def job_of_fixture(site_of, sides_of):
    """The class; call it with what is different."""
    return lambda **changes: Job(site_of, sides_of, **changes)


@pytest.fixture(name="job")
def job_fixture(job_of):
    return job_of()


def named(measured):
    return [answer.cause for answer in diagnose(measured.facts()).fits]


def said(measured, cause):
    return next(a for a in diagnose(measured.facts()).answers if a.cause is cause)


def test_a_job_as_ordered_has_no_cause(job_of):
    facts = job_of(columns=(25, 26, 25, 26)).measured().facts()

    assert {a.cause: a.state for a in diagnose(facts).answers} == dict.fromkeys(
        Cause, State.RULED_OUT
    )
    assert facts.cables == (
        CableShare(A13, "A - B", 2, 0.0, 0.66, 0.66),
        CableShare(A14, "A - B", 2, 0.0, 0.66, 0.66),
    )
    carried = dict.fromkeys(
        ("read", "rdma"), Carried(pytest.approx(7.5), pytest.approx(7.5 / 22.6))
    )
    carried["write"] = Carried(0.0, 0.0)
    assert facts.hosts[0] == HostCable("A/1 - c1/1 (4X HDR)", "c1", "client", False, carried)


# -- read-ahead ----------------------------------------------------------------------------------

UNFAIR = (6.2, 8.1, 8.1, 10.0)
"""Three clients share 22.6 GiB/s; the fourth has a cable to itself."""
COLLAPSED = (99.0, 44.0)


def test_a_client_that_gets_less_of_a_full_cable_than_the_others_reads_ahead_enough(job):
    measured = job.measured(
        job.watch(COLLAPSED, UNFAIR),
        filesystem_write=fs("write", 10, 10, 10, 10),
        filesystem_read=fs("read", *UNFAIR),
        rdma_read=rdma(*UNFAIR),
    )
    facts = measured.facts()

    assert (facts.slow_readers, facts.readers) == ((), 1)
    assert diagnose(facts).fits == (
        RuleAnswer(
            Cause.ROUTE_COLLAPSE,
            State.FITS,
            "reads fill A/13 - B/25 99 % while another cable of the group carries 44 %; the "
            "tables put 3 of the job's LIDs there; RDMA alone reproduces it (32.4 against 32.4 "
            "GiB/s)",
        ),
    )


@pytest.mark.parametrize(
    ("changes", "slow", "readers"),
    [
        ({}, ("c1",), 4),
        ({"hosts": {"c1": 95.0}}, (), 3),  # its own cable is full
        ({"hosts": {"s2": 95.0}}, (), 0),  # every client reads from s2
        ({"hosts": {"c1": None}}, None, 0),
        ({"hosts": {"c2": None}}, ("c1",), 3),
        ({"skip": (A13,)}, None, 0),
    ],
)
def test_a_client_is_compared_only_where_every_cable_on_its_way_was_seen_to_have_room(
    job, changes, slow, readers
):
    slow_c1 = fs("read", 4.0, 7.5, 7.5, 7.5)
    facts = job.measured(job.watch(**changes), filesystem_read=slow_c1).facts()

    assert (facts.slow_readers, facts.readers) == (slow, readers)


@pytest.mark.parametrize(
    "changes",
    [
        {"watches": {"filesystem-read": NO_WATCH}},
        {"filesystem_write": replace(fs("write", *EVEN), clients={}, recorded=gib(30))},
        {"filesystem_read": replace(fs("read", 4, 4, 4, 4), clients={}, recorded=gib(16))},
    ],
)
def test_clients_are_not_compared_where_no_single_one_was_measured(job, changes):
    facts = job.measured(**changes).facts()

    assert (facts.slow_readers, facts.readers) == (None, 0)


# -- collapse ------------------------------------------------------------------------------------


@pytest.mark.parametrize("skip", [(), (A14,)])
def test_all_of_the_job_on_one_of_two_cables_is_a_collapse(job_of, skip):
    """The other is only known to be idle where it was watched."""
    job = job_of(columns=(25, 25, 25, 25))
    rates = (5.5, 5.5, 5.5, 5.5)
    measured = job.measured(
        job.watch((97.0, 0.0), rates, skip=skip),
        filesystem_read=fs("read", *rates),
        rdma_read=rdma(*rates),
        watches={"filesystem-read": job.watch((97.0, 0.0), rates, skip=skip)},
    )
    fits = (
        "reads fill A/13 - B/25 97 % while another cable of the group carries 0 %; the tables put "
        "4 of the job's LIDs there; RDMA alone reproduces it (22.0 against 22.0 GiB/s)"
    )
    unknown = "A - B is full, but not all of its cables were read"

    assert said(measured, Cause.ROUTE_COLLAPSE) == RuleAnswer(
        Cause.ROUTE_COLLAPSE,
        State.UNKNOWN if skip else State.FITS,
        unknown if skip else fits,
    )
    assert named(measured) == ([] if skip else [Cause.ROUTE_COLLAPSE])


def test_cables_of_other_switches_with_the_same_names_are_not_beside_it(site_of, sides_of):
    """Factory names: a full cable of one pair of switches, an idle one of another."""
    job = Job(site_of, sides_of)
    nodes = [
        replace(node, name="MF0;switch") if node.is_switch else node
        for node in job.fabric.nodes.values()
    ]
    job.fabric = Fabric.of(nodes)
    job.snapshot = replace(job.snapshot, fabric_seen=job.fabric)
    (group,) = {
        cable.group
        for cable in Measured(
            job.snapshot, job.sides, LoadRuns(watches={"filesystem-read": _by_guid(job)})
        )
        .facts()
        .cables
    }

    assert group == "MF0;switch 0x0000000000005000 - MF0;switch 0x0000000000005001"


def _by_guid(job):
    """A watch of the cables between switches only."""
    found = []
    for link in job.fabric.links:
        if job.fabric.is_isl(link):
            a, b = (DirectedRate(p, "x", RateState.OK, gib(1), 4.0, None) for p in link.key)
            found.append(CableRate(link.key, "x", "isl", None, HDR, a, b))
    return CableWatch("filesystem-read", "read", LoadWindow(0.0, 9.0, 9, 0.1), tuple(found))


# -- links ---------------------------------------------------------------------------------------


def test_where_no_watch_was_made_nothing_is_known_of_the_links(job):
    runs = ("filesystem-write", "filesystem-read", "rdma-read")
    measured = job.measured(
        watches=dict.fromkeys(runs, NO_WATCH),
        balances=dict.fromkeys(runs, NO_WATCH),
        filesystem_read=fs("read", 4, 4, 4, 4),
    )
    states = {a.cause: a.state for a in diagnose(measured.facts()).answers}

    assert states == dict.fromkeys(Cause, State.UNKNOWN) | {
        Cause.SLOW_RECEIVER: State.RULED_OUT,
        Cause.SLOW_SENDER: State.RULED_OUT,
    }


def test_a_client_with_a_slower_link_by_design_is_not_what_makes_reads_slow(job_of):
    job = job_of(rates={"A/4": EDR})
    rates = (7.3, 7.3, 7.3, 5.0)
    measured = job.measured(
        job.watch((97.0, 22.0), rates, hosts={"c4": 44.0}),
        filesystem_write=fs("write", 10, 10, 10, 7),
        filesystem_read=fs("read", *rates),
        rdma_read=rdma(*rates),
    )

    assert named(measured) == [Cause.ROUTE_COLLAPSE]
    assert said(measured, Cause.DEGRADED_LINK) == RuleAnswer(
        Cause.DEGRADED_LINK,
        State.RULED_OUT,
        "A/4 - c4/1 (4X EDR) is slower than those of its side, but holds no host back",
    )


def test_a_cable_between_switches_that_is_slower_than_the_one_beside_it_is_named(job_of):
    job = job_of(rates={"A/13": EDR})
    rates = (3.7, 3.7, 3.7, 10.0)
    measured = job.measured(
        job.watch((98.0, 44.0), rates), filesystem_read=fs("read", *rates), rdma_read=rdma(*rates)
    )

    assert diagnose(measured.facts()).fits == (
        RuleAnswer(
            Cause.DEGRADED_LINK,
            State.FITS,
            "slower than the cables parallel to it: A/13 - B/25 (4X EDR)",
        ),
    )
    assert said(measured, Cause.ROUTE_COLLAPSE).why == (
        "A/13 - B/25 98 %: full, but slower than parallel ones, or with errors"
    )


def test_a_rate_that_was_not_seen_rules_no_degraded_link_out(job_of):
    unseen = job_of(rates={"A/4": None}).measured().cables
    slower = job_of(rates={"A/4": None, "A/13": EDR}).measured().cables

    assert (unseen.slow_links(), slower.slow_links()) == (None, ("A/13 - B/25 (4X EDR)",))


def test_a_cable_with_none_beside_it_is_not_judged(job):
    watch = job.watch(skip=(A14,))
    watched = dict.fromkeys(("filesystem-write", "filesystem-read", "rdma-read"), watch)

    assert job.measured(watches=watched).cables.lone_links() == ("A/13 - B/25 (4X HDR)",)
    assert job.measured().cables.lone_links() == ()


# -- errors --------------------------------------------------------------------------------------


def grown(job):
    guid = job.port("B/25").guid
    counters = {"SymbolErrorCounter": 500}
    return {
        job.port("B/25"): PortErrors(guid, guid, "B", 25, counters, frozenset(), None, 1, "row")
    }


@pytest.mark.parametrize("last", [7.5, None])
def test_errors_that_grew_are_told_where_others_could_not_be_judged(job, last):
    """A client was lost, so what did not grow on the other cables means nothing."""
    measured = job.measured(errors=grown(job), filesystem_read=fs("read", 7.5, 7.5, 7.5, last))

    assert said(measured, Cause.BAD_CABLE) == RuleAnswer(
        Cause.BAD_CABLE,
        State.FITS,
        "errors grew under load on B/25 SymbolErrorCounter +500 in 99 s",
    )


def test_no_error_is_known_of_where_a_cable_could_not_be_judged(job):
    assert job.measured().cables.error_links() == ()
    assert (
        job.measured(filesystem_read=fs("read", 7.5, 7.5, 7.5, None)).cables.error_links() is None
    )


# -- bytes ---------------------------------------------------------------------------------------


def test_what_more_than_reached_the_clients_was_sent_by_others(job):
    """The clients received 4 x 7.5 GiB/s, and more than that crossed the cables."""
    facts = job.measured(job.watch((97.0, 90.0))).facts()

    assert facts.excess == (Excess("A - B", pytest.approx(42.262), pytest.approx(30)),)
    assert job.measured(job.watch((99.0, 44.0))).facts().excess == ()
    assert job.measured(job.watch((97.0, 90.0), hosts={"c1": None})).facts().excess is None


# -- hosts with several ports --------------------------------------------------------------------


def test_a_host_with_several_ports_has_no_forecast(job_of):
    measured = job_of(ports=2).measured()

    with pytest.raises(NotSeenError) as raised:
        measured.forecast()

    assert raised.value.part == NotSeen(
        "the port of each host",
        "forecast models one port per host; c1 has 2 on this fabric: c1 HCA-1/1, c1 HCA-2/1",
        "name the port with ib_name (the port's GUID or LID) in the inventory",
    )


def test_of_a_host_with_several_ports_no_fair_share_is_claimed(job_of):
    facts = job_of(ports=2).measured(rdma_read=rdma(2, 7.5, 7.5, 7.5)).facts()
    why = "the way of each RDMA pair could not be seen: c1 has several ports on this fabric"

    assert (facts.slow_senders, facts.slow_receivers) == (None, None)
    assert facts.unjudged == {"client": why, "storage": why}
    assert (facts.permitted_gib, facts.slow_readers) == (None, None)


def test_a_host_whose_port_is_named_has_a_forecast(job_of, sides_of):
    """As ib_name, ib_hca and ib_port do."""
    job = job_of(ports=2)
    lids = [str(1 + 2 * number) for number in range(4)]
    job.sides = sides_of(job.snapshot, lids, SERVERS)
    wrote = {lid: ClientRate(lid, 2**36, 10.0, gib(5)) for lid in lids}
    run = FilesystemRun("write", "fio", wrote, None, None)

    assert job.measured(filesystem_write=run).forecast().aggregate.gib == pytest.approx(20)

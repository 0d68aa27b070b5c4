"""Kinds judged under load: whole verdicts from runs made by hand, without a lab."""

import pytest

from ibaccept.errors import InputError
from ibaccept.fabric.model import Rate
from ibaccept.fabric.units import Bandwidth
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
from ibaccept.run.loads import Loaded, LoadLook
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

GIB = 2**30
HDR = Rate.parse("4X HDR")
CLIENTS, STORAGE = ("c1", "c2", "c3", "c4"), ("s1", "s2")
RUNS = ("filesystem-write", "filesystem-read", "rdma-read")
HUNG = CaptureRef("captures/0231-fio.txt", None, "")
LOST = NotSeen("the rate of c4", "read: c4: fio did not end in time and was stopped", "", (HUNG,))
NO_RUN = NotSeen("the run", "ib_write_bw is missing on c1", "install perftest", (HUNG,))
NO_FABRIC = NotSeen("the fabric", "ibnetdiscover is missing", "", (HUNG,))
STARTED = TimeSpread(0.1, 0.01, "c1", "c4")
EQUAL = ByteBalance(10.0, 10.0, "bytes", 0.02, None)


def gib(value):
    return Bandwidth.from_gib(value)


def fs(direction, rate=7.0, **changes):
    """A run of all four clients, at 7 GiB/s each but for those named."""
    clients = {}
    for number, name in enumerate(CLIENTS):
        own = changes.get(name, rate)
        line = CaptureRef(f"captures/02{number:02}-fio.txt", 1, name)
        if not isinstance(own, NotSeen):
            own = ClientRate(name, 70 * GIB, 10.0, gib(own), line)
        clients[name] = own
    data = DataSet(70 * GIB, 4, 16 * GIB, 32 * GIB)
    return FilesystemRun(direction, "fio", clients, data, STARTED, 10.0)


def rdma(rate=7.0):
    """One round, a pair a client."""
    pairs = {}
    for number, name in enumerate(CLIENTS):
        server = STORAGE[number % 2]
        pair = Pair(name, server, server, name, 18600 + number)
        line = CaptureRef(f"captures/03{number:02}-ib_write_bw.txt", 26, name)
        pairs[pair] = PairRate(pair, gib(rate), 1000, 4096, line)
    return (RdmaRun("read", "ib_write_bw", pairs, STARTED, 12.0),)


def fabric(site_of):
    """A with c1 to c4, B with s1 and s2, A/13 - B/25 and A/14 - B/26, two clients each."""
    site = site_of("A", "B")
    site.cable("A", 13, "B", 25)
    site.cable("A", 14, "B", 26)
    for number, name in enumerate(CLIENTS, 1):
        site.host(name, "A", number)
    for number, name in enumerate(STORAGE, 1):
        site.host(name, "B", number)
    site.route()
    return site


def watch(snapshot, run, shares):
    """Both cables at so many per cent toward the clients, or why one was not read."""
    cables = []
    links = [link for link in snapshot.fabric.links if snapshot.fabric.is_isl(link)]
    for link, share in zip(links, shares, strict=True):
        ends = {snapshot.fabric.port_name(end.id): end.id for end in link.ends}
        (near, a), (name, b) = sorted(ends.items())
        idle = DirectedRate(a, near, RateState.OK, gib(0.0), 0.0, None)
        busy = DirectedRate(b, name, RateState.UNREAD, None, None, None, str(share), 2)
        if not isinstance(share, str):
            carried = gib(0.226 * share)
            busy = DirectedRate(b, name, RateState.OK, carried, share, None, flows=2)
        label = snapshot.fabric.link_name(link)
        cables.append(CableRate(link.key, label, "isl", None, HDR, busy, idle))
    return CableWatch(run, "read", LoadWindow(100.0, 110.0, 10, 0.2), tuple(cables))


def loaded(shares=(70.0, 70.0), adaptive=None, without=(), **changes):
    """The load runs as ordered but for the changes.

    Args:
        shares: what the cables carried in every run.
        adaptive: what is known of adaptive routing.
        without: runs whose cables were not watched.
        changes: of the load runs.
    """

    def build(site_of, sides_of):
        snapshot = fabric(site_of).seen()
        watches = {run: watch(snapshot, run, shares) for run in RUNS if run not in without}
        ceiling = LinkCeiling(HDR, Ceiling(gib(22.6), "configured"), "the site says so")
        runs = {
            "filesystem_write": fs("write"),
            "filesystem_read": fs("read"),
            "rdma_read": rdma(),
            "watches": watches,
            "balances": dict.fromkeys(RUNS, EQUAL),
            "served": dict.fromkeys(RUNS, EQUAL),
            "ceilings": {HDR: ceiling},
            **changes,
        }
        sides = sides_of(snapshot, CLIENTS, STORAGE)
        sweeps = snapshot.sweeps
        made = Loaded(LoadRuns(**runs), sweeps[0.0], sweeps[60.0])
        return look(snapshot, lambda _snapshot: sides, lambda: made, adaptive)

    return build


def look(snapshot, sides, make, adaptive=None):
    return {"snapshot": snapshot, "loads": LoadLook(snapshot, sides, make, adaptive)}


def no_fabric(site_of, _sides_of):
    return look(fabric(site_of).seen(fabric_seen=NO_FABRIC), lambda seen: seen.fabric, None)


def no_load(site_of, sides_of):
    snapshot = fabric(site_of).seen()
    sides = sides_of(snapshot, CLIENTS, STORAGE)

    def make():
        raise InputError("workloads: filesystem: no folder on c1")

    return look(snapshot, lambda _snapshot: sides, make)


def nothing(expected, what="the fabric", found="ibnetdiscover is missing"):
    return (
        "error",
        f"{what} could not be seen, so nothing was judged (expected: {expected})",
        "0 of 0",
        [("error", what, expected, found)],
    )


def outline(outcome, sentence, coverage, *findings):
    return outcome, sentence, coverage, list(findings)


ABOUT = "what the entry is about"
AGAINST = "{kind: filesystem, read_within: 5%, of: write}"
BELOW = "reads at most 5% below writes"
FLOORS = (
    "{kind: filesystem, read_at_least: 28 GiB/s, write_at_least: 28 GiB/s, "
    "client_at_least: 7 GiB/s}"
)
READ, WRITE = "read at least 28 GiB/s", "write at least 28 GiB/s"
EACH_READS, EACH_WRITES = (
    "each client reads at least 7 GiB/s",
    "each client writes at least 7 GiB/s",
)
RATES = "rates of the file system"

TABLE = {
    "filesystem: reads as fast as writes": (
        loaded(),
        AGAINST,
        outline("pass", f"1 of 1 {RATES} are as expected ({BELOW})", "1 of 1"),
    ),
    "filesystem: reads a little slower": (
        loaded(filesystem_read=fs("read", 6.65)),
        AGAINST,
        outline("pass", f"1 of 1 {RATES} are as expected ({BELOW})", "1 of 1"),
    ),
    "filesystem: reads too slow": (
        loaded(filesystem_read=fs("read", 6.6)),
        AGAINST,
        outline(
            "fail",
            f"1 of 1 {RATES} are not as expected ({BELOW})",
            "1 of 1",
            (
                "fail",
                "read against write",
                BELOW,
                "read 26.4 GiB/s, write 28.0 GiB/s: reads are 6 % below writes",
            ),
        ),
    ),
    "filesystem: every floor": (
        loaded(),
        FLOORS,
        outline(
            "pass",
            f"4 of 4 {RATES} are as expected ({READ}, {WRITE}, {EACH_READS}, {EACH_WRITES})",
            "4 of 4",
        ),
    ),
    "filesystem: below its floors in one direction": (
        loaded(filesystem_read=fs("read", 6.9)),
        FLOORS,
        outline(
            "fail",
            f"2 of 4 {RATES} are not as expected ({READ}; {EACH_READS})",
            "4 of 4",
            ("fail", "read rate", READ, "read 27.6 GiB/s"),
            ("fail", "slowest client, read", EACH_READS, "c1 6.9 GiB/s"),
        ),
    ),
    "filesystem: one client is too slow": (
        loaded(filesystem_write=fs("write", 8.0, c3=6.0)),
        FLOORS,
        outline(
            "fail",
            f"1 of 4 {RATES} are not as expected ({EACH_WRITES})",
            "4 of 4",
            ("fail", "slowest client, write", EACH_WRITES, "c3 6.0 GiB/s"),
        ),
    ),
    "filesystem: a client was not measured": (
        loaded(filesystem_read=fs("read", c4=LOST)),
        AGAINST,
        outline(
            "error",
            f"1 of 1 {RATES} could not be judged (expected: {BELOW})",
            "0 of 1",
            ("error", "read against write", BELOW, LOST.reason),
        ),
    ),
    "filesystem: the write run was not asked for": (
        loaded(filesystem_write=None),
        AGAINST,
        outline(
            "error",
            f"1 of 1 {RATES} could not be judged (expected: {BELOW})",
            "0 of 1",
            ("error", "read against write", BELOW, "it was not asked for in workloads:"),
        ),
    ),
    "filesystem: no load could be made": (
        no_load,
        AGAINST,
        nothing(BELOW, ABOUT, "workloads: filesystem: no folder on c1"),
    ),
    "filesystem: nothing was seen": (no_fabric, AGAINST, nothing(BELOW)),
}


def ceiling(relation, of):
    return f"{{kind: rdma-ceiling, relation: {relation}, of: filesystem-{of}, within: 5%}}"


LEAST = "at least the file system's write, less 5%"
SAME = "the file system's read within 5%"

TABLE |= {
    "rdma: carries what clients write": (
        loaded(),
        ceiling("at-least", "write"),
        outline("pass", f"1 of 1 RDMA runs carry {LEAST}", "1 of 1"),
    ),
    "rdma: carries less": (
        loaded(rdma_read=rdma(6.0)),
        ceiling("at-least", "write"),
        outline(
            "fail",
            f"1 of 1 RDMA runs do not carry {LEAST}",
            "1 of 1",
            (
                "fail",
                "RDMA alone",
                LEAST,
                "24.0 GiB/s in the read direction, the file system writes 28.0 GiB/s: the fabric "
                "cannot carry to the clients what they write",
            ),
        ),
    ),
    "rdma: matches": (
        loaded(),
        ceiling("matches", "read"),
        outline("pass", f"1 of 1 RDMA runs carry {SAME}", "1 of 1"),
    ),
    "rdma: carries more than is read": (
        loaded(rdma_read=rdma(8.0)),
        ceiling("matches", "read"),
        outline(
            "fail",
            f"1 of 1 RDMA runs do not carry {SAME}",
            "1 of 1",
            (
                "fail",
                "RDMA alone",
                SAME,
                "32.0 GiB/s, the file system reads 28.0 GiB/s: the limit is above the network",
            ),
        ),
    ),
    "rdma: no run": (
        loaded(rdma_read=NO_RUN),
        ceiling("matches", "read"),
        outline(
            "error",
            f"1 of 1 RDMA runs could not be judged (expected: {SAME})",
            "0 of 1",
            ("error", "RDMA alone", SAME, NO_RUN.reason),
        ),
    ),
    "rdma: not asked for": (
        loaded(rdma_read=None),
        ceiling("at-least", "write"),
        outline(
            "error",
            f"1 of 1 RDMA runs could not be judged (expected: {LEAST})",
            "0 of 1",
            ("error", "RDMA alone", LEAST, "it was not asked for in workloads:"),
        ),
    ),
    "rdma: nothing was seen": (no_fabric, ceiling("matches", "read"), nothing(SAME)),
}

FORECAST = "{kind: forecast, of: filesystem-read, within: 5%}"

AS_FORECAST = "the forecast within 5%"
HELD = "runs held against their forecast"

TABLE |= {
    "forecast: as forecast": (
        loaded(),
        FORECAST,
        outline("pass", f"1 of 1 {HELD} are within 5% of it", "1 of 1"),
    ),
    "forecast: slower": (
        loaded(filesystem_read=fs("read", 5.0)),
        FORECAST,
        outline(
            "fail",
            f"1 of 1 {HELD} are not within 5% of it",
            "1 of 1",
            (
                "fail",
                "reads as forecast",
                "28.0 (in lock-step) to 28.0 GiB/s (max-min fair) within 5% (4 x 7.0 = 28.0 GiB/s)",
                "measured 20.0 GiB/s, 28.6 % below lock-step (28.0)",
            ),
        ),
    ),
    "forecast: adaptive routing": (
        loaded(adaptive=True),
        FORECAST,
        outline(
            "error",
            f"1 of 1 {HELD} could not be judged (expected: {AS_FORECAST})",
            "0 of 1",
            (
                "error",
                "reads as forecast",
                AS_FORECAST,
                "adaptive routing is on: the tables are only the fallback, and no forecast of "
                "theirs holds",
            ),
        ),
    ),
    "forecast: a client was not measured": (
        loaded(filesystem_write=fs("write", c4=LOST)),
        FORECAST,
        outline(
            "error",
            f"1 of 1 {HELD} could not be judged (expected: {AS_FORECAST})",
            "0 of 1",
            ("error", "reads as forecast", AS_FORECAST, LOST.reason),
        ),
    ),
    "forecast: nothing was seen": (no_fabric, FORECAST, nothing(AS_FORECAST)),
}

HOT = "{kind: cable-load, during: filesystem-read, at_most: 80%, while_under: 50%}"
ORDER = "no cable above 80% while another of its group is under 50%"
GROUPS = "groups of cables under filesystem-read"
GROUP = "A - B"

TABLE |= {
    "cables: evenly used": (
        loaded(),
        HOT,
        outline("pass", f"1 of 1 {GROUPS} have {ORDER}", "1 of 1"),
    ),
    "cables: both full": (
        loaded((93.0, 91.0)),
        HOT,
        outline("pass", f"1 of 1 {GROUPS} have {ORDER}", "1 of 1"),
    ),
    "cables: one full beside an idle one": (
        loaded((93.0, 31.0)),
        HOT,
        outline(
            "fail",
            f"1 of 1 {GROUPS} have a cable above 80% while another is under 50%",
            "1 of 1",
            ("fail", GROUP, ORDER, "A/13 - B/25 93 % while A/14 - B/26 31 %"),
        ),
    ),
    "cables: the other way round": (
        loaded((31.0, 93.0)),
        HOT,
        outline(
            "fail",
            f"1 of 1 {GROUPS} have a cable above 80% while another is under 50%",
            "1 of 1",
            ("fail", GROUP, ORDER, "A/14 - B/26 93 % while A/13 - B/25 31 %"),
        ),
    ),
    "cables: one was not read": (
        loaded((93.0, "B/26 PortXmitData was not read")),
        HOT,
        outline(
            "error",
            f"1 of 1 {GROUPS} could not be judged (expected: {ORDER})",
            "0 of 1",
            ("error", GROUP, ORDER, "B/26 PortXmitData was not read"),
        ),
    ),
    "cables: not watched": (
        loaded(without=("filesystem-read",)),
        HOT,
        outline(
            "error",
            f"1 of 1 {GROUPS} could not be judged (expected: {ORDER})",
            "0 of 1",
            ("error", "cables, filesystem-read", ORDER, "that run was not made"),
        ),
    ),
    "cables: under a run that was not whole": (
        loaded(filesystem_read=fs("read", c4=LOST)),
        HOT,
        outline(
            "error",
            f"1 of 1 {GROUPS} could not be judged (expected: {ORDER})",
            "0 of 1",
            ("error", "cables, filesystem-read", ORDER, LOST.reason),
        ),
    ),
    "cables: none is selected": (
        loaded(),
        HOT.replace("}", ", links: {names: 'C/*'}}"),
        outline(
            "error", f"no {GROUPS} were seen, so nothing was judged (expected: {ORDER})", "0 of 0"
        ),
    ),
    "cables: nothing was seen": (no_fabric, HOT, nothing(ORDER)),
}

ZERO = "growth of at most 0 of each error counter"
LINKS = "inter-switch links"
UNDER_LOAD = "{kind: error-counters, links: isl, window: load}"

TABLE |= {
    "counters: none grew under load": (
        loaded(),
        UNDER_LOAD,
        outline(
            "pass",
            f"2 of 2 {LINKS} have no error counter beyond its limit in the load runs",
            "2 of 2",
        ),
    ),
    "counters: a run was not whole": (
        loaded(filesystem_read=fs("read", c4=LOST)),
        UNDER_LOAD,
        outline(
            "error",
            f"2 of 2 {LINKS} could not be judged (expected: {ZERO})",
            "0 of 2",
            *(
                ("error", name, ZERO, f"not all of the ordered load was there: {LOST.reason}")
                for name in ("A/13 - B/25", "A/14 - B/26")
            ),
        ),
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_whole_verdict(check_row, name):
    check_row(TABLE[name])


def test_an_error_cites_what_shows_it_and_nothing_else(verdict_of):
    """The line of the tool that hung is the proof; lines of the runs that ended are not."""
    hung = loaded(filesystem_read=fs("read", c4=LOST))
    cited = {
        entry: {line for finding in verdict_of((hung, entry)).findings for line in finding.captures}
        for entry in (AGAINST, ceiling("matches", "read"), FORECAST, HOT, UNDER_LOAD)
    }

    assert cited == {entry: {HUNG} for entry in cited}

"""The parts of load runs that need no host: pairs, windows, rates, balance, clocks, ceilings."""

import pytest

from ibaccept.fabric.model import Guid, PortId, Rate
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.cables import Query
from ibaccept.load.ceiling import ceilings_of
from ibaccept.load.clocks import Clocks
from ibaccept.load.filesystem import FilesystemRunner
from ibaccept.load.rates import Growth, growth
from ibaccept.load.rdma import pairs_of
from ibaccept.load.result import (
    ByteBalance,
    DataSet,
    LoadWindow,
    Pair,
    PairRate,
    RateState,
    RdmaRun,
    TimeSpread,
)
from ibaccept.load.runs import balance_of
from ibaccept.load.watch import Sample, Watch, WatchReading
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import CommandResult, Host
from ibaccept.transport.captures import CapturedResult
from ibaccept.verdict.absence import NotSeen

PORT = PortId(Guid(2), 25)
FULL32, FULL64 = (1 << 32) - 1, (1 << 64) - 1


def test_pairs_go_round_the_storage_each_with_its_own_port():
    assert pairs_of(["a", "b", "c"], ["s", "t"], "read", "ib_write_bw") == (
        Pair("a", "s", "s", "a", 18600), Pair("b", "t", "t", "b", 18601),
        Pair("c", "s", "s", "c", 18602),
    )  # fmt: skip
    assert pairs_of(["a", "b", "c"], ["s", "t"], "write", "ib_write_bw", shift=1) == (
        Pair("a", "t", "a", "t", 18600), Pair("b", "s", "b", "s", 18601),
        Pair("c", "t", "c", "t", 18602),
    )  # fmt: skip
    # a reader is the tool's client, so the sender runs the server
    assert pairs_of(["a"], ["s"], "read", "ib_read_bw") == (Pair("a", "s", "s", "s", 18600),)
    assert pairs_of(["a"], ["s"], "write", "ib_read_bw") == (Pair("a", "s", "a", "a", 18600),)


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
            Growth(RateState.CLEARED, why="B/25 PortXmitData fell from 100 to 50: somebody cleared "
                   "it during the run"),
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


def test_bytes_on_cables_against_the_benchmark():
    assert balance_of(102.9, 100.0, "bytes", 0.0) == ByteBalance(102.9, 100.0, "bytes", 0.0, None)
    assert balance_of(103.1, 100.0, "bytes", 0.0).explained == "other-traffic"
    assert balance_of(96.9, 100.0, "bytes/s", 0.0).explained == "cached"
    assert balance_of(96.9, 100.0, "bytes/s", 0.05).explained is None
    assert LoadWindow(10.0, 14.0, 3, 0.2).uncertain_share == pytest.approx(0.05)


def rated(name, gbps):
    pair = Pair(name, "s", "s", name, 18600)
    return pair, PairRate(pair, Bandwidth.from_gbps(gbps), 9, 4096, ())


def test_an_aggregate_needs_every_pair():
    whole = RdmaRun("read", "ib_write_bw", dict([rated("a", 31.4), rated("b", 63.6)]), None, 12.0)
    part = RdmaRun(
        "read",
        "ib_write_bw",
        dict([rated("a", 31.4)]) | {Pair("b", "s", "s", "b", 18601): NotSeen("it", "gone")},
        None,
        12.0,
    )

    assert whole.total == Bandwidth(31.4e9 / 8 + 63.6e9 / 8)
    assert (part.total, part.unseen) == (None, (NotSeen("it", "gone"),))
    assert RdmaRun("read", "ib_write_bw", {}, None, 12.0).total is None


GIB = 1 << 30


@pytest.mark.parametrize(
    ("data", "reason", "hint"),
    [
        (
            DataSet(63 * GIB, 12, 32 * GIB, 8 * GIB),
            "data set: 63.0 GiB are 1.97 times a client's memory (32.0 GiB): caches can hold it, "
            "so its rate would be theirs",
            "set size_per_client to 64 GiB or more, or say cached: allowed",
        ),
        (
            DataSet(64 * GIB, 12, 32 * GIB, 512 * GIB),
            "data set: 768.0 GiB are 1.50 times the storage servers' memory together (512.0 GiB): "
            "caches can hold it, so its rate would be theirs",
            "set size_per_client to 86 GiB or more, or say cached: allowed",
        ),
    ],
)
def test_a_data_set_below_twice_the_cache_is_refused(data, reason, hint):
    assert FilesystemRunner._large_enough(data) == NotSeen(
        "the rate of the file system", reason, hint
    )


def test_a_large_data_set_is_taken():
    data = DataSet(64 * GIB, 12, 32 * GIB, 384 * GIB)

    assert FilesystemRunner._large_enough(data) is data
    assert (data.client_ratio, data.storage_ratio) == (2.0, 2.0)


def captured(host, start, end, sent, received):
    return CapturedResult(
        host, ("date",), b"", b"", 0, start=start, end=end, sent=sent, received=received
    )


def test_starts_are_compared_by_clocks_set_right():
    clocks = Clocks()
    # a is right within 0.1 s, b is 37 s ahead within 0.2 s
    clocks.note(captured("a", 100.1, 100.1, 100.0, 100.2))
    clocks.note(captured("b", 137.2, 137.2, 100.0, 100.4))
    clocks.note(CommandResult("c", ("date",), b"", b"", 0, start=1.0, end=1.0))

    spread = clocks.spread({"a#0": 200.0, "b#1": 237.5})
    (apart,) = clocks.apart(5.0)[:1]

    assert spread == TimeSpread(pytest.approx(0.5), pytest.approx(0.4), "a", "b")
    assert clocks.ahead("c") is None
    assert clocks.spread({}) is None
    assert apart.reason.startswith(
        ("b: its clock is 37.0 s ahead", "a: its clock is 37.0 s behind")
    )


def test_ceilings_say_how_they_are_known(site):
    hdr = Rate.parse("4X HDR")
    cables = [type("C", (), {"link": link})() for link in site.snapshot.fabric.links]
    bad = NotSeen("x", "client: stor-1: ib_write_bw is not installed there")

    def how(given, found):
        (ceiling,) = ceilings_of(cables, given, lambda _rate: found).values()
        return ceiling.ceiling.how, ceiling.how

    assert how({hdr: Bandwidth.from_gib(22.6)}, bad) == (
        "configured", "the expectations file says so",
    )  # fmt: skip
    assert how("measure", rated("client-1", 194.0)[1]) == (
        "measured", "measured on the idle pair s to client-1",
    )  # fmt: skip
    assert how("measure", bad) == (
        "derived",
        "derived: 98.4% of the data rate 200 Gb/s; no idle pair could be measured: client: stor-1: "
        "ib_write_bw is not installed there",
    )
    assert how({}, bad) == (
        "derived", "derived: 98.4% of the data rate 200 Gb/s; no figure is given for it",
    )  # fmt: skip


BLOCK = """\
# Port extended counters: Lid 2 port {port} (CapMask: 0x1300 CapMask2: 0x0000000)
PortSelect:......................{port}
CounterSelect:...................0x0000
PortXmitData:....................{value}
PortRcvData:.....................1
PortXmitPkts:....................1
PortRcvPkts:.....................1
PortUnicastXmitPkts:.............0
PortUnicastRcvPkts:..............0
PortMulticastXmitPkts:...........0
PortMulticastRcvPkts:............0
"""
FAILED = "/usr/sbin/perfquery: iberror: failed: perfextquery\n"


class Tool:
    """Answers as perfquery does where port 14 of LID 2 does not answer; LID 3 has no such port."""

    def __init__(self):
        self.asked = []

    def run(self, host, argv, *, timeout, root, limit=0):
        del timeout, limit
        each = argv[0] == "sh"
        assert root is not each
        if each:
            _sh, _c, _script, _name, *words = argv
            self.asked.append(" ".join(words))
            text = ""
            for number, lid in enumerate(words[-1].split(",")):
                told, code = self.switch(int(lid), "-x" in words)
                start = 9.0 + number / 10
                text += (
                    f"# ibaccept begin {lid} {start:.3f}\n{told}"
                    f"# ibaccept end {lid} {code} {start + 0.1:.3f}\n"
                )
            return CommandResult(host.name, argv, text.encode(), b"", 0, start=8.5, end=9.9)
        self.asked.append(" ".join(argv[1:]))
        told, code = self.port(int(argv[-2]), int(argv[-1]), "-x" in argv)
        return CommandResult(host.name, argv, told.encode(), b"", code, start=9.0, end=9.1)

    def switch(self, lid, extended):
        text = ""
        for port in (13, 14, 15):
            told, code = self.port(lid, port, extended)
            text += told
            if code:
                return text, code
        return text, 0

    def port(self, lid, port, extended):
        if not extended or (lid, port) == (2, 14):
            return FAILED, 255
        return BLOCK.format(port=port, value=port * 100).replace("Lid 2", f"Lid {lid}"), 0


def test_one_port_that_does_not_answer_does_not_hide_the_others():
    two, three = (
        {number: PortId(Guid(lid), number) for number in numbers}
        for lid, numbers in ((2, (13, 14, 15)), (3, (13, 15)))
    )
    tool = Tool()
    watch = Watch(tool, InventoryHost("obs", Host("obs")), [Query(2, two), Query(3, three)])

    watch.first()
    taken = watch.sample()

    assert {
        (port.guid, port.port): reading.value
        for (port, name), reading in taken.readings.items()
        if name == "PortXmitData"
    } == {(2, 13): 1300, (2, 15): 1500, (3, 13): 1300, (3, 15): 1500}
    assert list(taken.why) == [two[14]]
    assert watch.problems["LID 2 port 14"].what == "the load of cables at LID 2 port 14"
    assert "perfquery: obs: perfquery -x 2 14 ended with exit code 255" in taken.why[two[14]]
    assert watch.problems["LID 2"].reason == (
        "perfquery: obs: LID 2: exit code 255: /usr/sbin/perfquery: iberror: failed: perfextquery"
    )
    # a session for each of the two, then port by port where one does not answer
    assert sorted(line for line in tool.asked[:2]) == [" -x   2", " -x   3"]
    assert {"-x 2 13", "-x 2 14", "-x 2 15"} <= set(tool.asked)
    assert not any(line.startswith("-x 3 ") for line in tool.asked)
    # each reading has the time of its own switch, and the line it stands in
    reading = taken.readings[three[13], "PortXmitData"]
    assert (reading.time, reading.line) == (pytest.approx(9.05), 5)


def test_the_switches_are_shared_among_a_few_sessions():
    queries = [Query(lid, {13: PortId(Guid(lid), 13)}) for lid in range(3, 13)]
    host = Query(40, {1: PortId(Guid(40), 1)}, is_switch=False)
    tool = Tool()
    observer = InventoryHost("obs", Host("obs"), ib_hca=("mlx5_1",), ib_port=2)
    watch = Watch(tool, observer, [*queries, host])

    taken = watch.sample()

    assert sorted(tool.asked) == [
        " -x mlx5_1 2 3,7,11", " -x mlx5_1 2 4,8,12", " -x mlx5_1 2 5,9", " -x mlx5_1 2 6,10",
        "-C mlx5_1 -P 2 -x 40 1",
    ]  # fmt: skip
    assert {port.guid for port, _ in taken.readings} == {*range(3, 13), 40}
    assert (taken.longest, taken.why) == (pytest.approx(0.1), {})


def test_with_sudo_each_perfquery_is_run_by_it():
    tool = Tool()
    observer = InventoryHost("obs", Host("obs", sudo=True))
    Watch(tool, observer, [Query(3, {13: PortId(Guid(3), 13)})]).sample()

    assert tool.asked == ["sudo -n -- -x   3"]


def test_a_sample_before_the_last_start_is_not_steady():
    clocks = Clocks()
    clocks.note(captured("obs", 100.0, 100.0, 100.0, 100.0))
    clocks.note(captured("late", 137.0, 137.0, 100.0, 100.0))  # 37 s ahead
    watch = Watch(Tool(), InventoryHost("obs", Host("obs")), [], clocks)
    watch.samples = [Sample({}, at, at, 0.0, {}) for at in (200.0, 202.0, 204.0, 206.0)]
    watch.steady = [1, 2, 3]

    watch.not_before({"late#0": 240.0, "obs#1": 201.0})
    seen = list(watch.steady)
    watch.not_before({})

    assert (seen, watch.steady) == ([2, 3], [])

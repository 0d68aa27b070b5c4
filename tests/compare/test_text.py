"""The comparison on a terminal, whole; harmful names are spelt out."""

from ibaccept.compare.comparison import Comparison, RunSide
from ibaccept.compare.findings import Change, EntryChange, Status
from ibaccept.compare.growth import CounterGrowth, GrowthBetween
from ibaccept.compare.hardware import HardwareChange, Moved
from ibaccept.compare.rates import RateChange
from ibaccept.compare.routes import RouteChanges, SwitchRoutes
from ibaccept.compare.text import comparison_lines, summary
from ibaccept.verdict.absence import NotSeen

OLD = RunSide("reports/1", "hall-3", "2026-11-29T10:00:00Z", "ACCEPTED")
NEW = RunSide("reports/2", "hall-3", "2026-11-30T10:00:00Z", "NOT ACCEPTED")
FULL = Comparison(
    1,
    OLD,
    NEW,
    ("other observers: a and b",),
    (
        Change(Status.NEW, "rate", "link-rate", "a/1 - b/1", "", "fail: 1X HDR"),
        Change(Status.UNJUDGED, "even", "lid-spread", "", "fail: 6", "", "the job is another"),
        Change(
            *(Status.OPEN, "cabled", "cabling", "a/2 - b/2", "fail: down", "fail: 1X"),
            waived="RMA-1: on order",
        ),
    ),
    (EntryChange("rate", "pass", "fail"), EntryChange("load", "pass", "not run", "needs --load")),
    (
        HardwareChange(Moved.CABLE_MOVED, "a/4 - b/3", "a/3 - b/3", "a/4 - b/3"),
        HardwareChange(Moved.CABLE_GONE, "a/9 - b/9", was="a/9 - b/9"),
        HardwareChange(Moved.REPLACED, "n1\x1b[2J", "GUID 0x1", "GUID 0x2"),
    ),
    GrowthBetween(
        2.0,
        (
            CounterGrowth("a/1", "SymbolErrorCounter", 10, 1030, "ok", 1020, 510.0),
            CounterGrowth("a/2", "LinkDownedCounter", 1, 255, "saturated", 254, None),
            CounterGrowth("a/3", "PortRcvErrors", 9, 2, "cleared", None, None),
        ),
        ("a/5 PortRcvErrors",),
    ),
    RouteChanges((SwitchRoutes("a", 3, 40),), 3, 80, 2),
    (
        RateChange("filesystem-read", 51.1, 88.9, 73.97),
        RateChange("rdma-read", 51.0, None, None, "x"),
    ),
)
EMPTY = Comparison(1, OLD, NEW, (), (), (), (), GrowthBetween(1.0), RouteChanges((), 0, 80, 0), ())


def test_all_of_it():
    assert comparison_lines(FULL) == [
        "old: reports/1 (hall-3, 2026-11-29T10:00:00Z, ACCEPTED)",
        "new: reports/2 (hall-3, 2026-11-30T10:00:00Z, NOT ACCEPTED)",
        "warning: other observers: a and b",
        "new: 1",
        "  rate: a/1 - b/1",
        "    fail: 1X HDR",
        "no longer judged: 1",
        "  even: the whole entry",
        "    fail: 6",
        "    because the job is another",
        "still open: 1",
        "  cabled: a/2 - b/2",
        "    was  fail: down",
        "    now  fail: 1X",
        "    waived RMA-1: on order",
        "entries with another outcome",
        "  pass -> fail: rate",
        "  pass -> not run (needs --load): load",
        "hardware",
        "  cable moved: a/3 - b/3 -> a/4 - b/3",
        "  cable gone a/9 - b/9",
        "  replaced n1\\x1b[2J: GUID 0x1 -> GUID 0x2",
        "error counters between the runs",
        "  a/1 SymbolErrorCounter 10 then 1,030 (+1,020, 510.0 a day)",
        "  a/2 LinkDownedCounter 1 then 255 (+254 or more, saturated)",
        "  a/3 PortRcvErrors 9 then 2: cleared in between, so its growth is not known",
        "  not read in one of the runs: a/5 PortRcvErrors",
        "routes",
        "  3 of 80 table entries send elsewhere now, on 1 switches",
        "    a: 3 of 40",
        "  2 entries are known in one run only and are not compared",
        "load runs",
        "  filesystem-read: 51.1 GiB/s -> 88.9 GiB/s (+74.0 %)",
        "  rdma-read: 51.0 GiB/s -> not measured: x",
        "1 new, 1 no longer judged, 1 still open, 0 fixed: worse than the old run",
    ]


def test_nothing_differs():
    assert comparison_lines(EMPTY) == [
        "old: reports/1 (hall-3, 2026-11-29T10:00:00Z, ACCEPTED)",
        "new: reports/2 (hall-3, 2026-11-30T10:00:00Z, NOT ACCEPTED)",
        "0 new, 0 no longer judged, 0 still open, 0 fixed: nothing new",
    ]


def test_what_was_not_seen_is_said():
    part = NotSeen("x", "mgmt01: it was silent")
    blind = Comparison(1, OLD, NEW, (), FULL.findings[1:2], (), part, part, part, part)

    assert comparison_lines(blind)[6:] == [
        "hardware: not compared: mgmt01: it was silent",
        "error counters between the runs: not compared: mgmt01: it was silent",
        "routes: not compared: mgmt01: it was silent",
        "load runs: not compared: mgmt01: it was silent",
        "0 new, 1 no longer judged, 0 still open, 0 fixed: nothing new was seen, and not "
        "everything was judged again",
    ]


def test_long_lists_are_cut_and_say_so():
    many = tuple(
        Change(Status.NEW, "rate", "link-rate", f"a/{n} - b/{n}", "", "fail: 1X") for n in range(25)
    )
    lines = comparison_lines(
        Comparison(1, OLD, NEW, (), many, (), (), GrowthBetween(1.0), EMPTY.routes, ())
    )

    assert lines[-2] == "  ... and 5 more, all with --json or --html"
    assert summary(FULL).startswith("1 new")

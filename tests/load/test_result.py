"""Results of load runs: what they add up to, and when they add up to nothing."""

from ibaccept.fabric.units import Bandwidth
from ibaccept.load.result import Pair, PairRate, RdmaRun
from ibaccept.verdict.absence import NotSeen


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

"""What a link carries: given, measured on an idle pair, or derived."""

import pytest

from ibaccept.fabric.model import Rate
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.ceiling import ceilings_of, idle_pair
from ibaccept.load.result import Pair, PairRate
from ibaccept.verdict.absence import NotSeen


@pytest.fixture
def site(site_of):
    """c1 on A, s1 on B, one cable."""
    site = site_of("A", "B")
    (client,) = site.host("c1", "A", 1)
    (server,) = site.host("s1", "B", 1)
    site.tables["B"][client] = 25
    site.tables["A"][server] = 13
    site.cable("A", 13, "B", 25)
    return site


@pytest.fixture
def snapshot(site):
    return site.snapshot()


def rated(name, gbps):
    pair = Pair(name, "s", "s", name, 18600)
    return pair, PairRate(pair, Bandwidth.from_gbps(gbps), 9, 4096, ())


def test_ceilings_say_how_they_are_known(snapshot):
    hdr = Rate.parse("4X HDR")
    cables = [type("C", (), {"link": link})() for link in snapshot.fabric.links]
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


def test_a_pair_is_idle_on_links_of_its_rate_and_faster(snapshot):
    hdr, edr = Rate.parse("4X HDR"), Rate.parse("4X EDR")
    routes, fabric = snapshot.routes, snapshot.fabric
    ends = [("s1", 2, "c1", 1)]

    assert idle_pair(routes, fabric, ends, hdr) == ("s1", "c1")
    assert idle_pair(routes, fabric, ends, edr) is None


def test_a_pair_that_the_tables_lose_is_no_pair(site):
    del site.tables["B"][1]
    lost = site.snapshot()

    assert idle_pair(lost.routes, lost.fabric, [("s1", 2, "c1", 1)], Rate.parse("4X HDR")) is None

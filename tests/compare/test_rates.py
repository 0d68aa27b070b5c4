"""Rates side by side; a part of the clients is no total."""

import pytest

from ibaccept.compare.rates import RateChange, rate_changes
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.result import ClientRate, FilesystemRun, LoadRuns, Pair, PairRate, RdmaRun
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

SILENT = NotSeen("client-2", "client-2: fio was ended after 60 s")
LINE = CaptureRef("captures/1", 1, "")


def files(direction, *rates):
    clients = {
        f"client-{n}": rate
        if isinstance(rate, NotSeen)
        else ClientRate(f"client-{n}", 1, 1.0, Bandwidth.from_gib(rate))
        for n, rate in enumerate(rates, 1)
    }
    return FilesystemRun(direction, "fio", clients, None, None)


def pairs(direction, *rates):
    found = {}
    for number, rate in enumerate(rates):
        pair = Pair(f"client-{number}", "stor-1", "stor-1", "stor-1", 18515)
        found[pair] = PairRate(pair, Bandwidth.from_gib(rate), 1, None, LINE)
    return RdmaRun(direction, "ib_write_bw", found, None, 10.0)


def rows(old, new):
    return [
        (
            row.name,
            row.was,
            row.now,
            None if row.percent is None else round(row.percent, 6),
            row.why,
        )
        for row in rate_changes(old, new)
    ]


def test_every_run_of_both():
    old = LoadRuns(files("write", 40.0, 40.0), files("read", 30.0, 30.0), (pairs("read", 20.0),))
    new = LoadRuns(files("write", 44.0, 44.0), files("read", 15.0, 15.0), (pairs("read", 20.0),))

    assert rows(old, new) == [
        ("filesystem-write", 80.0, 88.0, 10.0, ""),
        ("filesystem-read", 60.0, 30.0, -50.0, ""),
        ("rdma-read", 20.0, 20.0, 0.0, ""),
    ]


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (files("write", 40.0, SILENT), "client-2: fio was ended after 60 s"),
        (NotSeen("the run", "stor-1: no room"), "stor-1: no room"),
        (files("write"), "nothing was measured"),
        (None, "the new run did not make it"),
    ],
)
def test_what_was_not_measured_has_no_percent(run, why):
    assert rows(LoadRuns(files("write", 40.0)), LoadRuns(run)) == [
        ("filesystem-write", 40.0, None, None, why)
    ]


def test_a_run_that_only_the_new_one_made():
    assert rate_changes(LoadRuns(), LoadRuns(rdma_write=NotSeen("x", "no server"))) == (
        RateChange("rdma-write", None, None, None, "the old run did not make it"),
    )

"""Error counters between two runs: growth a day, and what is not known."""

from dataclasses import replace

import pytest

from ibaccept.compare.growth import DAY, CounterGrowth, GrowthBetween, growth
from ibaccept.observe.counters import Sweep
from ibaccept.verdict.absence import NotSeen


@pytest.fixture
def run(site_of):
    """A run whose counters read the same in both sweeps, the first at a time in seconds."""

    def make(start, **counters):
        site = site_of("a", "b")
        site.cable("a", 1, "b", 1)
        for name, value in counters.items():
            site.count("a", 1, name, value, value)
        seen = site.seen()
        return replace(
            seen,
            sweeps={
                after: replace(sweep, start=start + after, end=start + after)
                for after, sweep in seen.sweeps.items()
            },
        )

    return make


def test_growth_per_day_from_the_last_sweep_to_the_first(run):
    old, new = run(0.0, SymbolErrorCounter=10), run(60 + 2 * DAY, SymbolErrorCounter=30)

    assert growth(old, new) == GrowthBetween(
        2.0, (CounterGrowth("a/1", "SymbolErrorCounter", 10, 30, "ok", 20, 10.0),)
    )


def test_what_did_not_grow_is_no_row(run):
    assert growth(run(0.0, SymbolErrorCounter=10), run(DAY, SymbolErrorCounter=10)).rows == ()
    assert growth(run(0.0), run(DAY)).rows == ()


def test_a_counter_that_began_to_count(run):
    assert growth(run(0.0), run(60 + DAY, PortRcvErrors=3)).rows == (
        CounterGrowth("a/1", "PortRcvErrors", 0, 3, "ok", 3, 3.0),
    )


def test_cleared_counters_have_no_growth(run):
    old = run(0.0, SymbolErrorCounter=10, PortRcvErrors=2)

    assert growth(old, run(60 + DAY, SymbolErrorCounter=4, PortRcvErrors=5)).rows == (
        CounterGrowth("a/1", "PortRcvErrors", 2, 5, "cleared", None, None),
        CounterGrowth("a/1", "SymbolErrorCounter", 10, 4, "cleared", None, None),
    )


def test_a_saturated_counter_grew_at_least_so_much(run):
    assert growth(run(0.0, LinkDownedCounter=250), run(DAY, LinkDownedCounter=255)).rows == (
        CounterGrowth("a/1", "LinkDownedCounter", 250, 255, "saturated", 5, None),
    )


def test_a_counter_that_was_not_read_is_named(run):
    old, new = run(0.0), run(60 + DAY, PortRcvErrors=3)
    blind = {
        after: replace(sweep, unread={port.id.guid: "silent" for port in new.fabric.ports()})
        for after, sweep in old.sweeps.items()
    }

    assert growth(replace(old, sweeps=blind), new) == GrowthBetween(1.0, (), ("a/1 PortRcvErrors",))


@pytest.mark.parametrize(
    ("sweeps", "reason"),
    [
        ({}, "the run read none"),
        ({0.0: NotSeen("the error counters", "mgmt01: it was silent")}, "mgmt01: it was silent"),
    ],
)
def test_a_run_without_a_sweep_is_not_compared(run, sweeps, reason):
    part = growth(replace(run(0.0), sweeps=sweeps), run(DAY))

    assert (part.what, part.reason) == ("the error counters", reason)


def test_clocks_that_say_otherwise_are_refused(run):
    part = growth(run(DAY), run(0.0))

    assert part.reason == "the clock of the observer says that the new run read them first"


def test_without_clocks_there_is_growth_and_no_rate(run):
    old, new = run(0.0), run(DAY, PortRcvErrors=3)
    timeless = {0.0: Sweep(None, None, "x", errors=new.sweeps[0.0].errors, read_data=dict)}

    found = growth(old, replace(new, sweeps=timeless))
    assert (found.days, [row.per_day for row in found.rows]) == (None, [None])

"""Clocks of hosts against ours."""

import pytest

from ibaccept.load.clocks import Clocks
from ibaccept.load.result import TimeSpread
from ibaccept.transport import CommandResult
from ibaccept.transport.captures import CapturedResult


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


def test_a_clock_that_was_set_meanwhile_is_as_the_newest_result_says():
    clocks = Clocks()
    clocks.note(captured("a", 100.0, 100.0, 100.0, 100.0))
    clocks.note(captured("a", 160.0, 160.0, 110.0, 110.0))
    clocks.note(captured("b", 1.0, None, 1.0, 1.0))
    clocks.note(captured("b", 1.0, 1.0, None, 1.0))

    assert clocks.ahead("a") == (50.0, 0.0)
    assert clocks.ours("a", 200.0) == 150.0
    assert (clocks.ahead("b"), clocks.ours("b", 7.0)) == (None, 7.0)


def test_no_clock_is_apart_where_none_is_known():
    assert Clocks().apart(1.0) == ()

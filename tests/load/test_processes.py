"""Processes that begin together: none outlives its set."""

import pytest

from ibaccept.load.clocks import Clocks
from ibaccept.load.pace import Pace
from ibaccept.load.processes import Together
from ibaccept.transport import CommandResult, Host, TransportError


def jobs(*names):
    return [(Host(name), ("fio", "--rw=read", "--size=4", "--numjobs=1")) for name in names]


def crew(played):
    return Together(played, Pace(sleep=played.sleep), Clocks())


def test_they_begin_when_they_are_released_and_are_numbered_on(played):
    with crew(played) as made:
        made.start(jobs("a", "b"), timeout=9, held=True)
        made.start(jobs("c"), timeout=9, held=True)
        made.release([0, 2, 7])
        played.sleep(4)
        over = made.poll()

        assert (over, made.has_ended([0, 2]), made.has_ended([1]), made.any_ended([1, 2])) == (
            False, True, False, True,
        )  # fmt: skip
        assert made.ended == (3, 2)
    # the one that was never released was stopped
    assert made.ended == (3, 3)
    assert made.results[1].signal == "TERM"


def test_a_host_that_is_gone_is_a_result(played, gone):
    played.answers["b", "fio"] = gone
    with crew(played) as made:
        made.start(jobs("a", "b"), timeout=9)
        played.running[0].answer = TransportError("a", "session", "the connection was lost")
        made.finish(5)

    assert {n: str(result) for n, result in made.results.items()} == {
        0: "a: the connection was lost", 1: "b: refused the connection",
    }  # fmt: skip


def test_what_does_not_end_in_time_is_stopped(played):
    played.seconds = 100.0
    made = crew(played)
    made.start(jobs("a", "b"), timeout=9)

    made.finish(2)

    assert [result.signal for result in made.results.values()] == ["TERM", "TERM"]
    assert played.now == pytest.approx(1002, abs=0.2)
    assert all(isinstance(result, CommandResult) for result in made.results.values())


def test_ctrl_c_stops_them_all(played):
    def work():
        with crew(played) as made:
            made.start(jobs("a", "b"), timeout=9)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()

    assert [one.result.signal for one in played.running] == ["TERM", "TERM"]

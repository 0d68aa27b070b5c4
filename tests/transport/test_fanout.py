"""The same on many hosts: order, errors of single hosts, and what happens on Ctrl-C."""

import threading

import pytest

from ibaccept.transport import CommandResult, Host, NotPermittedError, TransportError
from ibaccept.transport.fanout import check_permitted, each, run_many, start_many

JOBS = [(Host(name), ("true",)) for name in "abcd"]


class Fake:
    """Fails, interrupts or answers, by host."""

    def __init__(self, **answers):
        self.answers = answers
        self.closed = False
        self.stopped = []

    def run(self, host, argv, *, timeout, root, limit):
        del timeout, root, limit
        answer = self.answers.get(host.name)
        if answer is not None:
            raise answer
        return CommandResult(host.name, argv, b"", b"", 0)

    def start(self, host, argv, *, timeout, root, held, limit):
        del held
        self.run(host, argv, timeout=timeout, root=root, limit=limit)
        return Begun(host, self)

    def close(self):
        self.closed = True


class Begun:
    def __init__(self, host, parent):
        self.host, self.parent = host, parent

    def stop(self):
        self.parent.stopped.append(self.host.name)
        if self.host.name == "a":
            raise TransportError("a", "session", "gone")


GONE = TransportError("c", "connect", "refused")


def test_results_are_in_the_order_of_the_jobs():
    results = run_many(Fake(c=GONE), JOBS, timeout=1, fan_out=2)

    assert [getattr(one, "host", one) for one in results] == ["a", "b", "c", "d"]
    assert results[2] is GONE
    assert run_many(Fake(), [], timeout=1) == []


def test_no_more_than_the_fan_out_at_a_time():
    running, most, lock = 0, 0, threading.Lock()
    gate = threading.Event()

    def action(number):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        gate.wait(0.05)
        with lock:
            running -= 1
        return number

    assert each(action, range(12), fan_out=3) == list(range(12))
    assert most == 3
    with pytest.raises(ValueError, match="fan_out must be at least 1, got 0"):
        each(action, range(2), fan_out=0)


@pytest.mark.parametrize("keep_open", [False, True])
def test_ctrl_c_closes_the_transport_unless_it_is_still_needed(keep_open):
    fake = Fake(b=KeyboardInterrupt())

    with pytest.raises(KeyboardInterrupt):
        run_many(fake, JOBS, timeout=1, keep_open=keep_open)

    assert fake.closed is not keep_open


def test_what_was_started_before_ctrl_c_is_stopped():
    """Also those after one that cannot be stopped."""
    fake = Fake(d=KeyboardInterrupt())

    with pytest.raises(KeyboardInterrupt):
        start_many(fake, JOBS, timeout=1, held=True, fan_out=1)

    assert sorted(fake.stopped) == ["a", "b", "c"]
    assert not fake.closed


def test_hosts_that_cannot_be_used_are_no_reason_to_stop():
    started = start_many(Fake(c=GONE), JOBS, timeout=1)

    assert [getattr(one, "host", one) for one in started][2] == "c"
    assert started[2] is GONE


def test_what_is_not_permitted_is_named():
    check_permitted(lambda _: True, ("rm",))
    with pytest.raises(NotPermittedError, match="'rm -rf' is not a command this suite may run"):
        check_permitted(lambda _: False, ("rm", "-rf"))

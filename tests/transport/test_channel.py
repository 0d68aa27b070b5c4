"""One command on one SSH channel, played without a server."""

import pytest

from ibaccept.transport import channel
from ibaccept.transport.channel import SshProcess
from ibaccept.transport.wrap import FRAME_ROOM, Ending


class Channel:
    """What paramiko's channel gives, as the test says."""

    def __init__(self):
        self.out, self.err = [], []
        self.closed = False
        self.exit_status = -1
        self.shut = self.freed = 0

    def recv_ready(self):
        return bool(self.out)

    def recv_stderr_ready(self):
        return bool(self.err)

    def recv(self, _most):
        return self.out.pop(0)

    def recv_stderr(self, _most):
        return self.err.pop(0)

    def exit_status_ready(self):
        return self.exit_status >= 0

    def shutdown_write(self):
        self.shut += 1
        if self.shut > 1:
            raise OSError("gone")

    def sendall(self, data):
        if self.closed:
            raise OSError("gone")
        self.sent = data

    def close(self):
        self.closed = True


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A clock that the test sets."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    made = Clock()
    monkeypatch.setattr(channel, "time", made)
    return made


def process(limit=100):
    far = Channel()
    return far, SshProcess(far, limit, lambda: setattr(far, "freed", far.freed + 1))


def test_it_ends_with_its_exit_code():
    far, one = process()
    one.expire(10)
    far.out, far.err = [b"a", b"b"], [b"e"]
    before = one.step()
    far.exit_status = 3
    ended = one.step()  # the life line is let go, the server closes
    far.closed = True

    assert (before, ended, one.step()) == (None, None, Ending(3))
    assert (bytes(one.out.data), bytes(one.err.data), far.shut) == (b"ab", b"e", 1)
    one.close()
    one.close()
    assert far.freed == 1


def test_a_signal_is_no_exit_code():
    far, one = process()
    far.exit_signal = "KILL"
    far.exit_status = 0
    far.closed = True

    assert one.step() == Ending(None, "KILL")


def test_a_connection_that_closes_without_a_word_is_lost():
    far, one = process()
    far.closed = True

    assert one.step() == Ending(lost=True)


def test_time_that_is_over_lets_go_and_then_gives_up(clock):
    far, one = process()
    one.expire(10)
    clock.now += 11
    first = one.step()
    clock.now += 20

    assert (first, one.step(), far.shut) == (None, Ending(timed_out=True), 1)


@pytest.mark.parametrize("stream", ["out", "err"])
def test_output_beyond_the_limit_is_dropped_and_ends_it(stream):
    far, one = process(limit=100)
    getattr(far, stream)[:] = [b"x" * FRAME_ROOM] * 500
    for _ in range(10):
        one.step()
    far.closed = True

    assert one.step() == Ending(truncated=True)
    assert far.shut == 1
    kept = getattr(one, stream)
    assert kept.is_cut
    assert len(kept.data) <= 100 + 3 * FRAME_ROOM


def test_what_is_sent_to_a_channel_that_is_gone_is_dropped():
    far, one = process()
    one.send(b"go\n")
    far.closed = True
    one.send(b"go\n")
    one.send(b"")

    assert far.sent == b"go\n"

"""Recording what a transport gives, and giving the same again in the same order, or why not."""

from types import SimpleNamespace

import pytest

from ibaccept.transport import CommandResult, Host, TransportError
from ibaccept.transport.captures import Bundle, BundleError, CapturedResult, load
from ibaccept.transport.fanout import run_many
from ibaccept.transport.replay import RecordingTransport, ReplayTransport, cleaning

HOST = Host("mgmt")


@pytest.fixture(autouse=True)
def our_clock(monkeypatch):
    monkeypatch.setattr("ibaccept.transport.replay.time", SimpleNamespace(time=lambda: 1000.0))


class Scripted:
    """A transport that gives what it is told, in order."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def run(self, *_, **__):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self):
        self.closed = True


def result(*argv, stdout=b"out\xff\n", **changes):
    values = {"stderr": b"", "exit_code": 0, "start": 1.25, "end": 2.5} | changes
    return CommandResult("mgmt", argv, stdout, **values)


def record(run_dir, *answers, label=""):
    transport = RecordingTransport(Scripted(*answers), Bundle(run_dir))
    given = []
    with transport.labelled(label):
        for answer in answers:
            argv = answer.argv if isinstance(answer, CommandResult) else ("sminfo",)
            try:
                given.append(transport.run(HOST, argv, timeout=1))
            except TransportError as error:
                given.append(error)
    return given


def test_a_replay_gives_the_same_in_the_same_order_errors_included(tmp_path):
    answers = [
        result("perfquery", "3", "1", stdout=b"first"),
        result("perfquery", "3", "1", stdout=b"second", stderr=b"warn", timed_out=True),
        result("a\udcffb", stdout=b"", missing=True, exit_code=127),
        TransportError("mgmt", "connect", "refused the connection"),
    ]
    given = record(tmp_path, *answers)

    replay = ReplayTransport(tmp_path)
    again = [replay.run(HOST, answer.argv, timeout=9) for answer in answers[:3]]
    with pytest.raises(TransportError) as caught:
        replay.run(HOST, ("sminfo",), timeout=9)

    assert again == given[:3]
    assert again[1] == CapturedResult(
        "mgmt", ("perfquery", "3", "1"), b"second", b"warn", 0, start=1.25, end=2.5,
        timed_out=True, seq=2, stdout_file="captures/0002-perfquery.txt",
        stderr_file="captures/0002-perfquery.err", sent=1000.0, received=1000.0,
    )  # fmt: skip
    assert (caught.value.host, caught.value.step, str(caught.value)) == (
        "mgmt",
        "connect",
        "mgmt: refused the connection",
    )


def test_a_replay_says_what_the_bundle_does_not_hold(tmp_path):
    record(tmp_path, result("sminfo"))
    replay = ReplayTransport(tmp_path)
    jobs = [(HOST, ("sminfo",)), (HOST, ("sminfo",)), (Host("other"), ("sminfo",))]

    results = run_many(replay, jobs, timeout=1)

    tail = f"run the suite against the fabric, or judge only what {tmp_path} saw"
    assert {n: r.stdout if n == 0 else (r.step, str(r)) for n, r in enumerate(results)} == {
        0: b"out\xff\n",
        1: (
            "replay",
            "mgmt: this bundle does not hold call 2 of 'sminfo' (it holds 1 of them); " + tail,
        ),
        2: (
            "replay",
            "other: this bundle does not hold call 1 of 'sminfo' (it was not run then); " + tail,
        ),
    }


def test_run_many_records_each_as_it_comes_and_close_reaches_the_inner(tmp_path):
    inner = Scripted(result("echo", "a"), TransportError("mgmt", "connect", "no"))
    transport = RecordingTransport(inner, Bundle(tmp_path))

    results = run_many(
        transport, [(HOST, ("echo", "a")), (HOST, ("echo", "b"))], timeout=1, fan_out=1
    )
    transport.close()

    assert [results[0].seq, str(results[1])] == [1, "mgmt: no"]
    assert [(entry.seq, entry.argv) for entry in load(tmp_path)] == [
        (1, ("echo", "a")),
        (2, ("echo", "b")),
    ]
    assert inner.closed


class Handmade:
    """A command that runs until the test says how it ended."""

    def __init__(self, host, argv):
        self.host, self.argv, self.answer = host, argv, None

    def release(self):
        self.released = True

    def poll(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def wait(self):
        return self.poll()

    def stop(self, grace=7.0):
        del grace
        return self.poll()


class Starting(Scripted):
    """Starts what the test ends."""

    def start(self, host, argv, *, timeout, root=False, held=False, limit=0):
        del timeout, root, held, limit
        return Handmade(host, argv)


def test_started_commands_end_in_a_replay_where_they_ended_between_the_others(tmp_path):
    recording = RecordingTransport(
        Starting(*(result("ss", "-ltn", stdout=b"%d" % n) for n in range(4))), Bundle(tmp_path)
    )
    recording.run(HOST, ("ss", "-ltn"), timeout=1)  # under another label
    with recording.labelled("load"):
        one = recording.start(HOST, ("ib_write_bw",), timeout=1, held=True)
        two = recording.start(HOST, ("ib_write_bw",), timeout=1)
        one.release()
        seen = [recording.run(HOST, ("ss", "-ltn"), timeout=1), one.poll(), two.poll()]
        two._inner.answer = result("ib_write_bw", stdout=b"two")
        seen += [recording.run(HOST, ("ss", "-ltn"), timeout=1), one.poll(), two.poll()]
        one._inner.answer = result("ib_write_bw", stdout=b"one")
        seen += [recording.run(HOST, ("ss", "-ltn"), timeout=1), one.wait(), two.stop()]

    replay = ReplayTransport(tmp_path)
    one = replay.start(HOST, ("ib_write_bw",), timeout=1, held=True)
    two = replay.start(HOST, ("ib_write_bw",), timeout=1)
    one.release()
    # the replay of the other label is another's business
    assert replay.run(HOST, ("ss", "-ltn"), timeout=1).stdout == b"0"
    again = []
    for _ in range(3):
        again += [replay.run(HOST, ("ss", "-ltn"), timeout=1), one.poll(), two.poll()]

    assert [None if r is None else r.stdout for r in seen] == [
        b"1", None, None, b"2", None, b"two", b"3", b"one", b"two",
    ]  # fmt: skip
    assert again == seen
    assert [(entry.seq, entry.order, entry.moves) for entry in load(tmp_path)] == [
        (1, None, None), (2, None, None), (3, None, None), (4, 2, 3), (5, None, None), (6, 1, 3),
    ]  # fmt: skip


def test_a_replay_that_asks_for_less_is_answered_at_once(tmp_path):
    """What was recorded before is never taken: the second question in a row decides it."""
    recording = RecordingTransport(Starting(result("ss")), Bundle(tmp_path))
    running = [recording.start(HOST, ("fio", n), timeout=1) for n in "ab"]
    recording.run(HOST, ("ss",), timeout=1)
    running[0]._inner.answer = TransportError("mgmt", "session", "the host did not run it")
    running[1]._inner.answer = result("fio", "b")
    with pytest.raises(TransportError):
        running[0].poll()
    running[1].poll()

    replay = ReplayTransport(tmp_path)
    first, second = (replay.start(HOST, ("fio", n), timeout=1) for n in "ab")
    with pytest.raises(TransportError, match="does not hold call 1 of 'ss -x'"):
        replay.run(HOST, ("ss", "-x"), timeout=1)
    polls = [first.poll(), second.poll()]
    with pytest.raises(TransportError, match="mgmt: the host did not run it"):
        first.poll()
    polls.append(second.poll())

    assert [None if one is None else one.argv for one in polls] == [None, None, ("fio", "b")]


def test_nothing_ends_in_a_replay_before_what_it_ended_after_was_begun(tmp_path):
    recording = RecordingTransport(Starting(), Bundle(tmp_path))
    server = recording.start(HOST, ("server",), timeout=1)
    client = recording.start(HOST, ("client",), timeout=1, held=True)
    client.release()
    for one in (server, client):
        one._inner.answer = result(*one.argv)
        one.poll()

    replay = ReplayTransport(tmp_path)
    server = replay.start(HOST, ("server",), timeout=1)
    seen = [server.poll()]
    client = replay.start(HOST, ("client",), timeout=1, held=True)
    seen += [server.poll(), client.poll()]
    client.release()
    seen += [server.poll(), client.poll()]

    assert [None if one is None else one.argv for one in seen] == [
        None, None, None, ("server",), ("client",),
    ]  # fmt: skip


def test_what_was_started_and_what_was_run_are_not_each_others_results(tmp_path):
    """The removal that waited on a host was lost; the second, sent at once, was refused."""
    recording = RecordingTransport(
        Starting(TransportError("mgmt", "connect", "refused")), Bundle(tmp_path)
    )
    waiting = recording.start(HOST, ("rm", "-rf"), timeout=1, held="last")
    waiting.release()
    waiting._inner.answer = result("rm", "-rf", stdout=b"lost")
    first = waiting.poll()
    with pytest.raises(TransportError, match="refused"):
        recording.run(HOST, ("rm", "-rf"), timeout=1)

    replay = ReplayTransport(tmp_path)
    waiting = replay.start(HOST, ("rm", "-rf"), timeout=1, held="last")
    waiting.release()
    again = waiting.poll()
    with pytest.raises(TransportError, match="refused"):
        replay.run(HOST, ("rm", "-rf"), timeout=1)

    assert (first.stdout, again.stdout) == (b"lost", b"lost")


def test_what_cannot_be_written_is_an_error_but_while_cleaning_up(tmp_path, monkeypatch):
    """Every result is given while cleaning; the first failure is raised by what comes after."""
    bundle = Bundle(tmp_path)
    recording = RecordingTransport(
        Starting(result("a"), result("b"), TransportError("mgmt", "connect", "no")), bundle
    )
    running = recording.start(HOST, ("fio",), timeout=1)
    running._inner.answer = result("fio")

    def full(*_, **__):
        raise BundleError("captures cannot be written")

    monkeypatch.setattr(bundle, "record", full)
    monkeypatch.setattr(bundle, "record_error", full)
    with pytest.raises(BundleError):
        recording.run(HOST, ("a",), timeout=1)
    with cleaning(recording):
        recording.check()
        ran = recording.run(HOST, ("b",), timeout=1)
        with pytest.raises(TransportError, match="mgmt: no"):
            recording.run(HOST, ("c",), timeout=1)
        ended = running.stop()
    with cleaning(ReplayTransport(make(tmp_path / "other"))):
        pass

    assert (ran, ended) == (result("b"), result("fio"))
    for call in (recording.check, lambda: recording.start(HOST, ("fio",), timeout=1)):
        with pytest.raises(BundleError, match="captures cannot be written"):
            call()


def make(folder):
    Bundle(folder).record(result("a"))
    return folder

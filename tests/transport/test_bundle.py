"""The captures folder: written before anybody parses, replayed exactly, never half."""

import copy
import hashlib
import json
import os
import random
import threading
from types import SimpleNamespace

import pytest

from ibaccept.transport import CommandResult, Host, TransportError
from ibaccept.transport.captures import Bundle, BundleError, CapturedResult, load
from ibaccept.transport.fanout import run_many
from ibaccept.transport.replay import RecordingTransport, ReplayTransport

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


def test_the_index_and_the_files_are_as_documented(tmp_path):
    record(tmp_path, result("/usr/sbin/iblinkinfo", "--line", stderr=b"e"), label="before")
    record(tmp_path, result("sminfo", stdout=b"", exit_code=None, signal="KILL", lost=True))

    lines = (tmp_path / "captures/index.jsonl").read_text().splitlines()
    files = {path.name: path.read_bytes() for path in (tmp_path / "captures").iterdir()}

    assert [json.loads(line) for line in lines] == [
        {
            "schema": 1, "seq": 1, "label": "before", "host": "mgmt",
            "argv": ["/usr/sbin/iblinkinfo", "--line"], "start": 1.25, "end": 2.5,
            "exit_code": 0, "signal": None, "timed_out": False, "lost": False,
            "truncated": False, "missing": False, "sudo_refused": False,
            "stdout": "0001-iblinkinfo.txt",
            "stdout_sha256": hashlib.sha256(b"out\xff\n").hexdigest(),
            "stderr": "0001-iblinkinfo.err", "stderr_sha256": hashlib.sha256(b"e").hexdigest(),
            "sent": 1000.0, "received": 1000.0, "order": None, "moves": None,
        },
        {
            "schema": 1, "seq": 2, "label": "", "host": "mgmt", "argv": ["sminfo"],
            "start": 1.25, "end": 2.5, "exit_code": None, "signal": "KILL", "timed_out": False,
            "lost": True, "truncated": False, "missing": False, "sudo_refused": False,
            "stdout": "0002-sminfo.txt", "stdout_sha256": hashlib.sha256(b"").hexdigest(),
            "stderr": None, "stderr_sha256": hashlib.sha256(b"").hexdigest(),
            "sent": 1000.0, "received": 1000.0, "order": None, "moves": None,
        },
    ]  # fmt: skip
    del files["index.jsonl"]
    assert files == {
        "0001-iblinkinfo.txt": b"out\xff\n",
        "0001-iblinkinfo.err": b"e",
        "0002-sminfo.txt": b"",
    }


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


def test_a_result_is_on_disk_before_the_caller_has_it(tmp_path):
    bundle = Bundle(tmp_path)
    captured = RecordingTransport(Scripted(result("sminfo")), bundle).run(
        HOST, ("sminfo",), timeout=1
    )

    assert load(tmp_path) == [captured]


def test_many_threads_and_two_writers_number_without_gaps(tmp_path):
    writers = [Bundle(tmp_path), Bundle(tmp_path)]
    threads = [
        threading.Thread(target=writers[n % 2].record, args=(result("echo", str(n)), "x"))
        for n in range(30)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    entries = load(tmp_path)

    assert [entry.seq for entry in entries] == list(range(1, 31))
    assert sorted(int(entry.argv[1]) for entry in entries) == list(range(30))


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


def damage_change(folder):
    (folder / "0001-sminfo.txt").write_bytes(b"other")
    return "0001-sminfo.txt was changed after it was captured"


def damage_remove(folder):
    (folder / "0002-ibstat.err").unlink()
    return "0002-ibstat.err cannot be read (No such file or directory)"


def damage_cut(folder):
    index = folder / "index.jsonl"
    index.write_bytes(index.read_bytes()[:-5])
    return "index.jsonl ends within line 2"


def damage_drop(folder):
    index = folder / "index.jsonl"
    index.write_bytes(index.read_bytes().split(b"\n", 1)[1])
    return "index.jsonl:1 has number 2, expected 1"


def damage_key(folder):
    index = folder / "index.jsonl"
    index.write_text(index.read_text().replace('"exit_code"', '"exit"'))
    return "index.jsonl:1 lacks or misstates 'exit_code'"


def damage_path(folder):
    index = folder / "index.jsonl"
    index.write_text(index.read_text().replace("0001-sminfo.txt", "../0001-sminfo.txt"))
    return "index.jsonl:1 lacks or misstates 'stdout'"


def damage_link(folder):
    (folder / "0001-sminfo.txt").rename(folder.parent / "elsewhere")
    (folder / "0001-sminfo.txt").symlink_to(folder.parent / "elsewhere")
    return "0001-sminfo.txt cannot be read (it is a link)"


def damage_pipe(folder):
    (folder / "0001-sminfo.txt").unlink()
    os.mkfifo(folder / "0001-sminfo.txt")
    return "0001-sminfo.txt cannot be read (not a regular file)"


def damage_index_link(folder):
    (folder / "index.jsonl").rename(folder.parent / "elsewhere")
    (folder / "index.jsonl").symlink_to(folder.parent / "elsewhere")
    return "holds no captures"


def damage_folder_link(folder):
    folder.rename(folder.parent / "elsewhere")
    folder.symlink_to(folder.parent / "elsewhere")
    return "captures is a link; nothing outside the folder of a run is read"


def damage_json(folder):
    (folder / "index.jsonl").write_text("{\n")
    return "index.jsonl:1 is not JSON"


def damage_schema(folder):
    (folder / "index.jsonl").write_text('{"schema": 2}\n')
    return "index.jsonl:1 is not of schema 1"


def damage_all(folder):
    (folder / "index.jsonl").unlink()
    return "holds no captures"


@pytest.mark.parametrize(
    "damage",
    [
        damage_change, damage_remove, damage_cut, damage_drop, damage_key, damage_path,
        damage_json, damage_schema, damage_all, damage_link, damage_pipe, damage_index_link,
        damage_folder_link,
    ],
)  # fmt: skip
def test_a_damaged_bundle_is_refused_and_the_file_named(tmp_path, damage):
    record(tmp_path, result("sminfo"), result("ibstat", stderr=b"e"))
    expected = damage(tmp_path / "captures")

    with pytest.raises(BundleError) as caught:
        ReplayTransport(tmp_path)

    assert expected in str(caught.value)


WRONG = (
    None, True, -1, 0, 1.5, 10**30, float("nan"), float("inf"), "", "x", "../x", "a\0b", [], {},
    [None], [[]], {"step": 1}, "0001-sminfo.txt", "9" * 5000, [1], ["a", None],
)  # fmt: skip
LINES = (b"", b"[]", b"null", b"1" * 5000, b"[" * 100_000, b'{"schema": 1}', b"\xff\xfe", b"{}")


def damaged(number, entries):
    """The lines of an index with one value of another kind, or one line of something else."""
    choose = random.Random(number)  # noqa: S311 - damage, no secret
    entries = copy.deepcopy(entries)
    at = choose.randrange(len(entries))
    lines = [json.dumps(entry).encode() for entry in entries]
    if choose.random() < 0.1:
        lines[at] = choose.choice(LINES)
    else:
        entry = entries[at]
        key = choose.choice(list(entry))
        if choose.random() < 0.1:
            del entry[key]
        else:
            entry[key] = choose.choice(WRONG)
        lines[at] = json.dumps(entry).encode()
    return b"".join(line + b"\n" for line in lines)


def test_thousands_of_damaged_indexes_are_refused_or_good(tmp_path):
    """One sentence each, or a bundle of the types it must have; never another exception."""
    record(
        tmp_path,
        result("sminfo"),
        result("ibstat", stderr=b"e"),
        TransportError("mgmt", "connect", "refused"),
    )
    index = tmp_path / "captures" / "index.jsonl"
    whole = [json.loads(line) for line in index.read_bytes().splitlines()]
    refused = []
    for number in range(3000):
        index.write_bytes(damaged(number, whole))
        try:
            entries = load(tmp_path)
        except BundleError as error:
            refused.append(str(error))
            continue
        for entry in entries:
            assert isinstance(entry.host + entry.label, str)
            assert all(isinstance(word, str) for word in entry.argv)
            if isinstance(entry, CapturedResult):
                assert entry.exit_code is None or 0 <= entry.exit_code <= 255
                assert entry.start is None or 0 <= entry.start < 1e13
                assert entry.problem() is None or isinstance(entry.problem(), str)

    assert len(refused) > 2000
    assert [text for text in refused if "\n" in text or len(text) > 400] == []


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


def test_a_script_is_filed_under_its_own_name(tmp_path):
    bundle = Bundle(tmp_path)
    script = bundle.record(result("sh", "-c", "for l; do :; done", "perfquery-each", "2"))
    plain = bundle.record(result("sh", "-c", "true"))

    assert [script.stdout_file, plain.stdout_file] == [
        "captures/0001-perfquery-each.txt",
        "captures/0002-sh.txt",
    ]


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

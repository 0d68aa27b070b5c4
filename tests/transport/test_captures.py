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


def test_a_script_is_filed_under_its_own_name(tmp_path):
    bundle = Bundle(tmp_path)
    script = bundle.record(result("sh", "-c", "for l; do :; done", "perfquery-each", "2"))
    plain = bundle.record(result("sh", "-c", "true"))

    assert [script.stdout_file, plain.stdout_file] == [
        "captures/0001-perfquery-each.txt",
        "captures/0002-sh.txt",
    ]


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

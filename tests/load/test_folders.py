"""The folders of a load run: made, removed, and never left because of our own disk or a host."""

import errno
import os

import pytest

from ibaccept.load.clocks import Clocks
from ibaccept.load.folders import Folders
from ibaccept.load.pace import Pace
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import CommandResult, Host, TransportError, captures
from ibaccept.transport.captures import Bundle, BundleError
from ibaccept.transport.local import LocalTransport
from ibaccept.transport.replay import RecordingTransport
from ibaccept.verdict.absence import NotSeen

TOKEN = "0123456789abcdef"
NAMES = ("c1", "c2", "c3")
HOSTS = [InventoryHost(name, Host(name, local=True)) for name in NAMES]


@pytest.fixture
def transport():
    """This machine as every host: real mkdir, real rm."""
    made = LocalTransport(lambda _: True)
    yield made
    made.close()


@pytest.fixture
def scratch(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def folders(transport, path, *, keep=False):
    return Folders(transport, str(path), TOKEN, Pace(), Clocks(), keep, 60.0)


def test_each_client_has_a_folder_and_none_is_left(transport, scratch):
    made = folders(transport, scratch)

    bad = made.make(HOSTS)
    there = sorted(path.name for path in scratch.iterdir())
    (scratch / f"ibaccept-{TOKEN}-2" / "data").write_bytes(b"x")
    left = made.remove()

    assert (bad, left, list(scratch.iterdir())) == ({}, (), [])
    assert there == [f"ibaccept-{TOKEN}-{number}" for number in (1, 2, 3)]


def test_folders_that_are_kept_are_named(transport, scratch):
    made = folders(transport, scratch, keep=True)
    made.make(HOSTS)

    assert (made.remove(), made.kept()) == ((), (f"{scratch}/ibaccept-{TOKEN}-[1-3] of c[1-3]",))
    assert len(list(scratch.iterdir())) == 3


@pytest.mark.parametrize("written", range(7))
def test_our_own_full_disk_leaves_no_folder(transport, scratch, tmp_path, monkeypatch, written):
    """Whichever of the results is the first that cannot be written."""
    recording = RecordingTransport(transport, Bundle(tmp_path / "run"))
    room = written
    write = captures._write_all

    def write_all(file, data):
        nonlocal room
        if os.fstat(file).st_size == 0 and data[:1] != b"{":
            room -= 1
        if room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(file, data)

    monkeypatch.setattr(captures, "_write_all", write_all)
    made = folders(recording, scratch)
    full = None
    try:
        made.make(HOSTS)
    except BundleError as error:
        full = error
    left = made.remove()

    assert (left, list(scratch.iterdir())) == ((), [])
    assert (full is None) == (written >= 3)
    if written < 6:
        with pytest.raises(BundleError, match=r"cannot be written \(No space left on device\)"):
            recording.check()
    else:
        recording.check()


class Broken:
    """Runs on this machine and loses what one host answers."""

    def __init__(self, inner, lose):
        self.inner, self.lose = inner, lose

    def run(self, host, argv, **options):
        result = self.inner.run(host, argv, **options)
        if host.name == "c2" and self.lose == argv[0]:
            raise TransportError("c2", "session", "the connection was lost")
        return result

    def start(self, host, argv, **options):
        if host.name == "c2" and self.lose == "rm":
            raise TransportError("c2", "connect", "refused the connection")
        return self.inner.start(host, argv, **options)

    def close(self):
        self.inner.close()


def test_a_folder_whose_host_gave_no_answer_is_removed_as_well(transport, scratch):
    made = folders(Broken(transport, "mkdir"), scratch)

    bad = made.make(HOSTS)
    there = len(list(scratch.iterdir()))
    left = made.remove()

    assert bad == {
        "c2": NotSeen(
            "the rate of c2",
            "folder: c2: the connection was lost",
            f"see that {scratch} is there and can be written by its user",
        )
    }
    assert (there, left, list(scratch.iterdir())) == (3, (), [])


def test_what_cannot_be_removed_is_named(transport, scratch):
    made = folders(Broken(transport, "rm"), scratch)

    bad = made.make(HOSTS)
    left = made.remove()

    name = f"{scratch}/ibaccept-{TOKEN}-2"
    assert bad["c2"].reason == "folder: c2: refused the connection"
    assert left == (f"c2: {name} was not removed (remove: c2: refused the connection)",)
    assert [str(path) for path in scratch.iterdir()] == [name]


def test_a_folder_that_cannot_be_made_is_its_clients_error_alone(transport, scratch):
    (scratch / f"ibaccept-{TOKEN}-1").mkdir()
    made = folders(transport, scratch)

    bad = made.make(HOSTS)
    left = made.remove()

    assert list(bad) == ["c1"]
    assert "File exists" in bad["c1"].reason
    # not ours: it is left alone
    assert (left, [path.name for path in scratch.iterdir()]) == ((), [f"ibaccept-{TOKEN}-1"])


def test_an_answer_that_never_came_is_asked_for_again(transport, scratch):
    made = folders(transport, scratch)
    made.make(HOSTS)
    made._removals.results[1] = CommandResult("c2", ("rm",), b"", b"", None, lost=True)
    made._removals.running.pop(1).stop(0.1)

    assert (made.remove(), list(scratch.iterdir())) == ((), [])

"""Load runs against the lab: real perfquery, real SSH, stand-ins of perftest, real fio."""

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from ibaccept import commands
from ibaccept.load.pace import FIRST_PORT, FilesystemLoad, Pace, RdmaLoad
from ibaccept.load.result import FilesystemRun, PairRate
from ibaccept.load.runs import LABEL, run_load
from ibaccept.load.watch import Watch
from ibaccept.transport.captures import load as load_bundle
from ibaccept.transport.replay import ReplayTransport
from ibaccept.verdict.absence import NotSeen

pytestmark = pytest.mark.real

STAND_IN = b"standins.ib_bw"

FAST = Pace(interval=0.3, ramp=0.3, listening_pause=0.1)
AT_ONCE = dataclasses.replace(FAST, sleep=lambda _seconds: None)


def token_of(run_dir):
    """The token of a recorded load run; None where it made no files."""
    for entry in load_bundle(run_dir):
        if entry.label == LABEL and entry.argv[0] == "mkdir":
            return entry.argv[-1].rsplit("ibaccept-", 1)[-1].split("-")[0]
    return None


def replayed(run_dir, inputs, snapshot):
    inputs = dataclasses.replace(inputs, token=token_of(run_dir) or inputs.token)
    return run_load(ReplayTransport(run_dir), inputs, snapshot, pace=AT_ONCE)


def test_rdma_reads_with_measured_ceilings(site, tmp_path, tools_left):
    inputs = site.inputs(4, rdma=RdmaLoad(duration=10), ceilings="measure")
    recording = site.recording(tmp_path)

    runs = run_load(recording, inputs, site.snapshot, pace=FAST)
    left = tools_left(site.lab)
    recording.close()

    (run,) = runs.rdma_read
    seen = {
        (pair.client, pair.storage, pair.sender, pair.runs_server): round(rate.rate.gbps, 1)
        for pair, rate in run.pairs.items()
    }
    # two clients of each server share its cable
    assert seen == {
        ("client-1", "stor-1", "stor-1", "client-1"): 98.4,
        ("client-2", "stor-2", "stor-2", "client-2"): 98.4,
        ("client-3", "stor-1", "stor-1", "client-3"): 98.4,
        ("client-4", "stor-2", "stor-2", "client-4"): 98.4,
    }
    assert (run.direction, run.moved, run.ended) == ("read", (), (8, 8))
    assert len({pair.tcp_port for pair in run.pairs}) == 4
    assert run.spread.seconds < 2
    watch = runs.watches["rdma-read"]
    expected = {
        ("SwitchA/13 - SwitchB/25", "isl"): 100,
        ("SwitchA/14 - SwitchB/26", "isl"): 100,
        ("SwitchA/1 - client-1/1", "client"): 50,
        ("SwitchA/2 - client-2/1", "client"): 50,
        ("SwitchA/3 - client-3/1", "client"): 50,
        ("SwitchA/4 - client-4/1", "client"): 50,
        ("SwitchB/1 - stor-1/1", "storage"): 100,
        ("SwitchB/2 - stor-2/1", "storage"): 100,
    }
    # as exact as the times of the readings allow on a busy machine, and the other way idle
    close = 1 + 100 * watch.window.uncertain_share
    assert {(cable.name, cable.kind): cable.toward_clients.percent for cable in watch.cables} == {
        key: pytest.approx(percent, rel=close / 100) for key, percent in expected.items()
    }
    assert max(cable.toward_storage.percent for cable in watch.cables) < 0.1
    assert runs.balances["rdma-read"].explained is None
    assert [(c.ceiling.how, c.how) for c in runs.ceilings.values()] == [
        ("measured", "measured on the idle pair stor-1 to client-1")
    ]
    assert (runs.problems, runs.left, left) == ((), (), [])
    assert replayed(tmp_path, inputs, site.snapshot) == runs


def rewrite(run_dir, change):
    """Change captures of perfquery during the load, with their checksums set right."""
    index = run_dir / "captures" / "index.jsonl"
    lines = [json.loads(line) for line in index.read_text().splitlines()]
    samples = [line for line in lines if "perfquery-each" in line["argv"]]
    for line in samples[4:6]:
        file = run_dir / "captures" / line["stdout"]
        file.write_bytes(change(file.read_bytes()))
        line["stdout_sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    index.write_text("".join(json.dumps(line) + "\n" for line in lines))


def swapped(data):
    """Two counters of one port: each still says what it is."""
    lines = data.splitlines(keepends=True)
    lines[3], lines[9] = lines[9], lines[3]
    return b"".join(lines)


def begin_and_end_swapped(data):
    lines = data.splitlines(keepends=True)
    return b"".join((lines[-1], *lines[1:-1], lines[0]))


def timed(run_dir, inputs, snapshot):
    begun = time.process_time()
    runs = replayed(run_dir, inputs, snapshot)
    return time.process_time() - begun, runs


def test_a_replay_of_what_is_damaged_or_of_another_job_ends_as_soon(site, tmp_path):
    """It polled 200,000 times after each result: over 40 minutes where the whole took 2 s."""
    inputs = site.inputs(4, rdma=RdmaLoad(duration=4))
    recording = site.recording(tmp_path / "run")
    run_load(recording, inputs, site.snapshot, pace=FAST)
    recording.close()

    whole, runs = timed(tmp_path / "run", inputs, site.snapshot)
    limit = 10 * max(whole, 0.2)
    fewer, part = timed(tmp_path / "run", site.inputs(2, rdma=inputs.rdma), site.snapshot)
    assert fewer < limit
    assert len(part.rdma_read[0].rates) == 2
    for number, change in enumerate((swapped, begin_and_end_swapped, lambda _: b"")):
        copy = tmp_path / str(number)
        shutil.copytree(tmp_path / "run", copy)
        rewrite(copy, change)
        seconds, damaged = timed(copy, inputs, site.snapshot)
        assert seconds < limit
        said = damaged.watches["rdma-read"].problems
        assert bool(said) == (change is not swapped), said
        if change is swapped:
            assert damaged.watches["rdma-read"].cables == runs.watches["rdma-read"].cables


def test_both_directions_by_reading_and_all_to_all(site, tmp_path):
    load = RdmaLoad("ib_read_bw", duration=3, direction="both", pattern="all-to-all")
    inputs = site.inputs(2, rdma=load)
    recording = site.recording(tmp_path)

    runs = run_load(recording, inputs, site.snapshot, pace=FAST)
    recording.close()

    def shown(rounds):
        return [
            {(p.client, p.storage, p.runs_server): isinstance(r, PairRate)
             for p, r in run.pairs.items()}
            for run in rounds
        ]  # fmt: skip

    # ib_read_bw moves data from its server to its client
    assert shown(runs.rdma_read) == [
        {("client-1", "stor-1", "stor-1"): True, ("client-2", "stor-2", "stor-2"): True},
        {("client-1", "stor-2", "stor-2"): True, ("client-2", "stor-1", "stor-1"): True},
    ]
    assert shown(runs.rdma_write) == [
        {("client-1", "stor-1", "client-1"): True, ("client-2", "stor-2", "client-2"): True},
        {("client-1", "stor-2", "client-1"): True, ("client-2", "stor-1", "client-2"): True},
    ]
    assert list(runs.watches) == ["rdma-read", "rdma-read-2", "rdma-write", "rdma-write-2"]
    assert replayed(tmp_path, inputs, site.snapshot) == runs


def test_the_file_system_is_written_then_read_and_cleaned(site, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    load = FilesystemLoad(
        "fio", str(scratch), size_per_client=8 << 20, block=1 << 18, processes=2, cached=True,
        direct=False, engine="psync",
    )  # fmt: skip
    inputs = site.inputs(3, filesystem=load)
    recording = site.recording(tmp_path / "run")

    runs = run_load(recording, inputs, site.snapshot, pace=FAST)
    recording.close()

    for direction, run in (("write", runs.filesystem_write), ("read", runs.filesystem_read)):
        assert isinstance(run, FilesystemRun)
        assert (run.direction, run.tool, run.moved, run.ended, run.unseen) == (
            direction, "fio", 3 * (8 << 20), (3, 3), (),
        )  # fmt: skip
        assert run.total.bytes_per_second > 0
        assert run.data_set.clients == 3
    assert list(scratch.iterdir()) == []
    assert runs.left == ()
    assert replayed(tmp_path / "run", inputs, site.snapshot) == runs


def test_files_that_are_kept_are_told(site, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    load = FilesystemLoad(
        "fio", str(scratch), size_per_client=1 << 20, block=1 << 18, cached=True, direct=False,
        engine="psync", keep=True,
    )  # fmt: skip
    inputs = site.inputs(2, filesystem=load)
    recording = site.recording(tmp_path / "run")

    runs = run_load(recording, inputs, site.snapshot, pace=FAST)
    recording.close()

    folders = sorted(path.name for path in scratch.iterdir())
    assert folders == [f"ibaccept-{inputs.token}-{number}" for number in (1, 2)]
    assert (runs.left, runs.kept) == (
        (),
        (f"{scratch}/ibaccept-{inputs.token}-[1-2] of client-[1-2]",),
    )
    assert replayed(tmp_path / "run", inputs, site.snapshot) == runs


def test_a_data_set_that_caches_hold_is_refused_before_any_load(site, tmp_path):
    load = FilesystemLoad("fio", str(tmp_path), size_per_client=1 << 20)
    recording = site.recording(tmp_path / "run")

    runs = run_load(recording, site.inputs(2, filesystem=load), site.snapshot, pace=FAST)
    recording.close()

    assert isinstance(runs.filesystem_write, NotSeen)
    assert runs.filesystem_write == runs.filesystem_read == runs.problems[0]
    assert "caches can hold it, so its rate would be theirs" in runs.problems[0].reason
    assert "or say cached: allowed" in runs.problems[0].hint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_one_host_without_the_folder_does_not_lose_the_others(site, tmp_path):
    load = FilesystemLoad("fio", "/nonexistent/scratch", size_per_client=1 << 20, cached=True)
    rdma = RdmaLoad(duration=3)
    recording = site.recording(tmp_path)

    runs = run_load(recording, site.inputs(2, filesystem=load, rdma=rdma), site.snapshot, pace=FAST)
    recording.close()

    assert [part.reason.partition(": mkdir")[0] for part in runs.problems] == [
        "folder: client-1", "folder: client-2",
    ]  # fmt: skip
    assert runs.filesystem_write.total is None
    assert all(rate.iterations > 0 for rate in runs.rdma_read[0].rates)
    assert len(runs.rdma_read[0].rates) == 2
    assert replayed(tmp_path, site.inputs(2, filesystem=load, rdma=rdma), site.snapshot) == runs


CHILD = """
import sys
from pathlib import Path
from ibaccept import commands
from ibaccept.transport.captures import Bundle
from ibaccept.observe.look import Look, look
from ibaccept.site.inventory import load_inventory
from ibaccept import commands
from ibaccept.load.pace import FIRST_PORT, FilesystemLoad, LoadInputs, Pace, RdmaLoad
from ibaccept.load.runs import run_load
from ibaccept.transport.replay import RecordingTransport
from ibaccept.transport.router import open_transport

inventory_file, ssh_config, run_dir = map(Path, sys.argv[1:])
inventory = load_inventory(inventory_file)
recording = RecordingTransport(
    open_transport(commands.permit(load=True), ssh_config=ssh_config), Bundle(run_dir)
)
clients = tuple(inventory.hosts[name] for name in inventory.groups["clients"])
storage = tuple(inventory.hosts[name] for name in inventory.groups["storage"])
snapshot = look(recording, inventory, None, Look(hosts=(*clients, *storage)))
try:
    run_load(
        recording, LoadInputs(clients, storage, rdma=RdmaLoad(duration=60)), snapshot,
        pace=Pace(interval=0.5),
    )
finally:
    recording.close()
"""


@pytest.mark.parametrize("name", ["INT", "TERM", "KILL"])
def test_the_end_of_our_process_ends_the_load(site, tmp_path, child, tools_up, tools_left, name):
    process = child(CHILD, str(site.lab.inventory), str(site.lab.ssh_config), str(tmp_path))
    up = tools_up(site.lab, 12)

    process.send_signal(signal.Signals[f"SIG{name}"])
    begun = time.monotonic()
    process.wait(20)

    assert up
    assert tools_left(site.lab) == []
    assert time.monotonic() - begun < 15


def test_a_port_in_use_is_left_to_its_owner_and_said(site, tmp_path):
    recording = site.recording(tmp_path)
    client = site.inventory.hosts["client-1"]
    argv = commands.RDMA_SERVERS["ib_write_bw"].argv(
        seconds=3, qps=4, bytes=1 << 20, tcp_port=FIRST_PORT
    )
    owner = recording.start(client.transport, argv, timeout=60)
    inputs = site.inputs(2, rdma=RdmaLoad(duration=3))
    time.sleep(1)

    runs = run_load(recording, inputs, site.snapshot, pace=FAST)
    still = owner.poll()
    owner.stop()
    recording.close()

    (run,) = runs.rdma_read
    assert run.moved == (f"client-1: TCP port {FIRST_PORT} is in use, the next one was taken",)
    assert [(pair.client, pair.tcp_port) for pair in run.pairs] == [
        ("client-1", FIRST_PORT + 1), ("client-2", FIRST_PORT + 2),
    ]  # fmt: skip
    assert (run.unseen, still) == ((), None)


def test_a_server_killed_in_the_run_costs_its_pair_alone(site, tmp_path, tools_left, monkeypatch):
    recording = site.recording(tmp_path)
    inputs = site.inputs(2, rdma=RdmaLoad(duration=5))
    killed: list[int] = []

    def kill(_seconds):
        """Between two samples, so while the pairs run."""
        time.sleep(0.3)
        for folder in Path("/proc").iterdir() if not killed else ():
            with contextlib.suppress(OSError):
                line = (folder / "cmdline").read_bytes()
                words = line.split(b"\0")
                mine = str(site.lab.folder).encode() in (folder / "environ").read_bytes()
                if mine and STAND_IN in line and words[-2] == str(FIRST_PORT).encode():
                    os.kill(int(folder.name), signal.SIGKILL)
                    killed.append(int(folder.name))

    def after_release(seconds):
        (kill if running else time.sleep)(seconds)

    running: list[str] = []
    watched = Watch.first

    def first(watch):
        watched(watch)
        running.append("released")

    monkeypatch.setattr(Watch, "first", first)
    pace = dataclasses.replace(FAST, sleep=after_release)
    runs = run_load(recording, inputs, site.snapshot, pace=pace)
    recording.close()

    assert killed
    (run,) = runs.rdma_read
    assert run.total is None
    assert [pair.client for pair, rate in run.pairs.items() if isinstance(rate, PairRate)] == [
        "client-2"
    ]
    assert runs.problems == run.unseen
    assert tools_left(site.lab) == []


@pytest.mark.parametrize("name", ["INT", "KILL"])
def test_the_end_of_a_file_system_run_removes_its_files(site, tmp_path, child, tools_left, name):
    """Ctrl-C removes them; of a killed run the hosts do it when they have lost it."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    text = CHILD.replace(
        "rdma=RdmaLoad(duration=60)",
        f"filesystem=FilesystemLoad('fio', {str(scratch)!r}, size_per_client=1 << 29, block=4096,"
        " cached=True, engine='psync', direct=True)",
    )
    process = child(text, str(site.lab.inventory), str(site.lab.ssh_config), str(tmp_path / "run"))
    deadline = time.monotonic() + 30
    while len(list(scratch.glob("*/*"))) < 6 and time.monotonic() < deadline:
        time.sleep(0.05)
    up = len(list(scratch.glob("*/*")))

    process.send_signal(signal.Signals[f"SIG{name}"])
    process.wait(30)
    gone = time.monotonic() + (0 if name == "INT" else 30)
    while list(scratch.iterdir()) and time.monotonic() < gone:
        time.sleep(0.1)

    assert up == 6
    assert list(scratch.iterdir()) == []
    assert tools_left(site.lab, str(scratch).encode()) == []

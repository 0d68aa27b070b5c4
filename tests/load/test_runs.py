"""All load runs of one run on played hosts: order, cables, balance, and what is left behind."""

from dataclasses import replace

import pytest

from ibaccept.fabric.model import Rate
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.pace import FilesystemLoad, LoadInputs, Pace, RdmaLoad
from ibaccept.load.result import ByteBalance, FilesystemRun, LoadWindow, RateState
from ibaccept.load.runs import balance_of, run_load
from ibaccept.site.inventory import InventoryHost
from ibaccept.site.recorded import RecordedRun
from ibaccept.transport import Host
from ibaccept.transport.captures import Bundle, BundleError
from ibaccept.transport.replay import RecordingTransport, ReplayTransport
from ibaccept.verdict.absence import NotSeen

GIB = 1 << 30
TOKEN = "0123456789abcdef"


def test_bytes_on_cables_against_the_benchmark():
    assert balance_of(102.9, 100.0, "bytes", 0.0) == ByteBalance(102.9, 100.0, "bytes", 0.0, None)
    assert balance_of(103.1, 100.0, "bytes", 0.0).explained == "other-traffic"
    assert balance_of(96.9, 100.0, "bytes/s", 0.0).explained == "cached"
    assert balance_of(96.9, 100.0, "bytes/s", 0.05).explained is None
    assert LoadWindow(10.0, 14.0, 3, 0.2).uncertain_share == pytest.approx(0.05)


@pytest.fixture
def snapshot(site_of):
    """c1 and c2 on A, s1 and s2 on B, two cables; the tables send reads over the first."""
    site = site_of("A", "B")
    for number, name in enumerate(("c1", "c2"), 1):
        (lid,) = site.host(name, "A", number)
        site.tables["B"][lid] = 25
    for number, name in enumerate(("s1", "s2"), 1):
        (lid,) = site.host(name, "B", number)
        site.tables["A"][lid] = 12 + number
    site.cable("A", 13, "B", 25)
    site.cable("A", 14, "B", 26)
    seen = site.snapshot()
    return replace(seen, observer="c1")


def host(name):
    return InventoryHost(name, Host(name))


def inputs(**changes):
    clients, storage = (host("c1"), host("c2")), (host("s1"), host("s2"))
    return LoadInputs(clients, storage, token=TOKEN, **changes)


FILES = FilesystemLoad("fio", "/x", 16 * GIB, block=1 << 20)


def load(transport, played, snapshot, given, progress=lambda _text: None):
    pace = Pace(sleep=played.sleep, interval=0.5, ramp=0.5, listening=3)
    return run_load(transport, given, snapshot, pace=pace, progress=progress)


def test_files_then_pairs_in_both_directions(played, snapshot):
    steps = []
    given = inputs(filesystem=FILES, rdma=RdmaLoad(duration=4, direction="both"))

    runs = load(played, played, snapshot, given, steps.append)

    files = (runs.filesystem_write, runs.filesystem_read)
    assert [(run.direction, run.moved, run.ended) for run in files] == [
        ("write", 32 * GIB, (2, 2)),
        ("read", 32 * GIB, (2, 2)),
    ]
    assert [len(run.rates) for run in (*runs.rdma_read, *runs.rdma_write)] == [2, 2]
    assert list(runs.watches) == [
        "filesystem-write", "filesystem-read", "rdma-read", "rdma-write",
    ]  # fmt: skip
    assert runs.tools == {"fio": "fio-3.33", "ib_write_bw": "6.06"}
    assert (runs.left, runs.kept, runs.problems) == ((), (), ())
    # no counter moved, so what the benchmark claims came from no cable
    assert {name: balance.explained for name, balance in runs.balances.items()} == dict.fromkeys(
        runs.balances, "cached"
    )
    assert [step.partition(":")[0] for step in steps] == [
        "filesystem-write", "filesystem-read", "rdma-read", "rdma-write",
    ]  # fmt: skip


def test_what_cables_carried_is_what_the_pairs_claim(played, snapshot):
    """The leaf's ports to both clients send 98 Gb/s and the headers while the pairs run."""
    played.seconds = 12.0
    for port in (1, 2):
        played.gib[5, port] = 98e9 / 8 * (4096 + 30) / 4096 / GIB

    runs = load(played, played, snapshot, inputs(rdma=RdmaLoad(duration=12)))

    watch = runs.watches["rdma-read"]
    assert watch.window.samples >= 2
    assert {cable.name for cable in watch.cables} >= {"A/13 - B/25", "A/1 - c1/1", "B/1 - s1/1"}
    carried = {cable.name: cable.toward_clients for cable in watch.cables}
    assert carried["A/1 - c1/1"].state is RateState.OK
    assert carried["A/1 - c1/1"].percent == pytest.approx(50, abs=1)
    balance = runs.balances["rdma-read"]
    assert (balance.what, balance.explained) == ("bytes/s", None)


def test_all_to_all_is_a_round_for_each_server(played, snapshot):
    given = inputs(rdma=RdmaLoad(duration=4, pattern="all-to-all"))

    runs = load(played, played, snapshot, given)

    assert [run.round for run in runs.rdma_read] == [0, 1]
    assert list(runs.watches) == ["rdma-read", "rdma-read-2"]


def test_ceilings_are_measured_on_an_idle_pair(played, snapshot):
    given = inputs(rdma=RdmaLoad(duration=4), ceilings="measure")

    runs = load(played, played, snapshot, given)

    ((rate, ceiling),) = runs.ceilings.items()
    assert rate == Rate.parse("4X HDR")
    # 98 Gb/s of a 200 Gb/s link is a limit of the hosts
    assert ceiling.ceiling.how == "derived"
    assert "reached 11.4 GiB/s only, which is a limit of its hosts" in ceiling.how


def test_without_a_fabric_the_loads_run_and_no_cable_is_read(played, snapshot):
    part = NotSeen("the fabric", "c1: iblinkinfo did not end in time")
    blind = replace(snapshot, fabric_seen=part)

    runs = load(played, played, blind, inputs(rdma=RdmaLoad(duration=4), ceilings="measure"))

    assert len(runs.rdma_read[0].rates) == 2
    assert runs.watches == runs.balances == runs.served == {"rdma-read": part}
    assert runs.problems == (part,)


def test_without_an_observer_no_cable_is_read(played, snapshot):
    runs = load(played, played, replace(snapshot, observer=None), inputs(rdma=RdmaLoad(duration=4)))

    assert isinstance(runs.watches["rdma-read"], NotSeen)
    assert len(runs.rdma_read[0].rates) == 2


def test_versions_that_differ_are_a_problem(played, gone, snapshot):
    played.answers["s1", "ib_write_bw"] = {"stdout": b"Version: 5.95\n", "exit_code": 1}
    played.answers["c2", "ib_write_bw"] = gone

    runs = load(played, played, snapshot, inputs(rdma=RdmaLoad(duration=4)))

    assert runs.tools == {"ib_write_bw": "5.95 on s1; 6.06 on c1,s2"}
    assert [part.what for part in runs.problems[:2]] == [
        "the version of ib_write_bw on c2", "one version of ib_write_bw",
    ]  # fmt: skip


def test_a_data_set_that_caches_hold_is_refused_before_any_load(played, snapshot):
    runs = load(played, played, snapshot, inputs(filesystem=replace(FILES, size_per_client=GIB)))

    assert runs.filesystem_write == runs.filesystem_read == runs.problems[0]
    assert not any("mkdir" in line for line in played.sent)


def recorded(direction, nodes=("c1", "c2"), per_client=10 * GIB):
    whole = None if per_client is None else dict.fromkeys(nodes, per_client)
    return RecordedRun("ior", tuple(nodes), direction, 20 * GIB, 10.0, 100.0, 112.0, whole)


def test_results_of_the_sites_own_benchmark_are_taken_as_they_are(played, snapshot):
    given = FilesystemLoad("recorded", recorded=(recorded("write"), recorded("read")))

    runs = load(played, played, snapshot, inputs(filesystem=given))

    for run in (runs.filesystem_write, runs.filesystem_read):
        assert (run.tool, run.total, run.moved) == ("recorded: ior", Bandwidth(2.0 * GIB), 20 * GIB)
        assert [rate.rate for rate in run.rates] == [Bandwidth(1.0 * GIB)] * 2
    assert (played.sent, runs.problems, runs.watches) == ([], (), {})


def test_a_recorded_result_of_other_nodes_or_of_one_direction_is_not_seen(played, snapshot):
    given = FilesystemLoad("recorded", recorded=(recorded("write", ("c1", "c3")),))

    runs = load(played, played, snapshot, inputs(filesystem=given))

    assert runs.filesystem_write == NotSeen(
        "the recorded write run",
        "recorded: it is of c[1,3], the job is c[1-2]",
        "judge the nodes that were loaded: --job='c[1,3]'",
    )
    assert runs.filesystem_read == NotSeen(
        "the recorded read run",
        "recorded: no file of workloads: filesystem: file is a read run",
        "name the result of the read run, too",
    )


def test_no_run_leaves_its_files_when_our_disk_is_full(played, snapshot, tmp_path, monkeypatch):
    """The error is one sentence, what was started is ended, and what stays is named."""
    bundle = Bundle(tmp_path)
    recording = RecordingTransport(played, bundle)
    record, steps = bundle.record, []

    def full(result, *words, **more):
        if result.tool == "fio" and "--rw=write" in result.argv:
            raise BundleError("captures cannot be written (No space left on device)")
        return record(result, *words, **more)

    monkeypatch.setattr(bundle, "record", full)
    with pytest.raises(BundleError, match="No space left on device"):
        load(recording, played, snapshot, inputs(filesystem=FILES), steps.append)

    assert sorted(line[0] for line in played.sent if line[1] == "rm") == ["c1", "c2"]
    assert all(one.result is not None for one in played.running)
    assert steps[-1] == (
        "ended by: captures cannot be written (No space left on device): what was started on the "
        "hosts was ended"
    )


def test_what_is_left_behind_is_named_when_a_run_is_interrupted(played, gone, snapshot):
    steps = []
    sleep = played.sleep

    def interrupt(seconds):
        sleep(seconds)
        played.answers["c2", "rm"] = gone
        for one in played.running:
            if one.host.name == "c2" and one.argv[0] == "rm":
                one.answer = replace(one.answer, lost=True, exit_code=None)
        loaded = any(one.argv[0] == "fio" and one.begun for one in played.running)
        if loaded and "x" not in steps:
            steps.append("x")
            raise KeyboardInterrupt

    played.sleep = interrupt
    with pytest.raises(KeyboardInterrupt):
        load(played, played, snapshot, inputs(filesystem=FILES), steps.append)

    folder = f"/x/ibaccept-{TOKEN}-2"
    assert steps[-2:] == [
        "interrupted: what was started on the hosts was ended",
        f"left behind: c2: {folder} was not removed (remove: c2: refused the connection)",
    ]


def test_a_replay_gives_the_same(played, snapshot, tmp_path):
    given = inputs(filesystem=FILES, rdma=RdmaLoad(duration=4))
    recording = RecordingTransport(played, Bundle(tmp_path))
    runs = load(recording, played, snapshot, given)

    pace = Pace(sleep=lambda _seconds: None, interval=0.5, ramp=0.5, listening=3)
    again = run_load(ReplayTransport(tmp_path), given, snapshot, pace=pace)

    assert isinstance(runs.filesystem_write, FilesystemRun)
    assert again == runs

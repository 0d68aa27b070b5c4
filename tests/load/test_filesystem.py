"""A file system under load: data set, commands, and what was moved against what was to be."""

import json
from dataclasses import replace

import pytest

from ibaccept.fabric.units import Bandwidth
from ibaccept.load.clocks import Clocks
from ibaccept.load.filesystem import FilesystemRunner
from ibaccept.load.pace import FilesystemLoad, Pace
from ibaccept.load.result import ClientRate, DataSet
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import CommandResult, Host
from ibaccept.verdict.absence import NotSeen

MIB, GIB = 1 << 20, 1 << 30
WHAT = "the read rate of c1"
HINT = "see its output, and whether its files are whole; then run it again"


def rate(load, *texts):
    """What becomes of the outputs of a client's processes."""
    runner = FilesystemRunner(None, load, [], [], Pace(), Clocks(), "t")
    results = [CommandResult("c1", (load.tool,), text.encode(), b"", 0) for text in texts]
    return runner._rate("c1", "read", results)


def measured(moved, seconds, per_second=None):
    found = moved / seconds if per_second is None else per_second
    return ClientRate("c1", moved, seconds, Bandwidth(found), None)


def plain(found):
    """Without the capture, which these results have none of."""
    if isinstance(found, NotSeen):
        return found
    return ClientRate(found.client, found.moved, found.seconds, found.rate, None)


def other_amount(tool, moved, asked):
    return NotSeen(
        WHAT,
        f"read: c1: {tool} moved {moved} instead of {asked}, so it is not the data set that "
        "was to be moved",
        HINT,
    )


def fio(moved, milliseconds):
    nothing = {"io_bytes": 0, "io_kbytes": 0, "bw": 0, "runtime": 0}
    side = nothing | {
        "io_bytes": moved, "io_kbytes": moved // 1024,
        "bw": int(moved / 1024 * 1000 / milliseconds), "runtime": milliseconds,
    }  # fmt: skip
    job = {"jobname": "x", "groupid": 0, "error": 0, "read": side, "write": nothing}
    return json.dumps({"fio version": "fio-3.33", "jobs": [job]}, indent=1) + "\n"


def test_fio_that_moved_all_of_it():
    """A hundredth may be missing; the rest of a block at the end of each file is never moved."""
    whole = FilesystemLoad("fio", "/x", 64 * GIB)
    blocks = FilesystemLoad("fio", "/x", 10 * MIB, block=3 * MIB, processes=2)

    assert plain(rate(whole, fio(64 * GIB, 8000))) == measured(64 * GIB, 8.0)
    assert plain(rate(whole, fio(64 * GIB - GIB // 2, 8000))) == measured(64 * GIB - GIB // 2, 8.0)
    assert plain(rate(blocks, fio(6 * MIB, 10))) == measured(6 * MIB, 0.01)


@pytest.mark.parametrize(
    ("moved", "milliseconds", "shown"),
    [(64 * MIB, 8, "64MiB"), (63 * GIB, 8000, "63GiB"), (128 * GIB, 8000, "128GiB")],
)
def test_fio_that_moved_another_amount(moved, milliseconds, shown):
    """A part can be in a cache that the whole is not; twice the file is once from a cache."""
    load = FilesystemLoad("fio", "/x", 64 * GIB)

    assert rate(load, fio(moved, milliseconds)) == other_amount("fio", shown, "64GiB")


IOR = """\
IOR-3.0.1: MPI Coordinated Test of Parallel I/O
Summary:
    clients            = 1 (1 per node)
{aggregate}
access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
read      1024.00    1024.00    256.00     0.000416   0.011002   0.000320   {seconds}   0
Max Read:  1024.00 MiB/sec (1073.74 MB/sec)
Finished: Mon Jul 24 16:10:54 2017
"""


def ior(aggregate, seconds):
    return IOR.format(aggregate=f"    aggregate filesize = {aggregate}", seconds=seconds)


def test_ior():
    """Its aggregate filesize is what it moved, rounded to two decimals; each process by itself."""
    load = FilesystemLoad("ior", "/x", 2 * GIB, processes=2)
    many = FilesystemLoad("ior", "/x", 3 * GIB - MIB)

    assert plain(rate(load, ior("1 GiB", "1.00"), ior("1 GiB", "1.00"))) == measured(
        2 * GIB, 1.0, 2 * GIB
    )
    # 2.999 GiB are printed as 3.00
    assert plain(rate(many, ior("3.00 GiB", "3.00"))) == measured(3 * GIB, 3.0)
    assert rate(load, ior("1 GiB", "1.00"), ior("1 MiB", "0.0010")) == other_amount(
        "ior", "1MiB", "1GiB"
    )
    assert rate(load, IOR.format(aggregate="", seconds="1.00")) == NotSeen(
        WHAT, "read: c1: ior output: its aggregate filesize was not printed"
    )


ELBENCHO = """\
OPERATION RESULT TYPE        FIRST DONE  LAST DONE
========= ================   ==========  =========
READ      Elapsed ms       :          0 {milliseconds:10d}
          Throughput MiB/s :       1000 {rate:10d}
          Total MiB        :          1 {total:10d}
---
"""


def test_elbencho():
    """One file a client, whatever the threads; what was not timed was not measured."""
    load = FilesystemLoad("elbencho", "/x", 64 * GIB, processes=4)
    whole = ELBENCHO.format(milliseconds=8000, rate=8192, total=64 << 10)
    part = ELBENCHO.format(milliseconds=8000, rate=4096, total=32 << 10)
    untimed = ELBENCHO.format(milliseconds=0, rate=1000, total=1)

    assert plain(rate(load, whole)) == measured(64 * GIB, 8.0)
    assert rate(load, part) == other_amount("elbencho", "32GiB", "64GiB")
    assert rate(load, untimed) == NotSeen(
        WHAT,
        "read: c1: elbencho output, line 3: READ: it took less than a millisecond, so it was not "
        "timed",
    )


GIB16 = 16 << 30


def hosts(*names):
    return [InventoryHost(name, Host(name)) for name in names]


def runner(played, load, clients=("c1", "c2"), storage=("s1",)):
    pace = Pace(sleep=played.sleep, interval=0.5)
    return FilesystemRunner(
        played, load, hosts(*clients), hosts(*storage), pace, Clocks(), "0123456789abcdef"
    )


LOAD = FilesystemLoad("fio", "/x", GIB16, block=1 << 20, processes=2)


def both(played, load=LOAD, **options):
    """The write and the read of two clients."""
    made = runner(played, load, **options)
    data = made.data_set()
    without = made.folders.make(made.clients)
    runs = [made.run(direction, data, None, without) for direction in ("write", "read")]
    return made, runs


def test_clients_write_then_read_at_once(played):
    made, runs = both(played)

    assert [(run.direction, run.moved, run.ended, run.unseen) for run in runs] == [
        ("write", 2 * GIB16, (2, 2), ()), ("read", 2 * GIB16, (2, 2), ()),
    ]  # fmt: skip
    assert runs[0].total == Bandwidth(2 * GIB16 / 4)
    assert runs[0].data_set == DataSet(GIB16, 2, 1 << 30, 1 << 30)
    assert made.folders.remove() == ()
    fio = [" ".join(line) for line in played.sent if line[1] == "fio"]
    assert fio[0] == (
        "c1 fio --thread --name=ibaccept-0123456789abcdef-1 "
        "--directory=/x/ibaccept-0123456789abcdef-1 --bs=1048576 --size=8589934592 --numjobs=2 "
        "--iodepth=16 --ioengine=libaio --direct=1 --fallocate=none --unlink=0 --group_reporting "
        "--output-format=json --rw=write --end_fsync=1"
    )
    assert [line.partition(" ")[0] for line in fio] == ["c1", "c2", "c1", "c2"]
    assert [line[:2] for line in played.sent if line[1] == "rm"] == [("c1", "rm"), ("c2", "rm")]


@pytest.mark.parametrize(
    ("tool", "commands"),
    [
        ("elbencho", ["elbencho -w --nolive --direct -t 2 --iodepth 16 -b 1048576 -s 17179869184 "
                      "/x/ibaccept-0123456789abcdef-1/data"]),
        ("ior", [f"ior -w -a POSIX -k -e -t 1048576 -b 8589934592 -o "
                 f"/x/ibaccept-0123456789abcdef-1/data.{n}" for n in (0, 1)]),
    ],
)  # fmt: skip
def test_the_commands_of_the_other_tools(played, tool, commands):
    both(played, FilesystemLoad(tool, "/x", GIB16, processes=2, cached=True), clients=("c1",))

    sent = [" ".join(line[1:]) for line in played.sent if line[1] == tool]
    assert sent[: len(commands)] == commands


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"exit_code": 1, "stderr": b"fio: no space left\n"},
         "write: c1: fio ended with exit code 1: fio: no space left"),
        ({"exit_code": None, "timed_out": True},
         "write: c1: fio did not end in time and was stopped; its output is cut"),
        ({"exit_code": None, "truncated": True},
         "write: c1: fio printed more than the output limit; its output is cut"),
        ({"stdout": b"hello\n"}, "write: c1: fio output, line 1: "),
        ({"stdout": b""}, "write: c1: fio output"),
    ],
)  # fmt: skip
def test_what_fails_is_one_clients_alone(played, changes, reason):
    played.answers["c1", "fio"] = changes

    _, (write, _) = both(played)

    assert write.total is None
    (part,) = write.unseen
    assert part.what == "the write rate of c1"
    assert part.reason.startswith(reason)
    assert write.clients["c2"].rate == Bandwidth(GIB16 / 4)


def test_a_client_that_is_gone(played, gone):
    played.answers["c1", "fio"] = gone
    played.answers["c2", "mkdir"] = gone

    made, (write, _) = both(played)

    assert {name: part.reason for name, part in write.clients.items()} == {
        "c1": "write: c1: refused the connection",
        "c2": "folder: c2: refused the connection",
    }
    assert made.folders.remove() == ()


@pytest.mark.parametrize("host", ["c1", "s1"])
def test_a_host_whose_memory_is_not_known(played, gone, host):
    """Then the data set cannot be held against its cache, unless caches are allowed."""
    played.answers[host, "cat"] = gone
    cached = replace(LOAD, cached=True)

    assert runner(played, LOAD).data_set() == NotSeen(
        "the size of the caches",
        f"memory: {host}: refused the connection",
        "the data set cannot be held against caches; or set cached: allowed",
    )
    known = runner(played, cached).data_set()
    assert (known.client_memory, known.storage_memory) == (
        (None, 1 << 30) if host == "c1" else (1 << 30, None)
    )


def test_a_memory_that_cannot_be_read(played):
    played.answers["c1", "cat"] = {"stdout": b"Mem 5\n"}

    assert runner(played, LOAD).data_set().reason.startswith("memory: c1: meminfo output, line 1")


def test_a_data_set_that_caches_hold_is_refused(played):
    small = FilesystemLoad("fio", "/x", 1 << 30)

    assert (
        runner(played, small)
        .data_set()
        .reason.startswith("data set: 1.0 GiB are 1.00 times a client's memory")
    )


@pytest.mark.parametrize(
    ("data", "reason", "hint"),
    [
        (
            DataSet(63 * GIB, 12, 32 * GIB, 8 * GIB),
            "data set: 63.0 GiB are 1.97 times a client's memory (32.0 GiB): caches can hold it, "
            "so its rate would be theirs",
            "set size_per_client to 64 GiB or more, or say cached: allowed",
        ),
        (
            DataSet(64 * GIB, 12, 32 * GIB, 512 * GIB),
            "data set: 768.0 GiB are 1.50 times the storage servers' memory together (512.0 GiB): "
            "caches can hold it, so its rate would be theirs",
            "set size_per_client to 86 GiB or more, or say cached: allowed",
        ),
    ],
)
def test_a_data_set_below_twice_the_cache_is_refused(data, reason, hint):
    assert FilesystemRunner._large_enough(data) == NotSeen(
        "the rate of the file system", reason, hint
    )


def test_a_large_data_set_is_taken():
    data = DataSet(64 * GIB, 12, 32 * GIB, 384 * GIB)

    assert FilesystemRunner._large_enough(data) is data
    assert (data.client_ratio, data.storage_ratio) == (2.0, 2.0)

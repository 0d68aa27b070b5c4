"""What a file system benchmark moved against what it was told to move, from its output on."""

import json

import pytest

from ibaccept.fabric.units import Bandwidth
from ibaccept.load.clocks import Clocks
from ibaccept.load.filesystem import FilesystemRunner
from ibaccept.load.pace import FilesystemLoad, Pace
from ibaccept.load.result import ClientRate
from ibaccept.transport import CommandResult
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
        f"read: c1: {tool} moved {moved}, asked for were {asked}, so it is not the data set that "
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

"""What the stand-in of perftest prints, held against outputs of the real tool."""

import re
from pathlib import Path

import pytest

from ibaccept import commands
from ibaccept.lab.hosts.played import _without_tool, tool_of
from ibaccept.lab.standins import fio, ib_bw
from ibaccept.transport.wrap import read_exec_string, wrap

SAMPLES = Path(__file__).resolve().parents[2] / "../shared/samples/perftest-rxe"


def as_infiniband(text):
    """A soft-RoCE output as it is on an InfiniBand adapter, figures masked."""
    text = re.sub(r" GID: .*\n", "", text).replace(" GID index       : 1\n", "")
    text = text.replace("Ethernet\n GID", "IB\n").replace(
        "Link type       : Ethernet", "Link type       : IB"
    )
    text = text.replace("ibv_wr* API     : OFF", "ibv_wr* API     : ON").replace(
        "1024[B]", "4096[B]"
    )
    text = re.sub(r"Device         : \w+", "Device         : D", text)
    text = re.sub(r"LID \w+ QPN 0x\w{4} PSN 0x\w+", "LID QPN PSN", text)
    text = re.sub(r"RKey 0x\w{6} VAddr 0x\w{14}", "RKey VAddr", text)
    text = re.sub(r"OUT 0x\w\w", "OUT", text).replace(
        "Outstand reads  : 128", "Outstand reads  : 16"
    )
    # This line is the price of an adapter that perftest does not know.
    return re.sub(r"\A-+\n(?=\n|-)", "", text)


@pytest.mark.parametrize(
    ("case", "tool", "flags"),
    [
        ("10-write-wire-t4-gbits", "ib_write_bw", "-F -q 4 -s 1048576 -D 5 -t 4 --report_gbits"),
        ("11-write-wire-t4-MB", "ib_write_bw", "-F -q 4 -s 1048576 -D 5 -t 4"),
        (
            "05-write-loop-t4-bidir-gbits",
            "ib_write_bw",
            "-F -q 4 -s 1048576 -D 5 -t 4 -b --report_gbits",
        ),
        ("06-write-loop-t4-bidir-MB", "ib_write_bw", "-F -q 4 -s 1048576 -D 5 -t 4 -b"),
        ("07-read-loop-t4-gbits", "ib_read_bw", "-F -q 4 -s 1048576 -D 5 -t 4 --report_gbits"),
        ("15-write-loop-iters-gbits", "ib_write_bw", "-F -q 2 -s 65536 -n 100 --report_gbits"),
        (
            "01-write-loop-default-depth-gbits",
            "ib_write_bw",
            "-F -q 4 -s 1048576 -D 5 --report_gbits",
        ),
        ("02-write-loop-default-depth-MB", "ib_write_bw", "-F -q 4 -s 1048576 -D 5"),
    ],
)
@pytest.mark.parametrize("role", ["client", "server"])
def test_the_text_is_that_of_the_real_tool(case, tool, flags, role):
    if not SAMPLES.is_dir():
        pytest.skip("shared/ is not beside the project")
    real = as_infiniband((SAMPLES / case / f"{role}.stdout").read_text())
    words = real.splitlines()[-2].split()
    given, _ = ib_bw.options(flags.split(), tool)
    test = ib_bw.Test(tool, given, "host" if role == "client" else None)
    if role == "server":
        test.out.append(ib_bw.BANNER)
    test.header(test.addresses(["3", "4", "1", "2"]))
    sides = 2 if "-b" in flags else 1
    count, unit = int(words[1]), 125e6 if test.gbits else 1 << 20
    rate = float(words[3]) or 1.0
    test.row(
        [str(count), f"{sides * count * test.size / unit / rate}", str(sides)], gbits=test.gbits
    )

    ours = as_infiniband("".join(test.out))
    assert ours.splitlines()[:-2] == real.splitlines()[:-2]
    mine = re.sub(r"\d(?=\d*\Z)", "N", ours.splitlines()[-2])
    assert re.sub(r"\d+\.\d+", "F", mine) == re.sub(
        r"\d+\.\d+", "F", re.sub(r"\d(?=\d*\Z)", "N", real.splitlines()[-2])
    )
    assert ours.splitlines()[-1] == real.splitlines()[-1]


def test_options_are_read_as_getopt_does():
    given, words = ib_bw.options(
        ["-Fq4", "--size=1024", "host", "-D", "5", "--duration", "6", "--report_gbits"],
        "ib_write_bw",
    )

    assert given == {"cpu_freq": "1", "qps": "4", "size": "1024", "seconds": "6", "gbits": "1"}
    assert words == ["host"]


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--no-such"], "ib_write_bw: unrecognized option '--no-such'"),
        (["-FZ"], "ib_write_bw: invalid option -- 'Z'"),
        (["-p"], "ib_write_bw: option requires an argument -- 'p'"),
    ],
)
def test_options_that_the_tool_does_not_know(argv, sentence):
    with pytest.raises(ib_bw.UnknownOption, match=re.escape(sentence)):
        ib_bw.options(argv, "ib_write_bw")


def test_sizes_of_fio():
    assert [fio.size_of(text) for text in ("4096", "4k", "1M", "2MiB", "3gb", "1T")] == [
        *(4096, 4096, 1 << 20, 2 << 20, 3 << 30, 1 << 40)
    ]


def test_every_latency_falls_into_one_bucket():
    for latency in (1, 999, 1000, 1001, 5_000_000, 3_000_000_000):
        tables = fio._tables(latency, 4)
        shares = [v for n in fio.BUCKETS for v in tables[n].values()]
        assert sum(shares) == 100.0


def test_the_script_that_runs_perfquery_is_perfquery_to_the_lab():
    argv = commands.PERFQUERY_EACH.argv(
        as_root="", wide="-x", adapter="", adapter_port="", lids="2,3"
    )
    text = wrap(argv, timeout=5).exec_string

    without = read_exec_string(_without_tool(text, "perfquery")).argv

    assert [tool_of(words) for words in (argv, ("/usr/sbin/perfquery", "2"), ("sh",), ())] == [
        "perfquery", "perfquery", "sh", "",
    ]  # fmt: skip
    assert without[2] == argv[2].replace("perfquery", "perfquery-that-is-not-installed")
    assert (without[:2], without[3:]) == (argv[:2], argv[3:])

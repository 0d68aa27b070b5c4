"""fio: what each job moved, from JSON that fio itself printed and from text around it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.parse import ParseError, ParseWarning
from ibaccept.parse.fio import FioJob, FioRun, IoResult, parse


def side(moved=0, runtime=0, *, version=3, **more):
    """One direction as ``add_ddir_status_json`` prints it."""
    rate = 1000 * moved // runtime if runtime else 0
    if version < 3:
        return {"io_bytes": moved >> 10, "bw": rate >> 10, "runtime": runtime} | more
    return {
        "io_bytes": moved, "io_kbytes": moved >> 10, "bw_bytes": rate, "bw": rate >> 10,
        "runtime": runtime,
    } | more  # fmt: skip


def job(name="scratch", *, read=None, write=None, version=3, **more):
    empty = side(version=version)
    values = {"jobname": name, "groupid": 0, "error": 0, "read": read or empty}
    return values | {"write": write or empty, "usr_cpu": 1.5, "sys_cpu": 2.5} | more


def output(*jobs, version="fio-3.33", key="jobs"):
    return json.dumps({"fio version": version, key: list(jobs)}, indent=2) + "\n"


@pytest.mark.parametrize("case", ["write-grouped", "read-write-each", "no-space"])
def test_golden(golden, expected, plain, case):
    """What fio 3.33 printed."""
    assert plain(parse(golden("fio", case))) == expected("fio", case)


def test_total_of_golden(golden):
    """Jobs of a group add up over the time of the longest; a failed job leaves no total."""
    each = parse(golden("fio", "read-write-each"))
    reads = [job.read for job in each.jobs]

    assert each.total("read") == IoResult(
        sum(read.bytes for read in reads), max(read.seconds for read in reads)
    )
    assert parse(golden("fio", "write-grouped")).total("read") is None
    with pytest.raises(ParseError, match=r"job scratch ended with error 28 \(1 of 1 jobs failed\)"):
        parse(golden("fio", "no-space")).total("write")


@given(
    moved=st.integers(1, 1 << 50), runtime=st.integers(1, 10**8), version=st.sampled_from([2, 3])
)
def test_units_of_a_version(moved, runtime, version):
    """fio 2 prints KiB where fio 3 prints bytes."""
    moved = moved << 10
    text = output(
        job(write=side(moved, runtime, version=version), version=version),
        version=f"fio-{version}.1.4",
    )

    assert parse(text).jobs[0].write == IoResult(moved, runtime / 1000)


def test_noise_around():
    """fio's own messages may stand before and after."""
    noise = "fio: this platform does not support process shared mutexes\n"
    run = parse(noise + output(job(read=side(1 << 30, 1000))) + "\nfio: done\n")

    assert run == FioRun(
        "fio-3.33",
        (FioJob("scratch", 0, 0, IoResult(1 << 30, 1.0), None, 1.5, 2.5),),
        (
            ParseWarning(1, noise.strip()),
            ParseWarning(2 + output(job(read=side(1 << 30, 1000))).count("\n") + 1, "fio: done"),
        ),
    )


def test_clients_and_their_sum():
    """With ``--client`` the sum of all is no job."""
    one = job("scratch", read=side(1 << 30, 1000), hostname="node001")
    two = job("scratch", read=side(1 << 30, 2000), hostname="node002")
    both = job("All clients", read=side(2 << 30, 2000))
    run = parse(output(one, two, both, key="client_stats"))

    assert [job.host for job in run.jobs] == ["node001", "node002"]
    assert run.total("read") == IoResult(2 << 30, 2.0)


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        (
            [job(read=side(1 << 20, 100)), job("idle")],
            "fio output: job idle has moved nothing in the direction read, others have",
        ),
        (
            [job(read=side(1 << 20, 100)), job("later", read=side(1 << 20, 100), groupid=1)],
            "fio output: the jobs are of several groups, which ran one after another; "
            "run them apart",
        ),
    ],
)
def test_no_total(jobs, message):
    """Figures that must not be added."""
    with pytest.raises(ParseError) as raised:
        parse(output(*jobs)).total("read")

    assert str(raised.value) == message


WHOLE = output(job(read=side(1 << 30, 1000)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "fio output: no JSON was printed; see its stderr and exit code"),
        (
            "fio: failed parsing\n",
            "fio output, line 1: no JSON was printed; see its stderr and exit code: "
            "'fio: failed parsing'",
        ),
        (WHOLE + WHOLE, "fio output: a second JSON object; one run at a time"),
        (
            '{"jobs": []}',
            "fio output: the JSON does not name fio's version: not the output of fio",
        ),
        (output(), "fio output: the JSON holds no jobs; see fio's stderr and exit code"),
        (
            output(job(read=side(1 << 30, 0))),
            "fio output: job scratch took less than a millisecond, so it was not timed; "
            "move more bytes",
        ),
        (
            output(job(read=side(1 << 30, 1000, bw=5))),
            "fio output: job scratch: 1073741824 bytes in 1000 ms are not the read bandwidth of "
            "5 KiB/s that is printed",
        ),
        (
            output(job(read=side(1 << 30, 1000) | {"runtime": "x"})),
            "fio output: job scratch: read runtime is 'x', not a count",
        ),
        (
            output(job(read=side(1 << 30, 1000, version=2))),
            "fio output: job scratch: io_bytes is not in the unit of this version, "
            "so it is not known",
        ),
        (
            output(job(read=side(1 << 30, 1000) | {"io_bytes": 10**400})),
            f"fio output: job scratch: read io_bytes is {10**400}, not a count",
        ),
        (
            output(job(read=side(1 << 30, 1000) | {"runtime": float("nan")})),
            "fio output: job scratch: read runtime is nan, not a count",
        ),
        (
            WHOLE.replace('"error": 0', f'"error": {"9" * 5000}'),
            "fio output: the JSON holds a number that is none of fio's",
        ),
        (
            WHOLE.replace('"error": 0', '"error": 5, "error": 0'),
            "fio output: the key 'error' comes twice in one object",
        ),
    ],
)
def test_not_understood(text, message):
    """An error in a sentence."""
    with pytest.raises(ParseError) as raised:
        parse(text)

    assert str(raised.value) == message


@given(st.integers(0, len(WHOLE) - 3))
def test_cut(length):
    """However much came, a part of the JSON is none of it."""
    with pytest.raises(ParseError):
        parse(WHOLE[:length])


def test_capture(samples):
    """fio 2.1.4: five jobs one after another; one that only writes has read nothing."""
    run = parse(samples("fio", "multi-job-2.1.4.json"))

    assert [(j.name, j.error, j.read, j.write) for j in run.jobs] == [
        ("sequential_write", 0, None, IoResult(361984 << 10, 5.314)),
        ("sequential_read", 0, IoResult(361984 << 10, 2.788), None),
        ("random_write_test", 0, None, IoResult(36244 << 10, 5.625)),
        ("random_read_test", 0, IoResult(36244 << 10, 28.540), None),
        ("random_read_test_parallel", 0, IoResult(36244 << 10, 28.045), None),
    ]

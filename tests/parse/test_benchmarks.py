"""IOR, elbencho and results recorded by the site: what they say, and what they do not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.errors import InputError
from ibaccept.parse import ParseError, elbencho, ior
from ibaccept.site import recorded

MIB = 1 << 20

# -- IOR ---------------------------------------------------------------------------------------

IOR = """\
IOR-3.1.0: MPI Coordinated Test of Parallel I/O

Began: Tue Oct 24 18:05:35 2017
Summary:
\tapi                = POSIX
\tclients            = {tasks} ({each} per node)
{aggregate}
access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ---------- ---------  --------   --------   --------   --------   ----
{rows}
{best}
Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev
write         421.05     421.05     421.05       0.00

Finished: Tue Oct 24 18:05:44 2017
"""


def ior_output(rates, *, what="write", best=None, tasks=8, each=4, aggregate=None):
    """As ``ior-output.c`` prints it."""
    rows = "\n".join(
        f"{what:<10}{rate:<10.2f} 2097152    2048.00    0.02       9.69       0.01       9.73"
        f"       {n}"
        for n, rate in enumerate(rates)
    )
    top = max(rates) if best is None else best
    line = f"Max {what.capitalize()}: {top:.2f} MiB/sec ({top * MIB / 1e6:.2f} MB/sec)"
    size = "" if aggregate is None else f"\taggregate filesize = {aggregate}\n"
    return IOR.format(rows=rows, best=line, tasks=tasks, each=each, aggregate=size)


@given(st.lists(st.floats(0.01, 1e7), min_size=1, max_size=4), st.sampled_from(["write", "read"]))
def test_ior_prints_and_is_read(rates, what):
    """Each repetition, and the best of them; the other direction was not run."""
    (run,) = ior.parse(ior_output(rates, what=what))
    result, other = (run.write, run.read) if what == "write" else (run.read, run.write)

    assert (run.version, run.tasks, run.tasks_per_node, other) == ("3.1.0", 8, 4, None)
    assert result.bytes_per_second == pytest.approx(max(rates) * MIB, abs=0.006 * MIB)
    assert len(result.repetitions) == len(rates)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\n", "ior output: no 'IOR-...: MPI Coordinated Test' line was seen"),
        (
            ior_output([421.05]).replace("Finished", "Fini"),
            "ior output, line 1: the run that begins here has no end; run it again",
        ),
        (
            ior_output([421.05]).replace("Max Write", "Mix Write"),
            "ior output, line 1: the run that begins here has not one 'Max' line for what its "
            "table shows; run it again",
        ),
        (
            ior_output([421.05], best=500.0),
            "ior output, line 1: 'Max Write' is not the best row of the table",
        ),
        (
            ior_output([421.05]).replace("(441.50 MB/sec)", "(421.05 MB/sec)"),
            "ior output, line 11: MiB/sec and MB/sec do not agree: "
            "'Max Write: 421.05 MiB/sec (421.05 MB/sec)'",
        ),
        (
            ior_output([421.05]).replace("9.73       0", "9.73"),
            "ior output, line 10: not a row of the table: "
            "'write     421.05     2097152    2048.00    0.02       9.69       0.01       9.73'",
        ),
        (
            ior_output([421.05]).replace("9.73       0", "0.00       0"),
            "ior output, line 10: the row cannot be: 'write     421.05     2097152    2048.00    "
            "0.02       9.69       0.01       0.00       0'",
        ),
        (
            ior_output([421.05]).replace("421.05     2097152", "1e400     2097152"),
            "ior output, line 10: the row cannot be: 'write     1e400     2097152    2048.00    "
            "0.02       9.69       0.01       9.73       0'",
        ),
        (
            ior_output([421.05], aggregate="1 MiB"),
            "ior output, line 1: write: 1048576 bytes in 9.73 s are not 421.05 MiB/s",
        ),
        (
            ior_output([421.05]).replace("Began:", "ior ERROR: open() failed"),
            "ior output, line 3: IOR reports an error: "
            "'ior ERROR: open() failed Tue Oct 24 18:05:35 2017'",
        ),
    ],
)
def test_ior_not_understood(text, message):
    """An error that names the line."""
    with pytest.raises(ParseError) as raised:
        ior.parse(text)

    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("case", "facts"),
    [
        ("easy-write-3.1.0", [("3.1.0", 2, 421.05, None, 4 << 30, None)]),
        ("posix-3.0.1", [("3.0.1", 1, 75.82, 85.18, 1 << 20, None)]),
        (
            "stonewall-easy-read-3.1.0",
            [("3.1.0", 1000, None, 167547.29, 125 << 40, 103056146432000)],
        ),
        (
            "two-runs-one-file-3.1.0",
            [
                ("3.1.0", 100, 5645.32, None, 2000 << 30, None),
                ("3.1.0", 100, None, 4799.99, 2000 << 30, None),
            ],
        ),
        (
            "verbose-2400-tasks-2.10.3",
            [
                ("2.10.3", 2400, 946730.77, None, 484734035558400, None),
                ("2.10.3", 2400, None, 873797.73, 484734035558400, None),
            ],
        ),
    ],
)
def test_ior_captures(samples, case, facts):
    """What the world's own outputs hold."""
    runs = ior.parse(samples("ior", f"{case}.txt"))
    seen = [
        (
            run.version,
            run.tasks,
            *(side and side.bytes_per_second / MIB for side in (run.write, run.read)),
            run.aggregate_bytes,
            run.moved_bytes,
        )
        for run in runs
    ]

    assert seen == facts


# -- elbencho ----------------------------------------------------------------------------------

ELBENCHO = """\
OPERATION RESULT TYPE        FIRST DONE  LAST DONE
========= ================   ==========  =========
READ      Elapsed ms       :      85656      99973
          IOPS             :        660        655
          Throughput MiB/s :      10572      10488
          Total MiB        :     905632    1048576
---
DROPCACHE Elapsed ms       :       3544       3904
---
"""


def test_elbencho():
    """LAST DONE only: FIRST DONE would flatter."""
    assert elbencho.parse(ELBENCHO) == (
        elbencho.ElbenchoPhase("READ", 99.973, 10488.0 * MIB, 1048576 * MIB, 85.656, 3),
        elbencho.ElbenchoPhase("DROPCACHE", 3.904, None, None, 3.544, 8),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\n", "elbencho output: no phase was seen: not the output of elbencho, or it failed"),
        (
            ELBENCHO.partition("---")[0],
            "elbencho output, line 3: the phase that begins here has no end; run it again",
        ),
        (
            ELBENCHO.replace("10488", "20488"),
            "elbencho output, line 3: READ: 1.04858e+06 MiB in 99.973 s are not 20488 MiB/s",
        ),
        (
            ELBENCHO.replace("          Total MiB        :     905632    1048576\n", ""),
            "elbencho output, line 3: READ: has a throughput without a total, or the reverse",
        ),
        (
            ELBENCHO.replace("      99973", "          0"),
            "elbencho output, line 3: READ: it took less than a millisecond, so it was not timed",
        ),
        (
            ELBENCHO.replace("      10488", "9" * 400),
            "elbencho output, line 5: no such number can be: "
            f"{'Throughput MiB/s :      10572' + '9' * 171!r}",
        ),
        (
            ELBENCHO.replace("IOPS", "Elapsed ms"),
            "elbencho output, line 4: not a row of the table: "
            "'Elapsed ms             :        660        655'",
        ),
    ],
)
def test_elbencho_not_understood(text, message):
    """An error that names the phase."""
    with pytest.raises(ParseError) as raised:
        elbencho.parse(text)

    assert str(raised.value) == message


def test_elbencho_captures(samples):
    """Eleven runs of one write phase each; and a table of means without a unit is no output."""
    phases = elbencho.parse(samples("elbencho", "sweep-large.txt"))
    rates = [p.bytes_per_second / MIB for p in phases if p.operation == "WRITE"]

    assert rates == [10488, 10456, 9285, 9740, 9303, 9484, 9646, 9421, 9478, 9649, 9443]
    assert {p.operation for p in phases if p.bytes_per_second is None} == {"DROPCACHE", "RMFILES"}
    with pytest.raises(ParseError):
        elbencho.parse(samples("elbencho", "sweep-means.csv"))


# -- recorded ----------------------------------------------------------------------------------

RECORD = {
    "tool": "h5perf 1.14",
    "nodes": "node[001-002]",
    "direction": "read",
    "bytes": "128GiB",
    "seconds": 15.5,
    "start": "2026-11-30T10:16:03Z",
    "end": "2026-11-30T11:16:19+01:00",
    "per_client": {"node001": "64GiB", "node002": 64 << 30},
}


def test_recorded():
    """YAML or JSON, sizes with units or in bytes."""
    run = recorded.parse(json.dumps(RECORD), name="site.json")

    assert run == recorded.RecordedRun(
        "h5perf 1.14", ("node001", "node002"), "read", 128 << 30, 15.5, 1796033763.0, 1796033779.0,
        {"node001": 64 << 30, "node002": 64 << 30},
    )  # fmt: skip
    assert run.bytes_per_second == (128 << 30) / 15.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"nodes": None},
            "site.json:1: nodes is missing: without the nodes it is not known which cables the "
            "data crossed",
        ),
        (
            {"nodes": []},
            "site.json:1: nodes is empty: without the nodes it is not known which cables the data "
            "crossed",
        ),
        ({"nodes": ["a", "a"], "per_client": None}, "site.json:1: a is named twice"),
        (
            {"end": None},
            "site.json:1: end is missing: without the times no counters can be held against it",
        ),
        (
            {"start": "2026-11-30T10:16:03"},
            "site.json:1: start: '2026-11-30T10:16:03' has no zone; write Z or +01:00 behind it",
        ),
        (
            {"seconds": 60},
            "site.json:1: 60 s do not fit between start and end, 16 s apart",
        ),
        (
            {"seconds": 0.1},
            "site.json:1: 0.1 s are too few: start and end are 16 s apart; give the seconds in "
            "which all the bytes were moved, and the times when that began and ended",
        ),
        (
            {"end": "2026-11-30T12:16:19Z"},
            "site.json:1: 15.5 s are too few: start and end are 7216 s apart; give the seconds in "
            "which all the bytes were moved, and the times when that began and ended",
        ),
        (
            {"start": 1, "end": 2, "seconds": 0.001},
            "site.json:1: 0.001 s are too few: start and end are 1 s apart; give the seconds in "
            "which all the bytes were moved, and the times when that began and ended",
        ),
        (
            {"start": 1, "end": 1, "seconds": 1},
            "site.json:1: end is not after start; give both to the second, of a run of several "
            "seconds",
        ),
        (
            {"start": "2026-11-30T10:16:20Z"},
            "site.json:1: end is not after start; give both to the second, of a run of several "
            "seconds",
        ),
        (
            {"start": 1796033763000},
            "site.json:1: start: 1796033763000 is no number of seconds since 1970",
        ),
        (
            {"seconds": 1e-320, "start": 1, "end": 1.5},
            "site.json:1: 9.99989e-321 s are too few: start and end are 0.5 s apart; give the "
            "seconds in which all the bytes were moved, and the times when that began and ended",
        ),
        (
            {"bytes": 10**30},
            "site.json:1: bytes: 1000000000000000000000000000000 is no amount of data; "
            "write 64GiB or whole bytes",
        ),
        ({"seconds": 0}, "site.json:1: seconds: 0 is no length of time; write 15.6 or 15.6s"),
        ({"bytes": 0}, "site.json:1: bytes: 0 is no amount of data; write 64GiB or whole bytes"),
        (
            {"direction": "both"},
            "site.json:1: direction must be read or write, not 'both'",
        ),
        (
            {"per_client": {"node001": "64GiB"}},
            "site.json:1: per_client and nodes differ in node002",
        ),
        (
            {"bytes": "127GiB"},
            "site.json:1: the clients' bytes add up to 137438953472, not to 136365211648",
        ),
        ({"sekonds": 5}, "site.json:1: the key 'sekonds' is not known; did you mean 'seconds'?"),
    ],
)
def test_recorded_refused(changes, message):
    """A sentence for each problem."""
    with pytest.raises(InputError) as raised:
        recorded.parse(json.dumps(RECORD | changes), name="site.json")

    assert str(raised.value) == message


@pytest.mark.parametrize("seconds", [14, 15.5, 16, 17])
def test_recorded_seconds_that_fit(seconds):
    """Start and end may be rounded, and a part of the run may move nothing."""
    run = recorded.parse(json.dumps(RECORD | {"seconds": seconds}), name="site.json")

    assert run.bytes_per_second == (128 << 30) / seconds


WRITE = json.dumps(RECORD | {"direction": "write"})


def test_recorded_of_both_directions():
    """One of each, in the order given."""
    runs = recorded.parse_all([("w.json", WRITE), ("r.json", json.dumps(RECORD))])

    assert runs == (
        recorded.parse(WRITE, name="w.json"),
        recorded.parse(json.dumps(RECORD), name="r.json"),
    )


def test_recorded_twice():
    """Two of one direction: none of them may win; and the problems of every file are told."""
    with pytest.raises(InputError) as raised:
        recorded.parse_all(
            [("a.json", WRITE), ("b.json", "tool: x\n\0"), ("c.json", WRITE), ("d.json", "")]
        )

    assert str(raised.value).splitlines() == [
        "b.json:2: is not YAML: a control character (code 0x00)",
        "c.json: is a write run, and so is a.json; give one result a direction",
        "d.json:1: the file is empty",
    ]

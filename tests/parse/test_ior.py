"""IOR: what its output says, and what it does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.parse import ParseError, ior

MIB = 1 << 20

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

"""perftest: every form it prints, and which rows are measurements."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.parse import ParseError
from ibaccept.parse.perftest import (
    BandwidthRow,
    BandwidthTest,
    Refused,
    accept,
    consistent,
    is_port_taken,
    parse,
)

MIB = 1 << 20
RULER = "-" * 87 + "\n"
HEADER = " #bytes     #iterations    BW peak[{0}/sec]    BW average[{0}/sec]   MsgRate[Mpps]\n"
SAME = "give both ends the same options, and run it again"


def render(
    size, count, peak, average, rate, *, unit="Gb", title="RDMA_Write BW Test", link="IB", cpu=None
):
    """As perftest prints it: ``ctx_print_test_info`` and ``print_report_bw``."""
    fine = unit == "Gb" and average < 0.1
    row = (
        f" {size:<7d}    {count:<10d}  {peak:<7.6f}            {average:<7.6f}"
        f"            {rate:<7.6f}"
        if fine
        else f" {size:<7d}    {count:<10d}       {peak:<7.2f}            {average:<7.2f}"
        f"\t\t     {rate:<7.6f}"
    )
    header = HEADER.format(unit)
    if cpu is not None:
        header, row = header.rstrip("\n") + "    CPU_Util[%]\n", f"{row}\t    {cpu:.2f}"
    return (
        f"{RULER}                    {title}\n"
        " Dual-port       : OFF\t\tDevice         : mlx5_0\n"
        " Number of qps   : 4\t\tTransport type : IB\n"
        " ibv_wr* API     : ON\n"
        " Mtu             : 4096[B]\n"
        f" Link type       : {link}\n"
        " rdma_cm QPs\t : OFF\n"
        " Data ex. method : Ethernet\n"
        f"{RULER}"
        " local address: LID 0x6c QPN 0x0050 PSN 0xddd611 RKey 0x1 VAddr 0x2\n"
        " remote address: LID 0x28 QPN 0x0050 PSN 0xa3c746 RKey 0x1 VAddr 0x2\n"
        f"{RULER}{header}{row}\n{RULER}"
    )


def measured(rate_mpps, size=MIB, *, unit="Gb"):
    """The average that a message rate makes."""
    return rate_mpps * 1e6 * size / (125e6 if unit == "Gb" else MIB)


def take(text, **asked):
    return accept(parse(text), 0, "", **({"message": MIB, "duration": 30} | asked))


def test_a_whole_output():
    """Every value of the head and the row."""
    test = parse(render(MIB, 368_000, 0, 194.44, 0.023179, cpu=3.5))

    assert replace(test, settings=None) == BandwidthTest(
        "ib_write_bw",
        "RDMA_Write BW Test",
        (BandwidthRow(MIB, 368_000, None, 194.44, 0.023179, 0.005, 5e-07, 3.5, 15),),
        "Gb/s",
        bidirectional=False,
        device="mlx5_0",
        qps=4,
        link_type="IB",
        mtu=4096,
        local_lids=(0x6C,),
        remote_lids=(0x28,),
    )


@pytest.mark.parametrize("unit", ["MB", "MiB"])
def test_both_names_of_a_mebibyte(unit):
    """MB/sec is 2^20 bytes a second, as MiB/sec is."""
    (row,) = parse(render(MIB, 100, 0, 23240.68, 0.023241, unit=unit)).rows

    assert row.bytes_per_second == pytest.approx(23240.68 * MIB, rel=1e-12)


@given(
    rate=st.floats(2e-6, 300.0),
    exponent=st.integers(1, 23),
    count=st.integers(1, 2**32 - 1),
    unit=st.sampled_from(["Gb", "MB", "MiB"]),
)
def test_what_is_printed_is_read(rate, exponent, count, unit):
    """Whatever the value and its format, the row that was printed is read and fits itself."""
    size = 1 << exponent
    average = measured(rate, size, unit=unit)
    (row,) = parse(render(size, count, 0, average, rate, unit=unit)).rows
    factor = 1 if unit == "Gb" else MIB / 125e6

    assert (row.message_bytes, row.iterations, row.peak_gbps) == (size, count, None)
    assert abs(row.average_gbps - average * factor) <= row.rounding_gbps * (1 + 1e-9) + 1e-12
    assert consistent(row)


@given(rate=st.floats(1e-3, 1.0), wrong=st.sampled_from([1 / 119.2, 119.2, 0.5, 2.0, 1.02]))
def test_another_size_or_unit_does_not_fit(rate, wrong):
    """A row of another message size, unit or number of directions is refused."""
    (row,) = parse(render(MIB, 1000, 0, measured(rate) * wrong, rate)).rows

    assert not consistent(row)


def test_accepted():
    """The row as it is."""
    text = render(MIB, 368_000, 0, 194.44, 0.023179)

    assert take(text, tool="ib_write_bw", qps=4) == parse(text).rows[0]


@pytest.mark.parametrize(
    ("text", "asked", "refused"),
    [
        (
            render(MIB, 0, 0, 0, 0),
            {},
            Refused(
                "no message was completed inside the measured window, so nothing was measured",
                "run longer (-D) or with fewer messages in flight (-t 4)",
            ),
        ),
        (
            render(3472328296395452464, 3547200640032727863, 0, 0, 0, unit="MB"),
            {"unit": None},
            Refused("the row is of 3472328296395452464 byte messages, not 1048576", SAME),
        ),
        (
            render(MIB, 3547200640032727863, 0, 194.44, 0.023179),
            {},
            Refused(
                "the row cannot be: 3547200640032727863 iterations, 194.44 Gb/s, "
                "0.023179 million messages a second",
                SAME,
            ),
        ),
        (
            render(MIB, 1000, 0, -3.1, 0.023179),
            {},
            Refused(
                "the row cannot be: 1000 iterations, -3.1 Gb/s, 0.023179 million messages a second",
                SAME,
            ),
        ),
        (
            render(MIB, 1000, 0, 97.2, 0.023179),
            {},
            Refused(
                "0.023179 million messages a second of 1048576 bytes are 194.44 Gb/s, "
                "but the average printed is 97.20 Gb/s",
                SAME,
            ),
        ),
        (
            render(MIB, 1000, 195.0, 194.44, 0.023179),
            {},
            Refused(
                "a peak was measured, so the client counted iterations, not seconds",
                "give both ends the same -D, and neither of them -n",
            ),
        ),
        (
            render(MIB, 368_000, 0, 194.44, 0.023179),
            {"duration": 10},
            Refused(
                "368000 messages at that rate take 15.9 s, but a run of 10 s measures 6 s of it",
                "give both ends the same -D, and neither of them -n",
            ),
        ),
        (
            render(MIB, 1, 0, 190.0, 0.022650),
            {},
            Refused(
                "1 messages at that rate take 4.42e-05 s, but a run of 30 s measures 16 s of it",
                "give both ends the same -D, and neither of them -n",
            ),
        ),
        (
            render(MIB, 2000, 0, 190.0, 0.022650),
            {},
            Refused(
                "2000 messages at that rate take 0.0883 s, but a run of 30 s measures 16 s of it",
                "give both ends the same -D, and neither of them -n",
            ),
        ),
        (
            render(MIB, 368_000, 0, 194.44, 0.023179),
            {"duration": 12},
            Refused(
                "368000 messages at that rate take 15.9 s, but a run of 12 s measures 6 s of it",
                "give both ends the same -D, and neither of them -n",
            ),
        ),
        (
            render(MIB, 1000, 0, 194.44, 0.023179, title="RDMA_Write Bidirectional BW Test"),
            {"bidirectional": True},
            Refused(
                "1000 messages at that rate take 0.0431 s, but a run of 30 s measures 16 s of it",
                "give both ends the same -D, and neither of them -n",
            ),
        ),
        (
            render(MIB, 368_000, 0, 194.44, 0.023179, link="Ethernet"),
            {},
            Refused(
                "the link type is Ethernet, not IB",
                "name the InfiniBand device with -d (ib_hca in the inventory)",
            ),
        ),
        (
            render(MIB, 368_000, 0, 23179.0, 0.023179, unit="MB"),
            {},
            Refused(
                "the unit is MiB/s, expected Gb/s",
                "give both ends the same options, and each server a port of its own",
            ),
        ),
        (
            render(MIB, 368_000, 0, 194.44, 0.023179),
            {"qps": 2},
            Refused(
                "the number of queue pairs is 4, expected 2",
                "give both ends the same options, and each server a port of its own",
            ),
        ),
        (
            render(MIB, 9, 0, 194.44, 0.023179, title="RDMA_Write Bidirectional BW Test"),
            {},
            Refused(
                "the client measured both directions, expected one direction",
                "give both ends the same options, and each server a port of its own",
            ),
        ),
        (
            "* Waiting for client to connect... *\n" + render(MIB, 9, 0, 194.44, 0.023179),
            {},
            Refused("this is what a server printed", "take the row of the client"),
        ),
    ],
    ids=lambda value: value.reason[:40] if isinstance(value, Refused) else "",
)
def test_refused(text, asked, refused):
    """What is not the measurement asked for, in the words of the report."""
    assert take(text, **asked) == refused


@given(duration=st.integers(1, 600), stretch=st.floats(0.85, 1.15), average=st.floats(0.2, 390.0))
def test_the_window_of_a_run(duration, stretch, average):
    """The middle of a run, whole seconds left out at each end, is what its iterations fill."""
    window = (duration - 2 * (duration // 4)) * stretch
    count = max(1, round(average * 125e6 * window / 4096))
    text = render(4096, count, 0, average, average * 125 / 4096)
    (row,) = parse(text).rows

    assert take(text, message=4096, duration=duration) == row
    assert isinstance(take(text, message=4096, duration=4 * duration), Refused)
    assert isinstance(take(text, message=4096, duration=duration / 4), Refused)
    # a run of a number of iterations lasts as long as it lasts
    assert take(text, message=4096, duration=None) == row


@pytest.mark.parametrize("average", ["1e400", "9" * 41, "-nan", "-inf", "9" * 41 + ".00"])
def test_a_number_that_cannot_be(average):
    """No row is made of it."""
    with pytest.raises(ParseError):
        parse(HEADER.format("Gb") + f" 1048576  10  0.00  {average}  0.000119\n")


@pytest.mark.parametrize(
    ("exit_code", "stderr", "reason"),
    [
        (
            1,
            "ethernet_read_keys: Couldn't read remote address\n Unable to read from socket\n",
            "the client ended with exit code 1: ethernet_read_keys: Couldn't read remote "
            "address; Unable to read from socket",
        ),
        (1, "", "the client ended with exit code 1"),
        (None, "", "the client was ended before it was done"),
        (
            0,
            " Completion with error at client\n",
            "the client ended with exit code 0 but reports a failure: "
            "Completion with error at client",
        ),
    ],
)
def test_a_good_row_of_a_failed_client(exit_code, stderr, reason):
    """The exit code decides, however good the row looks."""
    test = parse(render(MIB, 368_000, 0, 194.44, 0.023179))
    refused = accept(test, exit_code, stderr, message=MIB, duration=30)

    assert isinstance(refused, Refused)
    assert refused.reason == reason


def test_a_note_on_stderr_is_no_failure():
    """Some devices make the tool remark something."""
    test = parse(render(MIB, 368_000, 0, 194.44, 0.023179))
    note = "Device not recognized to implement inline feature. Disabling it\n"

    assert accept(test, 0, note, message=MIB, duration=30) == test.rows[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "perftest output: nothing was printed; its stderr and exit code say why, "
             "then run it again"),
        (
            render(MIB, 1, 0, 1.0, 1.0).replace(HEADER.format("Gb"), ""),
            "perftest output, line 14: a row without a header, so its unit is unknown",
        ),
        (
            render(MIB, 1, 0, 1.0, 1.0)[:-89],
            "perftest output, line 15: the last line is cut (no line end); run it again",
        ),
        (
            HEADER.format("Gb") + " 1048576  10  0.00  nan  0.000000\n",
            "perftest output, line 2: the average is no number, so nothing was measured",
        ),
        (
            HEADER.format("Gb") + " 1048576  10  0.00  1.00  0.000119  12.5\n",
            "perftest output, line 2: the row has not the columns of the header",
        ),
        (
            HEADER.format("Gb") + HEADER.format("MB"),
            "perftest output, line 2: a second table with other columns or units; "
            "one output at a time",
        ),
        (
            "0.165883\n",
            "perftest output, line 1: a bare number, as --output=bandwidth prints: it tells "
            "neither unit nor iterations; run it without that option",
        ),
        (
            " RDMA_Write Latency Test\n",
            "perftest output, line 1: not a bandwidth test",
        ),
        (
            HEADER.format("Gb") + "something else\n",
            "perftest output, line 2: not a line of a bandwidth test",
        ),
    ],
)  # fmt: skip
def test_not_understood(text, message):
    """An error with the line, never a row."""
    with pytest.raises(ParseError) as raised:
        parse(text)

    assert str(raised.value).partition(": '")[0] == message


@given(st.text(alphabet="0123456789 .#\t\n-:abGMBsec[]/", max_size=200))
def test_any_text(text):
    """A parse error, or a test whose rows came from the text."""
    try:
        test = parse(text)
    except ParseError:
        return

    assert len(test.rows) <= text.count("\n")


@pytest.mark.parametrize(
    ("case", "facts"),
    [
        ("ib_read_bw-old-header-partial", ("ib_read_bw", "MiB/s", 7, "IB", 4096, 2.539960)),
        ("ib_send_bw-ndr200-all-sizes-gbits", ("ib_send_bw", "Gb/s", 23, "IB", 4096, 0.002931)),
        ("ib_write_bw-bidir-header-only", ("ib_write_bw", None, 0, None, None, None)),
        (
            "ib_write_bw-loopback-all-sizes-interleaved",
            ("ib_write_bw", "MiB/s", 24, "IB", 4096, 0.002905),
        ),
        ("cpu-frequency-noise-line", (None, None, 0, None, None, None)),
    ],
)
def test_captures(samples, case, facts):
    """What the world's own outputs hold."""
    test = parse(samples("perftest", f"{case}.txt"))
    last = test.rows[-1].msg_rate_mpps if test.rows else None

    assert (test.tool, test.unit, len(test.rows), test.link_type, test.mtu, last) == facts
    assert all(consistent(row) for row in test.rows)


RXE = {
    # case: (client's row accepted?, or the start of the reason)
    "01-write-loop-default-depth-gbits": "no message was completed",
    "03-write-loop-t4-gbits": (96, 0.27),
    "05-write-loop-t4-bidir-gbits": (48, 0.27),
    "06-write-loop-t4-bidir-MB": (48, 0.2646605824),
    "07-read-loop-t4-gbits": (48, 0.13),
    "09-read-loop-t4-bidir-gbits": (64, 0.31),
    "10-write-wire-t4-gbits": (28, 0.07805),
    "13-read-wire-t4-gbits": (2, 0.005534),
    "14-write-wire-rdmacm-gbits": (20, 0.055829),
    "18-write-wire-q1-s65536-D5-default-depth": (197, 0.034242),
    "34-server-killed-KILL": "the client ended with exit code 1: ethernet_read_keys",
    "35-server-killed-TERM": "the client ended with exit code 1: ethernet_read_keys",
    "38-link-down-mid-run": "perftest output, line 35: the last line is cut",
    "40-mismatch-write-vs-read": "the client ended with exit code 1: Device not recognized",
    "41-mismatch-qps": "the client ended with exit code 1: ethernet_read_keys",
    "43-mismatch-units": (956, 0.17),
    "44-mismatch-duration-vs-iters": "a peak was measured",
    "45-bad-gid-index": "the client ended with exit code 1: Failed to modify QP",
    "50-out-json": (776, 0.14),
    "52-output-bandwidth": "perftest output, line 1: a bare number",
    "53-no-F-flag": (1048, 0.18312331264),
    "54-cpu-util": (1136, 0.2),
    "64-write-loop-default-depth-s65536-D5": (688, 0.12),
    "68-write-veth-rxe2-to-rxe1": (478, 0.083429),
    "69-read-veth-rxe2-to-rxe1": "the client ended with exit code 1: Device not recognized",
    "72-read-veth-o1-q4": (649, 0.11),
    "73-read-veth-q1": (337, 0.058645),
    "74-read-veth-o1-q4-1MB": (37, 0.1),
    "76-write-veth-1MB": (46, 0.12),
    "78-write-wire-final-recipe": (31, 0.005383),
}


def judged(samples, case):
    """The row of the client of a case, or why there is none, in words."""
    command = json.loads(samples("perftest-rxe", f"{case}/case.json"))["procs"][0]
    words = command["cmd"].split()
    try:
        test = parse(samples("perftest-rxe", f"{case}/client.stdout"))
    except ParseError as error:
        return str(error)
    row = accept(
        test,
        command["rc"],
        samples("perftest-rxe", f"{case}/client.stderr"),
        message=int(words[words.index("-s") + 1]),
        duration=5,
        tool=words[0],
        unit=None,
        link_type=None,
        bidirectional="-b" in words,
    )
    return row.reason if isinstance(row, Refused) else (row.iterations, row.average_gbps)


@pytest.mark.parametrize("case", RXE)
def test_soft_roce_captures(samples, case):
    """Real runs, failed ones among them: the row, or why there is none."""
    seen, wanted = judged(samples, case), RXE[case]

    assert (seen if isinstance(wanted, tuple) else seen[: len(wanted)]) == wanted


GOLDEN = {
    "write-gbits": ("ib_write_bw", "Gb/s", 1),
    "write-mb": ("ib_write_bw", "MiB/s", 1),
    "write-mb-server": ("ib_write_bw", "MiB/s", 1),
    "write-both-ways": ("ib_write_bw", "Gb/s", 1),
    "read-gbits": ("ib_read_bw", "Gb/s", 1),
    "write-all-sizes": ("ib_write_bw", "Gb/s", 23),
    "write-cpu-util": ("ib_write_bw", "Gb/s", 1),
    "mismatched-qps-server": ("ib_write_bw", "Gb/s", 1),
}


@pytest.mark.parametrize("case", GOLDEN)
def test_golden(golden, expected, plain, case):
    """What Debian 12's perftest printed in the soft-RoCE machine: the whole value."""
    test = parse(golden("perftest", case))

    assert plain(test) == expected("perftest", case)
    assert (test.tool, test.unit, len(test.rows)) == GOLDEN[case]


def test_golden_bare_number(golden):
    """The output of ``--output=bandwidth``."""
    text = golden("perftest", "bare-number")

    with pytest.raises(ParseError, match="a bare number"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("Couldn't listen to port 18515\n Unable to open file descriptor\n", True),
        ("Couldn't connect to client-01:18515\n", False),
        ("", False),
    ],
)
def test_a_taken_port(text, taken):
    assert is_port_taken(text) is taken


HEAD = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Link type       : IB
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
"""
SUM = " 1048576    704512           0.00               393.93\t\t     0.046960\n"


@pytest.mark.parametrize(
    "note", ["Increasing CQE polling batch to 64", "Disabling dynamic polling"]
)
def test_what_it_says_of_its_polling_is_no_row(note):
    test = parse(f" WARNING: BW peak won't be measured in this run.\n{note}\n{HEAD}{SUM}")

    assert (len(test.rows), [w.text for w in test.warnings][1:]) == (1, [note])


def test_both_ends_in_one_text():
    """A server's head after the client's row: its settings are those of a head again."""
    waiting = "*" * 36 + "\n* Waiting for client to connect... *\n" + "*" * 36 + "\n"
    test = parse(HEAD + SUM + waiting + HEAD + SUM)

    assert (len(test.rows), test.server, test.link_type) == (2, True, "IB")

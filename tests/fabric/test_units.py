"""Quantities read as written, print so that they read back, and are refused without a unit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.fabric.units import Bandwidth, Duration, Percent, Size

AMOUNTS = st.floats(min_value=0, max_value=1e15, allow_nan=False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("22.6 GiB/s", Bandwidth(22.6 * 2**30)),
        ("194 Gb/s", Bandwidth(194e9 / 8)),
        ("1MiB/s", Bandwidth(2.0**20)),
        ("8 b/s", Bandwidth(1.0)),
        ("5%", Percent(5)),
        ("0.5 %", Percent(0.5)),
        ("60s", Duration(60)),
        ("2m", Duration(120)),
        ("1h", Duration(3600)),
        ("500ms", Duration(0.5)),
        ("1MiB", Size(1 << 20)),
        ("64GiB", Size(64 << 30)),
        ("1.5 KiB", Size(1536)),
        ("4096B", Size(4096)),
    ],
)
def test_read(text, value):
    assert type(value).parse(text) == value


def test_print():
    assert [
        str(Bandwidth.from_gib(22.6)),
        f"{Bandwidth.from_gbps(194):.1f}",
        str(Percent(5)),
        str(Duration(0.5)),
        str(Size(64 << 30)),
        str(Size(1536)),
        str(Size(0)),
    ] == ["22.6 GiB/s", "22.6 GiB/s", "5%", "0.5s", "64GiB", "1536B", "0B"]


def test_both_faces_of_one_bandwidth():
    ceiling = Bandwidth.parse("22.6 GiB/s")

    assert (round(ceiling.gbps, 1), ceiling.gib, Percent(5).fraction) == (194.1, 22.6, 0.05)


@given(AMOUNTS)
def test_bandwidth_reads_back(gib):
    assert Bandwidth.parse(str(Bandwidth.from_gib(gib))) == Bandwidth.from_gib(gib)


@given(AMOUNTS)
def test_percent_and_duration_read_back(amount):
    assert Percent.parse(str(Percent(amount))) == Percent(amount)
    assert Duration.parse(str(Duration(amount))) == Duration(amount)


@given(st.integers(0, 2**50))
def test_size_reads_back(number):
    assert Size.parse(str(Size(number))) == Size(number)


@pytest.mark.parametrize(
    ("read", "text", "sentence"),
    [
        (Bandwidth.parse, "22.6", "'22.6' has no unit; did you mean '22.6 GiB/s'?"),
        (
            Bandwidth.parse,
            "194 Gbps",
            "'194 Gbps': 'Gbps' is no unit of a bandwidth; did you mean '194 Gb/s'?",
        ),
        (
            Bandwidth.parse,
            "22 GB/s",
            "'22 GB/s': 'GB/s' is no unit of a bandwidth; "
            "write 22 GiB/s (2^30 bytes) or 22 Gb/s (10^9 bits)",
        ),
        (
            Bandwidth.parse,
            "22 GiB",
            "'22 GiB': 'GiB' is no unit of a bandwidth; did you mean '22 GiB/s'?",
        ),
        (Bandwidth.parse, "fast", "'fast' is not a bandwidth; write it as 22.6 GiB/s"),
        (Bandwidth.parse, "-1 GiB/s", "'-1 GiB/s' is not a bandwidth; write it as 22.6 GiB/s"),
        (Bandwidth.parse, "1e999 GiB/s", "inf is not a bandwidth"),
        (Percent.parse, "5", "'5' has no unit; did you mean '5%'?"),
        (
            Percent.parse,
            "5 percent",
            "'5 percent': 'percent' is no unit of a percentage; did you mean '5%'?",
        ),
        (Duration.parse, "60", "'60' has no unit; did you mean '60s'?"),
        (
            Duration.parse,
            "60 sec",
            "'60 sec': 'sec' is no unit of a duration; did you mean '60s'?",
        ),
        (
            Duration.parse,
            "3 weeks",
            "'3 weeks': 'weeks' is no unit of a duration; units are ms, s, m, h",
        ),
        (Size.parse, "64GB", "'64GB': 'GB' is no unit of a size; did you mean '64GiB'?"),
        (Size.parse, "64", "'64' has no unit; did you mean '64GiB'?"),
        (Size.parse, "1e999B", "'1e999B' is not a whole number of bytes"),
        (Size.parse, "0.3B", "'0.3B' is not a whole number of bytes"),
    ],
)
def test_refused(read, text, sentence):
    with pytest.raises(ValueError) as caught:
        read(text)

    assert str(caught.value) == sentence


@pytest.mark.parametrize("kind", [Bandwidth, Percent, Duration])
@pytest.mark.parametrize("number", [float("nan"), float("inf"), -1.0])
def test_no_quantity_is_made_of_nonsense(kind, number):
    with pytest.raises(ValueError) as caught:
        kind(number)

    nouns = {Bandwidth: "bandwidth", Percent: "percentage", Duration: "duration"}
    assert str(caught.value) == f"{number} is not a {nouns[kind]}"

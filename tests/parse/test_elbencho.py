"""elbencho: the phases of its output, by their last thread."""

import pytest

from ibaccept.parse import ParseError, elbencho

MIB = 1 << 20

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

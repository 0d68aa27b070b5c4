"""``ibswitches``: one line a switch."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.fabric.model import Guid, Lid
from ibaccept.parse import ParseError
from ibaccept.parse.ibswitches import SwitchRow, parse

GOLDEN = Path(__file__).parent / "golden" / "ibswitches"
SAMPLES = Path(__file__).resolve().parents[2] / "../shared/samples"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="shared/ is not beside the project")


def test_golden():
    two = parse((GOLDEN / "two-switches.txt").read_text())
    odd = parse((GOLDEN / "odd-names.txt").read_text())

    leaf01, leaf02 = Guid(0xB8599F0300FC6D04), Guid(0xB8599F0300FC6D44)
    assert two == (
        SwitchRow(leaf02, 8, "leaf02", enhanced=False, lid=Lid(6), lmc=0, line=1),
        SwitchRow(leaf01, 8, "leaf01", enhanced=False, lid=Lid(5), lmc=0, line=2),
    )
    assert odd == (
        SwitchRow(
            leaf02, 4, " Quantum (lab) lid 5 4xEDR ", enhanced=False, lid=Lid(5), lmc=0, line=1
        ),
        SwitchRow(
            leaf01, 4, "MF0;a#b [x] 'q':MQM8700/U1", enhanced=False, lid=Lid(4), lmc=0, line=2
        ),
    )


LINE = 'Switch\t: 0x0000000000000002 ports 8 "s" base port 0 lid 9 lmc 0\n'


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no switch was printed"),
        ("\n\n", None, "no switch was printed"),
        ("ibwarn: [1] x\n", 1, "not understood"),
        (LINE + LINE.replace("lid 9", "lid 8"), 2, "printed twice"),
        (LINE + LINE[:40], 2, "it is cut"),
    ],
)
def test_refused(text, line, message):
    with pytest.raises(ParseError, match=message) as caught:
        parse(text)

    assert (caught.value.tool, caught.value.line) == ("ibswitches", line)


def test_cut():
    with pytest.raises(ParseError) as caught:
        parse((GOLDEN / "cut.txt").read_text())

    assert caught.value.line == 2


@st.composite
def listings(draw):
    names = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20)
    rows = tuple(
        SwitchRow(
            Guid(guid),
            draw(st.integers(1, 254)),
            draw(names),
            draw(st.booleans()),
            draw(st.one_of(st.none(), st.integers(1, 0xBFFF).map(Lid))),
            draw(st.integers(0, 7)),
            line,
        )
        for line, guid in enumerate(
            draw(st.lists(st.integers(1, (1 << 64) - 1), min_size=1, max_size=4, unique=True)), 1
        )
    )
    text = "".join(
        f'Switch\t: 0x{int(row.guid):016x} ports {row.num_ports} "{row.name}" '
        f"{'enhanced' if row.enhanced else 'base'} port 0 lid {row.lid or 0} lmc {row.lmc}\n"
        for row in rows
    )
    return text, rows


@given(listings(), st.data())
def test_what_is_printed_is_what_is_read(listing, data):
    text, rows = listing
    cut = data.draw(st.integers(0, len(text)))

    assert parse(text) == rows
    try:
        part = parse(text[:cut])
    except ParseError:
        return
    assert set(part) <= set(rows)


@needs_samples
def test_a_capture():
    rows = parse((SAMPLES / "ibswitches/fdr-hdr-mix.txt").read_text())

    assert [int(row.lid) for row in rows] == [574, 631, 774, 924, 203, 27, 13, 770]
    assert [row.num_ports for row in rows] == [36, 36, 41, 41, 36, 36, 81, 41]
    assert [row.enhanced for row in rows] == [True, True, True, False, False, True, False, False]
    assert sum(row.name.startswith("MF0;") for row in rows) == 4

"""Forwarding tables as arrays: what a table says of itself."""

import numpy as np
import pytest

from ibaccept.fabric.lft import NO_ENTRY, SwitchTable, TableLines, TableRow, frozen
from ibaccept.fabric.model import Guid

HEAD = TableRow(7, "Unicast lids [0x0-0x4] of switch Lid 3 guid 0x0000000000000001 (leaf):")


def table(ports=(NO_ENTRY, 1, 2, NO_ENTRY, 0), known=(0, 1, 1, 1, 0), **other):
    values = {"lid": 3, "name": "leaf", "complete": all(known[1:]), "problems": ("a row is cut",)}
    values.update(other)
    return SwitchTable(
        "ibroute",
        Guid(1),
        first=0,
        top=len(ports) - 1,
        ports=frozen(np.array(ports, np.uint8)),
        known=frozen(np.array(known, np.bool_)),
        **values,
    )


@pytest.mark.parametrize(
    ("name", "lid", "label"),
    [(" leaf ", 3, "leaf"), (None, 3, "switch LID 3"), (None, None, "0x0000000000000001")],
)
def test_label(name, lid, label):
    assert table(name=name, lid=lid).label == label


def test_entries_are_those_that_are_known():
    assert table().entries() == {1: 1, 2: 2, 3: NO_ENTRY}


def test_a_voided_table_knows_nothing_and_says_why():
    voided = table(above=True).voided("a read failed")

    assert voided == table(known=(0,) * 5, problems=("a read failed", "a row is cut"))


def test_tables_are_equal_by_what_they_hold():
    assert table() == table()
    assert hash(table()) == hash(table())
    assert [table() == other for other in (table(name="x"), table((0,) * 5), "leaf")] == [False] * 3


def test_arrays_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        table().ports[0] = 1


def test_lines_of_rows():
    """The header first, rows in the order of the output; LIDs without a row have no line."""
    lines = TableLines(HEAD, np.array([10, 11, 12]), np.array([2, 1, 4]), np.array([2, 1, 0]))

    assert lines.of([4, 3, 1, 2, 2, 99]) == (
        HEAD,
        TableRow(10, "0x0002 002"),
        TableRow(11, "0x0001 001"),
        TableRow(12, "0x0004 000"),
    )

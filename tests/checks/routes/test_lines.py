"""Lines of forwarding tables that show why a route is unknown or lost."""

from dataclasses import replace

import pytest

from ibaccept.checks.routes.lines import lost_rows, unread_heads
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

FILE = "captures/0006-dump_fts.txt"
WHOLE = (CaptureRef(FILE, None, ""),)


@pytest.fixture(name="row")
def row_fixture(site_of):
    """Switches A, B, C in a row, a host on each: LIDs 1, 2, 3."""
    site = site_of("A", "B", "C")
    site.cable("A", 11, "B", 21)
    site.cable("B", 22, "C", 31)
    for name, switch in (("a", "A"), ("b", "B"), ("c", "C")):
        site.host(name, switch, 1)
    site.route()
    return site


def test_a_table_that_was_not_read_whole_is_shown_by_its_header(row):
    snapshot = row.seen(unknown={"B": [3]})

    assert unread_heads(snapshot) == (CaptureRef(FILE, 101, "Unicast lids of switch B"),)


def test_without_such_a_header_the_output_is_named(row):
    absent = NotSeen("the forwarding tables", "dump_fts is missing")

    assert unread_heads(row.seen()) == WHOLE
    assert unread_heads(row.seen(tables_seen=absent)) == WHOLE
    assert unread_heads(replace(row.seen(tables_seen=absent), tables_file=None)) == ()


def test_a_lost_route_is_shown_by_the_table_it_ends_at(row):
    del row.tables["C"][1]  # from c to a: C has no entry
    snapshot = row.seen()

    assert lost_rows(snapshot, snapshot.routes.reach) == (
        CaptureRef(FILE, 201, "Unicast lids of switch C"),
    )


def test_a_route_that_leaves_by_the_wrong_port_is_shown_by_that_row(row):
    row.tables["B"][3] = 21  # back to A
    snapshot = row.seen()

    assert CaptureRef(FILE, 104, "0x0003 021") in lost_rows(snapshot, snapshot.routes.reach)


def test_nothing_is_shown_where_all_arrive(row):
    snapshot = row.seen()

    assert lost_rows(snapshot, snapshot.routes.reach) == ()

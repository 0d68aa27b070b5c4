"""Tables of two runs, against a count entry by entry."""

from dataclasses import replace
from itertools import product

import pytest

from ibaccept.compare.routes import RouteChanges, SwitchRoutes, route_changes
from ibaccept.fabric.model import Fabric, Lid
from ibaccept.verdict.absence import NotSeen, NotSeenError


def fabric_with(site_of, choices=(0, 0, 0, 0)):
    """Two switches, two cables, two hosts a side; a choice is the cable to a far host."""
    site = site_of("a", "b")
    site.cable("a", 11, "b", 11)
    site.cable("a", 12, "b", 12)
    for number in range(4):
        (lid,) = site.host(f"n{number}", "ab"[number // 2], 1 + number % 2)
        site.tables["ba"[number // 2]][lid] = 11 + choices[number]
    return site


def test_nothing_changed(site_of):
    same = fabric_with(site_of).seen()

    assert route_changes(same, same) == RouteChanges((), 0, 12, 0)


def test_changed_entries_by_switch(site_of):
    old, new = fabric_with(site_of).seen(), fabric_with(site_of, (1, 1, 0, 1)).seen()

    assert route_changes(old, new) == RouteChanges(
        (SwitchRoutes("b", 2, 6), SwitchRoutes("a", 1, 6)), 3, 12, 0
    )


def test_destinations_are_compared_and_not_lids(site_of):
    old = fabric_with(site_of).seen()
    moved = {1: 21, 2: 22, 3: 23, 4: 24}

    def shifted(node):
        ports = {
            number: port if port.lid is None else replace(port, lid=Lid(moved[int(port.lid)]))
            for number, port in node.ports.items()
        }
        return replace(node, ports=ports)

    fabric = Fabric.of(map(shifted, old.fabric.nodes.values()))
    site = fabric_with(site_of)
    site.tables = {
        name: {moved[lid]: port for lid, port in rows.items()} for name, rows in site.tables.items()
    }
    site.hosts += [None] * 30  # a longer table
    tables = tuple(site.table(name) for name in site.switches)

    assert route_changes(old, replace(old, fabric_seen=fabric, tables_seen=tables)).changed == 0


def test_entries_known_in_one_run_only_are_counted_apart(site_of):
    old = fabric_with(site_of).seen()
    new = fabric_with(site_of, (1, 1, 1, 1)).seen(unknown={"a": (3, 4)})

    assert route_changes(old, new) == RouteChanges((SwitchRoutes("b", 2, 6),), 2, 10, 2)


def test_tables_that_were_not_seen_are_not_compared(site_of):
    old = fabric_with(site_of).seen()

    with pytest.raises(NotSeenError, match="it was silent"):
        route_changes(old, replace(old, tables_seen=NotSeen("the tables", "it was silent")))


@pytest.mark.parametrize("old", [(0, 0, 0, 0), (0, 1, 0, 1), (1, 1, 1, 0)])
def test_the_count_is_that_of_a_loop_over_the_tables(site_of, old):
    a = fabric_with(site_of, old)
    before = a.seen()
    for new in product((0, 1), repeat=4):
        b = fabric_with(site_of, new)

        found = route_changes(before, b.seen())
        by_hand = sum(
            a.tables[name].get(lid) != b.tables[name].get(lid)
            for name in a.switches
            for lid in range(1, 7)
        )
        assert (found.changed, sum(row.changed for row in found.switches)) == (by_hand, by_hand)

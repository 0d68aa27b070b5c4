"""Two sets of forwarding tables: which entries send a destination out of another port now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ibaccept.compare.hardware import Places, base_lids
from ibaccept.fabric.lft import Bools, Numbers, SwitchTable
from ibaccept.fabric.model import Guid
from ibaccept.observe.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class SwitchRoutes:
    """One switch: entries of both tables, and how many send elsewhere now."""

    switch: str
    changed: int
    of: int


@dataclass(frozen=True, slots=True)
class RouteChanges:
    """All switches that both runs have a table of.

    Attributes:
        switches: those with a changed entry, the most changed first.
        changed: entries that differ, over all switches.
        of: entries known in both runs, by destination port (whatever its LID was and is).
        skipped: entries known in one run only.
    """

    switches: tuple[SwitchRoutes, ...]
    changed: int
    of: int
    skipped: int


def route_changes(old: Snapshot, new: Snapshot) -> RouteChanges:
    """Compare the tables entry by entry, by destination port and not by LID.

    Raises:
        NotSeenError: one of the runs shows no fabric or no tables.
    """
    places = Places(old.fabric, new.fabric)
    old_lids, new_lids = _destinations(places)
    after = {table.guid: table for table in new.tables}
    rows: list[SwitchRoutes] = []
    changed = of = skipped = 0
    for before, now in _tables(old.tables, after, places):
        was, was_known = _ports(before, old_lids)
        is_, is_known = _ports(now, new_lids)
        both = was_known & is_known
        differ = int(np.count_nonzero(both & (was != is_)))
        total = int(np.count_nonzero(both))
        skipped += int(np.count_nonzero(was_known ^ is_known))
        changed, of = changed + differ, of + total
        if differ:
            rows.append(SwitchRoutes(now.label, differ, total))
    rows.sort(key=lambda row: (-row.changed, row.switch))
    return RouteChanges(tuple(rows), changed, of, skipped)


def _tables(
    old: tuple[SwitchTable, ...], new: dict[Guid, SwitchTable], places: Places
) -> Iterator[tuple[SwitchTable, SwitchTable]]:
    for table in old:
        now = new.get(places.guid(table.guid))
        if now is not None:
            yield table, now


def _destinations(places: Places) -> tuple[Numbers, Numbers]:
    """LIDs of the destinations of both runs, int32 of one shape, in one order."""
    before, after = base_lids(places.old), base_lids(places.new)
    shared = [
        (base.lid, after[now].lid)
        for port, base in before.items()
        if (now := places.port(port)) in after
    ]
    pairs = np.array(shared or np.empty((0, 2)), dtype=np.int32).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _ports(table: SwitchTable, lids: Numbers) -> tuple[Numbers, Bools]:
    """Output port of each LID, and whether it is known."""
    inside = lids <= table.top
    at = np.where(inside, lids, 0)
    return table.ports[at].astype(np.int32), inside & table.known[at]

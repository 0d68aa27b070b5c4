"""What the reader of a spread needs beside the finding: tables, the ceiling, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ibaccept.checks.routes.groups import Arriving, CableGroup, hosts_folded
from ibaccept.fabric.model import PortId, Rate
from ibaccept.fabric.units import Bandwidth
from ibaccept.observe.snapshot import MASTER, Snapshot
from ibaccept.routing.forecast import Ceiling
from ibaccept.verdict import Table
from ibaccept.verdict.absence import NotSeenError


def spread_tables(
    groups: Iterable[Any], names: Mapping[int, str], towards: str
) -> tuple[Table, ...]:
    """``cable, direction, LIDs of the job, of all`` of each group, folded."""
    tables = []
    for item in groups:
        if isinstance(item, Arriving):
            tables.append(_arriving_table(item, names, towards))
        if not isinstance(item, CableGroup):
            continue
        rows = tuple(
            (
                f"{row.name} - {row.towards_name}",
                towards,
                str(row.count),
                hosts_folded(row.lids_job, names),
                str(row.lids_all),
            )
            for row in item.of.rows_of(item.index)
        )
        columns = ("cable", "direction", "LIDs of the job", "hosts", "of all LIDs")
        tables.append(Table(f"{item.name}: {item.group.lids} LIDs of the job", columns, rows))
    return tuple(tables)


def _arriving_table(item: Arriving, names: Mapping[int, str], towards: str) -> Table:
    stage = item.stage
    rows = tuple(
        (
            f"{row.name} - {row.towards_name}",
            towards,
            str(row.pairs),
            hosts_folded(row.lids, names),
        )
        for row in stage.rows
    )
    title = f"{item.name}: {stage.lids} LIDs of the job, {stage.pairs} pairs"
    return Table(title, ("cable", "direction", "pairs of the job", "hosts"), rows)


def spread_notes(
    snapshot: Snapshot,
    groups: Iterable[Any],
    ceilings: Mapping[Rate, Bandwidth],
    direction: str,
    *,
    failed: bool,
) -> tuple[str, ...]:
    """The ceiling each uneven spread implies, and for a failure what may be done about it."""
    uneven = [item for item in groups if isinstance(item, CableGroup) and item.group.over]
    notes = [note for item in uneven for note in _ceiling_note(snapshot, item, ceilings, direction)]
    return (*notes, *(remedies(snapshot) if failed else ()))


def _ceiling_note(
    snapshot: Snapshot, item: CableGroup, ceilings: Mapping[Rate, Bandwidth], direction: str
) -> list[str]:
    """Nothing where every cable is used: then the sum of the cables is no bound of the spread."""
    rows = [row for row in item.of.rows_of(item.index) if row.usable or row.count]
    used = [row for row in rows if row.count]
    limits = {row.port: ceiling(snapshot, row.port, ceilings) for row in rows}
    if len(used) == len(rows) or None in limits.values():
        return []
    derived = any(limit is not None and limit.how == "derived" for limit in limits.values())
    how = " (derived from the data rate, not measured here)" if derived else ""

    def total(ports: Iterable[PortId]) -> float:
        return sum(limit.payload.gib for port in ports if (limit := limits[port]) is not None)

    return [
        f"{item.name}: the tables let this node list use {len(used)} of {len(rows)} cables, at "
        f"most {total(row.port for row in used):.1f} of {total(limits):.1f} GiB/s in the "
        f"{direction} direction{how}"
    ]


def ceiling(snapshot: Snapshot, port: PortId, ceilings: Mapping[Rate, Bandwidth]) -> Ceiling | None:
    """The ceiling of the cable at a port; None where its rate is not known."""
    link = snapshot.fabric.link_at.get(port)
    if link is None or link.rate is None:
        return None
    if link.rate in ceilings:
        return Ceiling(ceilings[link.rate], "configured")
    return Ceiling.derive(link.rate)


def remedies(snapshot: Snapshot) -> tuple[str, ...]:
    """What may be done, in the order to try, with where the subnet manager runs."""
    return (
        f"routing is decided by the subnet manager {_sm_text(snapshot)}",
        "to try, in this order, for a fixed job: route its LIDs first (guid_routing_order_file "
        "with their port GUIDs); port_shifting, where the job's spacing aliases with the ports; "
        "scatter_ports (a lottery: it can be worse); ftree on a real fat tree; adaptive routing "
        "for arbitrary jobs. Afterwards let OpenSM reroute (SIGHUP or restart; a sweep alone keeps "
        "the tables), and read them again",
        "for this node list and this direction only: another node list may spread well on the "
        "same tables",
    )


def _sm_text(snapshot: Snapshot) -> str:
    try:
        masters = [sm for sm in snapshot.managers.found if sm.state == MASTER]
    except NotSeenError:
        return "(which was not seen)"
    if len(masters) != 1:
        return "(no single master was seen)"
    owner = snapshot.fabric.lid_owner.get(int(masters[0].lid))
    node = snapshot.fabric.nodes.get(owner.guid) if owner is not None else None
    where = node.name.strip() if node is not None else str(masters[0].guid)
    if node is not None and node.is_switch:
        return f"inside switch {where} (LID {masters[0].lid}), which may not offer these options"
    return f"on {where} (LID {masters[0].lid})"

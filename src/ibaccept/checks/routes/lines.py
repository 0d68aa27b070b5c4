"""Captured lines of forwarding tables that show why a route is unknown or lost."""

from __future__ import annotations

from collections.abc import Iterator

from ibaccept.observe.snapshot import Snapshot
from ibaccept.routing.paths import Reach, Route
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

LINES_SHOWN = 6


def unread_heads(snapshot: Snapshot) -> tuple[CaptureRef, ...]:
    """The headers of tables that were not read whole; the output where none of them is there."""
    tables = () if isinstance(snapshot.tables_seen, NotSeen) else snapshot.tables_seen
    heads = [
        line for table in tables if table.problems for line in snapshot.table_rows(table.guid, ())
    ]
    if not heads and snapshot.tables_file is not None:
        return (CaptureRef(snapshot.tables_file, None, ""),)
    return tuple(heads[:LINES_SHOWN])


def lost_rows(snapshot: Snapshot, reach: Reach) -> tuple[CaptureRef, ...]:
    """The rows at which routes that do not arrive end, with the header of their table."""
    rows = (line for route in reach.examples for line in _last(snapshot, route))
    return tuple(dict.fromkeys(rows))[:LINES_SHOWN]


def _last(snapshot: Snapshot, route: Route) -> Iterator[CaptureRef]:
    """The rows of the last switch that the route reaches."""
    port = snapshot.fabric.port(route.ports[-1]) if route.ports else None
    for end in () if port is None else (port.remote, port.id):
        if end is not None and snapshot.fabric.nodes[end.guid].is_switch:
            yield from snapshot.table_rows(end.guid, [route.dlid])
            return

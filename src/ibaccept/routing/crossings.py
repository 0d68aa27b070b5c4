"""Which output ports a set of flows crosses, for all of them at once.

`Routes.path` follows one pair hop by hop; this follows thousands, as arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ibaccept.errors import InputError
from ibaccept.fabric.model import PortId
from ibaccept.routing.paths import Routes
from ibaccept.routing.tables import DELIVERED, WRONG_PORT
from ibaccept.routing.trees import chunks
from ibaccept.verdict.evidence import RouteRef

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Crossings:
    """The switches that pairs cross, as parallel arrays; an entry a pair and switch crossed.

    Attributes:
        pair: number of the pair, shape (entries,).
        switch: number of the switch (`Cabling.switches`), shape (entries,).
        port: output port of that switch, shape (entries,).
        end: how each pair ends (`DELIVERED` to `LOOP`), shape (pairs,). A pair that is not
            delivered has no entries.
    """

    pair: Ints
    switch: Ints
    port: Ints
    end: Ints


def crossings(routes: Routes, sources: Ints, dlids: Ints) -> Crossings:
    """Follow pairs through the tables.

    Args:
        routes: topology and tables.
        sources: endpoint that sends, of each pair (`Cabling.endpoints`).
        dlids: destination LID of each pair.

    Raises:
        InputError: a LID without a port, or a pair within one port.
    """
    owner = routes.cabling.owner
    _require_owned(owner, dlids)
    if (owner[dlids] == sources).any():
        lid = int(dlids[np.argmax(owner[dlids] == sources)])
        raise InputError(f"LID {lid} would send to itself; name different hosts")
    start = routes.attached[sources]
    end = np.full(dlids.size, WRONG_PORT, dtype=np.int64)
    end[(start < 0) & (_peers(routes)[sources] == owner[dlids])] = DELIVERED
    found: list[tuple[Ints, Ints, Ints]] = []
    unique, column = np.unique(dlids, return_inverse=True)
    first = 0
    for tree in chunks(routes.lfts, unique):
        row = column - first
        pair = np.flatnonzero((row >= 0) & (row < tree.lids.size) & (start >= 0))
        first += int(tree.lids.size)
        at, row = start[pair], row[pair]
        end[pair] = tree.end[row, at]
        while pair.size:
            # A pair delivered from here on reaches the end of its tree.
            going = (at < tree.next.shape[1]) & (end[pair] == DELIVERED)
            pair, row, at = pair[going], row[going], at[going]
            found.append((pair, at, tree.port[row, at].astype(np.int64)))
            at = tree.next[row, at].astype(np.int64)
    if not found:
        none = np.empty(0, dtype=np.int64)
        return Crossings(none, none, none, end)
    pairs, switches, ports = zip(*found, strict=True)
    return Crossings(np.concatenate(pairs), np.concatenate(switches), np.concatenate(ports), end)


def _require_owned(owner: NDArray[np.integer[Any]], lids: Ints) -> None:
    bad = (lids <= 0) | (lids >= owner.size)
    bad[~bad] = owner[lids[~bad]] < 0
    if bad.any():
        raise InputError(
            f"no port that the sweep saw owns LID {int(lids[np.argmax(bad)])}; take sweep and "
            "tables together"
        )


def over(
    routes: Routes,
    sources: Iterable[int],
    destinations: Iterable[int],
    port: PortId,
    *,
    examples: int = 2,
) -> RouteRef | None:
    """The pairs of a job that leave a switch by one port, and some whole routes of them.

    Args:
        routes: topology and tables.
        sources: LIDs that send; several of one port count once.
        destinations: LIDs that receive.
        port: output port of a switch.
        examples: routes to show at most.

    Returns:
        Ordered pairs in this direction alone; None where the port is no switch's, or there is no
        pair.

    Raises:
        InputError: a LID without a port.
    """
    number = routes.cabling.number.get(port.guid)
    owner = routes.cabling.owner
    senders = np.array(sorted(set(sources)), dtype=np.int64)
    lids = np.array(sorted(set(destinations)), dtype=np.int64)
    _require_owned(owner, senders)
    _require_owned(owner, lids)
    senders = np.unique(owner[senders]).astype(np.int64)
    source, dlid = (grid.ravel() for grid in np.meshgrid(senders, lids, indexing="ij"))
    apart = owner[dlid] != source
    source, dlid = source[apart], dlid[apart]
    if number is None or not dlid.size:
        return None
    found = crossings(routes, source, dlid)
    pairs = np.unique(found.pair[(found.switch == number) & (found.port == port.port)])
    ends = routes.cabling.endpoints
    shown = tuple(
        routes.path(ends[int(source[pair])].id, int(dlid[pair])).example
        for pair in pairs[:examples].tolist()
    )
    return RouteRef(int(pairs.size), int(dlid.size), shown, "job")


def _peers(routes: Routes) -> Ints:
    """The endpoint each endpoint is cabled to back to back; -1 for none."""
    return np.array([end.peer for end in routes.cabling.endpoints], dtype=np.int64)

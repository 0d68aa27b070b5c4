"""Cables into the switch of a job's destinations, over all switches that send into it.

`ibaccept.routing.spread` judges the choice of each switch. In a tree that is not enough: a leaf may
spread its LIDs over all spines and still send every LID of one other leaf by the same spine, whose
few cables into that leaf are then full while those of the other spines are idle. No switch on the
way chose badly among the cables it had.

Several senders on several leaves may take different spines for one LID, so here pairs count, not
LIDs: with N LIDs on the switch, U cables into it and S senders elsewhere, giving each LID one cable
of its own choice, the same for all senders, puts at most ceil(N / U) * S pairs on a cable. A cable
is usable where it is on a shortest way from every sender, so that this assignment exists.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from ibaccept.fabric.model import Guid, PortId
from ibaccept.routing.census import Senders, accumulate
from ibaccept.routing.paths import Routes
from ibaccept.routing.tables import DELIVERED, CablingArrays
from ibaccept.routing.trees import chunks


@dataclass(frozen=True, slots=True)
class InwardRow:
    """One cable into the switch.

    Attributes:
        port: output port of the switch before.
        name: that port for people, ``spine01/3``.
        towards: the port at the other end.
        towards_name: that port for people.
        pairs: of the job, over this cable.
        lids: destination LIDs of those pairs.
    """

    port: PortId
    name: str
    towards: PortId | None
    towards_name: str
    pairs: int
    lids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Inward:
    """The cables from two or more switches into one.

    Attributes:
        switch: node GUID of the switch with the destinations.
        name: that switch for people.
        before: names of the switches that send into it.
        lids: destination LIDs on the switch.
        senders: sending ports on other switches.
        usable: cables that are on a shortest way from every sender.
        rows: every cable, usable or used.
    """

    switch: Guid
    name: str
    before: tuple[str, ...]
    lids: int
    senders: int
    usable: int
    rows: tuple[InwardRow, ...]

    @property
    def bound(self) -> int:
        """Pairs on the fullest cable at best."""
        return -(-self.lids // self.usable) * self.senders

    @property
    def worst(self) -> int:
        """Pairs on the fullest cable as the tables are."""
        return max(row.pairs for row in self.rows)


def inward(routes: Routes, sources: Iterable[int], destinations: Iterable[int]) -> list[Inward]:
    """The cables into every switch with destinations, where two or more switches send into it.

    Args:
        routes: the routes of the fabric.
        sources: LIDs that send.
        destinations: LIDs that receive; all of them owned by ports the sweep saw.
    """
    cabling = routes.cabling
    lids = np.array(sorted(set(destinations)), dtype=np.int64)
    ends = np.unique(cabling.owner[np.array(sorted(set(sources)), dtype=np.int64)])
    leaf = routes.attached[cabling.owner[lids]]
    senders = Senders(routes.lfts, ends.astype(np.int64), routes.attached)
    at = routes.attached[senders.ends]
    last = _last_hops(routes, lids, leaf, senders)
    away = _distances(cabling, np.unique(at))
    found: list[Inward] = []
    for number in np.unique(leaf[leaf >= 0]).tolist():
        others = int((at != number).sum())
        sending = np.unique(at) != number
        cables = _cables(cabling, number, away[sending])
        used = last.get(number, {})
        keys = sorted({*cables, *used})
        if len(cables) < 2 or len({switch for switch, _ in keys}) < 2 or not others:  # noqa: PLR2004 - nothing to choose from
            continue
        rows = tuple(
            _row(routes, switch, port, used.get((switch, port), {})) for switch, port in keys
        )
        guid = cabling.switches[number]
        names = {cabling.node_name(cabling.switches[switch]) for switch, _ in keys}
        found.append(
            Inward(
                switch=guid,
                name=cabling.node_name(guid),
                before=tuple(sorted(names)),
                lids=int((leaf == number).sum()),
                senders=others,
                usable=len(cables),
                rows=rows,
            )
        )
    return found


def _last_hops(
    routes: Routes, lids: NDArray[np.int64], leaf: NDArray[np.int64], senders: Senders
) -> dict[int, dict[tuple[int, int], dict[int, int]]]:
    """By a destination's switch and (switch before, its port): pairs by LID that enter it so."""
    count = len(routes.cabling.switches)
    leaf_of = dict(zip(lids.tolist(), leaf.tolist(), strict=True))
    found: dict[int, dict[tuple[int, int], dict[int, int]]] = {}
    for part in chunks(routes.lfts, lids):
        flow = senders.pairs(part)
        flow[part.end != DELIVERED] = 0
        accumulate(part, flow, count)
        here = np.array([leaf_of[lid] for lid in part.lids.tolist()])
        rows, switches = np.nonzero((flow > 0) & (part.next == here[:, None]))
        for row, switch in zip(rows.tolist(), switches.tolist(), strict=True):
            before = found.setdefault(int(here[row]), {})
            tally = before.setdefault((switch, int(part.port[row, switch])), {})
            tally[int(part.lids[row])] = int(flow[row, switch])
    return found


def _distances(cabling: CablingArrays, switches: NDArray[np.int64]) -> NDArray[np.float64]:
    """Cables from each of ``switches`` to every switch, shape (given, all)."""
    count = len(cabling.switches)
    switch, port = np.nonzero(cabling.isl)
    ones = np.ones(switch.size, dtype=np.int8)
    graph = sparse.csr_array((ones, (switch, cabling.target[switch, port])), shape=(count, count))
    if not switches.size:
        return np.empty((0, count))
    away: NDArray[np.float64] = csgraph.dijkstra(graph, unweighted=True, indices=switches)
    return away


def _cables(
    cabling: CablingArrays, number: int, away: NDArray[np.float64]
) -> list[tuple[int, int]]:
    """(Switch before, its port) of every cable that is on a shortest way from all senders."""
    switch, port = np.nonzero(cabling.isl & (cabling.target == number))
    good = (away[:, switch] + 1 == away[:, number][:, None]).all(axis=0)
    return list(zip(switch[good].tolist(), port[good].tolist(), strict=True))


def _row(routes: Routes, switch: int, port: int, tally: dict[int, int]) -> InwardRow:
    here = PortId(routes.cabling.switches[switch], port)
    there = routes.cabling.neighbour(switch, port)
    return InwardRow(
        here,
        routes.fabric.port_name(here),
        there,
        "" if there is None else routes.fabric.port_name(there),
        sum(tally.values()),
        tuple(sorted(tally)),
    )

"""Stages of a job's routes: the cables of which every pair of some set crosses exactly one.

`ibaccept.routing.spread` judges the choice of each switch. That is not enough: a leaf may spread
its LIDs over all spines and still send every LID of one other leaf by the same spine, and the
switches of one pod may each spread theirs over all cores and still fill the cables of one core into
another pod. No switch on the route chose badly among the cables it had.

On shortest routes a pair h hops from its destination's switch crosses, for each distance from h
down to 1, one cable that leads nearer: out of the sender's switch, out of its pod, into the
destination's pod, into its switch. Pairs that could cross the same cables there are judged
together, whatever the topology; where the sets of cables overlap, they are split by density
(`ibaccept.routing.groups`).

Senders on several switches may take different cables for one LID, so here pairs count, not LIDs.
With N LIDs, U cables of one rate, and W pairs to each LID, one cable for each LID, the same for all
senders, puts ceil(N / U) * W pairs on the fullest cable.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ibaccept.routing.census import Senders, accumulate
from ibaccept.routing.groups import Kind, Usable, levels
from ibaccept.routing.paths import Routes
from ibaccept.routing.tables import DELIVERED, PORTS
from ibaccept.routing.trees import chunks

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Stage:
    """Cables of which every pair of a set crosses exactly one on a shortest route.

    Attributes:
        cables: codes of the output ports, switch * 256 + port, ascending.
        shares: pairs on each of them where all are spread by bandwidth.
        weights: bandwidth of each in a common measure.
        pairs: of the job that cross the stage.
        lids: destination LIDs of those pairs.
        unit: pairs that take one cable together: those of one LID.
    """

    cables: tuple[int, ...]
    shares: tuple[int, ...]
    weights: tuple[int, ...]
    pairs: int
    lids: int
    unit: int

    @property
    def switches(self) -> tuple[int, ...]:
        """Numbers of the switches that send into the cables, ascending."""
        return tuple(sorted({code // PORTS for code in self.cables}))


@dataclass(frozen=True, slots=True)
class Hops:
    """The cables on shortest routes from a job's senders to one destination switch.

    Attributes:
        code: switch * 256 + port, nearest to the destination first.
        switch: number of the switch that sends.
        target: number of the switch at the other end.
        distance: hops from the sending switch to the destination.
    """

    code: Ints
    switch: Ints
    target: Ints
    distance: Ints


class JobStages:
    """The stages of one direction of a job.

    Attributes:
        routes: topology and tables.
        lids: destination LIDs, ascending.
        leaf: the switch each of them is attached to; -1 for none.
        senders: who sends.
    """

    def __init__(self, routes: Routes, sources: Iterable[int], destinations: Iterable[int]) -> None:
        """Take LIDs that ports of the sweep own."""
        cabling = routes.cabling
        self.routes = routes
        self.lids: Ints = np.array(sorted(set(destinations)), dtype=np.int64)
        self.leaf: Ints = routes.attached[cabling.owner[self.lids]]
        ends = np.unique(cabling.owner[np.array(sorted(set(sources)), dtype=np.int64)])
        self.senders = Senders(routes.lfts, ends.astype(np.int64), routes.attached)
        at = routes.attached[self.senders.ends]
        count = len(cabling.switches)
        self.starts = np.unique(at)
        self._ends = set(self.senders.ends.tolist())
        self._sending = np.bincount(at, minlength=count).astype(np.int64)
        targets = np.unique(self.leaf[self.leaf >= 0])
        self._row = {int(leaf): row for row, leaf in enumerate(targets)}
        self._away = Usable(cabling, targets).away
        switch, port = np.nonzero(cabling.isl)
        self._switch, self._port = switch.astype(np.int64), port.astype(np.int64)
        self._target = cabling.target[switch, port].astype(np.int64)

    def weight(self, lid: int) -> Ints:
        """Pairs to a LID that start at each switch, shape (switches,)."""
        found = self._sending.copy()
        owner = int(self.routes.cabling.owner[lid])
        if owner in self._ends:
            found[self.routes.attached[owner]] -= 1
        return found

    @cached_property
    def hops(self) -> dict[int, Hops]:
        """Cables on shortest routes from the senders, by destination switch."""
        return {leaf: self._hops_to(leaf) for leaf in self._row}

    def _nearer(self, leaf: int) -> tuple[Hops, NDArray[np.float64]]:
        """Every cable that leads nearer to a switch, and the distance of all switches."""
        away = self._away[self._row[leaf]]
        from_, to = away[self._switch], away[self._target]
        good = np.flatnonzero(np.isfinite(from_) & (to == from_ - 1))
        order = good[np.lexsort((self._port[good], self._switch[good], from_[good]))]
        switch = self._switch[order]
        found = Hops(
            switch * PORTS + self._port[order],
            switch,
            self._target[order],
            away[switch].astype(np.int64),
        )
        return found, away

    def _hops_to(self, leaf: int) -> Hops:
        every, away = self._nearer(leaf)
        reached = np.zeros(away.size, dtype=np.bool_)
        reached[self.starts[np.isfinite(away[self.starts])]] = True
        for distance in range(int(every.distance.max(initial=0)), 0, -1):
            reached[every.target[(every.distance == distance) & reached[every.switch]]] = True
        keep = reached[every.switch]
        return Hops(
            *(part[keep] for part in (every.code, every.switch, every.target, every.distance))
        )

    def _sets(self, leaf: int, start: int) -> Iterator[Kind]:
        """The cables of each stage from a sender's switch to a destination's."""
        hops = self.hops[leaf]
        here = np.zeros(len(self.routes.cabling.switches), dtype=np.bool_)
        here[start] = True
        for distance in range(int(self._away[self._row[leaf], start]), 0, -1):
            on = (hops.distance == distance) & here[hops.switch]
            yield tuple(sorted(hops.code[on].tolist()))
            here[hops.target[on]] = True

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """All stages, by their first cable. A cable is in one stage."""
        pairs: dict[Kind, int] = {}
        by_lid: dict[Kind, dict[int, int]] = {}
        for leaf in self._row:
            lids = self.lids[self.leaf == leaf].tolist()
            weights = {lid: self.weight(lid) for lid in lids}
            for start in self.starts.tolist():
                if start == leaf or not np.isfinite(self._away[self._row[leaf], start]):
                    continue
                for kind in self._sets(leaf, start):
                    tally = by_lid.setdefault(kind, {})
                    for lid in lids:
                        tally[lid] = tally.get(lid, 0) + int(weights[lid][start])
        pairs = {kind: sum(tally.values()) for kind, tally in by_lid.items()}
        by_lid = {kind: by_lid[kind] for kind, count in pairs.items() if count}
        found = [stage for family in _families(by_lid) for stage in self._split(family, by_lid)]
        return tuple(sorted(found, key=lambda stage: stage.cables))

    def _split(self, family: list[Kind], by_lid: dict[Kind, dict[int, int]]) -> Iterator[Stage]:
        """The stages of sets of cables that overlap."""
        codes = sorted({code for kind in family for code in kind})
        weights = self.routes.cabling.weights(
            [code // PORTS for code in codes], [code % PORTS for code in codes]
        )
        weight_of = dict(zip(codes, weights, strict=True))
        unit = math.gcd(*(count for kind in family for count in by_lid[kind].values()))
        demand = {kind: sum(by_lid[kind].values()) // unit for kind in family}
        for level in levels(demand, weight_of):
            lids = {lid for kind in level.kinds for lid in by_lid[kind]}
            yield Stage(
                cables=level.ports,
                shares=tuple(share * unit for share in level.shares),
                weights=tuple(weight_of[code] for code in level.ports),
                pairs=level.lids * unit,
                lids=len(lids),
                unit=unit,
            )

    def loads(self, routes: Routes) -> Ints:
        """Delivered pairs of the job by output port, in some tables, shape (switches * 256,).

        Args:
            routes: these tables, or others of the same topology.
        """
        count = len(routes.cabling.switches)
        found = np.zeros(count * PORTS, dtype=np.int64)
        for part in chunks(routes.lfts, self.lids):
            flow = self.senders.pairs(part)
            flow[part.end != DELIVERED] = 0
            accumulate(part, flow, count)
            code = np.arange(count, dtype=np.int64) * PORTS + part.port
            used = flow > 0
            np.add.at(found, code[used], flow[used])
        return found

    def lids_over(self, codes: Iterable[int]) -> dict[int, tuple[int, ...]]:
        """Destination LIDs of the job's pairs over some output ports, in the tables read."""
        wanted = set(codes)
        count = len(self.routes.cabling.switches)
        found: dict[int, list[int]] = {code: [] for code in wanted}
        for part in chunks(self.routes.lfts, self.lids):
            flow = self.senders.pairs(part)
            flow[part.end != DELIVERED] = 0
            accumulate(part, flow, count)
            rows, switches = np.nonzero(flow)
            codes_here = switches * PORTS + part.port[rows, switches]
            for row, code in zip(rows.tolist(), codes_here.tolist(), strict=True):
                if code in wanted:
                    found[code].append(int(part.lids[row]))
        return {code: tuple(sorted(lids)) for code, lids in found.items()}


def _families(kinds: Iterable[Kind]) -> list[list[Kind]]:
    """Sets of cables that overlap, directly or over others."""
    leader: dict[int, int] = {}

    def root(code: int) -> int:
        while leader.setdefault(code, code) != code:
            leader[code] = leader[leader[code]]
            code = leader[code]
        return code

    some = sorted(kinds)
    for kind in some:
        for code in kind[1:]:
            leader[root(code)] = root(kind[0])
    parts: dict[int, list[Kind]] = {}
    for kind in some:
        parts.setdefault(root(kind[0]), []).append(kind)
    return list(parts.values())

"""The best any static table can do with a job's pairs, on all cables of their routes at once.

Every stage (`ibaccept.routing.stages`) has its even share, and a table can have it there. Whether
one table can have it *everywhere* is another question: where a leaf has two cables to one spine and
one to the other, and the leaf of the destinations the other way round, an even choice on the first
cables is an uneven one on the last. So a table is measured by

- the *peak*: pairs per bandwidth on the fullest cable that carries more than its even share, and
- the *excess*: pairs above the even shares, of all cables together, between tables of equal peak,

and one that no other table is better than is even, whatever the shares of single stages are.

First a table is looked for that gives every cable its share (routes are laid one LID after the
other over the least loaded cables, and laid again). If there is one, the shares are demanded. If
not, a mixed-integer program finds the least peak and excess, or proves what cannot be had. It is
bounded by its size and by the nodes it may visit, never by time, so that two runs agree; where it
is too large or ends early, the best table found is the measure, and `Best.proven` is False. What is
demanded is always what a table at hand reaches.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from ibaccept.routing.paths import Routes
from ibaccept.routing.stages import Hops, JobStages
from ibaccept.routing.tables import PORTS

Ints = NDArray[np.int64]

ROUNDS = 12
"""Times every LID is laid again at most, for one set of limits."""

MOST_BINARIES = 3000
"""Choices (LID and cable) up to which a mixed-integer program is solved."""

MOST_NODES = 400
"""Nodes of its tree that are visited at most."""

_STEEP = 8
"""Exponent of the price of a cable's load: high, so that the fullest counts most."""


@dataclass(frozen=True, slots=True)
class Measure:
    """How far a table is from even shares; less is better, the peak first.

    Attributes:
        peak: pairs per bandwidth on the fullest cable above its share; 0 where none is.
        excess: pairs above the shares, of all cables.
    """

    peak: Fraction
    excess: int

    def __lt__(self, other: Measure) -> bool:
        return (self.peak, self.excess) < (other.peak, other.excess)


@dataclass(frozen=True)
class Layout:
    """A static table for the LIDs of a job, by the cables that its routes use.

    Attributes:
        lid: of each entry.
        switch: number of the switch of each entry.
        port: output port of each entry.
        loads: pairs by output port, shape (switches * 256,).
    """

    lid: Ints
    switch: Ints
    port: Ints
    loads: Ints


@dataclass(frozen=True)
class Best:
    """The best table known.

    Attributes:
        layout: that table.
        measure: of it.
        proven: no static table is better.
        fullest: output port (switch * 256 + port) with the most pairs per bandwidth of those above
            their share; -1 where none is.
    """

    layout: Layout
    measure: Measure
    proven: bool
    fullest: int


class Attainable:
    """What static tables can reach for one direction of a job.

    Attributes:
        stages: of the job.
    """

    def __init__(self, stages: JobStages) -> None:
        self.stages = stages
        size = len(stages.routes.cabling.switches) * PORTS
        self._share = np.zeros(size, dtype=np.int64)
        self._placed = np.zeros(size, dtype=np.bool_)
        self._bandwidth = np.ones(size, dtype=np.int64)
        codes: list[int] = []
        for stage in stages.stages:
            codes += stage.cables
            self._share[list(stage.cables)] = stage.shares
        self._codes: Ints = np.array(sorted(codes), dtype=np.int64)
        self._placed[self._codes] = True
        self._bandwidth[self._codes] = stages.routes.cabling.weights(
            (self._codes // PORTS).tolist(), (self._codes % PORTS).tolist()
        )

    def measure(self, loads: Ints) -> Measure:
        """How far pairs by output port are from even shares."""
        over = self._placed & (loads > self._share)
        if not over.any():
            return Measure(Fraction(0), 0)
        pairs = zip(loads[over].tolist(), self._bandwidth[over].tolist(), strict=True)
        peak = max(Fraction(load, bandwidth) for load, bandwidth in pairs)
        return Measure(peak, int((loads - self._share)[over].sum()))

    def limits(self, peak: Fraction) -> Ints:
        """Pairs each cable may carry where no cable above its share carries more than ``peak``."""
        raised = self._bandwidth * peak.numerator // peak.denominator
        return np.maximum(self._share, raised)

    @cached_property
    def best(self) -> Best:
        """The best table that was found, and whether there is no better one."""
        layout, measure = self._searched()
        if not measure.excess:
            return self._best(layout, measure, proven=True)
        return self._solved(layout, measure)

    def _best(self, layout: Layout, measure: Measure, *, proven: bool) -> Best:
        over = self._placed & (layout.loads > self._share)
        per_bandwidth = np.where(over, layout.loads / self._bandwidth, -1.0)
        fullest = int(per_bandwidth.argmax()) if over.any() else -1
        return Best(layout, measure, proven, fullest)

    def improved(self, loads: Ints) -> Ints:
        """Pairs by output port in a table of less excess that burdens no cable more.

        No cable above its share carries more than in ``loads``. Where no such table is found, the
        loads of the best table.
        """
        if self._program.size <= MOST_BINARIES:
            found, _ = self._program.within(np.maximum(self._share, loads), self._share)
            if found is not None and self.measure(found.loads).excess < self.measure(loads).excess:
                return found.loads
        return self.best.layout.loads

    @cached_property
    def _program(self) -> _Program:
        return _Program(self.stages, self._codes)

    # -- laying routes one after the other -----------------------------------------------------

    def _searched(self) -> tuple[Layout, Measure]:
        """A table found by laying routes over the least loaded cables."""
        laying = _Laying(self.stages)
        best, least = self._laid(laying, self._share)
        while least.excess:
            limits = self.limits(least.peak - Fraction(1, int(self._bandwidth.max())))
            layout, found = self._laid(laying, limits)
            if not found < least:
                break
            best, least = layout, found
        return best, least

    def _laid(self, laying: _Laying, limits: Ints) -> tuple[Layout, Measure]:
        best: Layout | None = None
        least = Measure(Fraction(0), 0)
        for _ in range(ROUNDS):
            moved = laying.round(np.maximum(limits, 1))
            found = self.measure(laying.loads)
            if best is None or found < least:
                best, least = laying.layout(), found
            if not least.excess or not moved:
                break
        assert best is not None  # noqa: S101 - there is a round
        return best, least

    # -- the mixed-integer program -------------------------------------------------------------

    def _solved(self, layout: Layout, measure: Measure) -> Best:
        """The optimum, from a table found otherwise; that table where it cannot be proven."""
        program = self._program
        if program.size > MOST_BINARIES:
            return self._best(layout, measure, proven=False)
        proven = True
        # Peaks are pairs over bandwidth, so there are few between none and the best known.
        peaks = self._peaks(measure.peak)
        low, high = -1, len(peaks) - 1
        while high - low > 1:
            middle = (low + high) // 2
            found, certain = program.within(self.limits(peaks[middle]))
            proven &= certain
            if found is None:
                low = middle
                continue
            layout, measure = found, self.measure(found.loads)
            high = min(middle, peaks.index(measure.peak))
        if measure.excess:
            found, certain = program.within(self.limits(measure.peak), self._share)
            proven &= certain
            if found is not None and self.measure(found.loads) < measure:
                layout, measure = found, self.measure(found.loads)
        return self._best(layout, measure, proven=proven)

    def _peaks(self, most: Fraction) -> list[Fraction]:
        """0, then every pairs per bandwidth that a cable can have, ascending up to ``most``."""
        bandwidths = np.unique(self._bandwidth[self._codes]).tolist()
        values = {
            Fraction(pairs, width)
            for width in bandwidths
            for pairs in range(1, int(most * width) + 1)
        }
        return [Fraction(0), *sorted(values)]


class _Laying:
    """Routes laid one LID after the other, each over the cables that are cheapest for it."""

    def __init__(self, stages: JobStages) -> None:
        self._stages = stages
        self._lids = [
            (lid, stages.hops[leaf], stages.weight(lid))
            for lid, leaf in zip(stages.lids.tolist(), stages.leaf.tolist(), strict=True)
            if leaf >= 0
        ]
        self._rng = np.random.default_rng(0)
        self._chosen: dict[int, Ints] = {}
        self.loads = np.zeros(len(stages.routes.cabling.switches) * PORTS, dtype=np.int64)

    def round(self, limits: Ints) -> bool:
        """Lay every LID (again), and say whether a route changed."""
        moved = False
        for lid, hops, weight in self._lids:
            before = self._chosen.get(lid)
            if before is not None:
                self._add(hops, weight, before, -1)
            chosen = self._cheapest(hops, int(weight.sum()), limits)
            self._add(hops, weight, chosen, 1)
            self._chosen[lid] = chosen
            moved |= before is None or not np.array_equal(before, chosen)
        return moved

    def _cheapest(self, hops: Hops, pairs: int, limits: Ints) -> Ints:
        """Places in ``hops`` of the cable each switch takes, nearest to the destination first."""
        load, limit = self.loads[hops.code], limits[hops.code].astype(np.float64)
        price = ((load + pairs) / limit) ** _STEEP - (load / limit) ** _STEEP
        # Of equal prices the same next switch for all, so that routes to a LID join early.
        tie = self._rng.random(len(self._stages.routes.cabling.switches))[hops.target]
        price *= 1 + 1e-9 * tie + 1e-12 * self._rng.random(price.size)
        cost = np.zeros(len(self._stages.routes.cabling.switches))
        chosen: list[Ints] = []
        for distance in range(1, int(hops.distance.max(initial=0)) + 1):
            at = np.flatnonzero(hops.distance == distance)
            total = price[at] + cost[hops.target[at]]
            order = np.lexsort((total, hops.switch[at]))
            switches = hops.switch[at][order]
            first = np.flatnonzero(np.diff(switches, prepend=-1))
            cost[switches[first]] = total[order][first]
            chosen.append(at[order][first])
        return np.concatenate(chosen) if chosen else np.empty(0, dtype=np.int64)

    def _add(self, hops: Hops, weight: Ints, chosen: Ints, sign: int) -> None:
        """Put the pairs to a LID on the cables chosen, or take them off."""
        pairs = weight.copy()
        for distance in range(int(hops.distance.max(initial=0)), 0, -1):
            at = chosen[hops.distance[chosen] == distance]
            flow = pairs[hops.switch[at]]
            self.loads[hops.code[at]] += sign * flow
            np.add.at(pairs, hops.target[at], flow)

    def layout(self) -> Layout:
        """The table as it stands."""
        lids = [np.full(self._chosen[lid].size, lid) for lid, _, _ in self._lids]
        codes = [hops.code[self._chosen[lid]] for lid, hops, _ in self._lids]
        lid = np.concatenate(lids) if lids else np.empty(0, dtype=np.int64)
        code = np.concatenate(codes) if codes else np.empty(0, dtype=np.int64)
        return Layout(lid, code // PORTS, code % PORTS, self.loads.copy())


class _Program:
    """All static tables of shortest routes as a mixed-integer program.

    For each LID and cable that leads nearer to it: a choice, 0 or 1, one of each switch; and the
    pairs to that LID over that cable, none where it is not chosen.
    """

    def __init__(self, stages: JobStages, codes: Ints) -> None:
        self._codes = codes
        self._lids = [
            (lid, stages.hops[leaf], stages.weight(lid))
            for lid, leaf in zip(stages.lids.tolist(), stages.leaf.tolist(), strict=True)
            if leaf >= 0
        ]
        self._width = len(stages.routes.cabling.switches) * PORTS
        self.size = sum(hops.code.size for _, hops, _ in self._lids)

    @cached_property
    def _parts(self) -> tuple[sparse.csr_array, Ints, sparse.csr_array, sparse.csr_array]:
        """Equalities and their right side, pairs less choices, and pairs by cable."""
        size = self.size
        equal: list[tuple[int, int, float]] = []
        right: list[int] = []
        below: list[tuple[int, int, float]] = []
        first = 0
        for _, hops, weight in self._lids:
            total = int(weight.sum())
            for switch in np.unique(hops.switch).tolist():
                out = first + np.flatnonzero(hops.switch == switch)
                into = first + np.flatnonzero(hops.target == switch)
                equal += [(len(right), int(var), 1.0) for var in out]
                right.append(1)
                equal += [(len(right), int(size + var), 1.0) for var in out]
                equal += [(len(right), int(size + var), -1.0) for var in into]
                right.append(int(weight[switch]))
            for var in range(first, first + hops.code.size):
                below += [(var, size + var, 1.0), (var, var, -float(total))]
            first += hops.code.size
        place = np.searchsorted(self._codes, np.concatenate([h.code for _, h, _ in self._lids]))
        load = sparse.csr_array(
            (np.ones(size), (place, size + np.arange(size))), shape=(self._codes.size, 2 * size)
        )
        return (
            _matrix(equal, (len(right), 2 * size)),
            np.array(right, dtype=np.int64),
            _matrix(below, (size, 2 * size)),
            load,
        )

    def within(self, limits: Ints, share: Ints | None = None) -> tuple[Layout | None, bool]:
        """A table within limits by output port; with ``share`` the least excess above it.

        Returns:
            The table, None where none was found; and whether that is certain.
        """
        equal, right, below, load = self._parts
        size, cables = self.size, self._codes.size
        limit = limits[self._codes]
        cost = np.zeros(2 * size)
        upper = np.concatenate([np.ones(size), np.full(size, np.inf)])
        if share is not None:
            # One more variable a cable: pairs above its share.
            none = [sparse.csr_array((part.shape[0], cables)) for part in (equal, below, load)]
            over = sparse.hstack([load, -sparse.eye_array(cables)], format="csr")
            equal, below, load = (
                sparse.csr_array(sparse.hstack([part, more]))
                for part, more in zip((equal, below, load), none, strict=True)
            )
            cost = np.concatenate([cost, np.ones(cables)])
            upper = np.concatenate([upper, np.full(cables, np.inf)])
        constraints = [
            optimize.LinearConstraint(equal, right, right),
            optimize.LinearConstraint(below, -np.inf, 0),
            optimize.LinearConstraint(load, -np.inf, limit),
        ]
        if share is not None:
            constraints.append(
                optimize.LinearConstraint(over, -np.inf, share[self._codes].astype(np.float64))
            )
        integral = np.zeros(cost.size, dtype=np.int64)
        integral[:size] = 1
        result = optimize.milp(
            cost,
            integrality=integral,
            bounds=optimize.Bounds(0, upper),
            constraints=constraints,
            options={"node_limit": MOST_NODES, "mip_rel_gap": 0},
        )
        certain = result.status in {0, 2}
        if result.x is None:
            return None, certain
        return self._layout(np.round(result.x[:size]).astype(np.bool_)), certain

    def _layout(self, chosen: NDArray[np.bool_]) -> Layout:
        loads = np.zeros(self._width, dtype=np.int64)
        lids: list[Ints] = []
        codes: list[Ints] = []
        first = 0
        for lid, hops, weight in self._lids:
            taken = np.flatnonzero(chosen[first : first + hops.code.size])
            first += hops.code.size
            pairs = weight.copy()
            for distance in range(int(hops.distance.max(initial=0)), 0, -1):
                at = taken[hops.distance[taken] == distance]
                flow = pairs[hops.switch[at]]
                loads[hops.code[at]] += flow
                np.add.at(pairs, hops.target[at], flow)
            lids.append(np.full(taken.size, lid))
            codes.append(hops.code[taken])
        code = np.concatenate(codes)
        return Layout(np.concatenate(lids), code // PORTS, code % PORTS, loads)


def _matrix(entries: list[tuple[int, int, float]], shape: tuple[int, int]) -> sparse.csr_array:
    rows, columns, values = zip(*entries, strict=True)
    return sparse.csr_array((values, (rows, columns)), shape=shape)


def entries_of(routes: Routes, layout: Layout) -> Routes:
    """The routes of a fabric with that table for the LIDs of the job."""
    return routes.with_entries(layout.lid, layout.switch, layout.port)

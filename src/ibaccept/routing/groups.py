"""Groups of parallel cables, and the best any static table can do with each of them alone.

For one switch and one destination switch, the *usable* cables are those that offer the minimal hop
count. In a plain fabric the destinations behind a switch either share all usable cables or none,
and each set of cables is a group: N LIDs over U cables put at least ceil(N / U) on the fullest.
Cables of different rates have shares by bandwidth: the smallest x for which floor(x * bandwidth)
of all cables together reaches N, and floor(x * bandwidth) of each cable.

Where cables are missing, sets overlap: some destinations may use cables 1 to 8, others 1 to 7 only.
Judging each set alone would let all of them pile up on one cable; judging the union alone would
let a forced crowd excuse an unforced one. So overlapping sets are split by density: the
destinations that have the most LIDs per usable cable form the first group with those cables; they
are taken out, and so on with what is left (the dense decomposition of the assignment problem).
Within each group an assignment with ceil(N / U) LIDs a cable exists, and none does better. Whether
the groups of a whole fabric can have their shares at once is another question, see
`ibaccept.routing.attainable`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from ibaccept.routing.tables import CablingArrays

Kind = tuple[int, ...]
"""Ports of a switch that some destinations may use."""


_INT32 = 2**31
"""scipy's maximum flow counts in 32 bits."""


@dataclass(frozen=True, slots=True)
class Level:
    """Destinations and cables that are judged together.

    Attributes:
        kinds: which sets of usable ports its destinations have.
        ports: the cables of the group.
        lids: destination LIDs.
        shares: LIDs on each of the ports where all are spread by bandwidth, in the order of
            ``ports``.
    """

    kinds: tuple[Kind, ...]
    ports: tuple[int, ...]
    lids: int
    shares: tuple[int, ...]

    @property
    def bound(self) -> int:
        """LIDs on the fullest cable at best: ceil(lids / cables) where all have one rate."""
        return max(self.shares)


def even_shares(units: int, weights: Sequence[int]) -> tuple[int, ...]:
    """What each cable carries at most where ``units`` are spread as evenly as whole units can be.

    Args:
        units: LIDs, or other things that take one cable each.
        weights: bandwidth of each cable in a common measure, at least 1.

    Returns:
        floor(x * weight) of each cable for the smallest x at which all of them hold ``units``.
    """
    least = Fraction(units, sum(weights))
    steps = sorted(
        {
            Fraction(count, weight)
            for weight in set(weights)
            for count in range(_ceil(least * weight), _ceil(least * weight) + len(weights) + 1)
        }
    )
    for step in steps:
        shares = tuple(int(step * weight) for weight in weights)
        if sum(shares) >= units:
            return shares
    raise AssertionError("one more unit on every cable always holds all")


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


class Usable:
    """Usable ports of every switch towards some destination switches."""

    def __init__(self, cabling: CablingArrays, leaves: NDArray[np.int64]) -> None:
        """Measure the distances of every switch to the switches ``leaves`` (ascending)."""
        count = len(cabling.switches)
        self._cabling = cabling
        self._leaves = leaves
        switch, port = np.nonzero(cabling.isl)
        peer = cabling.target[switch, port]
        ones = np.ones(switch.size, dtype=np.int8)
        graph = sparse.csr_array((ones, (switch, peer)), shape=(count, count))
        self.away = (
            csgraph.dijkstra(graph.T, unweighted=True, indices=leaves)
            if leaves.size
            else np.empty((0, count))
        )

    def kinds(self, switch: int, leaves: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[Kind]]:
        """The set of usable ports towards each of ``leaves``.

        Returns:
            For every leaf an index into the sets, and the sets.
        """
        ports = np.flatnonzero(self._cabling.isl[switch])
        peers = self._cabling.target[switch, ports]
        rows = np.searchsorted(self._leaves, leaves)
        wanted = np.flatnonzero(np.bincount(rows, minlength=self._leaves.size))
        nearer = self.away[wanted][:, peers] == (self.away[wanted, switch] - 1)[:, None]
        number: dict[bytes, int] = {}
        set_of = np.zeros(self._leaves.size, dtype=np.int64)
        sets: list[Kind] = []
        for row, chosen in zip(wanted.tolist(), nearer, strict=True):
            key = chosen.tobytes()
            if key not in number:
                number[key] = len(sets)
                sets.append(tuple(ports[chosen].tolist()))
            set_of[row] = number[key]
        return set_of[rows], sets


def levels(demand: Mapping[Kind, int], weights: Mapping[int, int] | None = None) -> list[Level]:
    """Split destinations into groups, by shared cables and then by density.

    Args:
        demand: destination LIDs by their set of usable ports (no set is empty).
        weights: bandwidth of the ports in a common measure, at least 1; None where all are equal.
    """
    cost = dict(weights or {port: 1 for kind in demand for port in kind})
    found: list[Level] = []
    waiting = [(dict(demand), {kind: kind for kind in demand})]
    while waiting:
        some, original = waiting.pop()
        for part in _connected(list(some)):
            dense = _densest({kind: some[kind] for kind in part}, cost)
            ports = sorted({port for kind in dense for port in kind})
            lids = sum(some[kind] for kind in dense)
            found.append(
                Level(
                    tuple(sorted(origin for kind in dense for origin in _origins(original, kind))),
                    tuple(ports),
                    lids,
                    even_shares(lids, [cost[port] for port in ports]),
                )
            )
            rest: dict[Kind, int] = {}
            origins: dict[Kind, Kind] = {}
            for kind in set(part) - set(dense):
                left = tuple(port for port in kind if port not in ports)
                rest[left] = rest.get(left, 0) + some[kind]
                for origin in _origins(original, kind):
                    origins[origin] = left
            if rest:
                waiting.append((rest, origins))
    return sorted(found, key=lambda level: level.ports)


def _origins(original: Mapping[Kind, Kind], kind: Kind) -> list[Kind]:
    return [origin for origin, now in original.items() if now == kind]


def _connected(kinds: Sequence[Kind]) -> list[list[Kind]]:
    """Sets that share ports, directly or over others."""
    leader: dict[int, int] = {}

    def root(port: int) -> int:
        while leader.setdefault(port, port) != port:
            port = leader[port]
        return port

    for kind in kinds:
        for port in kind[1:]:
            leader[root(port)] = root(kind[0])
    parts: dict[int, list[Kind]] = {}
    for kind in kinds:
        parts.setdefault(root(kind[0]), []).append(kind)
    return list(parts.values())


def _densest(demand: Mapping[Kind, int], cost: Mapping[int, int]) -> list[Kind]:
    """The sets with the most LIDs per bandwidth (Dinkelbach over minimum cuts)."""
    chosen = list(demand)
    while True:
        lids = sum(demand[kind] for kind in chosen)
        cables = sum(cost[port] for port in {port for kind in chosen for port in kind})
        better = _denser(demand, cost, lids, cables)
        if not better:
            return chosen
        chosen = better


def _denser(
    demand: Mapping[Kind, int], cost: Mapping[int, int], lids: int, cables: int
) -> list[Kind]:
    """Sets with more than ``lids / cables`` LIDs per bandwidth; empty where there are none.

    Maximises cables * LIDs(T) - lids * cables(T) as a closure problem: source to a set with its
    LIDs, set to its ports without limit, port to sink with the price of a cable.
    """
    kinds = list(demand)
    if len(kinds) == 1:
        return []
    common = math.gcd(lids, cables)
    lids, cables = lids // common, cables // common
    ports = sorted({port for kind in kinds for port in kind})
    at = {port: 1 + len(kinds) + index for index, port in enumerate(ports)}
    sink = 1 + len(kinds) + len(ports)
    total = cables * sum(demand.values())
    if total >= _INT32:
        return []  # a share that is too small for some: what is judged is what a table reaches
    arcs = [(0, 1 + index, cables * demand[kind]) for index, kind in enumerate(kinds)]
    arcs += [(1 + index, at[port], total) for index, kind in enumerate(kinds) for port in kind]
    arcs += [(at[port], sink, lids * cost[port]) for port in ports]
    tails, heads, limits = zip(*arcs, strict=True)
    capacity = sparse.csr_array(
        (np.array(limits, dtype=np.int32), (tails, heads)), shape=(sink + 1, sink + 1)
    )
    result = csgraph.maximum_flow(capacity, 0, sink)
    if result.flow_value == total:
        return []
    residual = sparse.csr_array(capacity - result.flow)
    residual.eliminate_zeros()
    reached = csgraph.breadth_first_order(residual, 0, return_predecessors=False)
    return [kinds[node - 1] for node in reached.tolist() if 1 <= node <= len(kinds)]

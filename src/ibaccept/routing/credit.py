"""Credit loops: cables that wait for each other in a circle.

A packet holds buffer space in the cable it came by until the next cable has credits. If routes make
cable A wait for B, B for C and C for A, the fabric can lock up. The cables form the channel
dependency graph (Dally and Seitz, 1987); it is free of deadlock on one virtual lane exactly when it
has no cycle. Only cables between switches can be part of one, and only routes that CA pairs use
are counted, as ibdmchk does. All routes are taken to share one virtual lane.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from ibaccept.fabric.model import PortId
from ibaccept.routing.paths import Route, Routes
from ibaccept.routing.tables import DELIVERED
from ibaccept.routing.trees import chunks


@dataclass(frozen=True, slots=True)
class Waiting:
    """One step of a credit loop.

    Attributes:
        port: output port of a switch, the cable that is held.
        name: the port for people, ``SwitchB/25``.
        route: a route that leaves by this port and then by the port of the next step.
    """

    port: PortId
    name: str
    route: Route


@dataclass(frozen=True, slots=True)
class CreditLoops:
    """What was found.

    Attributes:
        cables: cable directions that are part of some cycle.
        cycle: one shortest cycle, hop by hop; the last step waits for the first. Empty where the
            tables have none.
        unknown: pairs whose route is not known; they could close a cycle that is not seen.
    """

    cables: int
    cycle: tuple[Waiting, ...]
    unknown: int

    @property
    def found(self) -> bool:
        """True where there is a cycle."""
        return bool(self.cycle)


def credit_loops(routes: Routes) -> CreditLoops:
    """Look for cycles among the cables that CA-to-CA routes use on one virtual lane."""
    follows, width = routes.follows
    cabling = routes.cabling
    channel, port = np.nonzero(follows)
    switch, out = np.divmod(channel, width)
    further = cabling.target[switch, out].astype(np.int64) * width + port
    size = follows.shape[0]
    ones = np.ones(channel.size, dtype=np.int8)
    graph = sparse.csr_array((ones, (channel, further)), shape=(size, size))
    count, label = csgraph.connected_components(graph, directed=True, connection="strong")
    members = np.bincount(label, minlength=count)
    looped = members[label] > 1
    looped[channel[channel == further]] = True
    unknown = routes.reach.unknown
    if not looped.any():
        return CreditLoops(0, (), unknown)
    cycle = _shortest(graph, looped)
    steps = []
    for here, after in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        number, port_number = divmod(here, width)
        port_id = PortId(cabling.switches[number], port_number)
        route = _route_over(routes, (number, port_number), divmod(after, width))
        steps.append(Waiting(port_id, routes.fabric.port_name(port_id), route))
    return CreditLoops(int(looped.sum()), tuple(steps), unknown)


def _shortest(graph: sparse.csr_array, looped: NDArray[np.bool_]) -> list[int]:
    """A shortest cycle through the lowest-numbered channel that is part of one."""
    start = int(np.flatnonzero(looped)[0])
    order, before = csgraph.breadth_first_order(graph, start)
    # The first channel reached that leads back to the start closes a shortest cycle.
    closing = graph[:, [start]].toarray().reshape(-1) > 0
    here = int(order[closing[order]][0])
    cycle = [here]
    while here != start:
        here = int(before[here])
        cycle.append(here)
    return cycle[::-1]


def _route_over(routes: Routes, first: tuple[int, int], then: tuple[int, int]) -> Route:
    """A delivered CA-to-CA route that leaves by one port and then by the other."""
    lfts, lids = routes.lfts, routes.cabling.ca_lids
    both = (lfts.out[lids, first[0]] == first[1]) & (lfts.out[lids, then[0]] == then[1])
    for part in chunks(lfts, lids[both]):
        for row in np.flatnonzero(part.end[:, first[0]] == DELIVERED).tolist():
            dlid = int(part.lids[row])
            senders = routes.senders(dlid, first[0])
            if senders:
                return routes.path(senders[0], dlid)
    raise AssertionError("a dependency was noted from a route, so there is one")

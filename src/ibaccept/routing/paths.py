"""Routes through the fabric: single ones hop by hop, and all of them counted.

A *pair* is a source CA port and a destination LID of another CA port (source and destination
differ; a port with 2^LMC LIDs is one source and 2^LMC destinations, because the tables look at the
destination LID only). Hops are named as the tables give them: source port, output port of every
switch crossed, destination node.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from ibaccept.errors import InputError
from ibaccept.fabric.lft import SwitchTable
from ibaccept.fabric.model import Fabric, PortId
from ibaccept.routing.census import Census, RouteTally, Senders, census
from ibaccept.routing.route import CODES, Disposition, Reach, Route, Walk, reach_from
from ibaccept.routing.tables import DELIVERED, CablingArrays, Tables
from ibaccept.routing.trees import Trees, chunks, trees
from ibaccept.verdict.evidence import RouteExample

EXAMPLES = 8
"""Undelivered routes shown whole; the counts tell how many there are."""

__all__ = ["Disposition", "Reach", "Route", "Routes"]


@dataclass
class Routes:
    """Every route of a fabric, from its tables.

    Args:
        fabric: what the sweep saw.
        tables: the forwarding tables read; a switch without one is unknown.
    """

    fabric: Fabric
    tables: Sequence[SwitchTable]
    cabling: CablingArrays = field(init=False)
    lfts: Tables = field(init=False)

    def __post_init__(self) -> None:
        self.cabling = CablingArrays(self.fabric)
        self.lfts = Tables(self.cabling, self.tables)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why parts of the tables are unknown, a sentence each."""
        return self.lfts.problems

    @cached_property
    def without_lid(self) -> tuple[PortId, ...]:
        """Cabled ports of hosts that have no LID: they are in no pair, so say so beside a count."""
        return tuple(
            end.id
            for end in self.cabling.endpoints
            if end.is_ca
            and not end.lids
            and end.id in self.fabric.link_at
            and self.fabric.nodes[end.id.guid].is_host
        )

    def with_entries(
        self, lids: NDArray[np.int64], switches: NDArray[np.int64], ports: NDArray[np.int64]
    ) -> Routes:
        """The same fabric with other table entries: arrays of the same length, one an entry."""
        other = Routes.__new__(Routes)
        other.fabric, other.tables, other.cabling = self.fabric, self.tables, self.cabling
        other.lfts = copy.copy(self.lfts)
        other.lfts.out, other.lfts.known = self.lfts.out.copy(), self.lfts.known.copy()
        other.lfts.out[lids, switches] = ports
        other.lfts.known[lids, switches] = True
        return other

    # -- one route ---------------------------------------------------------------------------

    def path(self, source: int | PortId, dlid: int) -> Route:
        """The route from a source LID (or port) to a destination LID.

        Raises:
            InputError: no port seen owns that LID.
        """
        start = self._endpoint(source)
        end = self._endpoint(dlid)
        origin = self.cabling.endpoints[start]
        slid = int(source) if not isinstance(source, PortId) else next(iter(origin.lids), 0)
        walk = Walk(self.lfts, dlid, end)
        if origin.id.port == 0 and origin.switch >= 0:
            walk.through(origin.switch)
        else:
            walk.begin(start)
        return Route(
            slid, dlid, tuple(walk.hops), walk.disposition, tuple(walk.ports), len(walk.seen)
        )

    def _endpoint(self, source: int | PortId) -> int:
        if isinstance(source, PortId):
            index = self.cabling.endpoint_of.get(source)
            if index is None:
                raise InputError(f"{source} is not a port that owns a LID; name a CA port")
            return index
        owner = self.cabling.owner
        index = int(owner[source]) if 0 < source < owner.size else -1
        if index < 0:
            raise InputError(
                f"no port that the sweep saw owns LID {source}; take sweep and tables together"
            )
        return index

    # -- many routes -------------------------------------------------------------------------

    @cached_property
    def sources(self) -> NDArray[np.int64]:
        """Endpoints that send in the whole-fabric counts: CA ports with a LID."""
        ends = self.cabling.endpoints
        return np.array([i for i, end in enumerate(ends) if end.is_ca and end.lids], dtype=np.int64)

    @cached_property
    def attached(self) -> NDArray[np.int64]:
        """Switch of each endpoint, -1 for none."""
        return np.array([end.switch for end in self.cabling.endpoints], dtype=np.int64)

    @property
    def port_lids(self) -> NDArray[np.int64]:
        """Destination LIDs that CA-to-CA routes take each port for, (switches, 256)."""
        return self._census.lids

    @property
    def port_pairs(self) -> NDArray[np.int64]:
        """Delivered ordered CA pairs that leave by each port, (switches, 256)."""
        return self._census.pairs

    @property
    def follows(self) -> tuple[NDArray[np.bool_], int]:
        """Dependencies between cables, for `ibaccept.routing.credit`, and their width."""
        return self._census.follows, self._census.width

    def lids_per_port(self) -> dict[int, int]:
        """How many inter-switch output ports have how many destination LIDs.

        The same histogram as ibdmchk's "SWITCH OUT PORT - NUM DLIDS": ports to CAs are left out,
        and so are switches that no CA-to-CA route crosses; other cabled ports that no route takes
        count as 0.
        """
        crossed = self.port_lids.sum(axis=1, keepdims=True) > 0
        counts = self.port_lids[self.cabling.isl & crossed]
        values, ports = np.unique(counts, return_counts=True)
        return dict(zip(values.tolist(), ports.tolist(), strict=True))

    def crossing(
        self, key: tuple[PortId, PortId], examples: int = 2
    ) -> tuple[int, int, tuple[RouteExample, ...]]:
        """Delivered CA pairs over a cable, of how many pairs, and some whole routes.

        Args:
            key: `Link.key` of the cable.
            examples: how many routes to show at most, both directions in turn.

        Returns:
            Ordered pairs over the cable in both directions; all ordered CA pairs; examples.
        """
        total = sum(self.crossing_from(here) for here in key)
        found = [self._examples_from(here, examples) for here in key]
        in_turn = [route for turn in zip_longest(*found) for route in turn if route is not None]
        shown = tuple(route.example for route in in_turn[:examples])
        return total, self.reach.pairs, shown

    def crossing_from(self, port: PortId) -> int:
        """Delivered CA pairs that leave by a port (a switch's or a CA's) into its cable."""
        number = self.cabling.number.get(port.guid)
        if number is not None:
            return int(self._census.pairs[number, port.port])
        index = self.cabling.endpoint_of.get(port)
        return 0 if index is None else int(self._census.sent[index])

    def _examples_from(self, port: PortId, limit: int) -> list[Route]:
        """Delivered routes that leave by a port, by ascending destination and source LID."""
        number = self.cabling.number.get(port.guid)
        lids = self._lids_hosts_first
        routes: list[Route] = []
        if limit <= 0:
            return routes
        if number is None:
            index = self.cabling.endpoint_of.get(port)
            for dlid in (
                lids[self.cabling.owner[lids] != index].tolist() if index is not None else ()
            ):
                route = self.path(port, dlid)
                if route.disposition is Disposition.DELIVERED:
                    routes.append(route)
                if len(routes) == limit:
                    break
            return routes
        if self.crossing_from(port) == 0:
            return routes
        here = lids[(self.lfts.out[lids, number] == port.port) & self.lfts.known[lids, number]]
        for dlid in here.tolist():
            senders = self.senders(dlid, number)
            if senders:
                routes.append(self.path(senders[0], dlid))
            if len(routes) == limit:
                break
        return routes

    @cached_property
    def _lids_hosts_first(self) -> NDArray[np.int64]:
        """Every CA LID, those of hosts first."""
        lids = self.cabling.ca_lids
        ends = self.cabling.endpoints
        host = np.array([self.fabric.nodes[end.id.guid].is_host for end in ends], dtype=np.bool_)
        of_host = host[self.cabling.owner[lids]] if lids.size else np.empty(0, np.bool_)
        return np.concatenate([lids[of_host], lids[~of_host]])

    def senders(self, dlid: int, switch: int) -> list[PortId]:
        """CA ports whose delivered route to a LID crosses a switch, by ascending LID."""
        tree = trees(self.lfts, np.array([dlid], dtype=np.int64))
        if tree.end[0, switch] != DELIVERED:
            return []
        owner = int(self.cabling.owner[dlid])
        return [
            self.cabling.endpoints[source].id
            for source in sorted(self.sources.tolist(), key=self._hosts_first)
            if source != owner and self._crosses(tree, int(self.attached[source]), switch)
        ]

    def _hosts_first(self, endpoint: int) -> tuple[bool, int]:
        """Order of examples: hosts before aggregation nodes, then by LID."""
        end = self.cabling.endpoints[endpoint]
        return not self.fabric.nodes[end.id.guid].is_host, end.lids[0]

    def _crosses(self, tree: Trees, start: int, switch: int) -> bool:
        if start < 0 or tree.end[0, start] != DELIVERED:
            return False
        count = len(self.cabling.switches)
        while start < count:
            if start == switch:
                return True
            start = int(tree.next[0, start])
        return False

    def reach_of(self, pairs_from: Iterable[int], pairs_to: Iterable[int]) -> Reach:
        """What became of the pairs of a job.

        Args:
            pairs_from: source LIDs (each names its port; LIDs of one port count once).
            pairs_to: destination LIDs. Pairs within one port are left out.

        Raises:
            InputError: no port seen owns one of the LIDs.
        """
        sources = np.array(sorted({self._endpoint(lid) for lid in pairs_from}), dtype=np.int64)
        targets = sorted(set(pairs_to))
        for lid in targets:
            self._endpoint(lid)
        senders = Senders(self.lfts, sources, self.attached)
        tally = RouteTally(len(self.cabling.switches))
        lids = np.array(targets, dtype=np.int64)
        for part in chunks(self.lfts, lids):
            tally.add(part, senders.pairs(part))
        return self._reach(tally, senders, lids)

    def _reach(self, tally: RouteTally, senders: Senders, lids: NDArray[np.int64]) -> Reach:
        """Add the pairs of senders outside all switches, and whole routes as examples."""
        counts = tally.counts.copy()
        strays: list[Route] = []
        for route in self._outside(senders.outside.tolist(), lids):
            counts[CODES[route.disposition], 0] += 1
            if route.disposition is not Disposition.DELIVERED:
                strays.append(route)
        wrong = [
            self._from_switch(senders, *at) for places in tally.wrong.values() for at in places
        ]
        shown = (*wrong, *strays)[:EXAMPLES]
        longest = None if tally.longest is None else self._from_switch(senders, *tally.longest)
        return reach_from(counts, shown, longest)

    def _from_switch(self, senders: Senders, dlid: int, switch: int) -> Route:
        """The route to a LID from the first sender at a switch that does not own it."""
        ends = senders.ends
        owner = int(self.cabling.owner[dlid])
        at = ends[(self.attached[ends] == switch) & (ends != owner)].tolist()
        return self.path(self.cabling.endpoints[min(at, key=self._hosts_first)].id, dlid)

    def _route(self, endpoint: int, dlid: int) -> Route:
        return self.path(self.cabling.endpoints[int(endpoint)].id, dlid)

    def _outside(self, sources: list[int], lids: NDArray[np.int64]) -> Iterable[Route]:
        """Routes from CA ports that are not cabled to a switch, one by one: there are few."""
        for source in sources:
            for dlid in lids.tolist():
                if int(self.cabling.owner[dlid]) != source:
                    yield self._route(source, dlid)

    @cached_property
    def _everyone(self) -> Senders:
        return Senders(self.lfts, self.sources, self.attached)

    @cached_property
    def _census(self) -> Census:
        return census(self.lfts, self._everyone)

    @cached_property
    def reach(self) -> Reach:
        """What became of all ordered CA pairs."""
        return self._reach(self._census.tally, self._everyone, self.cabling.ca_lids)

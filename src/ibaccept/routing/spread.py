"""How many LIDs of a job share a cable, in each direction, at every switch on the route.

Traffic follows the columns of its destination LIDs: a job that reads from storage is spread by the
LIDs of its clients, at the switches between storage and clients; one that writes by the LIDs of the
storage. `spread` counts one direction; call it twice, with sources and destinations exchanged.

Usable cables and groups: see `ibaccept.routing.groups`. The fullest cable of a group is judged
against ceil(N / U) for N LIDs over U usable cables of one rate; of several rates, by bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ibaccept.fabric.model import Guid, PortId
from ibaccept.routing.census import Senders
from ibaccept.routing.groups import Kind, Level, Usable, levels
from ibaccept.routing.paths import Reach, Routes
from ibaccept.routing.tables import DELIVERED, PORTS
from ibaccept.routing.trees import Trees, chunks


@dataclass(frozen=True, slots=True)
class SpreadRow:
    """One cable in one direction.

    Attributes:
        port: output port of a switch.
        name: that port for people, ``SwitchB/25``.
        towards: the port at the other end.
        towards_name: that port for people.
        count: LIDs counted: those of the job, or of all CAs for `fabric_spread`.
        lids_job: destination LIDs of the job whose traffic leaves by this port; not listed (empty)
            in `fabric_spread`.
        lids_all: all CA LIDs the table of the switch sends out of this port.
        group: index into the groups.
        usable: the port offers the minimal hop count for some destination of its group.
        share: LIDs it would carry at most in an even spread of its group; of a cable that is not
            usable, as many as the fullest that is.
    """

    port: PortId
    name: str
    towards: PortId | None
    towards_name: str
    count: int
    lids_job: tuple[int, ...]
    lids_all: int
    group: int
    usable: bool
    share: int = 0


@dataclass(frozen=True, slots=True)
class SpreadGroup:
    """Parallel cables of one switch towards the same destinations.

    Attributes:
        switch: node GUID.
        name: the switch for people.
        towards: names of the nodes at the other ends of its ports.
        ports: port numbers, used or usable.
        lids: LIDs that may use the cables of the group.
        usable: cables that offer the minimal hop count.
        bound: LIDs on the fullest cable at best, judged for this switch alone.
        worst: LIDs on the fullest cable as the tables are.
        least: LIDs on the emptiest usable cable as the tables are.
        used: cables that carry at least one of the LIDs.
        longer: LIDs that leave by a cable which is on no shortest route to them.
        over: LIDs above its share on the cable that has the most above it; 0 where none has. With
            cables of one rate that is ``worst - bound``.
        peers: next switches it chooses among.
    """

    switch: Guid
    name: str
    towards: tuple[str, ...]
    ports: tuple[int, ...]
    lids: int
    usable: int
    bound: int
    worst: int
    least: int
    used: int
    longer: int = 0
    over: int = 0
    peers: int = 1

    @property
    def balance(self) -> int:
        """LIDs on the fullest cable minus LIDs on the emptiest usable one."""
        return self.worst - self.least


@dataclass(frozen=True, slots=True)
class Spread:
    """The spread of one direction of a job, or of the whole fabric.

    Attributes:
        rows: every cable of every group, in the order of switch and port.
        groups: the groups judged.
        reach: what became of the pairs; LIDs on unknown or undelivered routes are counted nowhere.
        problems: why entries are unknown, a sentence each.
        sources: LIDs that send; empty for `fabric_spread`.
        lids: LIDs that receive; empty for `fabric_spread`.
    """

    rows: tuple[SpreadRow, ...]
    groups: tuple[SpreadGroup, ...]
    reach: Reach | None
    problems: tuple[str, ...]
    sources: tuple[int, ...] = ()
    lids: tuple[int, ...] = ()

    @property
    def worst(self) -> int:
        """LIDs on the fullest cable of all."""
        return max((group.worst for group in self.groups), default=0)

    def rows_of(self, group: int) -> tuple[SpreadRow, ...]:
        """The cables of one group."""
        return tuple(row for row in self.rows if row.group == group)


def spread(routes: Routes, sources: Iterable[int], destinations: Iterable[int]) -> Spread:
    """How the destination LIDs of a job spread over the cables its traffic crosses.

    Args:
        routes: the routes of the fabric.
        sources: LIDs that send (storage for reads, clients for writes).
        destinations: LIDs that receive.

    Raises:
        InputError: no port seen owns one of the LIDs.
    """
    sources, destinations = tuple(sources), tuple(destinations)
    reach = routes.reach_of(sources, destinations)
    cabling = routes.cabling
    lids = np.array(sorted(set(destinations)), dtype=np.int64)
    ends = np.unique(cabling.owner[np.array(sources, dtype=np.int64)]).astype(np.int64)
    senders = Senders(routes.lfts, ends, routes.attached)
    at: list[NDArray[np.int64]] = []
    for part in chunks(routes.lfts, lids):
        crossed = _crossed(part, senders.pairs(part) > 0)
        rows, switch = np.nonzero(crossed)
        # The last hop, from the leaf to the host, is the host's own cable: nothing to spread.
        inter = part.next[rows, switch] < len(cabling.switches)
        rows, switch = rows[inter], switch[inter]
        at.append(np.stack([part.lids[rows], switch, part.port[rows, switch]]))
    entries = np.concatenate(at, axis=1) if at else np.empty((3, 0), dtype=np.int64)
    found = _grouped(routes, entries, reach, with_lids=True)
    return replace(found, sources=sources, lids=destinations)


def fabric_spread(routes: Routes) -> Spread:
    """How all CA LIDs spread over the cables of every group, as the tables have them.

    Every known entry of every switch counts that leads a delivered route to another switch,
    whether or not some CA sends over it.
    """
    count = len(routes.cabling.switches)
    at: list[NDArray[np.int64]] = []
    for part in chunks(routes.lfts, routes.cabling.ca_lids):
        rows, switch = np.nonzero((part.end == DELIVERED) & (part.next < count))
        at.append(np.stack([part.lids[rows], switch, part.port[rows, switch]]))
    entries = np.concatenate(at, axis=1) if at else np.empty((3, 0), dtype=np.int64)
    return _grouped(routes, entries, None, with_lids=False)


def _crossed(part: Trees, starts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Switches that delivered routes cross which begin at ``starts``, both (lids, switches)."""
    crossed: NDArray[np.bool_] = starts & (part.end == DELIVERED)
    count = part.end.shape[1]
    rows, switch = np.nonzero(crossed)
    while rows.size:
        switch = part.next[rows, switch].astype(np.int64)
        rows, switch = rows[switch < count], switch[switch < count]
        fresh = ~crossed[rows, switch]
        key = np.unique(rows[fresh] * count + switch[fresh])
        rows, switch = np.divmod(key, count)
        crossed[rows, switch] = True
    return crossed


def _grouped(
    routes: Routes, entries: NDArray[np.int64], reach: Reach | None, *, with_lids: bool
) -> Spread:
    """Rows and groups of (LID, switch, port) entries of shape (3, entries)."""
    cabling = routes.cabling
    order = np.lexsort((entries[0], entries[1]))
    lids, switches, ports = entries[:, order]
    leaf = routes.attached[cabling.owner[lids]]
    usable = Usable(cabling, np.unique(leaf))
    rows: list[SpreadRow] = []
    groups: list[SpreadGroup] = []
    starts = np.flatnonzero(np.diff(switches, prepend=-1)).tolist()
    for start, stop in pairwise([*starts, lids.size]):
        at = _AtSwitch(
            routes,
            int(switches[start]),
            lids[start:stop],
            ports[start:stop],
            leaf[start:stop],
            usable,
        )
        for level in at.levels:
            cables = at.cables(level)
            rows += [at.row(port, len(groups), level, with_lids=with_lids) for port in cables]
            groups.append(at.group(level, cables))
    return Spread(tuple(rows), tuple(groups), reach, routes.problems)


class _AtSwitch:
    """The LIDs counted at one switch."""

    def __init__(
        self,
        routes: Routes,
        switch: int,
        lids: NDArray[np.int64],
        ports: NDArray[np.int64],
        leaf: NDArray[np.int64],
        usable: Usable,
    ) -> None:
        self._routes = routes
        self._switch = switch
        self._lids, self._ports = lids, ports
        kind, sets = usable.kinds(switch, leaf)
        counts = np.bincount(kind, minlength=len(sets)).tolist()
        demand = {sets[index]: n for index, n in enumerate(counts) if n}
        offered = sorted({port for kind in demand for port in kind})
        weights = routes.cabling.weights([switch] * len(offered), offered)
        self.levels = levels(demand, dict(zip(offered, weights, strict=True)))
        self._load = np.bincount(ports, minlength=PORTS)
        known = routes.lfts.known[:, switch]
        ca_lids = routes.cabling.ca_lids
        column = routes.lfts.out[ca_lids, switch][known[ca_lids]]
        self._total = np.bincount(column, minlength=PORTS)
        self._astray = self._strays(kind, sets)
        shortest = np.zeros((len(sets), PORTS), dtype=np.bool_)
        for index, some in enumerate(sets):
            shortest[index, list(some)] = True
        self._longer = np.bincount(kind[~shortest[kind, ports]], minlength=len(sets))
        self._index = {some: index for index, some in enumerate(sets)}

    def _strays(self, kind: NDArray[np.int64], sets: list[Kind]) -> dict[int, int]:
        """Level of used ports that are usable for none: the one of the first LID that uses it."""
        placed = {port for level in self.levels for port in level.ports}
        level_of = {kind: index for index, level in enumerate(self.levels) for kind in level.kinds}
        strays: dict[int, int] = {}
        for port in np.flatnonzero(self._load).tolist():
            if port not in placed:
                first = int(np.argmax(self._ports == port))
                strays[port] = level_of[sets[int(kind[first])]]
        return strays

    def cables(self, level: Level) -> list[int]:
        """Ports of a group, usable or used."""
        index = self.levels.index(level)
        strays = [port for port, where in self._astray.items() if where == index]
        return sorted([*level.ports, *strays])

    def row(self, port: int, group: int, level: Level, *, with_lids: bool) -> SpreadRow:
        routes = self._routes
        here = PortId(routes.cabling.switches[self._switch], port)
        there = routes.cabling.neighbour(self._switch, port)
        lids = self._lids[self._ports == port].tolist() if with_lids else ()
        return SpreadRow(
            port=here,
            name=routes.fabric.port_name(here),
            towards=there,
            towards_name="" if there is None else routes.fabric.port_name(there),
            count=int(self._load[port]),
            lids_job=tuple(lids),
            lids_all=int(self._total[port]),
            group=group,
            usable=port in level.ports,
            share=_share(level, port),
        )

    def group(self, level: Level, cables: list[int]) -> SpreadGroup:
        cabling = self._routes.cabling
        guid = cabling.switches[self._switch]
        far = {int(cabling.target[self._switch, port]) for port in cables}
        load = self._load[cables]
        return SpreadGroup(
            switch=guid,
            name=cabling.node_name(guid),
            towards=tuple(sorted(cabling.node_name(cabling.switches[peer]) for peer in far)),
            ports=tuple(cables),
            lids=level.lids,
            usable=len(level.ports),
            bound=level.bound,
            worst=int(load.max()),
            least=int(self._load[list(level.ports)].min()),
            used=int((load > 0).sum()),
            longer=int(sum(self._longer[self._index[some]] for some in level.kinds)),
            over=max(0, *(int(self._load[port]) - _share(level, port) for port in cables)),
            peers=len(far),
        )


def _share(level: Level, port: int) -> int:
    """LIDs a cable of a group would carry at most in an even spread."""
    return dict(zip(level.ports, level.shares, strict=True)).get(port, level.bound)

"""Which cables a job's traffic crosses, which port sends which way, and how to read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

import numpy as np

from ibaccept.errors import InputError
from ibaccept.fabric.model import Fabric, Guid, Lid, Link, PortId
from ibaccept.load.pace import Direction
from ibaccept.observe.lids import JobLids, lids_of
from ibaccept.observe.snapshot import Snapshot
from ibaccept.parse.ibstat import IbStat
from ibaccept.routing.comparable import comparable
from ibaccept.routing.crossings import crossings
from ibaccept.routing.paths import Routes
from ibaccept.routing.tables import DELIVERED
from ibaccept.site.inventory import InventoryHost
from ibaccept.verdict.absence import NotSeen, NotSeenError

Kind = Literal["isl", "client", "storage"]


@dataclass(frozen=True, slots=True)
class CrossedCable:
    """A cable of the job.

    Attributes:
        link: its ends.
        to_clients: end that sends toward the clients.
        to_storage: the other end.
        reads: pairs whose reads are sent by each end: by ``to_clients``, by ``to_storage``. Where
            clients and storage are on both sides of a cable, both are.
        writes: the same of their writes.
        host: inventory name, for a host's cable.
    """

    link: Link
    kind: Kind
    to_clients: PortId
    to_storage: PortId
    reads: tuple[int, int] = (0, 0)
    writes: tuple[int, int] = (0, 0)
    host: str | None = None

    def flows(self, direction: Direction) -> tuple[int, int]:
        """Pairs by the end that sends their data."""
        return self.reads if direction == "read" else self.writes


@dataclass(frozen=True)
class JobCables:
    """All cables of the job.

    Attributes:
        cables: ISLs first, then those of the hosts.
        problems: what is not known.
        lacking: why a side's cables are not all there, ``client`` and ``storage``.
    """

    cables: tuple[CrossedCable, ...]
    problems: tuple[NotSeen, ...] = ()
    lacking: Mapping[str, str] = field(default_factory=dict)


def job_cables(
    snapshot: Snapshot,
    clients: Sequence[InventoryHost],
    storage: Sequence[InventoryHost],
) -> JobCables:
    """The cables that traffic between clients and storage crosses, and those comparable to them.

    Comparable are those parallel to them, and others among which routing could have chosen.

    Raises:
        NotSeenError: topology, tables or the LIDs of a host were not seen.
    """
    fabric, routes = snapshot.fabric, snapshot.routes
    stats = {name: stat for name, stat in snapshot.hosts.items() if isinstance(stat, IbStat)}
    try:
        sides = (lids_of(fabric, clients, stats), lids_of(fabric, storage, stats))
    except InputError as error:
        raise NotSeenError(
            NotSeen("the cables of the job", str(error), "correct the inventory, or look again")
        ) from error
    toward_clients, lost_reads = _crossed(routes, sides[1], sides[0])
    toward_storage, lost_writes = _crossed(routes, sides[0], sides[1])
    crossed = [
        _directed(link, toward_clients, toward_storage)
        for link in _links(fabric, [*toward_clients, *toward_storage])
        if fabric.is_isl(link)
    ]
    idle = (*_idle(fabric, crossed), *_not_chosen(routes, *sides))
    every = {cable.link.key: cable for cable in (*reversed(idle), *crossed)}
    isls = [every[key] for key in sorted(every)]
    problems = [
        NotSeen(
            f"the cables of {lost} of {sum(lost_and)} pairs",
            f"the tables read do not deliver them ({what})",
            "look at the routes entries of the report first",
        )
        for what, lost, lost_and in (
            ("toward clients", lost_reads[0], lost_reads),
            ("toward storage", lost_writes[0], lost_writes),
        )
        if lost
    ]
    hosts: list[CrossedCable] = []
    lacking: dict[str, str] = {}
    for kind, side in (("client", sides[0]), ("storage", sides[1])):
        for name, port in [(known.host, port) for known in side.hosts for port in known.ports]:
            cable = _host_cable(fabric, name, port, kind, problems)
            if cable is not None:
                hosts.append(cable)
            else:
                lacking.setdefault(kind, f"{problems[-1].what}: {problems[-1].reason}")
    return JobCables((*isls, *hosts), tuple(problems), lacking)


def _crossed(
    routes: Routes, sources: JobLids, destinations: JobLids
) -> tuple[Counter[PortId], tuple[int, int]]:
    """Pairs by switch port they leave by; how many are lost, and delivered."""
    owner = routes.cabling.owner
    starts = sorted({int(owner[lid]) for lid in sources.lids})
    pairs = [(s, d) for s in starts for d in destinations.lids if int(owner[d]) != s]
    found = crossings(
        routes,
        np.array([s for s, _ in pairs], dtype=np.int64),
        np.array([d for _, d in pairs], dtype=np.int64),
    )
    code, count = np.unique(found.switch * 256 + found.port, return_counts=True)
    switches = routes.cabling.switches
    ports = {
        PortId(switches[number // 256], number % 256): n
        for number, n in zip(code.tolist(), count.tolist(), strict=True)
    }
    delivered = int((found.end == DELIVERED).sum())
    return Counter(ports), (len(pairs) - delivered, delivered)


def _links(fabric: Fabric, ports: Iterable[PortId]) -> Iterator[Link]:
    links = {
        fabric.link_at[port].key: fabric.link_at[port] for port in ports if port in fabric.link_at
    }
    return (links[key] for key in sorted(links))


def _directed(link: Link, reads: Counter[PortId], writes: Counter[PortId]) -> CrossedCable:
    a, b = link.a.id, link.b.id
    a_reads = reads[a] + writes[b] >= reads[b] + writes[a]
    sends, returns = (a, b) if a_reads else (b, a)
    return CrossedCable(
        link,
        "isl",
        sends,
        returns,
        (reads[sends], reads[returns]),
        (writes[sends], writes[returns]),
    )


def _idle(fabric: Fabric, crossed: Sequence[CrossedCable]) -> Iterator[CrossedCable]:
    """Cables between the same two switches that the tables give the job no use of.

    They are read like the others: that they are idle is to be seen, not to be believed, and where
    switches choose their cables they are not.
    """
    beside = {frozenset(_guids(cable.link)): cable for cable in crossed}
    known = {cable.link.key for cable in crossed}
    for link in fabric.links:
        like = beside.get(frozenset(_guids(link)))
        if like is None or link.key in known:
            continue
        a, b = link.a.id, link.b.id
        sends, returns = (a, b) if a.guid == like.to_clients.guid else (b, a)
        yield CrossedCable(link, "isl", sends, returns)


def _not_chosen(routes: Routes, clients: JobLids, storage: JobLids) -> Iterator[CrossedCable]:
    """Cables among which routing could have chosen, between whatever switches."""
    for to_clients, sources, destinations in ((True, storage, clients), (False, clients, storage)):
        for port in chain.from_iterable(comparable(routes, sources.lids, destinations.lids)):
            link = routes.fabric.link_at[port]
            far = link.b.id if link.a.id == port else link.a.id
            sends, returns = (port, far) if to_clients else (far, port)
            yield CrossedCable(link, "isl", sends, returns)


def _guids(link: Link) -> tuple[Guid, Guid]:
    return link.a.id.guid, link.b.id.guid


def _host_cable(
    fabric: Fabric,
    host: str,
    port: PortId,
    kind: str,
    problems: list[NotSeen],
) -> CrossedCable | None:
    link = fabric.link_at.get(port)
    if link is None:
        problems.append(
            NotSeen(
                f"the cable of {host}",
                f"{fabric.port_name(port)} shows no other end",
                "look at it with iblinkinfo",
            )
        )
        return None
    there = link.b.id if link.a.id == port else link.a.id
    if kind == "client":
        return CrossedCable(link, "client", there, port, host=host)
    return CrossedCable(link, "storage", port, there, host=host)


# -- how they are read ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """Ports of one node, which one process of perfquery reads.

    Attributes:
        lid: of the node.
        ports: by number on the node.
        is_switch: every port of it is read at once, and those that are not wanted are left out.
    """

    lid: Lid
    ports: Mapping[int, PortId]
    is_switch: bool = True


def queries(fabric: Fabric, cables: Iterable[CrossedCable]) -> tuple[Query, ...]:
    """What to read: both ends of an ISL, the switch's end of a host's cable (or the only end).

    One process a switch, whatever the number of its ports.
    """
    wanted: dict[PortId, set[int]] = {}
    for cable in cables:
        ends = [end.id for end in cable.link.ends]
        switch_ends = [end for end in ends if fabric.node_of(end).is_switch]
        for end in switch_ends or ends[:1]:
            owner = fabric.nodes[end.guid]
            wanted.setdefault(PortId(owner.guid, 0 if owner.is_switch else end.port), set()).add(
                end.port
            )
    found = []
    for key in sorted(wanted):
        node = fabric.nodes[key.guid]
        port = node.ports.get(key.port)
        lid = node.lid if node.is_switch else (None if port is None else port.lid)
        if lid is None:
            continue
        ports = {number: PortId(key.guid, number) for number in sorted(wanted[key])}
        found.append(Query(lid, ports, node.is_switch))
    return tuple(found)

"""What load runs, tables and links together say of a job: forecast, fair shares, facts, tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from ibaccept import diagnosis
from ibaccept.errors import IbacceptError
from ibaccept.expect.counters import ErrorCounters
from ibaccept.expect.look import growth_of
from ibaccept.expect.sides import JobSides
from ibaccept.forecast import AdmissibleInputs, Ceiling, Forecast, forecast
from ibaccept.lids import HostLids
from ibaccept.load.result import (
    CableRate,
    CableWatch,
    DirectedRate,
    FilesystemRun,
    LoadRuns,
    Pair,
    PairRate,
    RateState,
    RdmaRun,
)
from ibaccept.maxmin import Uses, max_min
from ibaccept.model import Link, PortId, Rate
from ibaccept.routing.spread import spread
from ibaccept.snapshot import NotSeen, NotSeenError, Snapshot, Window
from ibaccept.verdict import Different, Unseen

T = TypeVar("T")

WAITS = 2.0
"""A port waits more than the others of its switch when its PortXmitWait grows so many times as
fast as the next: the tick is the device's own, only the order of one switch's ports means
anything."""


@dataclass(frozen=True)
class Measured:
    """One job under load.

    Attributes:
        window: counter sweeps before and after all load runs; None where not made.
        adaptive: what the site says of adaptive routing.
    """

    snapshot: Snapshot
    job: JobSides
    loads: LoadRuns
    window: Window | NotSeen | None = None
    adaptive: bool | None = None

    # -- runs --------------------------------------------------------------------------------

    def filesystem(self, direction: str) -> FilesystemRun:
        """The write or the read run.

        Raises:
            NotSeenError: it was not made, or not seen.
        """
        run = self.loads.filesystem_read if direction == "read" else self.loads.filesystem_write
        return _run(run, f"the file system's {direction} run")

    def rdma_read(self) -> tuple[RdmaRun, ...]:
        """The RDMA rounds in the read direction (storage sends).

        Raises:
            NotSeenError: they were not made, or not seen.
        """
        rounds = _run(self.loads.rdma_read, "the RDMA run in the read direction")
        if not rounds:
            raise NotSeenError(
                NotSeen("the RDMA run in the read direction", "it was not asked for")
            )
        return rounds

    def watch(self, run: str) -> CableWatch:
        """The cables during a run.

        Raises:
            NotSeenError: they were not watched.
        """
        found = self.loads.watches.get(run)
        if found is None:
            raise NotSeenError(NotSeen(f"the cables during {run}", "that run was not made"))
        return _run(found, f"the cables during {run}")

    # -- forecast ----------------------------------------------------------------------------

    @cached_property
    def ceilings(self) -> Mapping[Rate, Ceiling]:
        """Payload of one idle link by rate; derived where the load runs have none."""
        found = {rate: link.ceiling for rate, link in self.loads.ceilings.items()}
        for link in self.snapshot.fabric.links:
            if link.rate is not None:
                found.setdefault(link.rate, Ceiling.derive(link.rate))
        return found

    def forecast(self) -> Forecast:
        """Reads, from routes, ceilings and the write run only.

        Raises:
            NotSeenError: a part of that is not there.
            InputError: a pair that the tables do not deliver.
        """
        write = self.filesystem("write")
        if write.unseen:
            raise NotSeenError(write.unseen[0])
        inputs = AdmissibleInputs(
            routes=self.snapshot.routes,
            clients=first_lids(self.job.clients.hosts),
            servers=first_lids(self.job.storage.hosts),
            ceilings=self.ceilings,
            client_write={rate.client: rate.rate for rate in write.rates},
        )
        return forecast(inputs, "read")

    def fair_pairs(self, rounds: Iterable[RdmaRun]) -> dict[PairRate, float]:
        """Fair share of the cables of each measured pair, GiB/s, all pairs of a round at once.

        A client is not asked for more than it moved in the write run, and no pair for more than
        the best one of its round moved: what hosts can do by themselves is no matter of the
        cables.

        Raises:
            NotSeenError: the tables were not seen.
        """
        write = self.loads.filesystem_write
        wrote = {
            rate.client: rate.rate.gib
            for rate in (write.rates if isinstance(write, FilesystemRun) else ())
        }
        fair: dict[PairRate, float] = {}
        for round_ in rounds:
            ways = [self._way(rate.pair) for rate in round_.rates]
            ports = {
                port: n for n, port in enumerate(dict.fromkeys(p for way in ways for p in way))
            }
            uses = [(flow, ports[port]) for flow, way in enumerate(ways) for port in way]
            if not uses:
                continue
            flow, resource = (np.array(part, dtype=np.int64) for part in zip(*uses, strict=True))
            capacity = np.array([self._ceiling_gib(port) for port in ports])
            best = max(rate.rate.gib for rate in round_.rates)
            caps = np.array([min(best, wrote.get(r.pair.client, best)) for r in round_.rates])
            rates = max_min(Uses(flow, resource), capacity, caps)
            fair.update(zip(round_.rates, rates.rate.tolist(), strict=True))
        return fair

    def _ceiling_gib(self, port: PortId) -> float:
        link = self.snapshot.fabric.link_at[port]
        rate = link.a.rate or link.b.rate
        return self.ceilings[rate].payload.gib if rate is not None else 0.0

    # -- cables ------------------------------------------------------------------------------

    @cached_property
    def read_lids(self) -> Mapping[PortId, int]:
        """LIDs of the clients by the switch port they leave by, toward the clients."""
        found = spread(self.snapshot.routes, self.job.storage.lids, self.job.clients.lids)
        return {row.port: row.count for row in found.rows}

    @cached_property
    def uneven(self) -> bool | None:
        """Whether the tables pile the clients' LIDs up; None where the tables do not say."""
        try:
            found = spread(self.snapshot.routes, self.job.storage.lids, self.job.clients.lids)
        except IbacceptError:
            return None
        if found.reach is None or found.reach.delivered < found.reach.pairs:
            return None
        return any(group.worst > group.bound for group in found.groups)

    def cables(self) -> tuple[diagnosis.Cable, ...]:
        """The inter-switch cables of the job, with their shares in each run."""
        runs = {name: watch for name, watch in self.loads.watches.items() if _is_seen(watch)}
        shares: dict[tuple[PortId, PortId], dict[str, float | None]] = defaultdict(dict)
        seen: dict[tuple[PortId, PortId], CableRate] = {}
        for key, run, toward in (
            ("write", "filesystem-write", "toward_storage"),
            ("read", "filesystem-read", "toward_clients"),
            ("rdma", "rdma-read", "toward_clients"),
        ):
            watch = runs.get(run)
            if not isinstance(watch, CableWatch):
                continue
            for cable in watch.cables:
                if cable.kind == "isl":
                    seen[cable.ports] = cable
                    shares[cable.ports][key] = _share(getattr(cable, toward))
        fabric = self.snapshot.fabric
        return tuple(
            diagnosis.Cable(
                cable.name,
                " - ".join(sorted(fabric.node_of(port).name.strip() for port in cable.ports)),
                max(self.read_lids.get(port, 0) for port in cable.ports),
                **shares[key],
            )
            for key, cable in sorted(seen.items())
        )

    def slow_links(self) -> tuple[str, ...]:
        """Cables of the job slower than those beside them (same two switches, or same side)."""
        beside: dict[object, list[Link]] = defaultdict(list)
        fabric = self.snapshot.fabric
        for cable in self._watched():
            link = fabric.link_at[cable.ports[0]]
            key: object = cable.kind
            if cable.kind == "isl":
                key = tuple(sorted(port.guid for port in cable.ports))
            beside[key].append(link)
        slow = []
        for links in beside.values():
            known = [link.rate for link in links if link.rate is not None]
            best = max((rate.gbps for rate in known), default=0.0)
            slow += [
                f"{fabric.link_name(link)} ({link.rate})"
                for link in links
                if link.rate is not None and link.rate.gbps < best
            ]
        return tuple(slow)

    def _watched(self) -> list[CableRate]:
        found: dict[tuple[PortId, PortId], CableRate] = {}
        for watch in self.loads.watches.values():
            if isinstance(watch, CableWatch):
                found.update({cable.ports: cable for cable in watch.cables})
        return list(found.values())

    def error_links(self) -> tuple[str, ...] | None:
        """Cables of the job whose error counters grew under load; None where not compared."""
        if not isinstance(self.window, Window):
            return None
        growth = growth_of(self.snapshot, self.window, _ANY_GROWTH)
        links = [self.snapshot.fabric.link_at[cable.ports[0]] for cable in self._watched()]
        judged = [(link, growth(link)) for link in links]
        if any(isinstance(value, Unseen) for _, value in judged):
            return None
        return tuple(value.found for _, value in judged if isinstance(value, Different))

    # -- facts -------------------------------------------------------------------------------

    def facts(self) -> diagnosis.Facts:
        """Everything the look-alikes are told apart by."""
        permitted = None
        predicted = self.try_forecast()
        if predicted is not None:
            permitted = predicted.permitted.gib
        senders, receivers = self._slow_hosts()
        balances = {
            name: watch.balance
            for name, watch in self.loads.watches.items()
            if isinstance(watch, CableWatch) and not isinstance(watch.balance, NotSeen)
        }
        return diagnosis.Facts(
            fs_write=_total(self.loads.filesystem_write),
            fs_read=_total(self.loads.filesystem_read),
            rdma_read=self._rdma_total(),
            cables=self.cables(),
            slow_links=self.slow_links() if self.loads.watches else None,
            error_links=self.error_links(),
            slow_senders=senders,
            slow_receivers=receivers,
            waiting=self._waiting(),
            explained={name: balance.explained for name, balance in balances.items()},
            differences={name: balance.difference for name, balance in balances.items()},
            slow_readers=self._slow_readers(predicted),
            readers=len(self.job.clients.hosts),
            adaptive=self.adaptive,
            uneven=self.uneven,
            permitted_gib=permitted,
        )

    def try_forecast(self) -> Forecast | None:
        """The forecast, None where a part of it is not there."""
        try:
            return self.forecast()
        except IbacceptError:
            return None

    def _rdma_total(self) -> float | None:
        rounds = self.loads.rdma_read
        if not isinstance(rounds, tuple) or not rounds:
            return None
        totals = [round_.total for round_ in rounds]
        known = [total.gib for total in totals if total is not None]
        return sum(known) / len(known) if len(known) == len(totals) else None

    def _slow_hosts(
        self,
    ) -> tuple[tuple[diagnosis.SlowHost, ...] | None, tuple[diagnosis.SlowHost, ...] | None]:
        """Senders and receivers all of whose pairs are slower than their fair share."""
        rounds = self.loads.rdma_read
        if not isinstance(rounds, tuple) or not rounds:
            return None, None
        try:
            fair = self.fair_pairs(rounds)
        except IbacceptError:
            return None, None
        crowded = self._crowded(rounds)
        by_sender: dict[str, list[tuple[float, float]]] = defaultdict(list)
        by_receiver: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for rate, share in fair.items():
            if crowded.isdisjoint(self._way(rate.pair)):
                by_sender[rate.pair.storage].append((rate.rate.gib, share))
                by_receiver[rate.pair.client].append((rate.rate.gib, share))
        senders, receivers = _slow(by_sender), _slow(by_receiver)
        # A slow pair has one slow end: the one with other pairs that are slow as well, or the
        # client whose switch port waits for it. What a sender cannot send waits nowhere.
        waiting = set(self._waiting())
        slow = {host.host for host in (*senders, *receivers)}
        sent = {
            rate.pair.storage
            for rate in fair
            if {rate.pair.storage, rate.pair.client} <= slow
            and (len(by_sender[rate.pair.storage]) > 1 or rate.pair.client not in waiting)
        }
        of_sender = {rate.pair.client for rate in fair if rate.pair.storage in sent}
        of_receiver = {
            rate.pair.storage
            for rate in fair
            if rate.pair.client in slow and rate.pair.client not in of_sender
        }
        return (
            tuple(host for host in senders if host.host not in of_receiver - sent),
            tuple(host for host in receivers if host.host not in of_sender),
        )

    def _way(self, pair: Pair) -> tuple[PortId, ...]:
        """The ports that send on the way of a pair's data."""
        ends = (self._servers[pair.storage], self._clients[pair.client])
        source, target = ends if pair.sender == pair.storage else ends[::-1]
        return self.snapshot.routes.path(source, target).ports

    @cached_property
    def _clients(self) -> Mapping[str, int]:
        return first_lids(self.job.clients.hosts)

    @cached_property
    def _servers(self) -> Mapping[str, int]:
        return first_lids(self.job.storage.hosts)

    def _crowded(self, rounds: Iterable[RdmaRun]) -> set[PortId]:
        """Ports that were full in an RDMA run, and not with what the pairs of the job sent.

        A pair that crosses one is slow for the sake of others, whatever its hosts could do.
        """
        found: set[PortId] = set()
        for round_ in rounds:
            name = "rdma-read" if round_.round == 0 else f"rdma-read-{round_.round + 1}"
            watch = self.loads.watches.get(name)
            if not isinstance(watch, CableWatch):
                continue
            own: dict[PortId, float] = defaultdict(float)
            for rate in round_.rates:
                for port in self._way(rate.pair):
                    own[port] += rate.rate.gib
            for cable in watch.cables:
                for way in (cable.toward_clients, cable.toward_storage):
                    share = _share(way)
                    if way.rate is None or share is None or share < diagnosis.NEAR:
                        continue
                    if way.rate.gib > own[way.sender] * (1 + diagnosis.AGREE):
                        found.add(way.sender)
        return found

    def _waiting(self) -> tuple[str, ...]:
        """Hosts whose facing switch port waits most of its switch, in any run."""
        found: dict[str, None] = {}
        for watch in self.loads.watches.values():
            if not isinstance(watch, CableWatch):
                continue
            for cable in watch.cables:
                if cable.host is None:
                    continue
                toward = cable.toward_clients if cable.kind == "client" else cable.toward_storage
                wait = toward.wait
                if wait is None or wait.state is not RateState.OK:
                    continue
                if wait.rank == 1 and (wait.per_second or 0.0) > 0:
                    found[cable.host] = None
        return tuple(found)

    def _slow_readers(self, predicted: Forecast | None) -> tuple[str, ...] | None:
        write, read = self.loads.filesystem_write, self.loads.filesystem_read
        if not isinstance(write, FilesystemRun) or not isinstance(read, FilesystemRun):
            return None
        if predicted is None or write.unseen or read.unseen:
            return None
        wrote = {rate.client: rate.rate.gib for rate in write.rates}
        return tuple(
            rate.client
            for rate in read.rates
            if rate.rate.gib < (1 - diagnosis.AGREE) * wrote.get(rate.client, 0.0)
            and rate.rate.gib < (1 - diagnosis.AGREE) * predicted.clients[rate.client].gib
        )


_ANY_GROWTH = ErrorCounters.model_validate(
    {"id": "under-load", "kind": "error-counters", "links": "all", "window": "load"}
)


def _run(run: T | NotSeen | None, what: str) -> T:
    if run is None:
        raise NotSeenError(NotSeen(what, "it was not asked for in workloads:"))
    if isinstance(run, NotSeen):
        raise NotSeenError(run)
    return run


def _is_seen(watch: object) -> bool:
    return isinstance(watch, CableWatch)


def _total(run: FilesystemRun | NotSeen | None) -> float | None:
    if not isinstance(run, FilesystemRun) or run.total is None:
        return None
    return run.total.gib


def _share(rate: DirectedRate) -> float | None:
    return None if rate.percent is None else rate.percent / 100


def first_lids(hosts: Iterable[HostLids]) -> dict[str, int]:
    """One LID of each host: the one traffic goes to."""
    return {host.host: host.lids[0] for host in hosts}


def _slow(by_host: Mapping[str, list[tuple[float, float]]]) -> tuple[diagnosis.SlowHost, ...]:
    return tuple(
        diagnosis.SlowHost(host, sum(f for f, _ in pairs), sum(s for _, s in pairs))
        for host, pairs in sorted(by_host.items())
        if all(found < diagnosis.SLOW * share for found, share in pairs)
    )

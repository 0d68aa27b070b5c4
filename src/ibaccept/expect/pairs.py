"""The RDMA pairs of a job: what would be fair of each, and which hosts are slow in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ibaccept import diagnosis
from ibaccept.errors import IbacceptError
from ibaccept.forecast import Ceiling
from ibaccept.lids import HostLids
from ibaccept.load.result import (
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
from ibaccept.model import PortId, Rate
from ibaccept.snapshot import Snapshot


@dataclass(frozen=True)
class RdmaPairs:
    """RDMA pairs on the cables of the tables.

    Attributes:
        ceilings: of one idle link in one direction.
        clients: LID by host.
        servers: as before.
    """

    snapshot: Snapshot
    loads: LoadRuns
    ceilings: Mapping[Rate, Ceiling]
    clients: Mapping[str, int]
    servers: Mapping[str, int]

    def fair(self, rounds: Iterable[RdmaRun]) -> dict[PairRate, float]:
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

    def slow_hosts(
        self,
    ) -> tuple[tuple[diagnosis.SlowHost, ...] | None, tuple[diagnosis.SlowHost, ...] | None]:
        """Senders and receivers all of whose pairs are slower than their fair share."""
        rounds = self.loads.rdma_read
        if not isinstance(rounds, tuple) or not rounds:
            return None, None
        try:
            fair = self.fair(rounds)
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
        waiting = set(self.waiting())
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
        ends = (self.servers[pair.storage], self.clients[pair.client])
        source, target = ends if pair.sender == pair.storage else ends[::-1]
        return self.snapshot.routes.path(source, target).ports

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
                    share = share_of(way)
                    if way.rate is None or share is None or share < diagnosis.NEAR:
                        continue
                    if way.rate.gib > own[way.sender] * (1 + diagnosis.AGREE):
                        found.add(way.sender)
        return found

    def waiting(self) -> tuple[str, ...]:
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


def share_of(rate: DirectedRate) -> float | None:
    """Share of the ceiling that one direction of a cable carried, None where not known."""
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

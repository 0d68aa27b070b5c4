"""What load runs, tables and links together say of a job: forecast, fair shares, facts, tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from ibaccept import diagnosis
from ibaccept.errors import IbacceptError
from ibaccept.expect.counters import ErrorCounters
from ibaccept.expect.loaded import under_load
from ibaccept.expect.look import growth_of
from ibaccept.expect.pairs import RdmaPairs, first_lids, share_of
from ibaccept.expect.sides import JobSides
from ibaccept.forecast import AdmissibleInputs, Ceiling, Forecast, forecast
from ibaccept.load.result import (
    CableRate,
    CableWatch,
    FilesystemRun,
    LoadRuns,
    RdmaRun,
)
from ibaccept.model import Link, PortId, Rate
from ibaccept.routing.spread import spread
from ibaccept.snapshot import NotSeen, NotSeenError, Snapshot, Window
from ibaccept.verdict import Different, Unseen

T = TypeVar("T")


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

    @cached_property
    def pairs(self) -> RdmaPairs:
        """The RDMA pairs, and which hosts are slow in them."""
        return RdmaPairs(
            self.snapshot,
            self.loads,
            self.ceilings,
            first_lids(self.job.clients.hosts),
            first_lids(self.job.storage.hosts),
        )

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
                    shares[cable.ports][key] = share_of(getattr(cable, toward))
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
        growth = under_load(self.loads, growth_of(self.snapshot, self.window, _ANY_GROWTH))
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
        senders, receivers = self.pairs.slow_hosts()
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
            waiting=self.pairs.waiting(),
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

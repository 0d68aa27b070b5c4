"""What load runs, tables and links together say of a job: forecast, fair shares, facts, tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from ibaccept.checks.diagnosis.facts import AGREE, Facts
from ibaccept.checks.throughput.pairs import RdmaPairs, first_lids, port_lids, require_one_port
from ibaccept.checks.throughput.watched import WatchedCables
from ibaccept.errors import IbacceptError
from ibaccept.fabric.model import PortId, Rate
from ibaccept.load.result import CableWatch, FilesystemRun, LoadRuns, RdmaRun
from ibaccept.observe.lids import JobSides
from ibaccept.observe.snapshot import Snapshot, Window
from ibaccept.routing.comparable import comparable
from ibaccept.routing.even import even_spread
from ibaccept.routing.forecast import AdmissibleInputs, Ceiling, RateForecast, forecast
from ibaccept.routing.spread import Spread, spread
from ibaccept.verdict.absence import NotSeen, NotSeenError

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

    def forecast(self) -> RateForecast:
        """Reads, from routes, ceilings and the write run only.

        Raises:
            NotSeenError: a part of that is not there, or a host has several ports.
            InputError: a pair that the tables do not deliver.
        """
        for side in (self.job.clients, self.job.storage):
            require_one_port(side.hosts, self.snapshot.fabric)
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
            port_lids(self.job.clients.hosts),
            port_lids(self.job.storage.hosts),
        )

    # -- cables ------------------------------------------------------------------------------

    def comparable(self, direction: str) -> tuple[tuple[PortId, ...], ...]:
        """Ports that send into cables among which routing could choose, by group.

        Raises:
            NotSeenError: topology or tables were not seen.
        """
        return self._comparable_reads if direction == "read" else self._comparable_writes

    @cached_property
    def _comparable_reads(self) -> tuple[tuple[PortId, ...], ...]:
        return comparable(self.snapshot.routes, self.job.storage.lids, self.job.clients.lids)

    @cached_property
    def _comparable_writes(self) -> tuple[tuple[PortId, ...], ...]:
        return comparable(self.snapshot.routes, self.job.clients.lids, self.job.storage.lids)

    @cached_property
    def read_lids(self) -> Mapping[PortId, int]:
        """LIDs of the clients by the switch port they leave by, toward the clients."""
        return {row.port: row.count for row in self._spread.rows}

    @cached_property
    def _spread(self) -> Spread:
        return spread(self.snapshot.routes, self.job.storage.lids, self.job.clients.lids)

    @cached_property
    def uneven(self) -> bool | None:
        """Whether the tables pile the clients' LIDs up; None where the tables do not say."""
        try:
            found = self._spread
        except IbacceptError:
            return None
        if found.reach is None or not 0 < found.reach.pairs <= found.reach.delivered:
            return None
        stages = even_spread(self.snapshot.routes, found).stages
        return any(group.over for group in found.groups) or any(
            stage.worst > stage.share for stage in stages
        )

    @cached_property
    def cables(self) -> WatchedCables:
        """What is known of the cables that were watched."""
        try:
            groups = self.comparable("read")
        except IbacceptError:
            groups = ()
        return WatchedCables(self.snapshot, self.loads, self.window, groups)

    # -- facts -------------------------------------------------------------------------------

    def facts(self) -> Facts:
        """Everything the look-alikes are told apart by."""
        permitted = None
        predicted = self.try_forecast()
        if predicted is not None:
            permitted = predicted.permitted.gib
        slow = self.pairs.slow_hosts()
        readers = self._readers(predicted)
        balances = {
            name: balance
            for name, balance in self.loads.balances.items()
            if not isinstance(balance, NotSeen)
        }
        return Facts(
            fs_write=_total(self.loads.filesystem_write),
            fs_read=_total(self.loads.filesystem_read),
            rdma_read=self._rdma_total(),
            cables=self.cables.between_switches(lambda port: self.read_lids.get(port, 0)),
            hosts=self.cables.of_hosts(),
            slow_links=self.cables.slow_links(),
            lone_links=self.cables.lone_links(),
            error_links=self.cables.error_links(),
            slow_senders=slow.senders,
            slow_receivers=slow.receivers,
            unjudged=slow.unjudged,
            waiting=self.pairs.waiting(),
            explained={name: balance.explained for name, balance in balances.items()},
            differences={name: balance.difference for name, balance in balances.items()},
            excess=self.cables.excess(),
            slow_readers=None if readers is None else readers[0],
            readers=0 if readers is None else readers[1],
            adaptive=self.adaptive,
            uneven=self.uneven,
            permitted_gib=permitted,
        )

    def try_forecast(self) -> RateForecast | None:
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

    def _readers(self, predicted: RateForecast | None) -> tuple[tuple[str, ...], int] | None:
        """Of the clients that no full cable is on the way to: the slow ones, and how many in all.

        None where a client was not measured, or where none is slow and of one the way is unknown.
        """
        write, read = self.loads.filesystem_write, self.loads.filesystem_read
        if not isinstance(write, FilesystemRun) or not isinstance(read, FilesystemRun):
            return None
        if predicted is None or write.unseen or read.unseen:
            return None
        wrote = {rate.client: rate.rate.gib for rate in write.rates}
        gib = {rate.client: rate.rate.gib for rate in read.rates}
        if not gib.keys() == wrote.keys() == predicted.clients.keys():
            return None
        has_room = self.cables.have_room(
            "filesystem-read",
            [host.ports[0] for host in self.job.storage.hosts],
            first_lids(self.job.clients.hosts),
        )
        free = [client for client, room in has_room.items() if room]
        slow = tuple(
            client
            for client in free
            if gib[client] < (1 - AGREE) * min(wrote[client], predicted.clients[client].gib)
        )
        return None if not slow and None in has_room.values() else (slow, len(free))


def _run(run: T | NotSeen | None, what: str) -> T:
    if run is None:
        raise NotSeenError(NotSeen(what, "it was not asked for in workloads:"))
    if isinstance(run, NotSeen):
        raise NotSeenError(run)
    return run


def _total(run: FilesystemRun | NotSeen | None) -> float | None:
    if not isinstance(run, FilesystemRun) or run.total is None:
        return None
    return run.total.gib

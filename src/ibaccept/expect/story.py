"""What load runs gave, for the reader: tables of cables and pairs, figures, diagnosis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from ibaccept import diagnosis
from ibaccept.expect.measured import Measured, first_lids
from ibaccept.load.result import (
    CableRate,
    CableWatch,
    DirectedRate,
    FilesystemRun,
    PairRate,
    RdmaRun,
)
from ibaccept.model import PortId
from ibaccept.nodeset import fold
from ibaccept.verdict import Table


@dataclass(frozen=True)
class Story:
    """Tells one job's load runs."""

    measured: Measured

    def cable_table(self) -> tuple[Table, ...]:
        """Cable, LIDs of the job, write and read with their share of the ceiling, XmitWait rank."""
        rows = []
        write, read = (self._by_ports(run) for run in ("filesystem-write", "filesystem-read"))
        rdma = self._by_ports("rdma-read")
        for ports in sorted({*write, *read, *rdma}):
            cable = read.get(ports) or write.get(ports) or rdma.get(ports)
            if cable is None or cable.kind != "isl":
                continue
            lids = max(self.measured.read_lids.get(port, 0) for port in ports)
            wait = read[ports].toward_clients.wait if ports in read else None
            rows.append(
                (
                    cable.name,
                    str(lids),
                    _cell(write[ports].toward_storage) if ports in write else "",
                    _cell(read[ports].toward_clients) if ports in read else "",
                    _cell(rdma[ports].toward_clients) if ports in rdma else "",
                    f"{wait.rank} of {wait.of}" if wait is not None and wait.rank else "",
                )
            )
        columns = (
            "cable",
            "LIDs of the job's clients",
            "write, toward storage",
            "read, toward clients",
            "RDMA, toward clients",
            "XmitWait rank (read)",
        )
        return (Table("inter-switch cables under load", columns, tuple(rows)),) if rows else ()

    def _by_ports(self, run: str) -> dict[tuple[PortId, PortId], CableRate]:
        watch = self.measured.loads.watches.get(run)
        return {c.ports: c for c in watch.cables} if isinstance(watch, CableWatch) else {}

    def pair_table(self) -> tuple[Table, ...]:
        """The RDMA pairs, in groups by the cable they share."""
        rounds = self.measured.loads.rdma_read
        if not isinstance(rounds, tuple) or not rounds:
            return ()
        clients = first_lids(self.measured.job.clients.hosts)
        servers = first_lids(self.measured.job.storage.hosts)
        groups: dict[str, list[PairRate]] = defaultdict(list)
        for rate in rounds[0].rates:
            route = self.measured.snapshot.routes.path(
                servers[rate.pair.storage], clients[rate.pair.client]
            )
            isls = list(route.ports[1:-1]) or [route.ports[-1]]
            groups[
                " -> ".join(self.measured.snapshot.fabric.port_name(port) for port in isls)
            ].append(rate)
        rows = tuple(
            (
                name,
                str(len(rates)),
                _range([rate.rate.gbps for rate in rates], "Gb/s"),
                f"{sum(rate.rate.gib for rate in rates):.1f} GiB/s",
                fold([rate.pair.client for rate in rates]),
            )
            for name, rates in sorted(groups.items(), key=lambda item: -len(item[1]))
        )
        columns = ("cable they share", "pairs", "each", "together", "clients")
        return (Table("RDMA pairs, all at once, by the cable they share", columns, rows),)

    def notes(self) -> tuple[str, ...]:
        """The forecast, the figures with what makes them reproducible, and the diagnosis."""
        told = [*self.figures()]
        predicted = self.measured.try_forecast()
        if predicted is not None:
            told.append(f"forecast: {predicted.sentence}")
        told += [
            f"ceiling of one {link.rate} link: {link.ceiling.payload:.1f}, {link.how}"
            for link in self.measured.loads.ceilings.values()
        ]
        told += diagnosis.diagnose(self.measured.facts()).lines()
        told.append(
            "this is about this node list, in the directions measured: the storage was not tested "
            "above what the cables let through"
        )
        return tuple(told)

    def figures(self) -> Iterable[str]:
        """Each throughput with node count, node list, direction, and data set against the cache."""
        for direction in ("write", "read"):
            run = getattr(self.measured.loads, f"filesystem_{direction}")
            if isinstance(run, FilesystemRun) and run.total is not None:
                yield (
                    f"file system {direction}: {run.total:.1f}, {len(run.clients)} clients "
                    f"{fold(run.clients)}, {_data_set(run)}{_start(run)}; ISL distribution as in "
                    "the table"
                )
        if isinstance(self.measured.loads.rdma_read, tuple):
            for round_ in self.measured.loads.rdma_read:
                if round_.total is not None:
                    yield (
                        f"RDMA alone ({round_.tool}), storage to clients: {round_.total:.1f}, "
                        f"{len(round_.pairs)} pairs at once{_start(round_)}"
                    )


def _cell(rate: DirectedRate) -> str:
    if rate.rate is None:
        return rate.state.value
    share = f" ({rate.percent:.0f} %)" if rate.percent is not None else ""
    return f"{rate.rate:.1f}{share}"


def _range(values: list[float], unit: str) -> str:
    low, high = min(values), max(values)
    if high - low < 0.05:  # noqa: PLR2004 - they print the same
        return f"{low:.1f} {unit}"
    return f"{low:.1f} to {high:.1f} {unit}"


def _data_set(run: FilesystemRun) -> str:
    data = run.data_set
    if data is None:
        return "data set not known"
    size = f"{data.per_client / 2**30:.0f} GiB each"
    ratio = data.client_ratio
    against = f", {ratio:.1f} x a client's memory" if ratio is not None else ""
    servers = data.storage_ratio
    return (
        size + against + (f", {servers:.1f} x the servers' memory" if servers is not None else "")
    )


def _start(run: FilesystemRun | RdmaRun) -> str:
    return "" if run.spread is None else f", started within {run.spread.seconds:.2f} s"

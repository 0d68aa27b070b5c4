"""What load runs gave, for the reader: tables of cables and pairs, figures, diagnosis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ibaccept.checks import diagnosis
from ibaccept.checks.routes.notes import remedies
from ibaccept.checks.throughput.measured import Measured
from ibaccept.fabric.nodeset import fold
from ibaccept.fabric.wording import and_more
from ibaccept.load.filesystem import TIMES_CACHE
from ibaccept.load.result import (
    CableRate,
    CableWatch,
    DirectedRate,
    FilesystemRun,
    Pair,
    PairRate,
    RdmaRun,
    WaitRate,
)
from ibaccept.verdict import Table
from ibaccept.verdict.absence import NotSeenError

TITLE = "inter-switch cables under load"
MOST_PROBLEMS = 8
"""Parts not seen that are told one by one."""


@dataclass(frozen=True)
class Story:
    """Tells one job's load runs."""

    measured: Measured

    def cable_table(self) -> tuple[Table, ...]:
        """Cable, LIDs of the job, write and read with their share of the ceiling, XmitWait rank.

        Where clients and storage are on both sides of a group of cables, each way has a row.
        """
        runs = [self._ways(run) for run in ("filesystem-write", "filesystem-read", "rdma-read")]
        if self._is_two_way:
            return self._way_table(*runs)
        write, read, rdma = ({cable.ports: rate for cable, rate in ways} for ways in runs)
        names = {cable.ports: cable.name for ways in runs for cable, _ in ways}
        rows = [
            (
                names[ports],
                str(max(self.measured.read_lids.get(port, 0) for port in ports)),
                *(_cell(run[ports]) if ports in run else "" for run in (write, read, rdma)),
                _rank(read[ports].wait if ports in read else None),
            )
            for ports in sorted(names)
        ]
        columns = (
            "cable",
            "LIDs of the job's clients",
            "write, toward storage",
            "read, toward clients",
            "RDMA, toward clients",
            "XmitWait rank (read)",
        )
        return (Table(TITLE, columns, tuple(rows)),) if rows else ()

    def _way_table(self, *runs: Sequence[tuple[CableRate, DirectedRate]]) -> tuple[Table, ...]:
        write, read, rdma = ({rate.sender: rate for _, rate in ways} for ways in runs)
        fabric = self.measured.snapshot.fabric
        other = {
            rate.sender: next(port for port in cable.ports if port != rate.sender)
            for ways in runs
            for cable, rate in ways
        }
        rows = [
            (
                f"{fabric.port_name(sender)} -> {fabric.port_name(other[sender])}",
                str(self.measured.read_lids.get(sender, 0)),
                *(_cell(run[sender]) if sender in run else "" for run in (write, read, rdma)),
                _rank(read[sender].wait if sender in read else None),
            )
            for sender in sorted(other)
        ]
        columns = (
            *("cable and way", "LIDs of the job's clients", "write", "read", "RDMA (read)"),
            "XmitWait rank (read)",
        )
        return (Table(TITLE, columns, tuple(rows)),)

    @cached_property
    def _is_two_way(self) -> bool:
        """Whether one run's data goes both ways between two switches."""
        for watch in self.measured.loads.watches.values():
            ways = {
                (rate.sender.guid, next(p.guid for p in cable.ports if p != rate.sender))
                for cable in (watch.cables if isinstance(watch, CableWatch) else ())
                if cable.kind == "isl"
                for rate in cable.ways
                if rate.flows
            }
            if any(way[::-1] in ways for way in ways):
                return True
        return False

    def _ways(self, run: str) -> list[tuple[CableRate, DirectedRate]]:
        """The inter-switch cables of a run in the way of its data; both where it goes both."""
        watch = self.measured.loads.watches.get(run)
        if not isinstance(watch, CableWatch):
            return []
        cables = [cable for cable in watch.cables if cable.kind == "isl"]
        if self._is_two_way:
            return [(cable, rate) for cable in cables for rate in cable.ways]
        reads = watch.direction == "read"
        return [(c, c.toward_clients if reads else c.toward_storage) for c in cables]

    def pair_table(self) -> tuple[Table, ...]:
        """The RDMA pairs of the first round, in groups by the cable they share."""
        rounds = self.measured.loads.rdma_read
        if not isinstance(rounds, tuple) or not rounds:
            return ()
        groups: dict[str, list[PairRate]] = defaultdict(list)
        for rate in rounds[0].rates:
            groups[self._way_of(rate.pair)].append(rate)
        if not groups:
            return ()
        rows = tuple(
            (
                name,
                str(len(rates)),
                _range([rate.rate.gbps for rate in rates], "Gb/s"),
                f"{sum(rate.rate.gib for rate in rates):.1f} GiB/s",
                fold([rate.pair.client for rate in rates]),
            )
            for name, rates in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
        )
        columns = ("cable they share, by the tables", "pairs", "each", "together", "clients")
        title = "RDMA pairs, all at once, by the cable they share toward the clients"
        if len(rounds) > 1:
            title += f" (the first of {len(rounds)} rounds)"
        if self.measured.adaptive:
            title += "; adaptive routing is on, so they may have taken others"
        return (Table(title, columns, rows),)

    def _way_of(self, pair: Pair) -> str:
        """The inter-switch cables from a pair's server to its client, by the tables."""
        fabric = self.measured.snapshot.fabric
        try:
            links = [fabric.link_at[port] for port in self.measured.pairs.way(pair)]
        except NotSeenError as error:
            return f"not known: {error.part.reason}"
        names = [fabric.link_name(link) for link in links if fabric.is_isl(link)]
        return ", then ".join(names) or "none: one switch joins them"

    def cause_table(self) -> tuple[Table, ...]:
        """What else makes reads slow, and why it is ruled out or not known."""
        rows = tuple(
            (answer.cause.value, answer.state.value, answer.why)
            for state in (diagnosis.State.UNKNOWN, diagnosis.State.RULED_OUT)
            for answer in self._diagnosis.answers
            if answer.state is state
        )
        columns = ("cause", "answer", "what was seen")
        return (Table("what else can look like this", columns, rows),) if rows else ()

    @cached_property
    def _facts(self) -> diagnosis.Facts:
        return self.measured.facts()

    @cached_property
    def _diagnosis(self) -> diagnosis.Diagnosis:
        return diagnosis.diagnose(self._facts)

    @property
    def fits(self) -> bool:
        """Whether a look-alike fits."""
        return bool(self._diagnosis.fits)

    def notes(self) -> tuple[str, ...]:
        """The diagnosis and what to do, the forecast, and the figures they rest on."""
        found = self._diagnosis
        told = [f"diagnosis: {answer.cause.value} fits: {answer.why}" for answer in found.fits]
        told = told or ["diagnosis: nothing that was measured explains it"]
        told.append(f"next: {found.next_step}")
        if diagnosis.Cause.ROUTE_COLLAPSE in {answer.cause for answer in found.fits}:
            told += remedies(self.measured.snapshot)[:-1]  # the last is told below
        predicted = None if self.measured.adaptive else self.measured.try_forecast()
        if predicted is not None:
            told.append(f"forecast: {predicted.sentence}")
        told += self.figures()
        told.append(
            "claimed of this node list, in the directions measured, and of no other"
            + (
                "; the storage was not tested above what the full cables let through"
                if self._facts.full
                else ""
            )
        )
        return tuple(told)

    def figures(self) -> Iterable[str]:
        """Each throughput with what makes it reproducible, and what the cables' figures rest on.

        That is node count and node list, direction, data set against the caches, and the
        distribution over the inter-switch cables.
        """
        for direction in ("write", "read"):
            run = getattr(self.measured.loads, f"filesystem_{direction}")
            if isinstance(run, FilesystemRun) and run.total is not None:
                if run.recorded is not None:
                    names = [host.host for host in self.measured.job.clients.hosts]
                    yield (
                        f"file system {direction} ({run.tool}): {run.total:.1f}, {len(names)} "
                        f"clients {fold(names)}, as the site recorded it: neither caches nor what "
                        "the cables carried then was seen"
                    )
                    continue
                yield (
                    f"file system {direction} ({run.tool}): {run.total:.1f}, {len(run.clients)} "
                    f"clients {fold(run.clients)}; {_data_set(run)}{_start(run)}; "
                    f"{self._distribution(f'filesystem-{direction}')}"
                )
        rounds = self.measured.loads.rdma_read
        for round_ in rounds if isinstance(rounds, tuple) else ():
            if round_.total is not None:
                ends = ((pair.client, pair.storage) for pair in round_.pairs)
                clients, servers = zip(*ends, strict=True)
                yield (
                    f"RDMA alone ({round_.tool}), storage to clients: {round_.total:.1f}, "
                    f"{len(round_.pairs)} pairs at once, clients {fold(clients)}, servers "
                    f"{fold(servers)}; from memory to memory, no cache and no disk"
                    f"{_start(round_)}; {self._distribution(round_.name)}"
                )
        for link in self.measured.loads.ceilings.values():
            yield f"ceiling of one {link.rate} link: {link.ceiling.payload:.1f}, {link.how}"

    def asides(self) -> Iterable[str]:
        """What the reader must know whatever the verdict: what is left, moved, and not seen."""
        loads = self.measured.loads
        yield from (f"left behind: {text}" for text in loads.left)
        yield from (f"kept, as ordered: {text}" for text in loads.kept)
        for rounds in (loads.rdma_read, loads.rdma_write):
            for round_ in rounds if isinstance(rounds, tuple) else ():
                yield from round_.moved
        reasons = dict.fromkeys(part.reason for part in loads.problems)
        yield from (f"not seen: {reason}" for reason in list(reasons)[:MOST_PROBLEMS])
        if more := and_more(len(reasons) - MOST_PROBLEMS):
            yield f"not seen: {more}"

    def _distribution(self, run: str) -> str:
        """Where the reader finds what the inter-switch cables carried in a run."""
        watch = self.measured.loads.watches.get(run)
        if not isinstance(watch, CableWatch):
            why = "they were not watched" if watch is None else watch.reason
            return f"distribution over inter-switch cables not known: {why}"
        if not any(cable.kind == "isl" for cable in watch.cables):
            return "no inter-switch cable is on the way"
        window = watch.window
        return (
            f"inter-switch cables as in the table, over {window.seconds:.0f} s of the steady part "
            f"({window.samples} readings, +-{100 * window.uncertain_share:.0f} %)"
        )


def _rank(wait: WaitRate | None) -> str:
    """Order among the ports of the switch; a port that does not wait has no rank."""
    if wait is None or wait.rank is None:
        return ""
    return f"{wait.rank} of {wait.of}" if wait.per_second else "does not wait"


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
        return "data set against caches not known"
    size = f"{data.per_client / 2**30:.3g} GiB each"
    client, servers = (
        "not compared with" if ratio is None else f"{ratio:.1f} x"
        for ratio in (data.client_ratio, data.storage_ratio)
    )
    small = data.client_ratio is not None and data.client_ratio < TIMES_CACHE
    allowed = ", which caches can hold (allowed by cached:)" if small else ""
    return f"{size}, {client} a client's memory, in all {servers} the servers' memory{allowed}"


def _start(run: FilesystemRun | RdmaRun) -> str:
    return "" if run.spread is None else f", started within {run.spread.seconds:.2f} s"

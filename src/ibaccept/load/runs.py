"""All load runs of one run of the suite, in order; what fails leaves a NotSeen in its place."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from ibaccept import commands
from ibaccept.commands import Command
from ibaccept.errors import InputError
from ibaccept.fabric.model import PortId, Rate
from ibaccept.fabric.nodeset import fold
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.cables import JobCables, job_cables, queries
from ibaccept.load.ceiling import Ends, ceilings_of, idle_pair
from ibaccept.load.clocks import Clocks
from ibaccept.load.filesystem import FilesystemRunner
from ibaccept.load.pace import Direction, LoadInputs, Pace, RdmaLoad
from ibaccept.load.rates import HEADERS, MTU, OVERHEAD, Reckoning, Side, window_of
from ibaccept.load.rdma import RdmaRunner, pairs_of
from ibaccept.load.result import (
    ByteBalance,
    CableWatch,
    ClientRate,
    FilesystemRun,
    LinkCeiling,
    LoadRuns,
    PairRate,
    RateState,
    RdmaRun,
    rdma_name,
)
from ibaccept.load.watch import Sample, Watch
from ibaccept.observe.lids import lids_of
from ibaccept.observe.outputs import whole
from ibaccept.observe.snapshot import Snapshot
from ibaccept.parse.ibstat import IbStat
from ibaccept.site.inventory import InventoryHost
from ibaccept.site.recorded import RecordedRun
from ibaccept.transport import CommandResult, Transport
from ibaccept.transport.fanout import run_many
from ibaccept.transport.replay import RecordingTransport
from ibaccept.verdict.absence import NotSeen, NotSeenError

LABEL = "load"
"""Under which everything is recorded; a replay of the load asks for nothing else."""

DIRECTIONS: tuple[Direction, ...] = ("write", "read")
"""Of the file system, in this order: what was not written cannot be read."""

TOLERANCE = 0.03
"""Allowed difference of bytes on the cables and bytes of the benchmark, as a share."""

CLOCKS_APART = 1.0
"""Seconds."""

_IDLE_SECONDS = 10


def run_load(
    transport: Transport,
    inputs: LoadInputs,
    snapshot: Snapshot,
    *,
    pace: Pace | None = None,
    progress: Callable[[str], None] = lambda _text: None,
) -> LoadRuns:
    """Load the fabric, watch it, and say what was seen.

    Args:
        transport: permits load commands, and records; in a replay, gives the same again (then
            ``inputs.token`` must be that of the run, and ``pace.sleep`` need not wait).
        inputs: what to run.
        snapshot: the look before: routes, LIDs, observer.
        pace: how long things wait.
        progress: gets a line for each step.
    """
    with _labelled(transport):
        return _Runs(transport, inputs, snapshot, pace or Pace(), progress).all()


@contextlib.contextmanager
def _labelled(transport: Transport) -> Iterator[None]:
    if isinstance(transport, RecordingTransport):
        with transport.labelled(LABEL):
            yield
        transport.check()
    else:
        yield


@dataclass
class _Runs:
    transport: Transport
    inputs: LoadInputs
    snapshot: Snapshot
    pace: Pace
    progress: Callable[[str], None]
    clocks: Clocks = field(default_factory=Clocks)
    problems: list[NotSeen] = field(default_factory=list)
    watches: dict[str, CableWatch | NotSeen] = field(default_factory=dict)
    balances: dict[str, ByteBalance | NotSeen] = field(default_factory=dict)
    served: dict[str, ByteBalance | NotSeen] = field(default_factory=dict)
    cleared: dict[PortId, str] = field(default_factory=dict)
    ceilings: dict[Rate, LinkCeiling] = field(default_factory=dict)
    filesystem: dict[Direction, FilesystemRun | NotSeen] = field(default_factory=dict)
    rdma: dict[Direction, tuple[RdmaRun, ...]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    tools: dict[str, str] = field(default_factory=dict)
    _read_before: Sample | None = None

    def all(self) -> LoadRuns:
        """Everything."""
        self._versions()
        cables = self._cables()
        self.hosts = {h.name: h for h in (*self.inputs.clients, *self.inputs.storage)}
        if isinstance(cables, JobCables):
            self.ceilings = ceilings_of(cables.cables, self.inputs.ceilings, self._measure)
        try:
            self._filesystem(cables)
            self._rdma(cables)
        except BaseException as error:
            how = "interrupted" if isinstance(error, KeyboardInterrupt) else f"ended by: {error}"
            self.progress(f"{how}: what was started on the hosts was ended")
            for text in self.left:
                self.progress(f"left behind: {text}")
            raise
        self.problems += self.clocks.apart(CLOCKS_APART)
        return LoadRuns(
            self.filesystem.get("write"),
            self.filesystem.get("read"),
            self.rdma.get("read"),
            self.rdma.get("write"),
            self.watches,
            self.balances,
            self.served,
            self.cleared,
            self.ceilings,
            tuple(self.problems),
            self.tools,
            tuple(self.left),
            tuple(self.kept),
        )

    # -- before ------------------------------------------------------------------------------

    def _cables(self) -> JobCables | NotSeen:
        try:
            return job_cables(self.snapshot, self.inputs.clients, self.inputs.storage)
        except NotSeenError as error:
            self.problems.append(error.part)
            return error.part

    def _versions(self) -> None:
        fs, rdma = self.inputs.filesystem, self.inputs.rdma
        both = (*self.inputs.clients, *self.inputs.storage)
        if fs is not None and fs.tool != "recorded":
            self._version(commands.VERSIONS[fs.tool], self.inputs.clients)
        if rdma is not None:
            self._version(commands.VERSIONS[rdma.tool], both)

    def _version(self, command: Command, hosts: Sequence[InventoryHost]) -> None:
        tool = command.template[0]
        results = run_many(
            self.transport,
            [(host.transport, command.argv()) for host in hosts],
            timeout=command.timeout,
            fan_out=self.pace.fan_out,
            keep_open=True,
        )
        seen: dict[str, list[str]] = {}
        for number, host in enumerate(hosts):
            result = results[number]
            if not isinstance(result, CommandResult) or result.missing:
                bad = whole(f"the version of {tool} on {host.name}", result, step="version")
                self.problems += [bad] if isinstance(bad, NotSeen) else []
                continue
            self.clocks.note(result)
            # some versions of perftest end with 1 here, and say it all the same
            lines = (result.text + result.error_text).strip().splitlines()
            version = lines[0].strip() if lines else "unknown"
            seen.setdefault(version.removeprefix(f"{tool} ").removeprefix("Version: "), []).append(
                host.name
            )
        self.tools[tool] = "; ".join(
            version if len(seen) == 1 else f"{version} on {fold(names)}"
            for version, names in sorted(seen.items())
        )
        if len(seen) > 1:
            self.problems.append(
                NotSeen(
                    f"one version of {tool}",
                    f"version: {self.tools[tool]}",
                    "install the same version on all hosts: versions that differ may not meet",
                )
            )

    def _watch(self, cables: JobCables | NotSeen) -> Watch | NotSeen:
        if isinstance(cables, NotSeen):
            return cables
        name = self.snapshot.observer
        if name is None:
            return NotSeen("the cables", "no observer could be used, so no counter was read")
        observer = self.snapshot.inventory.hosts[name]
        return Watch(
            self.transport,
            observer,
            queries(self.snapshot.fabric, cables.cables),
            self.clocks,
        )

    def _reckoned(
        self,
        run: str,
        direction: Direction,
        cables: JobCables | NotSeen,
        watch: Watch | NotSeen,
        balance: Callable[[Reckoning, Side], ByteBalance | NotSeen],
    ) -> None:
        if isinstance(watch, NotSeen) or isinstance(cables, NotSeen):
            part = watch if isinstance(watch, NotSeen) else cables
            assert isinstance(part, NotSeen)  # noqa: S101 - one of the two is
            self.watches[run] = self.balances[run] = self.served[run] = part
            return
        known = {rate: found.ceiling for rate, found in self.ceilings.items()}
        reckoning = Reckoning(self.snapshot.fabric, cables, watch, known)
        self.watches[run] = reckoning.watch(run, direction)
        self.balances[run] = balance(reckoning, "client")
        self.served[run] = balance(reckoning, "storage")
        for port, why in reckoning.cleared(self._read_before).items():
            self.cleared.setdefault(port, why)
        self._read_before = watch.samples[-1] if watch.samples else None

    # -- RDMA --------------------------------------------------------------------------------

    def _rdma(self, cables: JobCables | NotSeen) -> None:
        load = self.inputs.rdma
        if load is None:
            return
        runner = self._runner(load)
        clients = [host.name for host in self.inputs.clients]
        storage = [host.name for host in self.inputs.storage]
        rounds = len(storage) if load.pattern == "all-to-all" else 1
        for direction in load.directions:
            found: list[RdmaRun] = []
            for number in range(rounds):
                name = rdma_name(direction, number)
                self.progress(
                    f"{name}: {load.tool}, {len(clients)} pairs at once for {load.duration} s"
                )
                watch = self._watch(cables)
                pairs = pairs_of(clients, storage, direction, load.tool, shift=number)
                run = runner.run(
                    pairs,
                    direction,
                    watch if isinstance(watch, Watch) else None,
                    round_number=number,
                )
                found.append(run)
                self.problems += run.unseen
                self._note_left(run.ended, name)
                self._reckoned(name, direction, cables, watch, partial(_rdma_balance, run))
            self.rdma[direction] = tuple(found)

    def _runner(self, load: RdmaLoad) -> RdmaRunner:
        return RdmaRunner(self.transport, load, self.hosts, self.pace, self.clocks)

    def _measure(self, rate: Rate) -> PairRate | NotSeen:
        """One pair alone, over links of a rate."""
        what = f"the ceiling of a {rate} link"
        try:
            ends = self._ends()
            pair = idle_pair(self.snapshot.routes, self.snapshot.fabric, ends, rate)
        except (NotSeenError, InputError) as error:
            return NotSeen(what, str(error))
        if pair is None:
            return NotSeen(what, f"no route of the job has {rate} as its slowest link")
        load = self.inputs.rdma or RdmaLoad()
        alone = RdmaLoad(
            duration=min(load.duration, _IDLE_SECONDS),
            message=load.message,
            qps=load.qps,
            depth=load.depth,
            link_type=load.link_type,
        )
        server, client = pair
        self.progress(f"measuring one {rate} link on the idle pair {server} to {client}")
        run = self._runner(alone).run(
            pairs_of([client], [server], "read", alone.tool), "read", None
        )
        self._note_left(run.ended, "ceilings")
        return next(iter(run.pairs.values()))

    def _ends(self) -> Iterator[Ends]:
        stats = {n: s for n, s in self.snapshot.hosts.items() if isinstance(s, IbStat)}
        fabric = self.snapshot.fabric
        clients = lids_of(fabric, self.inputs.clients, stats)
        storage = lids_of(fabric, self.inputs.storage, stats)
        for client in clients.hosts:
            for server in storage.hosts:
                yield server.host, server.lids[0], client.host, client.lids[0]

    # -- file system -------------------------------------------------------------------------

    def _filesystem(self, cables: JobCables | NotSeen) -> None:
        load = self.inputs.filesystem
        if load is None:
            return
        if load.tool == "recorded":
            for result in load.recorded:
                self._recorded(result)
            for direction in DIRECTIONS:
                if direction in self.filesystem:
                    continue
                self.filesystem[direction] = NotSeen(
                    f"the recorded {direction} run",
                    f"recorded: no file of workloads: filesystem: file is a {direction} run",
                    f"name the result of the {direction} run, too",
                )
            return
        runner = FilesystemRunner(
            self.transport,
            load,
            self.inputs.clients,
            self.inputs.storage,
            self.pace,
            self.clocks,
            self.inputs.token,
        )
        data = runner.data_set()
        if isinstance(data, NotSeen):
            self.problems.append(data)
            self.filesystem = {"write": data, "read": data}
            return
        try:
            without = runner.folders.make(self.inputs.clients)
            self.problems += without.values()
            for direction in DIRECTIONS:
                name = f"filesystem-{direction}"
                self.progress(f"{name}: {load.tool} on {len(self.inputs.clients)} clients at once")
                watch = self._watch(cables)
                run = runner.run(
                    direction, data, watch if isinstance(watch, Watch) else None, without
                )
                self.filesystem[direction] = run
                known = {part.reason for part in self.problems}
                self.problems += [part for part in run.unseen if part.reason not in known]
                self._note_left(run.ended, name)
                self._reckoned(name, direction, cables, watch, partial(_bytes_balance, run))
                # what was not written cannot be read back
                without = {
                    client: replace(part, what=f"the read rate of {client}")
                    for client, part in run.clients.items()
                    if isinstance(part, NotSeen)
                }
        finally:
            self.left += runner.folders.remove()
            self.kept += runner.folders.kept()

    def _recorded(self, run: RecordedRun) -> None:
        """A result of the site's own benchmark, of the nodes that are judged."""
        clients = [host.name for host in self.inputs.clients]
        if sorted(run.nodes) != sorted(clients):
            part = NotSeen(
                f"the recorded {run.direction} run",
                f"recorded: it is of {fold(run.nodes)}, the job is {fold(clients)}",
                f"judge the nodes that were loaded: --job='{fold(run.nodes)}'",
            )
            self.problems.append(part)
            self.filesystem[run.direction] = part
            return
        rates: dict[str, ClientRate | NotSeen] = {
            client: ClientRate(client, moved, run.seconds, Bandwidth(moved / run.seconds))
            for client, moved in (run.per_client or {}).items()
        }
        self.filesystem[run.direction] = FilesystemRun(
            run.direction,
            f"recorded: {run.tool}",
            rates,
            None,
            None,
            run.end - run.start,
            recorded=Bandwidth(run.bytes_per_second),
        )

    def _note_left(self, ended: tuple[int, int], name: str) -> None:
        started, seen = ended
        if started != seen:
            self.left.append(
                f"{name}: {started - seen} of {started} processes were not seen to end"
            )


def _rdma_balance(run: RdmaRun, reckoning: Reckoning, side: Side) -> ByteBalance | NotSeen:
    total = run.total
    if total is None:
        return NotSeen("bytes on the cables against the benchmark", "a pair was not measured")
    grown = reckoning.toward(side, run.direction, whole=False)
    if grown.state is not RateState.OK:
        return NotSeen("bytes on the cables against the benchmark", grown.why)
    mtu = next((rate.mtu for rate in run.rates if rate.mtu), MTU)
    claimed = total.bytes_per_second * (mtu + OVERHEAD) / mtu
    share = window_of(reckoning.steady).uncertain_share
    return balance_of(grown.per_second, claimed, "bytes/s", share)


def _bytes_balance(run: FilesystemRun, reckoning: Reckoning, side: Side) -> ByteBalance | NotSeen:
    moved = run.moved
    if moved is None:
        return NotSeen("bytes on the cables against the benchmark", "a client was not measured")
    grown = reckoning.toward(side, run.direction, whole=True)
    if grown.state is not RateState.OK:
        return NotSeen("bytes on the cables against the benchmark", grown.why)
    return balance_of(grown.delta, moved * HEADERS, "bytes", 0.0)


def balance_of(
    cable: float, benchmark: float, what: Literal["bytes", "bytes/s"], uncertain: float
) -> ByteBalance:
    """Compare what cables counted with what a benchmark claims, headers added to the latter."""
    explained: Literal["cached", "other-traffic"] | None = None
    if abs(cable / benchmark - 1) > max(TOLERANCE, uncertain):
        explained = "cached" if cable < benchmark else "other-traffic"
    return ByteBalance(cable, benchmark, what, uncertain, explained)

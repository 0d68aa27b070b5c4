"""The file system under the job's own load: every client writes its files, then reads them back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ibaccept import commands
from ibaccept.fabric.units import Bandwidth, Size
from ibaccept.load.clocks import Clocks
from ibaccept.load.folders import Folders
from ibaccept.load.pace import Direction, FilesystemLoad, Pace
from ibaccept.load.processes import Together
from ibaccept.load.result import ClientRate, DataSet, FilesystemRun
from ibaccept.load.watch import Watch
from ibaccept.observe.outputs import captures_of, file_of, not_parsed, parsed, whole
from ibaccept.parse import ParseError, elbencho, fio, ior, meminfo
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import CommandResult, Transport, TransportError
from ibaccept.transport.fanout import Job, run_many
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

TIMES_CACHE = 2.0
"""Least ratio of the data set to the memory that can cache it; below it, the cache is measured."""

_MOVED_WITHIN = 0.01
"""IOR prints the amount with two decimals, so that it can be off by half a percent."""

_GIB = 1 << 30


@dataclass
class FilesystemRunner:
    """Runs the write, then the read, and removes the files.

    Attributes:
        clients: of the job.
        token: names this run's folders.
    """

    transport: Transport
    load: FilesystemLoad
    clients: Sequence[InventoryHost]
    storage: Sequence[InventoryHost]
    pace: Pace
    clocks: Clocks
    token: str

    # -- before ------------------------------------------------------------------------------

    def data_set(self) -> DataSet | NotSeen:
        """The data set against the memory of clients and servers, or why it is too small."""
        hosts = list({host.name: host for host in (*self.clients, *self.storage)}.values())
        results = run_many(
            self.transport,
            [(host.transport, commands.MEMINFO.argv()) for host in hosts],
            timeout=commands.MEMINFO.timeout,
            fan_out=self.pace.fan_out,
            keep_open=True,
        )
        memory: dict[str, int] = {}
        unseen: list[NotSeen] = []
        for number, host in enumerate(hosts):
            found = self._memory(results[number])
            if isinstance(found, NotSeen):
                unseen.append(found)
            else:
                memory[host.name] = found
        size = self.load.size_per_client or 0
        clients = [memory[h.name] for h in self.clients if h.name in memory]
        storage = [memory[h.name] for h in self.storage if h.name in memory]
        whole = DataSet(
            size,
            len(self.clients),
            max(clients) if len(clients) == len(self.clients) else None,
            sum(storage) if len(storage) == len(self.storage) else None,
        )
        if self.load.cached:
            return whole
        if unseen:
            return replace(
                unseen[0], hint="the data set cannot be held against caches; or set cached: allowed"
            )
        return self._large_enough(whole)

    def _memory(self, result: CommandResult | TransportError) -> int | NotSeen:
        if isinstance(result, CommandResult):
            self.clocks.note(result)
        return parsed(
            "the size of the caches",
            result,
            lambda taken: meminfo.parse(taken.text).total,
            step="memory",
        )

    @staticmethod
    def _large_enough(data: DataSet) -> DataSet | NotSeen:
        sides = (
            ("a client's memory", data.per_client, data.client_memory, data.client_ratio, 1),
            (
                "the storage servers' memory together",
                data.per_client * data.clients,
                data.storage_memory,
                data.storage_ratio,
                data.clients,
            ),
        )
        for whose, size, memory, ratio, clients in sides:
            if memory is not None and ratio is not None and ratio < TIMES_CACHE:
                needed = -(-memory * TIMES_CACHE // clients // _GIB)
                return NotSeen(
                    "the rate of the file system",
                    f"data set: {size / _GIB:.1f} GiB are {ratio:.2f} times {whose} "
                    f"({memory / _GIB:.1f} GiB): caches can hold it, so its rate would be theirs",
                    f"set size_per_client to {needed:.0f} GiB or more, or say cached: allowed",
                )
        return data

    @cached_property
    def folders(self) -> Folders:
        """Where the clients' files are."""
        assert self.load.path is not None  # noqa: S101 - the schema requires it
        return Folders(
            *(self.transport, self.load.path, self.token, self.pace, self.clocks),
            keep=self.load.keep,
            lifetime=2 * self.load.at_most,
        )

    # -- a run -------------------------------------------------------------------------------

    def run(
        self,
        direction: Direction,
        data: DataSet,
        watch: Watch | None,
        without: Mapping[str, NotSeen],
    ) -> FilesystemRun:
        """One direction, all clients that have a folder at once."""
        found: dict[str, ClientRate | NotSeen] = dict(without)
        hosts = [host for host in self.clients if host.name not in without]
        jobs = [(host, job) for host in hosts for job in self._jobs(host, direction)]
        with Together(self.transport, self.pace, self.clocks) as crew:
            crew.start([job for _, job in jobs], timeout=self.load.at_most, held=True)
            if watch is not None:
                watch.first()
            ready = [number for number in range(len(jobs)) if number not in crew.results]
            crew.release(ready)
            self._through(crew, ready, watch)
            if watch is not None:
                watch.last()
        by_host: dict[str, list[CommandResult | TransportError]] = {}
        for number, (host, _) in enumerate(jobs):
            by_host.setdefault(host.name, []).append(crew.results[number])
        for name, results in by_host.items():
            found[name] = self._rate(name, direction, results)
        starts = _starts(by_host)
        if watch is not None:
            watch.not_before(starts)
        return FilesystemRun(
            direction,
            self.load.tool,
            {host.name: found[host.name] for host in self.clients},
            data,
            self.clocks.spread(starts),
            self._whole(by_host),
            ended=crew.ended,
        )

    def _whole(
        self, results: Mapping[str, Sequence[CommandResult | TransportError]]
    ) -> float | None:
        """Seconds from the first start to the last end; None where a client does not say."""
        starts, ends = [], []
        for host, some in results.items():
            ahead = self.clocks.ahead(host)
            for one in some:
                if (
                    ahead is None
                    or isinstance(one, TransportError)
                    or one.start is None
                    or one.end is None
                ):
                    return None
                starts.append(one.start - ahead[0])
                ends.append(one.end - ahead[0])
        return max(ends) - min(starts) if ends else None

    def _through(self, crew: Together, ready: Sequence[int], watch: Watch | None) -> None:
        base = math.inf if watch is None or watch.before is None else watch.before.end
        while ready and not crew.has_ended(ready):
            sample = None if watch is None else watch.sample()
            crew.poll()
            inside = sample is not None and sample.start >= base + self.pace.ramp
            if watch is not None and inside and not crew.any_ended(ready):
                watch.steady_sample()
            self.pace.sleep(self.pace.interval)

    def _jobs(self, host: InventoryHost, direction: Direction) -> list[Job]:
        load, run = self.load, self.folders.made[host.name]
        size = load.size_per_client or 0
        common: dict[str, Any] = {"path": load.path, "run": run, "bytes": load.block}
        if load.tool == "fio":
            argv = commands.FIO[direction].argv(
                **common,
                size=size // load.processes,
                count=load.processes,
                depth=load.depth,
                engine=load.engine,
                switch=int(load.direct),
            )
            return [(host.transport, argv)]
        if load.tool == "elbencho":
            argv = commands.ELBENCHO[direction].argv(
                **common, size=size, count=load.processes, depth=load.depth
            )
            return [(host.transport, argv)]
        # IOR without MPI is one process: one for each of the processes, with a file of its own
        return [
            (
                host.transport,
                commands.IOR[direction].argv(
                    **common, size=size // load.processes, file=f"data.{number}"
                ),
            )
            for number in range(load.processes)
        ]

    def _rate(
        self, host: str, direction: Direction, results: Sequence[CommandResult | TransportError]
    ) -> ClientRate | NotSeen:
        what = f"the {direction} rate of {host}"
        parts: list[ClientRate] = []
        for result in results:
            taken = whole(what, result, step=direction)
            if isinstance(taken, NotSeen):
                return taken
            try:
                part = self._read(host, direction, taken)
            except ParseError as error:
                return not_parsed(what, taken, error, step=direction)
            if part is None or part.rate.bytes_per_second <= 0:
                return NotSeen(
                    what,
                    f"{direction}: {host}: {self.load.tool} moved nothing, so nothing was measured",
                    "see its output",
                    captures_of(taken),
                )
            if bad := self._other_amount(what, direction, part, captures_of(taken)):
                return bad
            parts.append(part)
        if len(parts) == 1:
            return parts[0]
        # several processes of one client need not have run at the same time
        moved, seconds = sum(part.moved for part in parts), max(part.seconds for part in parts)
        return ClientRate(host, moved, seconds, Bandwidth(moved / seconds), parts[0].capture)

    def _read(self, host: str, direction: Direction, result: CommandResult) -> ClientRate | None:
        """What one process printed; None where it moved nothing."""
        found: tuple[int, float] | None
        if self.load.tool == "fio":
            total = fio.parse(result.text).total(direction)
            found = None if total is None else (total.bytes, total.seconds)
        elif self.load.tool == "elbencho":
            found = _elbencho(result.text, direction)
        else:
            found = _ior(result.text, direction)
        if found is None:
            return None
        moved, seconds = found
        capture = CaptureRef(file_of(result), None, "")
        return ClientRate(host, moved, seconds, Bandwidth(moved / seconds), capture)

    def _other_amount(
        self, what: str, direction: Direction, part: ClientRate, captures: tuple[CaptureRef, ...]
    ) -> NotSeen | None:
        """A process that moved another amount than it was started with.

        The data set is compared with the caches by its expected size, so a part of it, or one file
        read several times over, would measure them.
        """
        load = self.load
        size = load.size_per_client or 0
        if load.tool != "elbencho":
            size //= load.processes
        # fio leaves out what is less than a block at the end of a file
        expected = size - size % load.block or size
        if load.tool == "fio":
            expected *= load.processes
        if abs(part.moved - expected) <= _MOVED_WITHIN * expected:
            return None
        return NotSeen(
            what,
            f"{direction}: {part.client}: {load.tool} moved {Size(part.moved)} "
            f"instead of {Size(expected)}, so it is not the data set that was to be moved",
            "see its output, and whether its files are whole; then run it again",
            captures,
        )


def _elbencho(text: str, direction: Direction) -> tuple[int, float] | None:
    phases = [p for p in elbencho.parse(text) if p.operation == direction.upper()]
    if not phases or phases[-1].bytes_per_second is None:
        return None
    phase = phases[-1]
    if phase.bytes is not None:
        return phase.bytes, phase.seconds
    return round((phase.bytes_per_second or 0.0) * phase.seconds), phase.seconds


def _ior(text: str, direction: Direction) -> tuple[int, float] | None:
    run = ior.parse(text)[-1]
    found = run.write if direction == "write" else run.read
    if found is None or found.bytes_per_second <= 0:
        return None
    moved = run.moved_bytes if run.moved_bytes is not None else run.aggregate_bytes
    if moved is None:
        raise ParseError(ior.TOOL, "its aggregate filesize was not printed")
    return moved, moved / found.bytes_per_second


def _starts(
    results: Mapping[str, Sequence[CommandResult | TransportError]],
) -> dict[str, float]:
    return {
        f"{host}#{number}": one.start
        for host, some in results.items()
        for number, one in enumerate(some)
        if isinstance(one, CommandResult) and one.start is not None
    }

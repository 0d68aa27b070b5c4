"""The file system under the job's own load: every client writes its files, then reads them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ibaccept import commands
from ibaccept.evidence import CaptureRef
from ibaccept.inventory import InventoryHost
from ibaccept.load.inputs import Direction, FilesystemLoad, Pace
from ibaccept.load.result import ClientRate, DataSet, FilesystemRun
from ibaccept.load.together import Clocks, Job, Together, captures_of, run_all, why_not
from ibaccept.load.watch import Watch
from ibaccept.observer import file_of
from ibaccept.parse import ParseError, elbencho, fio, ior, meminfo
from ibaccept.snapshot import NotSeen
from ibaccept.transport import Argv, CommandResult, Transport, TransportError
from ibaccept.units import Bandwidth

TIMES_CACHE = 2.0
"""A data set is so many times larger than what can cache it, or it measures the cache."""

_GIB = 1 << 30
_FILES_TIME = 300.0


@dataclass
class FilesystemRunner:
    """Runs the write, then the read, and removes the files.

    Attributes:
        clients: of the job.
        token: names this run's folders.
        made: clients whose folder exists.
    """

    transport: Transport
    load: FilesystemLoad
    clients: Sequence[InventoryHost]
    storage: Sequence[InventoryHost]
    pace: Pace
    clocks: Clocks
    token: str
    made: dict[str, str] = field(default_factory=dict)

    # -- before ------------------------------------------------------------------------------

    def data_set(self) -> DataSet | NotSeen:
        """The data set against the memory of clients and servers, or why it is too small."""
        hosts = list({host.name: host for host in (*self.clients, *self.storage)}.values())
        results = run_all(
            self.transport,
            [(host.transport, commands.MEMINFO.argv()) for host in hosts],
            timeout=commands.MEMINFO.timeout,
            fan_out=self.pace.fan_out,
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
        bad = why_not("the size of the caches", "memory", result)
        if bad is not None or isinstance(result, TransportError):
            return bad or NotSeen("the size of the caches", str(result))
        self.clocks.note(result)
        try:
            return meminfo.parse(result.text).total
        except ParseError as error:
            return NotSeen("the size of the caches", f"memory: {result.host}: {error}")

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

    def make_folders(self) -> dict[str, NotSeen]:
        """A new folder for each client; why, for those that have none."""
        assert self.load.path is not None  # noqa: S101 - the schema requires it
        jobs: list[tuple[InventoryHost, str, Argv]] = []
        for number, host in enumerate(self.clients, 1):
            run = f"ibaccept-{self.token}-{number}"
            jobs.append((host, run, commands.MKDIR.argv(path=self.load.path, run=run)))
        results = run_all(
            self.transport,
            [(host.transport, argv) for host, _, argv in jobs],
            timeout=commands.MKDIR.timeout,
            fan_out=self.pace.fan_out,
        )
        bad: dict[str, NotSeen] = {}
        for number, (host, run, _) in enumerate(jobs):
            why = why_not(f"the rate of {host.name}", "folder", results[number])
            if why is None:
                self.made[host.name] = run
            else:
                bad[host.name] = replace(
                    why, hint=f"see that {self.load.path} is there and can be written by its user"
                )
        return bad

    def remove(self) -> tuple[str, ...]:
        """Remove the folders, unless they are to be kept; what is left, a sentence each."""
        if self.load.keep or not self.made:
            return ()
        path = self.load.path
        hosts = [host for host in self.clients if host.name in self.made]
        results = run_all(
            self.transport,
            [
                (host.transport, commands.REMOVE.argv(path=path, run=self.made[host.name]))
                for host in hosts
            ],
            timeout=_FILES_TIME,
            fan_out=self.pace.fan_out,
        )
        left = []
        for number, host in enumerate(hosts):
            run = self.made[host.name]
            why = why_not("", "remove", results[number])
            if why is None:
                del self.made[host.name]
            else:
                left.append(f"{host.name}: {path}/{run} was not removed ({why.reason})")
        return tuple(left)

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
                watch.sample()
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
        base = watch.samples[-1].end if watch is not None and watch.samples else 0.0
        while ready and not crew.has_ended(ready):
            sample = None if watch is None else watch.sample()
            crew.poll()
            inside = sample is not None and sample.start >= base + self.pace.ramp
            if watch is not None and inside and not crew.any_ended(ready):
                watch.steady_sample()
            self.pace.sleep(self.pace.interval)

    def _jobs(self, host: InventoryHost, direction: Direction) -> list[Job]:
        load, run = self.load, self.made[host.name]
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
        # IOR without MPI is one process: so many of them, each with its own file
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
            bad = why_not(what, direction, result)
            if bad is not None or isinstance(result, TransportError):
                return bad or NotSeen(what, str(result))
            try:
                part = self._read(host, direction, result)
            except ParseError as error:
                return NotSeen(what, f"{direction}: {host}: {error}", "", captures_of(result))
            if part is None or part.rate.bytes_per_second <= 0:
                return NotSeen(
                    what,
                    f"{direction}: {host}: {self.load.tool} moved nothing, so nothing was measured",
                    "see its output",
                    captures_of(result),
                )
            parts.append(part)
        return ClientRate(
            host,
            sum(part.moved for part in parts),
            max(part.seconds for part in parts),
            Bandwidth(sum(part.rate.bytes_per_second for part in parts)),
            parts[0].capture,
        )

    def _read(self, host: str, direction: Direction, result: CommandResult) -> ClientRate | None:
        """What one process printed; None where it moved nothing."""
        asked = (self.load.size_per_client or 0) // self.load.processes
        found: tuple[int, float] | None
        if self.load.tool == "fio":
            total = fio.parse(result.text).total(direction)
            found = None if total is None else (total.bytes, total.seconds)
        elif self.load.tool == "elbencho":
            found = _elbencho(result.text, direction)
        else:
            found = _ior(result.text, direction, asked)
        if found is None:
            return None
        moved, seconds = found
        capture = CaptureRef(file_of(result), None, "")
        return ClientRate(host, moved, seconds, Bandwidth(moved / seconds), capture)


def _elbencho(text: str, direction: Direction) -> tuple[int, float] | None:
    phases = [p for p in elbencho.parse(text) if p.operation == direction.upper()]
    if not phases or phases[-1].bytes_per_second is None:
        return None
    phase = phases[-1]
    if phase.bytes is not None:
        return phase.bytes, phase.seconds
    return round((phase.bytes_per_second or 0.0) * phase.seconds), phase.seconds


def _ior(text: str, direction: Direction, asked: int) -> tuple[int, float] | None:
    run = ior.parse(text)[-1]
    found = run.write if direction == "write" else run.read
    if found is None or found.bytes_per_second <= 0:
        return None
    moved = run.moved_bytes if run.moved_bytes is not None else asked
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

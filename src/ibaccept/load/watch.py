"""The cables of a job while it runs: samples, and which of them lie in the steady part.

Every time is of the host that reads, around each read. The end of the steady part is known by
order, not by clocks: a sample counts where it was complete before any process was seen to end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ibaccept import commands
from ibaccept.counters import EXTENDED_BITS, WIDTH
from ibaccept.evidence import CaptureRef
from ibaccept.inventory import InventoryHost
from ibaccept.load.cables import Query
from ibaccept.load.inputs import Pace
from ibaccept.load.together import Clocks, run_all, why_not
from ibaccept.model import PortId
from ibaccept.observer import file_of
from ibaccept.parse import ParseError, perfquery
from ibaccept.snapshot import NotSeen
from ibaccept.transport import CommandResult, Transport, TransportError

XMIT, RCV, WAIT = "PortXmitData", "PortRcvData", "PortXmitWait"


@dataclass(frozen=True, slots=True)
class Reading:
    """One counter at one time.

    Attributes:
        bits: that it has, 0 = the device does not measure it.
        time: of the reading host.
        file: capture it was read from.
        line: number of its line there.
        printed: its name there.
    """

    value: int
    bits: int
    time: float
    file: str = ""
    line: int | None = None
    printed: str = ""

    @property
    def capture(self) -> CaptureRef:
        """The line it was read from."""
        return CaptureRef(self.file, self.line, perfquery.row_text(self.printed, self.value))


@dataclass(frozen=True)
class Sample:
    """All counters of all watched ports, once.

    Attributes:
        readings: by port and counter.
        start: of the first read, on the reading host's clock.
        end: of the last.
        longest: seconds the longest single read took.
        why: why ports were not read.
    """

    readings: Mapping[tuple[PortId, str], Reading]
    start: float
    end: float
    longest: float
    why: Mapping[PortId, str]


@dataclass
class Watch:
    """Reads the cables of a job, again and again.

    Attributes:
        before: the sample before the load; None where nothing could be read then.
        after: the same of the one after it.

    Args:
        transport: records.
        observer: reads.
        queries: what to read.
        pace: how often.
        clocks: told of every result.
    """

    transport: Transport
    observer: InventoryHost
    queries: Sequence[Query]
    pace: Pace
    clocks: Clocks = field(default_factory=Clocks)
    samples: list[Sample] = field(default_factory=list)
    steady: list[int] = field(default_factory=list)
    problems: dict[str, NotSeen] = field(default_factory=dict)
    before: Sample | None = None
    after: Sample | None = None
    _single: set[Query] = field(default_factory=set)
    _basic: dict[Query, bool] = field(default_factory=dict)

    def sample(self) -> Sample | None:
        """Read every port once; None where nothing could be read at all."""
        jobs = [(query, True) for query in self.queries]
        jobs += [(query, False) for query in self.queries if self._basic.get(query)]
        readings: dict[tuple[PortId, str], Reading] = {}
        why: dict[PortId, str] = {}
        times: list[tuple[float, float]] = []
        for (query, extended), result in zip(jobs, self._run(jobs), strict=True):
            self._take(query, result, readings, why, times, extended=extended)
        if not times:
            return None
        taken = Sample(
            readings,
            min(start for start, _ in times),
            max(end for _, end in times),
            max(end - start for start, end in times),
            why,
        )
        self.samples.append(taken)
        return taken

    def first(self) -> None:
        """The sample before the load; learns which ports need the basic counters for XmitWait."""
        self.before = sample = self.sample()
        if sample is None:
            return
        for query in self.queries:
            waits = [sample.readings.get((port, WAIT)) for port in query.ports.values()]
            self._basic[query] = not all(wait is not None and wait.bits for wait in waits)
        if any(self._basic.values()):
            self.samples.clear()
            self.before = self.sample()

    def last(self) -> None:
        """The sample after the load."""
        self.after = self.sample()

    def _run(
        self, jobs: Sequence[tuple[Query, bool]]
    ) -> Iterator[list[CommandResult | TransportError]]:
        parts = [self._argvs(query, extended=extended) for query, extended in jobs]
        flat = [(self.observer.transport, argv) for argvs in parts for argv in argvs]
        results = run_all(
            self.transport,
            flat,
            timeout=commands.PERFQUERY_X_PORTS.timeout,
            root=True,
            fan_out=_AT_A_TIME,
        )
        for result in results:
            if isinstance(result, CommandResult):
                self.clocks.note(result)
        number = 0
        for argvs in parts:
            yield [results[n] for n in range(number, number + len(argvs))]
            number += len(argvs)

    def _argvs(self, query: Query, *, extended: bool) -> list[tuple[str, ...]]:
        hca = self.observer.ib_hca[0] if self.observer.ib_hca else None
        port = self.observer.ib_port
        if query in self._single:
            one = commands.PERFQUERY_X if extended else commands.PERFQUERY
            return [
                one.argv(hca=hca, hca_port=port, lid=int(query.lid), port=number)
                for number in query.ports
            ]
        if not query.text:
            every = commands.PERFQUERY_X_ALL if extended else commands.PERFQUERY_ALL
            return [every.argv(hca=hca, hca_port=port, lid=int(query.lid))]
        many = commands.PERFQUERY_X_PORTS if extended else commands.PERFQUERY_PORTS
        return [many.argv(hca=hca, hca_port=port, lid=int(query.lid), ports=query.text)]

    def _take(
        self,
        query: Query,
        results: Iterable[CommandResult | TransportError],
        readings: dict[tuple[PortId, str], Reading],
        why: dict[PortId, str],
        times: list[tuple[float, float]],
        *,
        extended: bool,
    ) -> None:
        for number, result in enumerate(results):
            single = query in self._single
            ports = [list(query.ports)[number]] if single else list(query.ports)
            bad = _blocks(result)
            if isinstance(bad, NotSeen):
                which = f"port {ports[0] if single else query.text}" if single or query.text else ""
                key = f"LID {query.lid} {which or 'every port'}"
                self.problems[key] = NotSeen(f"{bad.what} at {key}", bad.reason, bad.hint)
                if extended:
                    why.update({query.ports[port]: bad.reason for port in ports})
                if not single and not isinstance(result, TransportError):
                    # one port that does not answer hides the others: from now on one by one
                    self._single.add(query)
                continue
            blocks, start, end = bad
            times.append((start, end))
            file = file_of(result) if isinstance(result, CommandResult) else ""
            for block in blocks:
                # one query takes microseconds, starting the tool nearly all of the time
                _keep(query, block, (start + end) / 2, file, readings, extended=extended)

    def steady_sample(self) -> None:
        """Mark the newest sample as inside the steady part."""
        self.steady.append(len(self.samples) - 1)

    def not_before(self, starts: Mapping[str, float]) -> None:
        """Take back marks of samples read before the last process had begun.

        Args:
            starts: on the hosts' own clocks, by ``host#number``.
        """
        if not starts:
            self.steady.clear()
            return
        last = max(self.clocks.ours(host.partition("#")[0], at) for host, at in starts.items())
        self.steady = [
            number
            for number in self.steady
            if self.clocks.ours(self.observer.name, self.samples[number].start) >= last
        ]


_AT_A_TIME = 4
"""Processes of perfquery at a time on the observer: they share its adapter's queue."""


def _blocks(
    result: CommandResult | TransportError,
) -> tuple[tuple[perfquery.CounterBlock, ...], float, float] | NotSeen:
    """What one process printed, and when it began and ended."""
    bad = why_not("the load of cables", "perfquery", result)
    if bad is not None or isinstance(result, TransportError):
        return bad or NotSeen("the load of cables", str(result))
    try:
        blocks = perfquery.parse(result.text)
    except ParseError as error:
        return NotSeen("the load of cables", f"perfquery: {result.host}: {error}")
    if result.start is None or result.end is None:
        return NotSeen("the load of cables", f"perfquery: {result.host}: its time is not known")
    return blocks, result.start, result.end


def _keep(
    query: Query,
    block: perfquery.CounterBlock,
    at: float,
    file: str,
    readings: dict[tuple[PortId, str], Reading],
    *,
    extended: bool,
) -> None:
    port = query.ports.get(-1 if block.port is None else block.port)
    if port is None:
        return
    for name in (XMIT, RCV, WAIT) if extended else (WAIT,):
        reading = _reading(block, name, at, file)
        if reading is not None and (extended or not _has(readings, port)):
            readings[port, name] = reading


def _has(readings: Mapping[tuple[PortId, str], Reading], port: PortId) -> bool:
    reading = readings.get((port, WAIT))
    return reading is not None and reading.bits == EXTENDED_BITS


def _reading(block: perfquery.CounterBlock, name: str, time: float, file: str) -> Reading | None:
    if name not in block.counters:
        return None
    line, printed = block.lines.get(name), block.printed.get(name, name)
    if name in block.unsupported:
        return Reading(0, 0, time, file, line, printed)
    bits = block.bits(name) or WIDTH[name]
    return Reading(block.counters[name], bits, time, file, line, printed)

"""The cables of a job while it runs: samples, and which of them lie in the steady part.

Every time is of the host that reads, around each read. The end of the steady part is known by
order, not by clocks: a sample counts where it was complete before any process was seen to end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ibaccept import commands
from ibaccept.fabric.counters import EXTENDED_BITS, WIDTH
from ibaccept.fabric.model import PortId
from ibaccept.load.cables import Query
from ibaccept.load.clocks import Clocks
from ibaccept.observe.outputs import file_of, last_line, parsed, whole
from ibaccept.parse import ParseError, perfquery, perfquery_each
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import CommandResult, Transport, TransportError
from ibaccept.transport.fanout import run_many
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

XMIT, RCV, WAIT = "PortXmitData", "PortRcvData", "PortXmitWait"


@dataclass(frozen=True, slots=True)
class WatchReading:
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
        in_tools: seconds all reads took together; `AT_A_TIME` of them ran side by side.
    """

    readings: Mapping[tuple[PortId, str], WatchReading]
    start: float
    end: float
    longest: float
    why: Mapping[PortId, str]
    in_tools: float = 0.0


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
        clocks: learn from every result.
    """

    transport: Transport
    observer: InventoryHost
    queries: Sequence[Query]
    clocks: Clocks = field(default_factory=Clocks)
    samples: list[Sample] = field(default_factory=list)
    steady: list[int] = field(default_factory=list)
    problems: dict[str, NotSeen] = field(default_factory=dict)
    before: Sample | None = None
    after: Sample | None = None
    _single: set[tuple[Query, bool]] = field(default_factory=set)
    _basic: dict[Query, bool] = field(default_factory=dict)

    def sample(self) -> Sample | None:
        """Read every port once; None where nothing could be read at all."""
        readings: dict[tuple[PortId, str], WatchReading] = {}
        why: dict[PortId, str] = {}
        times: list[tuple[float, float]] = []
        for one_sent, result in self._run(list(self._commands())):
            if isinstance(result, CommandResult):
                self.clocks.note(result)
            for query, ports, reply in _replies(one_sent, result):
                if isinstance(reply, NotSeen):
                    self._not_read(one_sent, query, ports, reply, why)
                    continue
                times.append((reply.start, reply.end))
                for block in reply.blocks:
                    # one query takes microseconds, starting the tool nearly all of the time
                    _keep(query, block, reply, readings, extended=one_sent.extended)
                for port in ports if one_sent.extended else ():
                    if (query.ports[port], XMIT) not in readings:
                        why[query.ports[port]] = f"perfquery printed nothing of port {port}"
        if not times:
            return None
        taken = Sample(
            readings,
            min(start for start, _ in times),
            max(end for _, end in times),
            max(end - start for start, end in times),
            why,
            sum(end - start for start, end in times),
        )
        self.samples.append(taken)
        return taken

    def _run(self, sent: Sequence[_Sent]) -> Iterator[tuple[_Sent, CommandResult | TransportError]]:
        """First those that read switches whole, which call sudo by themselves, then the others."""
        for each in (True, False):
            some = [one_sent for one_sent in sent if one_sent.is_each is each]
            results = run_many(
                self.transport,
                [(self.observer.transport, one_sent.argv) for one_sent in some],
                timeout=commands.PERFQUERY_EACH.timeout,
                limit=commands.PERFQUERY_EACH.limit(max((len(a.queries) for a in some), default=0)),
                root=not each,
                fan_out=AT_A_TIME,
                keep_open=True,
            )
            yield from zip(some, results, strict=True)

    def _not_read(
        self,
        one_sent: _Sent,
        query: Query,
        ports: Sequence[int],
        part: NotSeen,
        why: dict[PortId, str],
    ) -> None:
        which = f" port {ports[0]}" if len(ports) == 1 else ""
        key = f"LID {query.lid}{which}"
        self.problems[key] = replace(part, what=f"{part.what} at {key}")
        if one_sent.extended:
            why.update({query.ports[port]: part.reason for port in ports})
        if one_sent.is_each and part.what == _ONE_SWITCH:
            # one port that does not answer hides the others: from now on one by one
            self._single.add((query, one_sent.extended))

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

    def _commands(self) -> Iterator[_Sent]:
        """What to send for one sample: a few sessions, each for its share of the switches."""
        hca = self.observer.ib_hca[0] if self.observer.ib_hca else None
        port = self.observer.ib_port
        for extended in (True, False):
            wanted = [q for q in self.queries if extended or self._basic.get(q)]
            switches = [q for q in wanted if q.is_switch and (q, extended) not in self._single]
            for number in range(min(AT_A_TIME, len(switches))):
                some = tuple(switches[number::AT_A_TIME])
                yield _Sent(
                    commands.PERFQUERY_EACH.argv(
                        as_root="sudo -n --" if self.observer.transport.sudo else "",
                        wide="-x" if extended else "",
                        adapter=hca or "",
                        adapter_port="" if port is None else port,
                        lids=",".join(str(int(query.lid)) for query in some),
                    ),
                    some,
                    extended,
                )
            one = commands.PERFQUERY_X if extended else commands.PERFQUERY
            for query in wanted:
                for number in () if query in switches else query.ports:
                    argv = one.argv(hca=hca, hca_port=port, lid=int(query.lid), port=number)
                    yield _Sent(argv, (query,), extended, number)

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


AT_A_TIME = 4
"""Processes of perfquery at a time on the observer: they share its adapter's queue."""

_ONE_SWITCH = "the load of the cables of one switch"
_CABLES = "the load of cables"


@dataclass(frozen=True, slots=True)
class _Sent:
    """One command of a sample.

    Attributes:
        queries: that it answers; one where ``port`` is given.
        extended: the 64-bit set, not the basic one.
        port: it reads only this one; None: every port of each switch.
    """

    argv: tuple[str, ...]
    queries: tuple[Query, ...]
    extended: bool
    port: int | None = None

    @property
    def is_each(self) -> bool:
        """Whether it reads switches whole."""
        return self.port is None


@dataclass(frozen=True, slots=True)
class _Reply:
    """What one perfquery printed, and when it began and ended.

    Attributes:
        file: it was captured to.
        before: lines of the file before its own.
    """

    blocks: tuple[perfquery.CounterBlock, ...]
    start: float
    end: float
    file: str
    before: int


def _replies(
    one_sent: _Sent, result: CommandResult | TransportError
) -> Iterator[tuple[Query, list[int], _Reply | NotSeen]]:
    """Query by query, the ports to read and what was printed of them, or why nothing was."""
    step = "perfquery"
    if not one_sent.is_each:
        (query,), reply = one_sent.queries, _one(result)
        yield query, [one_sent.port or 0], reply
        return
    taken = whole(_CABLES, result, step=step)
    bad = taken if isinstance(taken, NotSeen) else None
    parts: dict[int, perfquery_each.Each] = {}
    if isinstance(result, CommandResult):
        try:
            parts = {part.lid: part for part in perfquery_each.parse(result.text)}
        except ParseError as error:
            bad = bad or NotSeen(_CABLES, f"{step}: {result.host}: {error}")
    host = result.host
    for query in one_sent.queries:
        part = parts.get(int(query.lid))
        lost = bad or NotSeen(
            _CABLES,
            f"{step}: {host}: it printed nothing of LID {query.lid}",
            "run perfquery there by hand",
        )
        if part is None or part.end is None or not isinstance(result, CommandResult):
            yield query, list(query.ports), lost
        else:
            yield query, list(query.ports), _of_switch(result, part, part.end)


def _of_switch(result: CommandResult, part: perfquery_each.Each, end: float) -> _Reply | NotSeen:
    where = f"perfquery: {result.host}: LID {part.lid}"
    if part.exit_code != 0:
        words = last_line(part.text) or "it printed nothing"
        return NotSeen(_ONE_SWITCH, f"{where}: exit code {part.exit_code}: {words}")
    try:
        blocks = perfquery.parse(part.text)
    except ParseError as error:
        return NotSeen(_ONE_SWITCH, f"{where}: {error}")
    return _Reply(blocks, part.start, end, file_of(result), part.line - 1)


def _one(result: CommandResult | TransportError) -> _Reply | NotSeen:
    """What a process of its own printed."""

    def read(taken: CommandResult) -> _Reply | NotSeen:
        blocks = perfquery.parse(taken.text)
        if taken.start is None or taken.end is None:
            return NotSeen(_CABLES, f"perfquery: {taken.host}: its time is not known")
        return _Reply(blocks, taken.start, taken.end, file_of(taken), 0)

    return parsed(_CABLES, result, read, step="perfquery")


def _keep(
    query: Query,
    block: perfquery.CounterBlock,
    reply: _Reply,
    readings: dict[tuple[PortId, str], WatchReading],
    *,
    extended: bool,
) -> None:
    port = query.ports.get(-1 if block.port is None else block.port)
    if port is None:
        return
    for name in (XMIT, RCV, WAIT) if extended else (WAIT,):
        reading = _reading(block, name, reply)
        if reading is not None and (extended or not _has(readings, port)):
            readings[port, name] = reading


def _has(readings: Mapping[tuple[PortId, str], WatchReading], port: PortId) -> bool:
    reading = readings.get((port, WAIT))
    return reading is not None and reading.bits == EXTENDED_BITS


def _reading(block: perfquery.CounterBlock, name: str, reply: _Reply) -> WatchReading | None:
    if name not in block.counters:
        return None
    time, line = (reply.start + reply.end) / 2, block.lines.get(name)
    seen = (
        reply.file,
        None if line is None else reply.before + line,
        block.printed.get(name, name),
    )
    if name in block.unsupported:
        return WatchReading(0, 0, time, *seen)
    return WatchReading(block.counters[name], block.bits(name) or WIDTH[name], time, *seen)

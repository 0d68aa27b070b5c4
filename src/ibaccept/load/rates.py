"""From samples to rates: each cable of a job, both directions, over the steady part of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from ibaccept.fabric.counters import WIDTH
from ibaccept.fabric.model import Fabric, Guid, PortId, Rate
from ibaccept.fabric.units import Bandwidth
from ibaccept.fabric.wording import reasons
from ibaccept.load.cables import CrossedCable, JobCables
from ibaccept.load.pace import Direction
from ibaccept.load.result import (
    CableRate,
    CableWatch,
    DirectedRate,
    LoadWindow,
    RateState,
    WaitRate,
)
from ibaccept.load.watch import RCV, WAIT, XMIT, Sample, Watch, WatchReading
from ibaccept.routing.forecast import Ceiling
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef, Counter, CounterState

OCTETS = 4
"""Octets in one unit of PortXmitData and PortRcvData."""

OVERHEAD, MTU = 26, 4096
"""Octets around the payload of an RC packet (LRH 8, BTH 12, ICRC 4, VCRC 2), and the usual MTU."""

ENDS_APART = 0.1
"""Share by which the two ends of a cable may count differently."""

Side = Literal["client", "storage"]
"""Whose cables."""

IDLE = 0.01
"""Share of its rate under which a cable's two ends are not compared: management is not load."""

HEADERS = (MTU + OVERHEAD) / MTU
"""Octets counted on a cable for each of payload."""


@dataclass(frozen=True, slots=True)
class Growth:
    """One counter over several samples: how much it grew, in how many seconds.

    Attributes:
        readings: the two that the state and the growth come from; empty where there are none.
    """

    state: RateState
    delta: int = 0
    seconds: float = 0.0
    why: str = ""
    readings: tuple[WatchReading, ...] = field(default=(), compare=False, repr=False)

    @property
    def per_second(self) -> float:
        """Units a second."""
        return self.delta / self.seconds


def growth(
    samples: Sequence[Sample], port: PortId, counter: str, label: str, *, gaps: bool = False
) -> Growth:
    """A counter over samples: every reading between counts, so that a clear cannot hide.

    Args:
        samples: in order.
        port: whose it is.
        counter: as perfquery prints it.
        label: the port, for sentences.
        gaps: samples between the first and the last may lack it.
    """
    if gaps:
        inside = [one for one in samples[1:-1] if (port, counter) in one.readings]
        samples = [samples[0], *inside, samples[-1]]
    read = [sample.readings.get((port, counter)) for sample in samples]
    for sample, reading in zip(samples, read, strict=True):
        if reading is None:
            why = sample.why.get(port) or f"perfquery printed no {counter}"
            return Growth(RateState.UNREAD, why=f"{label} {counter} was not read: {why}")
        if reading.bits == 0:
            why = f"{label} does not measure {counter}"
            return Growth(RateState.UNSUPPORTED, why=why, readings=(reading,))
        if reading.value >= (1 << reading.bits) - 1:
            why = f"{label} {counter} is saturated at {reading.value}: it can no longer grow"
            return Growth(RateState.SATURATED, why=why, readings=(reading,))
    known = [reading for reading in read if reading is not None]
    for before, after in pairwise(known):
        if after.value < before.value:
            why = (
                f"{label} {counter} fell from {before.value} to {after.value}: it was cleared "
                "during the run"
            )
            return Growth(RateState.CLEARED, why=why, readings=(before, after))
    if len(known) < 2 or known[-1].time <= known[0].time:  # noqa: PLR2004 - a difference takes two
        return Growth(RateState.UNREAD, why=f"{label} {counter} was not read twice in the run")
    first, last = known[0], known[-1]
    return Growth(
        RateState.OK, last.value - first.value, last.time - first.time, readings=(first, last)
    )


@dataclass(frozen=True, slots=True)
class _Ends:
    """One direction of a cable: what the sender sent, what the other end received, their names."""

    own: Growth
    theirs: Growth
    names: tuple[str, str]

    def contradiction(self) -> Growth:
        """The growth where both were read and do not agree."""
        gib = [grown.per_second * OCTETS / 2**30 for grown in (self.own, self.theirs)]
        return Growth(
            RateState.CLEARED,
            why=f"{self.names[0]} {XMIT} grew by {gib[0]:.1f} GiB/s, {self.names[1]} {RCV} at the "
            f"other end by {gib[1]:.1f} GiB/s: one of the two was cleared during the run, or "
            "stands still",
        )

    def counters(self, wait: Growth | None) -> tuple[Counter, ...]:
        """Both ends' data counters, and what the sender waited."""
        rows = (
            (XMIT, self.names[0], self.own),
            (RCV, self.names[1], self.theirs),
            (WAIT, self.names[0], wait),
        )
        return tuple(
            _counter(name, port, grown)
            for name, port, grown in rows
            if grown is not None and grown.readings
        )

    @property
    def captures(self) -> tuple[CaptureRef, ...]:
        """Lines of the readings of both ends."""
        readings = (*self.own.readings, *self.theirs.readings)
        return tuple(reading.capture for reading in readings if reading.file)


def _counter(name: str, port: str, grown: Growth) -> Counter:
    first, last = grown.readings[0], grown.readings[-1]
    once = len(grown.readings) == 1
    return Counter(
        name,
        port,
        None if once else first.value,
        last.value,
        None if once else last.time - first.time,
        last.bits or WIDTH[name],
        CounterState(grown.state.value),
    )


def window_of(steady: Sequence[Sample]) -> LoadWindow:
    """The steady part that these samples span: two or more."""
    return LoadWindow(
        steady[0].start, steady[-1].end, len(steady), max(sample.longest for sample in steady)
    )


class Reckoning:
    """Rates of the cables of a job from the samples of one run."""

    def __init__(
        self,
        fabric: Fabric,
        cables: JobCables,
        watch: Watch,
        ceilings: Mapping[Rate, Ceiling],
    ) -> None:
        self._fabric = fabric
        self._cables = cables
        self._watch = watch
        self._ceilings = ceilings

    def watch(self, run: str, direction: Direction) -> CableWatch | NotSeen:
        """Everything of one run; NotSeen where no two samples lie in its steady part.

        Args:
            run: its name.
            direction: of the data.
        """
        steady = self.steady
        if len(steady) < 2:  # noqa: PLR2004 - a difference takes two
            count = {0: "no sample lies", 1: "one sample lies"}[len(steady)]
            return NotSeen(
                f"the cables during {run}",
                f"{self._watch.observer.name}: {count} inside the steady part of the run"
                f"{self._why()}",
                "see why perfquery could not read them there"
                if self._watch.problems
                else "let it run longer: more duration, or a larger data set",
            )
        window = window_of(steady)
        if window.seconds <= 0:
            return NotSeen(
                f"the cables during {run}",
                f"{self._watch.observer.name}: its clock did not go forward between the readings",
                "let it follow the site's time server",
            )
        waits = self._waits(steady)
        rates = tuple(self._cable(cable, direction, steady, waits) for cable in self._cables.cables)
        return CableWatch(
            run,
            direction,
            window,
            rates,
            (*self._cables.problems, *self._watch.problems.values()),
        )

    def cleared(self, before: Sample | None) -> dict[PortId, str]:
        """Ports of which a counter fell between two readings, a sentence each.

        Args:
            before: the last sample of an earlier run, read by the same observer.
        """
        samples = self._watch.samples if before is None else [before, *self._watch.samples]
        found: dict[PortId, str] = {}
        for query in self._watch.queries:
            for port in query.ports.values():
                label = self._fabric.port_name(port)
                for counter in (XMIT, RCV, WAIT):
                    read = [one for one in samples if (port, counter) in one.readings]
                    grown = growth(read, port, counter, label) if read else None
                    if grown is not None and grown.state is RateState.CLEARED:
                        found.setdefault(port, grown.why)
        return found

    def _why(self) -> str:
        why = reasons(problem.reason for problem in self._watch.problems.values())
        return f" ({why})" if why else ""

    @property
    def steady(self) -> list[Sample]:
        """Samples of the steady part."""
        return [self._watch.samples[number] for number in self._watch.steady]

    def toward(self, kind: Side, direction: Direction, *, whole: bool) -> Growth:
        """Octets on all cables of one kind, in the direction of the data, and the seconds.

        Args:
            kind: whose cables.
            direction: of the data.
            whole: from the sample before the run to the one after it, not the steady part.
        """
        samples = self._watch.samples if whole else self.steady
        if whole and (self._watch.before is None or self._watch.after is None):
            when = "before" if self._watch.before is None else "after"
            why = f"the cables were not read {when} the run{self._why()}"
            return Growth(RateState.UNREAD, why=why)
        if len(samples) < 2:  # noqa: PLR2004 - as in watch
            why = f"the cables were not read twice in the run{self._why()}"
            return Growth(RateState.UNREAD, why=why)
        if kind in self._cables.lacking:
            return Growth(RateState.UNREAD, why=self._cables.lacking[kind])
        total, seconds = 0.0, 0.0
        for cable in self._cables.cables:
            if cable.kind == kind:
                sender = cable.to_clients if direction == "read" else cable.to_storage
                grown = self._sent(cable, sender, samples, gaps=whole)
                if grown.state is not RateState.OK:
                    return grown
                # each cable has its own two times; bring all to the same length
                total += grown.delta if whole else grown.per_second
                seconds = max(seconds, grown.seconds)
        if not seconds:
            return Growth(RateState.UNREAD, why=f"no cable of a {kind} was read")
        return Growth(RateState.OK, round(total * OCTETS), seconds if whole else 1.0)

    def _cable(
        self,
        cable: CrossedCable,
        direction: Direction,
        steady: Sequence[Sample],
        waits: Mapping[PortId, WaitRate],
    ) -> CableRate:
        link, flows = cable.link, cable.flows(direction)
        return CableRate(
            link.key,
            self._fabric.link_name(link),
            cable.kind,
            cable.host,
            link.rate,
            self._directed(cable, cable.to_clients, flows[0], steady, waits),
            self._directed(cable, cable.to_storage, flows[1], steady, waits),
        )

    def _directed(
        self,
        cable: CrossedCable,
        sender: PortId,
        flows: int,
        steady: Sequence[Sample],
        waits: Mapping[PortId, WaitRate],
    ) -> DirectedRate:
        name = self._fabric.port_name(sender)
        ends = self._ends(cable, sender, steady)
        grown = self._chosen(cable, sender, steady, ends)
        wait = growth(steady, sender, WAIT, name) if self._is_read(sender) else None
        rate = percent = None
        if grown.state is RateState.OK:
            rate = Bandwidth(grown.per_second * OCTETS)
            percent = self._percent(cable, rate)
        return DirectedRate(
            sender,
            name,
            grown.state,
            rate,
            percent,
            waits.get(sender),
            grown.why,
            flows,
            ends.counters(wait),
            ends.captures,
        )

    def _percent(self, cable: CrossedCable, rate: Bandwidth) -> float | None:
        ceiling = None if cable.link.rate is None else self._ceilings.get(cable.link.rate)
        if ceiling is None:
            return None
        return 100 * rate.bytes_per_second / (ceiling.payload.bytes_per_second * HEADERS)

    def _sent(
        self, cable: CrossedCable, sender: PortId, samples: Sequence[Sample], *, gaps: bool = False
    ) -> Growth:
        """What a port sent, by its own counter or, where that was not read, by the other end's."""
        return self._chosen(cable, sender, samples, self._ends(cable, sender, samples, gaps=gaps))

    def _ends(
        self, cable: CrossedCable, sender: PortId, samples: Sequence[Sample], *, gaps: bool = False
    ) -> _Ends:
        other = next(end.id for end in cable.link.ends if end.id != sender)
        names = self._fabric.port_name(sender), self._fabric.port_name(other)
        return _Ends(
            growth(samples, sender, XMIT, names[0], gaps=gaps),
            growth(samples, other, RCV, names[1], gaps=gaps),
            names,
        )

    def _chosen(
        self, cable: CrossedCable, sender: PortId, samples: Sequence[Sample], ends: _Ends
    ) -> Growth:
        own, theirs = ends.own, ends.theirs
        if own.state is RateState.OK and theirs.state is RateState.OK:
            return own if self._agree(own, theirs, cable, samples) else ends.contradiction()
        if own.state is RateState.OK:
            return own
        if theirs.state is RateState.OK or not self._is_read(sender):
            return theirs
        return own

    @staticmethod
    def _agree(own: Growth, theirs: Growth, cable: CrossedCable, samples: Sequence[Sample]) -> bool:
        """Whether both ends of a cable counted the same, so far as the times of reading tell.

        A counter that was cleared and has grown past its old value again shows no fall: it only
        counts less than the other end.
        """
        more, less = sorted((own.per_second, theirs.per_second), reverse=True)
        rate = cable.link.rate
        if rate is None or more * OCTETS * 8e-9 < IDLE * rate.gbps:
            return True
        span = samples[-1].end - samples[0].start
        doubt = 2 * max(sample.longest for sample in samples) / span
        return less >= more * (1 - ENDS_APART - doubt)

    def _is_read(self, port: PortId) -> bool:
        return any(port in query.ports.values() for query in self._watch.queries)

    def _waits(self, steady: Sequence[Sample]) -> dict[PortId, WaitRate]:
        grown: dict[PortId, Growth] = {}
        for query in self._watch.queries:
            for port in query.ports.values():
                grown[port] = growth(steady, port, WAIT, self._fabric.port_name(port))
        by_switch: defaultdict[Guid, list[PortId]] = defaultdict(list)
        for port, one in grown.items():
            if one.state is RateState.OK:
                by_switch[port.guid].append(port)
        found = {port: WaitRate(port, one.state) for port, one in grown.items()}
        for ports in by_switch.values():
            values = sorted((grown[port].per_second for port in ports), reverse=True)
            for port in ports:
                rate = grown[port].per_second
                found[port] = WaitRate(
                    port, RateState.OK, rate, 1 + values.index(rate), len(values)
                )
        return found

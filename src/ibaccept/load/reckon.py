"""From samples to rates: each cable of a job, both directions, over the steady part of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ibaccept.forecast import Ceiling
from ibaccept.load.cables import Cable, JobCables
from ibaccept.load.inputs import Direction
from ibaccept.load.result import (
    Balance,
    CableRate,
    CableWatch,
    DirectedRate,
    RateState,
    WaitRate,
    Window,
)
from ibaccept.load.watch import RCV, WAIT, XMIT, Sample, Watch
from ibaccept.model import Fabric, Guid, PortId, Rate
from ibaccept.snapshot import NotSeen
from ibaccept.units import Bandwidth

OCTETS = 4
"""Octets in one unit of PortXmitData and PortRcvData."""

OVERHEAD, MTU = 26, 4096
"""Octets around the payload of an RC packet (LRH 8, BTH 12, ICRC 4, VCRC 2), and the usual MTU."""

HEADERS = (MTU + OVERHEAD) / MTU
"""Octets counted on a cable for each of payload."""


@dataclass(frozen=True, slots=True)
class Growth:
    """One counter over several samples: how much it grew, in how many seconds."""

    state: RateState
    delta: int = 0
    seconds: float = 0.0
    why: str = ""

    @property
    def per_second(self) -> float:
        """Units a second."""
        return self.delta / self.seconds


def growth(samples: Sequence[Sample], port: PortId, counter: str, label: str) -> Growth:
    """A counter over samples: every reading between counts, so that a clear cannot hide."""
    read = [sample.readings.get((port, counter)) for sample in samples]
    for sample, reading in zip(samples, read, strict=True):
        if reading is None:
            why = sample.why.get(port) or f"perfquery printed no {counter}"
            return Growth(RateState.UNREAD, why=f"{label} {counter} was not read: {why}")
        if reading.bits == 0:
            why = f"{label} does not measure {counter}"
            return Growth(RateState.UNSUPPORTED, why=why)
        if reading.value >= (1 << reading.bits) - 1:
            why = f"{label} {counter} is saturated at {reading.value}: it can no longer grow"
            return Growth(RateState.SATURATED, why=why)
    known = [reading for reading in read if reading is not None]
    for before, after in pairwise(known):
        if after.value < before.value:
            why = (
                f"{label} {counter} fell from {before.value} to {after.value}: somebody cleared it "
                "during the run"
            )
            return Growth(RateState.CLEARED, why=why)
    if len(known) < 2 or known[-1].time <= known[0].time:  # noqa: PLR2004 - a difference takes two
        return Growth(RateState.UNREAD, why=f"{label} {counter} was not read twice in the run")
    return Growth(RateState.OK, known[-1].value - known[0].value, known[-1].time - known[0].time)


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

    def watch(
        self,
        run: str,
        direction: Direction,
        balance: Callable[[Reckoning, Window], Balance | NotSeen],
    ) -> CableWatch | NotSeen:
        """Everything of one run; NotSeen where no two samples lie in its steady part.

        Args:
            run: its name.
            direction: of the data.
            balance: compares the bytes.
        """
        steady = self.steady
        if len(steady) < 2:  # noqa: PLR2004 - a difference takes two
            reasons = [problem.reason for problem in self._watch.problems.values()][:3]
            count = {0: "no sample lies", 1: "one sample lies"}[len(steady)]
            return NotSeen(
                f"the cables during {run}",
                f"{self._watch.observer.name}: {count} inside the steady part of the run"
                + (f" ({'; '.join(reasons)})" if reasons else ""),
                "let it run longer: more duration, or a larger data set",
            )
        window = Window(
            steady[0].start,
            steady[-1].end,
            len(steady),
            max(sample.longest for sample in steady),
        )
        waits = self._waits(steady)
        rates = tuple(self._cable(cable, steady, waits) for cable in self._cables.cables)
        return CableWatch(
            run,
            direction,
            window,
            rates,
            balance(self, window),
            (*self._cables.problems, *self._watch.problems.values()),
        )

    @property
    def steady(self) -> list[Sample]:
        """Samples of the steady part."""
        return [self._watch.samples[number] for number in self._watch.steady]

    def toward(self, kind: str, direction: Direction, *, whole: bool) -> Growth:
        """Octets on all cables of one kind, in the direction of the data, and the seconds.

        Args:
            kind: of cable: ``client``.
            direction: of the data.
            whole: from the sample before the run to the one after it, not the steady part.
        """
        samples = [self._watch.samples[0], self._watch.samples[-1]] if whole else self.steady
        total, seconds = 0.0, 0.0
        for cable in self._cables.cables:
            if cable.kind == kind:
                sender = cable.to_clients if direction == "read" else cable.to_storage
                grown = self._sent(cable, sender, samples)
                if grown.state is not RateState.OK:
                    return grown
                # each cable has its own two times; bring all to the same length
                total += grown.delta if whole else grown.per_second
                seconds = max(seconds, grown.seconds)
        if not seconds:
            return Growth(RateState.UNREAD, why=f"no cable of a {kind} was read")
        return Growth(RateState.OK, round(total * OCTETS), seconds if whole else 1.0)

    def _cable(
        self, cable: Cable, steady: Sequence[Sample], waits: Mapping[PortId, WaitRate]
    ) -> CableRate:
        link = cable.link
        return CableRate(
            link.key,
            self._fabric.link_name(link),
            cable.kind,
            cable.host,
            link.rate,
            self._directed(cable, cable.to_clients, cable.flows[0], steady, waits),
            self._directed(cable, cable.to_storage, cable.flows[1], steady, waits),
            cable.mixed,
        )

    def _directed(
        self,
        cable: Cable,
        sender: PortId,
        flows: int,
        steady: Sequence[Sample],
        waits: Mapping[PortId, WaitRate],
    ) -> DirectedRate:
        name = self._fabric.port_name(sender)
        grown = self._sent(cable, sender, steady)
        if grown.state is not RateState.OK:
            return DirectedRate(
                sender, name, grown.state, None, None, waits.get(sender), grown.why, flows
            )
        rate = Bandwidth(grown.per_second * OCTETS)
        ceiling = None if cable.link.rate is None else self._ceilings.get(cable.link.rate)
        percent = (
            None
            if ceiling is None
            else 100 * rate.bytes_per_second / (ceiling.payload.bytes_per_second * HEADERS)
        )
        return DirectedRate(
            sender, name, RateState.OK, rate, percent, waits.get(sender), flows=flows
        )

    def _sent(self, cable: Cable, sender: PortId, samples: Sequence[Sample]) -> Growth:
        """What a port sent, by its own counter or, where that was not read, by the other end's."""
        other = next(end.id for end in cable.link.ends if end.id != sender)
        own = growth(samples, sender, XMIT, self._fabric.port_name(sender))
        if own.state is RateState.OK:
            return own
        theirs = growth(samples, other, RCV, self._fabric.port_name(other))
        if theirs.state is RateState.OK or not self._is_read(sender):
            return theirs
        return own

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

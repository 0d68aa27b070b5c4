"""Proof for findings: what the snapshot holds about a link, a cable, a node or an output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import singledispatchmethod
from typing import Any

from ibaccept.checks.selector import AbsentNode
from ibaccept.fabric import counters
from ibaccept.fabric.model import Link, PortId
from ibaccept.observe.cabling import CableDifference
from ibaccept.observe.counters import Sweep
from ibaccept.observe.placement import PlacedCable, ReplacedNode
from ibaccept.observe.snapshot import Gap, Snapshot
from ibaccept.verdict import Coverage, Outcome, Subject, Verdict, by_line, finding
from ibaccept.verdict.absence import NotSeen, NotSeenError
from ibaccept.verdict.evidence import CaptureRef, Counter, CounterState, Proof, RouteRef

SHOWN = (*counters.FAULT_COUNTERS, *counters.REPORT_COUNTERS, "PortXmitData", "PortRcvData")
"""Counters of each end that go with a finding about a link."""

LINKS_SHOWN = 2
"""Links whose counters and lines go with a finding about several."""


@dataclass(frozen=True, slots=True)
class Aspect:
    """A judged thing that is no link: ``masters`` of the subnet managers, a count, an output.

    Attributes:
        kind: of the subject: ``subnet-manager``.
        name: of the subject, without measured values.
        links: links it is about, for counters and routes (the first few are shown).
        captures: lines that show it.
        command: argv, as typed, that shows it again.
        routes: routes that show it.
        counters: that show it; where there are none, those of the links in the longest window.
        guids: node GUIDs of the subject, one per port.
        ports: port numbers of the subject.
        missing: evidence that could not be had, a sentence each.
    """

    kind: str
    name: str
    links: tuple[Link, ...] = ()
    captures: tuple[CaptureRef, ...] = ()
    command: str = ""
    routes: RouteRef | None = None
    counters: tuple[Counter, ...] = ()
    guids: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    missing: tuple[str, ...] = ()


def unseen_verdict(part: NotSeen, expected: str) -> Verdict:
    """The verdict of an entry of which nothing could be judged; id and waivers are not in it.

    Args:
        part: what was not seen.
        expected: what the entry expects, in words.
    """
    lacking = finding(
        Subject("part", part.what),
        "error",
        expected=expected,
        found=part.reason,
        hint=part.hint,
        proof=Proof(captures=part.captures),
    )
    return Verdict(
        id="",
        kind="",
        nodeid="",
        outcome=Outcome.ERROR,
        sentence=f"{part.what} could not be seen, so nothing was judged (expected: {expected})",
        because="",
        coverage=Coverage(0, 0),
        findings=by_line(lacking),
    )


@dataclass
class Evidence:
    """Proves the findings of one test and keeps its verdict (an ``EvidenceSource``).

    Attributes:
        snapshot: what was seen.
        ordered: what the entry expects, in words.
        complete: fills in id, reason and waivers of a verdict.
        by_counters: the entry is about error counters, so the commands given with a finding about a
            link read these and not the state of the link.
        verdicts: what was recorded; a test that leaves this empty judged nothing.
    """

    snapshot: Snapshot
    ordered: str
    complete: Callable[[Verdict], Verdict] = field(default=lambda verdict: verdict)
    by_counters: bool = False
    verdicts: list[Verdict] = field(default_factory=list)

    def record(self, verdict: Verdict) -> Verdict:
        """Complete the verdict and keep it."""
        done = self.complete(verdict)
        self.verdicts.append(done)
        return done

    def unseen(self, part: NotSeen) -> Verdict:
        """The verdict of an entry whose part of the snapshot is not there. It is recorded."""
        return self.record(unseen_verdict(part, self.ordered))

    # -- subjects ----------------------------------------------------------------------------

    @singledispatchmethod
    def subject(self, item: Any) -> Subject:
        """Identity and name of a judged item; an item of an upper layer has an ``aspect``."""
        if hasattr(item, "aspect"):
            return self.subject(item.aspect())
        name = getattr(item, "name", None)
        return Subject("item", str(name if name is not None else item))

    @subject.register
    def _(self, item: Link) -> Subject:
        ends = (item.a.id, item.b.id)
        return Subject(
            "link",
            self.snapshot.fabric.link_name(item),
            tuple(str(end.guid) for end in ends),
            tuple(end.port for end in ends),
        )

    @subject.register
    def _(self, item: PlacedCable) -> Subject:
        if item.link is not None:
            return self.subject(item.link)
        guids = tuple(str(end.guid) for end in (item.a, item.b) if end is not None)
        ports = tuple(end.port for end in item.planned.ends)
        return Subject("cable", item.name, guids if len(guids) == len(ports) else (), ports)

    @subject.register
    def _(self, item: CableDifference) -> Subject:
        names = [cable.name for cable in item.planned] or [
            self.snapshot.fabric.link_name(link) for link in item.found
        ]
        ends: list[PortId] = []
        for cable in item.planned:
            ends += [end for end in (cable.a, cable.b) if end is not None]
        if not item.planned:
            ends += [end.id for link in item.found for end in link.ends]
        return Subject(
            "cable" if len(names) == 1 else "cables",
            ", ".join(names),
            tuple(str(end.guid) for end in ends),
            tuple(end.port for end in ends),
        )

    @subject.register
    def _(self, item: Aspect) -> Subject:
        return Subject(item.kind, item.name, item.guids, item.ports)

    @subject.register
    def _(self, item: AbsentNode) -> Subject:
        return Subject("node", item.name)

    @subject.register
    def _(self, item: Gap) -> Subject:
        return Subject("node", item.name)

    @subject.register
    def _(self, item: ReplacedNode) -> Subject:
        return Subject("node", item.name, (str(item.found),))

    # -- proofs -----------------------------------------------------------------------------

    @singledispatchmethod
    def proof(self, item: Any) -> Proof:
        """Counters of both ends, routes, captured lines and the command to see it again."""
        if hasattr(item, "aspect"):
            return self.proof(item.aspect())
        return Proof(again=self._ssh("iblinkinfo --line"))

    @proof.register
    def _(self, item: Link) -> Proof:
        return self._of_ports((item.a.id, item.b.id), item)

    @proof.register
    def _(self, item: PlacedCable) -> Proof:
        if item.link is not None:
            return self.proof(item.link)
        return self._of_ports([end for end in (item.a, item.b) if end is not None], None)

    @proof.register
    def _(self, item: CableDifference) -> Proof:
        ends: dict[PortId, None] = {}
        for cable in item.planned:
            ends.update(dict.fromkeys(end for end in (cable.a, cable.b) if end is not None))
        for link in item.found:
            ends.update(dict.fromkeys(end.id for end in link.ends))
        return self._of_ports(list(ends), item.found[0] if item.found else None)

    @proof.register
    def _(self, item: ReplacedNode) -> Proof:
        ports = [port.id for port in self.snapshot.fabric.nodes[item.found].ports.values()]
        return self._of_ports([port for port in ports if port in self.snapshot.lines][:1], None)

    @proof.register
    def _(self, item: AbsentNode) -> Proof:
        return Proof(
            again=self._ssh("iblinkinfo --line"),
            missing=(f"no line of the sweep names {item.name}",),
        )

    @proof.register
    def _(self, item: Gap) -> Proof:
        return Proof(captures=item.captures, again=self._ssh("ibnetdiscover"))

    @proof.register
    def _(self, item: Aspect) -> Proof:
        captures = list(item.captures)
        missing = list(item.missing)
        found: list[Counter] = list(item.counters)
        routes = item.routes
        for link in item.links[:LINKS_SHOWN]:
            captures += self._lines((link.a.id, link.b.id))
            if not item.counters:
                found += self._counters((link.a.id, link.b.id), missing)
            if routes is None:
                routes = self._routes(link, missing)
        again = self._ssh(item.command) if item.command else ""
        return Proof(tuple(found), routes, tuple(captures), again, tuple(missing))

    def _of_ports(self, ports: Sequence[PortId], link: Link | None) -> Proof:
        missing: list[str] = []
        found = tuple(self._counters(ports, missing))
        routes = self._routes(link, missing) if link is not None else None
        again = self._reading(ports, found) if self.by_counters else ""
        return Proof(
            found, routes, tuple(self._lines(ports)), again or self._state(ports), tuple(missing)
        )

    def _state(self, ports: Sequence[PortId]) -> str:
        """The command that shows width, speed and state of a link."""
        guid = next((p.guid for p in ports if self._is_switch(p)), ports[0].guid if ports else None)
        return self._ssh("iblinkinfo --line") + (f" | grep {guid}" if guid is not None else "")

    def _reading(self, ports: Sequence[PortId], found: Sequence[Counter]) -> str:
        """The commands that read error counters: of the ports where one grew, else of all.

        ``perfquery -x`` would read data counters alone: few switches have 64-bit error counters.
        """
        fabric = self.snapshot.fabric
        grown = {c.port for c in found if c.name in counters.FAULT_COUNTERS and c.delta}
        chosen = [p for p in ports if fabric.port_name(p) in grown] or ports
        lids = [(self._lid(port), port.port) for port in chosen]
        return "; ".join(
            self._ssh(f"perfquery {lid} {port}") for lid, port in lids if lid is not None
        )

    def _lid(self, port: PortId) -> int | None:
        """The LID by which a port is queried: its own, or that of its switch."""
        node, seen = self.snapshot.fabric.nodes.get(port.guid), self.snapshot.fabric.port(port)
        lid = node.lid if node is not None and node.is_switch else None
        if lid is None and seen is not None:
            lid = seen.lid
        return None if lid is None or not lid.is_unicast else int(lid)

    def _is_switch(self, port: PortId) -> bool:
        node = self.snapshot.fabric.nodes.get(port.guid)
        return node is not None and node.is_switch

    def _counters(self, ports: Sequence[PortId], missing: list[str]) -> Iterator[Counter]:
        window = self.snapshot.longest_window
        if window is None:
            missing.append("error and data counters were not read")
            return
        for port in ports:
            label = self.snapshot.fabric.port_name(port)
            if self.snapshot.fabric.port(port) is None:
                missing.append(f"counters of {label}: the port was not seen")
                continue
            unread: dict[str, None] = {}
            for name in SHOWN:
                counter = window.counter(port, name, label=label)
                if counter.state is CounterState.UNREAD:
                    why = window.why_unread(port, name)
                    if counters.COUNTERS[name].cap_bit is None:
                        unread[why] = None
                    continue
                yield counter
            missing += [f"counters of {label}: {why}" for why in unread]

    def _routes(self, link: Link, missing: list[str]) -> RouteRef | None:
        try:
            routes = self.snapshot.routes
        except NotSeenError as error:
            missing.append(f"routes: {error}")
            return None
        if routes.problems:
            missing += [f"routes: {problem}" for problem in routes.problems[:3]]
            return None
        crossing, of, examples = routes.crossing(link.key)
        return RouteRef(crossing, of, examples)

    def _lines(self, ports: Sequence[PortId]) -> Iterator[CaptureRef]:
        for port in ports:
            yield from self.snapshot.lines.get(port, ())
        window = self.snapshot.longest_window
        if window is not None:
            for port in ports:
                yield from _listed(window.after, port)

    def _ssh(self, command: str) -> str:
        return f"ssh {self.snapshot.observer} '{command}'" if self.snapshot.observer else command


def _listed(sweep: Sweep, port: PortId) -> Iterator[CaptureRef]:
    row = sweep.errors.get(port)
    if row is not None:
        yield CaptureRef(sweep.file, row.line, row.text.strip())

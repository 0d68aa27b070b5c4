"""What was seen of a fabric: one look, frozen. Parts that were not seen say why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ibaccept.fabric.lft import SwitchTable, TableLines
from ibaccept.fabric.model import Fabric, Guid, Lid, PortId
from ibaccept.observe.counters import Sweep
from ibaccept.observe.placement import PlacedCable, locate
from ibaccept.parse.ibstat import IbStat
from ibaccept.routing.paths import Routes
from ibaccept.site.inventory import Inventory
from ibaccept.site.plan import Plan, PlannedCable
from ibaccept.verdict.absence import NotSeen, seen
from ibaccept.verdict.evidence import CaptureRef, Counter, CounterState


@dataclass(frozen=True, slots=True)
class SeenManager:
    """One subnet manager, as ``sminfo LID`` answered for it.

    Attributes:
        guid: port GUID it runs on; a switch's own SM answers with the switch's node GUID.
        state: 3 = master, 2 = standby, 1 = discovering, 0 = not active; None from old tools.
        state_name: ``SMINFO_MASTER``.
        capture: the line it was read from.
    """

    guid: Guid
    lid: Lid
    priority: int
    state: int | None
    state_name: str | None
    capture: CaptureRef


MASTER, STANDBY = 3, 2


@dataclass(frozen=True, slots=True)
class SubnetManagers:
    """Every subnet manager the subnet's own SA names, and those of them that did not answer.

    Attributes:
        found: those that answered.
        silent: LIDs that the SA names and that gave no answer; or the SA named none.
        none: captured proof that there is no SM, where there is none.
        gone: there was one: its node answers, the SM does not.
    """

    found: tuple[SeenManager, ...] = ()
    silent: tuple[NotSeen, ...] = ()
    none: CaptureRef | None = None
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Gap:
    """A node or port that the sweep did not show, so it is in no selection: judged as not seen.

    Attributes:
        name: of the node or port.
        reason: why, a sentence.
        captures: what shows it.
        hint: what to do next, where it is another thing than after any gap.
        at: the port of a seen node behind which nothing was seen, where that is all of the gap.
        route: directed route of the query that got no answer, output ports hop by hop; empty
            where none is known.
    """

    name: str
    reason: str
    captures: tuple[CaptureRef, ...] = ()
    hint: str = ""
    at: PortId | None = None
    route: tuple[int, ...] = ()

    def not_seen(self, hint: str) -> NotSeen:
        """The gap as the answer for what it hides; ``hint`` is what to do after any gap."""
        return NotSeen(self.name, self.reason, self.hint or hint, self.captures)


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One sweep of the fabric.

    Attributes:
        observer: host that looked, None when no observer could be used.
        inventory: who is who.
        plan: the cabling plan, where the expectations name one.
        fabric_seen: topology with state and rate of every port.
        gaps: nodes that did not answer the topology sweep.
        absent: hosts that the run is about and the topology does not show, by inventory name.
        sweeps: counter sweeps by seconds after the first (0.0 is the first).
        managers_seen: subnet managers.
        tables_seen: forwarding tables.
        tables_file: capture of the tables.
        hosts: ``ibstat`` of the queried hosts.
        lines: captured lines about a port, for evidence.
        warnings: what a reader must know of the sweep as a whole.
        tools: versions.
    """

    observer: str | None
    inventory: Inventory
    plan: Plan | None
    fabric_seen: Fabric | NotSeen
    gaps: tuple[Gap, ...] = ()
    absent: tuple[Gap, ...] = ()
    sweeps: Mapping[float, Sweep | NotSeen] = field(default_factory=dict)
    managers_seen: SubnetManagers | NotSeen = field(
        default_factory=lambda: NotSeen("the subnet managers", "they were not looked for")
    )
    tables_seen: tuple[SwitchTable, ...] | NotSeen = field(
        default_factory=lambda: NotSeen("the forwarding tables", "they were not looked for")
    )
    tables_file: str | None = None
    hosts: Mapping[str, IbStat | NotSeen] = field(default_factory=dict)
    lines: Mapping[PortId, tuple[CaptureRef, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)

    def unseen(self) -> tuple[NotSeen, ...]:
        """Every part that was looked for and not seen, each once, in the order of the sweep."""
        parts = (
            self.fabric_seen,
            *self.sweeps.values(),
            self.managers_seen,
            self.tables_seen,
            *self.hosts.values(),
        )
        return tuple(dict.fromkeys(part for part in parts if isinstance(part, NotSeen)))

    @property
    def fabric(self) -> Fabric:
        """Nodes, ports and links.

        Raises:
            NotSeenError: the topology could not be read.
        """
        return seen(self.fabric_seen)

    @property
    def managers(self) -> SubnetManagers:
        """Subnet managers.

        Raises:
            NotSeenError: they could not be queried.
        """
        return seen(self.managers_seen)

    @property
    def tables(self) -> tuple[SwitchTable, ...]:
        """Forwarding tables.

        Raises:
            NotSeenError: they could not be read.
        """
        return seen(self.tables_seen)

    @property
    def open_gaps(self) -> tuple[Gap, ...]:
        """Gaps that can hide a cable between nodes that were seen, or a way through others.

        A cable whose two ends were seen is known from either end. So behind the only ports whose
        peer is not known, all of one node, no seen node is cabled: what is there is in no route
        between seen nodes. With such ports on several nodes it can be a cable between two of them,
        or a switch with cables to all.
        """
        ports = {gap.at for gap in self.gaps}
        if None in ports or len({port.guid for port in ports if port is not None}) > 1:
            return self.gaps
        return ()

    @cached_property
    def planned(self) -> Mapping[PlannedCable, PlacedCable]:
        """Every planned cable as the fabric shows it.

        Raises:
            NotSeenError: the fabric was not seen.
        """
        assert self.plan is not None  # noqa: S101 - read only where there is a plan
        return {cable.planned: cable for cable in locate(self.plan, self.fabric)}

    @cached_property
    def routes(self) -> Routes:
        """Every route, from the tables.

        Raises:
            NotSeenError: topology or tables could not be read.
        """
        return Routes(self.fabric, self.tables)

    def table_rows(self, switch: Guid, lids: Iterable[int]) -> tuple[CaptureRef, ...]:
        """The captured rows of a switch's forwarding table for these LIDs, header first."""
        lines = self._table_lines.get(switch)
        if lines is None or self.tables_file is None:
            return ()
        return tuple(CaptureRef(self.tables_file, row.line, row.text) for row in lines.of(lids))

    @cached_property
    def _table_lines(self) -> Mapping[Guid, TableLines]:
        tables = () if isinstance(self.tables_seen, NotSeen) else self.tables_seen
        return {table.guid: table.lines for table in tables if table.lines is not None}

    def window(self, seconds: float) -> Window:
        """Two sweeps, this many seconds apart (or a little more).

        Raises:
            NotSeenError: one of them could not be made.
        """
        return Window(seen(self.sweeps[0.0]), seen(self.sweeps[seconds]))

    @cached_property
    def longest_window(self) -> Window | None:
        """The first and the last sweep that worked, for evidence; None with less than one."""
        good = [s for _, s in sorted(self.sweeps.items()) if isinstance(s, Sweep)]
        return Window(good[0], good[-1]) if good else None


@dataclass(frozen=True, slots=True)
class Window:
    """Two sweeps and the time between them."""

    before: Sweep
    after: Sweep

    @property
    def between(self) -> float | None:
        """Seconds for which nothing was read: what every port's window holds at least."""
        if self.before.end is None or self.after.start is None:
            return None
        return self.after.start - self.before.end

    @property
    def seconds(self) -> float | None:
        """Between the middles of the two sweeps, by the clock of the host that read."""
        if self.before.middle is None or self.after.middle is None:
            return None
        return self.after.middle - self.before.middle

    def is_clean(self, port: PortId) -> bool:
        """True where every error counter of the port was 0 in both sweeps, and none was cleared."""
        return (
            self.before.is_clean(port) and self.after.is_clean(port) and self.why_void(port) is None
        )

    def fell(self, port: PortId) -> tuple[str, int, int] | None:
        """The first counter of a port that ran backwards, with both values.

        Counters only grow until they stick, and a clear clears any of them: one that ran backwards
        says nothing can be known of the growth of the others, also of those that read 0 twice.
        """
        if self._grew(port):
            return None
        before, after = self.before.listed(port), self.after.listed(port)
        for name, (value, bits) in before.items():
            later = after.get(name) or self.after.reading(port, name)
            if later is None or later.bits != bits or later.value >= value:
                continue
            return name, value, later.value
        return None

    def _grew(self, port: PortId) -> bool:
        """True where no error counter was listed and no data counter fell: nearly every port.

        The quick look of ``fell``, as a fabric has 100,000 ports.
        """
        if port in self.before.errors:
            return False
        before, after = self.before.data.get(port), self.after.data.get(port)
        if before is None or after is None or before.bits != after.bits:
            return False
        later = after.counters
        return before.counters.keys() == later.keys() and all(
            later[name] >= value for name, value in before.counters.items()
        )

    def why_void(self, port: PortId) -> str | None:
        """Why readings of a port that are equal do not show that nothing grew; None where they do.

        Without data counters a clear of counters that read 0 would not show.
        """
        if self.before is self.after:
            return None
        fell = self.fell(port)
        if fell is not None:
            name, before, after = fell
            return (
                f"{name} fell from {before} to {after}: the counters of this port were cleared "
                "within the window"
            )
        for sweep in (self.before, self.after):
            if port not in sweep.data:
                return "its data counters were not read, so that a clear would not show"
        return None

    def counter(self, port: PortId, name: str, *, label: str) -> Counter:
        """One counter over the window; ``label`` is the port's name for people."""
        before, after = self.before.reading(port, name), self.after.reading(port, name)
        if self.before is self.after and after is not None:
            # One reading: a value, and nothing about growth.
            state = CounterState.OK
            if after.value >= (1 << after.bits) - 1:
                state = CounterState.SATURATED
            return Counter(name, label, None, after.value, None, after.bits, state)
        bits = (after or before).bits if (after or before) is not None else 0  # type: ignore[union-attr] # one of them is there
        if before is not None and after is not None and before.bits != after.bits:
            # one sweep read the 32-bit set, the other the 64-bit one: no common maximum
            bits = min(before.bits, after.bits)
        if before is None and after is None:
            state = CounterState.UNREAD
            return Counter(name, label, None, None, self.seconds, bits, state)
        counter = Counter.between(
            name,
            label,
            before.value if before is not None else None,
            after.value if after is not None else None,
            seconds=self.seconds,
            bits=bits,
        )
        if counter.state is CounterState.OK and self.fell(port) is not None:
            return replace(counter, state=CounterState.CLEARED)
        return counter

    def why_unread(self, port: PortId, name: str) -> str:
        """Why a counter of this window is unread."""
        return self.before.why_unread(port, name) or self.after.why_unread(port, name) or "not read"

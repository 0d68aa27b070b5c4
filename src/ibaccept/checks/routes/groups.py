"""Groups of parallel cables, as items that a spread or a balance is judged by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ibaccept.checks.proof import Aspect
from ibaccept.checks.selector import nodes_named
from ibaccept.fabric import nodeset
from ibaccept.fabric.model import PortId
from ibaccept.observe.snapshot import Snapshot
from ibaccept.routing.crossings import over
from ibaccept.routing.even import EvenSpread, StageSpread
from ibaccept.routing.spread import Spread, SpreadGroup
from ibaccept.verdict.evidence import CaptureRef, RouteRef

ROWS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class CableGroup:
    """One group of parallel cables, as an item to judge.

    Attributes:
        index: of the group in ``of``.
        part: which of the job's LIDs are counted, where not all: ``base LIDs``.
        even: what even demands, where it is judged.
    """

    group: SpreadGroup
    index: int
    of: Spread
    snapshot: Snapshot
    part: str = ""
    even: EvenSpread | None = None

    @property
    def name(self) -> str:
        """``SwitchB -> SwitchA``."""
        part = f", {self.part}" if self.part else ""
        return f"{self.group.name} -> {nodeset.fold(self.group.towards)}{part}"

    def aspect(self) -> Aspect:
        """Identity, the fullest cable, and the captured rows of the table."""
        fullest = max(self.of.rows_of(self.index), key=lambda row: row.count)
        link = self.snapshot.fabric.link_at.get(fullest.port)
        node = self.snapshot.fabric.nodes[self.group.switch]
        return Aspect(
            "cables",
            self.name,
            links=() if link is None else (link,),
            captures=self._lines(),
            command=f"ibroute {node.lid}" if node.lid is not None else "dump_fts -n",
            routes=_of_the_job(self.snapshot, self.of.sources, self.of.lids, fullest.port),
            guids=(str(self.group.switch),) * len(self.group.ports),
            ports=self.group.ports,
        )

    def _lines(self) -> tuple[CaptureRef, ...]:
        """The captured rows of the switch's table for LIDs on its two fullest cables."""
        rows = sorted(self.of.rows_of(self.index), key=lambda row: -row.count)
        lids = [lid for row in rows[:2] for lid in row.lids_job]
        return self.snapshot.table_rows(self.group.switch, lids[:ROWS_SHOWN])


@dataclass(frozen=True, slots=True)
class Arriving:
    """Cables that two or more switches send into, as an item to judge; see `StageSpread`.

    Attributes:
        sources: LIDs of the job that send.
        lids: LIDs of the job that receive.
        part: as in `CableGroup`.
    """

    stage: StageSpread
    snapshot: Snapshot
    sources: tuple[int, ...]
    lids: tuple[int, ...]
    part: str = ""

    @property
    def name(self) -> str:
        """``spine[01-02] -> leaf01, arriving``."""
        part = f", {self.part}" if self.part else ""
        stage = self.stage
        return f"{nodeset.fold(stage.before)} -> {nodeset.fold(stage.after)}, arriving{part}"

    def aspect(self) -> Aspect:
        """Identity, the fullest cable, and the captured rows of the table before it."""
        fullest = (*self.stage.over, max(self.stage.rows, key=lambda row: row.pairs))[0]
        link = self.snapshot.fabric.link_at.get(fullest.port)
        node = self.snapshot.fabric.nodes[fullest.port.guid]
        return Aspect(
            "cables",
            self.name,
            links=() if link is None else (link,),
            captures=self.snapshot.table_rows(node.guid, fullest.lids[:ROWS_SHOWN]),
            command=f"ibroute {node.lid}" if node.lid is not None else "dump_fts -n",
            routes=_of_the_job(self.snapshot, self.sources, self.lids, fullest.port),
            guids=tuple(str(row.port.guid) for row in self.stage.rows),
            ports=tuple(row.port.port for row in self.stage.rows),
        )


def _of_the_job(
    snapshot: Snapshot, sources: Sequence[int], lids: Sequence[int], port: PortId
) -> RouteRef | None:
    """The job's own pairs over a cable; None where all pairs of the fabric are meant."""
    if not sources or not lids:
        return None
    return over(snapshot.routes, sources, lids, port)


def arriving_at(
    snapshot: Snapshot, even: EvenSpread, group: tuple[str, str] | None, part: str = ""
) -> list[Arriving]:
    """The cables of several switches that an entry judges."""
    found = [
        Arriving(stage, snapshot, even.found.sources, even.found.lids, part)
        for stage in even.stages
    ]
    if group is None:
        return found
    a, b = (nodes_named(text, snapshot.fabric, snapshot.inventory) for text in group)

    def between(stage: StageSpread) -> bool:
        before, after = {row.port.guid for row in stage.rows}, set(stage.guids)
        return bool((before & a and after & b) or (before & b and after & a))

    return [one for one in found if between(one.stage)]


def groups_of(
    snapshot: Snapshot,
    found: Spread,
    group: tuple[str, str] | None,
    *,
    single: bool = False,
    part: str = "",
    even: EvenSpread | None = None,
) -> list[CableGroup]:
    """The groups an entry judges.

    Args:
        snapshot: what was seen.
        found: a spread.
        group: ``group:`` of the entry: only cables between these two sides.
        single: also groups of one cable, where there is nothing to spread.
        part: see ``CableGroup``.
        even: see ``CableGroup``.
    """
    chosen = _sides(snapshot, group)
    return [
        CableGroup(one, index, found, snapshot, part, even)
        for index, one in enumerate(found.groups)
        if (single or len(one.ports) > 1) and chosen(found, index)
    ]


def _sides(snapshot: Snapshot, group: tuple[str, str] | None) -> Callable[[Spread, int], bool]:
    if group is None:
        return lambda _found, _index: True
    a, b = (nodes_named(text, snapshot.fabric, snapshot.inventory) for text in group)

    def between(found: Spread, index: int) -> bool:
        here = found.groups[index].switch
        there = {row.towards.guid for row in found.rows_of(index) if row.towards is not None}
        return (here in a and bool(there & b)) or (here in b and bool(there & a))

    return between


def hosts_folded(lids: Iterable[int], names: Mapping[int, str]) -> str:
    """The hosts of LIDs, once each: ``client-[1,3]``."""
    return nodeset.fold(tuple(dict.fromkeys(names.get(lid, f"LID-{lid}") for lid in lids)))

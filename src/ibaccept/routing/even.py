"""Whether a job's LIDs are spread as evenly as a static table can spread them.

Two things are judged. *Groups*: the cables each switch chooses among, by LIDs
(`ibaccept.routing.spread`). *Stages*: the cables that several switches send into, by pairs
(`ibaccept.routing.stages`). Each has an even share. Where a table exists that gives all of them
theirs, that is demanded; otherwise what the best table known reaches
(`ibaccept.routing.attainable`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ibaccept.fabric.model import Guid, PortId
from ibaccept.routing.attainable import Attainable, Best, Measure, entries_of
from ibaccept.routing.paths import Routes
from ibaccept.routing.spread import Spread, spread
from ibaccept.routing.stages import Ints, JobStages, Stage
from ibaccept.routing.tables import PORTS, CablingArrays


@dataclass(frozen=True, slots=True)
class StageRow:
    """One cable of a stage.

    Attributes:
        port: output port of the switch that sends.
        name: that port for people, ``spine01/3``.
        towards: the port at the other end.
        towards_name: that port for people.
        pairs: of the job, over this cable.
        lids: destination LIDs of those pairs.
        limit: pairs it may carry.
        usable: it is on a shortest route; another one that leads to the same switch may carry as
            much as the fullest of the usable.
    """

    port: PortId
    name: str
    towards: PortId | None
    towards_name: str
    pairs: int
    lids: tuple[int, ...]
    limit: int
    usable: bool = True


@dataclass(frozen=True, slots=True)
class StageSpread:
    """The cables of several switches that pairs of the job choose among, and what they carry.

    Attributes:
        before: names of the switches that send into the cables.
        after: names of the switches at the other ends.
        guids: node GUIDs of those.
        lids: destination LIDs of the job's pairs over the stage.
        pairs: of the job.
        share: pairs on the fullest cable where all are spread evenly.
        rows: every cable.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    guids: tuple[Guid, ...]
    lids: int
    pairs: int
    share: int
    rows: tuple[StageRow, ...]

    @property
    def worst(self) -> int:
        """Pairs on the fullest cable as the tables are."""
        return max(row.pairs for row in self.rows)

    @property
    def usable(self) -> int:
        """Cables on shortest routes."""
        return sum(row.usable for row in self.rows)

    @property
    def limit(self) -> int:
        """Pairs that the fullest cable may carry."""
        return max(row.limit for row in self.rows)

    @property
    def over(self) -> tuple[StageRow, ...]:
        """Cables that carry more than they may, the fullest first."""
        found = [row for row in self.rows if row.pairs > row.limit]
        return tuple(sorted(found, key=lambda row: (-row.pairs, row.port)))


@dataclass(frozen=True)
class EvenSpread:
    """What even means for one direction of a job.

    Attributes:
        found: the spread that is judged.
        stages: cables that several switches send into.
        limits: LIDs that the fullest cable of each group may carry, in the order of the groups.
        notes: where the even share of a single group is not what is demanded, and why.
    """

    found: Spread
    stages: tuple[StageSpread, ...]
    limits: tuple[int, ...]
    notes: tuple[str, ...]

    def is_over(self, index: int) -> bool:
        """True where a group has a cable with more LIDs than a table must put there."""
        group, limit = self.found.groups[index], self.limits[index]
        return group.over > 0 if limit == group.bound else group.worst > limit


def even_spread(routes: Routes, found: Spread) -> EvenSpread:
    """Hold a spread against what a static table can reach.

    Args:
        routes: the routes of the fabric.
        found: a spread of a job, as `ibaccept.routing.spread.spread` counts it.
    """
    stages = JobStages(routes, found.sources, found.lids)
    loads = stages.loads(routes)
    attainable = Attainable(stages)
    measure = attainable.measure(loads)
    is_choice = any(group.over and group.peers > 1 for group in found.groups)
    best = attainable.best if measure.excess or is_choice else None
    allowed = _allowed(attainable, measure, loads, best)
    demanded = best is None or (not best.measure.excess and _is_even(routes, best, found))
    limits = tuple(
        _limit(found, index, None if demanded else (loads, allowed), routes)
        for index in range(len(found.groups))
    )
    strays = _strays(routes, stages.stages, loads)
    several = [
        (stage, codes)
        for stage, codes in zip(stages.stages, strays, strict=True)
        if len({code // PORTS for code in (*stage.cables, *codes)}) > 1
    ]
    over = stages.lids_over(code for stage, codes in several for code in (*stage.cables, *codes))
    return EvenSpread(
        found,
        tuple(_stage(routes, stage, codes, (loads, allowed), over) for stage, codes in several),
        limits,
        () if best is None or demanded else (_note(best),),
    )


def _allowed(attainable: Attainable, measure: Measure, loads: Ints, best: Best | None) -> Ints:
    """Pairs each output port may carry, shape (switches * 256,)."""
    shares = attainable.limits(Fraction(0))
    if best is None or not best.measure.excess:
        return shares
    if not best.measure < measure:
        return np.maximum(shares, loads)
    if best.measure.peak < measure.peak:
        return attainable.limits(best.measure.peak)
    return np.maximum(shares, attainable.improved(loads))


def _is_even(routes: Routes, best: Best, found: Spread) -> bool:
    """Whether in the best table each switch's own choice is even too."""
    there = spread(entries_of(routes, best.layout), found.sources, found.lids)
    return all(not group.over or group.peers == 1 for group in there.groups)


def _limit(found: Spread, index: int, pairs: tuple[Ints, Ints] | None, routes: Routes) -> int:
    """LIDs the fullest cable of a group may carry.

    Args:
        found: the spread.
        index: of the group.
        pairs: by output port, those it carries and those it may; None where every group is to have
            its even share.
        routes: of the fabric.
    """
    group = found.groups[index]
    # Between cables to one next switch LIDs can be moved without a change anywhere else.
    if not group.over or group.peers == 1 or pairs is None:
        return group.bound
    loads, allowed = pairs
    number = routes.cabling.number[group.switch]
    most = group.bound
    is_over = False
    for row in found.rows_of(index):
        code = number * PORTS + row.port.port
        carried, may = int(loads[code]), int(allowed[code])
        is_over |= carried > may
        if carried:
            most = max(most, row.count * min(may, carried) // carried)
    return min(most, group.worst - 1) if is_over else group.worst


def _strays(routes: Routes, stages: Sequence[Stage], loads: Ints) -> list[tuple[int, ...]]:
    """By stage: used cables of no stage that lead to a switch its cables lead to."""
    target = routes.cabling.target.reshape(-1)
    placed = {code for stage in stages for code in stage.cables}
    used = np.flatnonzero((loads > 0) & routes.cabling.isl.reshape(-1)).tolist()
    into: dict[int, list[int]] = {}
    for code in used:
        if code not in placed:
            into.setdefault(int(target[code]), []).append(code)
    found: list[tuple[int, ...]] = []
    for stage in stages:
        after = sorted({int(target[code]) for code in stage.cables})
        found.append(tuple(code for switch in after for code in into.pop(switch, [])))
    return found


def _stage(
    routes: Routes,
    stage: Stage,
    strays: tuple[int, ...],
    pairs: tuple[Ints, Ints],
    lids: Mapping[int, tuple[int, ...]],
) -> StageSpread:
    """What the cables of a stage carry and may carry, those on no shortest route included."""
    cabling = routes.cabling
    loads, allowed = pairs
    rows: list[StageRow] = []
    after: set[Guid] = set()
    for code in sorted((*stage.cables, *strays)):
        number, port = divmod(code, PORTS)
        here = PortId(cabling.switches[number], port)
        there = cabling.neighbour(number, port)
        if there is not None:
            after.add(there.guid)
        usable = code in stage.cables
        rows.append(
            StageRow(
                here,
                routes.fabric.port_name(here),
                there,
                "" if there is None else routes.fabric.port_name(there),
                int(loads[code]),
                lids[code],
                int(allowed[code]) if usable else int(allowed[list(stage.cables)].max()),
                usable,
            )
        )
    return StageSpread(
        before=_names(cabling, (row.port.guid for row in rows)),
        after=_names(cabling, after),
        guids=tuple(sorted(after)),
        lids=stage.lids,
        pairs=stage.pairs,
        share=max(stage.shares),
        rows=tuple(rows),
    )


def _names(cabling: CablingArrays, guids: Iterable[Guid]) -> tuple[str, ...]:
    return tuple(sorted({cabling.node_name(guid) for guid in guids}))


def _note(best: Best) -> str:
    """Against what a spread is judged where the even shares cannot all be had."""
    which = (
        "the best that any static table can do"
        if best.proven
        else "the best table that was found, which is not proven to be the best there is"
    )
    if not best.measure.excess:
        return (
            "the even share of each switch's own choice is not demanded where that choice decides "
            f"how cables further on are filled: judged by {which}"
        )
    return (
        "no static table is known to give every cable its even share at once: judged by "
        f"{which}, with {_pairs(best)} on the fullest cable above its share"
    )


def _pairs(best: Best) -> str:
    most = int(best.layout.loads[best.fullest])
    return f"{most:,} pair{'' if most == 1 else 's'}"

"""The whole comparison of two runs, and its JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter

from ibaccept.compare.findings import (
    Change,
    EntryChange,
    Presence,
    changes,
    entry_changes,
    is_unknown,
    is_worse,
)
from ibaccept.compare.growth import GrowthBetween, growth
from ibaccept.compare.hardware import HardwareChange, hardware_changes
from ibaccept.compare.past import PastRun
from ibaccept.compare.rates import RateChange, rate_changes
from ibaccept.compare.routes import RouteChanges, route_changes
from ibaccept.fabric.model import Guid, PortId
from ibaccept.load.result import LoadRuns
from ibaccept.observe.snapshot import Snapshot
from ibaccept.verdict import Subject
from ibaccept.verdict.absence import NotSeen, NotSeenError, seen

SCHEMA: Literal[1] = 1

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunSide:
    """One of the two runs, as both reports name it."""

    folder: str
    fabric: str
    started: str
    result: str
    observer: str = ""
    job: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two runs of one fabric.

    Attributes:
        warnings: what a reader must know first: other fabric, job, order or observer.
        findings: see ``findings.changes``.
        entries: entries with another outcome.
        hardware: cables, nodes, rates, LIDs, firmware; or why it is not known.
        counters: growth between the runs; or why it is not known.
        routes: changed table entries; or why they are not known.
        rates: load runs side by side; empty where neither made any.
    """

    schema: Literal[1]
    old: RunSide
    new: RunSide
    warnings: tuple[str, ...]
    findings: tuple[Change, ...]
    entries: tuple[EntryChange, ...]
    hardware: tuple[HardwareChange, ...] | NotSeen
    counters: GrowthBetween | NotSeen
    routes: RouteChanges | NotSeen
    rates: tuple[RateChange, ...] | NotSeen

    @property
    def is_worse(self) -> bool:
        """True where a finding is new and no waiver covers it."""
        return is_worse(self.findings)

    @property
    def is_unknown(self) -> bool:
        """True where nothing is new, but a finding of the old run was not judged again."""
        return not self.is_worse and is_unknown(self.findings)


_COMPARISON = TypeAdapter(Comparison)


def dump(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON data. An absence is a mapping with ``what`` and ``reason``."""
    return dict(_COMPARISON.dump_python(comparison, mode="json"))


def compare(old: PastRun, new: PastRun) -> Comparison:
    """Hold two runs against each other. What one of them did not see is said, never "no change"."""
    reordered = _reordered(old, new)
    return Comparison(
        SCHEMA,
        _side(old),
        _side(new),
        _warnings(old, new, reordered),
        changes(old.document, new.document, reordered=reordered, presence=_presence(new.snapshot)),
        entry_changes(old.document, new.document),
        _both(old, new, hardware_changes),
        _both(old, new, growth),
        _both(old, new, route_changes),
        _rates(old, new),
    )


def _side(run: PastRun) -> RunSide:
    known = run.document
    return RunSide(
        str(run.folder),
        known.fabric,
        known.started,
        str(known.result),
        known.observer,
        known.job,
    )


def _both(
    old: PastRun, new: PastRun, step: Callable[[Snapshot, Snapshot], T | NotSeen]
) -> T | NotSeen:
    try:
        return step(seen(old.snapshot), seen(new.snapshot))
    except NotSeenError as error:
        return error.part


def _rates(old: PastRun, new: PastRun) -> tuple[RateChange, ...] | NotSeen:
    if old.loads is None and new.loads is None:
        return ()
    sides: list[LoadRuns] = []
    for which, loads in (("old", old.loads), ("new", new.loads)):
        if loads is None:
            return NotSeen("the rates", f"the {which} run made no load runs", "run with --load")
        if isinstance(loads, NotSeen):
            return loads
        sides.append(loads)
    return rate_changes(*sides)


def _reordered(old: PastRun, new: PastRun) -> dict[str, str]:
    """Entries that expect something else in the new run, with what differs."""
    before, after = old.entries(), new.entries()
    found = {}
    for name, entry in after.items():
        was = before.get(name)
        if was is None:
            continue
        if was.model_dump(exclude=_WORDING) != entry.model_dump(exclude=_WORDING):
            found[name] = "the entry expects something else in the new run"
        elif entry.plan_named() and old.plan_rows() != new.plan_rows():
            found[name] = "the cabling plan is another"
        elif entry.needs().job and old.document.job != new.document.job:
            found[name] = "the job is another"
        elif entry.needs().load and old.load_settings() != new.load_settings():
            found[name] = "workloads or ceilings are others"
    ids = {
        item
        for run in (old, new)
        for item in (*(v.id for v in run.document.verdicts), *run.document.not_run)
    }
    # With each: cable an item is called ENTRY:CABLE.
    return {item: found[name] for item in sorted(ids) if (name := item.split(":")[0]) in found}


_WORDING = {"because", "severity", "marks"}
"""Fields of an entry that no judgement depends on."""


def _warnings(old: PastRun, new: PastRun, reordered: dict[str, str]) -> tuple[str, ...]:
    first, second = old.document, new.document
    found = []
    if first.fabric != second.fabric:
        found.append(f"the runs are about {first.fabric} and {second.fabric}: is it one fabric?")
    found += [
        f"{run.folder} could not be read in full, so less is compared: {run.snapshot.reason}"
        for run in (old, new)
        if isinstance(run.snapshot, NotSeen)
    ]
    if first.job != second.job:
        found.append(f"the jobs differ: {first.job or 'none'}; {second.job or 'none'}")
    if reordered:
        whys = dict.fromkeys(reordered.values())
        found.append(
            f"{len(reordered)} of the entries are not held against each other ({'; '.join(whys)})"
        )
    if first.observer != second.observer:
        found.append(f"other observers: {first.observer or 'none'} and {second.observer or 'none'}")
    return tuple(found)


def _presence(snapshot: Snapshot | NotSeen) -> Presence:
    """Whether the new fabric still has what a finding is about: its nodes, and the cable."""
    if isinstance(snapshot, NotSeen) or isinstance(snapshot.fabric_seen, NotSeen):
        return lambda _subject: "the fabric of the new run was not seen"
    fabric = snapshot.fabric_seen
    gone = "it is not in the fabric of the new run"

    def why_absent(subject: Subject) -> str | None:
        if not subject.guids:
            return None
        guids = [Guid.parse(text) for text in subject.guids]
        if any(guid not in fabric.nodes for guid in guids):
            return gone
        if subject.kind == LINK and len(guids) == len(subject.ports) == ENDS:
            a, b = sorted(PortId(*end) for end in zip(guids, subject.ports, strict=True))
            link = fabric.link_at.get(a)
            return "" if link is not None and link.key == (a, b) else gone
        return ""

    return why_absent


LINK, ENDS = "link", 2
"""Kind of a subject that is one cable, and the ports of one."""

"""The working place of one test: its entry, the evidence, and how its verdict is completed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date

from ibaccept.checks.base import Expectation
from ibaccept.checks.proof import Evidence
from ibaccept.observe.snapshot import Snapshot
from ibaccept.run.inputs import Inputs
from ibaccept.run.waivers import apply_waivers, covers
from ibaccept.site.plan import PlannedCable
from ibaccept.site.settings import Waiver
from ibaccept.verdict import Verdict


@dataclass(frozen=True, repr=False)
class Entry:
    """One pytest item's entry of expectations.yaml.

    Attributes:
        expected: the entry.
        cable: the planned cable it is about, with ``each: cable``.
        source: ``expectations.yaml:9``.
        waivers: those of this entry.
        today: the day waivers are held against.
    """

    expected: Expectation
    cable: PlannedCable | None
    source: str
    waivers: tuple[Waiver, ...]
    today: date

    def __repr__(self) -> str:
        """The id: pytest and Allure show a parameter so, and follow a test by it between runs."""
        return self.id

    @property
    def id(self) -> str:
        """Id of the item: the entry's, and the planned cable."""
        return item_id(self.expected, self.cable)

    def evidence(self, snapshot: Snapshot, nodeid: str) -> Evidence:
        """What proves the findings of the item's test and keeps its verdict."""
        return Evidence(
            snapshot,
            self.expected.ordered,
            self.completer(nodeid),
            by_counters=self.expected.area == "counters",
        )

    def completer(self, nodeid: str) -> Callable[[Verdict], Verdict]:
        """Fills in what the judgement does not know, and applies the waivers."""

        def complete(verdict: Verdict) -> Verdict:
            known = replace(
                verdict,
                id=self.id,
                kind=self.expected.kind,
                nodeid=nodeid,
                because=self.expected.because,
                source=self.source,
                area=self.expected.area,
                severity=self.expected.severity,
            )
            return apply_waivers(known, self._relevant(), self.today)

        return complete

    def _relevant(self) -> tuple[Waiver, ...]:
        if self.cable is None:
            return self.waivers
        name = self.cable.name
        return tuple(waiver for waiver in self.waivers if covers(waiver, name))


def entries_of(inputs: Inputs, expected: Expectation, today: date) -> Iterator[Entry]:
    """The items of one entry of the expectations: itself, or one for each planned cable.

    Raises:
        InputError: links that the plan alone cannot distinguish.
    """
    known = inputs.expectations
    waivers = tuple(waiver for waiver in known.waivers if waiver.expectation == expected.id)
    for cable in inputs.items(expected):
        yield Entry(expected, cable, known.source(expected), waivers, today)


def item_id(expected: Expectation, cable: PlannedCable | None) -> str:
    """``isl-4x-hdr``, or ``isl-4x-hdr:SwitchA/13 - SwitchB/25`` with ``each: cable``."""
    return expected.id if cable is None else f"{expected.id}:{cable.name}"

"""Findings that differ in the same way, stated once: grouped by difference, folded by name."""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ibaccept.fabric.harmless import clean
from ibaccept.fabric.nodeset import expand, fold
from ibaccept.fabric.wording import listed
from ibaccept.report.punchlist import ends
from ibaccept.report.text import count, difference_text
from ibaccept.verdict import Finding
from ibaccept.verdict.evidence import CaptureRef, Counter, RouteRef

# Names ClusterShell reads as itself and nothing else: no set operators, groups, ranges or blanks.
_FOLDS = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*(?:/[0-9]{1,3})?\Z")
_DIGITS = re.compile(r"[0-9]+")
# A number this long is a GUID or serial in the name, not an index; folding it reads badly.
_LONG_NUMBER = re.compile(r"[0-9]{7}")


_FOLD_CHARS = 400
"""A node set longer than this has too many gaps to be read; its names are listed instead."""


@dataclass(frozen=True, slots=True)
class GroupedFinding:
    """Subjects whose difference and evidence are identical, or have one cause.

    Attributes:
        name: one name, or a folded node set with its size: ``node[001-300] (300)``.
        size: number of findings in this entry.
        finding: the first of them; its evidence stands for all.
    """

    name: str
    size: int
    finding: Finding


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings with the same expected and found.

    Attributes:
        cause: the node that explains all of them; empty where they are not about one.
    """

    head: str
    outcome: str
    entries: tuple[GroupedFinding, ...]
    cause: str = ""

    @property
    def size(self) -> int:
        """Number of findings."""
        return sum(entry.size for entry in self.entries)


_Evidence = tuple[
    str, tuple[Counter, ...], RouteRef | None, tuple[CaptureRef, ...], str, tuple[str, ...]
]


def _evidence(finding: Finding) -> _Evidence:
    return (
        finding.hint,
        finding.counters,
        finding.routes,
        finding.captures,
        finding.again,
        finding.missing,
    )


def _node_set(names: Sequence[str]) -> str | None:
    """The names as one node set with its size, or None where it would not read back to them.

    Two nodes may bear one name: a set would hide one of them, so such names are never folded.
    """
    if len(set(names)) != len(names) or not all(
        _FOLDS.match(name) and not _LONG_NUMBER.search(name) for name in names
    ):
        return None
    text = fold(names)
    try:
        is_same = len(text) <= _FOLD_CHARS and set(expand(text)) == set(names)
    except ValueError:
        return None
    return f"{text} ({count(len(names))})" if is_same else None


def _shapes(findings: Sequence[Finding]) -> Iterable[list[Finding]]:
    """Findings whose names differ in their numbers only: ``node001`` and ``node002``."""
    shapes: dict[str, list[Finding]] = {}
    for finding in findings:
        shapes.setdefault(_DIGITS.sub("%", finding.subject.name), []).append(finding)
    return shapes.values()


def _entries(findings: Sequence[Finding]) -> tuple[GroupedFinding, ...]:
    names = Tally(finding.subject.name for finding in findings)
    same: dict[_Evidence, list[Finding]] = {}
    for finding in findings:
        same.setdefault(_evidence(finding), []).append(finding)
    entries: list[GroupedFinding] = []
    for alike in (shape for identical in same.values() for shape in _shapes(identical)):
        folded = _node_set([f.subject.name for f in alike]) if len(alike) > 1 else None
        if folded is not None:
            entries.append(GroupedFinding(folded, len(alike), alike[0]))
            continue
        for finding in alike:
            name = clean(finding.subject.name) or "(no name)"
            if names[finding.subject.name] > 1 and finding.subject.guids:
                name += f" ({', '.join(map(clean, finding.subject.guids))})"
            entries.append(GroupedFinding(name, 1, finding))
    return tuple(entries)


SHARED = 3
"""Cables of one node that were not seen for one reason are stated as one."""

_THE_CABLE, _OTHER_END = "the cable", "its other end"


def _shared(findings: Sequence[Finding]) -> dict[int, tuple[str, str, str]]:
    """Node, expected and found of findings that one node explains, by their place.

    A switch that does not answer leaves every cable of it unjudged, each in a sentence of its own
    that differs in the names of the cable and of its other end alone.
    """
    places = [n for n, f in enumerate(findings) if f.outcome == "error" and f.waived is None]
    nodes = Tally(name for n in places for name in set(ends(findings[n].subject)) if name)
    alike: dict[tuple[str, str, str], list[int]] = {}
    for n in places:
        finding = findings[n]
        node, other = sorted(ends(finding.subject), key=lambda name: -nodes[name])
        if node and other and node in finding.found:
            expected = _without(finding, other, finding.expected)
            key = (node, expected, _without(finding, other, finding.found))
            alike.setdefault(key, []).append(n)
    return {n: key for key, members in alike.items() if len(members) >= SHARED for n in members}


def _without(finding: Finding, other: str, text: str) -> str:
    """A sentence without the names by which it differs from that of the next cable."""
    text = text.replace(finding.subject.name, _THE_CABLE)
    for port in finding.subject.ports:
        text = text.replace(f"{other}/{port}", _OTHER_END)
    return re.sub(rf"(?<![\w.-]){re.escape(other)}(?![\w.-])", lambda _: _OTHER_END, text)


def _cause(node: str, expected: str, found: str, members: Sequence[Finding]) -> FindingGroup:
    """One group for all cables of a node; the first shows the evidence."""
    first = members[0]
    head = difference_text(replace(first, expected=expected, found=found))
    name = listed((clean(f.subject.name) for f in members), SHARED, noun="cables")
    entry = GroupedFinding(name, len(members), first)
    head = f"{clean(node)}, {count(len(members))} cables: {head}"
    return FindingGroup(head, "error", (entry,), clean(node))


def group(findings: Iterable[Finding]) -> tuple[FindingGroup, ...]:
    """Group findings by what was expected and found, in the order they first come.

    Failures come before what was not seen, waived findings last. Cables that were not judged for
    the sake of one node are one group.
    """
    findings = tuple(findings)
    shared = _shared(findings)
    causes: dict[tuple[str, str, str], list[Finding]] = {}
    alike: dict[tuple[bool, str, str, str, str], list[Finding]] = {}
    for place, finding in enumerate(findings):
        if place in shared:
            causes.setdefault(shared[place], []).append(finding)
            continue
        key = (
            finding.waived is not None,
            finding.outcome,
            finding.expected,
            finding.found,
            finding.waived or "",
        )
        alike.setdefault(key, []).append(finding)
    groups = [
        FindingGroup(difference_text(found[0]), "waived" if key[0] else key[1], _entries(found))
        for key, found in alike.items()
    ]
    stated = sorted((_cause(*key, found) for key, found in causes.items()), key=_most_first)
    wrong, unseen, waived = (
        [shown for shown in groups if shown.outcome == outcome]
        for outcome in ("fail", "error", "waived")
    )
    return (*wrong, *stated, *unseen, *waived)


def _most_first(shown: FindingGroup) -> int:
    return -shown.size

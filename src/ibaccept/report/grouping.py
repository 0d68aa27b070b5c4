"""Findings that differ in the same way, told once: grouped by difference, folded by name."""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ibaccept.fabric.harmless import clean
from ibaccept.fabric.nodeset import expand, fold
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
    """Subjects whose difference and evidence are identical.

    Attributes:
        name: one name, or a folded node set with its size: ``node[001-300] (300)``.
        size: number of findings told by this entry.
        finding: the first of them; its evidence stands for all.
    """

    name: str
    size: int
    finding: Finding


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings with the same expected and found."""

    head: str
    outcome: str
    entries: tuple[GroupedFinding, ...]

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


def group(findings: Iterable[Finding]) -> tuple[FindingGroup, ...]:
    """Group findings by what was expected and found, in the order they first come.

    Failures come before what was not seen, waived findings last.
    """
    alike: dict[tuple[bool, str, str, str, str], list[Finding]] = {}
    for finding in findings:
        waived = finding.waived is not None
        key = (waived, finding.outcome, finding.expected, finding.found, finding.waived or "")
        alike.setdefault(key, []).append(finding)
    return tuple(
        FindingGroup(difference_text(found[0]), "waived" if key[0] else key[1], _entries(found))
        for key, found in sorted(alike.items(), key=lambda item: (item[0][0], item[0][1] != "fail"))
    )

"""Findings of two runs: new, still open, fixed, or no longer judged.

A finding that is gone is *fixed* only where the new run judged the same thing by the same order:
an entry that did not run, that expects something else now, that judged less, or a cable that is
no longer there fixes nothing.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ibaccept.report.json_report import VerdictsDocument
from ibaccept.verdict import Finding, Outcome, Subject, Verdict
from ibaccept.verdict.answer import outcome_of


class Status(enum.StrEnum):
    """What became of a finding from the old run to the new one."""

    NEW = "new"
    UNJUDGED = "no longer judged"
    OPEN = "still open"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class Change:
    """One subject of one entry that was or is not as expected.

    Attributes:
        entry: id of the entry.
        subject: its name; empty for the entry as a whole.
        was: outcome and value found in the old run; empty where there was no finding.
        now: the same of the new run.
        why: why a finding that is gone is not fixed, or what makes a new one new; may be empty.
        waived: waiver of the new run that covers it; empty where none does.
    """

    status: Status
    entry: str
    kind: str
    subject: str
    was: str
    now: str
    why: str = ""
    waived: str = ""


@dataclass(frozen=True, slots=True)
class EntryChange:
    """An entry whose outcome differs; ``not run`` where it has no verdict."""

    entry: str
    was: str
    now: str
    why: str = ""


NOT_RUN = "not run"

Presence = Callable[[Subject], str | None]
"""Why the new sweep does not have a subject, empty where it has; None where it says nothing."""

_Key = tuple[str, str, tuple[str, ...], tuple[int, ...]]


def _key(subject: Subject) -> _Key:
    """Identity: GUIDs and ports where there are any, else the name."""
    name = "" if subject.guids else subject.name
    return subject.kind, name, subject.guids, subject.ports


@dataclass(frozen=True, slots=True)
class _Group:
    """Findings of one entry about one subject."""

    subject: Subject
    findings: tuple[Finding, ...]

    @property
    def is_fail(self) -> bool:
        """True where one of them is wrong, not unknown."""
        return any(finding.outcome == "fail" for finding in self.findings)

    @property
    def waived(self) -> str:
        """The waiver, where all of them are covered."""
        texts = [finding.waived for finding in self.findings]
        return "" if None in texts else "; ".join(dict.fromkeys(map(str, texts)))

    @property
    def text(self) -> str:
        """Outcome and what was found."""
        word = "fail" if self.is_fail else "not judged"
        return f"{word}: {'; '.join(dict.fromkeys(f.found for f in self.findings))}"


def _groups(verdict: Verdict | None) -> dict[_Key, _Group]:
    if verdict is None:
        return {}
    found: dict[_Key, list[Finding]] = {}
    for finding in verdict.findings:
        found.setdefault(_key(finding.subject), []).append(finding)
    if not found and outcome_of(verdict) in {Outcome.FAIL, Outcome.ERROR}:
        # An entry that selected nothing has no finding.
        outcome = "fail" if outcome_of(verdict) is Outcome.FAIL else "error"
        whole = Subject("", "")
        found[_key(whole)] = [Finding(whole, outcome, "", verdict.sentence)]  # type: ignore[arg-type] # one of the two words
    return {key: _Group(several[0].subject, tuple(several)) for key, several in found.items()}


def _accounts_for_all(verdict: Verdict) -> bool:
    """True where every item was judged or is named as not judged, so that silence means good."""
    unseen = verdict.coverage.of - verdict.coverage.judged
    named = {_key(f.subject) for f in verdict.findings if f.outcome == "error"}
    return verdict.coverage.of > 0 and len(named) >= unseen


def changes(
    old: VerdictsDocument,
    new: VerdictsDocument,
    *,
    reordered: Mapping[str, str],
    presence: Presence,
) -> tuple[Change, ...]:
    """Every finding of either run, with what became of it.

    Args:
        old: the earlier run.
        new: the later run.
        reordered: entries that expect something else in the new run, with what differs.
        presence: see ``Presence``.

    Returns:
        New ones first, then those no longer judged, still open, fixed; entries in file order.
    """
    before = {verdict.id: verdict for verdict in old.verdicts}
    after = {verdict.id: verdict for verdict in new.verdicts}
    rows: list[Change] = []
    for entry in dict.fromkeys((*after, *before)):
        rows += _entry(
            entry, before.get(entry), after.get(entry), new, reordered.get(entry, ""), presence
        )
    ranks = list(Status)
    return tuple(sorted(rows, key=lambda row: ranks.index(row.status)))


def _entry(
    entry: str,
    old: Verdict | None,
    new: Verdict | None,
    document: VerdictsDocument,
    reordered: str,
    presence: Presence,
) -> Iterator[Change]:
    before, after = _groups(old), _groups(new)
    kind = (new or old).kind  # type: ignore[union-attr] # one of them is there
    for key, now in after.items():
        was = before.get(key)
        status, why = _known(was, now)
        if was is None and old is None:
            why = "the entry has no verdict in the old run"
        elif was is None and reordered:
            why = reordered
        yield Change(
            status,
            entry,
            kind,
            now.subject.name,
            "" if was is None else was.text,
            now.text,
            why,
            now.waived,
        )
    for key, was in before.items():
        if key not in after:
            why = _why_not_fixed(entry, was.subject, old, new, document, reordered, presence)
            status = Status.UNJUDGED if why else Status.FIXED
            yield Change(status, entry, kind, was.subject.name, was.text, "", why)


def _known(was: _Group | None, now: _Group) -> tuple[Status, str]:
    """Status of a finding of the new run."""
    if was is None:
        return Status.NEW, ""
    if was.is_fail and not now.is_fail:
        return Status.UNJUDGED, ""
    if now.is_fail and not was.is_fail:
        return Status.NEW, "it was not judged in the old run"
    return Status.OPEN, ""


def _why_not_fixed(
    entry: str,
    subject: Subject,
    old: Verdict | None,
    new: Verdict | None,
    document: VerdictsDocument,
    reordered: str,
    presence: Presence,
) -> str:
    """Why a finding that the new run does not have is not fixed; empty where it is."""
    left = document.not_run.get(entry)
    if new is None:
        return "the new run has no such entry" if left is None else f"not run: {left.reason}"
    if reordered:
        return reordered
    if not _accounts_for_all(new):
        return (
            f"the new run judged {new.coverage.judged:,} of {new.coverage.of:,} and does not name "
            "what it left out"
        )
    absent = presence(subject)
    if absent is None and old is not None and new.coverage.of < old.coverage.of:
        return f"the new run selected {new.coverage.of:,}, the old one {old.coverage.of:,}"
    return absent or ""


def entry_changes(old: VerdictsDocument, new: VerdictsDocument) -> tuple[EntryChange, ...]:
    """Entries whose outcome differs, in the order of the new file."""
    was, now = _outcomes(old), _outcomes(new)
    rows = []
    for entry in dict.fromkeys((*now, *was)):
        first, second = was.get(entry, "no such entry"), now.get(entry, "no such entry")
        if first != second:
            left = new.not_run.get(entry)
            rows.append(EntryChange(entry, first, second, "" if left is None else left.reason))
    return tuple(rows)


def _outcomes(document: VerdictsDocument) -> dict[str, str]:
    judged = {verdict.id: str(outcome_of(verdict)) for verdict in document.verdicts}
    return {**judged, **dict.fromkeys(document.not_run, NOT_RUN)}


def is_worse(rows: Iterable[Change]) -> bool:
    """True where something is new and not waived."""
    return any(row.status is Status.NEW and not row.waived for row in rows)


def is_unknown(rows: Iterable[Change]) -> bool:
    """True where something that was not as expected can no longer be said."""
    return any(row.status is Status.UNJUDGED for row in rows)

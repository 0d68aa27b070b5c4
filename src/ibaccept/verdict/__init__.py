"""Judging: what was asked, what was found, and what that makes. Yields data; prints nothing."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import TypeAdapter

from ibaccept.verdict.evidence import CaptureRef, Counter, Proof, RouteRef

T = TypeVar("T")


class Outcome(enum.StrEnum):
    """What became of an entry. ``fail``: wrong. ``error``: unknown. Never mixed."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    ERROR = "error"
    WAIVED = "waived"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a finding is about. ``guids`` are node GUIDs (padded), ``ports`` numbers on them."""

    kind: str
    name: str
    guids: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many of the selected things were judged at all."""

    judged: int
    of: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table for the reader. Cells are text with their units."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference (``fail``) or one thing not seen (``error``), with its proof.

    Attributes:
        found: what was there; for an error, what was not seen.
        hint: what to do next.
        waived: ``ticket: because`` of the waiver that covers it.
    """

    subject: Subject
    outcome: Literal["fail", "error"]
    expected: str
    found: str
    hint: str = ""
    counters: tuple[Counter, ...] = ()
    routes: RouteRef | None = None
    captures: tuple[CaptureRef, ...] = ()
    again: str = ""
    missing: tuple[str, ...] = ()
    waived: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one entry of expectations.yaml. Serialises to verdicts.json as it is.

    Attributes:
        id: id of the entry; with ``each: cable`` followed by the planned cable.
        sentence: ``2 of 96 inter-switch links are not 4X HDR``.
        source: ``expectations.yaml:9``.
        area: what the entry is about (Allure feature): ``links``, ``cabling``, ...
        severity: ``blocker``, ``critical``, ``normal``, ``minor`` or ``trivial``.
        notes: what a reader must know beside the findings (remedies, limits of the claim).
    """

    id: str
    kind: str
    nodeid: str
    outcome: Outcome
    sentence: str
    because: str
    coverage: Coverage
    findings: tuple[Finding, ...] = ()
    source: str = ""
    area: str = ""
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    severity: str = "normal"


VERDICT = TypeAdapter(Verdict)
"""Dumps and loads verdicts: ``VERDICT.dump_python(verdict, mode="json")``."""


class Condition(Protocol):
    """What was ordered, where equality does not say it. Its ``str`` is printed as expected."""

    def met(self, actual: Any) -> bool:
        """True where the value is as ordered."""
        ...


@dataclass(frozen=True, slots=True)
class Unseen:
    """A value that could not be had: why, and what to do. Judged as error, never as pass."""

    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Different:
    """A value that is wrong, in words: for differences that no single value shows."""

    found: str
    expected: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Difference(Generic[T]):
    """One judged item that is not as ordered (``fail``) or was not seen (``error``)."""

    item: T
    outcome: Literal["fail", "error"]
    expected: str
    found: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Judgement(Generic[T]):
    """What ``judge`` found: differences in the items' order, and the coverage.

    Attributes:
        noun: what the items are, in the plural: ``inter-switch links``.
        as_ordered: ``are 4X HDR``.
        not_as_ordered: ``are not 4X HDR``.
    """

    differences: tuple[Difference[T], ...]
    judged: int
    of: int
    noun: str
    as_ordered: str
    not_as_ordered: str
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """Fail where anything differs, else error where anything was not seen, else pass."""
        kinds = {difference.outcome for difference in self.differences}
        if "fail" in kinds:
            return Outcome.FAIL
        if "error" in kinds or self.judged == 0 or self.judged < self.of:
            return Outcome.ERROR
        return Outcome.PASS

    @property
    def sentence(self) -> str:
        """``2 of 96 inter-switch links are not 4X HDR``."""
        failed = sum(d.outcome == "fail" for d in self.differences)
        if self.of == 0:
            return f"no {self.noun} were seen, so nothing was judged"
        if failed:
            unseen = self.of - self.judged
            tail = f" ({unseen} more could not be judged)" if unseen else ""
            return f"{failed:,} of {self.of:,} {self.noun} {self.not_as_ordered}{tail}"
        if self.judged < self.of:
            return f"{self.of - self.judged:,} of {self.of:,} {self.noun} could not be judged"
        return f"{self.judged:,} of {self.of:,} {self.noun} {self.as_ordered}"


def judge(
    items: Iterable[T],
    *,
    expected: Any,
    actual: Callable[[T], Any],
    noun: str,
    as_ordered: str | None = None,
    not_as_ordered: str | None = None,
    tables: Sequence[Table] = (),
    notes: Sequence[str] = (),
) -> Judgement[T]:
    """Compare each item with what was ordered. The one place where "nothing" is decided.

    Args:
        items: what the entry selected. An empty selection is an error.
        expected: a value (compared with ``==``) or a ``Condition``.
        actual: the value seen. ``None`` or ``Unseen`` is an error for that item, ``Different`` a
            failure in words, anything else is compared.
        noun: what the items are, in the plural.
        as_ordered: ends the sentence of a pass; default ``are <expected>``.
        not_as_ordered: ends the sentence of a failure; default ``are not <expected>``.
        tables: for the reader.
        notes: for the reader.
    """
    differences: list[Difference[T]] = []
    judged = of = 0
    met = expected.met if hasattr(expected, "met") else expected.__eq__
    for item in items:
        of += 1
        value = actual(item)
        if value is None:
            value = Unseen("no value was read")
        if isinstance(value, Unseen):
            differences.append(Difference(item, "error", str(expected), value.reason, value.hint))
            continue
        judged += 1
        if isinstance(value, Different):
            differences.append(
                Difference(item, "fail", value.expected or str(expected), value.found, value.hint)
            )
        elif met(value) is not True:
            differences.append(Difference(item, "fail", str(expected), str(value)))
    return Judgement(
        tuple(differences),
        judged,
        of,
        noun,
        as_ordered if as_ordered is not None else f"are {expected}",
        not_as_ordered if not_as_ordered is not None else f"are not {expected}",
        tuple(tables),
        tuple(notes),
    )


class NotMetError(AssertionError):
    """The fabric differs from the order: pytest *failed*."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(verdict.sentence)


class NotJudgedError(Exception):
    """We could not look: pytest *error*."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(verdict.sentence)


class EvidenceSource(Protocol):
    """Proves a finding about an item, and takes the verdict down (``snapshot.evidence``)."""

    def subject(self, item: Any) -> Subject:
        """Identity and name of an item."""
        ...

    def proof(self, item: Any) -> Proof:
        """Counters, routes, captured lines and the command to see it again."""
        ...

    def record(self, verdict: Verdict) -> Verdict:
        """Complete the verdict (id, because, waivers) and keep it for the reports."""
        ...


def require(judgement: Judgement[Any], evidence: EvidenceSource) -> Verdict:
    """Attach the evidence to every difference, take the verdict down, and raise unless it passes.

    Raises:
        NotMetError: something differs and no waiver covers it.
        NotJudgedError: nothing differs, but something could not be judged.
    """
    findings = []
    for difference in judgement.differences:
        proof = evidence.proof(difference.item)
        findings.append(
            Finding(
                evidence.subject(difference.item),
                difference.outcome,
                difference.expected,
                difference.found,
                difference.hint,
                proof.counters,
                proof.routes,
                proof.captures,
                proof.again,
                proof.missing,
            )
        )
    verdict = evidence.record(
        Verdict(
            id="",
            kind="",
            nodeid="",
            outcome=judgement.outcome,
            sentence=judgement.sentence,
            because="",
            coverage=Coverage(judgement.judged, judgement.of),
            findings=tuple(findings),
            tables=judgement.tables,
            notes=judgement.notes,
        )
    )
    if verdict.outcome is Outcome.FAIL:
        raise NotMetError(verdict)
    if verdict.outcome is Outcome.ERROR:
        raise NotJudgedError(verdict)
    return verdict

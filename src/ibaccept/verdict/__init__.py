"""Judging: what was expected, what was found, and the outcome, as data.

Prints nothing. Imports only errors.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import TypeAdapter

from ibaccept.verdict.absence import NotSeen
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
        notes: what goes with the findings: remedies, limits of the claim.
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


@dataclass(frozen=True, slots=True)
class Met:
    """What was found is what the entry expects."""


@dataclass(frozen=True, slots=True)
class Different:
    """What was found is wrong.

    Attributes:
        found: the value found, in words.
        expected: the value expected; empty for that of the item.
        hint: what to do next.
    """

    found: str
    expected: str = ""
    hint: str = ""


ItemAnswer = Met | Different | NotSeen
"""What a check says of one item: right, wrong, or unknown and why."""


def same(ordered: object, found: object) -> Met | Different:
    """Compare two values with ``==``; only ``True`` is equal."""
    return Met() if (ordered == found) is True else Different(str(found), str(ordered))


@dataclass(frozen=True, slots=True)
class Difference(Generic[T]):
    """One judged item that differs (``fail``) or was not seen (``error``).

    Attributes:
        captures: what shows why it was not seen; empty where the item's own proof does.
    """

    item: T
    outcome: Literal["fail", "error"]
    expected: str
    found: str
    hint: str = ""
    captures: tuple[CaptureRef, ...] = ()


ORDERS_SHOWN = 3
"""Expected values that a sentence names one by one."""


@dataclass(frozen=True, slots=True)
class Judgement(Generic[T]):
    """What ``judge`` found: differences in the items' order, and the coverage.

    Attributes:
        noun: what the items are, in the plural: ``inter-switch links``.
        expected: of all of them: ``4X HDR``.
        met: ends the sentence of a pass; empty for ``are <expected>``.
        not_met: ends the sentence of a failure; empty for ``are not <expected>``.
        is_mixed: items differ in what is expected of them.
    """

    differences: tuple[Difference[T], ...]
    judged: int
    of: int
    noun: str
    expected: str
    met: str = ""
    not_met: str = ""
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    is_mixed: bool = False

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
        unseen = self.of - self.judged
        if self.of == 0:
            return f"no {self.noun} were seen, so nothing was judged (expected: {self.expected})"
        if failed:
            tail = f" ({unseen:,} more could not be judged)" if unseen else ""
            return f"{failed:,} of {self.of:,} {self.noun} {self._when_different}{tail}"
        if unseen:
            return (
                f"{unseen:,} of {self.of:,} {self.noun} could not be judged "
                f"(expected: {self._expected_of('error')})"
            )
        return f"{self.judged:,} of {self.of:,} {self.noun} {self._when_met}"

    @property
    def _when_met(self) -> str:
        as_expected = f"are as expected ({self.expected})" if self.is_mixed else ""
        return self.met or as_expected or f"are {self.expected}"

    @property
    def _when_different(self) -> str:
        mixed = f"are not as expected ({self._expected_of('fail')})" if self.is_mixed else ""
        return self.not_met or mixed or f"are not {self.expected}"

    def _expected_of(self, outcome: str) -> str:
        """What was expected of the items with this outcome; of all of them where it is long."""
        texts = dict.fromkeys(d.expected for d in self.differences if d.outcome == outcome)
        return "; ".join(texts) if 0 < len(texts) <= ORDERS_SHOWN else self.expected


def judge(
    items: Iterable[T],
    *,
    expected: str,
    actual: Callable[[T], ItemAnswer],
    noun: str,
    expected_of: Callable[[T], str] | None = None,
    met: str = "",
    not_met: str = "",
    tables: Sequence[Table] = (),
    notes: Sequence[str] = (),
) -> Judgement[T]:
    """Put each item's answer in its place. The one place where "nothing" is decided.

    Args:
        items: what the entry selected. An empty selection is an error.
        expected: the expected value in words, ``4X HDR``; with ``expected_of``, of all items.
        actual: the answer for an item. ``NotSeen`` is an error, and so is anything that is no
            answer, such as None.
        noun: what the items are, in the plural.
        expected_of: the expected value of one item, where items differ in it.
        met: ends the sentence of a pass; default ``are <expected>``.
        not_met: ends the sentence of a failure; default ``are not <expected>``.
        tables: for the reader.
        notes: for the reader.
    """
    differences: list[Difference[T]] = []
    judged = of = 0
    for item in items:
        of += 1
        answer = actual(item)
        text = expected if expected_of is None else expected_of(item)
        match answer:
            case Met():
                judged += 1
            case Different():
                judged += 1
                ordered = answer.expected or text
                differences.append(Difference(item, "fail", ordered, answer.found, answer.hint))
            case NotSeen():
                differences.append(_unknown(item, text, answer))
            case _:
                differences.append(
                    _unknown(item, text, NotSeen("the answer", f"the check answered {answer!r}"))
                )
    return Judgement(
        tuple(differences),
        judged,
        of,
        noun,
        expected,
        met,
        not_met,
        tuple(tables),
        tuple(notes),
        is_mixed=expected_of is not None,
    )


def _unknown(item: T, expected: str, part: NotSeen) -> Difference[T]:
    return Difference(item, "error", expected, part.reason, part.hint, part.captures)


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
    """Proves a finding about an item, and records the verdict."""

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
    """Attach the evidence to every difference, record the verdict, and raise unless it passes.

    Raises:
        NotMetError: something differs and no waiver covers it.
        NotJudgedError: nothing differs, but something could not be judged.
    """
    verdict = evidence.record(
        Verdict(
            id="",
            kind="",
            nodeid="",
            outcome=judgement.outcome,
            sentence=judgement.sentence,
            because="",
            coverage=Coverage(judgement.judged, judgement.of),
            findings=tuple(
                line for one in judgement.differences for line in by_line(_finding(one, evidence))
            ),
            tables=judgement.tables,
            notes=judgement.notes,
        )
    )
    if verdict.outcome is Outcome.FAIL:
        raise NotMetError(verdict)
    if verdict.outcome is Outcome.ERROR:
        raise NotJudgedError(verdict)
    return verdict


def _finding(difference: Difference[Any], evidence: EvidenceSource) -> Finding:
    proof = evidence.proof(difference.item)
    if not set(difference.captures) <= set(proof.captures):
        # What shows that the item is as it is does not show why it could not be judged.
        proof = Proof(captures=difference.captures)
    return finding(
        evidence.subject(difference.item),
        difference.outcome,
        expected=difference.expected,
        found=difference.found,
        hint=difference.hint,
        proof=proof,
    )


def by_line(found: Finding) -> tuple[Finding, ...]:
    """A finding for each of several problems that one message holds, a line each."""
    lines = [line for line in found.found.split("\n") if line.strip()] or [found.found]
    return tuple(replace(found, found=line) for line in lines)


NO_PROOF = "no output of this run shows it"


def finding(
    subject: Subject,
    outcome: Literal["fail", "error"],
    *,
    expected: str,
    found: str,
    hint: str = "",
    proof: Proof,
) -> Finding:
    """A finding with its proof. One without any says so: ``missing`` is then not empty."""
    is_bare = not (proof.counters or proof.routes or proof.captures or proof.missing)
    return Finding(
        subject,
        outcome,
        expected,
        found,
        hint,
        proof.counters,
        proof.routes,
        proof.captures,
        proof.again,
        (NO_PROOF,) if is_bare else proof.missing,
    )

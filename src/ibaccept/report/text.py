"""The few ways numbers, routes, counters and findings are written in every report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ibaccept.fabric.harmless import clean
from ibaccept.verdict import Finding, Outcome, Verdict
from ibaccept.verdict.evidence import CaptureRef, Counter, CounterState, RouteExample, RouteRef

_NUMBER = re.compile(r"[-+]?[0-9][0-9,.]*(?: ?[A-Za-z%/]+)?\Z")

CAPTURE_CHARS = 160
"""A captured line is shown up to here; the whole line is in the file it names."""

WORDS = {
    Outcome.PASS: "passed",
    Outcome.FAIL: "failed",
    Outcome.ERROR: "not judged",
    Outcome.WAIVED: "waived",
    Outcome.SKIP: "skipped",
}
"""Outcomes in the words of the reports."""


def squeeze(text: str) -> str:
    """A captured line: runs of blanks become one, harmful characters are spelt out."""
    line = clean(" ".join(text.split()))
    return line if len(line) <= CAPTURE_CHARS else f"{line[: CAPTURE_CHARS - 4]} ..."


def count(number: int) -> str:
    """``4,032``."""
    return f"{number:,}"


def seconds(value: float) -> str:
    """``60 s``; tenths only where they say something."""
    return f"{value:.1f}".removesuffix(".0") + " s"


def _readings(counter: Counter) -> str:
    before, after = counter.before, counter.after
    if before is None and after is None:
        return "not read"
    first = "not read" if before is None else count(before)
    second = "not read" if after is None else count(after)
    return f"{first} then {second}"


def counter_text(counter: Counter) -> str:
    """One counter with its state: ``SymbolErrorCounter 47 (+47 in 60 s)``."""
    name = clean(counter.name)
    match counter.state:
        case CounterState.UNSUPPORTED:
            return f"{name} not supported"
        case CounterState.UNREAD:
            return f"{name} {_readings(counter)}"
        case CounterState.CLEARED:
            return f"{name} {_readings(counter)}, cleared"
        case CounterState.SATURATED:
            # Which of the two readings stood at the maximum is seen from the larger one.
            top = max((v for v in (counter.before, counter.after) if v is not None), default=None)
            return f"{name} {'not read' if top is None else count(top)}, saturated"
    return f"{name} {_growth(counter)}"


def _growth(counter: Counter) -> str:
    """Value and growth of a counter whose readings mean something."""
    if counter.before is None and counter.after is not None:
        return f"{count(counter.after)} (read once)"
    if counter.after is None or counter.delta is None:
        return _readings(counter)
    over = "between two readings" if counter.seconds is None else f"in {seconds(counter.seconds)}"
    return f"{count(counter.after)} (+{count(counter.delta)} {over})"


def is_zero(counter: Counter) -> bool:
    """True where it was read and is 0: the only counters a report may fold away.

    A state of ok without a first reading is a counter that was read once.
    """
    return counter.state is CounterState.OK and not counter.before and counter.after == 0


def counters_text(counters: Iterable[Counter]) -> str:
    """The counters of one port; zeros are folded: ``..., 16 others 0``."""
    counters = tuple(counters)
    zeros = sum(map(is_zero, counters))
    shown = [counter_text(counter) for counter in counters if not is_zero(counter)]
    if zeros and shown:
        shown.append(f"{count(zeros)} {'others' if zeros > 1 else 'other'} 0")
    elif zeros:
        shown.append(f"all {count(zeros)} read 0" if zeros > 1 else f"{clean(counters[0].name)} 0")
    # After "255, saturated" a comma would leave open which counter the word belongs to.
    return "".join(text + ("; " if ", " in text else ", ") for text in shown[:-1]) + shown[-1]


def by_port(counters: Iterable[Counter]) -> dict[str, list[Counter]]:
    """The counters of each port, ports in the order they come."""
    ports: dict[str, list[Counter]] = {}
    for counter in counters:
        ports.setdefault(counter.port, []).append(counter)
    return ports


def route_text(example: RouteExample) -> str:
    """``LID 10 to 87: node001 -> leaf01/2 -> node087, delivered``."""
    hops = " -> ".join(clean(hop) for hop in example.hops) or "no hop"
    return f"LID {example.slid} to {example.dlid}: {hops}, {clean(example.disposition)}"


def crossing_text(routes: RouteRef) -> str:
    """``118 of 4,032 pairs cross it``, ``6 of the job's 96 pairs cross it``."""
    verb = "crosses" if routes.crossing == 1 else "cross"
    whose = f"the {clean(routes.whose)}'s " if routes.whose else ""
    return f"{count(routes.crossing)} of {whose}{count(routes.of)} pairs {verb} it"


def capture_place(capture: CaptureRef) -> str:
    """``captures/0003-iblinkinfo.txt:12``."""
    line = "" if capture.line is None else f":{capture.line}"
    return clean(capture.file) + line


def numeric_columns(rows: Iterable[Sequence[str]], span: int) -> list[bool]:
    """Which of ``span`` columns hold numbers alone (with units), to be right aligned."""
    cells = [tuple(row) + ("",) * (span - len(row)) for row in rows]
    return [
        bool(cells) and all(_NUMBER.match(row[i]) or row[i] in ("", "-") for row in cells)
        for i in range(span)
    ]


def coverage_text(verdict: Verdict) -> str:
    """``1,576 of 1,580 judged``."""
    return f"{count(verdict.coverage.judged)} of {count(verdict.coverage.of)} judged"


def difference_text(finding: Finding) -> str:
    """``expected 4X HDR, found 4X EDR``; for an error, what was not seen."""
    expected, found = clean(finding.expected), clean(finding.found)
    word = "found" if finding.outcome == "fail" else "not seen:"
    text = f"expected {expected}, {word} {found}" if expected else f"{word} {found}"
    return f"waived ({clean(finding.waived)}): {text}" if finding.waived is not None else text


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """Sort key that puts ``line 9`` before ``line 10``, however long the number is."""
    parts = re.split(r"([0-9]+)", text)
    # Texts and numbers alternate; a number is ordered by its length first.
    return tuple(
        (len(number := part.lstrip("0")), number) if place % 2 else (0, part)
        for place, part in enumerate(parts)
    )


def ordered(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Verdicts in the order of the expectations file, whichever worker judged first."""
    return tuple(sorted(verdicts, key=lambda v: (natural(v.source), natural(v.id), v.nodeid)))

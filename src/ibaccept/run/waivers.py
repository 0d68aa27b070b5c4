"""Waivers: what they cover, and what becomes of a verdict by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date

from ibaccept.site.settings import Waiver
from ibaccept.verdict import Finding, Outcome, Subject, Verdict


def covers(waiver: Waiver, name: str) -> bool:
    """True where the waiver names this subject, or one or both ends of this link in any order."""
    ends = {end.strip() for end in waiver.subject.split(" - ")}
    return ends <= {end.strip() for end in name.split(" - ")}


def apply_waivers(verdict: Verdict, waivers: Iterable[Waiver], today: date) -> Verdict:
    """Cover failures by waivers. An expired waiver covers nothing; one without use is a failure.

    Only what is wrong can be waived: a thing that was not seen stays an error.
    """
    waivers = tuple(waivers)
    used: set[int] = set()
    findings: list[Finding] = []
    for found in verdict.findings:
        finding = found
        for number, waiver in enumerate(waivers):
            if finding.outcome != "fail" or not covers(waiver, finding.subject.name):
                continue
            used.add(number)
            if waiver.until < today:
                hint = f"the waiver {waiver.ticket} expired on {waiver.until}"
                finding = replace(
                    finding, hint=hint if not finding.hint else f"{finding.hint}; {hint}"
                )
            else:
                finding = replace(
                    finding, waived=f"{waiver.ticket} until {waiver.until}: {waiver.because}"
                )
                break
        findings.append(finding)
    unseen = any(finding.outcome == "error" for finding in findings)
    for number, waiver in enumerate(waivers):
        if number not in used and not unseen and verdict.outcome is not Outcome.SKIP:
            findings.append(_useless(waiver))
    open_failures = any(f.outcome == "fail" and f.waived is None for f in findings)
    outcome = verdict.outcome
    if open_failures:
        outcome = Outcome.FAIL
    elif outcome is Outcome.FAIL:
        outcome = Outcome.ERROR if unseen else Outcome.WAIVED
    sentence = verdict.sentence
    if open_failures and verdict.outcome is not Outcome.FAIL:
        sentence = f"{sentence}, but a waiver covers nothing"
    return replace(verdict, outcome=outcome, findings=tuple(findings), sentence=sentence)


def _useless(waiver: Waiver) -> Finding:
    return Finding(
        Subject("waiver", f"{waiver.ticket} for {waiver.subject}"),
        "fail",
        f"a failure of {waiver.subject} to waive",
        "nothing fails there",
        "remove the waiver from the expectations file",
    )

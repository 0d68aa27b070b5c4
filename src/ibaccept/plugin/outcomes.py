"""Verdicts as pytest's outcomes: wrong = failed, unknown = error, waived = xfailed."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import pytest

from ibaccept.checks.proof import unseen_verdict
from ibaccept.errors import IbacceptError
from ibaccept.plugin.fixtures import EVIDENCE
from ibaccept.plugin.session import ALLURE, RUN
from ibaccept.report.terminal import failure_text
from ibaccept.run.again import part_of, unseen_part
from ibaccept.run.items import Entry
from ibaccept.run.session import Session
from ibaccept.verdict import VERDICT, NotJudgedError, NotMetError, Outcome, Verdict
from ibaccept.verdict.absence import NotSeen

VERDICT_PROPERTY = "ibaccept-verdict"
META_PROPERTY = "ibaccept-meta"


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """A part that was not seen becomes an error verdict; a test that judged nothing, too."""
    evidence = pyfuncitem.stash.get(EVIDENCE, None)
    if evidence is None:
        return (yield)
    try:
        result = yield
    except IbacceptError as error:
        raise NotJudgedError(evidence.unseen(part_of(error))) from None
    if not evidence.verdicts:
        raise NotJudgedError(evidence.unseen(NotSeen("anything", "the test judged nothing")))
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a verdict into pytest's words: wrong = failed, unknown = error, waived = xfailed."""
    report = yield
    callspec = getattr(item, "callspec", None)
    entry = callspec.params.get("entry") if callspec is not None else None
    if not isinstance(entry, Entry) or report.when == "teardown":
        return report
    evidence = item.stash.get(EVIDENCE, None)
    verdict = evidence.verdicts[-1] if evidence is not None and evidence.verdicts else None
    raised = call.excinfo.value if call.excinfo is not None else None
    part = unseen_part(raised)
    if report.failed and part is not None:
        verdict = entry.completer(item.nodeid)(unseen_verdict(part, entry.expected.ordered))
        report.longrepr = failure_text(verdict, 100, heading=False)
        report.when = "setup"
    elif report.failed and not isinstance(raised, NotMetError | NotJudgedError):
        # A bug of the suite keeps its traceback; the entry was not judged, so it is no failure.
        verdict = _bug(entry, item.nodeid, raised)
        report.when = "setup"
    elif verdict is not None and verdict.outcome is Outcome.FAIL:
        report.longrepr = failure_text(verdict, 100, heading=False)
    elif verdict is not None and verdict.outcome is Outcome.ERROR:
        report.longrepr = failure_text(verdict, 100, heading=False)
        report.when = "setup"  # what pytest, its JUnit and xdist call an error and not a failure
    elif verdict is not None and verdict.outcome is Outcome.WAIVED:
        report.outcome = "skipped"
        report.wasxfail = "; ".join(
            dict.fromkeys(f.waived for f in verdict.findings if f.waived is not None)
        )
    if verdict is not None and (report.failed or call.when == "call"):
        text = json.dumps(VERDICT.dump_python(verdict, mode="json"))
        report.user_properties.append((VERDICT_PROPERTY, text))
        run = item.config.stash[RUN]
        report.user_properties.append((META_PROPERTY, json.dumps(_meta(run))))
        if ALLURE in item.config.stash:
            is_bug = (
                raised is not None
                and part is None
                and not isinstance(raised, NotMetError | NotJudgedError)
            )
            item.config.stash[ALLURE].judged(verdict, is_bug=is_bug)
    return report


def _bug(entry: Entry, nodeid: str, raised: BaseException | None) -> Verdict:
    what = f"{type(raised).__name__}: {raised}" if raised is not None else "unknown"
    part = NotSeen("this entry", f"a bug in the suite, {what}", "report it")
    return entry.completer(nodeid)(unseen_verdict(part, entry.expected.ordered))


def _meta(run: Session) -> dict[str, Any]:
    seen = run.seen
    if seen is None:
        return {}
    return {"observer": seen.observer, "tools": dict(seen.tools), "warnings": list(seen.warnings)}

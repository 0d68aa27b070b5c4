"""Allure: ``allure-results/`` in the run's folder, and what ``--alluredir`` gets of a verdict.

``render`` makes the files of the run's folder from verdicts alone: one ``<uuid>-result.json`` an
entry, also for entries that did not run, with the evidence attached. ``uuid`` is made of fabric,
entry and start of the run, so that writing the same run again gives the same files.

``VerdictResults`` completes the results that allure-pytest writes where ``--alluredir`` is given.
Both have the same labels, messages and attachments, and the same ``historyId`` of fabric and entry
alone, by which Allure follows an entry from run to run.
"""

from __future__ import annotations

import csv
import hashlib
import html
import io
import json
import uuid
from collections.abc import Iterable, Iterator

import allure_commons
from allure_commons.model2 import (
    INDENT,
    Attachment,
    Label,
    Status,
    StatusDetails,
    TestResult,
)
from allure_commons.types import AttachmentType, LabelType, Severity
from attr import asdict

from ibaccept.fabric.harmless import cell, clean
from ibaccept.report.json_report import verdict_text
from ibaccept.report.junit import WIDTH, names, waivers
from ibaccept.report.meta import RunMeta, epoch
from ibaccept.report.terminal import failure_text
from ibaccept.report.text import capture_place, ordered, route_text
from ibaccept.verdict import Outcome, Verdict
from ibaccept.verdict.answer import NotRun, Result, outcome_of

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:ibaccept:allure")

STATUS = {
    Outcome.PASS: Status.PASSED,
    Outcome.FAIL: Status.FAILED,
    Outcome.ERROR: Status.BROKEN,
    Outcome.WAIVED: Status.SKIPPED,
    Outcome.SKIP: Status.SKIPPED,
}

SEVERITY = {
    "subnet": Severity.BLOCKER,
    "routes": Severity.BLOCKER,
    "cabling": Severity.CRITICAL,
    "links": Severity.CRITICAL,
    "counters": Severity.CRITICAL,
    "throughput": Severity.CRITICAL,
}
"""What hangs on an area: without subnet and routes nothing runs; the others make it run badly.

Of an entry that orders no severity of its own."""


def _digest(*parts: str) -> str:
    """An id of 32 hexadecimal digits, as Allure's own adaptors make them."""
    return hashlib.md5(ascii(parts).encode(), usedforsecurity=False).hexdigest()


def labels(fabric: str, kind: str, area: str, severity: str) -> tuple[tuple[str, str], ...]:
    """Severity, epic (the fabric), feature (the area) and story (the kind) of an entry.

    Args:
        fabric: name of the fabric.
        kind: of the entry: ``link-rate``.
        area: of the entry: ``links``.
        severity: of the entry; ``normal`` is replaced by the severity of the area.
    """
    if severity == Severity.NORMAL.value:
        severity = SEVERITY.get(area, Severity.NORMAL).value
    return (
        (LabelType.SEVERITY, severity),
        (LabelType.EPIC, clean(fabric)),
        (LabelType.FEATURE, clean(area)),
        (LabelType.STORY, clean(kind)),
    )


def _base(
    meta: RunMeta, entry: str, nodeid: str, kind: str, area: str, severity: str = "normal"
) -> TestResult:
    suite, test = names(nodeid, kind, entry)
    start, stop = epoch(meta.started), epoch(meta.ended)
    feature = area or suite.rpartition(".")[2].removeprefix("test_")
    rows = (
        *labels(meta.fabric, kind, feature, severity),
        (LabelType.PARENT_SUITE, clean(meta.fabric)),
        (LabelType.SUITE, suite),
        (LabelType.HOST, clean(meta.observer)),
        (LabelType.FRAMEWORK, "ibaccept"),
        (LabelType.LANGUAGE, "python"),
    )
    return TestResult(
        uuid=str(uuid.uuid5(_NAMESPACE, ascii((meta.fabric, entry, nodeid, meta.started)))),
        historyId=_digest(meta.fabric, entry),
        testCaseId=_digest(entry),
        fullName=f"{suite}#{test}",
        name=clean(entry),
        titlePath=suite.split("."),
        stage="finished",
        labels=[Label(name=name, value=value) for name, value in rows if value],
        # The run as a whole is timed, not each entry: the fabric is looked at once for all.
        start=None if start is None else round(start * 1000),
        stop=None if stop is None else round(stop * 1000),
    )


def _text(item: TestResult) -> str:
    data = asdict(item, filter=lambda _, value: value or value is False)
    return json.dumps(data, indent=INDENT, ensure_ascii=True) + "\n"


def _attachment(item: TestResult, name: str, kind: AttachmentType) -> str:
    """Attach a file to the item; the file's name is made of its uuid and the attachment's."""
    prefix = uuid.uuid5(uuid.UUID(item.uuid), name)
    source = f"{prefix}-attachment.{kind.extension}"
    item.attachments.append(Attachment(name=name, source=source, type=kind.mime_type))
    return source


def _details(verdict: Verdict) -> StatusDetails:
    outcome = outcome_of(verdict)
    message = clean(verdict.sentence)
    if outcome is Outcome.WAIVED:
        message = f"waived ({waivers(verdict.findings)}): {message}"
    wrong = outcome in (Outcome.FAIL, Outcome.ERROR)
    return StatusDetails(
        message=message,
        trace=failure_text(verdict, WIDTH) if wrong else None,
        known=True if outcome is Outcome.WAIVED else None,
    )


def _because(verdict: Verdict) -> str:
    """The reason of the entry. Allure reads a description as Markdown, in which HTML acts."""
    return "because: " + html.escape(clean(verdict.because))


def attachments(verdict: Verdict) -> Iterator[tuple[str, AttachmentType, str]]:
    """Name, type and text of each attachment of a verdict.

    ``evidence`` is what the terminal shows and ``verdict`` the whole as JSON. Where there are any:
    ``counters``, a CSV row a counter; ``routes``, a line a route; ``captured lines``.
    """
    yield "evidence", AttachmentType.TEXT, failure_text(verdict, WIDTH) + "\n"
    yield "verdict", AttachmentType.JSON, verdict_text(verdict) + "\n"
    counters = _counters(verdict)
    if counters:
        yield "counters", AttachmentType.CSV, counters
    routes = dict.fromkeys(
        route_text(example)
        for finding in verdict.findings
        if finding.routes is not None
        for example in finding.routes.examples
    )
    if routes:
        yield "routes", AttachmentType.TEXT, "\n".join(routes) + "\n"
    lines = dict.fromkeys(
        f"{capture_place(capture)}: {clean(capture.text)}"
        for finding in verdict.findings
        for capture in finding.captures
    )
    if lines:
        yield "captured lines", AttachmentType.TEXT, "\n".join(lines) + "\n"


_COUNTER_COLUMNS = ("port", "counter", "before", "after", "growth", "seconds", "state")


def _counters(verdict: Verdict) -> str:
    """The counters of all findings as CSV, each once; empty where there are none."""
    counters = dict.fromkeys(
        counter for finding in verdict.findings for counter in finding.counters
    )
    if not counters:
        return ""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COUNTER_COLUMNS)
    for counter in counters:
        numbers = (counter.before, counter.after, counter.delta, counter.seconds)
        writer.writerow(
            (
                cell(counter.port),
                cell(counter.name),
                *("" if number is None else str(number) for number in numbers),
                str(counter.state),
            )
        )
    return text.getvalue()


def _verdict_files(verdict: Verdict, meta: RunMeta) -> Iterator[tuple[str, str]]:
    item = _base(meta, verdict.id, verdict.nodeid, verdict.kind, verdict.area, verdict.severity)
    item.status = STATUS[outcome_of(verdict)]
    item.statusDetails = _details(verdict)
    if verdict.because:
        item.description = _because(verdict)
    for name, kind, text in attachments(verdict):
        yield _attachment(item, name, kind), text
    yield item.file_pattern.format(prefix=item.uuid), _text(item)


def _not_run_file(name: str, entry: NotRun, meta: RunMeta) -> tuple[str, str]:
    item = _base(meta, name, entry.nodeid, entry.kind, "")
    item.status = Status.SKIPPED if entry.deliberate else Status.BROKEN
    item.statusDetails = StatusDetails(message=f"not run: {clean(entry.reason)}")
    return item.file_pattern.format(prefix=item.uuid), _text(item)


def render(verdicts: Iterable[Verdict], meta: RunMeta, result: Result) -> dict[str, str]:
    """Every file of allure-results/: text by file name."""
    files: dict[str, str] = {}
    for verdict in ordered(verdicts):
        files.update(_verdict_files(verdict, meta))
    files.update(_not_run_file(name, entry, meta) for name, entry in result.not_run.items())
    return files


class VerdictResults:
    """Completes the results of allure-pytest by the verdicts; a plugin of ``allure_commons``.

    allure-pytest and this run in the process that ran the test: with xdist, in each worker.

    Attributes:
        fabric: name of the fabric.
    """

    def __init__(self, fabric: str) -> None:
        self.fabric = fabric
        self._verdict: Verdict | None = None
        self._is_bug = False

    def judged(self, verdict: Verdict, *, is_bug: bool = False) -> None:
        """Attach the evidence to the test that is running and keep the verdict for its result.

        Args:
            verdict: of the test.
            is_bug: the test raised by mistake; its traceback stays what Allure shows.
        """
        self._verdict, self._is_bug = verdict, is_bug
        for name, kind, text in attachments(verdict):
            allure_commons.plugin_manager.hook.attach_data(
                body=text, name=name, attachment_type=kind, extension=None
            )

    @allure_commons.hookimpl(tryfirst=True)
    def report_result(self, result: TestResult) -> None:
        """Called with each finished result, before it is written."""
        entry = next((p.value for p in result.parameters if p.name == "entry"), None)
        if entry is not None:
            result.historyId = _digest(self.fabric, entry)
        verdict, self._verdict = self._verdict, None
        if verdict is None:
            return
        result.status = STATUS[outcome_of(verdict)]
        if not self._is_bug:
            result.statusDetails = _details(verdict)
        if verdict.because:
            result.description = "\n\n".join(filter(None, (result.description, _because(verdict))))

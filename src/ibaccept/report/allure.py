"""allure-results/, written with allure-python-commons' model (package ``allure_commons``).

One ``<uuid>-result.json`` an entry with its evidence attached as text and as JSON, and nothing
else in the folder. ``historyId`` is made of fabric and entry alone, so that Allure follows an
entry from run to run; ``uuid`` of those and the start of the run, so that writing the same run
again gives the same files.
"""

from __future__ import annotations

import hashlib
import html
import json
import uuid
from collections.abc import Iterable, Iterator

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

from ibaccept.report.json_report import verdict_text
from ibaccept.report.junit import WIDTH, names, waivers
from ibaccept.report.meta import RunMeta, epoch
from ibaccept.report.terminal import failure_text
from ibaccept.report.text import clean, ordered
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


def _base(
    meta: RunMeta, entry: str, nodeid: str, kind: str, area: str, severity: str = "normal"
) -> TestResult:
    suite, test = names(nodeid, kind, entry)
    start, stop = epoch(meta.started), epoch(meta.ended)
    feature = clean(area) or suite.rpartition(".")[2].removeprefix("test_")
    if severity == Severity.NORMAL.value:
        severity = SEVERITY.get(feature, Severity.NORMAL).value
    labels = (
        (LabelType.SEVERITY, severity),
        (LabelType.EPIC, clean(meta.fabric)),
        (LabelType.FEATURE, feature),
        (LabelType.STORY, clean(kind)),
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
        labels=[Label(name=name, value=value) for name, value in labels if value],
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


def _verdict_files(verdict: Verdict, meta: RunMeta) -> Iterator[tuple[str, str]]:
    item = _base(meta, verdict.id, verdict.nodeid, verdict.kind, verdict.area, verdict.severity)
    outcome = outcome_of(verdict)
    text = failure_text(verdict, WIDTH)
    message = clean(verdict.sentence)
    if outcome is Outcome.WAIVED:
        message = f"waived ({waivers(verdict.findings)}): {message}"
    item.status = STATUS[outcome]
    item.statusDetails = StatusDetails(
        message=message,
        trace=text if outcome in (Outcome.FAIL, Outcome.ERROR) else None,
        known=True if outcome is Outcome.WAIVED else None,
    )
    if verdict.because:
        # Allure reads a description as Markdown, in which HTML acts.
        item.description = "because: " + html.escape(clean(verdict.because))
    yield _attachment(item, "evidence", AttachmentType.TEXT), text + "\n"
    yield _attachment(item, "verdict", AttachmentType.JSON), verdict_text(verdict) + "\n"
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

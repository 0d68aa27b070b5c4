"""junit.xml for CI servers: one testsuite a fabric, one testcase an entry.

Layout as Jenkins and GitLab read it (the Ant JUnit schema): class names and names never hold
measured values, so that a server follows an entry through its history.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from ibaccept.fabric.harmless import clean
from ibaccept.report.meta import RunMeta
from ibaccept.report.terminal import failure_text
from ibaccept.report.text import coverage_text, ordered
from ibaccept.verdict import Finding, Outcome, Verdict
from ibaccept.verdict.answer import NotRun, Result, outcome_of

WIDTH = 100


def names(nodeid: str, kind: str, name: str) -> tuple[str, str]:
    """Class name and name of an entry: from pytest's id where there is one, else kind and id."""
    file, found, test = nodeid.partition("::")
    if not found:
        return clean(f"ibaccept.{kind}" if kind else "ibaccept"), clean(name)
    return clean(file.removesuffix(".py").replace("/", ".")), clean(test)


def waivers(findings: Iterable[Finding]) -> str:
    """The waivers that cover findings, each once: ``RMA-4711: cable on order``."""
    return "; ".join(dict.fromkeys(clean(f.waived) for f in findings if f.waived is not None))


def _properties(parent: ET.Element, rows: Iterable[tuple[str, str]]) -> None:
    holder = ET.SubElement(parent, "properties")
    for name, value in rows:
        ET.SubElement(holder, "property", name=name, value=value)


def _case(suite: ET.Element, verdict: Verdict) -> None:
    classname, name = names(verdict.nodeid, verdict.kind, verdict.id)
    case = ET.SubElement(suite, "testcase", classname=classname, name=name)
    rows = (
        ("id", verdict.id),
        ("kind", verdict.kind),
        ("area", verdict.area),
        ("source", verdict.source),
        ("because", verdict.because),
        ("coverage", coverage_text(verdict)),
    )
    _properties(case, ((key, clean(value)) for key, value in rows if value))
    body = failure_text(verdict, WIDTH)
    sentence = clean(verdict.sentence)
    match outcome_of(verdict):
        case Outcome.FAIL:
            ET.SubElement(case, "failure", type="fail", message=sentence).text = body
        case Outcome.ERROR:
            ET.SubElement(case, "error", type="error", message=sentence).text = body
        case Outcome.WAIVED:
            message = f"waived ({waivers(verdict.findings)}): {sentence}"
            ET.SubElement(case, "skipped", type="waived", message=message)
            ET.SubElement(case, "system-out").text = body
        case Outcome.SKIP:
            ET.SubElement(case, "skipped", type="skip", message=sentence)
            ET.SubElement(case, "system-out").text = body
        case Outcome.PASS:
            ET.SubElement(case, "system-out").text = body


def _case_not_run(suite: ET.Element, name: str, entry: NotRun) -> None:
    classname, test = names(entry.nodeid, entry.kind, name)
    case = ET.SubElement(suite, "testcase", classname=classname, name=test)
    # A CI server colours by this file: what was cut short must not look like what was left out.
    tag = "skipped" if entry.deliberate else "error"
    ET.SubElement(case, tag, type="not-run", message=f"not run: {clean(entry.reason)}")


def _case_nothing(suite: ET.Element) -> None:
    case = ET.SubElement(suite, "testcase", classname="ibaccept", name="anything-judged")
    message = "no entry was judged, so nothing is accepted; see which entries were selected"
    ET.SubElement(case, "error", type="nothing-judged", message=message)


def render(verdicts: Iterable[Verdict], meta: RunMeta, result: Result) -> str:
    """The text of junit.xml. ``clean`` has taken out all that XML 1.0 cannot hold.

    An entry not run on purpose is skipped, any other is an error; a run that judged nothing has
    an error of its own.
    """
    counts = result.counts
    cut_short = sum(not entry.deliberate for entry in result.not_run.values())
    nothing = not counts.judged and not counts.errors and not cut_short
    errors = counts.errors + cut_short + nothing
    skipped = counts.waived + counts.skipped + counts.not_run - cut_short
    attributes = {
        "tests": str(counts.passed + counts.failed + errors + skipped),
        "failures": str(counts.failed),
        "errors": str(errors),
        "skipped": str(skipped),
    }
    if meta.seconds is not None:
        attributes["time"] = f"{meta.seconds:.3f}"
    root = ET.Element("testsuites", {"name": "ibaccept", **attributes})
    suite = ET.SubElement(
        root,
        "testsuite",
        {
            "name": f"ibaccept.{clean(meta.fabric)}",
            "timestamp": clean(meta.started),
            "hostname": clean(meta.observer),
            **attributes,
        },
    )
    warnings = (("warning", clean(warning)) for warning in meta.warnings)
    _properties(suite, (("result", str(result.answer)), *meta.facts(), *warnings))
    for verdict in ordered(verdicts):
        _case(suite, verdict)
    for name, entry in result.not_run.items():
        _case_not_run(suite, name, entry)
    if nothing:
        _case_nothing(suite)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'

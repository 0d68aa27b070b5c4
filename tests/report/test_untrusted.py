"""Whatever a node calls itself: nothing acts, nothing is lost, nothing breaks."""

import csv
import io
import json
import re
import tempfile
import unicodedata
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet
from hypothesis import given, settings
from hypothesis import strategies as st

from ibaccept.fabric.harmless import clean
from ibaccept.report import (
    NotRun,
    RunMeta,
    allure,
    closing_lines,
    failure_text,
    grouping,
    html,
    json_report,
    junit,
    overall,
    punchlist,
)
from ibaccept.verdict import Coverage, Finding, Outcome, Subject, Table, Verdict
from ibaccept.verdict.evidence import CaptureRef, Counter, CounterState, RouteExample, RouteRef

# Any code point that decoding can give (of surrogates the low ones alone); the worst ones often.
texts = st.text(
    st.sampled_from("\x00\x07\x1b\r\n\x9b\u202e\udc80\udcff\ufffe<&\"'=,[]")
    | st.characters(exclude_categories=["Cs"]),
    max_size=12,
)
numbers = st.none() | st.integers(0, 2**64 - 1)
tuples = lambda of, size=3: st.lists(of, max_size=size).map(tuple)  # noqa: E731 - reads as a type

counters = st.builds(
    Counter,
    texts,
    texts,
    numbers,
    numbers,
    st.none() | st.floats(0, 1e6, allow_nan=False),
    st.sampled_from((4, 8, 16, 32, 64)),
    st.sampled_from(CounterState),
)
routes = st.builds(
    RouteRef,
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    tuples(st.builds(RouteExample, st.integers(0), st.integers(0), tuples(texts), texts)),
)
findings = st.builds(
    Finding,
    st.builds(Subject, texts, texts, tuples(texts), tuples(st.integers(0, 255))),
    st.sampled_from(("fail", "error")),
    texts,
    texts,
    texts,
    tuples(counters),
    st.none() | routes,
    tuples(st.builds(CaptureRef, texts, st.none() | st.integers(1), texts)),
    texts,
    tuples(texts),
    st.none() | texts,
)
verdicts = st.builds(
    Verdict,
    texts,
    texts,
    texts,
    st.sampled_from(Outcome),
    texts,
    texts,
    st.builds(Coverage, st.integers(0, 10**6), st.integers(0, 10**6)),
    tuples(findings),
    texts,
    texts,
    tuples(st.builds(Table, texts, tuples(texts), tuples(tuples(texts))), 2),
    tuples(texts),
)
runs = st.builds(
    RunMeta,
    texts,
    texts,
    texts,
    st.dictionaries(texts, texts, max_size=2),
    texts,
    st.just(Path("reports/x")),
    texts,
    texts,
    texts,
    tuples(texts),
)
not_runs = st.dictionaries(texts, st.builds(NotRun, texts, st.booleans(), texts, texts), max_size=2)

few = settings(max_examples=60, deadline=None)


def harmful(text):
    """Code points that could act on a terminal, reorder what is read, or are no text at all."""
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")} | set(
        re.findall("[\u202a-\u202e\u2066-\u2069\ufffe\uffff]", text)
    )


@given(st.text(st.characters(exclude_categories=[]) | st.characters(categories=["Cs"])))
@few
def test_clean_leaves_one_line_of_harmless_text(text):
    cleaned = clean(text)

    assert harmful(cleaned) == set()
    assert cleaned.encode().decode() == cleaned
    assert clean(cleaned) == cleaned


def test_clean_spells_out_what_it_takes_away():
    assert clean("a\x1b[31m\nb\r\t\x00\x9b\udcff\ud800\u202e\u2028\U000e0001 é 中") == (
        r"a\x1b[31m\nb\r\t\x00\x9b\xff\ud800\u202e\u2028\U000e0001 é 中"
    )


@given(st.lists(verdicts, max_size=3), runs, not_runs)
@few
def test_json_round_trip(some, meta, not_run):
    result = overall(some, not_run)
    text = json_report.render(some, meta, result)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "verdicts.json"
        path.write_text(text, encoding="ascii")
        document = json_report.load_document(path)

    assert sorted(document.verdicts, key=repr) == sorted(some, key=repr)
    assert (document.fabric, document.tools, document.warnings) == (
        meta.fabric,
        meta.tools,
        meta.warnings,
    )
    assert (document.result, document.exit_code, document.counts, document.not_run) == (
        result.answer,
        result.exit_code,
        result.counts,
        result.not_run,
    )
    assert harmful(text) <= {"\n"}


@given(verdicts, runs, not_runs)
@few
def test_no_report_lets_anything_act(verdict, meta, not_run):
    result = overall([verdict], not_run)
    texts = [
        failure_text(verdict, 80),
        *closing_lines(result, meta),
        junit.render([verdict], meta, result),
        html.render([verdict], meta, result),
        *allure.render([verdict], meta, result).values(),
    ]

    assert set().union(*map(harmful, texts)) <= {"\n"}
    assert harmful(punchlist.render([verdict])) == {"\r", "\n"}


@given(verdicts, runs, not_runs)
@few
def test_xml_json_and_csv_can_be_read(verdict, meta, not_run):
    result = overall([verdict], not_run)

    root = ET.fromstring(junit.render([verdict], meta, result))  # noqa: S314 - our own output
    items = [
        json.loads(text)
        for name, text in allure.render([verdict], meta, result).items()
        if name.endswith("-result.json")
    ]
    head, *rows = csv.reader(io.StringIO(punchlist.render([verdict]), newline=""), strict=True)

    cases = [c.get("name") for c in root.iter("testcase") if c.get("name") != "anything-judged"]
    assert len(cases) == 1 + len(not_run)
    assert len(items) == 1 + len(not_run)
    assert {len(row) for row in rows} <= {len(head)}
    starts = {cell.lstrip(' \u00a0\u3000"')[:1] for row in rows for cell in row}
    assert starts & set("=+-@") == set()


@given(verdicts)
@few
def test_html_has_the_elements_of_the_template_only(verdict):
    text = html.render([verdict], RunMeta("f", "", ""), overall([verdict], {}))

    assert set(re.findall(r"<(?!/|!)([^ >]*)", text)) <= {
        *("html", "head", "meta", "title", "style", "body", "header", "h1", "p", "strong", "dl"),
        *("div", "dt", "dd", "a", "input", "nav", "label", "main", "details", "summary", "span"),
        *("br", "h3", "h4", "h5", "code", "table", "tr", "th", "td", "ul", "li", "pre", "section"),
    }


names = st.lists(
    st.from_regex(r"\A[a-z]{1,3}-?[0-9]{1,4}(/[0-9]{1,2})?\Z") | texts, min_size=1, max_size=30
)


@given(names)
@few
def test_folding_loses_no_name(names):
    """Every finding is in one entry, and a folded set reads back to its names."""
    found = [Finding(Subject("node", name), "fail", "a", "b") for name in names]

    entries = [entry for group in grouping.group(found) for entry in group.entries]

    assert sum(entry.size for entry in entries) == len(names)
    for entry in entries:
        if entry.size > 1:
            text = entry.name.rpartition(" (")[0]
            members = set(NodeSet(text, resolver=RESOLVER_NOGROUP))
            assert len(members) == entry.size
            assert members <= set(names)


def test_five_thousand_findings_stay_short_where_people_read(failed, slow_link, meta):
    many = tuple(
        replace(slow_link, subject=Subject("link", f"leaf{i}/1 - spine1/{i}")) for i in range(5000)
    )
    verdict = replace(failed, findings=many, coverage=Coverage(5000, 5000))
    result = overall([verdict], {})

    assert len(failure_text(verdict, 95).splitlines()) == 4 + 10 * 5 + 1
    assert failure_text(verdict, 95).splitlines()[-1] == (
        "    ... and 4,990 more, all in verdicts.json"
    )
    assert len(html.render([verdict], meta, result)) < 1_000_000
    assert punchlist.render([verdict]).count("\r\n") == 5001
    assert json_report.render([verdict], meta, result).count("leaf4999/1 - ") == 1

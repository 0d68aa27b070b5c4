"""index.html: self-contained, whole, and harmless whatever a node calls itself."""

import re
from dataclasses import replace
from html.parser import HTMLParser

from ibaccept.report import html, overall
from ibaccept.verdict import Coverage, Finding, Outcome, Subject, Table
from ibaccept.verdict.evidence import CaptureRef

VOID = {"meta", "input", "br"}


class Page(HTMLParser):
    """Elements with their attributes, the text people read, and whether every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.words, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style" and data.strip():
            self.words.append(" ".join(data.split()))

    def all(self, tag, attribute):
        return [attrs.get(attribute) for name, attrs in self.elements if name == tag]


def page(verdicts, meta, not_run=None):
    text = html.render(verdicts, meta, overall(verdicts, not_run or {}))
    found = Page(text)
    assert found.open == []
    return found


def test_every_word_of_a_run(verdicts, meta, not_run):
    words = page(verdicts, meta, not_run).words

    assert words == [
        "hall-3: NOT ACCEPTED",
        "Acceptance of fabric hall-3",
        "NOT ACCEPTED",
        "1 passed, 1 failed, 1 not judged, 1 waived, 1 not run",
        *("Warning:", "2 hosts had no SSH"),
        *("fabric", "hall-3"),
        *("started", "2026-11-30T10:16:03Z"),
        *("ended", "2026-11-30T10:18:41Z"),
        *("observer", "mgmt01"),
        *("job", "clients node[001-012]"),
        *("expectations", "expectations.yaml"),
        *("ibaccept", "0.1.0"),
        *("ibnetdiscover", "44.0"),
        *("perfquery", "44.0"),
        *("Also in this folder:", "verdicts.json", "(all data),"),
        *("punchlist.csv", "(a row per finding, with GUIDs),"),
        *("captures/", "(what the tools printed)."),
        *("all 5", "failed 1", "not judged 1", "waived 1", "not run 1", "passed 1"),
        *("failed", "2 of 96 inter-switch links are not 4X HDR"),
        *("isl-4x-hdr", "· 96 of 96 judged"),
        "Because: spine ordered as HDR",
        "link-rate · expectations.yaml:9 · tests_fabric/test_links.py::test_link_rate[isl-4x-hdr]",
        "expected 4X HDR, found 4X EDR (1)",
        "leaf01/2 - spine01/2",
        "0x0002c90300000001/2 - 0x0002c90300000002/2",
        "Counters of leaf01/2, read twice, 60 s apart",
        *("counter", "before", "after", "growth"),
        *("SymbolErrorCounter", "0", "47", "+47"),
        *("LinkDownedCounter", "255", "255", "saturated"),
        "Routes: 118 of 4,032 pairs cross it",
        "LID 10 to 87: node001 -> leaf01/2 -> spine01/5 -> node087, delivered",
        *("Seen in", "captures/0003-iblinkinfo.txt:12"),
        "5 2[ ] ==( 4X 25.78125 Gbps Active/ LinkUp)==> ...",
        "See it again",
        "ssh mgmt01 'iblinkinfo --line' | grep 0x0002c90300000001",
        *("not judged", "1 of 1,580 links could not be judged"),
        *("no-errors", "· 1,579 of 1,580 judged"),
        "error-counters · expectations.yaml:10 · "
        "tests_fabric/test_counters.py::test_error_counters[no-errors]",
        "expected no growth in 60 s, not seen: perfquery of LID 12 port 3 timed out (1)",
        "leaf07/3 - node101/1",
        "0x7/3 - 0x101/1",
        "Evidence not had: the second reading of leaf07/3 was not had",
        "To do: look at the management port of leaf07, then run again",
        "See it again",
        "ssh mgmt01 perfquery -x 12 3",
        *("waived", "1 of 480 planned cables is missing"),
        *("all-cabled", "· 480 of 480 judged"),
        "cabling · expectations.yaml:8 · tests_fabric/test_cabling.py::test_cabling[all-cabled]",
        "waived (RMA-4711: cable on order): expected a cable, found leaf01/17 is down (1)",
        "leaf01/17 - spine03/9",
        "0x0002c90300000001/17 - 0x3/9",
        *("passed", "1 of 1 masters runs on a host"),
        *("one-sm", "· 1 of 1 judged"),
        "Because: embedded SMs hide routing options",
        "subnet-manager · expectations.yaml:7 · "
        "tests_fabric/test_subnet.py::test_subnet_manager[one-sm]",
        "Subnet managers",
        *("host", "priority", "mgmt01", "14"),
        "Note: A standby would be seen by sminfo only.",
        *("not run", "needs --load", "fabric-carries", "· rdma-ceiling"),
    ]


def test_failures_and_errors_are_open(verdicts, meta):
    details = [
        (attrs["class"], "open" in attrs)
        for tag, attrs in page(verdicts, meta).elements
        if tag == "details" and attrs["class"].startswith("v ")
    ]

    assert details == [
        ("v fail", True),
        ("v error", True),
        ("v waived", False),
        ("v pass", False),
    ]


def test_nothing_comes_from_elsewhere(verdicts, meta, not_run):
    text = html.render(verdicts, meta, overall(verdicts, not_run))
    found = Page(text)

    assert re.findall(r"(?i)https?:|//[a-z]|@import|url\(|javascript:", text) == []
    assert {tag for tag, _ in found.elements} & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
    } == set()
    assert found.all("a", "href") == [
        "verdicts.json",
        "punchlist.csv",
        "captures/",
        "captures/0003-iblinkinfo.txt",
    ]


def test_a_nasty_name_is_text(meta, failed):
    nasty = "<script>alert(1)</script>\"'&\x1b[2J\udcff\u202e"
    finding = Finding(
        Subject(nasty, nasty, (nasty,), (1,)),
        "fail",
        nasty,
        nasty,
        hint=nasty,
        captures=(
            CaptureRef("javascript:alert(1)", 1, nasty),
            CaptureRef("captures/../../etc/passwd", 1, nasty),
            CaptureRef('captures/" onclick="x', 1, nasty),
        ),
        again=nasty,
        missing=(nasty,),
    )
    verdict = replace(
        failed,
        id=nasty,
        kind=nasty,
        nodeid=nasty,
        sentence=nasty,
        because=nasty,
        source=nasty,
        findings=(finding,),
        tables=(Table(nasty, (nasty,), ((nasty,),)),),
        notes=(nasty,),
    )

    found = page([verdict], replace(meta, fabric=nasty, warnings=(nasty,)))

    plain = "<script>alert(1)</script>\"'&\\x1b[2J\\xff\\u202e"
    assert sum(words.count(plain) for words in found.words) == 24
    assert found.all("script", "src") == []
    assert found.all("a", "href") == ["verdicts.json", "punchlist.csv", "captures/"]
    assert [attrs for _, attrs in found.elements if "onclick" in attrs] == []


def test_identity_where_guids_and_ports_do_not_pair(meta, failed, slow_link):
    subject = Subject("switch", "leaf01", ("0x1",), (3, 4))

    words = page([replace(failed, findings=(replace(slow_link, subject=subject),))], meta).words

    assert words[words.index("leaf01") + 1] == "0x1 ports 3, 4"


def test_a_great_many_findings_leave_a_page_that_says_so(meta, failed, slow_link):
    findings = tuple(
        replace(slow_link, subject=Subject("link", f"leaf{i}/1 - spine1/{i}")) for i in range(2500)
    )
    verdict = replace(failed, findings=findings, coverage=Coverage(2500, 2500))

    words = page([verdict], meta).words

    assert words.count("See it again") == html.PROVED
    assert words[-4:] == [
        "leaf2198/1 - spine1/2198",
        "leaf2199/1 - spine1/2199",
        "The evidence of these is in verdicts.json.",
        "... and 300 more, all in verdicts.json and punchlist.csv.",
    ]


def test_a_great_many_differences_leave_a_page_that_says_so(meta, failed):
    findings = tuple(
        Finding(Subject("node", f"node{i}"), "fail", "0 errors", f"{i} errors") for i in range(2500)
    )

    words = page([replace(failed, findings=findings)], meta).words

    assert words[-5:] == [
        "The evidence of these is in verdicts.json.",
        "expected 0 errors, found 2199 errors (1)",
        "node2199",
        "The evidence of these is in verdicts.json.",
        "further findings that differ otherwise, in verdicts.json and punchlist.csv (300)",
    ]


def test_a_run_of_nothing_accepts_nothing(meta):
    words = page((), meta).words

    assert (words[2], words[-1]) == ("INCOMPLETE", "No entry was judged: nothing is accepted.")


def test_a_pass_on_nothing_is_shown_as_not_judged(meta, passed):
    words = page([replace(passed, coverage=Coverage(0, 0))], meta).words

    assert (words[2], words[3]) == ("INCOMPLETE", "1 not judged")
    assert Outcome.PASS not in words

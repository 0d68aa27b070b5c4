"""punchlist.csv: a row per finding, and nothing a spreadsheet would calculate."""

import csv
import io
from dataclasses import replace

import pytest

from ibaccept.report import punchlist
from ibaccept.verdict import Coverage, Finding, Outcome, Subject


def rows(verdicts):
    return list(csv.reader(io.StringIO(punchlist.render(verdicts), newline=""), strict=True))


def test_whole(verdicts):
    assert rows(verdicts) == [
        list(punchlist.HEADER),
        [
            "all-cabled",
            "cabling",
            "waived",
            "leaf01/17 - spine03/9",
            "leaf01",
            "0x0002c90300000001",
            "17",
            "spine03",
            "0x3",
            "9",
            "a cable",
            "leaf01/17 is down",
            "",
            "",
            "",
        ],
        [
            "isl-4x-hdr",
            "link-rate",
            "fail",
            "leaf01/2 - spine01/2",
            "leaf01",
            "0x0002c90300000001",
            "2",
            "spine01",
            "0x0002c90300000002",
            "2",
            "4X HDR",
            "4X EDR",
            "spine ordered as HDR",
            "ssh mgmt01 'iblinkinfo --line' | grep 0x0002c90300000001",
            "captures/0003-iblinkinfo.txt:12",
        ],
        [
            "no-errors",
            "error-counters",
            "error",
            "leaf07/3 - node101/1",
            "leaf07",
            "0x7",
            "3",
            "node101",
            "0x101",
            "1",
            "no growth in 60 s",
            "perfquery of LID 12 port 3 timed out",
            "",
            "ssh mgmt01 perfquery -x 12 3",
            "",
        ],
    ]


def test_an_entry_that_selected_nothing_has_a_row(not_judged):
    empty = replace(
        not_judged,
        sentence="no links were seen, so nothing was judged",
        findings=(),
        coverage=Coverage(0, 0),
    )

    assert rows([empty]) == [
        list(punchlist.HEADER),
        [
            "no-errors",
            "error-counters",
            "error",
            *[""] * 8,
            "no links were seen, so nothing was judged",
            *[""] * 3,
        ],
    ]


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (Subject("node", "node1"), ("node1", "")),
        (Subject("port", "node1/2", ("0x1",), (2,)), ("node1", "")),
        (Subject("link", "a/1 - b/2", ("0x1", "0x2"), (1, 2)), ("a", "b")),
        (Subject("link", "a - b/1 - c/2", ("0x1", "0x2"), (1, 2)), ("a - b", "c")),
        (Subject("link", "a/1 - b/1 - c/1", ("0x1", "0x2"), (1, 1)), ("a/1 - b/1 - c/1", "")),
        (Subject("link", "cable 7", ("0x1", "0x2"), (1, 2)), ("cable 7", "")),
    ],
)
def test_ends(subject, expected):
    assert punchlist.ends(subject) == expected


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ('=HYPERLINK("http://x","y")', '\'=HYPERLINK("http://x","y")'),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        (" =1", "' =1"),
        ('"=1', "'\"=1"),
        ("\uff1d1", "'\uff1d1"),
        ("\t=1", "\\t=1"),
        ("\r\n=1", "\\r\\n=1"),
        ("a;=1", "a;=1"),
        ("node-1", "node-1"),
    ],
)
def test_no_cell_is_a_formula(passed, name, shown):
    finding = Finding(Subject("node", name), "fail", name, name, again=name)
    verdict = replace(passed, outcome=Outcome.FAIL, findings=(finding,), because="")

    assert rows([verdict])[1:] == [
        ["one-sm", "subnet-manager", "fail", shown, shown, *[""] * 5, shown, shown, "", shown, ""]
    ]


def test_every_cell_is_quoted():
    """A reader that takes ``;`` for the separator must find no cell beginning with a formula."""
    assert punchlist.render([]) == ",".join(f'"{name}"' for name in punchlist.HEADER) + "\r\n"

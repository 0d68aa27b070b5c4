"""The page of a comparison: whole, without script, and harmless whatever the fabric is called."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from ibaccept.compare.comparison import Comparison, RunSide
from ibaccept.compare.findings import Change, EntryChange, Status
from ibaccept.compare.growth import CounterGrowth, GrowthBetween
from ibaccept.compare.hardware import HardwareChange, Moved
from ibaccept.compare.html import render
from ibaccept.compare.rates import RateChange
from ibaccept.compare.routes import RouteChanges, SwitchRoutes
from ibaccept.verdict.absence import NotSeen

EVIL = '<script>alert(1)</script>"\x1b[2J'
SIDE = RunSide("reports/1", EVIL, "2026-11-29T10:00:00Z", "ACCEPTED")
FULL = Comparison(
    *(1, SIDE, SIDE, (EVIL,)),
    (Change(Status.NEW, "rate", "link-rate", EVIL, "", "fail: 1X HDR"),),
    (EntryChange("rate", "pass", "fail"),),
    (HardwareChange(Moved.RENAMED, EVIL, "a", "b"),),
    GrowthBetween(2.0, (CounterGrowth("a/1", "PortRcvErrors", 1, 2, "ok", 1, 0.5),), ("a/5 x",)),
    RouteChanges((SwitchRoutes("a", 3, 40),), 3, 80, 2),
    (RateChange("filesystem-read", 51.1, None, None, "cut"),),
)


class Page(HTMLParser):
    """Tags, and the text of headings and cells."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.cells, self._open = [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, _attrs):
        self.tags.append(tag)
        self._open = tag
        if tag in {"h3", "td"}:
            self.cells.append("")

    def handle_endtag(self, _tag):
        self._open = ""

    def handle_data(self, data):
        if self._open in {"h3", "td"}:
            self.cells[-1] += data


def test_every_table_is_there():
    page = Page(render(FULL))

    assert [page.tags.count(tag) for tag in ("script", "img", "link")] == [0, 0, 0]
    cells = page.cells[10:]  # after the two runs
    assert cells == [
        *("new (1)", "rate", '<script>alert(1)</script>"\\x1b[2J', "", "fail: 1X HDR", "", ""),
        *("entries with another outcome (1)", "rate", "pass", "fail", ""),
        *("hardware (1)", "renamed", '<script>alert(1)</script>"\\x1b[2J', "a", "b"),
        *("error counters between the runs (1)", "a/1", "PortRcvErrors", "1", "2", "1", "0.5"),
        *("routes (1)", "a", "3", "40"),
        *("load runs (1)", "filesystem-read", "51.1 GiB/s", "not measured", "not known", "cut"),
    ]


@pytest.mark.parametrize(
    ("findings", "style"),
    [
        (FULL.findings, "answer bad"),
        ((replace(FULL.findings[0], status=Status.UNJUDGED),), "answer open"),
        ((), "answer good"),
    ],
)
def test_the_answer_has_its_colour(findings, style):
    assert f'class="{style}"' in render(replace(FULL, findings=findings))


def test_what_was_not_seen_stands_where_its_table_would():
    part = NotSeen("x", "mgmt01: it was silent")
    page = render(replace(FULL, hardware=part, counters=part, routes=part, rates=part))

    assert page.count("not compared: mgmt01: it was silent") == 4

"""Kinds link-rate and link-count: whole verdicts on fabrics made by hand."""

import pytest

from ibaccept.fabric.model import PortState, Rate
from ibaccept.observe.snapshot import Gap
from ibaccept.site.plan import Plan
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

EDR = Rate.parse("4X EDR")
TWO_X_NDR = Rate.parse("2X NDR")
LINE = CaptureRef("captures/0001-ibnetdiscover.txt", 1, "ibnetdiscover: timeout")
UNREAD = NotSeen("the fabric", "ibnetdiscover is missing", "", (LINE,))
SILENT = Gap("the node behind B/30", "B/30 is up, its peer did not answer", (LINE,))
POLLING = "Down/Polling (no peer or no cable)"
NOT_AGREED = "the two tools or the two ends do not agree on a rate: "


def pair(site_of):
    """A with hosts a and c, B with b; A/11 - B/21 and A/12 - B/22."""
    site = site_of("A", "B")
    for port in (11, 12):
        site.cable("A", port, "B", port + 10)
    for name, switch, port in (("a", "A", 1), ("b", "B", 1), ("c", "A", 2)):
        site.host(name, switch, port)
    return site


def tree(site_of):
    """Leaves L1 and L2 under spines S1 and S2, one cable each; a host on each leaf."""
    site = site_of("L1", "L2", "S1", "S2")
    for port, leaf in enumerate(("L1", "L2"), 1):
        site.cable(leaf, 11, "S1", port)
        site.cable(leaf, 12, "S2", port)
        site.host(f"h{port}", leaf, 1)
    return site


def healthy(site_of, _sides_of):
    return pair(site_of).seen()


def healthy_tree(site_of, _sides_of):
    return tree(site_of).seen()


def changed(*changes, make=pair):
    """Ports whose fields differ."""

    def build(site_of, _sides_of):
        site = make(site_of)
        for name, port, fields in changes:
            site.change(name, port, **fields)
        return site.seen()

    return build


def planned(*changes, lost=(), gaps=()):
    """With the plan of the healthy fabric."""

    def build(site_of, _sides_of):
        plan = Plan.from_fabric(pair(site_of).fabric(), name="plan")
        site = pair(site_of)
        for name, port, fields in changes:
            site.change(name, port, **fields)
        site.lose(*lost)
        return site.seen(plan=plan, gaps=gaps)

    return build


def with_gap(site_of, _sides_of):
    return pair(site_of).seen(gaps=(SILENT,))


def not_seen(site_of, _sides_of):
    return pair(site_of).seen(fabric_seen=UNREAD)


def hostless(site_of, _sides_of):
    """Host c is in the inventory and in no sweep."""
    site = pair(site_of)
    site.lose("c")
    site.change("A", 2, remote=None, state=PortState.DOWN, rate=None)
    return site.seen(groups={"clients": ("a", "c")})


def down(name, port):
    return (name, port, {"state": PortState.DOWN, "rate": None})


UNPLUGGED = {"remote": None, "state": PortState.DOWN, "rate": None}
ISL = "{kind: link-rate, links: isl, width: 4X, speed: HDR}"
ALL = "{kind: link-rate, links: all, width: 4X, speed: HDR}"
SPEED = "{kind: link-rate, links: isl, speed: NDR}"
FIRST, SECOND = "A/11 - B/21", "A/12 - B/22"

TABLE = {
    "rate: as ordered": (
        healthy,
        ISL,
        ("pass", "2 of 2 inter-switch links are 4X HDR", "2 of 2", []),
    ),
    "rate: as ordered, two levels": (
        healthy_tree,
        ISL,
        ("pass", "4 of 4 inter-switch links are 4X HDR", "4 of 4", []),
    ),
    "rate: slow at both ends": (
        changed(("A", 11, {"rate": EDR}), ("B", 21, {"rate": EDR})),
        ISL,
        (
            "fail",
            "1 of 2 inter-switch links are not 4X HDR",
            "2 of 2",
            [("fail", FIRST, "4X HDR", "4X EDR")],
        ),
    ),
    "rate: slow at the second end": (
        changed(("B", 21, {"rate": EDR})),
        ISL,
        (
            "fail",
            "1 of 2 inter-switch links are not 4X HDR",
            "2 of 2",
            [("fail", FIRST, "4X HDR", "4X HDR at one end, 4X EDR at the other")],
        ),
    ),
    "rate: slow at the first end": (
        changed(("A", 12, {"rate": EDR})),
        ISL,
        (
            "fail",
            "1 of 2 inter-switch links are not 4X HDR",
            "2 of 2",
            [("fail", SECOND, "4X HDR", "4X EDR at one end, 4X HDR at the other")],
        ),
    ),
    "rate: as many Gb/s are not the same rate": (
        changed(("A", 11, {"rate": TWO_X_NDR}), ("B", 21, {"rate": TWO_X_NDR})),
        ISL,
        (
            "fail",
            "1 of 2 inter-switch links are not 4X HDR",
            "2 of 2",
            [("fail", FIRST, "4X HDR", "2X NDR")],
        ),
    ),
    "rate: of width and speed only what is ordered": (
        changed(("A", 11, {"rate": TWO_X_NDR}), ("B", 21, {"rate": TWO_X_NDR})),
        SPEED,
        (
            "fail",
            "1 of 2 inter-switch links are not NDR",
            "2 of 2",
            [("fail", SECOND, "NDR", "4X HDR")],
        ),
    ),
    "rate: down at one end": (
        changed(down("B", 21)),
        ISL,
        (
            "fail",
            "1 of 2 inter-switch links are not 4X HDR",
            "2 of 2",
            [("fail", FIRST, "4X HDR", f"not up: A/11 is Active/LinkUp; B/21 is {POLLING}")],
        ),
    ),
    "rate: a planned cable is down": (
        planned(("A", 11, UNPLUGGED), ("B", 21, UNPLUGGED)),
        ISL,
        (
            "fail",
            "1 of 2 inter-switch links are not 4X HDR",
            "2 of 2",
            [("fail", FIRST, "4X HDR", f"down: A/11 is {POLLING}; B/21 is {POLLING}")],
        ),
    ),
    "rate: a planned host is not there": (
        planned(("A", 1, UNPLUGGED), lost=("a",)),
        "{kind: link-rate, links: host, width: 4X, speed: HDR}",
        (
            "fail",
            "1 of 3 host links are not 4X HDR",
            "3 of 3",
            [("fail", "A/1 - a/1", "4X HDR", f"missing: A/1 is {POLLING}; a is not in the fabric")],
        ),
    ),
    "rate: a host of the inventory is not there": (
        hostless,
        "{kind: link-rate, links: {nodes: clients}, speed: HDR}",
        (
            "fail",
            "1 of 2 links of clients are not HDR",
            "2 of 2",
            [("fail", "c", "HDR", "missing: c is not in the fabric")],
        ),
    ),
    "rate: the ends agree on none": (
        changed(("A", 11, {"rate": None, "rate_text": "1X or 4X"})),
        ISL,
        (
            "error",
            "1 of 2 inter-switch links could not be judged (expected: 4X HDR)",
            "1 of 2",
            [("error", FIRST, "4X HDR", f"{NOT_AGREED}1X or 4X / nothing")],
        ),
    ),
    "rate: a wrong one beside an unknown one": (
        changed(("A", 11, {"rate": None}), ("B", 22, {"rate": EDR}), ("A", 12, {"rate": EDR})),
        ISL,
        (
            "fail",
            "1 of 2 inter-switch links are not 4X HDR (1 more could not be judged)",
            "1 of 2",
            [
                ("error", FIRST, "4X HDR", f"{NOT_AGREED}nothing / nothing"),
                ("fail", SECOND, "4X HDR", "4X EDR"),
            ],
        ),
    ),
    "rate: a node did not answer": (
        with_gap,
        ISL,
        (
            "error",
            "1 of 3 inter-switch links could not be judged (expected: 4X HDR)",
            "2 of 3",
            [("error", SILENT.name, "4X HDR", SILENT.reason)],
        ),
    ),
    "rate: a planned cable behind a node that did not answer": (
        planned(("B", 21, {"remote": None}), lost=("A",), gaps=(SILENT,)),
        "{kind: link-rate, links: {names: 'A/11 - B/21'}, speed: HDR}",
        (
            "error",
            "2 of 2 links named A/11 - B/21 could not be judged (expected: HDR)",
            "0 of 2",
            [
                (
                    "error",
                    FIRST,
                    "HDR",
                    "not seen, and the sweep was not whole: A is not in the fabric; B/21 is up, "
                    "but what it is cabled to was not seen",
                ),
                ("error", SILENT.name, "HDR", SILENT.reason),
            ],
        ),
    ),
    "rate: nothing is selected": (
        healthy,
        "{kind: link-rate, links: {names: 'C/*'}, speed: HDR}",
        (
            "error",
            "no links named C/* were seen, so nothing was judged (expected: HDR)",
            "0 of 0",
            [],
        ),
    ),
    "rate: nothing was seen": (
        not_seen,
        ALL,
        (
            "error",
            "the fabric could not be seen, so nothing was judged (expected: 4X HDR)",
            "0 of 0",
            [("error", "the fabric", "4X HDR", "ibnetdiscover is missing")],
        ),
    ),
}


COUNT = "{kind: link-count, between: [A, B], count: 2}"
NOUN = "counts of inter-switch links between A and B"


def counts(count, outcome, sentence, coverage="1 of 1", found=None):
    entry = f"{{kind: link-count, between: [A, B], count: {count}}}"
    kind = "error" if coverage == "0 of 1" else "fail"
    name = "links between A and B"
    findings = [] if found is None else [(kind, name, f"{count} up", found)]
    return entry, (outcome, sentence, coverage, findings)


TABLE |= {
    "count: as ordered": (
        healthy,
        *counts(2, "pass", "1 of 1 counts of links between A and B are 2 up"),
    ),
    "count: as ordered, two levels": (
        healthy_tree,
        "{kind: link-count, between: ['L*', 'S*'], count: 4}",
        ("pass", "1 of 1 counts of links between L* and S* are 4 up", "1 of 1", []),
    ),
    "count: one too few": (
        healthy,
        *counts(3, "fail", "1 of 1 counts of links between A and B are not 3 up", found="2 up"),
    ),
    "count: one too many": (
        healthy,
        *counts(1, "fail", "1 of 1 counts of links between A and B are not 1 up", found="2 up"),
    ),
    "count: one is down": (
        changed(down("A", 11)),
        *counts(
            2,
            "fail",
            "1 of 1 counts of links between A and B are not 2 up",
            found=f"1 up; not up: A/11 - B/21: A/11 is {POLLING}; B/21 is Active/LinkUp",
        ),
    ),
    "count: too few, and a node did not answer": (
        with_gap,
        *counts(
            3,
            "error",
            "1 of 1 counts of links between A and B could not be judged (expected: 3 up)",
            "0 of 1",
            f"2 up, but {SILENT.reason}",
        ),
    ),
    "count: enough, and a node did not answer": (
        with_gap,
        *counts(
            2,
            "error",
            "1 of 1 counts of links between A and B could not be judged (expected: 2 up)",
            "0 of 1",
            f"2 up, but {SILENT.reason}",
        ),
    ),
    "count: too many whatever did not answer": (
        with_gap,
        *counts(1, "fail", "1 of 1 counts of links between A and B are not 1 up", found="2 up"),
    ),
    "count: nothing was seen": (
        not_seen,
        COUNT,
        (
            "error",
            "the fabric could not be seen, so nothing was judged (expected: 2 up)",
            "0 of 0",
            [("error", "the fabric", "2 up", "ibnetdiscover is missing")],
        ),
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_whole_verdict(check_row, name):
    check_row(TABLE[name])

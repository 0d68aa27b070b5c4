"""Kind cabling: whole verdicts against the plan of a fabric made by hand."""

import pytest

from ibaccept.fabric.model import PortState
from ibaccept.observe.snapshot import Gap
from ibaccept.site.plan import Plan
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

POLLING = "Down/Polling (no peer or no cable)"
LINE = CaptureRef("captures/0001-ibnetdiscover.txt", 1, "ibnetdiscover: timeout")
SILENT = Gap("the node behind B/30", "B/30 is up, its peer did not answer", (LINE,))
DOWN = {"remote": None, "state": PortState.DOWN, "rate": None}


def tree(site_of, cables=((11, "S1"), (12, "S2"))):
    """Leaves L1 and L2 under spines S1 and S2, a host on each leaf."""
    site = site_of("L1", "L2", "S1", "S2")
    for port, spine in cables:
        site.cable("L1", port, spine, 1)
    site.cable("L2", 11, "S1", 2)
    site.cable("L2", 12, "S2", 2)
    for number in (1, 2):
        site.host(f"h{number}", f"L{number}", 1)
    return site


def three_levels(site_of):
    """As the tree, and both spines on one core."""
    site = site_of("L1", "L2", "S1", "S2", "C")
    for number, leaf in enumerate(("L1", "L2"), 1):
        site.host(f"h{number}", leaf, 1)
        site.cable(leaf, 11, "S1", number)
        site.cable(leaf, 12, "S2", number)
    for number, spine in enumerate(("S1", "S2"), 1):
        site.cable(spine, 11, "C", number)
    return site


def cabled(change=lambda _site: None, make=tree, **parts):
    """What was seen of the fabric with a change, and the plan of the one without."""

    def build(site_of, _sides_of):
        plan = Plan.from_fabric(make(site_of).fabric(), name="plan")
        site = make(site_of)
        change(site)
        return {"snapshot": site.seen(**parts), "plan": plan}

    return build


def pull(*ends):
    def change(site):
        for name, port in ends:
            site.change(name, port, **DOWN)

    return change


def move(site):
    """L1/11 goes to S1/9 in place of S1/1."""
    del site.at["S1"][1]
    site.cable("L1", 11, "S1", 9)


def swap(site):
    """The cables of L1 to S1 and S2 are swapped at the spines."""
    site.cable("L1", 11, "S2", 1)
    site.cable("L1", 12, "S1", 1)


def add(site):
    site.cable("L1", 20, "L2", 20)


def unplug_host(site):
    site.lose("h1")
    site.change("L1", 1, **DOWN)


PLANNED = "{kind: cabling, plan: plan}"
ALLOWED = "{kind: cabling, plan: plan, extra: allowed}"
NOUN = "planned cables and differences from the plan"


def passes(number):
    return "pass", f"{number} of {number} {NOUN} are in place", f"{number} of {number}", []


def fails(subject, expected, found, of=6):
    return (
        "fail",
        f"1 of {of} {NOUN} are not as planned",
        f"{of} of {of}",
        [("fail", subject, expected, found)],
    )


TABLE = {
    "as planned": (cabled(), PLANNED, passes(6)),
    "as planned, three levels": (cabled(make=three_levels), PLANNED, passes(8)),
    "missing": (
        cabled(pull(("L1", 11), ("S1", 1))),
        PLANNED,
        fails("L1/11 - S1/1", "L1/11 - S1/1", f"missing: L1/11 is {POLLING}; S1/1 is {POLLING}"),
    ),
    "missing at the core": (
        cabled(pull(("S2", 11), ("C", 2)), make=three_levels),
        PLANNED,
        fails("S2/11 - C/2", "S2/11 - C/2", f"missing: S2/11 is {POLLING}; C/2 is {POLLING}", 8),
    ),
    "a host is missing": (
        cabled(unplug_host),
        PLANNED,
        fails("L1/1 - h1/1", "L1/1 - h1/1", f"missing: L1/1 is {POLLING}; h1 is not in the fabric"),
    ),
    "moved": (
        cabled(move),
        PLANNED,
        fails("L1/11 - S1/1", "L1/11 - S1/1", "moved: L1/11 goes to S1/9 instead of S1/1"),
    ),
    "swapped": (
        cabled(swap),
        PLANNED,
        (
            "fail",
            f"1 of 5 {NOUN} are not as planned",
            "5 of 5",
            [
                (
                    "fail",
                    "L1/11 - S1/1, L1/12 - S2/1",
                    "L1/11 - S1/1, L1/12 - S2/1",
                    "swapped: L1/11 goes to S2/1 instead of S1/1, L1/12 goes to S1/1 instead of "
                    "S2/1",
                )
            ],
        ),
    ),
    "one more": (
        cabled(add),
        PLANNED,
        fails("L1/20 - L2/20", "no cable", "extra: L1/20 - L2/20 is not in the plan", 7),
    ),
    "one more is allowed": (cabled(add), ALLOWED, passes(6)),
    "missing, and a node did not answer": (
        cabled(lambda site: site.lose("h1"), gaps=(SILENT,)),
        ALLOWED,
        (
            "error",
            f"1 of 6 {NOUN} could not be judged (expected: L1/1 - h1/1)",
            "5 of 6",
            [
                (
                    "error",
                    "L1/1 - h1/1",
                    "L1/1 - h1/1",
                    "missing: L1/1 is up, but what it is cabled to was not seen; h1 is not in the "
                    "fabric, but the sweep was not whole",
                )
            ],
        ),
    ),
    "as planned, and a node did not answer": (
        cabled(gaps=(SILENT,)),
        PLANNED,
        (
            "error",
            f"1 of 7 {NOUN} could not be judged (expected: cabled as planned)",
            "6 of 7",
            [("error", SILENT.name, "cabled as planned", SILENT.reason)],
        ),
    ),
    "proven to be down whatever did not answer": (
        cabled(pull(("L1", 11), ("S1", 1)), gaps=(SILENT,)),
        ALLOWED,
        fails("L1/11 - S1/1", "L1/11 - S1/1", f"missing: L1/11 is {POLLING}; S1/1 is {POLLING}"),
    ),
    "nothing was seen": (
        cabled(fabric_seen=NotSeen("the fabric", "ibnetdiscover is missing", "", (LINE,))),
        PLANNED,
        (
            "error",
            "the fabric could not be seen, so nothing was judged (expected: cabled as planned)",
            "0 of 0",
            [("error", "the fabric", "cabled as planned", "ibnetdiscover is missing")],
        ),
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_whole_verdict(check_row, name):
    check_row(TABLE[name])

"""Kinds routes, lid-spread and balance: whole verdicts from tables made by hand."""

import pytest

from ibaccept.observe.snapshot import Gap
from ibaccept.site.adaptive import AdaptiveRouting, FileSign
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

LINE = CaptureRef("captures/0006-dump_fts.txt", 1, "dump_fts: timeout")
UNREAD = NotSeen("the forwarding tables", "dump_fts did not end in time", "", (LINE,))
NO_FABRIC = NotSeen("the fabric", "ibnetdiscover is missing", "", (LINE,))
SILENT = Gap("the node behind B/30", "B/30 is up, its peer did not answer", (LINE,))
ON = AdaptiveRouting("on", CaptureRef("inputs/expectations.yaml", 3, "adaptive_routing: on"))


def row(site_of):
    """Switches A, B, C in a row, a host on each: hosts a, b, c with LIDs 1, 2, 3."""
    site = site_of("A", "B", "C")
    site.cable("A", 11, "B", 21)
    site.cable("B", 22, "C", 31)
    for name, switch in (("a", "A"), ("b", "B"), ("c", "C")):
        site.host(name, switch, 1)
    site.route()
    return site


def ring(site_of):
    """Three switches in a ring whose routes all turn the same way round."""
    site = site_of("A", "B", "C")
    for here, there in (("A", "B"), ("B", "C"), ("C", "A")):
        site.cable(here, 11, there, 12)
    lids = dict(
        zip("ABC", (site.host(n, s, 1)[0] for n, s in zip("abc", "ABC", strict=True)), strict=False)
    )
    for name in "ABC":
        for other, lid in lids.items():
            if other != name:
                site.tables[name][lid] = 11
    return site


def pair(site_of, cables=2, clients=4):
    """A with clients c1, c2, ... and B with s1 and s2; cables A/11 - B/21, A/12 - B/22, ..."""
    site = site_of("A", "B")
    for number in range(cables):
        site.cable("A", 11 + number, "B", 21 + number)
    for number in range(1, clients + 1):
        site.host(f"c{number}", "A", number)
    for number in (1, 2):
        site.host(f"s{number}", "B", number)
    site.route()
    return site


def tree(site_of):
    """Clients c1 to c4 on leaf L1, s1 and s2 on L2, under spines S1 and S2: two cables a pair."""
    site = site_of("L1", "L2", "S1", "S2")
    for leaf, spine, port in (("L1", "S1", 1), ("L1", "S2", 1), ("L2", "S1", 3), ("L2", "S2", 3)):
        for number in (0, 1):
            up = (21 if spine == "S1" else 31) + number
            site.cable(leaf, up, spine, port + number)
    for number in range(1, 5):
        site.host(f"c{number}", "L1", number)
    for number in (1, 2):
        site.host(f"s{number}", "L2", number)
    site.route()
    return site


def three_levels(site_of):
    """Clients c1 and c2 in one pod, s1 and s2 in another; each leaf under a spine, one core."""
    site = site_of("L1", "L2", "S1", "S2", "C")
    for number in (1, 2):
        for cable in (0, 1):
            site.cable(f"L{number}", 11 + cable, f"S{number}", 1 + cable)
            site.cable(f"S{number}", 21 + cable, "C", 2 * number + cable)
    for name, leaf, port in (("c1", "L1", 1), ("c2", "L1", 2), ("s1", "L2", 1), ("s2", "L2", 2)):
        site.host(name, leaf, port)
    site.route()
    return site


def of(make, change=lambda _site: None, **parts):
    """What was seen of a fabric with a change."""

    def build(site_of, _sides_of):
        site = make(site_of)
        change(site)
        return site.seen(**parts)

    return build


def job(make, change=lambda _site: None, adaptive=AdaptiveRouting("off"), **parts):  # noqa: B008 - frozen
    """The same with the job of all clients and storage."""

    def build(site_of, sides_of):
        site = make(site_of)
        change(site)
        snapshot = site.seen(**parts)
        names = [node.name for node in site.hosts]
        clients = [name for name in names if name.startswith("c")]
        storage = [name for name in names if name.startswith("s")]
        sides = None
        if not isinstance(snapshot.fabric_seen, NotSeen):
            sides = sides_of(snapshot, clients, storage)
        return {"snapshot": snapshot, "job": sides, "adaptive": adaptive}

    return build


def turn(switch, port, *lids):
    """The switch's rows of these LIDs name this port."""

    def change(site):
        site.tables[switch] |= dict.fromkeys(lids, port)

    return change


def drop(switch, lid):
    def change(site):
        del site.tables[switch][lid]

    return change


def without_lid(site):
    site.host("d", "A", 5, lid=False)


DELIVERED = "{kind: routes}"
SHORT = "{kind: routes, max_hops: 2}"
BY_JOB = "{kind: routes, every: job}"
ARRIVE, NO_LOOP = "every pair delivered", "no credit loop on one virtual lane"
BOTH = f"{ARRIVE}, {NO_LOOP}"
CYCLE = (
    "a cycle of 3 cables that wait for each other: A/11 -> B/11 -> C/11 -> A/11 "
    "(3 cable directions are in one)"
)


def minhop(make):
    """What was seen, and a subnet file that names an engine of one lane."""
    sign = FileSign("off", "opensm.conf", CaptureRef("opensm.conf", 1, "routing_engine minhop"))
    seen = of(make)
    adaptive = AdaptiveRouting("off", signs=(sign,))
    return lambda site_of, sides_of: {"snapshot": seen(site_of, sides_of), "adaptive": adaptive}


def routes(outcome, pairs, judged, text, *findings):
    """The sentence begins with what was judged; ``text`` ends it."""
    done, total = judged
    number = {"pass": done, "error": total - done}.get(outcome)
    if number is None:
        number = sum(finding[0] == "fail" for finding in findings)
    noun = f"properties of the routes of {pairs} pairs"
    sentence = f"{number} of {total} {noun} {text}"
    return outcome, sentence, f"{done} of {total}", list(findings)


def nothing(what, found, expected):
    return (
        "error",
        f"{what} could not be seen, so nothing was judged (expected: {expected})",
        "0 of 0",
        [("error", what, expected, found)],
    )


UNKNOWN = "2 of 6 pairs are unknown: table of B read up to 0x3 of 0x7"

TABLE = {
    "routes: all arrive": (
        of(row),
        DELIVERED,
        routes("pass", 6, (2, 2), f"are as expected ({BOTH})"),
    ),
    "routes: all arrive, two levels": (
        of(tree),
        DELIVERED,
        routes("pass", 30, (2, 2), f"are as expected ({BOTH})"),
    ),
    "routes: all arrive over five switches, three levels": (
        of(three_levels),
        "{kind: routes, max_hops: 5}",
        routes(
            "pass",
            12,
            (3, 3),
            f"are as expected ({ARRIVE}, at most 5 switches on the way, {NO_LOOP})",
        ),
    ),
    "routes: one entry is missing": (
        of(row, drop("C", 1)),
        DELIVERED,
        routes(
            "fail",
            6,
            (2, 2),
            f"are not as expected ({ARRIVE})",
            (
                "fail",
                "delivery",
                ARRIVE,
                "1 of 6 pairs are not delivered: 1 no-entry; C has no row for LID 1 (a): 1 pair",
            ),
        ),
    ),
    "routes: one turns back": (
        of(three_levels, turn("C", 2, 3)),
        DELIVERED,
        routes(
            "fail",
            12,
            (2, 2),
            f"are not as expected ({ARRIVE})",
            (
                "fail",
                "delivery",
                ARRIVE,
                "2 of 12 pairs are not delivered: 2 loop; C is in a loop of routes to LID 3 (s1): "
                "2 pairs",
            ),
        ),
    ),
    "routes: too far": (
        of(row),
        SHORT,
        routes(
            "fail",
            6,
            (3, 3),
            "are not as expected (at most 2 switches on the way)",
            (
                "fail",
                "hops",
                "at most 2 switches on the way",
                "2 pairs cross more, up to 3 switches",
            ),
        ),
    ),
    "routes: one switch too many, three levels": (
        of(three_levels),
        "{kind: routes, max_hops: 4}",
        routes(
            "fail",
            12,
            (3, 3),
            "are not as expected (at most 4 switches on the way)",
            (
                "fail",
                "hops",
                "at most 4 switches on the way",
                "8 pairs cross more, up to 5 switches",
            ),
        ),
    ),
    "routes: all round a ring, on one lane": (
        minhop(ring),
        DELIVERED,
        routes(
            "fail",
            6,
            (2, 2),
            f"are not as expected ({NO_LOOP})",
            ("fail", "credit loops", NO_LOOP, CYCLE),
        ),
    ),
    "routes: all round a ring, on lanes that are not known": (
        of(ring),
        DELIVERED,
        routes(
            "error",
            6,
            (1, 2),
            f"could not be judged (expected: {NO_LOOP})",
            (
                "error",
                "credit loops",
                NO_LOOP,
                f"{CYCLE}, if all pairs share one virtual lane; which engine routes is not known: "
                "engines such as lash, torus-2QoS, dfsssp and nue break such a cycle by lanes, "
                "which were not read",
            ),
        ),
    ),
    "routes: a host without a LID": (
        of(row, without_lid),
        DELIVERED,
        routes(
            "fail",
            6,
            (3, 3),
            "are not as expected (every cabled host port has a LID)",
            (
                "fail",
                "host ports without a LID",
                "every cabled host port has a LID",
                "1 have none, so nothing reaches them: d/1",
            ),
        ),
    ),
    "routes: a part of a table was not read": (
        of(row, unknown={"B": [3]}),
        DELIVERED,
        routes(
            "error",
            6,
            (0, 2),
            f"could not be judged (expected: {ARRIVE}; {NO_LOOP})",
            ("error", "delivery", ARRIVE, UNKNOWN),
            ("error", "credit loops", NO_LOOP, UNKNOWN),
        ),
    ),
    "routes: lost whatever was not read": (
        of(row, drop("C", 1), unknown={"B": [3]}),
        DELIVERED,
        (
            "fail",
            f"1 of 2 properties of the routes of 6 pairs are not as expected ({ARRIVE}) (1 more "
            "could not be judged)",
            "1 of 2",
            [
                (
                    "fail",
                    "delivery",
                    ARRIVE,
                    "1 of 6 pairs are not delivered: 1 no-entry; C has no row for LID 1 (a): "
                    "1 pair",
                ),
                ("error", "credit loops", NO_LOOP, UNKNOWN),
            ],
        ),
    ),
    "routes: a node did not answer": (
        of(row, gaps=(SILENT,)),
        DELIVERED,
        routes(
            "error",
            6,
            (2, 3),
            f"could not be judged (expected: {BOTH})",
            ("error", SILENT.name, BOTH, SILENT.reason),
        ),
    ),
    "routes: of the job alone": (
        job(pair, drop("A", 2)),
        BY_JOB,
        (
            "fail",
            "1 of 2 properties of the routes of 30 pairs are not as expected (every pair of the "
            "job delivered)",
            "2 of 2",
            [
                (
                    "fail",
                    "delivery",
                    "every pair of the job delivered",
                    "5 of 30 pairs are not delivered: 5 no-entry; A has no row for LID 2 (c2): "
                    "5 pairs",
                )
            ],
        ),
    ),
    "routes: no table was read": (
        of(row, tables_seen=UNREAD),
        DELIVERED,
        nothing(UNREAD.what, UNREAD.reason, BOTH),
    ),
    "routes: nothing was seen": (
        of(row, fabric_seen=NO_FABRIC),
        DELIVERED,
        nothing(NO_FABRIC.what, NO_FABRIC.reason, BOTH),
    ),
}

EVEN = "{kind: lid-spread, lids: clients, per_cable: even}"
SHARE = "at most their even share of the LIDs of clients per cable"


def spread(limit):
    return f"{{kind: lid-spread, lids: clients, per_cable: {limit}}}"


GROUPS = "groups of cables for the 4 LIDs of clients toward clients"

TABLE |= {
    "spread: even": (
        job(pair),
        EVEN,
        ("pass", f"1 of 1 {GROUPS} carry at most their even share per cable", "1 of 1", []),
    ),
    "spread: all on one cable": (
        job(pair, turn("B", 21, 1, 2, 3, 4)),
        EVEN,
        (
            "fail",
            f"1 of 1 {GROUPS} carry more than their even share on a cable",
            "1 of 1",
            [
                (
                    "fail",
                    "B -> A",
                    "at most 2 of the job's LIDs per cable (even: 4 LIDs over 2 usable cables)",
                    "B/21: 4 c[1-4]; 1 cable carries none",
                )
            ],
        ),
    ),
    "spread: three and one": (
        job(pair, turn("B", 21, 1)),
        spread(2),
        (
            "fail",
            f"1 of 1 {GROUPS} carry more than 2 LIDs on a cable",
            "1 of 1",
            [
                (
                    "fail",
                    "B -> A",
                    "at most 2 of the job's LIDs per cable",
                    "B/21: 3 c[1-2,4], B/22: 1 c3",
                )
            ],
        ),
    ),
    "spread: three and one of three allowed": (
        job(pair, turn("B", 21, 1)),
        spread(3),
        ("pass", f"1 of 1 {GROUPS} carry at most 3 LIDs per cable", "1 of 1", []),
    ),
    "spread: a LID whose route is not known": (
        job(pair, unknown={"B": [4]}),
        EVEN,
        (
            "error",
            f"1 of 2 {GROUPS} could not be judged (expected: {SHARE})",
            "1 of 2",
            [
                (
                    "error",
                    "pairs of the job",
                    SHARE,
                    "2 of the job's 8 pairs are unknown: table of B read up to 0x3 of 0x9",
                )
            ],
        ),
    ),
    "spread: a node did not answer": (
        job(pair, gaps=(SILENT,)),
        EVEN,
        (
            "error",
            f"1 of 2 {GROUPS} could not be judged (expected: {SHARE})",
            "1 of 2",
            [("error", SILENT.name, SHARE, SILENT.reason)],
        ),
    ),
    "spread: adaptive routing": (
        job(pair, adaptive=ON),
        EVEN,
        (
            "error",
            f"1 of 1 {GROUPS} could not be judged (expected: {SHARE})",
            "0 of 1",
            [
                (
                    "error",
                    "adaptive routing",
                    SHARE,
                    "not judged: the tables are only the fallback: adaptive routing is on, by the "
                    "expectations",
                )
            ],
        ),
    ),
    "spread: no table was read": (
        job(pair, tables_seen=UNREAD),
        EVEN,
        nothing(UNREAD.what, UNREAD.reason, SHARE),
    ),
    "spread: nothing was seen": (
        job(pair, fabric_seen=NO_FABRIC),
        EVEN,
        nothing(NO_FABRIC.what, NO_FABRIC.reason, SHARE),
    ),
    "spread: even, two levels": (
        job(tree),
        EVEN,
        ("pass", f"4 of 4 {GROUPS} carry at most their even share per cable", "4 of 4", []),
    ),
    "spread: into one spine, two levels": (
        job(tree, turn("L2", 21, 1, 2, 3, 4)),
        "{kind: lid-spread, lids: clients, per_cable: 2}",
        (
            "fail",
            f"1 of 2 {GROUPS} carry more than 2 LIDs on a cable",
            "2 of 2",
            [
                (
                    "fail",
                    "L2 -> S[1-2]",
                    "at most 2 of the job's LIDs per cable",
                    "L2/21: 4 c[1-4]; 3 cables carry none",
                )
            ],
        ),
    ),
    "spread: on one cable of the core, three levels": (
        job(three_levels, turn("C", 2, 1, 2)),
        "{kind: lid-spread, lids: clients, per_cable: 1}",
        (
            "fail",
            f"1 of 4 {GROUPS.replace('4 LIDs', '2 LIDs')} carry more than 1 LID on a cable",
            "4 of 4",
            [
                (
                    "fail",
                    "C -> S1",
                    "at most 1 of the job's LIDs per cable",
                    "C/2: 2 c[1-2]; 1 cable carries none",
                )
            ],
        ),
    ),
}

BALANCED = "{kind: balance, max_minus_min: 0}"
APART = "a difference of at most 0 LIDs between two cables of a group"

MAY_EVEN_OUT = (
    "2 LIDs on the fullest of 2 cables, 1 on the emptiest: difference 1; LIDs that are counted on "
    "no cable (1) may even it out"
)


def uncounted(why):
    """A group that is uneven only as far as one LID is known to be on none of its cables."""
    return (
        "error",
        f"2 of 3 groups of cables could not be judged (expected: {APART})",
        "1 of 3",
        [("error", "B -> A", APART, MAY_EVEN_OUT), ("error", why[0], APART, why[1])],
    )


TABLE |= {
    "balance: even": (
        of(pair),
        BALANCED,
        ("pass", f"2 of 2 groups of cables have {APART}", "2 of 2", []),
    ),
    "balance: one more than ordered": (
        of(pair, turn("B", 21, 1)),
        "{kind: balance, max_minus_min: 1}",
        (
            "fail",
            "1 of 2 groups of cables do not have a difference of at most 1 LID between two cables "
            "of a group",
            "2 of 2",
            [
                (
                    "fail",
                    "B -> A",
                    "a difference of at most 1 LID between two cables of a group",
                    "3 LIDs on the fullest of 2 cables, 1 on the emptiest: difference 2",
                )
            ],
        ),
    ),
    "balance: as far apart as ordered": (
        of(pair, turn("B", 21, 1)),
        "{kind: balance, max_minus_min: 2}",
        (
            "pass",
            "2 of 2 groups of cables have a difference of at most 2 LIDs between two cables of a "
            "group",
            "2 of 2",
            [],
        ),
    ),
    "balance: even, two levels": (
        of(tree),
        "{kind: balance, max_minus_min: 1}",
        (
            "pass",
            "6 of 6 groups of cables have a difference of at most 1 LID between two cables of a "
            "group",
            "6 of 6",
            [],
        ),
    ),
    "balance: at the core, three levels": (
        of(three_levels, turn("C", 2, 1, 2)),
        BALANCED,
        (
            "fail",
            f"1 of 8 groups of cables do not have {APART}",
            "8 of 8",
            [
                (
                    "fail",
                    "C -> S1",
                    APART,
                    "2 LIDs on the fullest of 2 cables, 0 on the emptiest: difference 2",
                )
            ],
        ),
    ),
    "balance: a part of a table was not read": (
        of(pair, unknown={"B": [4]}),
        BALANCED,
        uncounted(("forwarding tables", "table of B read up to 0x3 of 0x9")),
    ),
    "balance: a pair is lost": (
        of(pair, drop("B", 4)),
        BALANCED,
        uncounted(
            (
                "routes",
                "2 of 30 pairs are not delivered, so LIDs of theirs are counted on no cable",
            )
        ),
    ),
    "balance: too far apart wherever the LID that was not read goes": (
        of(pair, turn("B", 22, 2, 4), unknown={"B": [4]}),
        BALANCED,
        (
            "fail",
            f"1 of 3 groups of cables do not have {APART} (1 more could not be judged)",
            "2 of 3",
            [
                (
                    "fail",
                    "B -> A",
                    APART,
                    "3 LIDs on the fullest of 2 cables, 0 on the emptiest: difference 3",
                ),
                ("error", "forwarding tables", APART, "table of B read up to 0x3 of 0x9"),
            ],
        ),
    ),
    "balance: no cable has another beside it": (
        of(row),
        BALANCED,
        (
            "error",
            f"no groups of cables were seen, so nothing was judged (expected: {APART})",
            "0 of 0",
            [],
        ),
    ),
    "balance: no table was read": (
        of(pair, tables_seen=UNREAD),
        BALANCED,
        nothing(UNREAD.what, UNREAD.reason, APART),
    ),
    "balance: nothing was seen": (
        of(pair, fabric_seen=NO_FABRIC),
        BALANCED,
        nothing(NO_FABRIC.what, NO_FABRIC.reason, APART),
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_whole_verdict(check_row, name):
    check_row(TABLE[name])

"""Judging routes: delivered, over few enough switches, no credit loop, no host without a LID."""

from dataclasses import replace
from unittest.mock import ANY

import pytest

from ibaccept.checks.routes import delivery
from ibaccept.checks.routes.delivery import READ_AGAIN
from ibaccept.checks.routes.kinds import Delivery
from ibaccept.fabric.model import PortId
from ibaccept.observe.snapshot import Gap
from ibaccept.verdict import Different, Met, Outcome, judge
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import RouteExample


def expecting(expected, item, answer):
    """The answer; a difference with what was expected."""
    if isinstance(answer, Different):
        return replace(answer, expected=delivery.route_order(expected, item))
    return answer


def judged(snapshot, job=None, engines=(), **keys):
    """What is said of each aspect, the routes that prove it, notes and outcome."""
    expected = Delivery(id="x", kind="routes", **keys)
    found = delivery.routes_found(snapshot, expected, job, engines)
    aspects = delivery.route_aspects(snapshot, expected, found)
    judging = delivery.RouteJudge(snapshot, expected, found)
    said = {item.name: expecting(expected, item, judging(item)) for item in aspects}
    routes = {item.name: item.routes.examples for item in aspects if getattr(item, "routes", None)}
    answer = judge(aspects, expected=expected.ordered, actual=judging, noun="x").outcome
    return said, routes, delivery.route_notes(expected, found), answer


@pytest.fixture(name="line")
def line_fixture(site_of):
    """Hosts a, b, c (LIDs 1, 2, 3), one on each of the switches A, B, C in a row."""
    site = site_of("A", "B", "C")
    site.cable("A", 11, "B", 21)
    site.cable("B", 22, "C", 31)
    for name, switch in (("a", "A"), ("b", "B"), ("c", "C")):
        site.host(name, switch, 1)
    site.tables["A"] |= {2: 11, 3: 11}
    site.tables["B"] |= {1: 21, 3: 22}
    site.tables["C"] |= {1: 31, 2: 31}
    return site


ABSENT = Gap("d", "d is in the inventory and not in the fabric", (), "plug it in")


def test_a_host_of_the_inventory_that_is_not_there_is_no_delivered_pair(line):
    snapshot = replace(line.snapshot(), absent=(ABSENT,))

    said, _, _, answer = judged(snapshot)

    assert (said["d"], answer) == (ABSENT.not_seen(""), Outcome.ERROR)


@pytest.mark.parametrize("keys", [{"absent": "allowed"}, {"every": "job"}])
def test_an_absent_host_is_left_out_where_it_is_allowed_or_not_of_the_job(line, sides_of, keys):
    snapshot = replace(line.snapshot(), absent=(ABSENT,))

    said, _, _, answer = judged(snapshot, sides_of(snapshot, ["a"], ["c"]), **keys)

    assert ("d" in said, answer) == (False, Outcome.PASS)


def test_all_delivered(line):
    said, routes, notes, answer = judged(line.snapshot(), max_hops=3)

    assert said == {
        "delivery": Met(),
        "hops": Met(),
        "credit loops": Met(),
    }
    longest = RouteExample(3, 1, ("c/1", "C/31", "B/21", "A/1", "a"), "delivered")
    assert routes == {"delivery": (longest,), "hops": (longest,), "credit loops": ()}
    assert notes == ("pairs by switches on the route: 2: 4, 3: 2",)
    assert answer is Outcome.PASS


def test_more_switches_than_ordered(line):
    said, _, _, answer = judged(line.snapshot(), max_hops=2)

    assert said["hops"] == Different(
        "2 pairs cross more, up to 3 switches", "at most 2 switches on the way"
    )
    assert answer is Outcome.FAIL


def test_no_entry_a_loop_and_a_dead_end_are_told_apart(line):
    del line.tables["B"][1]
    line.tables["C"][2] = 77
    line.tables["B"][3] = 21

    said, routes, _, answer = judged(line.snapshot())

    assert said["delivery"] == Different(
        "5 of 6 pairs are not delivered: 1 dead-end, 2 loop, 2 no-entry; B has no row for LID 1 "
        "(a): 2 pairs, A is in a loop of routes to LID 3 (c): 1 pair, B is in a loop of routes to "
        "LID 3 (c): 1 pair, C sends LID 2 (b) to a port without a cable: 1 pair",
        "every pair delivered",
    )
    assert sorted(routes["delivery"], key=lambda route: (route.dlid, route.slid)) == [
        RouteExample(2, 1, ("b/1", "B"), "no-entry"),
        RouteExample(3, 1, ("c/1", "C/31", "B"), "no-entry"),
        RouteExample(3, 2, ("c/1", "C/77"), "dead-end"),
        RouteExample(1, 3, ("a/1", "A/11", "B/21", "A/11"), "loop"),
    ]
    assert answer is Outcome.FAIL


def test_a_pair_of_the_job_that_is_lost_fails_the_job_and_another_does_not(line, sides_of):
    del line.tables["C"][2]
    snapshot = line.snapshot()

    hit, _, _, _ = judged(snapshot, sides_of(snapshot, ["c"], ["b"]), every="job")
    spared, _, _, answer = judged(snapshot, sides_of(snapshot, ["a"], ["b"]), every="job")

    assert hit["delivery"] == Different(
        "1 of 2 pairs are not delivered: 1 no-entry; C has no row for LID 2 (b): 1 pair",
        "every pair of the job delivered",
    )
    assert (spared["delivery"], answer) == (Met(), Outcome.PASS)


def test_what_was_not_read_is_an_error(line):
    unknown = "2 of 6 pairs are unknown: table of B read up to 0x3 of 0x7"

    said, _, _, answer = judged(line.snapshot(unknown={"B": [3]}), max_hops=3)

    assert said == dict.fromkeys(
        ("delivery", "hops", "credit loops"), NotSeen(ANY, unknown, READ_AGAIN)
    )
    assert answer is Outcome.ERROR


def test_a_node_that_did_not_answer_is_an_error(line):
    gap = Gap("the node behind C/2", "the node behind C/2 did not answer")

    said, _, _, answer = judged(line.snapshot(gaps=(gap,)))

    assert said[gap.name] == NotSeen(ANY, gap.reason, READ_AGAIN)
    assert answer is Outcome.ERROR


def test_a_silent_node_behind_one_port_is_in_no_pair_of_the_job(line, sides_of):
    """All pairs lack those of that node; no route between the job's hosts leads there."""
    port = PortId(line.guid("C"), 2)
    gap = Gap("the node behind C/2", "the node behind C/2 did not answer", at=port)
    snapshot = line.snapshot(gaps=(gap,))

    every, _, _, of_all = judged(snapshot)
    job, _, _, of_job = judged(snapshot, sides_of(snapshot, ["a"], ["b"]), every="job")

    assert every[gap.name] == NotSeen(ANY, gap.reason, READ_AGAIN)
    assert (of_all, of_job) == (Outcome.ERROR, Outcome.PASS)
    assert job == {"delivery": Met(), "credit loops": Met()}


def test_a_cabled_host_without_a_lid_is_in_no_pair_and_fails(line, sides_of):
    line.host("d", "C", 2, lid=False)
    snapshot = line.snapshot()

    said, _, _, answer = judged(snapshot)
    job, _, _, of_job = judged(snapshot, sides_of(snapshot, ["a"], ["b"]), every="job")

    assert said["delivery"] == Met()
    assert said["host ports without a LID"] == Different(
        "1 have none, so nothing reaches them: d/1",
        "every cabled host port has a LID",
        "the subnet manager did not configure them; its log says why",
    )
    assert answer is Outcome.FAIL
    assert (job, of_job) == ({"delivery": Met(), "credit loops": Met()}, Outcome.PASS)


def test_no_pair_is_nothing_to_judge(site_of):
    site = site_of("A")
    site.host("a", "A", 1)

    said, _, notes, answer = judged(site.snapshot(), max_hops=2)

    assert said["delivery"] == NotSeen(ANY, "there is no pair to follow")
    assert said["hops"] == NotSeen(ANY, "no pair is delivered")
    assert (notes, answer) == ((), Outcome.ERROR)


@pytest.fixture(name="ring")
def ring_fixture(site_of):
    """Four switches in a ring, one host each; every route goes the same way round."""
    site = site_of("A", "B", "C", "D")
    names = site.switches
    for number, name in enumerate(names):
        site.cable(name, 1, names[(number + 1) % 4], 2)
        site.host(name.lower(), name, 3)
    for number, name in enumerate(names):
        site.tables[name] |= {lid: 1 for lid in range(1, 5) if lid != number + 1}
    return site


CYCLE = (
    "a cycle of 4 cables that wait for each other: A/1 -> B/1 -> C/1 -> D/1 -> A/1 (4 cable "
    "directions are in one)"
)


@pytest.mark.parametrize(
    ("engines", "which"),
    [
        ((), "which engine routes is not known"),
        (("lash",), "engine lash"),
        (("updn", "dfsssp"), "engine updn, dfsssp"),
    ],
)
def test_a_cycle_that_lanes_may_break_is_not_known_to_be_a_credit_loop(ring, engines, which):
    said, _, _, answer = judged(ring.snapshot(), engines=engines)

    assert said["credit loops"] == NotSeen(
        "credit loops",
        f"{CYCLE}, if all pairs share one virtual lane; {which}: engines such as lash, torus-2QoS, "
        "dfsssp and nue break such a cycle by lanes, which were not read",
        "name opensm.conf or OpenSM's log under subnet_files, which says the routing engine; "
        "smpquery sl2vl and saquery PR show the lanes",
    )
    assert answer is Outcome.ERROR


def test_a_credit_loop_has_the_ports_of_its_cables(ring):
    expected = Delivery(id="x", kind="routes")
    snapshot = ring.snapshot()
    found = delivery.routes_found(snapshot, expected, None, ("minhop",))

    (loop,) = (
        item
        for item in delivery.route_aspects(snapshot, expected, found)
        if item.name == "credit loops"
    )

    assert (loop.guids, loop.ports) == (
        tuple(str(ring.guid(name)) for name in "ABCD"),
        (1, 1, 1, 1),
    )


def test_a_credit_loop_is_shown_hop_by_hop(ring):
    said, routes, _, answer = judged(ring.snapshot(), engines=("minhop",))

    assert said == {
        "delivery": Met(),
        "credit loops": Different(
            "a cycle of 4 cables that wait for each other: A/1 -> B/1 -> C/1 -> D/1 -> A/1 (4 "
            "cable directions are in one)",
            "no credit loop on one virtual lane",
        ),
    }
    assert [route.hops for route in routes["credit loops"]] == [
        ("a/1", "A/1", "B/1", "C/3", "c"),
        ("b/1", "B/1", "C/1", "D/1", "A/3", "a"),
        ("b/1", "B/1", "C/1", "D/1", "A/3", "a"),
        ("c/1", "C/1", "D/1", "A/1", "B/3", "b"),
    ]
    assert answer is Outcome.FAIL


def test_a_credit_loop_is_allowed_or_told(ring):
    snapshot = ring.snapshot()

    allowed, _, silent, _ = judged(snapshot, credit_loops="allowed")
    reported, _, told, answer = judged(snapshot, credit_loops="report")

    hops = "pairs by switches on the route: 2: 4, 3: 4, 4: 4"
    assert (allowed, silent) == ({"delivery": Met()}, (hops,))
    assert (reported, answer) == ({"delivery": Met()}, Outcome.PASS)
    assert told == (hops, "credit loop (reported, not judged): A/1 -> B/1 -> C/1 -> D/1 -> A/1")

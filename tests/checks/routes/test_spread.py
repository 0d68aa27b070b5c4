"""Judging a spread: what passes, what fails, and above all what may not pass."""

from dataclasses import replace
from itertools import product
from unittest.mock import ANY

import pytest

from ibaccept.checks.routes import spread as spreading
from ibaccept.checks.routes.delivery import READ_AGAIN
from ibaccept.checks.routes.kinds import Balance, LidSpread
from ibaccept.errors import InputError
from ibaccept.fabric.model import PortId, Rate
from ibaccept.fabric.units import Bandwidth
from ibaccept.observe.snapshot import Gap
from ibaccept.site.adaptive import AdaptiveRouting, FileSign
from ibaccept.verdict import Different, Met, Outcome, Table, judge
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

OFF = AdaptiveRouting("off", CaptureRef("inputs/expectations.yaml", 3, "adaptive_routing: off"))
BY_SITE = "adaptive routing is off, by the expectations"
CEILINGS = {Rate.parse("4X HDR"): Bandwidth.from_gib(22.6)}
CLIENTS = [f"c{n}" for n in range(1, 7)]
STORAGE = ["s1", "s2"]
REMEDIES = (
    "routing is decided by the subnet manager (which was not seen)",
    "to try, in this order, for a fixed job: route its LIDs first (guid_routing_order_file with "
    "their port GUIDs); port_shifting, where the job's spacing aliases with the ports; "
    "scatter_ports (a lottery: it can be worse); ftree on a real fat tree; adaptive routing for "
    "arbitrary jobs. Afterwards let OpenSM reroute (SIGHUP or restart; a sweep alone keeps the "
    "tables), and read them again",
    "for this node list and this direction only: another node list may spread well on the same "
    "tables",
)
KNOWN_BY = (
    "clients: LIDs by node description: c[1-6]",
    "storage: LIDs by node description: s[1-2]",
)


def ordered(per_cable="even", lids="clients", group=None, rails="joint"):
    return LidSpread(
        id="x", kind="lid-spread", lids=lids, per_cable=per_cable, group=group, rails=rails
    )


def judged(snapshot, job, expected=None, adaptive=OFF):
    """The spread, and what is said of each of its items, by name."""
    expected = expected or ordered()
    found = spreading.job_spread(snapshot, expected, job, adaptive=adaptive, ceilings=CEILINGS)
    return found, {item.name: found.judge(item) for item in found.items}


def outcome(found):
    return judge(
        found.items, expected=found.expected.ordered, actual=found.judge, noun="groups"
    ).outcome


@pytest.fixture(name="pair")
def pair_fixture(site_of):
    """A with clients c1 to c6 (LIDs 1 to 6), B with s1 and s2; three cables A/11 - B/21 ...

    ``reads`` gives the port of B for each client, ``cables`` how many there are.
    """

    def build(reads, *, cables=3, lmc=0):
        site = site_of("A", "B", lmc=lmc)
        for number in range(cables):
            site.cable("A", 11 + number, "B", 21 + number)
        clients = [site.host(name, "A", n) for n, name in enumerate(CLIENTS, 1)]
        storage = [site.host(name, "B", n) for n, name in enumerate(STORAGE, 1)]
        for lid, port in zip((lid for lids in clients for lid in lids), reads, strict=True):
            site.tables["B"][lid] = port
        for number, lid in enumerate(lid for lids in storage for lid in lids):
            site.tables["A"][lid] = 11 + number % cables
        return site

    return build


def test_an_even_spread_passes_and_shows_its_table(pair, sides_of):
    snapshot = pair([21, 22, 23, 21, 22, 23]).snapshot()

    found, said = judged(snapshot, sides_of(snapshot, CLIENTS, STORAGE))

    assert said == {"B -> A": Met()}
    assert (found.noun, found.expected.limit) == (
        "6 LIDs of clients toward clients",
        "their even share",
    )
    assert found.tables() == (
        Table(
            "B -> A: 6 LIDs of the job",
            ("cable", "direction", "LIDs of the job", "hosts", "of all LIDs"),
            (
                ("B/21 - A/11", "toward clients", "2", "c[1,4]", "2"),
                ("B/22 - A/12", "toward clients", "2", "c[2,5]", "2"),
                ("B/23 - A/13", "toward clients", "2", "c[3,6]", "2"),
            ),
        ),
    )
    assert found.notes() == (BY_SITE, *KNOWN_BY)


def test_a_collapse_names_cables_hosts_ceiling_and_remedies(pair, sides_of):
    snapshot = pair([21, 21, 21, 21, 22, 22]).snapshot()

    found, said = judged(snapshot, sides_of(snapshot, CLIENTS, STORAGE))

    assert said == {
        "B -> A": Different(
            "B/21: 4 c[1-4], B/22: 2 c[5-6]; 1 cable carries none",
            "at most 2 of the job's LIDs per cable (even: 6 LIDs over 3 usable cables)",
        )
    }
    assert found.notes() == (
        "B -> A: the tables let this node list use 2 of 3 cables, at most 45.2 of 67.8 GiB/s in "
        "the read direction",
        *REMEDIES,
        BY_SITE,
        *KNOWN_BY,
    )


def test_a_ceiling_nobody_measured_says_so(pair, sides_of):
    snapshot = pair([21] * 6).snapshot()
    job = sides_of(snapshot, CLIENTS, STORAGE)

    found = spreading.job_spread(snapshot, ordered(), job, adaptive=OFF, ceilings={})

    assert found.notes()[0] == (
        "B -> A: the tables let this node list use 1 of 3 cables, at most 22.9 of 68.7 GiB/s in "
        "the read direction (derived from the data rate, not measured here)"
    )


def test_a_number_is_a_number_and_a_pass_by_it_advises_nothing(pair, sides_of):
    snapshot = pair([21, 21, 21, 21, 22, 22]).snapshot()
    job = sides_of(snapshot, CLIENTS, STORAGE)

    passed, four = judged(snapshot, job, ordered(4))
    _, three = judged(snapshot, job, ordered(3))

    assert four == {"B -> A": Met()}
    assert (passed.expected.limit, passed.notes()) == (
        "4 LIDs",
        (
            "B -> A: the tables let this node list use 2 of 3 cables, at most 45.2 of 67.8 GiB/s "
            "in the read direction",
            BY_SITE,
            *KNOWN_BY,
        ),
    )
    assert three == {
        "B -> A": Different(
            "B/21: 4 c[1-4], B/22: 2 c[5-6]; 1 cable carries none",
            "at most 3 of the job's LIDs per cable",
        )
    }


def test_writes_follow_the_storage_lids(pair, sides_of):
    site = pair([21] * 6)
    site.tables["A"] |= {7: 12, 8: 12}
    snapshot = site.snapshot()

    found, said = judged(snapshot, sides_of(snapshot, CLIENTS, STORAGE), ordered(lids="storage"))

    assert said == {
        "A -> B": Different(
            "A/12: 2 s[1-2]; 2 cables carry none",
            "at most 1 of the job's LIDs per cable (even: 2 LIDs over 3 usable cables)",
        )
    }
    assert (found.noun, found.direction) == ("2 LIDs of storage toward storage", "write")


# -- a single cable ------------------------------------------------------------------------------


def test_one_cable_left_is_judged_by_a_number(pair, sides_of):
    """Six LIDs on the one cable that is left are more than two, whatever is usable."""
    snapshot = pair([21] * 6, cables=1).snapshot()

    _, said = judged(snapshot, sides_of(snapshot, CLIENTS, STORAGE), ordered(2))

    assert said == {"B -> A": Different("B/21: 6 c[1-6]", "at most 2 of the job's LIDs per cable")}


def test_one_cable_left_is_nothing_to_spread_over(pair, sides_of):
    """``even`` of one cable would always be met: nothing is judged, and the cable is named."""
    snapshot = pair([21] * 6, cables=1).snapshot()

    found, said = judged(snapshot, sides_of(snapshot, CLIENTS, STORAGE))

    assert (said, outcome(found)) == ({}, Outcome.ERROR)
    assert found.notes()[0] == (
        "not judged, as there is no other cable to share with (LIDs of the job): B/21 - A/11: 6"
    )


# -- on one switch, or half of it ----------------------------------------------------------------


def test_a_job_on_one_switch_is_not_judged(pair, sides_of):
    snapshot = pair([21] * 6).snapshot()

    found, said = judged(snapshot, sides_of(snapshot, ["c1", "c2"], ["c3"]))

    assert (said, outcome(found)) == ({}, Outcome.ERROR)
    assert found.notes()[0] == ("2 of the 2 LIDs cross no cable between switches: c[1-2]")


def test_clients_beside_the_storage_are_told_of_and_do_not_dilute(pair, sides_of):
    """s2 is a client here: it crosses no cable, so the share is that of the other four."""
    snapshot = pair([21, 21, 22, 23, 21, 22]).snapshot()

    found, said = judged(snapshot, sides_of(snapshot, ["c1", "c2", "c3", "c4", "s2"], ["s1"]))

    assert said == {"B -> A": Met()}
    assert found.items[0].group.bound == 2
    assert found.notes()[0] == "1 of the 5 LIDs cross no cable between switches: s2"


# -- longer ways ---------------------------------------------------------------------------------


@pytest.fixture(name="triangle")
def triangle_fixture(site_of):
    """B reaches A by B/21 and B/22, or by C, which has one cable to A and two to B."""

    def build(reads):
        site = site_of("A", "B", "C")
        site.cable("A", 11, "B", 21)
        site.cable("A", 12, "B", 22)
        site.cable("B", 23, "C", 31)
        site.cable("B", 24, "C", 32)
        site.cable("C", 33, "A", 13)
        clients = [site.host(name, "A", n) for n, name in enumerate(CLIENTS[:4], 1)]
        (stored,) = site.host("s1", "B", 1)
        for (lid,), port in zip(clients, reads, strict=True):
            site.tables["B"][lid] = port
            site.tables["C"][lid] = 33
        site.tables["A"][stored] = 11
        return site

    return build


def test_a_longer_way_is_no_pass(triangle, sides_of):
    """Four LIDs on two cables to C look spread, and all of them share the one cable from C to A."""
    snapshot = triangle([23, 24, 23, 24]).snapshot()

    found, said = judged(snapshot, sides_of(snapshot, CLIENTS[:4], ["s1"]))

    assert said == {
        "B -> A,C": NotSeen(
            ANY,
            "4 of 4 LIDs leave by a cable that is on no shortest route to them (B/23: 2 c[1,3], "
            "B/24: 2 c[2,4]; 2 cables carry none), so the even share of the shortest routes is no "
            "measure",
            "give per_cable a number, and see kind routes with max_hops",
        ),
        "B,C -> A, arriving": Different(
            "C/33: 4 to c[1-4]; 2 cables carry none",
            "at most 2 of the job's pairs per cable into A (even: 4 LIDs, 4 pairs, over 2 usable "
            "cables)",
        ),
    }
    assert outcome(found) is Outcome.FAIL


def test_a_longer_way_that_crowds_nobody_is_no_pass_either(triangle, sides_of):
    snapshot = triangle([21, 22, 23, 24]).snapshot()

    found, said = judged(snapshot, sides_of(snapshot, CLIENTS[:4], ["s1"]))

    assert said["B,C -> A, arriving"] == Met()
    assert said["B -> A,C"].reason.startswith("2 of 4 LIDs leave by a cable that is on no shortest")
    assert outcome(found) is Outcome.ERROR


def test_a_longer_way_is_counted_against_a_number(triangle, sides_of):
    snapshot = triangle([23, 24, 23, 24]).snapshot()

    _, said = judged(snapshot, sides_of(snapshot, CLIENTS[:4], ["s1"]), ordered(2))

    assert said == {
        "B -> A,C": Met(),
        "C -> A": Different("C/33: 4 c[1-4]", "at most 2 of the job's LIDs per cable"),
    }


def test_a_collapse_onto_a_longer_way_fails(triangle, sides_of):
    snapshot = triangle([21, 23, 23, 23]).snapshot()

    _, said = judged(snapshot, sides_of(snapshot, CLIENTS[:4], ["s1"]))

    assert said == {
        "B -> A,C": Different(
            "B/23: 3 c[2-4], B/21: 1 c1; 1 cable carries none",
            "at most 2 of the job's LIDs per cable (even: 4 LIDs over 2 usable cables)",
        ),
        "B,C -> A, arriving": Different(
            "C/33: 3 to c[2-4], B/21: 1 to c1; 1 cable carries none",
            "at most 2 of the job's pairs per cable into A (even: 4 LIDs, 4 pairs, over 2 usable "
            "cables)",
        ),
    }


# -- every choice even, and the cables into a leaf not ------------------------------------------


@pytest.fixture(name="tree")
def tree_fixture(site_of):
    """Leaves L1 (c1 to c4), L2 (c5 to c8), L3 and L4 (a server each); spines P and Q.

    Two cables from every leaf to each spine. ``up`` gives the spine that L3 and L4 take for each
    client; both cables of a pair are used in turn.
    """

    def build(up3, up4):
        leaves, spines = ("L1", "L2", "L3", "L4"), ("P", "Q")
        site = site_of(*leaves, *spines)
        for (n, leaf), (m, spine), k in product(enumerate(leaves), enumerate(spines), range(2)):
            site.cable(leaf, 11 + 2 * m + k, spine, 21 + 2 * n + k)
        clients = [site.host(f"c{n}", "L1" if n < 5 else "L2", n) for n in range(1, 9)]
        servers = [site.host("s1", "L3", 1), site.host("s2", "L4", 1)]
        for n, (lid,) in enumerate(clients):
            for leaf, up in (("L3", up3), ("L4", up4)):
                site.tables[leaf][lid] = (11 if up[n] == "P" else 13) + n % 2
            for spine in spines:
                site.tables[spine][lid] = (21 if n < 4 else 23) + n % 2
        for number, (lid,) in enumerate(servers):
            for leaf in ("L1", "L2"):
                site.tables[leaf][lid] = 11 + 2 * number
            for spine in spines:
                site.tables[spine][lid] = 25 + 2 * number
        return site

    return build


EIGHT = [f"c{n}" for n in range(1, 9)]


def test_a_leaf_reached_by_one_spine_only_is_not_even(tree, sides_of):
    """Every switch spreads what it got evenly; half of the cables into each leaf are idle."""
    snapshot = tree("PPPPQQQQ", "PPPPQQQQ").snapshot()

    found, said = judged(snapshot, sides_of(snapshot, EIGHT, STORAGE))

    into = "(even: 4 LIDs, 8 pairs, over 4 usable cables)"
    assert said == {
        "L3 -> P,Q": Met(),
        "L4 -> P,Q": Met(),
        "P -> L1": Met(),
        "Q -> L2": Met(),
        "P,Q -> L1, arriving": Different(
            "P/21: 4 to c[1,3], P/22: 4 to c[2,4]; 2 cables carry none",
            f"at most 2 of the job's pairs per cable into L1 {into}",
        ),
        "P,Q -> L2, arriving": Different(
            "Q/23: 4 to c[5,7], Q/24: 4 to c[6,8]; 2 cables carry none",
            f"at most 2 of the job's pairs per cable into L2 {into}",
        ),
    }
    assert outcome(found) is Outcome.FAIL


def test_leaves_that_take_other_spines_for_one_client_are_even(tree, sides_of):
    """Each cable into L1 carries two of its four LIDs, and of each only half of the senders."""
    snapshot = tree("PPQQPPQQ", "QQPPQQPP").snapshot()

    found, said = judged(snapshot, sides_of(snapshot, EIGHT, STORAGE))

    assert set(said.values()) == {Met()}
    assert [row.pairs for row in found.items[-1].stage.rows] == [2, 2, 2, 2]


def test_a_number_counts_lids_on_every_cable_and_no_pairs(tree, sides_of):
    snapshot = tree("PPPPQQQQ", "PPPPQQQQ").snapshot()

    _, said = judged(snapshot, sides_of(snapshot, EIGHT, STORAGE), ordered(2))

    assert said == dict.fromkeys(("L3 -> P,Q", "L4 -> P,Q", "P -> L1", "Q -> L2"), Met())


def test_cables_into_a_leaf_can_be_judged_alone(tree, sides_of):
    snapshot = tree("PPPPQQQQ", "PPPPQQQQ").snapshot()
    job = sides_of(snapshot, EIGHT, STORAGE)

    _, said = judged(snapshot, job, ordered(group=("L1", "P")))

    assert set(said) == {"P -> L1", "P,Q -> L1, arriving"}


# -- hosts with a port on each rail ----------------------------------------------------------------


@pytest.fixture(name="rails")
def rails_fixture(site_of):
    """A with four clients, B with two servers, two ports each, two cables.

    B sends LIDs of the first rail as ``first`` says by client, those of the second by ``second``.
    """

    def build(first, second):
        site = site_of("A", "B")
        for number, name in enumerate(CLIENTS[:4]):
            for rail, ports in enumerate((first, second)):
                (lid,) = site.host(f"{name} HCA-{rail + 1}", "A", 1 + 2 * number + rail)
                site.tables["B"][lid] = ports[number]
        for number, name in enumerate(STORAGE):
            for rail in range(2):
                (lid,) = site.host(f"{name} HCA-{rail + 1}", "B", 1 + 2 * number + rail)
                site.tables["A"][lid] = 31 + rail
        site.cable("A", 31, "B", 41)
        site.cable("A", 32, "B", 42)
        return site.snapshot()

    return build


def test_of_separate_rails_each_has_its_even_share(rails, sides_of):
    """All LIDs of a rail by one cable are even together, and of no rail alone."""
    snapshot = rails([41] * 4, [42] * 4)
    job = sides_of(snapshot, CLIENTS[:4], STORAGE)

    _, joint = judged(snapshot, job)
    found, separate = judged(snapshot, job, ordered(rails="separate"))

    assert joint == {"B -> A": Met()}
    order = "at most 2 of the job's rail {} LIDs per cable (even: 4 LIDs over 2 usable cables)"
    assert separate == {
        f"B -> A, rail {rail}": Different(
            f"B/{40 + rail}: 4 c[1-4]; 1 cable carries none", order.format(rail)
        )
        for rail in (1, 2)
    }
    assert outcome(found) is Outcome.FAIL


def test_even_rails_are_met(rails, sides_of):
    snapshot = rails([41, 42, 41, 42], [42, 41, 42, 41])
    job = sides_of(snapshot, CLIENTS[:4], STORAGE)

    _, said = judged(snapshot, job, ordered(rails="separate"))

    assert said == {"B -> A, rail 1": Met(), "B -> A, rail 2": Met()}


def test_rails_of_hosts_with_other_numbers_of_ports_are_not_known(rails, sides_of):
    snapshot = rails([41] * 4, [42] * 4)
    job = sides_of(snapshot, CLIENTS[:4], STORAGE)
    one = replace(job.clients.hosts[0], ports=job.clients.hosts[0].ports[:1])
    job = replace(job, clients=replace(job.clients, hosts=(one, *job.clients.hosts[1:])))

    with pytest.raises(InputError, match="c1 has 1 and c2 has 2 on this fabric"):
        judged(snapshot, job, ordered(rails="separate"))


# -- what was not read ---------------------------------------------------------------------------


def test_unknown_lids_are_no_pass(pair, sides_of):
    snapshot = pair([21, 22, 23, 21, 22, 23]).snapshot(unknown={"B": [5, 6]})

    found, said = judged(snapshot, sides_of(snapshot, CLIENTS, STORAGE))

    assert said == {
        "B -> A": Met(),
        "pairs of the job": NotSeen(
            ANY, "4 of the job's 12 pairs are unknown: table of B read up to 0x3 of 0xb", READ_AGAIN
        ),
    }
    assert outcome(found) is Outcome.ERROR


def test_unknown_lids_do_not_lower_the_share_to_a_wrong_fail(pair, sides_of):
    """Two known LIDs on one cable are too many of two, and not of six."""
    snapshot = pair([21, 21, 23, 23, 22, 22]).snapshot(unknown={"B": [3, 4, 5, 6]})
    why = "8 of the job's 12 pairs are unknown: table of B read up to 0x3 of 0xb"

    found, said = judged(snapshot, sides_of(snapshot, CLIENTS, STORAGE))

    assert said == {
        "B -> A": NotSeen(ANY, why, READ_AGAIN),
        "pairs of the job": NotSeen(ANY, why, READ_AGAIN),
    }
    assert outcome(found) is Outcome.ERROR


def test_what_is_too_much_whatever_the_rest_fails(pair, sides_of):
    snapshot = pair([21, 21, 21, 21, 22, 23]).snapshot(unknown={"B": [5, 6]})

    found, said = judged(snapshot, sides_of(snapshot, CLIENTS, STORAGE))

    assert said["B -> A"] == Different(
        "B/21: 4 c[1-4]; 2 cables carry none",
        "at most 2 of the job's LIDs per cable (even: 6 LIDs over 3 usable cables)",
    )
    assert outcome(found) is Outcome.FAIL


def test_lids_that_do_not_arrive_are_no_pass(pair, sides_of):
    site = pair([21, 22, 23, 21, 22, 23])
    del site.tables["B"][6]
    snapshot = site.snapshot()

    found, said = judged(snapshot, sides_of(snapshot, CLIENTS, STORAGE))

    assert said == {
        "B -> A": Met(),
        "pairs of the job": NotSeen(
            ANY,
            "2 of the job's 12 pairs are not delivered, so their LIDs are counted nowhere",
            READ_AGAIN,
        ),
    }
    assert outcome(found) is Outcome.ERROR


def test_a_node_that_did_not_answer_is_no_pass(pair, sides_of):
    gap = Gap("the node behind B/24", "the node behind B/24 did not answer")
    snapshot = pair([21, 22, 23, 21, 22, 23]).snapshot(gaps=(gap,))

    _, said = judged(snapshot, sides_of(snapshot, CLIENTS, STORAGE))

    assert said == {"B -> A": Met(), gap.name: NotSeen(ANY, gap.reason, READ_AGAIN)}


def test_a_silent_node_behind_one_port_takes_no_part_in_a_spread(pair, sides_of):
    """It is no second end of a cable between the switches: those were seen."""
    site = pair([21, 22, 23, 21, 22, 23])
    gap = Gap("the node behind B/24", "it did not answer", at=PortId(site.guid("B"), 24))
    snapshot = site.snapshot(gaps=(gap,))

    _, said = judged(snapshot, sides_of(snapshot, CLIENTS, STORAGE))

    assert said == {"B -> A": Met()}


# -- several LIDs a port -------------------------------------------------------------------------


def test_even_over_all_lids_does_not_hide_first_lids_on_one_cable(pair, sides_of):
    """LMC 1: every first LID on B/21, every second one on B/22. Most programs use the first."""
    snapshot = pair([21, 22] * 6, cables=2, lmc=1).snapshot()

    found, said = judged(snapshot, sides_of(snapshot, CLIENTS, STORAGE))

    assert said == {
        "B -> A": Met(),
        "B -> A, base LIDs": Different(
            "B/21: 6 c[1-6]; 1 cable carries none",
            "at most 3 of the job's base LIDs per cable (even: 6 LIDs over 2 usable cables)",
        ),
    }
    assert found.noun == "12 LIDs of clients toward clients"


def test_even_of_all_and_of_the_first_lids_passes(pair, sides_of):
    snapshot = pair([21, 22, 22, 21] * 3, cables=2, lmc=1).snapshot()

    found, said = judged(snapshot, sides_of(snapshot, CLIENTS, STORAGE))

    assert said == {"B -> A": Met(), "B -> A, base LIDs": Met()}
    assert [table.title for table in found.tables()] == [
        "B -> A: 12 LIDs of the job",
        "B -> A, base LIDs: 6 LIDs of the job",
    ]


# -- which LIDs, which group ---------------------------------------------------------------------


def test_a_node_set_and_a_group_of_the_inventory_name_hosts_of_the_job(pair, sides_of):
    snapshot = pair([21, 22, 23, 21, 22, 23]).snapshot(rack=("c1", "c4"))
    job = sides_of(snapshot, CLIENTS, STORAGE)

    for lids in ("c[1,4]", "rack"):
        found, said = judged(snapshot, job, ordered(lids=lids))

        assert said == {
            "B -> A": Different(
                "B/21: 2 c[1,4]; 2 cables carry none",
                "at most 1 of the job's LIDs per cable (even: 2 LIDs over 3 usable cables)",
            )
        }
        assert found.noun == f"2 LIDs of {lids} toward clients"


@pytest.mark.parametrize(
    ("lids", "message"),
    [
        ("c[1-6]", "lids: 'c6' is not in the job; known are c1, c2, c3, c4, c5, s1, s2"),
        ("c1,s1", "lids: 'c1,s1' mixes clients and storage; give one entry for each"),
        ("c9", "c9 is not in inventory"),
    ],
)
def test_hosts_that_are_not_of_one_side_are_refused(pair, sides_of, lids, message):
    snapshot = pair([21] * 6).snapshot()
    job = sides_of(snapshot, CLIENTS[:5], STORAGE)

    with pytest.raises(InputError) as caught:
        judged(snapshot, job, ordered(lids=lids))

    assert str(caught.value).startswith(message)


def test_a_group_between_two_sides_is_judged_alone(triangle, sides_of):
    snapshot = triangle([21, 21, 21, 23]).snapshot()
    job = sides_of(snapshot, CLIENTS[:4], ["s1"])

    _, near = judged(snapshot, job, ordered(1, group=("A", "C")))

    assert near == {"C -> A": Met()}


# -- adaptive routing ----------------------------------------------------------------------------


CONF = CaptureRef("inputs/subnet-1-opensm.conf", 7, "routing_engine ar_updn")
ON = FileSign("on", "opensm.conf", CONF)
NOT_ON = FileSign(
    "off", "osm.log", CaptureRef("inputs/subnet-2-osm.log", 2, "minhop tables configured")
)
SILENT = FileSign(None, "x.far", CaptureRef("inputs/subnet-3-x.far", None, ""))
SAYS_ON = "opensm.conf:7 says on: 'routing_engine ar_updn'"


@pytest.mark.parametrize(
    ("adaptive", "reason"),
    [
        (AdaptiveRouting("on"), "adaptive routing is on, by the expectations"),
        (AdaptiveRouting(None, None, (ON,)), f"adaptive routing is on, {SAYS_ON}"),
        (AdaptiveRouting("on", None, (NOT_ON,)), "adaptive routing is on, by the expectations"),
        (AdaptiveRouting(None, None, (NOT_ON, ON)), f"adaptive routing is on, {SAYS_ON}"),
        (
            AdaptiveRouting("off", None, (ON,)),
            f"the expectations set adaptive_routing: off, but {SAYS_ON}",
        ),
    ],
)
@pytest.mark.parametrize("reads", [[21, 22, 23, 21, 22, 23], [21] * 6])
def test_where_it_is_on_nothing_passes_or_fails(pair, sides_of, adaptive, reason, reads):
    snapshot = pair(reads).snapshot()

    found, said = judged(snapshot, sides_of(snapshot, CLIENTS, STORAGE), adaptive=adaptive)

    (answer,) = said.values()
    assert list(said) == ["adaptive routing"]
    assert answer.reason == f"not judged: the tables are only the fallback: {reason}"
    assert (found.tables(), found.notes()) == ((), KNOWN_BY)
    assert found.items[0].captures == adaptive.captures
    assert outcome(found) is Outcome.ERROR


@pytest.mark.parametrize(
    ("adaptive", "note"),
    [
        (
            AdaptiveRouting(),
            "it is not known whether the switches route adaptively; where they do, these counts "
            "do not predict the load. Set adaptive_routing: off, or give opensm.conf under "
            "subnet_files",
        ),
        (
            AdaptiveRouting(None, None, (SILENT,)),
            "x.far has no setting of it. it is not known whether the switches route adaptively; "
            "where they do, these counts do not predict the load. Set adaptive_routing: off, or "
            "give opensm.conf under subnet_files",
        ),
        (
            AdaptiveRouting(None, None, (NOT_ON,)),
            "adaptive routing is off, osm.log:2 says off: 'minhop tables configured'",
        ),
    ],
)
def test_a_pass_says_whether_it_was_excluded(pair, sides_of, adaptive, note):
    snapshot = pair([21, 22, 23, 21, 22, 23]).snapshot()

    found, said = judged(snapshot, sides_of(snapshot, CLIENTS, STORAGE), adaptive=adaptive)

    assert (said, found.notes()) == ({"B -> A": Met()}, (note, *KNOWN_BY))


# -- balance -------------------------------------------------------------------------------------


def balanced(snapshot, most):
    expected = Balance(id="x", kind="balance", max_minus_min=most)
    judging = spreading.balance_judge(expected)
    return [(item.name, judging(item)) for item in spreading.fabric_balance(snapshot, expected)]


def test_a_balance_says_what_it_orders():
    most = [Balance(id="x", kind="balance", max_minus_min=most).ordered for most in (0, 1)]

    assert most == [
        "a difference of at most 0 LIDs between two cables of a group",
        "a difference of at most 1 LID between two cables of a group",
    ]


def test_balance_is_the_fullest_minus_the_emptiest_cable_of_all_lids(pair):
    snapshot = pair([21, 21, 21, 22, 22, 22]).snapshot()

    assert balanced(snapshot, 2) == [
        ("A -> B", Met()),
        (
            "B -> A",
            Different(
                "3 LIDs on the fullest of 3 cables, 0 on the emptiest: difference 3",
            ),
        ),
    ]


def test_lids_that_are_lost_or_not_read_are_no_balance(pair):
    site = pair([21, 22, 23, 21, 22, 23])
    del site.tables["B"][6]
    lost = site.snapshot()
    cut = pair([21, 22, 23, 21, 22, 23]).snapshot(unknown={"B": [6]})

    assert balanced(lost, 1)[2:] == [
        (
            "routes",
            NotSeen(
                ANY,
                "2 of 56 pairs are not delivered, so LIDs of theirs are counted on no cable",
                READ_AGAIN,
            ),
        )
    ]
    assert balanced(cut, 1)[2:] == [
        ("forwarding tables", NotSeen(ANY, "table of B read up to 0x3 of 0xb", READ_AGAIN))
    ]

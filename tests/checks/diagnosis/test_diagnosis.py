"""Each look-alike is named for its own signs, and no other."""

from dataclasses import replace

import pytest

from ibaccept.checks.diagnosis import Cause, Facts, RuleAnswer, State, diagnose
from ibaccept.checks.diagnosis.facts import CableShare, Carried, Excess, HostCable, SlowHost

GROUP = "SwitchA - SwitchB"


def cable(number, lids, write, read, rdma=None):
    return CableShare(
        f"SwitchA/{12 + number} - SwitchB/{24 + number}", GROUP, lids, write, read, rdma
    )


COLLAPSED = (
    cable(1, 6, 0.50, 0.96, 0.96),
    cable(2, 5, 0.51, 0.94, 0.94),
    cable(3, 1, 0.52, 0.33, 0.36),
    *(cable(number, 0, 0.51, 0.0, 0.0) for number in range(4, 9)),
)
EVEN = tuple(cable(number, 2, 0.51, 0.50, 0.55) for number in range(1, 9))

HEALTHY = Facts(
    fs_write=91.4,
    fs_read=90.9,
    rdma_read=96.0,
    cables=EVEN,
    slow_links=(),
    error_links=(),
    slow_senders=(),
    slow_receivers=(),
    explained={"filesystem-write": None, "filesystem-read": None},
    differences={"filesystem-write": 0.004, "filesystem-read": 0.001},
    slow_readers=(),
    readers=12,
    adaptive=False,
    uneven=False,
    permitted_gib=180.8,
)
CASE = replace(
    HEALTHY,
    fs_read=50.3,
    rdma_read=51.0,
    cables=COLLAPSED,
    uneven=True,
    permitted_gib=67.8,
)


def causes(facts):
    return [answer.cause for answer in diagnose(facts).fits]


def test_the_case_of_eight_healthy_cables():
    """Writes even, reads on three of eight cables, RDMA alone the same."""
    found = diagnose(CASE)

    assert found.fits == (
        RuleAnswer(
            Cause.ROUTE_COLLAPSE,
            State.FITS,
            "reads fill SwitchA/13 - SwitchB/25 96 %, SwitchA/14 - SwitchB/26 94 % while another "
            "cable of the group carries 0 %; the tables put 6, 5 of the job's LIDs there; writes "
            "are even (52 % at most); RDMA alone reproduces it (51.0 against 50.3 GiB/s)",
        ),
    )
    assert found.next_step == (
        "run the same job on another node list: where it spreads, reads rise with nothing else "
        "changed; then route this list first (see what to try, below)"
    )
    assert {answer.state for answer in found.answers} == {State.FITS, State.RULED_OUT}


def test_a_healthy_job_fits_nothing_and_rules_everything_out():
    found = diagnose(HEALTHY)

    assert {answer.cause: answer.state for answer in found.answers} == dict.fromkeys(
        Cause, State.RULED_OUT
    )


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        (
            {"slow_links": ("SwitchA/15 - SwitchB/27 (1X HDR)",), "fs_read": 45.0},
            Cause.DEGRADED_LINK,
        ),
        ({"error_links": ("SwitchA/15 SymbolErrorCounter +4",)}, Cause.BAD_CABLE),
        (
            {
                "explained": {"filesystem-read": "cached"},
                "differences": {"filesystem-read": -0.6},
                "fs_read": 200.0,
            },
            Cause.PAGE_CACHE,
        ),
        (
            {
                "explained": {"filesystem-read": "other-traffic"},
                "differences": {"filesystem-read": 0.3},
            },
            Cause.OTHER_TRAFFIC,
        ),
        ({"adaptive": True}, Cause.ADAPTIVE_ROUTING),
        (
            {
                "slow_receivers": (SlowHost("client-04", 3.0, 11.0),),
                "waiting": ("client-04",),
                "fs_read": 80.0,
            },
            Cause.SLOW_RECEIVER,
        ),
        ({"slow_senders": (SlowHost("stor-3", 6.0, 15.0),), "fs_read": 60.0}, Cause.SLOW_SENDER),
        ({"slow_readers": ("client-01", "client-02"), "fs_read": 80.0}, Cause.READ_AHEAD),
        ({"fs_read": 50.0, "rdma_read": 120.0}, Cause.STORAGE_BOUND),
    ],
)
def test_each_names_its_own_look_alike_and_no_other(changed, cause):
    assert causes(replace(HEALTHY, **changed)) == [cause]


def test_what_was_not_measured_is_not_known_and_the_cheapest_step_is_named():
    found = diagnose(Facts())

    assert {answer.cause: answer.state for answer in found.answers} == dict.fromkeys(
        Cause, State.UNKNOWN
    )
    assert found.next_step == "look at width and speed of the job's links (kind link-rate)"
    assert found.fits == ()


@pytest.mark.parametrize(
    ("known", "step"),
    [
        ({"slow_links": ()}, "count the job's LIDs per cable (kind lid-spread)"),
        (
            {"slow_links": (), "uneven": True},
            "compare error counters under load (error-counters, load)",
        ),
        (
            {"slow_links": (), "uneven": True, "error_links": ()},
            "watch the cables during a write and a read run (--load)",
        ),
        (
            {"slow_links": (), "uneven": True, "error_links": (), "cables": EVEN},
            "run RDMA alone between the same endpoints (workloads: rdma)",
        ),
    ],
)
def test_the_elimination_order(known, step):
    assert diagnose(Facts(**known)).next_step == step


def test_a_collapse_that_rdma_does_not_reproduce_is_not_claimed():
    found = {a.cause: a for a in diagnose(replace(CASE, rdma_read=120.0)).answers}

    assert found[Cause.ROUTE_COLLAPSE].state is State.UNKNOWN
    assert found[Cause.ROUTE_COLLAPSE].why.endswith(
        "but RDMA alone differs (120.0 against 50.3 GiB/s)"
    )
    assert found[Cause.STORAGE_BOUND].state is State.RULED_OUT


def test_signs_that_an_earlier_cause_produces_are_not_a_second_cause():
    """A degraded link makes RDMA run ahead of the file system, too."""
    facts = replace(HEALTHY, slow_links=("SwitchA/15 (1X HDR)",), fs_read=50.0, rdma_read=120.0)

    assert causes(facts) == [Cause.DEGRADED_LINK]


def test_reads_over_a_cable_without_a_lid_of_the_job_are_adaptive_routing():
    strays = (*COLLAPSED[:3], *(cable(number, 0, 0.5, 0.4) for number in range(4, 9)))

    assert causes(replace(CASE, cables=strays)) == [Cause.ADAPTIVE_ROUTING]


def answers(facts):
    return {answer.cause: answer for answer in diagnose(facts).answers}


def states(facts):
    return {cause: answer.state for cause, answer in answers(facts).items()}


RULED_OUT = dict.fromkeys(Cause, State.RULED_OUT)


# -- nothing is concluded from nothing -----------------------------------------------------------


def test_runs_without_a_watched_cable_tell_no_cause():
    """All watches failed: no cable was seen to have room, and none to be sound."""
    blind = Facts(
        fs_write=90.0, fs_read=40.0, rdma_read=90.0, uneven=True, slow_senders=(), slow_receivers=()
    )

    assert states(blind) == dict.fromkeys(Cause, State.UNKNOWN) | {
        Cause.SLOW_RECEIVER: State.RULED_OUT,
        Cause.SLOW_SENDER: State.RULED_OUT,
    }
    assert answers(blind)[Cause.STORAGE_BOUND].why == (
        "RDMA alone carries 90.0 GiB/s, the file system reads 40.0, but no cable was watched in a "
        "read run"
    )


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (
            {"cables": (*EVEN[:7], cable(8, 2, 0.51, None))},
            "but whether SwitchA/20 - SwitchB/32 was full is not known",
        ),
        (
            {"hosts": (HostCable("B/1 - s1/1", "s1", "storage", slower=False),)},
            "but whether B/1 - s1/1 was full is not known",
        ),
        (
            {
                "hosts": (
                    HostCable(
                        "A/1 - c1/1",
                        "c1",
                        "client",
                        slower=False,
                        carried={"read": Carried(21, 0.9)},
                    ),
                )
            },
            "but A/1 - c1/1 was full",
        ),
        ({"rdma_read": 56.0}, "too near each other to decide"),
    ],
)
def test_the_storage_is_not_named_while_a_cable_may_be_full(changed, why):
    facts = replace(HEALTHY, **{"fs_read": 50.0, "rdma_read": 120.0, **changed})

    assert answers(facts)[Cause.STORAGE_BOUND] == RuleAnswer(
        Cause.STORAGE_BOUND,
        State.UNKNOWN,
        f"RDMA alone carries {facts.rdma_read:.1f} GiB/s, the file system reads 50.0, {why}",
    )


def test_a_collapse_is_not_ruled_out_by_cables_that_were_not_read():
    unread = tuple(replace(c, read=None) if c.read == 0 else c for c in COLLAPSED)
    busy = tuple(replace(c, read=None) if c.lids == 1 else replace(c, read=0.6) for c in EVEN)

    found = answers(replace(CASE, cables=unread))[Cause.ROUTE_COLLAPSE]
    assert (found.state, found.why.split(" while")[1]) == (
        State.FITS,
        " another cable of the group carries 33 %; the tables put 6, 5 of the job's LIDs there; "
        "writes are even (52 % at most); RDMA alone reproduces it (51.0 against 50.3 GiB/s)",
    )
    only_full = tuple(replace(c, read=None) if c.read < 0.9 else c for c in COLLAPSED)
    assert answers(replace(CASE, cables=only_full))[Cause.ROUTE_COLLAPSE] == RuleAnswer(
        Cause.ROUTE_COLLAPSE,
        State.UNKNOWN,
        "SwitchA - SwitchB is full, but not all of its cables were read",
    )
    none_full = (replace(busy[0], read=None), *busy[1:])
    assert answers(replace(CASE, cables=none_full))[Cause.ROUTE_COLLAPSE] == RuleAnswer(
        Cause.ROUTE_COLLAPSE,
        State.UNKNOWN,
        "LIDs pile up, and the load of SwitchA/13 - SwitchB/25 is not known",
    )


def test_cables_that_all_have_lids_do_not_tell_that_the_load_follows_the_tables():
    assert answers(replace(HEALTHY, adaptive=None))[Cause.ADAPTIVE_ROUTING] == RuleAnswer(
        Cause.ADAPTIVE_ROUTING,
        State.UNKNOWN,
        "the cables do not show it: all have LIDs of the job, or none carried much",
    )


def test_a_run_of_writes_rules_out_no_cache_and_no_other_traffic_of_reads():
    facts = replace(
        HEALTHY, explained={"filesystem-write": None}, differences={"filesystem-write": 0.004}
    )

    assert states(facts) == RULED_OUT | {
        Cause.PAGE_CACHE: State.UNKNOWN,
        Cause.OTHER_TRAFFIC: State.UNKNOWN,
    }


def test_no_client_is_compared_where_a_full_cable_is_on_the_way_to_each():
    assert answers(replace(CASE, readers=0))[Cause.READ_AHEAD] == RuleAnswer(
        Cause.READ_AHEAD, State.UNKNOWN, "a full cable is on the way to every client"
    )


def test_hosts_that_were_not_judged_are_not_fast():
    why = {"client": "c1 was in no RDMA pair", "storage": "s1 was in no RDMA pair"}
    facts = replace(HEALTHY, slow_senders=None, slow_receivers=None, unjudged=why)

    assert answers(facts) == answers(HEALTHY) | {
        Cause.SLOW_RECEIVER: RuleAnswer(Cause.SLOW_RECEIVER, State.UNKNOWN, why["client"]),
        Cause.SLOW_SENDER: RuleAnswer(Cause.SLOW_SENDER, State.UNKNOWN, why["storage"]),
    }


# -- which cables are full -----------------------------------------------------------------------


def test_a_full_cable_without_another_beside_it_hides_no_collapse_elsewhere():
    """A lone full cable is listed first."""
    alone = CableShare("S/1 - L/1", "L - S", 2, 0.5, 0.9)

    assert answers(replace(CASE, cables=(alone, *COLLAPSED))) == answers(CASE)


def test_a_cable_that_is_full_with_no_more_lids_than_an_idle_one_is_no_collapse():
    other = (cable(1, 2, 0.5, 0.96), cable(2, 2, 0.5, 0.1), cable(3, 3, 0.5, 0.3))

    assert answers(replace(CASE, cables=other))[Cause.ROUTE_COLLAPSE] == RuleAnswer(
        Cause.ROUTE_COLLAPSE,
        State.UNKNOWN,
        "SwitchA/13 - SwitchB/25 96 %: full, but with no more of the job's LIDs than SwitchA/14 - "
        "SwitchB/26",
    )


# -- slower and bad cables -----------------------------------------------------------------------

EDR, HDR = "A/9 - c9/1 (4X EDR)", "A/8 - c8/1 (4X HDR)"


def clients(edr, hdr=7.0):
    """A client by EDR among clients by HDR, at so many GiB/s in the read run."""
    return (
        HostCable(EDR, "c9", "client", slower=True, carried={"read": Carried(edr, edr / 11.3)}),
        HostCable(HDR, "c8", "client", slower=False, carried={"read": Carried(hdr, hdr / 22.6)}),
    )


@pytest.mark.parametrize(
    ("edr", "hdr", "state", "why"),
    [
        (
            4.0,
            4.4,
            State.RULED_OUT,
            f"{EDR} is slower than those of its side, but holds no host back",
        ),
        (
            11.2,
            7.0,
            State.RULED_OUT,
            f"{EDR} is slower than those of its side, but holds no host back",
        ),
        (7.0, 7.3, State.UNKNOWN, f"whether {EDR} holds its host back was not seen"),
        (
            11.2,
            15.0,
            State.FITS,
            f"slower than those of the other hosts of its side, and full: {EDR}",
        ),
    ],
)
def test_a_hosts_slower_cable_explains_its_own_host_and_hides_no_collapse(edr, hdr, state, why):
    facts = replace(CASE, hosts=clients(edr, hdr))

    assert answers(facts) == answers(CASE) | {
        Cause.DEGRADED_LINK: RuleAnswer(Cause.DEGRADED_LINK, state, why)
    }


def test_a_slow_link_that_carries_little_stands_beside_the_collapse():
    slow = (*COLLAPSED[:7], replace(COLLAPSED[7], write=0.4, faulty=True))
    facts = replace(CASE, cables=slow, slow_links=(f"{slow[7].name} (2X HDR)",))

    assert causes(facts) == [Cause.DEGRADED_LINK, Cause.ROUTE_COLLAPSE]


@pytest.mark.parametrize("kind", ["slow_links", "error_links"])
def test_cables_that_are_full_because_they_are_faulty_are_no_collapse(kind):
    faulty = tuple(replace(c, faulty=c.read > 0.9) for c in COLLAPSED)
    facts = replace(CASE, cables=faulty, **{kind: ("SwitchA/13 - SwitchB/25",)})
    cause = Cause.DEGRADED_LINK if kind == "slow_links" else Cause.BAD_CABLE

    assert causes(facts) == [cause]
    assert answers(facts)[Cause.ROUTE_COLLAPSE].state is State.UNKNOWN


def test_a_cable_without_an_equal_beside_it_is_not_judged():
    assert answers(replace(HEALTHY, lone_links=("S/1 - L/1 (4X HDR)",))) == answers(HEALTHY) | {
        Cause.DEGRADED_LINK: RuleAnswer(
            Cause.DEGRADED_LINK,
            State.UNKNOWN,
            "S/1 - L/1 (4X HDR) has no equal cable to compare it with",
        )
    }


# -- bytes ---------------------------------------------------------------------------------------


def test_rdma_has_no_cache():
    """Fewer bytes on the cables than the pairs claim went another way."""
    facts = replace(
        CASE,
        explained={"filesystem-read": None, "rdma-read": "cached"},
        differences={"filesystem-read": 0.001, "rdma-read": -0.5},
        rdma_read=120.0,
    )
    elsewhere = (
        "rdma-read: the watched cables carried 50 % less than the pairs claim: another adapter, "
        "port or fabric carried the rest"
    )
    found = answers(facts)

    assert causes(facts) == [Cause.ROUTE_COLLAPSE]
    assert {cause: a.why for cause, a in found.items() if a.state is State.UNKNOWN} == {
        Cause.SLOW_RECEIVER: elsewhere,
        Cause.SLOW_SENDER: elsewhere,
        Cause.STORAGE_BOUND: elsewhere,
        Cause.OTHER_TRAFFIC: (
            "cables carried less than claimed, which hides others (filesystem-read +0.1 %, "
            "rdma-read -50.0 %)"
        ),
    }
    assert found[Cause.PAGE_CACHE] == RuleAnswer(
        Cause.PAGE_CACHE,
        State.RULED_OUT,
        "no fewer bytes on cables than claimed (filesystem-read +0.1 %)",
    )


def test_what_others_send_over_a_cable_of_the_job_is_not_adaptive_routing():
    """It reached no client of the job, so the clients' cables and the benchmark agree."""
    strays = (*COLLAPSED[:3], *(cable(number, 0, 0.5, 0.4) for number in range(4, 9)))
    facts = replace(CASE, cables=strays, excess=(Excess(GROUP, 95.4, 50.4),))

    assert diagnose(facts).fits == (
        RuleAnswer(
            Cause.OTHER_TRAFFIC,
            State.FITS,
            f"{GROUP} carried 95.4 GiB/s toward the clients, of which 50.4 reached those of the "
            "job",
        ),
    )
    assert answers(facts)[Cause.ADAPTIVE_ROUTING].state is State.UNKNOWN


# -- adaptive routing ----------------------------------------------------------------------------

ON = "adaptive routing is on: the tables are only the fallback, so LID counts predict no load"


def test_where_switches_choose_nothing_is_judged_by_the_tables():
    facts = replace(
        CASE, adaptive=True, fs_read=90.9, rdma_read=96.0, slow_senders=(SlowHost("s1", 3.0, 9.0),)
    )

    assert answers(facts) == answers(replace(HEALTHY, adaptive=True)) | {
        Cause.ROUTE_COLLAPSE: RuleAnswer(Cause.ROUTE_COLLAPSE, State.UNKNOWN, ON),
        Cause.STORAGE_BOUND: RuleAnswer(
            Cause.STORAGE_BOUND,
            State.RULED_OUT,
            "a cable is near its ceiling, so the storage was not tested above that",
        ),
    }
    assert states(facts) == RULED_OUT | {
        Cause.ADAPTIVE_ROUTING: State.FITS,
        Cause.SLOW_RECEIVER: State.UNKNOWN,
        Cause.SLOW_SENDER: State.UNKNOWN,
        Cause.READ_AHEAD: State.UNKNOWN,
        Cause.ROUTE_COLLAPSE: State.UNKNOWN,
    }


def test_adaptive_routing_takes_nothing_away_and_hides_no_cause():
    slow = replace(HEALTHY, adaptive=True, fs_read=40.0, rdma_read=90.0)
    unwatched = replace(slow, cables=())

    assert causes(slow) == [Cause.STORAGE_BOUND]
    assert causes(unwatched) == []
    assert answers(unwatched)[Cause.ADAPTIVE_ROUTING] == RuleAnswer(
        Cause.ADAPTIVE_ROUTING,
        State.UNKNOWN,
        "the tables are only the fallback, so LID counts predict no load; but RDMA alone carries "
        "what the file system does not",
    )


def test_adaptive_routing_explains_nothing_where_nothing_was_measured():
    assert causes(Facts(adaptive=True)) == []

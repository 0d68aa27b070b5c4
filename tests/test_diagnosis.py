"""Each look-alike is named for its own signs, and no other."""

from dataclasses import replace

import pytest

from ibaccept.diagnosis import Answer, Cable, Cause, Facts, SlowHost, State, diagnose

GROUP = "SwitchA - SwitchB"


def cable(number, lids, write, read, rdma=None):
    return Cable(f"SwitchA/{12 + number} - SwitchB/{24 + number}", GROUP, lids, write, read, rdma)


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
    adaptive=None,
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
        Answer(
            Cause.ROUTE_COLLAPSE,
            State.FITS,
            "reads fill SwitchA/13 - SwitchB/25 96 %, SwitchA/14 - SwitchB/26 94 % while another "
            "cable of the group carries 0 %; the tables put 6, 5 of the job's LIDs there; writes "
            "are even (52 % at most); RDMA alone reproduces it (51.0 against 50.3 GiB/s)",
        ),
    )
    assert found.next_step == (
        "run the same job on another node list: where it spreads, reads rise with nothing else "
        "changed; then route this list first (see the remedies of lid-spread)"
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
    assert found.lines()[0] == "diagnosis: nothing that was measured explains it"


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

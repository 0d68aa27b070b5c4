"""Where does every LID go?"""

from functools import partial

from ibaccept.checks.base import absent_note
from ibaccept.checks.proof import Evidence
from ibaccept.checks.routes import delivery
from ibaccept.checks.routes import spread as spreading
from ibaccept.checks.routes.kinds import Balance, Delivery, LidSpread
from ibaccept.observe.snapshot import Snapshot
from ibaccept.run.inputs import Inputs
from ibaccept.verdict import judge, require


def test_routes(snapshot: Snapshot, expected: Delivery, inputs: Inputs, evidence: Evidence) -> None:
    """Every pair of hosts is delivered."""
    job = None
    if expected.every == "job":
        job = inputs.job_lids(snapshot, absent=expected.absent)
    found = delivery.routes_found(snapshot, expected, job, inputs.adaptive.engines)

    verdict = judge(
        delivery.route_aspects(snapshot, expected, found),
        expected=expected.ordered,
        expected_of=partial(delivery.route_order, expected),
        actual=delivery.RouteJudge(snapshot, expected, found),
        noun=f"properties of the routes of {found.reach.pairs:,} pairs",
        notes=(*delivery.route_notes(expected, found), *absent_note(snapshot, expected.absent)),
    )

    require(verdict, evidence)


def test_lid_spread(
    snapshot: Snapshot, expected: LidSpread, inputs: Inputs, evidence: Evidence
) -> None:
    """No cable carries more of the job's LIDs than expected."""
    found = spreading.job_spread(
        snapshot,
        expected,
        inputs.job_lids(snapshot, absent=expected.absent),
        adaptive=inputs.adaptive,
        ceilings=inputs.ceilings,
    )

    verdict = judge(
        found.items,
        expected=expected.ordered,
        actual=found.judge,
        noun=f"groups of cables for the {found.noun}",
        met=f"carry at most {expected.limit} per cable",
        not_met=f"carry more than {expected.limit} on a cable",
        tables=found.tables(),
        notes=(*found.notes(), *absent_note(snapshot, expected.absent)),
    )

    require(verdict, evidence)


def test_balance(snapshot: Snapshot, expected: Balance, evidence: Evidence) -> None:
    """The LIDs of the whole fabric are spread evenly over the cables of each group."""
    found = spreading.fabric_balance(snapshot, expected)

    verdict = judge(
        found,
        expected=expected.ordered,
        actual=spreading.balance_judge(expected),
        noun="groups of cables",
        met=f"have {expected.ordered}",
        not_met=f"do not have {expected.ordered}",
        notes=absent_note(snapshot, expected.absent),
    )

    require(verdict, evidence)

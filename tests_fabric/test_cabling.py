"""Is everything cabled as planned?"""

from functools import partial

from ibaccept.checks.cabling import Cabling, cables_of, cabling_of, planned_as
from ibaccept.checks.links import LinkCount, count_of
from ibaccept.checks.proof import Evidence
from ibaccept.observe.snapshot import Snapshot
from ibaccept.run.inputs import Inputs
from ibaccept.site.plan import PlannedCable
from ibaccept.verdict import judge, require


def test_cabling(
    snapshot: Snapshot,
    expected: Cabling,
    cable: PlannedCable | None,
    inputs: Inputs,
    evidence: Evidence,
) -> None:
    """The fabric is cabled as planned."""
    cables = cables_of(snapshot, inputs.expectations.plans[expected.plan], expected, cable)

    verdict = judge(
        cables,
        expected=expected.ordered,
        expected_of=planned_as,
        actual=partial(cabling_of, gaps=bool(snapshot.gaps)),
        noun="planned cables and differences from the plan",
        met="are in place",
        not_met="are not as planned",
    )

    require(verdict, evidence)


def test_link_count(snapshot: Snapshot, expected: LinkCount, evidence: Evidence) -> None:
    """The expected number of links is up."""
    counted, count = count_of(snapshot, expected)

    verdict = judge(
        counted,
        expected=expected.ordered,
        actual=count,
        noun=f"counts of {expected.links.noun}",
    )

    require(verdict, evidence)

"""Do the links train at the expected rate?"""

from ibaccept.checks.base import absent_note
from ibaccept.checks.links import LinkRate, links_of, rate_judge
from ibaccept.checks.proof import Evidence
from ibaccept.observe.snapshot import Snapshot
from ibaccept.site.plan import PlannedCable
from ibaccept.verdict import judge, require


def test_link_rate(
    snapshot: Snapshot, expected: LinkRate, cable: PlannedCable | None, evidence: Evidence
) -> None:
    """Every selected link trains at the expected width and speed."""
    links = links_of(snapshot, expected.links, cable, absent=expected.absent)

    verdict = judge(
        links.items,
        expected=expected.ordered,
        actual=rate_judge(snapshot, expected.rate),
        noun=links.noun,
        notes=absent_note(snapshot, expected.absent),
    )

    require(verdict, evidence)

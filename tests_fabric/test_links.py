"""Do the links train as ordered?"""

from ibaccept.expect.links import LinkRate
from ibaccept.expect.look import links_of, rate_of
from ibaccept.plan import PlannedCable
from ibaccept.prove import Evidence
from ibaccept.snapshot import Snapshot
from ibaccept.verdict import judge, require


def test_link_rate(
    snapshot: Snapshot, expected: LinkRate, cable: PlannedCable | None, evidence: Evidence
) -> None:
    """Every selected link trains at the ordered width and speed."""
    links = links_of(snapshot, expected.links, cable)

    verdict = judge(links.items, expected=expected.rate, actual=rate_of, noun=links.noun)

    require(verdict, evidence)

"""Are the ordered subnet managers there?"""

from ibaccept.checks.proof import Evidence
from ibaccept.checks.subnet import SubnetManager, aspects, judged, managers_note
from ibaccept.observe.snapshot import Snapshot
from ibaccept.verdict import judge, require


def test_subnet_manager(snapshot: Snapshot, expected: SubnetManager, evidence: Evidence) -> None:
    """The subnet has the expected managers."""
    ordered = aspects(snapshot, expected)

    verdict = judge(
        ordered,
        expected=expected.ordered,
        expected_of=lambda aspect: expected.aspects[aspect.name],
        actual=judged(snapshot, expected),
        noun="aspects of the subnet manager",
        notes=(managers_note(snapshot),),
    )

    require(verdict, evidence)

"""Does the fabric carry the expected load? Judged only with --load."""

from ibaccept.checks.proof import Evidence
from ibaccept.checks.throughput import judge as carrying
from ibaccept.checks.throughput.cable_load import cable_checks
from ibaccept.checks.throughput.kinds import CableLoad, Filesystem, Forecast, RdmaCeiling
from ibaccept.run.loads import LoadLook
from ibaccept.verdict import judge, require


def test_filesystem(loads: LoadLook, expected: Filesystem, evidence: Evidence) -> None:
    """The file system reads and writes at the expected rates."""
    measured = loads.measured()

    verdict = judge(
        carrying.filesystem_checks(measured, expected),
        expected=expected.ordered,
        expected_of=carrying.expected_of,
        actual=carrying.answer_of,
        noun="rates of the file system",
    )

    require(carrying.told(verdict, measured), evidence)


def test_rdma_ceiling(loads: LoadLook, expected: RdmaCeiling, evidence: Evidence) -> None:
    """RDMA between the same endpoints carries what the file system needs."""
    measured = loads.measured()

    verdict = judge(
        carrying.rdma_checks(measured, expected),
        expected=expected.ordered,
        expected_of=carrying.expected_of,
        actual=carrying.answer_of,
        noun="RDMA runs",
        met=f"carry {expected.ordered}",
        not_met=f"do not carry {expected.ordered}",
    )

    require(carrying.told(verdict, measured), evidence)


def test_forecast(loads: LoadLook, expected: Forecast, evidence: Evidence) -> None:
    """The measured rate is the one forecast from routes, ceilings and the write run."""
    measured = loads.measured()

    verdict = judge(
        carrying.forecast_checks(measured, expected),
        expected=expected.ordered,
        expected_of=carrying.expected_of,
        actual=carrying.answer_of,
        noun="runs held against their forecast",
        met=f"are within {expected.within} of it",
        not_met=f"are not within {expected.within} of it",
        notes=carrying.forecast_place(measured),
    )

    require(carrying.told(verdict, measured), evidence)


def test_cable_load(loads: LoadLook, expected: CableLoad, evidence: Evidence) -> None:
    """No cable is full while another of its group idles."""
    measured = loads.measured()

    verdict = judge(
        cable_checks(measured, expected),
        expected=expected.ordered,
        expected_of=carrying.expected_of,
        actual=carrying.answer_of,
        noun=f"groups of cables under {expected.during}",
        met=f"have {expected.ordered}",
        not_met=f"have a cable above {expected.at_most} while another is under "
        f"{expected.while_under}",
    )

    require(carrying.told(verdict, measured), evidence)

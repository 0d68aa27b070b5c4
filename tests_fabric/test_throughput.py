"""Does the fabric carry what was ordered? Judged only with --load."""

from ibaccept.checks.proof import Evidence
from ibaccept.checks.routes.delivery import AS_ORDERED
from ibaccept.checks.throughput import judge as carrying
from ibaccept.checks.throughput.cable_load import cable_checks
from ibaccept.checks.throughput.kinds import CableLoad, Filesystem, Forecast, RdmaCeiling
from ibaccept.run.loads import LoadLook
from ibaccept.verdict import judge, require


def test_filesystem(loads: LoadLook, expected: Filesystem, evidence: Evidence) -> None:
    """The file system reads and writes as fast as ordered."""
    measured = loads.measured()

    verdict = judge(
        carrying.filesystem_checks(measured, expected),
        expected=AS_ORDERED,
        actual=carrying.answer_of,
        noun="orders of the file system",
        as_ordered="are met",
        not_as_ordered="are not met",
    )

    require(carrying.told(verdict, measured), evidence)


def test_rdma_ceiling(loads: LoadLook, expected: RdmaCeiling, evidence: Evidence) -> None:
    """RDMA between the same endpoints carries what the file system needs."""
    measured = loads.measured()

    verdict = judge(
        carrying.rdma_checks(measured, expected),
        expected=AS_ORDERED,
        actual=carrying.answer_of,
        noun=f"RDMA runs held against the {expected.of}",
        as_ordered=f"are as ordered ({expected.relation})",
        not_as_ordered=f"are not as ordered ({expected.relation})",
    )

    require(carrying.told(verdict, measured), evidence)


def test_forecast(loads: LoadLook, expected: Forecast, evidence: Evidence) -> None:
    """The measured rate is the one forecast from routes, ceilings and the write run."""
    measured = loads.measured()

    verdict = judge(
        carrying.forecast_checks(measured, expected),
        expected=AS_ORDERED,
        actual=carrying.answer_of,
        noun="runs held against their forecast",
        as_ordered=f"are within {expected.within}",
        not_as_ordered=f"are not within {expected.within}",
    )

    require(carrying.told(verdict, measured), evidence)


def test_cable_load(loads: LoadLook, expected: CableLoad, evidence: Evidence) -> None:
    """No cable is full while another of its group idles."""
    measured = loads.measured()

    verdict = judge(
        cable_checks(measured, expected),
        expected=AS_ORDERED,
        actual=carrying.answer_of,
        noun=f"groups of cables under {expected.during}",
        as_ordered="are evenly used",
        not_as_ordered="have a full cable beside an idle one",
    )

    require(carrying.told(verdict, measured), evidence)

"""What one link carries: as the site says, measured on an idle pair, or derived and marked so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from ibaccept.fabric.model import Fabric, PortId, Rate
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.cables import CrossedCable
from ibaccept.load.result import LinkCeiling, PairRate
from ibaccept.routing.forecast import Ceiling
from ibaccept.routing.paths import Disposition, Routes
from ibaccept.verdict.absence import NotSeen

LEAST_OF_DERIVED = 0.85
"""Share of the derived ceiling that an idle pair reaches, or it shows a limit of its hosts (a PCIe
slot, a governor) and not of the link."""

Ends = tuple[str, int, str, int]
"""Storage server and its LID, client and its LID."""


def ceilings_of(
    cables: Iterable[CrossedCable],
    given: Mapping[Rate, Bandwidth] | Literal["measure"],
    measure: Callable[[Rate], PairRate | NotSeen],
) -> dict[Rate, LinkCeiling]:
    """A ceiling for every rate among the cables.

    Args:
        cables: of the job.
        given: by the expectations file, or ``measure``.
        measure: runs one pair alone over links of that rate and faster ones.
    """
    rates = sorted({cable.link.rate for cable in cables if cable.link.rate is not None})
    return {rate: _ceiling(rate, given, measure) for rate in rates}


def _ceiling(
    rate: Rate,
    given: Mapping[Rate, Bandwidth] | Literal["measure"],
    measure: Callable[[Rate], PairRate | NotSeen],
) -> LinkCeiling:
    if given != "measure" and rate in given:
        return LinkCeiling(
            rate, Ceiling(given[rate], "configured"), "the expectations file says so"
        )
    derived = Ceiling.derive(rate)
    share = derived.payload.gbps / rate.gbps
    reason = "no figure is given for it"
    if given == "measure":
        found = measure(rate)
        if isinstance(found, PairRate):
            pair = found.pair
            if found.rate.gbps >= LEAST_OF_DERIVED * derived.payload.gbps:
                return LinkCeiling(
                    rate,
                    Ceiling(found.rate, "measured"),
                    f"measured on the idle pair {pair.storage} to {pair.client}",
                )
            reason = (
                f"the idle pair {pair.storage} to {pair.client} reached {found.rate:.1f} only, "
                "which is a limit of its hosts, not of the link"
            )
        else:
            reason = f"no idle pair could be measured: {found.reason}"
    return LinkCeiling(
        rate, derived, f"derived: {share:.1%} of the data rate {rate.gbps:g} Gb/s; {reason}"
    )


def idle_pair(
    routes: Routes, fabric: Fabric, ends: Iterable[Ends], rate: Rate
) -> tuple[str, str] | None:
    """A storage server and a client whose route to it has links of this rate and none slower.

    Returns:
        Names; None where there is no such pair.
    """
    for server, source, client, destination in ends:
        route = routes.path(source, destination)
        if route.disposition is not Disposition.DELIVERED:
            continue
        speeds = [_rate(fabric, port) for port in route.ports]
        if rate in speeds and all(s is not None and s.gbps >= rate.gbps for s in speeds):
            return server, client
    return None


def _rate(fabric: Fabric, port: PortId) -> Rate | None:
    link = fabric.link_at.get(port)
    return None if link is None else link.rate

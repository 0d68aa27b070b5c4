"""Cables that may be compared under load: those among which routing could have chosen.

They carry pairs to the same destinations, the same number of hops away: the cables of one switch to
all of its next switches, not only to one of them, and those of several switches into one
(`ibaccept.routing.stages`). Where leaf and spine have a single cable there are no parallel ones,
and yet one may be full while the other idles.
"""

from __future__ import annotations

from collections.abc import Iterable

from ibaccept.fabric.model import PortId
from ibaccept.routing.paths import Routes
from ibaccept.routing.stages import JobStages
from ibaccept.routing.tables import PORTS


def comparable(
    routes: Routes, sources: Iterable[int], destinations: Iterable[int]
) -> tuple[tuple[PortId, ...], ...]:
    """Ports that send into comparable cables, for one direction of a job.

    Args:
        routes: topology and tables.
        sources: LIDs that send.
        destinations: LIDs that receive; all of them owned by ports the sweep saw.

    Returns:
        Groups of ports, ascending; a port is in one group.
    """
    switches = routes.cabling.switches
    return tuple(
        tuple(PortId(switches[code // PORTS], code % PORTS) for code in stage.cables)
        for stage in JobStages(routes, sources, destinations).stages
    )

"""One route: its hops, and how it ends."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ibaccept.fabric.lft import NO_ENTRY
from ibaccept.fabric.model import PortId
from ibaccept.routing.tables import DEAD_END, DELIVERED, NO_ROUTE, UNKNOWN, WRONG_PORT, Tables
from ibaccept.routing.trees import LOOP
from ibaccept.verdict.evidence import RouteExample


class Disposition(enum.StrEnum):
    """How a route ends."""

    DELIVERED = "delivered"
    NO_ENTRY = "no-entry"
    LOOP = "loop"
    DEAD_END = "dead-end"
    WRONG_PORT = "wrong-port"
    UNKNOWN = "unknown"


ENDS_BY_CODE = {
    DELIVERED: Disposition.DELIVERED,
    NO_ROUTE: Disposition.NO_ENTRY,
    DEAD_END: Disposition.DEAD_END,
    WRONG_PORT: Disposition.WRONG_PORT,
    UNKNOWN: Disposition.UNKNOWN,
    LOOP: Disposition.LOOP,
}
"""Disposition by code of an end (`ibaccept.routing.tables`, `ibaccept.routing.trees`)."""

CODES = {disposition: end for end, disposition in ENDS_BY_CODE.items()}
"""Code of an end by disposition."""


@dataclass(frozen=True, slots=True)
class Route:
    """One route.

    Attributes:
        hops: by name: ``stor-1/1``, ``SwitchB/25``, ``SwitchA/1``, ``client-a``. A route that is
            not delivered ends with where it stops.
        disposition: how it ends.
        ports: the output ports taken: the source port, then one a switch crossed.
        switches: switches crossed.
    """

    slid: int
    dlid: int
    hops: tuple[str, ...]
    disposition: Disposition
    ports: tuple[PortId, ...]
    switches: int

    @property
    def example(self) -> RouteExample:
        """This route as evidence."""
        return RouteExample(self.slid, self.dlid, self.hops, self.disposition.value)


@dataclass(frozen=True, slots=True)
class Reach:
    """What became of a set of pairs.

    Attributes:
        pairs: ordered pairs looked at.
        by_end: pairs by disposition (only those that occur).
        switches: delivered pairs by number of switches crossed.
        examples: routes that were not delivered, a few of each disposition.
        longest: a delivered route over the most switches; None where none was delivered.
    """

    pairs: int
    by_end: dict[Disposition, int]
    switches: dict[int, int]
    examples: tuple[Route, ...] = ()
    longest: Route | None = None

    @property
    def delivered(self) -> int:
        """Pairs delivered."""
        return self.by_end.get(Disposition.DELIVERED, 0)

    @property
    def unknown(self) -> int:
        """Pairs whose route leads over an entry that was not read."""
        return self.by_end.get(Disposition.UNKNOWN, 0)

    @property
    def undelivered(self) -> int:
        """Pairs known not to arrive."""
        return self.pairs - self.delivered - self.unknown

    @property
    def max_switches(self) -> int | None:
        """Most switches a delivered route crosses; None where none was delivered."""
        return max(self.switches, default=None)


def reach_from(
    tally: NDArray[np.int64], examples: tuple[Route, ...], longest: Route | None
) -> Reach:
    """Counts by (end, switches crossed), shape (ends, switches + 2), as a `Reach`."""
    by_end = {
        ENDS_BY_CODE[end]: int(tally[end].sum()) for end in range(LOOP + 1) if tally[end].any()
    }
    switches = {int(n): int(tally[DELIVERED, n]) for n in np.flatnonzero(tally[DELIVERED])}
    return Reach(int(tally.sum()), by_end, switches, examples, longest)


class Walk:
    """One route, followed switch by switch."""

    def __init__(self, tables: Tables, dlid: int, end: int) -> None:
        self._tables = tables
        self._cabling = tables.cabling
        self._dlid = dlid
        self._end = end
        self.hops: list[str] = []
        self.ports: list[PortId] = []
        self.seen: list[int] = []
        self.disposition = Disposition.UNKNOWN

    def begin(self, start: int) -> None:
        """Start at a CA port."""
        origin = self._cabling.endpoints[start]
        self.hops.append(self._cabling.fabric.port_name(origin.id))
        self.ports.append(origin.id)
        if start == self._end:
            self._arrive(start)
        elif origin.switch >= 0:
            self.through(origin.switch)
        elif origin.peer >= 0:
            self._arrive(origin.peer)
        else:
            self.disposition = Disposition.DEAD_END if origin.known else Disposition.UNKNOWN

    def _arrive(self, endpoint: int) -> None:
        guid = self._cabling.endpoints[endpoint].id.guid
        self.hops.append(self._cabling.node_name(guid))
        good = endpoint == self._end
        self.disposition = Disposition.DELIVERED if good else Disposition.WRONG_PORT

    def through(self, switch: int) -> None:
        """Go on from a switch to the end of the route."""
        cabling, lfts = self._cabling, self._tables
        count = len(cabling.switches)
        while True:
            guid = cabling.switches[switch]
            again = switch in self.seen
            if not again:
                self.seen.append(switch)
            if not lfts.known[self._dlid, switch]:
                self.hops.append(cabling.node_name(guid))
                self.disposition = Disposition.UNKNOWN
                return
            port = int(lfts.out[self._dlid, switch])
            code = int(cabling.target[switch, port])
            if port == NO_ENTRY:
                self.hops.append(cabling.node_name(guid))
                self.disposition = Disposition.NO_ENTRY
                return
            self.hops.append(self._cabling.fabric.port_name(PortId(guid, port)))
            self.ports.append(PortId(guid, port))
            if again:
                self.disposition = Disposition.LOOP
                return
            if code >= cabling.base:
                if port == 0:
                    self.hops.pop()
                self._arrive(code - cabling.base)
                return
            if code >= count:
                self.disposition = ENDS_BY_CODE[code - count]
                return
            switch = code

"""Where pairs are lost: which switch ends the routes to which LID, and of how many pairs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ibaccept.fabric.model import Guid
from ibaccept.routing.census import Senders
from ibaccept.routing.paths import Routes
from ibaccept.routing.route import ENDS_BY_CODE, Disposition
from ibaccept.routing.tables import DELIVERED, UNKNOWN
from ibaccept.routing.trees import chunks

MOST_HOPS = 64
"""Hops followed to where a route ends; a loop is named by the switch reached then."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Routes to one LID that end at one switch.

    Attributes:
        switch: node GUID.
        name: that switch for people.
        lid: destination.
        end: how they end.
        pairs: that are lost so.
    """

    switch: Guid
    name: str
    lid: int
    end: Disposition
    pairs: int

    def text(self, owner: str) -> str:
        """``edge-3 has no row for LID 25 (vault1): 4 pairs``."""
        to = f"LID {self.lid} ({owner})" if owner else f"LID {self.lid}"
        what = {
            Disposition.NO_ENTRY: f"has no row for {to}",
            Disposition.LOOP: f"is in a loop of routes to {to}",
            Disposition.DEAD_END: f"sends {to} to a port without a cable",
        }.get(self.end, f"sends {to} to a port that does not own it")
        return f"{self.name} {what}: {self.pairs:,} pair{'' if self.pairs == 1 else 's'}"


def losses(
    routes: Routes, sources: Iterable[int] | None = None, lids: Iterable[int] | None = None
) -> list[Loss]:
    """Where pairs that are known not to be delivered end, those of most pairs first.

    Args:
        routes: topology and tables.
        sources: LIDs that send; None for every CA port.
        lids: LIDs that receive; None for every LID of a CA.
    """
    cabling = routes.cabling
    count = len(cabling.switches)
    ends = routes.sources
    if sources is not None:
        ends = np.unique(cabling.owner[np.array(sorted(set(sources)), dtype=np.int64)])
    senders = Senders(routes.lfts, ends.astype(np.int64), routes.attached)
    wanted = cabling.ca_lids if lids is None else np.array(sorted(set(lids)), dtype=np.int64)
    found: dict[tuple[int, int, int], int] = {}
    for part in chunks(routes.lfts, wanted):
        flow = senders.pairs(part)
        rows, at = np.nonzero((flow > 0) & (part.end != DELIVERED) & (part.end != UNKNOWN))
        end, pairs = part.end[rows, at], flow[rows, at]
        for _ in range(MOST_HOPS):
            further = part.next[rows, at]
            going = further < count
            if not going.any():
                break
            at = np.where(going, further, at)
        for row, switch, code, lost in zip(
            rows.tolist(), at.tolist(), end.tolist(), pairs.tolist(), strict=True
        ):
            key = (switch, int(part.lids[row]), code)
            found[key] = found.get(key, 0) + lost
    named = [
        Loss(
            cabling.switches[switch],
            cabling.node_name(cabling.switches[switch]),
            lid,
            ENDS_BY_CODE[code],
            lost,
        )
        for (switch, lid, code), lost in found.items()
    ]
    return sorted(named, key=lambda loss: (-loss.pairs, loss.name, loss.lid))

"""Pairs of CAs counted at once, from the trees of their destinations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ibaccept.fabric.lft import NO_ENTRY
from ibaccept.routing.tables import DEAD_END, DELIVERED, PORTS, Tables
from ibaccept.routing.trees import LOOP, Trees, chunks

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

PER_END = 3
"""Pairs remembered of each end other than delivered."""


class Senders:
    """The CA ports that send, and how many pairs start at each switch.

    Attributes:
        ends: endpoints that send and are cabled to a switch.
        outside: endpoints that send and are not.
    """

    def __init__(self, tables: Tables, ends: Ints, attached: Ints) -> None:
        """Take the endpoints ``ends``; ``attached`` is the switch of every endpoint, or -1."""
        self._owner = tables.cabling.owner
        self._attached = attached
        self.ends = ends[attached[ends] >= 0]
        self.outside = ends[attached[ends] < 0]
        count = len(tables.cabling.switches)
        self._weight = np.bincount(attached[self.ends], minlength=count).astype(np.int64)
        self._sends = np.zeros(attached.size, dtype=np.bool_)
        self._sends[self.ends] = True

    def own(self, part: Trees) -> tuple[Ints, Ints]:
        """(row, switch) where a sender would send to itself: no pair."""
        owner = self._owner[part.lids]
        rows = np.flatnonzero(self._sends[owner])
        return rows, self._attached[owner[rows]]

    def pairs(self, part: Trees) -> Ints:
        """Pairs that start at each switch, int64 of shape (lids, switches)."""
        flow = np.broadcast_to(self._weight, part.end.shape).copy()
        flow[self.own(part)] -= 1
        return flow


class RouteTally:
    """What became of pairs.

    Attributes:
        counts: pairs by (end, switches crossed), shape (ends, switches + 2).
        wrong: by end, some (destination LID, first switch) of pairs that end so.
        longest: (destination LID, first switch) of a delivered pair over the most switches.
    """

    def __init__(self, switches: int) -> None:
        self.counts = np.zeros((LOOP + 1, switches + 2), dtype=np.int64)
        self.wrong: dict[int, list[tuple[int, int]]] = {}
        self.longest: tuple[int, int] | None = None
        self._most = 0

    def add(self, part: Trees, flow: Ints) -> None:
        """Count the pairs that start at each switch."""
        width = self.counts.shape[1]
        key = part.end * np.int32(width) + part.crossed
        self.counts += _counted(key, flow, self.counts.size).reshape(self.counts.shape)
        delivered = part.end == DELIVERED
        self._note_wrong(part, (flow > 0) & ~delivered)
        steps = np.where(delivered & (flow > 0), part.crossed, 0)
        most = int(steps.max(initial=0))
        if most > self._most:
            self._most = most
            row, switch = np.unravel_index(int(steps.argmax()), steps.shape)
            self.longest = (int(part.lids[row]), int(switch))

    def _note_wrong(self, part: Trees, where: Bools) -> None:
        if not where.any():
            return
        for end in np.unique(part.end[where]).tolist():
            places = self.wrong.setdefault(end, [])
            if len(places) < PER_END:
                found = np.argwhere(where & (part.end == end))[: PER_END - len(places)]
                places += [(int(part.lids[row]), switch) for row, switch in found.tolist()]


@dataclass(frozen=True, slots=True)
class Census:
    """Counts over all pairs of CAs, from one pass over all trees.

    Attributes:
        tally: what became of the pairs; those from CA ports that are not cabled to a switch are
            not among them.
        pairs: delivered pairs that leave by a switch port, int64 of shape (switches, 256).
        lids: destination LIDs that delivered pairs take a switch port for, same shape.
        sent: delivered pairs that a CA port sends, by endpoint.
        follows: bool of shape (switches * width, width): a packet in the cable behind (switch,
            port) next wants that port of the next switch; width is ``width``.
        width: port numbers in use, plus one.
    """

    tally: RouteTally
    pairs: Ints
    lids: Ints
    sent: Ints
    follows: Bools
    width: int


def census(tables: Tables, senders: Senders) -> Census:
    """Count every pair of CAs in one pass over all trees."""
    cabling = tables.cabling
    count = len(cabling.switches)
    leads = cabling.target[:, :NO_ENTRY] != count + DEAD_END
    width = max(np.flatnonzero(leads.any(axis=0)).tolist(), default=0) + 1
    tally = RouteTally(count)
    pairs = np.zeros(count * PORTS, dtype=np.int64)
    lids = np.zeros(count * PORTS, dtype=np.int64)
    sent = np.zeros(len(cabling.endpoints), dtype=np.int64)
    follows = np.zeros(count * width * width, dtype=np.bool_)
    attached = np.array([end.switch for end in cabling.endpoints], dtype=np.int64)
    for part in chunks(tables, cabling.ca_lids):
        flow = senders.pairs(part)
        tally.add(part, flow)
        delivered = part.end == DELIVERED
        sent[senders.ends] += delivered.sum(axis=0)[attached[senders.ends]]
        rows, switch = senders.own(part)
        np.subtract.at(sent, cabling.owner[part.lids[rows]], delivered[rows, switch].astype(int))
        flow[~delivered] = 0
        accumulate(part, flow, count)
        used = flow > 0
        port = (np.arange(count, dtype=np.int32) * PORTS + part.port)[used]
        pairs += _counted(port, flow[used], pairs.size)
        lids += np.bincount(port, minlength=lids.size)
        _note_follows(part, used, follows, width)
    return Census(
        *(tally, pairs.reshape(count, PORTS), lids.reshape(count, PORTS), sent),
        follows=follows.reshape(count * width, width),
        width=width,
    )


def _counted(key: NDArray[np.int32], weights: Ints, size: int) -> Ints:
    """Sum of integer weights by key. float64 sums are exact here (far below 2^53)."""
    sums = np.bincount(key.reshape(-1), weights=weights.reshape(-1), minlength=size)
    return np.rint(sums).astype(np.int64)


def accumulate(part: Trees, flow: Ints, count: int) -> None:
    """Turn pairs that start at a switch into pairs that leave it: add those of its subtree."""
    flat = flow.reshape(-1)
    parent = (part.next + np.arange(flow.shape[0], dtype=np.int64)[:, None] * count).reshape(-1)
    depth = np.where(part.end == DELIVERED, part.crossed, 0).reshape(-1)
    deepest = int(depth.max(initial=0))
    order = np.argsort(depth.astype(np.uint16), kind="stable")
    starts = np.searchsorted(depth[order], np.arange(deepest + 2))
    for level in range(deepest, 1, -1):
        at = order[starts[level] : starts[level + 1]]
        at = at[flat[at] > 0]
        np.add.at(flat, parent[at], flat[at])


def _note_follows(part: Trees, used: Bools, follows: Bools, width: int) -> None:
    """Note which output port follows which on the routes that are used."""
    row, switch = np.nonzero(used & (part.crossed > 1))
    further = part.next[row, switch]
    channel = switch * width + part.port[row, switch]
    follows[channel * width + part.port[row, further]] = True

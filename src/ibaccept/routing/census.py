"""All pairs of CAs counted at once, from the trees of every destination."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ibaccept.parse.lft import NO_ENTRY
from ibaccept.routing.tables import DEAD_END, DELIVERED, PORTS, Tables
from ibaccept.routing.trees import LOOP, Trees, chunks

PER_END = 3
"""Pairs remembered of each end other than delivered."""


@dataclass(frozen=True, slots=True)
class Census:
    """Counts over all pairs of CAs, from one pass over all trees.

    Attributes:
        tally: pairs by (end, switches crossed), shape (ends, switches + 2); pairs from CA ports
            that are not cabled to a switch are not among them.
        wrong: by end, some (destination LID, first switch) of pairs that end so.
        longest: (destination LID, first switch) of a delivered pair over the most switches.
        pairs: delivered pairs that leave by a switch port, int64 of shape (switches, 256).
        lids: destination LIDs that delivered pairs take a switch port for, same shape.
        sent: delivered pairs that a CA port sends, by endpoint.
        follows: bool of shape (switches * width, width): a packet in the cable behind (switch,
            port) next wants that port of the next switch; width is ``width``.
        width: port numbers in use, plus one.
    """

    tally: NDArray[np.int64]
    wrong: dict[int, list[tuple[int, int]]]
    longest: tuple[int, int] | None
    pairs: NDArray[np.int64]
    lids: NDArray[np.int64]
    sent: NDArray[np.int64]
    follows: NDArray[np.bool_]
    width: int


def census(tables: Tables, sources: NDArray[np.int64], attached: NDArray[np.int64]) -> Census:
    """Count every pair of CAs in one pass over all trees.

    Args:
        tables: the forwarding tables.
        sources: endpoints that send.
        attached: switch of every endpoint, -1 for none.
    """
    cabling = tables.cabling
    count = len(cabling.switches)
    senders = sources[attached[sources] >= 0]
    weight = np.bincount(attached[senders], minlength=count).astype(np.int64)
    leads = cabling.target[:, :NO_ENTRY] != count + DEAD_END
    width = max(np.flatnonzero(leads.any(axis=0)).tolist(), default=0) + 1
    wrong: dict[int, list[tuple[int, int]]] = {}
    longest: tuple[int, int] | None = None
    most = 0
    tally = np.zeros((LOOP + 1, count + 2), dtype=np.int64)
    pairs = np.zeros(count * PORTS, dtype=np.int64)
    lids = np.zeros(count * PORTS, dtype=np.int64)
    sent = np.zeros(len(cabling.endpoints), dtype=np.int64)
    follows = np.zeros(count * width * width, dtype=np.bool_)
    for part in chunks(tables, cabling.ca_lids):
        own = attached[cabling.owner[part.lids]]
        flow = np.broadcast_to(weight, part.end.shape).copy()
        rows = np.flatnonzero(own >= 0)
        flow[rows, own[rows]] -= 1  # a port does not send to itself
        key = part.end * np.int32(count + 2) + part.crossed
        tally += _counted(key, flow, tally.size).reshape(tally.shape)
        delivered = part.end == DELIVERED
        _note_wrong(part, (flow > 0) & ~delivered, wrong)
        steps = np.where(delivered & (flow > 0), part.crossed, 0)
        if int(steps.max(initial=0)) > most:
            most = int(steps.max())
            row, switch = np.unravel_index(int(steps.argmax()), steps.shape)
            longest = (int(part.lids[row]), int(switch))
        _count_sent(sent, delivered, cabling.owner[part.lids], senders, attached)
        flow[~delivered] = 0
        _accumulate(part, flow, count)
        port = (np.arange(count, dtype=np.int32) * PORTS + part.port)[flow > 0]
        pairs += _counted(port, flow[flow > 0], pairs.size)
        lids += np.bincount(port, minlength=lids.size)
        _note_follows(part, flow > 0, follows, width)
    return Census(
        *(tally, wrong, longest, pairs.reshape(count, PORTS), lids.reshape(count, PORTS), sent),
        follows=follows.reshape(count * width, width),
        width=width,
    )


def _count_sent(
    sent: NDArray[np.int64],
    delivered: NDArray[np.bool_],
    owner: NDArray[np.int32],
    senders: NDArray[np.int64],
    attached: NDArray[np.int64],
) -> None:
    """Delivered pairs by sending port; the port's own LIDs are left out."""
    by_switch = delivered.sum(axis=0)
    sent[senders] += by_switch[attached[senders]]
    rows = np.flatnonzero(attached[owner] >= 0)
    own = delivered[rows, attached[owner[rows]]]
    np.subtract.at(sent, owner[rows], own.astype(np.int64))


def _note_wrong(
    part: Trees, where: NDArray[np.bool_], wrong: dict[int, list[tuple[int, int]]]
) -> None:
    """Remember a few pairs of each end other than delivered."""
    if not where.any():
        return
    for end in np.unique(part.end[where]).tolist():
        places = wrong.setdefault(end, [])
        if len(places) < PER_END:
            found = np.argwhere(where & (part.end == end))[: PER_END - len(places)]
            places += [(int(part.lids[row]), switch) for row, switch in found.tolist()]


def _counted(key: NDArray[np.int32], weights: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Sum of integer weights by key. float64 sums are exact here (far below 2^53)."""
    sums = np.bincount(key.reshape(-1), weights=weights.reshape(-1), minlength=size)
    return np.rint(sums).astype(np.int64)


def _accumulate(part: Trees, flow: NDArray[np.int64], count: int) -> None:
    """Turn pairs that start at a switch into pairs that leave it: add those of its subtree."""
    flat = flow.reshape(-1)
    parent = (part.next + np.arange(flow.shape[0], dtype=np.int64)[:, None] * count).reshape(-1)
    depth = np.where(part.end == DELIVERED, part.crossed, 0).reshape(-1)
    order = np.argsort(depth.astype(np.uint16), kind="stable")
    starts = np.searchsorted(depth[order], np.arange(int(depth.max(initial=0)) + 2))
    for level in range(int(depth.max(initial=0)), 1, -1):
        at = order[starts[level] : starts[level + 1]]
        at = at[flat[at] > 0]
        np.add.at(flat, parent[at], flat[at])


def _note_follows(
    part: Trees, used: NDArray[np.bool_], follows: NDArray[np.bool_], width: int
) -> None:
    """Note which output port follows which on the routes that are used."""
    row, switch = np.nonzero(used & (part.crossed > 1))
    further = part.next[row, switch]
    channel = switch * width + part.port[row, switch]
    follows[channel * width + part.port[row, further]] = True

"""The tree of every destination: where each switch sends a LID, and where that ends.

For a destination LID every switch has one next switch, so the routes to it form a tree (with loops
where the tables are wrong). Trees of many destinations are followed at once by pointer doubling:
after n rounds each switch knows where 2^n hops lead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ibaccept.routing.tables import DELIVERED, ENDS, PORTS, UNKNOWN, WRONG_PORT, Tables

LOOP = ENDS
"""End of a route that never ends; beside the ends of `ibaccept.routing.tables`."""

CHUNK_ENTRIES = 1 << 19
"""Entries (LIDs x switches) worked on at once: a few arrays of this size fit in the caches."""

Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Trees:
    """Routes to some destination LIDs from every switch.

    Attributes:
        lids: destination LIDs, shape (lids,).
        port: output port, uint8 of shape (lids, switches).
        next: next switch, or ``switches + end``, int32 of the same shape.
        end: how the route from that switch ends (`DELIVERED` to `LOOP`), int32, same shape.
        crossed: switches crossed from there on, that switch included; 0 for a loop.
    """

    lids: NDArray[np.int64]
    port: NDArray[np.uint8]
    next: Ints
    end: Ints
    crossed: Ints


def trees(tables: Tables, lids: NDArray[np.int64]) -> Trees:
    """The trees of these destination LIDs.

    Args:
        tables: the forwarding tables.
        lids: destination LIDs, each owned by some endpoint.
    """
    cabling = tables.cabling
    count = len(cabling.switches)
    port = tables.out[lids]
    offsets = np.arange(count, dtype=np.int32) * PORTS
    code = cabling.target.reshape(-1)[port + offsets]
    arrived = code - cabling.base == cabling.owner[lids][:, None]
    ended = np.where(arrived, count + DELIVERED, count + WRONG_PORT)
    following = np.where(code >= cabling.base, ended, code).astype(np.int32)
    following[~tables.known[lids]] = count + UNKNOWN
    end, crossed = _follow(following, count)
    return Trees(lids, port, following, end, crossed)


def _follow(following: Ints, count: int) -> tuple[Ints, Ints]:
    """End and number of switches crossed from every switch, by pointer doubling."""
    rows = following.shape[0]
    width = count + ENDS
    state = np.empty((rows, width), dtype=np.int32)
    state[:, :count] = following
    state[:, count:] = np.arange(count, width, dtype=np.int32)
    crossed = np.zeros((rows, width), dtype=np.int32)
    crossed[:, :count] = 1
    base = (np.arange(rows, dtype=np.int64) * width)[:, None]
    flat_state, flat_crossed = state.reshape(-1), crossed.reshape(-1)
    rounds = 0
    open_ = np.flatnonzero((state < count).reshape(-1))
    row_base = np.broadcast_to(base, state.shape).reshape(-1)[open_]
    while open_.size and (1 << rounds) <= count:
        rounds += 1
        via = flat_state[open_] + row_base
        # Both gathers see the state before this round.
        further, steps = flat_state[via], flat_crossed[via]
        flat_state[open_] = further
        flat_crossed[open_] += steps
        still = further < count
        open_, row_base = open_[still], row_base[still]
    flat_state[open_] = count + LOOP
    flat_crossed[open_] = 0
    return state[:, :count] - count, crossed[:, :count]


def chunks(tables: Tables, lids: NDArray[np.int64]) -> Iterator[Trees]:
    """The trees of many destinations, a cache-sized number at a time."""
    step = max(1, CHUNK_ENTRIES // max(1, len(tables.cabling.switches)))
    for start in range(0, int(lids.size), step):
        yield trees(tables, lids[start : start + step])

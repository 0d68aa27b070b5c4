"""Max-min fair rates of flows that share resources, by progressive filling.

All rates rise together; a flow stops where a resource it uses is full, or at its own cap. The
result is the one allocation in which every flow has a *bottleneck*: its own cap, or a full resource
on which no other flow is faster (Bertsekas and Gallager, *Data Networks*, section 6.5.2).

Pure functions on arrays; what a resource is (a cable, a host, a storage system) is the caller's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, sparse

from ibaccept.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CAPPED = -1
"""In ``Rates.bottleneck``: the flow's own cap, no resource."""

MOST_KINDS = 20_000
"""Kinds of flows, by the resources they share, for which the greatest sum is computed."""

_NEAR = 1e-12
"""Shares that differ by rounding only count as equal: fewer rounds, same rates."""


@dataclass(frozen=True, slots=True)
class Uses:
    """Which flow uses which resource: parallel arrays, one entry a use, in any order.

    Attributes:
        flow: flow numbers, shape (uses,).
        resource: resource numbers, shape (uses,).
        weight: how much of the resource one unit of the flow's rate takes, shape (uses,); None = 1.
            A flow striped over eight servers takes 1/8 at each.
    """

    flow: Ints
    resource: Ints
    weight: Floats | None = None


@dataclass(frozen=True, slots=True)
class Rates:
    """A max-min fair allocation.

    Attributes:
        rate: of every flow, in the unit of the capacities, shape (flows,).
        bottleneck: what holds each flow back: a resource number, or ``CAPPED``, shape (flows,). Of
            several that do, its cap, else the one that comes first in the uses.
        load: what is used of every resource, shape (resources,).
    """

    rate: Floats
    bottleneck: Ints
    load: Floats


def max_min(uses: Uses, capacities: ArrayLike, caps: ArrayLike) -> Rates:
    """Rates of all flows at once.

    Every round fills all resources that are the tightest for each of their flows: their shares can
    only be taken by flows that are as slow. So the rounds are as many as the longest chain of
    bottlenecks, not as many as there are resources.

    Args:
        uses: which flow uses which resource. A use named twice counts twice.
        capacities: of every resource, finite, at least 0, shape (resources,).
        caps: the most each flow can do, shape (flows,); infinite = no cap of its own.

    Raises:
        InputError: a flow has neither a cap nor a resource, a number does not exist, or a
            capacity, cap or weight is not a number that can be one.
    """
    left = np.array(capacities, dtype=np.float64)
    cap = np.asarray(caps, dtype=np.float64)
    flow, resource, weight = _checked(uses, left, cap)
    rate = np.zeros(cap.size)
    bottleneck = np.full(cap.size, CAPPED, dtype=np.int64)
    active = np.ones(cap.size, dtype=np.bool_)
    whole = flow, resource, weight
    while active.any():
        wanted = _total(resource, weight, left.size)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A resource that no flow is left to share holds none back.
            share = np.where(wanted > 0, np.maximum(left, 0) / wanted, np.inf)
        limit = np.minimum(cap, _least(flow, share[resource], cap.size))
        slowest = _least(resource, limit[flow], left.size)
        full = share <= slowest * (1 + _NEAR)
        held = full[resource] & (share[resource] <= limit[flow] * (1 + _NEAR))
        stops = active & (cap <= limit)
        # Backwards, so that of equals the first use stays.
        bottleneck[flow[held][::-1]] = resource[held][::-1]
        bottleneck[stops] = CAPPED
        stops[flow[held]] = True
        rate[stops] = limit[stops]
        going = stops[flow]
        left -= _total(resource[going], (weight * rate[flow])[going], left.size)
        active &= ~stops
        flow, resource, weight = flow[~going], resource[~going], weight[~going]
    flow, resource, weight = whole
    return Rates(rate, bottleneck, _total(resource, weight * rate[flow], left.size))


def greatest_sum(uses: Uses, capacities: ArrayLike) -> float | None:
    """The most that flows carry together, by any division of the capacities, fair or not.

    The optimum of a linear program, in which flows with the same uses count as one.

    Args:
        uses: which flow uses which resource; every flow uses one at least. Weights count.
        capacities: of every resource, finite, at least 0, shape (resources,).

    Returns:
        The sum, in the unit of the capacities; None where there are more than ``MOST_KINDS`` kinds
        of flows, or the solver gives none.
    """
    left = np.array(capacities, dtype=np.float64)
    flow, resource, weight = _checked(uses, left, np.full(int(np.max(uses.flow)) + 1, np.inf))
    largest = float(left.max())
    if not largest:
        return 0.0
    order = np.lexsort((resource, flow))
    ends = np.cumsum(np.bincount(flow))[:-1]
    parts = (np.split(values[order], ends) for values in (resource, weight))
    kinds = sorted({(tuple(r.tolist()), tuple(w.tolist())) for r, w in zip(*parts, strict=True)})
    if len(kinds) > MOST_KINDS:
        return None
    column = np.repeat(np.arange(len(kinds)), [len(rows) for rows, _ in kinds])
    row = np.concatenate([np.array(rows) for rows, _ in kinds])
    value = np.concatenate([np.array(values) for _, values in kinds])
    use = sparse.csr_array((value, (row, column)), shape=(left.size, len(kinds)))
    # In shares of the largest capacity: the solver's tolerances are absolute.
    found = optimize.milp(
        -np.ones(len(kinds)), constraints=optimize.LinearConstraint(use, -np.inf, left / largest)
    )
    return -float(found.fun) * largest if found.status == 0 else None


def _least(index: Ints, values: Floats, size: int) -> Floats:
    """The least value of each index; infinite where there is none."""
    least = np.full(size, np.inf)
    np.minimum.at(least, index, values)
    return least


def _total(index: Ints, values: Floats, size: int) -> Floats:
    """The sum of the values of each index."""
    # Without entries bincount counts in integers.
    return np.bincount(index, weights=values, minlength=size).astype(np.float64)


def _checked(uses: Uses, capacities: Floats, caps: Floats) -> tuple[Ints, Ints, Floats]:
    """The uses as arrays.

    Raises:
        InputError: see ``max_min``.
    """
    flow = np.asarray(uses.flow, dtype=np.int64)
    resource = np.asarray(uses.resource, dtype=np.int64)
    weight = (
        np.ones(flow.size) if uses.weight is None else np.asarray(uses.weight, dtype=np.float64)
    )
    if not flow.shape == resource.shape == weight.shape or flow.ndim != 1:
        raise InputError("flows, resources and weights of the uses differ in number")
    for numbers, size, what in ((flow, caps.size, "flow"), (resource, capacities.size, "resource")):
        if numbers.size and (numbers.min() < 0 or numbers.max() >= size):
            raise InputError(f"a use names a {what} that does not exist; there are {size}")
    if not (np.isfinite(capacities) & (capacities >= 0)).all():
        raise InputError("a capacity is negative or no finite number")
    if not (caps >= 0).all():
        raise InputError("a cap is negative or no number")
    if not (np.isfinite(weight) & (weight > 0)).all():
        raise InputError("a weight is not above 0 or no finite number")
    free = np.isinf(caps)
    free[flow] = False
    if free.any():
        raise InputError(
            f"flow {int(np.argmax(free))} has neither a cap nor a resource; its rate has no limit"
        )
    return flow, resource, weight

"""Groups of cables, held against trying every assignment."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.routing.groups import Level, even_shares, levels

kinds = st.lists(st.integers(1, 4), min_size=1, max_size=4, unique=True).map(
    lambda ports: tuple(sorted(ports))
)
demands = st.dictionaries(kinds, st.integers(1, 2), min_size=1, max_size=3)


def assignments(demand):
    """Loads by port of every way to place the LIDs."""
    choices = [kind for kind, count in demand.items() for _ in range(count)]
    for chosen in product(*choices):
        yield {port: chosen.count(port) for port in set(chosen)}


@given(demand=demands)
def test_the_bounds_are_what_the_best_assignment_reaches(demand):
    found = levels(demand)
    bound = {port: level.bound for level in found for port in level.ports}

    assert sorted(kind for level in found for kind in level.kinds) == sorted(demand)
    assert sorted(bound) == sorted({port for kind in demand for port in kind})
    assert sum(level.lids for level in found) == sum(demand.values())
    assert max(bound.values()) == min(max(load.values()) for load in assignments(demand))
    assert any(
        all(count <= bound[port] for port, count in load.items()) for load in assignments(demand)
    )


def test_sets_that_share_nothing_are_judged_apart():
    assert levels({(1, 2): 5, (3, 4, 5): 3}) == [
        Level(((1, 2),), (1, 2), 5, (3, 3)),
        Level(((3, 4, 5),), (3, 4, 5), 3, (1, 1, 1)),
    ]


def test_nearly_equal_sets_are_judged_together():
    demand = {tuple(p for p in range(1, 9) if p != missing): 1 for missing in range(1, 9)}

    (level,) = levels(demand)

    assert (level.ports, level.lids, level.bound) == (tuple(range(1, 9)), 8, 1)


def test_a_forced_crowd_does_not_excuse_the_others():
    assert levels({(1,): 40, (1, 2, 3): 4}) == [
        Level(((1,),), (1,), 40, (40,)),
        Level(((1, 2, 3),), (2, 3), 4, (2, 2)),
    ]


@pytest.mark.parametrize(
    ("units", "weights", "shares"),
    [
        (12, (1,) * 8, (2,) * 8),
        (8, (1,) * 8, (1,) * 8),
        (9, (2, 1), (6, 3)),
        (4, (2, 1), (3, 1)),
        (1, (2, 1), (1, 0)),
        (5, (4, 4, 1), (3, 3, 0)),
        (0, (1, 1), (0, 0)),
    ],
)
def test_shares_are_by_bandwidth(units, weights, shares):
    assert even_shares(units, weights) == shares


@given(units=st.integers(0, 8), weights=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_no_other_shares_hold_all_at_a_lower_peak(units, weights):
    shares = even_shares(units, weights)
    peak = max(Fraction(share, weight) for share, weight in zip(shares, weights, strict=True))
    best = min(
        max(Fraction(load, weight) for load, weight in zip(loads, weights, strict=True))
        for loads in product(range(units + 1), repeat=len(weights))
        if sum(loads) >= units
    )

    assert sum(shares) >= units
    assert peak == best


def test_a_slower_cable_of_a_group_has_a_smaller_share():
    assert levels({(1, 2, 3): 10}, {1: 2, 2: 2, 3: 1}) == [
        Level(((1, 2, 3),), (1, 2, 3), 10, (4, 4, 2))
    ]

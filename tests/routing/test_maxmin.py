"""Max-min fairness: the property that defines it, a slow reference, and known cases."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibaccept.errors import InputError
from ibaccept.routing.maxmin import CAPPED, Rates, Uses, greatest_sum, max_min


def uses_of(paths, weights=None):
    """Uses from the list of resources of each flow."""
    flow = np.array([f for f, path in enumerate(paths) for _ in path], dtype=np.int64)
    resource = np.array([r for path in paths for r in path], dtype=np.int64)
    weight = None if weights is None else np.array([w for row in weights for w in row], dtype=float)
    return Uses(flow, resource, weight)


def reference(paths, weights, capacities, caps):
    """Progressive filling in its plain form: one event after the other."""
    rate = [0.0] * len(paths)
    active = set(range(len(paths)))
    left = list(capacities)
    level = 0.0
    while active:
        wanted = [0.0] * len(left)
        for f in active:
            for r, w in zip(paths[f], weights[f], strict=True):
                wanted[r] += w
        steps = [left[r] / wanted[r] for r in range(len(left)) if wanted[r] > 0]
        steps += [caps[f] - level for f in active]
        step = max(0.0, min(steps))
        level += step
        left = [left[r] - step * wanted[r] for r in range(len(left))]
        full = {r for r in range(len(left)) if wanted[r] > 0 and left[r] <= 1e-9 * capacities[r]}
        stop = {f for f in active if level >= caps[f] * (1 - 1e-9) or full & set(paths[f])}
        for f in stop:
            rate[f] = level
        active -= stop
    return rate


numbers = st.one_of(st.integers(1, 40).map(float), st.floats(0.5, 50))


@st.composite
def networks(draw):
    resources = draw(st.integers(1, 8))
    flows = draw(st.integers(1, 14))
    some = st.lists(st.integers(0, resources - 1), min_size=1, max_size=5, unique=True)
    paths = [draw(some) for _ in range(flows)]
    weights = [[draw(st.sampled_from([1.0, 0.25, 2.0])) for _ in path] for path in paths]
    capacities = [draw(numbers) for _ in range(resources)]
    caps = [draw(st.one_of(st.just(float("inf")), numbers)) for _ in range(flows)]
    return paths, weights, capacities, caps


@settings(max_examples=300, deadline=None)
@given(networks())
def test_every_flow_has_a_bottleneck_on_which_none_is_faster(network):
    paths, weights, capacities, caps = network

    got = max_min(uses_of(paths, weights), capacities, caps)

    load = np.zeros(len(capacities))
    for f, path in enumerate(paths):
        for r, w in zip(path, weights[f], strict=True):
            load[r] += w * got.rate[f]
    assert got.load == pytest.approx(load)
    assert (load <= np.array(capacities) * (1 + 1e-9)).all()
    assert (got.rate <= np.array(caps) * (1 + 1e-9)).all()
    for f, path in enumerate(paths):
        r = int(got.bottleneck[f])
        if r == CAPPED:
            assert got.rate[f] == caps[f]
            continue
        fastest = max(got.rate[other] for other, via in enumerate(paths) if r in via)
        assert r in path
        assert load[r] == pytest.approx(capacities[r])
        assert got.rate[f] == pytest.approx(fastest)


@settings(max_examples=300, deadline=None)
@given(networks())
def test_rates_equal_those_of_plain_progressive_filling(network):
    paths, weights, capacities, caps = network

    got = max_min(uses_of(paths, weights), capacities, caps)

    assert got.rate == pytest.approx(reference(paths, weights, capacities, caps), rel=1e-6)


def test_the_textbook_chain():
    """A long flow over three links of capacity 1, 2, 1; one short flow on each."""
    got = max_min(uses_of([[0, 1, 2], [0], [1], [2]]), [1, 2, 1], [np.inf] * 4)

    assert got.rate.tolist() == [0.5, 0.5, 1.5, 0.5]
    assert got.bottleneck.tolist()[1:] == [0, 1, 2]
    assert got.load.tolist() == [1, 2, 1]


def test_a_flow_may_have_a_cap_only():
    got = max_min(uses_of([[], [0]]), [5.0], [3.0, np.inf])

    assert (got.rate.tolist(), got.bottleneck.tolist()) == ([3.0, 5.0], [CAPPED, 0])


def test_a_full_or_broken_resource_gives_nothing_and_no_flow_means_no_rate():
    dead = max_min(uses_of([[0], [0, 1]]), [0.0, 4.0], [9.0, 9.0])
    none = max_min(uses_of([]), [1.0], [])

    assert (dead.rate.tolist(), dead.load.tolist()) == ([0, 0], [0, 0])
    assert isinstance(none, Rates)
    assert (none.rate.tolist(), none.load.tolist()) == ([], [0])


@pytest.mark.parametrize(
    ("paths", "weights", "capacities", "caps", "sentence"),
    [
        ([[]], None, [1], [np.inf], "flow 0 has neither a cap nor a resource; its rate has no"),
        ([[1]], None, [1], [1], "a use names a resource that does not exist; there are 1"),
        ([[0]], None, [-1], [1], "a capacity is negative or no finite number"),
        ([[0]], None, [np.nan], [1], "a capacity is negative or no finite number"),
        ([[0]], None, [1], [np.nan], "a cap is negative or no number"),
        ([[0]], [[0.0]], [1], [1], "a weight is not above 0 or no finite number"),
        ([[0]], [[1.0, 1.0]], [1], [1], "flows, resources and weights of the uses differ in"),
        ([[0], [0]], None, [1], [1], "a use names a flow that does not exist; there are 1"),
    ],
)
def test_what_cannot_be_rated_is_refused(paths, weights, capacities, caps, sentence):
    with pytest.raises(InputError, match=f"^{sentence}"):
        max_min(uses_of(paths, weights), capacities, caps)


def test_forty_thousand_flows_over_nine_thousand_cables_in_two_seconds():
    rng = np.random.default_rng(1)
    resource = rng.integers(0, 9000, size=(40_000, 6))
    flow = np.repeat(np.arange(40_000), 6)
    capacities = rng.uniform(10, 50, 9000)
    caps = rng.uniform(0.1, 10, 40_000)

    began = time.process_time()
    got = max_min(Uses(flow, resource.reshape(-1)), capacities, caps)
    spent = time.process_time() - began

    assert (got.rate > 0).all()
    assert (got.load <= capacities * (1 + 1e-9)).all()
    assert spent < 2
    print(f"{spent:.3f} s")


def test_the_greatest_sum_is_no_fair_one():
    """A flow over both cables takes from each of the two that cross one."""
    uses = Uses(np.array([0, 0, 1, 2]), np.array([0, 1, 0, 1]))

    assert max_min(uses, [1.0, 1.0], [np.inf] * 3).rate.sum() == pytest.approx(1.5)
    assert greatest_sum(uses, [1.0, 1.0]) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("capacities", "expected"), [([3e9, 2e9], 2e9), ([0.0, 0.0], 0.0), ([2e9, 3e12], 2e9)]
)
def test_the_greatest_sum_of_flows_in_a_row(capacities, expected):
    uses = Uses(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))

    assert greatest_sum(uses, capacities) == pytest.approx(expected)


def test_too_many_kinds_of_flows_have_no_sum(monkeypatch):
    monkeypatch.setattr("ibaccept.routing.maxmin.MOST_KINDS", 1)

    assert greatest_sum(Uses(np.array([0, 1]), np.array([0, 1])), [1.0, 1.0]) is None


@given(data=st.data())
def test_the_greatest_sum_is_no_less_than_any_feasible_one(data):
    resources = data.draw(st.integers(1, 4))
    used = data.draw(
        st.lists(
            st.lists(st.integers(0, resources - 1), min_size=1, max_size=3, unique=True),
            min_size=1,
            max_size=5,
        )
    )
    capacities = data.draw(st.lists(st.integers(1, 9), min_size=resources, max_size=resources))
    flow = [n for n, some in enumerate(used) for _ in some]
    uses = Uses(np.array(flow), np.array([one for some in used for one in some]))

    fair = max_min(uses, capacities, [np.inf] * len(used)).rate.sum()
    found = greatest_sum(uses, capacities)

    assert fair - 1e-6 <= found <= sum(min(capacities[r] for r in some) for some in used) + 1e-6
    assert found <= sum(capacities) + 1e-6

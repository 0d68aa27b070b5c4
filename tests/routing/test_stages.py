"""Stages: which cables the pairs of a job choose among, and the even share of each."""

import pytest

from ibaccept.routing.paths import Routes
from ibaccept.routing.stages import JobStages, Stage

CORES = 4
TO_POD1_OF_CORE0 = 12


def fat_tree(pods, fabric_of, *, missing=(), hosts_per_leaf=2):
    """Pods of two leaves and two aggregation switches; cores 0, 1 join the first of these."""
    names = [
        f"pod{pod}-{kind}" for pod in range(pods) for kind in ("leaf0", "leaf1", "aggA", "aggB")
    ]
    names += [f"core{n}" for n in range(CORES)]
    number = {name: index for index, name in enumerate(names)}
    cables = []
    for pod in range(pods):
        for leaf in range(2):
            for agg, letter in enumerate("AB"):
                cables.append(
                    (
                        (number[f"pod{pod}-leaf{leaf}"], 1 + agg),
                        (number[f"pod{pod}-agg{letter}"], 1 + leaf),
                    )
                )
        for core in range(CORES):
            letter = "AB"[core // 2]
            cables.append(
                ((number[f"pod{pod}-agg{letter}"], 3 + core % 2), (number[f"core{core}"], 1 + pod))
            )
    cables = [cable for n, cable in enumerate(cables) if n not in missing]
    hosts = [
        (f"pod{pod}-host{leaf}{n}", number[f"pod{pod}-leaf{leaf}"], 5 + n)
        for pod in range(pods)
        for leaf in range(2)
        for n in range(hosts_per_leaf)
    ]
    return fabric_of(names, cables, hosts), number


def in_words(found, routes):
    """Stages in words: cables, pairs, LIDs, unit and shares."""
    names = routes.cabling
    return [
        (
            [
                f"{names.node_name(names.switches[code // 256])}/{code % 256}"
                for code in stage.cables
            ],
            stage.pairs,
            stage.lids,
            stage.unit,
            stage.shares,
        )
        for stage in found.stages
    ]


def test_every_stage_of_three_levels_is_there(fabric_of):
    fabric, _ = fat_tree(2, fabric_of)
    routes = Routes(fabric, [])

    found = JobStages(routes, [1, 2, 3, 4], [5, 6, 7, 8])

    assert in_words(found, routes) == [
        (["pod0-leaf0/1", "pod0-leaf0/2"], 8, 4, 2, (4, 4)),
        (["pod0-leaf1/1", "pod0-leaf1/2"], 8, 4, 2, (4, 4)),
        (["pod0-aggA/3", "pod0-aggA/4", "pod0-aggB/3", "pod0-aggB/4"], 16, 4, 4, (4,) * 4),
        (["pod1-aggA/1", "pod1-aggB/1"], 8, 2, 4, (4, 4)),
        (["pod1-aggA/2", "pod1-aggB/2"], 8, 2, 4, (4, 4)),
        (["core0/2", "core1/2", "core2/2", "core3/2"], 16, 4, 4, (4,) * 4),
    ]


def test_a_missing_cable_leaves_the_others_a_larger_share(fabric_of):
    fabric, _ = fat_tree(2, fabric_of, missing=[TO_POD1_OF_CORE0])
    routes = Routes(fabric, [])

    found = JobStages(routes, [1], [5, 6, 7, 8])

    assert in_words(found, routes) == [
        (["pod0-leaf0/1", "pod0-leaf0/2"], 4, 4, 1, (2, 2)),
        (["pod0-aggA/4", "pod0-aggB/3", "pod0-aggB/4"], 4, 4, 1, (2, 2, 2)),
        (["pod1-aggA/1", "pod1-aggB/1"], 2, 2, 1, (1, 1)),
        (["pod1-aggA/2", "pod1-aggB/2"], 2, 2, 1, (1, 1)),
        (["core1/2", "core2/2", "core3/2"], 4, 4, 1, (2, 2, 2)),
    ]


def test_senders_beside_the_destination_cross_nothing_and_near_ones_no_core(fabric_of):
    fabric, _ = fat_tree(1, fabric_of)
    routes = Routes(fabric, [])

    assert JobStages(routes, [1], [2]).stages == ()
    assert in_words(JobStages(routes, [1], [3, 4]), routes) == [
        (["pod0-leaf0/1", "pod0-leaf0/2"], 2, 2, 1, (1, 1)),
        (["pod0-aggA/2", "pod0-aggB/2"], 2, 2, 1, (1, 1)),
    ]


def test_a_host_that_also_receives_is_in_no_pair_with_itself(fabric_of):
    fabric, _ = fat_tree(1, fabric_of)
    routes = Routes(fabric, [])

    both = JobStages(routes, [1, 2, 3], [1, 2, 3])

    assert sum(stage.pairs for stage in both.stages) == 2 * 4
    assert both.weight(3).tolist() == [2, 0, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(("cables", "switches"), [((1, 2), (0,)), ((1, 258, 259), (0, 1))])
def test_the_switches_of_a_stage_are_those_that_send(cables, switches):
    assert Stage(cables, (1,) * len(cables), (1,) * len(cables), 1, 1, 1).switches == switches

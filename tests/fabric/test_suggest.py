"""What was meant: near names are named, far ones are not, and numbers are never corrected."""

import time

import pytest

from ibaccept.fabric.suggest import Names, closest, did_you_mean


@pytest.mark.parametrize(
    ("word", "known", "end"),
    [
        ("widht", ["width", "speed"], "; did you mean 'width'?"),
        ("clients", ["Clients"], "; did you mean 'Clients'?"),
        ("zzz", ["width", "speed"], "; known are speed, width"),
        ("zzz", [f"name{n}" for n in range(13)], "; none of the 13 known names is close"),
        ("zzz", [], ""),
    ],
)
def test_did_you_mean(word, known, end):
    assert did_you_mean(word, known) == end


@pytest.mark.parametrize(
    ("name", "others", "near"),
    [
        ("node012", ["node013", "node112"], []),
        ("SwitchA", ["SwitchB"], []),
        ("client-a", ["client-z"], []),
        ("SwichA", ["SwitchA", "SwitchB"], ["SwitchA"]),
        ("node-012", ["node012", "node013"], ["node012"]),
        ("node012", ["node012 HCA-1", "node012 HCA-2"], ["node012 HCA-1", "node012 HCA-2"]),
        ("node012", ["node012.cluster"], ["node012.cluster"]),
    ],
)
def test_a_misspelt_name_is_told_from_an_absent_node(name, others, near):
    assert Names(others).near(name) == near


MANY = [f"node{n:04d}" for n in range(5000)]


@pytest.mark.parametrize(
    ("word", "known", "near"),
    [
        ("nod1234", MANY, "node1234"),
        ("Node-1234", MANY, "node1234"),
        ("clinets", [*MANY, "clients"], "clients"),
        ("zzz", MANY, None),
        ("widht", ["width", "speed"], "width"),
        ("", MANY, None),
    ],
)
def test_the_closest_of_many(word, known, near):
    assert closest(word, known) == near


def test_hundreds_of_misspelt_names_among_thousands_take_seconds():
    """Compared one by one they took most of a minute."""
    start = time.process_time()
    found = [closest(f"nod{n:04d}", MANY) for n in range(0, 5000, 10)]
    indexed = Names(
        f"host {'abcdefghij'[n % 10]}{'klmnopqrst'[n // 10 % 10]}x" for n in range(5000)
    )
    for _ in range(500):
        indexed.near("host akxy")

    assert found == MANY[::10]
    assert time.process_time() - start < 15

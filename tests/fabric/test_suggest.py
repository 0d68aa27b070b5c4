"""What was meant: near names are named, far ones are not, and numbers are never corrected."""

import pytest

from ibaccept.fabric.suggest import Names, did_you_mean


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

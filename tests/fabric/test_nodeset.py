"""Node sets in the forms people write, and folded again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.fabric.nodeset import expand, fold


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node001", ("node001",)),
        ("node[001-003]", ("node001", "node002", "node003")),
        ("node[001:003]", ("node001", "node002", "node003")),
        ("node[1:5:2]", ("node1", "node3", "node5")),
        ("node[003,001]", ("node001", "node003")),
        ("node3,node1", ("node3", "node1")),
        ("node1 node2\nnode1", ("node1", "node2")),
        ("client-[a-c]", ("client-a", "client-b", "client-c")),
        ("client-[a,c]", ("client-a", "client-c")),
        ("r[1-2]n[a:b]", ("r1na", "r2na", "r1nb", "r2nb")),
        ("node[001-003,^node002]", ("node001", "node003")),
        ("node[001-003,!002]", ("node001", "node003")),
        ("node[001-003],^node002", ("node001", "node003")),
        ("node[001-003]!node002", ("node001", "node003")),
        ("client-[a-c,^b]", ("client-a", "client-c")),
    ],
)
def test_expand(text, names):
    assert expand(text) == names


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "'' names no node"),
        ("node1,^node1", "'node1,^node1' names no node"),
        ("node[1-3", "'node[1-3' is not a node set: '[' without ']'"),
        ("node1-3]", "'node1-3]' is not a node set: ']' without '['"),
        ("node[c-a]", "'node[c-a]' is not a node set: 'c-a' runs backwards"),
        ("node[1-3,^node9]", "'node[1-3,^node9]' excludes node9, which the set does not contain"),
        ("@clients", "'@clients': write the group's name without '@'"),
        (
            "x[a-z][a-z][a-z][a-z][0-99]",
            "'x[a-z][a-z][a-z][a-z][0-99]' names 45,697,600 nodes; no fabric has that many",
        ),
        (
            "n[000001:999999]",
            "'n[000001:999999]' names 999,999 nodes; no fabric has that many",
        ),
        (
            "n[1-150000],m[1-150000]",
            "'n[1-150000],m[1-150000]' names 300,000 nodes; no fabric has that many",
        ),
        (
            "n[1-999999]," + "x" * 100,
            "'n[1-999999]," + "x" * 64 + " ...' names 999,999 nodes; no fabric has that many",
        ),
        ("n[1-999999]", "'n[1-999999]' names 999,999 nodes; no fabric has that many"),
        (
            "n[1-100]m[1-99999999999]",
            "'n[1-100]m[1-99999999999]' names 9,999,999,999,900 nodes; no fabric has that many",
        ),
        (
            "n[1-" + "9" * 30 + "]",
            "'n[1-" + "9" * 30 + "]' is not a node set: a number is too long",
        ),
    ],
)
def test_refused(text, sentence):
    with pytest.raises(ValueError) as caught:
        expand(text)

    assert str(caught.value) == sentence


def test_fold():
    assert [
        fold(["node003", "node001", "node002"]),
        fold(["client-a", "client-c", "SwitchB"]),
        fold(["node 5/2", "node1"]),
        fold(["leaf1/2", "leaf1/3", "leaf1/4"]),
        fold([]),
    ] == ["node[001-003]", "SwitchB,client-[a,c]", "node1,node 5/2", "leaf1/[2-4]", ""]


@given(st.sets(st.integers(0, 999), min_size=1))
def test_what_is_folded_expands_again(numbers):
    names = {f"node{n:03}" for n in numbers}

    assert set(expand(fold(names))) == names

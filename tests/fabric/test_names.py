"""What of a name is the host, and which two names mean one node."""

import pytest

from ibaccept.fabric.names import host_part, is_same_host


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("node001", "node001"),
        (" Node001.cluster.example  HCA-1 ", "node001"),
        ("node001 mlx5_0", "node001"),
        ("", ""),
        ("  ", ""),
    ],
)
def test_the_host_is_the_first_word_without_domain_and_case(name, host):
    assert host_part(name) == host


@pytest.mark.parametrize(
    ("name", "described", "is_adapter", "same"),
    [
        ("node001", "node001 HCA-1", True, True),
        ("node001 HCA-1", "NODE001.example hca-1", True, True),
        ("node001 HCA-2", "node001 HCA-1", True, False),
        ("node001", "node002", True, False),
        ("Quantum", "Quantum Mellanox Technologies", False, False),
        ("leaf01", "LEAF01.example", False, True),
    ],
)
def test_two_names_mean_one_node_as_far_as_both_say(name, described, is_adapter, same):
    assert is_same_host(name, described, is_adapter=is_adapter) is same

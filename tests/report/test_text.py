"""The order of verdicts."""

from dataclasses import replace

from ibaccept.report.text import natural, ordered


def test_numbers_are_ordered_by_value():
    names = ["a10", "a9", "a010", "b1", "", "10", "9", "a" + "9" * 5000, "a9b", "a9.5"]

    assert sorted(names, key=natural) == [
        "",
        "9",
        "10",
        "a9",
        "a9.5",
        "a9b",
        "a10",
        "a010",
        "a" + "9" * 5000,
        "b1",
    ]


def test_verdicts_follow_the_expectations_file(passed):
    lines = [replace(passed, source=f"expectations.yaml:{n}") for n in (10, 9, 100)]

    assert [verdict.source for verdict in ordered(lines)] == [
        "expectations.yaml:9",
        "expectations.yaml:10",
        "expectations.yaml:100",
    ]

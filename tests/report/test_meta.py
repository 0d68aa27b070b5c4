"""What is known of a run as a whole."""

from dataclasses import replace

import pytest

from ibaccept.report.meta import RunMeta, epoch


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-01T00:01:00", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_epoch(text, seconds):
    assert epoch(text) == seconds


@pytest.mark.parametrize(
    ("ended", "seconds"),
    [("2026-11-30T10:18:41Z", 158.0), ("", None), ("2026-11-30T10:00:00Z", None)],
)
def test_duration(meta, ended, seconds):
    assert replace(meta, ended=ended).seconds == seconds


def test_facts(meta):
    assert replace(meta, observer="", job="x\x1by", replayed="").facts() == (
        ("fabric", "hall-3"),
        ("started", "2026-11-30T10:16:03Z"),
        ("ended", "2026-11-30T10:18:41Z"),
        ("job", "x\\x1by"),
        ("expectations", "expectations.yaml"),
        ("ibaccept", "0.1.0"),
        ("ibnetdiscover", "44.0"),
        ("perfquery", "44.0"),
    )


def test_a_run_of_which_nothing_is_known():
    assert RunMeta("", "", "", expectations="").facts() == ()

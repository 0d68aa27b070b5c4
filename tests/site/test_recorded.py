"""Results recorded by the site: what they must say to be used."""

import json

import pytest

from ibaccept.errors import InputError
from ibaccept.site import recorded

MIB = 1 << 20

RECORD = {
    "tool": "h5perf 1.14",
    "nodes": "node[001-002]",
    "direction": "read",
    "bytes": "128GiB",
    "seconds": 15.5,
    "start": "2026-11-30T10:16:03Z",
    "end": "2026-11-30T11:16:19+01:00",
    "per_client": {"node001": "64GiB", "node002": 64 << 30},
}


def test_recorded():
    """YAML or JSON, sizes with units or in bytes."""
    run = recorded.parse(json.dumps(RECORD), name="site.json")

    assert run == recorded.RecordedRun(
        "h5perf 1.14", ("node001", "node002"), "read", 128 << 30, 15.5, 1796033763.0, 1796033779.0,
        {"node001": 64 << 30, "node002": 64 << 30},
    )  # fmt: skip
    assert run.bytes_per_second == (128 << 30) / 15.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"nodes": None},
            "site.json:1: nodes is missing: without the nodes it is not known which cables the "
            "data crossed",
        ),
        (
            {"nodes": []},
            "site.json:1: nodes is empty: without the nodes it is not known which cables the "
            "data crossed",
        ),
        ({"nodes": ["a", "a"], "per_client": None}, "site.json:1: a is named twice"),
        (
            {"end": None},
            "site.json:1: end is missing: without the times no counters can be held against it",
        ),
        (
            {"start": "2026-11-30T10:16:03"},
            "site.json:1: start: '2026-11-30T10:16:03' has no zone; write Z or +01:00 behind it",
        ),
        (
            {"seconds": 60},
            "site.json:1: 60 s do not fit between start and end, 16 s apart",
        ),
        (
            {"seconds": 0.1},
            "site.json:1: 0.1 s are too few: start and end are 16 s apart; give the seconds in "
            "which all the bytes were moved, and the times when that began and ended",
        ),
        (
            {"end": "2026-11-30T12:16:19Z"},
            "site.json:1: 15.5 s are too few: start and end are 7216 s apart; give the seconds in "
            "which all the bytes were moved, and the times when that began and ended",
        ),
        (
            {"start": 1, "end": 2, "seconds": 0.001},
            "site.json:1: 0.001 s are too few: start and end are 1 s apart; give the seconds in "
            "which all the bytes were moved, and the times when that began and ended",
        ),
        (
            {"start": 1, "end": 1, "seconds": 1},
            "site.json:1: end is not after start; give both to the second, of a run of several "
            "seconds",
        ),
        (
            {"start": "2026-11-30T10:16:20Z"},
            "site.json:1: end is not after start; give both to the second, of a run of several "
            "seconds",
        ),
        (
            {"start": 1796033763000},
            "site.json:1: start: 1796033763000 is no number of seconds since 1970",
        ),
        (
            {"seconds": 1e-320, "start": 1, "end": 1.5},
            "site.json:1: 9.99989e-321 s are too few: start and end are 0.5 s apart; give the "
            "seconds in which all the bytes were moved, and the times when that began and ended",
        ),
        (
            {"bytes": 10**30},
            "site.json:1: bytes: 1000000000000000000000000000000 is no amount of data; "
            "write 64GiB or whole bytes",
        ),
        ({"seconds": 0}, "site.json:1: seconds: 0 is no length of time; write 15.6 or 15.6s"),
        ({"bytes": 0}, "site.json:1: bytes: 0 is no amount of data; write 64GiB or whole bytes"),
        (
            {"direction": "both"},
            "site.json:1: direction must be read or write, not 'both'",
        ),
        (
            {"per_client": {"node001": "64GiB"}},
            "site.json:1: per_client and nodes differ in node002",
        ),
        (
            {"bytes": "127GiB"},
            "site.json:1: the clients' bytes add up to 137438953472, not to 136365211648",
        ),
        ({"sekonds": 5}, "site.json:1: the key 'sekonds' is not known; did you mean 'seconds'?"),
    ],
)
def test_recorded_refused(changes, message):
    """A sentence for each problem."""
    with pytest.raises(InputError) as raised:
        recorded.parse(json.dumps(RECORD | changes), name="site.json")

    assert str(raised.value) == message


@pytest.mark.parametrize("seconds", [14, 15.5, 16, 17])
def test_recorded_seconds_that_fit(seconds):
    """Start and end may be rounded, and a part of the run may move nothing."""
    run = recorded.parse(json.dumps(RECORD | {"seconds": seconds}), name="site.json")

    assert run.bytes_per_second == (128 << 30) / seconds


WRITE = json.dumps(RECORD | {"direction": "write"})


def test_recorded_of_both_directions():
    """One of each, in the order given."""
    runs = recorded.parse_all([("w.json", WRITE), ("r.json", json.dumps(RECORD))])

    assert runs == (
        recorded.parse(WRITE, name="w.json"),
        recorded.parse(json.dumps(RECORD), name="r.json"),
    )


def test_recorded_twice():
    """Two of one direction: none of them may win; and the problems of every file are told."""
    with pytest.raises(InputError) as raised:
        recorded.parse_all(
            [("a.json", WRITE), ("b.json", "tool: x\n\0"), ("c.json", WRITE), ("d.json", "")]
        )

    assert str(raised.value).splitlines() == [
        "b.json:2: is not YAML: a control character (code 0x00)",
        "c.json: is a write run, and so is a.json; give one result a direction",
        "d.json:1: the file is empty",
    ]

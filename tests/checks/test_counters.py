"""Kind error-counters: whole verdicts over two readings made by hand."""

from dataclasses import replace

import pytest

from ibaccept.observe.counters import Sweep
from ibaccept.observe.snapshot import Gap
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

LINE = CaptureRef("captures/0004-ibqueryerrors.txt", 3, "ibqueryerrors: timeout")
UNREAD = NotSeen("the error counters", "ibqueryerrors did not end in time", "", (LINE,))
SILENT = Gap("the node behind B/30", "B/30 is up, its peer did not answer", (LINE,))


def pair(site_of):
    """A/11 - B/21 and A/12 - B/22, and a host on each switch."""
    site = site_of("A", "B")
    for port in (11, 12):
        site.cable("A", port, "B", port + 10)
    for name, switch in (("a", "A"), ("b", "B")):
        site.host(name, switch, 1)
    return site


def three_levels(site_of):
    """Hosts under L1 and L2, a spine each, and one core: L1/11 - S1/1, S1/11 - C/1, ..."""
    site = site_of("L1", "L2", "S1", "S2", "C")
    for number in (1, 2):
        site.host(f"h{number}", f"L{number}", 1)
        site.cable(f"L{number}", 11, f"S{number}", 1)
        site.cable(f"S{number}", 11, "C", number)
    return site


def counted(*readings, make=pair, **parts):
    def build(site_of, _sides_of):
        site = make(site_of)
        for reading in readings:
            site.count(*reading)
        return site.seen(**parts)

    return build


def swept(after, before=None):
    """Other sweeps: as they are, by seconds."""

    def build(site_of, _sides_of):
        site = pair(site_of)
        first = site.seen().sweeps[0.0] if before is None else before
        return site.seen(sweeps={0.0: first, 60.0: after})

    return build


def unread_port(site_of, _sides_of):
    site = pair(site_of)
    sweeps = site.seen().sweeps
    why = "the performance agent of B did not answer (error query failed)"
    last = replace(sweeps[60.0], unread={site.guid("B"): why})
    return site.seen(sweeps={0.0: sweeps[0.0], 60.0: last})


SYMBOL, WAIT = "SymbolErrorCounter", "PortXmitWait"
FIRST = "A/11 - B/21"
ISL = "{kind: error-counters, links: isl, window: 60s}"
ZERO = "growth of at most 0 of each error counter"
CLEAN = "have no error counter beyond its limit in 60s"
BEYOND = "have error counters beyond their limits in 60s"


def limited(limit):
    return f"{{kind: error-counters, links: isl, window: 60s, limits: {{{SYMBOL}: {limit}}}}}"


def fails(found, expected=ZERO, of="2 of 2"):
    total = of.split()[-1]
    return (
        "fail",
        f"1 of {total} inter-switch links {BEYOND}",
        of,
        [("fail", FIRST, expected, found)],
    )


def unknown(found, judged=1, of=2, subject=FIRST, expected=ZERO):
    return (
        "error",
        f"{of - judged} of {of} inter-switch links could not be judged (expected: {expected})",
        f"{judged} of {of}",
        [("error", subject, expected, found)],
    )


def nothing(what, found, expected=ZERO):
    return (
        "error",
        f"{what} could not be seen, so nothing was judged (expected: {expected})",
        "0 of 0",
        [("error", what, expected, found)],
    )


TABLE = {
    "nothing grows": (counted(), ISL, ("pass", f"2 of 2 inter-switch links {CLEAN}", "2 of 2", [])),
    "nothing grows, three levels": (
        counted(make=three_levels),
        ISL,
        ("pass", f"4 of 4 inter-switch links {CLEAN}", "4 of 4", []),
    ),
    "old errors that do not grow": (
        counted(("A", 11, SYMBOL, 400, 400)),
        ISL,
        ("pass", f"2 of 2 inter-switch links {CLEAN}", "2 of 2", []),
    ),
    "one more": (
        counted(("A", 11, SYMBOL, 0, 1)),
        ISL,
        fails(f"A/11 {SYMBOL} +1 in 61 s"),
    ),
    "grows at the second end": (
        counted(("B", 21, SYMBOL, 47, 59)),
        ISL,
        fails(f"B/21 {SYMBOL} +12 in 61 s"),
    ),
    "of a host's cable, three levels": (
        counted(("L2", 1, SYMBOL, 0, 3), make=three_levels),
        "{kind: error-counters, links: host, window: 60s}",
        (
            "fail",
            f"1 of 2 host links {BEYOND}",
            "2 of 2",
            [("fail", "L2/1 - h2/1", ZERO, f"L2/1 {SYMBOL} +3 in 61 s")],
        ),
    ),
    "at the limit": (
        counted(("A", 11, SYMBOL, 0, 10)),
        limited(10),
        ("pass", f"2 of 2 inter-switch links {CLEAN}", "2 of 2", []),
    ),
    "one beyond the limit": (
        counted(("A", 11, SYMBOL, 0, 11)),
        limited(10),
        fails(f"A/11 {SYMBOL} +11 in 61 s, limit 10", f"{ZERO}, 10 of {SYMBOL}"),
    ),
    "a limit of one counter is none of another": (
        counted(("A", 11, "LinkDownedCounter", 0, 1)),
        limited(10),
        fails("A/11 LinkDownedCounter +1 in 61 s", f"{ZERO}, 10 of {SYMBOL}"),
    ),
    "what waits elsewhere is shown and not judged": (
        counted(("A", 11, WAIT, 0, 99_999)),
        ISL,
        ("pass", f"2 of 2 inter-switch links {CLEAN}", "2 of 2", []),
    ),
    "saturated": (
        counted(("A", 11, SYMBOL, 65_535, 65_535)),
        ISL,
        unknown(f"A/11 {SYMBOL} is saturated at 65535: it can no longer grow"),
    ),
    "cleared": (
        counted(("A", 11, SYMBOL, 12, 3)),
        ISL,
        unknown(
            f"A/11: {SYMBOL} fell from 12 to 3: the counters of this port were cleared within the "
            "window"
        ),
    ),
    "proven growth beside a saturated counter": (
        counted(("A", 11, SYMBOL, 65_535, 65_535), ("B", 21, "LinkDownedCounter", 1, 2)),
        ISL,
        fails("B/21 LinkDownedCounter +1 in 61 s"),
    ),
    "a node that was not read": (
        unread_port,
        ISL,
        (
            "error",
            f"2 of 2 inter-switch links could not be judged (expected: {ZERO})",
            "0 of 2",
            [
                (
                    "error",
                    name,
                    ZERO,
                    "the performance agent of B did not answer (error query failed)",
                )
                for name in (FIRST, "A/12 - B/22")
            ],
        ),
    ),
    "a node did not answer the sweep of the topology": (
        counted(gaps=(SILENT,)),
        ISL,
        unknown(SILENT.reason, judged=2, of=3, subject=SILENT.name),
    ),
    "too short a window": (
        swept(Sweep(110.0, 110.5, "captures/0005-ibqueryerrors.txt")),
        ISL,
        nothing("a window of 60s", "the two readings are 9.5 s apart, the entry orders 60s"),
    ),
    "no second reading": (swept(UNREAD), ISL, nothing("the error counters", UNREAD.reason)),
    "no first reading": (
        swept(Sweep(161.0, 161.5, "x"), UNREAD),
        ISL,
        nothing("the error counters", UNREAD.reason),
    ),
    "nothing was seen": (
        counted(fabric_seen=NotSeen("the fabric", "ibnetdiscover is missing", "", (LINE,))),
        ISL,
        nothing("the fabric", "ibnetdiscover is missing"),
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_whole_verdict(check_row, name):
    check_row(TABLE[name])

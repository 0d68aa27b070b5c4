"""Kind subnet-manager: whole verdicts, every aspect, with too many and too few."""

import pytest

from ibaccept.observe.snapshot import SubnetManagers
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

LINE = CaptureRef("captures/0009-saquery.txt", 2, "saquery: timeout")
SILENT = NotSeen("a subnet manager", "the SA names one at LID 3, which did not answer", "", (LINE,))
NONE = CaptureRef("captures/0009-sminfo.txt", 1, "sminfo: iberror: failed: query")
MASTER, STANDBY = 3, 2


def managed(*managers, silent=(), none=None, gone=False, **parts):
    """Hosts m1 to m3 on switch A beside switch B; managers: name, state, priority."""

    def build(site_of, _sides_of):
        site = site_of("A", "B")
        site.cable("A", 11, "B", 21)
        for number in (1, 2, 3):
            site.host(f"m{number}", "A", number)
        for manager in managers:
            site.manager(*manager)
        snapshot = site.seen()
        found = snapshot.managers.found
        seen = SubnetManagers(found, silent, none, gone)
        return site.seen(**{"managers_seen": seen, **parts})

    return build


def entry(text=""):
    return f"{{kind: subnet-manager{text}}}"


def verdict(outcome, sentence, coverage, *findings):
    return outcome, f"{sentence}", coverage, list(findings)


ONE = managed(("m1", MASTER, 14))
NOUN = "aspects of the subnet manager"
HOST_GUID, SWITCH_GUID = "0x0000000000009000", "0x0000000000005000"


def passes(order, aspects=2):
    return verdict(
        "pass",
        f"{aspects} of {aspects} {NOUN} are as expected ({order})",
        f"{aspects} of {aspects}",
    )


def fails(subject, expected, found, of=2):
    return verdict(
        "fail",
        f"1 of {of} {NOUN} are not as expected ({expected})",
        f"{of} of {of}",
        ("fail", subject, expected, found),
    )


TABLE = {
    "one master": (ONE, entry(), passes("1 master", 1)),
    "two masters": (
        managed(("m1", MASTER), ("m2", MASTER)),
        entry(),
        fails("masters", "1 master", "2 masters: LID 1 on m1, LID 2 on m2", 1),
    ),
    "two masters are one more than one whoever is silent": (
        managed(("m1", MASTER), ("m2", MASTER), silent=(SILENT,)),
        entry(),
        fails("masters", "1 master", "2 masters: LID 1 on m1, LID 2 on m2", 1),
    ),
    "two ordered": (
        managed(("m1", MASTER), ("m2", MASTER)),
        entry(", masters: 2"),
        passes("2 masters", 1),
    ),
    "one of two": (
        ONE,
        entry(", masters: 2"),
        fails("masters", "2 masters", "1 master: LID 1 on m1", 1),
    ),
    "none": (
        managed(none=NONE),
        entry(),
        fails("masters", "1 master", "0 masters", 1),
    ),
    "none any more": (
        managed(none=NONE, gone=True),
        entry(),
        fails(
            "masters",
            "1 master",
            "0 masters: the node of the last one answers, its SM does not",
            1,
        ),
    ),
    "on a host": (ONE, entry(", on: host"), passes("1 master, master on a host")),
    "in a switch": (
        managed(("A", MASTER)),
        entry(", on: switch"),
        passes("1 master, master in a switch"),
    ),
    "in a switch and not on a host": (
        managed(("A", MASTER)),
        entry(", on: host"),
        fails("on", "master on a host", "master in a switch"),
    ),
    "on a host and not in a switch": (
        ONE,
        entry(", on: switch"),
        fails("on", "master in a switch", "master on a host"),
    ),
    "its GUID": (
        ONE,
        entry(f", guid: '{HOST_GUID}'"),
        passes(f"1 master, master with GUID {HOST_GUID}"),
    ),
    "another GUID": (
        ONE,
        entry(f", guid: '{SWITCH_GUID}'"),
        fails("guid", f"master with GUID {SWITCH_GUID}", f"master with GUID {HOST_GUID}"),
    ),
    "its priority": (ONE, entry(", priority: 14"), passes("1 master, master with priority 14")),
    "another priority": (
        ONE,
        entry(", priority: 15"),
        fails("priority", "master with priority 15", "master with priority 14"),
    ),
    "priority 0 is an order": (
        ONE,
        entry(", priority: 0"),
        fails("priority", "master with priority 0", "master with priority 14"),
    ),
    "one standby": (
        managed(("m1", MASTER), ("m2", STANDBY)),
        entry(", standbys: 1"),
        passes("1 master, 1 standby"),
    ),
    "no standby": (ONE, entry(", standbys: 1"), fails("standbys", "1 standby", "0 standbys")),
    "no standby is an order": (
        managed(("m1", MASTER), ("m2", STANDBY)),
        entry(", standbys: 0"),
        fails("standbys", "0 standbys", "1 standby: LID 2 on m2"),
    ),
    "two standbys": (
        managed(("m1", MASTER), ("m2", STANDBY), ("m3", STANDBY)),
        entry(", standbys: 1"),
        fails("standbys", "1 standby", "2 standbys: LID 2 on m2, LID 3 on m3"),
    ),
    "one is silent": (
        managed(("m1", MASTER), silent=(SILENT,)),
        entry(", standbys: 1"),
        verdict(
            "error",
            f"2 of 2 {NOUN} could not be judged (expected: 1 master; 1 standby)",
            "0 of 2",
            ("error", "masters", "1 master", f"1 master answered, but {SILENT.reason}"),
            ("error", "standbys", "1 standby", f"0 standbys answered, but {SILENT.reason}"),
        ),
    ),
    "which of two masters": (
        managed(("m1", MASTER), ("m2", MASTER)),
        entry(", masters: 2, priority: 14"),
        verdict(
            "error",
            f"1 of 2 {NOUN} could not be judged (expected: master with priority 14)",
            "1 of 2",
            (
                "error",
                "priority",
                "master with priority 14",
                "there are 2 masters, so none is the master",
            ),
        ),
    ),
    "nothing was asked": (
        managed(managers_seen=NotSeen("the subnet managers", "sminfo is missing", "", (LINE,))),
        entry(", on: host"),
        verdict(
            "error",
            "the subnet managers could not be seen, so nothing was judged (expected: 1 master, "
            "master on a host)",
            "0 of 0",
            ("error", "the subnet managers", "1 master, master on a host", "sminfo is missing"),
        ),
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_whole_verdict(check_row, name):
    check_row(TABLE[name])

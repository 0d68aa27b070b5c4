"""What was seen: parts that are not there raise, and windows need both of their sweeps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.checks.counters import ErrorCounters, window_of
from ibaccept.fabric.model import Fabric, Guid, Node, NodeType, Port, PortId, PortState
from ibaccept.observe.counters import Sweep
from ibaccept.observe.snapshot import Gap, Snapshot, SubnetManagers, Window
from ibaccept.parse.ibqueryerrors import PortData, PortErrors
from ibaccept.site.inventory import Inventory
from ibaccept.site.plan import Plan
from ibaccept.verdict.absence import NotSeen, NotSeenError
from ibaccept.verdict.evidence import CaptureRef

A, B = Guid(0x10), Guid(0x20)
FABRIC = Fabric.of(
    [
        Node(A, NodeType.SWITCH, "SwitchA", 36, {13: Port(PortId(A, 13), remote=PortId(B, 25))}),
        Node(
            B,
            NodeType.SWITCH,
            "SwitchB",
            36,
            {
                25: Port(PortId(B, 25), remote=PortId(A, 13)),
                26: Port(PortId(B, 26), state=PortState.DOWN),
            },
        ),
    ]
)
SILENT = NotSeen("the error counters", "mgmt01: it was silent", "ask again")


def snapshot(**parts):
    given = {"observer": "mgmt01", "inventory": Inventory({}, {}, "site.yaml"), "plan": None}
    return Snapshot(**{**given, "fabric_seen": FABRIC, **parts})


def sweep(start):
    return Sweep(start, start + 2, f"captures/{start:04.0f}.txt")


@pytest.mark.parametrize(
    ("part", "field", "what"),
    [
        ("fabric", "fabric_seen", "the fabric"),
        ("managers", "managers_seen", "the subnet managers"),
        ("tables", "tables_seen", "the forwarding tables"),
    ],
)
def test_a_part_that_was_not_seen_raises_and_says_why(part, field, what):
    missing = NotSeen(what, "mgmt01: it was silent", "ask again")
    seen = snapshot(**{field: missing})

    with pytest.raises(NotSeenError) as caught:
        getattr(seen, part)
    assert (caught.value.part, str(caught.value)) == (
        missing,
        f"{what} could not be seen: mgmt01: it was silent",
    )


def test_parts_that_nobody_looked_for_are_not_seen():
    seen = snapshot()

    for part in ("managers", "tables", "routes"):
        with pytest.raises(NotSeenError, match="could not be seen: they were not looked for"):
            getattr(seen, part)


def test_parts_that_were_looked_for_and_not_seen_are_listed_once():
    managers = NotSeen("the subnet managers", "mgmt01: it was silent")
    host = NotSeen("client-01", "connection refused")

    seen = snapshot(
        managers_seen=managers,
        tables_seen=(),
        sweeps={0.0: SILENT, 60.0: SILENT},
        hosts={"client-01": host},
    )

    assert seen.unseen() == (SILENT, managers, host)


def test_a_whole_snapshot_lists_nothing():
    seen = snapshot(managers_seen=SubnetManagers(), tables_seen=(), sweeps={0.0: sweep(0)})

    assert seen.unseen() == ()


def test_a_window_is_two_sweeps():
    first, last = sweep(100.0), sweep(160.0)
    seen = snapshot(sweeps={0.0: first, 60.0: last})

    assert seen.window(60.0) == Window(first, last)
    assert seen.window(60.0).seconds == 60.0


@pytest.mark.parametrize("lost", [0.0, 60.0])
def test_a_window_with_one_sweep_is_not_seen(lost):
    sweeps = {0.0: sweep(100.0), 60.0: sweep(160.0), lost: SILENT}

    with pytest.raises(NotSeenError) as caught:
        snapshot(sweeps=sweeps).window(60.0)
    assert caught.value.part == SILENT


def test_evidence_takes_the_longest_window_there_is():
    first, second, last = sweep(100.0), sweep(110.0), sweep(160.0)

    assert snapshot(sweeps={60.0: last, 0.0: first, 10.0: second}).longest_window == Window(
        first, last
    )
    assert snapshot(sweeps={0.0: SILENT, 10.0: second, 60.0: last}).longest_window == Window(
        second, last
    )
    assert snapshot(sweeps={0.0: first, 60.0: SILENT}).longest_window == Window(first, first)
    assert snapshot(sweeps={0.0: SILENT, 60.0: SILENT}).longest_window is None
    assert snapshot().longest_window is None


def test_planned_cables_are_located():
    rows = "a_name,a_port,b_name,b_port\nSwitchA,13,SwitchB,25\nSwitchA,14,SwitchB,26\n"
    plan = Plan.read(rows, name="cables.csv")
    seen = snapshot(plan=plan)

    found = {planned.name: cable.is_there for planned, cable in seen.planned.items()}
    assert found == {"SwitchA/13 - SwitchB/25": True, "SwitchA/14 - SwitchB/26": False}


def test_a_row_that_fits_nothing_is_a_problem_of_its_cable():
    plan = Plan.read("a_name,a_port,b_name,b_port\nSwichA,13,SwitchB,25\n", name="cables.csv")

    assert [cable.problem for cable in snapshot(plan=plan).planned.values()] == [
        "cables.csv:2: no node is named 'SwichA'; did you mean 'SwitchA'?"
    ]


def ordered(window):
    return ErrorCounters.model_validate(
        {"id": "e", "kind": "error-counters", "links": "all", "window": window}
    )


def test_a_window_holds_what_was_waited_for_and_no_more():
    """A replay may be asked for a longer window than lies between its readings."""
    seen = snapshot(sweeps={0.0: sweep(100.0), 8.0: sweep(110.1), 86400.0: sweep(110.1)})

    assert window_of(seen, ordered("8s")) == Window(sweep(100.0), sweep(110.1))
    with pytest.raises(NotSeenError) as caught:
        window_of(seen, ordered("24h"))
    assert caught.value.part == NotSeen(
        "a window of 86400s",
        "the two readings are 8.1 s apart, the entry orders 86400s",
        "look at the fabric again with this window",
        tuple(CaptureRef(f"captures/{n}.txt", None, "") for n in ("0100", "0110")),
    )


def test_a_window_without_times_is_not_judged():
    timeless = Sweep(None, None, "captures/0001.txt")
    seen = snapshot(sweeps={0.0: timeless, 8.0: timeless})

    with pytest.raises(NotSeenError, match="the two readings are an unknown time apart"):
        window_of(seen, ordered("8s"))


A22, A23, B5 = PortId(Guid(1), 22), PortId(Guid(1), 23), PortId(Guid(2), 5)


@pytest.mark.parametrize(
    ("ports", "opened"),
    [
        ([], False),
        ([A22], False),
        ([A22, A23], False),  # two hosts at one switch
        ([A22, B5], True),  # can be one cable between two seen switches
        ([A22, None], True),  # a query of which nobody knows where it went
    ],
)
def test_gaps_that_can_hide_a_cable_between_seen_nodes(ports, opened):
    gaps = tuple(Gap(f"gap {n}", "no answer", at=port) for n, port in enumerate(ports))

    assert snapshot(gaps=gaps).open_gaps == (gaps if opened else ())


COUNTED = st.dictionaries(
    st.sampled_from(["PortXmitData", "PortRcvData", "PortXmitPkts"]), st.integers(0, 3), max_size=3
)


def counted(data, bits, errors):
    """A sweep of one port; None where the output does not list it."""
    port = PortId(A, 13)
    row = None if data is None else PortData(A, "SwitchA", 13, data, bits, None, 1, "")
    listed = None
    if errors is not None:
        listed = PortErrors(A, A, "SwitchA", 13, errors, frozenset(), None, 1, "")
    return Sweep(
        0.0,
        1.0,
        "captures/1.txt",
        errors={} if listed is None else {port: listed},
        read_data=lambda: {} if row is None else {port: row},
    )


SWEPT = st.builds(
    counted,
    st.none() | COUNTED,
    st.sampled_from([32, 64]),
    st.none() | st.dictionaries(st.just("LinkDownedCounter"), st.integers(1, 3), min_size=1),
)


@given(SWEPT, SWEPT)
def test_the_first_counter_that_fell_is_named(before, after):
    # counter by counter, in the order in which the first sweep prints them
    port = PortId(A, 13)
    fell = [
        (name, reading.value, later.value)
        for name, reading in before.listed(port).items()
        for later in [after.listed(port).get(name) or after.reading(port, name)]
        if later is not None and later.bits == reading.bits and later.value < reading.value
    ]

    assert Window(before, after).fell(port) == (fell[0] if fell else None)

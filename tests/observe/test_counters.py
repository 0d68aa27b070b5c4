"""One counter sweep: when "not listed" is 0, and every way in which a port is unread."""

import pytest

from ibaccept.fabric.model import Fabric, Guid, Lid, Node, NodeType, Port, PortId
from ibaccept.observe.counters import Reading, read_sweep
from ibaccept.observe.snapshot import Window
from ibaccept.parse import ibqueryerrors
from ibaccept.verdict.evidence import Counter, CounterState

SWITCH, HOST, OTHER = Guid(0x10), Guid(0x20), Guid(0x30)
SWITCH_1, SWITCH_2, HOST_1 = PortId(SWITCH, 1), PortId(SWITCH, 2), PortId(HOST, 1)

FABRIC = Fabric.of(
    [
        Node(
            SWITCH,
            NodeType.SWITCH,
            "leaf",
            2,
            {
                1: Port(SWITCH_1, remote=HOST_1),
                2: Port(SWITCH_2, remote=PortId(OTHER, 1)),
            },
            Lid(2),
        ),
        Node(HOST, NodeType.CA, "node1", 1, {1: Port(HOST_1, Guid(0x21), Lid(3))}),
        Node(OTHER, NodeType.CA, "node2", 1, {1: Port(PortId(OTHER, 1), Guid(0x31), Lid(4))}),
    ]
)

CLEAN = """
## Summary: 3 nodes checked, 0 bad nodes found
##          4 ports checked, 0 ports have errors beyond threshold
## Thresholds: {thresholds}
## Suppressed:{suppressed}
"""

LISTED = """Errors for 0x10 "leaf"
   GUID 0x10 port ALL: [SymbolErrorCounter == 7]
   GUID 0x10 port 1: [SymbolErrorCounter == 7]
Errors for "node1"
   GUID 0x21 port 1: [LinkDownedCounter == 3]

## Summary: 3 nodes checked, 2 bad nodes found
##          4 ports checked, 2 ports have errors beyond threshold
## Thresholds:
## Suppressed:
"""

NO_SUMMARY = """Errors for "node2"
   GUID 0x31 port 1: [LinkDownedCounter == 1]
"""

DATA = """Data Counters for 0x10 "leaf"
   GUID 0x10 port 1: [PortXmitData == 9 (36.000B)] [PortUnicastXmitPkts == 0 (0.000)]
   GUID 0x10 port 2: [PortXmitData == 4294967295 (16.000GB)]
Data Counters for 0x20 "node1"
   GUID 0x21 port 1: [PortXmitData == 5 (20.000B)] [PortUnicastXmitPkts == 0 (0.000)]
Data Counters for 0x30 "node2"
   GUID 0x31 port 1: [PortXmitData == 6 (24.000B)] [PortUnicastXmitPkts == 0 (0.000)]

## Summary: 3 nodes checked, 0 bad nodes found
##          4 ports checked, 0 ports have errors beyond threshold
## Thresholds:
## Suppressed:
"""


def swept(text=None, stderr="", data=None, fabric=FABRIC, start=100.0, end=102.0, silent=()):
    """A sweep of the fabric above."""
    text = CLEAN.format(thresholds="", suppressed="") if text is None else text
    return read_sweep(
        fabric,
        ibqueryerrors.parse(text),
        stderr,
        start=start,
        end=end,
        file="captures/0003-ibqueryerrors.txt",
        data_text=data,
        data_file=None if data is None else "captures/0004-ibqueryerrors.txt",
        silent=frozenset(silent),
    )


def failed(name, lid, port, query="IB_GSI_PORT_COUNTERS"):
    return f"ibwarn: [77] print_errors: {query} query failed on {name}, Lid {lid} port {port}\n"


def why(sweep):
    """Why the symbol errors of each port are unread, None where they are read."""
    ports = {"leaf/1": SWITCH_1, "leaf/2": SWITCH_2, "node1/1": HOST_1}
    found = {name: sweep.why_unread(port, "SymbolErrorCounter") for name, port in ports.items()}
    for name, port in ports.items():
        assert (sweep.reading(port, "SymbolErrorCounter") is None) is (found[name] is not None)
        assert sweep.is_clean(port) is (found[name] is None and port not in sweep.errors)
    return found


READ = dict.fromkeys(("leaf/1", "leaf/2", "node1/1"))


def test_not_listed_is_0_where_the_tool_looked_at_every_node():
    sweep = swept()

    assert why(sweep) == READ
    assert sweep.reading(SWITCH_1, "SymbolErrorCounter") == Reading(0, 16)
    assert sweep.reading(HOST_1, "LinkDownedCounter") == Reading(0, 8)
    assert (sweep.middle, sweep.unread, sweep.unread_ports, sweep.unlisted) == (101.0, {}, {}, None)


def test_rows_are_found_by_node_guid_of_a_switch_and_port_guid_of_a_host():
    sweep = swept(LISTED)

    assert why(sweep) == READ
    assert sweep.reading(SWITCH_1, "SymbolErrorCounter") == Reading(7, 16)
    assert sweep.reading(SWITCH_1, "LinkDownedCounter") == Reading(0, 8)
    assert sweep.reading(HOST_1, "LinkDownedCounter") == Reading(3, 8)
    assert sweep.reading(SWITCH_2, "SymbolErrorCounter") == Reading(0, 16)
    assert {str(port): row.line for port, row in sweep.errors.items()} == {
        "0x0000000000000010/1": 3,
        "0x0000000000000020/1": 5,
    }


def test_without_a_summary_only_what_is_listed_is_read():
    reason = "ibqueryerrors printed no summary, so it did not look at every port"

    assert why(swept(LISTED.split("\n\n", maxsplit=1)[0] + "\n")) == {**READ, "leaf/2": reason}
    assert why(swept(NO_SUMMARY)) == dict.fromkeys(READ, reason)


def test_a_node_that_was_not_counted_may_be_any():
    text = CLEAN.format(thresholds="", suppressed="").replace("3 nodes", "2 nodes")

    assert why(swept(text)) == dict.fromkeys(READ, "ibqueryerrors looked at 2 of 3 nodes")


def test_rows_of_ports_nobody_knows_say_that_the_fabric_changed():
    text = LISTED.replace("0x21", "0x99")

    assert why(swept(text)) == {
        "leaf/1": None,
        **dict.fromkeys(
            ("leaf/2", "node1/1"),
            "ibqueryerrors lists 1 ports that ibnetdiscover did not show: the fabric changed "
            "between the two",
        ),
    }


def test_a_silent_host_is_unread_and_the_others_are_read():
    stderr = failed("node1", 3, 1)
    text = CLEAN.format(thresholds="", suppressed="") + "##          1 PMA query failures\n"
    text = text.replace("## Suppressed:\n", "", 1) + "## Suppressed:\n"

    assert why(swept(text, stderr)) == {
        **READ,
        "node1/1": "the performance agent of node1 did not answer (IB_GSI_PORT_COUNTERS query "
        "failed)",
    }


def test_a_silent_port_of_a_switch_is_unread_alone():
    reason = "the performance agent of leaf did not answer (IB_GSI_PORT_COUNTERS query failed)"

    assert why(swept(stderr=failed("leaf", 2, 2))) == {**READ, "leaf/2": reason}
    assert why(swept(stderr=failed("leaf", 2, 255))) == {
        **READ,
        "leaf/1": reason,
        "leaf/2": reason,
    }


def test_a_lid_that_has_another_owner_now_is_found_by_its_name():
    """LIDs may change between the sweeps; the name that the tool printed is of now."""
    reason = "the performance agent of node1 did not answer (classportinfo query failed)"

    assert why(swept(stderr=failed("node1", 4, 1, "classportinfo"))) == {**READ, "node1/1": reason}


@pytest.mark.parametrize("stranger", [failed("nobody", 9, 1), failed("nobody", 3, 1)])
def test_a_failure_that_nobody_owns_may_be_anybodys(stranger):
    text = CLEAN.format(thresholds="", suppressed="").replace(
        "## Suppressed:", "##          1 PMA query failures\n## Suppressed:"
    )

    assert why(swept(text, stranger)) == dict.fromkeys(
        READ, "1 queries of ibqueryerrors failed and its stderr does not say of which nodes"
    )


def test_failures_that_stderr_does_not_name_may_be_anybodys():
    text = CLEAN.format(thresholds="", suppressed="").replace(
        "## Suppressed:", "##          2 PMA query failures\n## Suppressed:"
    )

    assert why(swept(text)) == dict.fromkeys(
        READ, "2 queries of ibqueryerrors failed and its stderr does not say of which nodes"
    )


def test_a_lossy_sweep_proves_nothing_of_what_is_not_listed():
    stderr = (
        "src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1 Attr 0x11:0) bad status 110; "
        "Connection timed out\n"
    )
    reason = "1 queries of the sweep of ibqueryerrors got no answer"

    assert why(swept(LISTED, stderr)) == {"leaf/1": None, "leaf/2": reason, "node1/1": None}


def test_two_nodes_of_one_name_are_not_told_apart_by_it():
    twins = Fabric.of(
        [
            Node(node.guid, node.type, "twin", node.num_ports, node.ports, node.lid)
            for node in FABRIC.nodes.values()
        ]
    )
    text = CLEAN.format(thresholds="", suppressed="").replace(
        "## Suppressed:", "##          1 PMA query failures\n## Suppressed:"
    )

    assert why(swept(text, failed("twin", 9, 1), fabric=twins)) == dict.fromkeys(
        READ, "1 queries of ibqueryerrors failed and its stderr does not say of which nodes"
    )


def test_a_node_that_the_sweep_did_not_meet_is_unread():
    """The summary counts nodes and names none: one may have given way to another."""
    data = DATA.replace("0x20", "0x90").replace("0x21", "0x91")
    reason = "ibqueryerrors did not meet node1 (0x0000000000000020) in its sweep"

    assert why(swept(data=DATA)) == READ
    assert why(swept(data=data)) == {**READ, "node1/1": reason}
    assert why(swept(LISTED, data=data)) == READ  # its row was listed, so it was there


@pytest.mark.parametrize(
    ("thresholds", "suppressed", "how"),
    [
        ("[SymbolErrorCounter = 10][LinkDownedCounter = 5]", "", "hidden up to a threshold"),
        ("as in the file", "", "hidden up to a threshold"),
        ("", " SymbolErrorCounter", "suppressed"),
    ],
)
def test_a_counter_that_the_observer_hides_is_not_0(thresholds, suppressed, how):
    reason = (
        f"SymbolErrorCounter is {how} by the configuration of ibqueryerrors on the observer "
        "(/etc/infiniband-diags/error_thresholds), so not listed is not 0"
    )
    sweep = swept(CLEAN.format(thresholds=thresholds, suppressed=suppressed))

    found = {
        port: sweep.why_unread(port, "SymbolErrorCounter") for port in (SWITCH_1, SWITCH_2, HOST_1)
    }
    assert found == dict.fromkeys((SWITCH_1, SWITCH_2, HOST_1), reason)
    assert not sweep.is_clean(SWITCH_1)


def test_what_is_listed_is_read_though_others_are_hidden():
    sweep = swept(LISTED.replace("## Thresholds:", "## Thresholds: [SymbolErrorCounter = 5]"))

    assert sweep.reading(SWITCH_1, "SymbolErrorCounter") == Reading(7, 16)
    assert sweep.reading(SWITCH_2, "SymbolErrorCounter") is None
    assert sweep.reading(SWITCH_2, "LinkDownedCounter") == Reading(0, 8)


def test_counters_that_a_device_may_not_have_are_not_0_when_they_are_not_listed():
    reason = "PortXmitWait is not listed: it is 0, or this device does not measure it"

    assert swept().why_unread(SWITCH_1, "PortXmitWait") == reason
    assert swept().why_unread(SWITCH_1, "Nonsense") == (
        "Nonsense is no counter that ibqueryerrors reads"
    )


def test_data_counters_are_read_with_their_width():
    sweep = swept(data=DATA)

    assert sweep.reading(SWITCH_1, "PortXmitData") == Reading(9, 64)
    assert sweep.reading(SWITCH_2, "PortXmitData") == Reading(4294967295, 32)
    assert sweep.why_unread(SWITCH_1, "PortRcvData") == "data counters not listed"
    assert swept().why_unread(SWITCH_1, "PortXmitData") == "data counters not listed"


def test_data_counters_that_cannot_be_read_are_unread():
    assert swept(data=DATA + "nonsense\n").reading(SWITCH_1, "PortXmitData") is None


# -- two sweeps ----------------------------------------------------------------------------------


def listed(value):
    return LISTED.replace("SymbolErrorCounter == 7", f"SymbolErrorCounter == {value}")


@pytest.mark.parametrize(
    ("before", "after", "values", "state", "delta"),
    [
        (listed(7), listed(12), (7, 12), CounterState.OK, 5),
        (None, listed(1), (0, 1), CounterState.OK, 1),
        (listed(7), listed(7), (7, 7), CounterState.OK, 0),
        (listed(7), None, (7, 0), CounterState.CLEARED, None),
        (listed(7), listed(65535), (7, 65535), CounterState.SATURATED, None),
        (listed(65535), listed(3), (65535, 3), CounterState.SATURATED, None),
        (NO_SUMMARY, listed(7), (None, 7), CounterState.UNREAD, None),
        (listed(7), NO_SUMMARY, (7, None), CounterState.UNREAD, None),
        (NO_SUMMARY, NO_SUMMARY, (None, None), CounterState.UNREAD, None),
    ],
)
def test_a_window(before, after, values, state, delta):
    window = Window(swept(before, data=DATA), swept(after, data=DATA, start=160.0, end=164.0))

    counter = window.counter(SWITCH_1, "SymbolErrorCounter", label="leaf/1")
    bits = 0 if values == (None, None) else 16
    assert counter == Counter("SymbolErrorCounter", "leaf/1", *values, 61.0, bits, state)
    assert counter.delta == delta
    assert window.is_clean(SWITCH_2) is (NO_SUMMARY not in {before, after})


def test_a_window_says_why_a_counter_is_unread():
    window = Window(swept(), swept(NO_SUMMARY))
    reason = "ibqueryerrors printed no summary, so it did not look at every port"

    assert window.why_unread(SWITCH_1, "SymbolErrorCounter") == reason


FELL = DATA.replace("PortXmitData == 9 (36.000B)", "PortXmitData == 3 (12.000B)")


@pytest.mark.parametrize(
    ("before", "after", "void"),
    [
        ((None, DATA), (None, DATA), None),
        ((None, FELL), (None, DATA), None),
        (
            (None, DATA),
            (None, FELL),
            "PortXmitData fell from 9 to 3: the counters of this port were cleared within the "
            "window",
        ),
        (
            (listed(7), DATA),
            (None, DATA),
            "SymbolErrorCounter fell from 7 to 0: the counters of this port were cleared within "
            "the window",
        ),
        (
            (None, DATA.replace("UnicastXmitPkts == 0", "UnicastXmitPkts == 4")),
            (None, DATA),
            "PortUnicastXmitPkts fell from 4 to 0: the counters of this port were cleared within "
            "the window",
        ),
        (
            (None, None),
            (None, DATA),
            "its data counters were not read, so that a clear would not show",
        ),
        (
            (None, DATA),
            (None, DATA.replace("0x10 port 1:", "0x10 port 9:")),
            "its data counters were not read, so that a clear would not show",
        ),
    ],
)
def test_any_counter_that_runs_backwards_voids_the_window_of_its_port(before, after, void):
    window = Window(
        swept(before[0], data=before[1]),
        swept(after[0], data=after[1], start=160.0, end=164.0),
    )

    cleared = window.fell(SWITCH_1) is not None
    recovery = window.counter(SWITCH_1, "LinkErrorRecoveryCounter", label="leaf/1")
    state = CounterState.CLEARED if cleared else CounterState.OK
    assert window.why_void(SWITCH_1) == void
    assert recovery == Counter("LinkErrorRecoveryCounter", "leaf/1", 0, 0, 61.0, 8, state)
    assert window.is_clean(SWITCH_1) is (void is None)
    # the counters of the other port of the switch are its own
    assert window.fell(SWITCH_2) is None


def test_readings_of_two_widths_are_not_compared():
    narrow = DATA.replace(" [PortUnicastXmitPkts == 0 (0.000)]", "")
    window = Window(swept(data=DATA), swept(data=narrow.replace("== 9", "== 3")))

    assert window.why_void(SWITCH_1) is None


def test_one_sweep_alone_is_no_window_and_not_void():
    sweep = swept(data=DATA)

    assert Window(sweep, sweep).why_void(SWITCH_1) is None


def test_a_window_without_the_hosts_clock_has_no_length():
    assert Window(swept(start=None), swept()).seconds is None


def test_what_the_topology_sweep_missed_too_hides_no_port():
    """A query of the discovery to a place where no node was seen; any other hides nodes."""
    line = (
        "src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1,22 Attr 0x11:0) bad status 110; "
        "Connection timed out\n"
    )

    assert why(swept(stderr=line, silent=[(1, 22)])) == READ
    lost = swept(stderr=line + line.replace("0,1,22", "0,1,23"), silent=[(1, 22)])
    assert lost.unlisted == "1 queries of the sweep of ibqueryerrors got no answer"

"""ibqueryerrors: what is listed, what is counted, and who did not answer."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibaccept.fabric import counters as table
from ibaccept.fabric.model import Guid, Lid
from ibaccept.parse import ParseError, ParseWarning
from ibaccept.parse.ibqueryerrors import (
    PmaFailure,
    PortErrors,
    QueryErrors,
    Summary,
    data_nodes,
    parse,
    parse_stderr,
)

SILENT = [
    "lossy-sweep",
    "nothing-answers",
    "silent-classportinfo",
    "silent-classportinfo-counters",
    "silent-port",
    "silent-port-counters",
    "silent-switch",
    "silent-switch-counters",
]
BROKEN = {
    "cut-row-missing": "line 13: 4 nodes and 5 ports with errors are listed, the summary counts "
    "4 and 6: lines are missing, run it again",
    "cut-data-row-missing": "line 30: data counters of 22 ports are listed, the summary counts "
    "23: lines are missing, run it again",
    "cut-summary": "line 15: the summary is cut or printed twice: "
    "'##          23 ports checked, 6 ports have errors beyond threshold'",
    "cut-line": "line 8: the last line is cut (no line end); run it again: "
    "'GUID 0x2c90300000200 port 3: [SymbolErrorCounter == 655'",
    "no-path-records": "line 1: it gave up before it read a counter; use --skip-sl, and check the "
    "subnet manager: 'Query SA failed: Connection timed out; sa call path_query failed'",
}


@pytest.mark.parametrize(
    "case",
    [
        "healthy",
        "healthy-counters",
        "faults",
        "faults-data-links",
        "faults-details",
        "faults-suppressed",
        "counters-links",
        "links-down",
        "links-down-counters",
        "cut-no-summary",
        *SILENT,
    ],
)
def test_golden(case, golden, expected, plain):
    assert plain(parse(golden("ibqueryerrors", case))) == expected("ibqueryerrors", case)


@pytest.mark.parametrize("case", SILENT)
def test_golden_stderr(case, golden_stderr, expected, plain):
    found = parse_stderr(golden_stderr(case))

    assert plain(found) == expected("ibqueryerrors", f"{case}.stderr")


@pytest.fixture(scope="session")
def golden_stderr():
    folder = Path(__file__).parent / "golden" / "ibqueryerrors"
    return lambda case: (folder / f"{case}.stderr").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", SILENT)
def test_every_failed_query_is_named(case, golden, golden_stderr):
    """The summary counts the failures, stderr names them: one line each."""
    counted = parse(golden("ibqueryerrors", case)).summary.pma_failures

    assert len(parse_stderr(golden_stderr(case)).failures) == counted > 0


@pytest.mark.parametrize("case", BROKEN)
def test_broken_golden(case, golden):
    with pytest.raises(ParseError) as caught:
        parse(golden("ibqueryerrors", case))

    assert str(caught.value) == f"ibqueryerrors output, {BROKEN[case]}"


def test_two_hosts_of_one_name_differ_by_the_port_guid(golden):
    found = parse(golden("ibqueryerrors", "faults"))

    assert [(p.name, p.guid, str(p.port_guid)) for p in found.ports if p.guid is None] == [
        ("same name", None, "0x0002c90300001301"),
        ("same name", None, "0x0002c90300001201"),
    ]


def test_without_its_capabilities_a_switch_shows_the_32_bit_counters(golden):
    """The PMA answered, only its ClassPortInfo was silent: rows look whole and are not."""
    found = parse(golden("ibqueryerrors", "silent-classportinfo-counters"))

    assert {port.name: port.bits for port in found.data_blocks} == {
        "SwitchB": 32,
        "leaf [A], 10.0.0.1 == x": 64,
    }


SUMMARY = (
    "\n## Summary: 2 nodes checked, {} bad nodes found\n"
    "##          3 ports checked, {} ports have errors beyond threshold\n"
    "## Thresholds: \n## Suppressed:\n"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nothing was printed; its stderr and exit code say why, then run it again"),
        (
            "ibwarn: [1] mad_rpc: _do_madrpc failed; dport (Lid 2)\n",
            "neither a port nor the summary was seen; see its stderr and exit code",
        ),
        (
            "   GUID 0x1 port 1: [PortRcvErrors == 1]\n",
            "a port before any node header: 'GUID 0x1 port 1: [PortRcvErrors == 1]'",
        ),
        (
            'Errors for "a"\n   GUID 0x1 port 1:\n',
            "a port row that is not a list of [Counter == N]: 'GUID 0x1 port 1:'",
        ),
        (
            'Errors for "a"\n   GUID 0x1 port 1: [A == 1] [B = 2]\n',
            "a port row that is not a list of [Counter == N]: 'GUID 0x1 port 1: [A == 1] [B = 2]'",
        ),
        (
            'Errors for "a"\n   GUID 0x1 port 1: [A == 1] [A == 2]\n',
            "A is printed twice: 'GUID 0x1 port 1: [A == 1] [A == 2]'",
        ),
        ('Errors for "a"\nhello\n', "not a line of this tool: 'hello'"),
        (
            'Data Counters for "a"\n',
            "the header lacks its GUID: 'Data Counters for \"a\"'",
        ),
        (SUMMARY.format(0, 0) + 'Errors for "a"\n', "a line after the summary: 'Errors for \"a\"'"),
        (
            SUMMARY.format(0, 0).replace("Thresholds", "Limits"),
            "not the summary's line: '## Limits:'",
        ),
        (
            SUMMARY.format(1, 1),
            "0 nodes and 0 ports with errors are listed, the summary counts 1 and 1: lines are "
            "missing, run it again",
        ),
    ],
)
def test_what_is_not_understood_is_named(text, message):
    with pytest.raises(ParseError) as caught:
        parse(text)

    assert str(caught.value).split(": ", 1)[1] == message


def test_a_header_without_rows_is_kept_as_a_warning():
    """A CA whose sum shows errors and whose single ports do not answer prints just that."""
    found = parse('Errors for "a"\n' + SUMMARY.format(1, 0))

    assert found == QueryErrors(
        (), Summary(2, 1, 3, 0, "", 0, (), 3), (), (ParseWarning(1, 'Errors for "a"'),)
    )


def test_stderr_keeps_every_other_line():
    text = (
        "ibwarn: [7] mad_rpc: _do_madrpc failed; dport (Lid 2)\n"
        "ibwarn: [7] print_errors: IB_GSI_PORT_COUNTERS query failed on a, Lid 9 port 1, Lid 3 "
        "port 255\n"
    )

    found = parse_stderr(text)

    assert found.failures == (
        PmaFailure("IB_GSI_PORT_COUNTERS", "a, Lid 9 port 1", Lid(3), 255, 2, text.split("\n")[1]),
    )
    assert found.sweep == ()
    assert found.other == (ParseWarning(1, text.split("\n", maxsplit=1)[0]),)


def test_a_lossy_sweep_leaves_nodes_out_of_every_count(golden, golden_stderr):
    """Six nodes exist; only stderr tells that four were not looked at."""
    found = parse(golden("ibqueryerrors", "lossy-sweep"))
    stderr = parse_stderr(golden_stderr("lossy-sweep"))

    assert (found.summary.nodes_checked, found.summary.bad_nodes, len(found.ports)) == (2, 0, 0)
    assert len(stderr.sweep) == 10
    assert [(failure.name, failure.lid, failure.port) for failure in stderr.failures] == [
        ("", 3, 255)
    ]


NAMES = st.text(
    st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1, max_size=40
) | st.sampled_from(['a" port 1: [PortRcvErrors == 9]', "## Summary: 1", "ibwarn: [1] x"])
ERRORS = [*table.FAULT_COUNTERS, *table.REPORT_COUNTERS]


def counter(name, value, *, wide):
    """``ibqueryerrors.c``: plain, or with a value for people in a unit."""
    return f" [{name} == {value} ({value / 1000:5.3f}K)]" if wide else f" [{name} == {value}]"


@st.composite
def outputs(draw):
    """(text, value) of a random output of the default mode."""
    text, ports, line = "", [], 0
    nodes = draw(st.integers(0, 4))
    for index in range(nodes):
        name, switch = draw(NAMES), draw(st.booleans())
        guid = draw(st.integers(1, (1 << 64) - 1)) if switch else None
        text += f'Errors for 0x{guid:x} "{name}"\n' if switch else f'Errors for "{name}"\n'
        line += 1
        for port in draw(st.lists(st.integers(0, 254), min_size=1, max_size=3)):
            wide = draw(st.booleans())
            row_guid = guid if switch else (index + 1) << 8 | port
            values = draw(
                st.dictionaries(st.sampled_from(ERRORS), st.integers(1, (1 << 64) - 1), min_size=1)
            )
            row = f"   GUID 0x{row_guid:x} port {port}:" + "".join(
                counter(key, value, wide=wide) for key, value in values.items()
            )
            line += 1
            ports.append(
                PortErrors(
                    None if guid is None else Guid(guid),
                    Guid(row_guid),
                    name,
                    port,
                    values,
                    frozenset(values) if wide else frozenset(),
                    None,
                    line,
                    row,
                )
            )
            text += row + "\n"
    failures = draw(st.integers(0, 3))
    text += (
        f"\n## Summary: 9 nodes checked, {nodes} bad nodes found\n"
        f"##          99 ports checked, {len(ports)} ports have errors beyond threshold\n"
        "## Thresholds: \n"
    )
    if failures:
        text += f"##          {failures} PMA query failures\n"
    text += "## Suppressed: PortXmitWait\n"
    summary = Summary(9, nodes, 99, len(ports), "", failures, ("PortXmitWait",), line + 2)
    return text, QueryErrors(tuple(ports), summary, (), ())


@settings(max_examples=60, deadline=None)
@given(outputs())
def test_what_ibqueryerrors_renders_is_read_back(output):
    text, value = output

    assert parse(text) == value


@settings(max_examples=60, deadline=None)
@given(outputs(), st.data())
def test_a_cut_output_has_no_summary_and_invents_nothing(output, data):
    text, value = output
    cut = text[: data.draw(st.integers(0, len(text) - 1))]

    try:
        found = parse(cut)
    except ParseError:
        found = QueryErrors((), None, (), ())

    assert found.summary is None
    assert found.ports == value.ports[: len(found.ports)]


@st.composite
def data_outputs(draw):
    """(text, [(guid, port, counters, bits)]) of a random output of ``--counters``."""
    text, rows = "", []
    for guid in draw(st.lists(st.integers(1, (1 << 64) - 1), min_size=1, max_size=3)):
        name, ietf = draw(NAMES), draw(st.booleans())
        names = table.DATA_COUNTERS if ietf else table.DATA_COUNTERS[:4]
        text += f'Data Counters for 0x{guid:x} "{name}"\n'
        for port in range(draw(st.integers(1, 3))):
            values = {key: draw(st.integers(0, (1 << 64) - 1)) for key in names}
            text += f"   GUID 0x{guid:x} port {port}:" + "".join(
                f" [{key} == {value} (  infPB)]" for key, value in values.items()
            )
            text += "\n"
            wide = ietf or any(value >> 32 for value in values.values())
            rows.append((Guid(guid), port, values, 64 if wide else 32))
    text += (
        "\n## Summary: 9 nodes checked, 0 bad nodes found\n"
        f"##          {len(rows)} ports checked, 0 ports have errors beyond threshold\n"
        "## Thresholds: \n## Suppressed:\n"
    )
    return text, rows


def read(found):
    return [(row.guid, row.port, row.counters, row.bits) for row in found.data_blocks]


@settings(max_examples=40, deadline=None)
@given(data_outputs(), st.data())
def test_data_counters_are_read_back_and_a_cut_invents_none(output, data):
    text, rows = output
    cut = text[: data.draw(st.integers(0, len(text) - 1))]

    assert read(parse(text)) == rows
    try:
        found = parse(cut)
    except ParseError:
        found = QueryErrors((), None, (), ())
    assert found.summary is None
    assert read(found) == rows[: len(found.data_blocks)]


def shown(port):
    return (port.guid, str(port.port_guid), port.port, port.counters)


def test_capture_with_a_timeout_first(samples):
    found = parse(samples("ibqueryerrors", "timeout-line-first.txt"))

    assert found.summary is None
    assert found.warnings == (
        ParseWarning(
            1,
            "src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1,10,19 Attr 0x11:0) bad status "
            "110; Connection timed out",
        ),
    )
    (port,) = found.ports
    assert (port.name, port.port, str(port.guid)) == (
        "ibswh2 [255-B05] HDR-40",
        "ALL",
        "0xb8599f0300383ec0",
    )
    assert port.counters["PortXmitWait"] == 2417380683166
    assert port.counters["PortXmitData"] == 5044493407069892
    assert port.bits("SymbolErrorCounter") == 64
    assert "PortLocalPhysicalErrors" not in port.wide


def test_capture_with_infinite_units(samples):
    found = parse(samples("ibqueryerrors", "counters-mode-infpb-linkinfo.txt"))

    assert [
        (str(p.guid), p.port, p.bits, p.counters["PortXmitData"], p.counters["PortRcvPkts"])
        for p in found.data_blocks
    ] == [
        ("0xe41d2d03007c1820", 1, 64, 19892634015130, 54377490509),
        ("0xe41d2d03007c1820", 2, 64, 19182100903731, 40651644563),
    ]
    assert [p.link_info.split()[0] for p in found.data_blocks] == ["122", "123"]
    assert (found.ports, found.summary, found.warnings) == ((), None, ())


def test_capture_with_commas_and_addresses_in_a_name(samples):
    found = parse(samples("ibqueryerrors", "name-with-ips-and-comma.txt"))

    assert [(p.name, *shown(p)) for p in found.ports] == [
        (
            "exa2dbadm01 S 192.168.11.110,192.168.11.111 HCA-1",
            None,
            "0x0010e0000192ab51",
            1,
            {"VL15Dropped": 232, "PortXmitWait": 4294967295},
        )
    ]


def test_capture_with_saturated_counters(samples):
    found = parse(samples("ibqueryerrors", "summary-saturated.txt"))

    assert found.summary == Summary(4, 4, 43, 14, "", 0, (), 21)
    assert len(found.ports) == 15
    assert [p.port for p in found.ports if p.port in {"ALL", 0}] == ["ALL", 0]
    full = [
        (p.port, name)
        for p in found.ports
        for name, value in p.counters.items()
        if value == (1 << p.bits(name)) - 1
    ]
    assert sorted(name for _, name in full) == ["PortXmitWait"] * 8 + ["SymbolErrorCounter"] * 2
    assert shown(found.ports[0]) == (
        None,
        "0x7cfe900300179b31",
        1,
        {"VL15Dropped": 14, "PortXmitWait": 4294967295},
    )


@pytest.mark.parametrize("case", ["healthy-counters", "silent-switch-counters", "counters-links"])
def test_nodes_with_data_counters_are_those_of_the_rows(golden, case):
    text = golden("ibqueryerrors", case)

    assert data_nodes(text) == {block.guid for block in parse(text).data_blocks} != set()


def test_nodes_with_data_counters_have_a_header_of_their_own():
    assert data_nodes('Errors for 0x1 "a"\nx Data Counters for 0x2 "b"\n') == set()


UNITS = st.sampled_from(["", " (5.625KB)", " (  1.000)", " (inf)"])


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["PortXmitData", "PortRcvData", "PortXmitWait", "PortUnicastRcvPkts"]),
            st.tuples(st.integers(0, 2**64 - 1), UNITS),
            min_size=1,
        ),
        min_size=1,
        max_size=6,
    ),
)
def test_a_row_is_read_alike_whatever_rows_stand_above_it(rows):
    header = 'Data Counters for 0xa "A"\n'
    texts = [
        f"   GUID 0xa port {number}:"
        + "".join(f" [{name} == {value}{unit}]" for name, (value, unit) in row.items())
        + "\n"
        for number, row in enumerate(rows, 1)
    ]

    alone = [parse(header + text).data_blocks[0] for text in texts]
    together = parse(header + "".join(texts)).data_blocks
    assert [replace(row, line=0) for row in together] == [replace(row, line=0) for row in alone]

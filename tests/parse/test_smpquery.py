"""smpquery: dotted rows, the typed fields that matter, nothing guessed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibaccept.fabric.model import PortState, Rate
from ibaccept.parse import ParseError
from ibaccept.parse.smpquery import parse_nodedesc, parse_nodeinfo, parse_portinfo, parse_switchinfo

READERS = {
    "portinfo-switch": parse_portinfo,
    "portinfo-down": parse_portinfo,
    "portinfo-ca": parse_portinfo,
    "nodeinfo-switch": parse_nodeinfo,
    "nodeinfo-ca": parse_nodeinfo,
    "nodeinfo-directed": parse_nodeinfo,
    "switchinfo": parse_switchinfo,
    "nodedesc": parse_nodedesc,
}
FAILED = (
    ", line 1: the tool says that it failed, so nothing it printed can be used; run it by hand "
    "with the same arguments to see why: "
)
BROKEN = {
    "no-answer": (
        parse_nodeinfo,
        FAILED + "'smpquery: iberror: failed: operation nodeinfo: node info query failed'",
    ),
    "switchinfo-of-ca": (
        parse_switchinfo,
        FAILED + "'smpquery: iberror: failed: operation switchinfo: switch info query failed'",
    ),
    "cut-portinfo": (
        parse_portinfo,
        ", line 1: no LinkSpeedActive row: the output is cut; run it again",
    ),
    "cut-nodeinfo": (
        parse_nodeinfo,
        ", line 1: no VendorId row: the output is cut; run it again",
    ),
    "cut-switchinfo": (
        parse_switchinfo,
        ", line 1: no LinearFdbTop row: the output is cut; run it again",
    ),
    "cut-nodedesc": (
        parse_nodedesc,
        ", line 1: the last line is cut (no line end); run it again: "
        "'Node Description:.........leaf'",
    ),
}


@pytest.mark.parametrize("case", READERS)
def test_golden(case, golden, expected, plain):
    assert plain(READERS[case](golden("smpquery", case))) == expected("smpquery", case)


@pytest.mark.parametrize("case", BROKEN)
def test_broken_golden(case, golden):
    reader, message = BROKEN[case]

    with pytest.raises(ParseError) as caught:
        reader(golden("smpquery", case))

    assert str(caught.value) == f"smpquery output{message}"


def row(name, value):
    return f"{name + ':':.<33}{value}\n"


NODE = (
    "# Node info: Lid 1\n"
    + row("NodeType", "{type}")
    + row("NumPorts", "{ports}")
    + row("SystemGuid", "0x0000000000000001")
    + row("Guid", "0x0000000000000001")
    + row("PortGuid", "0x0000000000000002")
    + row("LocalPort", 1)
    + row("VendorId", "0x0002c9")
)


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (parse_portinfo, "hello\n", "line 1: expected '# Port info: ...': 'hello'"),
        (
            parse_nodeinfo,
            "# Switch info: Lid 2\n",
            "line 1: expected '# Node info: ...': '# Switch info: Lid 2'",
        ),
        (
            parse_nodeinfo,
            "# Node info: Lid 2\nhello world\n",
            "line 2: not a 'Key:...value' row: 'hello world'",
        ),
        (
            parse_nodeinfo,
            "# Node info: Lid 2\n" + row("Guid", "0x1") * 2,
            "line 3: the row is printed twice: 'Guid:............................0x1'",
        ),
        (
            parse_nodeinfo,
            NODE.format(type="Gateway", ports=1),
            "line 1: NodeType is 'Gateway', not one of Channel Adapter, Switch, Router",
        ),
        (
            parse_nodeinfo,
            NODE.format(type="Switch", ports="many"),
            "line 1: NumPorts is 'many', not a number",
        ),
        (
            parse_nodeinfo,
            NODE.replace("0x0000000000000002", "none").format(type="Switch", ports=1),
            "line 1: PortGuid: 'none' is not a GUID (1 to 16 hexadecimal digits)",
        ),
        (
            parse_portinfo,
            "# Port info: Lid 2\n" + row("Lid", 1),
            "line 1: the header lacks its port number",
        ),
        (
            parse_nodedesc,
            "Node Description:.......a\nNode Description:......b\n",
            "line 2: not one 'Node Description:...' line: 'Node Description:......b'",
        ),
    ],
)
def test_what_is_not_understood_is_named(reader, text, message):
    with pytest.raises(ParseError) as caught:
        reader(text)

    assert str(caught.value) == f"smpquery output, {message}"


@pytest.mark.parametrize("reader", [parse_portinfo, parse_nodeinfo, parse_switchinfo])
def test_noise_alone_is_an_error(reader):
    with pytest.raises(ParseError):
        reader("ibwarn: [1] x\n")


def speeds(golden, changes):
    text = golden("smpquery", "portinfo-ca")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return parse_portinfo(text)


def test_the_legacy_speed_alone_names_no_generation(golden):
    """An old libibmad prints no extended field, and 10.0 Gbps on an HDR link."""
    text = golden("smpquery", "portinfo-ca")
    old = "".join(line for line in text.splitlines(keepends=True) if "LinkSpeedExt" not in line)

    port = parse_portinfo(old)

    assert (port.rate, port.rate_text) == (None, "4X 10.0 Gbps")


def test_a_link_without_extended_speed_has_its_legacy_speed(golden):
    active = row("LinkSpeedExtActive", "53.125 Gbps")
    port = speeds(golden, {active: row("LinkSpeedExtActive", "No Extended Speed")})

    assert port.rate == Rate.parse("4X QDR")


def test_a_speed_newer_than_the_tool_has_no_rate(golden):
    active = row("LinkSpeedExtActive", "53.125 Gbps")
    port = speeds(golden, {active: row("LinkSpeedExtActive", "undefined (8)")})

    assert (port.rate, port.rate_text) == (None, "4X undefined (8)")


def test_a_state_that_is_not_known_has_no_rate(golden):
    port = speeds(golden, {row("LinkState", "Active"): row("LinkState", "ActDefer")})

    assert (port.state, port.rate) == (None, None)


def test_a_port_that_is_down_has_no_rate(golden):
    port = parse_portinfo(golden("smpquery", "portinfo-down"))

    assert (port.state, port.rate, port.rate_text) == (PortState.DOWN, None, "4X 2.5 Gbps")


@pytest.mark.parametrize("case", ["portinfo-ca", "nodeinfo-ca", "switchinfo"])
def test_a_cut_output_invents_nothing(case, golden):
    text = golden("smpquery", case)
    whole = READERS[case](text)

    for end in range(len(text)):
        try:
            found = READERS[case](text[:end])
        except ParseError:
            continue
        assert found.fields.items() <= whole.fields.items()


@settings(max_examples=60, deadline=None)
@given(st.from_regex(r"[^.\n\r\s][^\n\r]{0,62}", fullmatch=True))
def test_a_description_is_read_back(name):
    """``smpquery.c``: filled to 32 characters by dots, one dot for longer names."""
    text = f"Node Description:{'.' * max(32 - len(name), 1)}{name}\n"

    assert parse_nodedesc(text) == name


def test_captures_of_the_world(samples):
    assert parse_nodedesc(samples("smpquery", "nodedesc.txt")) == "b1nstcx02 HCA-1"

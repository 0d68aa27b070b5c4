"""perfquery: goldens of the lab, captures of the world's, and every way to cut them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibaccept.fabric import counters as table
from ibaccept.fabric.model import Lid
from ibaccept.parse import ParseError, ParseWarning
from ibaccept.parse.perfquery import CounterBlock, parse, row_text

BASIC = [
    "SymbolErrorCounter",
    "LinkErrorRecoveryCounter",
    "LinkDownedCounter",
    "PortRcvErrors",
    "PortRcvRemotePhysicalErrors",
    "PortRcvSwitchRelayErrors",
    "PortXmitDiscards",
    "PortXmitConstraintErrors",
    "PortRcvConstraintErrors",
    "CounterSelect2",
    "LocalLinkIntegrityErrors",
    "ExcessiveBufferOverrunErrors",
    "QP1Dropped",
    "VL15Dropped",
    "PortXmitData",
    "PortRcvData",
    "PortXmitPkts",
    "PortRcvPkts",
    "PortXmitWait",
]
EXTENDED = ["PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts"]
IETF = [
    "PortUnicastXmitPkts",
    "PortUnicastRcvPkts",
    "PortMulticastXmitPkts",
    "PortMulticastRcvPkts",
]
ADDITIONAL = [
    "SymbolErrorCounter",
    "LinkErrorRecoveryCounter",
    "LinkDownedCounter",
    "PortRcvErrors",
    "PortRcvRemotePhysicalErrors",
    "PortRcvSwitchRelayErrors",
    "PortXmitDiscards",
    "PortXmitConstraintErrors",
    "PortRcvConstraintErrors",
    "LocalLinkIntegrityErrors",
    "ExcessiveBufferOverrunErrors",
    "VL15Dropped",
    "PortXmitWait",
    "QP1Dropped",
]
BROKEN = {
    "no-answer": "line 1: the tool says that it failed, so nothing it printed can be used; "
    "run it by hand with the same arguments to see why: "
    "'perfquery: iberror: failed: classportinfo query'",
    "no-such-port": "line 1: the tool says that it failed, so nothing it printed can be used; "
    "run it by hand with the same arguments to see why: 'perfquery: iberror: failed: perfquery'",
    "cut-basic": "line 14: the last line is cut (no line end); run it again: "
    "'LocalLinkIntegrityEr'",
    "cut-extended": "line 1: the block is cut: PortMulticastRcvPkts, PortMulticastXmitPkts, "
    "PortUnicastRcvPkts not printed; run it again: "
    "'# Port extended counters: Lid 1 port 1 (CapMask: 0x1200 CapMask2: 0x0000000)'",
    "cut-loop": "line 12: the block is cut: PortMulticastRcvPkts, PortMulticastXmitPkts, "
    "PortRcvData, PortRcvPkts, PortUnicastRcvPkts, PortUnicastXmitPkts, PortXmitData, "
    "PortXmitPkts not printed; run it again: "
    "'# Port extended counters: Lid 2 port 2 (CapMask: 0x1300 CapMask2: 0x0000000)'",
}


@pytest.mark.parametrize(
    "case",
    [
        "all-ports",
        "extended",
        "extended-large",
        "faults",
        "healthy",
        "loop",
        "rcv-error-details",
        "xmit-discard-details",
    ],
)
def test_golden(case, golden, expected, plain):
    assert plain(parse(golden("perfquery", case))) == expected("perfquery", case)


@pytest.mark.parametrize("case", BROKEN)
def test_broken_golden(case, golden):
    with pytest.raises(ParseError) as caught:
        parse(golden("perfquery", case))

    assert str(caught.value) == f"perfquery output, {BROKEN[case]}"


def row(name, value, *, digits=None):
    text = str(value) if digits is None else f"0x{value:0{digits}x}"
    return f"{name + ':':.<33}{text}\n"


def render(header, port, values):
    """An output as perfquery's own format strings give it."""
    rows = [row("PortSelect", port), row("CounterSelect", 0, digits=4)]
    rows += [
        row(name, value, digits=2 if name == "CounterSelect2" else None)
        for name, value in values.items()
    ]
    return f"# {header}\n{''.join(rows)}"


def values_of(names, *, extended):
    return st.fixed_dictionaries(
        {
            name: st.integers(0, (1 << (table.bits(name, extended=extended) or 1)) - 1)
            if name != "CounterSelect2"
            else st.just(0)
            for name in names
        }
    )


@st.composite
def outputs(draw):
    """(text, blocks) of a random basic or extended output of one to three ports."""
    lid = draw(st.integers(1, 0xBFFF))
    cap = draw(st.integers(0, 0xFFFF))
    extended = draw(st.booleans())
    cap2 = draw(st.integers(0, 0x7FFFFFF)) if extended else None
    names = BASIC
    if extended:
        names = EXTENDED + (IETF if cap >> 9 & 1 else [])
        if cap2 >> 1 & 1:
            names = [*names, "CounterSelect2", *ADDITIONAL]
    text, blocks, line = "", [], 1
    for port in draw(st.lists(st.integers(0, 255), min_size=1, max_size=3)):
        values = draw(values_of(names, extended=extended))
        header = f"Port counters: Lid {lid} port {port} (CapMask: 0x{cap:02X})"
        if extended:
            header = (
                f"Port extended counters: Lid {lid} port {port} "
                f"(CapMask: 0x{cap:02X} CapMask2: 0x{cap2:07X})"
            )
        text += render(header, port, values)
        counted = {name: value for name, value in values.items() if name != "CounterSelect2"}
        blocks.append(
            CounterBlock(
                "extended" if extended else "basic",
                Lid(lid),
                port,
                cap,
                cap2,
                counted,
                table.unmeasured(frozenset(counted), cap, cap2, extended=extended),
                line,
            )
        )
        line += 3 + len(values)
    return text, tuple(blocks)


@settings(max_examples=60, deadline=None)
@given(outputs())
def test_what_perfquery_renders_is_read_back(output):
    text, blocks = output

    found = parse(text)
    assert found == blocks
    # every counter knows its own line, and how perfquery wrote it there
    lines = text.splitlines()
    rows = {
        (block.port, name): lines[number - 1]
        for block in found
        for name, number in block.lines.items()
    }
    assert rows == {
        (block.port, name): row_text(name, value)
        for block in found
        for name, value in block.counters.items()
    }


@settings(max_examples=60, deadline=None)
@given(outputs(), st.data())
def test_a_cut_output_is_an_error_or_whole_blocks(output, data):
    text, blocks = output
    cut = text[: data.draw(st.integers(0, len(text)))]

    try:
        found = parse(cut)
    except ParseError:
        found = ()

    assert found == blocks[: len(found)]


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="# Port counters: Lid 1 port 2 (CapMask: 0x10)\nSymbolErrorCounter:.7"))
def test_garbage_never_raises_anything_else(text):
    try:
        blocks = parse(text)
    except ParseError:
        blocks = ()

    assert all(block.counters for block in blocks)


HEALTHY = dict.fromkeys(BASIC, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nothing was printed; its stderr and exit code say why, then run it again"),
        ("timestamp 1\n", "no '# ... counters:' header was seen; see its stderr and exit code"),
        (
            "New:.............................1\n",
            "a line before the first '# ... counters:' header: "
            "'New:.............................1'",
        ),
        (
            render("Port counters: Lid 2 port 3", 4, HEALTHY),
            "the header says port 3, PortSelect says 4: '# Port counters: Lid 2 port 3'",
        ),
        (
            render("Port counters: Lid 2 port 3", 3, HEALTHY | {"VL15Dropped": 65536}),
            "VL15Dropped = 65536 does not fit its 16 bits: '# Port counters: Lid 2 port 3'",
        ),
        (
            render("Port counters: Lid 2 port 3", 3, HEALTHY) + row("VL15Dropped", 0),
            "the counter is printed twice in one block: 'VL15Dropped:.....................0'",
        ),
        (
            render("Port counters: Lid 2 port 3", 3, HEALTHY)
            + "New:.............................\n",
            "not a 'Counter:...value' row: 'New:.............................'",
        ),
        (
            render("Port counters: Lid 2 port 3", 3, HEALTHY) + "New:....1\n",
            "dots are missing from the row, so its text was altered: 'New:....1'",
        ),
        (
            render("Port counters: Lid 2 port 3", 3, HEALTHY) + row("New", 1, digits=4),
            "a counter value is decimal: 'New:.............................0x0001'",
        ),
        (
            render("Port counters: somewhere", 3, HEALTHY),
            "not a '# ... counters: Lid N port N' header: '# Port counters: somewhere'",
        ),
    ],
)
def test_what_is_not_understood_is_named(text, message):
    with pytest.raises(ParseError) as caught:
        parse(text)

    assert str(caught.value).split(": ", 1)[1] == message


def test_basic_wait_without_its_capability_bit_is_not_measured():
    (block,) = parse(render("Port counters: Lid 2 port 3 (CapMask: 0x300)", 3, HEALTHY))

    assert block.unsupported == {"PortXmitWait", "QP1Dropped"}


def test_extended_set_of_a_port_without_it_is_not_measured():
    text = render(
        "Port extended counters: Lid 2 port 3 (CapMask: 0x100 CapMask2: 0x0000000)",
        3,
        dict.fromkeys(EXTENDED, 0),
    )

    (block,) = parse(text)

    assert block.unsupported == frozenset(EXTENDED)


@pytest.mark.parametrize(
    ("masks", "unsupported"),
    [
        ("(CapMask: 0x1000)", EXTENDED),
        ("(CapMask: 0x1000 CapMask2: 0x0000000)", EXTENDED),
        ("(CapMask: 0x1400)", []),
        ("(CapMask: 0x1400 CapMask2: 0x0000000)", []),
        ("", []),
    ],
)
def test_zeros_of_the_extended_set_are_measured_only_where_it_is_there(masks, unsupported):
    """An older perfquery prints no CapMask2; without CapMask nothing can be said."""
    text = render(f"Port extended counters: Lid 2 port 3 {masks}", 3, dict.fromkeys(EXTENDED, 0))
    cap = int(masks[12:16], 16) if masks else None

    assert parse(text) == (
        CounterBlock(
            "extended", Lid(2), 3, cap, 0 if "CapMask2" in masks else None,
            dict.fromkeys(EXTENDED, 0), frozenset(unsupported), 1,
        ),
    )  # fmt: skip


def test_names_of_the_first_ofed_are_todays():
    old = {today: name for name, today in table.HISTORIC_NAMES.items()}
    names = {old.get(name, name): 7 for name in HEALTHY if name[:8] not in {"CounterS", "PortXmit"}}
    names |= {"XmtDiscards": 7, "XmtConstraintErrors": 7, "XmtBytes": 7, "XmtPkts": 7}

    (block,) = parse(render("Port counters: Lid 0x2 port 3", 3, names))

    assert (block.lid, block.port, block.kind) == (2, 3, "basic")
    assert block.counters == {
        name: 7 for name in HEALTHY if name not in {"CounterSelect2", "PortXmitWait"}
    }
    assert block.printed["PortXmitData"] == "XmtBytes"
    assert block.printed["PortRcvData"] == "RcvBytes"


def test_widths_are_those_of_the_set(golden):
    (basic,) = parse(golden("perfquery", "faults"))
    (extended,) = parse(golden("perfquery", "extended"))
    (details,) = parse(golden("perfquery", "rcv-error-details"))

    assert basic.bits("SymbolErrorCounter") == 16
    assert basic.bits("PortXmitData") == 32
    assert extended.bits("PortXmitData") == 64
    assert details.bits("PortLocalPhysicalErrors") is None


def facts(block):
    return (
        block.kind,
        block.lid,
        block.port,
        block.cap_mask,
        block.cap_mask2,
        len(block.counters),
        sum(block.counters.values()),
    )


def test_captures_of_the_world(samples):
    """The facts of samples/INDEX.md; the sum of the counters stands for each of them."""
    read = {
        name: tuple(map(facts, parse(samples("perfquery", f"{name}.txt"))))
        for name in (
            "old-short-names",
            "rcverr-details-lid1719-port2",
            "x-all-zero",
            "x-header-wrapped-by-mail",
            "x-lid2052-port1",
            "x-loop-lid1719-two-ports",
            "x-old-with-timestamp-line",
        )
    }

    assert read == {
        "old-short-names": (("basic", 936, 1, None, None, 16, 3366716627),),
        "rcverr-details-lid1719-port2": (("PortRcvErrorDetails", 1719, 2, None, None, 6, 0),),
        "x-all-zero": (("extended", 10, 1, 0x5300, 2, 22, 0),),
        "x-header-wrapped-by-mail": (("extended", 21, 1, 0x1600, 0, 19, 2363287150794),),
        "x-lid2052-port1": (("extended", 2052, 1, 0x5300, 2, 22, 359115539984738),),
        "x-loop-lid1719-two-ports": (
            ("extended", 1719, 1, 0x5300, 2, 22, 48845069792522),
            ("extended", 1719, 2, 0x5300, 2, 22, 65518691020244),
        ),
        "x-old-with-timestamp-line": (("extended", 214, 35, None, None, 8, 768305055238),),
    }
    (wrapped,) = parse(samples("perfquery", "x-header-wrapped-by-mail.txt"))
    assert wrapped.unsupported == frozenset(ADDITIONAL) - {
        "VL15Dropped",
        "PortXmitWait",
        "QP1Dropped",
    }
    for name in read:
        for block in parse(samples("perfquery", f"{name}.txt")):
            assert not block.unsupported & set(table.DATA_COUNTERS), name
    (stamped,) = parse(samples("perfquery", "x-old-with-timestamp-line.txt"))
    assert stamped.warnings == (ParseWarning(12, "timestamp 1264494583.110014"),)


def test_capture_with_error_text_only(samples):
    with pytest.raises(ParseError) as caught:
        parse(samples("perfquery", "error-failed-to-open-port.txt"))

    assert (caught.value.line, caught.value.text) == (
        2,
        "perfquery: iberror: failed: Failed to open '(null)' port '0'",
    )

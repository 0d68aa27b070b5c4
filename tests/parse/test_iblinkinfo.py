"""``iblinkinfo``: what the tool printed in the ibsim lab, and what others captured."""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ibaccept.fabric.model import Guid, Lid, NodeType, PhysState, PortState, Speed, Width
from ibaccept.parse import ParseError, ParseWarning
from ibaccept.parse.iblinkinfo import LinkRow, parse

GOLDEN = Path(__file__).parent / "golden" / "iblinkinfo"
SAMPLES = Path(__file__).resolve().parents[2] / "../shared/samples"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="shared/ is not beside the project")
CASES = sorted(path.stem for path in GOLDEN.glob("*.yaml"))


def read(path):
    """The text as a transport gives it: no newline translation."""
    return path.read_bytes().decode("utf-8", "surrogateescape")


def plain(value):
    """A parsed value as YAML can hold it; a key that is absent is None, raw lines are left out."""
    if dataclasses.is_dataclass(value):
        fields = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
        return {
            name: plain(item)
            for name, item in fields
            if item is not None and not (name == "text" and isinstance(value, LinkRow))
        }
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, NodeType | PortState | PhysState):
        return value.value
    if isinstance(value, Guid | enum.Enum):
        return str(value)
    return int(value) if isinstance(value, Lid) else value


def test_every_golden_sample_has_its_expected_value():
    texts = {path.stem for path in GOLDEN.glob("*.txt")}

    assert texts == {*CASES, "cut"}
    assert len(CASES) == 9


@pytest.mark.parametrize("case", CASES)
def test_golden(case):
    text = read(GOLDEN / f"{case}.txt")
    info = parse(text)

    assert plain(info) == yaml.safe_load((GOLDEN / f"{case}.yaml").read_text())
    assert [row.text for row in info.rows] == [text.split("\n")[row.line - 1] for row in info.rows]


def test_both_modes_show_the_same_ports():
    """Normal mode lacks the GUIDs of peers, ``--line`` the node types; the rest is the same."""
    normal = parse(read(GOLDEN / "mixed-speeds.txt"))
    line = parse(read(GOLDEN / "line-mixed-speeds.txt"))

    def common(info):
        return {
            dataclasses.replace(row, node_type=None, remote_guid=None, line=0, text="")
            for row in info.rows
        }

    assert common(normal) == common(line)
    assert len(common(line)) == 22


def test_cut_in_the_last_line():
    text = read(GOLDEN / "cut.txt")

    with pytest.raises(ParseError) as caught:
        parse(text)

    assert (caught.value.tool, caught.value.line) == ("iblinkinfo", text.count("\n") + 1)


SWITCH = "Switch: 0x0000000000000002 s:\n"
UP = (
    '           9    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       3    1[  ] "n" ( )\n'
)
DOWN = '           9    2[  ] ==(                Down/ Polling)==>             [  ] "" ( )\n'


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no row of a port"),
        (SWITCH, None, "no row of a port"),
        ("what is this 7\n", 1, "not understood"),
        (SWITCH + UP[:-3], 2, "cut"),
        (SWITCH + UP.replace("( )", "(Could be FDR10 (Found link at QDR)"), 2, "cut"),
        (SWITCH + UP.replace("Active", "Actives"), 2, "not a port state"),
        (SWITCH + UP.replace("4X  ", "many"), 2, "not understood"),
        (SWITCH + UP + "iblinkinfo: iberror: failed: discover failed\n", 3, "the sweep failed"),
        ("Switch: 0x0000000000000002 s", 1, "not understood"),
    ],
)
def test_refused(text, line, message):
    with pytest.raises(ParseError, match=message) as caught:
        parse(text)

    assert (caught.value.tool, caught.value.line) == ("iblinkinfo", line)


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        (" 4X undefined (8) Active/  LinkUp", (Width.X4, None, "4X undefined (8)")),
        (
            "undefined (16) 53.125 Gbps Active/LinkUp",
            (None, Speed.HDR, "undefined (16) 53.125 Gbps"),
        ),
        (" 4X  ???  Active/ LinkUp", (Width.X4, None, "4X ???")),
        (" 4X 10.0 Gbps (FDR10) Active/  LinkUp", (Width.X4, Speed.FDR10, "4X 10.0 Gbps (FDR10)")),
        (" 4X 2.5 Gbps   Down/ Polling", (None, None, "4X 2.5 Gbps")),
    ],
)
def test_rates(link, expected):
    """A speed the tool cannot name is not seen, and a rate printed for a down port is a default."""
    (row,) = parse(SWITCH + UP.replace(" 4X        53.125 Gbps Active/  LinkUp", link)).rows

    assert (row.width, row.speed, row.rate_text) == expected


def test_labels_states_and_hints():
    text = (
        SWITCH + "           9    3[ 7] ==( 4X          10.0 Gbps Armed/PortConfigurationTraining)"
        '==>   65535   12[18] "a" (b" (Could be 12X Could be FDR10 (Found link at QDR but expected '
        "speed is FDR10))\r\n"
    )  # fmt: skip

    (row,) = parse(text).rows
    assert row == LinkRow(
        NodeType.SWITCH, Guid(2), "s", Lid(9), 3, "7", Width.X4, Speed.QDR, "4X 10.0 Gbps",
        PortState.ARMED, PhysState.TRAINING, None, None, 12, "18", 'a" (b',
        ("Could be 12X", "Could be FDR10 (Found link at QDR but expected speed is FDR10)"),
        2, text.split("\n")[1].rstrip("\r"),
    )  # fmt: skip


def test_a_row_is_not_given_to_the_node_before_it():
    """A lost header: another LID, a port that does not ascend, or a row of the other kind."""
    other = UP.replace("   9    1", "   8    2")
    ca = UP.replace("           9", "      0x0000000000000031      3")

    info = parse(SWITCH + UP + other + SWITCH + DOWN + UP + SWITCH + ca + "CA: n:\n" + ca + ca)

    shown = [(row.guid, row.name, row.port) for row in info.rows]
    assert shown == [
        (Guid(2), "s", 1),
        (None, None, 2),
        (Guid(2), "s", 2),
        (None, None, 1),
        (Guid(0x31), None, 1),
        (Guid(0x31), "n", 1),
        (Guid(0x31), None, 1),
    ]
    assert [warning.line for warning in info.warnings] == [3, 6, 8, 11]


def test_noise_is_kept():
    noise = "ibwarn: [77] _do_madrpc: send failed"

    info = parse(noise + "\n" + SWITCH + UP)

    assert info.warnings == (ParseWarning(1, noise),)


# -- random rows in the tool's own format strings ------------------------------------------------

names = st.one_of(
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=34),
    st.sampled_from(['"', 'a" (b', "#", "[1]", "a:b:", " b ", "==>", "x)==>", ""]),
)
SPEEDS = {
    **{f"{speed.lane_printed} Gbps": speed for speed in Speed if speed is not Speed.FDR10},
    "10.0 Gbps (FDR10)": Speed.FDR10,
    "undefined (8)": None,
}


@st.composite
def outputs(draw):
    """``(text, rows)`` of either mode; every node has another LID and starts at port 1."""
    line_mode = draw(st.booleans())
    settings_shown = draw(st.booleans())
    lines, rows = [], []
    for number in range(1, draw(st.integers(1, 4)) + 1):
        switch = draw(st.booleans())
        guid, name, lid = 0x100 * number, draw(names), 10 * number
        if not line_mode:
            shown = f"Switch: 0x{guid:016x} {name}:" if switch else f"CA: {name}:"
            lines += [shown]
        for port in range(1, draw(st.integers(1, 3)) + 1):
            own = guid if switch else guid + port
            own_lid = lid if switch else lid + port
            label = draw(st.sampled_from(["", "7", "12"]))
            state = draw(st.sampled_from(PortState))
            phys = draw(st.sampled_from(PhysState))
            width = draw(st.sampled_from(Width))
            speed = draw(st.sampled_from(sorted(SPEEDS)))
            down = state is PortState.DOWN
            link = f"({'':14}{state.value:>6}/{phys.value:>8})"
            if not down:
                link = f"({width!s:>3} {speed:>18} {state.value:>6}/{phys.value:>8})"
                link += " (HOQ:16 VL_Stall:7)" if settings_shown else ""
            peer = not down and draw(st.booleans())
            far_guid, far_port, far_name = draw(st.integers(1, 2**64 - 1)), 3, draw(names)
            hint = draw(st.sampled_from(["", "Could be 12X"]))
            far = '           [  ] "" ( )' if down else '    "Port not available"'
            if peer:
                far = f"0x{far_guid:016x} " if line_mode else ""
                far += f'{77:6} {far_port:4}[{"":>2}] "{far_name}" ({hint} )'
            start = " " * 6 + ("" if switch else f"0x{own:016x} ")
            if line_mode:
                start = f'0x{own:016x} "{name:>30}" '
            lines += [f"{start}{own_lid:6} {port:4}[{label:>2}] =={link}==>  {far}"]
            rows += [
                LinkRow(
                    None if line_mode else NodeType.SWITCH if switch else NodeType.CA,
                    Guid(own), name.strip(), Lid(own_lid), port, label or None,
                    None if down else width, None if down else SPEEDS[speed],
                    "" if down else f"{width} {speed}", state, phys,
                    Guid(far_guid) if peer and line_mode else None,
                    Lid(77) if peer else None, far_port if peer else None, None,
                    far_name if peer else None, (hint,) if peer and hint else (),
                    len(lines), lines[-1],
                )
            ]  # fmt: skip
    return "\n".join(lines) + "\n", tuple(rows)


def no_more_than(text, rows):
    """Each row read is one of the whole text's rows, or one that says less."""
    try:
        part = parse(text)
    except ParseError:
        return
    whole = {row.text: row for row in rows}
    for row in part.rows:
        known = dataclasses.replace(whole[row.text], line=row.line)
        less = dataclasses.replace(known, node_type=None, name=None)
        assert row in (known, less, dataclasses.replace(less, guid=None))


@given(outputs())
def test_what_is_printed_is_what_is_read(output):
    text, rows = output

    assert parse(text).rows == rows
    assert parse(text).warnings == ()


@settings(max_examples=60)
@given(outputs(), st.data())
def test_a_cut_text_never_says_more(output, data):
    text, rows = output

    no_more_than(text[: data.draw(st.integers(0, len(text)))], rows)


@settings(max_examples=60)
@given(outputs(), st.data())
def test_a_lost_line_never_says_more(output, data):
    text, rows = output
    lines = text.split("\n")
    lost = data.draw(st.integers(0, len(lines) - 1))

    no_more_than("\n".join(lines[:lost] + lines[lost + 1 :]), rows)


# -- captures of others -------------------------------------------------------------------------


@needs_samples
@pytest.mark.parametrize(
    ("file", "rows", "types"),
    [
        ("ddr-back-to-back", {("4X 5.0 Gbps", Speed.DDR, "Active", "LinkUp"): 2}, {"Ca": 2}),
        (
            "edr-grepped-no-headers",
            {("4X 25.78125 Gbps", Speed.EDR, "Active", "LinkUp"): 6},
            {None: 6},
        ),
        (
            "hdr-one-switch-41port",
            {
                ("4X 53.125 Gbps", Speed.HDR, "Active", "LinkUp"): 44,
                ("", None, "Down", "Polling"): 19,
            },
            {"Ca": 22, "Switch": 41},
        ),
        (
            "line-could-be-12x-and-10gbps",
            {
                ("4X 2.5 Gbps", Speed.SDR, "Active", "LinkUp"): 1,
                ("", None, "Down", "Polling"): 1,
            },
            {None: 2},
        ),
        (
            "line-edr",
            {
                ("4X 25.78125 Gbps", Speed.EDR, "Active", "LinkUp"): 3,
                ("", None, "Down", "Polling"): 1,
            },
            {None: 4},
        ),
    ],
)
def test_captures(file, rows, types):
    info = parse(read(SAMPLES / "iblinkinfo" / f"{file}.txt"))

    assert info.warnings == ()
    assert (
        Counter(
            (row.rate_text, row.speed, row.state.value, row.phys and row.phys.value)
            for row in info.rows
        )
        == rows
    )
    assert Counter(row.node_type and row.node_type.value for row in info.rows) == types


@needs_samples
def test_rows_without_headers_keep_their_own_guids():
    info = parse(read(SAMPLES / "iblinkinfo/edr-grepped-no-headers.txt"))

    assert [
        (row.guid, row.lid, row.port, row.remote_lid, row.remote_port) for row in info.rows
    ] == [
        (Guid(0xEC0D9A03003D62BE), 4, 1, 2, 17),
        (Guid(0x248A070300928186), 3, 1, 2, 36),
        (None, 2, 17, 4, 1),
        (None, 2, 18, 1, 1),
        (None, 2, 36, 3, 1),
        (Guid(0xEC0D9A03003D677A), 1, 1, 2, 18),
    ]


@needs_samples
def test_hints_of_a_capture():
    up, down = parse(read(SAMPLES / "iblinkinfo/line-could-be-12x-and-10gbps.txt")).rows

    assert (up.name, up.hints) == ("hxa-su2-leaf-r2", ("Could be 12X", "Could be 10.0 Gbps"))
    assert (down.hints, down.remote_name) == ((), None)

"""sminfo: one line, or nobody answered."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibaccept.fabric.model import Guid, Lid
from ibaccept.parse import ParseError
from ibaccept.parse.sminfo import NoAnswerError, SmInfo, parse

NAMES = ["SMINFO_NOTACT", "SMINFO_DISCOVER", "SMINFO_STANDBY", "SMINFO_MASTER"]


@pytest.mark.parametrize("case", ["master", "second-master", "standby"])
def test_golden(case, golden, expected, plain):
    assert plain(parse(golden("sminfo", case))) == expected("sminfo", case)


@pytest.mark.parametrize("case", ["no-sm", "no-sm-at-lid"])
def test_nobody_answered(case, golden):
    with pytest.raises(NoAnswerError) as caught:
        parse(golden("sminfo", case))

    assert str(caught.value) == (
        "sminfo output, line 1: no subnet manager answered; check that one runs and that this "
        "port is cabled to it: 'sminfo: iberror: failed: query'"
    )


def test_a_port_that_cannot_be_opened_is_not_a_fabric_without_master():
    with pytest.raises(ParseError) as caught:
        parse("sminfo: iberror: failed: Failed to open '(null)' port '0'\n")

    assert type(caught.value) is ParseError


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "output: nothing was printed; its stderr and exit code say why, then run it again"),
        (
            "sminfo: sm lid 1\n",
            "output, line 1: not an sminfo line: 'sminfo: sm lid 1'",
        ),
        (
            "sminfo: sm lid 0 sm guid 0x1, activity count 1 priority 1 state 3 SMINFO_MASTER\n",
            "output, line 1: 0 is not a LID a port can own: 'sminfo: sm lid 0 sm guid 0x1, "
            "activity count 1 priority 1 state 3 SMINFO_MASTER'",
        ),
        (
            "sminfo: sm lid 1 sm guid 0x1, activity count 1 priority 1 state 2 SMINFO_MASTER\n",
            "output, line 1: the state's number and name disagree: 'sminfo: sm lid 1 sm guid 0x1, "
            "activity count 1 priority 1 state 2 SMINFO_MASTER'",
        ),
        (
            "sminfo: sm lid 1 sm guid 0x1, activity count 1 priority 1\n" * 2,
            "output, line 2: a second sminfo line: "
            "'sminfo: sm lid 1 sm guid 0x1, activity count 1 priority 1'",
        ),
        (
            "ibwarn: [1] mad_rpc: _do_madrpc failed; dport (Lid 2)\n",
            "output: no sminfo line was seen; see its stderr and exit code",
        ),
    ],
)
def test_what_is_not_understood_is_named(text, message):
    with pytest.raises(ParseError) as caught:
        parse(text)

    assert str(caught.value) == f"sminfo {message}"


def test_nobody_answered_is_told_apart_also_when_started_by_its_path():
    """Sudo starts a tool by its path, and the tool calls itself by what it was started as."""
    for tool in ("sminfo", "/usr/sbin/sminfo"):
        with pytest.raises(NoAnswerError) as caught:
            parse(f"ibwarn: [1] mad_rpc: failed\n{tool}: iberror: failed: query\n")

        assert str(caught.value) == (
            "sminfo output, line 2: no subnet manager answered; check that one runs and that this "
            f"port is cabled to it: '{tool}: iberror: failed: query'"
        )


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 0xBFFF),
    st.integers(0, (1 << 64) - 1),
    st.integers(0, (1 << 32) - 1),
    st.integers(0, 15),
    st.integers(0, 15),
    st.data(),
)
def test_rendered_is_read_back_and_cut_is_an_error(lid, guid, activity, priority, state, data):
    name = NAMES[state] if state < len(NAMES) else "???"
    text = (
        f"sminfo: sm lid {lid} sm guid 0x{guid:x}, activity count {activity} "
        f"priority {priority} state {state} {name}\n"
    )

    assert parse(text) == SmInfo(Lid(lid), Guid(guid), activity, priority, state, name, 1)
    with pytest.raises(ParseError):
        parse(text[: data.draw(st.integers(0, len(text) - 1))])


def test_captures_of_the_world(samples):
    new = parse(samples("sminfo", "master-priority14.txt"))
    old = parse(samples("sminfo", "old-hex-lid-no-state.txt"))

    assert new == SmInfo(Lid(37), Guid(0x7CFE90030016AEF1), 4484381, 14, 3, "SMINFO_MASTER", 1)
    assert old == SmInfo(Lid(1), Guid(0x0002C9010B7C2AE1), 20, 1, None, None, 1)

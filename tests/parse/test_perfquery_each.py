"""Outputs of perfquery for many switches: each whole, with its own time, exit code and place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.parse import ParseError
from ibaccept.parse.perfquery_each import Each, parse

WORDS = st.text(st.characters(min_codepoint=32, max_codepoint=0x7E), max_size=20).filter(
    lambda line: not line.startswith("# ibaccept")
)
PART = st.tuples(
    st.integers(1, 0xBFFF), st.integers(0, 255), st.lists(WORDS, max_size=4), st.integers(0, 10**9)
)


@given(st.lists(PART, min_size=1, max_size=4))
def test_what_is_printed_is_split(parts):
    text, expected, line = "", [], 1
    for lid, code, lines, time in parts:
        body = "".join(f"{one}\n" for one in lines)
        text += f"# ibaccept begin {lid} {time}.5\n{body}# ibaccept end {lid} {code} {time}.75\n"
        expected.append(Each(lid, code, time + 0.5, time + 0.75, body, line + 1))
        line += 2 + len(lines)

    assert parse(text) == tuple(expected)


def test_what_was_ended_has_no_exit_code():
    text = "# ibaccept begin 2 5.\nPort\n# ibaccept end 2 0 6.%N\n# ibaccept begin 3 7\nPortXm"

    assert parse(text) == (
        Each(2, 0, 5.0, 7.0, "Port\n", 2),
        Each(3, None, 7.0, None, "PortXm\n", 5),
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("hello\n", 1),
        ("# ibaccept end 2 0 6\n", 1),
        ("# ibaccept begin 2 5\n# ibaccept end 3 0 6\n", 2),
        ("# ibaccept begin 2 5\n# ibaccept begin 3 6\n", 2),
        ("# ibaccept begin 2 5\n# ibaccept end 2 0 6\nmore\n", 3),
    ],
)
def test_marks_that_do_not_follow_each_other(text, line):
    with pytest.raises(ParseError, match=f"line {line}") as caught:
        parse(text)

    assert "not where its marks 'begin LID' and 'end LID' are" in str(caught.value)


def test_nothing_is_an_error():
    with pytest.raises(ParseError, match="nothing was printed"):
        parse(" \n")

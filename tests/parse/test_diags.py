"""What the tools of infiniband-diags have in common."""

from hypothesis import given
from hypothesis import strategies as st

from ibaccept.parse.diags import ErrorLine, error_lines

TIMEOUT = (
    "src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1,13,22 Attr 0x11:0) bad status 110; "
    "Connection timed out"
)


def test_the_directed_route_of_a_failed_query():
    assert error_lines(f"\n{TIMEOUT}\n") == (ErrorLine(2, TIMEOUT, TIMEOUT, True, (1, 13, 22)),)


def test_a_line_without_a_route():
    text = "ibwarn: [4711] get_node: node info failed on Lid 5\nusing port 1\n"

    assert error_lines(text) == (
        ErrorLine(
            1, text.split("\n", maxsplit=1)[0], "ibwarn: get_node: node info failed on Lid 5", True
        ),
        ErrorLine(2, "using port 1", "using port 1", False),
    )


@given(st.text())
def test_any_standard_error_is_read(text):
    lines = text.splitlines()

    assert [(said.line, said.text) for said in error_lines(text)] == [
        (number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()
    ]

"""ss: who listens."""

import pytest

from ibaccept.parse import ParseError, ss
from ibaccept.parse.ss import ListeningSocket

HEADER = "State  Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess\n"


@pytest.mark.parametrize("case", ["sshd-only"])
def test_golden(golden, expected, plain, case):
    assert plain(ss.parse(golden("ss", case))) == expected("ss", case)


def test_ss_addresses():
    """IPv4, IPv6 with its zone, any; and the process column where root asked."""
    text = HEADER + (
        "LISTEN 0      128          0.0.0.0:22         0.0.0.0:*\n"
        "LISTEN 0      1                  *:18515             *:*    \n"
        'LISTEN 0      5      [fe80::1]%ib0:18601          [::]:*    users:(("x",pid=7,fd=3))\n'
    )

    assert ss.parse(text) == (
        ListeningSocket("0.0.0.0", 22),  # noqa: S104 - what is read, nothing binds
        ListeningSocket("*", 18515),
        ListeningSocket("fe80::1%ib0", 18601),
    )
    assert ss.listening_ports(ss.parse(text)) == {22, 18515, 18601}
    assert ss.parse(HEADER) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ss output: nothing was printed; its stderr and exit code say why, then run it again"),
        (HEADER[10:], "ss output, line 1: not the header of 'ss -ltn'"),
        (
            HEADER + "ESTAB  0  0  10.0.0.1:22  10.0.0.2:4711\n",
            "ss output, line 2: not a row of a listening socket",
        ),
        (
            HEADER + "LISTEN 0  0  10.0.0.1:99999  0.0.0.0:*\n",
            "ss output, line 2: not a row of a listening socket",
        ),
        (HEADER + "LISTEN 0  0  10.0.0.1:1", "ss output, line 2: the last line is cut"),
    ],
)
def test_ss_not_understood(text, message):
    """An error, never "nothing listens"."""
    with pytest.raises(ParseError) as raised:
        ss.parse(text)

    assert str(raised.value).startswith(message)

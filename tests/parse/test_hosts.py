"""What a host tells of itself: listening ports, memory, PCIe links."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.parse import ParseError, lspci, meminfo, ss
from ibaccept.parse.lspci import PcieFunction, PcieLink
from ibaccept.parse.ss import ListeningSocket

HEADER = "State  Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess\n"


@pytest.mark.parametrize("tool", [("ss", "sshd-only"), ("meminfo", "small-host")])
def test_golden(golden, expected, plain, tool):
    """What a Debian 12 host printed."""
    module = {"ss": ss, "meminfo": meminfo}[tool[0]]

    assert plain(module.parse(golden(*tool))) == expected(*tool)


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


MEMINFO = "MemTotal: {} kB\nMemFree: 2 kB\nBuffers: 3 kB\nCached: 4 kB\n"


@given(st.integers(1, 1 << 40))
def test_meminfo(total):
    """kB is 1024 bytes; what an old kernel does not print is not known."""
    assert meminfo.parse(MEMINFO.format(total)) == meminfo.MemInfo(
        total << 10, 2048, 4096, 3072, None, 0
    )


def test_meminfo_huge_pages():
    """Memory that the page cache cannot have."""
    text = MEMINFO.format(1 << 20) + "HugePages_Total:     100\nHugepagesize:       2048 kB\n"

    assert meminfo.parse(text).huge_pages == 100 * (2 << 20)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MemFree: 2 kB\n", "meminfo output: there is no MemTotal; the file is not whole"),
        ("MemTotal: 2\n", "meminfo output: MemTotal has no unit"),
        (
            MEMINFO.format(0),
            "meminfo output: MemTotal is 0, so no cache can be told from it",
        ),
        (
            "MemTotal: x kB\n",
            "meminfo output, line 1: not a 'Name: value kB' row: 'MemTotal: x kB'",
        ),
        (
            "MemTotal: 2 kB\nMemTotal: 2 kB\n",
            "meminfo output, line 2: the row comes twice: 'MemTotal: 2 kB'",
        ),
    ],
)
def test_meminfo_not_understood(text, message):
    """An error that says what is missing."""
    with pytest.raises(ParseError) as raised:
        meminfo.parse(text)

    assert str(raised.value) == message


LSPCI = """\
00:00.0 Host bridge: Intel Corporation Device 09a2
\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x1 (downgraded)
1a:00.0 Infiniband controller: Mellanox Technologies MT28908 Family [ConnectX-6]
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported
\t\tLnkCtl:\tASPM Disabled
\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x8 (downgraded)
\t\tLnkCap2: Supported Link Speeds: 2.5-16GT/s
1a:00.1 Infiniband controller: Mellanox Technologies MT28908 Family [ConnectX-6 Virtual Function]
\tCapabilities: <access denied>
"""


def test_lspci():
    """An HCA below what it could be, and one that shows nothing."""
    name = "Mellanox Technologies MT28908 Family [ConnectX-6"
    kind = "Infiniband controller"

    assert lspci.parse(LSPCI) == (
        PcieFunction("1a:00.0", kind, name + "]", PcieLink(16, 16), PcieLink(8, 8)),
        PcieFunction("1a:00.1", kind, name + " Virtual Function]", None, None),
    )
    assert str(PcieLink(2.5, 8)) == "2.5GT/s x8"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            LSPCI.replace("Speed 8GT/s", "Speed fast"),
            "lspci output, line 6: not a PCIe link: "
            "'LnkSta:\\tSpeed fast (downgraded), Width x8 (downgraded)'",
        ),
        ("pcilib: no\n", "lspci output, line 1: a line before the first function: 'pcilib: no'"),
    ],
)
def test_lspci_not_understood(text, message):
    """An error that names the line."""
    with pytest.raises(ParseError) as raised:
        lspci.parse(text)

    assert str(raised.value) == message


def test_lspci_capture(samples):
    """Twelve Mellanox functions, all as good as they can be; the bridges are not asked."""
    functions = lspci.parse(samples("lspci", "hgx-h100-cx7-vvv.txt"))
    fast, slow = PcieLink(32, 16), PcieLink(16, 16)
    dx = {"1b:00.0", "1b:00.1", "9d:00.0", "9d:00.1"}

    assert {f.address: (f.capable, f.status) for f in functions} == {
        f"{bus}:00.0": (fast, fast) for bus in ("1a", "3c", "4d", "5e", "9c", "bc", "cc", "dc")
    } | dict.fromkeys(dx, (slow, slow))

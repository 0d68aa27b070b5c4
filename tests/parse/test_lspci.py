"""lspci: the PCIe link of an adapter."""

import pytest

from ibaccept.parse import ParseError, lspci
from ibaccept.parse.lspci import PcieFunction, PcieLink

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

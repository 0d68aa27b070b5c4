"""``lspci -vvv``: what PCIe link an HCA can have and what it has.

Source of the format: pciutils ``lspci.c`` and ``ls-caps.c`` (``cap_express_link``)::

    1a:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]
            LnkCap: Port #0, Speed 32GT/s, Width x16, ASPM not supported
            LnkSta: Speed 32GT/s (ok), Width x16 (ok)

``(ok)`` and ``(downgraded)`` came with pciutils 3.6, and are about that function only. HCAs that
can do both are shown as Ethernet controllers. Without root, ``Capabilities: <access denied>``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ibaccept.parse import ParseError
from ibaccept.parse.diags import numbered

TOOL = "lspci"

_FUNCTION = re.compile(
    r"(?P<address>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?P<kind>[^:]+): (?P<name>.*)"
)
_HCA = re.compile(r"Mellanox")
_SWITCH = re.compile(r"bridge", re.IGNORECASE)
_LINK = re.compile(
    r"\s+(?P<which>LnkCap|LnkSta):\s.*?Speed (?P<speed>\d+(?:\.\d+)?)GT/s.*?, "
    r"Width x(?P<width>\d+)\b.*"
)
_LINK_LINE = re.compile(r"\s+(?P<which>LnkCap|LnkSta):\s.*")
_UNKNOWN = re.compile(r"\s+LnkSta:\s.*(?:Speed unknown|Width x0\b).*")


@dataclass(frozen=True, slots=True)
class PcieLink:
    """One state of a link.

    Attributes:
        speed: GT/s of a lane.
        width: lanes.
    """

    speed: float
    width: int

    def __str__(self) -> str:
        """``32GT/s x16``."""
        return f"{self.speed:g}GT/s x{self.width}"


@dataclass(frozen=True, slots=True)
class PcieFunction:
    """One function of an HCA.

    Attributes:
        address: ``1a:00.0``, with the domain where lspci printed it.
        kind: ``Infiniband controller`` or ``Ethernet controller``.
        name: vendor and model.
        capable: LnkCap; None where it was not shown (no root, or a virtual function).
        status: LnkSta, as ``capable``.
    """

    address: str
    kind: str
    name: str
    capable: PcieLink | None
    status: PcieLink | None


def parse(text: str) -> tuple[PcieFunction, ...]:
    """The functions of Mellanox HCAs, in the file's order; other devices are passed over.

    Raises:
        ParseError: empty, cut, no function at all, or an HCA's LnkCap or LnkSta that is not
            understood.
    """
    functions: list[tuple[re.Match[str], dict[str, PcieLink]]] = []
    for number, line in numbered(TOOL, text):
        if match := _FUNCTION.fullmatch(line):
            functions.append((match, {}))
        elif not functions:
            if line.strip():
                raise ParseError(TOOL, "a line before the first function", line=number, text=line)
        elif _is_hca(functions[-1][0]) and (found := _LINK_LINE.fullmatch(line)):
            link = _LINK.fullmatch(line)
            if link is not None:
                functions[-1][1][found["which"]] = PcieLink(
                    float(link["speed"]), int(link["width"])
                )
            elif not _UNKNOWN.fullmatch(line):
                raise ParseError(TOOL, "not a PCIe link", line=number, text=line)
    if not functions:
        raise ParseError(TOOL, "no function was listed; run lspci -vvv as root")
    return tuple(
        PcieFunction(
            match["address"],
            match["kind"],
            match["name"].strip(),
            links.get("LnkCap"),
            links.get("LnkSta"),
        )
        for match, links in functions
        if _is_hca(match)
    )


def _is_hca(function: re.Match[str]) -> bool:
    return bool(_HCA.search(function["name"])) and not _SWITCH.search(function["kind"])

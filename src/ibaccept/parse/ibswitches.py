"""``ibswitches``: one line a switch.

``Switch	: 0x1070fd0300370ea2 ports 41 "MF0;spine01:MQM8700/U1" enhanced port 0 lid 774 lmc 0``

Source of the format: the script ``ibswitches`` of rdma-core's infiniband-diags, which rewrites
the switch headers of ``ibnetdiscover``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ibaccept.fabric.model import UNICAST_LIDS, Guid, Lid
from ibaccept.parse import ParseError
from ibaccept.parse.diags import refuse_long_numbers

TOOL = "ibswitches"

_SWITCH = re.compile(
    r'Switch\s*: 0x([0-9a-fA-F]{1,16}) ports (\d+) "(.*)" (enhanced|base) port 0 '
    r"lid (\d+) lmc (\d+)\Z"
)


@dataclass(frozen=True, slots=True)
class SwitchRow:
    """One switch.

    Attributes:
        guid: node GUID.
        name: node description exactly as printed.
        enhanced: an enhanced port 0 (a management port that can be an endpoint).
        lid: of port 0; None where the tool printed 0 or 65535.
        lmc: of that LID.
        line: 1-based line number.
    """

    guid: Guid
    num_ports: int
    name: str
    enhanced: bool
    lid: Lid | None
    lmc: int
    line: int


def parse(text: str) -> tuple[SwitchRow, ...]:
    """Read the list of switches, in the order printed.

    Raises:
        ParseError: a line that is not understood or is cut, a GUID twice, or no switch at all.
    """
    refuse_long_numbers(TOOL, text)
    rows: dict[Guid, SwitchRow] = {}
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.replace("\r", "").strip()
        if not line:
            continue
        match = _SWITCH.match(line)
        if match is None:
            raise ParseError(
                TOOL, "this line is not understood, or it is cut", line=number, text=line
            )
        guid, ports, name, kind, lid, lmc = match.groups()
        row = SwitchRow(
            guid=Guid(guid, 16),
            num_ports=int(ports),
            name=name,
            enhanced=kind == "enhanced",
            lid=Lid(lid) if int(lid) in UNICAST_LIDS else None,
            lmc=int(lmc),
            line=number,
        )
        if row.guid in rows:
            raise ParseError(
                TOOL,
                f"{row.guid} is printed twice (first at line {rows[row.guid].line}): two switches "
                "with one GUID, or two outputs in one text",
                line=number,
                text=line,
            )
        rows[row.guid] = row
    if not rows:
        raise ParseError(
            TOOL, "no switch was printed, so no fabric was seen; run ibnetdiscover and look"
        )
    return tuple(rows.values())

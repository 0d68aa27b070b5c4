"""ibdiagnet's ``ibdiagnet.fdbs`` (ibutils) and ``ibdiagnet2.fdbs``.

    osm_ucast_mgr_dump_ucast_routes: Switch 0x0002c90109fb0000
    LID    : Port : Hops : Optimal
    0x0002 : 003  : 00   : yes
    0x0003 : UNREACHABLE

The Hops column is always 00 here. Newer versions add ``PLFT_NUM: 0``; a switch with several
private tables (adaptive routing) has no one output port per LID, so its table is unknown.
Format: ibutils ibdebug.tcl; ibdiagnet manual.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ibaccept.fabric.lft import SwitchTable
from ibaccept.parse.lft_rows import Text
from ibaccept.parse.opensm_dump import parse_fdbs_sections

TOOL = "ibdiagnet.fdbs"

_START = b"osm_ucast_mgr_dump_ucast_routes: Switch "
_PLFT = re.compile(r"PLFT_NUM\s*:\s*(\d+)")


def parse(text: Text) -> tuple[SwitchTable, ...]:
    """The tables of an ibdiagnet ``.fdbs`` file; a LID that is not printed is unknown.

    Raises:
        ParseError: a line is not understood, or there is no table.
    """
    tables = parse_fdbs_sections(TOOL, text, _START, extra=_PLFT)
    return tuple(_one_table_only(table) for table in tables)


def _one_table_only(table: SwitchTable) -> SwitchTable:
    numbers = {_PLFT.fullmatch(note) for note in table.notes}
    private = {match.group(1) for match in numbers if match is not None}
    without_hops = replace(table, hops=None)
    if private <= {"0"}:
        return without_hops
    return without_hops.voided(
        f"table of {table.label} not usable: the switch has private tables "
        f"(PLFT {', '.join(sorted(private))}), so one LID has several output ports"
    )

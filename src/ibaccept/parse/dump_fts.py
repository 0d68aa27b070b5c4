"""``dump_fts``: the forwarding table of every switch, from one process.

    Unicast lids [0x0-0x40] of switch DR path slid 0; dlid 0; 0,1 guid 0x100000b000000300 (leaf3):
      Lid  Out   Destination
           Port     Info
    0x0001 021
    63 valid lids dumped

Format: rdma-core infiniband-diags/dump_fts.c, ``dump_unicast_tables``; rows as `ibroute` prints
them. After a failed MAD it prints the previous block again and exits 0, so any line on standard
error voids the table it names. Each table ends with its trailer: one without lost lines, and is
void, as is one with another number of rows than its trailer says. Before rdma-core 63 ports 128 to
254 had no row: see `ibaccept.routing.tables`.
"""

from __future__ import annotations

from ibaccept.fabric.lft import SwitchTable
from ibaccept.parse.ibroute import parse_sections
from ibaccept.parse.lft_rows import Text

TOOL = "dump_fts"


def parse(text: Text, stderr: str = "") -> tuple[SwitchTable, ...]:
    """The tables of a ``dump_fts`` output (with names or ``-n``).

    Args:
        text: standard output.
        stderr: standard error. A line that names a switch voids that table, any other all tables.

    Raises:
        ParseError: a line is not understood, or there is no unicast table at all.
    """
    return parse_sections(TOOL, text, stderr, above=True)

r"""``ibnetdiscover``: every node with its connected ports, and the ``-p`` listing of ports.

The default output has one block a node; a port without a peer has no line. Sample::

    vendid=0x2c9
    devid=0xd2f0
    sysimgguid=0x1c34da0300728866
    switchguid=0x1c34da0300728866(1c34da0300728866)
    Switch	41 "S-1c34da0300728866"		# "leaf01" enhanced port 0 lid 1600 lmc 0
    [1]	"H-1c34da0300608820"[1](1c34da0300608820) 		# "node001 HCA-2" lid 837 4xHDR

    Ca	1 "H-1c34da0300608820"		# "node001 HCA-2"
    [1](1c34da0300608820) 	"S-1c34da0300728866"[1]		# lid 837 lmc 0 "leaf01" lid 1600 4xHDR

Source of the format: rdma-core ``infiniband-diags/ibnetdiscover.c`` (``out_switch_detail``,
``out_switch_port``, ``out_ca_port``, ``dump_ports_report``). ``-f`` adds ``s= w= v=`` to a port
line, ``-g`` adds chassis lines and ``[ext N]`` and prints the switches of a chassis twice. Also
read: ibdiagnet's own ``.ibnetdiscover`` file (one more label group) and ibsim's net files.
"""

from __future__ import annotations

from ibaccept.parse.ibnetdiscover._blocks import parse
from ibaccept.parse.ibnetdiscover._ports import parse_ports, to_topology
from ibaccept.parse.ibnetdiscover._records import (
    TOOL,
    ListedPort,
    NodeRecord,
    PortListing,
    PortRecord,
    Topology,
)

__all__ = [
    "TOOL",
    "ListedPort",
    "NodeRecord",
    "PortListing",
    "PortRecord",
    "Topology",
    "parse",
    "parse_ports",
    "to_topology",
]

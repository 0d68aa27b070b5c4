"""``ss -ltn``: on which TCP ports a host listens. The only sign that a perftest server is ready.

Source of the format: iproute2 ``misc/ss.c``. The header's words may touch; ``-H`` leaves it away::

    State  Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
    LISTEN 0      128          0.0.0.0:22         0.0.0.0:*
    LISTEN 0      5      [::1%lo]:18515              [::]:*
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ibaccept.parse import ParseError
from ibaccept.parse.diags import numbered

TOOL = "ss"

_HEADER = re.compile(r"State\s+Recv-Q\s+Send-Q\s+Local Address:Port\s+Peer Address:Port\s*.*")
_ROW = re.compile(
    r"LISTEN\s+\d+\s+\d+\s+(?P<address>\S+):(?P<port>\d{1,5})\s+\S+:\*(?:\s+\S.*)?\s*"
)
_LAST_PORT = 65535


@dataclass(frozen=True, slots=True)
class ListeningSocket:
    """One listening socket.

    Attributes:
        address: ``0.0.0.0``, ``*`` or ``::`` for any; IPv6 without brackets, zone kept.
        port: TCP port.
    """

    address: str
    port: int


def parse(text: str) -> tuple[ListeningSocket, ...]:
    """Read an output that has its header. Only the header = nothing listens.

    Raises:
        ParseError: empty (``ss`` did not run), cut, no header, or a line that is not understood.
    """
    rows: list[ListeningSocket] = []
    header = False
    for number, line in numbered(TOOL, text):
        if not header:
            header = _HEADER.fullmatch(line) is not None
            if not header:
                raise ParseError(TOOL, "not the header of 'ss -ltn'", line=number, text=line)
            continue
        match = _ROW.fullmatch(line)
        if match is None or int(match["port"]) > _LAST_PORT:
            raise ParseError(TOOL, "not a row of a listening socket", line=number, text=line)
        address = re.sub(r"[\[\]]", "", match["address"])
        rows.append(ListeningSocket(address, int(match["port"])))
    return tuple(rows)


def listening_ports(listeners: Iterable[ListeningSocket]) -> frozenset[int]:
    """The ports, whatever the address."""
    return frozenset(listener.port for listener in listeners)

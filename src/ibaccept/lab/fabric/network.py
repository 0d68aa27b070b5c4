"""A simulated fabric as its own tools show it: where each pair of hosts sends, cable by cable.

A cable is a port that sends: codes number the output ports of switches (``switch * 256 + port``)
and, after them, the endpoints (`ibaccept.routing.tables`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from ibaccept.fabric.model import Fabric, Guid, PortId, Rate
from ibaccept.observe.assemble import to_fabric
from ibaccept.parse import dump_fts, ibnetdiscover
from ibaccept.routing.crossings import crossings
from ibaccept.routing.paths import Routes
from ibaccept.routing.tables import DELIVERED, PORTS

Ints = NDArray[np.int64]
Pair = tuple[str, str]
"""Sending and receiving host."""


class Network:
    """The fabric as its tools show it now.

    Args:
        topology: text of ``ibnetdiscover``.
        tables: output of ``dump_fts -n``.
        guids: node GUID by host name.
    """

    def __init__(self, topology: str, tables: bytes, guids: Mapping[str, Guid]) -> None:
        self.fabric: Fabric = to_fabric(ibnetdiscover.parse(topology))
        self.routes = Routes(self.fabric, dump_fts.parse(tables))
        self.cabling = self.routes.cabling
        self.first_end = len(self.cabling.switches) * PORTS
        self.codes = self.first_end + len(self.cabling.endpoints)
        self._guids = guids
        self._lids: dict[str, int] = {}

    def lid(self, host: str) -> int | None:
        """The LID a host is reached at, None while its port is down or the host unknown."""
        if host not in self._lids:
            node = self.fabric.nodes.get(self._guids.get(host, Guid(0)))
            lids = [port.lids()[0] for port in node.ports.values() if port.lids()] if node else []
            if not lids:
                return None
            self._lids[host] = lids[0]
        return self._lids[host]

    def port(self, code: int) -> PortId:
        """The port that a code stands for."""
        if code >= self.first_end:
            return self.cabling.endpoints[code - self.first_end].id
        return PortId(self.cabling.switches[code // PORTS], code % PORTS)

    def rate(self, code: int) -> Rate | None:
        """Width and speed of the cable at a port."""
        link = self.fabric.link_at.get(self.port(code))
        return None if link is None else link.rate

    def far(self, port: PortId) -> PortId | None:
        """The other end of a cable."""
        link = self.fabric.link_at.get(port)
        if link is None:
            return None
        return link.b.id if link.a.id == port else link.a.id

    def paths(self, pairs: Iterable[Pair]) -> dict[Pair, Ints | None]:
        """Codes of the cables on the way of each pair, in order; None where it is not delivered."""
        wanted = list(dict.fromkeys(pairs))
        found: dict[Pair, Ints | None] = dict.fromkeys(wanted)
        lids = [(self.lid(a), self.lid(b)) for a, b in wanted]
        owned = self.cabling.owner.size
        known = [
            i for i, (a, b) in enumerate(lids) if a and b and a != b and a < owned and b < owned
        ]
        if not known:
            return found
        slids = np.array([lids[i][0] for i in known], dtype=np.int64)
        dlids = np.array([lids[i][1] for i in known], dtype=np.int64)
        sources = self.cabling.owner[slids].astype(np.int64)
        over = crossings(self.routes, sources, dlids)
        code = over.switch * PORTS + over.port
        # Entries come hop by hop: a stable sort by pair keeps the hops of a pair in order.
        order = np.argsort(over.pair, kind="stable")
        parts = np.split(code[order], np.cumsum(np.bincount(over.pair, minlength=len(known)))[:-1])
        for index, part in enumerate(parts):
            if over.end[index] == DELIVERED:
                first = np.array([self.first_end + sources[index]])
                found[wanted[known[index]]] = np.concatenate([first, part])
        return found

    def parallel(self, code: int) -> Ints:
        """Codes of the cables between the same two switches; only this one for a host's."""
        if code >= self.first_end or not self.cabling.isl[code // PORTS, code % PORTS]:
            return np.array([code])
        switch = code // PORTS
        same = self.cabling.target[switch] == self.cabling.target[switch, code % PORTS]
        return switch * PORTS + np.flatnonzero(same)

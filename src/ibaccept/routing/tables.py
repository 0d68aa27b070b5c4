"""All forwarding tables of a fabric as one array, and the cabling they lead over.

Switches and endpoints (CA ports, and port 0 of a switch or a router) are numbered; identity stays
the GUID. The array has a row a destination LID and a column a switch, so that the tree of one
destination is contiguous.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ibaccept.fabric.lft import NO_ENTRY, SwitchTable
from ibaccept.fabric.model import Fabric, Guid, NodeType, PortId

PORTS = 256
"""Port numbers a table can hold, 0 to 255."""

DELIVERED, NO_ROUTE, DEAD_END, WRONG_PORT, UNKNOWN = range(5)
"""Ends of a route, as offsets after the switches in the arrays of next switches."""

ENDS = 5

DUMP = "dump_fts"
"""The tool that prints the table of every switch."""

Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A port that owns LIDs.

    Attributes:
        id: CA port, or port 0 of a switch or router.
        lids: the LIDs it owns.
        switch: number of the switch it is cabled to (its own for port 0), -1 for none.
        port: port of that switch; 0 for a switch's own.
        is_ca: True for a CA port.
        known: False where the sweep did not see both ends of its cable.
        peer: the endpoint it is cabled to where that is no switch (two CAs back to back), or -1.
    """

    id: PortId
    lids: range
    switch: int
    port: int
    is_ca: bool
    known: bool = True
    peer: int = -1


class CablingArrays:
    """Numbers for the switches and endpoints of a fabric, and where each port leads.

    Attributes:
        switches: node GUIDs, in the order of their numbers.
        number: number of a switch by GUID.
        endpoints: every port that owns LIDs.
        target: int32 of shape (switches, 256): where a packet ends up that leaves a switch by a
            port: a switch number; ``switches + end`` for an end; or ``base + endpoint``.
        base: first code of an endpoint.
        isl: bool of shape (switches, 256): the port leads to another switch.
    """

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.switches = tuple(sorted(node.guid for node in fabric.switches()))
        self.number = {guid: index for index, guid in enumerate(self.switches)}
        self.base = len(self.switches) + ENDS
        self.endpoints = self._endpoints()
        self.endpoint_of = {end.id: index for index, end in enumerate(self.endpoints)}
        self._resolve_peers()
        self.target = self._targets()
        self.isl = (self.target >= 0) & (self.target < len(self.switches))

    def _endpoints(self) -> list[Endpoint]:
        found: list[Endpoint] = []
        fabric = self.fabric
        for guid in sorted(fabric.nodes):
            node = fabric.nodes[guid]
            if node.type is not NodeType.CA:
                own = self.number.get(guid, -1)
                lids = list(node.lids())
                span = range(lids[0], lids[-1] + 1) if lids else range(0)
                found.append(Endpoint(PortId(guid, 0), span, own, 0, is_ca=False))
                continue
            for port in node.ports.values():
                link = fabric.link_at.get(port.id)
                switch, out = -1, 0
                if link is not None:
                    far = link.b if link.a.id == port.id else link.a
                    switch, out = self.number.get(far.id.guid, -1), far.id.port
                found.append(
                    Endpoint(
                        *(port.id, port.lids(), switch, out),
                        is_ca=True,
                        known=link is not None or port.remote is None,
                    )
                )
        return found

    def _resolve_peers(self) -> None:
        """Note the far endpoint of CA ports that are not cabled to a switch."""
        for index, end in enumerate(self.endpoints):
            link = self.fabric.link_at.get(end.id)
            if not end.is_ca or end.switch >= 0 or link is None:
                continue
            far = link.b if link.a.id == end.id else link.a
            peer = self._endpoint_at(far.id)
            self.endpoints[index] = Endpoint(
                *(end.id, end.lids, -1, 0), is_ca=True, known=True, peer=peer
            )

    def _endpoint_at(self, port: PortId) -> int:
        """The endpoint that answers behind a port: the port itself, a router's port 0; or -1."""
        index = self.endpoint_of.get(port)
        return self.endpoint_of.get(PortId(port.guid, 0), -1) if index is None else index

    def _targets(self) -> Ints:
        count = len(self.switches)
        target = np.full((count, PORTS), count + DEAD_END, dtype=np.int32)
        if count:
            target[:, NO_ENTRY] = count + NO_ROUTE
        for number, guid in enumerate(self.switches):
            target[number, 0] = self.base + self.endpoint_of[PortId(guid, 0)]
            for port in self.fabric.nodes[guid].ports.values():
                if not 0 < port.id.port < NO_ENTRY or port.remote is None:
                    continue
                link = self.fabric.link_at.get(port.id)
                if link is None:
                    target[number, port.id.port] = count + UNKNOWN
                    continue
                far = link.b if link.a.id == port.id else link.a
                peer = self.number.get(far.id.guid)
                if peer is not None:
                    target[number, port.id.port] = peer
                else:
                    end = self._endpoint_at(far.id)
                    target[number, port.id.port] = self.base + end if end >= 0 else count + UNKNOWN
        return target

    @cached_property
    def owner(self) -> Ints:
        """Endpoint of every LID, int32; -1 for a LID without a port."""
        top = max((end.lids[-1] for end in self.endpoints if end.lids), default=0)
        owner = np.full(top + 1, -1, dtype=np.int32)
        for index, end in enumerate(self.endpoints):
            if end.lids:
                owner[end.lids[0] : end.lids[-1] + 1] = index
        return owner

    @cached_property
    def shared_lids(self) -> dict[int, tuple[PortId, ...]]:
        """LIDs that more than one port owns, and those ports: a fault of the subnet manager."""
        owners: dict[int, list[PortId]] = {}
        for end in self.endpoints:
            for lid in end.lids:
                owners.setdefault(lid, []).append(end.id)
        return {lid: tuple(ports) for lid, ports in owners.items() if len(ports) > 1}

    @cached_property
    def ca_lids(self) -> NDArray[np.int64]:
        """Every LID a CA port owns, ascending."""
        is_ca = np.array([end.is_ca for end in self.endpoints], dtype=np.bool_)
        owner = self.owner
        return np.flatnonzero((owner >= 0) & is_ca[owner]) if is_ca.size else np.empty(0, np.int64)

    @cached_property
    def bandwidth(self) -> NDArray[np.int64]:
        """Data rate of every switch port's cable in 10 Mb/s, (switches, 256); 0 for not seen."""
        found = np.zeros(self.target.shape, dtype=np.int64)
        for switch, guid in enumerate(self.switches):
            for port in self.fabric.nodes[guid].ports:
                link = self.fabric.link_at.get(PortId(guid, port))
                if 0 < port < NO_ENTRY and link is not None and link.rate is not None:
                    found[switch, port] = round(100 * link.rate.gbps)
        return found

    def weights(self, switches: Sequence[int], ports: Sequence[int]) -> tuple[int, ...]:
        """Bandwidth of some cables in their largest common measure; all 1 where they are equal.

        A cable whose rate was not seen counts as the fastest of the others.
        """
        found = self.bandwidth[list(switches), list(ports)]
        found[found == 0] = found.max(initial=0) or 1
        common = int(np.gcd.reduce(found)) if found.size else 1
        return tuple((found // common).tolist())

    def neighbour(self, switch: int, port: int) -> PortId | None:
        """The far end of the cable in a switch's port; None where none was seen."""
        here = PortId(self.switches[switch], port)
        link = self.fabric.link_at.get(here)
        if link is None:
            return None
        return link.b.id if link.a.id == here else link.a.id

    def node_name(self, guid: Guid) -> str:
        """Name of a node as `Fabric.port_name` shows it, without the port."""
        return self.fabric.port_name(PortId(guid, 0)).rpartition("/")[0]


class Tables:
    """Output port of every switch for every destination LID.

    Attributes:
        out: uint8 of shape (LIDs, switches), 255 = no entry.
        known: bool of the same shape; False where the entry was not read.
        problems: why entries are unknown, a sentence each.
    """

    def __init__(self, cabling: CablingArrays, tables: Iterable[SwitchTable]) -> None:
        """Lay the tables out.

        A switch without a table is unknown for every LID. A table of a switch the sweep did not
        see is a problem too: sweep and tables were not taken from the same fabric.

        Raises:
            ValueError: two tables of one switch.
        """
        lids, count = int(cabling.owner.size), len(cabling.switches)
        self.cabling = cabling
        self.out = np.full((lids, count), NO_ENTRY, dtype=np.uint8)
        self.known = np.zeros((lids, count), dtype=np.bool_)
        problems: list[str] = []
        seen: set[Guid] = set()
        tables = _doubted(cabling, tuple(tables))
        high_ports = any(_has_high_port(table) for table in tables if table.tool == DUMP)
        for table in tables:
            if table.guid in seen:
                raise ValueError(f"two tables of switch {table.guid}; give one")
            seen.add(table.guid)
            number = cabling.number.get(table.guid)
            if number is None:
                problems.append(
                    f"{table.tool} has a table of {table.label} ({table.guid}), which the sweep "
                    "did not see; take both at the same time"
                )
                continue
            problems += table.problems
            size = min(lids, table.top + 1)
            self.out[:size, number] = table.ports[:size]
            self.known[:size, number] = table.known[:size]
            if table.above:
                self.known[size:, number] = True
            unread = int(((cabling.owner >= 0) & ~self.known[:, number]).sum())
            if unread and not table.problems:
                problems.append(
                    f"table of {table.label} has {table.first:#x}-{table.top:#x} only, {unread} "
                    "LIDs of the fabric are outside; read the whole table with dump_fts -n"
                )
            if table.tool == DUMP and not high_ports:
                problems += self._doubt_high_ports(number, table)
        for guid in cabling.switches:
            if guid not in seen:
                problems.append(
                    f"the table of {cabling.node_name(guid)} was not read; read it with "
                    "dump_fts -n or ibroute"
                )
        for lid, ports in cabling.shared_lids.items():
            self.known[lid] = False
            names = ", ".join(cabling.fabric.port_name(port) for port in ports)
            problems.append(
                f"LID {lid} belongs to several ports ({names}), so where it should arrive is not "
                "known; look at the subnet manager's log for duplicate LIDs"
            )
        self.problems = tuple(problems)

    def _doubt_high_ports(self, number: int, table: SwitchTable) -> list[str]:
        """dump_fts before rdma-core 63 prints no row for ports 128 to 254."""
        if self.cabling.fabric.nodes[table.guid].num_ports < PORTS // 2:
            return []
        gaps = self.known[:, number] & (self.out[:, number] == NO_ENTRY)
        owned = self.cabling.owner >= 0
        self.known[gaps, number] = False
        missing = int((gaps & owned).sum())
        if not missing:
            return []
        return [
            f"table of {table.label}: {missing} LIDs have no row; dump_fts before rdma-core 63 "
            "prints none for ports above 127, and this switch has such ports; use ibroute"
        ]


def _doubted(cabling: CablingArrays, tables: tuple[SwitchTable, ...]) -> tuple[SwitchTable, ...]:
    """The tables, those of dump_fts voided where its output lacks a switch for no known reason.

    It prints each switch, or an error. A block of lines that is lost can hold the header of one
    switch and rows of it, so that its other rows stand under the header of the switch before,
    and even their number may fit.
    """
    dumped = [table for table in tables if table.tool == DUMP]
    seen = {table.guid for table in tables}
    missing = [guid for guid in cabling.switches if guid not in seen]
    if not dumped or not missing:
        return tables
    more = f" and {len(missing) - 1} more" if missing[1:] else ""
    why = (
        f"{DUMP} printed no table of {cabling.node_name(missing[0])}{more}, and does not say why: "
        "lines are lost, and rows of one switch may stand under the header of another; read the "
        "tables again"
    )
    return tuple(table.voided(why) if table.tool == DUMP else table for table in tables)


def _has_high_port(table: SwitchTable) -> bool:
    ports = table.ports[table.known]
    return bool(((ports >= PORTS // 2) & (ports != NO_ENTRY)).any())

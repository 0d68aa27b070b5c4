"""From a host's name to the LIDs it owns, and who said so.

A host's own ``ibstat`` shows its port GUIDs, and the fabric knows which LIDs a port GUID has. Without
it the node description must do: ``node001`` is the node of exactly that name, or those whose first
word it is (``node001 HCA-1``, ``node001 HCA-2``). Two nodes with one and the same description
cannot be told apart by name: that is an error, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ibaccept.errors import InputError
from ibaccept.inventory import InventoryHost
from ibaccept.model import Fabric, Guid, Node, NodeType, Port
from ibaccept.parse.ibstat import IbStat
from ibaccept.suggest import did_you_mean

OWN = "its own ibstat"
DESCRIPTION = "the node description"


@dataclass(frozen=True, slots=True)
class HostLids:
    """LIDs of one host.

    Attributes:
        host: inventory name, or the name asked for.
        lids: every LID of every port of the host in this subnet, 2^LMC each.
        how: ``OWN`` or ``DESCRIPTION``.
        notes: ports that were left out, and why.
    """

    host: str
    lids: tuple[int, ...]
    how: str
    notes: tuple[str, ...] = ()


class LidIndex:
    """Looks hosts up in one fabric."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._by_port_guid: dict[Guid, Port] = {}
        self._by_first_word: dict[str, list[Node]] = {}
        for node in fabric.nodes.values():
            if node.type is not NodeType.CA:
                continue
            words = node.name.split()
            if words:
                self._by_first_word.setdefault(words[0], []).append(node)
            for port in node.ports.values():
                if port.guid is not None:
                    self._by_port_guid[port.guid] = port

    def by_name(self, name: str) -> HostLids:
        """LIDs by node description.

        Raises:
            InputError: no node, or several of one description, or nodes without a LID.
        """
        exact = [n for n in self._fabric.by_name.get(name.strip(), ()) if n.type is NodeType.CA]
        nodes = exact or self._by_first_word.get(name.strip(), [])
        if not nodes:
            known = [*self._by_first_word, *self._fabric.by_name]
            raise InputError(f"no host of the fabric is called {name!r}{did_you_mean(name, known)}")
        twice = [n for n in nodes if len(self._fabric.by_name[n.name.strip()]) > 1]
        if twice:
            guids = ", ".join(str(n.guid) for n in self._fabric.by_name[twice[0].name.strip()])
            raise InputError(
                f"{name!r} names {len(self._fabric.by_name[twice[0].name.strip()])} nodes: {guids}; "
                "reach the host over SSH so that its ibstat tells its port GUIDs, or set ib_name"
            )
        lids = tuple(lid for node in nodes for lid in node.lids())
        if not lids:
            raise InputError(f"{name!r} has no LID in this subnet")
        return HostLids(name, lids, DESCRIPTION)

    def by_stat(self, host: InventoryHost, stat: IbStat) -> HostLids:
        """LIDs by the port GUIDs a host shows itself.

        Raises:
            InputError: no InfiniBand port of it is in this subnet, or a LID it shows is not the
                one the sweep saw.
        """
        lids: list[int] = []
        notes: list[str] = []
        for ca in stat.cas:
            for port in ca.ports:
                label = f"{host.name} {ca.name}/{port.number}"
                if host.ib_hca and ca.name not in host.ib_hca:
                    continue
                if host.ib_port is not None and port.number != host.ib_port:
                    continue
                if not port.is_infiniband:
                    notes.append(f"{label} is {port.link_layer or 'of unknown link layer'}")
                    continue
                seen = self._by_port_guid.get(port.port_guid) if port.port_guid else None
                if seen is None:
                    notes.append(f"{label} is {port.state or 'of unknown state'}, not in this subnet")
                    continue
                if port.lid is not None and seen.lid is not None and port.lid != seen.lid:
                    raise InputError(
                        f"{label} says LID {port.lid}, the sweep saw {seen.lid}: the LIDs changed "
                        "meanwhile; look again"
                    )
                lids += seen.lids()
        if not lids:
            why = "; ".join(notes) or "ibstat shows no port that the inventory names"
            raise InputError(f"{host.name} has no port in this subnet: {why}")
        return HostLids(host.name, tuple(lids), OWN, tuple(notes))

    def of_host(self, host: InventoryHost, stat: IbStat | None) -> HostLids:
        """LIDs of an inventory host: by its own ``ibstat`` where there is one, else by name.

        Raises:
            InputError: as ``by_stat`` and ``by_name``.
        """
        if stat is not None:
            return self.by_stat(host, stat)
        found = self.by_name(host.ib_name or host.name)
        return HostLids(host.name, found.lids, found.how, found.notes)


def owners(found: Iterable[HostLids]) -> Mapping[int, str]:
    """Host name by LID."""
    return {lid: host.host for host in found for lid in host.lids}

"""Two sweeps: cables and nodes that moved or were replaced, and what else is another value.

A node of the same name and type with another GUID, where the old GUID is gone and the new one was
not there, is the same place with other hardware: its cables are compared by the place.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ibaccept.fabric.model import Fabric, Guid, Link, Node, PortId
from ibaccept.observe.snapshot import Snapshot
from ibaccept.verdict.absence import NotSeen


class Moved(enum.StrEnum):
    """What happened to a cable, node or value."""

    CABLE_MOVED = "cable moved"
    CABLE_ADDED = "cable added"
    CABLE_GONE = "cable gone"
    CABLE_UNSEEN = "cable not seen"
    NODE_ADDED = "node added"
    NODE_GONE = "node gone"
    NODE_UNSEEN = "node not seen"
    REPLACED = "replaced"
    RENAMED = "renamed"
    RATE = "rate"
    STATE = "state"
    LID = "LID"
    FIRMWARE = "firmware"


@dataclass(frozen=True, slots=True)
class HardwareChange:
    """One difference between two sweeps.

    Attributes:
        name: of the cable, node or port, as the new sweep names it where it has it.
        was: in the old sweep; empty where it was not there.
        now: in the new sweep; empty where it is not there.
    """

    what: Moved
    name: str
    was: str = ""
    now: str = ""


@dataclass(frozen=True)
class Places:
    """Nodes of two fabrics, matched: by GUID, else by type and name where that is unique.

    Attributes:
        old: the earlier fabric.
        new: the later fabric.
    """

    old: Fabric
    new: Fabric

    @cached_property
    def replaced(self) -> Mapping[Guid, Guid]:
        """Old GUID to new GUID of replaced hardware."""
        found = {}
        for name, nodes in self.old.by_name.items():
            others = self.new.by_name.get(name, ())
            if len(nodes) == len(others) == 1:
                old, new = nodes[0], others[0]
                if (
                    old.type is new.type
                    and old.guid not in self.new.nodes
                    and new.guid not in self.old.nodes
                ):
                    found[old.guid] = new.guid
        return found

    def guid(self, old: Guid) -> Guid:
        """The GUID at the place of an old node now."""
        return self.replaced.get(old, old)

    def port(self, old: PortId) -> PortId:
        """The port at the place of an old port now."""
        return PortId(self.guid(old.guid), old.port)

    def cable(self, link: Link) -> tuple[PortId, PortId]:
        """Identity in the new fabric of a cable of the old one."""
        a, b = sorted((self.port(link.a.id), self.port(link.b.id)))
        return a, b


def hardware_changes(old: Snapshot, new: Snapshot) -> tuple[HardwareChange, ...]:
    """Every difference between what two sweeps show.

    Raises:
        NotSeenError: one of them shows no fabric.
    """
    places = Places(old.fabric, new.fabric)
    rows = [
        *_cables(places, whole=not new.gaps),
        *_nodes(places, whole=not new.gaps),
        *_states(places),
        *_lids(places),
        *_firmware(old, new),
    ]
    kinds = list(Moved)
    return tuple(sorted(rows, key=lambda row: (kinds.index(row.what), row.name)))


def _cables(places: Places, *, whole: bool) -> Iterator[HardwareChange]:
    before = {places.cable(link): link for link in places.old.links}
    after = {link.key: link for link in places.new.links}
    gone = [key for key in before if key not in after]
    added = [key for key in after if key not in before]
    for old_key, new_key in _moves(gone, added):
        gone.remove(old_key)
        added.remove(new_key)
        was = places.old.link_name(before[old_key])
        now = places.new.link_name(after[new_key])
        yield HardwareChange(Moved.CABLE_MOVED, now, was, now)
    for key in gone:
        name = places.old.link_name(before[key])
        is_sure = whole or any(_is_free(places.new, end) for end in key)
        yield HardwareChange(Moved.CABLE_GONE if is_sure else Moved.CABLE_UNSEEN, name, was=name)
    for key in added:
        name = places.new.link_name(after[key])
        yield HardwareChange(Moved.CABLE_ADDED, name, now=name)


def _is_free(fabric: Fabric, end: PortId) -> bool:
    """True where the port was seen and has no cable, or another one."""
    port = fabric.port(end)
    return port is not None and (port.is_down or port.remote is not None)


def _moves(
    gone: Iterable[tuple[PortId, PortId]], added: Iterable[tuple[PortId, PortId]]
) -> list[tuple[tuple[PortId, PortId], tuple[PortId, PortId]]]:
    """Pairs of a cable that is gone and one that was added with one end in common.

    An end has one cable, so that each end belongs to at most one of either; a cable of which both
    ends have another cable now was swapped with others, and is matched by its smaller end first.
    """
    by_end = {end: key for key in added for end in key}
    taken: set[tuple[PortId, PortId]] = set()
    pairs = []
    for key in sorted(gone):
        for end in key:
            other = by_end.get(end)
            if other is not None and other not in taken:
                taken.add(other)
                pairs.append((key, other))
                break
    return pairs


def _label(node: Node) -> str:
    return node.name.strip() or str(node.guid)


def _nodes(places: Places, *, whole: bool) -> Iterator[HardwareChange]:
    new_of_old = places.replaced
    for old_guid, node in places.old.nodes.items():
        now = places.new.nodes.get(places.guid(old_guid))
        if now is None:
            what = Moved.NODE_GONE if whole else Moved.NODE_UNSEEN
            yield HardwareChange(what, _label(node), was=str(node.guid))
        elif old_guid in new_of_old:
            yield HardwareChange(
                Moved.REPLACED, _label(now), f"GUID {old_guid}", f"GUID {now.guid}"
            )
        elif node.name.strip() != now.name.strip():
            yield HardwareChange(Moved.RENAMED, _label(now), _label(node), _label(now))
    known = {places.guid(guid) for guid in places.old.nodes}
    for guid, node in places.new.nodes.items():
        if guid not in known:
            yield HardwareChange(Moved.NODE_ADDED, _label(node), now=str(guid))


def _states(places: Places) -> Iterator[HardwareChange]:
    """Rate and state of cables that are at their place in both."""
    after = {link.key: link for link in places.new.links}
    for link in places.old.links:
        now = after.get(places.cable(link))
        if now is None:
            continue
        name = places.new.link_name(now)
        for what, words in ((Moved.RATE, _rates), (Moved.STATE, _states_of)):
            if words(link) != words(now):
                yield HardwareChange(what, name, words(link), words(now))


def _rates(link: Link) -> str:
    """Of both ends; once where they agree."""
    return " / ".join(
        dict.fromkeys("not seen" if end.rate is None else str(end.rate) for end in link.ends)
    )


def _states_of(link: Link) -> str:
    return " / ".join(
        dict.fromkeys("not seen" if end.state is None else end.state.value for end in link.ends)
    )


def _lids(places: Places) -> Iterator[HardwareChange]:
    after = base_lids(places.new)
    for port, lid in base_lids(places.old).items():
        now = after.get(places.port(port))
        if now is not None and now != lid:
            name = places.new.port_name(places.port(port))
            yield HardwareChange(Moved.LID, name, str(lid), str(now))


class BaseLid(NamedTuple):
    """The first of the 2^lmc LIDs of a port."""

    lid: int
    lmc: int

    def __str__(self) -> str:
        return f"{self.lid} (LMC {self.lmc})" if self.lmc else f"{self.lid}"


def base_lids(fabric: Fabric) -> dict[PortId, BaseLid]:
    """Of every port that owns LIDs: those of CAs, and port 0 of a switch."""
    found = {}
    for node in fabric.nodes.values():
        if node.lid is not None:
            found[PortId(node.guid, 0)] = BaseLid(int(node.lid), node.lmc)
        for port in node.ports.values():
            if port.lid is not None:
                found[port.id] = BaseLid(int(port.lid), port.lmc)
    return found


def _firmware(old: Snapshot, new: Snapshot) -> Iterator[HardwareChange]:
    """Firmware of adapters, of hosts whose ``ibstat`` both runs read."""
    for host, stat in new.hosts.items():
        before = old.hosts.get(host)
        if before is None or isinstance(stat, NotSeen) or isinstance(before, NotSeen):
            continue
        was = {ca.name: ca.firmware for ca in before.cas}
        for ca in stat.cas:
            first = was.get(ca.name)
            if first is not None and ca.firmware is not None and first != ca.firmware:
                yield HardwareChange(Moved.FIRMWARE, f"{host} {ca.name}", first, ca.firmware)

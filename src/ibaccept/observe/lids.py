"""Hosts of a job -> the LIDs their traffic goes to, and how each of them is known.

The best answer is a host's own ``ibstat``: its port GUIDs, looked up in the fabric. Without it the
node description is believed (``node001 HCA-1`` is ``node001``), and the result says so. A host with
several ports has several LIDs; a port with an LMC has 2^LMC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Literal

from ibaccept.errors import InputError, InputProblemsError
from ibaccept.fabric import wording
from ibaccept.fabric.model import UNICAST_LIDS, Fabric, Guid, Node, NodeType, Port, PortId
from ibaccept.fabric.nodeset import expand, fold
from ibaccept.fabric.suggest import did_you_mean
from ibaccept.fabric.wording import listed
from ibaccept.parse.ibstat import Ca, IbStat
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import Host

Source = Literal["ibstat", "node description", "LID", "GUID"]
"""How a host's ports are known."""


_HCA = re.compile(r"[A-Za-z][\w-]*\d\Z", re.ASCII)
"""What follows the host in the description of one of several HCAs: ``HCA-1``, ``mlx5_0``."""


_GUID_DIGITS = 16


@dataclass(frozen=True, slots=True)
class HostLids:
    """One host.

    Attributes:
        host: as requested.
        ports: its ports that have a LID on this fabric, by GUID and number.
        lids: every LID of those ports, ascending.
        source: how the ports are known.
        notes: what a reader must know, a sentence each.
    """

    host: str
    ports: tuple[PortId, ...]
    lids: tuple[int, ...]
    source: Source
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class JobLids:
    """Every host, in the requested order."""

    hosts: tuple[HostLids, ...]

    @property
    def lids(self) -> tuple[int, ...]:
        """All LIDs, in the order of the hosts."""
        return tuple(lid for host in self.hosts for lid in host.lids)

    @cached_property
    def owner(self) -> Mapping[int, HostLids]:
        """The host that owns a LID."""
        return {lid: host for host in self.hosts for lid in host.lids}

    def folded(self, lids: Iterable[int]) -> str:
        """The hosts of some of these LIDs for people: ``client-[a,c,e]``.

        Where a host has more LIDs than one, the LIDs follow, as names alone do not tell them.
        """
        wanted = sorted(lids)
        hosts = [self.owner[lid] for lid in wanted]
        text = fold(host.host for host in hosts)
        if any(len(host.lids) > 1 for host in hosts):
            text += f" (LIDs {', '.join(_spans(wanted))})"
        return text

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the hosts as a whole, and about single ones."""
        return (self.sources_text(), *(note for host in self.hosts for note in host.notes))

    def sources_text(self) -> str:
        """``LIDs from the hosts' own ibstat: node[1-3]; by node description: node4``."""
        words: dict[Source, str] = {
            "ibstat": "from the hosts' own ibstat",
            "node description": "by node description",
            "LID": "given as LIDs",
            "GUID": "given as GUIDs",
        }
        by_source = {
            source: [host.host for host in self.hosts if host.source == source] for source in words
        }
        parts = [f"{words[s]}: {fold(names)}" for s, names in by_source.items() if names]
        return f"LIDs {'; '.join(parts)}"


def host_names(fabric: Fabric, text: str) -> tuple[str, ...]:
    """What a person wrote -> names for ``lids_of``.

    Args:
        fabric: what was seen.
        text: a node set ``client-[a-l]``, a pattern ``stor-*``, a node description, LIDs or GUIDs
            (``15,16``, ``0x0002c90300000001``).

    Raises:
        InputError: the set is malformed, or no host matches a pattern.
    """
    written = text.strip()
    if written in fabric.by_name:  # also a description with a blank or a comma in it
        return (written,)
    if not re.search(r"[*?]", written):
        try:
            return expand(written)
        except ValueError as error:
            raise InputError(str(error)) from None
    names = {
        name
        for node in fabric.hosts()
        for name in (node.name.split()[:1] or [""])
        if fnmatchcase(name, written) or fnmatchcase(node.name.strip(), written)
    }
    if not names:
        raise InputError(f"no host of the fabric has a name that matches {written!r}")
    return tuple(sorted(names))


def lids_of(
    fabric: Fabric,
    hosts: Iterable[str | InventoryHost],
    stats: Mapping[str, IbStat] | None = None,
    *,
    switches: bool = False,
) -> JobLids:
    """The LIDs of hosts.

    Args:
        fabric: what the sweep saw.
        hosts: hosts of the inventory, or names: a node description, its first word, a LID or a
            GUID.
        stats: ``ibstat`` of the queried hosts, by the host's name. A host that is not in it is
            looked up by its node description.
        switches: names of switches and routers may be given too.

    Raises:
        InputError: every host of unknown LIDs, a sentence each: no node has the name, or
            several have it; none of its ports is on this fabric; its ``ibstat`` and the sweep
            do not agree; two names of one port.
    """
    finder = _Finder(fabric, switches=switches)
    found: list[HostLids] = []
    problems: list[str] = []
    for each in hosts:
        host = InventoryHost(each, Host(each)) if isinstance(each, str) else each
        stat = (stats or {}).get(host.name)
        try:
            found.append(finder.by_stat(host, stat) if stat else finder.by_name(host))
        except InputError as error:
            problems.append(str(error))
    first: dict[int, str] = {}
    for known in found:
        clash = {first[lid] for lid in known.lids if lid in first}
        problems += [f"{known.host!r} and {other!r} are one port: name it once" for other in clash]
        first.update(dict.fromkeys(known.lids, known.host))
    if not found and not problems:
        problems.append("no host is named, so there is no LID")
    if problems:
        raise InputProblemsError(problems)
    return JobLids(tuple(found))


class _Finder:
    def __init__(self, fabric: Fabric, *, switches: bool) -> None:
        self.fabric = fabric
        self.switches = switches
        self.words: dict[str, list[Node]] = {}
        self.of_guid: dict[Guid, PortId] = {}
        for node in fabric.nodes.values():
            if not switches and not node.is_host:
                continue
            for word in {*node.name.split()[:1], *(w.split(".")[0] for w in node.name.split()[:1])}:
                self.words.setdefault(word, []).append(node)
        for port in fabric.ports():
            if port.guid is not None and fabric.node_of(port).type is NodeType.CA:
                self.of_guid[port.guid] = port.id

    # -- by description ------------------------------------------------------------------------

    def by_name(self, host: InventoryHost) -> HostLids:
        """By node description, LID or GUID."""
        name = host.ib_name or host.name
        nodes = list(self.fabric.by_name.get(name.strip(), ()))
        exact = bool(nodes)
        if not nodes:
            nodes = self.words.get(name, [])
        elif host.ib_name is None and nodes[0].is_host:
            # "node1" beside "node1 mlx5_1": perhaps its other rail, whose LIDs would be missed.
            nodes += [n for n in self.words.get(name, []) if n not in nodes and n.is_host]
        if not nodes:
            number = self.by_number(host.name, name)
            if number is not None:
                return number
            raise InputError(f"no host of the fabric is called {name!r}{self.meant(name)}")
        wrong = [node for node in nodes if not node.is_host and not self.switches]
        if wrong:
            raise InputError(
                f"{name!r} is a {_KINDS[wrong[0].type]}, and a job runs on hosts; name a host"
            )
        notes: tuple[str, ...] = ()
        if len(nodes) > 1:
            if exact or not _is_one_host(nodes):
                raise InputError(_several(name, nodes))
            shown = ", ".join(sorted(node.name.strip() for node in nodes))
            notes = (f"{host.name} has {len(nodes)} HCAs: {shown}",)
        return self.made(host.name, list(_owners(nodes)), "node description", notes)

    def by_number(self, host: str, text: str) -> HostLids | None:
        """By a LID or a GUID; None where the text is neither."""
        if re.fullmatch(r"[1-9]\d*", text, re.ASCII):
            return self.by_lid(host, int(text))
        if not re.fullmatch(r"0x[0-9a-fA-F]+", text):
            return None
        number = int(text, 16)
        if len(text) < 2 + _GUID_DIGITS and number in UNICAST_LIDS:
            return self.by_lid(host, number)
        guid = Guid(number)
        node = self.fabric.nodes.get(guid)
        if node is not None and (node.is_host or self.switches):
            return self.made(host, list(_owners([node])), "GUID")
        if guid not in self.of_guid:
            raise InputError(f"no host of the fabric has the GUID {guid}, as node or as port")
        port = self.fabric.port(self.of_guid[guid])
        assert port is not None  # noqa: S101 - it was found there
        return self.made(host, [(port.id, port.lids())], "GUID")

    def by_lid(self, host: str, lid: int) -> HostLids:
        owner = self.fabric.lid_owner.get(lid)
        if owner is None:
            raise InputError(f"no port that the sweep saw owns LID {lid}")
        node = self.fabric.nodes[owner.guid]
        if not node.is_host and not self.switches:
            raise InputError(
                f"LID {lid} is that of {node.name.strip()!r}, a {_KINDS[node.type]}, and a job "
                "runs on hosts"
            )
        return HostLids(host, (owner,), (lid,), "LID")

    def made(
        self,
        host: str,
        owners: Sequence[tuple[PortId, range]],
        source: Source,
        notes: tuple[str, ...] = (),
    ) -> HostLids:
        on = [(port, lids) for port, lids in owners if lids]
        if not on:
            raise InputError(f"no port of {host!r} has a LID: it is down, or no SM reached it")
        off = [str(port.port) for port, lids in owners if not lids]
        if off:
            notes = (*notes, f"{host}: no LID on port {', '.join(off)}")
        return HostLids(
            host,
            tuple(port for port, _ in on),
            tuple(sorted(lid for _, lids in on for lid in lids)),
            source,
            notes,
        )

    @cached_property
    def known(self) -> tuple[str, ...]:
        """Every name of a host, for suggestions."""
        return tuple(sorted({*self.words, *(node.name.strip() for node in self.fabric.hosts())}))

    @cached_property
    def unpadded(self) -> Mapping[str, str]:
        """The first known name of each spelling without leading zeros."""
        return {_unpadded(name): name for name in reversed(self.known)}

    def meant(self, name: str) -> str:
        """``; did you mean 'node012'?`` for ``node12``, else the name spelled most alike."""
        alike = self.unpadded.get(_unpadded(name))
        return f"; did you mean {alike!r}?" if alike else did_you_mean(name, self.known)

    # -- by the host's own word ----------------------------------------------------------------

    def by_stat(self, host: InventoryHost, stat: IbStat) -> HostLids:
        """By the port GUIDs of its ``ibstat``."""
        if stat.problems:
            raise InputError(
                f"{host.name}: its ibstat was not read whole (line {stat.problems[0].line}: "
                f"{stat.problems[0].text.strip()!r}), so some of its ports may not be known; "
                "run ibstat there and see what it says"
            )
        absent = sorted(set(host.ib_hca) - {ca.name for ca in stat.cas})
        if absent:
            have = ", ".join(ca.name for ca in stat.cas) or "none"
            raise InputError(f"{host.name} has no HCA {', '.join(absent)} (it has {have})")
        owners: list[tuple[PortId, range]] = []
        notes: list[str] = []
        for ca in stat.cas:
            if host.ib_hca and ca.name not in host.ib_hca:
                continue
            self.all_shown(host, ca)
            for port in ca.ports:
                if port.is_infiniband is False or (host.ib_port or port.number) != port.number:
                    continue
                where = f"{host.name}: {ca.name} port {port.number}"
                if port.port_guid is None or port.lid is None:
                    notes.append(f"{where} has no LID ({port.state or 'its state is not known'})")
                    continue
                at = self.of_guid.get(port.port_guid)
                seen = None if at is None else self.fabric.port(at)
                if seen is None:
                    notes.append(f"{where} ({port.port_guid}) is not on this fabric")
                    continue
                self.agree(where, seen, int(port.lid), port.lmc)
                owners.append((seen.id, seen.lids()))
        if not owners:
            why = "; ".join(notes) or "its ibstat shows no InfiniBand port"
            raise InputError(f"no port of {host.name!r} is on this fabric: {why}")
        return self.made(host.name, owners, "ibstat", tuple(notes))

    def all_shown(self, host: InventoryHost, ca: Ca) -> None:
        """Refuse an HCA with ports on this fabric that its host's ``ibstat`` does not show."""
        node = self.fabric.nodes.get(ca.node_guid) if ca.node_guid is not None else None
        if node is None or host.ib_port is not None:
            return
        shown = {port.number for port in ca.ports}
        hidden = [str(n) for n, port in node.ports.items() if port.lids() and n not in shown]
        if hidden:
            raise InputError(
                f"{host.name}: {ca.name} has a LID on port {', '.join(hidden)} too, which its "
                "ibstat does not show; set ib_port, or find out why"
            )

    @staticmethod
    def agree(where: str, seen: Port, lid: int, lmc: int | None) -> None:
        """Refuse a port whose own LIDs are not those of the sweep."""
        if seen.lid != lid or (lmc is not None and lmc != seen.lmc):
            raise InputError(
                f"{where} says LID {lid}, LMC {lmc}, the sweep LID {seen.lid or 'none'}, LMC "
                f"{seen.lmc}: LIDs changed in between, or the host is on another subnet; look again"
            )


_KINDS = {NodeType.SWITCH: "switch", NodeType.ROUTER: "router", NodeType.CA: "SHARP node"}


def _unpadded(name: str) -> str:
    return re.sub(r"(?<!\d)0+(?=\d)", "", name.casefold())


def _owners(nodes: Iterable[Node]) -> Iterator[tuple[PortId, range]]:
    """Ports that own LIDs, and the LIDs; port 0 stands for a switch."""
    for node in nodes:
        if node.type is NodeType.CA:
            yield from ((port.id, port.lids()) for port in node.ports.values())
        else:
            lids = sorted(node.lids())
            yield PortId(node.guid, 0), range(lids[0], lids[-1] + 1) if lids else range(0)


def _is_one_host(nodes: Sequence[Node]) -> bool:
    """True for the HCAs of one host: ``node001 mlx5_0`` and ``node001 mlx5_1``."""
    rests = [" ".join(node.name.split()[1:]) for node in nodes]
    firsts = {node.name.split()[0] for node in nodes}
    return (
        len(firsts) == 1
        and len(set(rests)) == len(rests)
        and all(_HCA.match(rest) for rest in rests)
    )


def _several(name: str, nodes: Sequence[Node]) -> str:
    shown = [f"{node.name.strip()!r} {node.guid}" for node in nodes]
    return (
        f"{name!r} names {len(nodes)} nodes: {listed(shown)}; name the one that is meant "
        "by its GUID or its LID"
    )


def _spans(lids: Sequence[int]) -> Iterator[str]:
    """``4-7``, ``9``: runs of ascending LIDs."""
    start = 0
    for index in range(1, len(lids) + 1):
        if index == len(lids) or lids[index] != lids[index - 1] + 1:
            first, last = lids[start], lids[index - 1]
            yield str(first) if first == last else f"{first}-{last}"
            start = index


@dataclass(frozen=True, slots=True)
class JobSides:
    """Clients and storage, with how each host's LIDs are known.

    Attributes:
        unasked: why the ``ibstat`` of hosts could not be read, a sentence each.
    """

    clients: JobLids
    storage: JobLids
    unasked: tuple[str, ...] = ()

    @property
    def names(self) -> Mapping[int, str]:
        """Host by LID."""
        owners = {**self.clients.owner, **self.storage.owner}
        return {lid: host.host for lid, host in owners.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """How the LIDs are known."""
        known = tuple(
            f"{side}: {note}"
            for side, lids in (("clients", self.clients), ("storage", self.storage))
            for note in lids.notes
        )
        return (*known, *unasked_notes(self.unasked))


def unasked_notes(reasons: Sequence[str]) -> tuple[str, ...]:
    """One sentence about all hosts without ``ibstat``; the first few reasons."""
    if not reasons:
        return ()
    return (f"hosts whose ibstat could not be read: {wording.reasons(reasons)}",)

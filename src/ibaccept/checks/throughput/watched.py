"""What the cables of a job were seen to carry, and which of them are slow, full or bad."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ibaccept.checks.counters import ErrorCounters, growth_of
from ibaccept.checks.diagnosis.facts import AGREE, NEAR, CableShare, Carried, Excess, HostCable
from ibaccept.checks.throughput.pairs import share_of
from ibaccept.checks.throughput.under_load import under_load
from ibaccept.fabric.model import Link, PortId, Rate
from ibaccept.fabric.nodeset import fold
from ibaccept.load.result import CableRate, CableWatch, DirectedRate, LoadRuns
from ibaccept.observe.snapshot import Snapshot, Window
from ibaccept.routing.crossings import crossings
from ibaccept.routing.tables import DELIVERED
from ibaccept.verdict import Different
from ibaccept.verdict.absence import NotSeen

_ANY_GROWTH = ErrorCounters.model_validate(
    {"id": "under-load", "kind": "error-counters", "links": "all", "window": "load"}
)


@dataclass(frozen=True)
class WatchedCables:
    """The cables watched in load runs.

    Attributes:
        window: counter sweeps before and after all load runs; None where not made.
        comparable: ports that send toward the clients into cables among which routing could
            choose, by group.
    """

    snapshot: Snapshot
    loads: LoadRuns
    window: Window | NotSeen | None = None
    comparable: tuple[tuple[PortId, ...], ...] = ()

    def between_switches(self, lids: Callable[[PortId], int]) -> tuple[CableShare, ...]:
        """Cables between switches, with their shares in each run.

        Cables beside them that were not watched are among them, without shares.

        Args:
            lids: of the job's clients, by the switch port they leave by.
        """
        shares: dict[tuple[PortId, PortId], dict[str, float | None]] = defaultdict(dict)
        for key, cable, way in self._carried():
            if cable.kind == "isl":
                shares[cable.ports][key] = share_of(way)
        fabric = self.snapshot.fabric
        groups = {self._comparable_to(fabric.link_at[ports[0]]) for ports in shares}
        for link in fabric.links:
            is_down = any(end.is_down for end in link.ends)
            if fabric.is_isl(link) and not is_down and self._comparable_to(link) in groups:
                shares.setdefault(link.key, {})
        faulty = {*(link.key for link in self._slow_isls()), *(self._grown or {})}
        return tuple(
            CableShare(
                fabric.link_name(fabric.link_at[ports[0]]),
                self._comparable_to(fabric.link_at[ports[0]]),
                max(map(lids, ports)),
                **shares[ports],
                faulty=ports in faulty,
            )
            for ports in sorted(shares)
        )

    def _carried(self) -> Iterator[tuple[str, CableRate, DirectedRate]]:
        """By run, ``write``, ``read`` or ``rdma``: each cable, and the way its data took."""
        for key, run in (
            ("write", "filesystem-write"),
            ("read", "filesystem-read"),
            ("rdma", "rdma-read"),
        ):
            watch = self.loads.watches.get(run)
            for cable in watch.cables if isinstance(watch, CableWatch) else ():
                ways = (cable.toward_clients, cable.toward_storage)
                taken = [way for way in ways if way.flows and cable.kind == "isl"]
                if not taken:
                    taken = [ways[key == "write"]]
                # of two ways the fuller one, and that may be one that was not read
                unread = [way for way in taken if share_of(way) is None]
                yield key, cable, max(unread or taken, key=lambda way: share_of(way) or 0.0)

    def _comparable_to(self, link: Link) -> str:
        """The switches of a cable and of those that it may be compared with, for people."""
        found = self._names.get(link.a.id) or self._names.get(link.b.id)
        return found or self._group(link)

    @cached_property
    def _names(self) -> Mapping[PortId, str]:
        """Name of its group by the port that sends toward the clients, where there are others."""
        fabric = self.snapshot.fabric
        found: dict[PortId, str] = {}
        for ports in self.comparable:
            pairs = dict.fromkeys(self._group(fabric.link_at[port]) for port in ports)
            name = next(iter(pairs)) if len(pairs) == 1 else self._sides(ports)
            found.update(dict.fromkeys(ports, name))
        return found

    def _sides(self, ports: Iterable[PortId]) -> str:
        """``leaf01 -> spine[01-02]``: switches that send, and those that receive."""
        fabric = self.snapshot.fabric
        far = [
            end for port in ports for end in fabric.link_at[port].ends if end.id.guid != port.guid
        ]
        near = [fabric.nodes[port.guid].name.strip() for port in ports]
        return f"{fold(near)} -> {fold(fabric.node_of(end).name.strip() for end in far)}"

    def _group(self, link: Link) -> str:
        """The two switches of a cable, for people; with GUIDs where a name is not of one node."""
        fabric = self.snapshot.fabric
        names = []
        for end in link.ends:
            node = fabric.node_of(end)
            name = node.name.strip()
            names.append(name if len(fabric.by_name.get(name, ())) == 1 else f"{name} {node.guid}")
        return " - ".join(sorted(names))

    def of_hosts(self) -> tuple[HostCable, ...]:
        """The cables of the job's hosts, with what they carried in each run."""
        carried: dict[tuple[PortId, PortId], dict[str, Carried]] = defaultdict(dict)
        for key, cable, way in self._carried():
            if way.rate is not None:
                carried[cable.ports][key] = Carried(way.rate.gib, share_of(way))
        cables = [cable for cable in self._watched() if cable.kind != "isl"]
        rates = {cable.ports: self._rate(cable) for cable in cables}
        found = []
        for cable in cables:
            assert cable.kind != "isl"  # noqa: S101 - for the type
            side = [rates[other.ports] for other in cables if other.kind == cable.kind]
            known = [rate.gbps for rate in side if rate is not None]
            own = rates[cable.ports]
            slower = None if own is None or len(known) == 1 else own.gbps < max(known)
            found.append(
                HostCable(
                    f"{cable.name} ({own})",
                    cable.host or cable.name,
                    cable.kind,
                    slower,
                    carried[cable.ports],
                )
            )
        return tuple(found)

    def _rate(self, cable: CableRate) -> Rate | None:
        return self.snapshot.fabric.link_at[cable.ports[0]].rate

    def slow_links(self) -> tuple[str, ...] | None:
        """Cables of the job between switches that are slower than those beside them.

        None where there are none, and not every cable's rate was seen.
        """
        watched = self._watched()
        slow = tuple(self._named(link) for link in self._slow_isls())
        if not slow and (not watched or any(self._rate(cable) is None for cable in watched)):
            return None
        return slow

    def _named(self, link: Link) -> str:
        return f"{self.snapshot.fabric.link_name(link)} ({link.rate})"

    def _slow_isls(self) -> tuple[Link, ...]:
        """Cables between switches that are slower than others between the same two."""
        return tuple(
            link
            for links in self._isls().values()
            for link in links
            if link.rate is not None
            and link.rate.gbps < max(other.rate.gbps for other in links if other.rate is not None)
        )

    def _isls(self) -> dict[str, list[Link]]:
        """Watched cables between switches, by the two they join."""
        groups: dict[str, list[Link]] = defaultdict(list)
        for cable in self._watched():
            link = self.snapshot.fabric.link_at[cable.ports[0]]
            if cable.kind == "isl":
                groups[self._group(link)].append(link)
        return groups

    def lone_links(self) -> tuple[str, ...]:
        """Cables alone between their switches that no other of these switches is the equal of.

        Where they are slower than others there, that may be by design.
        """
        groups = self._isls()
        alone = [links[0] for links in groups.values() if len(links) == 1]
        every = [link for links in groups.values() for link in links]
        found = []
        for link in alone:
            guids = {end.id.guid for end in link.ends}
            others = [
                other.rate.gbps
                for other in every
                if other is not link
                and other.rate is not None
                and guids & {end.id.guid for end in other.ends}
            ]
            if link.rate is not None and link.rate.gbps < max(others, default=float("inf")):
                found.append(self._named(link))
        return tuple(found)

    def _watched(self) -> list[CableRate]:
        found: dict[tuple[PortId, PortId], CableRate] = {}
        for watch in self.loads.watches.values():
            if isinstance(watch, CableWatch):
                found.update({cable.ports: cable for cable in watch.cables})
        return list(found.values())

    def error_links(self) -> tuple[str, ...] | None:
        """Cables of the job whose error counters grew under load.

        None where none is known to, and not all were compared.
        """
        return None if self._grown is None else tuple(self._grown.values())

    @cached_property
    def _grown(self) -> Mapping[tuple[PortId, PortId], str] | None:
        watched = self._watched()
        if not isinstance(self.window, Window) or not watched:
            return None
        growth = under_load(self.loads, growth_of(self.snapshot, self.window, _ANY_GROWTH))
        links = [self.snapshot.fabric.link_at[cable.ports[0]] for cable in watched]
        judged = [(link, growth(link)) for link in links]
        grown = {link.key: value.found for link, value in judged if isinstance(value, Different)}
        if not grown and any(isinstance(value, NotSeen) for _, value in judged):
            return None
        return grown

    def excess(self) -> tuple[Excess, ...] | None:
        """Groups that carried more toward the clients in the read run than reached the clients.

        None where none is known to, and not all were read.
        """
        groups: dict[str, list[DirectedRate]] = defaultdict(list)
        reached: list[DirectedRate] = []
        for key, cable, way in self._carried():
            if key == "read" and cable.kind == "isl":
                groups[self._group(self.snapshot.fabric.link_at[cable.ports[0]])].append(way)
            elif key == "read" and cable.kind == "client":
                reached.append(way)
        clients = _sum(reached)
        if clients is None:
            return None
        sums = [(group, _sum(ways)) for group, ways in sorted(groups.items())]
        found = tuple(
            Excess(group, total, clients)
            for group, total in sums
            if total is not None and total > (1 + AGREE) * clients
        )
        return None if not found and any(total is None for _, total in sums) else found

    def have_room(
        self, run: str, sources: Iterable[PortId], targets: Mapping[str, int]
    ) -> dict[str, bool | None]:
        """Whether every cable on the way from all sources to a target had room in a run.

        Args:
            run: its name.
            sources: ports that send.
            targets: LIDs, by name.

        Returns:
            By name; False where one was near its ceiling, None where one was not read.
        """
        watch = self.loads.watches.get(run)
        shares = {
            way.sender: share_of(way)
            for cable in (watch.cables if isinstance(watch, CableWatch) else ())
            for way in (cable.toward_clients, cable.toward_storage)
        }
        cabling, starts = self.snapshot.routes.cabling, list(sources)
        ends = np.array([cabling.endpoint_of[port] for port in starts], dtype=np.int64)
        found = crossings(
            self.snapshot.routes,
            np.tile(ends, len(targets)),
            np.repeat(np.array(list(targets.values()), dtype=np.int64), ends.size),
        )
        first = [shares.get(port) for port in starts]
        on_way: dict[str, list[float | None]] = {name: list(first) for name in targets}
        names = [name for name in targets for _ in starts]
        for pair, switch, port in zip(
            found.pair.tolist(), found.switch.tolist(), found.port.tolist(), strict=True
        ):
            on_way[names[pair]].append(shares.get(PortId(cabling.switches[switch], port)))
        for pair in np.flatnonzero(found.end != DELIVERED).tolist():
            on_way[names[pair]].append(None)
        return {name: _has_room(known) for name, known in on_way.items()}


def _has_room(shares: Sequence[float | None]) -> bool | None:
    known = [share for share in shares if share is not None]
    if any(share >= NEAR for share in known):
        return False
    return True if known and len(known) == len(shares) else None


def _sum(ways: Sequence[DirectedRate]) -> float | None:
    """GiB/s of all; None where one was not read, or there are none."""
    known = [way.rate.gib for way in ways if way.rate is not None]
    return sum(known) if known and len(known) == len(ways) else None

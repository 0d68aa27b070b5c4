"""The RDMA pairs of a job: what would be fair of each, and which hosts are slow in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ibaccept.checks.diagnosis.facts import NEAR, SLOW, SlowHost
from ibaccept.errors import IbacceptError
from ibaccept.fabric.model import Fabric, PortId, Rate
from ibaccept.load.result import (
    CableRate,
    CableWatch,
    DirectedRate,
    FilesystemRun,
    LoadRuns,
    Pair,
    PairRate,
    RateState,
    RdmaRun,
    WaitRate,
)
from ibaccept.observe.lids import HostLids
from ibaccept.observe.snapshot import Snapshot
from ibaccept.routing.forecast import Ceiling
from ibaccept.routing.maxmin import Uses, max_min
from ibaccept.routing.paths import Disposition
from ibaccept.verdict.absence import NotSeen, NotSeenError

Rates = Sequence[tuple[int, float, float]]
"""Of the pairs of one host: number of the round, measured and fair, GiB/s."""


@dataclass(frozen=True, slots=True)
class SlowHosts:
    """Hosts all of whose RDMA pairs are slower than their fair share, by side.

    Attributes:
        senders: storage servers; None where no slow one is known, and not all were judged.
        receivers: clients likewise.
        unjudged: why, by side, ``client`` and ``storage``; absent where there was no run.
    """

    senders: tuple[SlowHost, ...] | None
    receivers: tuple[SlowHost, ...] | None
    unjudged: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RdmaPairs:
    """RDMA pairs on the cables of the tables.

    Attributes:
        ceilings: of one idle link in one direction.
        clients: LID by host; None where a host has several ports: which one a pair takes is not
            known.
        servers: as before.
    """

    snapshot: Snapshot
    loads: LoadRuns
    ceilings: Mapping[Rate, Ceiling]
    clients: Mapping[str, int | None]
    servers: Mapping[str, int | None]

    def fair(self, rounds: Iterable[RdmaRun]) -> dict[tuple[int, PairRate], float]:
        """Fair share of the cables of each measured pair, GiB/s, all pairs of a round at once.

        By number of the round, and pair.

        A client is not asked for more than it moved in the write run, and no pair for more than
        the best one of its round moved: what hosts can do by themselves is no matter of the
        cables.

        Raises:
            NotSeenError: the tables were not seen or do not deliver a pair, a host has several
                ports, or the rate of a cable is not known.
        """
        write = self.loads.filesystem_write
        wrote = {
            rate.client: rate.rate.gib
            for rate in (write.rates if isinstance(write, FilesystemRun) else ())
        }
        fair: dict[tuple[int, PairRate], float] = {}
        for round_ in rounds:
            ways = [self.way(rate.pair) for rate in round_.rates]
            ports = {
                port: n for n, port in enumerate(dict.fromkeys(p for way in ways for p in way))
            }
            uses = [(flow, ports[port]) for flow, way in enumerate(ways) for port in way]
            if not uses:
                continue
            flow, resource = (np.array(part, dtype=np.int64) for part in zip(*uses, strict=True))
            capacity = np.array([self._ceiling_gib(port) for port in ports])
            best = max(rate.rate.gib for rate in round_.rates)
            caps = np.array([min(best, wrote.get(r.pair.client, best)) for r in round_.rates])
            rates = max_min(Uses(flow, resource), capacity, caps)
            keys = [(round_.round, rate) for rate in round_.rates]
            fair.update(zip(keys, rates.rate.tolist(), strict=True))
        return fair

    def _ceiling_gib(self, port: PortId) -> float:
        fabric = self.snapshot.fabric
        link = fabric.link_at.get(port)
        ceiling = None if link is None or link.rate is None else self.ceilings.get(link.rate)
        if ceiling is None:
            raise NotSeenError(
                NotSeen(
                    "the fair share of each RDMA pair",
                    f"the rate of the cable at {fabric.port_name(port)} is not known",
                    "look at it with iblinkinfo",
                )
            )
        return ceiling.payload.gib

    def slow_hosts(self) -> SlowHosts:
        """Senders and receivers all of whose pairs are slower than their fair share.

        Of a cable that is full, each pair has what the others leave it: a slow pair that crosses
        one, or one that was not read, tells nothing of its hosts.
        """
        rounds = self.loads.rdma_read
        if not isinstance(rounds, tuple) or not rounds:
            return SlowHosts(None, None)
        try:
            for part in (part for round_ in rounds for part in round_.unseen):
                raise NotSeenError(part)  # a fair share is one of all pairs, or it is none
            fair = self.fair(rounds)
        except IbacceptError as error:
            return SlowHosts(None, None, dict.fromkeys(("client", "storage"), str(error)))
        by_sender: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
        by_receiver: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
        room = {round_.round: self._room(round_) for round_ in rounds}
        for (number, rate), share in fair.items():
            is_slow = rate.rate.gib < SLOW * share
            if not is_slow or room[number].issuperset(self.way(rate.pair)):
                by_sender[rate.pair.storage].append((number, rate.rate.gib, share))
                by_receiver[rate.pair.client].append((number, rate.rate.gib, share))
        pairs = {rate.pair for _, rate in fair}
        return self._ends(pairs, by_sender, by_receiver)

    def _ends(
        self,
        pairs: Iterable[Pair],
        by_sender: Mapping[str, Rates],
        by_receiver: Mapping[str, Rates],
    ) -> SlowHosts:
        """Which end of each slow pair is slow.

        The one with other pairs that are slow as well, or the client whose switch port waits for
        it. What a sender cannot send waits nowhere; where a port waits that is not the first of
        its switch, either end may be slow.
        """
        senders, receivers = _slow(by_sender), _slow(by_receiver)
        slow = {host.host for host in (*senders, *receivers)}
        waiting, quiet = set(self.waiting()), self._quiet()
        suspects = [pair for pair in pairs if {pair.storage, pair.client} <= slow]
        sent = {
            pair.storage
            for pair in suspects
            if len(by_sender[pair.storage]) > 1
            or (len(by_receiver[pair.client]) == 1 and pair.client in quiet - waiting)
        }
        doubtful = {
            end: f"{pair.storage} and {pair.client} are slow with each other, and PortXmitWait "
            "toward the client does not tell which of them it is"
            for pair in suspects
            if pair.storage not in sent
            and len(by_receiver[pair.client]) == 1
            and pair.client not in quiet | waiting
            for end in (pair.storage, pair.client)
        }
        of_sender = {
            pair.client: f"{pair.client} was only paired with {pair.storage}, which is slow"
            for pair in suspects
            if pair.storage in sent
        }
        of_receiver = {
            pair.storage: f"{pair.storage} was only paired with {pair.client}, which is slow"
            for pair in suspects
            if pair.client not in of_sender and pair.storage not in sent
        }
        server = _judged(senders, self.servers, by_sender, {**of_receiver, **doubtful})
        client = _judged(receivers, self.clients, by_receiver, {**of_sender, **doubtful})
        reasons = (("storage", server), ("client", client))
        return SlowHosts(
            None if isinstance(server, str) else server,
            None if isinstance(client, str) else client,
            {side: why for side, why in reasons if isinstance(why, str)},
        )

    def way(self, pair: Pair) -> tuple[PortId, ...]:
        """The ports that send on the way of a pair's data.

        Raises:
            NotSeenError: an end has several ports, or the tables do not deliver the pair.
        """
        ends = []
        for host, lids in ((pair.storage, self.servers), (pair.client, self.clients)):
            lid = lids.get(host)
            if lid is None:
                raise NotSeenError(
                    NotSeen("the way of each RDMA pair", f"{host} has several ports on this fabric")
                )
            ends.append(lid)
        source, target = ends if pair.sender == pair.storage else ends[::-1]
        route = self.snapshot.routes.path(source, target)
        if route.disposition is not Disposition.DELIVERED:
            raise NotSeenError(
                NotSeen(
                    "the way of each RDMA pair",
                    f"{pair.storage} and {pair.client}: LID {source} to {target} is "
                    f"{route.disposition.value} by the tables",
                    "look at the routes entries of the report first",
                )
            )
        return route.ports

    def _room(self, round_: RdmaRun) -> set[PortId]:
        """Ports that were seen not to be full in an RDMA run."""
        watch = self.loads.watches.get(round_.name)
        return {
            way.sender
            for cable in (watch.cables if isinstance(watch, CableWatch) else ())
            for way in (cable.toward_clients, cable.toward_storage)
            if (share := share_of(way)) is not None and share < NEAR
        }

    def waiting(self) -> tuple[str, ...]:
        """Hosts whose facing switch port waits most of its switch, in any run."""
        found = (
            host
            for host, wait in self._waits("")
            if wait.rank == 1 and wait.of > 1 and (wait.per_second or 0.0) > 0
        )
        return tuple(dict.fromkeys(found))

    def _quiet(self) -> set[str]:
        """Hosts whose facing switch port waits less than most of its switch, or not at all."""
        waits: dict[str, list[WaitRate]] = defaultdict(list)
        for host, wait in self._waits("rdma-read"):
            waits[host].append(wait)
        return {
            host
            for host, seen in waits.items()
            if all(not wait.per_second or 2 * (wait.rank or 0) > wait.of for wait in seen)
        }

    def _waits(self, runs: str) -> Iterator[tuple[str, WaitRate]]:
        """Hosts, and how the switch port waits that faces each, by runs that begin so."""
        for name, watch in self.loads.watches.items():
            if not isinstance(watch, CableWatch) or not name.startswith(runs):
                continue
            for cable in watch.cables:
                wait = _facing(cable).wait
                if cable.host is not None and wait is not None and wait.state is RateState.OK:
                    yield cable.host, wait


def _facing(cable: CableRate) -> DirectedRate:
    """The direction of a host's cable that ends at the host."""
    return cable.toward_clients if cable.kind == "client" else cable.toward_storage


def share_of(rate: DirectedRate) -> float | None:
    """Share of the ceiling that one direction of a cable carried, None where not known."""
    return None if rate.percent is None else rate.percent / 100


def first_lids(hosts: Iterable[HostLids]) -> dict[str, int]:
    """The first LID of each host: of one with a single port, the one traffic goes to."""
    return {host.host: host.lids[0] for host in hosts}


def port_lids(hosts: Iterable[HostLids]) -> dict[str, int | None]:
    """The LID each host's traffic goes to; None where it has several ports: nobody knows which."""
    return {host.host: host.lids[0] if len(host.ports) == 1 else None for host in hosts}


def require_one_port(hosts: Iterable[HostLids], fabric: Fabric) -> None:
    """Refuse hosts with several ports: by which of them traffic goes is not known.

    Raises:
        NotSeenError: the first such host, its ports, and how to name one of them.
    """
    for host in hosts:
        if len(host.ports) == 1:
            continue
        ports = ", ".join(fabric.port_name(port) for port in host.ports)
        name = "ib_hca and ib_port"
        if host.source != "ibstat":
            name = "ib_name (the port's GUID or LID)"
        raise NotSeenError(
            NotSeen(
                "the port of each host",
                f"forecast models one port per host; {host.host} has {len(host.ports)} on this "
                f"fabric: {ports}",
                f"name the port with {name} in the inventory",
            )
        )


def _judged(
    found: tuple[SlowHost, ...],
    hosts: Iterable[str],
    rates: Mapping[str, Rates],
    excused: Mapping[str, str],
) -> tuple[SlowHost, ...] | str:
    """The slow hosts of a side; where there are none, why the side is not known to have none."""
    slow = tuple(host for host in found if host.host not in excused)
    if slow:
        return slow
    for host in hosts:
        if host in excused:
            return excused[host]
        if not rates.get(host):
            return (
                f"{host} was in no RDMA pair, or only in slow ones that crossed a cable which was "
                "full or not read"
            )
    return ()


def _slow(by_host: Mapping[str, Rates]) -> tuple[SlowHost, ...]:
    """Hosts all of whose pairs are slow; rates of a round add up, rounds follow each other."""
    slow = []
    for host, pairs in sorted(by_host.items()):
        if all(found < SLOW * share for _, found, share in pairs):
            rounds = len({number for number, _, _ in pairs})
            found, fair = (sum(pair[place] for pair in pairs) / rounds for place in (1, 2))
            slow.append(SlowHost(host, found, fair))
    return tuple(slow)

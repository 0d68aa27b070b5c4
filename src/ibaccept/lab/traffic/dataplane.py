"""The data that moves on a simulated fabric: flows, their rates, and the bytes each port counted.

Between two events (a flow begins, ends, or the tables change) all rates are constant: max-min fair
over the cables of the *live* forwarding tables, the hosts and the storage. So what every port has
counted is exact at any moment, and is only computed when it is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ibaccept.errors import IbacceptError
from ibaccept.fabric.model import PortId
from ibaccept.lab.fabric.network import Ints, Network, Pair
from ibaccept.lab.traffic.settings import Traffic
from ibaccept.routing.forecast import Ceiling
from ibaccept.routing.maxmin import Uses, max_min
from ibaccept.routing.tables import PORTS

MTU = 4096
HEADER = 26
"""Bytes of an RC packet around its payload: LRH 8, BTH 12, ICRC 4, VCRC 2. The data counters count
octets / 4 of all but the VCRC, which is 0.1 % less and left out here."""
WAIT_TICKS = 100e6
"""PortXmitWait of a port that may not send for a second. Real devices differ; so does the tick."""
SATURATED_WAIT = 0.05
"""Share of the time that a full cable waits for credits of the far end's buffers."""

Floats = NDArray[np.float64]


@dataclass(slots=True, eq=False)
class Flow:
    """Data on the way.

    Attributes:
        pairs: sending and receiving host of each stripe; stripes are independent of each other.
        client: host whose file system client moves it; None for RDMA without a file system.
        read: a file system client reads; else it writes.
        cap: the most the flow takes, bytes per second.
        size: bytes after which it ends; None = it is ended.
        moved: payload bytes delivered so far.
        rate: payload bytes per second at present.
        lost: a stripe has no route.
    """

    pairs: tuple[Pair, ...]
    client: str | None = None
    read: bool = False
    cap: float = float("inf")
    size: float | None = None
    moved: float = 0.0
    rate: float = 0.0
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Counted:
    """What a port has counted since the lab began.

    Attributes:
        sent: octets / 4, PortXmitData.
        received: octets / 4, PortRcvData.
        sent_packets: PortXmitPkts.
        received_packets: PortRcvPkts.
        wait: PortXmitWait.
    """

    sent: int
    received: int
    sent_packets: int
    received_packets: int
    wait: int


@dataclass
class DataPlane:
    """All flows of a fabric. Time only moves by ``advance``; the caller owns the clock.

    Args:
        traffic: limits.
        storage: storage servers, over which the file system is striped.
    """

    traffic: Traffic
    storage: tuple[str, ...]
    network: Network | None = None
    flows: list[Flow] = field(default_factory=list)
    now: float = 0.0
    _paths: dict[Pair, Ints | None] = field(default_factory=dict)
    _ceilings: dict[int, float] = field(default_factory=dict)
    _totals: dict[PortId, list[float]] = field(default_factory=dict)
    _active: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    _rates: Floats = field(default_factory=lambda: np.empty(0))
    _waits: Floats = field(default_factory=lambda: np.empty(0))
    _bytes: Floats = field(default_factory=lambda: np.empty(0))
    _ticks: Floats = field(default_factory=lambda: np.empty(0))

    # -- time ---------------------------------------------------------------------------------

    def advance(self, now: float) -> None:
        """Let data move until ``now`` (seconds of the caller's clock) at the present rates."""
        seconds = now - self.now
        if seconds <= 0:
            return
        self.now = now
        for flow in self.flows:
            flow.moved += flow.rate * seconds
        self._bytes[self._active] += self._rates * seconds
        self._ticks[self._active] += self._waits * seconds

    def next_end(self) -> float:
        """When the next flow of a given size will be through; infinite for none."""
        ends = [
            self.now + max(0.0, flow.size - flow.moved) / flow.rate
            for flow in self.flows
            if flow.size is not None and flow.rate > 0
        ]
        return min(ends, default=float("inf"))

    def through(self) -> list[Flow]:
        """Flows that have moved all of their size."""
        # A byte less is rounding.
        return [f for f in self.flows if f.size is not None and f.moved >= f.size - 1.0]

    # -- the fabric ---------------------------------------------------------------------------

    def attach(self, network: Network) -> None:
        """Take other tables; what was counted stays."""
        self._settle()
        self.network = network
        self._paths.clear()
        self._ceilings.clear()
        self._bytes, self._ticks = np.zeros(network.codes), np.zeros(network.codes)
        self._active = np.empty(0, np.int64)
        self._rates = self._waits = np.empty(0)
        self.rerate()

    def _settle(self) -> None:
        """Move what was counted by code to the ports, whose identity outlives the tables."""
        if self.network is None:
            return
        for code in np.flatnonzero((self._bytes > 0) | (self._ticks > 0)).tolist():
            here = self.network.port(code)
            far = self.network.far(here)
            moved = float(self._bytes[code])
            own = self._totals.setdefault(here, [0.0, 0.0, 0.0])
            own[0] += moved
            own[2] += float(self._ticks[code])
            if far is not None:
                self._totals.setdefault(far, [0.0, 0.0, 0.0])[1] += moved
        self._bytes[:] = 0
        self._ticks[:] = 0

    def counted(self) -> dict[PortId, Counted]:
        """What each port that moved anything has counted until ``now``."""
        self._settle()
        found: dict[PortId, Counted] = {}
        for port, (sent, received, ticks) in self._totals.items():
            found[port] = Counted(
                int(sent * (1 + HEADER / MTU) / 4),
                int(received * (1 + HEADER / MTU) / 4),
                int(sent / MTU),
                int(received / MTU),
                int(ticks),
            )
        return found

    def clear(self, port: PortId | None) -> None:
        """Clear the counters of a port, or of all."""
        self._settle()
        for known in tuple(self._totals):
            if port in {None, known}:
                self._totals[known] = [0.0, 0.0, 0.0]

    # -- rates --------------------------------------------------------------------------------

    def rerate(self) -> None:
        """Rate all flows anew, after one came, went or the tables changed.

        Raises:
            IbacceptError: no tables were attached.
        """
        if self.network is None:
            raise IbacceptError("the data plane of the lab has no forwarding tables yet")
        missing = {pair for flow in self.flows for pair in flow.pairs} - self._paths.keys()
        self._paths |= self.network.paths(missing)
        stripes = [(f, pair) for f in self.flows for pair in f.pairs]
        routed = [(f, pair, self._paths[pair]) for f, pair in stripes]
        for flow in self.flows:
            flow.rate = 0.0
            flow.lost = any(self._paths[pair] is None for pair in flow.pairs)
        carried = [(f, pair, path) for f, pair, path in routed if path is not None and not f.lost]
        if not carried:
            self._active = np.empty(0, np.int64)
            self._rates = self._waits = np.empty(0)
            return
        _Rating(self.network, self.traffic, self._ceilings, self.storage, carried).rate(self)

    def carry(self, active: Ints, rates: Floats, waits: Floats) -> None:
        """Set the bytes per second these cables carry and the ticks per second they wait."""
        self._active, self._rates, self._waits = active, rates, waits


class _Rating:
    """One allocation of rates."""

    def __init__(
        self,
        network: Network,
        traffic: Traffic,
        ceilings: dict[int, float],
        storage: tuple[str, ...],
        carried: list[tuple[Flow, Pair, Ints]],
    ) -> None:
        self._network = network
        self._traffic = traffic
        self._ceilings = ceilings
        self._storage = set(storage)
        self._carried = carried
        self._limits: dict[object, float] = {}
        self._members: dict[object, list[int]] = {}
        for number, (flow, (source, sink), _path) in enumerate(carried):
            self._share(number, source, ("send", "nic"))
            self._share(number, sink, ("receive", "nic"))
            for host, way in ((source, "out"), (sink, "in")):
                self._member((host, way), self._traffic.limit(host, "pace"), number)
            if flow.cap != float("inf"):
                self._member(id(flow), flow.cap, number)
            if flow.client is not None:
                self._file_system(number, flow)

    def _share(self, number: int, host: str, kinds: Pair) -> None:
        limit = min(self._traffic.limit(host, kind) for kind in kinds)
        self._member((host, kinds[0]), limit, number)

    def _file_system(self, number: int, flow: Flow) -> None:
        kind = "fs_read" if flow.read else "fs_write"
        client = str(flow.client)
        self._member((client, kind), self._traffic.limit(client, kind), number)
        for end in self._carried[number][1]:
            if end in self._storage:
                self._member((end, kind), self._traffic.limit(end, kind), number)
        system = self._traffic.filesystem
        pool = system.read if flow.read else system.write
        if pool is not None:
            self._member(kind, pool.bytes_per_second, number)

    def _member(self, key: object, limit: float, number: int) -> None:
        if limit != float("inf"):
            self._limits[key] = limit
            self._members.setdefault(key, []).append(number)

    def _uses(self) -> tuple[Ints, Ints, Floats]:
        """Stripe, code and weight of every use of a cable, hop by hop."""
        stripe: list[Ints] = []
        code: list[Ints] = []
        weight: list[Floats] = []
        for number, (_flow, _pair, path) in enumerate(self._carried):
            if not self._traffic.adaptive:
                stripe.append(np.full(path.size, number))
                code.append(path)
                weight.append(np.ones(path.size))
                continue
            for hop in path.tolist():
                ways = self._network.parallel(hop)
                stripe.append(np.full(ways.size, number))
                code.append(ways)
                weight.append(np.full(ways.size, 1 / ways.size))
        return np.concatenate(stripe), np.concatenate(code), np.concatenate(weight)

    def _capacities(self, codes: Ints, stripe: Ints, cable: Ints) -> Floats:
        found = np.empty(codes.size)
        known = self._ceilings
        for index, code in enumerate(codes.tolist()):
            if code not in known:
                known[code] = self._ceiling(code)
            found[index] = known[code]
        if self._traffic.contention:
            sinks = np.unique([pair[1] for _f, pair, _p in self._carried], return_inverse=True)[1]
            both = np.unique(np.stack([cable, sinks[stripe]]), axis=1)[0]
            shared = np.bincount(both, minlength=codes.size) > 1
            isl = [c < self._network.first_end and self._is_isl(c) for c in codes.tolist()]
            found[shared & np.array(isl)] *= 1 - self._traffic.contention
        return found

    def _ceiling(self, code: int) -> float:
        rate = self._network.rate(code)
        if rate is None:
            raise IbacceptError(f"the lab shows no rate of the cable at {self._network.port(code)}")
        given = self._traffic.ceilings.get(str(rate)) or Ceiling.derive(rate).payload
        return given.bytes_per_second

    def _is_isl(self, code: int) -> bool:
        return bool(self._network.cabling.isl[code // PORTS, code % PORTS])

    def rate(self, plane: DataPlane) -> None:
        """Rate the flows, and tell the plane what every cable carries."""
        stripe, code, weight = self._uses()
        codes, cable = np.unique(code, return_inverse=True)
        capacity = self._capacities(codes, stripe, cable)
        members = list(self._members.values())
        extra = np.repeat(np.arange(len(members)), [len(m) for m in members]) + codes.size
        uses = Uses(
            np.concatenate([stripe, *(np.array(m, dtype=np.int64) for m in members)]),
            np.concatenate([cable, extra]).astype(np.int64),
            np.concatenate([weight, np.ones(extra.size)]),
        )
        limits = np.concatenate([capacity, np.array([self._limits[key] for key in self._members])])
        rates = max_min(uses, limits, np.full(len(self._carried), np.inf))
        for number, (flow, _pair, _path) in enumerate(self._carried):
            flow.rate += float(rates.rate[number])
        wait = self._wait(stripe, cable, rates.bottleneck, rates.rate, capacity)
        plane.carry(codes, rates.load[: codes.size], wait * WAIT_TICKS)

    def _wait(
        self, stripe: Ints, cable: Ints, bottleneck: Ints, rate: Floats, capacity: Floats
    ) -> Floats:
        """Share of the time each cable has data and may not send it.

        A flow that is held back further down the way (by a full cable, or by a host that takes no
        more) waits at every port before that. What its source, or the storage, does not send waits
        nowhere.
        """
        cables = capacity.size
        wait = np.zeros(cables)
        wait[np.unique(bottleneck[bottleneck < cables])] = SATURATED_WAIT
        receiving = [isinstance(key, tuple) and key[1] == "receive" for key in self._members]
        # For each stripe the place, among all uses, from which on nothing waits for it.
        until = np.full(bottleneck.size, -1, dtype=np.int64)
        held = cable == bottleneck[stripe]
        # Backwards, so that the first of several uses stays.
        until[stripe[held][::-1]] = np.flatnonzero(held)[::-1]
        by_sink = np.flatnonzero(bottleneck >= cables)
        until[by_sink[np.array(receiving, dtype=bool)[bottleneck[by_sink] - cables]]] = cable.size
        before = np.arange(cable.size) < until[stripe]
        fair = (capacity / np.maximum(1, np.bincount(cable, minlength=cables)))[cable]
        lack = np.maximum(0, fair - rate[stripe]) / capacity[cable]
        wait += np.bincount(cable[before], weights=lack[before], minlength=cables)
        return np.minimum(wait, 1.0)

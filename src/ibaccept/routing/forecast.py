"""What a job's throughput should be, from the tables, the cables and its own write run.

Two figures bracket it. *Max-min fair*: every flow takes what its cables, hosts and storage leave
it, so that clients on empty cables run ahead. *Lock-step*: all flows go as slowly as the slowest,
as a barrier after every step makes them; for N clients over U equal cables with k on the fullest
that is (N/U)/k of what all U cables carry. Head-of-line blocking is not modelled; it takes a job
from the upper figure towards the lower one. Neither is a maximum: flows that are not fair to each
other can carry more than max-min fair ones, see ``RateForecast.permitted``.

Nothing measured in a read run may enter a forecast of reads, or it would predict itself:
:class:`AdmissibleInputs` has no place for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ibaccept.errors import InputError
from ibaccept.fabric.model import PortId, Rate
from ibaccept.fabric.units import Bandwidth
from ibaccept.routing.crossings import Crossings, crossings
from ibaccept.routing.maxmin import Rates, Uses, greatest_sum, max_min
from ibaccept.routing.paths import Routes
from ibaccept.routing.tables import DELIVERED, PORTS

Direction = Literal["read", "write"]
Origin = Literal["configured", "measured", "derived"]

NOT_MODELLED = "head-of-line blocking is not modelled"
DERIVED_SHARE = 0.984
"""Payload of a link without a figure of the site's, as a share of its data rate: the least of what
ib_write_bw reaches on idle EDR, HDR and NDR links (98.4, 196.8 and 394.6 Gb/s)."""

_SAME = 1e-6
"""Terms of a sum that differ by less, relatively, are printed as one."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Payload one idle link of a rate carries in one direction.

    Attributes:
        payload: the figure.
        how: in the expectations file, measured on an idle pair by this suite, or computed from the
            data rate because there is no other figure.
    """

    payload: Bandwidth
    how: Origin

    @classmethod
    def derive(cls, rate: Rate) -> Ceiling:
        """The stand-in for a figure of the site's own hardware."""
        return cls(Bandwidth.from_gbps(rate.gbps * DERIVED_SHARE), "derived")


@dataclass(frozen=True, kw_only=True)
class AdmissibleInputs:
    """All that may enter a forecast, and nothing else.

    There is no field in which a figure of a read run, of the file system or of RDMA, could be
    given; a test holds the set of fields.

    Attributes:
        routes: paths, from the forwarding tables.
        clients: of the job: LID that each is reached at, by host name.
        servers: storage servers: LID, by host name.
        ceilings: of one link in one direction, by its width and speed.
        client_write: what each client wrote per second in the write run; every client.
        server_write: what each server took per second in the write run; every server, or none
            where that was not measured.
        nic: what a host's adapter can move in one direction, where that is less than its link
            (PCIe), by host name.
        storage: what the storage can move as a whole, None where that is not known.
    """

    routes: Routes
    clients: Mapping[str, int]
    servers: Mapping[str, int]
    ceilings: Mapping[Rate, Ceiling]
    client_write: Mapping[str, Bandwidth]
    server_write: Mapping[str, Bandwidth] = field(default_factory=dict)
    nic: Mapping[str, Bandwidth] = field(default_factory=dict)
    storage: Bandwidth | None = None

    def __post_init__(self) -> None:
        if not self.clients or not self.servers:
            raise InputError("a forecast needs at least one client and one storage server")
        both = sorted(set(self.clients) & set(self.servers))
        if both:
            raise InputError(f"{both[0]} is a client and a storage server; name it once")
        _require(self.client_write, self.clients, "clients")
        if self.server_write:
            _require(self.server_write, self.servers, "servers")


def _require(rates: Mapping[str, Bandwidth], hosts: Iterable[str], what: str) -> None:
    missing = [host for host in hosts if host not in rates]
    if missing:
        raise InputError(
            f"the write run shows no rate of {missing[0]}"
            + (f" and {len(missing) - 1} other {what}" if len(missing) > 1 else "")
            + "; run filesystem-write with the same node list first"
        )


@dataclass(frozen=True, slots=True)
class ForecastCable:
    """One cable in the direction of the job.

    Attributes:
        port: the port that sends into the cable.
        name: that port for people, ``SwitchB/25``.
        towards: the far port for people.
        isl: between switches; False for the cable of a host.
        lids: destination LIDs of the job that leave here.
        load: what the job moves here by the forecast.
        ceiling: what the cable carries.
        binds: it is full.
    """

    port: PortId
    name: str
    towards: str
    isl: bool
    lids: tuple[int, ...]
    load: Bandwidth
    ceiling: Ceiling
    binds: bool


@dataclass(frozen=True, slots=True)
class Term:
    """A part of the sum: ``2 x 22.6 GiB/s``, and what that is."""

    count: int
    each: Bandwidth
    what: str

    def __str__(self) -> str:
        times = f"{self.count} x " if self.count > 1 else ""
        return f"{times}{self.each.gib:.1f}"


@dataclass(frozen=True, eq=False)
class RateForecast:
    """A forecast for one node list in one direction.

    Attributes:
        direction: of the job: a read flows from the servers to the clients.
        aggregate: of all clients, max-min fair: the upper end.
        lock_step: of all clients where all are as slow as the slowest: the lower end.
        permitted: the most that cables and adapters let through by any division of their capacity
            among the flows, whatever clients, servers and storage can do: a maximum, no fair sum.
        clients: per client, by host name.
        servers: per server, by host name.
        flows: bytes per second, shape (clients, servers), in the order of the inputs.
        cables: every cable that the job crosses, inter-switch links first, by name.
        terms: what adds up to ``aggregate``.
    """

    direction: Direction
    aggregate: Bandwidth
    lock_step: Bandwidth
    permitted: Bandwidth
    clients: Mapping[str, Bandwidth]
    servers: Mapping[str, Bandwidth]
    flows: Floats
    cables: tuple[ForecastCable, ...]
    terms: tuple[Term, ...]

    @property
    def binding(self) -> tuple[ForecastCable, ...]:
        """The cables that hold the job back."""
        return tuple(cable for cable in self.cables if cable.binds)

    def place_of(self, measured: Bandwidth) -> str:
        """Where a figure lies: ``36 % of the way from lock-step to max-min fair``."""
        low, high = self.lock_step.bytes_per_second, self.aggregate.bytes_per_second
        found = measured.bytes_per_second
        if found < low and not _alike(found, low):
            return f"{100 * (1 - found / low):.1f} % below lock-step ({self.lock_step.gib:.1f})"
        if found > high and not _alike(found, high):
            return f"{100 * (found / high - 1):.1f} % above max-min fair ({self.aggregate.gib:.1f})"
        if _alike(low, high):
            return "lock-step and max-min fair agree on it"
        share = min(max((found - low) / (high - low), 0.0), 1.0)
        return f"{100 * share:.0f} % of the way from lock-step to max-min fair"

    @property
    def sum_text(self) -> str:
        """``2 x 22.6 + 7.6 = 52.8 GiB/s``."""
        return f"{' + '.join(map(str, self.terms))} = {self.aggregate:.1f}"

    @property
    def sentence(self) -> str:
        """The forecast in a sentence, with what it rests on."""
        parts = "; ".join(f"{term}: {term.what}" for term in self.terms)
        derived = any(cable.ceiling.how == "derived" for cable in self.cables)
        caveat = ", link ceilings derived from the data rate, not measured" if derived else ""
        return (
            f"{len(self.clients)} clients {self.direction} {self.lock_step.gib:.1f} (in lock-step) "
            f"to {self.aggregate:.1f} (max-min fair): {self.sum_text} ({parts}){caveat}; "
            f"{NOT_MODELLED}"
        )


def forecast(inputs: AdmissibleInputs, direction: Direction) -> RateForecast:
    """Forecast the throughput of a striped job: each client has a flow with every server.

    A forecast of writes does not use the rates of the write run: it says what the fabric, the
    adapters and the storage would let through.

    Raises:
        InputError: a LID without owner, a pair that the tables do not deliver, or a cable whose
            rate is not known or has no ceiling.
    """
    job = _Job(inputs, direction)
    rates = job.rated(with_writes=direction == "read")
    flows = rates.rate.reshape(len(inputs.clients), len(inputs.servers))
    total = float(flows.sum())
    return RateForecast(
        direction=direction,
        aggregate=Bandwidth(total),
        lock_step=Bandwidth(float(flows.min()) * flows.size),
        permitted=Bandwidth(job.most()),
        clients=_named(inputs.clients, flows.sum(axis=1)),
        servers=_named(inputs.servers, flows.sum(axis=0)),
        flows=flows,
        cables=job.cables(rates),
        terms=job.terms(rates),
    )


def _named(names: Iterable[str], values: Floats) -> dict[str, Bandwidth]:
    return {name: Bandwidth(float(v)) for name, v in zip(names, values, strict=True)}


@dataclass(frozen=True, slots=True)
class _Group:
    """A limit that some flows share: its resource number is its place in the list.

    Attributes:
        capacity: bytes per second.
        what: for the sum of the sentence.
        flows: numbers of the flows.
    """

    capacity: float
    what: str
    flows: Ints


class _Job:
    """The flows of a job, the cables they cross and the limits they share."""

    def __init__(self, inputs: AdmissibleInputs, direction: Direction) -> None:
        self._inputs = inputs
        self._direction = direction
        routes, cabling = inputs.routes, inputs.routes.cabling
        clients = np.array(list(inputs.clients.values()), dtype=np.int64)
        servers = np.array(list(inputs.servers.values()), dtype=np.int64)
        # Flow number = client * servers + server.
        client, server = np.repeat(clients, servers.size), np.tile(servers, clients.size)
        slid, dlid = (server, client) if direction == "read" else (client, server)
        self._dlid: Ints = dlid
        top = cabling.owner.size
        for lid in np.unique(slid).tolist():
            if not (0 < lid < top and cabling.owner[lid] >= 0):
                raise InputError(f"no port that the sweep saw owns LID {lid}; sweep again")
        source = cabling.owner[slid].astype(np.int64)
        over = crossings(routes, source, self._dlid)
        self._require_delivery(over, slid)
        # Codes of ports that send: switch * 256 + port, and after those the endpoints.
        self._first_end = len(cabling.switches) * PORTS
        code = np.concatenate([over.switch * PORTS + over.port, self._first_end + source])
        self._flow = np.concatenate([over.pair, np.arange(source.size)])
        self._code, self._cable = np.unique(code, return_inverse=True)
        self._ceilings = [self._ceiling(self._port(int(code))) for code in self._code]

    def _require_delivery(self, over: Crossings, slid: Ints) -> None:
        lost = np.flatnonzero(over.end != DELIVERED)
        if lost.size:
            pair = int(lost[0])
            route = self._inputs.routes.path(int(slid[pair]), int(self._dlid[pair]))
            raise InputError(
                f"{lost.size} of {over.end.size} pairs of the job are not delivered by the tables, "
                f"for one LID {slid[pair]} to {self._dlid[pair]} ({route.disposition.value}); "
                "there is no forecast for them"
            )

    def _port(self, code: int) -> PortId:
        cabling = self._inputs.routes.cabling
        if code >= self._first_end:
            return cabling.endpoints[code - self._first_end].id
        return PortId(cabling.switches[code // PORTS], code % PORTS)

    def _ceiling(self, port: PortId) -> Ceiling:
        fabric = self._inputs.routes.fabric
        link = fabric.link_at.get(port)
        rate = None if link is None else link.rate
        if link is None or rate is None:
            raise InputError(
                f"width and speed of the cable at {fabric.port_name(port)} were not seen; "
                "a forecast needs them"
            )
        ceiling = self._inputs.ceilings.get(rate)
        if ceiling is None:
            raise InputError(
                f"{fabric.link_name(link)} is {rate}, for which no ceiling is given; add it under "
                "'ceilings:' or let it be measured"
            )
        return ceiling

    def rated(self, *, with_writes: bool, with_storage: bool = True) -> Rates:
        """Max-min fair rates in bytes per second."""
        uses, capacity = self._uses(with_writes=with_writes, with_storage=with_storage)
        return max_min(uses, capacity, np.full(self._dlid.size, np.inf))

    def _uses(self, *, with_writes: bool, with_storage: bool) -> tuple[Uses, list[float]]:
        """Which flow uses which limit, and the capacities in bytes per second."""
        groups = self._groups(with_writes=with_writes, with_storage=with_storage)
        cables = len(self._ceilings)
        flow = np.concatenate([self._flow, *(group.flows for group in groups)])
        extra = np.repeat(np.arange(cables, cables + len(groups)), [g.flows.size for g in groups])
        capacity = [c.payload.bytes_per_second for c in self._ceilings]
        capacity += [group.capacity for group in groups]
        return Uses(flow, np.concatenate([self._cable, extra]).astype(np.int64)), capacity

    def most(self) -> float:
        """Bytes per second that cables and adapters let through at most.

        Where there are too many kinds of flows to compute it, the sum of the senders' cables stands
        in, which is no less.
        """
        uses, capacity = self._uses(with_writes=False, with_storage=False)
        found = greatest_sum(uses, capacity)
        return self._one_side(capacity) if found is None else found

    def _one_side(self, capacity: Sequence[float]) -> float:
        """What the cables of the sending hosts carry together: no flow goes by another way."""
        first = self._code >= self._first_end
        return float(np.array(capacity[: self._code.size])[first].sum())

    def _groups(self, *, with_writes: bool, with_storage: bool = True) -> list[_Group]:
        inputs = self._inputs
        number = np.arange(self._dlid.size).reshape(len(inputs.clients), len(inputs.servers))
        found: list[_Group] = []
        sides = (
            ("client", inputs.client_write, zip(inputs.clients, number, strict=True)),
            ("server", inputs.server_write, zip(inputs.servers, number.T, strict=True)),
        )
        for what, written, hosts in sides:
            for host, flows in hosts:
                if with_writes and host in written:
                    limit = written[host].bytes_per_second
                    found.append(_Group(limit, f"{what}{{s}} at the rate of the write run", flows))
                if host in inputs.nic:
                    limit = inputs.nic[host].bytes_per_second
                    found.append(_Group(limit, f"{what}{{s}} at the limit of the adapter", flows))
        if with_storage and inputs.storage is not None:
            limit = inputs.storage.bytes_per_second
            found.append(_Group(limit, "the limit of the storage", number.reshape(-1)))
        return found

    def cables(self, rates: Rates) -> tuple[ForecastCable, ...]:
        """What each cable carries."""
        fabric = self._inputs.routes.fabric
        order = np.argsort(self._cable, kind="stable")
        parts = np.split(self._flow[order], np.cumsum(np.bincount(self._cable))[:-1])
        found: list[ForecastCable] = []
        for index, (code, ceiling) in enumerate(
            zip(self._code.tolist(), self._ceilings, strict=True)
        ):
            port = self._port(code)
            link = fabric.link_at[port]
            far = link.b if link.a.id == port else link.a
            found.append(
                ForecastCable(
                    port=port,
                    name=fabric.port_name(port),
                    towards=fabric.port_name(far),
                    isl=fabric.is_isl(link),
                    lids=tuple(np.unique(self._dlid[parts[index]]).tolist()),
                    load=Bandwidth(float(rates.load[index])),
                    ceiling=ceiling,
                    binds=_alike(rates.load[index], ceiling.payload.bytes_per_second),
                )
            )
        return tuple(sorted(found, key=lambda cable: (not cable.isl, cable.name, cable.port)))

    def terms(self, rates: Rates) -> tuple[Term, ...]:
        """The flows by what holds them back, cables first, the largest first."""
        groups = self._groups(with_writes=self._direction == "read")
        fabric = self._inputs.routes.fabric
        totals: list[tuple[str, float]] = []
        for resource in np.unique(rates.bottleneck).tolist():
            amount = float(rates.rate[rates.bottleneck == resource].sum())
            if resource < len(self._ceilings):
                isl = fabric.is_isl(fabric.link_at[self._port(int(self._code[resource]))])
                full = self._ceilings[resource].payload.bytes_per_second
                what = f"{'inter-switch' if isl else 'host'} cable{{s}} at the ceiling"
                if not _alike(full, amount):
                    what = f"left by others on {what}"
            else:
                what = groups[resource - len(self._ceilings)].what
            totals.append((what, amount))
        totals.sort(key=lambda total: ("cable" not in total[0], -total[1]))
        found: list[Term] = []
        for what, amount in totals:
            last = found[-1] if found else None
            if last and last.what == what and _alike(last.each.bytes_per_second, amount):
                found[-1] = Term(last.count + 1, last.each, what)
            else:
                found.append(Term(1, Bandwidth(amount), what))
        return tuple(
            Term(t.count, t.each, t.what.format(s="s" if t.count > 1 else "")) for t in found
        )


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= _SAME * max(one, other)

"""What load runs gave. Frozen data; every part that was not seen says why, naming host and step."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ibaccept.fabric.model import PortId, Rate
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.pace import Direction
from ibaccept.routing.forecast import Ceiling
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef, Counter


@dataclass(frozen=True, slots=True)
class TimeSpread:
    """How far apart the processes of a run began, by the hosts' clocks set right.

    Attributes:
        seconds: between the first and the last.
        uncertain: seconds by which that can be wrong: the clocks are known no better.
        first: host.
        last: host.
    """

    seconds: float
    uncertain: float
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class Pair:
    """One RDMA pair.

    Attributes:
        client: of the job.
        storage: server of the storage.
        sender: whose adapter sends the data.
        runs_server: the end that runs the tool's server.
        tcp_port: they meet at.
    """

    client: str
    storage: str
    sender: str
    runs_server: str
    tcp_port: int


@dataclass(frozen=True, slots=True)
class PairRate:
    """What one pair carried in the middle part of its run, in one direction."""

    pair: Pair
    rate: Bandwidth
    iterations: int
    mtu: int | None
    capture: CaptureRef


def rdma_name(direction: Direction, round_number: int) -> str:
    """What a round is called: ``rdma-read``, ``rdma-read-2``."""
    return f"rdma-{direction}" + (f"-{round_number + 1}" if round_number else "")


@dataclass(frozen=True)
class RdmaRun:
    """One direction, all pairs at once.

    Attributes:
        pairs: of every pair, or why there is none of it.
        moved: sentences about ports that were in use, so that the next one was taken.
        spread: of the starts; None with less than one start.
        seconds: each pair was to run.
        round: number of an all-to-all round, from 0.
        ended: processes started, and how many of them were seen to end.
    """

    direction: Direction
    tool: str
    pairs: Mapping[Pair, PairRate | NotSeen]
    spread: TimeSpread | None
    seconds: float
    moved: tuple[str, ...] = ()
    round: int = 0
    ended: tuple[int, int] = (0, 0)

    @property
    def name(self) -> str:
        """Under which its cables were watched: ``rdma-read``, ``rdma-read-2``."""
        return rdma_name(self.direction, self.round)

    @property
    def rates(self) -> tuple[PairRate, ...]:
        """The pairs that were measured."""
        return tuple(rate for rate in self.pairs.values() if isinstance(rate, PairRate))

    @property
    def unseen(self) -> tuple[NotSeen, ...]:
        """Why the others were not."""
        return tuple(rate for rate in self.pairs.values() if isinstance(rate, NotSeen))

    @property
    def total(self) -> Bandwidth | None:
        """Of all pairs; None where one was not measured: a part is not the aggregate."""
        if self.unseen or not self.pairs:
            return None
        return Bandwidth(sum(rate.rate.bytes_per_second for rate in self.rates))


@dataclass(frozen=True, slots=True)
class ClientRate:
    """What one client of a file system run moved.

    Attributes:
        moved: bytes.
        seconds: it took, by the tool.
        rate: by the tool.
    """

    client: str
    moved: int
    seconds: float
    rate: Bandwidth
    capture: CaptureRef | None = None


@dataclass(frozen=True, slots=True)
class DataSet:
    """The data set against the caches, in bytes.

    Attributes:
        per_client: written and read by each client.
        clients: of them.
        client_memory: the most memory a client has; None where not seen.
        storage_memory: of all storage servers together; None where not seen.
    """

    per_client: int
    clients: int
    client_memory: int | None
    storage_memory: int | None

    @property
    def client_ratio(self) -> float | None:
        """Data set of a client over its memory."""
        return None if not self.client_memory else self.per_client / self.client_memory

    @property
    def storage_ratio(self) -> float | None:
        """Whole data set over the memory of all storage servers."""
        if not self.storage_memory:
            return None
        return self.per_client * self.clients / self.storage_memory


@dataclass(frozen=True)
class FilesystemRun:
    """One direction of the file system, all clients at once.

    Attributes:
        clients: of every client, or why there is none of it.
        data_set: None for a recorded run that does not say.
        spread: of the starts.
        total_seconds: from the first start to the last end, by the hosts' clocks set right.
        recorded: the rate of a recorded run as a whole.
        ended: as in `RdmaRun`.
    """

    direction: Direction
    tool: str
    clients: Mapping[str, ClientRate | NotSeen]
    data_set: DataSet | None
    spread: TimeSpread | None
    total_seconds: float | None = None
    recorded: Bandwidth | None = None
    ended: tuple[int, int] = (0, 0)

    @property
    def name(self) -> str:
        """Under which its cables were watched."""
        return f"filesystem-{self.direction}"

    @property
    def rates(self) -> tuple[ClientRate, ...]:
        """The clients that were measured."""
        return tuple(rate for rate in self.clients.values() if isinstance(rate, ClientRate))

    @property
    def unseen(self) -> tuple[NotSeen, ...]:
        """Why the others were not."""
        return tuple(rate for rate in self.clients.values() if isinstance(rate, NotSeen))

    @property
    def total(self) -> Bandwidth | None:
        """Sum of the clients' rates; None where one was not measured."""
        if self.recorded is not None:
            return self.recorded
        if self.unseen or not self.clients:
            return None
        return Bandwidth(sum(rate.rate.bytes_per_second for rate in self.rates))

    @property
    def moved(self) -> int | None:
        """Bytes of all clients; None where one was not measured."""
        if self.unseen or not self.rates:
            return None
        return sum(rate.moved for rate in self.rates)


class RateState(enum.StrEnum):
    """Whether a rate from two readings means anything; as `CounterState`."""

    OK = "ok"
    SATURATED = "saturated"
    CLEARED = "cleared"
    UNSUPPORTED = "unsupported"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class WaitRate:
    """How fast PortXmitWait of one port grew. Its tick is the device's own: only for ordering.

    Attributes:
        per_second: ticks; None where the state is not ok.
        rank: among the watched ports of its switch, 1 = waits most; None where not ok.
        of: ports ranked.
    """

    port: PortId
    state: RateState
    per_second: float | None = None
    rank: int | None = None
    of: int = 0


@dataclass(frozen=True, slots=True)
class DirectedRate:
    """One direction of a cable.

    Attributes:
        sender: port that sends in this direction.
        state: of the readings.
        rate: bytes counted (x 4), headers included; None where the state is not ok.
        percent: of the ceiling, to which headers are added as the cable counts them; None where
            there is no rate or no ceiling.
        wait: of the sending port, None where it was not read.
        why: a sentence, where the state is not ok.
        flows: pairs of the job whose data the tables send this way in this run.
        counters: what both ends counted in the window; where one fell, the two readings it fell
            between.
        captures: lines of the readings of the counter the rate or the state comes from.
    """

    sender: PortId
    name: str
    state: RateState
    rate: Bandwidth | None
    percent: float | None
    wait: WaitRate | None
    why: str = ""
    flows: int = 0
    counters: tuple[Counter, ...] = ()
    captures: tuple[CaptureRef, ...] = ()


@dataclass(frozen=True, slots=True)
class CableRate:
    """One cable during a run, both directions named by where the data goes.

    Attributes:
        ports: of both ends, ordered.
        kind: ``isl``, ``client`` or ``storage``.
        host: whose cable it is, None for an ISL.
        toward_clients: where clients and storage are on both sides of it, the way of the greater
            part of the reads.
        toward_storage: the other way.
    """

    ports: tuple[PortId, PortId]
    name: str
    kind: Literal["isl", "client", "storage"]
    host: str | None
    link_rate: Rate | None
    toward_clients: DirectedRate
    toward_storage: DirectedRate

    @property
    def ways(self) -> tuple[DirectedRate, DirectedRate]:
        """Both directions."""
        return self.toward_clients, self.toward_storage


@dataclass(frozen=True, slots=True)
class LoadWindow:
    """The steady part of a run, by the clock of the host that read.

    Attributes:
        start: of the first reading inside.
        end: of the last.
        samples: inside.
        uncertain: seconds the longest reading took: no reading is better placed than that.
    """

    start: float
    end: float
    samples: int
    uncertain: float

    @property
    def seconds(self) -> float:
        """Between the first and the last reading."""
        return self.end - self.start

    @property
    def uncertain_share(self) -> float:
        """Share by which a rate over this window can be wrong for the times of its readings."""
        return self.uncertain / self.seconds


@dataclass(frozen=True, slots=True)
class ByteBalance:
    """Bytes on the clients' cables against bytes of the benchmark, in the run's direction.

    Attributes:
        cable: counted, headers included (rate in a run of known length, bytes otherwise).
        benchmark: claimed, headers added.
        what: ``bytes`` of the whole run, or ``bytes/s`` of its steady part.
        uncertain: share by which the cables' figure can be wrong, from the times of the readings.
        explained: ``cached`` (fewer on the cables), ``other-traffic`` (more); None within 3 %, or
            within what is uncertain where that is more.
    """

    cable: float
    benchmark: float
    what: Literal["bytes", "bytes/s"]
    uncertain: float
    explained: Literal["cached", "other-traffic"] | None

    @property
    def difference(self) -> float:
        """Share of the benchmark by which the cables carried more."""
        return self.cable / self.benchmark - 1


@dataclass(frozen=True)
class CableWatch:
    """The cables during one run.

    Attributes:
        run: ``filesystem-write`` and the like.
        window: the steady part.
        cables: those the job's routes cross, and those of its hosts.
        problems: of single ports or switches.
    """

    run: str
    direction: Direction
    window: LoadWindow
    cables: tuple[CableRate, ...]
    problems: tuple[NotSeen, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkCeiling:
    """What one link of a rate carries in one direction, and how that is known, in a sentence."""

    rate: Rate
    ceiling: Ceiling
    how: str


@dataclass(frozen=True)
class LoadRuns:
    """All load runs of one run of the suite.

    Attributes:
        filesystem_write: None where the expectations order none.
        filesystem_read: as before; made after the write run, of what that wrote.
        rdma_read: rounds; one with ``pattern: pairs``. Empty where none is ordered.
        rdma_write: as ``rdma_read``.
        watches: by run: ``filesystem-write``, ``filesystem-read``, ``rdma-read``, ``rdma-write``
            (and ``rdma-read-2`` for the second round).
        balances: by run, as ``watches``: of the cables' bytes, or why there is none.
        served: the same of the cables of the job's storage.
        cleared: ports whose counters fell while they were read, during a run or between two, a
            sentence each.
        ceilings: by rate of every watched cable.
        problems: everything that was not seen, each naming host and step, and clocks that differ.
        tools: versions, by tool: the version, or host by host where they differ.
        left: what could not be ended or removed, a sentence each.
        kept: test files that the entry orders to keep, a sentence each.
    """

    filesystem_write: FilesystemRun | NotSeen | None = None
    filesystem_read: FilesystemRun | NotSeen | None = None
    rdma_read: tuple[RdmaRun, ...] | NotSeen | None = None
    rdma_write: tuple[RdmaRun, ...] | NotSeen | None = None
    watches: Mapping[str, CableWatch | NotSeen] = field(default_factory=dict)
    balances: Mapping[str, ByteBalance | NotSeen] = field(default_factory=dict)
    served: Mapping[str, ByteBalance | NotSeen] = field(default_factory=dict)
    cleared: Mapping[PortId, str] = field(default_factory=dict)
    ceilings: Mapping[Rate, LinkCeiling] = field(default_factory=dict)
    problems: tuple[NotSeen, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

"""What a load run goes by."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ibaccept.fabric.model import Rate
from ibaccept.fabric.units import Bandwidth
from ibaccept.site.inventory import InventoryHost
from ibaccept.site.recorded import RecordedRun

Direction = Literal["read", "write"]
"""``read``: data moves from storage to clients."""

FIRST_PORT = 18600
"""TCP port of the first RDMA pair; each pair of a run has one of its own."""


@dataclass(frozen=True, slots=True)
class FilesystemLoad:
    """``workloads: filesystem:`` of the expectations.

    Attributes:
        path: folder on the file system, as every client sees it.
        size_per_client: bytes one client writes, then reads.
        block: bytes of one request.
        processes: per client.
        depth: requests in flight per process.
        at_most: seconds after which a run is stopped.
        keep: leave the test files.
        cached: a data set that caches can hold is meant.
        engine: fio's I/O engine.
        direct: past the clients' page cache.
        recorded: the site's own results, for ``recorded``: one a direction.
    """

    tool: Literal["fio", "ior", "elbencho", "recorded"]
    path: str | None = None
    size_per_client: int | None = None
    block: int = 1 << 20
    processes: int = 1
    depth: int = 16
    at_most: float = 1800.0
    keep: bool = False
    cached: bool = False
    engine: Literal["libaio", "io_uring", "posixaio", "psync"] = "libaio"
    direct: bool = True
    recorded: tuple[RecordedRun, ...] = ()


@dataclass(frozen=True, slots=True)
class RdmaLoad:
    """``workloads: rdma:`` of the expectations.

    Attributes:
        duration: seconds (``-D``); the measured part is the middle half.
        message: bytes.
        qps: queue pairs of each pair of hosts.
        depth: messages in flight (``-t``), None = the tool's own.
        link_type: what a row must be of; None where RoCE will do.
    """

    tool: Literal["ib_write_bw", "ib_read_bw"] = "ib_write_bw"
    duration: int = 30
    message: int = 1 << 20
    qps: int = 4
    direction: Literal["read", "write", "both"] = "read"
    pattern: Literal["pairs", "all-to-all"] = "pairs"
    depth: int | None = None
    link_type: str | None = "IB"

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Directions to run, one after the other."""
        return ("read", "write") if self.direction == "both" else (self.direction,)


@dataclass(frozen=True)
class LoadInputs:
    """All of it.

    Attributes:
        clients: of the job.
        storage: servers.
        filesystem: None = no such run.
        rdma: None = no such run.
        ceilings: of one link by rate, from the expectations; ``measure`` = on idle pairs.
        token: 16 hexadecimal digits, random for each run, that name its folders.
    """

    clients: tuple[InventoryHost, ...]
    storage: tuple[InventoryHost, ...]
    filesystem: FilesystemLoad | None = None
    rdma: RdmaLoad | None = None
    ceilings: Mapping[Rate, Bandwidth] | Literal["measure"] = field(default_factory=dict)
    token: str = field(default_factory=lambda: secrets.token_hex(8))


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things wait; a replay and tests wait less.

    Attributes:
        sleep: waits a number of seconds; does nothing in a replay.
        interval: seconds between two samples of the cables.
        listening: looks at a host for its servers, a pause of ``listening_pause`` between two.
        settle: share of a run of known length, at each of its ends, that is not its steady part
            (perftest's own margin is a quarter).
        ramp: seconds after the release that are not steady, for a run of unknown length.
        lifetime: seconds a server outlives its run at most.
        fan_out: hosts begun at a time.
    """

    sleep: Callable[[float], None] = time.sleep
    interval: float = 2.0
    listening: int = 40
    listening_pause: float = 0.25
    settle: float = 0.25
    ramp: float = 5.0
    lifetime: float = 60.0
    fan_out: int = 32

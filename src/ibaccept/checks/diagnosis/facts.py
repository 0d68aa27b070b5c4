"""What distinguishes the look-alikes of a slow read: measured shares, rates and names.

Plain data, filled by :mod:`ibaccept.checks.throughput.measured` and judged by
:mod:`ibaccept.checks.diagnosis`. None is what was not measured; an empty
tuple is what was measured and found to be nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

NEAR = 0.85
"""Share of its ceiling from which a cable counts as full (the case: 96 % and 94 %)."""
IDLE = 0.5
"""Share below which a cable has room."""
SLOW = 0.75
"""Share of its fair rate below which a pair is slow."""
AGREE = 0.10
"""Relative difference up to which two layers count as one."""


@dataclass(frozen=True, slots=True)
class CableShare:
    """One cable between switches, as shares of its ceiling; None where not measured.

    Attributes:
        group: cables of one group join the same two switches.
        lids: LIDs of the job's clients that the tables send over it, toward the clients.
        write: share in the write run, toward storage.
        read: share in the read run, toward the clients.
        rdma: share in the RDMA run, toward the clients.
        faulty: slower than parallel ones, or its error counters grew under load.
    """

    name: str
    group: str
    lids: int
    write: float | None = None
    read: float | None = None
    rdma: float | None = None
    faulty: bool = False

    @property
    def has_room(self) -> bool:
        """It was measured, and in no run anywhere near full."""
        known = [share for share in (self.write, self.read, self.rdma) if share is not None]
        return bool(known) and max(known) < IDLE


@dataclass(frozen=True, slots=True)
class Carried:
    """What a cable carried in a run: GiB/s, and the share of its ceiling where that is known."""

    gib: float
    share: float | None


@dataclass(frozen=True)
class HostCable:
    """The cable of one host.

    Attributes:
        slower: than others of its side; None where that is not seen, or no other is there.
        carried: by run, ``write``, ``read`` and ``rdma``; runs in which it was not read are absent.
    """

    name: str
    host: str
    side: Literal["client", "storage"]
    slower: bool | None
    carried: Mapping[str, Carried] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SlowHost:
    """A host whose RDMA pairs are all slower than their fair share of the cables."""

    host: str
    found_gib: float
    fair_gib: float


@dataclass(frozen=True, slots=True)
class Excess:
    """Cables of a group that carried more toward the clients than reached the clients, GiB/s."""

    group: str
    group_gib: float
    clients_gib: float


@dataclass(frozen=True)
class Facts:
    """All that the rules use. Rates in GiB/s of payload; None or empty = not measured.

    Attributes:
        cables: between switches; one that was not watched though its group was has no shares.
        hosts: the cables of the job's hosts.
        slow_links: cables between switches that are slower than parallel ones; None = not all
            were seen.
        lone_links: cables between switches without a parallel one to compare them with.
        error_links: cables of the job whose error counters grew under load; None = not watched.
        slow_senders: storage hosts slow in RDMA though the cables on the way have room; None = not
            known.
        slow_receivers: clients likewise.
        unjudged: why they are not known, by side, ``client`` and ``storage``; absent without a run.
        waiting: hosts whose facing switch port has the highest PortXmitWait of its switch.
        explained: by run: why cable bytes and benchmark bytes differ, None where they agree.
        differences: by run: cable bytes over benchmark bytes, less one.
        excess: groups over which others sent in the read run; None = not known.
        slow_readers: clients that read below what they write although no full cable is on their
            way; None = not known.
        readers: clients of the read run that no full cable is on the way to.
        adaptive: whether adaptive routing is on, as the site declares it; None = not declared.
        uneven: the tables put more of the job's LIDs on a cable than an even spread would.
        permitted_gib: what the cables permit this node list in the read direction.
    """

    fs_write: float | None = None
    fs_read: float | None = None
    rdma_read: float | None = None
    cables: tuple[CableShare, ...] = ()
    hosts: tuple[HostCable, ...] = ()
    slow_links: tuple[str, ...] | None = None
    lone_links: tuple[str, ...] = ()
    error_links: tuple[str, ...] | None = None
    slow_senders: tuple[SlowHost, ...] | None = None
    slow_receivers: tuple[SlowHost, ...] | None = None
    unjudged: Mapping[str, str] = field(default_factory=dict)
    waiting: tuple[str, ...] = ()
    explained: Mapping[str, str | None] = field(default_factory=dict)
    differences: Mapping[str, float] = field(default_factory=dict)
    excess: tuple[Excess, ...] | None = ()
    slow_readers: tuple[str, ...] | None = None
    readers: int = 0
    adaptive: bool | None = None
    uneven: bool | None = None
    permitted_gib: float | None = None

    @property
    def full(self) -> tuple[CableShare, ...]:
        """Cables between switches near their ceiling in the read run."""
        return tuple(c for c in self.cables if c.read is not None and c.read >= NEAR)

    @property
    def full_hosts(self) -> tuple[HostCable, ...]:
        """Cables of hosts near their ceiling in the read run."""
        return tuple(
            c
            for c in self.hosts
            if "read" in c.carried and (c.carried["read"].share or 0.0) >= NEAR
        )

    @property
    def unread(self) -> tuple[str, ...]:
        """Cables that are not known to have been full, or not full, in the read run."""
        hosts = [c.name for c in self.hosts if _share(c, "read") is None]
        return (*(c.name for c in self.cables if c.read is None), *hosts)

    @property
    def strays(self) -> tuple[CableShare, ...]:
        """Cables that carried reads although the tables send no LID of the job over them."""
        return tuple(
            c for c in self.cables if c.lids == 0 and c.read is not None and c.read > 1 - NEAR
        )

    def holds(self, cable: HostCable) -> bool | None:
        """Whether a host's cable holds its host back: full, with no more than the others carry.

        A host that carries more than the others of its side is held back by nothing of its own.
        None where a share is not known, or lies between full and room.
        """
        is_unclear = not cable.carried
        for run, carried in cable.carried.items():
            others = [
                other.carried[run].gib
                for other in self.hosts
                if other.side == cable.side and other != cable and run in other.carried
            ]
            if not others:
                is_unclear = True
                continue
            if carried.gib > (1 + AGREE) * median(others):
                continue
            if carried.share is not None and carried.share >= NEAR:
                return True
            is_unclear |= carried.share is None or carried.share >= IDLE
        return None if is_unclear else False


def _share(cable: HostCable, run: str) -> float | None:
    carried = cable.carried.get(run)
    return None if carried is None else carried.share

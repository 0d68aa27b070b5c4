"""Which of the look-alikes fits what was measured, which are ruled out, and what to do next.

Pure rules over :class:`Facts`. A rule answers *fits*, *ruled out* or *not known*, each in a
sentence with the figures it rests on. Nothing is claimed beyond what was measured: what was not
measured is not known, and the next step of the elimination order says how to learn it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import mean

NEAR = 0.85
"""Share of its ceiling from which a cable counts as full (the case: 96 % and 94 %)."""
IDLE = 0.5
"""Share below which a cable has room."""
EVEN = 1.5
"""Fullest over mean up to which load counts as even (the case: 11.8 over 11.5)."""
SLOW = 0.75
"""Share of its fair rate below which a pair is slow."""
AGREE = 0.10
"""Relative difference up to which two layers count as one."""
READ_RUN = "filesystem-read"
"""The run whose bytes tell a cache."""
ABOVE = 1.25
"""RDMA over file system from which the limit lies above the network."""


class Cause(enum.StrEnum):
    """What can make reads slow. The value is how reports name it."""

    DEGRADED_LINK = "a degraded link"
    BAD_CABLE = "a bad cable"
    PAGE_CACHE = "the page cache"
    OTHER_TRAFFIC = "other traffic on the fabric"
    ADAPTIVE_ROUTING = "adaptive routing is on"
    SLOW_RECEIVER = "a slow receiver"
    SLOW_SENDER = "a host limited by its PCIe slot or adapter"
    READ_AHEAD = "the clients' read-ahead"
    ROUTE_COLLAPSE = "a static-route collapse"
    STORAGE_BOUND = "the storage"


class State(enum.StrEnum):
    """What a rule says."""

    FITS = "fits"
    RULED_OUT = "ruled out"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Cable:
    """One cable between switches, as shares of its ceiling; None where not measured.

    Attributes:
        group: cables of one group join the same two switches.
        lids: LIDs of the job's clients that the tables send over it, toward the clients.
        write: share in the write run, toward storage.
        read: share in the read run, toward the clients.
        rdma: share in the RDMA run, toward the clients.
    """

    name: str
    group: str
    lids: int
    write: float | None = None
    read: float | None = None
    rdma: float | None = None


@dataclass(frozen=True, slots=True)
class SlowHost:
    """A host whose RDMA pairs are all slower than their fair share of the cables."""

    host: str
    found_gib: float
    fair_gib: float


@dataclass(frozen=True)
class Facts:
    """All the rules go by. Rates in GiB/s of payload; None or empty = not measured.

    Attributes:
        slow_links: cables of the job that are slower than those beside them; None = not seen.
        error_links: cables of the job whose error counters grew under load; None = not watched.
        slow_senders: storage hosts slow in RDMA though their cables have room; None = no RDMA run.
        slow_receivers: clients likewise.
        waiting: hosts whose facing switch port has the highest PortXmitWait of its switch.
        explained: by run: why cable bytes and benchmark bytes differ, None where they agree.
        differences: by run: cable bytes over benchmark bytes, less one.
        slow_readers: clients that read below what they write although no full cable is on their
            way; None = not known.
        readers: clients of the read run.
        adaptive: the site says adaptive routing is on, off, or nothing.
        uneven: the tables put more of the job's LIDs on a cable than an even spread would.
        permitted_gib: what the cables permit this node list in the read direction.
    """

    fs_write: float | None = None
    fs_read: float | None = None
    rdma_read: float | None = None
    cables: tuple[Cable, ...] = ()
    slow_links: tuple[str, ...] | None = None
    error_links: tuple[str, ...] | None = None
    slow_senders: tuple[SlowHost, ...] | None = None
    slow_receivers: tuple[SlowHost, ...] | None = None
    waiting: tuple[str, ...] = ()
    explained: Mapping[str, str | None] = field(default_factory=dict)
    differences: Mapping[str, float] = field(default_factory=dict)
    slow_readers: tuple[str, ...] | None = None
    readers: int = 0
    adaptive: bool | None = None
    uneven: bool | None = None
    permitted_gib: float | None = None

    @property
    def full(self) -> tuple[Cable, ...]:
        """Cables near their ceiling in the read run."""
        return tuple(c for c in self.cables if c.read is not None and c.read >= NEAR)

    def emptiest(self, group: str) -> float | None:
        """Smallest share of a group's cables in the read run."""
        shares = [c.read for c in self.cables if c.group == group and c.read is not None]
        return min(shares, default=None)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one rule says, and why."""

    cause: Cause
    state: State
    why: str


@dataclass(frozen=True)
class Diagnosis:
    """All answers. ``fits`` is empty where nothing that was measured explains the loss."""

    answers: tuple[Answer, ...]
    next_step: str

    @property
    def fits(self) -> tuple[Answer, ...]:
        """What explains it."""
        return tuple(a for a in self.answers if a.state is State.FITS)

    def lines(self) -> tuple[str, ...]:
        """For the reader: what fits, what is ruled out, what is not known, what to do next."""
        found = [f"diagnosis: {a.cause.value} fits: {a.why}" for a in self.fits]
        if not found:
            found = ["diagnosis: nothing that was measured explains it"]
        for state in (State.RULED_OUT, State.UNKNOWN):
            told = [f"{a.cause.value} ({a.why})" for a in self.answers if a.state is state]
            if told:
                found.append(f"{state.value}: {'; '.join(told)}")
        found.append(f"next: {self.next_step}")
        return tuple(found)


def diagnose(facts: Facts) -> Diagnosis:
    """Evaluate every look-alike; the first that fits is named, later ones only if independent.

    Causes that lie nearer to the hardware come first: a degraded link or a slow host makes cables
    and layers look like the later ones.
    """
    answers: list[Answer] = []
    fitted = False
    for rule in RULES:
        answer = rule(facts)
        if answer.state is State.FITS:
            if fitted and answer.cause in DERIVED:
                why = f"what is seen of it follows from the cause named: {answer.why}"
                answer = Answer(answer.cause, State.UNKNOWN, why)
            fitted = True
        answers.append(answer)
    return Diagnosis(tuple(answers), _next(facts, tuple(answers)))


def _fits(cause: Cause, why: str) -> Answer:
    return Answer(cause, State.FITS, why)


def _out(cause: Cause, why: str) -> Answer:
    return Answer(cause, State.RULED_OUT, why)


def _unknown(cause: Cause, why: str) -> Answer:
    return Answer(cause, State.UNKNOWN, why)


def _degraded_link(facts: Facts) -> Answer:
    cause = Cause.DEGRADED_LINK
    if facts.slow_links is None:
        return _unknown(cause, "the rates of the job's links were not seen")
    if facts.slow_links:
        names = ", ".join(facts.slow_links[:4])
        return _fits(cause, f"slower than the cables beside it: {names}")
    return _out(cause, "all cables of the job have the width and speed of those beside them")


def _bad_cable(facts: Facts) -> Answer:
    cause = Cause.BAD_CABLE
    if facts.error_links is None:
        return _unknown(cause, "error counters were not compared before and after the load")
    if facts.error_links:
        return _fits(cause, f"errors grew under load on {', '.join(facts.error_links[:4])}")
    return _out(cause, "no error counter of the job's cables grew under load")


def _page_cache(facts: Facts) -> Answer:
    cause = Cause.PAGE_CACHE
    for run, why in facts.explained.items():
        if why == "cached":
            return _fits(
                cause,
                f"{run}: the cables carried {-100 * facts.differences[run]:.0f} % less than the "
                "benchmark claims",
            )
    if READ_RUN in facts.explained:  # the bytes were on the cables, whatever the tables permit
        return _out(cause, f"no fewer bytes on cables than claimed ({_differences(facts)})")
    if facts.fs_read is None or facts.permitted_gib is None:
        return _unknown(cause, "bytes on cables were not compared with those of the benchmark")
    above = (
        f"the file system reads {facts.fs_read:.1f} GiB/s, the tables permit "
        f"{facts.permitted_gib:.1f}"
    )
    if facts.fs_read <= facts.permitted_gib * (1 + AGREE / 2):
        return _unknown(cause, "bytes on cables were not compared with those of the benchmark")
    if facts.adaptive is False:
        return _fits(cause, above)
    return _unknown(cause, f"{above}; but switches that route adaptively permit more")


def _other_traffic(facts: Facts) -> Answer:
    cause = Cause.OTHER_TRAFFIC
    for run, why in facts.explained.items():
        if why == "other-traffic":
            return _fits(
                cause,
                f"{run}: the cables carried {100 * facts.differences[run]:.0f} % more than the "
                "benchmark claims",
            )
    if not facts.explained:
        return _unknown(cause, "bytes on cables were not compared with those of the benchmark")
    return _out(cause, f"cables and benchmark agree ({_differences(facts)})")


def _differences(facts: Facts) -> str:
    return ", ".join(f"{run} {100 * d:+.1f} %" for run, d in facts.differences.items())


def _adaptive(facts: Facts) -> Answer:
    cause = Cause.ADAPTIVE_ROUTING
    if facts.adaptive:
        return _fits(cause, "the tables are only the fallback, so LID counts predict no load")
    read = [c for c in facts.cables if c.read is not None]
    if not read:
        return _unknown(cause, "no cable was watched in a read run")
    strays = [c for c in read if c.lids == 0 and c.read is not None and c.read > 1 - NEAR]
    if strays:
        if not facts.explained or any(why is not None for why in facts.explained.values()):
            return _unknown(cause, f"{strays[0].name} carries reads without a LID of the job")
        return _fits(
            cause,
            f"{strays[0].name} carried {100 * (strays[0].read or 0):.0f} % although the tables "
            "send no LID of the job over it",
        )
    return _out(cause, "the load follows the tables: cables without a LID of the job carried none")


def _slow_receiver(facts: Facts) -> Answer:
    cause = Cause.SLOW_RECEIVER
    if facts.slow_receivers is None:
        return _unknown(cause, "there was no RDMA run toward the clients")
    slow = [host for host in facts.slow_receivers if host.host in facts.waiting]
    if slow:
        return _fits(
            cause,
            f"{_host(slow[0])}, and PortXmitWait is highest on the switch port that faces it",
        )
    if facts.slow_receivers:
        return _unknown(
            cause, f"{_host(facts.slow_receivers[0])}, but its switch port does not wait"
        )
    return _out(cause, "every client receives its fair share of the cables in RDMA")


def _slow_sender(facts: Facts) -> Answer:
    cause = Cause.SLOW_SENDER
    if facts.slow_senders is None:
        return _unknown(cause, "there was no RDMA run from the storage")
    if facts.slow_senders:
        return _fits(cause, f"{_host(facts.slow_senders[0])}, and its cable has room")
    return _out(cause, "every storage server sends its fair share of the cables in RDMA")


def _host(host: SlowHost) -> str:
    return (
        f"{host.host}: {host.found_gib:.1f} GiB/s in RDMA where {host.fair_gib:.1f} are its share"
    )


def _read_ahead(facts: Facts) -> Answer:
    cause = Cause.READ_AHEAD
    if facts.slow_readers is None:
        return _unknown(cause, "clients were not compared in a write and a read run")
    if not facts.slow_readers:
        return _out(cause, "clients without a full cable on their way read what they write")
    if len(facts.slow_readers) == facts.readers:
        return _unknown(cause, "all clients read less than they write, so no single one stands out")
    names = ", ".join(facts.slow_readers[:4])
    return _fits(cause, f"{names} read less than they write, and no full cable is on their way")


def _route_collapse(facts: Facts) -> Answer:
    cause = Cause.ROUTE_COLLAPSE
    if facts.uneven is False:
        return _out(cause, "the tables spread this node list evenly")
    if facts.uneven is None:
        return _unknown(cause, "the spread of the job's LIDs is not known")
    if not any(c.read is not None for c in facts.cables):
        return _unknown(cause, "LIDs pile up, but no cable was watched in a read run")
    if not facts.full:
        return _out(cause, "LIDs pile up, but no cable was near its ceiling in the read run")
    return _collapse_of(facts, facts.full[0].group)


def _collapse_of(facts: Facts, group: str) -> Answer:
    """Reads fill cables of a group over which the job's LIDs pile up: does all else agree?"""
    cause = Cause.ROUTE_COLLAPSE
    least = facts.emptiest(group)
    if least is None or least > IDLE:
        return _out(cause, f"every cable of {group} was busy in the read run")
    full = ", ".join(f"{c.name} {100 * (c.read or 0):.0f} %" for c in facts.full[:4])
    told = [
        f"reads fill {full} while another cable of the group carries {100 * least:.0f} %",
        f"the tables put {', '.join(str(c.lids) for c in facts.full[:4])} of the job's LIDs there",
    ]
    writes = [c.write for c in facts.cables if c.group == group and c.write is not None]
    if writes:
        even = "even" if max(writes) <= EVEN * mean(writes) else "uneven too"
        told.append(f"writes are {even} ({100 * max(writes):.0f} % at most)")
    if facts.rdma_read is not None and facts.fs_read is not None:
        both = f"{facts.rdma_read:.1f} against {facts.fs_read:.1f} GiB/s"
        if abs(facts.rdma_read / facts.fs_read - 1) > AGREE:
            return _unknown(cause, f"{'; '.join(told)}; but RDMA alone differs ({both})")
        told.append(f"RDMA alone reproduces it ({both})")
    return _fits(cause, "; ".join(told))


def _storage_bound(facts: Facts) -> Answer:
    cause = Cause.STORAGE_BOUND
    if facts.fs_read is None or facts.rdma_read is None:
        return _unknown(cause, "there is no RDMA figure to hold against the file system")
    if facts.full:
        return _out(cause, "a cable is near its ceiling, so the storage was not tested above that")
    if facts.rdma_read >= ABOVE * facts.fs_read:
        return _fits(
            cause,
            f"RDMA alone carries {facts.rdma_read:.1f} GiB/s, the file system reads "
            f"{facts.fs_read:.1f}, and no cable is near its ceiling: the limit is above the "
            "network",
        )
    return _out(
        cause,
        f"RDMA alone carries {facts.rdma_read:.1f} GiB/s, no more than the file system's "
        f"{facts.fs_read:.1f}",
    )


RULES: tuple[Callable[[Facts], Answer], ...] = (
    _degraded_link,
    _bad_cable,
    _page_cache,
    _other_traffic,
    _adaptive,
    _slow_receiver,
    _slow_sender,
    _read_ahead,
    _route_collapse,
    _storage_bound,
)
"""In the order in which they explain each other: hardware first."""

DERIVED = {
    Cause.ADAPTIVE_ROUTING,
    Cause.SLOW_RECEIVER,
    Cause.SLOW_SENDER,
    Cause.READ_AHEAD,
    Cause.ROUTE_COLLAPSE,
    Cause.STORAGE_BOUND,
}
"""Causes whose signs an earlier cause can produce."""

STEPS: Mapping[Cause, str] = {
    Cause.DEGRADED_LINK: "reseat or replace that cable, then run the same job again",
    Cause.BAD_CABLE: "replace that cable, then run the same job again",
    Cause.PAGE_CACHE: "read a data set larger than the caches of clients and servers",
    Cause.OTHER_TRAFFIC: "find who else uses these cables, or run again on a quiet fabric",
    Cause.ADAPTIVE_ROUTING: "judge by the load of the cables (cable-load), not by the tables",
    Cause.SLOW_RECEIVER: "look at that host: PCIe LnkSta against LnkCap, NUMA, its memory",
    Cause.SLOW_SENDER: "look at that host: PCIe LnkSta against LnkCap, NUMA, its adapter",
    Cause.READ_AHEAD: "compare the read-ahead settings of these clients with the others",
    Cause.ROUTE_COLLAPSE: (
        "run the same job on another node list: where it spreads, reads rise with nothing else "
        "changed; then route this list first (see the remedies of lid-spread)"
    ),
    Cause.STORAGE_BOUND: "measure the storage servers' own devices; the network is not the limit",
}


def _next(facts: Facts, answers: tuple[Answer, ...]) -> str:
    fits = [a.cause for a in answers if a.state is State.FITS]
    if fits:
        return STEPS[fits[0]]
    missing = (
        (facts.slow_links is None, "look at width and speed of the job's links (kind link-rate)"),
        (facts.uneven is None, "count the job's LIDs per cable (kind lid-spread)"),
        (facts.error_links is None, "compare error counters under load (error-counters, load)"),
        (
            not any(c.read is not None for c in facts.cables),
            "watch the cables during a write and a read run (--load)",
        ),
        (facts.rdma_read is None, "run RDMA alone between the same endpoints (workloads: rdma)"),
    )
    for is_missing, step in missing:
        if is_missing:
            return step
    return "ask who runs the subnet manager, with which engine and options (kind subnet-manager)"

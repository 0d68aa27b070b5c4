"""The rule of each look-alike: *fits*, *ruled out* or *not known*, with the figures it rests on.

A rule concludes nothing from what was not measured: no cable that was watched is not a cable that
had room, and no host that was judged is not a host that is fast.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean

from ibaccept.checks.diagnosis.facts import AGREE, IDLE, NEAR, CableShare, Facts, SlowHost
from ibaccept.fabric.wording import listed

EVEN = 1.5
"""Fullest over mean up to which load counts as even (the case: 11.8 over 11.5)."""
READ_RUN, RDMA_RUN = "filesystem-read", "rdma-read"
"""The runs in the read direction."""
ABOVE = 1.25
"""RDMA over file system from which the limit lies above the network."""
UNCOMPARED = "bytes on cables were not compared with those of the benchmark"
FALLBACK = "the tables are only the fallback, so LID counts predict no load"


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
    """The answer of a rule."""

    FITS = "fits"
    RULED_OUT = "ruled out"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class RuleAnswer:
    """The answer of one rule, and why."""

    cause: Cause
    state: State
    why: str


def _fits(cause: Cause, why: str) -> RuleAnswer:
    return RuleAnswer(cause, State.FITS, why)


def _out(cause: Cause, why: str) -> RuleAnswer:
    return RuleAnswer(cause, State.RULED_OUT, why)


def _unknown(cause: Cause, why: str) -> RuleAnswer:
    return RuleAnswer(cause, State.UNKNOWN, why)


def _degraded_link(facts: Facts) -> RuleAnswer:
    cause = Cause.DEGRADED_LINK
    if facts.slow_links:
        return _fits(cause, f"slower than the cables parallel to it: {listed(facts.slow_links)}")
    slower = [c for c in facts.hosts if c.slower]
    held = [c.name for c in slower if facts.holds(c)]
    if held:
        return _fits(
            cause, f"slower than those of the other hosts of its side, and full: {held[0]}"
        )
    names = listed(c.name for c in slower)
    alone = [*facts.lone_links, *(c.name for c in facts.hosts if c.slower is None)]
    unknown = ""
    if facts.slow_links is None:
        unknown = "the rates of the job's links were not all seen"
    elif any(facts.holds(c) is None for c in slower):
        unknown = f"whether {names} holds its host back was not seen"
    elif alone:
        unknown = f"{alone[0]} has no equal cable to compare it with"
    if unknown:
        return _unknown(cause, unknown)
    if slower:
        return _out(cause, f"{names} is slower than those of its side, but holds no host back")
    return _out(cause, "all cables of the job have the width and speed of their equals")


def _bad_cable(facts: Facts) -> RuleAnswer:
    cause = Cause.BAD_CABLE
    if facts.error_links is None:
        return _unknown(cause, "error counters were not all compared before and after the load")
    if facts.error_links:
        return _fits(cause, f"errors grew under load on {listed(facts.error_links)}")
    return _out(cause, "no error counter of the job's cables grew under load")


def _page_cache(facts: Facts) -> RuleAnswer:
    cause = Cause.PAGE_CACHE
    for run, why in facts.explained.items():
        if why == "cached" and not _is_rdma(run):  # RDMA is from memory to memory
            return _fits(
                cause,
                f"{run}: the cables carried {-100 * facts.differences[run]:.0f} % less than the "
                "benchmark claims",
            )
    if facts.explained.get(READ_RUN, "unknown") is None:  # the bytes were on the cables
        differ = _differences(facts, READ_RUN)
        return _out(cause, f"no fewer bytes on cables than claimed ({differ})")
    if READ_RUN in facts.explained:
        return _unknown(cause, "other traffic was on the cables, and hides what was not")
    if facts.fs_read is None or facts.permitted_gib is None:
        return _unknown(cause, UNCOMPARED)
    return _above(facts, facts.fs_read, facts.permitted_gib)


def _above(facts: Facts, read: float, permitted: float) -> RuleAnswer:
    """Reads beyond what the tables permit came from a cache, if the tables are all there is."""
    if read <= permitted * (1 + AGREE / 2):
        return _unknown(Cause.PAGE_CACHE, UNCOMPARED)
    above = f"the file system reads {read:.1f} GiB/s, the tables permit {permitted:.1f}"
    if facts.adaptive is False and not facts.strays:
        return _fits(Cause.PAGE_CACHE, above)
    return _unknown(Cause.PAGE_CACHE, f"{above}; but switches that route adaptively permit more")


def _is_rdma(run: str) -> bool:
    return run.startswith("rdma")


def _other_traffic(facts: Facts) -> RuleAnswer:
    cause = Cause.OTHER_TRAFFIC
    for run, why in facts.explained.items():
        if why == "other-traffic":
            return _fits(
                cause,
                f"{run}: the cables carried {100 * facts.differences[run]:.0f} % more than the "
                "benchmark claims",
            )
    for more in facts.excess or ():
        return _fits(
            cause,
            f"{more.group} carried {more.group_gib:.1f} GiB/s toward the clients, of which "
            f"{more.clients_gib:.1f} reached those of the job",
        )
    if (READ_RUN if facts.fs_read is not None else RDMA_RUN) not in facts.explained:
        return _unknown(cause, UNCOMPARED)
    if facts.excess is None and facts.cables:
        return _unknown(cause, "not all cables between switches were read in the read run")
    if "cached" in facts.explained.values():
        differ = _differences(facts)
        return _unknown(cause, f"cables carried less than claimed, which hides others ({differ})")
    return _out(cause, f"the clients' cables and the benchmark agree ({_differences(facts)})")


def _differences(facts: Facts, only: str = "") -> str:
    return ", ".join(
        f"{run} {100 * d:+.1f} %" for run, d in facts.differences.items() if only in ("", run)
    )


def _adaptive(facts: Facts) -> RuleAnswer:
    cause = Cause.ADAPTIVE_ROUTING
    read = [c for c in facts.cables if c.read is not None]
    if _adapts(facts):
        return _adaptive_on(facts)
    without = [c for c in facts.cables if c.lids == 0]
    unread = [c.name for c in without if c.read is None]
    unknown = ""
    if not read:
        unknown = "no cable was watched in a read run"
    elif facts.strays:
        unknown = f"{facts.strays[0].name} carries reads without a LID of the job"
    elif not without or max(map(_read, read)) <= 1 - NEAR:
        if facts.adaptive is False:
            return _out(cause, "declared off by the site, and no cable contradicts that")
        unknown = "the cables do not show it: all have LIDs of the job, or none carried much"
    elif unread:
        unknown = f"what {unread[0]}, without a LID of the job, carried was not read"
    if unknown:
        return _unknown(cause, unknown)
    most = max(map(_read, without))
    return _out(
        cause,
        f"the load follows the tables: cables without a LID of the job carried {100 * most:.0f} % "
        "at most",
    )


def _adaptive_on(facts: Facts) -> RuleAnswer:
    """It is on, so the tables predict no load; but it costs no bandwidth by itself."""
    cause, why = Cause.ADAPTIVE_ROUTING, FALLBACK
    if not facts.adaptive:
        stray = facts.strays[0]
        why = (
            f"{stray.name} carried {100 * _read(stray):.0f} % although the tables send no LID of "
            "the job over it"
        )
    is_watched = any(c.read is not None for c in facts.cables)
    if not is_watched and facts.fs_read is None and facts.rdma_read is None:
        return _unknown(cause, f"{why}; but nothing was measured toward the clients")
    if _is_enough(facts):
        return _unknown(cause, f"{why}; but RDMA alone carries what the file system does not")
    return _fits(cause, why)


def _adapts(facts: Facts) -> bool:
    """Whether the tables are known not to predict the load: by the site, or by the cables."""
    own = bool(facts.explained) and all(why is None for why in facts.explained.values())
    return bool(facts.adaptive or (facts.strays and own and facts.excess == ()))


def _is_enough(facts: Facts) -> bool:
    """Whether reads are slow though RDMA alone carries what the file system should."""
    read, write, rdma = facts.fs_read, facts.fs_write, facts.rdma_read
    if read is None or rdma is None or _rdma_elsewhere(facts):
        return False
    is_slow = rdma >= ABOVE * read or (write is not None and read < (1 - AGREE) * write)
    return is_slow and rdma >= (1 - AGREE) * max(read, write or read)


def _rdma_elsewhere(facts: Facts) -> str:
    """Why the rate of RDMA is none of the cables watched; empty where it is."""
    for run, why in facts.explained.items():
        if _is_rdma(run) and why == "cached":
            return (
                f"{run}: the watched cables carried {-100 * facts.differences[run]:.0f} % less "
                "than the pairs claim: another adapter, port or fabric carried the rest"
            )
    return ""


def _slow_receiver(facts: Facts) -> RuleAnswer:
    cause = Cause.SLOW_RECEIVER
    unjudged = _unjudged(facts, facts.slow_receivers, "client")
    if unjudged:
        return _unknown(cause, unjudged)
    slow = facts.slow_receivers or ()
    waiting = [host for host in slow if host.host in facts.waiting]
    if waiting:
        return _fits(
            cause,
            f"{_host(waiting[0])}, and PortXmitWait is highest on the switch port that faces it",
        )
    if slow:
        return _unknown(cause, f"{_host(slow[0])}, but its switch port is not known to wait")
    return _out(cause, "every client receives its fair share of the cables in RDMA")


def _slow_sender(facts: Facts) -> RuleAnswer:
    cause = Cause.SLOW_SENDER
    unjudged = _unjudged(facts, facts.slow_senders, "storage")
    if unjudged:
        return _unknown(cause, unjudged)
    if facts.slow_senders:
        return _fits(cause, f"{_host(facts.slow_senders[0])}, and its cable has room")
    return _out(cause, "every storage server sends its fair share of the cables in RDMA")


def _unjudged(facts: Facts, slow: tuple[SlowHost, ...] | None, side: str) -> str:
    """Why nothing is known of how fast the hosts of a side are in RDMA."""
    if slow is None:
        ends = "toward the clients" if side == "client" else "from the storage"
        return facts.unjudged.get(side, f"there was no RDMA run {ends}")
    return f"adaptive routing is on: {FALLBACK}" if _adapts(facts) else _rdma_elsewhere(facts)


def _host(host: SlowHost) -> str:
    return (
        f"{host.host}: {host.found_gib:.1f} GiB/s in RDMA where {host.fair_gib:.1f} are its share"
    )


def _read_ahead(facts: Facts) -> RuleAnswer:
    cause = Cause.READ_AHEAD
    if facts.slow_readers is None:
        return _unknown(cause, "clients were not compared in a write and a read run")
    if _adapts(facts):
        return _unknown(cause, f"adaptive routing is on: {FALLBACK}")
    if not facts.readers:
        return _unknown(cause, "a full cable is on the way to every client")
    if not facts.slow_readers:
        return _out(cause, "clients without a full cable on their way read what they write")
    if len(facts.slow_readers) == facts.readers:
        return _unknown(
            cause,
            "all clients without a full cable on their way read less than they write, so no "
            "single one stands out",
        )
    names = listed(facts.slow_readers)
    return _fits(cause, f"{names} read less than they write, and no full cable is on their way")


def _route_collapse(facts: Facts) -> RuleAnswer:
    cause = Cause.ROUTE_COLLAPSE
    if _adapts(facts):
        return _unknown(cause, f"adaptive routing is on: {FALLBACK}")
    if facts.uneven is False:
        return _out(cause, "the tables spread this node list evenly")
    if facts.uneven is None:
        return _unknown(cause, "the spread of the job's LIDs is not known")
    if not any(c.read is not None for c in facts.cables):
        return _unknown(cause, "LIDs pile up, but no cable was watched in a read run")
    answers = [_collapse_of(facts, group) for group in dict.fromkeys(c.group for c in facts.full)]
    unread = [c.name for c in facts.cables if c.read is None]
    if unread:
        answers.append(_unknown(cause, f"LIDs pile up, and the load of {unread[0]} is not known"))
    if not answers:
        return _out(cause, "LIDs pile up, but no cable was near its ceiling in the read run")
    order = (State.FITS, State.UNKNOWN, State.RULED_OUT)
    return min(answers, key=lambda answer: order.index(answer.state))


def _collapse_of(facts: Facts, group: str) -> RuleAnswer:
    """Reads fill cables of a group over which the job's LIDs pile up: does all else agree?"""
    cause = Cause.ROUTE_COLLAPSE
    beside = [c for c in facts.cables if c.group == group]
    known = [c for c in beside if c.read is not None]
    emptiest = min(known, key=_read)
    least = _read(emptiest)
    if least > IDLE:
        if len(known) < len(beside):
            return _unknown(cause, f"{group} is full, but not all of its cables were read")
        return _out(cause, f"every cable of {group} was busy in the read run")
    full = [c for c in facts.full if c.group == group]
    sound = [c for c in full if not c.faulty]
    cables = listed(f"{c.name} {100 * _read(c):.0f} %" for c in full)
    if not sound:
        return _unknown(cause, f"{cables}: full, but slower than parallel ones, or with errors")
    if max(c.lids for c in sound) <= emptiest.lids:
        return _unknown(
            cause, f"{cables}: full, but with no more of the job's LIDs than {emptiest.name}"
        )
    signs = [
        f"reads fill {cables} while another cable of the group carries {100 * least:.0f} %",
        f"the tables put {listed(str(c.lids) for c in full)} of the job's LIDs there",
    ]
    writes = [c.write for c in beside if c.write is not None]
    if len(writes) == len(beside) and max(writes) > 0:
        even = "even" if max(writes) <= EVEN * mean(writes) else "uneven too"
        signs.append(f"writes are {even} ({100 * max(writes):.0f} % at most)")
    if facts.rdma_read is not None and facts.fs_read and not _rdma_elsewhere(facts):
        both = f"{facts.rdma_read:.1f} against {facts.fs_read:.1f} GiB/s"
        if abs(facts.rdma_read / facts.fs_read - 1) > AGREE:
            return _unknown(cause, f"{'; '.join(signs)}; but RDMA alone differs ({both})")
        signs.append(f"RDMA alone reproduces it ({both})")
    return _fits(cause, "; ".join(signs))


def _read(cable: CableShare) -> float:
    """Share in the read run, of a cable that was read."""
    assert cable.read is not None  # noqa: S101 - only such are given
    return cable.read


def _storage_bound(facts: Facts) -> RuleAnswer:
    cause = Cause.STORAGE_BOUND
    if facts.fs_read is None or facts.rdma_read is None:
        return _unknown(cause, "there is no RDMA figure to hold against the file system")
    if _rdma_elsewhere(facts):
        return _unknown(cause, _rdma_elsewhere(facts))
    if facts.full or any(c.side == "storage" for c in facts.full_hosts):
        return _out(cause, "a cable is near its ceiling, so the storage was not tested above that")
    rates = (
        f"RDMA alone carries {facts.rdma_read:.1f} GiB/s, the file system reads {facts.fs_read:.1f}"
    )
    if facts.rdma_read <= (1 + AGREE) * facts.fs_read:
        return _out(cause, f"{rates}: no limit above the network shows")
    unknown = ""
    if facts.rdma_read < ABOVE * facts.fs_read:
        unknown = "too near each other to decide"
    elif not facts.cables and not facts.hosts:
        unknown = "but no cable was watched in a read run"
    elif facts.unread:
        unknown = f"but whether {facts.unread[0]} was full is not known"
    elif facts.full_hosts:
        unknown = f"but {facts.full_hosts[0].name} was full"
    if unknown:
        return _unknown(cause, f"{rates}, {unknown}")
    return _fits(
        cause, f"{rates}, and no cable is near its ceiling: the limit is above the network"
    )


RULES: tuple[Callable[[Facts], RuleAnswer], ...] = (
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

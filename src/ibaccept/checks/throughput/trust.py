"""What a run brought over the fabric: a figure only where all ran at once, and on the cables."""

from __future__ import annotations

from collections.abc import Iterable

from ibaccept.checks.throughput.measured import Measured
from ibaccept.checks.throughput.under_load import AGAIN, did_cross, not_crossed
from ibaccept.fabric.nodeset import fold
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.filesystem import TIMES_CACHE
from ibaccept.load.rates import HEADERS
from ibaccept.load.result import (
    ByteBalance,
    CableRate,
    CableWatch,
    FilesystemRun,
    RdmaRun,
    TimeSpread,
)
from ibaccept.verdict.absence import NotSeen, NotSeenError

MOST_APART = 0.1
"""Share of the shortest run by which the last process may begin, or end, after the first."""


ABOVE = 0.05
"""Share by which a figure may lie above what is possible, for ceilings that are not exact."""


def whole(measured: Measured, direction: str) -> FilesystemRun:
    """A run with every client of the job measured.

    Raises:
        NotSeenError: one was not, or the run tells no single client.
    """
    run = measured.filesystem(direction)
    if run.unseen:
        raise NotSeenError(run.unseen[0])
    told = {rate.client for rate in run.rates}
    missing = [host.host for host in measured.job.clients.hosts if host.host not in told]
    if missing:
        raise NotSeenError(
            NotSeen(
                "the file system's clients",
                f"the {direction} run does not tell what {fold(missing)} did",
                "give the rate of every client, or run the load again",
            )
        )
    return run


def total(measured: Measured, direction: str) -> Bandwidth:
    """The sum of what a run's clients claim.

    Raises:
        NotSeenError: one was not measured, or they claim more than their links carry.
    """
    run = measured.filesystem(direction)
    found = run.total
    if found is None:
        raise NotSeenError(
            run.unseen[0] if run.unseen else NotSeen(f"the {direction} run", "it has no client")
        )
    most = _links(measured)
    if most is None and run.recorded is not None:
        raise NotSeenError(
            NotSeen(
                f"what the file system {direction}s over the fabric",
                f"{direction}: the rate of a client's link is not known, so the recorded figure "
                "cannot be held against what the links carry",
                "look at the clients' links (kind link-rate)",
            )
        )
    if not _is_cache_allowed(run) and most is not None and found.gib > most.gib * (1 + ABOVE):
        raise NotSeenError(
            NotSeen(
                f"what the file system {direction}s over the fabric",
                f"{direction}: {found:.1f} is claimed, more than the {most:.1f} that the links of "
                f"the {len(measured.job.clients.hosts)} clients carry together: it is a cache's, "
                "or given in another unit",
                "compare the units, and the data set with the caches",
            )
        )
    return found


def _links(measured: Measured) -> Bandwidth | None:
    """What the clients' own links carry together; None where a rate was not seen."""
    fabric = measured.snapshot.fabric
    links = [fabric.link_at.get(port) for host in measured.job.clients.hosts for port in host.ports]
    rates = [None if link is None else link.rate for link in links]
    ceilings = [None if rate is None else measured.ceilings.get(rate) for rate in rates]
    known = [one.payload.bytes_per_second for one in ceilings if one is not None]
    return Bandwidth(sum(known)) if known and len(known) == len(ceilings) else None


def _is_cache_allowed(run: FilesystemRun) -> bool:
    """A data set this small is only run where the entry allows caches."""
    ratio = None if run.data_set is None else run.data_set.client_ratio
    return ratio is not None and ratio < TIMES_CACHE


def carried(measured: Measured, direction: str, *, from_caches: bool = False) -> Bandwidth:
    """What a run of the file system brought over the fabric, all clients at once.

    Args:
        measured: the runs.
        direction: of the data.
        from_caches: take what came from a cache for good, where the entry allows caches.

    Raises:
        NotSeenError: a client was not measured; the clients did not run together, so that their
            rates do not add up; or the cables are not known to have carried what the benchmark
            claims.
    """
    found, run = total(measured, direction), measured.filesystem(direction)
    if run.recorded is not None:
        return found
    shortest = min((rate.seconds for rate in run.rates), default=0.0)
    _require_together(run.spread, shortest, f"the clients' {direction}s", direction)
    if from_caches and _is_cache_allowed(run):
        return found
    _require_crossed(measured, run.name, found)
    _require_served(measured, run.name)
    _require_at_once(measured, run, found)
    return found


def _require_crossed(measured: Measured, run: str, claimed: Bandwidth) -> None:
    """The bytes of a run were seen on the clients' cables.

    Raises:
        NotSeenError: they were fewer, or it was not seen how many they were.
    """
    balance = measured.loads.balances.get(run)
    if not did_cross(balance):
        raise NotSeenError(not_crossed(run, balance, f"{claimed:.1f}"))


def _require_served(measured: Measured, run: str) -> None:
    """What the clients moved was moved by the storage servers of the job.

    Raises:
        NotSeenError: by others, or it was not seen by whom: then routes, forecast and ceilings of
            the job are of other hosts than those that served.
    """
    served = measured.loads.served.get(run)
    names = fold([host.host for host in measured.job.storage.hosts])
    what = f"who served {run}"
    hint = "name every server of the file system in job: storage, and no other host"
    if isinstance(served, ByteBalance) and served.explained != "cached":
        return
    if isinstance(served, ByteBalance):
        raise NotSeenError(
            NotSeen(
                what,
                f"{run}: the cables of {names} carried {-100 * served.difference:.0f} % less than "
                "the clients claim, so hosts that are not in job: storage served the rest",
                hint,
            )
        )
    unseen = served or NotSeen(what, "their cables were not watched")
    reason = f"{run}: whether {names} served it is not known: {unseen.reason}"
    raise NotSeenError(NotSeen(what, reason, unseen.hint or AGAIN, unseen.captures))


def in_all(measured: Measured, direction: str) -> tuple[Bandwidth, Bandwidth]:
    """What a run brought all at once, and from the first start to the last end.

    Raises:
        NotSeenError: as ``carried``.
    """
    found = carried(measured, direction, from_caches=True)
    run = measured.filesystem(direction)
    if run.recorded is not None:
        return found, found
    if run.moved is None or not run.total_seconds:
        raise NotSeenError(
            NotSeen(
                f"the whole {direction} run",
                f"{direction}: a client does not tell when it began and ended, so what all did "
                "from the first start to the last end is not known",
                AGAIN,
            )
        )
    return found, Bandwidth(min(run.moved / run.total_seconds, found.bytes_per_second))


def _require_together(spread: TimeSpread | None, seconds: float, whose: str, run: str) -> None:
    """The processes of a run began together, so far as the clocks tell.

    Raises:
        NotSeenError: they did not, or it is not known.
    """
    if spread is None:
        raise NotSeenError(
            NotSeen(f"{whose} at once", f"{run}: it is not known when they began", AGAIN)
        )
    if spread.seconds - spread.uncertain > MOST_APART * seconds:
        raise NotSeenError(
            NotSeen(
                f"{whose} at once",
                f"{run}: {spread.last} began {spread.seconds - spread.uncertain:.1f} s after "
                f"{spread.first}, of a run of {seconds:.1f} s: rates of what did not run together "
                "do not add up",
                f"see what delays {spread.last}, or let the run be longer",
            )
        )
    if spread.seconds + spread.uncertain > MOST_APART * seconds:
        raise NotSeenError(
            NotSeen(
                f"{whose} at once",
                f"{run}: {spread.last} began {spread.seconds:.2f} s after {spread.first}, known to "
                f"+-{spread.uncertain:.2f} s by the hosts' clocks, of a run of {seconds:.1f} s: "
                "whether they ran together is not known",
                "let the run be longer",
            )
        )


def _require_at_once(measured: Measured, run: FilesystemRun, claimed: Bandwidth) -> None:
    """Where clients ended apart, the cables confirm what is claimed for all of them at once.

    A client's rate is the mean over its own run. Clients that run on alone are faster than they
    were beside the others, and the sum of all means is a rate that there never was.

    Raises:
        NotSeenError: the cables carried less while all ran, or were not read.
    """
    seconds = [rate.seconds for rate in run.rates]
    first, last = min(seconds), max(seconds)
    if first >= (1 - MOST_APART) * last:
        return
    ends = f"the clients ended after {first:.1f} to {last:.1f} s"
    what, direction = f"the clients' {run.direction}s at once", run.direction
    hint = "let all clients run for the same time, or see why some are slower"
    watch = measured.watch(run.name)
    sent = [
        (cable.toward_clients if direction == "read" else cable.toward_storage)
        for cable in watch.cables
        if cable.kind == "client"
    ]
    unread = [rate for rate in sent if rate.rate is None]
    if unread or not sent:
        why = unread[0].why if unread else "no client's cable was watched"
        raise NotSeenError(
            NotSeen(what, f"{direction}: {ends}, and what they did at once was not read: {why}")
        )
    seen = sum(rate.rate.bytes_per_second for rate in sent if rate.rate is not None) / HEADERS
    if seen < claimed.bytes_per_second * (1 - max(ABOVE, watch.window.uncertain_share)):
        raise NotSeenError(
            NotSeen(
                what,
                f"{direction}: {ends}; while all ran, their cables carried {Bandwidth(seen):.1f}, "
                f"so the {claimed:.1f} that their rates add up to was never there",
                hint,
            )
        )


def rdma_alone(measured: Measured, round_: RdmaRun) -> Bandwidth:
    """What the pairs of a round carried, all at once and on the cables of the job.

    Raises:
        NotSeenError: a pair was not measured, or there is none for a client; they did not run
            together; or the cables are not known to have carried it.
    """
    found = round_.total
    if found is None:
        raise NotSeenError(
            round_.unseen[0] if round_.unseen else NotSeen("RDMA", "there was no pair")
        )
    paired = {pair.client for pair in round_.pairs}
    without = [host.host for host in measured.job.clients.hosts if host.host not in paired]
    if without:
        raise NotSeenError(NotSeen("RDMA", f"RDMA had no pair for {fold(without)}", AGAIN))
    _require_together(round_.spread, round_.seconds, "the pairs", round_.name)
    _require_crossed(measured, round_.name, found)
    return found


def over_ceiling(watch: CableWatch, cables: Iterable[CableRate]) -> NotSeen | None:
    """Cables that carried more than one of their rate can: then the ceiling is wrong."""
    doubt = watch.window.uncertain_share
    for cable in cables:
        for way in cable.ways:
            if way.percent is not None and way.percent / 100 * (1 - doubt) > 1 + ABOVE:
                return NotSeen(
                    f"the ceiling of {cable.name}",
                    f"{cable.name} carried {way.percent:.0f} % of the ceiling of a "
                    f"{cable.link_rate} link: so that ceiling is wrong",
                    "correct it in ceilings:, or leave it out",
                )
    return None


def require_ceilings(measured: Measured) -> None:
    """No cable carried more than its ceiling in any run.

    Raises:
        NotSeenError: one did.
    """
    for watch in measured.loads.watches.values():
        wrong = over_ceiling(watch, watch.cables) if isinstance(watch, CableWatch) else None
        if wrong is not None:
            raise NotSeenError(wrong)

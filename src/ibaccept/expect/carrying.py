"""Judging what the fabric carried under load. Each ordered aspect of an entry is an item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ibaccept.errors import InputError
from ibaccept.evidence import CaptureRef
from ibaccept.expect.delivery import AS_ORDERED
from ibaccept.expect.loaded import AGAIN, Answer, require_whole
from ibaccept.expect.measured import Measured
from ibaccept.expect.selector import select
from ibaccept.expect.story import Story
from ibaccept.expect.throughput import CableLoad, Filesystem, Forecast, RdmaCeiling
from ibaccept.load.result import (
    Balance,
    CableRate,
    CableWatch,
    DirectedRate,
    FilesystemRun,
    RdmaRun,
)
from ibaccept.model import Guid, Link
from ibaccept.nodeset import fold
from ibaccept.prove import Aspect
from ibaccept.routing.crossings import over
from ibaccept.snapshot import NotSeen, NotSeenError
from ibaccept.units import Bandwidth
from ibaccept.verdict import Different, Judgement, Outcome, Unseen

MOST_APART = 0.1
"""Share of the shortest client's run by which the last may begin after the first."""
LEAST_RATIO = 2.0
"""Data set of a client over its memory from which reads count as reads of storage."""


@dataclass(frozen=True)
class Checked:
    """An item: ``answer`` is asked when it is judged, ``about`` when it is not as ordered."""

    about: Aspect | Callable[[], Aspect]
    answer: Callable[[], Answer]

    def aspect(self) -> Aspect:
        """Identity and evidence."""
        return self.about if isinstance(self.about, Aspect) else self.about()


def answer_of(item: Checked) -> Answer:
    """Judge one item. A part that was not seen is not known, whatever the others say."""
    try:
        return item.answer()
    except NotSeenError as error:
        return Unseen(error.part.reason, error.part.hint or AGAIN)
    except InputError as error:
        return Unseen(str(error))


def told(judgement: Judgement[Any], measured: Measured) -> Judgement[Any]:
    """The judgement with tables, figures and, where something is wrong, the diagnosis."""
    story = Story(measured)
    tables = (*story.cable_table(), *story.pair_table())
    notes = tuple(story.figures())
    if judgement.outcome is not Outcome.PASS:
        tables += story.cause_table()
        notes = story.notes()
    return replace(judgement, tables=tables, notes=(*notes, *story.asides()))


# -- filesystem ----------------------------------------------------------------------------------


def filesystem_checks(measured: Measured, expected: Filesystem) -> list[Checked]:
    """What an entry orders of the write and the read run."""
    checks = []
    if expected.read_within is not None:
        checks.append(Checked(_about("read against write"), lambda: _against(measured, expected)))
    for direction, floor in (("read", expected.read_at_least), ("write", expected.write_at_least)):
        if floor is not None:
            checks.append(_floor(measured, direction, floor))
    if expected.client_at_least is not None:
        checks += [
            _client_floor(measured, direction, expected.client_at_least)
            for direction in ("read", "write")
        ]
    return checks


def _against(measured: Measured, expected: Filesystem) -> Answer:
    read, write = _carried(measured, "read"), _carried(measured, "write")
    assert expected.read_within is not None  # noqa: S101 - asked for only then
    least = write.gib * (1 - expected.read_within.fraction)
    if read.gib >= least:
        return AS_ORDERED
    return Different(
        f"read {read:.1f}, write {write:.1f}: reads are {100 * (1 - read.gib / write.gib):.0f} % "
        "below writes",
        f"reads at most {expected.read_within} below writes",
    )


def _floor(measured: Measured, direction: str, floor: Bandwidth) -> Checked:
    def answer() -> Answer:
        total = _carried(measured, direction)
        if total >= floor:
            return AS_ORDERED
        return Different(f"{direction} {total:.1f}", f"{direction} at least {floor}")

    return Checked(_about(f"{direction} rate"), answer)


def _client_floor(measured: Measured, direction: str, floor: Bandwidth) -> Checked:
    def answer() -> Answer:
        _carried(measured, direction)
        run = _whole(measured, direction)
        slowest = min(run.rates, key=lambda rate: rate.rate)
        if slowest.rate >= floor:
            return AS_ORDERED
        return Different(
            f"{slowest.client} {slowest.rate:.1f}", f"each client {direction}s at least {floor}"
        )

    return Checked(_about(f"slowest client, {direction}"), answer)


def _about(name: str, captures: Iterable[CaptureRef] = ()) -> Aspect:
    return Aspect("throughput", name, captures=tuple(captures))


def _whole(measured: Measured, direction: str) -> FilesystemRun:
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


def _total(measured: Measured, direction: str) -> Bandwidth:
    run = measured.filesystem(direction)
    total = run.total
    if total is None:
        raise NotSeenError(
            run.unseen[0] if run.unseen else NotSeen(f"the {direction} run", "it has no client")
        )
    return total


def _carried(measured: Measured, direction: str) -> Bandwidth:
    """What a run of the file system brought over the fabric, all clients at once.

    Raises:
        NotSeenError: a client was not measured; the clients did not run together, so that their
            rates do not add up; or the cables carried so much less than the benchmark claims that
            its figure is one of a cache.
    """
    total = _total(measured, direction)
    run = measured.filesystem(direction)
    spread, shortest = run.spread, min((rate.seconds for rate in run.rates), default=None)
    if spread is not None and shortest is not None:
        apart = spread.seconds - spread.uncertain
        if apart > MOST_APART * shortest:
            raise NotSeenError(
                NotSeen(
                    f"the clients' {direction}s at once",
                    f"{direction}: {spread.last} began {apart:.1f} s after {spread.first}, of a "
                    f"run of {shortest:.1f} s: rates of clients that did not run together do not "
                    "add up",
                    f"see what delays {spread.last}, or let the run be longer",
                )
            )
    watch = measured.loads.watches.get(f"filesystem-{direction}")
    # A data set this small is only run where the entry allows caches.
    ratio = None if run.data_set is None else run.data_set.client_ratio
    is_allowed = ratio is not None and ratio < LEAST_RATIO
    if not is_allowed and run.recorded is None:
        _require_crossed(watch, direction, total)
    return total


def _require_crossed(watch: CableWatch | NotSeen | None, direction: str, total: Bandwidth) -> None:
    """The bytes of a run were seen on the cables, and not only claimed by the benchmark.

    Raises:
        NotSeenError: they were fewer, or it was not seen how many they were.
    """
    what = f"what the file system {direction}s over the fabric"
    balance = watch.balance if isinstance(watch, CableWatch) else watch
    if not isinstance(balance, Balance):
        why = "the cables were not watched" if balance is None else balance.reason
        hint = "let the run be longer" if balance is None else balance.hint
        raise NotSeenError(
            NotSeen(
                what,
                f"{direction}: whether {total:.1f} crossed the cables or came from a cache is not "
                f"known: {why}",
                hint,
            )
        )
    if balance.explained == "cached":
        raise NotSeenError(
            NotSeen(
                what,
                f"{direction}: the clients claim {total:.1f}, but their cables carried "
                f"{-100 * balance.difference:.0f} % less: that part is a cache's",
                f"{direction} a data set larger than the caches of clients and servers",
            )
        )


# -- RDMA ----------------------------------------------------------------------------------------


def rdma_checks(measured: Measured, expected: RdmaCeiling) -> list[Checked]:
    """One item a round: RDMA alone, storage to clients, against a run of the file system."""
    try:
        rounds = measured.rdma_read()
    except NotSeenError as error:
        part = error.part
        return [Checked(_about("RDMA alone"), lambda: Unseen(part.reason, part.hint or AGAIN))]
    several = len(rounds) > 1
    return [
        Checked(
            _about(
                f"RDMA alone, round {round_.round + 1}" if several else "RDMA alone",
                [rate.capture for rate in round_.rates[:4]],
            ),
            _rdma_answer(measured, expected, round_),
        )
        for round_ in rounds
    ]


def _rdma_answer(
    measured: Measured, expected: RdmaCeiling, round_: RdmaRun
) -> Callable[[], Answer]:
    direction = expected.of.removeprefix("filesystem-")

    def answer() -> Answer:
        rdma = round_.total
        if rdma is None:
            part = round_.unseen[0] if round_.unseen else NotSeen("RDMA", "there was no pair")
            return Unseen(part.reason, part.hint or AGAIN)
        paired = {pair.client for pair in round_.pairs}
        without = [host.host for host in measured.job.clients.hosts if host.host not in paired]
        if without:
            return Unseen(f"RDMA had no pair for {fold(without)}", AGAIN)
        named = _total(measured, direction)
        within = expected.within.fraction
        if expected.relation == "at-least":
            named = _carried(measured, direction)
            if rdma.gib >= named.gib * (1 - within):
                return AS_ORDERED
            return Different(
                f"{rdma:.1f} in the read direction, the file system {direction}s {named:.1f}: the "
                "fabric cannot carry to the clients what they write",
                f"at least the file system's {direction}, less {expected.within}",
            )
        if abs(named.gib - rdma.gib) <= within * rdma.gib:
            _carried(measured, direction)  # a cache that happens to match is no match
            return AS_ORDERED
        where = "the limit is above the network"
        if named.gib > rdma.gib:
            where = "something was cached, or RDMA alone did not have the cables to itself"
        return Different(
            f"{rdma:.1f}, the file system {direction}s {named:.1f}: {where}",
            f"the file system's {direction} within {expected.within}",
        )

    return answer


# -- forecast ------------------------------------------------------------------------------------


def forecast_checks(measured: Measured, expected: Forecast) -> list[Checked]:
    """The read run against what routes, ceilings and the write run predict."""

    def answer() -> Answer:
        if measured.adaptive:
            return Unseen(
                "adaptive routing is on: the tables are only the fallback, and no forecast of "
                "theirs holds",
                "judge by the load of the cables (cable-load) and by RDMA alone (rdma-ceiling)",
            )
        _carried(measured, "write")
        predicted, read = measured.forecast(), _carried(measured, "read")
        apart = read.gib / predicted.aggregate.gib - 1
        if abs(apart) <= expected.within.fraction:
            return AS_ORDERED
        return Different(
            f"measured {read:.1f}, {100 * apart:+.1f} % from the forecast",
            f"{predicted.aggregate:.1f} within {expected.within} ({predicted.sum_text})",
        )

    return [Checked(_about("reads as forecast"), answer)]


# -- cables --------------------------------------------------------------------------------------


def cable_checks(measured: Measured, expected: CableLoad) -> list[Checked]:
    """One item per run, and group of parallel cables that the job's traffic crosses in it."""
    if expected.during != "rdma":
        return _cables_during(measured, expected, expected.during)
    runs = [name for name in measured.loads.watches if name.startswith("rdma-")]
    return [
        check
        for run in runs or ["rdma-read"]
        for check in _cables_during(measured, expected, run, several=len(runs) > 1)
    ]


def _cables_during(
    measured: Measured, expected: CableLoad, run: str, *, several: bool = False
) -> list[Checked]:
    try:
        watch = measured.watch(run)
        require_whole(measured.loads, run)
    except NotSeenError as error:
        lacking = error.part
        return [
            Checked(_about(f"cables, {run}"), lambda: Unseen(lacking.reason, lacking.hint or AGAIN))
        ]
    snapshot = measured.snapshot
    chosen = select(expected.links, snapshot.fabric, snapshot.inventory).items
    wanted = [link for link in chosen if isinstance(link, Link)]
    keys = {link.key for link in wanted}
    groups: dict[tuple[Guid, ...], list[CableRate]] = {}
    for cable in watch.cables:
        if cable.ports in keys and cable.kind == "isl":
            groups.setdefault(tuple(sorted(port.guid for port in cable.ports)), []).append(cable)
    return [
        _group(
            *(measured, expected, watch, guids, cables, wanted),
            during=f", {run}" if several else "",
        )
        for guids, cables in sorted(groups.items())
    ]


def _group(
    measured: Measured,
    expected: CableLoad,
    watch: CableWatch,
    guids: tuple[Guid, ...],
    cables: list[CableRate],
    wanted: list[Link],
    *,
    during: str,
) -> Checked:
    fabric = measured.snapshot.fabric
    name = " - ".join(fabric.nodes[guid].name.strip() for guid in guids) + during
    watched = {cable.ports for cable in cables}
    beside = [
        link
        for link in wanted
        if link.key not in watched and tuple(sorted(end.id.guid for end in link.ends)) == guids
    ]

    rates = [(cable.name, _toward(cable, watch.direction)) for cable in cables]

    def answer() -> Answer:
        unread = [rate for _, rate in rates if rate.percent is None]
        if unread:
            return Unseen(unread[0].why or f"{unread[0].name} has no ceiling", AGAIN)
        if beside:
            return Unseen(f"{fabric.link_name(beside[0])} was not watched", AGAIN)
        shares = {cable: rate.percent or 0.0 for cable, rate in rates}
        fullest, emptiest = max(shares, key=shares.__getitem__), min(shares, key=shares.__getitem__)
        most, least = shares[fullest] / 100, shares[emptiest] / 100
        found = f"{fullest} {100 * most:.0f} % while {emptiest} {100 * least:.0f} %"
        # No reading is better placed in time than this; so near the limit nothing is known.
        doubt = watch.window.uncertain_share
        if _is_hot(expected, most * (1 - doubt), least * (1 + doubt)):
            return Different(
                found,
                f"no cable above {expected.at_most} while another of its group is under "
                f"{expected.while_under}",
            )
        if _is_hot(expected, most * (1 + doubt), least * (1 - doubt)):
            return Unseen(
                f"{found}, each known to +-{100 * doubt:.0f} % of itself by "
                f"{watch.window.samples} readings: too near the limits to tell",
                "let it run longer: more duration, or a larger data set",
            )
        return AS_ORDERED

    ends = [port for cable in cables for port in cable.ports]

    def about() -> Aspect:
        return replace(
            _during(measured, watch, [rate for _, rate in rates]),
            name=name,
            guids=tuple(str(port.guid) for port in ends),
            ports=tuple(port.port for port in ends),
        )

    return Checked(about, answer)


def _during(measured: Measured, watch: CableWatch, rates: Sequence[DirectedRate]) -> Aspect:
    """What proves the load of cables: readings during the run, and the job's routes.

    Of the fullest cable and of the emptiest, or of the first that was not read.
    """
    known = sorted((rate for rate in rates if rate.percent is not None), key=_percent)
    unread = [rate for rate in rates if rate.percent is None]
    shown = unread[:1] or list(dict.fromkeys((known[-1], known[0])))
    job, snapshot = measured.job, measured.snapshot
    read = watch.direction == "read"
    sides = (job.storage.lids, job.clients.lids) if read else (job.clients.lids, job.storage.lids)
    switch = snapshot.fabric.node_of(shown[0].sender)
    return Aspect(
        "cables",
        "",
        counters=tuple(counter for rate in shown for counter in rate.counters),
        captures=tuple(capture for rate in shown for capture in rate.captures),
        routes=over(snapshot.routes, *sides, shown[0].sender),
        command=f"perfquery -x {switch.lid} {shown[0].sender.port}" if switch.lid else "",
    )


def _percent(rate: DirectedRate) -> float:
    return rate.percent or 0.0


def _is_hot(expected: CableLoad, most: float, least: float) -> bool:
    return most > expected.at_most.fraction and least < expected.while_under.fraction


def _toward(cable: CableRate, direction: str) -> DirectedRate:
    return cable.toward_clients if direction == "read" else cable.toward_storage

"""Judging what the fabric carried under load. Each ordered aspect of an entry is an item."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ibaccept.checks.proof import Aspect
from ibaccept.checks.routes.delivery import AS_ORDERED
from ibaccept.checks.throughput import trust as carried
from ibaccept.checks.throughput.kinds import Filesystem, Forecast, RdmaCeiling
from ibaccept.checks.throughput.measured import Measured
from ibaccept.checks.throughput.tables import Story
from ibaccept.checks.throughput.under_load import AGAIN, Answer
from ibaccept.errors import InputError
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.result import ByteBalance, RdmaRun
from ibaccept.verdict import Different, Judgement, Outcome, Unseen
from ibaccept.verdict.absence import NotSeenError
from ibaccept.verdict.evidence import CaptureRef


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
    if judgement.outcome is Outcome.FAIL or (judgement.outcome is Outcome.ERROR and story.fits):
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
    read, write = (carried.carried(measured, way, from_caches=True) for way in ("read", "write"))
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
        at_once, in_all = carried.in_all(measured, direction)
        order = f"{direction} at least {floor}"
        if in_all >= floor:
            return AS_ORDERED
        if at_once >= floor:
            return Unseen(
                f"{direction} {at_once:.1f} while all clients ran, but {in_all:.1f} from the first "
                f"start to the last end: which of the two was ordered as {floor} is not said",
                "see why some clients end late; a floor is met where both are above it",
            )
        return Different(f"{direction} {at_once:.1f}", order)

    return Checked(_about(f"{direction} rate"), answer)


def _client_floor(measured: Measured, direction: str, floor: Bandwidth) -> Checked:
    def answer() -> Answer:
        carried.carried(measured, direction, from_caches=True)
        run = carried.whole(measured, direction)
        slowest = min(run.rates, key=lambda rate: rate.rate)
        if slowest.rate >= floor:
            return AS_ORDERED
        return Different(
            f"{slowest.client} {slowest.rate:.1f}", f"each client {direction}s at least {floor}"
        )

    return Checked(_about(f"slowest client, {direction}"), answer)


def _about(name: str, captures: Iterable[CaptureRef] = ()) -> Aspect:
    return Aspect("throughput", name, captures=tuple(captures))


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
        rdma = carried.rdma_alone(measured, round_)
        named = carried.total(measured, direction)
        within = expected.within.fraction
        if expected.relation == "at-least":
            named = carried.carried(measured, direction)
            if rdma.gib >= named.gib * (1 - within):
                return AS_ORDERED
            return shared or Different(
                f"{rdma:.1f} in the read direction, the file system {direction}s {named:.1f}: the "
                "fabric cannot carry to the clients what they write",
                f"at least the file system's {direction}, less {expected.within}",
            )
        if abs(named.gib - rdma.gib) <= within * rdma.gib:
            carried.carried(measured, direction)  # a cache that happens to match is no match
            return AS_ORDERED
        where = "the limit is above the network"
        if named.gib > rdma.gib:
            where = "something was cached, or RDMA alone did not have the cables to itself"
        return shared or Different(
            f"{rdma:.1f}, the file system {direction}s {named:.1f}: {where}",
            f"the file system's {direction} within {expected.within}",
        )

    shared = _shared(measured, round_.name)
    return answer


def _shared(measured: Measured, run: str) -> Unseen | None:
    """Where others used the clients' cables too, RDMA was not alone and is no ceiling."""
    balance = measured.loads.balances.get(run)
    if not isinstance(balance, ByteBalance) or balance.explained != "other-traffic":
        return None
    return Unseen(
        f"{run}: the clients' cables carried {100 * balance.difference:.0f} % more than the pairs: "
        "others used them too, so RDMA was not alone",
        "run it again while the job's hosts are idle",
    )


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
        carried.require_ceilings(measured)
        carried.carried(measured, "write")
        predicted, read = measured.forecast(), carried.carried(measured, "read")
        apart = read.gib / predicted.aggregate.gib - 1
        if abs(apart) <= expected.within.fraction:
            return AS_ORDERED
        return Different(
            f"measured {read:.1f}, {100 * apart:+.1f} % from the forecast",
            f"{predicted.aggregate:.1f} within {expected.within} ({predicted.sum_text})",
        )

    return [Checked(_about("reads as forecast"), answer)]

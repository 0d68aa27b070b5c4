"""Judging what the fabric carried under load. Each ordered aspect of an entry is an item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ibaccept.checks.proof import Aspect
from ibaccept.checks.throughput import trust as carried
from ibaccept.checks.throughput.kinds import AGAINST, Filesystem, Forecast, RdmaCeiling
from ibaccept.checks.throughput.measured import Measured
from ibaccept.checks.throughput.tables import Story
from ibaccept.checks.throughput.under_load import AGAIN
from ibaccept.errors import IbacceptError, InputError
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.result import ByteBalance, FilesystemRun, RdmaRun
from ibaccept.verdict import Different, ItemAnswer, Judgement, Met, Outcome
from ibaccept.verdict.absence import NotSeen, NotSeenError
from ibaccept.verdict.evidence import CaptureRef, Proof

LINES_SHOWN = 4
"""Lines of the slowest clients or pairs of a run that go with a finding."""

ALONE = "RDMA alone"


@dataclass(frozen=True)
class Checked:
    """An item: one aspect of an entry.

    Attributes:
        expected: of it, in words.
        about: identity and evidence; called only for a finding.
        answer: called when the item is judged.
    """

    expected: str
    about: Aspect | Callable[[], Aspect]
    answer: Callable[[], ItemAnswer]

    def aspect(self) -> Aspect:
        """Identity and evidence."""
        return self.about if isinstance(self.about, Aspect) else self.about()


def answer_of(item: Checked) -> ItemAnswer:
    """Judge one item. A part that was not seen is not known, whatever the others say."""
    try:
        return item.answer()
    except NotSeenError as error:
        return or_again(error.part)
    except InputError as error:
        return NotSeen("what the entry is about", str(error))


def expected_of(item: Checked) -> str:
    """What is expected of an item."""
    return item.expected


def or_again(part: NotSeen) -> NotSeen:
    """The part with a next step: where it has none, the load is to be run again."""
    return replace(part, hint=part.hint or AGAIN)


def forecast_place(measured: Measured) -> tuple[str, ...]:
    """Where the reads lie in the bracket of their forecast; nothing where one of them is not there.

    Of a run that is not trusted there is no place: the answer then says why.
    """
    if measured.adaptive:
        return ()
    try:
        read = carried.carried(measured, "read")
        predicted = measured.forecast()
    except IbacceptError:
        return ()
    return (
        f"measured {read:.1f}: {predicted.place_of(read)}; the forecast is "
        f"{predicted.lock_step.gib:.1f} to {predicted.aggregate:.1f}",
    )


def told(judgement: Judgement[Any], measured: Measured) -> Judgement[Any]:
    """The judgement with tables, figures and, where something is wrong, the diagnosis."""
    story = Story(measured)
    tables = (*story.cable_table(), *story.pair_table())
    notes = tuple(story.figures())
    if judgement.outcome is Outcome.FAIL or (judgement.outcome is Outcome.ERROR and story.fits):
        tables += story.cause_table()
        notes = story.notes()
    return replace(judgement, tables=tables, notes=(*judgement.notes, *notes, *story.asides()))


# -- filesystem ----------------------------------------------------------------------------------


def filesystem_checks(measured: Measured, expected: Filesystem) -> list[Checked]:
    """What an entry orders of the write and the read run."""
    judges: dict[str, tuple[tuple[str, ...], Callable[[], ItemAnswer]]] = {
        AGAINST: (("read", "write"), lambda: _against(measured, expected)),
    }
    for direction, floor in (("read", expected.read_at_least), ("write", expected.write_at_least)):
        if floor is not None:
            judges[f"{direction} rate"] = (direction,), _floor(measured, direction, floor)
    if expected.client_at_least is not None:
        for direction in ("read", "write"):
            judges[f"slowest client, {direction}"] = (
                (direction,),
                _client_floor(measured, direction, expected.client_at_least),
            )
    return [
        Checked(text, _about(name, _figures(measured, *judges[name][0])), judges[name][1])
        for name, text in expected.aspects.items()
    ]


def _against(measured: Measured, expected: Filesystem) -> ItemAnswer:
    read, write = (carried.carried(measured, way, from_caches=True) for way in ("read", "write"))
    assert expected.read_within is not None  # noqa: S101 - judged only then
    least = write.gib * (1 - expected.read_within.fraction)
    if read.gib >= least:
        return Met()
    return Different(
        f"read {read:.1f}, write {write:.1f}: reads are {100 * (1 - read.gib / write.gib):.0f} % "
        "below writes"
    )


def _floor(measured: Measured, direction: str, floor: Bandwidth) -> Callable[[], ItemAnswer]:
    def answer() -> ItemAnswer:
        at_once, in_all = carried.in_all(measured, direction)
        if in_all >= floor:
            return Met()
        if at_once >= floor:
            return NotSeen(
                f"the {direction} rate",
                f"{direction} {at_once:.1f} while all clients ran, but {in_all:.1f} from the first "
                f"start to the last end: which of the two was ordered as {floor} is not said",
                "see why some clients end late; a floor is met where both are above it",
            )
        return Different(f"{direction} {at_once:.1f}")

    return answer


def _client_floor(measured: Measured, direction: str, floor: Bandwidth) -> Callable[[], ItemAnswer]:
    def answer() -> ItemAnswer:
        carried.carried(measured, direction, from_caches=True)
        run = carried.whole(measured, direction)
        slowest = min(run.rates, key=lambda rate: rate.rate)
        if slowest.rate >= floor:
            return Met()
        return Different(f"{slowest.client} {slowest.rate:.1f}")

    return answer


def _about(name: str, proof: Proof) -> Aspect:
    return Aspect("throughput", name, captures=proof.captures, missing=proof.missing)


def _figures(measured: Measured, *directions: str) -> Proof:
    """The lines that the slowest clients' rates were read from, or why there are none."""
    lines: list[CaptureRef] = []
    missing: list[str] = []
    for direction in directions:
        name = f"filesystem_{direction}"
        run: FilesystemRun | NotSeen | None = getattr(measured.loads, name)
        if not isinstance(run, FilesystemRun):
            missing.append(f"no output of the {direction} run: it was not made or not seen")
            continue
        rates = sorted(run.rates, key=lambda rate: rate.rate)[:LINES_SHOWN]
        found = [rate.capture for rate in rates if rate.capture is not None]
        lines += found
        if run.recorded is not None and not found:
            missing.append(f"no output of the {direction} run: its rate was recorded by the site")
    return Proof(captures=tuple(lines), missing=tuple(missing))


# -- RDMA ----------------------------------------------------------------------------------------


def rdma_checks(measured: Measured, expected: RdmaCeiling) -> list[Checked]:
    """One item a round: RDMA alone, storage to clients, against a run of the file system."""
    try:
        rounds = measured.rdma_read()
    except NotSeenError as error:
        part = or_again(error.part)
        about = _about(ALONE, Proof(missing=("no output of RDMA: no pair was run",)))
        return [Checked(expected.ordered, about, lambda: part)]
    several = len(rounds) > 1
    return [
        Checked(
            expected.ordered,
            _about(
                f"{ALONE}, round {round_.round + 1}" if several else ALONE,
                _rdma_figures(measured, expected, round_),
            ),
            _rdma_answer(measured, expected, round_),
        )
        for round_ in rounds
    ]


def _rdma_figures(measured: Measured, expected: RdmaCeiling, round_: RdmaRun) -> Proof:
    """The lines of the slowest pairs, and of the run of the file system beside them."""
    pairs = sorted(round_.rates, key=lambda rate: rate.rate)[:LINES_SHOWN]
    filesystem = _figures(measured, expected.direction)
    lines = (*(rate.capture for rate in pairs), *filesystem.captures)
    return Proof(captures=lines, missing=filesystem.missing)


def _rdma_answer(
    measured: Measured, expected: RdmaCeiling, round_: RdmaRun
) -> Callable[[], ItemAnswer]:
    direction = expected.direction

    def answer() -> ItemAnswer:
        rdma = carried.rdma_alone(measured, round_)
        named = carried.total(measured, direction)
        within = expected.within.fraction
        if expected.relation == "at-least":
            named = carried.carried(measured, direction)
            if rdma.gib >= named.gib * (1 - within):
                return Met()
            return shared or Different(
                f"{rdma:.1f} in the read direction, the file system {direction}s {named:.1f}: the "
                "fabric cannot carry to the clients what they write"
            )
        if abs(named.gib - rdma.gib) <= within * rdma.gib:
            carried.carried(measured, direction)  # a cache that happens to match is no match
            return Met()
        where = "the limit is above the network"
        if named.gib > rdma.gib:
            where = "something was cached, or RDMA alone did not have the cables to itself"
        return shared or Different(f"{rdma:.1f}, the file system {direction}s {named:.1f}: {where}")

    shared = _shared(measured, round_.name)
    return answer


def _shared(measured: Measured, run: str) -> NotSeen | None:
    """Where others used the clients' cables too, RDMA was not alone and is no ceiling."""
    balance = measured.loads.balances.get(run)
    if not isinstance(balance, ByteBalance) or balance.explained != "other-traffic":
        return None
    return NotSeen(
        ALONE,
        f"{run}: the clients' cables carried {100 * balance.difference:.0f} % more than the pairs: "
        "others used them too, so RDMA was not alone",
        "run it again while the job's hosts are idle",
    )


# -- forecast ------------------------------------------------------------------------------------


def forecast_checks(measured: Measured, expected: Forecast) -> list[Checked]:
    """The read run against what routes, ceilings and the write run predict."""

    def answer() -> ItemAnswer:
        if measured.adaptive:
            return NotSeen(
                "the forecast",
                "adaptive routing is on: the tables are only the fallback, and no forecast of "
                "theirs holds",
                "judge by the load of the cables (cable-load) and by RDMA alone (rdma-ceiling)",
            )
        carried.require_ceilings(measured)
        carried.carried(measured, "write")
        predicted, read = measured.forecast(), carried.carried(measured, "read")
        within = expected.within.fraction
        low, high = predicted.lock_step.gib * (1 - within), predicted.aggregate.gib * (1 + within)
        if low <= read.gib <= high:
            return Met()
        return Different(
            f"measured {read:.1f}, {predicted.place_of(read)}",
            f"{predicted.lock_step.gib:.1f} (in lock-step) to {predicted.aggregate:.1f} (max-min "
            f"fair) within {expected.within} ({predicted.sum_text})",
        )

    about = _about("reads as forecast", _figures(measured, "read", "write"))
    return [Checked(expected.ordered, about, answer)]

"""Judging the cables under load: no full one beside an idle one. A group in one way is an item."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ibaccept.checks.proof import Aspect
from ibaccept.checks.selector import select
from ibaccept.checks.throughput.judge import Checked, or_again
from ibaccept.checks.throughput.kinds import CableLoad
from ibaccept.checks.throughput.measured import Measured
from ibaccept.checks.throughput.trust import over_ceiling
from ibaccept.checks.throughput.under_load import (
    AGAIN,
    did_cross,
    not_crossed,
    require_whole,
)
from ibaccept.fabric.model import Guid, Link
from ibaccept.load.result import CableRate, CableWatch, DirectedRate
from ibaccept.routing.crossings import over
from ibaccept.verdict import Different, ItemAnswer, Met
from ibaccept.verdict.absence import NotSeen, NotSeenError

Way = tuple[Guid, Guid]
"""Switch that sends, and the one that receives."""


def cable_checks(measured: Measured, expected: CableLoad) -> list[Checked]:
    """One item per run, group of parallel cables, and way that the run's data takes over it."""
    if expected.during != "rdma":
        return _during(measured, expected, expected.during)
    runs = [name for name in measured.loads.watches if name.startswith("rdma-")]
    return [
        check
        for run in runs or ["rdma-read"]
        for check in _during(measured, expected, run, several=len(runs) > 1)
    ]


def _during(
    measured: Measured, expected: CableLoad, run: str, *, several: bool = False
) -> list[Checked]:
    try:
        require_whole(measured.loads, run)
        watch = measured.watch(run)
    except NotSeenError as error:
        lacking = or_again(error.part)
        missing = (f"no reading of the cables in {run}",)
        about = Aspect("throughput", f"cables, {run}", missing=missing)
        return [Checked(expected.ordered, about, lambda: lacking)]
    snapshot = measured.snapshot
    chosen = select(expected.links, snapshot.fabric, snapshot.inventory).items
    wanted = [link for link in chosen if isinstance(link, Link)]
    groups = _groups(watch, {link.key for link in wanted})
    both = {way for way in groups if way[::-1] in groups}
    found = []
    for way, cables in sorted(groups.items()):
        watched = {cable.ports for cable, _ in cables}
        beside = [
            link for link in wanted if link.key not in watched and set(_guids(link)) == set(way)
        ]
        name = _name(measured, way, is_one_of_two=way in both) + (f", {run}" if several else "")
        group = _Group(measured, expected, watch, name, tuple(cables), tuple(beside))
        found.append(Checked(expected.ordered, group.about, group.answer))
    return found


def _groups(
    watch: CableWatch, wanted: set[object]
) -> dict[Way, list[tuple[CableRate, DirectedRate]]]:
    """The chosen cables by the way they carry data, where the tables send the run's that way."""
    found: dict[Way, list[tuple[CableRate, DirectedRate]]] = defaultdict(list)
    for cable in watch.cables:
        if cable.kind == "isl" and cable.ports in wanted:
            for rate in cable.ways:
                (other,) = (port.guid for port in cable.ports if port != rate.sender)
                found[rate.sender.guid, other].append((cable, rate))
    return {way: rates for way, rates in found.items() if any(r.flows for _, r in rates)}


def _guids(link: Link) -> Way:
    return link.a.id.guid, link.b.id.guid


def _name(measured: Measured, way: Way, *, is_one_of_two: bool) -> str:
    nodes = measured.snapshot.fabric.nodes
    if is_one_of_two:
        return " -> ".join(nodes[guid].name.strip() for guid in way)
    return " - ".join(nodes[guid].name.strip() for guid in sorted(way))


@dataclass(frozen=True)
class _Group:
    """Parallel cables in one way.

    Attributes:
        cables: each with what it carried that way.
        beside: cables the entry names too, that were not watched.
    """

    measured: Measured
    expected: CableLoad
    watch: CableWatch
    name: str
    cables: tuple[tuple[CableRate, DirectedRate], ...]
    beside: tuple[Link, ...]

    def answer(self) -> ItemAnswer:
        """Whether one is full while another idles, so far as the readings tell."""
        unknown = self._unknown()
        if unknown is not None:
            return unknown
        doubt = self.watch.window.uncertain_share
        shares = {cable.name: (rate.percent or 0.0) / 100 for cable, rate in self.cables}
        fullest, emptiest = max(shares, key=shares.__getitem__), min(shares, key=shares.__getitem__)
        most, least = shares[fullest], shares[emptiest]
        # No reading is better placed in time than this; so near the limit nothing is known.
        found = f"{fullest} {100 * most:.0f} % while {emptiest} {100 * least:.0f} %"
        if self._is_hot(most * (1 - doubt), least * (1 + doubt)):
            return Different(found)
        if self._is_hot(most * (1 + doubt), least * (1 - doubt)):
            return NotSeen(
                self.name,
                f"{found}, each known to +-{100 * doubt:.0f} % of itself by "
                f"{self.watch.window.samples} readings: too near the limits to tell",
                "let it run longer: more duration, or a larger data set",
            )
        balance = self.measured.loads.balances.get(self.watch.run)
        if not did_cross(balance):
            # cables that were not loaded are even, and prove nothing
            return or_again(not_crossed(self.watch.run, balance))
        return Met()

    def _unknown(self) -> NotSeen | None:
        """What keeps the cables from being compared."""
        unread = [rate for _, rate in self.cables if rate.percent is None]
        if unread:
            why = unread[0].why or f"{unread[0].name} has no ceiling"
            return NotSeen(self.name, why, AGAIN)
        if self.beside:
            label = self.measured.snapshot.fabric.link_name(self.beside[0])
            return NotSeen(self.name, f"{label} was not watched", AGAIN)
        return over_ceiling(self.watch, [cable for cable, _ in self.cables])

    def _is_hot(self, most: float, least: float) -> bool:
        limits = self.expected.at_most.fraction, self.expected.while_under.fraction
        return most > limits[0] and least < limits[1]

    def about(self) -> Aspect:
        """Readings during the run and the job's routes.

        Of the fullest cable and of the emptiest, or of the first that was not read.
        """
        rates = [rate for _, rate in self.cables]
        shown = [rate for rate in rates if rate.percent is None][:1] or _extremes(rates)
        job, snapshot = self.measured.job, self.measured.snapshot
        sides = job.storage.lids, job.clients.lids
        sender = shown[0].sender
        lid = snapshot.fabric.node_of(sender).lid
        ends = [port for cable, _ in self.cables for port in cable.ports]
        return Aspect(
            "cables",
            self.name,
            captures=tuple(capture for rate in shown for capture in rate.captures),
            command=f"perfquery -x {lid} {sender.port}" if lid else "",
            routes=over(
                snapshot.routes, *(sides if self.watch.direction == "read" else sides[::-1]), sender
            ),
            counters=tuple(counter for rate in shown for counter in rate.counters),
            guids=tuple(str(port.guid) for port in ends),
            ports=tuple(port.port for port in ends),
        )


def _extremes(rates: Sequence[DirectedRate]) -> list[DirectedRate]:
    """The fullest and the emptiest; one where there is but one."""
    ordered = sorted(rates, key=lambda rate: rate.percent or 0.0)
    return [ordered[-1], *ordered[: min(1, len(ordered) - 1)]]

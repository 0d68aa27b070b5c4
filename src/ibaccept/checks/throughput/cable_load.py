"""Judging the cables under load: no full one beside an idle one.

A group of comparable cables in one direction is an item.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

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
from ibaccept.fabric.model import Guid, Link, PortId
from ibaccept.fabric.nodeset import fold
from ibaccept.load.result import CableRate, CableWatch, DirectedRate
from ibaccept.routing.crossings import over
from ibaccept.verdict import Different, ItemAnswer, Met
from ibaccept.verdict.absence import NotSeen, NotSeenError

Group = tuple[PortId, ...]
"""Ports that send into cables which are compared."""


def cable_checks(measured: Measured, expected: CableLoad) -> list[Checked]:
    """One item per run and group of comparable cables, in one direction."""
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
    groups = _groups(watch, {link.key for link in wanted}, measured.comparable(watch.direction))
    both = {_hops(measured, ports)[::-1] for ports in groups}
    found = []
    for ports, cables in sorted(groups.items()):
        watched = {cable.ports for cable, _ in cables}
        beside = [
            link
            for link in wanted
            if link.key not in watched and any(end.id in ports for end in link.ends)
        ]
        hops = _hops(measured, ports)
        name = _name(measured, hops, is_one_of_two=hops in both)
        name += f", {run}" if several else ""
        group = _Group(measured, expected, watch, name, tuple(cables), tuple(beside))
        found.append(Checked(expected.ordered, group.about, group.answer))
    return found


def _groups(
    watch: CableWatch, wanted: set[object], comparable: Sequence[Group]
) -> dict[Group, list[tuple[CableRate, DirectedRate]]]:
    """The chosen cables in one direction, where the tables send data of the run that way.

    Those among which routing could choose are one group. Cables on no shortest route are compared
    with those that join the same two switches.
    """
    group_of = {port: ports for ports in comparable for port in ports}
    beside: dict[tuple[Guid, Guid], list[PortId]] = defaultdict(list)
    rates = [
        (cable, rate)
        for cable in watch.cables
        if cable.kind == "isl" and cable.ports in wanted
        for rate in cable.ways
    ]
    for cable, rate in rates:
        if rate.sender not in group_of:
            beside[_way(cable, rate)].append(rate.sender)
    group_of |= {port: tuple(sorted(ports)) for ports in beside.values() for port in ports}
    found: dict[Group, list[tuple[CableRate, DirectedRate]]] = defaultdict(list)
    for cable, rate in rates:
        found[group_of[rate.sender]].append((cable, rate))
    return {ports: some for ports, some in found.items() if any(r.flows for _, r in some)}


def _way(cable: CableRate, rate: DirectedRate) -> tuple[Guid, Guid]:
    """The switch that sends, and the one that receives."""
    (other,) = (port.guid for port in cable.ports if port != rate.sender)
    return rate.sender.guid, other


def _hops(measured: Measured, ports: Group) -> tuple[tuple[Guid, ...], tuple[Guid, ...]]:
    """The switches that send into the cables, and those that receive."""
    fabric = measured.snapshot.fabric
    far = {end.id.guid for port in ports for end in fabric.link_at[port].ends if end.id != port}
    return tuple(sorted({port.guid for port in ports})), tuple(sorted(far))


def _name(
    measured: Measured,
    hops: tuple[tuple[Guid, ...], tuple[Guid, ...]],
    *,
    is_one_of_two: bool,
) -> str:
    """``SwitchA - SwitchB``, or with the direction where there are several or both."""
    nodes = measured.snapshot.fabric.nodes
    if is_one_of_two or any(len(side) > 1 for side in hops):
        return " -> ".join(fold(nodes[guid].name.strip() for guid in side) for side in hops)
    return " - ".join(nodes[guid].name.strip() for guid in sorted(chain(*hops)))


@dataclass(frozen=True)
class _Group:
    """Comparable cables in one direction.

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

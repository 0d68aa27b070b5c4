"""Judging delivery: every pair arrives, over few enough switches, and nothing can lock up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ibaccept.checks.proof import Aspect
from ibaccept.checks.routes.kinds import Delivery
from ibaccept.fabric.model import PortId
from ibaccept.fabric.wording import listed, reasons
from ibaccept.observe.lids import JobSides
from ibaccept.observe.snapshot import Gap, Snapshot
from ibaccept.routing.credit import CreditLoops, credit_loops
from ibaccept.routing.losses import Loss, losses
from ibaccept.routing.paths import Reach
from ibaccept.verdict import Different, ItemAnswer, Met
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import RouteExample, RouteRef

READ_AGAIN = "run again; ibroute on the switch, or saquery LFTR LID, shows what it holds"
EXAMPLES = 4
STEPS = 16
"""Routes of a credit loop that are shown: one for each step of the cycle."""
ONE_LANE = frozenset({"minhop", "updn", "dnup", "ftree", "dor"})
"""Engines of OpenSM that give all pairs one virtual lane. lash, torus-2qos, dfsssp, nue and others
break cycles by lanes, which the tables do not show."""
WITHOUT_LID = "host ports without a LID"


@dataclass(frozen=True)
class RoutesFound:
    """What the tables do with the pairs an entry is about."""

    reach: Reach
    loops: CreditLoops | None
    problems: tuple[str, ...]
    without_lid: tuple[PortId, ...] = ()
    engines: tuple[str, ...] = ()
    lost: tuple[Loss, ...] = ()


def routes_found(
    snapshot: Snapshot,
    expected: Delivery,
    job: JobSides | None,
    engines: tuple[str, ...] = (),
) -> RoutesFound:
    """Follow every pair, or those of the job (both directions).

    Args:
        snapshot: what was seen.
        expected: the entry.
        job: needed with ``every: job``.
        engines: routing engines that may be in use; empty where that is not known.

    Raises:
        NotSeenError: topology or tables were not seen.
        InputError: a LID that no port seen owns.
    """
    routes = snapshot.routes
    reach = routes.reach
    if expected.every == "job" and job is not None:
        both = {*job.clients.lids, *job.storage.lids}
        reach = routes.reach_of(both, both)
    else:
        both = None
    lost = losses(routes, both, both) if reach.undelivered else []
    loops = credit_loops(routes) if expected.credit_loops != "allowed" else None
    # A port without a LID is in no pair. Of the job's hosts each has one, or its look-up failed.
    without = routes.without_lid if expected.every == "pair" else ()
    return RoutesFound(reach, loops, routes.problems, without, engines, tuple(lost))


def route_aspects(snapshot: Snapshot, expected: Delivery, found: RoutesFound) -> list[Aspect | Gap]:
    """What is judged of the routes, each with the routes that show it; and the sweep's gaps."""
    reach = found.reach
    wrong = tuple(route.example for route in reach.examples)
    longest = () if reach.longest is None else (reach.longest.example,)
    delivery = _aspect("delivery", reach, wrong or longest)
    if reach.undelivered:
        shown = found.lost[:EXAMPLES]
        rows = [row for loss in shown for row in snapshot.table_rows(loss.switch, [loss.lid])]
        delivery = replace(
            delivery,
            routes=RouteRef(reach.undelivered, reach.pairs, wrong[:EXAMPLES]),
            captures=tuple(dict.fromkeys(rows)),
            guids=tuple(dict.fromkeys(str(loss.switch) for loss in shown)),
        )
    aspects: list[Aspect | Gap] = [delivery]
    if expected.max_hops is not None:
        aspects.append(_aspect("hops", reach, longest))
    if expected.credit_loops == "none" and found.loops is not None:
        steps = tuple(step.route.example for step in found.loops.cycle)
        aspects.append(
            replace(
                _aspect("credit loops", reach, steps, STEPS),
                guids=tuple(str(step.port.guid) for step in found.loops.cycle),
                ports=tuple(step.port.port for step in found.loops.cycle),
            )
        )
    if found.without_lid:
        lines = [line for port in found.without_lid for line in snapshot.lines.get(port, ())]
        aspects.append(Aspect("routes", WITHOUT_LID, captures=tuple(lines[:EXAMPLES])))
    whole = expected.every == "pair" and expected.absent == "refused"
    # The job's hosts were all seen; of all pairs those of a host behind a gap are among them.
    gaps = snapshot.gaps if expected.every == "pair" else snapshot.open_gaps
    return [*aspects, *gaps, *(snapshot.absent if whole else ())]


def _aspect(
    name: str, reach: Reach, examples: Sequence[RouteExample], limit: int = EXAMPLES
) -> Aspect:
    routes = RouteRef(reach.pairs, reach.pairs, tuple(examples[:limit]))
    return Aspect("routes", name, routes=routes, command="dump_fts -n")


@dataclass(frozen=True)
class RouteJudge:
    """Judges one aspect: met, what differs, or what is not known."""

    snapshot: Snapshot
    expected: Delivery
    found: RoutesFound

    def __call__(self, item: Aspect | Gap) -> ItemAnswer:
        """Judge an item of ``route_aspects``."""
        if isinstance(item, Gap):
            return item.not_seen(READ_AGAIN)
        match item.name:
            case "delivery":
                return self._delivery()
            case "hops":
                return self._hops()
            case "host ports without a LID":
                return self._without_lid()
            case _:
                return self._loops()

    @property
    def _unknown(self) -> NotSeen:
        reach = self.found.reach
        why = reasons(self.found.problems) or "part of the tables was not read"
        unknown = f"{reach.unknown:,} of {reach.pairs:,} pairs are unknown: {why}"
        return NotSeen("the routes", unknown, READ_AGAIN)

    def _delivery(self) -> ItemAnswer:
        reach = self.found.reach
        if reach.undelivered:
            ends = ", ".join(
                f"{count:,} {end.value}"
                for end, count in sorted(reach.by_end.items())
                if end.value not in {"delivered", "unknown"}
            )
            where = listed(
                (loss.text(self._owner(loss.lid)) for loss in self.found.lost), most=EXAMPLES
            )
            return Different(
                f"{reach.undelivered:,} of {reach.pairs:,} pairs are not delivered: {ends}"
                + (f"; {where}" if where else "")
            )
        if reach.pairs == 0:
            return NotSeen("the routes", "there is no pair to follow")
        return self._unknown if reach.unknown else Met()

    def _owner(self, lid: int) -> str:
        """The host that owns a LID, for people; empty where none was seen."""
        fabric = self.snapshot.fabric
        port = fabric.lid_owner.get(lid)
        return "" if port is None else fabric.nodes[port.guid].name.strip()

    def _hops(self) -> ItemAnswer:
        reach, limit = self.found.reach, self.expected.max_hops
        most = reach.max_switches
        if most is None or limit is None:
            return NotSeen("the routes", "no pair is delivered")
        if most > limit:
            longer = sum(count for hops, count in reach.switches.items() if hops > limit)
            return Different(f"{longer:,} pairs cross more, up to {most} switches")
        return self._unknown if reach.unknown else Met()

    def _without_lid(self) -> Different:
        names = [self.snapshot.fabric.port_name(port) for port in self.found.without_lid]
        return Different(
            f"{len(names)} have none, so nothing reaches them: {listed(names)}",
            hint="the subnet manager did not configure them; its log says why",
        )

    def _loops(self) -> ItemAnswer:
        loops = self.found.loops
        if loops is None:
            return NotSeen("credit loops", "credit loops were not looked for")
        if loops.found:
            cycle = (
                f"a cycle of {len(loops.cycle)} cables that wait for each other: {_way(loops)} "
                f"({loops.cables} cable directions are in one)"
            )
            engines = self.found.engines
            if engines and ONE_LANE.issuperset(engines):
                return Different(cycle)
            which = (
                f"engine {', '.join(engines)}" if engines else "which engine routes is not known"
            )
            return NotSeen(
                "credit loops",
                f"{cycle}, if all pairs share one virtual lane; {which}: engines such as lash, "
                "torus-2QoS, dfsssp and nue break such a cycle by lanes, which were not read",
                "name opensm.conf or OpenSM's log under subnet_files, which says the routing "
                "engine; smpquery sl2vl and saquery PR show the lanes",
            )
        return self._unknown if loops.unknown else Met()


def route_order(expected: Delivery, item: Aspect | Gap) -> str:
    """What is expected of an item of ``route_aspects``."""
    name = item.name if isinstance(item, Aspect) else ""
    if name == WITHOUT_LID:
        return "every cabled host port has a LID"
    return expected.aspects.get(name, expected.ordered)


def route_notes(expected: Delivery, found: RoutesFound) -> tuple[str, ...]:
    """The hop histogram, and credit loops where they are only reported."""
    hops = ", ".join(f"{n}: {count:,}" for n, count in sorted(found.reach.switches.items()))
    notes = [f"pairs by switches on the route: {hops}"] if hops else []
    if expected.credit_loops == "report" and found.loops is not None and found.loops.found:
        notes.append(f"credit loop (reported, not judged): {_way(found.loops)}")
    return tuple(notes)


def _way(loops: CreditLoops) -> str:
    """``A/1 -> B/1 -> A/1``: the cycle, closed."""
    return " -> ".join(step.name for step in (*loops.cycle, loops.cycle[0]))

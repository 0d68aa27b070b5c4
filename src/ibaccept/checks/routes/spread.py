"""Judging the spread of LIDs over parallel cables, for a job or for the whole fabric."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ibaccept.checks.proof import Aspect
from ibaccept.checks.routes.delivery import READ_AGAIN
from ibaccept.checks.routes.groups import Arriving, CableGroup, arriving_at, groups_of, hosts_folded
from ibaccept.checks.routes.kinds import Balance, LidSpread
from ibaccept.checks.routes.notes import spread_notes, spread_tables
from ibaccept.errors import InputError
from ibaccept.fabric.model import Rate
from ibaccept.fabric.suggest import did_you_mean
from ibaccept.fabric.units import Bandwidth
from ibaccept.fabric.wording import listed, reasons
from ibaccept.observe.lids import HostLids, JobSides
from ibaccept.observe.snapshot import Gap, Snapshot
from ibaccept.routing.spread import Spread, fabric_spread, spread
from ibaccept.site.adaptive import SUBJECT, AdaptiveRouting
from ibaccept.verdict import Different, ItemAnswer, Met, Table
from ibaccept.verdict.absence import NotSeen

BASE = "base LIDs"


@dataclass(frozen=True, slots=True)
class _Side:
    """One direction: hosts whose LIDs are counted, LIDs that send to them, and its names."""

    hosts: tuple[HostLids, ...]
    sources: tuple[int, ...]
    towards: str
    direction: str

    @property
    def lids(self) -> tuple[int, ...]:
        return tuple(lid for host in self.hosts for lid in host.lids)


@dataclass(frozen=True)
class JobSpread:
    """The spread of one direction of a job, ready to be judged.

    Attributes:
        expected: the entry.
        found: the counts.
        items: groups of parallel cables, and what of the pairs is not known.
        names: host by LID.
        lids: the LIDs counted.
        towards: ``toward clients``.
        direction: ``read`` or ``write``; what this traffic is to the job.
        adaptive: what is known of adaptive routing; where it is on, nothing is judged.
        ceilings: payload of one idle link by rate, as the site measured it.
        job_notes: how the LIDs are known.
    """

    snapshot: Snapshot
    expected: LidSpread
    found: Spread
    items: tuple[Any, ...]
    names: Mapping[int, str]
    lids: tuple[int, ...]
    towards: str
    direction: str
    adaptive: AdaptiveRouting
    ceilings: Mapping[Rate, Bandwidth]
    job_notes: tuple[str, ...] = field(default=())

    @property
    def noun(self) -> str:
        """``12 LIDs of clients, toward clients``."""
        return f"{len(set(self.lids))} LIDs of {self.expected.lids} {self.towards}"

    def judge(self, item: Any) -> ItemAnswer:
        """Within the order, which cables carry how many LIDs, or what is not known."""
        why = self.adaptive.why_not_judged
        if why is not None:
            return NotSeen(SUBJECT, why, self.adaptive.hint, self.adaptive.captures)
        if isinstance(item, Gap):
            return item.not_seen(READ_AGAIN)
        if isinstance(item, Arriving):
            return self._arriving(item)
        if not isinstance(item, CableGroup):
            return NotSeen(item.name, unknown_reason(self.found), READ_AGAIN)
        return self._group(item)

    def _arriving(self, item: Arriving) -> Met | Different:
        """Within what one cable for each LID, the same for all senders, would put on a cable."""
        into = item.into
        if into.worst <= into.bound:
            return Met()
        full = sorted((row for row in into.rows if row.pairs), key=lambda r: (-r.pairs, r.port))
        shown = listed(
            (f"{row.name}: {row.pairs} to {hosts_folded(row.lids, self.names)}" for row in full),
            noun="cables",
        )
        return Different(
            shown + _idle(len(into.rows) - len(full)),
            f"at most {into.bound} of the job's pairs per cable into {into.name} (even: "
            f"{into.lids} {item.part or 'LIDs'} over {into.usable} usable cables, from "
            f"{into.senders} sending {'port' if into.senders == 1 else 'ports'})",
        )

    def _group(self, item: CableGroup) -> ItemAnswer:
        group, even = item.group, self.expected.per_cable == "even"
        limit = group.bound if self.expected.per_cable == "even" else self.expected.per_cable
        if group.worst > limit:
            if even and not _is_whole(item.of):
                # LIDs that are counted nowhere might raise the even share.
                most = -(-len(set(self.lids)) // max(group.usable, 1))
                if group.worst <= most:
                    return NotSeen(item.name, unknown_reason(item.of), READ_AGAIN)
                limit = most
            return self._uneven(item, limit)
        if even and group.longer:
            return NotSeen(
                item.name,
                f"{group.longer} of {group.lids} LIDs leave by a cable that is on no shortest way "
                f"to them ({self._cables(item)}), so the even share of the shortest ways is no "
                "measure",
                "give per_cable a number, and see kind routes with max_hops",
            )
        return Met()

    def _uneven(self, item: CableGroup, limit: int) -> Different:
        group = item.group
        text = f"at most {limit} of the job's {item.part or 'LIDs'} per cable"
        if self.expected.per_cable == "even":
            lids = group.lids if _is_whole(item.of) else len(set(self.lids))
            text += f" (even: {lids} LIDs over {group.usable} usable cables)"
        return Different(self._cables(item), text)

    def _cables(self, item: CableGroup) -> str:
        """``SwitchB/25: 6 client-[a,c,e], SwitchB/26: 1 client-b; 5 cables carry none``."""
        rows = item.of.rows_of(item.index)
        full = sorted((row for row in rows if row.count), key=lambda row: (-row.count, row.port))
        shown = listed(
            (f"{row.name}: {row.count} {hosts_folded(row.lids_job, self.names)}" for row in full),
            noun="cables",
        )
        return shown + _idle(len(rows) - len(full))

    def tables(self) -> tuple[Table, ...]:
        """The counts of each group that is judged."""
        return spread_tables(self.items, self.names, self.towards)

    def notes(self) -> tuple[str, ...]:
        """The ceiling a spread implies, remedies, what was left out, and whose LIDs were how."""
        if self.adaptive.state == "on":
            return self.job_notes
        failed = any(isinstance(self.judge(item), Different) for item in self.items)
        told = spread_notes(self.snapshot, self.items, self.ceilings, self.direction, failed=failed)
        return (*told, *self._left_out(), *self.adaptive.notes, *self.job_notes)

    def _left_out(self) -> Iterator[str]:
        """Groups of one cable, and LIDs that cross no cable between switches."""
        if self.expected.group is not None:
            return
        judged = {
            item.index for item in self.items if isinstance(item, CableGroup) and not item.part
        }
        alone = [
            f"{row.name} - {row.towards_name}: {row.count}"
            for row in self.found.rows
            if row.group not in judged and row.count
        ]
        if alone:
            yield (
                "not judged, as there is no other cable to share with (LIDs of the job): "
                f"{listed(alone)}"
            )
        if not _is_whole(self.found):
            return
        crossing = {lid for row in self.found.rows for lid in row.lids_job}
        rest = sorted(set(self.lids) - crossing)
        if rest:
            yield (
                f"{len(rest)} of the {len(set(self.lids))} LIDs cross no cable between switches: "
                f"{hosts_folded(rest, self.names)}"
            )


def job_spread(
    snapshot: Snapshot,
    expected: LidSpread,
    job: JobSides,
    *,
    adaptive: AdaptiveRouting,
    ceilings: Mapping[Rate, Bandwidth],
) -> JobSpread:
    """Count the LIDs an entry names on every cable the job's traffic crosses.

    Reads go from storage to the clients' LIDs, writes from the clients to those of storage. Where
    ports own several LIDs (LMC), ``even`` is also judged for the first LID of each port alone:
    most programs use no other, and an even count of all can hide that those share one cable. And
    it is judged of all cables into a switch together, see `ibaccept.routing.inward`.

    Raises:
        NotSeenError: topology or tables were not seen.
        InputError: a name that is not of the job, or a LID that no port seen owns.
    """
    side = _side(snapshot, expected.lids, job)
    lids = side.lids
    found = spread(snapshot.routes, side.sources, lids)
    items: list[Any]
    if adaptive.why_not_judged is not None:
        items = [Aspect("fabric", SUBJECT, captures=adaptive.captures)]
    else:
        even = expected.per_cable == "even"
        items = [*groups_of(snapshot, found, expected.group, single=not even)]
        base = _base_lids(snapshot, side.hosts)
        if even:
            items += arriving_at(snapshot, side.sources, lids, expected.group)
        if even and base != set(lids):
            only = spread(snapshot.routes, side.sources, base)
            items += groups_of(snapshot, only, expected.group, part=BASE)
            items += arriving_at(snapshot, side.sources, sorted(base), expected.group, BASE)
        items += [*unknown_pairs(found), *snapshot.gaps]
    return JobSpread(
        *(snapshot, expected, found, tuple(items), job.names, lids),
        *(side.towards, side.direction, adaptive, ceilings, job.notes),
    )


def _side(snapshot: Snapshot, text: str, job: JobSides) -> _Side:
    """Whose LIDs are counted, and who sends to them."""
    clients = _Side(job.clients.hosts, job.storage.lids, "toward clients", "read")
    storage = _Side(job.storage.hosts, job.clients.lids, "toward storage", "write")
    if text in {"clients", "storage"}:
        return clients if text == "clients" else storage
    names = set(snapshot.inventory.node_set(text))
    for side in (clients, storage):
        if names <= {host.host for host in side.hosts}:
            chosen = tuple(host for host in side.hosts if host.host in names)
            return _Side(chosen, side.sources, side.towards, side.direction)
    known = [host.host for host in (*clients.hosts, *storage.hosts)]
    stranger = sorted(names - set(known))
    if stranger:
        raise InputError(
            f"lids: {stranger[0]!r} is not in the job{did_you_mean(stranger[0], known)}"
        )
    raise InputError(f"lids: {text!r} mixes clients and storage; give one entry for each")


def _base_lids(snapshot: Snapshot, hosts: Sequence[HostLids]) -> set[int]:
    """The first LID of every port; of a port given by its LID, that LID."""
    found: set[int] = set()
    for host in hosts:
        for port in host.ports:
            owned = snapshot.fabric.port(port)
            mine = [lid for lid in host.lids if owned is not None and lid in owned.lids()]
            found.update(mine[:1])
    return found


def _idle(cables: int) -> str:
    """``; 5 cables carry none``, after the cables named in a finding."""
    verb = "cable carries" if cables == 1 else "cables carry"
    return f"; {cables} {verb} none" if cables else ""


def _is_whole(found: Spread) -> bool:
    """True where every pair is known to be delivered, so that every LID is counted."""
    reach = found.reach
    return reach is not None and reach.delivered == reach.pairs and reach.pairs > 0


def unknown_pairs(found: Spread) -> list[Aspect]:
    """An item for the pairs whose route is not known or does not arrive; none where all are."""
    return [] if _is_whole(found) else [Aspect("routes", "pairs of the job", command="dump_fts -n")]


def unknown_reason(found: Spread) -> str:
    """Why LIDs of the job are counted nowhere."""
    reach = found.reach
    if reach is None or reach.pairs == 0:
        return "there is no pair to follow"
    why = reasons(found.problems)
    if reach.unknown:
        return f"{reach.unknown:,} of the job's {reach.pairs:,} pairs are unknown: {why}"
    return (
        f"{reach.undelivered:,} of the job's {reach.pairs:,} pairs are not delivered, so their "
        "LIDs are counted nowhere"
    )


def balance_judge(expected: Balance) -> Callable[[CableGroup | Gap], ItemAnswer]:
    """A function of the group: balanced, or the fullest and the emptiest cable."""

    def of(item: CableGroup | Gap) -> ItemAnswer:
        if isinstance(item, Gap):
            return item.not_seen(READ_AGAIN)
        group = item.group
        if group.balance <= expected.max_minus_min:
            return Met()
        return Different(
            f"{group.worst} LIDs on the fullest of {group.usable} cables, {group.least} on the "
            f"emptiest: difference {group.balance}"
        )

    return of


def fabric_balance(snapshot: Snapshot, expected: Balance) -> list[CableGroup | Gap]:
    """The groups of the whole fabric, and what of the tables is not known.

    Raises:
        NotSeenError: topology or tables were not seen.
        InputError: a side that nobody knows.
    """
    routes = snapshot.routes
    items = groups_of(snapshot, fabric_spread(routes), expected.group)
    unread = []
    if routes.problems:
        unread.append(Gap("forwarding tables", reasons(routes.problems)))
    reach = routes.reach
    if reach.undelivered:
        lost = f"{reach.undelivered:,} of {reach.pairs:,} pairs are not delivered"
        unread.append(Gap("routes", f"{lost}, so LIDs of theirs are counted on no cable"))
    absent = snapshot.absent if expected.absent == "refused" else ()
    return [*items, *unread, *snapshot.gaps, *absent]

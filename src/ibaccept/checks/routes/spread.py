"""Judging the spread of LIDs over parallel cables, for a job or for the whole fabric."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ibaccept.checks.proof import Aspect
from ibaccept.checks.routes.delivery import READ_AGAIN
from ibaccept.checks.routes.groups import Arriving, CableGroup, arriving_at, groups_of, hosts_folded
from ibaccept.checks.routes.kinds import Balance, LidSpread
from ibaccept.checks.routes.lines import lost_rows, unread_heads
from ibaccept.checks.routes.notes import spread_notes, spread_tables
from ibaccept.errors import InputError
from ibaccept.fabric import nodeset
from ibaccept.fabric.model import Rate
from ibaccept.fabric.suggest import did_you_mean
from ibaccept.fabric.units import Bandwidth
from ibaccept.fabric.wording import listed, reasons
from ibaccept.observe.lids import HostLids, JobSides
from ibaccept.observe.snapshot import Gap, Snapshot
from ibaccept.routing.even import EvenSpread, even_spread
from ibaccept.routing.spread import Spread, fabric_spread, spread
from ibaccept.site.adaptive import SUBJECT, AdaptiveRouting
from ibaccept.verdict import Different, ItemAnswer, Met, Table
from ibaccept.verdict.absence import NotSeen

BASE = "base LIDs"


@dataclass(frozen=True, slots=True)
class _Side:
    """One direction: hosts whose LIDs are counted, those that send to them, and its names."""

    hosts: tuple[HostLids, ...]
    senders: tuple[HostLids, ...]
    towards: str
    direction: str

    @property
    def lids(self) -> tuple[int, ...]:
        return tuple(lid for host in self.hosts for lid in host.lids)

    @property
    def sources(self) -> tuple[int, ...]:
        return tuple(lid for host in self.senders for lid in host.lids)


@dataclass(frozen=True)
class JobSpread:
    """The spread of one direction of a job, ready to be judged.

    Attributes:
        expected: the entry.
        counted: the counts; of each rail where rails are separate.
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
    counted: tuple[Spread, ...]
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
            part = next((one for one in self.counted if not _is_whole(one)), self.counted[0])
            return NotSeen(item.name, unknown_reason(part), READ_AGAIN)
        return self._group(item)

    def _arriving(self, item: Arriving) -> Met | Different:
        """Within what a static table can reach on the cables of several switches together."""
        stage = item.stage
        if not stage.over:
            return Met()
        full = sorted((row for row in stage.rows if row.pairs), key=lambda r: (-r.pairs, r.port))
        shown = listed(
            (f"{row.name}: {row.pairs} to {hosts_folded(row.lids, self.names)}" for row in full),
            noun="cables",
        )
        return Different(
            shown + _idle(len(stage.rows) - len(full)),
            f"at most {stage.over[0].limit} of the job's pairs per cable into "
            f"{nodeset.fold(stage.after)} (even: {stage.lids} LIDs, "
            f"{stage.pairs} pairs, over {stage.usable} usable cables)",
        )

    def _group(self, item: CableGroup) -> ItemAnswer:
        group, even = item.group, item.even
        if even is None:
            limit = self.expected.per_cable
            assert limit != "even"  # noqa: S101 - even groups have what even demands
            return self._uneven(item, f"at most {limit}") if group.worst > limit else Met()
        if even.is_over(item.index):
            if not _is_whole(item.of):
                # LIDs that are counted nowhere might raise the even share.
                most = -(-len(set(self.lids)) // max(group.usable, 1))
                if group.worst <= most:
                    return NotSeen(item.name, unknown_reason(item.of), READ_AGAIN)
                return self._uneven(item, f"at most {most}", lids=len(set(self.lids)))
            return self._uneven(item, self._demanded(item, even), lids=group.lids)
        if group.longer:
            return NotSeen(
                item.name,
                f"{group.longer} of {group.lids} LIDs leave by a cable that is on no shortest "
                f"route to them ({self._cables(item)}), so the even share of the shortest routes "
                "is no measure",
                "give per_cable a number, and see kind routes with max_hops",
            )
        return Met()

    def _demanded(self, item: CableGroup, even: EvenSpread) -> str:
        """``at most 2``, or of cables of several rates what each may carry."""
        shares = {row.share for row in item.of.rows_of(item.index) if row.usable}
        limit = even.limits[item.index]
        if len(shares) == 1 or limit != item.group.bound:
            return f"at most {limit}"
        rows = (row for row in item.of.rows_of(item.index) if row.usable)
        return f"by bandwidth at most {listed(f'{row.share} on {row.name}' for row in rows)}"

    def _uneven(self, item: CableGroup, most: str, *, lids: int | None = None) -> Different:
        noun = item.part if item.part.endswith("LIDs") else f"{item.part} LIDs".strip()
        text = f"{most} of the job's {noun} per cable"
        if lids is not None:
            text += f" (even: {lids} LIDs over {item.group.usable} usable cables)"
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
        measure = dict.fromkeys(
            note
            for item in self.items
            if isinstance(item, CableGroup) and item.even
            for note in item.even.notes
        )
        return (*told, *measure, *self._left_out(), *self.adaptive.notes, *self.job_notes)

    def _left_out(self) -> Iterator[str]:
        """Groups of one cable, and LIDs that cross no cable between switches."""
        if self.expected.group is not None:
            return
        judged = {
            row.port
            for item in self.items
            for row in (
                item.stage.rows
                if isinstance(item, Arriving)
                else item.of.rows_of(item.index)
                if isinstance(item, CableGroup)
                else ()
            )
        }
        rows = [row for found in self.counted for row in found.rows if row.count]
        alone = [
            f"{row.name} - {row.towards_name}: {row.count}"
            for row in rows
            if row.port not in judged
        ]
        if alone:
            yield (
                "not judged, as there is no other cable to share with (LIDs of the job): "
                f"{listed(alone)}"
            )
        if not all(map(_is_whole, self.counted)):
            return
        crossing = {lid for row in rows for lid in row.lids_job}
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
    it is judged of the cables that several switches send into, see `ibaccept.routing.even`.

    Raises:
        NotSeenError: topology or tables were not seen.
        InputError: a name that is not of the job, a LID that no port seen owns, or hosts that have
            not the same number of ports with ``rails: separate``.
    """
    side = _side(snapshot, expected.lids, job)
    rails = _rails(snapshot, side) if expected.rails == "separate" else [side]
    counted = [spread(snapshot.routes, rail.sources, rail.lids) for rail in rails]
    items: list[Any]
    if adaptive.why_not_judged is not None:
        items = [Aspect("fabric", SUBJECT, captures=adaptive.captures)]
    else:
        items = [
            item
            for number, (rail, found) in enumerate(zip(rails, counted, strict=True), 1)
            for item in _items(
                snapshot, expected, rail, found, f"rail {number}" if len(rails) > 1 else ""
            )
        ]
        unknown = [aspect for found in counted for aspect in unknown_pairs(snapshot, found)]
        items += [*unknown[:1], *snapshot.open_gaps]
    return JobSpread(
        *(snapshot, expected, tuple(counted), tuple(items), job.names, side.lids),
        *(side.towards, side.direction, adaptive, ceilings, job.notes),
    )


def _items(
    snapshot: Snapshot, expected: LidSpread, side: _Side, found: Spread, part: str
) -> Iterator[CableGroup | Arriving]:
    """The groups and stages judged of one spread; with ``even`` also those of base LIDs alone."""
    if expected.per_cable != "even":
        yield from groups_of(snapshot, found, expected.group, single=True, part=part)
        return
    parts = [(part, found)]
    base = _base_lids(snapshot, side)
    if base != set(side.lids):
        only = spread(snapshot.routes, side.sources, base)
        parts.append((f"{part}, {BASE}" if part else BASE, only))
    for name, one in parts:
        even = even_spread(snapshot.routes, one)
        yield from groups_of(snapshot, one, expected.group, part=name, even=even)
        yield from arriving_at(snapshot, even, expected.group, name)


def _rails(snapshot: Snapshot, side: _Side) -> list[_Side]:
    """A side for each rail: the n-th port of every host sends to the n-th of every other.

    Raises:
        InputError: hosts have different numbers of ports, so which are of one rail is not known.
    """
    every = (*side.hosts, *side.senders)
    counts = {host.host: len(host.ports) for host in every}
    if len(set(counts.values())) > 1:
        few, many = min(counts, key=counts.__getitem__), max(counts, key=counts.__getitem__)
        raise InputError(
            f"rails: separate pairs the n-th port of each host with the n-th of the others, but "
            f"{few} has {counts[few]} and {many} has {counts[many]} on this fabric"
        )
    return [
        replace(
            side,
            hosts=tuple(_port_of(snapshot, host, number) for host in side.hosts),
            senders=tuple(_port_of(snapshot, host, number) for host in side.senders),
        )
        for number in range(max(counts.values(), default=0))
    ]


def _port_of(snapshot: Snapshot, host: HostLids, number: int) -> HostLids:
    """A host with one of its ports."""
    port = snapshot.fabric.port(host.ports[number])
    own = set() if port is None else set(port.lids())
    lids = tuple(lid for lid in host.lids if lid in own)
    return replace(host, ports=(host.ports[number],), lids=lids)


def _side(snapshot: Snapshot, text: str, job: JobSides) -> _Side:
    """Whose LIDs are counted, and who sends to them."""
    clients = _Side(job.clients.hosts, job.storage.hosts, "toward clients", "read")
    storage = _Side(job.storage.hosts, job.clients.hosts, "toward storage", "write")
    if text in {"clients", "storage"}:
        return clients if text == "clients" else storage
    names = set(snapshot.inventory.node_set(text))
    for side in (clients, storage):
        if names <= {host.host for host in side.hosts}:
            chosen = tuple(host for host in side.hosts if host.host in names)
            return _Side(chosen, side.senders, side.towards, side.direction)
    known = [host.host for host in (*clients.hosts, *storage.hosts)]
    stranger = sorted(names - set(known))
    if stranger:
        raise InputError(
            f"lids: {stranger[0]!r} is not in the job{did_you_mean(stranger[0], known)}"
        )
    raise InputError(f"lids: {text!r} mixes clients and storage; give one entry for each")


def _base_lids(snapshot: Snapshot, side: _Side) -> set[int]:
    """The first LID of every port; of a port given by its LID, that LID."""
    found: set[int] = set()
    for host in side.hosts:
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


def unknown_pairs(snapshot: Snapshot, found: Spread) -> list[Aspect]:
    """An item for the pairs whose route is not known or does not arrive; none where all are."""
    if _is_whole(found):
        return []
    reach = found.reach
    lines = () if reach is None or reach.unknown else lost_rows(snapshot, reach)
    lines = lines or unread_heads(snapshot)
    return [Aspect("routes", "pairs of the job", captures=lines, command="dump_fts -n")]


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
        found = (
            f"{group.worst} LIDs on the fullest of {group.usable} cables, {group.least} on the "
            f"emptiest: difference {group.balance}"
        )
        rows = [row for row in item.of.rows_of(item.index) if row.usable]
        most = group.worst - expected.max_minus_min
        uncounted = _uncounted(item)
        if sum(max(0, most - row.count) for row in rows) <= uncounted:
            reason = f"{found}; LIDs that are counted on no cable ({uncounted}) may even it out"
            return NotSeen(item.name, reason, READ_AGAIN)
        return Different(found)

    return of


def _uncounted(item: CableGroup) -> int:
    """LIDs that the switch of a group sends elsewhere, and whose route is unknown or lost."""
    routes = item.snapshot.routes
    if not routes.problems and routes.reach.delivered == routes.reach.pairs:
        return 0
    cabling = routes.cabling
    here = cabling.switches.index(item.group.switch)
    remote = int((routes.attached[cabling.owner[cabling.ca_lids]] != here).sum())
    return remote - sum(row.count for row in item.of.rows if row.port.guid == item.group.switch)


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
        lines = unread_heads(snapshot)
        unread.append(Gap("forwarding tables", reasons(routes.problems), lines))
    reach = routes.reach
    if reach.undelivered:
        lost = f"{reach.undelivered:,} of {reach.pairs:,} pairs are not delivered"
        why = f"{lost}, so LIDs of theirs are counted on no cable"
        unread.append(Gap("routes", why, lost_rows(snapshot, reach)))
    absent = snapshot.absent if expected.absent == "refused" else ()
    return [*items, *unread, *snapshot.gaps, *absent]

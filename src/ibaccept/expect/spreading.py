"""Judging the spread of LIDs over parallel cables, for a job or for the whole fabric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ibaccept import nodeset
from ibaccept.errors import InputError
from ibaccept.evidence import CaptureRef
from ibaccept.expect.delivery import AS_ORDERED, READ_AGAIN
from ibaccept.expect.routes import Balance, LidSpread
from ibaccept.expect.selector import nodes_named
from ibaccept.expect.sides import JobSides
from ibaccept.model import PortId, Rate
from ibaccept.prove import Aspect
from ibaccept.routing.spread import Spread, SpreadGroup, fabric_spread, spread
from ibaccept.snapshot import MASTER, Gap, NotSeenError, Snapshot
from ibaccept.suggest import did_you_mean
from ibaccept.units import Bandwidth
from ibaccept.verdict import Different, Table, Unseen

DERIVED = 0.984
"""Payload of an idle link as a share of its data rate, where the site measured none (domain:
EDR 98.4, HDR 196.8, NDR 394.6 Gb/s measured with ib_write_bw)."""


@dataclass(frozen=True, slots=True)
class Group:
    """One group of parallel cables, as an item to judge."""

    group: SpreadGroup
    index: int
    of: Spread
    snapshot: Snapshot

    @property
    def name(self) -> str:
        """``SwitchB -> SwitchA``."""
        return f"{self.group.name} -> {_fold(self.group.towards)}"

    def aspect(self) -> Aspect:
        """Identity, the fullest cable, and the captured rows of the table."""
        fullest = max(self.of.rows_of(self.index), key=lambda row: row.count)
        link = self.snapshot.fabric.link_at.get(fullest.port)
        node = self.snapshot.fabric.nodes[self.group.switch]
        return Aspect(
            "cables",
            self.name,
            links=() if link is None else (link,),
            captures=spread_lines(self.snapshot, self),
            command=f"ibroute {node.lid}" if node.lid is not None else "dump_fts -n",
            guids=(str(self.group.switch),) * len(self.group.ports),
            ports=self.group.ports,
        )


@dataclass(frozen=True)
class JobSpread:
    """The spread of one direction of a job, ready to be judged.

    Attributes:
        expected: the entry.
        found: the counts.
        items: groups of parallel cables, and what of the pairs is not known.
        names: host by LID.
        towards: ``toward clients``.
        direction: ``read`` or ``write``; what this traffic is to the job.
        adaptive: the site routes adaptively, so that the tables are only the fallback.
        ceilings: payload of one idle link by rate, as the site measured it.
    """

    snapshot: Snapshot
    expected: LidSpread
    found: Spread
    items: tuple[Any, ...]
    names: Mapping[int, str]
    towards: str
    direction: str
    adaptive: bool
    ceilings: Mapping[Rate, Bandwidth]
    job_notes: tuple[str, ...]

    @property
    def noun(self) -> str:
        """``12 LIDs of clients, toward clients``."""
        count = len({lid for row in self.found.rows for lid in row.lids_job})
        return f"{count} LIDs of {self.expected.lids} {self.towards}"

    @property
    def order(self) -> str:
        """``their even share`` or the number ordered."""
        even = self.expected.per_cable == "even"
        return "their even share" if even else f"{self.expected.per_cable} LIDs"

    def judge(self, item: Any) -> str | Different | Unseen:
        """Within the order, which cables carry how many LIDs, or what is not known."""
        if self.adaptive:
            return Unseen(
                "not judged: adaptive routing is on, the tables are only the fallback",
                "judge such a fabric by its load (kinds cable-load and rdma-ceiling)",
            )
        return spread_judge(self.expected, self.found, self.names)(item)

    def tables(self) -> tuple[Table, ...]:
        """The counts of each group that is judged."""
        return spread_tables(self.found, self.items, self.names, self.towards)

    def notes(self) -> tuple[str, ...]:
        """The ceiling a spread implies, remedies, and whose LIDs were found how."""
        if self.adaptive:
            return self.job_notes
        told = spread_notes(self.snapshot, self.items, self.ceilings, self.direction)
        return (*told, *self.job_notes)


def job_spread(
    snapshot: Snapshot,
    expected: LidSpread,
    job: JobSides,
    *,
    adaptive: bool,
    ceilings: Mapping[Rate, Bandwidth],
) -> JobSpread:
    """Count the LIDs an entry names on every cable the job's traffic crosses.

    Reads go from storage to the clients' LIDs, writes from the clients to those of storage.

    Raises:
        NotSeenError: topology or tables were not seen.
        InputError: a name that is not of the job, or a LID that no port seen owns.
    """
    chosen, sources, towards, direction = _direction(expected.lids, job)
    found = spread(snapshot.routes, sources, chosen)
    groups = groups_of(snapshot, found, expected.group)
    items = (*groups, *unknown_pairs(found), *snapshot.gaps)
    return JobSpread(
        snapshot,
        expected,
        found,
        items,
        job.names,
        towards,
        direction,
        adaptive,
        ceilings,
        job.notes,
    )


def _direction(text: str, job: JobSides) -> tuple[tuple[int, ...], tuple[int, ...], str, str]:
    """Destination LIDs, source LIDs, and what this direction is called."""
    if text == "clients":
        return job.clients.lids, job.storage.lids, "toward clients", "read"
    if text == "storage":
        return job.storage.lids, job.clients.lids, "toward storage", "write"
    names = set(nodeset.expand(text))
    for hosts, other, towards, direction in (
        (job.clients.hosts, job.storage.lids, "toward clients", "read"),
        (job.storage.hosts, job.clients.lids, "toward storage", "write"),
    ):
        mine = {host.host for host in hosts}
        if names <= mine:
            lids = tuple(lid for host in hosts if host.host in names for lid in host.lids)
            return lids, other, towards, direction
    known = [host.host for host in (*job.clients.hosts, *job.storage.hosts)]
    stranger = sorted(names - set(known))
    if stranger:
        raise InputError(
            f"lids: {stranger[0]!r} is not in the job{did_you_mean(stranger[0], known)}"
        )
    raise InputError(f"lids: {text!r} mixes clients and storage; give one entry for each")


def groups_of(
    snapshot: Snapshot, found: Spread, group: tuple[str, str] | None, *, shared: bool = True
) -> list[Any]:
    """The groups an entry judges, and what of the pairs is not known.

    Args:
        snapshot: what was seen.
        found: a spread.
        group: ``group:`` of the entry: only cables between these two sides.
        shared: leave out groups of one cable, where there is nothing to spread.
    """
    items: list[Any] = []
    chosen = _sides(snapshot, group)
    for index, one in enumerate(found.groups):
        if (not shared or one.usable > 1 or len(one.ports) > 1) and chosen(found, index):
            items.append(Group(one, index, found, snapshot))
    return items


def _sides(snapshot: Snapshot, group: tuple[str, str] | None) -> Callable[[Spread, int], bool]:
    if group is None:
        return lambda _found, _index: True
    a, b = (nodes_named(text, snapshot.fabric, snapshot.inventory) for text in group)

    def between(found: Spread, index: int) -> bool:
        here = found.groups[index].switch
        there = {row.towards.guid for row in found.rows_of(index) if row.towards is not None}
        return (here in a and bool(there & b)) or (here in b and bool(there & a))

    return between


def unknown_pairs(found: Spread) -> list[Aspect]:
    """An item for the pairs whose route is not known or does not arrive; none where all are."""
    reach = found.reach
    if reach is not None and reach.delivered == reach.pairs and reach.pairs > 0:
        return []
    return [Aspect("routes", "pairs of the job", command="dump_fts -n")]


def unknown_reason(found: Spread) -> str:
    """Why LIDs of the job are counted nowhere."""
    reach = found.reach
    if reach is None or reach.pairs == 0:
        return "there is no pair to follow"
    why = "; ".join(found.problems[:3])
    if reach.unknown:
        return f"{reach.unknown:,} of the job's {reach.pairs:,} pairs are unknown: {why}"
    return f"{reach.undelivered:,} of the job's {reach.pairs:,} pairs are not delivered"


def spread_judge(
    expected: LidSpread, found: Spread, names: Mapping[int, str]
) -> Callable[[Any], str | Different | Unseen]:
    """A function of the group: within the order, or which cables carry how many LIDs."""

    def of(item: Any) -> str | Different | Unseen:
        if isinstance(item, Gap):
            return Unseen(item.reason, READ_AGAIN)
        if not isinstance(item, Group):
            return Unseen(unknown_reason(found), READ_AGAIN)
        group = item.group
        limit = group.bound if expected.per_cable == "even" else expected.per_cable
        if group.worst <= limit:
            return AS_ORDERED
        even = f" (even: {group.lids} LIDs over {group.usable} usable cables)"
        rows = [row for row in found.rows_of(item.index) if row.count]
        full = sorted(rows, key=lambda row: (-row.count, row.port))
        shown = ", ".join(
            f"{row.name}: {row.count} {_fold(_hosts(row.lids_job, names))}" for row in full[:6]
        )
        more = f" and {len(full) - 6} more cables" if len(full) > 6 else ""  # noqa: PLR2004 - six are shown
        idle = len(found.rows_of(item.index)) - len(rows)
        rest = f"; {idle} cables carry none" if idle else ""
        return Different(
            f"{shown}{more}{rest}",
            f"at most {limit} of the job's LIDs per cable"
            + (even if expected.per_cable == "even" else ""),
        )

    return of


def balance_judge(expected: Balance) -> Callable[[Any], str | Different | Unseen]:
    """A function of the group: balanced, or the fullest and the emptiest cable."""

    def of(item: Any) -> str | Different | Unseen:
        if not isinstance(item, Group):
            return Unseen(item.reason, READ_AGAIN)
        group = item.group
        if group.balance <= expected.max_minus_min:
            return AS_ORDERED
        return Different(
            f"{group.worst} LIDs on the fullest of {group.usable} cables, {group.least} on the "
            f"emptiest: difference {group.balance}",
            f"a difference of at most {expected.max_minus_min}",
        )

    return of


def fabric_balance(snapshot: Snapshot, expected: Balance) -> list[Any]:
    """The groups of the whole fabric, and what of the tables is not known.

    Raises:
        NotSeenError: topology or tables were not seen.
        InputError: a side that nobody knows.
    """
    found = fabric_spread(snapshot.routes)
    items = groups_of(snapshot, found, expected.group)
    unread = [Gap("forwarding tables", problem) for problem in snapshot.routes.problems]
    return [*items, *unread, *snapshot.gaps]


def spread_tables(
    found: Spread, groups: Iterable[Any], names: Mapping[int, str], towards: str
) -> tuple[Table, ...]:
    """``cable, direction, LIDs of the job, of all`` of each group, folded."""
    tables = []
    for item in groups:
        if not isinstance(item, Group):
            continue
        rows = tuple(
            (
                f"{row.name} - {row.towards_name}",
                towards,
                str(row.count),
                _fold(_hosts(row.lids_job, names)),
                str(row.lids_all),
            )
            for row in found.rows_of(item.index)
        )
        columns = ("cable", "direction", "LIDs of the job", "hosts", "of all LIDs")
        tables.append(Table(f"{item.name}: {item.group.lids} LIDs of the job", columns, rows))
    return tuple(tables)


def spread_notes(
    snapshot: Snapshot,
    groups: Iterable[Any],
    ceilings: Mapping[Rate, Bandwidth],
    direction: str,
) -> tuple[str, ...]:
    """The ceiling each spread implies, and what may be done about it."""
    notes = []
    for item in groups:
        if isinstance(item, Group) and item.group.worst > item.group.bound:
            notes += _ceiling_note(snapshot, item, ceilings, direction)
    if notes:
        notes += remedies(snapshot)
    return tuple(notes)


def _ceiling_note(
    snapshot: Snapshot, item: Group, ceilings: Mapping[Rate, Bandwidth], direction: str
) -> list[str]:
    rows = [row for row in item.of.rows_of(item.index) if row.usable or row.count]
    limits = [_ceiling(snapshot, row.port, ceilings) for row in rows]
    if any(limit is None for limit in limits):
        return []
    used = sum(limit.gib for limit, row in zip(limits, rows, strict=True) if limit and row.count)
    whole = sum(limit.gib for limit in limits if limit)
    derived = any(limit is not None and limit.derived for limit in limits)
    how = " (derived from the data rate, not measured here)" if derived else ""
    group = item.group
    return [
        f"{item.name}: the tables let this node list use {group.used} of {group.usable} cables, at "
        f"most {used:.1f} of {whole:.1f} GiB/s in the {direction} direction{how}"
    ]


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Payload of one idle cable, GiB/s, and whether it was only derived from the data rate."""

    gib: float
    derived: bool


def _ceiling(
    snapshot: Snapshot, port: PortId, ceilings: Mapping[Rate, Bandwidth]
) -> Ceiling | None:
    link = snapshot.fabric.link_at.get(port)
    if link is None or link.rate is None:
        return None
    if link.rate in ceilings:
        return Ceiling(ceilings[link.rate].gib, derived=False)
    return Ceiling(link.rate.gbps * DERIVED * 1e9 / 8 / 2**30, derived=True)


def remedies(snapshot: Snapshot) -> list[str]:
    """What may be done, in the order to try, with where the subnet manager runs."""
    return [
        f"routing is decided by the subnet manager {_sm_text(snapshot)}",
        "to try, in this order, for a fixed job: route its LIDs first (guid_routing_order_file "
        "with their port GUIDs); port_shifting, where the job's spacing aliases with the ports; "
        "scatter_ports (a lottery: it can be worse); ftree on a real fat tree; adaptive routing "
        "for arbitrary jobs. Afterwards let OpenSM reroute (SIGHUP or restart; a sweep alone keeps "
        "the tables), and read them again",
        "for this node list and this direction only: another node list may spread well on the "
        "same tables",
    ]


def _sm_text(snapshot: Snapshot) -> str:
    try:
        masters = [sm for sm in snapshot.managers.found if sm.state == MASTER]
    except NotSeenError:
        return "(which was not seen)"
    if len(masters) != 1:
        return "(no single master was seen)"
    owner = snapshot.fabric.lid_owner.get(int(masters[0].lid))
    node = snapshot.fabric.nodes.get(owner.guid) if owner is not None else None
    where = node.name.strip() if node is not None else str(masters[0].guid)
    if node is not None and node.is_switch:
        return f"inside switch {where} (LID {masters[0].lid}), which may not offer these options"
    return f"on {where} (LID {masters[0].lid})"


def spread_lines(snapshot: Snapshot, item: Group, limit: int = 8) -> tuple[CaptureRef, ...]:
    """The captured rows of the switch's table for the LIDs on its fullest cables."""
    rows = sorted(item.of.rows_of(item.index), key=lambda row: -row.count)
    lids = [lid for row in rows[:2] for lid in row.lids_job]
    return snapshot.table_rows(item.group.switch, lids[:limit])


def _hosts(lids: Iterable[int], names: Mapping[int, str]) -> list[str]:
    return [names.get(lid, f"LID-{lid}") for lid in lids]


def _fold(names: Iterable[str]) -> str:
    return nodeset.fold(tuple(dict.fromkeys(names)))

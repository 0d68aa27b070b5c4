"""``ibaccept spread`` and ``ibaccept route``: answers from captured text, without a connection."""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from ibaccept.cli.text import ANSWER_NO, DONE, NOT_SEEN, columns, complain, say
from ibaccept.errors import InputError, InputProblemsError
from ibaccept.fabric.harmless import clean
from ibaccept.fabric.model import Fabric, PortId
from ibaccept.fabric.nodeset import fold
from ibaccept.fabric.wording import and_more, listed
from ibaccept.observe.captured import CapturedTables, read_tables, read_topology
from ibaccept.observe.lids import HostLids, JobLids, host_names, lids_of
from ibaccept.report.text import count
from ibaccept.routing.even import EvenSpread, even_spread
from ibaccept.routing.paths import Routes
from ibaccept.routing.route import Disposition, Reach, Route
from ibaccept.routing.spread import Spread, SpreadGroup, SpreadRow
from ibaccept.routing.spread import spread as spread_of

SHOWN = 32
"""Routes printed for each direction."""

ADAPTIVE = (
    "where adaptive routing is on, the tables are only the fallback and these counts do not "
    "predict the load"
)


def _open(options: argparse.Namespace) -> tuple[Fabric, Routes]:
    """Topology and tables, all of their problems together; notes go to standard error."""
    problems: list[str] = []
    fabric: Fabric | None = None
    tables: CapturedTables | None = None
    try:
        topology = read_topology(Path(options.topology))
        fabric = topology.fabric
        for note in topology.notes:
            complain(note)
    except InputError as error:
        problems.append(str(error))
    try:
        stderr = None if options.stderr is None else Path(options.stderr)
        tables = read_tables([Path(name) for name in options.lfts], stderr)
    except InputError as error:
        problems.append(str(error))
    if fabric is None or tables is None:
        raise InputProblemsError(problems)
    strange = [table for table in tables.tables if table.guid not in fabric.nodes]
    if len(strange) == len(tables.tables):
        raise InputError(
            f"none of the switches with a table is in {options.topology}: sweep and tables are of "
            "different fabrics"
        )
    for table in strange:
        complain(f"{table.label} ({table.guid}) has a table and is not in {options.topology}")
    routes = Routes(fabric, tables.tables)
    for note in (*tables.notes, *routes.problems):
        complain(clean(note))
    return fabric, routes


def _lids(fabric: Fabric, text: str, option: str, *, switches: bool = False) -> JobLids:
    try:
        return lids_of(fabric, host_names(fabric, text), switches=switches)
    except InputProblemsError as error:
        raise InputProblemsError(f"{option}: {problem}" for problem in error.problems) from None
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


# -- spread --------------------------------------------------------------------------------------


def spread(options: argparse.Namespace) -> int:
    """Print how a job's LIDs share the cables, and judge it with --per-cable."""
    limit = _limit(options.per_cable)
    fabric, routes = _open(options)
    receivers = _lids(fabric, options.lids_of, "--lids-of")
    senders = _senders(fabric, receivers, options.sources)
    found = spread_of(routes, senders.lids, receivers.lids)
    say(f"from {_some(senders)} ({_lids_text(senders.lids)})")
    say(f"to {_some(receivers)} ({_lids_text(receivers.lids)})")
    complain(f"who receives: {clean(receivers.sources_text())}")
    for host in (*receivers.hosts, *senders.hosts):
        for note in host.notes:
            complain(clean(note))
    for line in _reach_lines(found.reach):
        say(line)
    for index in _fullest_first(found):
        group = found.groups[index]
        say()
        say(group_text(group))
        for line in _rows(found.rows_of(index), receivers):
            say(f"  {line}")
    if not found.groups:
        say("no cable between switches is crossed")
    complain(ADAPTIVE)
    even = even_spread(routes, found) if limit == "even" else None
    for note in () if even is None else even.notes:
        say(note)
    return _judge(found, limit, len(receivers.lids), even)


def _limit(text: str | None) -> int | Literal["even"] | None:
    if text is None or text == "even":
        return "even" if text else None
    if not re.fullmatch(r"[1-9]\d{0,5}", text, re.ASCII):
        raise InputError(f"--per-cable must be even or a number from 1, not {text!r}")
    return int(text)


def _senders(fabric: Fabric, receivers: JobLids, text: str | None) -> JobLids:
    """Who sends: as written, or every host port that does not receive."""
    if text is not None:
        return _lids(fabric, text, "--from")
    taken = {port for host in receivers.hosts for port in host.ports}
    others = tuple(
        HostLids(node.name.strip() or str(node.guid), (port.id,), tuple(port.lids()), "GUID")
        for node in fabric.hosts()
        for port in node.ports.values()
        if port.id not in taken and port.lids()
    )
    if not others:
        raise InputError("every host of the fabric receives; name who sends with --from=SET")
    return JobLids(others)


def _fullest_first(found: Spread) -> list[int]:
    """Groups in the order a reader asks for them: the most above what a table can do first."""
    groups = found.groups
    return sorted(range(len(groups)), key=lambda n: (groups[n].bound - groups[n].worst, n))


def _lids_text(lids: tuple[int, ...]) -> str:
    return f"{count(len(lids))} LID{'' if len(lids) == 1 else 's'}"


def _some(lids: JobLids) -> str:
    hosts = lids.hosts
    if len(hosts) > 1 and all(host.source == "GUID" for host in hosts):
        return f"{count(len(hosts))} host ports"
    return clean(lids.folded(lids.lids))


def _reach_lines(reach: Reach | None) -> Iterator[str]:
    if reach is None:
        return
    yield f"{count(reach.delivered)} of {count(reach.pairs)} pairs delivered"
    for end, number in reach.by_end.items():
        if end is not Disposition.DELIVERED:
            yield f"  {end}: {count(number)}; their LIDs are counted on no cable"
    for route in reach.examples[:4]:
        hops = " -> ".join(clean(hop) for hop in route.hops)
        yield f"  e.g. LID {route.slid} to {route.dlid}: {hops}, {route.disposition}"


def group_text(group: SpreadGroup) -> str:
    """``SwitchB to SwitchA: 12 LIDs over 8 usable cables; at best 2 ..., here 6; 5 unused``."""
    towards = listed(map(clean, group.towards))
    cables = "1 usable cable" if group.usable == 1 else f"{group.usable} usable cables"
    noun = "LID" if group.lids == 1 else "LIDs"
    return (
        f"{clean(group.name)} to {towards}: {group.lids} {noun} over {cables}; on the "
        f"fullest {group.worst}, at best {group.bound}; {group.used} of {len(group.ports)} in use"
    )


def _rows(rows: tuple[SpreadRow, ...], receivers: JobLids) -> list[str]:
    """Direction, LIDs of all, and ``SwitchB/25: 6 client-[a,c,e,g,i,k]``."""
    lines = [("towards", "LIDs of all", "cable: LIDs of the job")]
    for row in rows:
        who = clean(receivers.folded(row.lids_job)) if row.lids_job else ""
        astray = "" if row.usable else "(not on a shortest route)"
        cell = " ".join(filter(None, (f"{clean(row.name)}: {row.count}", who, astray)))
        lines.append((clean(row.towards_name), count(row.lids_all), cell))
    return columns(lines, right=(1,))


def _judge(
    found: Spread, limit: int | Literal["even"] | None, lids: int, even: EvenSpread | None
) -> int:
    """The exit code; with a limit also a sentence. What is not known is never good.

    Args:
        found: the counts.
        limit: LIDs on the fullest cable at most; None where nothing is judged.
        lids: all that receive, those that are counted on no cable included.
        even: what even demands, where that is the limit: of each switch's choice, and of the
            cables that several switches choose among, each evenly and all of them the same.
    """
    reach = found.reach
    unknown = reach is None or reach.unknown > 0 or reach.pairs == 0
    if limit is None:
        return NOT_SEEN if unknown else DONE
    undelivered = 0 if reach is None else reach.undelivered
    say()
    bad = False
    for index, group in enumerate(found.groups):
        if limit != "even" or even is None:
            allowed, over = limit, limit != "even" and group.worst > limit
        elif unknown or undelivered:
            # LIDs that are counted nowhere might have to share these cables too.
            allowed = -(-lids // max(group.usable, 1))
            over = group.worst > allowed
        else:
            allowed, over = even.limits[index], even.is_over(index)
        if over:
            bad = True
            say(
                f"NOT MET: {clean(group.name)} puts {group.worst} LIDs on one cable, and {allowed} "
                "are allowed"
            )
    for stage in () if even is None else even.stages:
        if stage.over:
            bad = True
            say(
                f"NOT MET: {count(stage.over[0].pairs)} pairs arrive at "
                f"{clean(fold(stage.after))} over one cable, and {count(stage.over[0].limit)} "
                "would at best"
            )
    if undelivered:
        say(f"NOT MET: {count(undelivered)} pairs are not delivered")
    if bad or undelivered:
        return ANSWER_NO
    why = _why_not_judged(found, limit, unknown=unknown)
    say("MET" if why is None else f"NOT JUDGED: {why}")
    return DONE if why is None else NOT_SEEN


def _why_not_judged(found: Spread, limit: int | Literal["even"], *, unknown: bool) -> str | None:
    if unknown:
        return "routes lead over table entries that were not read"
    if not found.groups:
        return "no cable between switches is crossed, so there is nothing to spread"
    longer = sum(group.longer for group in found.groups)
    if limit == "even" and longer:
        return (
            f"{count(longer)} times a LID leaves by a cable that is on no shortest route to it, "
            "so the even share of the shortest routes is no measure; give --per-cable a number"
        )
    return None


# -- route ---------------------------------------------------------------------------------------


def route(options: argparse.Namespace) -> int:
    """Print the routes between two hosts, hop by hop, in both directions."""
    fabric, routes = _open(options)
    a = _one(fabric, options.a, "A")
    b = _one(fabric, options.b, "B")
    if set(a.lids) & set(b.lids):
        raise InputError(f"{options.a} and {options.b} are one port; name two")
    ends = {_both(fabric, routes, a, b), _both(fabric, routes, b, a)}
    if NOT_SEEN in ends:
        return ANSWER_NO if ANSWER_NO in ends else NOT_SEEN
    return max(ends)


def _one(fabric: Fabric, text: str, option: str) -> HostLids:
    names = host_names(fabric, text)
    if len(names) != 1:
        raise InputError(f"{option}: {text!r} names {len(names)} hosts; a route has one at an end")
    found = _lids(fabric, text, option, switches=True)
    return found.hosts[0]


def _both(fabric: Fabric, routes: Routes, source: HostLids, target: HostLids) -> int:
    """Every route from the ports of one to the LIDs of the other."""
    pairs = list(itertools.product(source.ports, target.lids))
    followed = [routes.path(port, lid) for port, lid in pairs]
    for one in followed[:SHOWN]:
        for line in route_lines(fabric, one):
            say(line)
    if more := and_more(len(followed) - SHOWN, f"routes from {source.host} to {target.host}"):
        say(f"... {more}")
    ends = {one.disposition for one in followed}
    if ends == {Disposition.DELIVERED}:
        return DONE
    return NOT_SEEN if ends <= {Disposition.DELIVERED, Disposition.UNKNOWN} else ANSWER_NO


_WHY = {
    Disposition.NO_ENTRY: "the table of {at} has no entry for LID {lid}: packets are dropped there",
    Disposition.LOOP: "the route comes back to {at}: packets go round until they are dropped",
    Disposition.DEAD_END: "{at} has no cable: packets are dropped there",
    Disposition.WRONG_PORT: "it arrives at {at}, which does not own LID {lid}",
    Disposition.UNKNOWN: "the entry of {at} for LID {lid} was not read, so the rest is not known",
}


def route_lines(fabric: Fabric, one: Route) -> Iterator[str]:
    """A route hop by hop.

    Yields:
        ``client-a/1 (LID 3) to stor-1/1 (LID 15): delivered over 2 switches``, then a line for each
        cable, ``SwitchA/13 -> SwitchB/25``, and why it ends where it is not delivered.
    """
    switches = "1 switch" if one.switches == 1 else f"{one.switches} switches"
    yield (
        f"{_owner(fabric, one.slid)} (LID {one.slid}) to {_owner(fabric, one.dlid)} "
        f"(LID {one.dlid}): {one.disposition} over {switches}"
    )
    for port in one.ports:
        if port.port:  # port 0 is the switch itself
            yield f"  {clean(fabric.port_name(port))} -> {_far(fabric, port)}"
    if one.disposition in _WHY:
        yield f"  {_WHY[one.disposition].format(at=clean(one.hops[-1]), lid=one.dlid)}"


def _owner(fabric: Fabric, lid: int) -> str:
    """The port that owns a LID, ``client-a/1``; a switch by its name alone."""
    port = fabric.lid_owner.get(lid)
    if port is None:
        return "no port seen"
    return clean(fabric.port_name(port).removesuffix("/0"))


def _far(fabric: Fabric, port: PortId) -> str:
    link = fabric.link_at.get(port)
    if link is None:
        return "nothing that the sweep saw"
    return clean(fabric.port_name(link.b if link.a.id == port else link.a))

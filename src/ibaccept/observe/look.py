"""One sweep of the fabric: which commands, where, in which order -> Snapshot.

Each raw output is on disk before it is parsed (the transport records). A step that fails leaves a
``NotSeen`` in its place and the others go on, so that one silent tool does not blind every entry.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ibaccept import commands
from ibaccept.fabric.nodeset import fold
from ibaccept.observe.agreement import strangers
from ibaccept.observe.counters import RawSweep, Sweep
from ibaccept.observe.hosts import absent_gap, absent_hosts, choose, stats_of
from ibaccept.observe.observer import Observer, version_of
from ibaccept.observe.snapshot import Gap, Snapshot
from ibaccept.observe.subnet import managers_of, tables_of
from ibaccept.observe.topology import topology_of
from ibaccept.site.inventory import Inventory, InventoryHost
from ibaccept.site.plan import Plan
from ibaccept.transport import Transport
from ibaccept.verdict.absence import NotSeen


@dataclass(frozen=True, slots=True)
class Look:
    """What a run needs to read.

    Attributes:
        windows: seconds between the first counter sweep and the later ones.
        hosts: hosts whose own ``ibstat`` is read.
        about: hosts that the run is about: those the topology does not show are named.
        fan_out: hosts queried at a time.
    """

    windows: tuple[float, ...] = ()
    hosts: tuple[InventoryHost, ...] = ()
    about: tuple[InventoryHost, ...] = ()
    fan_out: int = 32


def look(
    transport: Transport,
    inventory: Inventory,
    plan: Plan | None,
    wanted: Look,
    *,
    progress: Callable[[str], None] = lambda _text: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Snapshot:
    """Sweep the fabric once.

    Args:
        transport: records; replays in a replay.
        inventory: its group ``observers`` is tried in order until one host can see the fabric.
        plan: kept in the snapshot.
        wanted: windows and hosts.
        progress: called with a line for every step.
        sleep: waits for the window to pass; a no-op in a replay.
    """
    chosen = choose(transport, inventory, progress)
    if isinstance(chosen, NotSeen):
        return Snapshot(
            observer=None,
            inventory=inventory,
            plan=plan,
            fabric_seen=chosen,
            sweeps=dict.fromkeys((0.0, *wanted.windows), chosen),
            managers_seen=chosen,
            tables_seen=chosen,
        )
    observer, stat = chosen
    version = observer.take("the version", commands.VERSION, version_of, ok=range(256))
    tools = {} if isinstance(version, NotSeen) else {"infiniband-diags": version}
    first = RawSweep.read(observer)
    since = time.monotonic()
    topology = topology_of(observer)
    fabric = topology.fabric
    managers = managers_of(observer, stat, fabric, first)
    tables, tables_file = tables_of(observer, fabric)
    hosts = stats_of(transport, wanted.hosts, wanted.fan_out, progress)
    absent = absent_hosts(wanted.about, fabric, hosts)
    if absent:
        names = fold(host.name for host in absent)
        observer.warnings.append(f"the inventory names {names}, which the fabric does not show")
    raws = {0.0: first}
    for seconds in sorted(wanted.windows):
        rest = seconds - (time.monotonic() - since)
        if rest > 0:
            progress(f"waiting {rest:.0f} s for the window of {seconds:g} s to pass")
            sleep(rest)
        raws[seconds] = RawSweep.read(observer)
    silent = silent_routes(topology.gaps)
    return Snapshot(
        observer=observer.host.name,
        inventory=inventory,
        plan=plan,
        fabric_seen=fabric,
        absent=tuple(absent_gap(host, topology.file) for host in absent),
        gaps=(*topology.gaps, *strangers(fabric, first.nodes(), tables, managers)),
        sweeps={seconds: raw.sweep(fabric, silent) for seconds, raw in raws.items()},
        managers_seen=managers,
        tables_seen=tables,
        tables_file=tables_file,
        hosts=hosts,
        lines=topology.lines,
        warnings=(*observer.warnings, *observer.passed_over()),
        tools=tools,
    )


def silent_routes(gaps: Iterable[Gap]) -> frozenset[tuple[int, ...]]:
    """Directed routes to what is behind a port of a seen node and answered nothing."""
    return frozenset(gap.route for gap in gaps if gap.at is not None and gap.route)


def sweep_again(
    transport: Transport,
    inventory: Inventory,
    snapshot: Snapshot,
    progress: Callable[[str], None] = lambda _text: None,
) -> Sweep | NotSeen:
    """One more counter sweep by the observer of a snapshot, for a separate window."""
    if snapshot.observer is None:
        return NotSeen("the error counters", "no observer can see the fabric")
    observer = Observer(transport, inventory.hosts[snapshot.observer], progress)
    return RawSweep.read(observer).sweep(snapshot.fabric_seen, silent_routes(snapshot.gaps))

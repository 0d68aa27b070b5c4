"""One look at the fabric: which commands, where, in which order -> Snapshot.

Each raw output is on disk before it is parsed (the transport records). A step that fails leaves a
``NotSeen`` in its place and the others go on, so that one silent tool does not blind every entry.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from ibaccept import commands
from ibaccept.counter_look import RawSweep
from ibaccept.evidence import CaptureRef
from ibaccept.inventory import Inventory, InventoryHost
from ibaccept.model import Fabric
from ibaccept.nodeset import fold
from ibaccept.observer import (
    Observer,
    file_of,
    head_of,
    hint_of,
    version_of,
)
from ibaccept.parse import (
    ParseError,
    ibstat,
)
from ibaccept.plan import Plan
from ibaccept.snapshot import (
    NotSeen,
    Snapshot,
)
from ibaccept.subnet_look import managers_of, tables_of
from ibaccept.sweep import Sweep
from ibaccept.topology_look import topology_of
from ibaccept.transport import CommandResult, Transport, TransportError


@dataclass(frozen=True, slots=True)
class Look:
    """What a run wants to see.

    Attributes:
        windows: seconds between the first counter sweep and the later ones.
        hosts: hosts to ask for their own ``ibstat``.
        fan_out: hosts asked at a time.
    """

    windows: tuple[float, ...] = ()
    hosts: tuple[InventoryHost, ...] = ()
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
    """Look at the fabric once.

    Args:
        transport: records; replays in a replay.
        inventory: its group ``observers`` is tried in order until one host can see the fabric.
        plan: kept in the snapshot.
        wanted: windows and hosts.
        progress: told every step, a line each.
        sleep: waits for the window to pass; a no-op in a replay.
    """
    chosen = _choose(transport, inventory, progress)
    if isinstance(chosen, NotSeen):
        return Snapshot(
            None,
            inventory,
            plan,
            chosen,
            sweeps=dict.fromkeys((0.0, *wanted.windows), chosen),
            managers_seen=chosen,
            tables_seen=chosen,
        )
    observer, stat = chosen
    version = observer.run(commands.VERSION)
    tools = {} if isinstance(version, NotSeen) else {"infiniband-diags": version_of(version)}
    first = RawSweep.read(observer)
    since = time.monotonic()
    topology, fabric, gaps, lines = topology_of(observer)
    managers = managers_of(observer, stat, fabric, first)
    tables, tables_file, tables_text = tables_of(observer, fabric)
    hosts = _hosts(transport, wanted, progress)
    observer.warnings += _absent_hosts(inventory, fabric)
    raws = {0.0: first}
    for seconds in sorted(wanted.windows):
        rest = seconds - (time.monotonic() - since)
        if rest > 0:
            progress(f"waiting {rest:.0f} s for the window of {seconds:g} s to pass")
            sleep(rest)
        raws[seconds] = RawSweep.read(observer)
    del topology
    return Snapshot(
        observer.host.name,
        inventory,
        plan,
        fabric,
        gaps,
        {seconds: raw.sweep(fabric) for seconds, raw in raws.items()},
        managers,
        tables,
        tables_file,
        tables_text,
        hosts,
        lines,
        tuple(observer.warnings),
        tools,
    )


def sweep_again(
    transport: Transport,
    inventory: Inventory,
    snapshot: Snapshot,
    progress: Callable[[str], None] = lambda _text: None,
) -> Sweep | NotSeen:
    """One more counter sweep by the observer of a look, for a window of one's own."""
    if snapshot.observer is None:
        return NotSeen("the error counters", "no observer can see the fabric")
    observer = Observer(transport, inventory.hosts[snapshot.observer], progress)
    return RawSweep.read(observer).sweep(snapshot.fabric_seen)


# -- who looks -----------------------------------------------------------------------------------


def _choose(
    transport: Transport, inventory: Inventory, progress: Callable[[str], None]
) -> tuple[Observer, ibstat.IbStat] | NotSeen:
    """The first observer that can be reached and has an InfiniBand port that is up."""
    refused: list[NotSeen] = []
    for name in inventory.groups["observers"]:
        observer = Observer(transport, inventory.hosts[name], progress)
        stat = observer.take("the fabric", commands.IBSTAT, _read_stat, ok=(0, 255))
        if isinstance(stat, NotSeen):
            refused.append(stat)
            continue
        parsed, file = stat
        observer.stat_file = file
        why = _blind(observer.host, parsed)
        if why is not None:
            hint = "name another host under observers, or set ib_hca and ib_port for this one"
            refused.append(NotSeen("the fabric", why, hint, (CaptureRef(file, None, ""),)))
            continue
        observer.warnings += [f"not used as observer: {part.reason}" for part in refused]
        return observer, parsed
    if len(refused) == 1:
        return refused[0]
    return NotSeen(
        "the fabric",
        "no observer can see it: " + "; ".join(part.reason for part in refused),
        refused[0].hint,
        tuple(capture for part in refused for capture in part.captures),
    )


def _read_stat(result: CommandResult) -> tuple[ibstat.IbStat, str]:
    return ibstat.parse(result.text), file_of(result)


def _blind(host: InventoryHost, stat: ibstat.IbStat) -> str | None:
    """Why this host cannot see the fabric, None where it can."""
    wanted = host.ib_hca[:1]
    cas = [ca for ca in stat.cas if not wanted or ca.name in wanted]
    if wanted and not cas:
        have = ", ".join(ca.name for ca in stat.cas) or "none"
        return f"{host.name} has no HCA {wanted[0]} (it has {have})"
    ports = [
        (ca.name, port)
        for ca in cas
        for port in ca.ports
        if host.ib_port is None or port.number == host.ib_port
    ]
    if not ports:
        return f"ibstat on {host.name} shows no port" + (
            f" {host.ib_port}" if host.ib_port is not None else ""
        )
    infiniband = [(name, port) for name, port in ports if port.link_layer != "Ethernet"]
    if not infiniband:
        names = ", ".join(f"{name}/{port.number}" for name, port in ports)
        return f"{host.name} has no InfiniBand port: {names} has link layer Ethernet"
    if not any(port.phys_state == "LinkUp" for _, port in infiniband):
        states = ", ".join(
            f"{name}/{port.number} is {port.state}/{port.phys_state}" for name, port in infiniband
        )
        return f"no InfiniBand port of {host.name} is up: {states}"
    return None


def _absent_hosts(inventory: Inventory, fabric: Fabric | NotSeen) -> list[str]:
    """Clients and storage of the inventory that no node of the fabric is called after."""
    if isinstance(fabric, NotSeen):
        return []
    names = {node.name.strip() for node in fabric.nodes.values()}
    names |= {name.split()[0] for name in names if name}
    absent = [
        host
        for group in ("clients", "storage")
        for host in inventory.groups.get(group, ())
        if (inventory.hosts[host].ib_name or host) not in names
    ]
    if not absent:
        return []
    return [f"the inventory names {fold(absent)}, which the fabric does not show"]


# -- hosts ---------------------------------------------------------------------------------------


def _hosts(
    transport: Transport, wanted: Look, progress: Callable[[str], None]
) -> dict[str, ibstat.IbStat | NotSeen]:
    if not wanted.hosts:
        return {}
    progress(f"ibstat on {len(wanted.hosts)} hosts")
    argv = commands.IBSTAT.argv()
    results = transport.run_many(
        [(host.transport, argv) for host in wanted.hosts],
        timeout=commands.IBSTAT.timeout,
        root=commands.IBSTAT.root,
        fan_out=wanted.fan_out,
    )
    return {host.name: _host(host, results[i]) for i, host in enumerate(wanted.hosts)}


def _host(host: InventoryHost, result: CommandResult | TransportError) -> ibstat.IbStat | NotSeen:
    what = f"the LIDs of {host.name}"
    if isinstance(result, TransportError):
        return NotSeen(what, str(result), hint_of(result))
    problem = result.problem()
    if problem is not None:
        return NotSeen(what, problem, "", head_of(result))
    try:
        return ibstat.parse(result.text)
    except ParseError as error:
        return NotSeen(what, f"{host.name}: {error}", "", head_of(result))

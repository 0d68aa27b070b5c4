"""Which host can see the fabric, and what each host says of itself by ibstat."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ibaccept import commands
from ibaccept.errors import InputError
from ibaccept.fabric.model import Fabric, Guid
from ibaccept.observe.lids import lids_of
from ibaccept.observe.observer import Observer
from ibaccept.observe.outputs import file_of, own_words, parsed, whole
from ibaccept.observe.snapshot import Gap
from ibaccept.parse import ParseError, ParseWarning, ibstat
from ibaccept.site.inventory import Inventory, InventoryHost
from ibaccept.transport import CommandResult, Transport, TransportError
from ibaccept.transport.fanout import run_many
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef


def choose(
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
        shown, file = stat
        observer.stat_file = file
        why = _blind(observer.host, shown)
        if why is not None:
            hint = "name another host under observers, or set ib_hca and ib_port for this one"
            refused.append(NotSeen("the fabric", why, hint, (CaptureRef(file, None, ""),)))
            continue
        observer.warnings += [f"not used as observer: {part.reason}" for part in refused]
        return observer, shown
    if len(refused) == 1:
        return refused[0]
    return NotSeen(
        "the fabric",
        "no observer can see it: " + "; ".join(part.reason for part in refused),
        refused[0].hint,
        tuple(capture for part in refused for capture in part.captures),
    )


def _read_stat(result: CommandResult) -> tuple[ibstat.IbStat, str]:
    bad = whole("the fabric", result)
    stat = ibstat.parse(result.text)
    return (_part(result, bad.reason) if isinstance(bad, NotSeen) else stat), file_of(result)


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


def absent_hosts(
    hosts: Iterable[InventoryHost],
    fabric: Fabric | NotSeen,
    stats: Mapping[str, ibstat.IbStat | NotSeen],
) -> tuple[InventoryHost, ...]:
    """Hosts of which the topology shows no node; none where there is no topology.

    Args:
        hosts: of the inventory.
        fabric: what the sweep saw.
        stats: ``ibstat`` of the queried hosts, by name: it shows a host of any description.
    """
    if isinstance(fabric, NotSeen):
        return ()
    shown: set[str] = set()
    guids: set[Guid] = set(fabric.nodes)
    for node in fabric.nodes.values():
        shown |= _spellings(node.name)
    for port in fabric.ports():
        if port.guid is not None:
            guids.add(port.guid)
    return tuple(
        host
        for host in hosts
        if not _spellings(host.ib_name or host.name) & shown
        and not _guids(stats.get(host.name)) & guids
        and not _is_shown_by_number(host, fabric)
    )


def _spellings(name: str) -> set[str]:
    """A description, its first word, and that without its domain; upper and lower case alike."""
    whole = name.strip().casefold()
    first = whole.split()[:1]
    return {whole, *first, *(word.split(".")[0] for word in first)} - {""}


def _guids(stat: ibstat.IbStat | NotSeen | None) -> set[Guid]:
    if stat is None or isinstance(stat, NotSeen):
        return set()
    ports = {port.port_guid for ca in stat.cas for port in ca.ports}
    return {guid for guid in ports if guid is not None}


def _is_shown_by_number(host: InventoryHost, fabric: Fabric) -> bool:
    """True for a host that the inventory calls by a LID or GUID of the fabric."""
    if not re.fullmatch(r"[1-9]\d*|0x[0-9a-fA-F]+", host.ib_name or host.name, re.ASCII):
        return False
    try:
        return bool(lids_of(fabric, [host]).lids)
    except InputError:
        return False


def absent_gap(host: InventoryHost, file: str | None) -> Gap:
    """An absent host as an entry about hosts or pairs judges it: not seen.

    Args:
        host: which host.
        file: capture of the topology that does not show it.
    """
    name = f" (ib_name {host.ib_name})" if host.ib_name is not None else ""
    return Gap(
        host.name,
        f"{host.name}{name} is in the inventory and not in the fabric",
        () if file is None else (CaptureRef(file, None, ""),),
        "it is off, unplugged, in another subnet, or has another node description (then set "
        "ib_name); entries about links and routes leave it out with 'absent: allowed'",
    )


def stats_of(
    transport: Transport,
    hosts: Sequence[InventoryHost],
    fan_out: int,
    progress: Callable[[str], None],
) -> dict[str, ibstat.IbStat | NotSeen]:
    """What ``ibstat`` on each host shows, by the host's name; why not, where it could not run."""
    if not hosts:
        return {}
    progress(f"ibstat on {len(hosts)} hosts")
    argv = commands.IBSTAT.argv()
    results = run_many(
        transport,
        [(host.transport, argv) for host in hosts],
        timeout=commands.IBSTAT.timeout,
        root=commands.IBSTAT.root,
        fan_out=fan_out,
    )
    return {
        host.name: _stat_of(host.name, result) for host, result in zip(hosts, results, strict=True)
    }


def _stat_of(host: str, result: CommandResult | TransportError) -> ibstat.IbStat | NotSeen:
    """The ports of a host; where its ``ibstat`` showed a part of them, that part as not whole.

    A host that shows nothing is known by its node description. One that shows something and then
    fails is not: what it did not come to show would be missed without a word.
    """
    stat = parsed(f"the LIDs of {host}", result, lambda taken: ibstat.parse(taken.text))
    if isinstance(result, TransportError) or not result.stdout.strip():
        return stat
    why = stat.reason if isinstance(stat, NotSeen) else own_words(result)
    return stat if why is None else _part(result, why)


def _part(result: CommandResult, why: str) -> ibstat.IbStat:
    """What is legible of an output that is not whole."""
    problem = ParseWarning(len(result.text.splitlines()), why)
    try:
        shown = ibstat.parse(result.text)
    except ParseError:
        return ibstat.IbStat((), (problem,))
    return replace(shown, problems=(*shown.problems, problem))

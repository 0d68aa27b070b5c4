"""The sweep of the topology: nodes, cables and port states, and what of it was not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ibaccept import commands
from ibaccept.fabric.model import Fabric, Guid, NodeType, PortId
from ibaccept.observe import assemble
from ibaccept.observe.agreement import beheaded
from ibaccept.observe.observer import Observer
from ibaccept.observe.outputs import captures_of, error_file_of, file_of
from ibaccept.observe.snapshot import Gap
from ibaccept.parse import ParseError, diags, iblinkinfo, ibnetdiscover
from ibaccept.transport import CommandResult
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

INTERNAL_SHOWN = 3


@dataclass(frozen=True, slots=True)
class TopologySweep:
    """What one sweep of the topology gave.

    Attributes:
        fabric: nodes, ports and links, or why they were not seen.
        gaps: what did not answer; empty where the fabric was not seen at all.
        file: capture of ``ibnetdiscover``.
        lines: the captured line of each port.
    """

    fabric: Fabric | NotSeen
    gaps: tuple[Gap, ...] = ()
    file: str | None = None
    lines: Mapping[PortId, tuple[CaptureRef, ...]] = field(default_factory=dict)


def topology_of(observer: Observer) -> TopologySweep:
    """Sweep the topology from one observer: ``ibnetdiscover``, then ``iblinkinfo``."""
    results: list[CommandResult] = []

    def read_topology(result: CommandResult) -> ibnetdiscover.Topology:
        results.append(result)
        return ibnetdiscover.parse(result.text)

    def read_links(result: CommandResult) -> tuple[iblinkinfo.LinkInfo, str]:
        results.append(result)
        return iblinkinfo.parse(result.text), file_of(result)

    topology = observer.take("the fabric", commands.IBNETDISCOVER, read_topology)
    links = observer.take("the fabric", commands.IBLINKINFO, read_links)
    if isinstance(topology, NotSeen):
        return TopologySweep(topology)
    if isinstance(links, NotSeen):
        return TopologySweep(links)
    info, file = links
    cut = beheaded(topology)
    if cut is not None:
        reason = f"{observer.host.name}: {cut}"
        return TopologySweep(NotSeen("the fabric", reason, "look again", captures_of(results[0])))
    outputs = tuple(CaptureRef(file_of(result), None, "") for result in results)
    try:
        fabric, sentences = assemble.merge(topology, info.rows)
    except (ParseError, ValueError) as error:
        reason = f"{observer.host.name}: {error}"
        return TopologySweep(NotSeen("the fabric", reason, captures=outputs))
    if not fabric.links:
        reason = f"{observer.host.name} sees no link at all ({len(fabric.nodes)} nodes)"
        return TopologySweep(
            NotSeen("the fabric", reason, "look at its cable with ibstat", outputs)
        )
    gaps: list[Gap] = []
    for result in results:
        gaps += _gaps(observer, result, fabric, topology.initiated_from)
    observer.warnings += internal_links(fabric)
    # A sentence of merge is a port or node that was not seen whole, or seen as two things.
    unread = {port: why for port, why in assemble.unread_peers(fabric).items() if why in sentences}
    gaps += [
        Gap(sentence, sentence, outputs)
        for sentence in sentences
        if sentence not in unread.values()
    ]
    lines = _lines(fabric, info, file)
    gaps += [_stub(fabric, port, why, lines.get(port, outputs)) for port, why in unread.items()]
    return TopologySweep(fabric, tuple(_unique(gaps)), file_of(results[0]), lines)


def internal_links(fabric: Fabric) -> list[str]:
    """The links inside a box, a sentence; none where there are none."""
    inside = [link for link in fabric.links if fabric.is_internal(link)]
    if not inside:
        return []
    shown = ", ".join(fabric.link_name(link) for link in inside[:INTERNAL_SHOWN])
    more = f" and {len(inside) - INTERNAL_SHOWN} more" if inside[INTERNAL_SHOWN:] else ""
    return [
        f"{len(inside)} of {len(fabric.links)} links are inside a box (one system image GUID), so "
        f"no inter-switch cables: {shown}{more}; 'links: internal' selects them"
    ]


def _gaps(
    observer: Observer, result: CommandResult, fabric: Fabric, start: Guid | None
) -> list[Gap]:
    """Every failed query on a sweep's stderr is something that the sweep did not see."""
    found = []
    for entry in diags.error_lines(result.error_text):
        if entry.foreign:
            continue
        if not entry.failed:
            observer.warnings.append(f"{result.argv[0]} reported: {entry.message}")
            continue
        capture = CaptureRef(error_file_of(result), entry.line, entry.text)
        behind = _behind(fabric, start, entry.route)
        if behind is not None:
            name = f"the node behind {fabric.port_name(behind)}"
            port = fabric.port(behind)
            at = behind if port is not None and port.remote is None else None
            found.append(Gap(name, f"{name} did not answer", (capture,), at=at, route=entry.route))
        else:
            reason = f"a query of the sweep failed: {entry.message}"
            found.append(Gap(entry.message, reason, (capture,)))
    return found


def _stub(fabric: Fabric, port: PortId, why: str, captures: tuple[CaptureRef, ...]) -> Gap:
    """The gap behind a port that is up and whose peer no tool could read."""
    return Gap(f"the node behind {fabric.port_name(port)}", why, captures, at=port)


def _behind(fabric: Fabric, start: Guid | None, route: Sequence[int]) -> PortId | None:
    """The port that a directed route ends at, ``0,1,25`` -> SwitchB/25; None for an unknown one."""
    if not route or start is None:
        return None
    *way, last = route
    guid = start
    for hop in way:
        port = fabric.port(PortId(guid, hop))
        if port is None or port.remote is None:
            return None
        guid = port.remote.guid
    here = PortId(guid, last)
    return here if fabric.port(here) is not None else None


def _unique(gaps: Sequence[Gap]) -> list[Gap]:
    return list({gap.name: gap for gap in reversed(gaps)}.values())[::-1]


def _lines(
    fabric: Fabric, info: iblinkinfo.LinkInfo, file: str
) -> dict[PortId, tuple[CaptureRef, ...]]:
    owners: dict[tuple[Guid, int], PortId] = {}
    for port in fabric.ports():
        node = fabric.nodes[port.id.guid]
        guid = port.guid if node.type is NodeType.CA and port.guid is not None else node.guid
        owners[(guid, port.id.port)] = port.id
    found: dict[PortId, tuple[CaptureRef, ...]] = {}
    for row in info.rows:
        owner = owners.get((row.guid, row.port)) if row.guid is not None else None
        if owner is not None:
            found[owner] = (CaptureRef(file, row.line, " ".join(row.text.split())),)
    return found

"""The sweep of the topology: nodes, cables and port states, and what of it was not seen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ibaccept import commands
from ibaccept.fabric.model import Fabric, Guid, NodeType, PortId
from ibaccept.observe import assemble
from ibaccept.observe.observer import Observer, error_file_of, file_of
from ibaccept.observe.snapshot import Gap
from ibaccept.parse import ParseError, iblinkinfo, ibnetdiscover
from ibaccept.transport import CommandResult
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

_TROUBLE = re.compile(
    r"ibwarn|iberror|ibpanic|umad|query_smp|bad status|timed? ?out|failed|error", re.IGNORECASE
)
"""A line of a sweep's stderr with one of these says that a node did not answer."""

_DIRECTED = re.compile(r"DR path slid \d+; dlid \d+; (0(?:,\d+)+)")
"""The directed route in a message of a failed query: output ports, hop by hop."""

_PID = re.compile(r"\[\d+\] ?")


@dataclass(frozen=True, slots=True)
class TopologySweep:
    """What one sweep of the topology gave.

    Attributes:
        fabric: nodes, ports and links, or why they were not seen.
        gaps: what did not answer; empty where the fabric was not seen at all.
        lines: the captured line of each port.
    """

    fabric: Fabric | NotSeen
    gaps: tuple[Gap, ...] = ()
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
    try:
        fabric, sentences = assemble.merge(topology, info.rows)
    except (ParseError, ValueError) as error:
        return TopologySweep(NotSeen("the fabric", f"{observer.host.name}: {error}"))
    if not fabric.links:
        reason = f"{observer.host.name} sees no link at all ({len(fabric.nodes)} nodes)"
        return TopologySweep(NotSeen("the fabric", reason, "look at its cable with ibstat"))
    gaps: list[Gap] = []
    for result in results:
        gaps += _gaps(observer, result, fabric, topology.initiated_from)
    # A sentence of merge is a port or node that was not seen whole, or seen as two things.
    gaps += [Gap(sentence, sentence) for sentence in sentences]
    return TopologySweep(fabric, tuple(_unique(gaps)), _lines(fabric, info, file))


def _gaps(
    observer: Observer, result: CommandResult, fabric: Fabric, start: Guid | None
) -> list[Gap]:
    """Every line of trouble on a sweep's stderr is something that the sweep did not see."""
    found = []
    for number, line in enumerate(result.error_text.splitlines(), 1):
        if not line.strip():
            continue
        text = _PID.sub("", line.strip())
        if _TROUBLE.search(line):
            capture = CaptureRef(error_file_of(result), number, line.strip())
            behind = _behind(fabric, start, text)
            if behind is not None:
                name = f"the node behind {behind}"
                found.append(Gap(name, f"{name} did not answer", (capture,)))
            else:
                found.append(Gap(text, f"a query of the sweep failed: {text}", (capture,)))
        else:
            observer.warnings.append(f"{result.argv[0]} said: {text}")
    return found


def _behind(fabric: Fabric, start: Guid | None, text: str) -> str | None:
    """The port that a directed route ends at: ``... dlid 0; 0,1,25 Attr ...`` -> SwitchB/25."""
    match = _DIRECTED.search(text)
    if match is None or start is None:
        return None
    *way, last = [int(hop) for hop in match.group(1).split(",")[1:]] or [0]
    guid = start
    for hop in way:
        port = fabric.port(PortId(guid, hop))
        if port is None or port.remote is None:
            return None
        guid = port.remote.guid
    here = PortId(guid, last)
    return fabric.port_name(here) if fabric.port(here) is not None else None


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

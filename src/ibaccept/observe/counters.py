"""One counter sweep: ibqueryerrors for errors, then for data, one process each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ibaccept import commands
from ibaccept.fabric import counters
from ibaccept.fabric.model import Fabric, Guid, NodeType, PortId
from ibaccept.observe.observer import Observer
from ibaccept.observe.outputs import file_of
from ibaccept.parse import ParseError, diags, ibqueryerrors
from ibaccept.transport import CommandResult
from ibaccept.verdict.absence import NotSeen


@dataclass(frozen=True)
class RawSweep:
    """Outputs of one sweep; assigned to ports when the topology is known."""

    errors: tuple[ibqueryerrors.QueryErrors, CommandResult] | NotSeen
    data: CommandResult | NotSeen

    @classmethod
    def read(cls, observer: Observer) -> RawSweep:
        """Errors first, data right after; one process each for the whole fabric."""

        def parse(result: CommandResult) -> tuple[ibqueryerrors.QueryErrors, CommandResult]:
            return ibqueryerrors.parse(result.text), result

        return cls(
            observer.take("the error counters", commands.IBQUERYERRORS, parse, ok=(0, 1)),
            observer.take(
                "the data counters",
                commands.IBQUERYERRORS_COUNTERS,
                lambda result: result,
                ok=(0, 1),
            ),
        )

    def nodes(self) -> frozenset[Guid]:
        """Nodes that the output of the data counters shows; empty where there is none."""
        if isinstance(self.data, NotSeen):
            return frozenset()
        return ibqueryerrors.data_nodes(self.data.text)

    def sweep(
        self, fabric: Fabric | NotSeen, silent: frozenset[tuple[int, ...]] = frozenset()
    ) -> Sweep | NotSeen:
        """The sweep, once it is known which ports there are; ``silent`` as in ``read_sweep``."""
        if isinstance(self.errors, NotSeen):
            return self.errors
        if isinstance(fabric, NotSeen):
            return fabric
        parsed, result = self.errors
        data = None if isinstance(self.data, NotSeen) else self.data
        return read_sweep(
            fabric,
            parsed,
            result.error_text,
            start=result.start,
            end=result.end,
            file=file_of(result),
            data_text=data.text if data is not None else None,
            data_file=file_of(data) if data is not None else None,
            silent=silent,
        )


ALL_PORTS = {0, 255}
"""Port numbers of a query that was about the node as a whole."""


class Reading(NamedTuple):
    """A counter's value at one sweep, with the width it sticks at."""

    value: int
    bits: int


@dataclass(frozen=True)
class Sweep:
    """Counters of the fabric at one time.

    Attributes:
        start: seconds since the epoch on the clock of the host that read.
        end: as ``start``; each port was read somewhere between the two.
        file: capture of the error counters, relative to the run's folder.
        data_file: capture of the data counters.
        errors: listed rows by port.
        read_data: reads the data counters by port, the first time one is needed: a large
            output that only the evidence of a finding needs.
        unread: why the ports of a node were not read.
        unread_ports: why one port was not read.
        unlisted: why a port that is not listed cannot be taken as 0; None where it can.
        hidden: why a counter that is not listed cannot be taken as 0, by counter.
    """

    start: float | None
    end: float | None
    file: str
    data_file: str | None = None
    errors: Mapping[PortId, ibqueryerrors.PortErrors] = field(default_factory=dict)
    read_data: Callable[[], Mapping[PortId, ibqueryerrors.PortData]] = field(
        default=dict, compare=False, repr=False
    )
    unread: Mapping[Guid, str] = field(default_factory=dict)
    unread_ports: Mapping[PortId, str] = field(default_factory=dict)
    unlisted: str | None = None
    hidden: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def data(self) -> Mapping[PortId, ibqueryerrors.PortData]:
        """Data counters by port; empty where the output was not to be had."""
        return self.read_data()

    def is_clean(self, port: PortId) -> bool:
        """True where the tool proves that it read the port and every error counter was 0."""
        return (
            self.unlisted is None
            and not self.hidden
            and port not in self.errors
            and port.guid not in self.unread
            and port not in self.unread_ports
        )

    @property
    def middle(self) -> float | None:
        """The best single time of the sweep."""
        return None if self.start is None or self.end is None else (self.start + self.end) / 2

    def why_unread(self, port: PortId, name: str) -> str | None:
        """Why ``reading`` has no value for a counter, None where it has one."""
        if name in counters.DATA_COUNTERS:
            row = self.data.get(port)
            return None if row is not None and name in row.counters else "data counters not listed"
        kind = counters.COUNTERS.get(name)
        if kind is None:
            return f"{name} is no counter that ibqueryerrors reads"
        errors = self.errors.get(port)
        listed = errors is not None and name in errors.counters
        if kind.cap_bit is not None and not listed:
            return f"{name} is not listed: it is 0, or this device does not measure it"
        return (
            self.unread.get(port.guid)
            or self.unread_ports.get(port)
            or (self.unlisted if errors is None else None)
            or (None if listed else self.hidden.get(name))
        )

    def listed(self, port: PortId) -> dict[str, Reading]:
        """Every counter of a port that a line of the sweep shows, errors first."""
        found: dict[str, Reading] = {}
        errors, data = self.errors.get(port), self.data.get(port)
        if errors is not None:
            for name, value in errors.counters.items():
                found[name] = Reading(value, errors.bits(name) or counters.WIDTH.get(name, 0))
        if data is not None:
            for name, value in data.counters.items():
                found[name] = Reading(value, data.bits)
        return found

    def reading(self, port: PortId, name: str) -> Reading | None:
        """Value of a counter; None when it was not read (``why_unread`` says why)."""
        if self.why_unread(port, name) is not None:
            return None
        if name in counters.DATA_COUNTERS:
            data = self.data[port]
            return Reading(data.counters[name], data.bits)
        row = self.errors.get(port)
        if row is None or name not in row.counters:
            return Reading(0, counters.WIDTH[name])
        return Reading(row.counters[name], row.bits(name) or counters.WIDTH[name])


def read_sweep(
    fabric: Fabric,
    errors: ibqueryerrors.QueryErrors,
    stderr: str,
    *,
    start: float | None,
    end: float | None,
    file: str,
    data_text: str | None = None,
    data_file: str | None = None,
    silent: frozenset[tuple[int, ...]] = frozenset(),
) -> Sweep:
    """Assign the rows of an output to the ports of the fabric.

    Args:
        fabric: what the topology sweep saw.
        errors: output of ``ibqueryerrors --skip-sl``.
        stderr: its stderr, which names the nodes that did not answer.
        start: see ``Sweep``.
        end: see ``Sweep``.
        file: see ``Sweep``.
        data_text: output of ``ibqueryerrors --skip-sl --counters``, where it was run.
        data_file: see ``Sweep``.
        silent: directed routes to what did not answer the topology sweep either: it is no node of
            the fabric, so that its silence here hides no port of it.
    """
    by_guid = _owners(fabric)
    rows: dict[PortId, ibqueryerrors.PortErrors] = {}
    strangers = 0
    for row in errors.ports:
        if row.port == "ALL":
            continue
        owner = by_guid.get((row.port_guid, row.port)) or by_guid.get((row.guid, row.port))
        if owner is None:
            strangers += row.port != 0
            continue
        rows[owner] = row
    unread, unread_ports, unlisted = _unread(fabric, errors, stderr, strangers, silent)

    def read_data() -> Mapping[PortId, ibqueryerrors.PortData]:
        try:
            blocks = ibqueryerrors.parse(data_text).data_blocks if data_text is not None else ()
        except ParseError:
            return {}
        return {
            PortId(block.guid, block.port): block
            for block in blocks
            if block.port != "ALL" and block.guid in fabric.nodes
        }

    if data_text is not None:
        _absent(fabric, unread, rows, data_text)
    return Sweep(
        start,
        end,
        file,
        data_file,
        rows,
        read_data,
        unread,
        unread_ports,
        unlisted,
        _hidden(errors.summary),
    )


def _absent(
    fabric: Fabric,
    unread: dict[Guid, str],
    rows: Mapping[PortId, ibqueryerrors.PortErrors],
    data_text: str,
) -> None:
    """Nodes that the sweep met by no GUID: the summary only counts nodes, it does not name them."""
    met = {port.guid for port in rows}
    met |= ibqueryerrors.data_nodes(data_text)
    for node in fabric.nodes.values():
        if node.guid not in met:
            why = f"ibqueryerrors did not meet {node.name.strip()} ({node.guid}) in its sweep"
            unread.setdefault(node.guid, why)


def _hidden(summary: ibqueryerrors.Summary | None) -> dict[str, str]:
    """Counters with a threshold on the observer, or suppressed: a small value is not listed."""
    if summary is None:
        return {}
    reasons = dict.fromkeys(summary.suppressed, "suppressed")
    if summary.thresholds:
        named = re.findall(r"(\w+) *= *\d+", summary.thresholds)
        reasons |= dict.fromkeys(named or counters.COUNTERS, "hidden up to a threshold")
    return {
        name: f"{name} is {how} by the configuration of ibqueryerrors on the observer "
        "(/etc/infiniband-diags/error_thresholds), so not listed is not 0"
        for name, how in reasons.items()
    }


def _owners(fabric: Fabric) -> dict[tuple[Guid | None, int], PortId]:
    """Ports by what a row shows: a switch's node GUID or a CA's port GUID, and the number."""
    owners: dict[tuple[Guid | None, int], PortId] = {}
    for port in fabric.ports():
        owners[(port.id.guid, port.id.port)] = port.id
    for port in fabric.ports():
        if port.guid is not None and fabric.nodes[port.id.guid].type is NodeType.CA:
            # a port GUID may equal the node GUID (then both name this port)
            owners[(port.guid, port.id.port)] = port.id
    return owners


def _unread(
    fabric: Fabric,
    errors: ibqueryerrors.QueryErrors,
    stderr: str,
    strangers: int,
    silent: frozenset[tuple[int, ...]],
) -> tuple[dict[Guid, str], dict[PortId, str], str | None]:
    report = ibqueryerrors.parse_stderr(stderr)
    failures = report.failures
    unread: dict[Guid, str] = {}
    ports: dict[PortId, str] = {}
    unknown = 0
    for failure in failures:
        owner = fabric.lid_owner.get(int(failure.lid)) if failure.lid is not None else None
        if owner is not None and fabric.nodes[owner.guid].name.strip() != failure.name.strip():
            owner = None  # LIDs or names have changed since the topology was read
        if owner is None:
            named = fabric.by_name.get(failure.name.strip(), ())
            owner = PortId(named[0].guid, 0) if len(named) == 1 else None
        if owner is None:
            unknown += 1
            continue
        node = fabric.nodes[owner.guid]
        why = (
            f"the performance agent of {node.name.strip()} did not answer "
            f"({failure.query} query failed)"
        )
        if node.is_switch and failure.port not in ALL_PORTS:
            ports[PortId(node.guid, failure.port)] = why
        else:
            unread[node.guid] = why
    lost = [line for line in report.sweep if diags.route_of(line.text) not in silent]
    if lost:
        why = f"{len(lost)} queries of the sweep of ibqueryerrors got no answer"
        return unread, ports, why
    strange = [
        line.text.strip()
        for line in report.other
        if diags.is_noise(line.text)
        and not diags.is_foreign(line.text)
        and not _is_of(fabric, line.text, unread)
    ]
    if strange:
        why = f"ibqueryerrors warns of something that names no port: {strange[0][:200]}"
        return unread, ports, why
    return unread, ports, _unlisted(fabric, errors, strangers, len(failures), unknown)


def _is_of(fabric: Fabric, text: str, unread: Mapping[Guid, str]) -> bool:
    """True for a warning about a LID whose whole node is known not to have been read."""
    owner = fabric.lid_owner.get(diags.lid_of(text) or 0)
    return owner is not None and owner.guid in unread


def _unlisted(
    fabric: Fabric, errors: ibqueryerrors.QueryErrors, strangers: int, named: int, unknown: int
) -> str | None:
    """Why a port that is not listed cannot be taken as 0; None where the tool proves it looked."""
    summary = errors.summary
    if summary is None:
        return "ibqueryerrors printed no summary, so it did not look at every port"
    if strangers:
        return (
            f"ibqueryerrors lists {strangers} ports that ibnetdiscover did not show: the fabric "
            "changed between the two"
        )
    if summary.nodes_checked < len(fabric.nodes):
        return f"ibqueryerrors looked at {summary.nodes_checked} of {len(fabric.nodes)} nodes"
    if summary.nodes_checked > len(fabric.nodes):
        return (
            f"ibqueryerrors looked at {summary.nodes_checked} nodes, ibnetdiscover shows "
            f"{len(fabric.nodes)}: the fabric changed between the two"
        )
    if unknown or summary.pma_failures > named:
        return (
            f"{summary.pma_failures} queries of ibqueryerrors failed and its stderr does not say "
            "of which nodes"
        )
    return None

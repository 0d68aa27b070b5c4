"""What ibqueryerrors shows, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ibaccept.fabric import counters as table
from ibaccept.fabric.model import Guid, Lid
from ibaccept.parse import ParseWarning

TOOL = "ibqueryerrors"

AllPorts = Literal["ALL"]


@dataclass(frozen=True, slots=True)
class PortErrors:
    """Counters of one port above the threshold (0 by default).

    Attributes:
        guid: node GUID of a switch; None for a CA, whose header carries none.
        port_guid: GUID of the row: of the port for a CA (so two CAs of one name differ), of the
            node for a switch.
        name: node description, for people.
        port: port number; ``"ALL"`` = the switch's own sum, which can omit a counter that is
            saturated on single ports: not to be judged.
        counters: value by name; a counter that is not listed was 0 or suppressed.
        wide: names read from the 64-bit set; the others have the basic widths.
        link_info: what ``-r`` printed under the row, in iblinkinfo's grammar.
        text: the row as printed.
    """

    guid: Guid | None
    port_guid: Guid
    name: str
    port: int | AllPorts
    counters: Mapping[str, int]
    wide: frozenset[str]
    link_info: str | None
    line: int
    text: str

    def bits(self, name: str) -> int | None:
        """Width of a counter in this row; None for a detail counter."""
        return table.bits(name, extended=name in self.wide)


@dataclass(frozen=True, slots=True)
class PortData:
    """Data counters of one port (``--counters``), also of clean ports.

    Attributes:
        guid: node GUID, of CAs too.
        counters: value by name; data in units of four octets.
        bits: 64 where the row shows that the extended set was read; 32 where it may be the basic
            set, so that 4294967295 is "saturated".
        link_info: as in ``PortErrors``.
    """

    guid: Guid
    name: str
    port: int | AllPorts
    counters: Mapping[str, int]
    bits: int
    link_info: str | None
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The trailer. Ports: a clean switch counts its external ports, one with errors port 0 too.

    Attributes:
        thresholds: as printed after ``Thresholds:``, without edge blanks.
        pma_failures: queries that got no answer; above 0 nothing is proven clean.
        suppressed: counters that were not looked at.
    """

    nodes_checked: int
    bad_nodes: int
    ports_checked: int
    bad_ports: int
    thresholds: str
    pma_failures: int
    suppressed: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class QueryErrors:
    """One output.

    Attributes:
        ports: rows under ``Errors for``.
        data_blocks: rows under ``Data Counters for``.
        summary: None where it was not printed: the tool did not end its work, or the text is a
            part of an output. "Not listed" means nothing then.
        warnings: noise of the MAD libraries, and node headers without a port row.
    """

    ports: tuple[PortErrors, ...]
    summary: Summary | None
    data_blocks: tuple[PortData, ...]
    warnings: tuple[ParseWarning, ...]


@dataclass(frozen=True, slots=True)
class PmaFailure:
    """One query that got no answer, from stderr.

    Attributes:
        query: ``classportinfo``, ``IB_GSI_PORT_COUNTERS`` or ``IB_GSI_PORT_COUNTERS_EXT``.
        name: node description.
        lid: LID of the query: the switch's, or the CA port's.
        port: port number; 255 = all ports of the node; 0 for the ClassPortInfo of a switch.
    """

    query: str
    name: str
    lid: Lid | None
    port: int
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Stderr:
    """The tool's stderr.

    Attributes:
        failures: counter queries without an answer.
        sweep: lines of the discovery that precedes them. With any, nodes or ports can be missing
            from the output and from its counts, and the exit code is still 0.
        other: every other line, kept to be shown.
    """

    failures: tuple[PmaFailure, ...]
    sweep: tuple[ParseWarning, ...]
    other: tuple[ParseWarning, ...]

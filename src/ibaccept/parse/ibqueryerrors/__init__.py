"""Error and data counters of every port, as ``ibqueryerrors`` prints them.

Source of the format: ``ibqueryerrors.c``::

    Errors for 0x2c90300000200 "SwitchB"
       GUID 0x2c90300000200 port ALL: [SymbolErrorCounter == 65535]
       GUID 0x2c90300000200 port 3: [SymbolErrorCounter == 65535] [PortXmitWait == 12]

    ## Summary: 6 nodes checked, 1 bad nodes found
    ##          21 ports checked, 1 ports have errors beyond threshold
    ## Thresholds:
    ##          1 PMA query failures
    ## Suppressed:

What it does not say matters as much. Clean nodes are not listed, so "not listed" is clean only if
the summary counts the node and ``pma_failures`` is 0: a node that does not answer is counted as
checked and clean, and one that the sweep lost is not counted at all. Where only its ClassPortInfo
is silent, the rest is read as if it had no capabilities: PortXmitWait vanishes and data counters
are the 32-bit ones. ``parse_stderr`` names the node. The exit code is 1 when a port is listed, 0
otherwise, also after failures.
"""

from __future__ import annotations

import re

from ibaccept.fabric.model import Guid, Lid
from ibaccept.parse import ParseError, ParseWarning
from ibaccept.parse.diags import LONGEST_LINE, numbered
from ibaccept.parse.ibqueryerrors._records import (
    TOOL,
    PmaFailure,
    PortData,
    PortErrors,
    QueryErrors,
    Stderr,
    Summary,
)
from ibaccept.parse.ibqueryerrors._rows import RowReader, data_of, errors_of

__all__ = [
    "TOOL",
    "PmaFailure",
    "PortData",
    "PortErrors",
    "QueryErrors",
    "Stderr",
    "Summary",
    "data_nodes",
    "parse",
    "parse_stderr",
]

_BEGINS = re.compile(r"(?:Errors|Data Counters) for |##| +GUID ")
_DATA_NODE = re.compile(r"^Data Counters for 0x([0-9a-fA-F]{1,16}) ", re.MULTILINE)
_SUMMARY = (
    re.compile(r"## Summary: (\d+) nodes checked, (\d+) bad nodes found\s*\Z"),
    re.compile(r"## +(\d+) ports checked, (\d+) ports have errors beyond threshold\s*\Z"),
    re.compile(r"## Thresholds:(.*)\Z"),
    re.compile(r"## Suppressed:(.*)\Z"),
)
_PMA = re.compile(r"## +(\d+) PMA query failures\s*\Z")
_PMA_WARNING = re.compile(
    r"ibwarn: \[\d+\] \w+: (?P<query>\S+) query failed on (?P<name>.*), "
    r"(?:Lid (?P<lid>\d{1,9})|DR path .*) port (?P<port>\d{1,9})\s*\Z"
)

_SWEEP = re.compile(r"\S+\.c:\d+; ")


def parse(text: str) -> QueryErrors:
    """Read an output, of any of the modes (``-r``, ``--data``, ``--details``, ``--counters``).

    Raises:
        ParseError: nothing of the tool's was seen, a line is not understood, the summary is cut,
            or it counts other bad nodes and ports than are listed (lines are missing).
    """
    reader = RowReader()
    for number, line in numbered(TOOL, text, _BEGINS):
        if line.strip():
            reader.take(number, line)
    if not reader.nodes and not reader.trailer:
        raise ParseError(
            TOOL, "neither a port nor the summary was seen; see its stderr and exit code"
        )
    summary = _summary(reader.trailer)
    if summary is not None:
        _check(reader, summary)
    empty = [ParseWarning(node.line, node.text) for node in reader.nodes if not node.rows]
    return QueryErrors(
        tuple(errors_of(row) for row in reader.rows if row.node.mode == "Errors"),
        summary,
        tuple(data_of(row) for row in reader.rows if row.node.mode != "Errors"),
        tuple(sorted([*reader.warnings, *empty], key=lambda warning: warning.line)),
    )


def _summary(trailer: list[tuple[int, str]]) -> Summary | None:
    if not trailer:
        return None
    pma = [(number, match) for number, line in trailer if (match := _PMA.match(line))]
    rest = [(number, line) for number, line in trailer if not _PMA.match(line)]
    if len(rest) != len(_SUMMARY) or len(pma) > 1:
        raise ParseError(
            TOOL, "the summary is cut or printed twice", line=trailer[-1][0], text=trailer[-1][1]
        )
    found = []
    for (number, line), pattern in zip(rest, _SUMMARY, strict=True):
        match = pattern.match(line)
        if match is None:
            raise ParseError(TOOL, "not the summary's line", line=number, text=line)
        found.append(match)
    nodes, ports, thresholds, suppressed = found
    return Summary(
        int(nodes[1]),
        int(nodes[2]),
        int(ports[1]),
        int(ports[2]),
        thresholds[1].strip(),
        int(pma[0][1][1]) if pma else 0,
        tuple(suppressed[1].split()),
        rest[0][0],
    )


def _check(reader: RowReader, summary: Summary) -> None:
    """Compare what is listed with what the summary counts.

    Raises:
        ParseError: lines are missing.
    """
    headers = sum(node.mode == "Errors" for node in reader.nodes)
    ports = sum(row.node.mode == "Errors" and row.port != "ALL" for row in reader.rows)
    if (headers, ports) != (summary.bad_nodes, summary.bad_ports):
        raise ParseError(
            TOOL,
            f"{headers} nodes and {ports} ports with errors are listed, the summary counts "
            f"{summary.bad_nodes} and {summary.bad_ports}: lines are missing, run it again",
            line=summary.line,
        )
    data = sum(row.node.mode != "Errors" for row in reader.rows)
    if len(reader.nodes) > headers and not (
        summary.ports_checked - summary.pma_failures <= data <= summary.ports_checked
    ):
        raise ParseError(
            TOOL,
            f"data counters of {data} ports are listed, the summary counts "
            f"{summary.ports_checked}: lines are missing, run it again",
            line=summary.line,
        )


def data_nodes(text: str) -> frozenset[Guid]:
    """Nodes with a block of data counters, by their headers alone; no row is read."""
    return frozenset(Guid(digits, 16) for digits in _DATA_NODE.findall(text))


def parse_stderr(text: str) -> Stderr:
    """Read stderr: which node and port did not answer.

    A line looks like ``ibwarn: [7403] print_errors: IB_GSI_PORT_COUNTERS_EXT query failed on
    node002 HCA-1, Lid 7 port 2``, one of the sweep ``src/query_smp.c:199; umad (DR path slid 0;
    dlid 0; 0,1 Attr 0x11:0) bad status 110; Connection timed out``. Never raises.
    """
    failures: list[PmaFailure] = []
    sweep: list[ParseWarning] = []
    other: list[ParseWarning] = []
    for number, line in enumerate(text.split("\n"), 1):
        match = _PMA_WARNING.match(line) if len(line) <= LONGEST_LINE else None
        if match is None:
            if line.strip():
                (sweep if _SWEEP.match(line) else other).append(ParseWarning(number, line))
            continue
        lid = None if match["lid"] is None else Lid(int(match["lid"]))
        failures.append(
            PmaFailure(match["query"], match["name"], lid, int(match["port"]), number, line)
        )
    return Stderr(tuple(failures), tuple(sweep), tuple(other))

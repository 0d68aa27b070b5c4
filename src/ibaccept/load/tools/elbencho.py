"""``elbencho``: its result table. The LAST DONE column is the honest one: when all had finished.

Format: ``Statistics.cpp`` of elbencho; the unit is MiB/s (2^20)::

    OPERATION RESULT TYPE        FIRST DONE  LAST DONE
    ========= ================   ==========  =========
    WRITE     Elapsed ms       :      85656      99973
              Throughput MiB/s :      10572      10488
              Total MiB        :     905632    1048576
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ibaccept.parse import ParseError

TOOL = "elbencho"

_MIB = 1 << 20
_ROW = re.compile(
    r"(?P<phase>[A-Z]+)?\s+(?P<what>\S.*?)\s*:\s+(?P<first>\d+(?:\.\d+)?)\s+(?P<last>\d+(?:\.\d+)?)\s*$"
)


@dataclass(frozen=True, slots=True)
class ElbenchoPhase:
    """One phase, all threads done.

    Attributes:
        name: ``WRITE``, ``READ``.
        rate: bytes a second.
        moved: bytes; None where the version does not print it.
        seconds: elapsed.
        line: its first.
    """

    name: str
    rate: float
    moved: int | None
    seconds: float
    line: int


def parse(text: str) -> tuple[ElbenchoPhase, ...]:
    """The phases that have a throughput, in order.

    Raises:
        ParseError: no such phase.
    """
    found: list[ElbenchoPhase] = []
    phase, begun, values = "", 0, dict[str, float]()

    def close() -> None:
        if "Throughput MiB/s" in values and "Elapsed ms" in values:
            total = values.get("Total MiB")
            found.append(
                ElbenchoPhase(
                    phase,
                    values["Throughput MiB/s"] * _MIB,
                    None if total is None else round(total * _MIB),
                    values["Elapsed ms"] / 1000,
                    begun,
                )
            )

    for number, line in enumerate(text.splitlines(), 1):
        row = _ROW.match(line)
        if row is None:
            continue
        if row["phase"]:
            close()
            phase, begun, values = row["phase"], number, {}
        values[row["what"]] = float(row["last"])
    close()
    if not found:
        raise ParseError(TOOL, "no phase with a throughput was seen; see its stderr and exit code")
    return tuple(found)

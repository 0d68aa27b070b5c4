"""``IOR``: the rows of its result table. The unit of the row is MiB/s (2^20).

Format: ``ior-output.c`` of IOR 3; the columns after the first differ between versions, the first
two do not::

    access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
    write     75.82      1024.00    256.00     0.001198   0.010607   0.001384   0.013190   0
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ibaccept.parse import ParseError

TOOL = "ior"

_MIB = 1 << 20
_HEADER = re.compile(r"access\s+bw\(MiB/s\)")
_ROW = re.compile(r"(?P<access>write|read)\s+(?P<bw>\d+(?:\.\d+)?)\s")
_TOTAL = re.compile(r"\btotal\(s\)")


@dataclass(frozen=True, slots=True)
class IorRow:
    """One phase.

    Attributes:
        access: of the phase.
        rate: bytes a second.
        seconds: open to close; None where the version does not print it.
        line: it stands on.
    """

    access: Literal["write", "read"]
    rate: float
    seconds: float | None
    line: int


def parse(text: str) -> tuple[IorRow, ...]:
    """The rows, in order; several where several runs stand in one file.

    Raises:
        ParseError: no result table, or no row in it.
    """
    rows: list[IorRow] = []
    columns: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if _HEADER.match(line):
            columns = line.split()
            continue
        row = _ROW.match(line) if columns is not None else None
        if row is not None and columns is not None:
            words = line.split()
            at = columns.index("total(s)") if "total(s)" in columns else -1
            seconds = float(words[at]) if 0 <= at < len(words) else None
            access: Literal["write", "read"] = "write" if row["access"] == "write" else "read"
            rows.append(IorRow(access, float(row["bw"]) * _MIB, seconds, number))
        elif line.startswith("Max "):
            columns = None
    if not rows:
        raise ParseError(TOOL, "no row of its result table was seen; see its stderr and exit code")
    return tuple(rows)

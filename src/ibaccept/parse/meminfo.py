"""``/proc/meminfo``: how much memory a host has, hence how much it can cache.

Source of the format: the kernel's ``Documentation/filesystems/proc.rst`` and ``fs/proc/meminfo.c``.
"kB" is 1024 bytes::

    MemTotal:       24731540 kB
    HugePages_Total:       0
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ibaccept.parse import ParseError
from ibaccept.parse.diags import numbered

TOOL = "meminfo"

_ROW = re.compile(r"(?P<name>[A-Za-z][\w()]*):\s+(?P<value>\d+)(?P<unit> kB)?\s*")
_KIB = 1 << 10


@dataclass(frozen=True, slots=True)
class MemInfo:
    """Memory of one host, in bytes.

    Attributes:
        total: usable memory: no page cache can be larger.
        free: unused.
        cached: page cache, without swap cache and buffers.
        buffers: cache of block devices.
        available: what programs could have; None before kernel 3.14.
        huge_pages: reserved for huge pages, so not for the page cache.
    """

    total: int
    free: int
    cached: int
    buffers: int
    available: int | None
    huge_pages: int


def parse(text: str) -> MemInfo:
    """Read the file.

    Raises:
        ParseError: empty, cut, a line that is not understood, a row twice, or one missing.
    """
    rows: dict[str, tuple[int, bool]] = {}
    for number, line in numbered(TOOL, text):
        match = _ROW.fullmatch(line)
        if match is None:
            raise ParseError(TOOL, "not a 'Name: value kB' row", line=number, text=line)
        if match["name"] in rows:
            raise ParseError(TOOL, "the row comes twice", line=number, text=line)
        rows[match["name"]] = int(match["value"]), match["unit"] is not None

    def size(name: str) -> int:
        if name not in rows:
            raise ParseError(TOOL, f"there is no {name}; the file is not whole")
        value, in_kib = rows[name]
        if not in_kib:
            raise ParseError(TOOL, f"{name} has no unit")
        return value * _KIB

    if not size("MemTotal"):
        raise ParseError(TOOL, "MemTotal is 0, so the size of the page cache is not known")
    pages = rows.get("HugePages_Total", (0, False))[0]
    return MemInfo(
        size("MemTotal"),
        size("MemFree"),
        size("Cached"),
        size("Buffers"),
        size("MemAvailable") if "MemAvailable" in rows else None,
        pages * size("Hugepagesize") if pages else 0,
    )

"""Whether switches route adaptively, from files of the subnet manager or of ibdiagnet.

Read by what they hold, not by their names:

* ``opensm.conf``, also UFM's: ``routing_engine ar_updn`` (or ``routing_engine = ar_updn``). The
  engines of NVIDIA's OpenSM that begin with ``ar_`` and ``dfp`` are adaptive; so is any engine with
  the plug-in ``armgr``. Without an engine the default counts, which is another one in each version:
  the file then says nothing.
* OpenSM's log: ``... osm_ucast_mgr_process: ar_updn tables configured on all switches``; the last
  such line counts. ``AR Manager - Configuration cycle`` is the plug-in at work.
* ibdiagnet's log: ``Adaptive Routing is enabled on 3 switches.``, and the same of hashed based
  forwarding, under which the tables tell as little.
* ``ibdiagnet2.db_csv``: the column ``e`` (enabled) of the section ``AR_INFO``.
* ``ibdiagnet2.far``: rows of ``LFT Definition:``, LID, static port, state, group. Any state but
  ``Static`` lets the switch choose::

    Switch 0xb83fd20300a1b2c0 - "leaf01"
    LFT Definition:
    LID             Static Port     LID State       Group
    --------------------------------------------------------
    0x0001          5               Free            12

Sources: ibdiagnet 2.10 log and db_csv; OpenSM ``osm_ucast_mgr.c`` and its option file.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ibaccept.parse import ParseError

TOOL = "subnet file"

_ENGINE = re.compile(r"routing_engine(?:\s*+=\s*+|\s++)(.*)")
_PLUGIN = re.compile(r"event_plugin_name(?:\s*+=\s*+|\s++)(.*)")
_CONFIGURED = re.compile(r"(?<!\S)(\S++) tables configured on all switches\s*\Z")
_MANAGER = "AR Manager - Configuration cycle "
_ENABLED = re.compile(
    r"(Adaptive Routing|Hashe?d Based Forwarding) is enabled on (\d{1,9}) switch(?:es)?\.?\s*\Z",
    re.IGNORECASE,
)
_FAR_ROW = re.compile(r"0x[0-9a-fA-F]++\s++\d++\s++([A-Za-z]\w*+)(?:\s|\Z)")
_OPTION = re.compile(r"[a-z][a-z0-9_]*(?:\s*=\s*|\s+)\S")
_LFT = "LFT Definition:"
_DEFAULT = {"", "(null)", "null"}
_PREFIXES = ("ar_", "dfp")


@dataclass(frozen=True, slots=True)
class Sign:
    """A line that says whether switches route adaptively.

    Attributes:
        state: what it says.
        line: 1-based number.
        text: the line.
    """

    state: Literal["on", "off"]
    line: int
    text: str


def parse(text: str) -> Sign | None:
    """The line of a file that decides; None where it is understood and says nothing.

    Raises:
        ParseError: nothing in the file is known, or a part of it is cut or not understood.
    """
    lines = text.splitlines()
    for mark, read in (
        ("START_AR_INFO", _db_csv),
        (_LFT, _far),
        ("# INDEX_TABLE", lambda _lines: iter(())),
    ):
        if any(line.startswith(mark) for line in lines):
            return _strongest(read(lines))
    if any(_CONFIGURED.search(line.rstrip()) for line in lines):
        return _opensm_log(lines)
    if any(_ENABLED.match(line.strip()) for line in lines):
        return _strongest(_ibdiagnet_log(lines))
    options = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if any(_OPTION.match(line) for line in options) and any(
        _ENGINE.match(line) or _PLUGIN.match(line) for line in options
    ):
        return _strongest(_configuration(lines))
    raise ParseError(
        TOOL,
        "nothing in it is about adaptive routing; give opensm.conf with its routing_engine, "
        "OpenSM's log, or ibdiagnet's log, db_csv or .far",
    )


def is_adaptive(engine: str) -> bool:
    """True for the routing engines under which tables are only the fallback."""
    return engine.strip().lower().startswith(_PREFIXES)


def engines_in(line: str) -> tuple[str, ...]:
    """Routing engines a line of opensm.conf or of OpenSM's log names, in lower case.

    Several engines in ``routing_engine`` are tried in that order: any of them may be in use.
    """
    configured = _CONFIGURED.search(line)
    if configured is not None:
        return (configured[1].lower(),)
    match = _ENGINE.match(line)
    names = re.split(r"[\s,]+", match[1].lower()) if match is not None else []
    return tuple(name for name in names if name not in _DEFAULT)


def _strongest(signs: Iterator[Sign]) -> Sign | None:
    """The first line that says on, else the first that says off."""
    found = list(signs)
    return next((sign for sign in found if sign.state == "on"), found[0] if found else None)


def _configuration(lines: list[str]) -> Iterator[Sign]:
    """Of several engines in a line the first that works is used, of several lines the last."""
    engine: Sign | None = None
    for number, line in enumerate(lines, 1):
        plugin = _PLUGIN.match(line.rstrip())
        if plugin is not None and "armgr" in re.split(r"[\s,]+", plugin[1].lower()):
            yield Sign("on", number, line.strip())
        match = _ENGINE.match(line.rstrip())
        if match is None:
            continue
        engines = [one for one in re.split(r"[\s,]+", match[1]) if one.lower() not in _DEFAULT]
        state: Literal["on", "off"] = "on" if any(map(is_adaptive, engines)) else "off"
        engine = Sign(state, number, line.strip()) if engines else None
    if engine is not None:
        yield engine


def _opensm_log(lines: list[str]) -> Sign | None:
    last: Sign | None = None
    for number, line in enumerate(lines, 1):
        if "completed" in line.partition(_MANAGER)[2]:
            return Sign("on", number, line.strip())
        match = _CONFIGURED.search(line.rstrip())
        if match is not None:
            last = Sign("on" if is_adaptive(match[1]) else "off", number, line.strip())
    return last


def _ibdiagnet_log(lines: list[str]) -> Iterator[Sign]:
    for number, line in enumerate(lines, 1):
        match = _ENABLED.match(line.strip())
        if match is None:
            continue
        if int(match[2]):
            yield Sign("on", number, line.strip())
        elif match[1].lower().startswith("adaptive"):
            yield Sign("off", number, line.strip())


def _db_csv(lines: list[str]) -> Iterator[Sign]:
    start = next(n for n, line in enumerate(lines) if line.startswith("START_AR_INFO"))
    end = next((n for n, line in enumerate(lines) if line.startswith("END_AR_INFO")), None)
    if end is None or end < start + 2:
        raise ParseError(
            TOOL, "the section AR_INFO has no end; give the whole file", line=start + 1
        )
    columns = [name.strip() for name in lines[start + 1].split(",")]
    if "e" not in columns:
        raise ParseError(
            TOOL, "AR_INFO has no column 'e' (enabled)", line=start + 2, text=lines[start + 1]
        )
    for number, line in enumerate(lines[start + 2 : end], start + 3):
        cells = next(csv.reader([line]), [])
        value = cells[columns.index("e")].strip() if len(cells) == len(columns) else ""
        if value not in {"0", "1"}:
            raise ParseError(TOOL, "not a row of AR_INFO", line=number, text=line)
        yield Sign("on" if value == "1" else "off", number, line.strip()[:200])


def _far(lines: list[str]) -> Iterator[Sign]:
    """Rows of every ``LFT Definition:``; a section ends with the first blank line."""
    inside = rows = False
    for number, line in enumerate(lines, 1):
        if line.startswith(_LFT):
            inside, rows = True, False
            continue
        if not inside:
            continue
        if line.startswith("-"):
            rows = True
        elif rows and not line.strip():
            inside = False
        elif rows and line.startswith("0x"):
            match = _FAR_ROW.match(line)
            if match is None:
                raise ParseError(TOOL, "not a row of LFT Definition", line=number, text=line)
            yield Sign("off" if match[1] == "Static" else "on", number, line.strip())

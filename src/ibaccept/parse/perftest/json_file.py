"""The file of ``--out_json``, valid or as versions before 24.01 wrote it."""

from __future__ import annotations

import json
import re

from ibaccept.parse import ParseError
from ibaccept.parse.perftest.row import (
    BYTES_PER_SECOND,
    ROW,
    TITLE,
    TOOL,
    BandwidthTest,
    Unit,
    consistent,
    make_row,
    make_test,
)

_FLAT = re.compile(r'\s*"?(?P<key>[\w *]+?)"?\s*:\s*"?(?P<value>[^"{}]*?)"?\s*,?\s*')
_OPEN = re.compile(r'\s*"?(?P<section>\w+)"?\s*:\s*\{\s*')
_CLOSE = re.compile(r"\s*\},?\s*")
_COLUMNS = ("MsgSize", "n_iterations", "BW_peak", "BW_average", "MsgRate")


def parse_json(text: str) -> BandwidthTest:
    """Read the file of ``--out_json``, valid or as versions before 24.01 wrote it.

    The unit is nowhere in it: it is told by message size times message rate.

    Raises:
        ParseError: neither form, a result without its columns, a key twice, or rows that fit
            neither unit or both.
    """
    sections = _sections(text)
    info = [values for name, values in sections if name == "test_info"]
    results = [values for name, values in sections if name == "results"]
    if len(info) != 1 or len(info) + len(results) != len(sections):
        raise ParseError(TOOL, "the JSON has not one test_info and its results; run it again")
    head = info[0]
    for values in results:
        if missing := [key for key in _COLUMNS if key not in values]:
            raise ParseError(TOOL, f"the JSON has a result without {', '.join(missing)}")
    tables = [[values[key] for key in _COLUMNS] for values in results]
    unit = _unit_of(tables)
    title = head.get("test", "").replace("_BW_Test", " BW Test").replace("_Bidir", " Bidir")
    match = TITLE.fullmatch(title)
    if match is None:
        raise ParseError(TOOL, "the JSON is not that of a bandwidth test", text=title)
    settings = {
        "Device": head.get("Device", ""),
        "Number of qps": head.get("Number_of_qps", ""),
        "Mtu": head.get("Mtu", ""),
        "Link type": head.get("Link_type", ""),
    }
    return make_test(
        title,
        match["verb"],
        tuple(make_row(table, unit, None) for table in tables) if unit else (),
        unit,
        {key: value for key, value in settings.items() if value},
        bidirectional=match["bidirectional"] is not None,
    )


def _sections(text: str) -> list[tuple[str, dict[str, str]]]:
    """Sections in order; values stay text, so that no printed digit is lost."""
    try:
        found = json.loads(
            text, object_pairs_hook=list, parse_int=str, parse_float=str, parse_constant=str
        )
    except (ValueError, RecursionError):
        return _unquoted_sections(text)
    sections: list[tuple[str, dict[str, str]]] = []
    for name, pairs in found if isinstance(found, list) else []:
        if not isinstance(pairs, list) or not all(isinstance(pair, tuple) for pair in pairs):
            raise ParseError(TOOL, "the JSON is not perftest's", text=str(name))
        values: dict[str, str] = {}
        for key, value in pairs:
            _set(values, str(key), str(value), None)
        sections.append((str(name), values))
    return sections


def _unquoted_sections(text: str) -> list[tuple[str, dict[str, str]]]:
    sections: list[tuple[str, dict[str, str]]] = []
    depth = 0
    for number, line in enumerate(text.splitlines(), 1):
        if depth == 0 and line.strip() == "{":
            depth = 1
        elif depth == 1 and (match := _OPEN.fullmatch(line)):
            sections.append((match["section"], {}))
            depth = 2
        elif depth and _CLOSE.fullmatch(line):
            depth -= 1
        elif depth == 2 and (match := _FLAT.fullmatch(line)):  # noqa: PLR2004 - inside a section
            _set(sections[-1][1], match["key"].strip(), match["value"].strip(), number)
        elif line.strip():
            raise ParseError(TOOL, "not a line of perftest's JSON", line=number, text=line)
    if depth or not sections:
        raise ParseError(TOOL, "the JSON is cut; run it again")
    return sections


def _set(values: dict[str, str], key: str, value: str, line: int | None) -> None:
    if key in values:
        raise ParseError(TOOL, f"the JSON has {key} twice in one section", line=line)
    values[key] = value


def _unit_of(tables: list[list[str]]) -> Unit | None:
    """The one unit in which size times rate is the average, in every row.

    Raises:
        ParseError: a cell that is no number, or not exactly one unit fits.
    """
    if not tables:
        return None
    for table in tables:
        if not ROW.fullmatch(" ".join(table)):
            raise ParseError(TOOL, "a result of the JSON is no row of numbers", text=str(table))
    try:
        units = [
            unit
            for unit in BYTES_PER_SECOND
            if all(consistent(make_row(table, unit, None)) for table in tables)
        ]
    except ValueError as error:
        raise ParseError(TOOL, str(error)) from None
    if len(units) != 1:
        fit = "both units" if units else "neither MiB/s nor Gb/s"
        raise ParseError(
            TOOL, f"size times rate fits {fit}, so the JSON's unit is unknown; read stdout instead"
        )
    return units[0]

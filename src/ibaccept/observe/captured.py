"""Captured text of any tool -> fabric or tables, recognised by content. For work without a fabric.

File names do not identify a tool (``fdbs.txt``, ``out2``), so the first lines decide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ibaccept.errors import InputError, InputProblemsError
from ibaccept.fabric.lft import SwitchTable
from ibaccept.fabric.model import Fabric, Guid
from ibaccept.observe import assemble
from ibaccept.parse import (
    ParseError,
    dump_fts,
    ibdiagnet_fdbs,
    ibdiagnet_lst,
    iblinkinfo,
    ibnetdiscover,
    ibroute,
    opensm_dump,
)
from ibaccept.parse.diags import BOM, SAVE_AS_UTF8, is_utf16
from ibaccept.transport.captures import CapturedResult
from ibaccept.transport.captures import load as load_bundle

_PORT_ROW = re.compile(r"^(?:SW|CA|RT)\s+\d+\s+\d+ 0x[0-9a-fA-F]+ ", re.MULTILINE)


_BLOCK = re.compile(r"^(?:Switch|Ca|Hca|Rt)\s+\d+\s+\"", re.MULTILINE)


_CABLE = re.compile(r"^\{ \S+ Ports:", re.MULTILINE)


_HEADER = re.compile(
    rb"^(?:(?P<ibdiagnet>osm_ucast_mgr_dump_ucast_routes: Switch )"
    rb"|(?P<fdbs>dump_ucast_routes: Switch )"
    rb"|(?P<lfts>Unicast lids \[\d+-\d+\] of switch Lid )"
    rb"|(?P<dump_fts>Unicast lids \[0x[0-9a-f]+-0x[0-9a-f]+\] of switch DR path )"
    rb"|(?P<ibroute>Unicast lids \[0x))",
    re.MULTILINE,
)


TOPOLOGIES = "ibnetdiscover, ibnetdiscover -p, or an .lst file of ibdiagnet or OpenSM"


TABLES = "dump_fts, ibroute, opensm-lfts.dump, opensm.fdbs or ibdiagnet's .fdbs"


@dataclass(frozen=True, slots=True)
class CapturedFabric:
    """A fabric from a file. ``notes``: what the file does not show, a sentence each."""

    fabric: Fabric
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CapturedTables:
    """Tables from files. ``notes``: what a reader must know of them, a sentence each."""

    tables: tuple[SwitchTable, ...]
    notes: tuple[str, ...]


def read_topology(path: Path) -> CapturedFabric:
    """The fabric in a captured file.

    Raises:
        InputError: not readable, not understood, or of no tool that shows a topology.
    """
    text = _read(path, "a topology").decode("utf-8", "surrogateescape")
    notes: list[str] = []
    try:
        if _CABLE.search(text):
            topology = ibdiagnet_lst.parse(text)
            notes.append(f"{path}: an .lst file does not show the LMC; it is taken to be 0")
        elif _PORT_ROW.search(text) and not _BLOCK.search(text):
            topology = ibnetdiscover.to_topology(ibnetdiscover.parse_ports(text))
            notes.append(
                f"{path}: ibnetdiscover -p does not show the LMC; it is taken to be 0, and every "
                "port of an HCA is a node of its own"
            )
        elif _BLOCK.search(text):
            topology = ibnetdiscover.parse(text)
        else:
            raise InputError(f"{path} shows no topology; give the output of {TOPOLOGIES}")
        fabric = assemble.to_fabric(topology)
        notes += [f"{path}: {gap}" for gap in assemble.gaps(topology)]
    except ParseError as error:
        raise InputError(f"{path}: {error}") from None
    return CapturedFabric(fabric, tuple(notes))


def read_tables(paths: Sequence[Path], stderr: Path | None = None) -> CapturedTables:
    """The forwarding tables in captured files; each switch in one of them.

    Args:
        paths: the files.
        stderr: what dump_fts or ibroute printed on standard error; it alone tells of failed reads.

    Raises:
        InputError: every file that is not readable or not understood, and every switch with two
            tables.
    """
    errors = "" if stderr is None else _read(stderr, "an output").decode("utf-8", "replace")
    found: dict[Guid, Path] = {}
    tables: list[SwitchTable] = []
    problems: list[str] = []
    for path in paths:
        try:
            read = _tables(_read(path, "a forwarding table"), path, errors)
        except ParseError as error:
            problems.append(f"{path}: {error}")
            continue
        except InputError as error:
            problems.append(str(error))
            continue
        for table in read:
            if table.guid in found:
                problems.append(
                    f"{table.label} ({table.guid}) has a table in {found[table.guid]} and another "
                    f"in {path}; give one of them"
                )
            found[table.guid] = path
        tables += read
    if problems:
        raise InputProblemsError(problems)
    notes: tuple[str, ...] = ()
    if stderr is None and any(table.tool == dump_fts.TOOL for table in tables):
        notes = (
            "dump_fts tells of failed reads on its standard error only; hand that in with "
            "--stderr=FILE to have such tables left out",
        )
    return CapturedTables(tuple(tables), notes)


def _tables(text: bytes, path: Path, stderr: str) -> tuple[SwitchTable, ...]:
    match = _HEADER.search(text)
    if match is None:
        raise InputError(f"{path} holds no forwarding table; give the output of {TABLES}")
    match match.lastgroup:
        case "ibdiagnet":
            return ibdiagnet_fdbs.parse(text)
        case "fdbs":
            return opensm_dump.parse_fdbs(text)
        case "lfts":
            return opensm_dump.parse_lfts(text)
        case "dump_fts":
            return dump_fts.parse(text, stderr)
        case _:
            return ibroute.parse(text, stderr)


def _read(path: Path, what: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if is_utf16(data[:512]):
        raise InputError(f"{path} is UTF-16 text; {SAVE_AS_UTF8}")
    data = data.removeprefix(BOM.encode())
    if not data.strip():
        raise InputError(f"{path} is empty; it should hold {what}")
    return data


def fabric_of(run_dir: Path) -> Fabric:
    """The fabric an earlier run saw, from its captures.

    Raises:
        IbacceptError: its bundle holds no whole sweep.
    """
    found: dict[str, CapturedResult] = {}
    for entry in load_bundle(run_dir):
        if isinstance(entry, CapturedResult) and entry.argv[0] in {"ibnetdiscover", "iblinkinfo"}:
            found.setdefault(entry.argv[0], entry)
    for tool in ("ibnetdiscover", "iblinkinfo"):
        if tool not in found or found[tool].exit_code != 0 or found[tool].problem() is not None:
            raise InputError(f"{run_dir} holds no whole output of {tool}; name another run")
    topology = ibnetdiscover.parse(found["ibnetdiscover"].text)
    fabric, _ = assemble.merge(topology, iblinkinfo.parse(found["iblinkinfo"].text).rows)
    return fabric

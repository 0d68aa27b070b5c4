"""``fio --output-format=json``: what each job read and wrote.

Source of the format: ``stat.c`` (``show_thread_status_json``, ``add_ddir_status_json``) and
``json.c`` of fio. fio 3 counts ``io_bytes`` in bytes and adds ``io_kbytes``; fio 2 prints KiB under
the same name. Messages of fio can stand before and after the object. Keys can repeat in the
percentiles of fio 2. With ``--group_reporting`` one entry stands for the jobs of a group; with
``--client`` the entries are in ``client_stats``, with a sum named ``All clients`` as the last.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ibaccept.parse import ParseError, ParseWarning

TOOL = "fio"

Direction = Literal["read", "write"]

_VERSION = re.compile(r"fio-(?P<major>\d+)\.\d+")
_KIB = 1 << 10
_BYTES_SINCE = 3
_SUM = "All clients"
_LIMIT = 1 << 64
"""fio counts in 64 bits."""
_TOLERANCE = 0.01
_SINGLE = frozenset(
    {"fio version", "jobs", "client_stats", "jobname", "groupid", "error", "read", "write"}
    | {"io_bytes", "io_kbytes", "bw", "bw_bytes", "runtime"}
)
"""Keys that are read here, so must not repeat."""


@dataclass(frozen=True, slots=True)
class IoResult:
    """What one job moved in one direction.

    Attributes:
        bytes: moved; more than 0.
        seconds: how long it took; of a group, its longest job.
    """

    bytes: int
    seconds: float

    @property
    def bytes_per_second(self) -> float:
        """Bytes by seconds."""
        return self.bytes / self.seconds


@dataclass(frozen=True, slots=True)
class FioJob:
    """One entry: a job, or with ``--group_reporting`` the jobs of a group.

    Attributes:
        name: ``jobname``.
        group: ``groupid``; groups run one after another.
        error: errno of the first failure, 0 = none.
        read: None where nothing was read: that is no measurement of 0.
        write: as ``read``.
        user_percent: CPU time in user space; None where it was not printed.
        system_percent: CPU time in the kernel.
        host: with ``--client``; None otherwise.
    """

    name: str
    group: int
    error: int
    read: IoResult | None
    write: IoResult | None
    user_percent: float | None = None
    system_percent: float | None = None
    host: str | None = None

    def moved(self, direction: Direction) -> IoResult | None:
        """What it read or wrote."""
        return self.read if direction == "read" else self.write


@dataclass(frozen=True, slots=True)
class FioRun:
    """One output.

    Attributes:
        version: ``fio-3.33``.
        jobs: in the file's order, without the sum over clients.
        warnings: lines before and after the JSON.
    """

    version: str
    jobs: tuple[FioJob, ...]
    warnings: tuple[ParseWarning, ...] = ()

    def total(self, direction: Direction) -> IoResult | None:
        """All jobs in one direction: their bytes over the time of the longest.

        None where no job moved anything in that direction.

        Raises:
            ParseError: a job ended with an error, a job moved nothing beside others that did, or
                the jobs are of several groups, which ran one after another.
        """
        if failed := [job for job in self.jobs if job.error]:
            job = failed[0]
            raise ParseError(
                TOOL,
                f"job {job.name} ended with error {job.error} ({len(failed)} of {len(self.jobs)} "
                "jobs failed), so its bandwidth is none; see fio's stderr on that host",
            )
        moved = [job.moved(direction) for job in self.jobs]
        found = [result for result in moved if result is not None]
        if not found:
            return None
        if len(found) < len(moved):
            idle = self.jobs[moved.index(None)].name
            raise ParseError(
                TOOL, f"job {idle} has moved nothing in the direction {direction}, others have"
            )
        if len({(job.host, job.group) for job in self.jobs}) > len({j.host for j in self.jobs}):
            raise ParseError(
                TOOL, "the jobs are of several groups, which ran one after another; run them apart"
            )
        return IoResult(sum(r.bytes for r in found), max(r.seconds for r in found))


def parse(text: str) -> FioRun:
    """Read an output.

    Raises:
        ParseError: no JSON object, a cut or second one, a key of a job missing, repeated or of
            the wrong type, a run too short to be timed, or bytes, time and bandwidth that do not
            agree.
    """
    found, warnings = _object(text)
    version = found.get("fio version")
    match = _VERSION.match(version) if isinstance(version, str) else None
    if match is None:
        raise ParseError(TOOL, "the JSON does not name fio's version: not the output of fio")
    entries = found.get("jobs", found.get("client_stats"))
    if not isinstance(entries, list) or not entries:
        raise ParseError(TOOL, "the JSON holds no jobs; see fio's stderr and exit code")
    in_kib = int(match["major"]) < _BYTES_SINCE
    jobs = tuple(
        _job(entry, in_kib=in_kib)
        for entry in entries
        if "jobs" in found or not isinstance(entry, dict) or entry.get("jobname") != _SUM
    )
    if not jobs:
        raise ParseError(TOOL, f"the JSON holds only the sum {_SUM!r}, no job")
    return FioRun(str(version), jobs, warnings)


def _object(text: str) -> tuple[dict[str, Any], tuple[ParseWarning, ...]]:
    """The JSON object of an output, and the lines around it."""
    lines = text.splitlines()
    start = re.search(r"^\{", text, re.MULTILINE)
    if start is None:
        raise ParseError(
            TOOL,
            "no JSON was printed; see its stderr and exit code",
            line=1 if lines else None,
            text=lines[0] if lines else "",
        )
    decoder = json.JSONDecoder(object_pairs_hook=_pairs)
    try:
        found, end = decoder.raw_decode(text, start.start())
    except json.JSONDecodeError as error:
        raise ParseError(
            TOOL,
            f"the JSON is cut or damaged ({error.msg}); run it again",
            line=error.lineno,
            text="".join(lines[error.lineno - 1 : error.lineno]),
        ) from None
    except RecursionError:
        raise ParseError(TOOL, "the JSON is nested too deeply to be fio's") from None
    except ValueError:  # Python converts 4300 digits at most
        raise ParseError(TOOL, "the JSON holds a number that is none of fio's") from None
    if re.search(r"^\{", text[end:], re.MULTILINE):
        raise ParseError(TOOL, "a second JSON object; one run at a time")
    before = enumerate(text[: start.start()].splitlines(), 1)
    after = enumerate(text[end:].splitlines(), text.count("\n", 0, end) + 1)
    around = [ParseWarning(n, line.strip()) for n, line in (*before, *after) if line.strip()]
    return dict(found), tuple(around)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and key in _SINGLE:
            raise ParseError(TOOL, f"the key {key!r} comes twice in one object")
        found[key] = value
    return found


def _job(entry: Any, *, in_kib: bool) -> FioJob:
    if not isinstance(entry, dict) or not isinstance(entry.get("jobname"), str):
        raise ParseError(TOOL, "a job without a jobname")
    name = entry["jobname"]
    host = entry.get("hostname")
    return FioJob(
        name,
        _count(name, entry, "groupid"),
        _count(name, entry, "error"),
        _moved(name, entry, "read", in_kib=in_kib),
        _moved(name, entry, "write", in_kib=in_kib),
        _percent(entry, "usr_cpu"),
        _percent(entry, "sys_cpu"),
        host if isinstance(host, str) else None,
    )


def _moved(
    name: str, entry: Mapping[str, Any], direction: Direction, *, in_kib: bool
) -> IoResult | None:
    part = entry.get(direction)
    if not isinstance(part, dict):
        raise ParseError(TOOL, f"job {name} has no {direction!r}; the JSON is not whole")
    printed, runtime, bandwidth = (
        _count(name, part, key, direction) for key in ("io_bytes", "runtime", "bw")
    )
    if in_kib == ("io_kbytes" in part):
        raise ParseError(
            TOOL, f"job {name}: io_bytes is not in the unit of this version, so it is not known"
        )
    if printed == 0:
        return None
    if runtime == 0:
        raise ParseError(
            TOOL, f"job {name} took less than a millisecond, so it was not timed; move more bytes"
        )
    result = IoResult(printed * (_KIB if in_kib else 1), runtime / 1000)
    # bw is printed in whole KiB/s
    slack = max(2 * _KIB, _TOLERANCE * result.bytes_per_second)
    if abs(result.bytes_per_second - bandwidth * _KIB) > slack:
        raise ParseError(
            TOOL,
            f"job {name}: {result.bytes} bytes in {runtime} ms are not the {direction} bandwidth "
            f"of {bandwidth} KiB/s that is printed",
        )
    return result


def _count(name: str, values: Mapping[str, Any], key: str, within: str = "") -> int:
    value = values.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _LIMIT:
        where = f"{within} {key}".strip()
        raise ParseError(TOOL, f"job {name}: {where} is {value!r}, not a count")
    return value


def _percent(entry: Mapping[str, Any], key: str) -> float | None:
    value = entry.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < _LIMIT:
        return None
    return float(value)

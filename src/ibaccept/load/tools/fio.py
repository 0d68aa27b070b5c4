"""``fio --output-format=json``: what one process group read and wrote.

Format: ``stat.c`` of fio 3; ``io_bytes`` and ``bw_bytes`` are bytes and bytes a second (before 3.0
``io_bytes`` was KiB and there was no ``bw_bytes``), ``runtime`` is milliseconds::

    "jobs" : [{ "jobname" : "x", "error" : 0, "read" : { "io_bytes" : 4096, "bw_bytes" : 409600,

Lines that are no JSON may stand before the object (``fio: ...`` notes).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ibaccept.parse import ParseError

TOOL = "fio"


@dataclass(frozen=True, slots=True)
class FioSide:
    """One direction of one job.

    Attributes:
        moved: bytes.
        rate: bytes a second over ``seconds``.
        seconds: of the job's own run time.
    """

    moved: int
    rate: float
    seconds: float


@dataclass(frozen=True, slots=True)
class FioJob:
    """One job (or group of jobs, with ``--group_reporting``); a side that moved nothing is None."""

    name: str
    error: int
    read: FioSide | None
    write: FioSide | None


@dataclass(frozen=True, slots=True)
class FioResult:
    """One output."""

    version: str
    jobs: tuple[FioJob, ...]


def parse(text: str) -> FioResult:
    """Read an output.

    Raises:
        ParseError: no JSON, cut, of fio before 3, or without a job.
    """
    start = text.find("{\n") if not text.startswith("{") else 0
    if start < 0:
        raise ParseError(TOOL, "no JSON was printed; see its stderr and exit code")
    try:
        data = json.loads(text[start:])
    except ValueError as error:
        line = text[:start].count("\n") + getattr(error, "lineno", 1)
        raise ParseError(TOOL, f"the JSON is cut or altered: {error}", line=line) from error
    try:
        jobs = tuple(_job(job) for job in data["jobs"])
        version = str(data["fio version"])
    except (KeyError, TypeError, ValueError) as error:
        raise ParseError(TOOL, f"the JSON lacks or misstates {error}; fio 3 is needed") from error
    if not jobs:
        raise ParseError(TOOL, "the JSON holds no job")
    return FioResult(version, jobs)


def _job(job: dict[str, Any]) -> FioJob:
    return FioJob(str(job["jobname"]), int(job["error"]), _side(job["read"]), _side(job["write"]))


def _side(side: dict[str, Any]) -> FioSide | None:
    moved, rate, milliseconds = side["io_bytes"], side["bw_bytes"], side["runtime"]
    if not moved:
        return None
    return FioSide(int(moved), float(rate), float(milliseconds) / 1000)

"""Stand-in for ``fio`` 3.33 where the path is on the lab's simulated file system.

Sequential reads or writes of one file a job, by size or by time, printed as JSON. Elsewhere the
lab runs the real fio. Files are made with their size, and hold nothing.
"""

from __future__ import annotations

import os
import sys
import time
from _signal import (  # type: ignore[import-not-found]  # no stubs; 'signal' imports much
    SIG_DFL,
    SIGINT,
    signal,
)

from .link import PlaneLink

VERSION = "fio-3.33"
MOUNT = "IBACCEPT_LAB_MOUNT"
SCRATCH = "IBACCEPT_LAB_SCRATCH"
"""Variable with the folder that stands behind the mount point."""

ERRORS = {"read-only": (30, "Read-only file system"), "full": (28, "No space left on device")}
UNSHOWN = frozenset({"output-format", "group_reporting", "output", "eta", "thread"})
"""Options that are not repeated in the output."""
PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
BUCKETS = {
    "latency_ns": (1, (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)),
    "latency_us": (1_000, (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)),
    "latency_ms": (1_000_000, (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000)),
}
"""Nanoseconds of the unit, and the upper bounds, of each table of latencies."""
DEPTHS = ("1", "2", "4", "8", "16", "32", ">=64")
SUBMITTED = ("0", "4", "8", "16", "32", "64", ">=64")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

Json = dict[str, "Json"] | list["Json"] | str | int | float


def size_of(text: str) -> int:
    """Bytes: ``64G``, ``1MiB``, ``4096``; a unit is 1024 of the one before.

    Raises:
        ValueError: not a size.
    """
    digits = text.rstrip("bBiIkKmMgGtT")
    return int(digits) * _UNITS[text[len(digits) :].lower().rstrip("ib")]


def printed(value: Json, indent: int = 0) -> str:
    """JSON as fio prints it."""
    pad, end = "  " * (indent + 1), "  " * indent
    if isinstance(value, dict):
        parts = [f'{pad}"{key}" : {printed(part, indent + 1)}' for key, part in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{end}}}"
    if isinstance(value, list):
        parts = [pad + printed(part, indent + 1) for part in value]
        return "[\n" + ",\n".join(parts) + f"\n{end}]"
    if isinstance(value, float):
        return f"{value:f}"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _spread(value: int, count: int) -> dict[str, Json]:
    return {"min": value, "max": value, "mean": float(value), "stddev": 0.0, "N": count}


def side(moved: int, milliseconds: int, block: int, latency: int) -> dict[str, Json]:
    """What fio says of one direction: bytes, rates, latencies."""
    count = moved // block
    seconds = milliseconds / 1000
    rate = int(moved / seconds) if seconds else 0
    iops = count / seconds if seconds else 0.0
    # fio samples every half second.
    samples = milliseconds // 500 if count else 0
    per = count // samples if samples else 0
    total: dict[str, Json] = _spread(latency, count) if count else _spread(0, 0)
    complete: dict[str, Json] = dict(total)
    if count:
        complete["percentile"] = {f"{p:f}": latency for p in PERCENTILES}
    shown = rate // 1024 if samples else 0
    return {
        "io_bytes": moved,
        "io_kbytes": moved // 1024,
        "bw_bytes": rate,
        "bw": rate // 1024,
        "iops": float(iops),
        "runtime": milliseconds if count else 0,
        "total_ios": count,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": _spread(0, 0),
        "clat_ns": complete,
        "lat_ns": total,
        "bw_min": shown,
        "bw_max": shown,
        "bw_agg": 100.0 if samples else 0.0,
        "bw_mean": float(shown),
        "bw_dev": 0.0,
        "bw_samples": samples,
        "iops_min": per * 2,
        "iops_max": per * 2,
        "iops_mean": float(per * 2),
        "iops_stddev": 0.0,
        "iops_samples": samples,
    }


def _tables(latency: int, depth: int) -> dict[str, Json]:
    """Queue depths and latencies, as shares in per cent."""
    found: dict[str, Json] = {}
    level = max(i for i, name in enumerate(DEPTHS) if depth >= int(name.lstrip(">=")))
    found["iodepth_level"] = {n: 100.0 if i == level else 0.0 for i, n in enumerate(DEPTHS)}
    for name in ("iodepth_submit", "iodepth_complete"):
        found[name] = {n: 100.0 if n == "4" else 0.0 for n in SUBMITTED}
    placed = False
    for name, (unit, bounds) in BUCKETS.items():
        table: dict[str, Json] = {}
        for bound in bounds:
            here = not placed and 0 < latency <= bound * unit
            table[str(bound)] = 100.0 if here else 0.0
            placed = placed or here
        if name == "latency_ms":
            table[">=2000"] = 100.0 if not placed and latency else 0.0
        found[name] = table
    return found


def job(
    given: dict[str, str], moved: int, milliseconds: int, error: int, number: int
) -> dict[str, Json]:
    """One entry of ``jobs``."""
    block = size_of(given.get("bs", "4096"))
    depth = int(given.get("iodepth", "1"))
    streams = depth * (int(given.get("numjobs", "1")) if "group_reporting" in given else 1)
    latency = int(milliseconds * 1e6 * streams * block / moved) if moved else 0
    read = given["rw"] == "read"
    sides = {
        name: side(moved if name == used else 0, milliseconds, block, latency)
        for name in ("read", "write", "trim")
        for used in (("read",) if read else ("write",))
    }
    found: dict[str, Json] = {
        "jobname": given["name"],
        "groupid": 0,
        "error": error,
        "eta": 2147483647,
        "elapsed": milliseconds // 1000 + 1,
        "job options": {key: value for key, value in given.items() if key not in UNSHOWN},
    }
    found |= sides
    found["sync"] = {"total_ios": 0, "lat_ns": _spread(0, 0)}
    found |= {
        "job_runtime": milliseconds,
        "usr_cpu": 1.0,
        "sys_cpu": 9.0,
        "ctx": moved // block,
        "majf": 0,
        "minf": 12 + number,
    }
    found |= _tables(latency, depth)
    found |= {
        "latency_depth": depth,
        "latency_target": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
    }
    return found


def report(given: dict[str, str], moved: int, seconds: float, error: int) -> str:
    """The whole output."""
    now = time.time()
    jobs = int(given.get("numjobs", "1"))
    shown = 1 if "group_reporting" in given else jobs
    milliseconds = max(1, round(seconds * 1000))
    entries: list[Json] = [
        job(given, moved // shown, milliseconds, error, number) for number in range(shown)
    ]
    value: dict[str, Json] = {
        "fio version": VERSION,
        "timestamp": int(now),
        "timestamp_ms": int(now * 1000),
        "time": time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(now)),
        "jobs": entries,
    }
    return printed(value) + "\n"


def folder_of(given: dict[str, str]) -> str:
    """The folder behind ``directory``."""
    return os.environ[SCRATCH] + given["directory"][len(os.environ[MOUNT]) :]


def lay_out(folder: str, given: dict[str, str]) -> None:
    """Make the files of all jobs, with their size.

    Raises:
        OSError: they cannot be made.
    """
    for number in range(int(given.get("numjobs", "1"))):
        path = f"{folder}/{given['name']}.{number}.0"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        os.ftruncate(descriptor, size_of(given["size"]))
        os.close(descriptor)


def options(argv: list[str]) -> dict[str, str]:
    """``--name=value`` options in their order; a flag is ``1``."""
    found: dict[str, str] = {}
    for word in argv:
        name, equals, value = word.lstrip("-").partition("=")
        found[name] = value if equals else "1"
    return found


def main() -> int:
    """Run; returns the exit code."""
    signal(SIGINT, SIG_DFL)
    given = options(sys.argv[1:])
    wanted = {"name", "directory", "size"} - given.keys()
    unfit = given.get("output-format") != "json" or given.get("rw") not in {"read", "write"}
    if wanted or unfit:
        sys.stderr.write(
            "the fio of the ibaccept lab needs --name, --directory, --size, --rw=read or write and "
            "--output-format=json on the simulated file system\n"
        )
        return 1
    folder = folder_of(given)
    if not os.path.isdir(folder):  # noqa: PTH112 - pathlib imports much
        sys.stderr.write(
            f"fio: {given['directory']} is not a directory\n"
            f"fio: failed parsing directory={given['directory']}\n"
        )
        return 1
    total = size_of(given["size"]) * int(given.get("numjobs", "1"))
    timed = "time_based" in given
    limit = given.get("runtime", "0").rstrip("s")
    request = (given["rw"], 0 if timed else total, limit)
    end = PlaneLink().ask("file", os.getpid(), "fio", *request)
    if end[0] == "error":
        number, text = ERRORS[end[1]]
        name = f"{given['directory']}/{given['name']}.0.0"
        sys.stderr.write(
            f"fio: io_u error on file {name}: {text}: write offset=0, "
            f"buflen={size_of(given.get('bs', '4096'))}\n"
        )
        sys.stdout.write(
            f"fio: pid={os.getpid()}, err={number}/file:io_u.c:1876, func=io_u error, "
            f"error={text}\n" + report(given, 0, 0.0, number)
        )
        return 1
    lay_out(folder, given)
    sys.stdout.write(report(given, int(end[1]), float(end[2]), 0))
    return 0

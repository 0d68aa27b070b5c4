"""Writes every report of a run into its folder, whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from ibaccept.errors import IbacceptError
from ibaccept.report import allure, html, json_report, junit, punchlist
from ibaccept.report.meta import RunMeta
from ibaccept.verdict import Verdict
from ibaccept.verdict.answer import NotRun, Result, overall

LATEST = "latest"


def write_atomic(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the new one, never half of one."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        # mkstemp makes files for their owner alone; a report follows the umask.
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """The umask, read without changing it for other threads where Linux tells it."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0o022
    found = re.search(r"^Umask:\s+([0-7]+)", status, re.MULTILINE)
    return int(found.group(1), 8) if found else 0o022


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Replace a folder by one that holds these files and nothing else."""
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for name, text in files.items():
            (fresh / name).write_text(text, encoding="utf-8", newline="")
        fresh.chmod(0o777 & ~_umask())
        if folder.exists():
            stale = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
            folder.replace(stale)
            fresh.replace(folder)
            shutil.rmtree(stale)
        else:
            fresh.replace(folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def point_latest(run_dir: Path) -> None:
    """Make ``latest`` beside the run's folder a relative link to it.

    The run whose reports were written last is the latest. Names are not compared: they hold
    the time of their machine's clock, which may have been wrong.

    Raises:
        IbacceptError: ``latest`` is no link, or the file system has none.
    """
    link = run_dir.parent / LATEST
    if link.exists() and not link.is_symlink():
        raise IbacceptError(f"{link} is not a link, so it was left alone; move it away")
    holder: Path | None = None
    try:
        holder = Path(tempfile.mkdtemp(prefix=f".{LATEST}.", dir=run_dir.parent))
        (holder / LATEST).symlink_to(run_dir.name, target_is_directory=True)
        (holder / LATEST).replace(link)
    except OSError as error:
        raise IbacceptError(
            f"{link} could not be pointed to {run_dir.name} ({error.strerror}); "
            "the reports themselves are written"
        ) from error
    finally:
        if holder is not None:
            shutil.rmtree(holder, ignore_errors=True)


def _still(run_dir: Path) -> str:
    """Which run ``latest`` goes on to be, where it is another."""
    link = run_dir.parent / LATEST
    other = link.readlink().name if link.is_symlink() else ""
    return f", {link} is still {other}" if other not in ("", run_dir.name) else ""


def write_all(
    run_dir: Path,
    verdicts: Iterable[Verdict],
    meta: RunMeta,
    not_run: Mapping[str, NotRun],
) -> Result:
    """Write verdicts.json, junit.xml, allure-results/, index.html and punchlist.csv.

    verdicts.json comes first: from it all others can be written again.

    Raises:
        IbacceptError: a file could not be written; or all are written but ``latest`` could not
            be pointed to them.
    """
    verdicts = tuple(verdicts)
    result = overall(verdicts, not_run)
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        write_atomic(run_dir / json_report.VERDICTS, json_report.render(verdicts, meta, result))
        write_atomic(run_dir / "junit.xml", junit.render(verdicts, meta, result))
        write_atomic(run_dir / "index.html", html.render(verdicts, meta, result))
        write_atomic(run_dir / "punchlist.csv", punchlist.render(verdicts))
        write_folder(run_dir / "allure-results", allure.render(verdicts, meta, result))
    except OSError as error:
        raise IbacceptError(
            f"the reports could not be written to {run_dir} ({error.strerror}){_still(run_dir)}; "
            "free space or permissions, then judge the bundle again with --replay"
        ) from error
    point_latest(run_dir)
    return result

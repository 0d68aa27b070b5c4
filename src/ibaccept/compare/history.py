"""What became of each entry over many runs: an SQLite file beside the runs.

The file holds nothing that verdicts.json does not: it can be deleted and made again from the
folders of the runs. It never decides anything, so a run is not lost when it cannot be written.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ibaccept.errors import IbacceptError
from ibaccept.report.json_report import VERDICTS, VerdictsDocument, load_document
from ibaccept.verdict.answer import outcome_of

FILE = "history.sqlite"

VERSION = 1
"""Of the tables; ``PRAGMA user_version``. 0 is a file that was just made."""

PATIENCE = 5.0
"""Seconds to wait for another run that writes."""

_TABLES = """
CREATE TABLE runs (
    run TEXT PRIMARY KEY, fabric TEXT NOT NULL, started TEXT NOT NULL, result TEXT NOT NULL,
    replayed TEXT NOT NULL, job TEXT NOT NULL);
CREATE TABLE outcomes (
    run TEXT NOT NULL REFERENCES runs (run) ON DELETE CASCADE, entry TEXT NOT NULL,
    outcome TEXT NOT NULL, sentence TEXT NOT NULL, judged INTEGER, of INTEGER,
    PRIMARY KEY (run, entry));
"""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run. ``replayed`` is empty unless captures of another run were judged again."""

    run: str
    fabric: str
    started: str
    result: str
    replayed: str


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """One entry in one run; ``judged`` of ``of`` items, None where it did not run."""

    run: str
    started: str
    outcome: str
    sentence: str
    judged: int | None
    of: int | None
    replayed: str


def _why(file: Path, error: sqlite3.Error) -> IbacceptError:
    return IbacceptError(
        f"{file} cannot be used ({error}); move it away and make it again with "
        "'ibaccept history --rebuild'"
    )


@contextlib.contextmanager
def _opened(file: Path, *, write: bool) -> Iterator[sqlite3.Connection]:
    """The database, with its tables; what was written is kept only where all went well.

    Raises:
        IbacceptError: it is locked, damaged or of another version, or cannot be written.
    """
    mode = "rwc" if write else "ro"
    try:
        with contextlib.closing(
            sqlite3.connect(f"{file.absolute().as_uri()}?mode={mode}", uri=True, timeout=PATIENCE)
        ) as database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if write and version == 0:
                database.executescript(f"{_TABLES} PRAGMA user_version = {VERSION};")
            elif version != VERSION:
                raise sqlite3.DatabaseError(f"its tables are of version {version}, not {VERSION}")
            database.execute("PRAGMA foreign_keys = ON")
            with database:
                yield database
    except sqlite3.Error as error:
        raise _why(file, error) from error


def record(reports: Path, document: VerdictsDocument) -> None:
    """Add a finished run, or replace it where it is there.

    Args:
        reports: folder that holds the runs, and the history.
        document: of the run.

    Raises:
        IbacceptError: the history cannot be written; the run itself is complete.
    """
    with _opened(reports / FILE, write=True) as database:
        _insert(database, document)


def _insert(database: sqlite3.Connection, document: VerdictsDocument) -> None:
    run = document.run
    database.execute("DELETE FROM runs WHERE run = ?", (run,))
    database.execute(
        "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)",
        (
            *(run, _text(document.fabric), document.started, str(document.result)),
            *(document.replayed, _text(document.job)),
        ),
    )
    rows: list[tuple[str, str, str, str, int | None, int | None]] = [
        (
            *(run, _text(verdict.id), str(outcome_of(verdict)), _text(verdict.sentence)),
            *(verdict.coverage.judged, verdict.coverage.of),
        )
        for verdict in document.verdicts
    ]
    rows += [
        (run, _text(entry), "not run", _text(left.reason), None, None)
        for entry, left in document.not_run.items()
    ]
    database.executemany("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?, ?, ?)", rows)


def _text(text: str) -> str:
    """Text that SQLite can hold: bytes that were not UTF-8 are spelt out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def rebuild(reports: Path) -> tuple[int, tuple[str, ...]]:
    """Make the history again from the folders of the runs.

    Returns:
        Number of runs, and why others were left out, a sentence each.

    Raises:
        IbacceptError: the history cannot be written.
    """
    file, fresh = reports / FILE, reports / f".{FILE}.new"
    left, number = [], 0
    fresh.unlink(missing_ok=True)
    try:
        with _opened(fresh, write=True) as database:
            for path in sorted(reports.glob(f"*/{VERDICTS}")):
                if path.parent.is_symlink():
                    continue
                try:
                    _insert(database, load_document(path))
                except IbacceptError as error:
                    left.append(str(error))
                else:
                    number += 1
        fresh.replace(file)
    except OSError as error:
        raise IbacceptError(f"{file} cannot be written: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
    return number, tuple(left)


def runs(reports: Path) -> tuple[RunRow, ...]:
    """Every run, the oldest first.

    Raises:
        IbacceptError: there is no history, or it cannot be read.
    """
    with _opened(reports / FILE, write=False) as database:
        found = database.execute(
            "SELECT run, fabric, started, result, replayed FROM runs ORDER BY started, run"
        ).fetchall()
    return tuple(RunRow(*row) for row in found)


def outcomes(reports: Path, entry: str) -> tuple[OutcomeRow, ...]:
    """What became of one entry in every run that had it, the oldest first.

    Args:
        reports: see ``record``.
        entry: id of the entry; with ``each: cable`` of all its cables, or ``ENTRY:CABLE``.

    Raises:
        IbacceptError: there is no history, or it cannot be read.
    """
    with _opened(reports / FILE, write=False) as database:
        found = database.execute(
            "SELECT run, started, outcome, sentence, judged, of, replayed "
            "FROM outcomes JOIN runs USING (run) "
            "WHERE entry = ?1 OR substr(entry, 1, length(?1) + 1) = ?1 || ':' "
            "ORDER BY started, run, entry",
            (entry,),
        ).fetchall()
    return tuple(OutcomeRow(*row) for row in found)


def entries(reports: Path) -> tuple[str, ...]:
    """Ids of all entries of all runs.

    Raises:
        IbacceptError: there is no history, or it cannot be read.
    """
    with _opened(reports / FILE, write=False) as database:
        found = database.execute("SELECT DISTINCT entry FROM outcomes ORDER BY entry").fetchall()
    return tuple(row[0] for row in found)

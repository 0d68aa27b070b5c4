"""The captures of a run: every command's raw output, on disk before anybody parses it.

``captures/index.jsonl`` holds one JSON object a line, in the order of ``seq``; the raw streams are
beside it, ``0003-iblinkinfo.txt`` and, where stderr was not empty, ``0003-iblinkinfo.err``.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any

from ibaccept.errors import IbacceptError
from ibaccept.transport import Argv, CommandResult, TransportError

CAPTURES = "captures"
INDEX = "index.jsonl"
SCHEMA = 1

_FLAGS = ("timed_out", "lost", "truncated", "missing", "sudo_refused")


class BundleError(IbacceptError):
    """A bundle is incomplete or was changed; nothing of it is judged."""


@dataclass(frozen=True, slots=True)
class CapturedResult(CommandResult):
    """A result with the place of its streams in the run's folder.

    Attributes:
        seq: number in the bundle, from 1.
        label: what the caller was doing: ``before load``.
        stdout_file: relative to the run's folder: ``captures/0003-iblinkinfo.txt``.
        stderr_file: as ``stdout_file``; None where stderr was empty.
        sent: seconds since the epoch on our clock, just before it was sent (or released, where it
            was held); None in bundles that do not say.
        received: on our clock, just after its result came.
        order: commands that were not waited for are numbered as they were started, from 1.
        moves: commands started and released before this one was seen to have ended.
    """

    seq: int = 0
    label: str = ""
    stdout_file: str = ""
    stderr_file: str | None = None
    sent: float | None = None
    received: float | None = None
    order: int | None = None
    moves: int | None = None


@dataclass(frozen=True, slots=True)
class CapturedError:
    """A host that could not be used for a command.

    Attributes:
        error: what was raised, and is raised again by a replay.
    """

    host: str
    argv: Argv
    error: TransportError
    seq: int
    label: str = ""
    order: int | None = None
    moves: int | None = None


Entry = CapturedResult | CapturedError


class Bundle:
    """Writes the captures of one run. Safe for threads, and for several processes of one run."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self._folder = run_dir / CAPTURES
        self._folder.mkdir(parents=True, exist_ok=True)
        self._index = self._folder / INDEX
        self._lock = threading.Lock()

    def record(
        self,
        result: CommandResult,
        label: str = "",
        *,
        sent: float | None = None,
        received: float | None = None,
        order: int | None = None,
        moves: int | None = None,
    ) -> CapturedResult:
        """Write a result; it is on disk when this returns. For the rest see ``CapturedResult``.

        Raises:
            BundleError: it cannot be written; nothing of it stays.
        """
        with self._open_index() as (index, seq):
            stem = f"{seq:04d}-{_file_name(result.tool)}"
            stderr = f"{stem}.err" if result.stderr else None
            self._write(f"{stem}.txt", result.stdout)
            if stderr is not None:
                self._write(stderr, result.stderr)
            _append(
                index,
                {
                    "schema": SCHEMA,
                    "seq": seq,
                    "label": label,
                    "host": result.host,
                    "argv": list(result.argv),
                    "start": result.start,
                    "end": result.end,
                    "exit_code": result.exit_code,
                    "signal": result.signal,
                    **{flag: getattr(result, flag) for flag in _FLAGS},
                    "stdout": f"{stem}.txt",
                    "stdout_sha256": hashlib.sha256(result.stdout).hexdigest(),
                    "stderr": stderr,
                    "stderr_sha256": hashlib.sha256(result.stderr).hexdigest(),
                    "sent": sent,
                    "received": received,
                    "order": order,
                    "moves": moves,
                },
            )
        own = {field.name: getattr(result, field.name) for field in fields(CommandResult)}
        return CapturedResult(
            **own,
            seq=seq,
            label=label,
            stdout_file=f"{CAPTURES}/{stem}.txt",
            stderr_file=None if stderr is None else f"{CAPTURES}/{stderr}",
            sent=sent,
            received=received,
            order=order,
            moves=moves,
        )

    def record_error(
        self,
        argv: Sequence[str],
        error: TransportError,
        label: str = "",
        *,
        order: int | None = None,
        moves: int | None = None,
    ) -> None:
        """Write that a host could not be used for a command.

        Raises:
            BundleError: as ``record``.
        """
        with self._open_index() as (index, seq):
            _append(
                index,
                {
                    "schema": SCHEMA,
                    "seq": seq,
                    "label": label,
                    "host": error.host,
                    "argv": list(argv),
                    "order": order,
                    "moves": moves,
                    "error": {
                        "step": error.step,
                        "message": str(error).removeprefix(f"{error.host}: "),
                    },
                },
            )

    @contextmanager
    def _open_index(self) -> Iterator[tuple[IO[bytes], int]]:
        """The index, locked, and the next free number."""
        try:
            with self._lock, self._index.open("a+b") as index:
                fcntl.flock(index, fcntl.LOCK_EX)
                index.seek(0)
                yield index, sum(1 for _ in index) + 1
        except OSError as error:
            raise BundleError(
                f"{self._folder} cannot be written ({error.strerror or error}), and nothing is "
                "judged that is not kept there; make room, then run it again"
            ) from error

    def _write(self, name: str, data: bytes) -> None:
        """Write a file whole or not at all: what is left of one would be in the next one's way."""
        path = self._folder / name
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            _write_all(file, data)
        except OSError:
            with suppress(OSError):
                path.unlink()
            raise
        finally:
            os.close(file)


def _append(index: IO[bytes], entry: dict[str, Any]) -> None:
    """Write a line whole or not at all: half a line would make the bundle unreadable."""
    size = index.seek(0, os.SEEK_END)
    try:
        _write_all(index.fileno(), json.dumps(entry).encode() + b"\n")
    except OSError:
        os.ftruncate(index.fileno(), size)
        raise


def _write_all(file: int, data: bytes) -> None:
    """Write to a file descriptor, past every buffer of ours: what fails must not be tried again."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
    os.fsync(file)


def _file_name(command: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.+-]", "_", command.rsplit("/", 1)[-1])[:64] or "command"


def load(run_dir: Path) -> list[Entry]:
    """Read a bundle back, in the order of ``seq``. Nothing outside its folder is opened.

    Raises:
        BundleError: there is none, a line is cut or says what cannot be, or a file is missing, is
            a link or was changed.
    """
    folder = run_dir / CAPTURES
    index = folder / INDEX
    if folder.is_symlink():
        raise BundleError(f"{folder} is a link; nothing outside the folder of a run is read")
    try:
        lines = _read(index).split(b"\n")
    except OSError as error:
        raise BundleError(
            f"{run_dir} holds no captures ({index} cannot be read: {error.strerror}); "
            "name the folder of a run"
        ) from error
    if lines.pop():
        raise BundleError(
            f"{index} ends within line {len(lines) + 1}: the run was cut while it wrote; "
            "its captures are not complete"
        )
    entries = [
        _entry(run_dir, _decode(line, f"{index}:{number}"), f"{index}:{number}")
        for number, line in enumerate(lines, 1)
    ]
    for number, entry in enumerate(entries, 1):
        if entry.seq != number:
            raise BundleError(
                f"{index}:{number} has number {entry.seq}, expected {number}: a line is missing "
                "or was added"
            )
    return entries


def _read(file: Path) -> bytes:
    """A regular file of the bundle: no link, no device, no pipe that blocks.

    Raises:
        OSError: it cannot be read.
    """
    number = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(number, "rb") as opened:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return opened.read()


def _decode(line: bytes, where: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        raise BundleError(f"{where} is not JSON") from None
    if not isinstance(entry, dict) or entry.get("schema") != SCHEMA:
        raise BundleError(f"{where} is not of schema {SCHEMA}; another version wrote this bundle")
    return entry


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_number(value: object) -> bool:
    """A count that a run can reach; True is no number here."""
    return type(value) is int and 1 <= value <= _MOST


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MOST


def _is_time(value: object) -> bool:
    """Seconds since the epoch; JSON of Python knows NaN and Infinity, too."""
    return type(value) in {int, float} and 0 <= float(str(value)) <= _LATEST


def _or_none(holds: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or holds(value)


def _is_argv(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_text(word) for word in value)


def _is_file(value: object) -> bool:
    return (
        isinstance(value, str)
        and re.fullmatch(r"\d{1,12}-[A-Za-z0-9_.+-]{1,72}", value) is not None
    )


_FILE = re.compile(r"[0-9]{1,12}-[A-Za-z0-9_.+-]{1,72}")
_MOST = 10**12
_LATEST = 1e12

_BOTH: dict[str, Callable[[object], bool]] = {
    "seq": _is_number,
    "label": _is_text,
    "host": _is_text,
    "argv": _is_argv,
}
_OF_RESULT: dict[str, Callable[[object], bool]] = {
    "start": _or_none(_is_time),
    "end": _or_none(_is_time),
    "exit_code": _or_none(lambda value: type(value) is int and 0 <= value <= 0xFF),  # noqa: PLR2004 - one byte
    "signal": _or_none(_is_text),
    **dict.fromkeys(_FLAGS, lambda value: isinstance(value, bool)),
    "stdout": _is_file,
    "stdout_sha256": _is_text,
    "stderr": _or_none(_is_file),
    "stderr_sha256": _is_text,
}
_LATER: dict[str, Callable[[object], bool]] = {
    "sent": _or_none(_is_time),
    "received": _or_none(_is_time),
    "order": _or_none(_is_number),
    "moves": _or_none(_is_count),
}
"""Not in bundles of older versions; None there."""


def _check(entry: dict[str, Any], where: str) -> None:
    """Refuse a line that holds what this module does not write.

    Raises:
        BundleError: a key is missing, or its value is of another kind.
    """
    error = entry.get("error")
    wanted = _BOTH if error is not None else _BOTH | _OF_RESULT
    for key, holds in wanted.items():
        if key not in entry or not holds(entry[key]):
            raise BundleError(f"{where} lacks or misstates {key!r}")
    for key, holds in _LATER.items():
        if not holds(entry.get(key)):
            raise BundleError(f"{where} misstates {key!r}")
    if error is not None and not (
        isinstance(error, dict) and _is_text(error.get("step")) and _is_text(error.get("message"))
    ):
        raise BundleError(f"{where} misstates 'error'")


def _entry(run_dir: Path, entry: dict[str, Any], where: str) -> Entry:
    _check(entry, where)
    host, argv = entry["host"], tuple(entry["argv"])
    error, order, moves = entry.get("error"), entry.get("order"), entry.get("moves")
    if error is not None:
        raised = TransportError(host, error["step"], error["message"])
        return CapturedError(host, argv, raised, entry["seq"], entry["label"], order, moves)
    stderr = entry["stderr"]
    return CapturedResult(
        host,
        argv,
        _stream(run_dir, entry["stdout"], entry["stdout_sha256"], where),
        _stream(run_dir, stderr, entry["stderr_sha256"], where),
        entry["exit_code"],
        signal=entry["signal"],
        start=entry["start"],
        end=entry["end"],
        **{flag: entry[flag] for flag in _FLAGS},
        seq=entry["seq"],
        label=entry["label"],
        stdout_file=f"{CAPTURES}/{entry['stdout']}",
        stderr_file=None if stderr is None else f"{CAPTURES}/{stderr}",
        sent=entry.get("sent"),
        received=entry.get("received"),
        order=order,
        moves=moves,
    )


def _stream(run_dir: Path, name: str | None, sha256: str, where: str) -> bytes:
    file = run_dir / CAPTURES / (name or "")
    try:
        data = b"" if name is None else _read(file)
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise BundleError(
            f"{file} cannot be read ({why}) and {where} names it; the bundle is not complete"
        ) from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise BundleError(
            f"{file} was changed after it was captured: its sha256 is not the one in {where}"
        )
    return data

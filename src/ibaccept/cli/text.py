"""How the sub-commands speak: results on standard output, all else on standard error."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from ibaccept.errors import InputError
from ibaccept.fabric.harmless import clean

DONE, ANSWER_NO, NOT_SEEN, REFUSED, INTERRUPTED = 0, 1, 3, 4, 130
"""Exit codes."""


def say(line: str = "") -> None:
    """A line of the result."""
    sys.stdout.write(f"{line}\n")


def complain(what: object) -> None:
    """Sentences for the terminal, a line each."""
    for line in str(what).splitlines():
        sys.stderr.write(f"ibaccept: {clean(line)}\n")
    sys.stderr.flush()


def write_file(path: Path, text: str) -> None:
    """Write a file that an option names.

    Raises:
        InputError: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def columns(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """Rows as aligned columns two blanks apart; those of ``right`` are right aligned."""
    if not rows:
        return []
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def command_line(words: Sequence[object]) -> str:
    """A command to paste; an option ``--x=VALUE`` is quoted in its value only."""
    quoted = []
    for word in map(str, words):
        head, equals, value = word.partition("=")
        if head.startswith("--") and equals:
            quoted.append(f"{head}={shlex.quote(value)}")
        else:
            quoted.append(shlex.quote(word))
    return " ".join(quoted)

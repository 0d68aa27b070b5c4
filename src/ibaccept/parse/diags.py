"""What the tools of infiniband-diags have in common: lines, rows with dots, error texts.

The dotted rows come from libibmad (``fields.c``, ``_mad_dump_field``): name, colon, and dots up
to column 33. Errors: ``IBEXIT`` prints ``tool: iberror: failed: ...`` (to stdout), ``IBPANIC``
``ibpanic: [pid] ...`` and ``IBWARN`` ``ibwarn: [pid] function: ...``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ibaccept.parse import ParseError

ROW = re.compile(r"(?P<key>[^:]+):(?P<dots>\.*)(?P<value>.*)\Z")
"""A dotted row: ``LinkWidthActive:.................4X``."""

_ERROR = re.compile(r"(?:[\w./-]+: )?(?:iberror|ibpanic|IBPANIC|IBERROR): ")
LONGEST_LINE = 4096
"""Characters of a line. Of the tools of infiniband-diags none prints more than some 400; a node's
description has 64."""

_OVERLONG = re.compile(rf"[^\n]{{{LONGEST_LINE + 1}}}")
_DIGITS = re.compile(r"\d{65}")
"""More digits than any field holds; the longest text field, a node's description, has 64."""
_NOISE = re.compile(r"(?:ibwarn: \[\d+\] |\S+\.c:\d+; )")


_TROUBLE = re.compile(
    r"ibwarn|iberror|ibpanic|umad|query_smp|bad status|timed? ?out|failed|error", re.IGNORECASE
)
_ROUTE = re.compile(r"DR path slid \d+; dlid \d+; 0((?:,\d{1,3})+)")
_PROCESS = re.compile(r"\[\d+\] ?")


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """A line of a sweep's standard error.

    Attributes:
        line: 1-based number.
        text: as printed, without edge blanks.
        message: the same without the number of the process, which differs from run to run.
        failed: the line says that a query got no answer.
        route: output ports of the directed route it names, hop by hop from the sweep's own node;
            empty where it names none.
    """

    line: int
    text: str
    message: str
    failed: bool
    route: tuple[int, ...] = ()


def error_lines(text: str) -> tuple[ErrorLine, ...]:
    """The lines of a standard error that are not blank.

    ``src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1,13 Attr 0x11:0) bad status 110;
    Connection timed out``. Never raises.
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not (words := line.strip()):
            continue
        route = _ROUTE.search(words)
        hops = () if route is None else tuple(map(int, route[1].split(",")[1:]))
        message, failed = _PROCESS.sub("", words), _TROUBLE.search(words) is not None
        found.append(ErrorLine(number, words, message, failed, hops if failed else ()))
    return tuple(found)


def is_error(line: str) -> bool:
    """True for the line a tool prints when it gives up."""
    return _ERROR.match(line) is not None


def is_noise(line: str) -> bool:
    """True for a warning of the MAD libraries that can stand between good lines.

    ``ibwarn: [pid] ...`` and ``src/query_smp.c:199; umad (...) bad status 110; ...``.
    """
    return _NOISE.match(line) is not None


def refuse_overlong(tool: str, text: str) -> None:
    """Refuse a line or a number that no tool prints, before any pattern meets it.

    Some patterns need time by the square of a line's length; Python converts 4300 digits at most,
    and has no finite float of more than 309.

    Raises:
        ParseError: a line, or a number, is longer than any of an output can be.
    """
    if found := _OVERLONG.search(text):
        number = text.count("\n", 0, found.start()) + 1
        raise ParseError(
            tool,
            f"a line of more than {LONGEST_LINE:,} characters: no tool prints such a line",
            line=number,
            text=found[0][:200],
        )
    if found := _DIGITS.search(text):
        number = text.count("\n", 0, found.start()) + 1
        line = text.split("\n")[number - 1]
        raise ParseError(tool, "no such number can be", line=number, text=line)


def bounded(value: str | int, allowed: range, what: str) -> int:
    """A number that its field can hold: what is built from it is bounded then.

    Raises:
        ValueError: it is outside the range; ``what`` names the field, ``a port number``.
    """
    number = int(value)
    if number not in allowed:
        raise ValueError(f"{number} is not {what} ({allowed[0]} to {allowed[-1]})")
    return number


def numbered(tool: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of an output with their 1-based numbers, without line ends.

    Raises:
        ParseError: nothing was printed, the tool says that it failed, a number is longer than any
            can be, or the last line has no line end. Every tool ends each line, so such a line is
            cut and its number may lack digits.
    """
    if not text.strip():
        raise ParseError(
            tool, "nothing was printed; its stderr and exit code say why, then run it again"
        )
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    for number, line in enumerate(lines, 1):
        if is_error(line):
            raise ParseError(
                tool,
                "the tool says that it failed, so nothing it printed can be used; "
                "run it by hand with the same arguments to see why",
                line=number,
                text=line,
            )
    refuse_overlong(tool, text)
    if lines[-1]:
        raise ParseError(
            tool,
            "the last line is cut (no line end); run it again",
            line=len(lines),
            text=lines[-1],
        )
    yield from enumerate(lines[:-1], 1)

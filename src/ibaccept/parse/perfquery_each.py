"""The outputs of perfquery for many switches, one after the other, with the time of each.

Source of the format: the script of ``commands.PERFQUERY_EACH``::

    # ibaccept begin 59 1796056934.185959300
    # Port extended counters: Lid 59 port 1 (CapMask: 0x5A00 CapMask2: 0x0000000)
    ...
    # ibaccept end 59 0 1796056934.190123400

Times are of the host that reads, in whole seconds where its ``date`` knows no ``%N``; the number
before the last is perfquery's exit code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ibaccept.parse import ParseError

TOOL = "perfquery"

_MARK = "# ibaccept "
_TIME = r"(?P<time>\d{1,12}(?:\.\d{0,9})?)(?:%?N)?"
_BEGIN = re.compile(rf"# ibaccept begin (?P<lid>\d{{1,5}}) {_TIME}\s*\Z")
_END = re.compile(rf"# ibaccept end (?P<lid>\d{{1,5}}) (?P<code>\d{{1,3}}) {_TIME}\s*\Z")


@dataclass(frozen=True, slots=True)
class Each:
    """What perfquery printed of one LID.

    Attributes:
        exit_code: None where the output ends before it: perfquery was ended.
        start: seconds since the epoch.
        end: likewise; None as ``exit_code``.
        text: stdout and stderr.
        line: number of the first line of ``text`` in the whole output.
    """

    lid: int
    exit_code: int | None
    start: float
    end: float | None
    text: str
    line: int


def parse(text: str) -> tuple[Each, ...]:
    """Split an output by LID.

    Raises:
        ParseError: nothing was printed, a line outside the marks, or marks that do not follow each
            other. What perfquery printed is not looked at.
    """
    found: list[Each] = []
    begun: re.Match[str] | None = None
    first, lines = 0, list[str]()
    if not text.strip():
        raise ParseError(TOOL, "nothing was printed; see its stderr and exit code")
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        if not line.startswith(_MARK) and begun is not None:
            lines.append(line)
            continue
        begin, end = _BEGIN.match(line), _END.match(line)
        if begun is None and begin is not None:
            begun, first, lines = begin, number + 1, []
        elif begun is not None and end is not None and end["lid"] == begun["lid"]:
            found.append(_each(begun, end, lines, first))
            begun = None
        else:
            raise ParseError(
                TOOL, "not where its marks 'begin LID' and 'end LID' are", line=number, text=line
            )
    if begun is not None:
        found.append(_each(begun, None, lines, first))
    return tuple(found)


def _step(time: str) -> float:
    """Seconds by which a time can be later than printed."""
    return 0.0 if time.partition(".")[2] else 1.0


def _each(begun: re.Match[str], end: re.Match[str] | None, lines: list[str], first: int) -> Each:
    return Each(
        int(begun["lid"]),
        None if end is None else int(end["code"]),
        float(begun["time"]),
        None if end is None else float(end["time"]) + _step(end["time"]),
        "".join(f"{line}\n" for line in lines),
        first,
    )

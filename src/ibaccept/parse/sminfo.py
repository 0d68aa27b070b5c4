"""The subnet manager that ``sminfo`` or ``sminfo LID`` reached.

Source of the format: ``sminfo.c``::

    sminfo: sm lid 37 sm guid 0x7cfe90030016aef1, activity count 4484381 priority 14 state 3 ...

Old versions print the LID in hexadecimal and no state. The tool exits with 255, and writes its
error to stdout, when no subnet manager answers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ibaccept.fabric.model import Guid, Lid
from ibaccept.parse import ParseError
from ibaccept.parse.diags import is_noise, numbered

TOOL = "sminfo"

_BEGINS = re.compile(r"sminfo: ")
_ROW = re.compile(
    r"sminfo: sm lid (?P<lid>0x[0-9a-fA-F]+|\d+) sm guid (?P<guid>0x[0-9a-fA-F]{1,16}), "
    r"activity count (?P<activity>\d+) priority (?P<priority>\d+)"
    r"(?: state (?P<state>\d+) (?P<name>\S+))?\s*\Z"
)
# The tool calls itself as it was started; sudo starts it by its path.
_FAILED = re.compile(
    r"^(?:\S*/)?sminfo: iberror: failed: (?:query|can't resolve sm port)", re.MULTILINE
)
_NAMES = {0: "SMINFO_NOTACT", 1: "SMINFO_DISCOVER", 2: "SMINFO_STANDBY", 3: "SMINFO_MASTER"}


class NoAnswerError(ParseError):
    """``sminfo`` says that it got no answer: no subnet manager runs there, or it is not reached.

    With a LID it is the usual answer of a port without a subnet manager; without one it means
    that the fabric has no master that this host can reach. A lost MAD looks the same. A port that
    could not be opened on the host is a plain ``ParseError``.
    """


@dataclass(frozen=True, slots=True)
class SmInfo:
    """One subnet manager.

    Attributes:
        guid: port GUID of the subnet manager.
        activity: its activity count; it grows while the subnet manager lives.
        state: 0 not active, 1 discovering, 2 standby, 3 master; None where the version does not
            print it (not known, which is not "no master").
        state_name: as printed, ``SMINFO_MASTER``.
    """

    lid: Lid
    guid: Guid
    activity: int
    priority: int
    state: int | None
    state_name: str | None
    line: int


def parse(text: str) -> SmInfo:
    """Read the one line of an output.

    Raises:
        NoAnswerError: the tool says that no subnet manager answered.
        ParseError: anything else that is not exactly one such line.
    """
    failed = _FAILED.search(text)
    if failed is not None:
        number = text.count("\n", 0, failed.start()) + 1
        raise NoAnswerError(
            TOOL,
            "no subnet manager answered; check that one runs and that this port is cabled to it",
            line=number,
            text=text.split("\n")[number - 1],
        )
    found: SmInfo | None = None
    for number, line in numbered(TOOL, text, _BEGINS):
        if not line.strip() or is_noise(line):
            continue
        match = _ROW.match(line)
        if match is None or found is not None:
            what = "not an sminfo line" if match is None else "a second sminfo line"
            raise ParseError(TOOL, what, line=number, text=line)
        found = _read(match, number, line)
    if found is None:
        raise ParseError(TOOL, "no sminfo line was seen; see its stderr and exit code")
    return found


def _read(match: re.Match[str], number: int, line: str) -> SmInfo:
    lid = Lid(int(match["lid"], 16 if match["lid"].startswith("0x") else 10))
    state = None if match["state"] is None else int(match["state"])
    if not lid.is_unicast:
        raise ParseError(TOOL, f"{int(lid)} is not a LID a port can own", line=number, text=line)
    if state is not None and _NAMES.get(state, "???") != match["name"]:
        raise ParseError(TOOL, "the state's number and name disagree", line=number, text=line)
    return SmInfo(
        lid,
        Guid.parse(match["guid"]),
        int(match["activity"]),
        int(match["priority"]),
        state,
        match["name"],
        number,
    )

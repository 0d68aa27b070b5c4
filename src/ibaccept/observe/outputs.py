"""From the result of one command to why it cannot be used, and to the lines that show it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ibaccept.parse import ParseError
from ibaccept.parse.diags import is_error, is_noise
from ibaccept.transport import CommandResult, TransportError
from ibaccept.transport.captures import CapturedResult
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

T = TypeVar("T")

_LAST_CHARS = 300
_SHORT = 40
_SHOWN_CHARS = 1000

_BY_STEP = {
    "resolve": "check the name, or set ansible_host in the inventory",
    "connect": "check that the host is up and that sshd listens",
    "authentication": "check user and key with ssh by hand",
    "replay": "",
}
_UNREACHED = "see whether the host is up and can be reached"

_PACKAGES = {
    "ib_write_bw": "perftest",
    "ib_read_bw": "perftest",
    "ss": "iproute2",
    "fio": "fio",
    "ior": "ior",
    "elbencho": "elbencho",
}
_DIAGS = "infiniband-diags"


def whole(
    what: str,
    result: CommandResult | TransportError,
    *,
    step: str = "",
    ok: Sequence[int] = (0,),
) -> CommandResult | NotSeen:
    """The result itself where the command ended by itself with a good exit code, else why not.

    Args:
        what: is not seen then: ``the links``.
        result: of one host, or why that host could not be used.
        step: of a load run, named first in the sentence: ``write``.
        ok: exit codes with which the output is whole.
    """
    begin = f"{step}: " if step else ""
    if isinstance(result, TransportError):
        return NotSeen(what, f"{begin}{result}", _BY_STEP.get(result.step, _UNREACHED))
    problem = result.problem()
    if problem is not None:
        words = last_line(result.error_text)
        reason = f"{begin}{problem}" + (f": {words}" if words else "")
        return NotSeen(what, reason, _next_step(result), captures_of(result))
    if result.exit_code in ok:
        gave_up = own_words(result, warnings=False)
        if gave_up is None:
            return result
        how = f"{_command(result)} says that it failed"
        reason = f"{begin}{result.host}: {how}: {gave_up}"
        return NotSeen(what, reason, _by_hand(result), captures_of(result))
    words = last_line(result.error_text, result.text) or "it printed nothing"
    how = f"{_command(result)} ended with exit code {result.exit_code}"
    return NotSeen(
        what,
        f"{begin}{result.host}: {how}: {words}",
        _by_hand(result),
        captures_of(result),
    )


def parsed(
    what: str,
    result: CommandResult | TransportError,
    parse: Callable[[CommandResult], T],
    *,
    step: str = "",
    ok: Sequence[int] = (0,),
    hint: str = "",
) -> T | NotSeen:
    """What a whole result says, or why it cannot be taken or read.

    Args:
        what: as ``whole``.
        result: as ``whole``.
        parse: reads it; its ParseError is part of the answer.
        step: as ``whole``.
        ok: as ``whole``.
        hint: what to do where it cannot be read.
    """
    taken = whole(what, result, step=step, ok=ok)
    if isinstance(taken, NotSeen):
        return taken
    try:
        return parse(taken)
    except ParseError as error:
        return not_parsed(what, taken, error, step=step, hint=hint)


def not_parsed(
    what: str, result: CommandResult, error: ParseError, *, step: str = "", hint: str = ""
) -> NotSeen:
    """Why the text of a result cannot be read, with the line that cannot."""
    begin = f"{step}: " if step else ""
    captures = captures_of(result)
    if error.line is not None and file_of(result):
        captures = (CaptureRef(file_of(result), error.line, _shown(error.text)),)
    return NotSeen(what, f"{begin}{result.host}: {error}", hint, captures)


def own_words(result: CommandResult, *, warnings: bool = True) -> str | None:
    """The first line of stderr that is of a tool of infiniband-diags itself; None without one.

    Args:
        result: of such a tool; others print no such line.
        warnings: count its warnings too, not only the line it prints when it gives up.
    """
    for line in result.error_text.splitlines():
        if is_error(line) or (warnings and is_noise(line)):
            return line.strip()[:_LAST_CHARS]
    return None


def _next_step(result: CommandResult) -> str:
    """What to do about an output that is not whole; a refused sudo says it itself."""
    if result.missing:
        return f"install {_PACKAGES.get(result.tool, _DIAGS)} on {result.host}"
    return "" if result.sudo_refused else _by_hand(result)


def _by_hand(result: CommandResult) -> str:
    command = result.tool if result.is_script else " ".join(result.argv)
    return f"run it there by hand: {command}"


def _command(result: CommandResult) -> str:
    """The command with its words where they are few: its LID and port say which query it was."""
    whole_command = " ".join(result.argv)
    short = not result.is_script and len(whole_command) <= _SHORT
    return whole_command if short else result.tool


def captures_of(result: CommandResult) -> tuple[CaptureRef, ...]:
    """The last lines of stderr and of stdout, where a tool says why it ended; else its file."""
    if not isinstance(result, CapturedResult):
        return ()
    found = []
    for file, text in ((result.stderr_file, result.error_text), (result.stdout_file, result.text)):
        lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
        if file and lines:
            number, line = lines[-1]
            found.append(CaptureRef(file, number, _shown(line)))
    if not found and result.stdout_file:
        found.append(CaptureRef(result.stdout_file, None, ""))
    return tuple(found)


def _shown(line: str) -> str:
    """A captured line as evidence: cut first, as a line may be as long as the whole output."""
    return line.strip()[:_SHOWN_CHARS]


def last_line(*texts: str) -> str:
    """The last line of the first text that has one, cut to a readable length."""
    for text in texts:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            return lines[-1][:_LAST_CHARS]
    return ""


def file_of(result: CommandResult) -> str:
    """Capture of a result's stdout; empty where it was not recorded."""
    return result.stdout_file if isinstance(result, CapturedResult) else ""


def error_file_of(result: CommandResult) -> str:
    """Capture of a result's stderr; empty where there is none."""
    if isinstance(result, CapturedResult) and result.stderr_file is not None:
        return result.stderr_file
    return ""

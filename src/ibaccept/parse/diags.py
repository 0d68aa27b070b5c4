"""What the tools of infiniband-diags have in common: lines, rows with dots, error texts.

The dotted rows come from libibmad (``fields.c``, ``_mad_dump_field``): name, colon, and dots up
to column 33. Errors: ``IBEXIT`` prints ``tool: iberror: failed: ...`` (to stdout), ``IBPANIC``
``ibpanic: [pid] ...`` and ``IBWARN`` ``ibwarn: [pid] function: ...``.

Between and before their lines others can stand: of the loader, of libraries, of the shell's start,
of sudo, ssh and the login. They say nothing of the fabric; ``is_foreign`` is the one list of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ibaccept.parse import ParseError

ROW = re.compile(r"(?P<key>[^:]+):(?P<dots>\.*)(?P<value>.*)\Z")
"""A dotted row: ``LinkWidthActive:.................4X``."""

_FAILURES = ("iberror: ", "ibpanic: ", "IBPANIC: ", "IBERROR: ")
_ERROR = re.compile(rf"(?:[\w./-]+: )?(?:{'|'.join(_FAILURES)})")
LONGEST_LINE = 4096
"""Characters of a line. Of the tools of infiniband-diags none prints more than some 400; a node's
description has 64."""

_DIGITS = re.compile(r"\d{65}")
"""More digits than any field holds; the longest text field, a node's description, has 64."""
_SAMPLED = 32
_TWO_DIGITS = re.compile(r"\d(?=\d)")
_NOISE = re.compile(r"(?:ibwarn: \[\d+\] |\S+\.c:\d+; |DR path slid )")
_PROMPTS = (
    r"(?:\([\w.-]+\) )?\[[\w.-]+@[\w.-]+ [^\]]*\][#$] ?.*",  # [root@mgmt01 ~]# ibnetdiscover
    r"[\w.-]+@[\w.-]+:[^#$>]*[#$>] ?.*",  # admin@mgmt01:~$ ibnetdiscover
    r"[\w.-]+:[~/][^\s#>]* ?[#>] ?.*",  # SUSE: mgmt01:~ # ibnetdiscover
    r"[\w.-]+(?: \[[^\]]*\])?(?: \([^)]*\))? ?[#>$] ?",  # a switch's
)
_LOADER = (
    r"(?:ERROR: )?ld\.so: .*",
    r"\S+: \S+\.so\S*: no version information available \(required by .*",
)
_LIBRARIES = (r"lib(?:ibverbs|ibumad|ibmad|rdmacm|mlx[45]|nl\S*): [Ww]arning.*",)
_SHELL = (
    r"\S*: (?:line \d+: )?warning: setlocale: .*",
    r"perl: warning: .*",
    r"(?:stty|mesg|tput): .*",
    r"TERM environment variable not set\.",
    r"\S*: cannot set terminal process group .*",
    r"\S*: no job control in this shell",
    r"\S*: cannot find name for (?:group|user) ID \d+",
    r"Could not chdir to home directory .*",
    r"(?:\S*/)?xauth: .*",
    r"manpath: .*",
)
_INDENTED = re.compile(
    r"\s+(?:(?:LC_\w+|LANG(?:UAGE)?) = .*|are supported and installed on your system\.)"
)
"""What perl says below its warning of the locale: of foreign lines these alone begin with a blank.

Most lines of the tools do, too; so they are not held against all the others.
"""
_LOGIN = (
    r"sudo: (?:unable to resolve host|setrlimit\(\w+\):) .*",
    r"Warning: Permanently added .* to the list of known hosts\.",
    r"Connection to \S+ closed\.",
    r"\*\* (?:WARNING: connection is not using a post-quantum|This session may be vulnerable).*",
    r"\*\* The server may need to be upgraded\. .*",
    r"Last (?:failed )?login: .*",
    r"There (?:was|were) \d+ failed login attempts? since .*",
    r"You have (?:new )?mail.*",
    r"=~=.*PuTTY log.*",
)
_SIMULATOR = (r"ibwarn: \[\d+\] sim_connect: attached as client .*",)
"""What libumad2sim, the simulated fabric of the lab, says when a tool starts."""

_FOREIGN = re.compile("|".join((*_PROMPTS, *_LOADER, *_LIBRARIES, *_SHELL, *_LOGIN, *_SIMULATOR)))
_OF_A_TOOL = re.compile(
    r"0x[0-9a-f]|==|\[ *\d|[\"']|\blid\b|dump|cannot|can't|could ?n.t|unable|not found|denied"
    r"|invalid|no such|no answer",
    re.IGNORECASE,
)
_WORDS = re.compile(r"\s*+(?:[*#=|+_~-]{3,}|[*#|] .*|[A-Za-z][^\d:=]*[.!]?)\s*")
BOM = "\ufeff"
"""Byte order mark, as editors and PowerShell write it before the text."""

SAVE_AS_UTF8 = "save it as UTF-8 (PowerShell's > writes UTF-16; ... | Out-File -Encoding utf8)"
_BOM_NAME = "byte order mark"
_END = 1 << 14
"""Bytes at each end of an output among which foreign lines are counted."""
_SNIFFED = 512
_UTF16 = ("\udcff\udcfe", "\udcfe\udcff")
"""Its byte order mark where it was decoded as UTF-8 with surrogates."""


_TROUBLE = re.compile(
    r"ibwarn|iberror|ibpanic|umad|query_smp|bad status|timed? ?out|failed|error", re.IGNORECASE
)
_LID = re.compile(r"dport \(Lid (\d{1,5})\)", re.ASCII)
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
        foreign: the line is from outside the tool, see ``is_foreign``.
        route: output ports of the directed route it names, hop by hop from the sweep's own node;
            empty where it names none.
    """

    line: int
    text: str
    message: str
    failed: bool
    foreign: bool = False
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
        hops = route_of(words)
        foreign = is_foreign(line)
        failed = not foreign and _TROUBLE.search(words) is not None
        message = _PROCESS.sub("", words)
        found.append(ErrorLine(number, words, message, failed, foreign, hops if failed else ()))
    return tuple(found)


def route_of(text: str) -> tuple[int, ...]:
    """Output ports of the directed route that a message names, without the leading 0."""
    route = _ROUTE.search(text)
    return () if route is None else tuple(map(int, route[1].split(",")[1:]))


def lid_of(text: str) -> int | None:
    """The destination LID that a message names: ``mad_rpc failed; dport (Lid 5)``."""
    named = _LID.search(text)
    return None if named is None else int(named[1])


def is_error(line: str) -> bool:
    """True for the line a tool prints when it gives up."""
    return _ERROR.match(line) is not None


def is_noise(line: str) -> bool:
    """True for a warning of the MAD libraries that can stand between good lines.

    ``ibwarn: [pid] ...`` and ``src/query_smp.c:199; umad (...) bad status 110; ...``.
    """
    return _NOISE.match(line) is not None


def is_foreign(line: str) -> bool:
    """True for a line from outside the tool: loader, library, shell, sudo, ssh, login, prompt."""
    words = line.removeprefix(BOM)
    pattern = _INDENTED if words[:1].isspace() else _FOREIGN
    return len(line) <= LONGEST_LINE and pattern.fullmatch(words) is not None


def is_banner(line: str) -> bool:
    """True for words that can be a login's, where no line of the tool was met yet.

    ``Authorized users only!`` or a ruler. Nothing that a tool prints may be taken for one, so
    numbers, quotes and words of failure are none.
    """
    return (
        len(line) <= LONGEST_LINE
        and _WORDS.fullmatch(line) is not None
        and _OF_A_TOOL.search(line) is None
        and _TROUBLE.search(line) is None
    )


def foreign_lines(output: bytes) -> tuple[str, ...]:
    """The lines from outside the tool at both ends of an output, in order."""
    ends = output if len(output) <= 2 * _END else output[:_END] + b"\n" + output[-_END:]
    text = ends.decode("utf-8", "replace")
    found = [line for line in map(str.strip, text.removeprefix(BOM).split("\n")) if line]
    named = (_BOM_NAME,) if text.startswith(BOM) else ()
    return (*named, *filter(is_foreign, found))


def plain(tool: str, text: str) -> str:
    """The text without a byte order mark.

    Raises:
        ParseError: it is UTF-16, of which no line can be read.
    """
    head = text[:_SNIFFED]
    if head.startswith(_UTF16) or _is_mostly(head.count("\0"), len(head)):
        raise ParseError(tool, f"the text is UTF-16; {SAVE_AS_UTF8}")
    return text.removeprefix(BOM)


def is_utf16(head: bytes) -> bool:
    """True for the first bytes of a text of two bytes a character."""
    return head.startswith((b"\xff\xfe", b"\xfe\xff")) or _is_mostly(head.count(0), len(head))


def _is_mostly(zeros: int, size: int) -> bool:
    """Every other character of UTF-16 is a zero where the text is ASCII."""
    return size > 1 and 3 * zeros > size


def refuse_overlong(tool: str, text: str) -> None:
    """Refuse a line or a number that no tool prints, before any pattern meets it.

    Some patterns need time by the square of a line's length; Python converts 4300 digits at most,
    and has no finite float of more than 309.

    Raises:
        ParseError: a line, or a number, is longer than any of an output can be.
    """
    lines = text.split("\n")
    if max(map(len, lines)) > LONGEST_LINE:
        number, line = next((n, x) for n, x in enumerate(lines, 1) if len(x) > LONGEST_LINE)
        raise ParseError(
            tool,
            f"a line of more than {LONGEST_LINE:,} characters: no tool prints such a line",
            line=number,
            text=line[:200],
        )
    if _has_many_digits(text) and (found := _DIGITS.search(text)):
        number = text.count("\n", 0, found.start()) + 1
        raise ParseError(tool, "no such number can be", line=number, text=lines[number - 1])


def _has_many_digits(text: str) -> bool:
    """Whether there can be 65 digits in a row; looks at few characters of a large output.

    Of 65 characters in a row two at least stand at multiples of 32, with 31 between them.
    """
    pairs = (found.start() * _SAMPLED for found in _TWO_DIGITS.finditer(text[::_SAMPLED]))
    return any(text[at : at + _SAMPLED + 1].isdecimal() for at in pairs)


def bounded(value: str | int, allowed: range, what: str) -> int:
    """A number that its field can hold: what is built from it is bounded then.

    Raises:
        ValueError: it is outside the range; ``what`` names the field, ``a port number``.
    """
    number = int(value)
    if number not in allowed:
        raise ValueError(f"{number} is not {what} ({allowed[0]} to {allowed[-1]})")
    return number


def numbered(
    tool: str, text: str, begins: re.Pattern[str] | None = None
) -> Iterator[tuple[int, str]]:
    """Yield the lines of an output with their 1-based numbers, without line ends.

    Lines from outside the tool are left out, and words before the first line of the tool.

    Args:
        tool: whose output it is.
        text: the output.
        begins: matches the first line of the tool; None where it is not known how that begins.

    Raises:
        ParseError: nothing was printed, the tool says that it failed, a number is longer than any
            can be, or the last line has no line end. Every tool ends each line, so such a line is
            cut and its number may lack digits.
    """
    if not text.strip():
        raise ParseError(
            tool, "nothing was printed; its stderr and exit code say why, then run it again"
        )
    body = plain(tool, text)
    lines = body.split("\n")
    if "\r" in body:
        lines = [line.removesuffix("\r") for line in lines]
    if any(words in body for words in _FAILURES):
        _refuse_failure(tool, lines)
    refuse_overlong(tool, text)
    if lines[-1] and not is_foreign(lines[-1]):
        raise ParseError(
            tool,
            "the last line is cut (no line end); run it again",
            line=len(lines),
            text=lines[-1],
        )
    begun = begins is None
    for number, line in enumerate(lines[:-1], 1):
        begun = begun or (begins is not None and begins.match(line) is not None)
        if not is_foreign(line) and (begun or not is_banner(line)):
            yield number, line


def _refuse_failure(tool: str, lines: list[str]) -> None:
    for number, line in enumerate(lines, 1):
        if is_error(line):
            raise ParseError(
                tool,
                "the tool says that it failed, so nothing it printed can be used; "
                "run it by hand with the same arguments to see why",
                line=number,
                text=line,
            )

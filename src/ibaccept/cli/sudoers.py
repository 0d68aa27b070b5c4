r"""The commands of the suite that need root, as a sudoers file for the hosts of a site.

The wrapper hands sudo the tool's absolute path and its words (`ibaccept.transport.wrap`), so the
rules match whole argument lists. A command without arguments gets ``""``: a bare path in sudoers
permits any argument, clearing flags included.

Two spellings. From sudo 1.9.10 on, the arguments are a regular expression, POSIX extended, that
begins with ``^`` and ends with ``$``. Older versions know shell patterns only, where ``*`` also
matches a blank and so lets in further options; there every number is spelled out digit by digit,
and HCAs by name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from ibaccept import commands
from ibaccept.commands import Command
from ibaccept.errors import InputError

FOLDER = "/usr/sbin"
"""Where infiniband-diags installs its tools."""

_USER = re.compile(r"(?!ALL\Z)%?[A-Za-z_][A-Za-z0-9_.-]{0,63}\Z")
_FOLDER = re.compile(r"(?:/[A-Za-z0-9._+-]+)+\Z")
_HCA = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}\Z")

HEAD = """\
# Commands of ibaccept that need root, made by 'ibaccept commands --sudoers'.
# Install on the observers with: visudo -f /etc/sudoers.d/ibaccept
# Nothing here clears a counter or changes the fabric.
"""

KILL = """
# Optional. Without this line a tool that ignores SIGTERM is left running when it has to be stopped
# (the report then names its process); sudo itself relays SIGTERM. With it, {user} may send TERM or
# KILL to any process of the host.
# {user} ALL=(root) NOPASSWD: {rules}
"""


def sudoers(
    user: str,
    *,
    folder: str = FOLDER,
    old: bool = False,
    hcas: Sequence[str] = (),
    chosen: Iterable[Command] = commands.ALL,
) -> str:
    """The text of a sudoers file.

    Args:
        user: who logs in; ``%name`` for a group.
        folder: of the tools.
        old: for sudo before 1.9.10.
        hcas: names of HCAs that ``ib_hca`` of the inventory gives; needed with ``old`` only.
        chosen: commands; those that do not need root are left out.

    Raises:
        InputError: a user, folder or HCA that cannot stand in a sudoers file.
    """
    for what, pattern, text in (
        ("a user or %group", _USER, user),
        ("an absolute folder", _FOLDER, folder),
        *(("the name of an HCA", _HCA, hca) for hca in hcas),
    ):
        if not pattern.match(text):
            raise InputError(f"{text!r} is not {what}")
    lines = [HEAD]
    if old:
        lines[0] += "# For sudo before 1.9.10: parameters are spelled out digit by digit.\n"
    else:
        lines[0] += "# For sudo 1.9.10 and newer, which reads ^...$ as a regular expression.\n"
    aliases = []
    for command in chosen:
        if not command.root:
            continue
        if command.options:
            raise ValueError(f"{command.name} needs root and has options: spell them here first")
        alias = f"IBACCEPT_{re.sub(r'[^A-Z0-9]+', '_', command.name.upper())}"
        aliases.append(alias)
        arguments = _globs(command, hcas) if old else _expressions(command)
        rules = [f"{folder}/{command.template[0]} {words}" for words in arguments]
        lines.append(f"# {command.why}\nCmnd_Alias {alias} = \\\n    " + ", \\\n    ".join(rules))
    lines.append("Cmnd_Alias IBACCEPT = \\\n    " + ", \\\n    ".join(aliases))
    lines.append(f"\nDefaults:{user} !requiretty\n{user} ALL=(root) NOPASSWD: IBACCEPT")
    lines.append(KILL.format(user=user, rules=_kill(old=old)).rstrip("\n"))
    return "\n".join(lines) + "\n"


# -- sudo 1.9.10 and newer -----------------------------------------------------------------------


def _expressions(command: Command) -> Iterator[str]:
    words = [_posix(pattern) for pattern in command.argument_patterns()]
    options = [f"{flag} {_posix(pattern)}" for flag, pattern in commands.SELECTION]
    if not command.select:
        yield f"^{' '.join(words)}$" if words else '""'
    elif words:
        optional = "".join(f"({option} )?" for option in options)
        yield f"^{optional}{' '.join(words)}$"
    else:
        yield '""'
        for count in range(1, len(options) + 1):
            for some in itertools.combinations(options, count):
                yield f"^{' '.join(some)}$"


def _posix(pattern: str) -> str:
    r"""A Python pattern in POSIX extended syntax: no ``\d``, no ``(?:``, no needless backslash."""
    text = pattern.replace("(?:", "(").replace(r"\d", "[0-9]")
    return re.sub(r"\\([^.^$*+?()\[{|\\])", r"\1", text)


# -- older ---------------------------------------------------------------------------------------

_PARAMETER_GLOBS = {
    "lid": ("[1-9]", 5),
    "port": ("[0-9]", 3),
    "block": ("[0-9]", 3),
}
"""First character and most characters of a parameter."""


def _globs(command: Command, hcas: Sequence[str]) -> Iterator[str]:
    tails = [" ".join(words) for words in itertools.product(*map(_word, command.template[1:]))]
    for option in _options(hcas) if command.select else ("",):
        for tail in tails:
            yield " ".join(part for part in (option, tail) if part) or '""'


def _options(hcas: Sequence[str]) -> Iterator[str]:
    yield ""
    for hca in ("", *hcas):
        for port in ("", "[1-9]"):
            parts = [f"-C {hca}" if hca else "", f"-P {port}" if port else ""]
            if any(parts):
                yield " ".join(part for part in parts if part)


def _word(part: str) -> list[str]:
    """Every shell pattern of one word of a template."""
    pieces = re.split(r"\{(\w+)\}", part)
    choices: list[list[str]] = []
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            choices.append([re.sub(r"([,:=\\*?\[\]!])", r"\\\1", piece)])
            continue
        if piece not in _PARAMETER_GLOBS:
            raise InputError(
                f"the parameter {piece!r} cannot be spelled for sudo before 1.9.10; use a newer one"
            )
        first, most = _PARAMETER_GLOBS[piece]
        choices.append([first + "[0-9]" * more for more in range(most)])
    return ["".join(words) for words in itertools.product(*choices)]


def _kill(*, old: bool) -> str:
    """What `ibaccept.transport.wrap` asks sudo for where root's tool does not end."""
    if not old:
        return "/usr/bin/kill ^-(TERM|KILL) -- -?[0-9]{1,10}$"
    numbers = ["[0-9]" * digits for digits in range(1, 8)]
    rules = [
        f"/usr/bin/kill -{name} -- {sign}{number}"
        for name in ("TERM", "KILL")
        for sign in ("", "-")
        for number in numbers
    ]
    return ", ".join(rules)

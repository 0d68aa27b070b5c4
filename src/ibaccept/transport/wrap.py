"""The shell wrapper every command runs in: argv travels as positional words, never as script text.

Exec string: ``exec sh -c 'SCRIPT' ibaccept TOKEN TIMEOUT MODE LENGTH HOLD argv...`` where MODE is
``user`` or ``root`` (``sudo -n``), LENGTH the bytes of stdin that follow, and HOLD ``held``,
``last`` or ``now``.

- The shell process *becomes* the tool (``exec``), so the server itself reports how the tool ended:
  exit code and exit signal cannot be confused (a shell's 128+n could be either).
- The channel's stdin is the life line. Exactly LENGTH bytes are spooled to an unlinked file for the
  tool; after them nothing is ever sent, and end of file means: end the tool. The server closes
  stdin when the tool has ended, when the channel is closed and when the connection is lost.
- With ``held`` the script says so and waits for one line on stdin before it becomes the tool: the
  barrier of commands that are to begin together. End of file there means: never begin. A timer
  ends a script that is held too long; it goes by the time the process began (field 22 of its
  ``/proc`` stat), so that it cannot meet another process under the same number.
- With ``last`` it waits in the same way, but end of file there means: begin all the same, some
  seconds later, when what else ran here has been ended. It is for what must be done whatever
  becomes of us: files that a load run made are removed by a host that lost the connection.
- A watchdog in the tool's process group waits for that end of file, or for TIMEOUT plus a margin
  (a dead network shows no end of file). It sends TERM to the group, KILL after a grace, and
  reports the time on the host's clock.
- Lines that begin with TOKEN, random for each command, frame both streams. What a login script
  prints before the first one is dropped; the marks are stripped from what the caller sees.

With sudo, the user may signal the sudo process but not root's tool. sudo relays TERM, though not
from its own process group, so it is sent from a session of its own (``setsid``). KILL cannot be
relayed: it takes ``sudo -n kill``. Where sudoers does not allow that and root's tool ignores TERM,
sudo is left alone (killing it would only hide the tool) and stderr says what was left running.

Works with dash, busybox sh and bash. The script has no line break, no single quote and no double
backslash, which login shells other than sh quote differently (words of an argv may have them).
"""

from __future__ import annotations

import math
import re
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from ibaccept.transport import Argv, CommandResult, Hold, Host, TransportError

GRACE = 2.0
"""Seconds between TERM and KILL (twenty times 0.1 s in the script)."""

REMOTE_MARGIN = 10
"""Seconds the host's own timer runs longer than ours (``n + 10`` in the script)."""

FRAME_ROOM = 1 << 16
"""Bytes that login scripts may print before the frame without counting against a limit."""

SCRIPT = " ".join(
    r"""
t=$1; n=$2; m=$3; k=$4; h=$5; shift 5;
LC_ALL=C; LANG=C; export LC_ALL LANG;
PATH="${PATH:-/usr/bin}:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"; export PATH;
find() { case $1 in
*/*) if [ -f "$1" ] && [ -x "$1" ]; then p=$1; return 0; fi;;
*) set -f; IFS=:; for d in $PATH; do if [ -f "$d/$1" ] && [ -x "$d/$1" ];
then p=$d/$1; unset IFS; set +f; return 0; fi; done; unset IFS; set +f;;
esac; return 1; };
if find "$1"; then :; else printf "%s missing\n" "$t" >&2; exit 127; fi;
tool=$p;
if [ "$m" = root ]; then if find sudo; then :; else printf "%s nosudo\n" "$t" >&2; exit 1; fi; fi;
exec 3<&0 0</dev/null;
if [ "$k" -gt 0 ]; then
f=$(mktemp "${TMPDIR:-/tmp}/ibaccept.XXXXXX") && head -c "$k" <&3 >"$f" && exec 0<"$f" && rm -f "$f"
|| { printf "%s nostdin\n" "$t" >&2; exit 1; }; fi;
e=0;
if [ "$h" != now ]; then
born() { read -r s </proc/$$/stat && s=${s##*) } && set -f && set -- $s && shift 19 && echo $1; };
( ( trap "" HUP INT TERM PIPE; exec >/dev/null 2>&1 3<&-; b=$(born); i=0;
while [ "$(born)" = "$b" ]; do sleep 2; i=$(( i + 2 ));
if [ $i -gt $(( n + n + 20 )) ] && [ "$(born)" = "$b" ]; then kill -KILL $$; fi; done ) & );
printf "%s held\n" "$t" >&2;
if read -r s <&3; then :; elif [ "$h" = last ];
then trap "" HUP PIPE; exec >/dev/null 2>&1; e=1; sleep 5;
else kill -KILL -$$; kill -KILL $$; fi; fi;
alive() { read -r s </proc/$$/stat && case $s in *") Z "*) return 1;; esac; };
( ( trap "" HUP INT TERM PIPE; exec 4>&2 >/dev/null 2>&1;
if [ $e = 1 ]; then ( exec 4>&-; while alive; do sleep 1; done ) & c=$!;
else cat <&3 4>&- & c=$!; fi;
( exec 4>&-; sleep $(( n + 10 )); kill -KILL $c ) &
wait $c; exec 3<&-; i=0;
if alive; then
kill -TERM -$$ || kill -TERM $$;
while alive && [ $i -lt 20 ]; do
if [ $i -eq 1 ] && [ "$m" = root ]; then setsid kill -TERM $$; fi;
if [ $i -eq 8 ] && [ "$m" = root ]; then sudo -n -- kill -TERM -- -$$; fi;
sleep 0.1 || sleep 1; i=$(( i + 1 )); done;
if alive; then
if [ "$m" = root ]; then sudo -n -- kill -KILL -- $$; else kill -KILL $$; fi;
sleep 0.1 || sleep 1; fi;
fi;
if alive; then printf "\n%s left %s\n" "$t" $$ >&4; fi;
printf "\n%s end %s\n" "$t" "$(date +%s.%N)" >&4;
if alive && [ "$m" = root ]; then exit; fi;
if [ $i -gt 0 ] && [ "$m" = root ]; then exec 4>&-; sudo -n -- kill -KILL -- -$$; fi;
kill -KILL -$$ ) & );
printf "%s\n" "$t";
printf "%s start %s\n" "$t" "$(date +%s.%N)" >&2;
if [ "$m" = root ]; then shift; exec sudo -n -- "$tool" "$@" 3<&-; fi;
exec "$@" 3<&-
""".splitlines()
).strip()

_HOLDS: dict[str, Hold] = {"now": False, "held": True, "last": "last"}

_HEAD = 4  # exec sh -c SCRIPT
_FIELDS = 6  # ibaccept TOKEN TIMEOUT MODE LENGTH HOLD

RELEASE = b"go\n"
"""What ends the waiting of a held command."""

_SUDO_SAYS = re.compile(
    rb"sudo(?:-rs)?: .*(?:password is required|password was provided|authentication is required"
    rb"|no tty present|must have a tty|terminal is required|not allowed to|may not run)"
    rb"|Sorry, user .* (?:is not allowed to execute|may not run)"
    rb"|\S+ is not (?:in the sudoers file|allowed to run sudo)"
)


@dataclass(frozen=True, slots=True)
class Wrapped:
    """One command as it is sent.

    Attributes:
        argv: the command.
        token: random word that marks our own lines in its output.
        timeout: whole seconds; the host ends the command some seconds after them by itself.
        root: run by ``sudo -n``.
        length: bytes of stdin that are sent for the command.
        held: waits for ``RELEASE`` before it begins; ``last``: or for the loss of its connection.
    """

    argv: Argv
    token: str
    timeout: int
    root: bool = False
    length: int = 0
    held: Hold = False

    @property
    def words(self) -> list[str]:
        """The argv that a local process is started with."""
        mode = "root" if self.root else "user"
        hold = "last" if self.held == "last" else "held" if self.held else "now"
        own = (self.token, str(self.timeout), mode, str(self.length), hold)
        return ["sh", "-c", SCRIPT, "ibaccept", *own, *self.argv]

    @property
    def exec_string(self) -> str:
        """What an SSH server is asked to execute, quoted for the login shell."""
        return "exec " + shlex.join(self.words)

    def frame(self, stdout: bytes, stderr: bytes, start: float, end: float) -> tuple[bytes, bytes]:
        """Both streams as the script prints them: for a server that answers without a shell."""
        token = self.token.encode()
        head = b"%s start %.9f\n" % (token, start)
        return token + b"\n" + stdout, head + stderr + b"\n%s end %.9f\n" % (token, end)

    def frame_missing(self) -> tuple[bytes, bytes]:
        """Both streams (exit code 127) where the tool is not installed."""
        return b"", self.token.encode() + b" missing\n"


def wrap(
    argv: Sequence[str],
    *,
    timeout: float,
    root: bool = False,
    length: int = 0,
    held: Hold = False,
) -> Wrapped:
    """Put a command into the wrapper.

    Raises:
        ValueError: no command, a NUL byte in a word, or a command that reads as an option.
    """
    words = tuple(argv)
    if not words or not words[0] or words[0].startswith("-"):
        raise ValueError(f"{words!r} names no command")
    if any("\0" in word for word in words):
        raise ValueError(f"{words!r} holds a NUL byte, which no command line can")
    return Wrapped(words, secrets.token_hex(8), max(1, math.ceil(timeout)), root, length, held)


def read_exec_string(exec_string: str) -> Wrapped:
    """The command inside an exec string; the inverse of ``Wrapped.exec_string``.

    Raises:
        ValueError: not an exec string of this module.
    """
    words = shlex.split(exec_string)
    head, own, argv = words[:_HEAD], words[_HEAD : _HEAD + _FIELDS], words[_HEAD + _FIELDS :]
    if head != ["exec", "sh", "-c", SCRIPT] or len(own) != _FIELDS or not argv:
        raise ValueError(f"not a command of ibaccept: {exec_string[:200]!r}")
    name, token, timeout, mode, length, hold = own
    if name != "ibaccept" or mode not in {"user", "root"} or hold not in _HOLDS:
        raise ValueError(f"not a command of ibaccept: {exec_string[:200]!r}")
    return Wrapped(tuple(argv), token, int(timeout), mode == "root", int(length), _HOLDS[hold])


def unwrap(exec_string: str) -> tuple[Argv, bool, int]:
    """The argv, whether sudo was asked for, and the timeout in seconds, of an exec string.

    Raises:
        ValueError: not an exec string of this module.
    """
    wrapped = read_exec_string(exec_string)
    return wrapped.argv, wrapped.root, wrapped.timeout


@dataclass(frozen=True, slots=True)
class Unframed:
    """What came back, without our marks.

    Attributes:
        begun: the script ran; where False the streams are those of something else.
        note: ``missing``, ``nosudo`` or ``nostdin`` where the script ran no tool.
        left: process id that could not be ended.
    """

    stdout: bytes
    stderr: bytes
    begun: bool
    start: float | None = None
    end: float | None = None
    note: str | None = None
    left: int | None = None


def is_held(token: str, stderr: bytes) -> bool:
    """True once the script says that it waits to be released."""
    return b"%s held\n" % token.encode() in stderr


def unframe(token: str, stdout: bytes, stderr: bytes) -> Unframed:
    """Split our marks from the tool's output."""
    word = re.escape(token.encode())
    note = re.search(rb"(?:^|\n)%s (missing|nosudo|nostdin)\n" % word, stderr)
    if note is not None:
        return Unframed(b"", b"", begun=True, note=note[1].decode())
    began = re.search(rb"(?:^|\n)%s start (\S*)\n" % word, stderr)
    noise, mark, body = stdout.partition(token.encode() + b"\n")
    if began is None and is_held(token, stderr):
        return Unframed(b"", b"", begun=True)  # ended before it was released
    if began is None and re.search(rb"(?:^|\n)%s end \S*\n" % word, stderr):
        return Unframed(b"", b"", begun=True)  # our wrapper was ended before the tool began
    if began is None or not mark:
        return Unframed(stdout, stderr, begun=False)
    del noise
    rest = stderr[began.end() :]
    left = re.search(rb"\n%s left (\d+)\n" % word, rest)
    if left is not None:
        rest = rest[: left.start()] + rest[left.end() :]
    ended = re.search(rb"\n%s end (\S*)\n" % word, rest)
    if ended is not None:
        rest = rest[: ended.start()] + rest[ended.end() :]
    return Unframed(
        body,
        rest,
        begun=True,
        start=_seconds(began[1]),
        end=None if ended is None else _seconds(ended[1]),
        left=None if left is None else int(left[1]),
    )


def _seconds(text: bytes) -> float | None:
    """Seconds of ``date +%s.%N``; a date without ``%N`` leaves whole seconds."""
    match = re.match(rb"\d+(?:\.\d+)?", text)
    return None if match is None else float(match[0])


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended, as the transport saw it."""

    exit_code: int | None = None
    signal: str | None = None
    timed_out: bool = False
    lost: bool = False
    truncated: bool = False


def result_of(
    host: Host, wrapped: Wrapped, stdout: bytes, stderr: bytes, ending: Ending, *, limit: int
) -> CommandResult:
    """The result of a command from its framed streams and its ending.

    Args:
        host: where it ran.
        wrapped: what was sent.
        stdout: raw, framed.
        stderr: raw, framed.
        ending: as the transport saw it.
        limit: bytes of stdout that are kept.

    Raises:
        TransportError: the host ran something else than our wrapper (a login shell that refuses,
            a forced command), or could not take the input.
    """
    out = unframe(wrapped.token, stdout, stderr)
    cut = ending.timed_out or ending.lost or ending.truncated
    if not out.begun and not cut:
        said = (stderr.strip() or stdout.strip()).decode("utf-8", "replace")[:200]
        how = f"exit code {ending.exit_code}" if ending.signal is None else ending.signal
        raise TransportError(
            host.name,
            "session",
            f"the login shell did not run our command ({how}, it said {said!r}); "
            f"check that 'ssh {host.address or host.name} sh -c true' works",
        )
    if out.note == "nostdin":
        raise TransportError(
            host.name, "session", "no temporary file could be made for the command's input"
        )
    errors = out.stderr
    if out.left is not None:
        errors += b"ibaccept: process %d could not be ended on the host; end it there\n" % out.left
    refused = out.note == "nosudo" or (
        wrapped.root and ending.exit_code == 1 and not out.stdout and _sudo_refused(errors)
    )
    if out.note == "nosudo":
        errors = b"ibaccept: sudo is not installed on the host\n"
    truncated = ending.truncated or len(out.stdout) > limit
    whole = not cut and not truncated
    return CommandResult(
        host.name,
        wrapped.argv,
        out.stdout[:limit],
        errors,
        ending.exit_code if whole and ending.signal is None else None,
        signal=ending.signal if whole else None,
        start=out.start,
        end=out.end,
        timed_out=ending.timed_out,
        lost=ending.lost,
        truncated=truncated,
        missing=out.note == "missing",
        sudo_refused=refused,
    )


def _sudo_refused(stderr: bytes) -> bool:
    """True where the last line is sudo's own refusal (a lecture may precede it)."""
    lines = stderr.strip().splitlines()
    return bool(lines) and any(_SUDO_SAYS.match(line) for line in lines[-2:])

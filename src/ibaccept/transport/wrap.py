"""The shell wrapper every command runs in: argv travels as positional words, never as script text.

Exec string: ``exec sh -c 'eval "$0"' SCRIPT TOKEN TIMEOUT MODE HOLD argv...`` where MODE is
``user`` or ``root`` (``sudo -n``) and HOLD ``held``, ``last`` or ``now``.

- The shell process *becomes* the tool (``exec``), so the server itself reports how the tool ended:
  exit code and exit signal cannot be confused (a shell's 128+n could be either).
- The shell leads its process group. Where something on the host waits for it instead of becoming
  it (a ``ForceCommand`` that logs, a login shell without ``exec``), it starts itself again in a
  session of its own: what a command leaves behind is ended by group, whatever wraps it.
- The channel's stdin is the life line. Nothing but ``RELEASE`` is ever sent on it, and end of file
  means: end the tool. The server closes stdin when the tool has ended, when the channel is closed
  and when the connection is lost. The tool itself reads ``/dev/null``.
- With ``held`` the script says so and waits for one line on stdin before it becomes the tool: the
  barrier of commands that are to begin together. End of file there means: never begin. A child
  reads the line, and a timer ends it when the command is held too long; the timer watches that the
  reader is still a child of the script, so that it cannot meet another process of the same number.
- With ``last`` it waits in the same way, but end of file there, and the end of the timer, mean:
  begin all the same, some seconds later, when what else ran here has been ended. It is for what
  must be done whatever becomes of us: files that a load run made are removed by a host that lost
  the connection. Once begun, by release or not, nothing ends it: no timer and no loss.
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

FRAME_ROOM = 1 << 16
"""Bytes that login scripts may print before the frame without counting against a limit."""


class Kept:
    """What is kept of one stream: a bounded head and, of stderr, the end with our own marks.

    Attributes:
        data: the bytes; where ``is_cut``, with a gap.
        is_cut: more than the limit came.
    """

    def __init__(self, limit: int, *, tail: bool) -> None:
        self.data = bytearray()
        self.is_cut = False
        self._limit = limit + FRAME_ROOM
        self._tail = tail

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self.data += chunk
        if len(self.data) <= self._limit:
            return
        self.is_cut = True
        end = len(self.data) - FRAME_ROOM if self._tail else len(self.data)
        if end > self._limit:
            del self.data[self._limit : end]


SCRIPT = " ".join(
    r"""
: ibaccept;
LC_ALL=C; LANG=C; export LC_ALL LANG;
PATH="${PATH:-/usr/bin}:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"; export PATH;
find() { case $1 in
*/*) if [ -f "$1" ] && [ -x "$1" ]; then p=$1; return 0; fi;;
*) set -f; IFS=:; for d in $PATH; do if [ -f "$d/$1" ] && [ -x "$d/$1" ];
then p=$d/$1; unset IFS; set +f; return 0; fi; done; unset IFS; set +f;;
esac; return 1; };
stat() { read -r s <"/proc/$1/stat" && s=${s##*) } && set -f && set -- $s && set +f &&
parent=$2 && group=$3; };
if stat $$ && [ "$group" != $$ ] && find setsid;
then exec setsid sh -c "eval \"\$0\"" "$0" "$@"; fi;
t=$1; n=$2; m=$3; h=$4; shift 4;
if find "$1"; then :; else printf "%s missing\n" "$t" >&2; exit 127; fi;
tool=$p;
if [ "$m" = root ]; then if find sudo; then :; else printf "%s nosudo\n" "$t" >&2; exit 1; fi; fi;
exec 3<&0 0</dev/null;
if [ "$h" != now ]; then
( read -r s ) <&3 >/dev/null 2>&1 & c=$!;
( ( trap "" HUP INT TERM PIPE; exec >/dev/null 2>&1 3<&-; i=0;
while stat $c && [ "$parent" = $$ ]; do
if [ $i -gt $(( n + n + 20 )) ]; then kill -KILL $c; fi;
sleep 2; i=$(( i + 2 )); done ) & );
printf "%s held\n" "$t" >&2;
if wait $c; then r=0; else r=1; fi;
if [ "$h" = last ]; then trap "" HUP PIPE; if [ $r = 1 ]; then exec >/dev/null 2>&1; sleep 5; fi;
elif [ $r = 1 ]; then kill -KILL -$$; kill -KILL $$; fi; fi;
alive() { read -r s </proc/$$/stat && case $s in *") Z "*) return 1;; esac; };
( ( trap "" HUP INT TERM PIPE; exec 4>&2 >/dev/null 2>&1;
if [ "$h" = last ]; then exec 3<&-; while alive; do sleep 0.1 || sleep 1; done;
else cat <&3 4>&- & c=$!;
( exec 4>&-; i=0; while alive && [ $i -lt $(( n + 10 )) ]; do sleep 2; i=$(( i + 2 )); done;
if alive; then kill -KILL $c; fi ) &
wait $c; exec 3<&-; fi; i=0;
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

_START = 'eval "$0"'

_HOLDS: dict[str, Hold] = {"now": False, "held": True, "last": "last"}

_HEAD = 5  # exec sh -c START SCRIPT
_FIELDS = 4  # TOKEN TIMEOUT MODE HOLD

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
        held: waits for ``RELEASE`` before it begins; ``last``: or for the loss of its connection.
    """

    argv: Argv
    token: str
    timeout: int
    root: bool = False
    held: Hold = False

    @property
    def words(self) -> list[str]:
        """The argv that a local process is started with."""
        mode = "root" if self.root else "user"
        hold = "last" if self.held == "last" else "held" if self.held else "now"
        return ["sh", "-c", _START, SCRIPT, self.token, str(self.timeout), mode, hold, *self.argv]

    @property
    def exec_string(self) -> str:
        """The command line for an SSH server, quoted for the login shell."""
        return "exec " + shlex.join(self.words)


def wrap(
    argv: Sequence[str],
    *,
    timeout: float,
    root: bool = False,
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
    return Wrapped(words, secrets.token_hex(8), max(1, math.ceil(timeout)), root, held)


def read_exec_string(exec_string: str) -> Wrapped:
    """The command inside an exec string; the inverse of ``Wrapped.exec_string``.

    Raises:
        ValueError: not an exec string of this module.
    """
    words = shlex.split(exec_string)
    head, own, argv = words[:_HEAD], words[_HEAD : _HEAD + _FIELDS], words[_HEAD + _FIELDS :]
    if head != ["exec", "sh", "-c", _START, SCRIPT] or len(own) != _FIELDS or not argv:
        raise ValueError(f"not a command of ibaccept: {exec_string[:200]!r}")
    token, timeout, mode, hold = own
    if mode not in {"user", "root"} or hold not in _HOLDS:
        raise ValueError(f"not a command of ibaccept: {exec_string[:200]!r}")
    return Wrapped(tuple(argv), token, int(timeout), mode == "root", _HOLDS[hold])


@dataclass(frozen=True, slots=True)
class Unframed:
    """What came back, without our marks.

    Attributes:
        begun: the script ran; where False the streams are those of something else.
        note: ``missing`` or ``nosudo`` where the script ran no tool.
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
    note = re.search(rb"(?:^|\n)%s (missing|nosudo)\n" % word, stderr)
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
        limit: bytes of each stream that are kept.

    Raises:
        TransportError: the host ran something else than our wrapper (a login shell that refuses,
            a forced command).
    """
    out = unframe(wrapped.token, stdout, stderr)
    cut = ending.timed_out or ending.lost or ending.truncated
    if not out.begun and not cut:
        printed = (stderr.strip() or stdout.strip()).decode("utf-8", "replace")[:200]
        how = f"exit code {ending.exit_code}" if ending.signal is None else ending.signal
        raise TransportError(
            host.name,
            "session",
            f"the login shell did not run our command ({how}, it printed {printed!r}); "
            f"check that 'ssh {host.address or host.name} sh -c true' works",
        )
    errors = out.stderr[:limit]
    if out.left is not None:
        errors += b"ibaccept: process %d could not be ended on the host; end it there\n" % out.left
    refused = out.note == "nosudo" or (
        wrapped.root and ending.exit_code == 1 and not out.stdout and _sudo_refused(errors)
    )
    if out.note == "nosudo":
        errors = b"ibaccept: sudo is not installed on the host\n"
    truncated = ending.truncated or len(out.stdout) > limit or len(out.stderr) > limit
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

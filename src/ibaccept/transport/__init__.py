"""Command words on a host -> CommandResult, on disk before it is read.

Three transports: ``ssh`` (paramiko), ``local`` (the observer is this machine) and ``replay``
(captures on disk). A fake is a transport. Quoting is done here, never by a caller. Knows hosts and
words, nothing of InfiniBand. Imports only errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from ibaccept.errors import IbacceptError

Argv = tuple[str, ...]

Hold = bool | Literal["last"]
"""Whether a command waits to be released; ``last``: or for the loss of its connection."""
OUTPUT_LIMIT = 4 << 20
"""Bytes of each stream that are kept of a command unless its kind allows more."""

Permit = Callable[[Argv], bool]
"""Says whether an argv may be sent at all; ``commands.is_permitted`` in production."""


class TransportError(IbacceptError):
    """A host could not be used: no connection was made, so no command ran there.

    Attributes:
        host: inventory name of the host.
        step: what failed: ``resolve``, ``connect``, ``host key``, ``authentication``, ``session``.
    """

    def __init__(self, host: str, step: str, message: str) -> None:
        self.host = host
        self.step = step
        super().__init__(f"{host}: {message}")


class NotPermittedError(IbacceptError):
    """An argv that commands.py does not list was about to be sent. Always a bug of the suite."""


@dataclass(frozen=True, slots=True)
class Host:
    """One host of the inventory as the transport needs it.

    Attributes:
        name: inventory name.
        address: what to connect to when it differs from ``name`` (``ansible_host``).
        port: SSH port, None = from ssh_config or 22.
        user: SSH user, None = from ssh_config or the local user.
        key_file: private key, None = agent and the keys of ssh_config.
        sudo: run commands that need root with ``sudo -n``.
        local: this machine (``ansible_connection: local``): no SSH.
    """

    name: str
    address: str | None = None
    port: int | None = None
    user: str | None = None
    key_file: Path | None = None
    sudo: bool = False
    local: bool = False


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What one command on one host gave. Partial output is kept whatever went wrong.

    Attributes:
        host: inventory name.
        argv: the command as it was sent, without sudo or the wrapper.
        stdout: raw bytes.
        stderr: raw bytes, never mixed with stdout.
        exit_code: of the command itself; None when it was ended by a signal, timed out or lost.
        signal: name of the signal that ended it (``KILL``), None otherwise.
        start: seconds since the epoch on the clock of the host that ran it, just before; None
            when the host did not say (the connection was lost).
        end: as ``start``, just after.
        timed_out: our limit ended it, here and on the host.
        lost: the connection was lost before the exit code came.
        truncated: more than the output limit came; the rest was not kept and the command ended.
            Such a result is a problem: nothing of it is judged.
        missing: the tool is not installed on the host (or not in its PATH).
        sudo_refused: ``sudo -n`` wanted a password or is not allowed.
    """

    host: str
    argv: Argv
    stdout: bytes
    stderr: bytes
    exit_code: int | None
    signal: str | None = None
    start: float | None = None
    end: float | None = None
    timed_out: bool = False
    lost: bool = False
    truncated: bool = False
    missing: bool = False
    sudo_refused: bool = False

    @property
    def is_script(self) -> bool:
        """A fixed script given to ``sh``, not a tool by itself."""
        return is_script(self.argv)

    @property
    def tool(self) -> str:
        """What a sentence calls the command, see ``tool_of``."""
        return tool_of(self.argv)

    @property
    def text(self) -> str:
        """Stdout decoded; bytes that are not UTF-8 survive as surrogate escapes."""
        return self.stdout.decode("utf-8", "surrogateescape")

    @property
    def error_text(self) -> str:
        """Stderr decoded, as ``text``."""
        return self.stderr.decode("utf-8", "surrogateescape")

    def problem(self) -> str | None:
        """Why the output cannot be taken whole, in a sentence; None when the command ended itself.

        An exit code is no problem here: which codes are answers depends on the command.
        """
        tool = self.tool
        reasons = (
            (
                self.sudo_refused,
                f"sudo asked for a password for {tool}; allow it without "
                "('ibaccept commands --sudoers' prints the rule)",
            ),
            (self.missing, f"{tool} is not installed there (or not in PATH and the sbin folders)"),
            (self.lost, f"the connection was lost while {tool} ran; its output is cut"),
            (self.timed_out, f"{tool} did not end in time and was stopped; its output is cut"),
            (self.truncated, f"{tool} printed more than the output limit; its output is cut"),
            (
                self.signal is not None,
                f"{tool} was ended by signal {self.signal}; its output may be cut",
            ),
        )
        return next((f"{self.host}: {text}" for true, text in reasons if true), None)


def is_script(argv: Argv) -> bool:
    """Whether a command is ``sh -c SCRIPT NAME ...``."""
    return argv[:2] == ("sh", "-c") and len(argv) > 3  # noqa: PLR2004 - sh -c SCRIPT NAME


def tool_of(argv: Argv) -> str:
    """What a command is called: its first word, of a script the name that it is given."""
    return argv[3] if is_script(argv) else argv[0]


class Running(Protocol):
    """A command that was started and is not waited for. Not safe for several threads at a time.

    It is ended, on its host too, when it is stopped, when its time is over, when the transport is
    closed, and when this process ends in any way or the connection is lost.

    Attributes:
        host: where.
        argv: what.
    """

    host: Host
    argv: Argv

    def release(self) -> None:
        """Let a held command begin; its time counts from here. Without effect the second time."""
        ...

    def poll(self) -> CommandResult | None:
        """Take what came meanwhile; the result where it has ended. Never blocks.

        Raises:
            TransportError: the host did not run it; raised by every later call, too.
        """
        ...

    def wait(self) -> CommandResult:
        """The result, when it has ended or its time is over.

        Raises:
            TransportError: as ``poll``.
        """
        ...

    def stop(self, grace: float = 7.0) -> CommandResult:
        """End it (TERM, then KILL, on its host) unless it has ended, and take the result.

        Args:
            grace: seconds to wait for the host to say how it ended; ``lost`` where it does not.

        Raises:
            TransportError: as ``poll``.
        """
        ...


class Transport(Protocol):
    """Runs permitted argv on hosts."""

    def run(
        self,
        host: Host,
        argv: Sequence[str],
        *,
        timeout: float,
        root: bool = False,
        limit: int = OUTPUT_LIMIT,
    ) -> CommandResult:
        """Run one command and wait for it.

        Args:
            host: where.
            argv: the command; refused unless permitted.
            timeout: seconds; after them the remote process is ended and ``timed_out`` is set.
            root: needs root: prefixed by ``sudo -n`` where ``host.sudo``.
            limit: bytes of each stream that are kept; beyond them the command is ended.

        Raises:
            TransportError: no connection could be made, or it was refused.
            NotPermittedError: the argv is not one of commands.py.
        """
        ...

    def start(
        self,
        host: Host,
        argv: Sequence[str],
        *,
        timeout: float,
        root: bool = False,
        held: Hold = False,
        limit: int = OUTPUT_LIMIT,
    ) -> Running:
        """Start one command and return while it runs.

        Args:
            host: where.
            argv: the command; refused unless permitted.
            timeout: seconds it may run, and, where held, wait to be released.
            root: as ``run``.
            held: return when the host says that all is ready but for ``Running.release``; with
                ``last`` the host runs it also when it loses the connection.
            limit: as ``run``.

        Raises:
            TransportError: no connection could be made, it was refused, or a held command was not
                ready in time.
            NotPermittedError: as ``run``.
        """
        ...

    def close(self) -> None:
        """Close every connection; remote processes still running are ended."""
        ...

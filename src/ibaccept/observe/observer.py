"""The host that looks: runs a command there and takes its output, or says why it cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ibaccept.commands import Command
from ibaccept.errors import IbacceptError
from ibaccept.parse import ParseError
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import CommandResult, Transport, TransportError
from ibaccept.transport.captures import CapturedResult
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

T = TypeVar("T")


@dataclass
class Observer:
    """The host that looks, and what it printed so far."""

    transport: Transport
    host: InventoryHost
    progress: Callable[[str], None]
    stat_file: str = ""
    warnings: list[str] = field(default_factory=list)

    def run(self, command: Command, **values: object) -> CommandResult | NotSeen:
        """Run a command here; what it printed, or why that cannot be taken."""
        hca = self.host.ib_hca[0] if self.host.ib_hca else None
        argv = command.argv(hca=hca, hca_port=self.host.ib_port, **values)
        self.progress(f"{' '.join(argv)} on {self.host.name}")
        try:
            result = self.transport.run(
                self.host.transport, argv, timeout=command.timeout, root=command.root
            )
        except TransportError as error:
            return NotSeen(f"the output of {' '.join(argv)}", str(error), hint_of(error))
        problem = result.problem()
        if problem is not None:
            what = f"the output of {' '.join(argv)}"
            return NotSeen(what, problem, next_step(result), head_of(result))
        return result

    def take(
        self,
        what: str,
        command: Command,
        parse: Callable[[CommandResult], T],
        *,
        ok: Sequence[int] = (0,),
        **values: object,
    ) -> T | NotSeen:
        """Run and parse; ``what`` names the part in a message."""
        result = self.run(command, **values)
        if isinstance(result, NotSeen):
            return NotSeen(what, result.reason, result.hint, result.captures)
        if result.exit_code not in ok:
            return NotSeen(
                what,
                f"{self.host.name}: {' '.join(result.argv)} ended with exit code "
                f"{result.exit_code}: {said(result)}",
                "run it by hand there and see what it says",
                head_of(result),
            )
        try:
            return parse(result)
        except ParseError as error:
            shown = CaptureRef(file_of(result), error.line, error.text.strip())
            return NotSeen(
                what,
                f"{self.host.name}: {error}",
                "if the tool printed this itself, its version is not known yet: report the capture",
                (shown,),
            )


def file_of(result: CommandResult) -> str:
    """Capture of a result's stdout; empty where it was not recorded."""
    return result.stdout_file if isinstance(result, CapturedResult) else ""


def error_file_of(result: CommandResult) -> str:
    """Capture of a result's stderr; empty where there is none."""
    if isinstance(result, CapturedResult) and result.stderr_file is not None:
        return result.stderr_file
    return ""


def head_of(result: CommandResult) -> tuple[CaptureRef, ...]:
    """The first line of stderr and the last of stdout: where a tool says why it ended."""
    found = []
    for file, text, index in (
        (error_file_of(result), result.error_text, 0),
        (file_of(result), result.text, -1),
    ):
        lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
        if lines and file:
            number, line = lines[index]
            found.append(CaptureRef(file, number, line.strip()))
    return tuple(found)


def next_step(result: CommandResult) -> str:
    """What to do about an output that is not whole; a refused sudo says it itself."""
    if result.missing:
        return "install infiniband-diags there, or name another host under observers"
    if result.timed_out or result.lost or result.truncated:
        return "run it by hand there and see where it stops, then look again"
    return ""


def said(result: CommandResult) -> str:
    """The last line a tool printed, stderr first."""
    for text in (result.error_text, result.text):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            return lines[-1][:300]
    return "it printed nothing"


def version_of(result: CommandResult) -> str:
    """The last word of ``--version``."""
    words = (result.text + result.error_text).split()
    return words[-1] if words else "unknown"


_HINTS = {
    "resolve": "check the name, or set ansible_host in the inventory",
    "connect": "check that the host is up and that sshd listens",
    "authentication": "check user and key with ssh by hand",
    "replay": "",
}


def hint_of(error: IbacceptError) -> str:
    """What to do about a host that could not be used."""
    return _HINTS.get(getattr(error, "step", ""), "")

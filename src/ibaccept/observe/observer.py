"""The observing host: runs a command there and takes its output, or says why it cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ibaccept.commands import Command
from ibaccept.observe.outputs import parsed
from ibaccept.parse import diags
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import CommandResult, Transport, TransportError
from ibaccept.verdict.absence import NotSeen

T = TypeVar("T")

_LINES_SHOWN = 3
_LINE_SHOWN = 120
_UNKNOWN = "if the tool printed this itself, its version is not known yet: report the capture"


@dataclass
class Observer:
    """The observing host, and what it printed so far."""

    transport: Transport
    host: InventoryHost
    progress: Callable[[str], None]
    stat_file: str = ""
    warnings: list[str] = field(default_factory=list)
    foreign: Counter[str] = field(default_factory=Counter)

    def take(
        self,
        what: str,
        command: Command,
        parse: Callable[[CommandResult], T],
        *,
        ok: Sequence[int] = (0,),
        rows: int | None = None,
        **values: object,
    ) -> T | NotSeen:
        """Run a command here and parse what it printed.

        Args:
            what: names the part in a message: ``the links``.
            command: of commands.py.
            parse: reads the result.
            ok: exit codes with which the output is whole.
            rows: see ``Command.limit``.
            values: parameters of the command.
        """
        result = self._run(command, values, command.limit(rows))
        if isinstance(result, CommandResult):
            for stream in (result.stdout, result.stderr):
                self.foreign.update(diags.foreign_lines(stream))
        return parsed(what, result, parse, ok=ok, hint=_UNKNOWN)

    def passed_over(self) -> tuple[str, ...]:
        """The lines from outside infiniband-diags among what was printed, a sentence."""
        if not self.foreign:
            return ()
        lines = [f"{line[:_LINE_SHOWN]!r}" for line, _ in self.foreign.most_common(_LINES_SHOWN)]
        more = len(self.foreign) - len(lines)
        rest = f" and {more} more" if more else ""
        return (
            f"{self.foreign.total()} lines of loader, libraries, shell or login were printed on "
            f"{self.host.name} and are passed over: {', '.join(lines)}{rest}",
        )

    def _run(
        self, command: Command, values: Mapping[str, object], limit: int
    ) -> CommandResult | TransportError:
        hca = self.host.ib_hca[0] if self.host.ib_hca else None
        argv = command.argv(hca=hca, hca_port=self.host.ib_port, **values)
        self.progress(f"{' '.join(argv)} on {self.host.name}")
        try:
            return self.transport.run(
                self.host.transport, argv, timeout=command.timeout, root=command.root, limit=limit
            )
        except TransportError as error:
            return error


def version_of(result: CommandResult) -> str:
    """The last word of ``--version``."""
    words = (result.text + result.error_text).split()
    return words[-1] if words else "unknown"

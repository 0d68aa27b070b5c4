"""The text of one tool -> a typed value: one module for each tool, named as the tool.

No input or output, no logging. Imports only fabric and errors.
"""

from __future__ import annotations

from dataclasses import dataclass

from ibaccept.errors import IbacceptError


class ParseError(IbacceptError):
    """A line that is not understood, or an output that is cut.

    Attributes:
        tool: name of the tool whose output it is.
        line: 1-based line number, None where the output as a whole is at fault.
        text: the offending line.
    """

    def __init__(self, tool: str, message: str, *, line: int | None = None, text: str = "") -> None:
        self.tool = tool
        self.line = line
        self.text = text
        where = f"{tool} output, line {line}" if line is not None else f"{tool} output"
        shown = f": {text.strip()[:200]!r}" if text else ""
        super().__init__(f"{where}: {message}{shown}")


@dataclass(frozen=True, slots=True)
class ParseWarning:
    """A line of known noise (a timeout warning, a banner): kept, counted, never dropped."""

    line: int
    text: str

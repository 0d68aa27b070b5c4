"""What could not be seen: one way to be absent, from the first output to the judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from ibaccept.errors import IbacceptError
from ibaccept.verdict.evidence import CaptureRef

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NotSeen:
    """A part of the fabric that could not be looked at.

    Attributes:
        what: ``the links``.
        reason: why, in a sentence.
        hint: what to do next.
        captures: output of the tool that shows it.
    """

    what: str
    reason: str
    hint: str = ""
    captures: tuple[CaptureRef, ...] = ()


class NotSeenError(IbacceptError):
    """A test needs a part of the snapshot that is not there. Becomes an error verdict."""

    def __init__(self, part: NotSeen) -> None:
        self.part = part
        super().__init__(f"{part.what} could not be seen: {part.reason}")


def seen(part: T | NotSeen) -> T:
    """The part itself.

    Raises:
        NotSeenError: it could not be seen.
    """
    if isinstance(part, NotSeen):
        raise NotSeenError(part)
    return part

"""Adaptive routing: what the site declares, and what files of its subnet manager show.

Where switches choose among ports themselves, the forwarding tables are only the fallback, and the
number of LIDs per cable does not predict its load. So a spread is judged only where nothing shows
that adaptive routing is on.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from ibaccept.parse.adaptive import engines_in
from ibaccept.verdict.evidence import CaptureRef

SUBJECT = "adaptive routing"
FALLBACK = "not judged: the tables are only the fallback"
BY_LOAD = "judge such a fabric by its load (kinds cable-load and rdma-ceiling)"
NOT_EXCLUDED = (
    "it is not known whether the switches route adaptively; where they do, these counts do not "
    "predict the load. Set adaptive_routing: off, or give opensm.conf under subnet_files"
)


def kept_name(number: int, text: str) -> str:
    """Where the run's folder keeps a file: ``inputs/subnet-1-opensm.conf``."""
    return f"inputs/subnet-{number + 1}-{PurePath(text).name}"


@dataclass(frozen=True, slots=True)
class FileSign:
    """What a file under ``subnet_files`` shows.

    Attributes:
        state: None = the file is understood and has no such setting.
        file: as the expectations name it.
        capture: the line that shows it; of the copy in the run's folder.
    """

    state: Literal["on", "off"] | None
    file: str
    capture: CaptureRef

    def __str__(self) -> str:
        if self.state is None:
            return f"{self.file} has no setting of it"
        return f"{self.file}:{self.capture.line} says {self.state}: {self.capture.text!r}"


@dataclass(frozen=True, slots=True)
class AdaptiveRouting:
    """What is known of adaptive routing.

    Attributes:
        said: ``adaptive_routing:`` of the expectations.
        said_at: that line of them, None where it is not there.
        signs: what the files show, in the order given.
    """

    said: Literal["on", "off"] | None = None
    said_at: CaptureRef | None = None
    signs: tuple[FileSign, ...] = ()

    @property
    def signs_on(self) -> tuple[FileSign, ...]:
        """Files that show it is on."""
        return tuple(sign for sign in self.signs if sign.state == "on")

    @property
    def engines(self) -> tuple[str, ...]:
        """Routing engines that may be in use, by the files; empty where none says."""
        return tuple(
            dict.fromkeys(name for sign in self.signs for name in engines_in(sign.capture.text))
        )

    @property
    def state(self) -> Literal["on", "off", "unknown"]:
        """On by the site or any file; off by one of them where none contradicts."""
        if self.said == "on" or self.signs_on:
            return "on"
        if self.said == "off" or any(sign.state == "off" for sign in self.signs):
            return "off"
        return "unknown"

    @property
    def is_on(self) -> bool | None:
        """``state`` for rules: None where it is not known."""
        return None if self.state == "unknown" else self.state == "on"

    @property
    def why_not_judged(self) -> str | None:
        """Why a spread cannot be judged by the tables; None where it can."""
        if self.state != "on":
            return None
        by = "; ".join(map(str, self.signs_on))
        if self.said == "off":
            return f"{FALLBACK}: the expectations set adaptive_routing: off, but {by}"
        return f"{FALLBACK}: adaptive routing is on, {by or 'by the expectations'}"

    @property
    def hint(self) -> str:
        """What to do where it is not judged."""
        if self.said == "off":
            return "correct adaptive_routing:, or give the files that are in force now"
        return BY_LOAD

    @property
    def captures(self) -> tuple[CaptureRef, ...]:
        """The lines that show it is on."""
        mine = (self.said_at,) if self.said_at is not None else ()
        return (*mine, *(sign.capture for sign in self.signs_on))

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of a judged spread must know of it."""
        shown = "; ".join(map(str, self.signs))
        if self.state == "unknown":
            return (f"{shown}. {NOT_EXCLUDED}" if shown else NOT_EXCLUDED,)
        if self.state == "off":
            return (f"adaptive routing is off, {shown or 'by the expectations'}",)
        return ()

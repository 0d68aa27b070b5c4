"""Facts of a run: in every report, judged by none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ibaccept.fabric.harmless import clean


@dataclass(frozen=True)
class RunMeta:
    """One run of the suite.

    Attributes:
        fabric: name of the fabric in the expectations file.
        started: UTC, ISO 8601: ``2026-11-30T10:16:03Z``.
        ended: as ``started``.
        tools: version by tool, as the observer's tools print it.
        observer: host that ran the fabric tools.
        run_dir: the run's folder, as the person at the terminal would type it.
        expectations: file name of the expectations.
        ibaccept: version of this suite.
        job: the job, in words: ``clients node[001-012], storage stor-1``.
        warnings: what a reader must know of the run as a whole.
        replayed: where the captures were judged again without looking: when, and the run they are
            of. ``started`` is then the time of the look, and ``ended`` is empty.
    """

    fabric: str
    started: str
    ended: str
    tools: Mapping[str, str] = field(default_factory=dict)
    observer: str = ""
    run_dir: Path = Path()
    expectations: str = "expectations.yaml"
    ibaccept: str = ""
    job: str = ""
    warnings: tuple[str, ...] = ()
    replayed: str = ""

    @property
    def seconds(self) -> float | None:
        """Duration of the run; None where the times do not say it."""
        start, end = epoch(self.started), epoch(self.ended)
        return None if start is None or end is None or end < start else end - start

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Name and value of everything known about the run, cleaned; the empty ones left out."""
        rows = (
            ("fabric", self.fabric),
            ("started", self.started),
            ("ended", self.ended),
            ("judged again", self.replayed),
            ("observer", self.observer),
            ("job", self.job),
            ("expectations", self.expectations),
            ("ibaccept", self.ibaccept),
            *((name, version) for name, version in sorted(self.tools.items())),
        )
        return tuple((clean(name), clean(value)) for name, value in rows if value)


def epoch(text: str) -> float | None:
    """Seconds since the epoch of an ISO 8601 time with zone; None where the text is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment.timestamp()

"""Rates of the load runs of two runs, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ibaccept.fabric.units import Bandwidth
from ibaccept.load.result import FilesystemRun, LoadRuns, RdmaRun
from ibaccept.verdict.absence import NotSeen


@dataclass(frozen=True, slots=True)
class RateChange:
    """One load run.

    Attributes:
        name: ``filesystem-read``, ``rdma-write``.
        was: GiB/s of all clients or pairs together; None where not measured.
        now: likewise.
        percent: change against ``was``; None where one of them is not known.
        why: why one is missing.
    """

    name: str
    was: float | None
    now: float | None
    percent: float | None
    why: str = ""


def rate_changes(old: LoadRuns, new: LoadRuns) -> tuple[RateChange, ...]:
    """Every load run that either made; a part of the clients is no total."""
    before, after = dict(_totals(old)), dict(_totals(new))
    rows = []
    for name in dict.fromkeys((*after, *before)):
        was, why_was = before.get(name, (None, "the old run did not make it"))
        now, why_now = after.get(name, (None, "the new run did not make it"))
        percent = None if was is None or now is None or was == 0 else 100 * (now / was - 1)
        rows.append(RateChange(name, was, now, percent, why_was or why_now))
    return tuple(rows)


def _totals(runs: LoadRuns) -> Iterator[tuple[str, tuple[float | None, str]]]:
    for name, run in (
        ("filesystem-write", runs.filesystem_write),
        ("filesystem-read", runs.filesystem_read),
    ):
        if run is not None:
            yield name, _total(run)
    for name, rounds in (("rdma-read", runs.rdma_read), ("rdma-write", runs.rdma_write)):
        if isinstance(rounds, NotSeen):
            yield name, (None, rounds.reason)
        else:
            for one in rounds or ():
                yield one.name, _total(one)


def _total(run: FilesystemRun | RdmaRun | NotSeen) -> tuple[float | None, str]:
    if isinstance(run, NotSeen):
        return None, run.reason
    total: Bandwidth | None = run.total
    if total is not None:
        return total.gib, ""
    return None, run.unseen[0].reason if run.unseen else "nothing was measured"

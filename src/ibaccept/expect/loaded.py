"""Whether the load was there: what of the runs was not seen, and what that leaves to judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ibaccept.expect.look import ports_of
from ibaccept.load.result import CableWatch, FilesystemRun, LoadRuns, RateState
from ibaccept.model import PortId
from ibaccept.snapshot import NotSeen, NotSeenError
from ibaccept.verdict import Different, Unseen

Answer = str | Different | Unseen
AGAIN = "run the load again"
RUNS = ("filesystem-write", "filesystem-read", "rdma-read", "rdma-write")
"""The runs, as their watches are named."""


def under_load(runs: LoadRuns, growth: Callable[[Any], Answer]) -> Callable[[Any], Answer]:
    """Judges error counters over the load runs, by what is known of the load too.

    No growth means nothing where the load was not there. And counters that were 0 before, grew,
    and were cleared read 0 again: the sweeps around the load see nothing of that. The cable watch
    does: the data counters of the same port fell.
    """
    lacking = [part for name in RUNS for part in not_whole(runs, name)]
    if all(not getattr(runs, name.replace("-", "_")) for name in RUNS):
        lacking.append(NotSeen("the load", "no load run was made"))
    cleared = dict(_cleared(runs))

    def judged(item: Any) -> Answer:
        answer = growth(item)
        if isinstance(answer, Different | Unseen):
            return answer
        for part in lacking:
            return Unseen(f"the load was not as ordered: {part.reason}", part.hint or AGAIN)
        why = next((cleared[port] for port in ports_of(item) if port in cleared), None)
        return answer if why is None else Unseen(why, AGAIN)

    return judged


def not_whole(runs: LoadRuns, name: str) -> tuple[NotSeen, ...]:
    """What was not seen of a run that was asked for."""
    found = getattr(runs, name.replace("-", "_"))
    if found is None:
        return ()
    if isinstance(found, NotSeen):
        return (found,)
    rounds = (found,) if isinstance(found, FilesystemRun) else found
    return tuple(part for round_ in rounds for part in round_.unseen)


def require_whole(runs: LoadRuns, watched: str) -> None:
    """Cables under a part of the job are not those under the job.

    Args:
        runs: the load runs.
        watched: name of a watch, ``rdma-read-2`` for a second round.

    Raises:
        NotSeenError: a client or a pair of the run was not measured.
    """
    for name in RUNS:
        if watched.startswith(name):
            for part in not_whole(runs, name):
                raise NotSeenError(part)


def _cleared(runs: LoadRuns) -> Iterable[tuple[PortId, str]]:
    """Ports whose counters fell while they were watched, each with a sentence."""
    for watch in runs.watches.values():
        for cable in watch.cables if isinstance(watch, CableWatch) else ():
            for way in (cable.toward_clients, cable.toward_storage):
                if way.state is RateState.CLEARED:
                    yield from ((port, way.why) for port in cable.ports)
                elif way.wait is not None and way.wait.state is RateState.CLEARED:
                    yield (
                        way.wait.port,
                        f"{way.name} PortXmitWait fell: somebody cleared counters during the run",
                    )

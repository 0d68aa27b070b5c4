"""Whether the load was there: what of the runs was not seen, and what that leaves to judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ibaccept.checks.links import ports_of
from ibaccept.load.result import (
    ByteBalance,
    CableWatch,
    FilesystemRun,
    LoadRuns,
)
from ibaccept.verdict import ItemAnswer, Met
from ibaccept.verdict.absence import NotSeen, NotSeenError

AGAIN = "run the load again"


LEAST_PERCENT = 1.0
"""Of its ceiling, from which a cable carried load: what management sends is far less."""


RUNS = ("filesystem-write", "filesystem-read", "rdma-read", "rdma-write")
"""The runs, as their watches are named."""


def under_load(
    runs: LoadRuns, growth: Callable[[Any], ItemAnswer], items: Sequence[Any] | None = None
) -> Callable[[Any], ItemAnswer]:
    """Judges error counters over the load runs, by what is known of the load too.

    Args:
        runs: the load.
        growth: what two sweeps say of an item.
        items: all that are judged, where one of them at least must have carried load.

    No growth means nothing where the load was not there. And counters that were 0 before, grew,
    and were cleared read 0 again: the sweeps around the load see nothing of that. The cable watch
    does: the data counters of the same port fell.
    """
    lacking = [part for name in RUNS for part in not_whole(runs, name)] or list(_not_loaded(runs))
    if items and not lacking and not loaded_among(runs, items):
        lacking.append(
            NotSeen(
                "the load",
                f"none of these {len(items)} links is known to have carried it",
                "name links that the job's traffic crosses, or load them more",
            )
        )

    def judged(item: Any) -> ItemAnswer:
        answer = growth(item)
        if not isinstance(answer, Met):
            return answer
        for part in lacking:
            reason = f"not all of the ordered load was there: {part.reason}"
            return replace(part, reason=reason, hint=part.hint or AGAIN)
        why = next((runs.cleared[port] for port in ports_of(item) if port in runs.cleared), None)
        return answer if why is None else NotSeen("error counters", why, AGAIN)

    return judged


def loaded_among(runs: LoadRuns, items: Sequence[Any]) -> int:
    """How many of the items carried load in some run."""
    ports = {
        port
        for watch in runs.watches.values()
        if isinstance(watch, CableWatch)
        for cable in watch.cables
        if any((way.percent or 0.0) >= LEAST_PERCENT for way in cable.ways)
        for port in cable.ports
    }
    return sum(any(port in ports for port in ports_of(item)) for item in items)


def load_note(runs: LoadRuns, items: Sequence[Any]) -> str:
    """How many of the links judged were under load at all."""
    used = loaded_among(runs, items)
    return f"{used} of {len(items)} of these links are known to have carried load in the load runs"


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


def _not_loaded(runs: LoadRuns) -> Iterator[NotSeen]:
    """Why the cables were not under load in a direction in which a run was made.

    A recorded run loaded the cables some other day. One whose bytes were not seen on the cables
    may have come from a cache.
    """
    made = {direction: list(_made(runs, direction)) for direction in ("read", "write")}
    if not any(made.values()):
        yield NotSeen("the load", "no load run was made")
    for names in made.values():
        balances = [runs.balances.get(name) for name in names]
        if balances and not any(did_cross(balance) for balance in balances):
            yield not_crossed(names[0], balances[0])


def _made(runs: LoadRuns, direction: str) -> Iterator[str]:
    """Names of the runs in a direction that this suite made itself."""
    filesystem = getattr(runs, f"filesystem_{direction}")
    if isinstance(filesystem, FilesystemRun) and filesystem.recorded is None:
        yield filesystem.name
    rounds = getattr(runs, f"rdma_{direction}")
    for round_ in rounds if isinstance(rounds, tuple) else ():
        yield round_.name


def did_cross(balance: ByteBalance | NotSeen | None) -> bool:
    """Whether the bytes of a run were seen on the cables."""
    return isinstance(balance, ByteBalance) and balance.explained != "cached"


def not_crossed(run: str, balance: ByteBalance | NotSeen | None, claimed: str = "more") -> NotSeen:
    """Why the bytes of a run are not known to have crossed the cables.

    Args:
        run: its name.
        balance: of its bytes.
        claimed: rate of the benchmark, for the sentence.
    """
    what, is_rdma = f"the bytes of {run} on the cables", run.startswith("rdma")
    if isinstance(balance, ByteBalance):
        less = f"claim {claimed}, but their cables carried {-100 * balance.difference:.0f} % less"
        if is_rdma:
            return NotSeen(
                what,
                f"{run}: the pairs {less}: the rest went by another adapter, port or fabric",
                "name the adapter and port of the job with ib_hca and ib_port in the inventory",
            )
        return NotSeen(
            what,
            f"{run}: the clients {less}: that part is a cache's",
            "move a data set larger than the caches of clients and servers",
        )
    or_else = "" if is_rdma else " or came from a cache"
    unseen = balance or NotSeen(what, "the cables were not watched")
    claimed = "all" if claimed == "more" else claimed
    return NotSeen(
        what,
        f"{run}: whether {claimed} crossed the cables{or_else} is not known: {unseen.reason}",
        unseen.hint or AGAIN,
        unseen.captures,
    )

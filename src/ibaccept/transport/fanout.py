"""The same on each of many hosts, a bounded number at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ibaccept.errors import IbacceptError
from ibaccept.transport import (
    OUTPUT_LIMIT,
    CommandResult,
    Hold,
    Host,
    NotPermittedError,
    Permit,
    Running,
    Transport,
    TransportError,
)

Job = tuple[Host, Sequence[str]]

J = TypeVar("J")
R = TypeVar("R")


def check_permitted(permit: Permit, argv: Sequence[str]) -> None:
    """Refuse what may not be sent.

    Raises:
        NotPermittedError: ``permit`` says no.
    """
    if not permit(tuple(argv)):
        raise NotPermittedError(
            f"{' '.join(argv)!r} is not a command this suite may run; nothing was sent. "
            "This is a bug of the suite: every command belongs into commands.py"
        )


def each(
    action: Callable[[J], R],
    jobs: Sequence[J],
    *,
    fan_out: int,
    abort: Callable[[], object] = lambda: None,
) -> list[R | TransportError]:
    """Call ``action`` for each job in at most ``fan_out`` threads.

    Args:
        action: does one job.
        jobs: what to do.
        fan_out: threads, at least 1.
        abort: ends everything that runs; called on Ctrl-C and on an error that is no
            TransportError, before the threads are waited for.

    Returns:
        By index into ``jobs``: what ``action`` returned, or why that single host could not be used.

    Raises:
        ValueError: ``fan_out`` is below 1.
    """
    if fan_out < 1:
        raise ValueError(f"fan_out must be at least 1, got {fan_out}")
    if not jobs:
        return []

    def attempt(job: J) -> R | TransportError:
        try:
            return action(job)
        except TransportError as error:
            return error

    pool = ThreadPoolExecutor(min(fan_out, len(jobs)), thread_name_prefix="ibaccept")
    try:
        futures = [pool.submit(attempt, job) for job in jobs]
        return [future.result() for future in futures]
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        abort()
        raise
    finally:
        pool.shutdown(wait=True)


def run_many(
    transport: Transport,
    jobs: Sequence[Job],
    *,
    timeout: float,
    root: bool = False,
    limit: int = OUTPUT_LIMIT,
    fan_out: int = 32,
    keep_open: bool = False,
) -> list[CommandResult | TransportError]:
    """Run one command on each of many hosts, at most ``fan_out`` at a time.

    Args:
        transport: runs them.
        jobs: host and argv each.
        timeout: as ``Transport.run``.
        root: as ``Transport.run``.
        limit: as ``Transport.run``.
        fan_out: threads.
        keep_open: leave the transport open on Ctrl-C, for a caller that has to end or remove over
            it what it began. The commands that run then are waited for.

    Returns:
        By index into ``jobs``: the result, or why that single host could not be used.
    """

    def run(job: Job) -> CommandResult:
        host, argv = job
        return transport.run(host, argv, timeout=timeout, root=root, limit=limit)

    abort = (lambda: None) if keep_open else transport.close
    return each(run, jobs, fan_out=fan_out, abort=abort)


def start_many(
    transport: Transport,
    jobs: Sequence[Job],
    *,
    timeout: float,
    root: bool = False,
    held: Hold = False,
    limit: int = OUTPUT_LIMIT,
    fan_out: int = 32,
) -> list[Running | TransportError]:
    """Start one command on each of many hosts, at most ``fan_out`` being started at a time.

    Args:
        transport: starts them.
        jobs: host and argv each.
        timeout: as ``Transport.start``.
        root: as ``Transport.start``.
        held: as ``Transport.start``.
        limit: as ``Transport.start``.
        fan_out: threads, for as long as the starting takes.

    Returns:
        By index into ``jobs``: the running command, or why that single host could not be used.
        Where anything else goes wrong (Ctrl-C), all that were started are stopped first.
    """
    started: list[Running] = []

    def start(job: Job) -> Running:
        host, argv = job
        running = transport.start(host, argv, timeout=timeout, root=root, held=held, limit=limit)
        started.append(running)
        return running

    try:
        return each(start, jobs, fan_out=fan_out)
    except BaseException:
        each(_stop, started, fan_out=fan_out)
        raise


def _stop(running: Running) -> None:
    """End a command whatever becomes of its result, which is not taken any more."""
    with contextlib.suppress(IbacceptError):
        running.stop()

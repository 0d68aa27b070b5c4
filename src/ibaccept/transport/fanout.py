"""One command on each of many hosts, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from ibaccept.transport import CommandResult, Host, NotPermittedError, Permit, TransportError

Job = tuple[Host, Sequence[str]]


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


def run_each(
    run: Callable[[Host, Sequence[str]], CommandResult],
    jobs: Sequence[Job],
    *,
    fan_out: int,
    abort: Callable[[], None],
) -> dict[int, CommandResult | TransportError]:
    """Call ``run`` for each job in at most ``fan_out`` threads.

    Args:
        run: runs one job.
        jobs: host and argv each.
        fan_out: threads, at least 1.
        abort: ends everything that runs; called on Ctrl-C and on an error that is no
            TransportError, before waiting for the threads.

    Returns:
        By index into ``jobs``.

    Raises:
        ValueError: ``fan_out`` is below 1.
    """
    if fan_out < 1:
        raise ValueError(f"fan_out must be at least 1, got {fan_out}")
    if not jobs:
        return {}

    def attempt(job: Job) -> CommandResult | TransportError:
        try:
            return run(*job)
        except TransportError as error:
            return error

    pool = ThreadPoolExecutor(min(fan_out, len(jobs)), thread_name_prefix="ibaccept")
    try:
        futures = [pool.submit(attempt, job) for job in jobs]
        return {index: future.result() for index, future in enumerate(futures)}
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        abort()
        raise
    finally:
        pool.shutdown(wait=True)

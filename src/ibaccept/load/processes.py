"""Processes on many hosts that begin together, are watched while they run, and all end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from ibaccept.load.clocks import Clocks
from ibaccept.load.pace import Pace
from ibaccept.transport import Argv, CommandResult, Hold, Host, Running, Transport, TransportError
from ibaccept.transport.captures import CapturedResult
from ibaccept.transport.running import start_many
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

Job = tuple[Host, Argv]


_TICK = 0.1


def captures_of(result: CommandResult) -> tuple[CaptureRef, ...]:
    """Where a result says why it is none: the last line of stderr, or of stdout."""
    if not isinstance(result, CapturedResult):
        return ()
    for file, text in ((result.stderr_file, result.error_text), (result.stdout_file, result.text)):
        lines = [(n, line.strip()) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
        if file and lines:
            return (CaptureRef(file, *lines[-1]),)
    return (CaptureRef(result.stdout_file, None, ""),) if result.stdout_file else ()


def why_not(what: str, step: str, result: CommandResult | TransportError) -> NotSeen | None:
    """Why a result cannot be taken; None where the command ended with exit code 0.

    Args:
        what: that is not seen then.
        step: of the run, for the sentence.
        result: of one host.
    """
    if isinstance(result, TransportError):
        return NotSeen(what, f"{step}: {result}", "see whether the host is up and can be reached")
    said = last_words(result.error_text, result.text)
    problem = result.problem()
    if problem is not None:
        hint = f"install {result.argv[0]} on {result.host}" if result.missing else ""
        return NotSeen(what, f"{step}: {problem}{said}", hint, captures_of(result))
    if result.exit_code != 0:
        return NotSeen(
            what,
            f"{step}: {result.host}: {result.argv[0]} ended with exit code {result.exit_code}"
            f"{said or ': it printed nothing'}",
            f"run it there by hand: {' '.join(result.argv)}",
            captures_of(result),
        )
    return None


def last_words(*texts: str) -> str:
    """``: `` and the last line of the first text that has one; empty where none has."""
    for text in texts:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            return f": {lines[-1][:300]}"
    return ""


def run_all(
    transport: Transport, jobs: Sequence[Job], *, timeout: float, root: bool = False, fan_out: int
) -> list[CommandResult | TransportError]:
    """One short command on each of many hosts, as ``Transport.run_many``.

    Ctrl-C does not close the transport here: what a load run started still has to be ended, and
    its files removed, over it.
    """

    def attempt(job: Job) -> CommandResult | TransportError:
        try:
            return transport.run(*job, timeout=timeout, root=root)
        except TransportError as error:
            return error

    if not jobs:
        return []
    pool = ThreadPoolExecutor(min(fan_out, len(jobs)), thread_name_prefix="ibaccept")
    try:
        return list(pool.map(attempt, jobs))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass
class Together:
    """A set of started processes. Use as a context manager: none outlives it.

    Attributes:
        running: by number of the job.
        results: what has come so far, by number of the job.
        started: processes started.
    """

    transport: Transport
    pace: Pace
    clocks: Clocks
    running: dict[int, Running] = field(default_factory=dict)
    results: dict[int, CommandResult | TransportError] = field(default_factory=dict)
    started: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self, jobs: Sequence[Job], *, timeout: float, held: Hold = False) -> None:
        """Start jobs, numbered on from those there are; held ones wait for ``release``."""
        first = self.started
        self.started += len(jobs)
        begun = start_many(
            self.transport, jobs, timeout=timeout, held=held, fan_out=self.pace.fan_out
        )
        for number, one in enumerate(begun, first):
            if isinstance(one, TransportError):
                self.results[number] = one
            else:
                self.running[number] = one
        self.poll()

    def release(self, numbers: Sequence[int]) -> None:
        """Let held processes begin, one right after the other."""
        for number in numbers:
            if number in self.running:
                self.running[number].release()

    def poll(self) -> bool:
        """Take the results there are; whether all have ended."""
        for number in list(self.running):
            self._take(number, self.running[number].poll)
        return not self.running

    def _take(self, number: int, take: Callable[[], CommandResult | None]) -> None:
        try:
            result = take()
        except TransportError as error:
            self.results[number] = error
            del self.running[number]
            return
        if result is not None:
            self.results[number] = result
            self.clocks.note(result)
            del self.running[number]

    def has_ended(self, numbers: Sequence[int]) -> bool:
        """Whether all of those have ended, as far as the last poll saw."""
        return all(number in self.results for number in numbers)

    def any_ended(self, numbers: Sequence[int]) -> bool:
        """Whether one of those has ended, as far as the last poll saw."""
        return any(number in self.results for number in numbers)

    def finish(self, seconds: float) -> None:
        """Give what still runs a moment to end by itself, then stop it."""
        for _ in range(round(seconds / _TICK)):
            if self.poll():
                return
            self.pace.sleep(_TICK)
        self.stop()

    def stop(self) -> None:
        """End what still runs, many at a time, and take the results."""
        left = dict(self.running)
        if not left:
            return
        with ThreadPoolExecutor(min(self.pace.fan_out, len(left))) as pool:
            for _ in pool.map(lambda number: self._take(number, left[number].stop), left):
                pass

    @property
    def ended(self) -> tuple[int, int]:
        """Processes started, and those seen to end."""
        return self.started, len(self.results)

"""Recording what a transport gives, and giving it again from a bundle."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ibaccept.transport import (
    OUTPUT_LIMIT,
    Argv,
    CommandResult,
    Hold,
    Host,
    Running,
    Transport,
    TransportError,
)
from ibaccept.transport.captures import (
    Bundle,
    BundleError,
    CapturedError,
    CapturedResult,
    Entry,
    load,
)


class RecordingTransport:
    """Writes every result and every failure to reach a host to a bundle before it returns.

    Args:
        inner: does the work.
        bundle: where it is written.
    """

    def __init__(self, inner: Transport, bundle: Bundle) -> None:
        self._inner = inner
        self._bundle = bundle
        self._label = ""
        self._lock = threading.Lock()
        self._failure: BundleError | None = None
        self._is_cleaning = False
        self._orders = 0
        self._moves = 0

    @contextmanager
    def cleaning(self) -> Iterator[None]:
        """Meanwhile a result that cannot be written is given all the same, in every thread.

        What was started on hosts has to be ended and what was made there to be removed, whatever
        becomes of our own disk. The first failure is kept and raised by the next command that is
        sent outside, and by ``check``.
        """
        before, self._is_cleaning = self._is_cleaning, True
        try:
            yield
        finally:
            self._is_cleaning = before

    def check(self) -> None:
        """Nothing that could not be written may be judged.

        Raises:
            BundleError: a result could not be written.
        """
        if self._failure is not None and not self._is_cleaning:
            raise self._failure

    def record(self, write: Callable[[], CapturedResult], result: CommandResult) -> CommandResult:
        """Write a result; while cleaning up, the result itself where that fails."""
        try:
            return write()
        except BundleError as error:
            self._fail(error)
            return result

    def record_error(self, write: Callable[[], None]) -> None:
        """Write that a host could not be used; while cleaning up, go on where that fails."""
        try:
            write()
        except BundleError as error:
            self._fail(error)

    def _fail(self, error: BundleError) -> None:
        self._failure = self._failure or error
        if not self._is_cleaning:
            raise error

    @contextmanager
    def labelled(self, label: str) -> Iterator[None]:
        """Mark what is recorded meanwhile, in every thread: ``with transport.labelled("load")``."""
        before, self._label = self._label, label
        try:
            yield
        finally:
            self._label = before

    def run(
        self,
        host: Host,
        argv: Sequence[str],
        *,
        timeout: float,
        root: bool = False,
        limit: int = OUTPUT_LIMIT,
    ) -> CommandResult:
        """See ``Transport.run``; the result also says which files hold it.

        Raises:
            BundleError: it, or an earlier one, cannot be written.
        """
        self.check()
        label = self._label
        sent = time.time()
        try:
            result = self._inner.run(host, argv, timeout=timeout, root=root, limit=limit)
        except TransportError as error:
            self.record_error(partial(self._bundle.record_error, argv, error, label))
            raise
        received = time.time()
        return self.record(
            lambda: self._bundle.record(result, label, sent=sent, received=received), result
        )

    def start(
        self,
        host: Host,
        argv: Sequence[str],
        *,
        timeout: float,
        root: bool = False,
        held: Hold = False,
        limit: int = OUTPUT_LIMIT,
    ) -> Running:
        """See ``Transport.start``; the result is written when it is first taken.

        Raises:
            BundleError: as ``run``.
        """
        self.check()
        label = self._label
        with self._lock:
            self._orders += 1
            order = self._orders
        self.move()
        try:
            running = self._inner.start(
                host, argv, timeout=timeout, root=root, held=held, limit=limit
            )
        except TransportError as error:
            self.record_error(partial(self._bundle.record_error, argv, error, label, order=order))
            raise
        return _Recorded(self, running, self._bundle, label, order)

    def move(self) -> int:
        """Count a start or release."""
        with self._lock:
            self._moves += 1
            return self._moves

    @property
    def moves(self) -> int:
        """Starts and releases so far."""
        return self._moves

    def close(self) -> None:
        """Close the inner transport; the bundle needs no closing."""
        self._inner.close()


@contextmanager
def cleaning(transport: Transport) -> Iterator[None]:
    """``RecordingTransport.cleaning`` of a transport that records; any other needs nothing."""
    if isinstance(transport, RecordingTransport):
        with transport.cleaning():
            yield
    else:
        yield


class _Recorded:
    """Implements ``Running``: writes the result once, when it is first taken."""

    def __init__(
        self, parent: RecordingTransport, inner: Running, bundle: Bundle, label: str, order: int
    ) -> None:
        self._parent = parent
        self.host = inner.host
        self.argv = inner.argv
        self._inner = inner
        self._bundle = bundle
        self._label = label
        self._order = order
        self._sent = time.time()
        self._kept: CommandResult | None = None
        self._failed = False

    def release(self) -> None:
        """See ``Running.release``."""
        self._parent.move()
        self._sent = time.time()
        self._inner.release()

    def poll(self) -> CommandResult | None:
        """See ``Running.poll``."""
        return self._keep(self._inner.poll)

    def wait(self) -> CommandResult:
        """See ``Running.wait``."""
        return self._whole(self._inner.wait)

    def stop(self, grace: float = 7.0) -> CommandResult:
        """See ``Running.stop``."""
        return self._whole(lambda: self._inner.stop(grace))

    def _whole(self, take: Callable[[], CommandResult]) -> CommandResult:
        kept = self._keep(take)
        assert kept is not None  # noqa: S101 - wait and stop give results
        return kept

    def _keep(self, take: Callable[[], CommandResult | None]) -> CommandResult | None:
        if self._kept is not None:
            return self._kept
        try:
            result = take()
        except TransportError as error:
            self._note_failure(error)
            raise
        if result is not None:
            # kept before it is written: what could not be written is not taken a second time
            self._kept = result
            self._kept = self._parent.record(partial(self._record, result, time.time()), result)
        return self._kept

    def _record(self, result: CommandResult, received: float) -> CapturedResult:
        return self._bundle.record(
            result,
            self._label,
            sent=self._sent,
            received=received,
            order=self._order,
            moves=self._parent.moves,
        )

    def _note_failure(self, error: TransportError) -> None:
        if self._failed:
            return
        self._failed = True
        self._parent.record_error(
            partial(
                self._bundle.record_error,
                self.argv,
                error,
                self._label,
                order=self._order,
                moves=self._parent.moves,
            )
        )


class ReplayTransport:
    """Answers from a bundle: the n-th identical (host, argv) gets the n-th recorded result.

    Commands that were started end in a replay when everything that was recorded before their end,
    under the same label, has been sent and done again, so that a loop that works until they
    end does what it did then; and at once when nothing that was recorded is taken any more.

    Args:
        run_dir: folder of the run.
        label: give only what was recorded under it; None = everything.

    Raises:
        BundleError: the bundle is incomplete or was changed.
    """

    def __init__(self, run_dir: Path, label: str | None = None) -> None:
        self._run_dir = run_dir
        # A command that was started and one that was run are not each other's results.
        self._recorded: defaultdict[tuple[str, Argv, bool], list[Entry]] = defaultdict(list)
        self._sent: Counter[tuple[str, Argv, bool]] = Counter()
        self._lock = threading.Lock()
        entries = [entry for entry in load(run_dir) if label is None or entry.label == label]
        # of equal commands that ran side by side the first started is the first given
        for entry in sorted(entries, key=lambda entry: (entry.order or 0, entry.seq)):
            self._recorded[entry.host, entry.argv, entry.order is not None].append(entry)
        self._given: set[int] = set()
        self._waiting: defaultdict[str, deque[int]] = defaultdict(deque)
        for entry in entries:
            self._waiting[entry.label].append(entry.seq)
        self._moves = 0
        self._progress = 0

    def run(
        self,
        host: Host,
        argv: Sequence[str],
        *,
        timeout: float,
        root: bool = False,
        limit: int = OUTPUT_LIMIT,
    ) -> CapturedResult:
        """See ``Transport.run``.

        Raises:
            TransportError: what was raised then; or step ``replay``: the bundle holds no such
                command, or fewer of it.
        """
        del timeout, root, limit
        entry = self._entry(host, argv)
        self.give(entry)
        if isinstance(entry, CapturedError):
            raise entry.error
        return entry

    def start(
        self,
        host: Host,
        argv: Sequence[str],
        *,
        timeout: float,
        root: bool = False,
        held: Hold = False,
        limit: int = OUTPUT_LIMIT,
    ) -> Running:
        """See ``Transport.start``; what failed later fails when it is polled.

        Raises:
            TransportError: as ``run``.
        """
        del timeout, root, held, limit
        self.move()
        return _Replayed(self, host, self._entry(host, argv, started=True))

    def move(self) -> None:
        """Count a start or release: what was seen to end after it must not end before it."""
        with self._lock:
            self._moves += 1
            self._progress += 1

    def give(self, entry: Entry, *, due: bool = True) -> None:
        """Note that a recorded result was taken; ``due``: when its turn had come."""
        with self._lock:
            self._given.add(entry.seq)
            self._progress += due
            waiting = self._waiting[entry.label]
            while waiting and waiting[0] in self._given:
                waiting.popleft()

    def is_due(self, entry: Entry) -> bool:
        """Whether all that was recorded before it under the same label has been taken."""
        with self._lock:
            waiting = self._waiting[entry.label]
            first = not waiting or waiting[0] >= entry.seq
            return first and self._moves >= (entry.moves or 0)

    @property
    def progress(self) -> int:
        """Grows with every start, release, and result that was taken in its turn.

        A caller that asks for the same command twice and got nothing done in between would ask
        for ever: a newer version of the suite, or one with other inputs, does not take all that
        was recorded before. So the second question is answered, whatever is still not taken.
        """
        with self._lock:
            return self._progress

    def _entry(self, host: Host, argv: Sequence[str], *, started: bool = False) -> Entry:
        key = (host.name, tuple(argv), started)
        with self._lock:
            entries = self._recorded.get(key, [])
            number = self._sent[key]
            self._sent[key] += 1
        if number < len(entries):
            return entries[number]
        held = f"it holds {len(entries)} of them" if entries else "it was not run then"
        raise TransportError(
            host.name,
            "replay",
            f"this bundle does not hold call {number + 1} of '{' '.join(argv)}' ({held}); "
            f"run the suite against the fabric, or judge only what {self._run_dir} saw",
        )

    @contextmanager
    def labelled(self, label: str) -> Iterator[None]:
        """As ``RecordingTransport.labelled``; what is given was labelled then."""
        del label
        yield

    def close(self) -> None:
        """Nothing is open."""


class _Replayed:
    """Implements ``Running`` from a bundle."""

    def __init__(self, replay: ReplayTransport, host: Host, entry: Entry) -> None:
        self.host = host
        self.argv = entry.argv
        self._replay = replay
        self._entry = entry
        self._seen: int | None = None

    def release(self) -> None:
        """See ``Running.release``."""
        self._replay.move()

    def poll(self) -> CapturedResult | None:
        """See ``Running.poll``."""
        if self._replay.is_due(self._entry):
            return self._take(due=True)
        seen, self._seen = self._seen, self._replay.progress
        return self._take(due=False) if seen == self._seen else None

    def wait(self) -> CapturedResult:
        """See ``Running.wait``."""
        return self._take(due=True)

    def stop(self, grace: float = 7.0) -> CapturedResult:
        """See ``Running.stop``."""
        del grace
        return self.wait()

    def _take(self, *, due: bool) -> CapturedResult:
        self._replay.give(self._entry, due=due)
        if isinstance(self._entry, CapturedError):
            raise self._entry.error
        return self._entry

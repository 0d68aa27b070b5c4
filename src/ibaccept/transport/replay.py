"""Recording what a transport gives, and giving it again from a bundle."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ibaccept.bundle import Bundle, CapturedError, CapturedResult, Entry, load
from ibaccept.transport import Argv, CommandResult, Host, Transport, TransportError
from ibaccept.transport.fanout import Job, run_each


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
        limit: int = 1 << 30,
        stdin: bytes = b"",
    ) -> CapturedResult:
        """See ``Transport.run``; the result also says which files hold it."""
        label = self._label
        try:
            result = self._inner.run(
                host, argv, timeout=timeout, root=root, limit=limit, stdin=stdin
            )
        except TransportError as error:
            self._bundle.record_error(argv, error, label)
            raise
        return self._bundle.record(result, label)

    def run_many(
        self,
        jobs: Sequence[Job],
        *,
        timeout: float,
        root: bool = False,
        fan_out: int = 32,
    ) -> Mapping[int, CommandResult | TransportError]:
        """See ``Transport.run_many``; each result is written as it comes, not at the end."""
        return run_each(
            lambda host, argv: self.run(host, argv, timeout=timeout, root=root),
            jobs,
            fan_out=fan_out,
            abort=self.close,
        )

    def close(self) -> None:
        """Close the inner transport; the bundle needs no closing."""
        self._inner.close()


class ReplayTransport:
    """Answers from a bundle: the n-th identical (host, argv) gets the n-th recorded result.

    Args:
        run_dir: folder of the run.

    Raises:
        BundleError: the bundle is incomplete or was changed.
    """

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._recorded: defaultdict[tuple[str, Argv], list[Entry]] = defaultdict(list)
        self._asked: Counter[tuple[str, Argv]] = Counter()
        self._lock = threading.Lock()
        for entry in load(run_dir):
            self._recorded[entry.host, entry.argv].append(entry)

    def run(
        self,
        host: Host,
        argv: Sequence[str],
        *,
        timeout: float,
        root: bool = False,
        limit: int = 1 << 30,
        stdin: bytes = b"",
    ) -> CapturedResult:
        """See ``Transport.run``.

        Raises:
            TransportError: what was raised then; or step ``replay``: the bundle holds no such
                command, or fewer of it.
        """
        del timeout, root, limit, stdin
        key = (host.name, tuple(argv))
        with self._lock:
            entries = self._recorded.get(key, [])
            number = self._asked[key]
            self._asked[key] += 1
        if number < len(entries):
            entry = entries[number]
            if isinstance(entry, CapturedError):
                raise entry.error
            return entry
        held = f"it holds {len(entries)} of them" if entries else "it was not run then"
        raise TransportError(
            host.name,
            "replay",
            f"this bundle does not hold call {number + 1} of '{' '.join(argv)}' ({held}); "
            f"run the suite against the fabric, or judge only what {self._run_dir} saw",
        )

    def run_many(
        self,
        jobs: Sequence[Job],
        *,
        timeout: float,
        root: bool = False,
        fan_out: int = 32,
    ) -> Mapping[int, CommandResult | TransportError]:
        """See ``Transport.run_many``; in the order of ``jobs``."""
        del fan_out
        return run_each(
            lambda host, argv: self.run(host, argv, timeout=timeout, root=root),
            jobs,
            fan_out=1,
            abort=self.close,
        )

    def close(self) -> None:
        """Nothing is open."""

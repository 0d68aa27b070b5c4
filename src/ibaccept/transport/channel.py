"""One command on one SSH channel: both streams are read when it is polled, without a thread."""

from __future__ import annotations

import contextlib
import select
import time
from collections.abc import Callable

import paramiko

from ibaccept.transport.connect import exit_signal
from ibaccept.transport.wrap import GRACE, Ending, Kept, Wrapped

_TICK = 0.2
_CHUNK = 1 << 16
_CHUNKS = 64


class SshProcess:
    """Implements ``running.Process``.

    Args:
        channel: open, nothing executed on it yet.
        limit: bytes of each stream that are kept.
        free: called once, after the channel was closed.
    """

    def __init__(
        self, channel: paramiko.Channel, limit: int, free: Callable[[], None] = lambda: None
    ) -> None:
        self._channel = channel
        self._free = free
        self.out = Kept(limit, tail=False)
        self.err = Kept(limit, tail=True)
        self._timed_out = False
        self._deadline = float("inf")
        self._give_up: float | None = None

    def begin(self, wrapped: Wrapped, timeout: float) -> None:
        """Have the server execute it; returns when the server says that it does.

        Raises:
            paramiko.SSHException: the server does not.
            OSError: the connection is lost.
            EOFError: as OSError.
        """
        self._channel.settimeout(timeout)
        self.expire(timeout)
        self._channel.exec_command(wrapped.exec_string.encode("utf-8", "surrogateescape"))

    def send(self, data: bytes) -> None:
        """See ``running.Process``."""
        if data:
            # a channel that is gone shows that in the next step
            with contextlib.suppress(OSError):
                self._channel.sendall(data)

    def expire(self, seconds: float) -> None:
        """See ``running.Process``."""
        self._deadline = time.monotonic() + seconds

    def hang_up(self, grace: float) -> None:
        """See ``running.Process``."""
        if self._give_up is None:
            with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
                self._channel.shutdown_write()
            self._give_up = time.monotonic() + grace

    def close(self) -> None:
        """See ``running.Process``."""
        self._channel.close()
        free, self._free = self._free, lambda: None
        free()

    def drive(self) -> Ending:
        """Step until it has ended, its time has passed, or it is lost."""
        poll = select.poll()
        poll.register(self._channel.fileno(), select.POLLIN)
        while (ending := self.step()) is None:
            poll.poll(_TICK * 1000)
        return ending

    def step(self) -> Ending | None:
        """See ``running.Process``."""
        channel = self._channel
        closed = channel.closed  # before reading: what is readable then is all there is
        self._read()
        if closed and not channel.recv_ready() and not channel.recv_stderr_ready():
            return self._ending()
        now = time.monotonic()
        if self._give_up is None:
            ended = channel.exit_status_ready() or exit_signal(channel) is not None
            self._timed_out = now > self._deadline and not ended
            if self._timed_out or self._is_over or ended:
                # OpenSSH closes stdin by itself when the command has ended, others may not
                self.hang_up(GRACE + 5)
        if self._give_up is not None and now > self._give_up:
            return self._ending()
        return None

    def _ending(self) -> Ending:
        channel = self._channel
        code = channel.exit_status if channel.exit_status_ready() else -1
        name = exit_signal(channel)
        known = name is not None or code >= 0
        cut = self._timed_out or self._is_over
        return Ending(
            code if code >= 0 and name is None else None,
            name,
            timed_out=self._timed_out,
            lost=not known and not cut,
            truncated=self._is_over,
        )

    def _read(self) -> None:
        """Take what is there, a bounded part of it: a command that prints without end is ended."""
        channel = self._channel
        for _ in range(_CHUNKS):
            if channel.recv_ready():
                self.out.add(channel.recv(_CHUNK))
            if channel.recv_stderr_ready():
                self.err.add(channel.recv_stderr(_CHUNK))
            if not channel.recv_ready() and not channel.recv_stderr_ready():
                return

    @property
    def _is_over(self) -> bool:
        return self.out.is_cut or self.err.is_cut

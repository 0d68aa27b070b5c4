"""One command on one SSH channel: both streams, read by whoever looks, without a thread."""

from __future__ import annotations

import contextlib
import select
import time
from collections.abc import Callable

import paramiko

from ibaccept.transport.connect import exit_signal
from ibaccept.transport.wrap import FRAME_ROOM, GRACE, Ending, Wrapped

_TICK = 0.2
_CHUNK = 1 << 16


class SshProcess:
    """Implements ``running.Process``.

    Args:
        channel: open, nothing executed on it yet.
        limit: bytes of stdout that are kept.
        free: called once, after the channel was closed.
    """

    def __init__(
        self, channel: paramiko.Channel, limit: int, free: Callable[[], None] = lambda: None
    ) -> None:
        self._channel = channel
        self._limit = limit + FRAME_ROOM
        self._free = free
        self.out = bytearray()
        self.err = bytearray()
        self._over = False
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
        if closed:
            return self._ending()
        now = time.monotonic()
        if self._give_up is None:
            ended = channel.exit_status_ready() or exit_signal(channel) is not None
            self._timed_out = now > self._deadline and not ended
            if self._timed_out or self._over or ended:
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
        cut = self._timed_out or self._over
        return Ending(
            code if code >= 0 and name is None else None,
            name,
            timed_out=self._timed_out,
            lost=not known and not cut,
            truncated=self._over,
        )

    def _read(self) -> None:
        channel = self._channel
        while channel.recv_ready():
            self._keep(self.out, channel.recv(_CHUNK))
        while channel.recv_stderr_ready():
            self._keep(self.err, channel.recv_stderr(_CHUNK))

    def _keep(self, kept: bytearray, data: bytes) -> None:
        room = self._limit - len(kept)
        # the end of stderr holds our own marks: it is kept beyond the limit
        kept += data[: max(room, 0)] if kept is self.out else data
        if len(data) > room:
            self._over = True

"""Bytes between an SSH channel and a process, as sshd moves them."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from collections.abc import Callable

import paramiko

_CHUNK = 1 << 16


class Pump:
    """Moves bytes between a channel and a process until the process has ended.

    Args:
        channel: of the client.
        process: started with three pipes, unbuffered.
        disconnect_at: per cent of stdout after which the connection is cut; None = not.
    """

    def __init__(
        self,
        channel: paramiko.Channel,
        process: subprocess.Popen[bytes],
        disconnect_at: int | None,
    ) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("the process was started without pipes")
        self._channel = channel
        self._incoming = channel.fileno()
        self._process = process
        self._pipes = (process.stdin, process.stdout, process.stderr)
        self._stdin, self._stdout, self._stderr = (pipe.fileno() for pipe in self._pipes)
        self._pidfd = os.pidfd_open(process.pid)
        self._disconnect_at = disconnect_at
        self._waiting: set[int] = set()
        self._held = bytearray()
        self._pending = bytearray()
        self._input_ended = False
        self._selector = selectors.DefaultSelector()

    def run(self, ended: Callable[[int], None]) -> None:
        """Return when the process has ended and its output is sent, or the channel is gone.

        Args:
            ended: called with the return code (negative = a signal's number) once the process has
                ended; then, as sshd does, its stdin is closed, and output that is still to come
                (of what it left running) is waited for.
        """
        os.set_blocking(self._stdin, False)
        self._waiting = {self._stdout, self._stderr, self._pidfd}
        for descriptor in (*self._waiting, self._incoming):
            self._selector.register(descriptor, selectors.EVENT_READ)
        try:
            while self._waiting:
                for key, _events in self._selector.select():
                    self._serve(key.fd, ended)
            if self._disconnect_at is not None:
                self._disconnect(self._disconnect_at)
        except OSError:
            # The channel is gone: as sshd, close the pipes and leave the process alone.
            return
        finally:
            self._selector.close()
            os.close(self._pidfd)
            for pipe in self._pipes:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _serve(self, descriptor: int, ended: Callable[[int], None]) -> None:
        if descriptor == self._incoming:
            self._take_input()
        elif descriptor == self._stdin:
            self._feed()
        elif descriptor == self._pidfd:
            self._forget(descriptor)
            ended(self._process.wait())
            self._close_input()
        elif not self._pass_on(descriptor):
            self._forget(descriptor)

    def _forget(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)
        self._waiting.discard(descriptor)

    def _disconnect(self, per_cent: int) -> None:
        """Send a part of what the command printed and cut the connection."""
        self._channel.sendall(bytes(self._held[: len(self._held) * per_cent // 100]))
        # What was sent must have left before the connection is cut.
        time.sleep(0.2)
        self._channel.get_transport().close()

    def _pass_on(self, descriptor: int) -> bool:
        """Send what the process wrote; False at its end."""
        data = os.read(descriptor, _CHUNK)
        if not data:
            return False
        if descriptor == self._stderr:
            self._channel.sendall_stderr(data)
        elif self._disconnect_at is not None:
            self._held += data
        else:
            self._channel.sendall(data)
        return True

    def _take_input(self) -> None:
        """Input of the client, or its end (also when the channel or connection closed)."""
        data = self._channel.recv(_CHUNK)
        if data:
            self._pending += data
        else:
            self._selector.unregister(self._incoming)
            self._input_ended = True
            if self._channel.closed:
                raise OSError("the channel was closed")
        self._feed()

    def _feed(self) -> None:
        """Write pending input as far as the process takes it, then its end."""
        if self._pipes[0].closed:
            self._pending.clear()
            return
        try:
            while self._pending:
                del self._pending[: os.write(self._stdin, self._pending)]
        except BlockingIOError:
            if self._stdin not in self._selector.get_map():
                self._selector.register(self._stdin, selectors.EVENT_WRITE)
            return
        except BrokenPipeError:
            self._pending.clear()
        if self._input_ended:
            self._close_input()
        elif self._stdin in self._selector.get_map():
            self._selector.unregister(self._stdin)

    def _close_input(self) -> None:
        """Close the process' stdin; what the client still sends is dropped."""
        self._pending.clear()
        if self._pipes[0].closed:
            return
        if self._stdin in self._selector.get_map():
            self._selector.unregister(self._stdin)
        self._pipes[0].close()

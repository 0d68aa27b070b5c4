"""Bytes between an SSH channel and a process, as sshd moves them."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time

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
        self._pipes = (process.stdin, process.stdout, process.stderr)
        self._stdin, self._stdout, self._stderr = (pipe.fileno() for pipe in self._pipes)
        self._pidfd = os.pidfd_open(process.pid)
        self._disconnect_at = disconnect_at
        self._held = bytearray()
        self._pending = bytearray()
        self._input_ended = False
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        """Return when the process has ended and its output is sent, or the channel is gone."""
        os.set_blocking(self._stdin, False)
        incoming = self._channel.fileno()
        waiting = {self._stdout, self._stderr, self._pidfd}
        for descriptor in (*waiting, incoming):
            self._selector.register(descriptor, selectors.EVENT_READ)
        try:
            while waiting:
                for key, _events in self._selector.select():
                    if key.fd == incoming:
                        self._take_input(incoming)
                    elif key.fd == self._stdin:
                        self._feed()
                    elif key.fd == self._pidfd or not self._pass_on(key.fd):
                        self._selector.unregister(key.fd)
                        waiting.discard(key.fd)
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

    def _take_input(self, incoming: int) -> None:
        """Input of the client, or its end (also when the channel or connection closed)."""
        data = self._channel.recv(_CHUNK)
        if data:
            self._pending += data
        else:
            self._selector.unregister(incoming)
            self._input_ended = True
            if self._channel.closed:
                raise OSError("the channel was closed")
        self._feed()

    def _feed(self) -> None:
        """Write pending input as far as the process takes it, then its end."""
        try:
            while self._pending:
                del self._pending[: os.write(self._stdin, self._pending)]
        except BlockingIOError:
            if self._stdin not in self._selector.get_map():
                self._selector.register(self._stdin, selectors.EVENT_WRITE)
            return
        except BrokenPipeError:
            self._pending.clear()
        if self._stdin in self._selector.get_map():
            self._selector.unregister(self._stdin)
        if self._input_ended:
            self._pipes[0].close()

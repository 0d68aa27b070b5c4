"""Child processes of the lab: each its own process group, none outlives the lab.

A small watchdog process holds the read end of a pipe. When this process ends, however it ends, the
pipe closes and the watchdog ends the process groups registered with it, and only those.
(PR_SET_PDEATHSIG fires when the *thread* that started a child ends, which is of no use here.)
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

_WATCHDOG = r"""
import os, signal, sys
def born(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[19]
    except OSError:
        return None
known = {}
for line in sys.stdin:
    pid = int(line[1:])
    if line[0] == "+":
        known[pid] = born(pid)
    else:
        known.pop(pid, None)
for pid, start in known.items():
    # A number that was given to another process since is not ours to end.
    if start is not None and born(pid) == start:
        try:
            os.killpg(pid, signal.SIGKILL)
        except OSError:
            pass
"""


class Processes:
    """Starts and ends the processes of one lab.

    Args:
        token: unique; goes into the environment of every process as ``IBACCEPT_LAB``.
    """

    def __init__(self, token: str) -> None:
        self._marker = f"IBACCEPT_LAB={token}"
        self._token = token
        self._orphaned: set[int] = set()
        self._lock = threading.Lock()
        self._alive: dict[int, subprocess.Popen[bytes]] = {}
        self._stopped = False
        # -I -S: starts in some 10 ms, whatever the environment. Its own session: Ctrl-C at the
        # terminal must not end it before its work is done.
        self._watchdog = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _WATCHDOG],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def pids(self) -> tuple[int, ...]:
        """Every process of the lab still there, the watchdog first."""
        with self._lock:
            return (self._watchdog.pid, *self._alive)

    def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        stdin: int = subprocess.DEVNULL,
        stdout: int | IO[bytes] = subprocess.PIPE,
        stderr: int | IO[bytes] = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        """Start a process in a group of its own and remember it.

        Raises:
            OSError: it cannot be started, or the lab has been stopped.
        """
        with self._lock:
            if self._stopped:
                raise OSError("the lab has been stopped")
            process = subprocess.Popen(
                list(argv),
                env={**env, "IBACCEPT_LAB": self._token},
                cwd=cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                bufsize=0,
            )
            self._alive[process.pid] = process
            self._tell("+", process.pid)
        return process

    def forget(self, process: subprocess.Popen[bytes]) -> None:
        """The process ended and was waited for. What it left running is ended by ``stop``."""
        with self._lock:
            if self._alive.pop(process.pid, None) is None:
                return
            try:
                os.killpg(process.pid, 0)
            except (ProcessLookupError, PermissionError):
                self._tell("-", process.pid)
            else:
                # While the group has members its number cannot be given to another process.
                self._orphaned.add(process.pid)

    def end(self, process: subprocess.Popen[bytes], *, grace: float = 2.0) -> None:
        """End a process with its group: SIGTERM, and SIGKILL after ``grace`` seconds."""
        if process.returncode is None:
            _signal(process.pid, signal.SIGTERM)
            deadline = time.monotonic() + grace
            while not _has_ended(process.pid) and time.monotonic() < deadline:
                time.sleep(0.005)
            # The group may outlive its leader (a tool behind a shell). Not yet waited for, the
            # leader keeps the number ours.
            _signal(process.pid, signal.SIGKILL)
        process.wait()
        self.forget(process)

    def stop(self) -> None:
        """End whatever is left, then the watchdog. May be called twice."""
        with self._lock:
            self._stopped = True
            left = tuple(self._alive.values())
        for process in left:
            if process.returncode is None:
                _signal(process.pid, signal.SIGTERM)
        for process in left:
            self.end(process, grace=1.0)
        with self._lock:
            for group in self._orphaned:
                _end_group(group, self._marker)
            self._orphaned.clear()
            if self._watchdog.stdin is not None and not self._watchdog.stdin.closed:
                with contextlib.suppress(OSError):
                    self._watchdog.stdin.close()
        self._watchdog.wait()

    def _tell(self, sign: str, pid: int) -> None:
        if self._watchdog.stdin is None or self._watchdog.stdin.closed:
            return
        with contextlib.suppress(OSError):
            self._watchdog.stdin.write(f"{sign}{pid}\n".encode())
            self._watchdog.stdin.flush()


def _signal(group: int, number: signal.Signals) -> None:
    """Signal a process group; it is ours as it was started as a session of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _has_ended(pid: int) -> bool:
    """True once a child has ended, without waiting for it (so that its number stays taken)."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _end_group(group: int, marker: str) -> None:
    """End the processes of a group that carry our marker in their environment."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        with contextlib.suppress(OSError, ProcessLookupError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) != group or marker.encode() not in (folder / "environ").read_bytes():
                continue
            os.kill(int(folder.name), signal.SIGKILL)

"""The lab's end of the traffic stand-ins: their socket, the clock of the data, the counters.

A stand-in (`ibaccept.lab.standins`) is one connection to a unix socket in the lab's folder; when it
dies, the connection closes and its flow or port is gone, as with the real tool. Lines of words
separated by tabs, a request first:

- ``listen HOST PID TOOL PORT``: ``ok`` or ``in-use``; later ``start``, and an end as below
- ``connect HOST PID TOOL TARGET PORT QPS SIZE SECONDS MARGIN ITERATIONS BOTH GBITS``:
  ``unknown``, ``refused`` or ``start``; then an end: ``done ITERATIONS SECONDS DIRECTIONS`` (to the
  server also GBITS), ``lost`` with the same words or none (the other process is gone), ``retry``
  (the other host is gone, or no route)
- ``file HOST PID TOOL read|write BYTES SECONDS`` (0 = no limit): ``done BYTES SECONDS``, or
  ``error read-only`` / ``error full``
- ``ports HOST``: ``ports PORT ...``

``start`` carries: own LID, other LID, own number, other number (for the address lines). ``bug`` and
the name of a log ends whatever was waited for.

Before a counter tool reads, its shim writes ``PLACE PID`` to the FIFO ``sync`` and waits for its
PID on the FIFO ``synced.PLACE``: the counters are then those of that moment.
"""

from __future__ import annotations

import contextlib
import functools
import heapq
import itertools
import math
import os
import selectors
import socket
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

from ibaccept.fabric.model import Guid, PortId
from ibaccept.lab.backend import Backend
from ibaccept.lab.fabric.network import Network
from ibaccept.lab.traffic.dataplane import DataPlane
from ibaccept.lab.traffic.runs import Runs, TrafficSession
from ibaccept.lab.traffic.settings import Clears, NoWrite, Traffic
from ibaccept.lab.traffic.tally import Tally

SOCKET = "IBACCEPT_LAB_PLANE"
"""Variable with the path of the socket."""
HOST = "IBACCEPT_LAB_HOST"
"""Variable with the name of the host a process runs on."""
MOUNT = "IBACCEPT_LAB_MOUNT"
"""Variable with the path of the simulated file system."""
SCRATCH = "IBACCEPT_LAB_SCRATCH"
"""Variable with the folder that stands behind it."""
NO_WRITE = "IBACCEPT_LAB_NO_WRITE"
"""Variable: ``read-only`` or ``full`` on a host that cannot write to it."""
SYNC = "IBACCEPT_LAB_SYNC"
"""Variable with the folder of the FIFOs."""
MEMORY = "IBACCEPT_LAB_MEMORY"
"""Variable with MemTotal in kB, where the scenario sets it."""

_LONGEST_PATH = 100
"""A unix socket's path has 108 bytes at most; with more the socket is in a folder of its own."""

_LOOKS = (0.0, 0.5, 2.0, 5.0)
"""When the tables are read after a change, in seconds. What has no route until then has none."""

Call = Callable[[], None]


class Plane:
    """Serves the stand-ins of one lab from one thread.

    Args:
        traffic: the scenario's section.
        backend: whose tables route and whose counters move.
        storage: hosts the file system is striped over.
        guids: node GUID by host name.
        folder: of the lab.
        places: how many counter tools run at a time.
    """

    def __init__(
        self,
        traffic: Traffic,
        backend: Backend,
        storage: tuple[str, ...],
        guids: Mapping[str, Guid],
        folder: Path,
        places: int,
    ) -> None:
        self._traffic = traffic
        self._backend = backend
        self._guids = guids
        self._folder = folder
        self._fifo_names = ["sync", *(f"synced.{place}" for place in range(places))]
        self._data = DataPlane(traffic, storage, now=time.monotonic())
        self.runs = Runs(traffic, self._data, guids, self._at, self._lid)
        self._tally = Tally()
        self._lock = threading.RLock()
        self._timers: list[tuple[float, int, Call]] = []
        self._order = itertools.count()
        self._stale = True
        self._settled = 0.0
        self._stopping = threading.Event()
        self._selector = selectors.DefaultSelector()
        self._path = folder / "plane"
        self._elsewhere: tempfile.TemporaryDirectory[str] | None = None
        self._scratch = folder / "scratch"
        self._fifos: dict[str, int] = {}
        self._listener = socket.socket(socket.AF_UNIX)
        self._wake_read, self._wake_write = socket.socketpair()
        self._thread = threading.Thread(target=self._loop, name="lab-plane", daemon=True)

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Listen, and let the traffic of others begin."""
        if len(str(self._path)) > _LONGEST_PATH:
            self._elsewhere = tempfile.TemporaryDirectory(prefix="ibaccept-")
            self._path = Path(self._elsewhere.name) / "plane"
        self._scratch.mkdir()
        self._listener.bind(str(self._path))
        self._listener.listen(1024)
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._wake_read, selectors.EVENT_READ, self._woken)
        for name in self._fifo_names:
            os.mkfifo(self._folder / name)
            # Open at both ends: never at end of file, and a writer never waits for a reader.
            self._fifos[name] = os.open(self._folder / name, os.O_RDWR | os.O_NONBLOCK)
        self._selector.register(self._fifos["sync"], selectors.EVENT_READ, self._answer_syncs)
        for mishap in self._traffic.mishaps:
            if isinstance(mishap, Clears):
                self._at(time.monotonic() + mishap.every, functools.partial(self._clear, mishap))
        self._thread.start()
        self._wake()

    def stop(self) -> None:
        """Close every connection. May be called twice."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._wake()
        if self._thread.ident is not None:
            self._thread.join()
        for session in tuple(self.runs.sessions):
            session.connection.close()
        for fifo in self._fifos.values():
            os.close(fifo)
        self._selector.close()
        for end in (self._listener, self._wake_read, self._wake_write):
            end.close()
        if self._elsewhere is not None:
            self._elsewhere.cleanup()

    def environment(self, host: str) -> dict[str, str]:
        """Variables that tell stand-ins who they are."""
        env = {
            SOCKET: str(self._path),
            HOST: host,
            MOUNT: self._traffic.filesystem.path,
            SCRATCH: str(self._scratch),
            SYNC: str(self._folder),
        }
        memory = self._traffic.memory(host)
        if memory is not None:
            env[MEMORY] = str(memory // 1024)
        for mishap in self._traffic.mishaps:
            if isinstance(mishap, NoWrite) and mishap.host == host:
                env[NO_WRITE] = mishap.how
        return env

    def tables_changed(self) -> None:
        """The subnet manager routes anew from now on, which takes it a moment."""
        with self._lock:
            now = time.monotonic()
            self._settled = now + _LOOKS[-1]
            for delay in _LOOKS:
                self._at(now + delay, self._look_again)
        self._wake()

    def _look_again(self) -> None:
        self._stale = True
        self.runs.dirty |= bool(self._data.flows)

    def clear(self, port: PortId | None) -> None:
        """Follow a clear of the counters of a port, or of all."""
        with self._lock:
            self._until(time.monotonic())
            self._data.clear(port)
            self._tally.clear(port)

    def _clear(self, mishap: Clears) -> None:
        self._at(self._data.now + mishap.every, functools.partial(self._clear, mishap))
        if self._data.flows:
            self._backend.clear_counters(None)
            self._data.clear(None)
            self._tally.clear(None)

    # -- the loop -----------------------------------------------------------------------------

    def _loop(self) -> None:
        while not self._stopping.is_set():
            with self._lock:
                due = self._due()
            wait = None if math.isinf(due) else max(0.0, due - time.monotonic())
            ready = self._selector.select(wait)
            with self._lock:
                self._guarded(lambda: self._until(time.monotonic()))
                for key, _events in ready:
                    self._guarded(key.data)
                self._guarded(self._rerate)

    def _guarded(self, call: Call) -> None:
        """A bug must not leave every stand-in waiting without a word."""
        try:
            call()
        except Exception:  # noqa: BLE001 - logged, and sent to every waiting session
            log = self._folder / "plane.log"
            with log.open("a", encoding="utf-8") as text:
                text.write(traceback.format_exc())
            self.runs.dirty = False
            for session in self.runs.sessions:
                session.say("bug", log)

    def _wake(self) -> None:
        self._wake_write.send(b"x")

    def _woken(self) -> None:
        self._wake_read.recv(4096)

    def _at(self, when: float, call: Call) -> None:
        heapq.heappush(self._timers, (when, next(self._order), call))

    def _due(self) -> float:
        """When the next thing happens; infinite for nothing."""
        timer = self._timers[0][0] if self._timers else math.inf
        return min(timer, self._data.next_end())

    def _until(self, now: float) -> None:
        """Let everything happen that was due until now, each at its own time."""
        while (due := self._due()) <= now:
            self._data.advance(due)
            while self._timers and self._timers[0][0] <= due:
                heapq.heappop(self._timers)[2]()
            for flow in self._data.through():
                self.runs.ended(flow)
            self._rerate()
        self._data.advance(now)

    def _rerate(self) -> None:
        while self.runs.dirty:
            self.runs.dirty = False
            if self._stale or self._data.network is None:
                self._stale = False
                self._data.attach(Network(*self._backend.look(), self._guids))
            else:
                self._data.rerate()
            if self._data.now >= self._settled:
                self.runs.give_up_lost()

    def _lid(self, host: str) -> int:
        if self._stale or self._data.network is None:
            self._rerate()
        network = self._data.network
        return (network.lid(host) if network is not None else None) or 0

    # -- stand-ins ----------------------------------------------------------------------------

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                connection, _address = self._listener.accept()
                connection.setblocking(False)
                session = TrafficSession(connection)
                self.runs.sessions.add(session)
                self._selector.register(
                    connection, selectors.EVENT_READ, lambda s=session: self._read(s)
                )

    def _read(self, session: TrafficSession) -> None:
        try:
            data = session.connection.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(session.connection)
            session.connection.close()
            self.runs.gone(session)
            return
        *lines, session.text = (session.text + data).split(b"\n")
        for line in lines:
            self.runs.request(session, line.decode())

    # -- counters -----------------------------------------------------------------------------

    def _answer_syncs(self) -> None:
        requests = os.read(self._fifos["sync"], 65536).decode()
        try:
            self.sync()
        finally:
            for line in requests.splitlines():
                place, _, pid = line.partition(" ")
                os.write(self._fifos[f"synced.{place}"], f"{pid}\n".encode())

    def sync(self) -> None:
        """Set the simulator's counters to what every port has counted until now."""
        with self._lock:
            self._rerate()
            self._until(time.monotonic())
            changes = self._tally.changes(self._data.counted())
            if changes:
                self._backend.count(changes)

"""The measurements of the traffic stand-ins: who listens, who runs against whom, how it ends.

Requests are the lines of `ibaccept.lab.traffic.plane`. Everything here happens in that module's
thread.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import signal
import socket
from collections.abc import Callable, Collection
from dataclasses import dataclass

from ibaccept.lab.fabric.network import Pair
from ibaccept.lab.traffic.dataplane import DataPlane, Flow
from ibaccept.lab.traffic.settings import Dies, Hang, NoWrite, PortTaken, Traffic

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

RETRY_SECONDS = 2.0
"""How long an RC connection retries before it gives up a host that is gone."""


@dataclass(slots=True, eq=False)
class TrafficRun:
    """A measurement of a client.

    Attributes:
        flows: one, or two for both directions.
        began: when they began.
        size: bytes of a message; 0 for a file system.
        iterations: messages to send; 0 = for a time.
        window: seconds that count; 0 = all.
        before: bytes moved when the window opened.
        inside: bytes moved in the window; None until it is over.
        claimed: bytes the tool claims for each that moved; above 1 with a cache.
        hangs: it never ends.
        lost: the other process is gone.
        given_up: the other host is gone, or there is no route.
    """

    flows: list[Flow]
    began: float
    size: int = 0
    iterations: int = 0
    window: float = 0.0
    before: float = 0.0
    inside: float | None = None
    claimed: float = 1.0
    hangs: bool = False
    lost: bool = False
    given_up: bool = False

    @property
    def moved(self) -> float:
        """Payload bytes so far, all directions."""
        return sum(flow.moved for flow in self.flows)


@dataclass(slots=True, eq=False)
class TrafficSession:
    """One stand-in.

    Attributes:
        connection: to it.
        text: of a line that is not complete.
        host: it runs on.
        pid: of its process.
        tool: its name.
        number: for the address lines.
        port: it listens on; None = none, or no longer.
        peer: the other end of a connection that runs.
        run: what a client measures.
        gbits: ``1`` where a client prints Gb/s.
    """

    connection: socket.socket
    text: bytes = b""
    host: str = ""
    pid: int = 0
    tool: str = ""
    number: int = 0
    port: int | None = None
    peer: TrafficSession | None = None
    run: TrafficRun | None = None
    gbits: str = "0"

    def say(self, *words: object) -> None:
        """Send a line; a stand-in that is gone hears nothing."""
        with contextlib.suppress(OSError):
            self.connection.send(("\t".join(map(str, words)) + "\n").encode())


class Runs:
    """All stand-ins of a lab.

    Args:
        traffic: the scenario's section.
        data: what moves.
        hosts: names that resolve.
        at: calls back at a time of the data plane's clock.
        lid: LID of a host, 0 for none.

    Attributes:
        sessions: stand-ins that are connected.
        dirty: flows came or went since they were last rated.
        power_off: called with a host that died.
    """

    def __init__(
        self,
        traffic: Traffic,
        data: DataPlane,
        hosts: Collection[str],
        at: Callable[[float, Callable[[], None]], None],
        lid: Callable[[str], int],
    ) -> None:
        self._traffic = traffic
        self._data = data
        self._hosts = hosts
        self._at = at
        self._lid = lid
        self._numbers = itertools.count(1)
        self._dead: set[str] = set()
        self._doomed: set[str] = set()
        self._listening: dict[tuple[str, int], TrafficSession | None] = {
            (m.host, m.port): None for m in traffic.mishaps if isinstance(m, PortTaken)
        }
        self.sessions: set[TrafficSession] = set()
        self.power_off: Callable[[str], None] = lambda _host: None
        self.dirty = bool(traffic.background)
        data.flows += [
            Flow(((flow.source, flow.sink),), cap=flow.rate.bytes_per_second)
            for flow in traffic.background
        ]

    # -- requests -----------------------------------------------------------------------------

    def request(self, session: TrafficSession, line: str) -> None:
        """A line of a stand-in."""
        verb, session.host, *words = line.split("\t")
        if verb == "ports":
            session.say("ports", *sorted(p for host, p in self._listening if host == session.host))
            return
        pid, session.tool, *words = words
        session.pid = int(pid)
        session.number = next(self._numbers)
        match verb, words:
            case "listen", [port]:
                self._listen(session, int(port))
            case "connect", [target, port, qps, size, seconds, margin, iterations, both, gbits]:
                host = session.host if target in LOOPBACK else target
                server = self._server(session, host, int(port))
                if server is not None:
                    times = (float(seconds), float(margin))
                    numbers = (int(qps), int(size), int(iterations))
                    session.gbits = gbits
                    self._connect(session, server, times, numbers, both=both == "1")
            case "file", [direction, size, seconds]:
                self._file(session, float(size), float(seconds), read=direction == "read")
            case _:
                raise ValueError(f"not a request of a stand-in: {line!r}")

    def _listen(self, session: TrafficSession, port: int) -> None:
        if (session.host, port) in self._listening:
            session.say("in-use")
            return
        session.port = port
        self._listening[session.host, port] = session
        session.say("ok")

    def _server(self, session: TrafficSession, host: str, port: int) -> TrafficSession | None:
        """The server that listens there; without one the client gets an error reply."""
        if host not in self._hosts:
            session.say("unknown")
            return None
        server = self._listening.get((host, port))
        if server is None or server.tool != session.tool:
            session.say("refused")
            return None
        # One connection a server: it listens no longer.
        del self._listening[host, port]
        server.port = None
        return server

    def _connect(
        self,
        client: TrafficSession,
        server: TrafficSession,
        times: tuple[float, float],
        numbers: tuple[int, int, int],
        *,
        both: bool,
    ) -> None:
        """Begin a measurement.

        Args:
            client: who measures.
            server: the other end.
            times: seconds in all (0 = by iterations), and seconds left out at each end.
            numbers: queue pairs, bytes of a message, iterations of a queue pair (0 = by time).
            both: both directions at once.
        """
        seconds, margin = times
        qps, size, iterations = numbers
        pair: Pair = (client.host, server.host)
        if client.tool == "ib_read_bw":
            pair = pair[::-1]
        limit = float(iterations * qps * size) if iterations else None
        pairs = (pair, pair[::-1]) if both else (pair,)
        run = TrafficRun(
            [Flow((each,), size=limit) for each in pairs],
            self._data.now,
            size=size,
            iterations=iterations * qps,
            hangs=self._hangs(client),
        )
        client.peer, server.peer = server, client
        self._begin(client, run)
        lids = (self._lid(client.host), self._lid(server.host))
        client.say("start", *lids, client.number, server.number)
        server.say("start", *lids[::-1], server.number, client.number)
        if limit is None:
            run.window = seconds - 2 * margin
            self._at(run.began + margin, functools.partial(_open, run))
            self._at(run.began + seconds - margin, functools.partial(_close, run))
            self._at(run.began + seconds, functools.partial(self._finish, client))

    def _file(self, session: TrafficSession, size: float, seconds: float, *, read: bool) -> None:
        """Begin to read or write files, striped over all storage servers."""
        for mishap in self._traffic.mishaps:
            if isinstance(mishap, NoWrite) and mishap.host == session.host and not read:
                session.say("error", mishap.how)
                return
        share = self._traffic.filesystem.cached if read else 0.0
        ends = [(server, session.host) for server in self._data.storage]
        flow = Flow(
            tuple(ends if read else [pair[::-1] for pair in ends]),
            client=session.host,
            read=read,
            size=size * (1 - share) if size else None,
        )
        run = TrafficRun(
            [flow], self._data.now, claimed=1 / (1 - share), hangs=self._hangs(session)
        )
        self._begin(session, run)
        if seconds:
            self._at(run.began + seconds, functools.partial(self._finish, session))

    def _hangs(self, session: TrafficSession) -> bool:
        return any(
            isinstance(m, Hang) and (m.host, m.tool) == (session.host, session.tool)
            for m in self._traffic.mishaps
        )

    # -- runs ---------------------------------------------------------------------------------

    def _begin(self, session: TrafficSession, run: TrafficRun) -> None:
        session.run = run
        self._data.flows += run.flows
        self.dirty = True
        ends = {end for flow in run.flows for pair in flow.pairs for end in pair}
        for mishap in self._traffic.mishaps:
            if isinstance(mishap, Dies) and mishap.host in ends - self._doomed:
                self._doomed.add(mishap.host)
                self._at(self._data.now + mishap.after, functools.partial(self._die, mishap.host))

    def ended(self, flow: Flow) -> None:
        """A flow of a given size is through."""
        # What is left is rounding.
        flow.moved, flow.size = flow.size or flow.moved, None
        for session in tuple(self.sessions):
            run = session.run
            if run is not None and flow in run.flows and all(f.size is None for f in run.flows):
                self._finish(session)

    def _finish(self, session: TrafficSession) -> None:
        """The time is over, or all was moved."""
        run = session.run
        if run is None or run.given_up or session not in self.sessions:
            return
        self._drop(run)
        if run.hangs:
            return
        session.run = None
        seconds = self._data.now - run.began
        if not run.size:
            session.say("done", round(run.moved * run.claimed), f"{seconds:.9f}")
            return
        sides = len(run.flows)
        inside = run.moved if run.inside is None else run.inside
        count = run.iterations or int(inside / sides / run.size)
        end = (count, f"{run.window or seconds:.9f}", sides)
        session.say("lost" if run.lost else "done", *end)
        if session.peer is not None:
            session.peer.say("done", *end, session.gbits)
            session.peer.peer = None
        session.peer = None

    def _drop(self, run: TrafficRun) -> None:
        self._data.flows = [flow for flow in self._data.flows if flow not in run.flows]
        self.dirty = True

    def give_up_lost(self) -> None:
        """End what has no route."""
        for session in tuple(self.sessions):
            run = session.run
            if run is not None and any(flow.lost for flow in run.flows):
                self._give_up(session, run)

    def _give_up(self, session: TrafficSession, run: TrafficRun) -> None:
        """The other end does not answer: RDMA retries, then fails; a file system blocks."""
        if run.given_up:
            return
        run.given_up = True
        self._drop(run)
        if run.size and not run.hangs:
            later = functools.partial(session.say, "retry")
            self._at(self._data.now + RETRY_SECONDS, later)

    def gone(self, session: TrafficSession) -> None:
        """A stand-in has ended, or was ended."""
        self.sessions.discard(session)
        if session.port is not None:
            self._listening.pop((session.host, session.port), None)
        if session.run is not None:
            self._drop(session.run)
            session.run = None
        peer, session.peer = session.peer, None
        # Of a host that lost its power no connection is closed.
        if peer is None or session.host in self._dead:
            return
        peer.peer = None
        if peer.run is None:
            peer.say("lost")
        elif peer.run.iterations:
            self._give_up(peer, peer.run)
        else:
            # Its server was ended. A client still runs to the end of its time, and moves nothing.
            peer.run.lost = True
            self._drop(peer.run)

    def _die(self, host: str) -> None:
        """Power off: processes end, connections stay open at the other ends."""
        self._dead.add(host)
        self._listening = {
            where: session for where, session in self._listening.items() if where[0] != host
        }
        for session in tuple(self.sessions):
            run = session.run
            if session.host == host:
                with contextlib.suppress(OSError):
                    os.kill(session.pid, signal.SIGKILL)
                if run is not None:
                    self._drop(run)
            elif run and any(host in pair for flow in run.flows for pair in flow.pairs):
                self._give_up(session, run)
        self.power_off(host)


def _open(run: TrafficRun) -> None:
    run.before = run.moved


def _close(run: TrafficRun) -> None:
    run.inside = run.moved - run.before

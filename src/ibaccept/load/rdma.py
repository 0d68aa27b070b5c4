"""RDMA alone between the endpoints of a job: all pairs of perftest at once.

The end that measures is perftest's client. With ``ib_write_bw`` the client sends, with
``ib_read_bw`` the server does; so which host runs which end follows from the direction.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ibaccept import commands
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.clocks import Clocks
from ibaccept.load.pace import FIRST_PORT, Direction, Pace, RdmaLoad
from ibaccept.load.processes import Together
from ibaccept.load.result import Pair, PairRate, RdmaRun
from ibaccept.load.watch import Watch
from ibaccept.observe.outputs import captures_of, file_of, not_parsed, parsed, whole
from ibaccept.parse import ParseError, perftest, ss
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import CommandResult, Transport, TransportError
from ibaccept.transport.fanout import Job, run_many
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

_TRIES = 8
"""Ports tried for one pair."""

_LAST_PORT = 32767
"""Above it Linux hands out ports to connections."""

_LOOPBACK = re.compile(r"127\.|::1\Z|localhost\Z")

_PARTING = 5.0
"""Seconds a server has to end by itself after its client."""


def pairs_of(
    clients: Sequence[str],
    storage: Sequence[str],
    direction: Direction,
    tool: str,
    *,
    shift: int = 0,
) -> tuple[Pair, ...]:
    """Every client with a server of the storage, round-robin; TCP ports are numbered on.

    Args:
        clients: names.
        storage: names.
        direction: of the data.
        tool: decides which end sends.
        shift: storage servers by which the round-robin begins later.
    """
    found = []
    for number, client in enumerate(clients):
        server = storage[(number + shift) % len(storage)]
        sender, receiver = (server, client) if direction == "read" else (client, server)
        passive = receiver if tool == "ib_write_bw" else sender
        found.append(Pair(client, server, sender, passive, FIRST_PORT + number))
    return tuple(found)


@dataclass
class RdmaRunner:
    """Runs directions and rounds, one after the other.

    Attributes:
        hosts: of the job, by name.
        next_port: TCP port that no pair has had yet.
    """

    transport: Transport
    load: RdmaLoad
    hosts: Mapping[str, InventoryHost]
    pace: Pace
    clocks: Clocks
    next_port: int = FIRST_PORT
    _moved: list[str] = field(default_factory=list)

    def run(
        self,
        pairs: Sequence[Pair],
        direction: Direction,
        watch: Watch | None,
        *,
        round_number: int = 0,
    ) -> RdmaRun:
        """All pairs at once."""
        self._moved = []
        rates: dict[Pair, PairRate | NotSeen] = {}
        with Together(self.transport, self.pace, self.clocks) as crew:
            ready = self._servers(crew, pairs, rates)
            clients = self._clients(crew, ready, rates)
            if watch is not None:
                watch.first()
            # a server that is gone by now was not what listened there
            for server in [server for server in ready if server in crew.results]:
                clients.pop(server, None)
                rates[ready[server]] = self._server_gone(ready[server], crew.results[server])
            crew.release(list(clients.values()))
            self._through(crew, list(clients.values()), watch)
            crew.finish(_PARTING)
            if watch is not None:
                watch.last()
        for server, client in clients.items():
            pair = ready[server]
            rates[pair] = self._rate(pair, crew.results[client], crew.results.get(server))
        starts = {
            f"{_measures(pair)}#{client}": result.start
            for pair, client in ((ready[s], c) for s, c in clients.items())
            if isinstance(result := crew.results[client], CommandResult)
            and result.start is not None
        }
        if watch is not None:
            watch.not_before(starts)
        return RdmaRun(
            direction,
            self.load.tool,
            dict(sorted(rates.items(), key=lambda item: item[0].tcp_port)),
            self.clocks.spread(starts),
            float(self.load.duration),
            tuple(self._moved),
            round_number,
            crew.ended,
        )

    # -- servers -----------------------------------------------------------------------------

    def _servers(
        self, crew: Together, pairs: Sequence[Pair], rates: dict[Pair, PairRate | NotSeen]
    ) -> dict[int, Pair]:
        """Start every server and see it listen; numbers of those that do."""
        ready: dict[int, Pair] = {}
        todo = list(pairs)
        busy = self._listening(sorted({pair.runs_server for pair in pairs}))
        for _ in range(_TRIES):
            placed = []
            for pair in todo:
                if isinstance(taken := busy[pair.runs_server], NotSeen):
                    rates[pair] = replace(taken, what=_what(pair))
                else:
                    placed.append(self._place(pair, taken))
            first = crew.started
            crew.start([self._job(pair, None) for pair in placed], timeout=self._server_time)
            waiting = dict(enumerate(placed, first))
            self._until_listening(crew, waiting, ready, busy)
            todo = []
            for number, pair in waiting.items():
                ended = crew.results.get(number)
                if ended is not None and _in_use(ended):
                    todo.append(pair)
                elif ended is not None:
                    rates[pair] = self._server_gone(pair, ended)
                else:
                    rates[pair] = NotSeen(
                        _what(pair),
                        f"server: {pair.runs_server}: {self.load.tool} runs but does not listen on "
                        f"TCP port {pair.tcp_port}",
                        f"run ss -ltnp on {pair.runs_server}",
                    )
            if not todo:
                break
        for pair in todo:
            rates[pair] = NotSeen(
                _what(pair),
                f"server: {pair.runs_server}: {_TRIES} TCP ports up to {pair.tcp_port} are in use",
                f"see what listens there: ss -ltnp on {pair.runs_server}",
            )
        return ready

    def _place(self, pair: Pair, taken: frozenset[int]) -> Pair:
        """The pair with the next port that is free on its server's host."""
        while True:
            port = self.next_port
            self.next_port = port + 1 if port < _LAST_PORT else FIRST_PORT
            if port not in taken:
                return replace(pair, tcp_port=port)
            self._moved.append(
                f"{pair.runs_server}: TCP port {port} is in use, the next one was taken"
            )

    def _until_listening(
        self,
        crew: Together,
        waiting: dict[int, Pair],
        ready: dict[int, Pair],
        busy: dict[str, frozenset[int] | NotSeen],
    ) -> None:
        """Move servers from ``waiting`` to ``ready`` when they listen; the rest has a reason."""
        for _ in range(self.pace.listening):
            open_hosts = {pair.runs_server for n, pair in waiting.items() if n not in crew.results}
            if not open_hosts:
                return
            for host, ports in self._listening(sorted(open_hosts)).items():
                if isinstance(ports, NotSeen):
                    continue
                busy[host] = ports
                for number in [n for n, pair in waiting.items() if pair.runs_server == host]:
                    if waiting[number].tcp_port in ports and number not in crew.results:
                        ready[number] = waiting.pop(number)
            crew.poll()
            for number in [n for n in ready if n in crew.results]:
                waiting[number] = ready.pop(number)
            if waiting:
                self.pace.sleep(self.pace.listening_pause)

    def _listening(self, hosts: Sequence[str]) -> dict[str, frozenset[int] | NotSeen]:
        argv = commands.SS.argv()
        results = run_many(
            self.transport,
            [(self.hosts[name].transport, argv) for name in hosts],
            timeout=commands.SS.timeout,
            fan_out=self.pace.fan_out,
            keep_open=True,
        )
        found: dict[str, frozenset[int] | NotSeen] = {}
        for number, name in enumerate(hosts):
            result = results[number]
            if isinstance(result, CommandResult):
                self.clocks.note(result)
            found[name] = parsed(
                "the listening ports",
                result,
                lambda taken: ss.listening_ports(ss.parse(taken.text)),
                step="server",
            )
        return found

    @staticmethod
    def _server_gone(pair: Pair, ended: CommandResult | TransportError) -> NotSeen:
        taken = whole(_what(pair), ended, step="server")
        if isinstance(taken, NotSeen):
            return taken
        return NotSeen(
            _what(pair),
            f"server: {pair.runs_server}: it ended before its client began: another client met it",
            "run it again; see who uses the host",
        )

    # -- clients -----------------------------------------------------------------------------

    def _clients(
        self, crew: Together, ready: Mapping[int, Pair], rates: dict[Pair, PairRate | NotSeen]
    ) -> dict[int, int]:
        """Open every client's session; numbers of the clients by number of the server."""
        first = crew.started
        jobs = [self._job(pair, self._peer(pair)) for pair in ready.values()]
        crew.start(jobs, timeout=self._client_time, held=True)
        clients = {}
        for number, (server, pair) in enumerate(ready.items(), first):
            ended = crew.results.get(number)
            if ended is None:
                clients[server] = number
            else:
                taken = whole(_what(pair), ended, step="client")
                why = f"client: {_measures(pair)}: it ended before it was to begin"
                rates[pair] = taken if isinstance(taken, NotSeen) else NotSeen(_what(pair), why)
        return clients

    def _through(self, crew: Together, clients: Sequence[int], watch: Watch | None) -> None:
        """Watch the cables until all clients have ended."""
        base = math.inf if watch is None or watch.before is None else watch.before.end
        low = base + self.load.duration * self.pace.settle
        high = base + self.load.duration * (1 - self.pace.settle)
        while clients and not crew.has_ended(clients):
            sample = None if watch is None else watch.sample()
            crew.poll()
            inside = sample is not None and sample.start >= low and sample.end <= high
            if watch is not None and inside and not crew.any_ended(clients):
                watch.steady_sample()
            self.pace.sleep(self.pace.interval if watch is not None else _PARTING / 50)

    def _rate(
        self,
        pair: Pair,
        outcome: CommandResult | TransportError,
        server: CommandResult | TransportError | None,
    ) -> PairRate | NotSeen:
        what = _what(pair)
        # its exit code is judged with its row
        client = whole(what, outcome, step="client", ok=range(256))
        if isinstance(client, NotSeen):
            return client
        load = self.load
        try:
            test = perftest.parse(client.text)
        except ParseError as error:
            ended = whole(what, client, step="client")
            if isinstance(ended, NotSeen):
                return ended
            return not_parsed(what, client, error, step="client")
        row = perftest.accept(
            test,
            client.exit_code,
            client.error_text,
            message=load.message,
            duration=load.duration,
            tool=load.tool,
            qps=load.qps,
            link_type=load.link_type,
        )
        if isinstance(row, perftest.Refused):
            return NotSeen(
                _what(pair),
                f"client: {client.host}: {row.reason}{_other_end(server)}",
                row.hint,
                captures_of(client),
            )
        line = client.text.splitlines()[row.line - 1] if row.line is not None else ""
        capture = CaptureRef(file_of(client), row.line, " ".join(line.split()))
        return PairRate(pair, Bandwidth(row.bytes_per_second), row.iterations, test.mtu, capture)

    # -- words of a command -------------------------------------------------------------------

    @property
    def _client_time(self) -> float:
        return self.load.duration + self.pace.lifetime / 2

    @property
    def _server_time(self) -> float:
        return self.load.duration + 2 * self.pace.lifetime

    def _job(self, pair: Pair, peer: str | None) -> Job:
        """The server's command, or the client's where there is a peer."""
        name = pair.runs_server if peer is None else _measures(pair)
        host, load = self.hosts[name], self.load
        table = commands.RDMA_SERVERS if peer is None else commands.RDMA_CLIENTS
        values: dict[str, Any] = {
            "device": host.ib_hca[0] if host.ib_hca else None,
            "port": host.ib_port,
            "count": load.depth,
            "seconds": load.duration,
            "qps": load.qps,
            "bytes": load.message,
            "tcp_port": pair.tcp_port,
        }
        if peer is not None:
            values["peer"] = peer
        return host.transport, table[load.tool].argv(**values)

    def _peer(self, pair: Pair) -> str:
        """Where the client meets the server: ``ansible_host``, else its name.

        A loopback address is a way in from here (a tunnel, the lab), not one between the hosts.
        """
        server = self.hosts[pair.runs_server]
        address = server.transport.address
        return server.name if address is None or _LOOPBACK.match(address) else address


def _measures(pair: Pair) -> str:
    """The host that runs perftest's client."""
    return pair.storage if pair.runs_server == pair.client else pair.client


def _what(pair: Pair) -> str:
    receiver = pair.client if pair.sender == pair.storage else pair.storage
    return f"the rate of {pair.sender} to {receiver}"


def _in_use(ended: CommandResult | TransportError) -> bool:
    return isinstance(ended, CommandResult) and perftest.is_port_taken(
        ended.error_text + ended.text
    )


def _other_end(server: CommandResult | TransportError | None) -> str:
    ended = None if server is None else whole("", server, step="server")
    return f"; {ended.reason}" if isinstance(ended, NotSeen) else ""

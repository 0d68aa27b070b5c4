"""The folders of a load run's files: made before anything is written, and removed whatever happens.

The removal is left with each host before a byte is written: a command that waits there for its
release and is run as well when the host loses us (``held="last"`` of the transport). So nothing
stays on the file system of a process that was killed or a connection that broke.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ibaccept import commands
from ibaccept.fabric.nodeset import fold
from ibaccept.load.clocks import Clocks
from ibaccept.load.pace import Pace
from ibaccept.load.processes import Together
from ibaccept.observe.outputs import whole
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import Argv, CommandResult, Transport, TransportError
from ibaccept.transport.fanout import run_many
from ibaccept.verdict.absence import NotSeen

_TIME = 300.0
"""Seconds that the removal of one client's files may take."""


@dataclass
class Folders:
    """One folder a client.

    Attributes:
        path: they are made in.
        token: names them.
        keep: do not remove them.
        lifetime: seconds until they are removed at most.
        made: folder by client.
    """

    transport: Transport
    path: str
    token: str
    pace: Pace
    clocks: Clocks
    keep: bool
    lifetime: float
    made: dict[str, str] = field(default_factory=dict)
    _hosts: dict[str, InventoryHost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._removals = Together(self.transport, self.pace, self.clocks)

    def make(self, hosts: Sequence[InventoryHost]) -> dict[str, NotSeen]:
        """A new folder for each client; why, for those that have none, or none to be removed."""
        names = [f"ibaccept-{self.token}-{number}" for number in range(1, len(hosts) + 1)]
        results = run_many(
            self.transport,
            [
                (host.transport, commands.MKDIR.argv(path=self.path, run=name))
                for host, name in zip(hosts, names, strict=True)
            ],
            timeout=commands.MKDIR.timeout,
            fan_out=self.pace.fan_out,
            keep_open=True,
        )
        bad: dict[str, NotSeen] = {}
        for host, name, result in zip(hosts, names, results, strict=True):
            taken = whole(f"the rate of {host.name}", result, step="folder")
            if isinstance(taken, NotSeen):
                bad[host.name] = replace(
                    taken, hint=f"see that {self.path} is there and can be written by its user"
                )
            else:
                self.made[host.name] = name
                self._hosts[host.name] = host
        return bad if self.keep else bad | self._leave_removals()

    def _leave_removals(self) -> dict[str, NotSeen]:
        self._removals.start(
            [(host.transport, self._argv(name)) for name, host in self._hosts.items()],
            timeout=self.lifetime + _TIME,
            held="last",
        )
        return {
            name: NotSeen(f"the rate of {name}", f"folder: {result}", "see whether the host is up")
            for number, name in enumerate(self._hosts)
            if isinstance(result := self._removals.results.get(number), TransportError)
        }

    def _argv(self, host: str) -> Argv:
        return commands.REMOVE.argv(path=self.path, run=self.made[host])

    def remove(self) -> tuple[str, ...]:
        """Remove the folders, unless they are to be kept; what is left, a sentence each."""
        if self.keep or not self.made:
            return ()
        self._removals.release(range(len(self._hosts)))
        self._removals.finish(_TIME)
        results: dict[str, CommandResult | TransportError] = {}
        unanswered: list[str] = []
        for number, name in enumerate(self._hosts):
            result = self._removals.results.get(number)
            if isinstance(result, CommandResult) and not result.lost:
                results[name] = result
            else:
                unanswered.append(name)
        left = []
        for name, answer in (results | self._remove_now(unanswered)).items():
            taken = whole("", answer, step="remove")
            if isinstance(taken, NotSeen):
                run = self.made[name]
                left.append(f"{name}: {self.path}/{run} was not removed ({taken.reason})")
            else:
                del self.made[name]
        return tuple(left)

    def kept(self) -> tuple[str, ...]:
        """What stays because it was ordered: one sentence for all folders."""
        if not self.keep or not self.made:
            return ()
        return (f"{self.path}/{fold(self.made.values())} of {fold(self.made)}",)

    def _remove_now(self, names: Sequence[str]) -> dict[str, CommandResult | TransportError]:
        """Once more, where the connection that waited was lost: the host may be there again."""
        results = run_many(
            self.transport,
            [(self._hosts[name].transport, self._argv(name)) for name in names],
            timeout=_TIME,
            fan_out=self.pace.fan_out,
            keep_open=True,
        )
        return dict(zip(names, results, strict=True))

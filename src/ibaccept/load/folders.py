"""The folders of a load run's files: made before anything is written, and removed whatever happens.

The removal is left with each host before a byte is written: a command that waits there for its
release, is run as well when the host loses us, and is ended by nothing once it has begun
(``held="last"`` of the transport). So nothing stays on the file system of a process that was
killed, a connection that broke or a client that froze. Our own disk has no part in it: a removal
whose result cannot be recorded is done all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
from ibaccept.transport.replay import cleaning
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
        made: folder by client; also those that may be there, as their host gave no answer.
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
    _waiting: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._removals = Together(self.transport, self.pace, self.clocks)

    def make(self, hosts: Sequence[InventoryHost]) -> dict[str, NotSeen]:
        """A new folder for each client; why, for those that have none, or none to be removed."""
        self._hosts = {host.name: host for host in hosts}
        # whatever happens from here on, each may be there
        self.made = {
            host.name: f"ibaccept-{self.token}-{number}" for number, host in enumerate(hosts, 1)
        }
        results = run_many(
            self.transport,
            [
                (host.transport, commands.MKDIR.argv(path=self.path, run=self.made[host.name]))
                for host in hosts
            ],
            timeout=commands.MKDIR.timeout,
            fan_out=self.pace.fan_out,
            keep_open=True,
        )
        bad: dict[str, NotSeen] = {}
        for host, result in zip(hosts, results, strict=True):
            taken = whole(f"the rate of {host.name}", result, step="folder")
            if not isinstance(taken, NotSeen):
                continue
            bad[host.name] = replace(
                taken, hint=f"see that {self.path} is there and can be written by its user"
            )
            if not _may_be_made(result):
                del self.made[host.name]
        return bad if self.keep else bad | self._leave_removals(bad)

    def _leave_removals(self, bad: Collection[str]) -> dict[str, NotSeen]:
        self._waiting = [name for name in self.made if name not in bad]
        self._start(self._removals, self._waiting, self.lifetime + _TIME)
        return {
            name: NotSeen(f"the rate of {name}", f"folder: {result}", "see whether the host is up")
            for number, name in enumerate(self._waiting)
            if isinstance(result := self._removals.results.get(number), TransportError)
        }

    def _start(self, removals: Together, names: Sequence[str], seconds: float) -> None:
        removals.start(
            [(self._hosts[name].transport, self._argv(name)) for name in names],
            timeout=seconds,
            held="last",
        )

    def _argv(self, host: str) -> Argv:
        return commands.REMOVE.argv(path=self.path, run=self.made[host])

    def remove(self) -> tuple[str, ...]:
        """Remove the folders, unless they are to be kept; what is left, a sentence each."""
        if self.keep or not self.made:
            return ()
        with cleaning(self.transport):
            results = self._ended(self._removals, self._waiting)
            unsure = [name for name in self.made if not _is_answer(results.get(name))]
            # once more: the host may be there again, or have no removal that waits
            again = Together(self.transport, self.pace, self.clocks)
            self._start(again, unsure, _TIME)
            results |= self._ended(again, unsure)
        left = []
        for name, run in list(self.made.items()):
            taken = whole("", results[name], step="remove")
            if isinstance(taken, NotSeen):
                left.append(f"{name}: {self.path}/{run} was not removed ({taken.reason})")
            else:
                del self.made[name]
        return tuple(left)

    @staticmethod
    def _ended(
        removals: Together, names: Sequence[str]
    ) -> dict[str, CommandResult | TransportError]:
        """Release removals and see them end."""
        removals.release(range(len(names)))
        removals.finish(_TIME)
        found = enumerate(names)
        return {name: removals.results[n] for n, name in found if n in removals.results}

    def kept(self) -> tuple[str, ...]:
        """What stays because it was ordered: one sentence for all folders."""
        if not self.keep or not self.made:
            return ()
        return (f"{self.path}/{fold(self.made.values())} of {fold(self.made)}",)


def _may_be_made(result: CommandResult | TransportError) -> bool:
    """Whether a mkdir that gave no good answer may have been done on the host."""
    if isinstance(result, TransportError):
        return result.step == "session"
    return result.exit_code is None


def _is_answer(result: CommandResult | TransportError | None) -> bool:
    return isinstance(result, CommandResult) and not result.lost and not result.timed_out

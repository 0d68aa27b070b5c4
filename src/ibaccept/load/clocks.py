"""Clocks of hosts against ours, so that what ran together can be held against one clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ibaccept.load.result import TimeSpread
from ibaccept.transport import CommandResult
from ibaccept.transport.captures import CapturedResult
from ibaccept.verdict.absence import NotSeen


@dataclass
class Clocks:
    """By how much each host's clock is ahead of ours, from every result that came of it.

    A result of a host lies between the moments we sent it and had it back; that bounds the
    difference from both sides, and the bounds of several results narrow it.
    """

    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)

    def note(self, result: CommandResult) -> None:
        """Take what a result tells."""
        if not isinstance(result, CapturedResult) or result.start is None or result.end is None:
            return
        if result.sent is None or result.received is None:
            return
        low, high = self.bounds.get(result.host, (float("-inf"), float("inf")))
        new_low = max(low, result.end - result.received)
        new_high = min(high, result.start - result.sent)
        # a clock that was set meanwhile has no single difference: the newest counts
        if new_low > new_high:
            new_low, new_high = result.end - result.received, result.start - result.sent
        self.bounds[result.host] = (new_low, new_high)

    def ahead(self, host: str) -> tuple[float, float] | None:
        """Seconds a host's clock is ahead of ours, and by how much that can be wrong."""
        if host not in self.bounds:
            return None
        low, high = self.bounds[host]
        return (low + high) / 2, (high - low) / 2

    def ours(self, host: str, time: float) -> float:
        """A time on a host's clock, on ours; as it is where the difference is not known."""
        return time - (self.ahead(host) or (0.0, 0.0))[0]

    def spread(self, starts: Mapping[str, float]) -> TimeSpread | None:
        """How far apart starts are: times on the hosts' own clocks, by ``host#number``."""
        if not starts:
            return None
        fixed = {host: self.ours(host.partition("#")[0], at) for host, at in starts.items()}
        uncertain = max(
            (self.ahead(host.partition("#")[0]) or (0.0, float("inf")))[1] for host in starts
        )
        first, last = min(fixed, key=fixed.__getitem__), max(fixed, key=fixed.__getitem__)
        return TimeSpread(
            fixed[last] - fixed[first],
            2 * uncertain,
            first.partition("#")[0],
            last.partition("#")[0],
        )

    def apart(self, limit: float) -> tuple[NotSeen, ...]:
        """Hosts whose clock surely differs from most by more than ``limit`` seconds."""
        known = {host: self.ahead(host) for host in self.bounds}
        middles = sorted(ahead[0] for ahead in known.values() if ahead is not None)
        if not middles:
            return ()
        usual = middles[len(middles) // 2]
        return tuple(
            NotSeen(
                f"the time on {host}",
                f"{host}: its clock is {abs(ahead[0] - usual):.1f} s "
                f"{'ahead of' if ahead[0] > usual else 'behind'} most of the others; times from it "
                "are set right by that",
                "let it follow the site's time server",
            )
            for host, ahead in known.items()
            if ahead is not None and abs(ahead[0] - usual) - ahead[1] > limit
        )

"""What a simulator's port counters must stand at for the data that moved, and which to set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ibaccept.fabric.model import PortId
from ibaccept.lab.traffic.dataplane import Counted

STEP = 1 << 12
"""PortXmitData that a port must have gained to be set anew, 16 KiB: more than management datagrams,
which the simulator counts by itself, add meanwhile. So no counter is ever set back."""

BASE = {"Data": 1_000_000, "Pkts": 2_000}
"""Where counters begin, above what the datagrams of discovery counted."""


@dataclass
class Tally:
    """The counters as they were last set.

    Attributes:
        last: by port and counter name.
        cleared: ports that were cleared: they begin at 0.
    """

    last: dict[PortId, dict[str, int]] = field(default_factory=dict)
    cleared: set[PortId] = field(default_factory=set)

    def changes(self, counted: Mapping[PortId, Counted]) -> dict[PortId, dict[str, int]]:
        """Counters to set, by port, and remember them as set."""
        found: dict[PortId, dict[str, int]] = {}
        for port, now in counted.items():
            last = self.last.setdefault(port, {})
            base = {"Data": 0, "Pkts": 0} if port in self.cleared else BASE
            moved: dict[str, int] = {}
            for way, data, packets in (
                ("Xmit", now.sent, now.sent_packets),
                ("Rcv", now.received, now.received_packets),
            ):
                value = data + base["Data"]
                if value - last.get(f"Port{way}Data", base["Data"]) >= STEP:
                    moved |= {f"Port{way}Data": value, f"Port{way}Pkts": packets + base["Pkts"]}
            if now.wait > last.get("PortXmitWait", 0):
                moved["PortXmitWait"] = now.wait
            if moved:
                last |= moved
                found[port] = moved
        return found

    def clear(self, port: PortId | None) -> None:
        """Forget a cleared port, or all: nothing is set, and counting begins at 0."""
        ports = tuple(self.last) if port is None else (port,)
        for known in ports:
            self.last[known] = {}
        self.cleared |= set(ports)

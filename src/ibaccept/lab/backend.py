"""What the lab's SSH server and its scenarios need of a simulated fabric, and no more.

A backend brings up the fabric and says in which environment a real process "is" one of its hosts.
Commands always run as real processes, so that pipes, signals and exit codes are real too; backends
differ in which programs they put first in ``PATH``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ibaccept.fabric.model import PortId
from ibaccept.lab.fabric.netfile import PortRef

OUTPUT_FAULT = "IBACCEPT_LAB_HOW"
"""``cut``, ``garble``, ``hang`` or ``replace``: what a tool's own output suffers."""
OUTPUT_TOOL = "IBACCEPT_LAB_TOOL"
"""The tool that the output fault is for; others on the same command line are left alone."""
OUTPUT_AT = "IBACCEPT_LAB_AT"
"""Where an output is cut, in per cent of its bytes."""
OUTPUT_SED = "IBACCEPT_LAB_SED"
"""The sed script of ``replace``."""


class Backend(Protocol):
    """A simulated fabric. Counter values are absolute; names of ports are ``NODE/PORT``."""

    def start(self) -> None:
        """Bring the fabric up and wait until it is routed (where it has an SM).

        Raises:
            IbacceptError: it did not come up; the message says what was not seen.
        """
        ...

    def stop(self) -> None:
        """End every process the backend started. May be called twice."""
        ...

    def environment(self, host: str) -> Mapping[str, str]:
        """Variables (``PATH`` among them) in which a process is that host of the fabric."""
        ...

    def set_counters(self, port: PortRef, counters: Mapping[str, int]) -> None:
        """Set counters, by the names perfquery prints, of one port."""
        ...

    def add_counters(self, port: PortRef, counters: Mapping[str, int]) -> None:
        """Let counters grow. They stick at their maximum, as in real hardware."""
        ...

    def clear_counters(self, port: PortRef | None) -> None:
        """Set the error counters of one port, or of all that were set before, to 0."""
        ...

    def count(self, counters: Mapping[PortId, Mapping[str, int]]) -> None:
        """Set the data counters (and PortXmitWait) of many ports at once."""
        ...

    def look(self) -> tuple[str, bytes]:
        """The fabric as it is routed now: texts of ``ibnetdiscover`` and of ``dump_fts -n``.

        Raises:
            IbacceptError: they could not be read.
        """
        ...

    def unlink(self, port: PortRef) -> None:
        """Pull the cable at a port while the fabric runs. The SM reroutes."""
        ...

    def silence(self, node: str, port: int | None, attribute: int | None) -> None:
        """Drop management datagrams of a node (or one port): all, or one attribute number."""
        ...

    def stop_sm(self) -> None:
        """End the subnet manager; the fabric stays as it routed it."""
        ...

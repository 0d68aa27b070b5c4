"""The transport of a run: this machine's commands start here, all others go over SSH."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ibaccept.transport import (
    OUTPUT_LIMIT,
    CommandResult,
    Hold,
    Host,
    Permit,
    Running,
    Transport,
)
from ibaccept.transport.fanout import check_permitted
from ibaccept.transport.local import LocalTransport
from ibaccept.transport.ssh import SshTransport


class RoutingTransport:
    """Sends ``Host.local`` to one transport and every other host to another."""

    def __init__(self, permit: Permit, local: Transport, remote: Transport) -> None:
        self._permit = permit
        self._local = local
        self._remote = remote

    def run(
        self,
        host: Host,
        argv: Sequence[str],
        *,
        timeout: float,
        root: bool = False,
        limit: int = OUTPUT_LIMIT,
    ) -> CommandResult:
        """See ``Transport.run``."""
        check_permitted(self._permit, argv)
        chosen = self._local if host.local else self._remote
        return chosen.run(host, argv, timeout=timeout, root=root, limit=limit)

    def start(
        self,
        host: Host,
        argv: Sequence[str],
        *,
        timeout: float,
        root: bool = False,
        held: Hold = False,
        limit: int = OUTPUT_LIMIT,
    ) -> Running:
        """See ``Transport.start``."""
        check_permitted(self._permit, argv)
        chosen = self._local if host.local else self._remote
        return chosen.start(host, argv, timeout=timeout, root=root, held=held, limit=limit)

    def close(self) -> None:
        """Close both."""
        try:
            self._local.close()
        finally:
            self._remote.close()


def open_transport(
    permit: Permit,
    *,
    ssh_config: Path | None = None,
) -> RoutingTransport:
    """The transport of a real run. Connects to nothing yet.

    Args:
        permit: ``commands.is_permitted``.
        ssh_config: used instead of the user's and the system's OpenSSH configuration.
    """
    return RoutingTransport(
        permit,
        LocalTransport(permit),
        SshTransport(
            permit,
            ssh_config=ssh_config,
        ),
    )

"""The transport of a run: this machine's commands start here, all others go over SSH."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ibaccept.transport import CommandResult, Hold, Host, Permit, Running, Transport, TransportError
from ibaccept.transport.fanout import Job, check_permitted, run_each
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
        limit: int = 1 << 30,
        stdin: bytes = b"",
    ) -> CommandResult:
        """See ``Transport.run``."""
        check_permitted(self._permit, argv)
        chosen = self._local if host.local else self._remote
        return chosen.run(host, argv, timeout=timeout, root=root, limit=limit, stdin=stdin)

    def start(
        self,
        host: Host,
        argv: Sequence[str],
        *,
        timeout: float,
        root: bool = False,
        held: Hold = False,
        limit: int = 1 << 30,
    ) -> Running:
        """See ``Transport.start``."""
        check_permitted(self._permit, argv)
        chosen = self._local if host.local else self._remote
        return chosen.start(host, argv, timeout=timeout, root=root, held=held, limit=limit)

    def run_many(
        self,
        jobs: Sequence[Job],
        *,
        timeout: float,
        root: bool = False,
        fan_out: int = 32,
    ) -> Mapping[int, CommandResult | TransportError]:
        """See ``Transport.run_many``."""
        for _, argv in jobs:
            check_permitted(self._permit, argv)
        return run_each(
            lambda host, argv: self.run(host, argv, timeout=timeout, root=root),
            jobs,
            fan_out=fan_out,
            abort=self.close,
        )

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
    connect_timeout: float = 10,
    known_hosts: Sequence[Path] = (),
) -> RoutingTransport:
    """The transport of a real run. Connects to nothing yet.

    Args:
        permit: ``commands.is_permitted``.
        ssh_config: used instead of the user's and the system's OpenSSH configuration.
        connect_timeout: seconds to reach a host.
        known_hosts: files looked at before those of the configuration.
    """
    return RoutingTransport(
        permit,
        LocalTransport(permit),
        SshTransport(
            permit,
            ssh_config=ssh_config,
            connect_timeout=connect_timeout,
            known_hosts=known_hosts,
        ),
    )

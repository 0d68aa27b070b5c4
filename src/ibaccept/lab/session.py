"""Bring a scenario up: fabric, SSH server, and the files a suite needs to sweep it."""

from __future__ import annotations

import atexit
import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from ibaccept.errors import InputError
from ibaccept.fabric import nodeset
from ibaccept.fabric.model import PortId
from ibaccept.lab import faults, scenario
from ibaccept.lab.backend import Backend
from ibaccept.lab.fabric.ibsim import CLIENTS, IbsimBackend
from ibaccept.lab.fabric.netfile import NetFile, PortRef
from ibaccept.lab.hosts.equip import equip
from ibaccept.lab.hosts.played import Hook, PlayedHosts
from ibaccept.lab.ssh.access import new_key, write_inventory, write_ssh_config
from ibaccept.lab.ssh.process import Processes
from ibaccept.lab.ssh.server import Listener, SshServer
from ibaccept.lab.traffic.plane import Plane

BackendFactory = Callable[
    [NetFile, scenario.SimSubnetManager | None, Path, Processes, str],
    Backend,
]
BACKENDS: dict[str, BackendFactory] = {"ibsim": IbsimBackend}
"""By the name ``--lab-backend`` takes: (topology, SM, folder, processes, token) -> backend."""


class RunningLab:
    """A scenario that is up. Use as a context manager, or call ``stop``.

    Attributes:
        scenario: what is played.
        folder: everything below; removed by ``stop`` unless it was given.
        backend: the simulated fabric.
        hosts: names that have SSH.
        port: of the SSH server on 127.0.0.1.
        inventory: Ansible-shaped YAML.
        ssh_config: for ``ssh -F``; names the key, known_hosts and each host's port.
        known_hosts: host keys.
        key_file: the client's private key.
        expectations: the scenario's expectations, None where it has none.
        plan: cabling plan of the fabric before the faults, None where the scenario has none.
        job: clients of the job as a node set, None = all of the group.
        log: JSON lines, one per command that was served.
    """

    def __init__(self, play: scenario.Scenario, backend: str, folder: Path | None) -> None:
        if backend not in BACKENDS:
            raise InputError(f"there is no lab backend {backend!r}; there is {', '.join(BACKENDS)}")
        self.scenario = play
        self._keep = folder is not None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="ibaccept-lab-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder = self.folder.absolute()
        (self.folder / "home").mkdir()
        self.hosts = play.hosts.names
        self.inventory = self.folder / "inventory.yaml"
        self.ssh_config = self.folder / "ssh_config"
        self.known_hosts = self.folder / "known_hosts"
        self.key_file = self.folder / "client_key"
        self.log = self.folder / "commands.jsonl"
        self.log.touch()
        self.job = nodeset.fold(play.job) if play.job else None
        self.expectations: Path | None = None
        self.plan: Path | None = None
        self._sockets: list[socket.socket] = []
        self._server: SshServer | None = None
        token = secrets.token_hex(4)
        self._processes = Processes(token)
        atexit.register(self.stop)
        try:
            net = self._net = self._topology()
            self.backend = BACKENDS[backend](net, play.sm, self.folder, self._processes, token)
            self.backend.start()
            self._serve()
        except BaseException:
            self.stop()
            raise

    def _topology(self) -> NetFile:
        play = self.scenario
        net = play.topology.build(play.folder)
        # Before the faults: one of them may give a node the name of another.
        nodes = {host: net.node(play.hosts.node(host)) for host in play.hosts.names}
        self._names = {host: node.name for host, node in nodes.items()}
        self._guids = {host: node.guid for host, node in nodes.items()}
        text = play.expectations_text()
        if text:
            self.expectations = self.folder / "expectations.yaml"
            self.expectations.write_text(text, encoding="utf-8")
        for name, given in play.files.items():
            path = self.folder / name
            if path.parent != self.folder or path.exists():
                raise InputError(f"files: {name!r} is not a free name in the lab's folder")
            path.write_text(given, encoding="utf-8")
        if play.plan:
            (self.folder / "inventory").mkdir()
            self.plan = self.folder / "inventory" / "cables.csv"
            self.plan.write_text(net.plan(), encoding="utf-8", errors="surrogateescape")
        for fault in play.faults:
            match fault:
                case faults.CableRateFault():
                    net.set_rate(fault.cable, fault.rate)
                case faults.MissingCable():
                    net.remove(fault.cable)
                case faults.SwappedCables():
                    net.swap(*fault.cables)
                case faults.RenamedNode():
                    net.rename(fault.node, fault.name)
                case _:
                    pass
        return net

    def _serve(self) -> None:
        client, client_text = new_key()
        self.key_file.touch(mode=0o600)
        self.key_file.write_text(client_text)
        self._plane = self._start_plane()
        self._site = PlayedHosts(self.scenario, self.backend, self.folder, client, self._plane)
        for fault in self.scenario.faults:
            self._arm(fault)
        main = Listener(new_key()[0])
        listeners = [main]
        known = [(main.port, main.key)]
        addresses = dict.fromkeys(self.hosts, ("127.0.0.1", main.port))
        for fault in self.scenario.faults:
            if isinstance(fault, faults.HostKey):
                listeners.append(Listener(new_key()[0]))
                addresses[fault.host] = ("127.0.0.1", listeners[-1].port)
                if fault.how == "changed":
                    known.append((listeners[-1].port, new_key()[0]))
            elif isinstance(fault, faults.Unreachable):
                # Bound, so that no other process gets the port; a listening one never accepts.
                held = socket.socket()
                self._sockets.append(held)
                held.bind(("127.0.0.1", 0))
                if fault.how == "silent":
                    held.listen(1)
                addresses[fault.host] = ("127.0.0.1", held.getsockname()[1])
            elif isinstance(fault, faults.Unresolved):
                addresses[fault.host] = (f"{fault.host}.invalid", main.port)
        self.port = main.port
        self.known_hosts.write_text(
            "".join(f"[127.0.0.1]:{port} {k.get_name()} {k.get_base64()}\n" for port, k in known)
        )
        write_inventory(self.inventory, self.scenario.hosts, addresses, self.key_file, self._names)
        write_ssh_config(self.ssh_config, addresses, self.key_file, self.known_hosts)
        self._server = SshServer(
            self._site, self._processes, tuple(listeners), self.folder / "home", self.log
        )
        self._plane.runs.power_off = self._server.power_off
        self._server.start()

    def _start_plane(self) -> Plane:
        """The data plane, and its stand-ins in the hosts' PATH."""
        play = self.scenario
        plane = Plane(
            *(play.traffic, self.backend, play.hosts.storage, self._guids, self.folder, CLIENTS)
        )
        memory = any(limit.memory for limit in play.traffic.hosts)
        equip(self.folder / "bin", memory=memory)
        plane.start()
        return plane

    def _arm(self, fault: faults.Fault) -> None:
        """Let a fabric fault happen now, or when its moment comes."""
        fabric = self.backend
        hook: Hook
        match fault:
            case faults.Unlink():
                hook = lambda: self._unlink(fault.cable)  # noqa: E731 - one line each reads best
            case faults.SetCounters():
                hook = lambda: fabric.set_counters(fault.port, fault.counters)  # noqa: E731 - as above
            case faults.CountUp():
                hook = lambda: fabric.add_counters(fault.port, fault.counters)  # noqa: E731 - as above
            case faults.ClearCounters():
                hook = lambda: self._clear(fault.port)  # noqa: E731 - as above
            case faults.Silence():
                hook = lambda: fabric.silence(fault.node, fault.port, fault.attribute)  # noqa: E731 - as above
            case faults.NoSubnetManager():
                hook = fabric.stop_sm
            case _:
                return
        if fault.when == "start":
            hook()
        else:
            self.after(fault.when.after.command, fault.when.after.nth, hook)

    def _unlink(self, cable: PortRef) -> None:
        self.backend.unlink(cable)
        self._plane.tables_changed()

    def _clear(self, port: PortRef | None) -> None:
        self.backend.clear_counters(port)
        self._plane.clear(
            None if port is None else PortId(self._net.node(port.node).guid, port.port)
        )

    def after(self, command: str, nth: int, hook: Hook) -> None:
        """Call ``hook`` right after the lab served ``command`` for the ``nth`` time (all hosts).

        The client gets the exit status only when the hook has returned.
        """
        self._site.after(command, nth, hook)

    def environment(self, host: str) -> Mapping[str, str]:
        """Variables in which a local process is that host."""
        return self._site.environment(host)

    @property
    def pids(self) -> tuple[int, ...]:
        """Every process of the lab that runs."""
        return self._processes.pids

    def stop(self) -> None:
        """End the lab's processes and connections. May be called twice."""
        atexit.unregister(self.stop)
        if hasattr(self, "_plane"):
            self._plane.stop()
        if hasattr(self, "backend"):
            self.backend.stop()
        self._processes.stop()
        if self._server is not None:
            self._server.stop()
        for held in self._sockets:
            held.close()
        if not self._keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


class Lab:
    """Starts scenarios."""

    @staticmethod
    def start(
        name: str | Path | scenario.Scenario,
        backend: str = "ibsim",
        folder: Path | None = None,
    ) -> RunningLab:
        """Bring a scenario up and wait until it can be looked at.

        Args:
            name: a scenario's name or path, ``capture:FILE``, or a scenario.
            backend: one of ``BACKENDS``.
            folder: empty or new; kept by ``stop``. Default a temporary one, removed by ``stop``.

        Raises:
            InputError: no such scenario or backend, or the scenario names what is not there.
            IbacceptError: the fabric did not come up, or a Debian package is missing.
        """
        play = name if isinstance(name, scenario.Scenario) else scenario.load(name)
        return RunningLab(play, backend, folder)

"""The ibsim backend: the real OpenSM and the real infiniband-diags on a simulated fabric.

``libumad2sim.so``, preloaded, replaces /dev/umad and talks to ibsim over an abstract socket, named
by ``IBSIM_SOCKNAME``: unique per lab. ``SIM_HOST`` says on which node a tool runs.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from ibaccept.errors import IbacceptError, InputError
from ibaccept.fabric.model import Guid, PortId
from ibaccept.lab.fabric.netfile import NetFile, PortRef
from ibaccept.lab.hosts.shims import SYSTEM_PATH, write_shims
from ibaccept.lab.scenario import SimSubnetManager
from ibaccept.lab.ssh.process import Processes

CLIENTS = 8
"""Tools that talk to ibsim at a time. It serves 10; OpenSM is one, and one is kept free."""

_PACKAGES = {
    "ibsim": "ibsim-utils",
    "opensm": "opensm",
    "ibnetdiscover": "infiniband-diags",
    "flock": "util-linux",
}

MAXIMA = {
    **dict.fromkeys(("LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors"), 15),
    **dict.fromkeys(
        (
            "LinkErrorRecoveryCounter",
            "LinkDownedCounter",
            "PortXmitConstraintErrors",
            "PortRcvConstraintErrors",
        ),
        (1 << 8) - 1,
    ),
    **dict.fromkeys(
        (
            "SymbolErrorCounter",
            "PortRcvErrors",
            "PortRcvRemotePhysicalErrors",
            "PortRcvSwitchRelayErrors",
            "PortXmitDiscards",
            "QP1Dropped",
            "VL15Dropped",
        ),
        (1 << 16) - 1,
    ),
    "PortXmitWait": (1 << 32) - 1,
}
"""Counters of the basic set and where they stick (InfiniBand Architecture 1, PortCounters)."""

_BATCH = 512
"""Console commands given at once: what is written and not yet read fits in the pipe."""

_PROMPT = "sim> "
_ANSWERS = (_PROMPT, "send_trap: routing failed")
"""What ends an answer. After a link that carried its own trap goes down there is no prompt."""

EXTENDED = frozenset(
    {
        "PortXmitData",
        "PortRcvData",
        "PortXmitPkts",
        "PortRcvPkts",
        "PortUnicastXmitPkts",
        "PortUnicastRcvPkts",
        "PortMulticastXmitPkts",
        "PortMulticastRcvPkts",
    }
)
"""Counters of the extended set, 64 bits each."""

_EXTENDED_SET = "PortCountersExtended"
_BASIC_FULL = (1 << 32) - 1


def require_packages() -> Path:
    """The path of libumad2sim.so.

    Raises:
        IbacceptError: a Debian package is missing; the message installs all that are.
    """
    missing = [p for tool, p in _PACKAGES.items() if shutil.which(tool, path=SYSTEM_PATH) is None]
    preloads = sorted(Path("/usr/lib").glob("*/umad2sim/libumad2sim.so"))
    if not preloads:
        missing.append("libumad2sim0")
    if missing:
        raise IbacceptError(
            "the ibsim lab needs Debian packages that are not installed here: "
            f"apt-get install {' '.join(missing)}"
        )
    return preloads[0]


class IbsimBackend:
    """One ibsim, one OpenSM (or none), and the environment of each host.

    Args:
        net: the topology, faults applied.
        sm: the subnet manager; None = the fabric was never routed.
        folder: for logs, OpenSM's dumps and the shims; must exist.
        processes: what starts and ends child processes.
        token: unique name; becomes the socket's.
        timeout: seconds that ibsim, and then OpenSM, may take to come up.
    """

    def __init__(
        self,
        net: NetFile,
        sm: SimSubnetManager | None,
        folder: Path,
        processes: Processes,
        token: str,
        timeout: float = 180.0,
    ) -> None:
        self._net = net
        self._sm = sm
        self._folder = folder
        self._processes = processes
        self._socket = f"ibaccept-{token}"
        self._timeout = timeout
        self._console_lock = threading.Lock()
        self._counters: dict[tuple[str, int], dict[str, int]] = {}
        self._shims = folder / "bin"
        self._preload: Path | None = None
        self._ibsim: subprocess.Popen[bytes] | None = None
        self._opensm: subprocess.Popen[bytes] | None = None

    @property
    def dumps(self) -> Path:
        """Where OpenSM keeps ``osm.log``, ``opensm-lfts.dump``, ``opensm-subnet.lst``, ..."""
        return self._folder / "opensm"

    def start(self) -> None:
        """Start ibsim and OpenSM; see ``Backend.start``."""
        self._preload = require_packages()
        write_shims(self._shims, self._preload, CLIENTS)
        self.dumps.mkdir()
        netfile = self._folder / "fabric.net"
        netfile.write_text(self._net.text(), encoding="utf-8", errors="surrogateescape")
        self._ibsim = self._start_ibsim(netfile)
        if self._sm is not None:
            self._opensm = self._start_opensm(self._sm)

    def _start_ibsim(self, netfile: Path) -> subprocess.Popen[bytes]:
        log = self._folder / "ibsim.log"
        with log.open("wb") as output:
            process = self._processes.start(
                # Limits on nodes, switches and ports: the largest fabric there is fits well.
                [
                    *("ibsim", "-s", "-N", "30000", "-S", "3000", "-P", "300000"),
                    *("-L", "49151", str(netfile)),
                ],
                env={"PATH": SYSTEM_PATH, "IBSIM_SOCKNAME": self._socket},
                cwd=self._folder,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
            )
        self._wait(process, "ibsim", log, lambda: _PROMPT in _read(log))
        return process

    def _start_opensm(self, sm: SimSubnetManager) -> subprocess.Popen[bytes]:
        config = self.dumps / "opensm.conf"
        config.write_text(self._opensm_config(sm), encoding="utf-8")
        log = self.dumps / "osm.log"
        with (self.dumps / "opensm.out").open("wb") as output:
            process = self._processes.start(
                ["opensm", "-F", str(config)],
                env={
                    "PATH": SYSTEM_PATH,
                    "IBSIM_SOCKNAME": self._socket,
                    "SIM_HOST": self._net.node(sm.host).id,
                    "LD_PRELOAD": str(self._preload),
                    "OSM_CACHE_DIR": str(self.dumps),
                    "OSM_TMP_DIR": str(self.dumps),
                },
                cwd=self.dumps,
                stdout=output,
                stderr=output,
            )
        self._wait(process, "OpenSM", log, lambda: "SUBNET UP" in _read(log))
        # An engine that OpenSM does not know, or that cannot route this fabric, silently becomes
        # min-hop: the scenario would not be what it says.
        used = re.findall(r"(\S+) tables configured on all switches", _read(log))
        if used[-1:] != [sm.engine]:
            raise IbacceptError(
                f"OpenSM was started with the routing engine {sm.engine} and used "
                f"{used[-1] if used else 'none'}; see {log}"
            )
        return process

    def _opensm_config(self, sm: SimSubnetManager) -> str:
        options: dict[str, object] = {
            "routing_engine": sm.engine,
            "lmc": sm.lmc,
            "sm_priority": sm.priority,
            "port_shifting": "TRUE" if sm.port_shifting else "FALSE",
            "scatter_ports": sm.scatter_ports,
            "sweep_interval": 0,
            "log_file": self.dumps / "osm.log",
            # 0x40 writes the routing dumps.
            "log_flags": "0x43",
            "force_log_flush": "TRUE",
            "dump_files_dir": self.dumps,
        }
        for option, nodes in (
            ("guid_routing_order_file", sm.first),
            ("root_guid_file", sm.roots),
        ):
            if nodes:
                path = self.dumps / option
                path.write_text("".join(f"{self._listed_guid(name)}\n" for name in nodes))
                options[option] = path
        if sm.lfts is not None:
            path = self.dumps / "lfts"
            path.write_text(sm.lfts, encoding="utf-8")
            options["lfts_file"] = path
        return "".join(f"{key} {value}\n" for key, value in options.items())

    def _listed_guid(self, name: str) -> str:
        """The GUID OpenSM's files want: of the port for a CA, of the node for a switch."""
        node = self._net.node(name)
        if node.is_switch:
            return str(node.guid)
        guid = next((port.guid for port in node.ports.values() if port.guid), None)
        if guid is None:
            raise InputError(f"the topology shows no port GUID for {name}")
        return f"0x{guid}"

    def _wait(
        self,
        process: subprocess.Popen[bytes],
        what: str,
        log: Path,
        ready: Callable[[], bool],
    ) -> None:
        deadline = time.monotonic() + self._timeout
        while not ready():
            ended = process.poll() is not None
            if ended or time.monotonic() > deadline:
                why = f"ended with {process.returncode}" if ended else "is not ready"
                tail = " / ".join(_read(log).strip().splitlines()[-3:])
                raise IbacceptError(
                    f"{what} {why} after {self._timeout:.0f} s at most; its log ends: {tail}"
                )
            time.sleep(0.02)

    def stop(self) -> None:
        """End OpenSM, then ibsim."""
        self.stop_sm()
        if self._ibsim is not None:
            with contextlib.suppress(OSError):
                if self._ibsim.stdin is not None:
                    self._ibsim.stdin.close()
            self._processes.end(self._ibsim)
            self._ibsim = None

    def stop_sm(self) -> None:
        """End OpenSM."""
        if self._opensm is not None:
            self._processes.end(self._opensm)
            self._opensm = None

    def environment(self, host: str) -> Mapping[str, str]:
        """The shims first in ``PATH``, and the node the tools run on."""
        return {
            "PATH": f"{self._shims}:{SYSTEM_PATH}",
            "IBSIM_SOCKNAME": self._socket,
            "SIM_HOST": self._net.node(host).id,
        }

    def console(self, command: str) -> str:
        """Give ibsim one console command and wait for its answer.

        Raises:
            IbacceptError: ibsim does not answer within five seconds.
        """
        return self._consult([command]).partition(_PROMPT)[0].strip()

    def _consult(self, commands: Sequence[str]) -> str:
        """Give console commands in one go and wait for all answers, prompts included.

        Raises:
            IbacceptError: see ``console``.
        """
        log = self._folder / "ibsim.log"
        text = "".join(f"{command}\n" for command in commands).encode()
        with self._console_lock:
            if self._ibsim is None or self._ibsim.stdin is None:
                raise IbacceptError("the simulator does not run")
            before = log.stat().st_size
            self._ibsim.stdin.write(text)
            self._ibsim.stdin.flush()
            deadline = time.monotonic() + 5.0
            while sum(_read(log, before).count(sign) for sign in _ANSWERS) < len(commands):
                if time.monotonic() > deadline or self._ibsim.poll() is not None:
                    raise IbacceptError(f"ibsim did not answer its console command {commands[0]!r}")
                time.sleep(0.001)
            return _read(log, before)

    def _port(self, port: PortRef) -> tuple[str, int]:
        return self._net.node(port.node).id, port.port

    def set_counters(self, port: PortRef, counters: Mapping[str, int]) -> None:
        """Set counters of the basic or the extended set."""
        node, number = self._port(port)
        known = self._counters.setdefault((node, number), {})
        for name, value in counters.items():
            if name not in MAXIMA and name not in EXTENDED:
                raise InputError(
                    f"{name!r} is not a counter of ibsim: {', '.join([*MAXIMA, *sorted(EXTENDED)])}"
                )
            group = _EXTENDED_SET if name in EXTENDED else "PortCounters"
            kept = min(value, MAXIMA.get(name, (1 << 64) - 1))
            answer = self.console(f'PerformanceSet "{node}"[{number}] {group}.{name}={kept}')
            if f"has been set to {kept}" not in answer:
                raise IbacceptError(f"ibsim did not set {name} of {port}: {answer}")
            known[name] = kept

    def add_counters(self, port: PortRef, counters: Mapping[str, int]) -> None:
        """Let counters grow from what the lab last set them to (error counters start at 0)."""
        known = self._counters.get(self._port(port), {})
        self.set_counters(port, {name: known.get(name, 0) + n for name, n in counters.items()})

    def count(self, counters: Mapping[PortId, Mapping[str, int]]) -> None:
        """Set data counters of many ports: 64 bits in the extended set, sticking in the basic."""
        ids = self._ids
        commands: list[str] = []
        for port, values in counters.items():
            at = f'PerformanceSet "{ids[port.guid]}"[{port.port}]'
            known = self._counters.setdefault((ids[port.guid], port.port), {})
            known |= values
            for name, value in values.items():
                for register in _registers(name):
                    # the basic counters have 32 bits, and stick
                    kept = value if register.startswith(_EXTENDED_SET) else min(value, _BASIC_FULL)
                    commands.append(f"{at} {register}={kept}")
        self._set(commands)

    def _set(self, commands: Sequence[str]) -> None:
        for start in range(0, len(commands), _BATCH):
            part = commands[start : start + _BATCH]
            answer = self._consult(part)
            if answer.count("has been set to") != len(part):
                raise IbacceptError(f"ibsim did not set all counters: {answer[:300]}")

    @cached_property
    def _ids(self) -> dict[Guid, str]:
        return {node.guid: node.id for node in self._net.nodes.values()}

    def look(self) -> tuple[str, bytes]:
        """Run the real tools at the place that is kept free."""
        host = self._net.hosts()[0].id if self._sm is None else self._net.node(self._sm.host).id
        env = {
            "PATH": SYSTEM_PATH,
            "IBSIM_SOCKNAME": self._socket,
            "SIM_HOST": host,
            "LD_PRELOAD": str(self._preload),
        }
        found: list[bytes] = []
        for argv in (["ibnetdiscover"], ["dump_fts", "-n"]):
            process = self._processes.start(argv, env=env, cwd=self._folder)
            try:
                output, errors = process.communicate(timeout=self._timeout)
            except subprocess.TimeoutExpired:
                self._processes.end(process)
                raise IbacceptError(f"{argv[0]} did not end in the lab") from None
            self._processes.forget(process)
            if process.returncode != 0:
                raise IbacceptError(f"{argv[0]} failed in the lab: {errors.decode()[-300:]}")
            found.append(output)
        return found[0].decode("utf-8", "surrogateescape"), found[1]

    def clear_counters(self, port: PortRef | None) -> None:
        """Set back to 0 what the lab has set."""
        wanted = None if port is None else self._port(port)
        commands: list[str] = []
        for (node, number), known in tuple(self._counters.items()):
            if wanted in {None, (node, number)}:
                commands += (
                    f'PerformanceSet "{node}"[{number}] {register}=0'
                    for name in known
                    for register in _registers(name)
                )
                known.update(dict.fromkeys(known, 0))
        self._set(commands)

    def unlink(self, port: PortRef) -> None:
        """Pull a cable; OpenSM gets a trap and reroutes."""
        node, number = self._port(port)
        self.console(f'Unlink "{node}"[{number}]')

    def silence(self, node: str, port: int | None, attribute: int | None) -> None:
        """Drop all datagrams of a node's ports. Port 0 of a switch is what the SM talks to."""
        found = self._net.node(node)
        ports = [port] if port is not None else [0, *range(1, found.num_ports + 1)]
        if port is None and not found.is_switch:
            ports = ports[1:]
        for number in ports:
            tail = "" if attribute is None else f" {attribute}"
            self.console(f'Error "{found.id}"[{number}] 100{tail}')


def _registers(name: str) -> tuple[str, ...]:
    """Where the simulator keeps a counter: in the basic set, the extended one, or both."""
    if name not in EXTENDED:
        return (f"PortCounters.{name}",)
    if "cast" in name:
        return (f"{_EXTENDED_SET}.{name}",)
    both = (f"PortCounters.{name}", f"{_EXTENDED_SET}.{name}")
    if name.endswith("Pkts"):
        return (*both, f"{_EXTENDED_SET}.{name.replace('Port', 'PortUnicast')}")
    return both


def _read(path: Path, offset: int = 0) -> str:
    """Text of a log from a byte offset; empty where the file is not there yet."""
    try:
        with path.open("rb") as log:
            log.seek(offset)
            return log.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""

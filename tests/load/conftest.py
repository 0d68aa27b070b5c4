"""A small lab whose stand-ins of perftest carry data; and hosts that are played in process."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ibaccept import commands
from ibaccept.lab import Lab, RunningLab, Scenario
from ibaccept.load.pace import LoadInputs
from ibaccept.observe.look import Look, look
from ibaccept.observe.snapshot import Snapshot
from ibaccept.site.inventory import Inventory, load_inventory
from ibaccept.transport import CommandResult, Host, TransportError
from ibaccept.transport.captures import Bundle
from ibaccept.transport.replay import RecordingTransport
from ibaccept.transport.router import open_transport

STAND_IN = b"standins.ib_bw"


@dataclass
class Site:
    """A lab that is up, and a look at it."""

    lab: RunningLab
    inventory: Inventory
    snapshot: Snapshot

    def recording(self, run_dir: Path) -> RecordingTransport:
        return RecordingTransport(
            open_transport(commands.permit(load=True), ssh_config=self.lab.ssh_config),
            Bundle(run_dir),
        )

    def inputs(self, clients: int = 4, **changes) -> LoadInputs:
        groups, hosts = self.inventory.groups, self.inventory.hosts
        return LoadInputs(
            tuple(hosts[name] for name in groups["clients"][:clients]),
            tuple(hosts[name] for name in groups["storage"]),
            **changes,
        )


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Iterator[Site]:
    play = Scenario.model_validate(
        {
            "description": "load runs",
            "topology": {"builder": "two-switch", "clients": 6, "storage": 2, "isls": 2},
            "hosts": {"clients": "client-[1-6]", "storage": "stor-[1-2]"},
        }
    )
    with Lab.start(play) as lab:
        inventory = load_inventory(lab.inventory)
        recording = RecordingTransport(
            open_transport(commands.is_permitted, ssh_config=lab.ssh_config),
            Bundle(tmp_path_factory.mktemp("look")),
        )
        job = (*inventory.groups["clients"], *inventory.groups["storage"])
        snapshot = look(
            recording, inventory, None, Look(hosts=tuple(inventory.hosts[name] for name in job))
        )
        recording.close()
        yield Site(lab, inventory, snapshot)


def lab_tools(lab: RunningLab, word: bytes) -> list[bytes]:
    """Command lines of processes of the lab that hold a word: tools, wrappers, watchdogs."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                line = (folder / "cmdline").read_bytes()
                if word in line and str(lab.folder).encode() in (folder / "environ").read_bytes():
                    found.append(line)
    return found


@pytest.fixture
def tools_left():
    """Waits up to six seconds for load tools of the lab to be gone; what is left then."""

    def wait(lab, word=b"ib_write_bw"):
        deadline = time.monotonic() + 6
        while (found := lab_tools(lab, word)) and time.monotonic() < deadline:
            time.sleep(0.1)
        return found

    return wait


@pytest.fixture
def tools_up():
    """Waits up to twenty seconds for at least so many load tools of the lab to run."""

    def wait(lab, count):
        deadline = time.monotonic() + 20
        while len(lab_tools(lab, STAND_IN)) < count and time.monotonic() < deadline:
            time.sleep(0.1)
        return len(lab_tools(lab, b"ib_write_bw")) >= count

    return wait


@pytest.fixture
def child():
    """Starts Python programs in processes of their own."""
    started = []

    def start(text: str, *argv: str) -> subprocess.Popen:
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", text, *argv],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


# -- hosts played in process ---------------------------------------------------------------------

BASIC = """\
# Port counters: Lid {lid} port {port} (CapMask: 0x1300)
PortSelect:......................{port}
CounterSelect:...................0x1b01
SymbolErrorCounter:..............0
LinkErrorRecoveryCounter:........0
LinkDownedCounter:...............0
PortRcvErrors:...................0
PortRcvRemotePhysicalErrors:.....0
PortRcvSwitchRelayErrors:........0
PortXmitDiscards:................0
PortXmitConstraintErrors:........0
PortRcvConstraintErrors:.........0
CounterSelect2:..................0x00
LocalLinkIntegrityErrors:........0
ExcessiveBufferOverrunErrors:....0
QP1Dropped:......................0
VL15Dropped:.....................0
PortXmitData:....................0
PortRcvData:.....................0
PortXmitPkts:....................0
PortRcvPkts:.....................0
PortXmitWait:....................7
"""
EXTENDED = """\
# Port extended counters: Lid {lid} port {port} (CapMask: 0x1300 CapMask2: 0x0000000)
PortSelect:......................{port}
CounterSelect:...................0x0000
PortXmitData:....................{sent}
PortRcvData:.....................{received}
PortXmitPkts:....................1
PortRcvPkts:.....................1
PortUnicastXmitPkts:.............0
PortUnicastRcvPkts:..............0
PortMulticastXmitPkts:...........0
PortMulticastRcvPkts:............0
"""
SOCKETS = "State  Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess\n"
MEMORY = """\
MemTotal:        1048576 kB
MemFree:          524288 kB
MemAvailable:     824288 kB
Buffers:           10240 kB
Cached:           102400 kB
SReclaimable:      10240 kB
"""
RULER = "-" * 87 + "\n"
PERFTEST = (
    f"{RULER}                    RDMA_{{kind}} BW Test\n"
    " Dual-port       : OFF\t\tDevice         : mlx5_0\n"
    " Number of qps   : {qps}\t\tTransport type : IB\n"
    " Mtu             : 4096[B]\n Link type       : {link}\n"
    " Data ex. method : Ethernet\n"
    f"{RULER}"
    " local address: LID 0x6c QPN 0x0050 PSN 0xddd611 RKey 0x1 VAddr 0x2\n"
    " remote address: LID 0x28 QPN 0x0050 PSN 0xa3c746 RKey 0x1 VAddr 0x2\n"
    f"{RULER}"
    " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    " {size}    {count}       0.00            {rate:.2f}\t\t     {messages:.6f}\n"
    f"{RULER}"
)
GONE = object()
"""As an answer: the host cannot be used."""


@dataclass
class Started:
    """One command that runs on a played host; ends by the played clock."""

    world: PlayedHosts
    host: Host
    argv: tuple[str, ...]
    held: object
    after: float | None
    answer: CommandResult
    begun: float | None = None
    result: CommandResult | None = None

    def release(self):
        if self.begun is None:
            self.begun = self.world.now

    def poll(self):
        over = self.begun is not None and self.after is not None
        if self.result is None and over and self.world.now >= self.begun + self.after:
            self._end(self.answer)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    def wait(self):
        raise AssertionError("a load run never waits for one command")

    def stop(self, grace=7.0):
        del grace
        if self.poll() is None:
            self._end(replace(self.answer, stdout=b"", exit_code=None, signal="TERM"))
        return self.result

    def met_by(self, other):
        """Whether that is the server of this client."""
        port = self.world.port_of(self.argv)
        server = other.argv[-2] == "-p" and other.result is None
        return port is not None and server and self.world.port_of(other.argv) == port

    def _end(self, answer):
        peers = [one for one in self.world.running if self.met_by(one)]
        for server in peers if self.argv[-2] != "-p" else ():
            server._end(server.answer)
        self.world.ports[self.host.name].discard(self.world.port_of(self.argv))
        if isinstance(answer, Exception):
            self.result = answer
            return
        start = self.begun if self.begun is not None else None
        self.result = replace(answer, start=start, end=self.world.now)


class PlayedHosts:
    """A transport: hosts that answer as the real tools do, by a clock that only ``sleep`` moves.

    Attributes:
        answers: instead of what a tool prints: by tool, or by host and tool: a result's changes,
            ``GONE``, or seconds after which it ends with them.
        ports: TCP ports in use by host.
        gib: GiB/s that each watched port sends while a load runs.
        sent: every command, as host and words.
    """

    def __init__(self):
        self.now = 1000.0
        self.answers = {}
        self.ports = defaultdict(lambda: {22})
        self.gib = defaultdict(float)
        self.sent = []
        self.running = []
        self.seconds = 4.0
        self.closed = False
        self._data = defaultdict(float)

    def sleep(self, seconds):
        busy = any(
            one.held is True and one.begun is not None and one.result is None
            for one in self.running
        )
        self.now += seconds
        for port, rate in self.gib.items():
            self._data[port] += busy * rate * (1 << 30) / 4 * seconds

    def run(self, host, argv, *, timeout, root=False, limit=0):
        del timeout, root, limit
        self.sent.append((host.name, *argv))
        answer = self._answer(host, argv)
        if isinstance(answer, Exception):
            raise answer
        return replace(answer, start=self.now, end=self.now + 0.001)

    def start(self, host, argv, *, timeout, root=False, held=False, limit=0):
        del timeout, root, limit
        self.sent.append((host.name, *argv))
        answer = self._answer(host, argv)
        if isinstance(answer, Exception):
            raise answer
        port = self.port_of(argv)
        if port is not None and argv[-2] == "-p":
            if port in self.ports[host.name]:
                text = f"Couldn't listen to port {port}\n".encode()
                answer, after = replace(answer, stderr=text, stdout=b"", exit_code=1), 0.0
            else:
                self.ports[host.name].add(port)
                after = None if answer.exit_code == 0 else 0.0
        else:
            after = 0.0 if argv[0] == "rm" else self.seconds
        one = Started(self, host, tuple(argv), held, after, answer)
        if not held:
            one.release()
        self.running.append(one)
        return one

    def close(self):
        self.closed = True

    @staticmethod
    def port_of(argv):
        return int(argv[argv.index("-p") + 1]) if "-p" in argv and "-F" in argv else None

    def _answer(self, host, argv):
        tool = argv[3] if argv[0] == "sh" else argv[0]
        changes = self.answers.get((host.name, tool), self.answers.get(tool, {}))
        if changes is GONE:
            return TransportError(host.name, "connect", "refused the connection")
        text = self._text(host, tool, argv)
        plain = CommandResult(host.name, tuple(argv), text.encode(), b"", 0)
        return replace(plain, **changes)

    def _text(self, host, tool, argv):  # noqa: PLR0911 - a tool a line
        if "--version" in argv:
            return f"{tool}-3.33\n" if tool == "fio" else "Version: 6.06\n"
        if tool == "ss":
            return SOCKETS + "".join(
                f"LISTEN 0      1            0.0.0.0:{port}         0.0.0.0:*\n"
                for port in sorted(self.ports[host.name])
            )
        if tool == "cat":
            return MEMORY
        if tool == "perfquery-each":
            return self._switches(argv[-1].split(","), extended="-x" in argv)
        if tool == "perfquery":
            return self._block(int(argv[-2]), int(argv[-1]), extended="-x" in argv)
        if tool in {"ib_write_bw", "ib_read_bw"}:
            return self._perftest(tool, argv)
        if tool == "fio":
            return self._fio(argv)
        return ""

    def _switches(self, lids, *, extended):
        text = ""
        for lid in lids:
            blocks = "".join(
                self._block(int(lid), port, extended=extended) for port in range(1, 27)
            )
            text += f"# ibaccept begin {lid} {self.now:.3f}\n{blocks}"
            text += f"# ibaccept end {lid} 0 {self.now + 0.001:.3f}\n"
        return text

    def _block(self, lid, port, *, extended):
        text = EXTENDED if extended else BASIC
        values = {"sent": int(self._data[lid, port]), "received": 0}
        return text.format(lid=lid, port=port, **values)

    @staticmethod
    def _perftest(tool, argv):
        word = dict(itertools.pairwise(argv))
        size, rate = int(word["-s"]), 98.0
        return PERFTEST.format(
            kind="Write" if tool == "ib_write_bw" else "Read", qps=word["-q"], link="IB", size=size,
            count=int(rate * 125e6 * int(word["-D"]) / 2 / size), rate=rate,
            messages=rate * 125 / size,
        )  # fmt: skip

    @staticmethod
    def _fio(argv):
        word = dict(part.lstrip("-").split("=", 1) for part in argv if "=" in part)
        moved = int(word["size"]) * int(word["numjobs"])
        nothing = {"io_bytes": 0, "io_kbytes": 0, "bw": 0, "runtime": 0}
        side = {
            "io_bytes": moved, "io_kbytes": moved // 1024, "bw": moved // 1024 // 4,
            "runtime": 4000,
        }  # fmt: skip
        read = word["rw"] == "read"
        job = {"jobname": "x", "groupid": 0, "error": 0}
        job |= {"read": side if read else nothing, "write": nothing if read else side}
        return json.dumps({"fio version": "fio-3.33", "jobs": [job]}, indent=1) + "\n"


@pytest.fixture
def played() -> PlayedHosts:
    """Hosts that answer at once; their clock moves when a run sleeps."""
    return PlayedHosts()


@pytest.fixture
def gone():
    """As an answer of ``played``: the host cannot be used."""
    return GONE

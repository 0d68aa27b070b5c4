"""A small lab whose stand-ins of perftest carry data, looked at once."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ibaccept import commands
from ibaccept.lab import Lab, RunningLab, Scenario
from ibaccept.load.pace import LoadInputs
from ibaccept.observe.look import Look, look
from ibaccept.observe.snapshot import Snapshot
from ibaccept.site.inventory import Inventory, load_inventory
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

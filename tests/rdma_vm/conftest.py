"""A machine with two soft-RoCE devices, sshd and the real perftest, under plain emulation.

Built once from Debian packages (``build.py``) into the folder of ``IBACCEPT_RDMA_VM``, by default
``.rdma-vm/`` beside the project's own files, and booted once for a session. Its disk is never
written to. How fast it is means nothing: some 0.2 Gb/s, on one processor core per device.
"""

import contextlib
import hashlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from ibaccept.transport import Host

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
BOOT_LIMIT = 240
ADDRESS = {"vm1": "10.78.0.1", "vm2": "10.78.0.2"}
DEVICE = {"vm1": "rxe1", "vm2": "rxe2"}
KERNEL_LINE = "console=ttyS0 quiet panic=-1 mitigations=off net.ifnames=0 tsc=reliable"


def image() -> Path:
    """The folder of the built machine; built first where this recipe has not been built yet."""
    recipe = hashlib.sha256()
    for name in ("build.py", "guest-init.sh"):
        recipe.update((HERE / name).read_bytes())
    cache = Path(os.environ.get("IBACCEPT_RDMA_VM") or PROJECT / ".rdma-vm").resolve()
    folder = cache / recipe.hexdigest()[:16]
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / "lock"):
        if not (folder / "complete").exists():
            command = [sys.executable, str(HERE / "build.py"), str(folder)]
            built = subprocess.run(command, capture_output=True, text=True, check=False)
            if built.returncode:
                pytest.fail(f"the soft-RoCE machine was not built: {built.stderr}", pytrace=False)
    return folder


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in sockets]


@dataclass(frozen=True)
class Machine:
    """The booted machine, seen as two hosts ``vm1`` and ``vm2`` with one device each.

    Attributes:
        process: qemu.
        inventory: a file: vm1 is client and observer, vm2 storage.
        ssh_config: knows both hosts, their key and their user.
        known_hosts: the machine's host key under both ports.
        ports: SSH port on loopback by host.
        boot_seconds: from start to "devices active".
    """

    process: subprocess.Popen
    folder: Path
    inventory: Path
    ssh_config: Path
    known_hosts: Path
    key_file: Path
    ports: dict[str, int]
    boot_seconds: float

    def host(self, name: str) -> Host:
        return Host(
            name, address="127.0.0.1", port=self.ports[name], user="root", key_file=self.key_file
        )


def write_files(folder: Path, built: Path, ports: dict[str, int]) -> dict[str, Path]:
    """Inventory, ssh_config and known_hosts of the machine."""
    key = (built / "host_key.pub").read_text(encoding="utf-8").split(" ")
    known_hosts = folder / "known_hosts"
    known_hosts.write_text(
        "".join(f"[127.0.0.1]:{port} {key[0]} {key[1].strip()}\n" for port in ports.values()),
        encoding="utf-8",
    )
    ssh_config = folder / "ssh_config"
    ssh_config.write_text(
        "".join(f"Host {name}\n  HostName 127.0.0.1\n  Port {p}\n" for name, p in ports.items())
        + f"Host *\n  User root\n  IdentityFile {built / 'id'}\n  IdentityAgent none\n"
        f"  UserKnownHostsFile {known_hosts}\n  GlobalKnownHostsFile none\n",
        encoding="utf-8",
    )
    inventory = folder / "inventory.yaml"
    hosts = "".join(
        f"    {name}: {{ansible_host: 127.0.0.1, ansible_port: {port}, ansible_user: root, "
        f"ansible_ssh_private_key_file: {built / 'id'}, ib_hca: {DEVICE[name]}}}\n"
        for name, port in ports.items()
    )
    inventory.write_text(
        f"all:\n  hosts:\n{hosts}  children:\n    observers: {{hosts: {{vm1: }}}}\n"
        "    clients: {hosts: {vm1: }}\n    storage: {hosts: {vm2: }}\n",
        encoding="utf-8",
    )
    return {"inventory": inventory, "ssh_config": ssh_config, "known_hosts": known_hosts}


def start(folder: Path, built: Path, ports: dict[str, int]) -> subprocess.Popen:
    """Start qemu; it dies with this process, however this process ends."""
    forward = "".join(f",hostfwd=tcp:127.0.0.1:{port}-:22" for port in ports.values())
    command = [
        *("setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64"),
        *("-accel", "tcg,thread=multi,tb-size=128", "-cpu", "max", "-smp", "2", "-m", "512"),
        *("-display", "none", "-no-reboot", "-serial", f"file:{folder / 'console'}"),
        *("-kernel", built / "vmlinuz", "-initrd", built / "initrd.img", "-append", KERNEL_LINE),
        # what the guest writes goes to a temporary file that ends with qemu
        *("-drive", f"file={built / 'root.img'},format=raw,if=virtio,snapshot=on"),
        *("-netdev", f"user,id=net{forward}", "-device", "virtio-net-pci,netdev=net,romfile="),
        *("-device", "virtio-rng-pci"),
    ]
    with (folder / "qemu.log").open("wb") as log:
        return subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=os.environ | {"TMPDIR": str(folder)},
        )


def wait_for_boot(process: subprocess.Popen, folder: Path) -> None:
    console, deadline = folder / "console", time.monotonic() + BOOT_LIMIT
    while True:
        said = console.read_text(encoding="utf-8", errors="replace") if console.exists() else ""
        if "RDMA-VM: 2 devices active" in said:
            return
        if process.poll() is not None or "RDMA-VM:" in said or time.monotonic() > deadline:
            log = (folder / "qemu.log").read_text(encoding="utf-8")
            raise RuntimeError(f"the soft-RoCE machine did not boot: {log}\n{said[-1000:]}")
        time.sleep(0.2)


@pytest.fixture(scope="session")
def rdma_vm(tmp_path_factory) -> Iterator[Machine]:
    """The booted machine."""
    built, folder = image(), tmp_path_factory.mktemp("rdma-vm")
    ports = dict(zip(ADDRESS, free_ports(2), strict=True))
    files = write_files(folder, built, ports)
    began = time.monotonic()
    process = start(folder, built, ports)
    try:
        wait_for_boot(process, folder)
        took = time.monotonic() - began
        yield Machine(
            process, folder, **files, key_file=built / "id", ports=ports, boot_seconds=took
        )
    finally:
        process.terminate()
        process.wait(30)

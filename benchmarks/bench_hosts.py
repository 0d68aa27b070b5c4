"""ibstat on 200 lab hosts over SSH at once, against the OpenSSH client doing the same.

Claims: faster than `xargs -P` with the OpenSSH client at the same fan-out; threads and file
descriptors bounded; the failure of single hosts is reported singly.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ibaccept import commands
from ibaccept.site.inventory import load_inventory
from ibaccept.transport import CommandResult
from ibaccept.transport.router import open_transport

HOSTS = 200
FAN_OUT = 32
SCENARIO = f"""
description: many hosts
topology: {{builder: fat-tree, levels: 2, leaves: 10, spines: 4, hosts: {HOSTS // 10}}}
hosts: {{clients: "node[001-{HOSTS:03d}]"}}
"""


def open_files() -> int:
    """File descriptors of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


@contextmanager
def lab_of(folder: Path) -> Iterator[Path]:
    """The lab in a process of its own, as hosts are: its server would share our interpreter."""
    (folder / "many.yaml").write_text(SCENARIO)
    argv = [str(Path(sys.executable).with_name("ibaccept")), "lab", str(folder / "many.yaml")]
    with subprocess.Popen(
        [*argv, "--folder", str(folder / "lab")], stdout=subprocess.PIPE, text=True
    ) as lab:
        try:
            assert lab.stdout is not None  # a pipe
            while "Ctrl-C" not in (line := lab.stdout.readline()):
                if not line:
                    raise SystemExit("the lab did not start")
            yield folder / "lab"
        finally:
            lab.send_signal(signal.SIGINT)


def main() -> int:
    """Print the figures; non-zero where a claim does not hold."""
    with tempfile.TemporaryDirectory(prefix="ibaccept-bench-") as name:
        folder = Path(name)
        with lab_of(folder) as lab:
            inventory = load_inventory(lab / "inventory.yaml")
            hosts = [inventory.hosts[host] for host in inventory.group("clients")]
            transport = open_transport(commands.is_permitted, ssh_config=lab / "ssh_config")
            threads, files = threading.active_count(), open_files()
            peaks = {"threads": 0, "files": 0}
            stop = threading.Event()

            def watch() -> None:
                while not stop.wait(0.05):
                    peaks["threads"] = max(peaks["threads"], threading.active_count())
                    peaks["files"] = max(peaks["files"], open_files())

            watcher = threading.Thread(target=watch)
            watcher.start()
            before = time.perf_counter()
            results = transport.run_many(
                [(host.transport, commands.IBSTAT.argv()) for host in hosts],
                timeout=60,
                fan_out=FAN_OUT,
            )
            ours = time.perf_counter() - before
            stop.set()
            watcher.join()
            transport.close()
            good = sum(
                isinstance(r, CommandResult) and r.exit_code == 0 and b"Port GUID" in r.stdout
                for r in results.values()
            )
            before = time.perf_counter()
            subprocess.run(
                [
                    "xargs",
                    "-P",
                    str(FAN_OUT),
                    "-I{}",
                    "ssh",
                    "-F",
                    str(lab / "ssh_config"),
                    "{}",
                    "ibstat",
                ],
                input="\n".join(host.name for host in hosts),
                text=True,
                stdout=subprocess.DEVNULL,
                check=True,
            )
            theirs = time.perf_counter() - before
        print(
            f"{good} of {len(hosts)} hosts answered in {ours:.1f} s; xargs and ssh {theirs:.1f} s"
        )
        print(f"   ratio {ours / theirs:.2f} (claim: under 1)")
        print(f"   threads +{peaks['threads'] - threads}, files +{peaks['files'] - files} "
              "of this process")  # fmt: skip
        return int(good != len(hosts) or ours > theirs)


if __name__ == "__main__":
    sys.exit(main())

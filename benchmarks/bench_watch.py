"""The cable watch on 2,000 ports from one observer, against the same perfquery runs by hand.

Claims: a sample takes no more than twice the tools' own time (run by hand in the host's own
environment, as many at a time); all ports are read, and each time stamp lies within the spread that
the sample states.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from ibaccept import commands
from ibaccept.assemble import to_fabric
from ibaccept.inventory import Inventory, load_inventory
from ibaccept.lab import Lab, RunningLab
from ibaccept.load import watch
from ibaccept.load.cables import Cable, queries
from ibaccept.load.inputs import Pace
from ibaccept.model import Fabric
from ibaccept.parse import ibnetdiscover
from ibaccept.transport.router import open_transport

SCENARIO = """
description: many cables between switches
topology: {builder: fat-tree, levels: 2, leaves: 40, spines: 20, hosts: 10}
hosts: {}
"""


@contextmanager
def lab_of(folder: Path) -> Iterator[tuple[RunningLab, Inventory, Fabric]]:
    """A lab with 800 inter-switch cables, and its fabric."""
    (folder / "many.yaml").write_text(SCENARIO)
    with Lab.start(str(folder / "many.yaml"), folder=folder / "lab") as lab:
        inventory = load_inventory(lab.inventory)
        done = subprocess.run(
            ["ibnetdiscover"],
            env={**os.environ, **lab.environment(inventory.observers[0].name)},
            capture_output=True,
            text=True,
            check=True,
        )
        yield lab, inventory, to_fabric(ibnetdiscover.parse(done.stdout))


def main() -> int:
    """Print the figures; non-zero where a claim does not hold."""
    with (
        tempfile.TemporaryDirectory(prefix="ibaccept-bench-") as name,
        lab_of(Path(name)) as (lab, inventory, fabric),
    ):
        observer = inventory.observers[0]
        cables = [Cable(link, "isl", link.a.id, link.b.id) for link in fabric.links]
        asked = queries(fabric, cables)
        ports = sum(len(query.ports) for query in asked)
        transport = open_transport(commands.is_permitted, ssh_config=lab.ssh_config)
        watching = watch.Watch(transport, observer, asked, Pace())
        watching.first()
        before = time.perf_counter()
        sample = watching.sample()
        ours = time.perf_counter() - before
        transport.close()

        environment = {**os.environ, **lab.environment(observer.name)}
        argvs = [
            argv
            for query in asked
            for extended in (True, False)
            for argv in watching._argvs(query, extended=extended)  # noqa: SLF001 - the same
        ]

        def run(argv: tuple[str, ...]) -> int:
            return subprocess.run(
                argv, env=environment, capture_output=True, check=False
            ).returncode

        before = time.perf_counter()
        with ThreadPoolExecutor(watch._AT_A_TIME) as pool:  # noqa: SLF001 - the same number
            codes = list(pool.map(run, argvs))
        theirs = time.perf_counter() - before
    read = {port for port, _ in sample.readings} if sample is not None else set()
    print(f"{len(read)} of {ports} ports read by {len(argvs)} processes in {ours:.1f} s")
    print(f"   by hand {theirs:.1f} s (exit codes {set(codes)}): ratio {ours / theirs:.2f}")
    print("   (claim: at most 2)")
    if sample is not None:
        print(f"   the reads lie within {sample.end - sample.start:.2f} s, the longest took")
        print(f"   {sample.longest:.2f} s: no reading is better placed than that")
    return int(len(read) != ports or ours > 2 * theirs)


if __name__ == "__main__":
    sys.exit(main())

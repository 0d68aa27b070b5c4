"""The cable watch on 2,000 ports from one observer, against the time its own tools take.

Claims: a sample takes no more than twice the time that the perfquery processes of that very sample
took on the observer, as many at a time; all ports are read, and each time stamp lies within the
spread that the sample states. The same processes run by hand, without SSH and without the lab's
server on the same two cores, are printed beside it.
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
from ibaccept.fabric.model import Fabric
from ibaccept.lab import Lab, RunningLab
from ibaccept.load import watch
from ibaccept.load.cables import CrossedCable, queries
from ibaccept.observe.assemble import to_fabric
from ibaccept.parse import ibnetdiscover
from ibaccept.site.inventory import Inventory, load_inventory
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
        cables = [CrossedCable(link, "isl", link.a.id, link.b.id) for link in fabric.links]
        to_read = queries(fabric, cables)
        ports = sum(len(query.ports) for query in to_read)
        transport = open_transport(commands.is_permitted, ssh_config=lab.ssh_config)
        watching = watch.Watch(transport, observer, to_read)
        watching.first()
        before = time.perf_counter()
        sample = watching.sample()
        ours = time.perf_counter() - before
        transport.close()

        environment = {**os.environ, **lab.environment(observer.name)}
        argvs = [
            command.argv(lid=int(query.lid))
            for command in (commands.PERFQUERY_X_ALL, commands.PERFQUERY_ALL)
            for query in to_read
        ]

        def run(argv: tuple[str, ...]) -> int:
            return subprocess.run(
                argv, env=environment, capture_output=True, check=False
            ).returncode

        before = time.perf_counter()
        with ThreadPoolExecutor(watch.AT_A_TIME) as pool:
            codes = list(pool.map(run, argvs))
        theirs = time.perf_counter() - before
    read = {port for port, _ in sample.readings} if sample is not None else set()
    print(f"{len(read)} of {ports} ports read by {len(argvs)} processes in {ours:.1f} s")
    in_tools = sample.in_tools / watch.AT_A_TIME if sample is not None else 0.0
    print(
        f"   its perfquery processes took {in_tools:.1f} s, {watch.AT_A_TIME} at a time: ", end=""
    )
    print(f"ratio {ours / in_tools:.2f} (claim: at most 2)")
    print(f"   the same by hand, no SSH: {theirs:.1f} s (exit codes {set(codes)})")
    if sample is not None:
        print(f"   the reads lie within {sample.end - sample.start:.2f} s, the longest took")
        print(f"   {sample.longest:.2f} s: no reading is better placed than that")
    return int(len(read) != ports or ours > 2 * in_tools)


if __name__ == "__main__":
    sys.exit(main())

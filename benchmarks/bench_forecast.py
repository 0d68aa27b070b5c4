"""How long a forecast of a large job takes, on the tables of a large fabric. Claim: under 2 s.

    python benchmarks/bench_forecast.py [FOLDER [CLIENTS [SERVERS]]]

FOLDER holds ``ibnetdiscover.txt`` and ``dump_fts-n.txt`` (``dump_fts -n``) of one fabric. Without
it the capture of a large site beside the project, in ../shared/samples, is routed by OpenSM in the
lab. Hosts are drawn at random with a fixed seed: 1,000 clients and 40 servers unless given
otherwise.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ibaccept.fabric.model import Fabric
from ibaccept.fabric.units import Bandwidth
from ibaccept.lab import Lab
from ibaccept.observe.assemble import to_fabric
from ibaccept.parse import dump_fts
from ibaccept.parse.ibnetdiscover import parse
from ibaccept.routing.forecast import AdmissibleInputs, Ceiling, forecast
from ibaccept.routing.paths import Routes
from ibaccept.site.inventory import load_inventory

CAPTURE = (
    Path(__file__).resolve().parents[2] / "shared/samples/ibnetdiscover/selene-compute-hdr.txt"
)
LONGEST = 2.0


def main(folder: Path, clients: int, servers: int) -> int:
    """Build the routes once, then forecast both directions."""
    fabric = to_fabric(parse((folder / "ibnetdiscover.txt").read_text(encoding="utf-8")))
    began = time.perf_counter()
    routes = Routes(fabric, dump_fts.parse((folder / "dump_fts-n.txt").read_bytes()))
    print(f"tables read and laid out in {time.perf_counter() - began:.2f} s")
    hosts = random.Random(1).sample(lids_of_hosts(fabric), clients + servers)  # noqa: S311 - no secret
    names = dict(hosts[:clients])
    rates = {port.rate for port in fabric.ports() if port.rate is not None}
    inputs = AdmissibleInputs(
        routes=routes,
        clients=names,
        servers=dict(hosts[clients:]),
        ceilings={rate: Ceiling.derive(rate) for rate in rates},
        client_write=dict.fromkeys(names, Bandwidth.from_gib(2.0)),
    )
    longest = 0.0
    for direction in ("read", "write"):
        began = time.perf_counter()
        found = forecast(inputs, direction)
        spent = time.perf_counter() - began
        longest = max(longest, spent)
        print(
            f"{direction}: {clients} clients x {servers} servers over {len(found.cables)} cables "
            f"in {spent:.2f} s\n  {found.sentence}"
        )
    print(f"   longest {longest:.2f} s (claim: under {LONGEST:g})")
    return int(longest >= LONGEST)


def captured(folder: Path) -> Path:
    """Topology and tables of the large site, as the real tools read them in the lab."""
    with Lab.start(f"capture:{CAPTURE}", folder=folder / "lab") as lab:
        name = load_inventory(lab.inventory).observers[0].name
        for argv, file in (
            (["ibnetdiscover"], "ibnetdiscover.txt"),
            (["dump_fts", "-n"], "dump_fts-n.txt"),
        ):
            with (folder / file).open("wb") as out:
                env = {**os.environ, **lab.environment(name)}
                subprocess.run(argv, env=env, stdout=out, check=True)
    return folder


def lids_of_hosts(fabric: Fabric) -> list[tuple[str, int]]:
    """A name of its own and the first LID of every host that is cabled."""
    return [
        (f"{node.name} {node.guid}", port.lids()[0])
        for node in fabric.hosts()
        for port in list(node.ports.values())[:1]
        if port.lids() and port.remote is not None
    ]


if __name__ == "__main__":
    sizes = [int(word) for word in sys.argv[2:]]
    with tempfile.TemporaryDirectory(prefix="ibaccept-bench-") as made:
        given = Path(sys.argv[1]) if sys.argv[1:] else captured(Path(made))
        code = main(given, sizes[0] if sizes else 1000, sizes[1] if sizes[1:] else 40)
    sys.exit(code)

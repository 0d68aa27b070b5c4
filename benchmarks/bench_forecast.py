"""How long a forecast of a large job takes, on tables as captured from a fabric.

    python benchmarks/bench_forecast.py FOLDER [CLIENTS [SERVERS]]

FOLDER holds ``ibnetdiscover.txt`` and ``dump_fts-n.txt`` (``dump_fts -n``) of one fabric. Hosts are
drawn at random with a fixed seed: 1,000 clients and 40 servers unless said otherwise.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

from ibaccept.assemble import to_fabric
from ibaccept.forecast import AdmissibleInputs, Ceiling, forecast
from ibaccept.model import Fabric
from ibaccept.parse import dump_fts
from ibaccept.parse.ibnetdiscover import parse
from ibaccept.routing.paths import Routes
from ibaccept.units import Bandwidth


def main(folder: Path, clients: int, servers: int) -> None:
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
    for direction in ("read", "write"):
        began = time.perf_counter()
        found = forecast(inputs, direction)
        spent = time.perf_counter() - began
        print(
            f"{direction}: {clients} clients x {servers} servers over {len(found.cables)} cables "
            f"in {spent:.2f} s\n  {found.sentence}"
        )


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
    main(Path(sys.argv[1]), sizes[0] if sizes else 1000, sizes[1] if sizes[1:] else 40)

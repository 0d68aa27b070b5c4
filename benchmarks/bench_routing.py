"""Cost of the routing analysis, as ratios taken in one run.

    python benchmarks/bench_routing.py [--data DIR]

Makes its own data with the real OpenSM over ibsim (Debian packages ibsim-utils, opensm,
infiniband-diags, ibutils): the Selene capture of ../shared/samples where that folder is beside the
project, else a generated tree of 1,600 hosts. ``--data DIR`` keeps the data there for another run.
"""

from __future__ import annotations

import argparse
import mmap
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ibaccept.fabric.lft import SwitchTable
from ibaccept.fabric.model import Fabric
from ibaccept.observe.assemble import to_fabric
from ibaccept.parse import dump_fts, opensm_dump
from ibaccept.parse.ibnetdiscover import parse as parse_topology
from ibaccept.routing.credit import credit_loops
from ibaccept.routing.paths import Routes
from ibaccept.routing.spread import fabric_spread, spread

SELENE = (
    Path(__file__).resolve().parents[1] / "../shared/samples/ibnetdiscover/selene-compute-hdr.txt"
)
PRELOAD = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"


def tree_net(leaves: int, spines: int, hosts: int) -> str:
    """A two-level tree in ibnetdiscover's format."""
    leaf = [f"{0x2C90300000000 + 0x100 * (n + 1):016x}" for n in range(leaves)]
    spine = [f"{0x2C90300000000 + 0x10000 * (n + 1):016x}" for n in range(spines)]
    text: list[str] = []
    for n, guid in enumerate(leaf):
        text += [f"switchguid=0x{guid}({guid})"]
        text += [f'Switch\t{hosts + spines} "S-{guid}"\t\t# "leaf{n}" base port 0 lid 0 lmc 0']
        for p in range(hosts):
            text.append(f'[{p + 1}]\t"H-{_host(n * hosts + p)}"[1]\t\t# "node" lid 0 4xHDR')
        for s in range(spines):
            text.append(f'[{hosts + s + 1}]\t"S-{spine[s]}"[{n + 1}]\t\t# "spine" lid 0 4xHDR')
        text.append("")
    for s, guid in enumerate(spine):
        text += [f"switchguid=0x{guid}({guid})"]
        text += [f'Switch\t{leaves} "S-{guid}"\t\t# "spine{s}" base port 0 lid 0 lmc 0']
        for n in range(leaves):
            text.append(f'[{n + 1}]\t"S-{leaf[n]}"[{hosts + s + 1}]\t\t# "leaf" lid 0 4xHDR')
        text.append("")
    for index in range(leaves * hosts):
        guid, at = _host(index), leaf[index // hosts]
        text += [f"caguid=0x{guid}", f'Ca\t1 "H-{guid}"\t\t# "node{index} mlx5_0"']
        text += [f'[1]\t"S-{at}"[{index % hosts + 1}]\t\t# lid 0 lmc 0 "leaf" lid 0 4xHDR', ""]
    return "\n".join(text) + "\n"


def _host(index: int) -> str:
    return f"{0x2C90400000000 + 0x10 * (index + 1):016x}"


def make_data(folder: Path) -> None:
    """Route the fabric with OpenSM (min-hop) and read it with the real tools."""
    if (folder / "names.txt").exists():
        return
    text = SELENE.read_text() if SELENE.exists() else tree_net(80, 20, 20)
    (folder / "fabric.net").write_text(text)
    env = {**os.environ, "IBSIM_SOCKNAME": f"ibaccept-bench-{os.getpid()}"}
    ibsim = [
        "ibsim",
        "-s",
        "-N",
        "30000",
        "-S",
        "3000",
        "-P",
        "300000",
        "-L",
        "49151",
        "fabric.net",
    ]
    with (folder / "ibsim.log").open("wb") as log:
        sim = subprocess.Popen(
            ibsim, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=log, stderr=log
        )
    try:
        while b"simulator ready" not in (folder / "ibsim.log").read_bytes():
            time.sleep(0.1)
        env |= {"LD_PRELOAD": PRELOAD, "OSM_CACHE_DIR": str(folder), "OSM_TMP_DIR": str(folder)}
        for argv, name in (
            (["opensm", "-o", "-D", "0x43", "-f", "osm.log", "-R", "minhop"], "opensm.txt"),
            (["ibnetdiscover"], "ibnetdiscover.txt"),
            (["dump_fts", "-n"], "numeric.txt"),
            (["dump_fts"], "names.txt"),
        ):
            with (folder / name).open("wb") as out:
                subprocess.run(
                    argv, cwd=folder, env=env, stdout=out, stderr=subprocess.DEVNULL, check=True
                )
    finally:
        sim.terminate()
        sim.communicate()


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """Shortest wall time of a few runs."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def read(path: Path) -> tuple[SwitchTable, ...]:
    """Open, map and parse a dump_fts output."""
    with path.open("rb") as file:
        return dump_fts.parse(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def race(argv: list[str], path: Path) -> tuple[float, float]:
    """Shortest wall times of awk and of our reader, taken in turn."""
    turns = [
        (seconds(lambda: subprocess.run(argv, check=True), 1), seconds(lambda: read(path), 1))
        for _ in range(5)
    ]
    return min(awk for awk, _ in turns), min(ours for _, ours in turns)


def reading(folder: Path) -> None:
    """dump_fts against awk over the same file, and the peak memory of a process that only reads."""
    for name, limit in (("numeric.txt", 1.0), ("names.txt", 2.0)):
        path = folder / name
        argv = ["awk", "{c[$2]++}", str(path)]
        awk, ours = race(argv, path)
        child = subprocess.run(
            [sys.executable, __file__, "--peak", str(path)], check=True, capture_output=True
        )
        size = path.stat().st_size / 1e6
        print(
            f"read {name} ({size:.0f} MB): {ours:.2f} s, awk {awk:.2f} s, "
            f"{ours / awk:.2f} x awk (at most {limit} x), peak {int(child.stdout)} MiB"
        )


def read_ibdmchk(text: str) -> dict[str, object]:
    """Pairs, hops (switches crossed), LIDs per port and credit loops, as ibdmchk prints them."""

    def histogram(title: str) -> dict[int, int]:
        part = text.split(title, 1)[1].split("NUM-", 1)[1].split("\n", 1)[1]
        rows = re.match(r"(?:\s*\d+ +\d+\n)+", part)
        pairs = (row.split() for row in rows[0].strip().splitlines()) if rows else ()
        return {int(a): int(b) for a, b in pairs}

    hops = histogram("LFT ROUTE HOP HISTOGRAM")
    return {
        "delivered": sum(hops.values()),
        "switches": {n - 1: pairs for n, pairs in hops.items()},
        "lids_per_port": histogram("SWITCH OUT PORT - NUM DLIDS HISTOGRAM"),
        "credit_loops": "no credit loops found" not in text,
    }


def whole_fabric(folder: Path) -> Routes:
    """All CA-to-CA paths, against ibdmchk on the same dumps."""
    argv = ["ibdmchk", "-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs"]
    start = time.perf_counter()
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    theirs = time.perf_counter() - start
    oracle = read_ibdmchk(done.stdout)
    topology = (folder / "ibnetdiscover.txt").read_text()
    dump = folder / "opensm.fdbs"
    fabric = to_fabric(parse_topology(topology))
    found: dict[str, object] = {}

    def analyse() -> Routes:
        routes = Routes(fabric, opensm_dump.parse_fdbs(dump.read_bytes()))
        found["delivered"] = routes.reach.delivered
        found["switches"] = routes.reach.switches
        found["lids_per_port"] = routes.lids_per_port()
        found["credit_loops"] = credit_loops(routes).found
        return routes

    swept = seconds(lambda: to_fabric(parse_topology(topology)))
    ours = swept + seconds(analyse)
    routes = analyse()
    print(
        f"all {routes.reach.pairs:,} CA pairs from topology and opensm.fdbs: {ours:.2f} s (of it "
        f"reading the topology {swept:.2f} s), ibdmchk {theirs:.1f} s, "
        f"{theirs / ours:.0f} x faster (at least 20 x), findings equal: {found == oracle}"
    )
    return routes


def job(routes: Routes) -> None:
    """The spread of a job of up to 1,000 nodes against 16 storage servers, and all balances."""
    lids = [lid for node in routes.fabric.hosts() for lid in node.lids()]
    storage, clients = lids[:16], lids[16::3][:1000]
    reads = seconds(lambda: spread(routes, storage, clients))
    writes = seconds(lambda: spread(routes, clients, storage))
    print(
        f"spread of {len(clients)} clients and 16 servers: reads {reads:.2f} s, "
        f"writes {writes:.2f} s (below 1 s)"
    )
    print(f"balance of the whole fabric: {seconds(lambda: fabric_spread(routes), 1):.2f} s")


def growth() -> None:
    """Whole-fabric analysis of trees of one shape whose tables have about 1, 2, 4 x the entries."""
    for leaves, spines, hosts in ((96, 24, 24), (136, 34, 24), (192, 48, 24)):
        fabric, text = routed_tree(leaves, spines, hosts)
        start = time.perf_counter()
        routes = Routes(fabric, dump_fts.parse(text))
        loops = credit_loops(routes)
        took = time.perf_counter() - start
        entries = routes.lfts.out.size
        assert (routes.reach.delivered, loops.found) == (routes.reach.pairs, False)
        print(
            f"tree of {leaves * hosts} hosts, {entries / 1e6:.2f} M entries: {took:.2f} s, "
            f"{took / entries * 1e9:.0f} ns an entry"
        )


def routed_tree(leaves: int, spines: int, hosts: int) -> tuple[Fabric, bytes]:
    """A tree and its dump_fts output, destinations dealt to spines by LID."""
    base = leaves * hosts
    lid = iter(range(1, base + leaves + spines + 1))
    text = tree_net(leaves, spines, hosts)
    text = re.sub(r"(?<=# )lid 0(?= lmc 0)", lambda _: f"lid {next(lid)}", text)
    text = re.sub(r"(?<=port 0 )lid 0", lambda _: f"lid {next(lid)}", text)
    fabric = to_fabric(parse_topology(text))
    lids = np.arange(1, base + 1)
    at = (lids - 1) // hosts
    out: list[str] = []
    for node in fabric.switches():
        name, number = re.fullmatch(r"(leaf|spine)(\d+)", node.name).groups()  # type: ignore[union-attr] # names are ours
        up = hosts + 1 + lids % spines
        port = (
            at + 1 if name == "spine" else np.where(at == int(number), (lids - 1) % hosts + 1, up)
        )
        out.append(
            f"Unicast lids [0x0-{base:#x}] of switch DR path slid 0; dlid 0; 0 "
            f"guid {node.guid} ({node.name}):\n  Lid  Out   Destination\n       Port     Info \n"
        )
        out += [f"0x{a:04x} {b:03d} \n" for a, b in zip(lids.tolist(), port.tolist(), strict=True)]
        out.append(f"{base} valid lids dumped \n")
    return fabric, "".join(out).encode()


def main() -> None:
    """Run all, or (``--peak FILE``) read one file and print this process's peak memory in MiB."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--peak", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        read(options.peak)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.data or Path(scratch)).resolve()
        folder.mkdir(exist_ok=True)
        make_data(folder)
        reading(folder)
        job(whole_fabric(folder))
    growth()


if __name__ == "__main__":
    main()

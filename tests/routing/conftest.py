"""Small fabrics by hand, and real tables from OpenSM over the simulated fabric of ibsim."""

import os
import re
import shutil
import subprocess
import time
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pytest

from ibaccept.fabric.lft import NO_ENTRY, SwitchTable
from ibaccept.fabric.model import Fabric, Guid, Lid, Node, NodeType, Port, PortId

PRELOAD = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"
SWITCH, HOST = 0x5000, 0x9000


def make_fabric(names, cables, hosts, *, lmc=0, ports=8, rates=()):
    """Switches by name, cables ((switch, port), (switch, port)), hosts (name, switch, port).

    ``rates`` are those of the first cables; the others have none. Hosts get the first LIDs
    (multiples of 2^lmc), in order; the switches the ones after them.
    """
    at, rate_at = {}, {}
    for ((a, p), (b, q)), rate in zip_longest(cables, rates):
        at.setdefault(a, {})[p] = PortId(Guid(SWITCH + b), q)
        at.setdefault(b, {})[q] = PortId(Guid(SWITCH + a), p)
        rate_at[a, p] = rate_at[b, q] = rate
    nodes = []
    for index, (name, switch, port) in enumerate(hosts):
        guid = Guid(HOST + index)
        there = PortId(Guid(SWITCH + switch), port)
        at.setdefault(switch, {})[port] = PortId(guid, 1)
        lid = Lid((index + 1) << lmc)
        only = Port(PortId(guid, 1), lid=lid, lmc=lmc, remote=there)
        nodes.append(Node(guid, NodeType.CA, name, 1, {1: only}))
    first = (len(hosts) + 1) << lmc
    for number, name in enumerate(names):
        guid = Guid(SWITCH + number)
        own = {
            port: Port(PortId(guid, port), remote=remote, rate=rate_at.get((number, port)))
            for port, remote in at.get(number, {}).items()
        }
        nodes.append(Node(guid, NodeType.SWITCH, name, ports, own, lid=Lid(first + number)))
    return Fabric.of(nodes)


def make_table(switch, entries, top, *, unknown=()):
    """A table by hand: ports by LID; LIDs not named have no entry."""
    ports = np.full(top + 1, NO_ENTRY, dtype=np.uint8)
    known = np.ones(top + 1, dtype=np.bool_)
    known[0] = False
    for lid, port in entries.items():
        ports[lid] = port
    known[list(unknown)] = False
    return SwitchTable(
        *("by hand", Guid(SWITCH + switch), None, None, 0, top),
        ports=ports,
        known=known,
        complete=not unknown,
        problems=("some entries were not read",) if unknown else (),
    )


def tree_net(leaves, spines, hosts, *, links=1, ports=40):
    """A two-level tree in ibnetdiscover's format, for ibsim."""
    leaf = [f"{0x2C90300000000 + 0x100 * (n + 1):016x}" for n in range(leaves)]
    spine = [f"{0x2C90300000000 + 0x10000 * (n + 1):016x}" for n in range(spines)]
    cables = [
        ((leaf[at], hosts + of * links + k + 1), (spine[of], at * links + k + 1))
        for at in range(leaves)
        for of in range(spines)
        for k in range(links)
    ]
    names = {guid: f"leaf{n + 1:02d}" for n, guid in enumerate(leaf)}
    names |= {guid: f"spine{n + 1:02d}" for n, guid in enumerate(spine)}
    cas = [(leaf[n // hosts], n % hosts + 1) for n in range(leaves * hosts)]
    return net(names, cables, cas, ports)


def ring_net(switches, hosts, *, ports=40):
    """A ring of switches in ibnetdiscover's format."""
    guid = [f"{0x2C90300000000 + 0x100 * (n + 1):016x}" for n in range(switches)]
    cables = [((guid[n], 39), (guid[(n + 1) % switches], 40)) for n in range(switches)]
    names = {g: f"ring{n + 1}" for n, g in enumerate(guid)}
    cas = [(guid[n // hosts], n % hosts + 1) for n in range(switches * hosts)]
    return net(names, cables, cas, ports)


def net(names, cables, cas, ports):
    lines = {guid: [] for guid in names}
    for (a, p), (b, q) in cables:
        lines[a].append(f'[{p}]\t"S-{b}"[{q}]\t\t# "{names[b]}" lid 0 4xHDR')
        lines[b].append(f'[{q}]\t"S-{a}"[{p}]\t\t# "{names[a]}" lid 0 4xHDR')
    text = []
    for index, (switch, port) in enumerate(cas):
        guid = f"{0x2C90400000000 + 0x10 * (index + 1):016x}"
        lines[switch].append(f'[{port}]\t"H-{guid}"[1]\t\t# lid 0 lmc 0 4xHDR')
        text += [f"caguid=0x{guid}", f'Ca\t1 "H-{guid}"\t\t# "node{index + 1:03d} mlx5_0"']
        text += [f'[1]\t"S-{switch}"[{port}]\t\t# lid 0 lmc 0 "{names[switch]}" lid 0 4xHDR', ""]
    for guid, name in names.items():
        text += [f"switchguid=0x{guid}({guid})"]
        text += [f'Switch\t{ports} "S-{guid}"\t\t# "{name}" base port 0 lid 0 lmc 0']
        text += [*lines[guid], ""]
    return "\n".join(text) + "\n"


class Subnet:
    """A simulated fabric that OpenSM routed once: its folder holds the dumps and captures."""

    def __init__(self, folder):
        self.folder = folder

    def __getitem__(self, name):
        return (self.folder / name).read_bytes()

    def oracle(self):
        """What ibdmchk finds: pairs, hops, LIDs per port, credit loops.

        It may crash after its verdict, so its text is judged, not its exit code.
        """
        argv = ["ibdmchk", "-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs"]
        done = subprocess.run(
            argv, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False
        )
        return read_ibdmchk(done.stdout)


def read_ibdmchk(text):
    def histogram(title):
        part = text.split(title, 1)[1].split("NUM-", 1)[1].split("\n", 1)[1]
        rows = re.match(r"(?:\s*\d+ +\d+\n)+", part)[0]
        return {int(a): int(b) for a, b in (row.split() for row in rows.strip().splitlines())}

    loops = {True: "credit loops in routing" in text, False: "no credit loops found" in text}
    assert loops[True] != loops[False]
    return {
        "pairs": int(re.search(r"Scanned:(\d+) CA to CA paths", text)[1]),
        "bad": len(re.findall(r"-E- (?!credit loops).*", text)),
        # ibdmchk counts one hop more than the switches crossed.
        "switches": {n - 1: pairs for n, pairs in histogram("LFT ROUTE HOP HISTOGRAM").items()},
        "lids_per_port": histogram("SWITCH OUT PORT - NUM DLIDS HISTOGRAM"),
        "credit_loops": loops[True],
    }


def run_lab(folder, text, *options):
    """Route a net file with the real OpenSM and read it with the real tools."""
    for tool in ("ibsim", "opensm", "dump_fts", "ibnetdiscover", "ibdmchk"):
        assert shutil.which(tool), f"{tool} is not installed; see the marker 'real'"
    (folder / "fabric.net").write_text(text)
    env = {**os.environ, "IBSIM_SOCKNAME": f"ibaccept-{os.getpid()}-{folder.name}"}
    ibsim = ["ibsim", "-s", "-N", "3000", "-S", "300", "-P", "30000", "-L", "49151", "fabric.net"]
    with (folder / "ibsim.log").open("wb") as log:
        sim = subprocess.Popen(
            ibsim, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=log, stderr=log
        )
    try:
        deadline = time.monotonic() + 30
        while b"simulator ready" not in (folder / "ibsim.log").read_bytes():
            assert time.monotonic() < deadline, "ibsim did not start"
            time.sleep(0.05)
        env |= {"LD_PRELOAD": PRELOAD, "OSM_CACHE_DIR": str(folder), "OSM_TMP_DIR": str(folder)}
        opensm = ["opensm", "-o", "-D", "0x43", "-f", str(folder / "osm.log"), *options]
        run(opensm, folder, env, "opensm.txt")
        run(["dump_fts", "-n"], folder, env, "dump_fts.txt")
        run(["ibnetdiscover"], folder, env, "ibnetdiscover.txt")
    finally:
        sim.terminate()
        sim.communicate(timeout=20)
    return Subnet(folder)


def run(argv, folder, env, name):
    with (folder / name).open("wb") as out:
        subprocess.run(
            argv, cwd=folder, env=env, stdout=out, stderr=subprocess.DEVNULL, check=True, timeout=60
        )


@pytest.fixture(name="lab")
def lab_fixture(tmp_path):
    return lambda text, *options: run_lab(Path(tmp_path), text, *options)


@pytest.fixture(name="fabric_of", scope="session")
def fabric_of_fixture():
    return make_fabric


@pytest.fixture(name="table_of", scope="session")
def table_of_fixture():
    return make_table


@pytest.fixture(name="nets", scope="session")
def nets_fixture():
    return {"tree": tree_net, "ring": ring_net}

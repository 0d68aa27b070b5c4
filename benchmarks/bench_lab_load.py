"""How fast a simulated fabric starts, rates and ends an RDMA run on many hosts at once.

    python benchmarks/bench_lab_load.py [LEAVES [HOSTS_PER_LEAF]]

Every host sends to the host half way round and receives from another: two processes a host, 512
hosts unless given otherwise. Processes start as the lab's SSH server starts them, without SSH.
"""

from __future__ import annotations

import subprocess
import sys
import time

from ibaccept.lab import Lab, RunningLab, Scenario

SECONDS = 10
FLAGS = f"-F -D {SECONDS} -q 4 -s 1048576 --report_gbits"


def main(leaves: int, hosts: int) -> None:
    """Run all pairs at once and print the times."""
    count = leaves * hosts
    began = time.perf_counter()
    play = Scenario.model_validate(
        {
            "description": "a tree for a benchmark",
            "topology": {"builder": "fat-tree", "leaves": leaves, "spines": 16, "hosts": hosts},
            "hosts": {"clients": f"node[001-{count:03d}]"},
            "plan": False,
        }
    )
    with Lab.start(play) as lab:
        print(f"{count} hosts are up and routed in {time.perf_counter() - began:.1f} s")
        names = play.hosts.clients
        began = time.perf_counter()
        servers = [start(lab, name, f"exec ib_write_bw {FLAGS}") for name in names]
        print(f"{count} servers started in {time.perf_counter() - began:.1f} s")
        while "18515" not in run(lab, names[-1], "ss -ltn"):
            time.sleep(0.1)
        print(f"the last of them listens after {time.perf_counter() - began:.1f} s")
        began = time.perf_counter()
        peers = [*names[count // 2 :], *names[: count // 2]]
        clients = [
            start(lab, name, f"exec ib_write_bw {FLAGS} {peer}")
            for name, peer in zip(names, peers, strict=True)
        ]
        print(f"{count} clients started in {time.perf_counter() - began:.1f} s")
        reads = time.perf_counter()
        run(lab, play.hosts.observers[0], "perfquery -x 1 1")
        print(f"a perfquery meanwhile takes {time.perf_counter() - reads:.2f} s")
        texts = [client.communicate()[0] for client in clients]
        spent = time.perf_counter() - began
        codes = {p.wait() for p in (*clients, *servers)}
        total = sum(float(text.splitlines()[-2].split()[3]) for text in texts)
        print(
            f"all {SECONDS} s runs have ended {spent:.1f} s after the first client; codes {codes}"
        )
        print(f"{total:,.0f} Gb/s in all")


def start(lab: RunningLab, host: str, command: str) -> subprocess.Popen[str]:
    """Start a command on a simulated host."""
    return subprocess.Popen(
        ["sh", "-c", command],
        env=dict(lab.environment(host)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def run(lab: RunningLab, host: str, command: str) -> str:
    """Its stdout."""
    return start(lab, host, command).communicate()[0]


if __name__ == "__main__":
    sizes = [int(word) for word in sys.argv[1:]]
    main(sizes[0] if sizes else 32, sizes[1] if sizes[1:] else 16)

"""A whole passive run on a large fabric, against the same tools run by hand in the same lab.

Claims: the run adds at most 15 % to the tools' own time and stays under 1 GiB; its replay (parse,
judge, every report) takes under 15 s on 2 cores.

The fabric is the capture of a large site beside the project, in ../shared/samples/ibnetdiscover,
where it is there, else a generated fat tree of similar size.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ibaccept.lab import Lab, RunningLab

ROOT = Path(__file__).parent.parent
CAPTURE = ROOT.parent / "shared/samples/ibnetdiscover/selene-compute-hdr.txt"
WINDOW = 30
EXPECTATIONS = f"""
version: 1
fabric: large
expect:
  - {{id: one-sm, kind: subnet-manager, masters: 1}}
  - {{id: all-4x-hdr, kind: link-rate, links: all, width: 4X, speed: HDR}}
  - {{id: no-errors, kind: error-counters, links: all, window: {WINDOW}s}}
  - {{id: delivered, kind: routes, every: pair, credit_loops: report}}
"""
TREE = """
description: a fat tree of the size of a large site
topology: {builder: fat-tree, levels: 3, leaves: 240, spines: 40, hosts: 18, pods: 12, cores: 40}
hosts: {}
"""


def pytest_run(*arguments: str) -> tuple[float, float, subprocess.CompletedProcess[str]]:
    """Wall seconds, peak MiB of the process and its children, and the result."""
    before = time.perf_counter()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "tests_fabric",
            "-q",
            "-p",
            "no:cacheprovider",
            *arguments,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - before
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return seconds, peak, done


def by_hand(lab: RunningLab, host: str, run_dir: Path) -> tuple[float, float]:
    """The same commands in the host's environment, one after the other, with the same window.

    Returns:
        Seconds in all, and seconds of them that the tools ran (the rest is the window).
    """
    environment = {**os.environ, **lab.environment(host)}
    lines = (run_dir / "captures/index.jsonl").read_text().splitlines()
    tools = 0.0
    begun = time.perf_counter()
    swept: float | None = None
    for argv in (json.loads(line)["argv"] for line in lines):
        if argv == ["ibqueryerrors", "--skip-sl"] and swept is not None:
            time.sleep(max(0.0, swept + WINDOW - time.perf_counter()))
        before = time.perf_counter()
        subprocess.run(argv, env=environment, capture_output=True, check=False)
        spent = time.perf_counter() - before
        tools += spent
        if argv == ["ibqueryerrors", "--skip-sl", "--counters"] and swept is None:
            swept = time.perf_counter()
        print(f"   {spent:7.2f} s by hand: {' '.join(argv)}", flush=True)
    return time.perf_counter() - begun, tools


def main() -> int:
    """Print the figures; non-zero where a claim does not hold."""
    with tempfile.TemporaryDirectory(prefix="ibaccept-bench-") as name:
        folder = Path(name)
        expectations = folder / "expectations.yaml"
        expectations.write_text(EXPECTATIONS)
        scenario = f"capture:{CAPTURE}"
        if not CAPTURE.is_file():
            (folder / "tree.yaml").write_text(TREE)
            scenario = str(folder / "tree.yaml")
        before = time.perf_counter()
        with Lab.start(scenario, folder=folder / "lab") as lab:
            print(f"lab up after {time.perf_counter() - before:.1f} s: {scenario}", flush=True)
            seconds, peak, done = pytest_run(
                f"--inventory={lab.inventory}",
                f"--ssh-config={lab.ssh_config}",
                f"--expectations={expectations}",
                f"--reports={folder / 'reports'}",
            )
            print(done.stdout[-600:])
            run_dir = (folder / "reports/latest").resolve()
            whole, tools = by_hand(lab, lab.scenario.hosts.observers[0], run_dir)
        replay, replay_peak, again = pytest_run(
            f"--replay={run_dir}", f"--reports={folder / 'replays'}"
        )
        print(again.stdout.splitlines()[-1])
        added = seconds / whole - 1
        print(f"run {seconds:.1f} s, by hand {whole:.1f} s; both with a window of {WINDOW} s")
        print(
            f"   (the tools alone {tools:.1f} s): added {100 * added:.1f} % (claim: at most 15 %)"
        )
        print(f"   peak {peak:.0f} MiB (claim: under 1024)")
        print(f"replay {replay:.1f} s (claim: under 15), peak {replay_peak:.0f} MiB")
        return int(added > 0.15 or peak > 1024 or replay > 15)


if __name__ == "__main__":
    sys.exit(main())

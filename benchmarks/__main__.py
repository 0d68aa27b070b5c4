"""Run every benchmark, or those named: ``python -m benchmarks [run hosts routing forecast]``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    """Each in a process of its own, so that peak memory is its own too."""
    found = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.glob("bench_*.py"))}
    chosen = sys.argv[1:] or list(found)
    unknown = [name for name in chosen if name not in found]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are {', '.join(found)}", file=sys.stderr)
        return 2
    worst = 0
    for name in chosen:
        print(f"== {name}", flush=True)
        done = subprocess.run([sys.executable, str(found[name])], check=False)
        worst = max(worst, done.returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())

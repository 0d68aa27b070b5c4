"""The command given with a finding shows the fault: each is run in the lab, as a person would."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ibaccept.lab import Lab

pytestmark = pytest.mark.real

ROOT = Path(__file__).resolve().parents[2]
FAULTS = {
    "edr-cable": {"isl-4x-hdr": r"18\[  \] ==\( 4X +25\.78125 Gbps"},
    "noisy-cable": {"no-errors": r"Lid 59 port 27 [^#]*SymbolErrorCounter:\.+59\n"},
    "missing-cable": {"all-cabled": r"Down/", "isl-4x-hdr": r"Down/", "isl-count": r"Down/"},
}
"""What the output shows, by scenario and entry."""


@pytest.mark.parametrize("name", FAULTS)
def test_every_again_line_shows_the_fault(name, tmp_path):
    lab = Lab.start(name, backend="ibsim")
    try:
        subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "tests_fabric", "-q", "-p", "no:cacheprovider"),
                *(f"--inventory={lab.inventory}", f"--expectations={lab.expectations}"),
                *(f"--ssh-config={lab.ssh_config}", f"--reports={tmp_path}"),
            ],
            cwd=ROOT,
            env={k: v for k, v in os.environ.items() if not k.startswith("IBACCEPT_")},
            capture_output=True,
            timeout=120,
            check=False,
        )
        document = json.loads((tmp_path / "latest/verdicts.json").read_text())
        findings = [
            (verdict["id"], finding["again"])
            for verdict in document["verdicts"]
            for finding in verdict["findings"]
        ]
        blind = [
            (entry, command)
            for entry, command in findings
            if re.search(FAULTS[name][entry], typed(command, lab)) is None
        ]
    finally:
        lab.stop()

    assert blind == []
    assert {entry for entry, _ in findings} == set(FAULTS[name])


def typed(command, lab):
    """The output of a command line typed in a shell that reaches the lab."""
    ssh = f'ssh() {{ command ssh -F {lab.ssh_config} "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", ssh], capture_output=True, text=True, timeout=60, check=False
    ).stdout

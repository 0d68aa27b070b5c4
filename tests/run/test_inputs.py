"""A job named as people name it, through whole runs; its replay judges the same hosts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

ROOT = Path(__file__).resolve().parents[2]
CHOSEN = "client-[1-3,5]"


def run_suite(reports, *options, slurm=None):
    """Exit code, the spread's verdict, and the terminal's text."""
    clean = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith("IBACCEPT_") and name != "SLURM_JOB_NODELIST"
    }
    more = {"SLURM_JOB_NODELIST": slurm} if slurm else {}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "tests_fabric", "-p", "no:cacheprovider"),
            *(f"--reports={reports}", *options),
        ],
        cwd=ROOT,
        env={**clean, **more},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if not (reports / "latest").exists():
        return done.returncode, None, done.stdout + done.stderr
    document = json.loads((reports / "latest/verdicts.json").read_text())
    (spread,) = [v for v in document["verdicts"] if v["id"] == "reads-spread"]
    return done.returncode, spread, done.stdout


@pytest.mark.parametrize("how", ["exclusion", "file", "slurm"])
def test_four_clients_of_eight(how, tmp_path):
    """client-1 and client-5 share a cable of four; the others do not."""
    listed = tmp_path / "nodes.txt"
    listed.write_text("# the job\nclient-[1-3]\n\nclient-5  # the last\n")
    option = {
        "exclusion": "--job=client-[1-5,^client-4]",
        "file": f"--job={listed}",
        "slurm": "--job=SLURM_JOB_NODELIST",
    }[how]
    slurm = CHOSEN if how == "slurm" else None

    code, spread, text = run_suite(tmp_path / "run", "--lab=duplicate-names", option, slurm=slurm)
    info = json.loads((tmp_path / "run/latest/run.json").read_text())
    listed.write_text("client-8\n")
    again = run_suite(tmp_path / "again", f"--replay={tmp_path / 'run/latest'}")

    assert (code, spread["outcome"]) == (1, "fail"), text
    assert [(f["expected"], f["found"]) for f in spread["findings"]] == [
        (
            "at most 1 of the job's LIDs per cable (even: 4 LIDs over 4 usable cables)",
            "SwitchB/25: 2 client-[1,5], SwitchB/26: 1 client-2, SwitchB/27: 1 client-3; "
            "1 cable carries none",
        )
    ]
    assert f"clients: LIDs from the hosts' own ibstat: {CHOSEN}" in spread["notes"]
    assert info["job"] == CHOSEN
    assert again[:2] == (code, spread)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--job=client-[1-9]", "client-9 is not in"),
        ("--job=SLURM_JOB_NODELIST", "SLURM_JOB_NODELIST is not set"),
        ("--job=none/nodes.txt", "none/nodes.txt: there is no such file"),
    ],
)
def test_a_list_that_names_nobody_is_refused_before_anything_is_read(option, message, tmp_path):
    code, spread, text = run_suite(tmp_path, "--lab=duplicate-names", option)

    assert (code, spread) == (4, None)
    assert message in text

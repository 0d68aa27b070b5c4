"""The job by the names a site uses for it: through whole runs and replays; absent hosts named."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ibaccept.checks import read_expectations
from ibaccept.errors import InputError
from ibaccept.observe.snapshot import Gap
from ibaccept.run.inputs import Inputs, Job
from ibaccept.site.files import SiteFiles
from ibaccept.site.inventory import InventoryHost
from ibaccept.site.yamlfile import loads
from ibaccept.transport import Host
from ibaccept.verdict.absence import NotSeen, NotSeenError
from ibaccept.verdict.evidence import CaptureRef

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


@pytest.mark.real
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


@pytest.mark.real
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


SWEPT = CaptureRef("captures/2.txt", None, "")
GONE = Gap("gone", "gone is in the inventory and not in the fabric", (SWEPT,), "plug it in")
WHOLE = "version: 1\nfabric: f\nexpect: [{id: a, kind: routes}]\n"


@pytest.fixture(name="given")
def given_fixture(site_of):
    """A snapshot of hosts a and b, and the inputs of a job of a, gone (clients) and b."""
    site = site_of("A")
    for number, name in enumerate(("a", "b"), 1):
        site.host(name, "A", number)
    snapshot = replace(site.snapshot(), absent=(GONE,))
    hosts = {name: InventoryHost(name, Host(name)) for name in ("a", "b", "gone")}
    inventory = replace(snapshot.inventory, hosts=hosts)
    nowhere = Path("nowhere")
    inputs = Inputs(
        read_expectations(loads(WHOLE, name="e"), SiteFiles(nowhere)),
        inventory,
        Job(("a", "gone"), ("b",)),
        nowhere,
        nowhere,
        SiteFiles(nowhere),
    )
    return snapshot, inputs


def test_an_absent_host_is_named_with_what_shows_it(given):
    snapshot, inputs = given

    with pytest.raises(NotSeenError) as caught:
        inputs.job_lids(snapshot)

    assert caught.value.part == NotSeen(
        "the LIDs of gone",
        "no host of the fabric is called 'gone'; known are a, b",
        "plug it in",
        (SWEPT,),
    )


def test_an_absent_host_is_left_out_where_it_is_allowed(given):
    snapshot, inputs = given

    sides = inputs.job_lids(snapshot, absent="allowed")

    assert (sides.clients.lids, sides.storage.lids) == ((1,), (2,))


def test_hosts_that_are_there_and_have_no_lid_are_a_problem_each(given):
    snapshot, inputs = given
    job = Job(("x", "y"), ("b",))
    hosts = {name: InventoryHost(name, Host(name)) for name in ("b", "x", "y")}
    inputs = replace(inputs, job=job, inventory=replace(inputs.inventory, hosts=hosts))

    with pytest.raises(InputError) as caught:
        inputs.job_lids(replace(snapshot, absent=()))

    assert str(caught.value).split("\n") == [
        "no host of the fabric is called 'x'; known are a, b",
        "no host of the fabric is called 'y'; known are a, b",
    ]

"""``ibaccept lab`` as a person runs it: in a terminal of its own, ended by a signal."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ibaccept.cli import main
from ibaccept.cli.lab import ENDING
from ibaccept.errors import IbacceptError
from ibaccept.lab import scenario
from ibaccept.lab.fabric import ibsim

ROOT = Path(__file__).resolve().parents[2]


def until(condition, seconds=30.0):
    """Wait for a condition; False where it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def descendants(pid):
    """Processes started by a process, and by those."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == pid:
                found += [int(entry.name), *descendants(int(entry.name))]
    return found


def is_running(pid):
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def paste(line):
    """Run a line as it is pasted into a shell in the project's folder."""
    return subprocess.run(
        ["sh", "-c", line],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith("IBACCEPT_")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def start(tmp_path):
    """Starts ``ibaccept lab`` and waits for its last line."""
    processes = []

    def begin(*argv):
        out = tmp_path / "out"
        with out.open("w") as stdout, (tmp_path / "err").open("w") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-m", "ibaccept", "lab", *argv],
                stdout=stdout,
                stderr=stderr,
                cwd=tmp_path,
                start_new_session=True,
            )
        processes.append(process)
        assert until(lambda: "until Ctrl-C" in out.read_text()), (tmp_path / "err").read_text()
        return process, out.read_text().splitlines()

    yield begin
    for process in processes:
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=20)


@pytest.mark.real
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_lab_says_how_to_reach_it_and_leaves_nothing(start, tmp_path, number):
    process, out = start("aliased-reads")
    folder = Path(next(line.split(None, 1)[1] for line in out if line.startswith("folder")))
    facts = dict(line.split(None, 1) for line in out[: out.index("")])
    ssh, judge = out[out.index("Query it by hand:") + 1], out[-3]
    children = descendants(process.pid)

    looked = paste(ssh)
    process.send_signal(number)
    code = process.wait(timeout=20)

    assert facts["port"].isdecimal()
    assert facts == {
        "scenario": "aliased-reads: stock min-hop puts the twelve clients of a job on three of "
        "eight cables",
        "folder": str(folder),
        "address": "127.0.0.1",
        "port": facts["port"],
        "user": "names    client-[01-48],mgmt01,stor-[1-8] (the user name is the host)",
        "observers": "mgmt01",
        "clients": "client-[01-48]",
        "storage": "stor-[1-8]",
        "key": f"{folder}/client_key",
        "known_hosts": f"{folder}/known_hosts",
        "ssh_config": f"{folder}/ssh_config",
        "inventory": f"{folder}/inventory.yaml",
        "commands": f"{folder}/commands.jsonl (one JSON line for each that was served)",
        "expectations": f"{folder}/expectations.yaml",
        "cabling": f"plan  {folder}/inventory/cables.csv",
        "job": "client-[01-03,09-10,17-18,25-26,33-34,41]",
    }
    assert ssh == f"  ssh -F {folder}/ssh_config mgmt01 ibnetdiscover"
    assert judge == (
        f"  pytest tests_fabric --inventory={folder}/inventory.yaml "
        f"--expectations={folder}/expectations.yaml --ssh-config={folder}/ssh_config "
        "--job='client-[01-03,09-10,17-18,25-26,33-34,41]'"
    )
    assert "# Topology file" in looked.stdout
    assert len(children) >= 2  # ibsim and OpenSM
    assert code == 0
    assert until(lambda: not any(is_running(pid) for pid in children), 5)
    assert not folder.exists()
    assert (tmp_path / "err").read_text().splitlines() == [
        "ibaccept: starting the lab aliased-reads",
        "ibaccept: the lab is stopped",
    ]


@pytest.mark.real
def test_the_printed_pytest_line_judges_the_lab(start, tmp_path):
    process, out = start("slow-cable", "--folder", str(tmp_path / "mine"))

    line = out[-3].replace("pytest", f"{sys.executable} -m pytest", 1)
    done = paste(f"{line} --reports={tmp_path}/reports -p no:cacheprovider")
    process.send_signal(signal.SIGINT)

    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "NOT ACCEPTED"), done.stdout
    assert process.wait(timeout=20) == 0
    assert (tmp_path / "mine" / "commands.jsonl").is_file()


def test_list_names_every_scenario_with_its_description(capsys):
    assert main(["lab", "--list"]) == 0
    out, err = capsys.readouterr()

    assert err == ""
    assert [line.split(None, 1) for line in out.splitlines()] == [
        [name, scenario.load(name).description] for name in scenario.names()
    ]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["no-such"], "there is no lab scenario 'no-such'; there are "),
        (["healthy", "--lab-backend=none"], "there is no lab backend 'none'; there is ibsim"),
        (["healthy", "--folder=."], ". is not an empty folder; name a new one"),
        (
            ["healthy", "--folder=/tmp/a b"],
            "/tmp/a b has a blank, % or quote, which ssh_config cannot say",
        ),
    ],
)
def test_what_cannot_be_started_is_refused(capsys, monkeypatch, argv, message):
    monkeypatch.chdir(ROOT)
    before = [signal.getsignal(number) for number in ENDING]

    assert main(["lab", *argv]) == 4

    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith(f"ibaccept: {message}")
    assert [signal.getsignal(number) for number in ENDING] == before


def test_missing_debian_packages_are_one_line(capsys, monkeypatch):
    def missing():
        raise IbacceptError(
            "the ibsim lab needs Debian packages that are not installed here: "
            "apt-get install ibsim-utils"
        )

    monkeypatch.setattr(ibsim, "require_packages", missing)

    assert main(["lab", "healthy"]) == 3
    assert capsys.readouterr().err.splitlines() == [
        "ibaccept: starting the lab healthy",
        "ibaccept: the ibsim lab needs Debian packages that are not installed here: "
        "apt-get install ibsim-utils",
    ]

"""The folder of a run: what is kept, and that a folder made by somebody else can do no harm."""

import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ibaccept.errors import IbacceptError, InputError
from ibaccept.run.inputs import Inputs
from ibaccept.run.record import RunInfo, copy_captures, keep_inputs, new_run_dir, replay_inputs
from ibaccept.run.session import begin
from ibaccept.site.plan import Plan
from ibaccept.transport.captures import Bundle

INFO = RunInfo("small", "2026-11-30T10:16:03Z", "2026-11-30", token="t")
EXPECTATIONS = """\
version: 1
fabric: small
job: {clients: clients, storage: storage}
subnet_files: [opensm.conf]
expect:
  - {id: all-cabled, kind: cabling, plan: cables.csv}
  - {id: routed, kind: routes, every: job}
"""
INVENTORY = """\
observers: {hosts: {mgmt01: {ansible_password: hunter2}}}
clients: {hosts: {"client-[1-2]": }}
storage: {hosts: {stor-1: }}
"""
PLAN = "a_name,a_port,b_name,b_port\nSwitchA,13,SwitchB,25\n"


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    for name, text in {
        "expectations.yaml": EXPECTATIONS,
        "inventory.yaml": INVENTORY,
        "cables.csv": PLAN,
        "opensm.conf": "m_key hunter2\nrouting_engine updn\n",
    }.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def run_dir(site, tmp_path):
    """The folder of a run with its inputs and no captures."""
    folder = new_run_dir(tmp_path / "reports", INFO)
    keep_inputs(
        folder, Inputs.load(site / "expectations.yaml", site / "inventory.yaml", "client-1"), INFO
    )
    return folder


def refused(folder, *options):
    """The sentence by which a replay of a folder is refused, the folder's name cut."""
    with pytest.raises(InputError) as caught:
        replay_inputs(folder, None, None, *options)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(folder), "RUN")


def test_what_is_kept(run_dir):
    info = RunInfo.read(run_dir)

    assert {path.name: path.read_text() for path in (run_dir / "inputs").iterdir()} == {
        "expectations.yaml": EXPECTATIONS,
        "inventory.yaml": INVENTORY.replace("hunter2", "not copied"),
        "cables.csv": PLAN,
        "subnet-1-opensm.conf": "m_key (not copied)\nrouting_engine updn\n",
    }
    assert asdict(info) == {
        **asdict(INFO),
        "plans": {
            "cables.csv": "inputs/cables.csv",
            "opensm.conf": "inputs/subnet-1-opensm.conf",
        },
        "sums": info.sums,
    }
    assert sorted(info.sums) == sorted(path.name for path in (run_dir / "inputs").iterdir())


def test_a_copy_is_readable_for_nobody_who_cannot_read_the_original(site, tmp_path):
    for name, mode in {"inventory.yaml": 0o600, "cables.csv": 0o640, "opensm.conf": 0o444}.items():
        (site / name).chmod(mode)
    folder = tmp_path / "run"
    folder.mkdir()
    keep_inputs(folder, Inputs.load(site / "expectations.yaml", site / "inventory.yaml"), INFO)

    assert {
        path.name: oct(path.stat().st_mode & 0o777) for path in (folder / "inputs").iterdir()
    } == {
        "expectations.yaml": "0o644",
        "inventory.yaml": "0o600",
        "cables.csv": "0o640",
        "subnet-1-opensm.conf": "0o644",
    }


def test_a_replay_goes_by_the_copies(run_dir, site):
    shutil.rmtree(site)
    inputs = replay_inputs(run_dir, None, None)

    assert inputs.job.clients == ("client-1", "client-2")
    assert inputs.plan.cables[0].name == "SwitchA/13 - SwitchB/25"
    assert inputs.adaptive.state == "off"


# -- a folder that somebody else made ------------------------------------------------------------


def written(run_dir, **changed):
    """run.json with other facts, its checksum right."""
    RunInfo(**{**asdict(RunInfo.read(run_dir)), **changed}).write(run_dir)


def replaced(run_dir, name, text):
    """An input with another text, its checksum right."""
    (run_dir / "inputs" / name).write_text(text)
    sums = {key: value for key, value in RunInfo.read(run_dir).sums.items() if key != name}
    written(run_dir, sums=sums)


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "shadow"
    path.write_text("root:SECRET:1\n")
    return path


def test_a_plan_outside_the_folder_is_not_opened(run_dir, secret):
    for name in (str(secret), f"../../{secret.name}", "inputs/../../../shadow"):
        written(run_dir, plans={"cables.csv": name, "opensm.conf": "inputs/subnet-1-opensm.conf"})
        assert refused(run_dir) == (
            "expectations.yaml:6: all-cabled: plan: RUN: "
            f"{name!r} is not the name of a file in this folder"
        )


@pytest.mark.parametrize("part", ["plan", "subnet_files"])
def test_what_the_folder_does_not_hold_is_not_opened(run_dir, secret, part):
    """Its own expectations name a file of this machine."""
    file = {"plan": "cables.csv", "subnet_files": "opensm.conf"}[part]
    replaced(run_dir, "expectations.yaml", EXPECTATIONS.replace(file, str(secret)))
    sentence = refused(run_dir)

    assert sentence.endswith(
        f"RUN holds no copy of {secret}, and a replay opens nothing outside it; give the "
        "expectations with --expectations=FILE"
    )


def test_a_job_is_no_file(run_dir, secret):
    written(run_dir, job=str(secret))

    assert refused(run_dir) == (
        f"{secret} is not in RUN/inputs/inventory.yaml; known are all, client-1, client-2, "
        "clients, mgmt01, observers, stor-1, storage"
    )


@pytest.mark.parametrize("name", ["expectations.yaml", "inventory.yaml", "cables.csv"])
def test_links_are_refused(run_dir, secret, name):
    (run_dir / "inputs" / name).unlink()
    (run_dir / "inputs" / name).symlink_to(secret)

    assert refused(run_dir) == (
        f"RUN/inputs/{name} is a link; a replay opens only the run's own files"
    )


def test_a_linked_run_json_or_folder_is_refused(run_dir, tmp_path):
    shutil.copytree(run_dir, tmp_path / "one")
    shutil.move(run_dir / "inputs", tmp_path / "inputs")
    (run_dir / "inputs").symlink_to(tmp_path / "inputs")
    (tmp_path / "one/run.json").unlink()
    (tmp_path / "one/run.json").symlink_to(run_dir / "run.json")

    assert refused(run_dir) == "RUN/inputs is a link; a replay opens only the run's own files"
    assert refused(tmp_path / "one") == (
        "RUN is not the folder of a run (RUN/run.json is a link; a replay opens only the run's own "
        "files)"
    )


@pytest.mark.parametrize("what", ["link", "fifo", "folder"])
def test_captures_are_files(run_dir, secret, tmp_path, what):
    Bundle(run_dir)
    place = run_dir / "captures/0001-x.txt"
    {
        "link": lambda: place.symlink_to(secret),
        "fifo": lambda: os.mkfifo(place),
        "folder": place.mkdir,
    }[what]()
    target = tmp_path / "target"
    target.mkdir()

    with pytest.raises(IbacceptError) as caught:
        copy_captures(run_dir, target)

    assert str(caught.value).startswith(f"{place} is ")
    assert list(target.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "run.json cannot be read: Expecting value: line 1 column 1 (char 0)"),
        ("[]", "run.json is no mapping"),
        ("{}", "run.json: fabric: Field required"),
        ("[" * 100_000, None),
        (json.dumps({**asdict(INFO), "job": 5}), "run.json: job: Input should be a valid string"),
        (
            json.dumps({**asdict(INFO), "plans": ["x"]}),
            "run.json: plans: Input should be an object",
        ),
        (json.dumps({**asdict(INFO), "more": 1}), "run.json: more: Unexpected keyword argument"),
        (
            json.dumps({**asdict(INFO), "today": "2026-13-01"}),
            "run.json cannot be read: month must be in 1..12",
        ),
        (
            json.dumps({**asdict(INFO), "sha256": "0"}),
            "run.json was changed after the run: its checksum is another",
        ),
    ],
)
def test_a_run_json_that_is_none(run_dir, text, why):
    (run_dir / "run.json").write_text(text)
    sentence = refused(run_dir)

    assert sentence.startswith("RUN is not the folder of a run (run.json")
    assert why is None or sentence == f"RUN is not the folder of a run ({why})"


def test_a_run_json_of_an_older_version_has_no_checksum(run_dir):
    facts = json.loads((run_dir / "run.json").read_text())
    del facts["sha256"]
    (run_dir / "run.json").write_text(json.dumps(facts))

    assert RunInfo.read(run_dir).sums == facts["sums"]


def sentence_or_info(run_dir):
    try:
        return RunInfo.read(run_dir)
    except InputError as error:
        return str(error)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_a_damaged_run_json_is_one_sentence(run_dir, data):
    """A byte changed, a line lost or two lines swapped."""
    path = run_dir / "run.json"
    original = path.read_bytes()
    try:
        lines = original.splitlines(keepends=True)
        one = data.draw(st.integers(0, len(lines) - 1))
        match data.draw(st.sampled_from(["byte", "line", "swap", "cut"])):
            case "byte":
                at = data.draw(st.integers(0, len(original) - 1))
                new = bytes([data.draw(st.integers(0, 255))])
                damaged = original[:at] + new + original[at + 1 :]
            case "line":
                damaged = b"".join(lines[:one] + lines[one + 1 :])
            case "swap":
                damaged = b"".join(
                    [*lines[:one], *lines[one + 1 : one + 2], lines[one], *lines[one + 2 :]]
                )
            case _:
                damaged = original[: data.draw(st.integers(0, len(original)))]
        path.write_bytes(damaged)
        read = sentence_or_info(run_dir)
        path.write_bytes(original)
        assert read == RunInfo.read(run_dir) or "\n" not in read
    finally:
        path.write_bytes(original)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(InputError) as caught:
        new_run_dir(tmp_path / "file/reports", INFO)

    assert str(caught.value) == (
        f"{tmp_path}/file/reports cannot be made a folder for reports: Not a directory; name "
        "another with --reports=FOLDER"
    )


def test_runs_of_one_second(tmp_path):
    names = [new_run_dir(tmp_path, INFO).name for _ in range(2)]

    assert names == ["2026-11-30T101603Z-small", "2026-11-30T101603Z-small-2"]
    assert Path(tmp_path, names[1]).is_dir()


def test_a_workbook_is_kept_as_one(desk):
    book = openpyxl.Workbook()
    for row in (("a_name", "a_port", "b_name", "b_port"), ("SwitchA", 13, "SwitchB", 25)):
        book.active.append(row)
    book.save(desk.folder / "Cables.XLSX")
    with (desk.folder / "expectations.yaml").open("a") as file:
        file.write("  - {id: cabled, kind: cabling, plan: Cables.XLSX}\n")

    run = begin(desk.given(), lambda _text: None)
    kept = run.run_dir / "inputs/cables.xlsx"
    assert kept.read_bytes() == (desk.folder / "Cables.XLSX").read_bytes()
    assert replay_inputs(run.run_dir, None, None).plan == Plan.load(kept)

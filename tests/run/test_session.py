"""A pytest run about a fabric: which inputs, which folder, and what is refused before any of it."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from ibaccept.errors import IbacceptError, InputError
from ibaccept.run.session import begin, ids_of, job_text, join


def quiet(_text):
    """Progress that nothing shows."""


@dataclass
class Lab:
    """A lab that was started, as far as a run knows one."""

    folder: Path
    scenario: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(name="played"))
    expectations: Path | None = None
    job: str | None = None
    stopped: int = 0

    @property
    def inventory(self):
        return self.folder / "inventory/site.yaml"

    @property
    def ssh_config(self):
        return self.folder / "ssh_config"

    def stop(self):
        self.stopped += 1


def test_a_run_of_the_site_by_its_default_files(desk):
    run = begin(desk.given(), quiet)

    assert run.run_dir.parent == desk.folder / "reports"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d{6}Z-scripted", run.run_dir.name)
    assert (run.lab, run.replay, run.ssh_config) == (None, None, None)
    assert list(ids_of(run)) == ["one-sm", "isl-4x-hdr", "no-errors"]
    assert job_text(run) == ""
    kept = json.loads((run.run_dir / "run.json").read_text())
    assert sorted(kept["sums"]) == ["expectations.yaml", "inventory.yaml"]
    assert (kept["fabric"], kept["job"], kept["load"], kept["lab"]) == (
        "scripted",
        None,
        False,
        False,
    )


def test_a_worker_joins_the_run_of_the_controller(desk):
    run = begin(desk.given(), quiet)

    joined = join({"run_dir": str(run.run_dir), "ssh_config": "/etc/ssh/other"}, quiet)

    assert (joined.info, joined.run_dir, joined.ssh_config) == (
        run.info,
        run.run_dir,
        Path("/etc/ssh/other"),
    )
    assert joined.inputs.expectations.entries == run.inputs.expectations.entries


def test_a_replay_reads_the_captures_and_inputs_of_the_run(desk):
    first = begin(desk.given(), quiet)
    seen = first.snapshot()
    sent = len(desk.observer.sent)

    again = begin(desk.given(replay=str(first.run_dir)), quiet)

    assert again.replay == first.run_dir
    assert again.run_dir != first.run_dir
    assert again.info == first.info
    assert again.snapshot().fabric == seen.fabric
    assert len(desk.observer.sent) == sent


def test_a_replay_of_another_job_keeps_the_rest(desk):
    text = (desk.folder / "expectations.yaml").read_text()
    job = "job: {clients: clients, storage: storage}\n"
    (desk.folder / "expectations.yaml").write_text(text.replace("expect:", job + "expect:"))
    first = begin(desk.given(), quiet)
    first.snapshot()

    again = begin(desk.given(replay=str(first.run_dir), job="stor-1"), quiet)

    assert job_text(first) == "clients client-1, storage stor-1"
    assert (again.info.job, again.info.started) == ("stor-1", first.info.started)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"replay": "reports/x", "lab": "healthy"}, "--replay judges what was captured; it cannot"),
        ({"replay": "nowhere"}, "run.json cannot be read"),
        ({"ssh_config": "nowhere"}, "name it with --ssh-config=FILE"),
        ({"expectations": "nowhere.yaml"}, "nowhere.yaml"),
        ({"reports": "expectations.yaml"}, "name another with --reports=FOLDER"),
    ],
)
def test_what_is_refused_before_anything_is_sent(desk, options, sentence):
    with pytest.raises(InputError) as refused:
        begin(desk.given(**options), quiet)

    assert sentence in str(refused.value)
    assert desk.observer.sent == []


def test_a_run_that_was_cut_short_is_not_judged_again(desk):
    first = begin(desk.given(), quiet)
    first.snapshot()
    (first.run_dir / "captures/complete").unlink()

    with pytest.raises(IbacceptError, match="was cut short, so its captures are not complete"):
        begin(desk.given(replay=str(first.run_dir)), quiet)


def test_inputs_that_were_changed_are_not_judged_by(desk):
    first = begin(desk.given(), quiet)
    first.snapshot()
    with (first.run_dir / "inputs/expectations.yaml").open("a") as changed:
        changed.write("# later\n")

    with pytest.raises(InputError, match=r"was changed after the run.*--expectations"):
        begin(desk.given(replay=str(first.run_dir)), quiet)
    begin(desk.given(replay=str(first.run_dir), expectations="expectations.yaml"), quiet)


def lab_of(desk, **changes):
    lab = Lab(desk.folder, **changes)
    desk.start_lab = lambda name, backend: desk.options.update(name=name, backend=backend) or lab
    return lab


def test_a_lab_gives_the_inputs_that_are_not_given(desk):
    lab = lab_of(desk, expectations=desk.folder / "expectations.yaml")

    run = begin(desk.given(lab="played"), quiet)

    assert desk.options == {"name": "played", "backend": "ibsim"}
    assert (run.lab, run.ssh_config, run.info.lab, lab.stopped) == (lab, lab.ssh_config, True, 0)


def test_a_lab_is_stopped_where_its_inputs_are_refused(desk):
    lab = lab_of(desk)

    with pytest.raises(InputError, match="give --expectations=FILE"):
        begin(desk.given(lab="played"), quiet)

    assert lab.stopped == 1


def test_a_lab_is_stopped_where_the_run_has_no_folder(desk):
    lab = lab_of(desk, expectations=desk.folder / "expectations.yaml")

    with pytest.raises(InputError, match="--reports=FOLDER"):
        begin(desk.given(lab="played", reports="expectations.yaml"), quiet)

    assert lab.stopped == 1

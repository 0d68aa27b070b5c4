"""A finished run read back from its folder, and every way in which a part of it is missing."""

import pytest

from ibaccept.compare.past import PastRun
from ibaccept.errors import InputError
from ibaccept.report.json_report import render
from ibaccept.report.meta import RunMeta
from ibaccept.run.session import begin
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.answer import overall


@pytest.fixture
def folder(desk):
    """A run that read the fabric; its verdicts are none."""
    session = begin(desk.given(), lambda _text: None)
    session.snapshot()
    meta = RunMeta("scripted", "2026-11-30T10:00:00Z", "", run_dir=session.run_dir)
    (session.run_dir / "verdicts.json").write_text(render((), meta, overall((), {})))
    return session.run_dir


def test_a_whole_run(folder):
    past = PastRun.read(folder)

    assert past.document.fabric == "scripted"
    assert [entry.id for entry in past.inputs.expectations.entries] == list(past.entries())
    assert {node.name for node in past.snapshot.fabric.switches()} == {"SwitchA", "SwitchB"}
    assert (past.loads, past.plan_rows()) == (None, None)
    assert past.started == 1796032800.0


def test_captures_that_were_changed_are_said(folder):
    (capture,) = (folder / "captures").glob("*ibnetdiscover*.txt")
    capture.write_bytes(capture.read_bytes() + b"x")

    past = PastRun.read(folder)
    assert isinstance(past.snapshot, NotSeen)
    assert capture.name in past.snapshot.reason
    assert list(past.entries()) == ["one-sm", "isl-4x-hdr", "no-errors"]


def test_inputs_that_were_changed_are_said(folder):
    with (folder / "inputs/expectations.yaml").open("a") as file:
        file.write("# later\n")

    past = PastRun.read(folder)
    assert past.inputs is past.snapshot
    assert "expectations.yaml" in past.inputs.reason
    assert (past.entries(), past.plan_rows(), past.load_settings()) == ({}, None, None)


def test_a_folder_without_verdicts_is_refused(folder):
    (folder / "verdicts.json").unlink()

    with pytest.raises(InputError) as refused:
        PastRun.read(folder)
    assert str(refused.value) == (
        f"{folder} holds no verdicts.json; name the folder of a finished run, such as "
        "reports/latest"
    )

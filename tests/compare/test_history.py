"""The history of runs: added, replaced, read back; damaged, locked and foreign files are said."""

import sqlite3
from dataclasses import replace

import pytest

from ibaccept.compare import history
from ibaccept.compare.history import OutcomeRow, RunRow
from ibaccept.errors import IbacceptError
from ibaccept.report.json_report import VerdictsDocument, render
from ibaccept.report.meta import RunMeta
from ibaccept.verdict import Coverage, Finding, Outcome, Subject, Verdict
from ibaccept.verdict.answer import Answer, Counts, NotRun, overall

SLOW = Finding(Subject("count", "links"), "fail", "4X HDR", "1X HDR")


def verdict(outcome, name="rate", *findings):
    return Verdict(
        name, "link-rate", "", Outcome(outcome), f"{outcome}!", "", Coverage(2, 2), findings
    )


def document(day, *verdicts, not_run=None, replayed=""):
    return VerdictsDocument(
        *(1, Answer.INCOMPLETE, 1, Counts(), "hall-3", f"2026-11-{day:02}", "", verdicts),
        run=f"run-{day}",
        replayed=replayed,
        not_run=not_run or {},
    )


def test_runs_and_outcomes_in_order_of_time(tmp_path):
    late = document(9, verdict("fail", "rate", SLOW), replayed="now, from x")
    history.record(tmp_path, late)
    history.record(tmp_path, document(2, verdict("pass"), verdict("pass", "even")))
    history.record(tmp_path, document(5, not_run={"rate": NotRun("needs --load")}))

    assert history.runs(tmp_path) == (
        RunRow("run-2", "hall-3", "2026-11-02", "INCOMPLETE", ""),
        RunRow("run-5", "hall-3", "2026-11-05", "INCOMPLETE", ""),
        RunRow("run-9", "hall-3", "2026-11-09", "INCOMPLETE", "now, from x"),
    )
    assert history.outcomes(tmp_path, "rate") == (
        OutcomeRow("run-2", "2026-11-02", "pass", "pass!", 2, 2, ""),
        OutcomeRow("run-5", "2026-11-05", "not run", "needs --load", None, None, ""),
        OutcomeRow("run-9", "2026-11-09", "fail", "fail!", 2, 2, "now, from x"),
    )
    assert history.entries(tmp_path) == ("even", "rate")
    assert history.outcomes(tmp_path, "rat") == ()


def test_a_pass_that_does_not_bear_itself_out_is_none(tmp_path):
    history.record(tmp_path, document(2, replace(verdict("pass"), coverage=Coverage(1, 2))))

    assert [row.outcome for row in history.outcomes(tmp_path, "rate")] == ["error"]


def test_a_run_that_is_recorded_again_replaces_itself(tmp_path):
    history.record(tmp_path, document(2, verdict("pass"), verdict("pass", "even")))
    history.record(tmp_path, document(2, verdict("fail", "rate", SLOW)))

    assert [row.outcome for row in history.outcomes(tmp_path, "rate")] == ["fail"]
    assert history.outcomes(tmp_path, "even") == ()


def test_an_entry_with_its_cables(tmp_path):
    names = ("each:A/1 - B/1", "each:A/2 - B/2", "each-other")
    history.record(tmp_path, document(2, *(verdict("pass", name) for name in names)))

    assert len(history.outcomes(tmp_path, "each")) == 2
    assert len(history.outcomes(tmp_path, "each:A/2 - B/2")) == 1


def test_bytes_that_are_no_text_are_kept_as_escapes(tmp_path):
    history.record(tmp_path, document(2, replace(verdict("pass"), sentence="sw\udc80")))

    assert [row.sentence for row in history.outcomes(tmp_path, "rate")] == ["sw\\udc80"]


@pytest.mark.parametrize("damage", ["garbage", "other version", "locked"])
def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path, damage, monkeypatch):
    monkeypatch.setattr(history, "PATIENCE", 0.01)
    file = tmp_path / history.FILE
    holder = None
    if damage == "garbage":
        file.write_bytes(b"no database" * 400)
        why = "file is not a database"
    else:
        holder = sqlite3.connect(file)
        holder.execute("PRAGMA user_version = 7")
        why = "its tables are of version 7, not 1"
    if damage == "locked":
        file.unlink()
        holder.close()
        history.record(tmp_path, document(2, verdict("pass")))
        holder = sqlite3.connect(file, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        why = "database is locked"

    with pytest.raises(IbacceptError) as refused:
        history.record(tmp_path, document(3, verdict("pass")))
    if holder is not None:
        holder.close()
    assert str(refused.value) == (
        f"{file} cannot be used ({why}); move it away and make it again with "
        "'ibaccept history --rebuild'"
    )


def test_rebuilt_from_the_folders_of_the_runs(tmp_path):
    for day in (1, 2):
        folder = tmp_path / f"run-{day}"
        folder.mkdir()
        meta = RunMeta("hall-3", f"2026-11-0{day}", "", run_dir=folder)
        result = overall((verdict("pass"),), {})
        (folder / "verdicts.json").write_text(render((verdict("pass"),), meta, result))
    (tmp_path / "latest").symlink_to("run-2")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/verdicts.json").write_text("{")
    (tmp_path / history.FILE).write_bytes(b"no database" * 400)

    number, left = history.rebuild(tmp_path)
    assert number == 2
    (reason,) = left
    assert reason.startswith(f"{tmp_path / 'bad/verdicts.json'} is not JSON")
    assert [row.run for row in history.runs(tmp_path)] == ["run-1", "run-2"]
    assert {path.name for path in tmp_path.iterdir()} == {
        *("run-1", "run-2", "latest", "bad", history.FILE)
    }


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / history.FILE).mkdir()

    with pytest.raises(IbacceptError, match=r"history\.sqlite cannot be"):
        history.rebuild(tmp_path)

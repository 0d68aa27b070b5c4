"""Writing a run's folder: all files, whole or not at all, and ``latest``."""

import errno
import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from ibaccept.errors import IbacceptError
from ibaccept.report import html, json_report, junit, overall, punchlist, write_all, writer


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture
def run_dir(tmp_path):
    return tmp_path / "reports" / "2026-11-30T101603Z-hall-3"


def test_everything_is_written(run_dir, verdicts, meta, not_run):
    result = write_all(run_dir, verdicts, meta, not_run)

    assert result == overall(verdicts, not_run)
    assert sorted(path.name for path in run_dir.iterdir()) == [
        "allure-results",
        "index.html",
        "junit.xml",
        "punchlist.csv",
        "verdicts.json",
    ]
    written = {
        path.name: path.read_bytes().decode() for path in run_dir.iterdir() if path.is_file()
    }
    assert written == {
        "index.html": html.render(verdicts, meta, result),
        "junit.xml": junit.render(verdicts, meta, result),
        "punchlist.csv": punchlist.render(verdicts),
        "verdicts.json": json_report.render(verdicts, meta, result),
    }
    suffixes = sorted(name.split("-", 5)[-1] for name in files(run_dir / "allure-results"))
    assert suffixes == [
        "attachment.csv",
        *["attachment.json"] * 4,
        *["attachment.txt"] * 6,
        *["result.json"] * 5,
    ]
    assert (run_dir.parent / "latest").readlink() == Path(run_dir.name)
    assert sorted(path.name for path in run_dir.parent.iterdir()) == [run_dir.name, "latest"]


def test_writing_again_replaces_and_leaves_nothing_behind(run_dir, verdicts, meta, passed):
    write_all(run_dir, verdicts, meta, {})
    (run_dir / "allure-results" / "stray.json").write_text("{}")

    write_all(run_dir, [passed], meta, {})

    assert json_report.load(run_dir / "verdicts.json") == (passed,)
    assert len(files(run_dir / "allure-results")) == 3
    assert len(list(run_dir.iterdir())) == 5


def test_reports_are_readable_as_the_umask_says(run_dir, verdicts, meta):
    before = os.umask(0o027)
    try:
        write_all(run_dir, verdicts, meta, {})
    finally:
        os.umask(before)

    assert oct((run_dir / "verdicts.json").stat().st_mode & 0o777) == "0o640"
    assert oct((run_dir / "allure-results").stat().st_mode & 0o777) == "0o750"


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "junit.xml"
    path.write_text("old")

    with pytest.raises(UnicodeEncodeError):
        writer.write_atomic(path, "half\udcff")

    assert (path.read_text(), files(tmp_path)) == ("old", ["junit.xml"])


def test_latest_is_the_run_that_was_written_last(run_dir, verdicts, meta):
    """Also after one run whose clock was ahead."""
    ahead = run_dir.with_name("2027-12-01T101603Z-hall-3")
    targets = []
    for folder in (run_dir, ahead, run_dir):
        write_all(folder, verdicts, meta, {})
        targets.append(str((run_dir.parent / "latest").readlink()))

    assert targets == [run_dir.name, ahead.name, run_dir.name]


def test_a_run_that_could_not_be_written_is_not_the_latest(run_dir, verdicts, meta, monkeypatch):
    write_all(run_dir, verdicts, meta, {})
    later = run_dir.with_name("2026-12-01T101603Z-hall-3")
    monkeypatch.setattr(
        writer.tempfile, "mkstemp", Mock(side_effect=OSError(errno.ENOSPC, "No space left"))
    )

    with pytest.raises(IbacceptError) as caught:
        write_all(later, verdicts, meta, {})

    assert str(caught.value) == (
        f"the reports could not be written to {later} (No space left), {run_dir.parent}/latest is "
        f"still {run_dir.name}; free space or permissions, then judge the bundle again with "
        "--replay"
    )
    assert (run_dir.parent / "latest").readlink() == Path(run_dir.name)


def test_a_dangling_latest_is_replaced(run_dir, verdicts, meta):
    run_dir.mkdir(parents=True)
    (run_dir.parent / "latest").symlink_to("2027-01-01T000000Z-gone")

    write_all(run_dir, verdicts, meta, {})

    assert (run_dir.parent / "latest").readlink() == Path(run_dir.name)


def test_two_runs_of_one_second_in_two_folders(run_dir, verdicts, meta):
    other = run_dir.with_name("2026-11-30T101603Z-hall-4")
    write_all(other, verdicts, meta, {})
    write_all(run_dir, verdicts, meta, {})

    assert files(run_dir) == files(other)
    assert (run_dir.parent / "latest").resolve() in (run_dir, other)


def test_a_folder_named_latest_is_left_alone(run_dir, verdicts, meta):
    (run_dir.parent / "latest").mkdir(parents=True)

    with pytest.raises(IbacceptError) as caught:
        write_all(run_dir, verdicts, meta, {})

    assert str(caught.value) == (
        f"{run_dir.parent / 'latest'} is not a link, so it was left alone; move it away"
    )
    assert len(list(run_dir.iterdir())) == 5


def test_a_folder_that_cannot_be_written_is_named(tmp_path, verdicts, meta):
    (tmp_path / "file").write_text("")

    with pytest.raises(IbacceptError) as caught:
        write_all(tmp_path / "file" / "run", verdicts, meta, {})

    assert str(caught.value) == (
        f"the reports could not be written to {tmp_path / 'file' / 'run'} (Not a directory); "
        "free space or permissions, then judge the bundle again with --replay"
    )

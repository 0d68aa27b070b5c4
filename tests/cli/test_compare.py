"""``ibaccept compare``: exit codes, JSON, page, and runs that cannot be compared."""

import json
from dataclasses import replace

import pytest

from ibaccept.cli import main
from ibaccept.report.json_report import load_document, render
from ibaccept.report.meta import RunMeta
from ibaccept.run.session import begin
from ibaccept.verdict import Coverage, Finding, Outcome, Subject, Verdict
from ibaccept.verdict.answer import overall

SLOW = Finding(Subject("count", "links"), "fail", "4X HDR", "1X HDR")


@pytest.fixture
def run(desk):
    """A finished run with one verdict."""

    def make(outcome, hour, *findings, started=None):
        session = begin(desk.given(), lambda _text: None)
        session.snapshot()
        meta = RunMeta(
            "scripted", started or f"2026-11-30T{hour:02}:00:00Z", "", run_dir=session.run_dir
        )
        verdict = Verdict(
            *("rate", "link-rate", "", Outcome(outcome), "said", "", Coverage(1, 1)), findings
        )
        result = overall((verdict,), {})
        (session.run_dir / "verdicts.json").write_text(render((verdict,), meta, result))
        return session.run_dir

    return make


def test_exit_codes_and_the_last_line(run, capsys):
    good, bad, later = run("pass", 1), run("fail", 2, SLOW), run("pass", 3)

    assert main(["compare", str(good), str(bad)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == (
        "1 new, 0 no longer judged, 0 still open, 0 fixed: worse than the old run"
    )
    assert main(["compare", str(bad), str(later)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "0 new, 0 no longer judged, 0 still open, 1 fixed: nothing new"
    )
    error = run("error", 4, replace(SLOW, outcome="error", found="silent"))
    assert main(["compare", str(bad), str(error)]) == 3
    assert capsys.readouterr().out.splitlines()[-1] == (
        "0 new, 1 no longer judged, 0 still open, 0 fixed: nothing new was seen, and not "
        "everything was judged again"
    )


def test_json_and_page(run, capsys, tmp_path):
    good, bad = run("pass", 1), run("fail", 2, SLOW)
    page = tmp_path / "compare.html"

    assert main(["compare", str(good), str(bad), "--json", f"--html={page}"]) == 1
    printed = capsys.readouterr()
    data = json.loads(printed.out)
    assert [(row["status"], row["entry"]) for row in data["findings"]] == [("new", "rate")]
    assert data["old"]["started"] == load_document(good / "verdicts.json").started
    assert printed.err == f"ibaccept: written: {page}\n"
    assert "worse than the old run" in page.read_text()


def test_the_later_run_first_is_refused(run, capsys):
    first, second = run("fail", 1, SLOW), run("pass", 2)

    assert main(["compare", str(second), str(first)]) == 4
    assert capsys.readouterr().err == (
        f"ibaccept: {second} began 2026-11-30T02:00:00Z, after {first} "
        "(2026-11-30T01:00:00Z); name the earlier run first\n"
    )


def test_no_run_and_no_place_for_the_page(run, capsys, tmp_path):
    one = run("pass", 1)

    assert main(["compare", str(one), str(tmp_path / "none")]) == 4
    assert capsys.readouterr().err == (
        f"ibaccept: {tmp_path / 'none'} holds no verdicts.json; name the folder of a finished "
        "run, such as reports/latest\n"
    )
    assert main(["compare", str(one), str(one), f"--html={tmp_path / 'no/page.html'}"]) == 4
    assert capsys.readouterr().err == (
        f"ibaccept: {tmp_path / 'no/page.html'} cannot be written: No such file or directory\n"
    )

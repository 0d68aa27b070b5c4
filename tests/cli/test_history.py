"""``ibaccept history``: columns on the terminal, and what it refuses."""

import pytest

from ibaccept.cli import main
from ibaccept.compare import history
from ibaccept.report.json_report import VerdictsDocument
from ibaccept.verdict import Coverage, Outcome, Verdict
from ibaccept.verdict.answer import Answer, Counts


@pytest.fixture
def reports(tmp_path):
    for day, replayed in ((1, ""), (2, "now, from x")):
        verdict = Verdict("rate", "link-rate", "", Outcome.PASS, "all \x1b[2J", "", Coverage(2, 2))
        document = VerdictsDocument(
            *(1, Answer.ACCEPTED, 0, Counts(), "hall-3", f"2026-11-0{day}", "", (verdict,)),
            run=f"run-{day}",
            replayed=replayed,
        )
        history.record(tmp_path, document)
    return tmp_path


def test_every_run(reports, capsys):
    assert main(["history", f"--reports={reports}"]) == 0
    assert capsys.readouterr().out == (
        "2026-11-01  ACCEPTED  hall-3  run-1\n2026-11-02  ACCEPTED  hall-3  run-2  judged again\n"
    )


def test_one_entry(reports, capsys):
    assert main(["history", "rate", f"--reports={reports}"]) == 0
    assert capsys.readouterr().out == (
        "2026-11-01  pass  all \\x1b[2J  run-1\n"
        "2026-11-02  pass  all \\x1b[2J  run-2  judged again\n"
    )


def test_an_unknown_entry_and_no_history(reports, capsys, tmp_path):
    assert main(["history", "rat", f"--reports={reports}"]) == 4
    assert capsys.readouterr().err == (
        "ibaccept: no run has an entry 'rat'; did you mean 'rate'?\n"
    )
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["history", f"--reports={empty}"]) == 4
    assert capsys.readouterr().err == (
        f"ibaccept: there is no {empty}/history.sqlite; name the folder of the runs with "
        "--reports=FOLDER, or make it from them with --rebuild\n"
    )
    assert main(["history", f"--reports={empty}", "--rebuild"]) == 0
    assert capsys.readouterr().err == f"ibaccept: 0 runs are in {empty}/history.sqlite\n"

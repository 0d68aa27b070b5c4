"""``ibaccept history``: what became of the runs, or of one entry, over time."""

from __future__ import annotations

import argparse

from ibaccept.cli.options import path_of
from ibaccept.cli.text import DONE, columns, complain, say
from ibaccept.compare import history
from ibaccept.errors import InputError
from ibaccept.fabric.harmless import clean
from ibaccept.fabric.suggest import did_you_mean


def show_history(options: argparse.Namespace) -> int:
    """A line a run, the oldest first."""
    reports = path_of(options, "reports")
    if options.rebuild:
        number, left = history.rebuild(reports)
        for sentence in left:
            complain(sentence)
        complain(f"{number:,} runs are in {reports / history.FILE}")
    elif not (reports / history.FILE).is_file():
        raise InputError(
            f"there is no {reports / history.FILE}; name the folder of the runs with "
            "--reports=FOLDER, or make it from them with --rebuild"
        )
    if options.id is None:
        rows = [
            (run.started, run.result, clean(run.fabric), run.run, _again(run.replayed))
            for run in history.runs(reports)
        ]
    else:
        found = history.outcomes(reports, options.id)
        if not found:
            known = history.entries(reports)
            raise InputError(f"no run has an entry {options.id!r}{did_you_mean(options.id, known)}")
        rows = [
            (row.started, row.outcome, clean(row.sentence), row.run, _again(row.replayed))
            for row in found
        ]
    for line in columns(rows):
        say(line)
    return DONE


def _again(replayed: str) -> str:
    return "judged again" if replayed else ""

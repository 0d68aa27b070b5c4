"""ibaccept show: the verdicts of a run, printed again."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from ibaccept.cli.text import say
from ibaccept.errors import InputError
from ibaccept.fabric.suggest import did_you_mean
from ibaccept.report.json_report import VERDICTS, load_document
from ibaccept.report.meta import RunMeta
from ibaccept.report.terminal import closing_lines, failure_text
from ibaccept.verdict import Outcome
from ibaccept.verdict.answer import outcome_of, overall


def show(options: argparse.Namespace) -> int:
    """Print the verdicts of a run; the exit code is the run's."""
    given = Path(options.run)
    path = given / VERDICTS if given.is_dir() else given
    if not path.is_file():
        raise InputError(f"{given} holds no {VERDICTS}: no run was judged there; see --help")
    document = load_document(path)
    verdicts = list(document.verdicts)
    if options.id is not None:
        known = [*(verdict.id for verdict in verdicts), *document.not_run]
        verdicts = [v for v in verdicts if v.id == options.id or v.id.startswith(f"{options.id}:")]
        if not verdicts and options.id not in document.not_run:
            raise InputError(
                f"{path} has no verdict on {options.id!r}{did_you_mean(options.id, known)}"
            )
    if options.failures:
        verdicts = [v for v in verdicts if outcome_of(v) in {Outcome.FAIL, Outcome.ERROR}]
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    width = shutil.get_terminal_size((100, 24)).columns
    for verdict in verdicts:
        say(failure_text(verdict, width, colour=colour))
        say()
    result = overall(document.verdicts, document.not_run)
    meta = RunMeta(
        fabric=document.fabric,
        started=document.started,
        ended=document.ended,
        run_dir=path.parent,
        warnings=document.warnings,
    )
    for line in closing_lines(result, meta, colour=colour):
        say(line)
    return max(result.exit_code, document.exit_code)

"""``ibaccept compare``: two runs of one fabric, held against each other."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ibaccept.cli.text import ANSWER_NO, DONE, NOT_SEEN, complain, say, write_file
from ibaccept.compare.comparison import Comparison, compare, dump
from ibaccept.compare.html import render
from ibaccept.compare.past import PastRun
from ibaccept.compare.text import comparison_lines
from ibaccept.errors import InputError


def compare_runs(options: argparse.Namespace) -> int:
    """Print what differs; 0 nothing new, 1 something new, 3 something is no longer judged."""
    old, new = (PastRun.read(Path(folder)) for folder in (options.old, options.new))
    if old.started is not None and new.started is not None and old.started > new.started:
        raise InputError(
            f"{options.old} began {old.document.started}, after {options.new} "
            f"({new.document.started}); name the earlier run first"
        )
    comparison = compare(old, new)
    if options.html is not None:
        write_file(Path(options.html), render(comparison))
        complain(f"written: {options.html}")
    if options.json:
        sys.stdout.write(json.dumps(dump(comparison), indent=1) + "\n")
    else:
        for line in comparison_lines(comparison):
            say(line)
    return _exit_code(comparison)


def _exit_code(comparison: Comparison) -> int:
    if comparison.is_worse:
        return ANSWER_NO
    return NOT_SEEN if comparison.is_unknown else DONE

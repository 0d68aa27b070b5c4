"""Verdicts -> terminal, JSON, JUnit, Allure, HTML, punch list; renders data and judges nothing.

Every report is made from ``Verdict``, ``RunMeta`` and ``Result`` alone, so that a run can be
shown again from its ``verdicts.json``. Imports only verdict, fabric and errors.
"""

from ibaccept.report.meta import RunMeta
from ibaccept.report.terminal import closing_lines, failure_text
from ibaccept.report.writer import write_all
from ibaccept.verdict.answer import Answer, Counts, NotRun, Result, outcome_of, overall

__all__ = [
    "Answer",
    "Counts",
    "NotRun",
    "Result",
    "RunMeta",
    "closing_lines",
    "failure_text",
    "outcome_of",
    "overall",
    "write_all",
]

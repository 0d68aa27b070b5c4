"""The schema of expectations.yaml: one small class a kind, found by scanning these modules."""

from ibaccept.expect.base import Expectation
from ibaccept.expect.file import Expectations, load_expectations, read_expectations
from ibaccept.expect.head import Waiver
from ibaccept.expect.selector import AbsentNode, LinkSelector, Selection, select

__all__ = [
    "AbsentNode",
    "Expectation",
    "Expectations",
    "LinkSelector",
    "Selection",
    "Waiver",
    "load_expectations",
    "read_expectations",
    "select",
]

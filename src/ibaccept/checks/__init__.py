"""The schema of expectations.yaml: one small class a kind, found by scanning these modules."""

from ibaccept.checks.base import Expectation
from ibaccept.checks.expectations import Expectations, load_expectations, read_expectations
from ibaccept.checks.selector import AbsentNode, LinkSelector, Selection, select
from ibaccept.site.settings import Waiver

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

"""What can be expected of a fabric and how it is judged: one module for each subject.

A kind of expectation is a class; the classes are found by scanning these modules. Imports load,
observe, routing, site and what lies below them.
"""

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

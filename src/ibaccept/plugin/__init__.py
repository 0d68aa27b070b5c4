"""Glue between pytest and the suite: options, items, outcomes, the end of a run.

pytest takes hooks and fixtures from this one module, so that all are named here. Imports pytest,
which nothing else does, and every other folder.
"""

from ibaccept.plugin.ending import pytest_sessionfinish, pytest_sessionstart
from ibaccept.plugin.fixtures import (
    _look,
    cable,
    entry,
    evidence,
    expected,
    inputs,
    loads,
    snapshot,
)
from ibaccept.plugin.items import pytest_collection_modifyitems, pytest_generate_tests
from ibaccept.plugin.options import OPTIONS, pytest_addoption
from ibaccept.plugin.outcomes import pytest_pyfunc_call, pytest_runtest_makereport
from ibaccept.plugin.session import pytest_configure, pytest_configure_node, pytest_unconfigure

__all__ = [
    "OPTIONS",
    "_look",
    "cable",
    "entry",
    "evidence",
    "expected",
    "inputs",
    "loads",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_configure_node",
    "pytest_generate_tests",
    "pytest_pyfunc_call",
    "pytest_runtest_makereport",
    "pytest_sessionfinish",
    "pytest_sessionstart",
    "pytest_unconfigure",
    "snapshot",
]

"""Items: one for each entry of expectations.yaml, with ``each: cable`` one for each cable."""

from __future__ import annotations

from typing import get_type_hints

import pytest

from ibaccept.checks.base import Expectation
from ibaccept.plugin.options import only_shows, option
from ibaccept.plugin.session import RUN
from ibaccept.report.allure import labels
from ibaccept.run.items import Entry, entries_of
from ibaccept.run.session import Session

NEEDS_LOAD = "needs --load"
NO_LOAD_THEN = "the run that is replayed made no load"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One item per entry of the annotated kind; with ``each: cable`` one per planned cable."""
    if "expected" not in metafunc.fixturenames:
        return
    kind = get_type_hints(metafunc.function).get("expected")
    if not (isinstance(kind, type) and issubclass(kind, Expectation)):
        return
    run = metafunc.config.stash.get(RUN, None)
    if run is None and only_shows(metafunc.config):
        metafunc.parametrize("entry", [], indirect=True)
        return
    if run is None:
        raise pytest.UsageError(
            f"{metafunc.function.__name__} judges a fabric: give --inventory, --lab or --replay"
        )
    params = []
    for expected in run.inputs.expectations.of_kind(kind):
        marks = [getattr(pytest.mark, mark) for mark in expected.marks]
        if metafunc.config.pluginmanager.hasplugin("allure_pytest"):
            marks += _allure_marks(run, expected)
        if expected.is_under_load:
            marks.append(pytest.mark.xdist_group("load"))
            if not run.info.load:
                requested = run.replay is not None and bool(option(metafunc.config, "load"))
                marks.append(pytest.mark.skip(reason=NO_LOAD_THEN if requested else NEEDS_LOAD))
        params += [
            pytest.param(entry, id=entry.id, marks=marks)
            for entry in entries_of(run.inputs, expected, run.info.day)
        ]
    metafunc.parametrize("entry", params, indirect=True)


def _allure_marks(run: Session, expected: Expectation) -> list[pytest.MarkDecorator]:
    """The labels of an entry, as allure-pytest's own decorators mark a test with them."""
    rows = labels(run.info.fabric, expected.kind, expected.area, expected.severity)
    return [pytest.mark.allure_label(value, label_type=name) for name, value in rows]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drop the placeholders pytest makes for kinds that no entry orders."""
    if config.stash.get(RUN, None) is None:
        return
    items[:] = [item for item in items if not _is_placeholder(item)]


def _is_placeholder(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    return (
        callspec is not None
        and "entry" in callspec.params
        and not isinstance(callspec.params["entry"], Entry)
    )

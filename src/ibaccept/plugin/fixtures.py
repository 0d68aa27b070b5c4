"""What a test function is given: its entry, what was seen, the load runs, and its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ibaccept.checks.base import Expectation
from ibaccept.checks.proof import Evidence
from ibaccept.observe.snapshot import Snapshot
from ibaccept.plugin.session import RUN
from ibaccept.run.inputs import Inputs
from ibaccept.run.items import Entry
from ibaccept.run.loads import LoadLook

if TYPE_CHECKING:
    from ibaccept.site.plan import PlannedCable

EVIDENCE = pytest.StashKey[Evidence]()


@pytest.fixture
def entry(request: pytest.FixtureRequest) -> Entry:
    """The entry of expectations.yaml this item judges."""
    given: Entry = request.param
    return given


@pytest.fixture
def expected(entry: Entry) -> Expectation:
    """What was ordered: the entry, of the kind the test names by annotation."""
    return entry.expected


@pytest.fixture
def cable(entry: Entry) -> PlannedCable | None:
    """The planned cable this item is about, with ``each: cable``."""
    return entry.cable


@pytest.fixture(scope="session")
def _look(request: pytest.FixtureRequest) -> Snapshot:
    return request.config.stash[RUN].snapshot()


@pytest.fixture
def snapshot(_look: Snapshot) -> Snapshot:
    """What was seen of the fabric."""
    return _look


@pytest.fixture
def inputs(request: pytest.FixtureRequest) -> Inputs:
    """The accepted expectations, inventory and job."""
    return request.config.stash[RUN].inputs


@pytest.fixture
def loads(request: pytest.FixtureRequest, snapshot: Snapshot) -> LoadLook:
    """The load runs; made when the first entry under load asks for them."""
    return request.config.stash[RUN].loads(snapshot)


@pytest.fixture
def evidence(request: pytest.FixtureRequest, snapshot: Snapshot, entry: Entry) -> Evidence:
    """Proves the findings of this test and keeps its verdict."""
    made = entry.evidence(snapshot, request.node.nodeid)
    request.node.stash[EVIDENCE] = made
    return made

"""The whole verdict of an entry on a fabric made by hand: the test of the suite, without a run."""

import importlib.util
import inspect
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import get_type_hints

import pytest

from ibaccept.checks.catalogue import kinds
from ibaccept.checks.proof import Evidence
from ibaccept.errors import IbacceptError
from ibaccept.site.adaptive import AdaptiveRouting
from ibaccept.site.yamlfile import loads
from ibaccept.verdict import NO_PROOF, NotJudgedError, NotMetError
from ibaccept.verdict.absence import NotSeen, NotSeenError

ABOUT = "what the entry is about"
SUITE = Path(__file__).parents[2] / "tests_fabric"


@cache
def judges():
    """The test of each kind in ``tests_fabric``, by the class its ``expected`` names."""
    found = {}
    for path in sorted(SUITE.glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"suite_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, function in vars(module).items():
            if name.startswith("test_"):
                found[get_type_hints(function)["expected"]] = function
    return found


def entry_of(text):
    """An entry of expectations.yaml, without its id."""
    value = loads(text, name="entry").value
    return kinds()[value["kind"]].model_validate({"id": "x", **value})


def judged(
    entry,
    snapshot,
    *,
    plan=None,
    job=None,
    loads=None,
    adaptive=AdaptiveRouting(),  # noqa: B008 - frozen
):
    """The verdict that the suite records of an entry.

    Args:
        entry: as YAML.
        snapshot: what was seen.
        plan: of the entry's ``plan:``.
        job: sides of the job.
        loads: what the test calls for the load runs.
        adaptive: what is known of adaptive routing.
    """
    expected = entry_of(entry)
    evidence = Evidence(snapshot, expected.ordered)
    given = {
        "snapshot": snapshot,
        "expected": expected,
        "cable": None,
        "evidence": evidence,
        "loads": loads,
        "inputs": SimpleNamespace(
            expectations=SimpleNamespace(plans={"plan": plan}),
            job_lids=lambda seen, **_absent: (seen.fabric, job)[1],
            adaptive=adaptive,
            ceilings={},
        ),
    }
    function = judges()[type(expected)]
    names = inspect.signature(function).parameters
    try:
        function(**{name: given[name] for name in names})
    except (NotMetError, NotJudgedError):
        pass
    except NotSeenError as error:
        evidence.unseen(error.part)
    except IbacceptError as error:
        evidence.unseen(NotSeen(ABOUT, str(error)))
    (verdict,) = evidence.verdicts
    return verdict


def outline(verdict):
    """Outcome, sentence, coverage, and outcome, subject, expected and found of each finding."""
    return (
        str(verdict.outcome),
        verdict.sentence,
        f"{verdict.coverage.judged} of {verdict.coverage.of}",
        [(f.outcome, f.subject.name, f.expected, f.found) for f in verdict.findings],
    )


def unproven(verdict):
    """Findings without a capture, a counter, a route, or a stated reason why there is none.

    That no output shows it is reason enough only for what the inputs say.
    """
    return [
        finding
        for finding in verdict.findings
        if not (finding.captures or finding.counters or finding.routes)
        and (not finding.missing or (finding.missing == (NO_PROOF,) and not is_input(finding)))
    ]


def is_input(finding):
    return finding.subject.name == ABOUT


@pytest.fixture(name="verdict_of")
def verdict_of_fixture(site_of, sides_of):
    """The verdict of a row of a table of outcomes, or of what it begins with."""

    def of(row):
        seen = row[0](site_of, sides_of)
        return judged(row[1], **(seen if isinstance(seen, dict) else {"snapshot": seen}))

    return of


@pytest.fixture(name="check_row")
def check_row_fixture(verdict_of):
    """Holds one row of a table of outcomes against what the suite says.

    A row is what was seen (a function of ``site_of`` and ``sides_of``: a snapshot, or a mapping
    with what else ``judged`` takes), the entry as YAML, and the outline of its verdict.
    """

    def check(row):
        verdict = verdict_of(row)
        assert outline(verdict) == row[2]
        assert unproven(verdict) == []

    return check

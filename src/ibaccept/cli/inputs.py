"""The inputs of a sub-command: read and held against each other; all problems in one go."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ibaccept.checks.base import Expectation
from ibaccept.checks.expectations import load_expectations
from ibaccept.checks.selector import LinkSelector, planned_cables
from ibaccept.cli.options import given, path_of
from ibaccept.errors import InputError, InputProblemsError
from ibaccept.observe.captured import fabric_of
from ibaccept.run.inputs import Inputs
from ibaccept.site.inventory import load_inventory
from ibaccept.site.plan import Plan


def load_inputs(options: argparse.Namespace) -> Inputs:
    """All inputs; the problems of all files together.

    Raises:
        InputError: every problem, a sentence each.
    """
    expectations, inventory = path_of(options, "expectations"), path_of(options, "inventory")
    _gather(
        [
            lambda: load_expectations(
                existing(expectations, "expectations"),
                name=expectations.name,
                load_fabric=fabric_of,
            ),
            lambda: load_inventory(existing(inventory, "inventory")),
        ]
    )
    inputs = Inputs.load(expectations, inventory, given(options, "job"))
    _gather(_cable_checks(inputs))
    return inputs


def existing(path: Path, what: str) -> Path:
    """The path itself.

    Raises:
        InputError: there is no such file.
    """
    if not path.is_file():
        raise InputError(f"there is no file {path}; name the {what} with --{what}=FILE")
    return path


def _gather(steps: Iterable[Callable[[], object]]) -> None:
    """Run every step; raise the problems of all of them."""
    problems: list[str] = []
    for step in steps:
        try:
            step()
        except InputProblemsError as error:
            problems += error.problems
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputProblemsError(dict.fromkeys(problems))


def _cable_checks(inputs: Inputs) -> Iterator[Callable[[], object]]:
    """Entries with ``each: cable`` need the cables by the plan alone."""
    plan = inputs.plan
    for entry in inputs.expectations.entries:
        links = getattr(entry, "links", None)
        if getattr(entry, "each", None) is None or plan is None or links is None:
            continue
        yield _cable_check(inputs, entry, links, plan)


def _cable_check(
    inputs: Inputs, entry: Expectation, links: LinkSelector, plan: Plan
) -> Callable[[], object]:
    def step() -> None:
        where = f"{inputs.expectations.source(entry)}: {entry.id}"
        try:
            chosen = planned_cables(links, plan, inputs.inventory)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        if not chosen:
            raise InputError(f"{where}: the plan has no {links.noun}, so nothing would be judged")

    return step

"""The suite's options, and whether a pytest run is about a fabric at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

SUITE = "tests_fabric"

OPTIONS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("inventory", {}, "inventory of the site (default inventory/site.yaml)"),
    ("expectations", {}, "what was ordered (default expectations.yaml)"),
    ("job", {}, "the job's clients: a group, a node set, a file, SLURM_JOB_NODELIST"),
    ("load", {"action": "store_true"}, "also make the load runs the expectations describe"),
    ("lab", {}, "look at a simulated fabric: a scenario's name, its file, or capture:FILE"),
    ("lab-backend", {"choices": ("ibsim",)}, "what plays the lab's fabric"),
    ("replay", {}, "judge the captures of an earlier run again; nothing is sent"),
    ("reports", {}, "folder for the run's folder (default reports)"),
    ("ssh-config", {}, "OpenSSH configuration to use instead of the user's"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Every option, each with an environment variable IBACCEPT_<NAME>."""
    group = parser.getgroup("ibaccept", "acceptance of an InfiniBand fabric")
    for name, settings, text in OPTIONS:
        dest = f"ibaccept_{name.replace('-', '_')}"
        group.addoption(f"--{name}", dest=dest, default=None, help=text, **settings)


def option(config: pytest.Config, name: str) -> str | None:
    """An option as given, else from its environment variable, else None."""
    dest = name.replace("-", "_")
    given = config.getoption(f"ibaccept_{dest}", None)
    if given is not None:
        return str(given)
    return os.environ.get(f"IBACCEPT_{dest.upper()}") or None


SHOWS = ("help", "version", "showfixtures", "show_fixtures_per_test", "markers", "cacheshow")
"""Options by which pytest prints something and runs no test."""

CHOICES = (
    "keyword",
    "markexpr",
    *(f"allure_{name}" for name in ("severities", "epics", "features", "stories", "labels")),
)
"""Options by which entries are chosen: ``-k``, ``-m``, and those of allure-pytest."""


def is_active(config: pytest.Config) -> bool:
    """True where this pytest run is about a fabric (and not about this package's own tests)."""
    if only_shows(config):
        return False
    if any(SUITE in Path(arg.split("::")[0]).parts for arg in config.args):
        return True
    return any(option(config, name) for name in ("inventory", "lab", "replay"))


def only_shows(config: pytest.Config) -> bool:
    """True where pytest only prints something and judges nothing."""
    return any(config.getoption(name, None) for name in SHOWS)

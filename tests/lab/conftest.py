"""Shared by the tests of the lab: a scenario from a few keys, and 'ssh' as a person types it."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ibaccept.lab import Lab, RunningLab, Scenario

Ssh = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def play() -> Callable[..., Scenario]:
    """A scenario on two switches with few hosts, changed by keyword."""

    def make(**changes: object) -> Scenario:
        return Scenario.model_validate(
            {
                "description": "a small fabric",
                "topology": {"builder": "two-switch", "clients": 6, "storage": 2, "isls": 2},
                "hosts": {"clients": "client-[1-6]", "storage": "stor-[1-2]"},
                **changes,
            }
        )

    return make


@pytest.fixture
def start(play: Callable[..., Scenario]) -> Iterator[Callable[..., RunningLab]]:
    """Starts labs, and stops them in the end."""
    labs: list[RunningLab] = []

    def begin(*, folder: Path | None = None, **changes: object) -> RunningLab:
        labs.append(Lab.start(play(**changes), folder=folder))
        return labs[-1]

    yield begin
    for lab in labs:
        lab.stop()


@pytest.fixture
def ssh() -> Ssh:
    """Runs OpenSSH's client against a lab."""

    def run(
        lab: RunningLab, host: str, command: str, **options: object
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["ssh", "-F", str(lab.ssh_config), host, command],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            **options,
        )

    return run

"""``ibaccept lab``: a simulated fabric in the foreground."""

from __future__ import annotations

import argparse
import re
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

from ibaccept.cli.text import DONE, columns, command_line, complain, say
from ibaccept.errors import InputError
from ibaccept.fabric.nodeset import fold
from ibaccept.lab import Lab, RunningLab, scenario

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def lab(options: argparse.Namespace) -> int:
    """List the scenarios, or start one, say how to reach it and keep it until a signal."""
    if options.list:
        if options.name is not None:
            raise InputError("--list lists every scenario; leave the name out")
        rows = [(name, scenario.load(name).description) for name in scenario.names()]
        for line in columns(rows):
            say(line)
        return DONE
    if options.name is None:
        raise InputError("name a scenario; 'ibaccept lab --list' lists them")
    folder = None if options.folder is None else Path(options.folder)
    if folder is not None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not an empty folder; name a new one")
    if folder is not None and re.search(r"[\s%\"]", str(folder.absolute())):
        # 'ssh -G' prints several known_hosts files in one line, not quoted
        raise InputError(
            f"{folder.absolute()} has a blank, % or quote, which ssh_config cannot say"
        )
    before = {number: signal.signal(number, _end) for number in ENDING}
    try:
        _keep(options.name, options.lab_backend, folder)
    except _EndedError:
        return DONE
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _keep(name: str, backend: str, folder: Path | None) -> NoReturn:
    """Start a lab and wait for a signal, which ends it."""
    running: RunningLab | None = None
    try:
        complain(f"starting the lab {name}")
        running = Lab.start(name, backend=backend, folder=folder)
        for line in instructions(running):
            say(line)
        sys.stdout.flush()
        while True:
            signal.pause()
    finally:
        for number in ENDING:  # a second Ctrl-C must not leave processes behind
            signal.signal(number, signal.SIG_IGN)
        if running is not None:
            running.stop()
            complain("the lab is stopped")


class _EndedError(BaseException):
    """A signal that ends the lab arrived; not an ``Exception``, so that nothing swallows it."""


def _end(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    raise _EndedError


def instructions(running: RunningLab) -> list[str]:
    """How to reach a lab, in plain lines."""
    play = running.scenario
    observer = play.hosts.observers[0]
    facts = [
        ("scenario", f"{play.name}: {play.description}"),
        ("folder", str(running.folder)),
        ("address", "127.0.0.1"),
        ("port", str(running.port)),
        ("user names", f"{fold(running.hosts)} (the user name is the host)"),
        *((role, fold(names)) for role, names in _groups(play.hosts)),
        ("key", str(running.key_file)),
        ("known_hosts", str(running.known_hosts)),
        ("ssh_config", str(running.ssh_config)),
        ("inventory", str(running.inventory)),
        ("commands", f"{running.log} (one JSON line for each that was served)"),
    ]
    if running.expectations is not None:
        facts.append(("expectations", str(running.expectations)))
    if running.plan is not None:
        facts.append(("cabling plan", str(running.plan)))
    if running.job is not None:
        facts.append(("job", running.job))
    width = max(len(name) for name, _ in facts)
    ssh = command_line(["ssh", "-F", running.ssh_config, observer, "ibnetdiscover"])
    pytest = ["pytest", "tests_fabric", f"--inventory={running.inventory}"]
    if running.expectations is not None:
        pytest.append(f"--expectations={running.expectations}")
    pytest.append(f"--ssh-config={running.ssh_config}")
    if running.job is not None:
        pytest.append(f"--job={running.job}")
    lines = [f"{name:<{width}}  {value}" for name, value in facts]
    lines += ["", "Query it by hand:", f"  {ssh}", "Judge it, from the project's folder:"]
    lines.append(f"  {command_line(pytest)}")
    if running.expectations is None:
        lines.append("  (the scenario orders nothing: this judges your own expectations.yaml)")
    return [*lines, "", "The lab runs until Ctrl-C."]


def _groups(hosts: scenario.Hosts) -> list[tuple[str, tuple[str, ...]]]:
    groups = (
        ("observers", hosts.observers),
        ("clients", hosts.clients),
        ("storage", hosts.storage),
    )
    return [(role, names) for role, names in groups if names]

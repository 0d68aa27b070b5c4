"""The simulated hosts as the SSH server sees them: who may log in, where, and what fails there."""

from __future__ import annotations

import contextlib
import re
import shlex
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import paramiko

from ibaccept.lab import backend as contract
from ibaccept.lab import faults
from ibaccept.lab.backend import Backend
from ibaccept.lab.scenario import Scenario
from ibaccept.lab.ssh.server import CommandRun, Request
from ibaccept.lab.traffic.plane import Plane
from ibaccept.transport.wrap import read_exec_string

Hook = Callable[[], None]


def argv_of(text: str) -> tuple[str, ...]:
    """The command of an exec string, without the transport's wrapper and without sudo."""
    argv: tuple[str, ...] = ()
    with contextlib.suppress(ValueError):
        # A plain 'ssh host ibstat' is not wrapped.
        argv = read_exec_string(text).argv
    if not argv:
        try:
            argv = tuple(shlex.split(text))
        except ValueError:
            argv = tuple(text.split())
    if argv[:1] == ("sudo",):
        argv = tuple(argv[1:])
        while argv[:1] and argv[0].startswith("-"):
            argv = argv[1:]
    return argv


def _without_tool(text: str, tool: str) -> str:
    """The exec string with an absent tool name: the search path would find the real tool."""
    absent = f"{tool}-that-is-not-installed"
    try:
        wrapped = read_exec_string(text)
    except ValueError:
        return re.sub(rf"(?<![\w/.-]){re.escape(tool)}(?![\w/.-])", absent, text)
    argv = (absent, *wrapped.argv[1:])
    if wrapped.argv[:2] == _SCRIPT:
        argv = (*_SCRIPT, wrapped.argv[2].replace(tool, absent), *wrapped.argv[3:])
    return replace(wrapped, argv=argv).exec_string


_SCRIPT = ("sh", "-c")


def tool_of(argv: tuple[str, ...]) -> str:
    """The tool a command is about: ``perfquery`` of the script called ``perfquery-each``."""
    if argv[:2] == _SCRIPT and len(argv) > 3:  # noqa: PLR2004 - sh -c SCRIPT NAME
        return argv[3].removesuffix("-each")
    return Path(argv[0]).name if argv else ""


class PlayedHosts:
    """Plays the hosts of a scenario; see ``server.Site``."""

    def __init__(
        self,
        play: Scenario,
        fabric: Backend,
        folder: Path,
        key: paramiko.PKey,
        plane: Plane,
    ) -> None:
        self._play = play
        self._fabric = fabric
        self._folder = folder
        self._key = key
        self._plane = plane
        self._lock = threading.Lock()
        self._started: Counter[tuple[str, str]] = Counter()
        self._served: Counter[str] = Counter()
        self._hooks: list[tuple[str, int, Hook]] = []
        self._missing = {
            (fault.host, tool)
            for fault in play.faults
            if isinstance(fault, faults.MissingTools)
            for tool in fault.tools
        }
        self._no_sudo = {f.host for f in play.faults if isinstance(f, faults.SudoRefused)}
        self._refused = {f.host for f in play.faults if isinstance(f, faults.Authentication)}
        self._outputs = [f for f in play.faults if isinstance(f, faults.Output)]

    def after(self, command: str, nth: int, hook: Hook) -> None:
        """See ``RunningLab.after``."""
        with self._lock:
            self._hooks.append((command, nth, hook))

    def admits(self, host: str, key: paramiko.PKey) -> bool:
        """A host of the scenario, with the lab's own key."""
        return host in self._play.hosts.names and host not in self._refused and key == self._key

    def prepare(self, request: Request) -> CommandRun:
        """The host's environment, and what its tools' output suffers this time."""
        argv = argv_of(request.text)
        tool = tool_of(argv)
        with self._lock:
            self._started[request.host, tool] += 1
            self._started["", tool] += 1
            output = next((o for o in self._outputs if self._suffers(o, request.host, tool)), None)
        env = {**self.environment(request.host)}
        text = request.text
        if (request.host, tool) in self._missing:
            text = _without_tool(text, tool)
        if output is None:
            return CommandRun(text, env)
        if output.how == "disconnect":
            return CommandRun(text, env, disconnect_at=output.at)
        env[contract.OUTPUT_FAULT] = output.how
        env[contract.OUTPUT_TOOL] = tool
        env[contract.OUTPUT_AT] = str(output.at)
        env[contract.OUTPUT_SED] = output.sed
        return CommandRun(text, env)

    def _suffers(self, output: faults.Output, host: str, tool: str) -> bool:
        return (
            output.command == tool
            and output.host in {None, host}
            and output.nth in {None, self._started[output.host or "", tool]}
        )

    def environment(self, host: str) -> Mapping[str, str]:
        """Variables in which a process is that host."""
        env = {
            "HOME": str(self._folder / "home"),
            "LANG": "C.UTF-8",
            "LOGNAME": host,
            "SHELL": "/bin/sh",
            "TMPDIR": str(self._folder / "home"),
            "USER": host,
            **self._fabric.environment(self._play.hosts.node(host)),
            **self._plane.environment(host),
        }
        if host in self._no_sudo:
            env["IBACCEPT_LAB_SUDO"] = "refuse"
        return env

    def served(self, request: Request) -> None:
        """Let happen what is to happen after this command."""
        argv = argv_of(request.text)
        tool = tool_of(argv)
        with self._lock:
            # A command without arguments is one key, not two.
            keys = {tool, " ".join((tool, *argv[1:]))}
            self._served.update(keys)
            due = [
                hook
                for command, nth, hook in self._hooks
                if command in keys and nth == self._served[command]
            ]
        for hook in due:
            hook()

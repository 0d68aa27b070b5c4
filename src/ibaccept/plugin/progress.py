"""A line for each step of a run, on the terminal."""

from __future__ import annotations

import pytest


class Progress:
    """A line for each step of the look; on stderr, so that it never mixes with a report."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def __call__(self, text: str) -> None:
        """Print a line; with ``-q`` and in an xdist worker nothing."""
        if self._config.getoption("quiet", 0) > 0 or hasattr(self._config, "workerinput"):
            return
        capture = self._config.pluginmanager.getplugin("capturemanager")
        terminal = self._config.get_terminal_writer()
        if capture is None:
            terminal.line(f"ibaccept: {text}")
            return
        with capture.global_and_fixture_disabled():
            if terminal.width_of_current_line:
                terminal.line()
            terminal.line(f"ibaccept: {text}")
            terminal.flush()

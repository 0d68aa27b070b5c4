"""Options of sub-commands: from the command line, the environment, or their defaults."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ibaccept.errors import InputError

DEFAULTS = {
    "inventory": "inventory/site.yaml",
    "expectations": "expectations.yaml",
    "reports": "reports",
}
"""As the options of the pytest run."""


def given(options: argparse.Namespace, name: str) -> str | None:
    """An option, else its environment variable ``IBACCEPT_...``, else its default."""
    text: str | None = getattr(options, name, None)
    return text or os.environ.get(f"IBACCEPT_{name.upper()}") or DEFAULTS.get(name)


def path_of(options: argparse.Namespace, name: str) -> Path:
    """The path an option names, or its default."""
    return Path(given(options, name) or "")


def ssh_config_of(options: argparse.Namespace) -> Path | None:
    """The OpenSSH configuration of ``--ssh-config``; None for the user's own.

    Raises:
        InputError: there is no such file.
    """
    text = given(options, "ssh_config")
    if text is not None and not Path(text).is_file():
        raise InputError(f"there is no file {text}; --ssh-config names an OpenSSH configuration")
    return None if text is None else Path(text)

"""The inputs of a sub-command: read and held against each other; all problems in one go."""

from __future__ import annotations

import argparse

from ibaccept.cli.options import given, path_of
from ibaccept.run.inputs import Inputs


def load_inputs(options: argparse.Namespace) -> Inputs:
    """All inputs, by the options of a sub-command.

    Raises:
        InputError: every problem, a sentence each.
    """
    return Inputs.load(
        path_of(options, "expectations"), path_of(options, "inventory"), given(options, "job")
    )

"""``ibaccept commands``, ``schema``, ``version``: what the suite is and sends."""

from __future__ import annotations

import argparse
import platform
import re
from pathlib import Path

from ibaccept import __version__
from ibaccept.cli.text import ANSWER_NO, DONE, complain, say
from ibaccept.commands import ALL, Command
from ibaccept.errors import InputError

USER = "ibaccept"


def commands(options: argparse.Namespace) -> int:
    """Print every command, or a sudoers file."""
    if options.sudoers:
        from ibaccept.cli.sudoers import FOLDER, sudoers  # noqa: PLC0415 - only for --sudoers

        text = sudoers(
            options.user or USER,
            folder=options.folder or FOLDER,
            old=options.old_sudo,
            hcas=options.hca or (),
        )
        say(text.rstrip("\n"))
        return DONE
    for name in ("user", "folder", "old_sudo", "hca"):
        if getattr(options, name):
            raise InputError(f"--{name.replace('_', '-')} goes with --sudoers")
    for title, effect in (
        ("Read-only: nothing on the fabric changes, no counter is cleared.", "read-only"),
        ("Load: only with --load.", "load"),
    ):
        chosen = [command for command in ALL if command.effect == effect]
        if chosen:
            say(title)
            for command in chosen:
                say(f"  {command_text(command)}")
                say(f"      {command.why}; {'root' if command.root else 'any user'}")
    return DONE


def command_text(command: Command) -> str:
    """``perfquery [-C HCA] [-P PORT] -x LID PORT``."""
    tool, *rest = command.template
    selection = ["[-C HCA] [-P PORT]"] if command.select else []
    options = [f"[{flag} {key.upper()}]" for flag, key in command.options]
    words = [re.sub(r"\{(\w+)\}", lambda found: found[1].upper(), part) for part in rest]
    return " ".join([tool, *selection, *options, *words])


def schema(options: argparse.Namespace) -> int:
    """Write the generated documents, or name those that are stale."""
    from ibaccept.checks import catalogue as generate  # noqa: PLC0415 - slow to import

    root = Path(options.root)
    if not (root / "docs").is_dir():
        raise InputError(
            f"{root} has no folder docs; run this in the project's folder or name it with --root"
        )
    if options.check:
        stale = (*generate.check_generated(root), *_verdicts_problems(root))
        for problem in stale:
            complain(problem)
        return ANSWER_NO if stale else DONE
    written = [*generate.write_generated(root), root / VERDICTS_FILE]
    (root / VERDICTS_FILE).write_text(_verdicts_text(), encoding="utf-8")
    for path in written:
        say(str(path))
    return DONE


VERDICTS_FILE = Path("docs/verdicts.schema.json")


def _verdicts_text() -> str:
    import json  # noqa: PLC0415 - as its neighbour

    from ibaccept.report import json_report  # noqa: PLC0415 - slow to import

    return json.dumps(json_report.schema(), indent=2) + "\n"


def _verdicts_problems(root: Path) -> tuple[str, ...]:
    path = root / VERDICTS_FILE
    if not path.is_file():
        return (f"{VERDICTS_FILE} is missing; run 'ibaccept schema'",)
    if path.read_text("utf-8") != _verdicts_text():
        return (f"{VERDICTS_FILE} is stale; run 'ibaccept schema'",)
    return ()


def version(options: argparse.Namespace) -> int:
    """Print the version."""
    del options
    say(f"ibaccept {__version__} (Python {platform.python_version()})")
    return DONE

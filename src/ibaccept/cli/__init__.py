"""The ``ibaccept`` command: one module for each group of sub-commands, imported when it runs.

Imports everything but the plugin.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from ibaccept.cli.text import INTERRUPTED, NOT_SEEN, REFUSED, complain
from ibaccept.errors import IbacceptError, InputError

Command = Callable[[argparse.Namespace], int]

EXIT_CODES = """\
exit codes:
  0  done, and where something is judged (show, spread --per-cable, route, schema --check): good
  1  judged, and not good
  3  something could not be seen or read, so nothing is judged
  4  refused before anything was done: an option, a file, a name
  130  interrupted
"""
PIPE_CLOSED = 141
"""As a shell reports a process that SIGPIPE ended."""


class _Parser(argparse.ArgumentParser):
    """Refuses with the exit code of every other refusal."""

    def error(self, message: str) -> NoReturn:
        self.exit(REFUSED, f"{self.prog}: {message}; see '{self.prog} --help'\n")


def _add(
    commands: argparse._SubParsersAction[_Parser], name: str, where: str, text: str
) -> _Parser:
    """A sub-command whose function is ``module:function``, imported when it is run."""
    parser = commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(where=where)
    return parser


def _inputs(parser: _Parser, *, job: bool) -> None:
    parser.add_argument(
        "--inventory", metavar="FILE", help="inventory of the site (default inventory/site.yaml)"
    )
    parser.add_argument(
        "--expectations", metavar="FILE", help="what was ordered (default expectations.yaml)"
    )
    if job:
        parser.add_argument(
            "--job", metavar="SET", help="the job's clients: a group, a node set, a file"
        )


def _ssh(parser: _Parser) -> None:
    parser.add_argument(
        "--ssh-config", metavar="FILE", help="OpenSSH configuration instead of the user's"
    )


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = _Parser(
        prog="ibaccept",
        description="Acceptance of an InfiniBand fabric: everything around the pytest run.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    one = _add(commands, "check", "check:check", "accept or refuse the inputs; connect to nothing")
    _inputs(one, job=True)

    one = _add(commands, "capture", "capture:capture", "sweep the fabric, judge nothing")
    _inputs(one, job=True)
    one.add_argument("--reports", metavar="FOLDER", help="for the run's folder (default reports)")
    _ssh(one)

    one = _add(commands, "plan", "capture:plan", "write the cabling plan of a fabric that is good")
    one.add_argument("run", nargs="?", metavar="RUN", help="folder of a run, or")
    one.add_argument("--inventory", metavar="FILE", help="sweep the fabric now")
    one.add_argument("--output", metavar="FILE", help="default: standard output")
    _ssh(one)

    one = _add(commands, "lab", "lab:lab", "start a simulated fabric and keep it until Ctrl-C")
    one.add_argument(
        "name", nargs="?", metavar="NAME", help="a scenario, its file, or capture:FILE"
    )
    one.add_argument("--list", action="store_true", help="every scenario, and what it is")
    one.add_argument("--lab-backend", default="ibsim", help="what plays the fabric (default ibsim)")
    one.add_argument("--folder", metavar="DIR", help="for its files; kept (default temporary)")

    one = _add(commands, "show", "show:show", "print the verdicts of a run")
    one.add_argument("run", metavar="RUN", help="folder of a run, such as reports/latest")
    one.add_argument("--id", metavar="ID", help="only this entry")
    one.add_argument("--failures", action="store_true", help="only what failed or is not judged")

    one = _add(commands, "compare", "compare:compare_runs", "hold two runs against each other")
    one.add_argument("old", metavar="OLD", help="folder of the earlier run")
    one.add_argument("new", metavar="NEW", help="folder of the later run")
    one.add_argument("--json", action="store_true", help="as JSON on standard output")
    one.add_argument("--html", metavar="FILE", help="also as a page")

    one = _add(commands, "history", "history:show_history", "what became of an entry over the runs")
    one.add_argument("id", nargs="?", metavar="ID", help="of an entry (default: every run)")
    one.add_argument("--reports", metavar="FOLDER", help="that holds the runs (default reports)")
    one.add_argument("--rebuild", action="store_true", help="from the folders of the runs, first")

    one = _add(commands, "commands", "site:commands", "every command that may ever be sent")
    one.add_argument("--sudoers", action="store_true", help="those that need root, for sudo")
    one.add_argument("--user", metavar="NAME", help="who logs in (default ibaccept)")
    one.add_argument("--folder", metavar="DIR", help="where the tools are (default /usr/sbin)")
    one.add_argument("--old-sudo", action="store_true", help="for sudo before 1.9.10")
    one.add_argument("--hca", action="append", metavar="HCA", help="of ib_hca, with --old-sudo")

    one = _add(commands, "schema", "site:schema", "write the generated files below docs/")
    one.add_argument("--check", action="store_true", help="name those that are stale, write none")
    one.add_argument("--root", metavar="DIR", default=".", help="the project's folder (default .)")

    _routes(commands)
    _add(commands, "version", "site:version", "print the version")
    return top


def _routes(commands: argparse._SubParsersAction[_Parser]) -> None:
    """Sub-commands about captured tables: no connection, no pytest."""
    spread = _add(
        commands,
        "spread",
        "routes:spread",
        "count a job's LIDs on every cable and direction, in captured tables",
    )
    spread.add_argument(
        "--lids-of", metavar="SET", required=True, help="who receives: client-[a-l], stor-*, LIDs"
    )
    spread.add_argument(
        "--from", dest="sources", metavar="SET", help="who sends (default every other host)"
    )
    spread.add_argument(
        "--per-cable", metavar="even|N", help="judge: LIDs allowed on the fullest cable"
    )
    route = _add(commands, "route", "routes:route", "follow the routes between two hosts")
    route.add_argument("a", metavar="A", help="a name, a LID or a GUID")
    route.add_argument("b", metavar="B", help="as A")
    for one in (spread, route):
        one.add_argument(
            "--topology", metavar="FILE", required=True, help="ibnetdiscover, also -p; or .lst"
        )
        one.add_argument(
            "--lfts",
            metavar="FILE",
            nargs="+",
            required=True,
            action="extend",
            help="dump_fts, ibroute, opensm-lfts.dump, opensm.fdbs or ibdiagnet's .fdbs; takes "
            "every word up to the next option",
        )
        one.add_argument(
            "--stderr", metavar="FILE", help="what dump_fts or ibroute printed on standard error"
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one sub-command.

    Args:
        argv: without the program's name, default ``sys.argv``.

    Returns:
        The exit code, see ``EXIT_CODES``.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):  # a stream that a caller put there
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # TextIOWrapper has it
    try:
        options = parser().parse_args(argv)
    except SystemExit as done:  # argparse: --help, or a refusal that is printed
        return int(done.code or 0)
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    """Run the sub-command; what went wrong is a sentence and an exit code."""
    module, _, name = str(options.where).partition(":")
    try:
        run: Command = getattr(importlib.import_module(f"ibaccept.cli.{module}"), name)
        code = run(options)
        sys.stdout.flush()
    except InputError as error:
        complain(error)
        code = REFUSED
    except IbacceptError as error:
        complain(error)
        code = NOT_SEEN
    except BrokenPipeError:  # | head
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = PIPE_CLOSED
    except OSError as error:
        if error.filename is None:
            raise  # no bad input: a bug keeps its traceback
        complain(f"{error.filename}: {error.strerror}")
        code = NOT_SEEN
    except KeyboardInterrupt:
        complain("interrupted")
        code = INTERRUPTED
    return code

"""The command line: help, refusals, exit codes, generated files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ibaccept
from ibaccept import commands
from ibaccept.cli import EXIT_CODES, main, parser
from ibaccept.cli.site import command_text
from ibaccept.cli.text import columns, command_line

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("numpy", "scipy", "pydantic", "paramiko", "yaml", "ClusterShell", "pytest", "jinja2")


def run(capsys, *argv):
    """Exit code, lines of standard output, lines of standard error."""
    code = main(list(map(str, argv)))
    out, err = capsys.readouterr()
    return code, out.splitlines(), err.splitlines()


def test_help_imports_nothing_heavy():
    program = (
        "import sys; from ibaccept.cli import main; code = main(['--help']); "
        f"print([m for m in {HEAVY} if m in sys.modules], code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "[] 0"
    assert EXIT_CODES in done.stdout


def test_every_sub_command_documents_its_exit_codes(capsys):
    names = ["check", "capture", "plan", "lab", "show", "commands", "schema", "spread", "route"]
    names.append("version")
    for name in names:
        assert main([name, "--help"]) == 0
        assert EXIT_CODES in capsys.readouterr().out
    assert f"{{{','.join(names)}}}" not in parser().format_usage()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "ibaccept: the following arguments are required: COMMAND; see 'ibaccept --help'"),
        (
            ["version", "--verbose"],
            "ibaccept: unrecognized arguments: --verbose; see 'ibaccept --help'",
        ),
        (
            ["show"],
            "ibaccept show: the following arguments are required: RUN; see 'ibaccept show --help'",
        ),
        (["commands", "--user", "me"], "ibaccept: --user goes with --sudoers"),
        (["commands", "--old-sudo"], "ibaccept: --old-sudo goes with --sudoers"),
        (
            ["commands", "--sudoers", "--user", "a b"],
            "ibaccept: 'a b' is not a user or %group",
        ),
        (["lab"], "ibaccept: name a scenario; 'ibaccept lab --list' lists them"),
        (
            ["lab", "healthy", "--list"],
            "ibaccept: --list lists every scenario; leave the name out",
        ),
        (
            ["plan"],
            "ibaccept: name the folder of a run, or --inventory=FILE to sweep now; one of them",
        ),
    ],
)
def test_a_usage_error_is_one_sentence_and_exit_code_4(capsys, argv, message):
    assert run(capsys, *argv) == (4, [], [message])


def test_version(capsys):
    code, out, err = run(capsys, "version")

    python = ".".join(map(str, sys.version_info[:3]))
    assert (code, out, err) == (0, [f"ibaccept {ibaccept.__version__} (Python {python})"], [])


def test_commands_are_all_printed_with_what_they_are_for(capsys):
    code, out, err = run(capsys, "commands")

    assert (code, err) == (0, [])
    for command in commands.ALL:
        at = out.index(f"  {command_text(command)}")
        assert out[at + 1] == f"      {command.why}; {'root' if command.root else 'any user'}"
    assert out[0] == "Read-only: nothing on the fabric changes, no counter is cleared."
    assert command_text(commands.PERFQUERY_X) == "perfquery [-C HCA] [-P PORT] -x LID PORT"
    assert command_text(commands.SAQUERY_LFTR) == "saquery [-C HCA] [-P PORT] LFTR LID/BLOCK"
    assert command_text(commands.IBSTAT) == "ibstat"
    one = commands.Command(
        "x", ("tool", "--in={path}/data", "{path}"), "", select=False, options=(("-d", "device"),)
    )
    assert command_text(one) == "tool [-d DEVICE] --in=PATH/data PATH"


def test_the_sudoers_file_goes_to_standard_output(capsys):
    code, out, err = run(capsys, "commands", "--sudoers", "--user", "ops", "--folder", "/opt/sbin")

    assert (code, err) == (0, [])
    assert "ops ALL=(root) NOPASSWD: IBACCEPT" in out
    assert "    /opt/sbin/dump_fts ^(-C [A-Za-z][A-Za-z0-9_]{0,63} )?(-P [0-9]{1,3} )?-n$" in out


def test_the_generated_files_are_written_and_checked(capsys, tmp_path):
    names = ["expectations.schema.json", "expectations.md", "verdicts.schema.json"]
    (tmp_path / "docs").mkdir()
    root = f"--root={tmp_path}"

    missing = run(capsys, "schema", "--check", root)
    written = run(capsys, "schema", root)
    good = run(capsys, "schema", "--check", root)
    for name in names:
        with (tmp_path / "docs" / name).open("a") as file:
            file.write("\n")
    stale = run(capsys, "schema", "--check", root)

    say = "ibaccept: docs/{} is {}; run 'ibaccept schema'"
    assert missing == (1, [], [say.format(name, "missing") for name in names])
    assert written == (0, [f"{tmp_path}/docs/{name}" for name in names], [])
    assert good == (0, [], [])
    assert stale == (1, [], [say.format(name, "stale") for name in names])
    assert json.loads((tmp_path / "docs" / names[2]).read_text())["title"] == (
        "ibaccept verdicts.json, schema 1"
    )


def test_generated_files_are_only_written_where_a_project_is(capsys, tmp_path):
    assert run(capsys, "schema", f"--root={tmp_path}") == (
        4,
        [],
        [
            f"ibaccept: {tmp_path} has no folder docs; run this in the project's folder or name it "
            "with --root"
        ],
    )


def test_the_documents_of_this_project_are_not_stale(capsys):
    assert run(capsys, "schema", "--check", f"--root={ROOT}") == (0, [], [])


def test_a_closed_pipe_is_no_traceback():
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as out:
        done = subprocess.run(
            [sys.executable, "-m", "ibaccept", "commands", "--sudoers", "--old-sudo"],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert (done.returncode, done.stderr) == (141, "")


def test_text_helpers():
    assert columns([]) == []
    assert columns([("a", "b"), ("ccc", "1")], right=(1,)) == ["a    b", "ccc  1"]
    assert command_line(["ssh", "-F", "/a b/c", "--job=node[1-2]"]) == (
        "ssh -F '/a b/c' --job='node[1-2]'"
    )

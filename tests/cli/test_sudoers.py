"""The sudoers file: accepted by visudo, and what the real sudo permits by it."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from ibaccept import commands
from ibaccept.cli.sudoers import sudoers
from ibaccept.commands import Command
from ibaccept.errors import InputError
from ibaccept.transport import Host
from ibaccept.transport.wrap import Ending, result_of, wrap

USER = f"ibsudo{os.getpid()}"

NEEDED = [
    command.argv(**selection, **values)
    for command in commands.ALL
    if command.root
    for selection in (
        {},
        {"hca": "mlx5_0"},
        {"hca_port": 2},
        {"hca": "mlx5_0", "hca_port": 1},
    )
    if command.select or not selection
    for values in (
        {
            name: {"lid": 49151, "port": 129, "block": 767, "ports": "1,2,3,4,7"}[name]
            for name in ("lid", "port", "block", "ports")
            if f"{{{name}}}" in " ".join(command.template)
        },
    )
]
"""Every command that needs root, as the suite would send it."""

FORBIDDEN = [
    shlex.split(line)
    for line in (
        "perfquery -R 3 1",
        "perfquery -r 3 1",
        "perfquery -x -r 3 1",
        "perfquery -x 3 1 -R",
        "perfquery 3 1 0xffff",
        "perfquery -a -R",
        "perfquery",
        "perfquery '3 1' -R",
        "perfquery -x '3\n-R' 1",
        "perfquery -C mlx5_0 -R 3 1",
        "perfquery -C '-R' 3 1",
        "perfquery -P '1 -R' 3 1",
        "ibqueryerrors",
        "ibqueryerrors -k",
        "ibqueryerrors -K --skip-sl",
        "ibqueryerrors --skip-sl -k",
        "ibqueryerrors --skip-sl --counters --clear-errors",
        "ibnetdiscover --cache /etc/passwd",
        "ibnetdiscover -C mlx5_0 --cache /etc/passwd",
        "ibnetdiscover -o",
        "iblinkinfo",
        "iblinkinfo --line --load-cache /etc/shadow",
        "sminfo -s 3 5",
        "sminfo 5 1",
        "sminfo -p 15 5",
        "saquery -s -d",
        "saquery LFTR 3",
        "saquery --smkey 1 -s",
        "dump_fts",
        "dump_fts -n -D 0",
        "smpquery portinfo 3",
        "smpquery nodeinfo 3 1",
        "ibportstate 3 1 reset",
        "opensm",
        "sh -c id",
    )
]


@pytest.fixture(scope="module")
def permits():
    """Which argv a user may run as root by a sudoers file, by the real sudo."""
    subprocess.run(["useradd", "-M", "-p", "*", "-s", "/bin/sh", USER], check=True)
    rules = Path("/etc/sudoers.d") / USER

    def permitted(text, argvs):
        rules.write_text(text)
        rules.chmod(0o440)
        found = []
        for tool, *words in argvs:
            path = tool if tool.startswith("/") else f"/usr/sbin/{tool}"
            # Asked by root about another user; nothing is run.
            asked = ["sudo", "-l", "-U", USER, "--", path, *words]
            done = subprocess.run(asked, capture_output=True, check=False, timeout=20)
            if done.returncode == 0:
                found.append((tool, *words))
        return found

    yield permitted
    rules.unlink(missing_ok=True)
    subprocess.run(["userdel", "-f", USER], check=True, capture_output=True)


def visudo(tmp_path, text):
    file = tmp_path / "sudoers"
    file.write_text(text)
    done = subprocess.run(
        ["/usr/sbin/visudo", "-cf", file], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def with_kill(text):
    """The file with its optional line in force."""
    return text.replace(f"# {USER} ALL", f"{USER} ALL")


@pytest.mark.real
@pytest.mark.parametrize("old", [False, True])
def test_visudo_accepts_the_file(tmp_path, old):
    text = sudoers(USER, old=old, hcas=["mlx5_0"])
    group = sudoers("%ib-admins", old=old, folder="/opt/ib/sbin")

    file = tmp_path / "sudoers"
    assert visudo(tmp_path, text) == (0, f"{file}: parsed OK\n")
    assert visudo(tmp_path, with_kill(text)) == (0, f"{file}: parsed OK\n")
    assert visudo(tmp_path, group) == (0, f"{file}: parsed OK\n")


@pytest.mark.real
@pytest.mark.parametrize("old", [False, True])
def test_sudo_permits_every_command_of_the_suite_and_nothing_else(permits, old):
    text = sudoers(USER, old=old, hcas=["mlx5_0"])

    assert permits(text, NEEDED) == NEEDED
    assert permits(text, FORBIDDEN) == []


@pytest.mark.real
@pytest.mark.parametrize("old", [False, True])
def test_kill_is_permitted_only_where_its_line_is_put_in_force(permits, old):
    text = sudoers(USER, old=old)
    wrappers = [
        ("/usr/bin/kill", "-TERM", "--", "-4242"),
        ("/usr/bin/kill", "-KILL", "--", "4242"),
        ("/usr/bin/kill", "-KILL", "--", "-4194304"),
    ]
    others = [
        ("/usr/bin/kill", "-HUP", "--", "1"),
        ("/usr/bin/kill", "-KILL", "--", "1", "2"),
        ("/usr/bin/kill", "1"),
    ]

    assert permits(text, wrappers + others) == []
    assert permits(with_kill(text), wrappers + others) == wrappers


def as_wrapped(argv):
    """A command as the transports send it, run by the user: stdin stays open until it has ended."""
    wrapped = wrap(argv, timeout=20, root=True)
    process = subprocess.Popen(
        wrapped.words,
        user=USER,
        cwd="/",
        env={"PATH": "/usr/bin:/bin", "HOME": "/"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    code = process.wait(timeout=20)
    out, err = process.communicate(timeout=20)
    ending = Ending(exit_code=code)
    return result_of(Host("h", sudo=True), wrapped, out, err, ending, limit=1 << 20)


@pytest.mark.real
@pytest.mark.parametrize("old", [False, True])
def test_what_the_transports_hand_to_sudo_is_what_the_file_permits(permits, old):
    permits(sudoers(USER, old=old), [])

    good = as_wrapped(("ibqueryerrors", "--skip-sl"))
    clears = as_wrapped(("ibqueryerrors", "--skip-sl", "-k"))

    # The tool itself ran (this machine has no HCA, which is what it says).
    assert (good.sudo_refused, b"sudo" in good.stderr, bool(good.stderr)) == (False, False, True)
    assert clears.sudo_refused


def test_every_command_that_needs_root_is_in_the_file_and_no_other():
    text = sudoers(USER)

    tools = {command.template[0] for command in commands.ALL if command.root}
    named = {
        line.split()[0].removeprefix("/usr/sbin/")
        for line in text.splitlines()
        if line.startswith("    /usr/sbin/")
    }
    assert named == tools
    assert "ibstat" not in named


def test_the_file_of_one_command():
    command = Command("a-b", ("tool", "--x", "{lid}/{block}"), "to know")

    new = sudoers("me", chosen=[command]).splitlines()
    old = sudoers("me", chosen=[command], old=True, hcas=["a0"]).splitlines()

    assert new[3:14] == [
        "# For sudo 1.9.10 and newer, which reads ^...$ as a regular expression.",
        "",
        "# to know",
        "Cmnd_Alias IBACCEPT_A_B = \\",
        "    /usr/sbin/tool ^(-C [A-Za-z][A-Za-z0-9_]{0,63} )?(-P [0-9]{1,3} )?"
        "--x ([1-9][0-9]{0,4})/([0-9]{1,3})$",
        "Cmnd_Alias IBACCEPT = \\",
        "    IBACCEPT_A_B",
        "",
        "Defaults:me !requiretty",
        "me ALL=(root) NOPASSWD: IBACCEPT",
        "",
    ]
    rules = [line.strip(" ,\\") for line in old if line.startswith("    /usr/sbin/")]
    assert len(rules) == 4 * 5 * 3
    assert rules[0] == "/usr/sbin/tool --x [1-9]/[0-9]"
    assert rules[-1] == (
        "/usr/sbin/tool -C a0 -P [1-9] --x [1-9][0-9][0-9][0-9][0-9]/[0-9][0-9][0-9]"
    )
    assert not [line for line in old if "*" in line]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"user": "a b"}, "'a b' is not a user or %group"),
        ({"user": "ALL ALL=(ALL) ALL"}, "'ALL ALL=(ALL) ALL' is not a user or %group"),
        ({"user": "ALL"}, "'ALL' is not a user or %group"),
        ({"user": "me", "folder": "sbin"}, "'sbin' is not an absolute folder"),
        ({"user": "me", "folder": "/a b"}, "'/a b' is not an absolute folder"),
        ({"user": "me", "hcas": ["*"]}, "'*' is not the name of an HCA"),
    ],
)
def test_what_cannot_stand_in_a_sudoers_file_is_refused(given, message):
    user = given.pop("user")
    with pytest.raises(InputError) as caught:
        sudoers(user, **given)

    assert str(caught.value) == message

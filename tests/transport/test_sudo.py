"""Root by the real ``sudo -n``, for a throw-away user over a real OpenSSH server."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from ibaccept.transport import TransportError

pytestmark = pytest.mark.real

MARKER = "4242.0830"


@pytest.fixture
def user():
    """A user without a password; ends and removes it and its sudo rules afterwards."""
    name = f"ibtest{os.getpid()}"
    rules = Path("/etc/sudoers.d") / name
    subprocess.run(["useradd", "-M", "-p", "*", "-s", "/bin/sh", name], check=True)

    def allow(*commands):
        rules.write_text("".join(f"{name} ALL=(root) NOPASSWD: {line}\n" for line in commands))
        rules.chmod(0o440)
        return name

    yield allow
    rules.unlink(missing_ok=True)
    subprocess.run(["userdel", "-f", name], check=True, capture_output=True)


@pytest.fixture
def as_user(user, new_sshd):
    # sshd reads authorized_keys as the user, who cannot enter pytest's own folder
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        server = new_sshd("one", "LogLevel INFO")
        config = server.folder / "sshd_config"
        text = config.read_text().replace(f"{server.folder}/authorized_keys", f"{folder}/keys")
        config.write_text(text)
        shutil.copy(server.folder / "authorized_keys", f"{folder}/keys")
        server.process.send_signal(signal.SIGHUP)  # sshd reads its configuration again
        transport = server.transport()

        def run(rules, *argv, timeout=20):
            host = server.host(user=user(*rules), sudo=True)
            for _ in range(20):
                try:
                    return transport.run(host, argv, timeout=timeout, root=True)
                except TransportError as error:  # sshd has not read its configuration yet
                    last = error
                    time.sleep(0.1)
            raise last

        yield run


def test_an_allowed_command_runs_as_root(as_user):
    result = as_user(["/usr/bin/id -u"], "id", "-u")

    assert (result.stdout, result.exit_code, result.problem()) == (b"0\n", 0, None)


def test_a_password_prompt_is_told_from_a_failure(as_user):
    refused = as_user(["/usr/bin/id -u"], "id", "-g")
    failed = as_user(["/usr/bin/false"], "false")

    assert (refused.sudo_refused, refused.exit_code, refused.stdout) == (True, 1, b"")
    assert refused.problem() == (
        "h: sudo asked for a password for id; allow it without "
        "('ibaccept commands --sudoers' prints the rule)"
    )
    assert (failed.sudo_refused, failed.exit_code, failed.problem()) == (False, 1, None)


def test_roots_command_is_ended_by_what_sudo_relays(as_user, leftovers):
    result = as_user(["/usr/bin/sleep"], "sleep", f"{MARKER}1", timeout=3)

    assert (result.timed_out, result.stderr, result.exit_code) == (True, b"", None)
    assert leftovers(f"{MARKER}1") == []


def stubborn(marker):
    return ("sh", "-c", f"trap '' TERM; while :; do sleep {marker}; done")


def test_roots_command_that_ignores_term_is_killed_where_kill_is_allowed(as_user, leftovers):
    result = as_user(["/usr/bin/sh", "/usr/bin/kill"], *stubborn(f"{MARKER}2"), timeout=3)

    assert (result.timed_out, result.stderr, result.exit_code) == (True, b"", None)
    assert leftovers(f"{MARKER}2") == []


def test_roots_command_that_cannot_be_ended_is_said(as_user, leftovers):
    result = as_user(["/usr/bin/sh"], *stubborn(f"{MARKER}3"), timeout=3)

    assert (result.timed_out, result.exit_code) == (True, None)
    assert re.fullmatch(
        rb"ibaccept: process \d+ could not be ended on the host; end it there\n", result.stderr
    )
    assert leftovers(f"{MARKER}3") != []  # and the fixture ends it

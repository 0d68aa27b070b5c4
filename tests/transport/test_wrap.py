"""The wrapper as text: what is sent can be read back, and what comes back is split rightly."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.transport import CommandResult, Host
from ibaccept.transport import wrap as wrapper
from ibaccept.transport.wrap import (
    SCRIPT,
    Ending,
    Wrapped,
    read_exec_string,
    result_of,
    unframe,
    wrap,
)

WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=()), max_size=20)
NAMES = WORDS.filter(lambda word: word and not word.startswith("-"))


@given(NAMES, st.lists(WORDS, max_size=5), st.booleans(), st.integers(1, 9999))
def test_what_was_wrapped_is_read_again(name, words, root, timeout):
    wrapped = wrap((name, *words), timeout=timeout, root=root)

    assert (wrapped.argv, wrapped.root, wrapped.timeout) == ((name, *words), root, timeout)
    assert read_exec_string(wrapped.exec_string) == wrapped


def frame(wrapped, stdout, stderr, start, end):
    """Both streams as the script prints them."""
    token = wrapped.token.encode()
    head = b"%s start %.9f\n" % (token, start)
    return token + b"\n" + stdout, head + stderr + b"\n%s end %.9f\n" % (token, end)


@given(st.binary(), st.binary())
def test_a_frame_is_taken_off_again(stdout, stderr):
    wrapped = Wrapped(("x",), "0123456789abcdef", 5)

    out = unframe(wrapped.token, *frame(wrapped, stdout, stderr, 1700000000.25, 1700000001.5))

    assert (out.stdout, out.stderr, out.start, out.end, out.begun) == (
        stdout,
        stderr,
        1700000000.25,
        1700000001.5,
        True,
    )


@pytest.mark.parametrize(
    "text", ["ls", "sh -c x y t 5 user now ls", "exec sh -c 'eval \"$0\"' x t 5 user now ls"]
)
def test_other_commands_are_not_unwrapped(text):
    with pytest.raises(ValueError, match="not a command of ibaccept"):
        read_exec_string(text)


@pytest.mark.parametrize("argv", [(), ("",), ("-x",), ("a", "b\0c")])
def test_what_is_no_command_is_refused(argv):
    with pytest.raises(ValueError, match=r"names no command|NUL byte"):
        wrap(argv, timeout=1)


def test_the_script_holds_nothing_that_login_shells_quote_differently():
    assert not set(SCRIPT) & set("'\n")
    assert "\\\\" not in SCRIPT


@pytest.mark.real
@pytest.mark.parametrize("shell", [("dash",), ("bash", "--posix"), ("busybox", "sh")])
def test_the_script_runs_in_every_common_shell(shell):
    def run(argv):
        wrapped = wrap(argv, timeout=9)
        with subprocess.Popen(
            [*shell, *wrapped.words[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            code = process.wait(10)
            out, err = process.communicate()
        return code, unframe(wrapped.token, out, err)

    code, out = run(
        ("sh", "-c", 'cat; printf data; printf %s "$1" >&2; kill -KILL $$', "x", "a 'b'")
    )
    missing_code, missing = run(("no-such-tool",))

    assert (code, out.stdout, out.stderr, out.start <= out.end) == (-9, b"data", b"a 'b'", True)
    assert (missing_code, missing.note) == (127, "missing")


HOST = Host("h")


def judged(stderr, *, root=True, exit_code=1, stdout=b""):
    wrapped = Wrapped(("ibstat",), "0123456789abcdef", 5, root)
    framed = frame(wrapped, stdout, stderr, 1.0, 2.0)
    return result_of(HOST, wrapped, *framed, Ending(exit_code), limit=100).sudo_refused


@pytest.mark.parametrize(
    "message",
    [
        b"sudo: a password is required\n",
        b"lecture\nsudo: a password is required\n",
        b"sudo: a terminal is required to read the password\nsudo: a password is required\n",
        b"sudo: no tty present and no askpass program specified\n",
        b"sudo: sorry, you must have a tty to run sudo\n",
        b"sudo: interactive authentication is required\n",
        b"Sorry, user joe is not allowed to execute '/usr/sbin/ibstat' as root on h.\n",
        b"joe is not in the sudoers file.\nThis incident has been reported to the administrator.\n",
    ],
)
def test_sudos_refusal_is_told_from_the_tools_own_failure(message):
    assert judged(message)
    assert not judged(message, root=False)
    assert not judged(message, exit_code=2)
    assert not judged(message, stdout=b"x")
    assert not judged(b"ibstat: can't open device\n")


def test_sudo_that_is_not_there_is_a_refusal():
    wrapped = Wrapped(("ibstat",), "0123456789abcdef", 5, root=True)

    result = result_of(HOST, wrapped, b"", b"0123456789abcdef nosudo\n", Ending(1), limit=9)

    assert result == CommandResult(
        "h", ("ibstat",), b"", b"ibaccept: sudo is not installed on the host\n", 1,
        sudo_refused=True,
    )  # fmt: skip


WAITS = 'ForceCommand sh -c "$SSH_ORIGINAL_COMMAND"; code=$?; sleep 0.1; exit $code'


def processes_of(mark):
    """Processes that have a word in their environment: whatever came of one connection."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().split(b"\0")[0])
    return found


def left_of(mark):
    deadline = time.monotonic() + 6
    while (found := processes_of(mark)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


@pytest.mark.real
def test_nothing_stays_behind_a_forced_command_that_waits(new_sshd):
    """It does not lead its process group: sh and sleep stayed there, two a command."""
    server = new_sshd("one", WAITS, "SetEnv MARK=4242.0840")
    transport = server.transport()

    def run(script, **options):
        return transport.run(server.host(), ("sh", "-c", script), **({"timeout": 4321} | options))

    plain = run("echo out; exit 3")
    behind = run("sleep 4242.0841 & echo out")
    stubborn = run("trap '' TERM; echo out; while :; do sleep 4242.0842; done", timeout=2)
    held = transport.start(server.host(), ("echo", "held"), timeout=4321, held=True)
    held.release()

    assert [(r.stdout, r.exit_code) for r in (plain, behind, held.wait())] == [
        (b"out\n", 3), (b"out\n", 0), (b"held\n", 0),
    ]  # fmt: skip
    assert (stubborn.stdout, stubborn.timed_out) == (b"out\n", True)
    assert left_of("MARK=4242.0840") == []


def lose(server):
    for pid in server.sessions():
        os.kill(pid, signal.SIGKILL)


def appears(proof, seconds):
    deadline = time.monotonic() + seconds
    while not proof.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return proof.exists()


@pytest.mark.real
@pytest.mark.parametrize("lines", [(), (WAITS,)])
def test_a_connection_lost_during_a_removal_does_not_end_it(new_sshd, tmp_path, lines):
    server = new_sshd("one", "SetEnv MARK=4242.0843", *lines)
    begun, done = tmp_path / "begun", tmp_path / "done"
    script = f"echo x > {begun}; sleep 4; echo still here >&2; echo x > {done}"
    removal = server.transport().start(server.host(), ("sh", "-c", script), timeout=1, held="last")
    removal.release()
    assert appears(begun, 5)
    lose(server)

    assert removal.wait().lost or removal.wait().timed_out
    assert appears(done, 10)
    assert left_of("MARK=4242.0843") == []


@pytest.mark.real
def test_a_client_that_freezes_does_not_keep_the_host_from_removing(
    new_sshd, tmp_path, monkeypatch
):
    """No end of file ever comes: the host's own timer begins it, and no other ends it."""
    monkeypatch.setattr(wrapper, "SCRIPT", SCRIPT.replace("n + n + 20", "n"))
    server = new_sshd("one", "SetEnv MARK=4242.0844")
    done = tmp_path / "done"
    removal = server.transport().start(
        server.host(), ("sh", "-c", f"sleep 6; echo x > {done}"), timeout=1, held="last"
    )
    frozen = server.sessions()
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    came = appears(done, 30)
    lose(server)

    assert came
    assert removal.stop(0.1).exit_code is None
    assert left_of("MARK=4242.0844") == []

"""The wrapper as text: what is sent can be read back, and what comes back is split rightly."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.transport import CommandResult, Host
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

"""Commands on this machine and over a real OpenSSH server: the same results from both."""

import dataclasses
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from ibaccept.transport import CommandResult, Host, NotPermittedError, TransportError, wrap
from ibaccept.transport.channel import SshProcess
from ibaccept.transport.fanout import run_many
from ibaccept.transport.local import LocalProcess, LocalTransport

pytestmark = pytest.mark.real

NASTY = (
    "", " ", "a b", "'", '"', "''", "\\", "\\'", "$HOME", "$(id)", "`id`", "*", "?", "[a]", "~",
    "#", "!", "!!", "a;b", "&", "|", "<", ">", "(", ")", "{a,b}", "%s", "\\n", "\n", "\t", "\r",
    "a\nb\n", "-n", "--", "-e", "=", "a=b", "é", "日本", "\udcff", "\x01", "\x7f", "x" * 5000,
)  # fmt: skip


def plain(result: CommandResult) -> CommandResult:
    """The result without its times, which must be there and in order."""
    assert result.start is not None
    assert result.end is not None
    assert 0 <= result.end - result.start < 30
    assert abs(result.end - time.time()) < 30
    return dataclasses.replace(result, start=None, end=None)


def test_every_nasty_word_arrives_as_it_was(runner):
    argv = ("printf", "%s\\0", *NASTY)

    result = runner(*argv)

    assert plain(result) == CommandResult(
        "h",
        argv,
        b"".join(word.encode("utf-8", "surrogateescape") + b"\0" for word in NASTY),
        b"",
        0,
    )


def test_exit_codes_are_the_commands_own_even_where_a_shell_would_say_signal(runner):
    codes = (*range(12), 64, *range(124, 145), 192, 254, 255)

    seen = {code: runner("sh", "-c", f"exit {code}") for code in codes}

    assert {code: (r.exit_code, r.signal, r.problem()) for code, r in seen.items()} == {
        code: (code, None, None) for code in codes
    }


def test_all_exit_codes_over_ssh(sshd):
    transport = sshd.transport()
    jobs = [(sshd.host(), ("sh", "-c", f"exit {code}")) for code in range(256)]

    results = run_many(transport, jobs, timeout=60, fan_out=4)

    seen = [getattr(results[code], "exit_code", str(results[code])) for code in range(256)]
    assert seen == list(range(256))


@pytest.mark.parametrize("name", ["HUP", "INT", "TERM", "KILL", "SEGV", "ABRT", "PIPE", "USR1"])
def test_a_signal_is_told_from_an_exit_code(runner, name):
    result = runner("sh", "-c", f"echo partial; ulimit -c 0; kill -{name} $$")

    assert (result.stdout, result.exit_code, result.signal) == (b"partial\n", None, name)
    assert result.problem() == f"h: sh was ended by signal {name}; its output may be cut"


def test_streams_are_separate_and_bytes_stay_bytes(runner):
    script = r"printf 'out\377\000'; printf 'err\376' >&2; printf x; printf y >&2"

    result = runner("sh", "-c", script)

    assert plain(result) == CommandResult(
        "h", ("sh", "-c", script), b"out\xff\x00x", b"err\xfey", 0
    )


def test_five_megabytes_on_both_streams(runner):
    script = "head -c 5000000 /dev/zero; head -c 3000000 /dev/zero >&2"

    result = runner("sh", "-c", script, limit=1 << 23)

    assert (len(result.stdout), len(result.stderr), result.problem()) == (
        5_000_000,
        3_000_000,
        None,
    )


def test_more_than_the_limit_is_cut_ended_and_said(runner, leftovers):
    marker = "limit-marker-5417"

    result = runner("yes", marker, limit=1000)

    assert (len(result.stdout), result.truncated, result.exit_code) == (1000, True, None)
    assert result.problem() == "h: yes printed more than the output limit; its output is cut"
    assert leftovers(marker) == []


def test_an_endless_stderr_is_cut_ended_and_said(runner, leftovers):
    marker = "limit-marker-5418"

    result = runner("sh", "-c", f"yes {marker} >&2", limit=1000, timeout=60)

    assert (len(result.stderr), result.truncated, result.exit_code) == (1000, True, None)
    assert result.start is not None
    assert leftovers(marker) == []


def test_output_of_exactly_the_limit_is_whole(runner):
    whole = runner("head", "-c", "1000", "/dev/zero", limit=1000)
    cut = runner("head", "-c", "1001", "/dev/zero", limit=1000)

    assert (len(whole.stdout), whole.problem()) == (1000, None)
    assert (len(cut.stdout), cut.truncated) == (1000, True)


def test_a_command_has_no_input(runner):
    assert plain(runner("cat")) == CommandResult("h", ("cat",), b"", b"", 0)


def test_a_command_that_does_not_end_is_ended_with_all_it_started(runner, leftovers):
    marker = "4242.0815"
    script = f"echo begun; sleep {marker} & sleep {marker}; echo never"

    result = runner("sh", "-c", script, timeout=4)

    assert plain(result) == CommandResult(
        "h", ("sh", "-c", script), b"begun\n", b"", None, timed_out=True
    )
    assert leftovers(marker) == []


def test_a_command_that_ignores_term_is_killed(runner, leftovers):
    marker = "4242.0816"
    script = f"trap '' TERM; while :; do sleep {marker}; done"

    result = runner("sh", "-c", script, timeout=4)

    assert plain(result) == CommandResult("h", ("sh", "-c", script), b"", b"", None, timed_out=True)
    assert leftovers(marker) == []


def test_what_a_command_leaves_behind_is_ended_with_it(runner, leftovers):
    marker = "4242.0817"

    result = runner("sh", "-c", f"sleep {marker} & echo done")

    assert (result.stdout, result.exit_code) == (b"done\n", 0)
    assert leftovers(marker) == []


def test_a_missing_tool_is_told_from_exit_code_127(runner):
    missing = runner("no-such-tool-here", "x")
    own = runner("sh", "-c", "exit 127")
    path = runner("/usr/bin/no-such-tool-here")

    assert (missing.missing, missing.exit_code, missing.stdout, missing.stderr) == (
        True, 127, b"", b"",
    )  # fmt: skip
    assert (own.missing, own.exit_code) == (False, 127)
    assert path.missing


def test_sbin_is_in_the_path_and_the_language_is_c(runner, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")

    result = runner("sh", "-c", 'echo "$LC_ALL $LANG"; command -v sshd')

    assert result.stdout == b"C C\n/usr/sbin/sshd\n"


def test_times_are_taken_around_the_command(runner):
    before = time.time()
    result = runner("sleep", "0.5")
    after = time.time()

    assert before <= result.start <= result.end <= after
    assert 0.5 <= result.end - result.start < 1.5


def test_an_argv_that_is_not_permitted_never_leaves(sshd):
    asked = []
    transport = sshd.transport(permit=lambda argv: asked.append(argv) or argv[0] == "true")
    nowhere = Host("nowhere", address="name.invalid")

    with pytest.raises(NotPermittedError, match="'perfquery -R 1 1' is not a command"):
        transport.run(nowhere, ["perfquery", "-R", "1", "1"], timeout=5)
    with pytest.raises(NotPermittedError):
        run_many(transport, [(nowhere, ("true",)), (nowhere, ("false",))], timeout=5)
    with pytest.raises(NotPermittedError):
        LocalTransport(lambda _: False).run(nowhere, ["true"], timeout=5)
    assert asked == [("perfquery", "-R", "1", "1"), ("true",), ("false",)]


def test_close_ends_what_runs(runner, leftovers, wait_for):
    marker = "4242.0818"
    seen = []

    def work():
        try:
            runner("sleep", marker)
        except TransportError as error:
            seen.append((error.step, str(error)))

    thread = threading.Thread(target=work)
    thread.start()
    assert wait_for(marker) != []
    runner.transport.close()
    thread.join(10)

    assert seen == [("session", "h: the transport was closed while sleep ran")]
    assert leftovers(marker) == []


def test_ctrl_c_ends_what_runs(runner, leftovers, monkeypatch):
    marker = "4242.0819"

    def interrupt(*_):
        raise KeyboardInterrupt

    process = LocalProcess if isinstance(runner.transport, LocalTransport) else SshProcess
    monkeypatch.setattr(process, "_read", interrupt)
    with pytest.raises(KeyboardInterrupt):
        runner("sh", "-c", f"echo; sleep {marker}")

    assert leftovers(marker) == []


def test_a_lost_connection_is_lost_and_ends_the_command(new_sshd, leftovers, wait_for):
    server = new_sshd("one")
    transport = server.transport()
    marker = "4242.0820"
    results = []
    thread = threading.Thread(
        target=lambda: results.append(
            transport.run(server.host(), ("sh", "-c", f"echo a; sleep {marker}"), timeout=60)
        )
    )
    thread.start()
    assert wait_for(f"sleep\0{marker}") != []
    for pid in server.sessions():
        subprocess.run(["kill", "-KILL", str(pid)], check=True)
    thread.join(10)

    assert [dataclasses.replace(result, start=None) for result in results] == [
        CommandResult("h", ("sh", "-c", f"echo a; sleep {marker}"), b"a\n", b"", None, lost=True)
    ]
    assert leftovers(marker) == []
    assert transport.run(server.host(), ("echo", "again"), timeout=9).stdout == b"again\n"


def test_the_host_ends_the_command_by_itself_when_nobody_hangs_up(leftovers, monkeypatch):
    """The host's own timer, for a network that dies without a word."""
    marker = "4242.0821"
    monkeypatch.setattr(wrap, "SCRIPT", wrap.SCRIPT.replace("n + 10", "n"))
    wrapped = wrap.wrap(("sleep", marker), timeout=1)

    with subprocess.Popen(
        wrapped.words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.wait(10) == -signal.SIGTERM

    assert leftovers(marker) == []


def test_noise_of_login_scripts_is_not_output(new_sshd):
    server = new_sshd(
        "one", 'ForceCommand echo Welcome; echo warning >&2; eval "$SSH_ORIGINAL_COMMAND"'
    )

    result = server.transport().run(
        server.host(), ("sh", "-c", "echo out; echo err >&2"), timeout=9
    )

    assert (result.stdout, result.stderr, result.exit_code) == (b"out\n", b"err\n", 0)


def test_a_host_that_runs_something_else_is_no_result(new_sshd):
    server = new_sshd("one", "ForceCommand echo this account is closed; exit 0")

    with pytest.raises(TransportError) as caught:
        server.transport().run(server.host(), ("ibstat",), timeout=9)

    assert caught.value.step == "session"
    assert "did not run our command (exit code 0, it printed 'this account is closed')" in str(
        caught.value
    )


def test_a_hundred_hosts_share_few_threads_and_descriptors(sshd):
    transport = sshd.transport(max_connections=10)
    jobs = [(sshd.host(f"node{n:03d}"), ("echo", f"n{n}")) for n in range(100)]
    peak = {"threads": 0, "files": 0}
    base = {
        "threads": threading.active_count(),
        "files": len(list(Path("/proc/self/fd").iterdir())),
    }
    done = threading.Event()

    def watch():
        while not done.wait(0.02):
            peak["threads"] = max(peak["threads"], threading.active_count())
            peak["files"] = max(peak["files"], len(list(Path("/proc/self/fd").iterdir())))

    watcher = threading.Thread(target=watch)
    watcher.start()
    results = run_many(transport, jobs, timeout=60, fan_out=8)
    done.set()
    watcher.join()
    transport.close()

    assert {n: (r.host, r.stdout) for n, r in enumerate(results)} == {
        n: (f"node{n:03d}", b"n%d\n" % n) for n in range(100)
    }
    # the watcher, eight workers, a paramiko thread for each of at most 10 + 8 connections
    assert peak["threads"] - base["threads"] <= 1 + 8 + 18 + 2
    assert peak["files"] - base["files"] <= 18 + 2 * 8 + 12

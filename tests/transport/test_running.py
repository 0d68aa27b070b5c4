"""Commands that run while the caller does something else: barrier, end, and nothing left."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from ibaccept.transport import CommandResult, Host, NotPermittedError, TransportError
from ibaccept.transport.fanout import start_many
from ibaccept.transport.local import LocalTransport

pytestmark = pytest.mark.real


def start(runner, *argv, timeout=30, **options):
    return runner.transport.start(runner.host, argv, timeout=timeout, **options)


def shown(result: CommandResult):
    return (result.stdout, result.stderr, result.exit_code, result.signal)


def test_a_started_command_gives_what_run_gives(runner):
    running = start(runner, "sh", "-c", "echo out; echo err >&2; exit 3")

    result = running.wait()

    assert shown(result) == (b"out\n", b"err\n", 3, None)
    assert (running.host, running.argv) == (runner.host, result.argv)
    assert running.poll() is result
    assert running.stop() is result


def test_a_held_command_begins_when_it_is_released(runner, tmp_path):
    proof = tmp_path / "begun"
    running = start(runner, "sh", "-c", f"cat; echo x > {proof}; echo done", held=True)
    time.sleep(0.5)
    before = (proof.exists(), running.poll())

    released = time.time()
    running.release()
    running.release()
    result = running.wait()

    assert before == (False, None)
    assert shown(result) == (b"done\n", b"", 0, None)
    assert 0 <= result.start - released < 1


def test_a_held_command_that_is_never_released_never_begins(runner, tmp_path, leftovers):
    proof = tmp_path / "begun-4242.1001"
    argv = ("sh", "-c", f"echo x > {proof}")

    stopped = start(runner, *argv, held=True).stop()
    late = start(runner, *argv, held=True, timeout=1).wait()

    assert (shown(stopped), stopped.timed_out) == ((b"", b"", None, "KILL"), False)
    assert (shown(late), late.timed_out) == ((b"", b"", None, None), True)
    assert not proof.exists()
    assert leftovers("begun-4242.1001") == []


def test_what_must_be_done_is_done_when_it_is_released(runner, tmp_path):
    proof = tmp_path / "done"
    running = start(runner, "sh", "-c", f"echo x > {proof}; echo done", held="last")
    time.sleep(0.5)
    before = (proof.exists(), running.poll())

    running.release()
    result = running.wait()

    assert before == (False, None)
    assert shown(result) == (b"done\n", b"", 0, None)


def test_what_must_be_done_is_done_when_the_connection_is_lost(runner, tmp_path, leftovers):
    """Some seconds later, when what else ran there has been ended; and nothing of it stays."""
    proof = tmp_path / "done-4242.1020"
    script = f"echo here; echo there >&2; sleep 2; echo x > {proof}"
    running = start(runner, "sh", "-c", script, held="last")

    stopped = time.monotonic()
    running.stop(grace=0.2)
    while not proof.exists() and time.monotonic() < stopped + 40:
        time.sleep(0.1)
    waited = time.monotonic() - stopped

    assert proof.read_text() == "x\n"
    assert 7 <= waited < 40
    assert leftovers("done-4242.1020") == []


def test_nothing_stays_of_a_held_command_that_dies_by_itself(runner, leftovers, wait_for):
    running = start(runner, "sleep", "4242.1010", held=True)
    # the shell leads its process group, the timer beside it does not
    for pid in wait_for("held\x00sleep\x004242.1010"):
        if os.getpgid(pid) == pid:
            os.kill(pid, signal.SIGKILL)

    assert shown(running.wait()) == (b"", b"", None, "KILL")
    assert leftovers("4242.1010") == []


def test_a_missing_tool_is_known_before_the_release(runner):
    running = start(runner, "no-such-tool-1", held=True)

    result = running.poll()

    assert (result.missing, result.exit_code) == (True, 127)


def test_stop_ends_it_by_term_and_kills_what_ignores_that(runner, wait_for, leftovers):
    polite = start(runner, "sleep", "4242.1002")
    stubborn = start(runner, "sh", "-c", "trap '' TERM; echo up; while :; do sleep 4242.1003; done")
    assert wait_for("4242.1002")
    # its own child, not the wrapper that is about to become it: then the trap is set
    assert wait_for("sleep\x004242.1003")

    results = [polite.stop(), stubborn.stop()]

    assert [shown(result) for result in results] == [
        (b"", b"", None, "TERM"),
        (b"up\n", b"", None, "KILL"),
    ]
    assert leftovers("4242.1002") == leftovers("4242.1003") == []


def test_its_time_counts_from_the_release_and_ends_it(runner, leftovers):
    running = start(runner, "sleep", "4242.1004", timeout=1.5, held=True)
    time.sleep(1)
    begun = time.monotonic()
    running.release()

    result = running.wait()

    assert (result.timed_out, result.exit_code) == (True, None)
    assert 1.4 < time.monotonic() - begun < 12
    assert leftovers("4242.1004") == []


def test_closing_the_transport_ends_what_was_started(runner, leftovers):
    running = start(runner, "sleep", "4242.1006")
    time.sleep(0.3)

    runner.transport.close()

    assert leftovers("4242.1006") == []
    with pytest.raises(TransportError, match="the transport was closed while sleep ran"):
        running.wait()


def test_what_is_not_permitted_is_not_started(sshd):
    for transport, host in (
        (LocalTransport(lambda _: False), Host("h", local=True)),
        (sshd.transport(permit=lambda _: False), sshd.host()),
    ):
        with pytest.raises(NotPermittedError):
            transport.start(host, ("true",), timeout=1)


def test_more_commands_on_one_host_than_a_connection_carries(sshd, leftovers):
    transport = sshd.transport()
    jobs = [(sshd.host(), ("sh", "-c", f"echo {n}; sleep 4242.1007")) for n in range(30)]

    threads = threading.active_count()
    running = start_many(transport, jobs, timeout=60, held=True, fan_out=8)
    more = threading.active_count() - threads
    for one in running:
        one.release()
    # what is waited for still runs beside them
    beside = [transport.run(sshd.host(), ("echo", "beside"), timeout=9).stdout for _ in range(3)]
    time.sleep(0.5)
    results = [one.stop() for one in running]

    assert beside == [b"beside\n"] * 3
    assert [shown(result) for result in results] == [
        (b"%d\n" % n, b"", None, "TERM") for n in range(30)
    ]
    assert more <= 9  # a thread for each connection, four commands on each
    assert leftovers("4242.1007") == []


@pytest.mark.parametrize("sessions", [1, 2])
def test_a_server_that_allows_few_sessions_gets_more_connections(new_sshd, sessions):
    server = new_sshd("few", f"MaxSessions {sessions}")
    transport = server.transport()
    running = [
        transport.start(server.host(), ("sh", "-c", f"echo {n}"), timeout=60, held=True)
        for n in range(5)
    ]
    for one in running:
        one.release()

    assert [one.wait().stdout for one in running] == [b"%d\n" % n for n in range(5)]


def test_a_lost_connection_ends_it_there_and_says_so_here(new_sshd, leftovers, wait_for):
    server = new_sshd("one")
    held = server.transport().start(server.host(), ("sleep", "4242.1008"), timeout=60, held=True)
    running = server.transport().start(server.host(), ("sleep", "4242.1009"), timeout=60)
    assert wait_for("sleep\x004242.1009") != []
    for pid in server.sessions():
        os.kill(pid, signal.SIGKILL)

    results = [held.wait(), running.wait()]

    assert [result.lost for result in results] == [True, True]
    assert leftovers("4242.1008") == leftovers("4242.1009") == []


CHILD = """
import sys, time
from pathlib import Path
from ibaccept.transport import Host
from ibaccept.transport.local import LocalTransport
from ibaccept.transport.fanout import start_many
from ibaccept.transport.ssh import SshTransport

how, marker, port, config, key = sys.argv[1:]
if how == "ssh":
    host = Host("h", address="127.0.0.1", port=int(port), user="root", key_file=Path(key))
    transport = SshTransport(lambda _: True, ssh_config=Path(config))
else:
    host = Host("h", local=True)
    transport = LocalTransport(lambda _: True)
running = start_many(transport, [(host, ("sleep", marker))] * 6, timeout=60, held=True)
for one in running[:3]:
    one.release()
time.sleep(0.5)
print("up", flush=True)
try:
    time.sleep(60)
finally:
    transport.close()
"""


@pytest.mark.parametrize("name", ["INT", "KILL", "TERM"])
@pytest.mark.parametrize("how", ["ssh", "local"])
def test_the_end_of_our_process_ends_what_it_started(sshd, leftovers, how, name):
    marker = f"4242.11{len(how)}{len(name)}{ord(name[0])}"
    argv = (how, marker, str(sshd.port), str(sshd.config), str(sshd.key_file))
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as child:
        assert child.stdout.readline() == b"up\n"
        child.send_signal(signal.Signals[f"SIG{name}"])

    assert leftovers(marker) == []

"""This machine as a host: results, limits, and nothing left, without an SSH server."""

import threading
import time

import pytest

from ibaccept.transport import Host, NotPermittedError, TransportError
from ibaccept.transport.fanout import run_many, start_many
from ibaccept.transport.local import LocalTransport

HOST = Host("h", local=True)


@pytest.fixture
def transport():
    made = LocalTransport(lambda argv: argv[0] != "forbidden")
    yield made
    made.close()


@pytest.fixture
def run(transport):
    def call(script, *words, timeout=20, **options):
        return transport.run(HOST, ("sh", "-c", script, *words), timeout=timeout, **options)

    return call


@pytest.fixture
def start(transport):
    def call(script, timeout=20, **options):
        return transport.start(HOST, ("sh", "-c", script), timeout=timeout, **options)

    return call


def shown(result):
    return (result.stdout, result.stderr, result.exit_code, result.signal)


def until_ended(running):
    deadline = time.monotonic() + 20
    while (result := running.poll()) is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return result


def test_streams_exit_code_and_times(run):
    result = run("echo out; echo err >&2; exit 3")

    assert shown(result) == (b"out\n", b"err\n", 3, None)
    assert result.start <= result.end
    assert (result.host, result.problem(), result.text, result.error_text) == (
        "h", None, "out\n", "err\n",
    )  # fmt: skip


def test_a_signal_and_a_number_without_a_name(run):
    assert shown(run("echo partial; kill -KILL $$")) == (b"partial\n", b"", None, "KILL")
    assert run("kill -40 $$").signal in {"40", "RTMIN+6"}


def test_a_missing_tool(transport):
    result = transport.run(HOST, ("no-such-tool-here",), timeout=9)

    assert (result.missing, result.exit_code, result.tool) == (True, 127, "no-such-tool-here")


def test_what_takes_too_long_or_prints_too_much_is_ended(run):
    late = run("echo begun; sleep 60", timeout=1)
    much = run("yes", limit=1000)
    errors = run("yes >&2", limit=1000)

    assert (late.stdout, late.timed_out, late.exit_code) == (b"begun\n", True, None)
    assert (len(much.stdout), much.truncated, much.exit_code) == (1000, True, None)
    assert (len(errors.stderr), errors.truncated, errors.exit_code) == (1000, True, None)
    assert "printed more than the output limit" in errors.problem()


def test_what_is_left_behind_is_ended(run, tmp_path):
    proof = tmp_path / "late"

    result = run(f"(sleep 2; echo x > {proof}) & echo done")
    time.sleep(2.5)

    assert shown(result) == (b"done\n", b"", 0, None)
    assert not proof.exists()


def test_what_is_not_permitted_is_not_run(transport):
    with pytest.raises(NotPermittedError):
        transport.run(HOST, ("forbidden",), timeout=1)
    with pytest.raises(NotPermittedError):
        transport.start(HOST, ("forbidden",), timeout=1)


def test_a_closed_transport_runs_nothing(transport):
    transport.close()

    for call in (transport.run, transport.start):
        with pytest.raises(TransportError, match="h: the transport was closed"):
            call(HOST, ("true",), timeout=1)


def test_no_process_can_be_started(transport, monkeypatch):
    def refuse(*_, **__):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("ibaccept.transport.local.subprocess.Popen", refuse)
    with pytest.raises(TransportError, match=r"no process could be started here: .*temporarily"):
        transport.run(HOST, ("true",), timeout=1)


def test_close_ends_what_runs(transport, run):
    raised = []

    def work():
        try:
            run("sleep 60")
        except TransportError as error:
            raised.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.5)
    transport.close()
    thread.join(10)

    assert raised == ["h: the transport was closed while sh ran"]


def test_started_commands_are_polled(start):
    running = start("echo out; exit 3")

    result = until_ended(running)

    assert shown(result) == (b"out\n", b"", 3, None)
    assert running.poll() is running.wait() is running.stop() is result


def test_a_held_command_waits_for_its_release(start, tmp_path):
    proof = tmp_path / "begun"
    running = start(f"echo x > {proof}", held=True)
    before = (running.poll(), proof.exists())
    running.release()
    running.release()

    assert before == (None, False)
    assert running.wait().exit_code == 0
    assert proof.exists()


def test_stop_ends_it(start, tmp_path):
    proof = tmp_path / "begun"
    held = start(f"echo x > {proof}", held=True)
    running = start("sleep 60")
    time.sleep(0.3)

    assert shown(held.stop()) == (b"", b"", None, "KILL")
    assert shown(running.stop()) == (b"", b"", None, "TERM")
    assert not proof.exists()


def test_closing_ends_what_was_started(transport, start):
    running = start("sleep 60")
    time.sleep(0.3)
    transport.close()

    for _ in range(2):
        with pytest.raises(TransportError, match="the transport was closed while sh ran"):
            running.wait()


def test_a_command_that_is_not_ready_in_time(transport, monkeypatch):
    monkeypatch.setattr("ibaccept.transport.local._HELD_WITHIN", 0.3)
    monkeypatch.setattr("ibaccept.transport.running.is_held", lambda _token, _err: False)

    with pytest.raises(TransportError, match=r"sh was not ready to begin within 0\.3 s"):
        transport.start(HOST, ("sh", "-c", "true"), timeout=9, held=True)


def test_what_must_be_done_is_done_by_itself(start, tmp_path):
    """Neither its stop nor the end of the transport ends it."""
    proof = tmp_path / "done"
    running = start(f"sleep 1; echo x > {proof}", held="last")

    result = running.stop(0.1)
    deadline = time.monotonic() + 15
    while not proof.exists() and time.monotonic() < deadline:
        time.sleep(0.1)

    assert (result.exit_code, result.lost) == (None, True)
    assert proof.exists()


def test_many_at_a_time(transport):
    jobs = [(HOST, ("sh", "-c", f"echo {n}")) for n in range(6)]

    ran = run_many(transport, jobs, timeout=9, fan_out=3)
    started = start_many(transport, jobs, timeout=9, held=True, fan_out=3)
    for one in started:
        one.release()

    assert [result.stdout for result in ran] == [b"%d\n" % n for n in range(6)]
    assert [one.wait().stdout for one in started] == [b"%d\n" % n for n in range(6)]

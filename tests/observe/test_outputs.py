"""Why a result cannot be used: one sentence, one next step and the lines that show it."""

import pytest

from ibaccept.observe.outputs import captures_of, parsed, whole
from ibaccept.parse import ParseError
from ibaccept.transport import CommandResult, TransportError
from ibaccept.transport.captures import CapturedResult
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef


def result(*argv, stdout=b"", stderr=b"", exit_code=0, **changes):
    return CommandResult("h", argv, stdout, stderr, exit_code, **changes)


FIO = ("fio", "-x")


@pytest.mark.parametrize(
    ("given", "step", "reason", "hint"),
    [
        (
            result(*FIO, stderr=b"x\nfio: no space left\n\n", exit_code=1), "write",
            "write: h: fio -x ended with exit code 1: fio: no space left",
            "run it there by hand: fio -x",
        ),
        (
            result("iblinkinfo", stdout=b"iberror: failed: x\n", exit_code=255), "",
            "h: iblinkinfo ended with exit code 255: iberror: failed: x",
            "run it there by hand: iblinkinfo",
        ),
        (
            result("sminfo", exit_code=2), "",
            "h: sminfo ended with exit code 2: it printed nothing",
            "run it there by hand: sminfo",
        ),
        (
            result("dump_fts", "-n", stdout=b"whole\n", exit_code=None, timed_out=True), "",
            "h: dump_fts did not end in time and was stopped; its output is cut",
            "run it there by hand: dump_fts -n",
        ),
        (
            result("dump_fts", stderr=b"why\n", exit_code=None, signal="SEGV"), "",
            "h: dump_fts was ended by signal SEGV; its output may be cut: why",
            "run it there by hand: dump_fts",
        ),
        (
            result("ibstat", exit_code=127, missing=True), "",
            "h: ibstat is not installed there (or not in PATH and the sbin folders)",
            "install infiniband-diags on h",
        ),
        (
            result("ib_write_bw", exit_code=127, missing=True), "server",
            "server: h: ib_write_bw is not installed there (or not in PATH and the sbin folders)",
            "install perftest on h",
        ),
        (
            result("ibstat", exit_code=1, sudo_refused=True), "",
            "h: sudo asked for a password for ibstat; allow it without "
            "('ibaccept commands --sudoers' prints the rule)",
            "",
        ),
        (
            result("sh", "-c", "exit 2", "perfquery-each", "2", exit_code=2), "perfquery",
            "perfquery: h: perfquery-each ended with exit code 2: it printed nothing",
            "run it there by hand: perfquery-each",
        ),
        (
            TransportError("h", "connect", "refused"), "write",
            "write: h: refused", "check that the host is up and that sshd listens",
        ),
        (
            TransportError("h", "session", "gone"), "",
            "h: gone", "see whether the host is up and can be reached",
        ),
        (TransportError("h", "replay", "not held"), "", "h: not held", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_says_why_and_what_to_do(given, step, reason, hint):
    assert whole("the rate", given, step=step) == NotSeen("the rate", reason, hint)


def test_a_good_result_is_itself():
    good, one = result("ibqueryerrors"), result("ibqueryerrors", exit_code=1)

    assert whole("x", good) is good
    assert whole("x", one, ok=(0, 1)) is one


def refuse(_taken):
    raise ParseError("ibstat", "not understood", line=2, text=" b ")


def captured(stdout=b"", stderr=b""):
    return CapturedResult(
        "h", ("ibstat",), stdout, stderr, 0, stdout_file="captures/0001-ibstat.txt",
        stderr_file="captures/0001-ibstat.err" if stderr else None,
    )  # fmt: skip


def test_a_text_that_cannot_be_read_shows_its_line():
    assert parsed("the LIDs", captured(b"a\n b \n"), refuse, hint="report it") == NotSeen(
        "the LIDs",
        "h: ibstat output, line 2: not understood: 'b'",
        "report it",
        (CaptureRef("captures/0001-ibstat.txt", 2, "b"),),
    )
    assert parsed("the LIDs", captured(b"a\n"), lambda taken: taken.text) == "a\n"
    assert parsed("x", result("ibstat", exit_code=3), refuse) == whole(
        "x", result("ibstat", exit_code=3)
    )


def test_the_lines_that_show_it_are_the_last_of_both_streams():
    out = CaptureRef("captures/0001-ibstat.txt", 2, "b")
    err = CaptureRef("captures/0001-ibstat.err", 1, "no")

    assert captures_of(captured(b"a\nb\n\n", b"no\n")) == (err, out)
    assert captures_of(captured(b"a\nb\n")) == (out,)
    assert captures_of(captured()) == (CaptureRef("captures/0001-ibstat.txt", None, ""),)
    assert captures_of(result("ibstat", stdout=b"a\n")) == ()

"""Whether what one client of a bandwidth test printed may be taken as a measurement.

perftest prints plausible rows beside an exit code of 1 (the server was killed), rows of zero
iterations beside an exit code of 0 (the window closed before the first completion), and memory
contents as a row (the ends disagree about ``-q``). Its own client is the only one to trust: the
server prints the client's number under its own unit.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from ibaccept.parse.perftest.row import GB, BandwidthRow, BandwidthTest, Unit, consistent

LARGEST_COUNT = (1 << 32) - 1
"""perftest counts iterations in 32 bits."""

_WINDOW = 0.2
"""Allowed difference of the measured window from that of ``-D``, as a share of it; soft-RoCE in an
emulated, busy machine stays within 0.08."""

_LEAST_PART = 0.1
"""With ``-b``: share of the sum that one direction has at least."""

_PORT_TAKEN = "Couldn't listen to port"  # perftest_communication.c

_FAILED = re.compile(
    r"Completion with error|Failed status|Couldn't (?:read|connect|listen)|"
    r"Failed to (?:exchange|complete|close)|below (?:bw|msg rate) limit"
)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why there is no measurement.

    Attributes:
        reason: what was not measured.
        hint: what to do next.
    """

    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class _Run:
    tool: str | None
    message: int
    duration: float | None
    unit: Unit | None
    qps: int | None
    link_type: str | None
    bidirectional: bool


def accept(
    test: BandwidthTest,
    exit_code: int | None,
    stderr: str,
    *,
    message: int,
    duration: float | None,
    tool: str | None = None,
    unit: Unit | None = "Gb/s",
    qps: int | None = None,
    link_type: str | None = "IB",
    bidirectional: bool = False,
) -> BandwidthRow | Refused:
    """The one row that a client measured, or why it is none.

    Args:
        test: what the client printed to stdout.
        exit_code: of the client; None where a signal ended it or it was lost.
        stderr: of the client.
        message: bytes of a message (``-s``).
        duration: seconds of the run (``-D``); None for a run of a number of iterations (``-n``).
        tool: ``ib_write_bw`` or ``ib_read_bw``; None = any.
        unit: ``Gb/s`` where ``--report_gbits`` was given, None = any.
        qps: queue pairs (``-q``), None = any.
        link_type: ``IB``, or None where RoCE will do.
        bidirectional: ``-b`` was given.
    """
    run = _Run(tool, message, duration, unit, qps, link_type, bidirectional)
    if refused := _ended(exit_code, stderr):
        return refused
    if refused := _other_test(test, run):
        return refused
    if len(test.rows) != 1:
        count = "no row" if not test.rows else f"{len(test.rows)} rows"
        return Refused(
            f"the client printed {count}, expected one",
            "run one message size a time, without -a, and keep client and server output apart",
        )
    row = test.rows[0]
    return _implausible(row, run) or row


def is_port_taken(text: str) -> bool:
    """True where a server says that it cannot listen: another process has its TCP port."""
    return _PORT_TAKEN in text


def _last_words(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return f": {'; '.join(lines)[-300:]}" if lines else ""


def _ended(exit_code: int | None, stderr: str) -> Refused | None:
    if exit_code is None:
        return Refused(
            f"the client was ended before it was done{_last_words(stderr)}",
            "see who ended it and whether its host is still up, then run it again",
        )
    if exit_code != 0:
        return Refused(
            f"the client ended with exit code {exit_code}{_last_words(stderr)}",
            "whatever it printed is no measurement; see the server's own exit code and stderr",
        )
    if _FAILED.search(stderr):
        return Refused(
            f"the client ended with exit code 0 but reports a failure{_last_words(stderr)}",
            "see the server's own exit code and stderr, then run it again",
        )
    return None


def _other_test(test: BandwidthTest, run: _Run) -> Refused | None:
    """Another test than expected: what the head says against the options given."""
    hint = "give both ends the same options, and each server a port of its own"
    pairs = (
        ("the test is", test.tool, run.tool),
        ("the number of queue pairs is", test.qps, run.qps),
        ("the unit is", test.unit, run.unit),
    )
    if test.server:
        return Refused("this is what a server printed", "take the row of the client")
    for words, seen, wanted in pairs:
        if wanted is not None and seen != wanted:
            shown = "not printed" if seen is None else seen
            return Refused(f"{words} {shown}, expected {wanted}", hint)
    if test.bidirectional != run.bidirectional:
        both, one = "both directions", "one direction"
        found, expected = (both, one) if test.bidirectional else (one, both)
        return Refused(f"the client measured {found}, expected {expected}", hint)
    if run.link_type is not None and test.link_type != run.link_type:
        shown = "not printed" if test.link_type is None else test.link_type
        return Refused(
            f"the link type is {shown}, not {run.link_type}",
            "name the InfiniBand device with -d (ib_hca in the inventory)",
        )
    return None


def _implausible(row: BandwidthRow, run: _Run) -> Refused | None:
    """A row that cannot be the result of this run."""
    hint = "give both ends the same options, and run it again"
    if row.message_bytes != run.message:
        return Refused(f"the row is of {row.message_bytes} byte messages, not {run.message}", hint)
    if row.iterations == 0:
        return Refused(
            "no message was completed inside the measured window, so nothing was measured",
            "run longer (-D) or with fewer messages in flight (-t 4)",
        )
    if row.iterations > LARGEST_COUNT or row.average_gbps <= 0 or row.msg_rate_mpps <= 0:
        return Refused(
            f"the row cannot be: {row.iterations} iterations, {row.average_gbps:g} Gb/s, "
            f"{row.msg_rate_mpps:g} million messages a second",
            hint,
        )
    if not consistent(row):
        rate = row.msg_rate_mpps * 1e6 * row.message_bytes / GB
        return Refused(
            f"{row.msg_rate_mpps:.6f} million messages a second of {row.message_bytes} bytes are "
            f"{rate:.2f} Gb/s, but the average printed is {row.average_gbps:.2f} Gb/s",
            hint,
        )
    return _other_length(row, run)


def _other_length(row: BandwidthRow, run: _Run) -> Refused | None:
    """A run of another length: peaks are measured by ``-n`` only, and ``-D`` fixes the window.

    ``iterations`` are those of the window, and the average is over its length as it was timed, so
    both together give that length. It is ``D - 2 * margin``, with a margin of a quarter of ``D`` in
    whole seconds (``force_dependecies`` of perftest_parameters.c).
    """
    if run.duration is None:
        return None
    hint = "give both ends the same -D, and neither of them -n"
    if row.peak_gbps is not None:
        return Refused("a peak was measured, so the client counted iterations, not seconds", hint)
    moved = row.iterations * row.message_bytes / GB
    shortest = moved / (row.average_gbps + row.rounding_gbps)
    slowest = row.average_gbps - row.rounding_gbps
    longest = moved / slowest if slowest > 0 else math.inf
    window = run.duration - 2 * (run.duration // 4)
    # the average is of both directions, the iterations are of one, whose part is not printed
    least, most = (_LEAST_PART, 1.0) if run.bidirectional else (1.0, 1.0)
    if longest < window * least * (1 - _WINDOW) or shortest > window * most * (1 + _WINDOW):
        seconds = moved / row.average_gbps
        return Refused(
            f"{row.iterations} messages at that rate take {seconds:.3g} s, "
            f"but a run of {run.duration:g} s measures {window:g} s of it",
            hint,
        )
    return None

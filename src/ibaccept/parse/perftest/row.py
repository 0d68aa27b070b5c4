"""The rows and settings of a bandwidth test of perftest."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ibaccept.fabric.model import Lid
from ibaccept.parse import ParseWarning

TOOL = "perftest"

Unit = Literal["Gb/s", "MiB/s"]

BYTES_PER_SECOND: Mapping[Unit, float] = {"Gb/s": 125e6, "MiB/s": float(1 << 20)}
"""Bytes a second in one of what a header names."""

GB = 125e6
"""Bytes in 10^9 bits."""

_LONGEST = 40
"""Digits; 64 bits have 20."""

_NUMBER = r"-?(?:\d+(?:\.\d+)?|nan|inf)"
TITLE = re.compile(r"\s*(?P<verb>\w+) (?P<bidirectional>Bidirectional )?(?:Post List )?BW Test\s*")
ROW = re.compile(r"\s*\d+\s+\d+(?:\s+" + _NUMBER + r"){3,4}\s*")
_TOOLS = {"RDMA_Write": "ib_write_bw", "RDMA_Read": "ib_read_bw", "Send": "ib_send_bw"}


@dataclass(frozen=True, slots=True)
class BandwidthRow:
    """One row: one message size.

    Attributes:
        message_bytes: size of a message.
        iterations: messages counted, over all QPs; with ``-D`` those of the window only, with
            ``-b`` those of one direction.
        peak_gbps: 10^9 bit/s; None where it was not measured (0.00, as in every ``-D`` run).
        average_gbps: 10^9 bit/s; with ``-b`` the sum of both directions.
        msg_rate_mpps: 10^6 messages a second; with ``-b`` the sum of both directions.
        rounding_gbps: half of the average's last printed digit, in 10^9 bit/s.
        rounding_mpps: half of the rate's last printed digit.
        cpu_percent: with ``--cpu_util``; None where it was not printed.
        line: line it stands on.
    """

    message_bytes: int
    iterations: int
    peak_gbps: float | None
    average_gbps: float
    msg_rate_mpps: float
    rounding_gbps: float
    rounding_mpps: float
    cpu_percent: float | None = None
    line: int | None = None

    @property
    def bytes_per_second(self) -> float:
        """The average in bytes a second."""
        return self.average_gbps * GB


@dataclass(frozen=True)
class BandwidthTest:
    """One output of one end.

    Attributes:
        tool: ``ib_write_bw`` by the title; None where the title is missing or another.
        title: as printed: ``RDMA_Write Bidirectional BW Test``.
        rows: as printed, one a message size; none where only the header came.
        unit: unit of the table's header; None without a header.
        bidirectional: BW is the sum of both directions.
        device: ``mlx5_0``.
        qps: number of queue pairs.
        link_type: ``IB`` or ``Ethernet``.
        mtu: bytes.
        local_lids: LIDs of this end, each once; empty over Ethernet.
        remote_lids: as ``local_lids``, of the other end.
        server: it printed that it waits for a client.
        settings: every ``name : value`` line of the head, these and the others.
        warnings: lines of known noise.
    """

    tool: str | None
    title: str | None
    rows: tuple[BandwidthRow, ...]
    unit: Unit | None
    bidirectional: bool
    device: str | None = None
    qps: int | None = None
    link_type: str | None = None
    mtu: int | None = None
    local_lids: tuple[Lid, ...] = ()
    remote_lids: tuple[Lid, ...] = ()
    server: bool = False
    settings: Mapping[str, str] | None = None
    warnings: tuple[ParseWarning, ...] = ()


def make_row(words: list[str], unit: Unit, line: int | None) -> BandwidthRow:
    """A row of its words: size, iterations, peak, average, rate, and CPU where printed.

    Raises:
        ValueError: the average or the rate is no number (``nan`` where nothing was timed), or more
            than one can be.
    """
    peak, average, rate = words[2:5]
    if not (math.isfinite(float(average)) and math.isfinite(float(rate))):
        raise ValueError("the average is no number, so nothing was measured")
    if max(map(len, words)) > _LONGEST:
        raise ValueError("a number of the row has more digits than perftest prints")
    factor = BYTES_PER_SECOND[unit] / GB
    peak_value = float(peak) if math.isfinite(float(peak)) else 0.0
    return BandwidthRow(
        message_bytes=int(words[0]),
        iterations=int(words[1]),
        peak_gbps=peak_value * factor or None,
        average_gbps=float(average) * factor,
        msg_rate_mpps=float(rate),
        rounding_gbps=_half_digit(average) * factor,
        rounding_mpps=_half_digit(rate),
        cpu_percent=float(words[5]) if len(words) > 5 else None,  # noqa: PLR2004 - the sixth column
        line=line,
    )


def _half_digit(number: str) -> float:
    """Half of the last digit printed: how far the value can be from the text."""
    return 0.5 * 10.0 ** -len(number.partition(".")[2])


def make_test(
    title: str | None,
    verb: str | None,
    rows: tuple[BandwidthRow, ...],
    unit: Unit | None,
    settings: Mapping[str, str],
    **more: Any,
) -> BandwidthTest:
    """A test of its parts; ``verb`` is the title's first word, ``settings`` its head."""
    qps, mtu = settings.get("Number of qps", ""), settings.get("Mtu", "").removesuffix("[B]")
    return BandwidthTest(
        _TOOLS.get(verb or ""),
        title,
        rows,
        unit,
        device=settings.get("Device"),
        qps=int(qps) if qps.isdecimal() else None,
        link_type=settings.get("Link type"),
        mtu=int(mtu) if mtu.isdecimal() else None,
        settings=settings,
        **more,
    )


def consistent(row: BandwidthRow) -> bool:
    """True where message size times message rate is the average, as far as both were printed.

    This is what shows a row of another message size or another unit.
    """
    low, high = (
        (row.msg_rate_mpps + sign * row.rounding_mpps) * 1e6 * row.message_bytes / GB
        for sign in (-1, 1)
    )
    # the last printed digit is rounded from binary: allow a millionth beside it
    slack = row.rounding_gbps + 1e-6 * abs(row.average_gbps)
    return low - slack <= row.average_gbps <= high + slack

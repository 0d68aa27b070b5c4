"""Bandwidth tests of ``perftest``: ``ib_write_bw``, ``ib_read_bw``, ``ib_send_bw``.

Source of the format: ``perftest_parameters.h`` (headers and row formats) and
``perftest_parameters.c`` (``ctx_print_test_info``, ``print_report_bw``)::

    #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
    1048576    96               0.00               0.27                0.000032

Gb is 10^9 bits. ``MB/sec`` (before 24.07) and ``MiB/sec`` are both 2^20 bytes. Below 0.1 Gb/s a
row has six decimals. ``CPU_Util[%]`` comes with ``--cpu_util``. Whether a row may be taken as a
measurement is decided by `ibaccept.parse.perftest.accept`, not here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ibaccept.fabric.model import Lid
from ibaccept.parse import ParseError, ParseWarning
from ibaccept.parse.diags import numbered
from ibaccept.parse.perftest.row import (
    ROW,
    TITLE,
    TOOL,
    BandwidthRow,
    BandwidthTest,
    Unit,
    make_row,
    make_test,
)

_UNITS: Mapping[str, Unit] = {"Gb": "Gb/s", "MB": "MiB/s", "MiB": "MiB/s"}
_OTHER_TITLE = re.compile(r"\s*\w+ .*(?:Latency|Fork|Rate) Test.*")
_HEADER = re.compile(
    r"\s*#?bytes\s+#?iterations\s+BW peak\[(?P<unit>Gb|MB|MiB)/sec\]\s+"
    r"BW average\[(?P=unit)/sec\]\s+MsgRate\[Mpps\](?P<cpu>\s+CPU_Util\[%\])?\s*"
)
_OTHER_HEADER = re.compile(r"\s*#?bytes\s.*")
_BARE = re.compile(r"\s*(?P<value>\d+\.\d+)\s*")
_ADDRESS = re.compile(
    r"\s*(?P<end>local|remote) address:\s+LID (?P<lid>0x[0-9a-fA-F]+|0+)\s+QPN 0x[0-9a-fA-F]+\s.*"
)
_GID = re.compile(r"\s*(?:local\s+|remote\s+)?GID:\s+[\d:a-fA-F]+\s*")
_KEY = re.compile(r"[A-Za-z][\w .*-]*+")
_VALUE = re.compile(r"\S++(?: \S++)*+")
_APART = re.compile(r"\t++(?=[A-Z])|(?<=\S)\s{3,}+(?=[A-Z])")
"""What can stand between two settings of a line: tabs, or blanks where the tabs were expanded."""
_RULER = re.compile(r"\s*+(?:-{3,}|\*{3,}|\* Waiting for client to connect\.\.\. \*)?\s*")
_WAITING = "Waiting for client to connect"
_NOISE = re.compile(
    r"\s*(?:Conflicting CPU frequency values detected: .*|WARNING: .*|Warning: .*"
    r"|Waiting for client rdma_cm QP to connect|Please run the same command with the IB/RoCE .*"
    r"|Requested mtu is higher than active mtu.*|Changing to active mtu.*"
    r"|Increasing CQE polling batch to \d+|(?:Disabling|Enabling) dynamic polling"
    r"|Device not recognized to implement inline feature\. Disabling it)\s*"
)


def parse(text: str) -> BandwidthTest:
    """Read what one end printed to stdout.

    Both ends of a loopback in one text are read too (the head and a row then come twice).

    Raises:
        ParseError: nothing printed, a cut last line, a line that is not understood, a row before
            a header, a row whose columns are not those of the header, a latency test, two outputs
            that contradict each other, or the bare number of ``--output=bandwidth``.
    """
    reader = _Reader()
    for number, line in numbered(TOOL, text):
        reader.add(number, line)
    return reader.finish()


class _Reader:
    """Takes an output line by line."""

    def __init__(self) -> None:
        self.title: str | None = None
        self.verb: str | None = None
        self.bidirectional = False
        self.unit: Unit | None = None
        self.cpu = False
        self.in_head = True
        self.rows: list[BandwidthRow] = []
        self.settings: dict[str, str] = {}
        self.lids: dict[str, dict[Lid, None]] = {"local": {}, "remote": {}}
        self.server = False
        self.warnings: list[ParseWarning] = []

    def add(self, number: int, line: str) -> None:
        if _RULER.fullmatch(line):
            self.server |= _WAITING in line
        elif _NOISE.fullmatch(line):
            self.warnings.append(ParseWarning(number, line.strip()))
        elif match := TITLE.fullmatch(line):
            self.set_title(number, line, match)
        elif match := _HEADER.fullmatch(line):
            self.set_header(number, line, match)
        elif ROW.fullmatch(line):
            self.rows.append(self.row(number, line))
        elif match := _ADDRESS.fullmatch(line):
            if lid := int(match["lid"], 16):
                self.lids[match["end"]][Lid(lid)] = None
        elif _GID.fullmatch(line):
            pass
        elif self.in_head and ":" in line:
            self.set_settings(number, line)
        else:
            raise ParseError(TOOL, _not_understood(line), line=number, text=line)

    def set_title(self, number: int, line: str, match: re.Match[str]) -> None:
        title = line.strip()
        if self.title not in {None, title}:
            raise ParseError(
                TOOL, f"a second title, after {self.title!r}; one output at a time",
                line=number, text=line,
            )  # fmt: skip
        self.title, self.verb = title, match["verb"]
        self.in_head = True  # of the other end, where both print to one text
        self.bidirectional = match["bidirectional"] is not None

    def set_header(self, number: int, line: str, match: re.Match[str]) -> None:
        unit, cpu = _UNITS[match["unit"]], match["cpu"] is not None
        if self.unit is not None and (self.unit, self.cpu) != (unit, cpu):
            raise ParseError(
                TOOL, "a second table with other columns or units; one output at a time",
                line=number, text=line,
            )  # fmt: skip
        self.unit, self.cpu = unit, cpu
        self.in_head = False

    def row(self, number: int, line: str) -> BandwidthRow:
        if self.unit is None:
            raise ParseError(
                TOOL, "a row without a header, so its unit is unknown", line=number, text=line
            )
        words = line.split()
        if len(words) != (6 if self.cpu else 5):
            raise ParseError(
                TOOL, "the row has not the columns of the header", line=number, text=line
            )
        try:
            return make_row(words, self.unit, number)
        except ValueError as error:
            raise ParseError(TOOL, str(error), line=number, text=line) from None

    def set_settings(self, number: int, line: str) -> None:
        for part in _APART.split(line.strip()):
            head, colon, rest = part.partition(":")
            key, value = head.strip(), rest.strip()
            if not (colon and _KEY.fullmatch(key) and _VALUE.fullmatch(value)):
                raise ParseError(TOOL, "not a 'name : value' line", line=number, text=line)
            if self.settings.setdefault(key, value) != value:
                raise ParseError(
                    TOOL,
                    f"{key} is already {self.settings[key]!r}; one output at a time",
                    line=number,
                    text=line,
                )

    def finish(self) -> BandwidthTest:
        if self.title is None and self.unit is None and not self.server and not self.warnings:
            raise ParseError(TOOL, "neither a title nor a table: not the output of a test")
        return make_test(
            self.title,
            self.verb,
            tuple(self.rows),
            self.unit,
            self.settings,
            bidirectional=self.bidirectional,
            local_lids=tuple(self.lids["local"]),
            remote_lids=tuple(self.lids["remote"]),
            server=self.server,
            warnings=tuple(self.warnings),
        )


def _not_understood(line: str) -> str:
    if _OTHER_TITLE.fullmatch(line):
        return "not a bandwidth test"
    if _OTHER_HEADER.fullmatch(line):
        return "not the table of a bandwidth test"
    if _BARE.fullmatch(line):
        return (
            "a bare number, as --output=bandwidth prints: it tells neither unit nor iterations; "
            "run it without that option"
        )
    return "not a line of a bandwidth test"

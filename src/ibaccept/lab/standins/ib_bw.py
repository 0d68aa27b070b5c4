"""Stand-in for ``ib_write_bw`` and ``ib_read_bw`` of perftest 4.5+0.17-1 (Debian 12).

Both roles; the options below, others are refused as unknown. What is printed when, and the exit
codes, are those of the real tool run over soft-RoCE, with the link type of an InfiniBand adapter.
"""

from __future__ import annotations

import os
import sys
from _signal import (  # type: ignore[import-not-found]  # no stubs; 'signal' imports much
    SIG_DFL,
    SIGINT,
    signal,
)

from .link import PlaneLink

VERSION = "6.06"
"""What the real one prints; its package says 4.5."""
DEVICES = ("ibsim0", "mlx5_0")
"""The adapter as the lab's ibstat names it, and as most real ones are called."""
LINE = "-" * 87
BANNER = f"\n{'*' * 36}\n* Waiting for client to connect... *\n{'*' * 36}\n"

FLAGS = {"F": "cpu_freq", "b": "both", "N": "no_peak", "R": "cm", "V": "version"}
VALUES = {
    "d": "device",
    "i": "ib_port",
    "D": "seconds",
    "f": "margin",
    "m": "mtu",
    "n": "iterations",
    "p": "port",
    "q": "qps",
    "Q": "moderation",
    "s": "size",
    "t": "depth",
    "x": "gid",
}
LONG = {
    "ib-dev": "d",
    "ib-port": "i",
    "duration": "D",
    "margin": "f",
    "CPU-freq": "F",
    "mtu": "m",
    "iters": "n",
    "noPeak": "N",
    "port": "p",
    "qp": "q",
    "cq-mod": "Q",
    "size": "s",
    "tx-depth": "t",
    "version": "V",
    "gid-index": "x",
    "bidirectional": "b",
}
PEAK_LIMIT = 20000
"""Iterations up to which the peak is measured."""
SMALL = 8192
"""Bytes of a message above which every completion is requested."""
NEAR_ZERO = 0.1
"""Gb/s below which six decimals are printed."""


class UnknownOption(Exception):  # noqa: N818 - no error of ours: the tool's usage message
    """An option the tool (or this stand-in of it) does not know."""


def options(argv: list[str], tool: str) -> tuple[dict[str, str], list[str]]:
    """Options by name and the words left, as getopt_long reads them.

    Raises:
        UnknownOption: with the message of getopt_long.
    """
    found: dict[str, str] = {}
    words: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--report_gbits":
            found["gbits"] = "1"
        elif word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            letter = LONG.get(name)
            if letter is None:
                raise UnknownOption(f"{tool}: unrecognized option '{word}'")
            if letter in FLAGS:
                found[FLAGS[letter]] = "1"
            else:
                found[VALUES[letter]] = value if equals else _value(rest, tool, name)
        elif word.startswith("-") and word != "-":
            letters = word[1:]
            while letters:
                letter, letters = letters[0], letters[1:]
                if letter in FLAGS:
                    found[FLAGS[letter]] = "1"
                elif letter in VALUES:
                    found[VALUES[letter]] = letters or _value(rest, tool, letter)
                    letters = ""
                else:
                    raise UnknownOption(f"{tool}: invalid option -- '{letter}'")
        else:
            words.append(word)
    return found, words


def _value(rest: list[str], tool: str, name: str) -> str:
    if not rest:
        raise UnknownOption(f"{tool}: option requires an argument -- '{name}'")
    return rest.pop(0)


class Test:
    """One end of a measurement."""

    def __init__(self, tool: str, given: dict[str, str], target: str | None) -> None:
        self.tool = tool
        self.read = tool == "ib_read_bw"
        self.target = target
        self.gbits = "gbits" in given
        self.both = "both" in given
        self.device = given.get("device", DEVICES[0])
        self.port = int(given.get("port", "18515"))
        self.qps = int(given.get("qps", "1"))
        self.size = int(given.get("size", "65536"))
        self.seconds = int(given.get("seconds", "0"))
        self.margin = float(given.get("margin", self.seconds // 4))
        default = "1000" if self.read else "5000"
        self.iterations = 0 if self.seconds else int(given.get("iterations", default))
        depth = int(given.get("depth", "128"))
        self.depth = min(depth, self.iterations) if self.iterations else depth
        self.moderation = int(given.get("moderation", "1" if self.size > SMALL else "100"))
        self.no_peak = "no_peak" in given or self.iterations > PEAK_LIMIT
        self.out: list[str] = []

    def header(self, addresses: list[str]) -> None:
        """All that is printed before the first row."""
        kind = "RDMA_Read" if self.read else "RDMA_Write"
        way = " Bidirectional" if self.both else ""
        depth = f" TX depth        : {self.depth}\n" if self.target or self.both else ""
        unit = "Gb/sec" if self.gbits else "MB/sec"
        special = "Outstand reads  : 16" if self.read else "Max inline data : 0[B]"
        self.out.append(
            f"{LINE}\n"
            f"                    {kind}{way} BW Test\n"
            f" Dual-port       : OFF\t\tDevice         : {self.device}\n"
            f" Number of qps   : {self.qps}\t\tTransport type : IB\n"
            f" Connection type : RC\t\tUsing SRQ      : OFF\n"
            f" PCIe relax order: ON\n"
            f" ibv_wr* API     : ON\n"
            f"{depth}"
            f" CQ Moderation   : {self.moderation}\n"
            f" Mtu             : 4096[B]\n"
            f" Link type       : IB\n"
            f" {special}\n"
            f" rdma_cm QPs\t : OFF\n"
            f" Data ex. method : Ethernet\n"
            f"{LINE}\n{''.join(addresses)}{LINE}\n"
            f" #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]\n"
        )

    def addresses(self, words: list[str]) -> list[str]:
        """The address lines of both ends, a queue pair each."""
        own_lid, other_lid, own, other = map(int, words)
        lines: list[str] = []
        for whose, lid, number in (("local", own_lid, own), ("remote", other_lid, other)):
            for pair in range(self.qps):
                seed = number * 64 + pair
                # Numbers that look like the real ones and are the same at both ends.
                psn = seed * 2654435761 % (1 << 24)
                out = "OUT 0x10 " if self.read else ""
                lines.append(
                    f" {whose} address: LID {_c_hex(lid, 4)} QPN {_c_hex(0x40 + seed, 6)} "
                    f"PSN {_c_hex(psn, 6)} {out}RKey {_c_hex(0x1000 + number, 8)} "
                    f"VAddr {_c_hex(0x7F0000000000 + seed * self.size, 16)}\n"
                )
        return lines

    def row(self, words: list[str], *, gbits: bool) -> None:
        """The result: iterations, seconds that counted, directions."""
        count, seconds, sides = int(words[0]), float(words[1]), int(words[2])
        messages = count / seconds if seconds else 0.0
        rate = sides * messages * self.size / (125e6 if gbits else 1 << 20)
        peak = 0.0 if self.seconds or self.no_peak else rate
        million = sides * messages / 1e6
        if gbits and rate < NEAR_ZERO:
            row = f"{count}           {peak:.6f}            {rate:.6f}            {million:.6f}"
        else:
            row = f"{count:<10d}       {peak:<7.2f}            {rate:<7.2f}\t\t   {million:<7.6f}"
        self.out.append(f" {self.size:<7d}    {row}\n{LINE}\n")


def _c_hex(value: int, width: int) -> str:
    """A number as ``%#0*x`` prints it in C: no prefix for 0, which is then padded."""
    return f"{value:#0{width}x}" if value else "0" * width


def serve(test: Test, link: PlaneLink) -> int:
    """The server: waits for one client, measures with it, ends."""
    test.out.append(BANNER)
    answer = link.ask("listen", os.getpid(), test.tool, test.port)
    if answer[0] == "in-use":
        sys.stderr.write(
            f"Couldn't listen to port {test.port}\n"
            "Unable to open file descriptor for socket connection "
            "Unable to init the socket connection\n"
        )
        return 1
    start = link.hear()
    test.header(test.addresses(start[1:5]))
    end = link.hear()
    if end[0] == "done":
        # What is printed is the client's number, whatever the unit of the server's header.
        test.row(end[1:4], gbits=end[4:5] == ["1"])
        return 0
    return _lost("to")


def measure(test: Test, link: PlaneLink) -> int:
    """The client: connects, measures, prints."""
    request = (
        *(test.target, test.port, test.qps, test.size),
        *(test.seconds, test.margin, test.iterations, int(test.both), int(test.gbits)),
    )
    start = link.ask("connect", os.getpid(), test.tool, *request)
    if start[0] in {"unknown", "refused"}:
        if start[0] == "unknown":
            sys.stderr.write(f"Name or service not known for {test.target}:{test.port}\n")
        else:
            sys.stderr.write(f"Couldn't connect to {test.target}:{test.port}\n")
        sys.stderr.write(
            "Unable to open file descriptor for socket connection "
            "Unable to init the socket connection\n"
        )
        return 1
    if test.no_peak:
        test.out.append(" WARNING: BW peak won't be measured in this run.\n")
    test.header(test.addresses(start[1:5]))
    end = link.hear()
    if end[0] == "retry":
        sys.stderr.write(
            " Completion with error at client\n"
            f" Failed status 12: wr_id 0 syndrom 0x81\nscnt={test.depth * test.qps}, ccnt=0\n"
            " Failed to complete run_iter_bw function successfully\n"
        )
        return 1
    test.row(end[1:4], gbits=test.gbits)
    return 0 if end[0] == "done" else _lost("from")


def _lost(way: str) -> int:
    sys.stderr.write(
        "ethernet_read_keys: Couldn't read remote address\n"
        f" Unable to read {way} socket/rdma_cm\n"
        " Failed to exchange data between server and clients\n"
    )
    return 1


def main(tool: str) -> int:
    """Run as ``ib_write_bw`` or ``ib_read_bw``; returns the exit code."""
    # Ended by Ctrl-C as a C program is.
    signal(SIGINT, SIG_DFL)
    try:
        given, words = options(sys.argv[1:], tool)
    except UnknownOption as error:
        sys.stderr.write(
            f"{error}\n Invalid Command or flag.\n Please check command line and run again.\n\n"
            " Parser function exited with Error\n"
        )
        return 1
    if "version" in given:
        sys.stdout.write(f"Version: {VERSION}\n")
        sys.stderr.write(f"this {tool} is a stand-in of the ibaccept lab; no hardware is used\n")
        return 1
    test = Test(tool, given, words[0] if words else None)
    if test.device not in DEVICES:
        sys.stderr.write(
            f"IB device {test.device} not found\n Unable to find the Infiniband/RoCE device\n"
        )
        return 1
    if test.seconds and test.seconds <= 2 * test.margin:
        sys.stderr.write(" please check that DURATION > 2*MARGIN\n")
        return 1
    code = measure(test, PlaneLink()) if test.target else serve(test, PlaneLink())
    # At the end, as the real one's buffer is: a server that waits has printed nothing.
    sys.stdout.write("".join(test.out))
    sys.stdout.flush()
    return code

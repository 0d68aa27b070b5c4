"""Every command that may be sent, as data; nothing else leaves this machine.

Clearing flags (``perfquery -r/-R``, ``ibqueryerrors -k/-K``) and SM commands are not in any
template, and a parameter can only be what its pattern allows, so they cannot be expressed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ibaccept.transport import OUTPUT_LIMIT, Argv, Permit

LIDS = 0xBFFF
"""Unicast LIDs of one subnet, 1 to this one."""

Effect = Literal["read-only", "load"]

_PARAMETERS = {
    "lid": r"[1-9]\d{0,4}",
    "port": r"\d{1,3}",
    "block": r"\d{1,3}",
    "lids": r"[1-9]\d{0,4}(?:,[1-9]\d{0,4}){0,999}",
    "as_root": r"(?:sudo -n --)?",
    "wide": r"(?:-x)?",
    "adapter": r"(?:[A-Za-z][A-Za-z0-9_]{0,63})?",
    "adapter_port": r"(?:\d{1,3})?",
    "hca": r"[A-Za-z][A-Za-z0-9_]{0,63}",
    "device": r"[A-Za-z][A-Za-z0-9_]{0,63}",
    "seconds": r"[1-9]\d{0,4}",
    "count": r"[1-9]\d{0,3}",
    "qps": r"[1-9]\d{0,3}",
    "depth": r"[1-9]\d{0,3}",
    "bytes": r"[1-9]\d{0,14}",
    "size": r"[1-9]\d{0,14}",
    "file": r"data\.\d{1,4}",
    "tcp_port": r"[1-9]\d{3,4}",
    "peer": r"[A-Za-z0-9](?:[A-Za-z0-9.:-]{0,251}[A-Za-z0-9])?",
    "path": r"(?:/[A-Za-z0-9_][A-Za-z0-9_.+@-]{0,127}){1,32}",
    "run": r"ibaccept-[0-9a-f]{16}-\d{1,5}",
    "engine": r"libaio|io_uring|posixaio|psync",
    "switch": r"[01]",
}
"""What a parameter of a template may be, as a whole-match pattern."""


def is_parameter(name: str, value: object) -> bool:
    """Whether a value can be sent as the parameter of that name."""
    return re.fullmatch(_PARAMETERS[name], str(value), re.ASCII) is not None


SELECTION = (("-C", _PARAMETERS["hca"]), ("-P", r"\d{1,3}"))
"""Options that choose the HCA and its port: flag and whole-match pattern of the value."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command of the suite.

    Attributes:
        name: how code and captures call it.
        template: argv; ``{lid}`` and the like are parameters.
        why: what the suite learns from it.
        effect: ``load`` commands run only with ``--load``.
        root: needs root (or umad access) on the host.
        select: takes ``-C HCA -P PORT`` after the tool's name.
        options: what may stand after the tool's name, in this order: flag and parameter.
        timeout: seconds before it is ended.
        row: bytes that each of the rows of its output can have, for ``limit``.
    """

    name: str
    template: Argv
    why: str
    effect: Effect = "read-only"
    root: bool = True
    select: bool = True
    timeout: float = 120.0
    options: tuple[tuple[str, str], ...] = ()
    row: int = 0

    def limit(self, rows: int | None = None) -> int:
        """Bytes of output beyond which it is no answer of this tool and is ended.

        Args:
            rows: that a whole output can have; None where the fabric is not known yet: as many as
                a subnet has LIDs.
        """
        return OUTPUT_LIMIT + self.row * (LIDS if rows is None else rows)

    def argv(
        self, *, hca: str | None = None, hca_port: int | None = None, **values: object
    ) -> Argv:
        """The argv with its parameters filled in; an option that is None or not named is left out.

        Raises:
            ValueError: a parameter is missing, unknown or not what its pattern allows.
        """
        optional = {
            key: value for _, key in self.options if (value := values.pop(key, None)) is not None
        }
        wanted = set(re.findall(r"\{(\w+)\}", " ".join(self.template)))
        if wanted != set(values):
            raise ValueError(f"{self.name} takes {sorted(wanted)}, got {sorted(values)}")
        for key, value in (*values.items(), *optional.items()):
            if not is_parameter(key, value):
                raise ValueError(f"{self.name}: {value!r} is not a {key}")
        options: list[str] = []
        if self.select and hca is not None:
            if not is_parameter("hca", hca):
                raise ValueError(f"{self.name}: {hca!r} is not an HCA name")
            options += ["-C", hca]
        if self.select and hca_port is not None:
            options += ["-P", str(int(hca_port))]
        for flag, key in self.options:
            if key in optional:
                options += [flag, str(optional[key])]
        tool, *rest = (_filled(part, values) for part in self.template)
        return (tool, *options, *rest)

    def permits(self, argv: Sequence[str]) -> bool:
        """True where ``argv`` is this template with admissible parameters."""
        rest = list(argv)
        if not rest or rest[0] != self.template[0]:
            return False
        rest = rest[1:]
        for flag, pattern in (
            *(SELECTION if self.select else ()),
            *((flag, _PARAMETERS[key]) for flag, key in self.options),
        ):
            if len(rest) >= 2 and rest[0] == flag and re.fullmatch(pattern, rest[1], re.ASCII):  # noqa: PLR2004 - flag and value
                rest = rest[2:]
        patterns = self.argument_patterns()
        if len(rest) != len(patterns):
            return False
        return all(
            re.fullmatch(pattern, word, re.ASCII)
            for pattern, word in zip(patterns, rest, strict=True)
        )

    def argument_patterns(self) -> tuple[str, ...]:
        """What each word after the tool (and its ``-C``, ``-P``) may be: whole-match patterns."""
        return tuple(_pattern(part) for part in self.template[1:])


def _filled(part: str, values: Mapping[str, object]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: str(values[found[1]]), part)


def _pattern(part: str) -> str:
    pieces = re.split(r"\{(\w+)\}", part)
    return "".join(
        f"(?:{_PARAMETERS[piece]})" if odd % 2 else re.escape(piece)
        for odd, piece in enumerate(pieces)
    )


IBSTAT = Command(
    "ibstat",
    ("ibstat",),
    "port GUIDs, LIDs, state and link layer of a host's own HCAs",
    root=False,
    select=False,
    timeout=30,
)
IBNETDISCOVER = Command(
    "ibnetdiscover",
    ("ibnetdiscover",),
    "every node, its GUIDs, LIDs, LMC and cables",
    timeout=600,
    row=2 << 10,
)
IBLINKINFO = Command(
    "iblinkinfo",
    ("iblinkinfo", "--line"),
    "state, width and speed of every port",
    timeout=600,
    row=2 << 10,
)
IBQUERYERRORS = Command(
    "ibqueryerrors",
    ("ibqueryerrors", "--skip-sl"),
    "error counters of every port, one process for the fabric; nothing is cleared",
    timeout=600,
    row=4 << 10,
)
IBQUERYERRORS_COUNTERS = Command(
    "ibqueryerrors-counters",
    ("ibqueryerrors", "--skip-sl", "--counters"),
    "data counters of every port, one process for the fabric; nothing is cleared",
    timeout=600,
    row=4 << 10,
)
SMINFO = Command("sminfo", ("sminfo",), "the subnet manager that answers", timeout=30)
SMINFO_LID = Command(
    "sminfo-lid", ("sminfo", "{lid}"), "state and priority of the SM at one LID", timeout=30
)
SAQUERY_SM = Command(
    "saquery-s",
    ("saquery", "-s"),
    "the subnet managers the SA knows, standbys included",
    timeout=60,
)
DUMP_FTS = Command(
    "dump_fts",
    ("dump_fts", "-n"),
    "forwarding table of every switch, one process",
    timeout=900,
    row=128,
)
SAQUERY_LFTR = Command(
    "saquery-lftr",
    ("saquery", "LFTR", "{lid}/{block}"),
    "one block of 64 forwarding entries of one switch, where dump_fts drops a row",
    timeout=60,
)
PERFQUERY = Command(
    "perfquery",
    ("perfquery", "{lid}", "{port}"),
    "basic counters and CapMask of one port",
    timeout=30,
)
PERFQUERY_X = Command(
    "perfquery-x", ("perfquery", "-x", "{lid}", "{port}"), "64-bit counters of one port", timeout=30
)
PERFQUERY_ALL = Command(
    "perfquery-all",
    ("perfquery", "-a", "-l", "{lid}"),
    "basic counters (PortXmitWait) of every port of one switch",
    timeout=30,
)
PERFQUERY_X_ALL = Command(
    "perfquery-x-all",
    ("perfquery", "-x", "-a", "-l", "{lid}"),
    "64-bit counters of every port of one switch",
    timeout=30,
)
_EACH = (
    "r=$1; x=$2; h=$3; p=$4; IFS=,; set -f; set -- $5; unset IFS; "
    "t=$(command -v perfquery) || t=perfquery; d=$(date +%s.%N); for l; do "
    'printf "# ibaccept begin %s %s\\n" "$l" "$d"; '
    '$r "$t" $x ${h:+-C "$h"} ${p:+-P "$p"} -a -l "$l" 2>&1; c=$?; d=$(date +%s.%N); '
    'printf "# ibaccept end %s %s %s\\n" "$l" "$c" "$d"; done'
)
PERFQUERY_EACH = Command(
    "perfquery-each",
    (
        "sh",
        "-c",
        _EACH,
        "perfquery-each",
        "{as_root}",
        "{wide}",
        "{adapter}",
        "{adapter_port}",
        "{lids}",
    ),
    "counters of every port of many switches, one perfquery after the other, with the time of each",
    root=False,
    select=False,
    timeout=120,
    row=256 << 10,
)
"""Sessions cost more than perfquery does: a few of them read all switches of a sample. The script
is fixed; only the words after it vary. See `ibaccept.parse.perfquery_each`."""
SS = Command(
    "ss",
    ("ss", "-ltn"),
    "whether a server of a load run listens",
    root=False,
    select=False,
    timeout=20,
)
MEMINFO = Command(
    "meminfo",
    ("cat", "/proc/meminfo"),
    "memory of a host, against which a data set must not be small",
    root=False,
    select=False,
    timeout=20,
)
VERSION = Command(
    "version",
    ("ibstat", "--version"),
    "version of infiniband-diags",
    root=False,
    select=False,
    timeout=30,
)


def _version(tool: str) -> Command:
    return Command(
        f"{tool}-version",
        (tool, "--version"),
        f"version of {tool}",
        root=False,
        select=False,
        timeout=20,
    )


VERSIONS = {
    tool: _version(tool) for tool in ("ib_write_bw", "ib_read_bw", "fio", "ior", "elbencho")
}
"""By tool."""

# -- load: these run only with --load --------------------------------------------------------------

_PERFTEST_OPTIONS = (("-d", "device"), ("-i", "port"), ("-t", "count"))


def _perftest(tool: str, *, client: bool) -> Command:
    words = ("-F", "-D", "{seconds}", "-q", "{qps}", "-s", "{bytes}", "--report_gbits")
    peer = ("{peer}",) if client else ()
    return Command(
        f"{tool}-{'client' if client else 'server'}",
        (tool, *words, "-p", "{tcp_port}", *peer),
        "one pair of an RDMA run: the end that measures and moves the data"
        if client
        else "one pair of an RDMA run: the end that waits for the other",
        effect="load",
        root=False,
        select=False,
        options=_PERFTEST_OPTIONS,
    )


RDMA_SERVERS = {tool: _perftest(tool, client=False) for tool in ("ib_write_bw", "ib_read_bw")}
RDMA_CLIENTS = {tool: _perftest(tool, client=True) for tool in ("ib_write_bw", "ib_read_bw")}


def _load(name: str, template: Argv, why: str) -> Command:
    return Command(name, template, why, effect="load", root=False, select=False)


# Its jobs are threads: forked ones lead process groups of their own, which no signal to fio's
# reaches, and stay when fio is killed.
_FIO = (
    "fio", "--thread", "--name={run}", "--directory={path}/{run}", "--bs={bytes}", "--size={size}",
    "--numjobs={count}", "--iodepth={depth}", "--ioengine={engine}", "--direct={switch}",
    "--fallocate=none", "--unlink=0", "--group_reporting", "--output-format=json",
)  # fmt: skip
_ELBENCHO = (
    "--nolive", "--direct", "-t", "{count}", "--iodepth", "{depth}", "-b", "{bytes}", "-s",
    "{size}", "{path}/{run}/data",
)  # fmt: skip
_IOR = ("-a", "POSIX", "-k", "-e", "-t", "{bytes}", "-b", "{size}", "-o", "{path}/{run}/{file}")

FIO = {
    "write": _load(
        "fio-write", (*_FIO, "--rw=write", "--end_fsync=1"), "a client writes its own files"
    ),
    "read": _load("fio-read", (*_FIO, "--rw=read"), "a client reads back what it wrote"),
}
IOR = {
    "write": _load("ior-write", ("ior", "-w", *_IOR), "a client writes its own files"),
    "read": _load("ior-read", ("ior", "-r", *_IOR), "a client reads back what it wrote"),
}
ELBENCHO = {
    "write": _load(
        "elbencho-write", ("elbencho", "-w", *_ELBENCHO), "a client writes its own file"
    ),
    "read": _load("elbencho-read", ("elbencho", "-r", *_ELBENCHO), "a client reads back its file"),
}
LOAD_TOOLS = frozenset({*RDMA_CLIENTS, "fio", "ior", "elbencho"})
"""What a site chooses from in ``workloads:``."""
MKDIR = _load(
    "mkdir",
    ("mkdir", "--", "{path}/{run}"),
    "a new folder for the files of one client; fails where it exists",
)
REMOVE = _load(
    "remove",
    ("rm", "-rf", "--", "{path}/{run}"),
    "the folder of one client, which only a run of this suite can have made (16 random digits)",
)

READ_ONLY: tuple[Command, ...] = (
    IBSTAT,
    IBNETDISCOVER,
    IBLINKINFO,
    IBQUERYERRORS,
    IBQUERYERRORS_COUNTERS,
    SMINFO,
    SMINFO_LID,
    SAQUERY_SM,
    DUMP_FTS,
    SAQUERY_LFTR,
    PERFQUERY,
    PERFQUERY_X,
    PERFQUERY_ALL,
    PERFQUERY_X_ALL,
    PERFQUERY_EACH,
    VERSION,
    SS,
    MEMINFO,
    *VERSIONS.values(),
)
LOAD: tuple[Command, ...] = (
    *RDMA_SERVERS.values(),
    *RDMA_CLIENTS.values(),
    *FIO.values(),
    *IOR.values(),
    *ELBENCHO.values(),
    MKDIR,
    REMOVE,
)
ALL = (*READ_ONLY, *LOAD)


def is_permitted(argv: Sequence[str]) -> bool:
    """True where one of the read-only commands of this module can be exactly this argv."""
    return any(command.permits(argv) for command in READ_ONLY)


def permit(*, load: bool) -> Permit:
    """Which argv a run may send: read-only commands, and with ``load`` those of load runs too."""
    chosen = ALL if load else READ_ONLY
    return lambda argv: any(command.permits(argv) for command in chosen)

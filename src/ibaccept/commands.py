"""Every command the suite may ever run, as data. Nothing else leaves this machine.

Clearing flags (``perfquery -r/-R``, ``ibqueryerrors -k/-K``) and SM commands are not in any
template, and a parameter can only be what its pattern allows, so they cannot be expressed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ibaccept.transport import Argv

Effect = Literal["read-only", "load"]

_PARAMETERS = {
    "lid": r"[1-9]\d{0,4}",
    "port": r"\d{1,3}",
    "ports": r"\d{1,3}(?:[,-]\d{1,3})*",
    "block": r"\d{1,3}",
    "hca": r"[A-Za-z][A-Za-z0-9_]{0,63}",
}
"""What a parameter of a template may be, as a whole-match pattern."""

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
        timeout: seconds before it is ended.
    """

    name: str
    template: Argv
    why: str
    effect: Effect = "read-only"
    root: bool = True
    select: bool = True
    timeout: float = 120.0

    def argv(
        self, *, hca: str | None = None, hca_port: int | None = None, **values: object
    ) -> Argv:
        """The argv with its parameters filled in.

        Raises:
            ValueError: a parameter is missing, unknown or not what its pattern allows.
        """
        wanted = set(re.findall(r"\{(\w+)\}", " ".join(self.template)))
        if wanted != set(values):
            raise ValueError(f"{self.name} takes {sorted(wanted)}, got {sorted(values)}")
        for key, value in values.items():
            if not re.fullmatch(_PARAMETERS[key], str(value)):
                raise ValueError(f"{self.name}: {value!r} is not a {key}")
        options: list[str] = []
        if self.select and hca is not None:
            if not re.fullmatch(_PARAMETERS["hca"], hca):
                raise ValueError(f"{self.name}: {hca!r} is not an HCA name")
            options += ["-C", hca]
        if self.select and hca_port is not None:
            options += ["-P", str(int(hca_port))]
        tool, *rest = (part.format(**values) for part in self.template)
        return (tool, *options, *rest)

    def permits(self, argv: Sequence[str]) -> bool:
        """True where ``argv`` is this template with admissible parameters."""
        rest = list(argv)
        if not rest or rest[0] != self.template[0]:
            return False
        rest = rest[1:]
        if self.select:
            for flag, pattern in SELECTION:
                if len(rest) >= 2 and rest[0] == flag and re.fullmatch(pattern, rest[1]):  # noqa: PLR2004 - flag and value
                    rest = rest[2:]
        patterns = self.argument_patterns()
        if len(rest) != len(patterns):
            return False
        return all(
            re.fullmatch(pattern, word) for pattern, word in zip(patterns, rest, strict=True)
        )

    def argument_patterns(self) -> tuple[str, ...]:
        """What each word after the tool (and its ``-C``, ``-P``) may be: whole-match patterns."""
        return tuple(_pattern(part) for part in self.template[1:])


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
    "ibnetdiscover", ("ibnetdiscover",), "every node, its GUIDs, LIDs, LMC and cables", timeout=600
)
IBLINKINFO = Command(
    "iblinkinfo", ("iblinkinfo", "--line"), "state, width and speed of every port", timeout=600
)
IBQUERYERRORS = Command(
    "ibqueryerrors",
    ("ibqueryerrors", "--skip-sl"),
    "error counters of every port, one process for the fabric; nothing is cleared",
    timeout=600,
)
IBQUERYERRORS_COUNTERS = Command(
    "ibqueryerrors-counters",
    ("ibqueryerrors", "--skip-sl", "--counters"),
    "data counters of every port, one process for the fabric; nothing is cleared",
    timeout=600,
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
    "dump_fts", ("dump_fts", "-n"), "forwarding table of every switch, one process", timeout=900
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
SMPQUERY_NODEINFO = Command(
    "smpquery-nodeinfo", ("smpquery", "nodeinfo", "{lid}"), "type and GUIDs of one node", timeout=30
)
VERSION = Command(
    "version",
    ("ibstat", "--version"),
    "version of infiniband-diags",
    root=False,
    select=False,
    timeout=30,
)

ALL: tuple[Command, ...] = (
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
    SMPQUERY_NODEINFO,
    VERSION,
)


def is_permitted(argv: Sequence[str]) -> bool:
    """True where one of the commands of this module can be exactly this argv."""
    return any(command.permits(argv) for command in ALL)

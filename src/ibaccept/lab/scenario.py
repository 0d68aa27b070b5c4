"""Scenario files: a fabric, who is who on it, what is wrong, and what the suite must say.

A scenario is ``scenarios/NAME.yaml`` beside this module, or any path. ``capture:FILE`` makes one of
an ibnetdiscover output.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from ibaccept.checks.diagnosis import Cause
from ibaccept.errors import InputError, InputProblemsError
from ibaccept.fabric import nodeset
from ibaccept.lab.fabric import topology
from ibaccept.lab.fabric.netfile import NetFile
from ibaccept.lab.faults import Fault, ScenarioPart
from ibaccept.lab.traffic.settings import Traffic
from ibaccept.site import yamlfile
from ibaccept.verdict import Outcome

FOLDER = Path(__file__).parent / "scenarios"
CAPTURE = "capture:"
_SHARED = (".expectations.yaml",)


class TwoSwitch(ScenarioPart):
    """See :func:`topology.two_switch`."""

    builder: Literal["two-switch"]
    clients: int = 48
    storage: int = 8
    isls: int = 8
    rate: str = "4X HDR"
    isl_rate: str | None = None
    host_ports: int = 1

    def build(self, _folder: Path) -> NetFile:
        """The net file."""
        return topology.two_switch(**self.model_dump(exclude={"builder"}))


class FatTree(ScenarioPart):
    """See :func:`topology.fat_tree`."""

    builder: Literal["fat-tree"]
    levels: Literal[2, 3] = 2
    leaves: int = 4
    spines: int = 2
    hosts: int = 8
    links: int = 1
    rate: str = "4X HDR"
    leaf_rates: dict[int, str] = Field(default_factory=dict)
    pods: int = 2
    cores: int = 2

    def build(self, _folder: Path) -> NetFile:
        """The net file."""
        return topology.fat_tree(**self.model_dump(exclude={"builder"}))


class Ring(ScenarioPart):
    """See :func:`topology.ring`."""

    builder: Literal["ring"]
    switches: int = 4
    hosts: int = 2
    rate: str = "4X HDR"

    def build(self, _folder: Path) -> NetFile:
        """The net file."""
        return topology.ring(**self.model_dump(exclude={"builder"}))


class Kary(ScenarioPart):
    """See :func:`topology.kary`."""

    builder: Literal["kary"]
    k: int = 4
    n: int = 2
    rate: str = "4X HDR"

    def build(self, _folder: Path) -> NetFile:
        """The net file."""
        return topology.kary(**self.model_dump(exclude={"builder"}))


class Captured(ScenarioPart):
    """An ibnetdiscover output; ``file`` is relative to the scenario's folder."""

    builder: Literal["capture"]
    file: Path

    def build(self, folder: Path) -> NetFile:
        """The net file."""
        return topology.capture(folder / self.file)


Topology = Annotated[
    TwoSwitch | FatTree | Ring | Kary | Captured,
    Field(discriminator="builder"),
]


def _expand(value: Any) -> Any:
    """A node set where one is written, else the list as it is."""
    if isinstance(value, str):
        return nodeset.expand(value)
    return value


class SimSubnetManager(ScenarioPart):
    """OpenSM and its routing options (opensm.conf).

    Attributes:
        host: node it runs on, also a switch.
        first: nodes routed first (``guid_routing_order_file``).
        roots: root switches of updn and ftree (``root_guid_file``).
        lfts: tables to load, as OpenSM dumps them (engine ``file``).
        scatter_ports: seed; 0 = off.
    """

    host: str = topology.OBSERVER
    engine: Literal["minhop", "updn", "ftree", "lash", "dnup", "dor", "file"] = "minhop"
    lmc: int = Field(default=0, ge=0, le=7)
    priority: int = Field(default=0, ge=0, le=15)
    port_shifting: bool = False
    scatter_ports: int = Field(default=0, ge=0)
    first: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    lfts: str | None = None

    _sets = field_validator("first", "roots", mode="before")(_expand)


class Hosts(ScenarioPart):
    """Who has SSH, by inventory group; node sets. ``nodes`` names the node where it differs."""

    observers: tuple[str, ...] = (topology.OBSERVER,)
    clients: tuple[str, ...] = ()
    storage: tuple[str, ...] = ()
    nodes: dict[str, str] = Field(default_factory=dict)

    _sets = field_validator("observers", "clients", "storage", mode="before")(_expand)

    @property
    def names(self) -> tuple[str, ...]:
        """Every host once."""
        return tuple(dict.fromkeys((*self.observers, *self.clients, *self.storage)))

    def node(self, host: str) -> str:
        """The node that a host is."""
        return self.nodes.get(host, host)


def _compiled(value: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """Refuse what is not a pattern."""
    for pattern in (value,) if isinstance(value, str) else value:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"{pattern!r} is not a pattern: {error}") from None
    return value


class ExpectedEvidence(ScenarioPart):
    """A finding that must be in the verdicts, and what must prove it.

    Attributes:
        id: of the expectation.
        subject: name of the finding's subject.
        expected: as printed; None = not compared.
        found: as printed; None = not compared.
        like: a pattern that ``found`` must match from its start, where it holds measured figures.
        counters: names that must be among the finding's counters.
        routes: the finding must show routes.
        captures: patterns, each of which a cited line must contain.
        file: a pattern that the files of all cited lines must contain, and one at least.
    """

    id: str
    subject: str
    expected: str | None = None
    found: str | None = None
    like: str = ""
    counters: tuple[str, ...] = ()
    routes: bool = False
    captures: tuple[str, ...] = ()
    file: str = ""

    _patterns = field_validator("captures", "like", "file")(_compiled)


class UnderLoad(ScenarioPart):
    """What the suite must say with ``--load``; without it the load entries are not run.

    Attributes:
        outcomes: by expectation id, all of them.
        evidence: as for the run without load, of every entry that is not passed.
        diagnosis: the one look-alike that must be named; None = none.
        says: patterns, each of which a line of the terminal, or a note of a verdict, must contain.
        leaves: patterns of what may be left on the simulated file system: a dead host's.
    """

    outcomes: dict[str, Outcome]
    result: Literal["ACCEPTED", "NOT ACCEPTED", "INCOMPLETE"]
    evidence: tuple[ExpectedEvidence, ...] = ()
    diagnosis: Cause | None = None
    says: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()

    _patterns = field_validator("says", "leaves")(_compiled)

    @field_validator("diagnosis", mode="before")
    @classmethod
    def _cause(cls, value: Any) -> Any:
        """By the member's name or by its words."""
        return Cause.__members__.get(value, value) if isinstance(value, str) else value


class Scenario(ScenarioPart):
    """One scenario file.

    Attributes:
        name: of the file.
        folder: of the file; other files are relative to it.
        description: one sentence.
        sm: None (``sm: none``) = the fabric was never routed.
        plan: write a cabling plan of the topology before the faults.
        expectations: name of a file beside the scenario, or the YAML itself.
        files: written beside the expectations, by name: what a site hands in.
        job: clients of the job, where not all of the group.
        traffic: what data the fabric, its hosts and its storage can move.
        outcomes: by expectation id, all that are judged without ``--load``.
        load: with it; None where the scenario orders nothing of load.
    """

    name: str = ""
    folder: Path = FOLDER
    description: str
    topology: Topology
    sm: SimSubnetManager | None = SimSubnetManager()
    hosts: Hosts = Hosts()
    plan: bool = True
    expectations: str = ""
    files: dict[str, str] = Field(default_factory=dict)
    job: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    traffic: Traffic = Traffic()
    outcomes: dict[str, Outcome] = Field(default_factory=dict)
    result: Literal["ACCEPTED", "NOT ACCEPTED", "INCOMPLETE"] = "INCOMPLETE"
    evidence: tuple[ExpectedEvidence, ...] = ()
    load: UnderLoad | None = None

    _sets = field_validator("job", mode="before")(_expand)

    @field_validator("sm", mode="before")
    @classmethod
    def _none(cls, value: Any) -> Any:
        return None if value == "none" else value

    @model_validator(mode="after")
    def _hosts_exist(self) -> Self:
        """A fault of a host that has no SSH would silently be no fault."""
        for fault in self.faults:
            host = getattr(fault, "host", None)
            if host is not None and host not in self.hosts.names:
                raise ValueError(f"a fault is of {host!r}, which is not among the hosts")
        absent = sorted(self.traffic.names() - set(self.hosts.names))
        if absent:
            raise ValueError(f"the traffic is of {absent[0]!r}, which is not among the hosts")
        return self

    def expectations_text(self) -> str:
        """The expectations file.

        Raises:
            InputError: it cannot be read.
        """
        if "\n" in self.expectations or not self.expectations:
            return self.expectations
        path = self.folder / self.expectations
        try:
            return path.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"scenario {self.name}: its expectations {path} cannot be read: {error.strerror}"
            ) from error


def names() -> tuple[str, ...]:
    """Every scenario that comes with the suite."""
    files = (path.name for path in FOLDER.glob("*.yaml"))
    return tuple(sorted(f.removesuffix(".yaml") for f in files if not f.endswith(_SHARED)))


def load(name: str | Path) -> Scenario:
    """A scenario by its name, its path, or ``capture:FILE``.

    Raises:
        InputError: there is none, or the file is not a scenario; file, line and what is wrong.
    """
    text = str(name)
    if text.startswith(CAPTURE):
        return _of_capture(Path(text.removeprefix(CAPTURE)))
    path = Path(text)
    if path.suffix not in {".yaml", ".yml"}:
        path = FOLDER / f"{text}.yaml"
        if text not in names():
            raise InputError(
                f"there is no lab scenario {text!r}; there are {', '.join(names())}, "
                f"a path ending in .yaml, or {CAPTURE}FILE"
            )
    document = yamlfile.load(path)
    if not isinstance(document.value, Mapping):
        raise InputError(f"{path}:1: a scenario is a mapping")
    try:
        return Scenario.model_validate(
            {**document.value, "name": path.stem, "folder": path.parent.absolute()}
        )
    except ValidationError as error:
        raise InputProblemsError(
            document.problem(
                problem["loc"],
                f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}",
            )
            for problem in error.errors()
        ) from None


def _of_capture(path: Path) -> Scenario:
    """A scenario of a captured fabric: its first host observes, the others are clients."""
    net = topology.capture(path)
    nodes: dict[str, str] = {}
    for node in net.hosts():
        if node.name != node.id and "Aggregation Node" not in node.name and node.ports:
            word = re.sub(r"[^A-Za-z0-9_.-]", "_", node.name.split()[0])
            nodes.setdefault(word, node.id)
    if not nodes:
        raise InputError(f"{path} shows no host with a name and a cable, so no observer")
    observer, *clients = nodes
    return Scenario(
        name=path.stem,
        folder=path.parent.absolute(),
        description=f"the fabric captured in {path.name}",
        topology=Captured(builder="capture", file=Path(path.name)),
        sm=SimSubnetManager(host=nodes[observer]),
        hosts=Hosts(observers=(observer,), clients=tuple(clients), nodes=nodes),
    )

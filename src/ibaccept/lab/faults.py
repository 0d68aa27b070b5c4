"""What can be wrong in a scenario: the fault types of its YAML, as typed data.

Three families. *Cabling* faults change the topology before the fabric starts (the cabling plan is
taken before them). *Fabric* faults happen in the running fabric, at the start or right after a
command was served. *Host* faults are of SSH, of a host's tools, or of a tool's output.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ibaccept.errors import InputError
from ibaccept.fabric.model import Rate
from ibaccept.lab.fabric.netfile import PortRef
from ibaccept.lab.hosts.shims import TOOLS


class ScenarioPart(BaseModel):
    """A part of a scenario file: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


def _port(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return PortRef.parse(value)
    except InputError as error:
        # What pydantic collects and reports with the place in the file.
        raise ValueError(str(error)) from None


def _rate(value: object) -> object:
    return Rate.parse(value) if isinstance(value, str) else value


Port = Annotated[PortRef, BeforeValidator(_port)]
"""``SwitchA/13``."""
LinkRate = Annotated[Rate, BeforeValidator(_rate)]
"""``1X HDR``."""


class Served(ScenarioPart):
    """Right after the lab served a command for the ``nth`` time, before the client knows.

    ``command`` is a tool (``ibqueryerrors``) or, with blanks, a whole command line
    (``ibqueryerrors --skip-sl``, without sudo).
    """

    command: str
    nth: int = Field(default=1, ge=1)


class After(ScenarioPart):
    """``when: {after: {command: ibqueryerrors, nth: 1}}``."""

    after: Served


class CableRateFault(ScenarioPart):
    """The cable at a port trains at another rate."""

    type: Literal["rate"]
    cable: Port
    rate: LinkRate


class MissingCable(ScenarioPart):
    """The cable at a port is not there. At a host's port: its HCA is down."""

    type: Literal["missing"]
    cable: Port


class RenamedNode(ScenarioPart):
    """A node has another node description than ordered, as that of a second node."""

    type: Literal["rename"]
    node: str
    name: str


class SwappedCables(ScenarioPart):
    """The far ends of two cables, named by one port each, are exchanged."""

    type: Literal["swap"]
    cables: tuple[Port, Port]


class Unlink(ScenarioPart):
    """A cable is pulled while the fabric runs."""

    type: Literal["unlink"]
    cable: Port
    when: Literal["start"] | After = "start"


class SetCounters(ScenarioPart):
    """Counters of a port stand at these values."""

    type: Literal["set"]
    port: Port
    counters: dict[str, int]
    when: Literal["start"] | After = "start"


class CountUp(ScenarioPart):
    """Counters of a port grow by these amounts."""

    type: Literal["count"]
    port: Port
    counters: dict[str, int]
    when: Literal["start"] | After = "start"


class ClearCounters(ScenarioPart):
    """The error counters of a port, or of every port, are cleared."""

    type: Literal["clear"]
    port: Port | None = None
    when: Literal["start"] | After = "start"


class Silence(ScenarioPart):
    """A node (or one port of it) drops management datagrams: all, or one attribute number."""

    type: Literal["silence"]
    node: str
    port: int | None = None
    attribute: int | None = None
    when: Literal["start"] | After = "start"


class NoSubnetManager(ScenarioPart):
    """The subnet manager ends after it has routed the fabric."""

    type: Literal["no-sm"]
    when: Literal["start"] | After = "start"


class Unreachable(ScenarioPart):
    """SSH to a host is refused, or (``silent``) accepted and never answered."""

    type: Literal["unreachable"]
    host: str
    how: Literal["refused", "silent"] = "refused"


class HostKey(ScenarioPart):
    """A host's key is not in known_hosts, or is another one."""

    type: Literal["host-key"]
    host: str
    how: Literal["unknown", "changed"] = "unknown"


class Authentication(ScenarioPart):
    """A host refuses our key."""

    type: Literal["authentication"]
    host: str


class Unresolved(ScenarioPart):
    """A host's address in the inventory cannot be resolved."""

    type: Literal["unresolved"]
    host: str


class MissingTools(ScenarioPart):
    """Tools are not installed on a host."""

    type: Literal["missing-tools"]
    host: str
    tools: tuple[str, ...]


class SudoRefused(ScenarioPart):
    """``sudo -n`` asks for a password on a host."""

    type: Literal["sudo-refused"]
    host: str


class Output(ScenarioPart):
    """The real output of a tool suffers.

    ``cut``: ends after ``at`` per cent, exit code as it was. ``hang``: the same, and the tool does
    not end. ``garble``: bytes that do not belong there come in between. ``replace``: a sed script
    changes it. ``disconnect``: the SSH connection is cut there.

    Attributes:
        host: None = any host.
        command: the tool.
        nth: which time it runs (on that host, or at all); None = every time.
    """

    type: Literal["output"]
    command: str
    how: Literal["cut", "hang", "garble", "replace", "disconnect"]
    host: str | None = None
    nth: int | None = None
    at: int = Field(default=50, ge=0, le=100)
    sed: str = ""

    @model_validator(mode="after")
    def _can_be_done(self) -> Self:
        if self.how != "disconnect" and self.command not in TOOLS:
            raise ValueError(f"{self.command!r} is not one of {', '.join(TOOLS)}")
        if (self.how == "replace") != bool(self.sed):
            raise ValueError("'sed' goes with 'how: replace', and only with it")
        return self


CablingFault = CableRateFault | MissingCable | SwappedCables | RenamedNode
FabricFault = Unlink | SetCounters | CountUp | ClearCounters | Silence | NoSubnetManager
HostFault = (
    Unreachable | HostKey | Authentication | Unresolved | MissingTools | SudoRefused | Output
)
Fault = Annotated[CablingFault | FabricFault | HostFault, Field(discriminator="type")]

"""The ``traffic:`` section of a scenario: what moves data on the simulated fabric, and how fast.

Bandwidths are payload, in one direction. What is not given does not limit; a link without a ceiling
carries what idle links of its rate are known to carry.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from ibaccept.fabric import nodeset, units
from ibaccept.fabric.model import Rate


def _bandwidth(value: object) -> object:
    return units.Bandwidth.parse(value) if isinstance(value, str) else value


def _share(value: object) -> object:
    return units.Percent.parse(value).fraction if isinstance(value, str) else value


def _size(value: object) -> object:
    return units.Size.parse(value).bytes if isinstance(value, str) else value


def _seconds(value: object) -> object:
    return units.Duration.parse(value).seconds if isinstance(value, str) else value


def _expand(value: Any) -> Any:
    return nodeset.expand(value) if isinstance(value, str) else value


Payload = Annotated[units.Bandwidth, BeforeValidator(_bandwidth)]
"""``22.6 GiB/s``."""
Share = Annotated[float, BeforeValidator(_share), Field(ge=0, lt=1)]
"""``4%``."""
Bytes = Annotated[int, BeforeValidator(_size), Field(gt=0)]
"""``64GiB``."""
Seconds = Annotated[float, BeforeValidator(_seconds), Field(ge=0)]
"""``4s``."""
HostSet = Annotated[tuple[str, ...], BeforeValidator(_expand)]
"""``client-[01-12]``."""


class Part(BaseModel):
    """A part of the section: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class HostLimit(Part):
    """What some hosts can do, whatever the tool.

    Attributes:
        hosts: a node set.
        pace: what it asks for or offers, in each direction: nothing waits for it in the fabric.
        nic: the adapter, in each direction (a PCIe slot of half the lanes).
        send: what leaves the host.
        receive: what the host takes; a slow receiver holds back the switch port that faces it.
        fs_write: what its file system client writes.
        fs_read: what its file system client reads (read-ahead).
        memory: MemTotal of /proc/meminfo; None = this machine's own.
    """

    hosts: HostSet
    pace: Payload | None = None
    nic: Payload | None = None
    send: Payload | None = None
    receive: Payload | None = None
    fs_write: Payload | None = None
    fs_read: Payload | None = None
    memory: Bytes | None = None


LIMITS = ("pace", "nic", "send", "receive", "fs_write", "fs_read")
"""The bandwidths of a host."""


class FileSystem(Part):
    """The simulated parallel file system: striped over all storage servers.

    Attributes:
        path: where clients see it; a folder of the lab stands behind it.
        write: what the storage takes as a whole.
        read: what the storage gives as a whole.
        cached: share of the bytes read that clients have in memory: no cable carries them.
    """

    path: str = Field(default="/scratch", pattern=r"^/[\w/.-]*\w$")
    write: Payload | None = None
    read: Payload | None = None
    cached: Share = 0.0


class Background(Part):
    """Traffic of others, from the start to the end of the lab."""

    source: str
    sink: str
    rate: Payload


class Hang(Part):
    """A tool on a host never ends once it moves data."""

    type: Literal["hang"]
    host: str
    tool: Literal["ib_write_bw", "ib_read_bw", "fio"]


class Dies(Part):
    """A host loses power, so long after its first flow began."""

    type: Literal["dies"]
    host: str
    after: Seconds


class PortTaken(Part):
    """Another program listens on a TCP port of a host."""

    type: Literal["port-taken"]
    host: str
    port: int = Field(ge=1, le=65535)


class NoWrite(Part):
    """On a host the file system is mounted read-only, or it is full."""

    type: Literal["no-write"]
    host: str
    how: Literal["read-only", "full"]


class Clears(Part):
    """While data moves, a monitoring system clears all counters periodically."""

    type: Literal["clears"]
    every: Annotated[Seconds, Field(gt=0)]


Mishap = Annotated[Hang | Dies | PortTaken | NoWrite | Clears, Field(discriminator="type")]


class Traffic(Part):
    """The whole section.

    Attributes:
        ceilings: payload of one link in one direction, by width and speed.
        contention: what a full cable that several receivers share loses of its ceiling.
        adaptive: switches choose among parallel cables, whatever the tables say.
        hosts: limits; where two name a host, the smaller counts.
    """

    ceilings: dict[str, Payload] = Field(default_factory=dict)
    contention: Share = 0.0
    adaptive: bool = False
    hosts: tuple[HostLimit, ...] = ()
    filesystem: FileSystem = FileSystem()
    background: tuple[Background, ...] = ()
    mishaps: tuple[Mishap, ...] = ()

    @field_validator("ceilings")
    @classmethod
    def _rates(cls, value: dict[str, units.Bandwidth]) -> dict[str, units.Bandwidth]:
        return {str(Rate.parse(rate)): ceiling for rate, ceiling in value.items()}

    @model_validator(mode="after")
    def _two_ends(self) -> Self:
        for flow in self.background:
            if flow.source == flow.sink:
                raise ValueError(f"background traffic from {flow.source} to itself")
        return self

    def names(self) -> frozenset[str]:
        """Every host that the section names."""
        named = {host for limit in self.hosts for host in limit.hosts}
        named |= {mishap.host for mishap in self.mishaps if not isinstance(mishap, Clears)}
        return frozenset(named | {end for b in self.background for end in (b.source, b.sink)})

    def limit(self, host: str, what: str) -> float:
        """The smallest limit of a kind for a host, bytes per second; infinite for none."""
        return self._limits.get((host, what), float("inf"))

    @cached_property
    def _limits(self) -> dict[tuple[str, str], float]:
        found: dict[tuple[str, str], float] = {}
        for entry in self.hosts:
            for what in LIMITS:
                value: units.Bandwidth | None = getattr(entry, what)
                if value is None:
                    continue
                for host in entry.hosts:
                    known = found.get((host, what), float("inf"))
                    found[host, what] = min(known, value.bytes_per_second)
        return found

    def memory(self, host: str) -> int | None:
        """MemTotal of a host in bytes, None where the scenario does not say."""
        return next((h.memory for h in self.hosts if host in h.hosts and h.memory), None)

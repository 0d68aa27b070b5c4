"""Everything of expectations.yaml but the entries: ceilings, job, workloads, waivers."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)

from ibaccept.commands import is_parameter
from ibaccept.fabric import units
from ibaccept.fabric.model import Rate
from ibaccept.site.fields import AtLeastOne, Duration, HostNames, KeyedError, Size, Strict, Text


def _date(value: object) -> date:
    if isinstance(value, date):
        return value
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", str(value)):
        raise ValueError(f"must be a date such as 2027-01-31, not {value!r}")
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f"there is no day {value}") from None


Date = Annotated[date, PlainValidator(_date), WithJsonSchema({"type": "string", "format": "date"})]


LEAST_CEILING = 0.5
"""Share of its data rate that every idle link carries."""


def _ceilings(value: object) -> dict[Rate, units.Bandwidth] | Literal["measure"]:
    if value == "measure":
        return "measure"
    if not isinstance(value, dict) or not value:
        raise ValueError(f"must be measure or a mapping such as 4X HDR: 22.6 GiB/s, not {value!r}")
    found: dict[Rate, units.Bandwidth] = {}
    for key, text in value.items():
        try:
            rate = Rate.parse(key)
            ceiling = units.Bandwidth.parse(str(text))
        except ValueError as error:
            raise KeyedError(str(error), key) from None
        if rate in found:
            raise KeyedError(f"{rate} is there twice", key)
        if 0 < ceiling.gbps < LEAST_CEILING * rate.gbps:
            raise KeyedError(
                f"{text} is {ceiling.gbps:.3g} Gb/s, less than half of what a {rate} link carries "
                f"({rate.gbps:.1f} Gb/s); compare the unit, or leave it to be derived",
                key,
            )
        if not 0 < ceiling.gbps <= rate.gbps:
            raise KeyedError(
                f"{text} is {ceiling.gbps:.1f} Gb/s; a {rate} link carries at most "
                f"{rate.gbps:.1f} Gb/s",
                key,
            )
        found[rate] = ceiling
    return found


Ceilings = Annotated[
    dict[Rate, units.Bandwidth] | Literal["measure"],
    PlainValidator(_ceilings),
    PlainSerializer(
        lambda v: v if v == "measure" else {str(rate): str(limit) for rate, limit in v.items()}
    ),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": "measure"},
                {"type": "object", "additionalProperties": {"type": "string"}},
            ]
        }
    ),
]


def _files(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Files = Annotated[
    tuple[Text, ...],
    BeforeValidator(_files),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]


class JobSetting(Strict):
    """Whose traffic is judged. ``--job`` replaces the clients.

    Storage names every server that serves the file system, and no other host: routes, forecast and
    ceilings are those to and from them, and a run that others served is not judged.
    """

    clients: HostNames = Field(
        default=HostNames("clients"), description="inventory group or node set"
    )
    storage: HostNames = Field(
        default=HostNames("storage"), description="inventory group or node set"
    )


class FilesystemWorkload(Strict):
    """The write run, then the read run, of the file system."""

    tool: Literal["fio", "ior", "elbencho", "recorded"] = Field(
        description="`fio`, `ior`, `elbencho`, or `recorded`: results of the site's own benchmark"
    )
    path: Text | None = Field(default=None, description="folder on the file system")
    size_per_client: Size | None = Field(default=None, description="data set of one client")
    block: Size = Field(default=units.Size(1 << 20), description="bytes of one request")
    processes: AtLeastOne = Field(default=1, description="per client")
    depth: AtLeastOne = Field(default=16, description="requests in flight per process")
    at_most: Duration = Field(default=units.Duration(1800), description="then a run is stopped")
    keep: bool = Field(default=False, strict=True, description="leave the test files")
    cached: Literal["allowed", "refused"] = Field(
        default="refused", description="a data set that caches can hold: refused unless allowed"
    )
    engine: Literal["libaio", "io_uring", "posixaio", "psync"] = Field(
        default="libaio", description="fio's I/O engine"
    )
    direct: bool = Field(default=True, strict=True, description="past the clients' page cache")
    file: Files = Field(
        default=(),
        description="recorded: the result of each direction, relative to the expectations file",
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.tool != "recorded" and self.file:
            raise KeyedError("is of tool: recorded only", "file")
        if self.tool == "recorded":
            if not self.file:
                raise ValueError("a recorded run needs file")
        elif self.path is None or self.size_per_client is None:
            raise ValueError(f"{self.tool} needs path and size_per_client")
        else:
            self._can_be_sent(self.path, self.size_per_client.bytes)
        return self

    def _can_be_sent(self, path: str, size: int) -> None:
        """Every value can stand in the command it is for, and means a load there."""
        if not path.startswith("/"):
            raise KeyedError(f"must be absolute, not {path!r}", "path")
        if not is_parameter("path", path):
            raise KeyedError(
                f"may hold letters, digits and _ . + @ - only, no blanks and no . or .. alone, not "
                f"{path!r}",
                "path",
            )
        for key, value in (("block", self.block.bytes), ("size_per_client", size)):
            if not is_parameter("bytes", value):
                raise KeyedError("must be more than 0B", key)
        for key, number in (("processes", self.processes), ("depth", self.depth)):
            if not is_parameter("count", number):
                raise KeyedError("must be at most 9999", key)
        if size // self.processes < self.block.bytes:
            raise KeyedError(
                f"{self.size_per_client} for {self.processes} processes is less than one block of "
                f"{self.block} each",
                "size_per_client",
            )
        if self.at_most.seconds < 1:
            raise KeyedError("must be 1s or more: no run ends sooner", "at_most")


class RdmaWorkload(Strict):
    """RDMA between the job's endpoints, all pairs at once."""

    tool: Literal["ib_write_bw", "ib_read_bw"] = Field(
        default="ib_write_bw", description="of perftest"
    )
    duration: Duration = Field(default=units.Duration(30), description="of each run")
    message: Size = Field(default=units.Size(1 << 20), description="bytes of one message")
    qps: AtLeastOne = Field(default=4, description="queue pairs of each pair of hosts")
    direction: Literal["read", "write", "both"] = Field(
        default="read", description="read: storage sends, clients receive"
    )
    pattern: Literal["pairs", "all-to-all"] = Field(
        default="pairs",
        description="pairs: each client with one server, round-robin; all-to-all: as many rounds "
        "as there are servers",
    )
    depth: AtLeastOne | None = Field(
        default=None, description="messages in flight; the tool's own when left out"
    )

    @model_validator(mode="after")
    def _can_be_sent(self) -> Self:
        seconds = self.duration.seconds
        if seconds != int(seconds) or not is_parameter("seconds", int(seconds)):
            raise KeyedError(
                f"must be whole seconds, from 1s to 99999s, not {self.duration}", "duration"
            )
        if not is_parameter("bytes", self.message.bytes):
            raise KeyedError("must be more than 0B", "message")
        for key, number in (("qps", self.qps), ("depth", self.depth)):
            if number is not None and not is_parameter("count", number):
                raise KeyedError("must be at most 9999", key)
        return self


class Workloads(Strict):
    """The load runs; started only with ``--load``, all of them that some entry needs."""

    filesystem: FilesystemWorkload | None = None
    rdma: RdmaWorkload | None = None


class Waiver(Strict):
    """A failure that is known and accepted until a day."""

    expectation: Text = Field(description="id of the entry")
    subject: Text = Field(description="what the finding is about, as reports name it")
    until: Date = Field(description="the last day it holds")
    ticket: Text = Field(description="where it is followed up")
    because: Text = Field(description="why it is accepted")

    def is_expired(self, today: date) -> bool:
        """True after the last day."""
        return today > self.until


class Settings(Strict):
    """Everything of the file but the entries, which are validated by their kinds."""

    version: Literal[1] = Field(description="1")
    fabric: Text = Field(description="name of the fabric, for reports and folders")
    adaptive_routing: Literal["on", "off"] | None = Field(
        default=None, description="on: forwarding tables do not predict load and are not judged"
    )
    subnet_files: tuple[Text, ...] = Field(
        default=(),
        description="opensm.conf, its log, or ibdiagnet's log, db_csv or .far, relative to this "
        "file: what they say of adaptive routing",
    )
    ceilings: Ceilings | None = Field(
        default=None,
        description="payload of one idle link, measured on this hardware, by rate: "
        "`{4X HDR: 22.6 GiB/s}`; or `measure`: on an idle pair, with --load; derived from the data "
        "rate where it is left out",
    )
    job: JobSetting | None = Field(default=None, description="see below")
    workloads: Workloads = Field(default=Workloads(), description="see below")
    waivers: tuple[Waiver, ...] = Field(default=(), description="see below")
    expect: list[Any] = Field(description="the entries, see above")

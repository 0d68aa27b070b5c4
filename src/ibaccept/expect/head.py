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

from ibaccept import units
from ibaccept.expect.fields import AtLeastOne, Duration, KeyedError, Nodes, Size, Strict, Text
from ibaccept.model import Rate


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


class Job(Strict):
    """Whose traffic is judged. ``--job`` replaces the clients."""

    clients: Nodes = "clients"
    storage: Nodes = "storage"


class FilesystemWorkload(Strict):
    """The write run, then the read run, of the file system."""

    tool: Literal["fio", "ior", "elbencho", "recorded"]
    path: Text | None = Field(default=None, description="folder on the file system")
    size_per_client: Size | None = Field(default=None, description="data set of one client")
    block: Size = units.Size(1 << 20)
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
        if self.tool == "recorded":
            if not self.file:
                raise ValueError("a recorded run needs file")
        elif self.path is None or self.size_per_client is None:
            raise ValueError(f"{self.tool} needs path and size_per_client")
        elif not self.path.startswith("/"):
            raise KeyedError(f"must be absolute, not {self.path!r}", "path")
        return self


class RdmaWorkload(Strict):
    """RDMA between the job's endpoints, all pairs at once."""

    tool: Literal["ib_write_bw", "ib_read_bw"] = "ib_write_bw"
    duration: Duration = units.Duration(30)
    message: Size = units.Size(1 << 20)
    qps: AtLeastOne = 4
    direction: Literal["read", "write", "both"] = Field(
        default="read", description="read: storage sends, clients receive"
    )
    pattern: Literal["pairs", "all-to-all"] = "pairs"
    depth: AtLeastOne | None = Field(
        default=None, description="messages in flight; the tool's own when left out"
    )


class Workloads(Strict):
    """The load runs; started only with ``--load``."""

    filesystem: FilesystemWorkload | None = None
    rdma: RdmaWorkload | None = None


class Waiver(Strict):
    """A failure that is known and accepted until a day."""

    expectation: Text = Field(description="id of the entry")
    subject: Text = Field(description="what the finding is about, as reports name it")
    until: Date = Field(description="the last day it holds")
    ticket: Text
    because: Text

    def is_expired(self, today: date) -> bool:
        """True after the last day."""
        return today > self.until


class Head(Strict):
    """Everything of the file but the entries, which are validated by their kinds."""

    version: Literal[1]
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
        default=None, description="payload of one idle link, measured on this hardware"
    )
    job: Job | None = None
    workloads: Workloads = Workloads()
    waivers: tuple[Waiver, ...] = ()
    expect: list[Any]

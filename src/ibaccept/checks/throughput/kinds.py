"""Expectations about what the fabric carries under load; judged only with ``--load``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from ibaccept.checks.base import Area, Expectation, Need, WorkloadName
from ibaccept.checks.selector import LinkSelector
from ibaccept.site.fields import Floor, Share, Tolerance
from ibaccept.site.settings import Settings

AGAINST = "read against write"
_FLOOR = "all clients together: while all of them ran, and from the first start to the last end"


class Filesystem(Expectation):
    """The file system reads and writes as fast as ordered.

    ```yaml
    - id: read-is-write
      kind: filesystem
      read_within: 5%
      of: write
    - id: floors
      kind: filesystem
      read_at_least: 90 GiB/s
      write_at_least: 90 GiB/s
      client_at_least: 6 GiB/s
    ```
    """

    area: ClassVar[Area] = "throughput"
    needs_load: ClassVar[bool] = True
    workloads: ClassVar[frozenset[WorkloadName]] = frozenset({"filesystem"})

    kind: Literal["filesystem"]
    read_within: Tolerance | None = Field(
        default=None, description="the read run is at most so far below what of names"
    )
    of: Literal["write"] | None = None
    read_at_least: Floor | None = Field(default=None, description=_FLOOR)
    write_at_least: Floor | None = Field(default=None, description=_FLOOR)
    client_at_least: Floor | None = Field(
        default=None, description="the slowest client, in each direction"
    )

    @property
    def aspects(self) -> Mapping[str, str]:
        """What is expected of each ordered aspect: ``read rate``: ``read at least 90 GiB/s``."""
        found = {}
        if self.read_within is not None:
            found[AGAINST] = f"reads at most {self.read_within} below writes"
        if self.read_at_least is not None:
            found["read rate"] = f"read at least {self.read_at_least}"
        if self.write_at_least is not None:
            found["write rate"] = f"write at least {self.write_at_least}"
        if self.client_at_least is not None:
            for way in ("read", "write"):
                least = f"each client {way}s at least {self.client_at_least}"
                found[f"slowest client, {way}"] = least
        return found

    @property
    def ordered(self) -> str:
        """``read at least 90 GiB/s, write at least 90 GiB/s``."""
        return ", ".join(self.aspects.values())

    @model_validator(mode="after")
    def _is_ordered(self) -> Self:
        if (self.read_within is None) != (self.of is None):
            raise ValueError("read_within and of go together: read_within: 5%, of: write")
        floors = (self.read_at_least, self.write_at_least, self.client_at_least)
        if self.read_within is None and all(floor is None for floor in floors):
            raise ValueError(
                "nothing is ordered; give read_within and of, read_at_least, write_at_least or "
                "client_at_least"
            )
        return self


class RdmaCeiling(Expectation):
    """RDMA between the same endpoints carries what the file system needs.

    ``at-least``: RDMA alone, in the direction of reads, is no less than the named run less
    ``within``. ``matches``: both agree within it, as they do where the fabric is the limit.

    ```yaml
    - id: fabric-carries
      kind: rdma-ceiling
      relation: at-least
      of: filesystem-write
      within: 5%
    ```
    """

    area: ClassVar[Area] = "throughput"
    needs_load: ClassVar[bool] = True
    workloads: ClassVar[frozenset[WorkloadName]] = frozenset({"filesystem", "rdma"})

    kind: Literal["rdma-ceiling"]
    relation: Literal["at-least", "matches"]
    of: Literal["filesystem-write", "filesystem-read"]
    within: Tolerance

    def problems(self, settings: Settings) -> Iterator[str]:
        """Also a run of RDMA that has not the direction of reads."""
        yield from super().problems(settings)
        rdma = settings.workloads.rdma
        if rdma is not None and rdma.direction == "write":
            yield (
                f"{self.kind} is about storage that sends to clients; workloads: rdma: direction "
                "is write, make it read or both"
            )

    @property
    def direction(self) -> str:
        """``read`` or ``write``: of the file system's run."""
        return self.of.removeprefix("filesystem-")

    @property
    def ordered(self) -> str:
        """``at least the file system's write, less 5%``."""
        if self.relation == "at-least":
            return f"at least the file system's {self.direction}, less {self.within}"
        return f"the file system's {self.direction} within {self.within}"


class Forecast(Expectation):
    """The measured rate is the one forecast from routes, ceilings and the write run.

    The forecast is a bracket: all flows in lock-step with the slowest, to max-min fair shares. The
    measured rate is within ``within`` of that bracket, and a note says where in it. The bracket
    bounds nothing by itself: head-of-line blocking and unfair shares are not modelled.

    ```yaml
    - id: as-forecast
      kind: forecast
      of: filesystem-read
      within: 5%
    ```
    """

    area: ClassVar[Area] = "throughput"
    needs_load: ClassVar[bool] = True
    workloads: ClassVar[frozenset[WorkloadName]] = frozenset({"filesystem"})

    kind: Literal["forecast"]
    of: Literal["filesystem-read"] = "filesystem-read"
    within: Tolerance

    @property
    def ordered(self) -> str:
        """``the forecast within 5%``."""
        return f"the forecast within {self.within}"


_WATCHED: Mapping[str, WorkloadName] = {
    "filesystem-write": "filesystem",
    "filesystem-read": "filesystem",
    "rdma": "rdma",
}
"""The workload whose run ``during`` names."""


class CableLoad(Expectation):
    """No cable is full while another of its group idles.

    ```yaml
    - id: no-hot-cable
      kind: cable-load
      during: filesystem-read
      at_most: 90%
      while_under: 50%
    ```
    """

    area: ClassVar[Area] = "throughput"
    needs_load: ClassVar[bool] = True

    kind: Literal["cable-load"]
    during: Literal["filesystem-write", "filesystem-read", "rdma"]
    links: LinkSelector = Field(
        default=LinkSelector(type="isl"), description="of those that the job's traffic crosses"
    )
    at_most: Share = Field(description="share of the ceiling that no cable exceeds ...")
    while_under: Share = Field(description="... while another of its group is below this share")

    @property
    def ordered(self) -> str:
        """``no cable above 90% while another of its group is under 50%``."""
        return (
            f"no cable above {self.at_most} while another of its group is under {self.while_under}"
        )

    def needs(self) -> Need:
        """The workload of the run it watches."""
        return Need(job=True, workloads=frozenset({_WATCHED[self.during]}))

    @model_validator(mode="after")
    def _is_ordered(self) -> Self:
        if self.while_under >= self.at_most:
            raise ValueError(f"while_under {self.while_under} is not below at_most {self.at_most}")
        return self

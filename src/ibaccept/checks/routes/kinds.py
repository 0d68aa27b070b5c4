"""Expectations about the forwarding tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from ibaccept.checks.base import AbsentField, Area, Expectation, Need
from ibaccept.checks.selector import Between
from ibaccept.site.fields import AtLeastOne, Count, JobNames


class Delivery(Expectation):
    """Every pair reaches each other.

    The forwarding tables deliver from every port to every LID: no loop, no dead end, no missing
    entry, and with ``every: pair`` no cabled host port without a LID. A table that could not be
    read whole is an error, never a pass.

    ```yaml
    - id: delivered
      kind: routes
      every: pair
      max_hops: 4
      credit_loops: none
    ```
    """

    area: ClassVar[Area] = "routes"

    kind: Literal["routes"]
    every: Literal["pair", "job"] = Field(
        default="pair", description="every pair of hosts, or only those of the job"
    )
    max_hops: AtLeastOne | None = Field(default=None, description="switches on the way, at most")
    credit_loops: Literal["none", "allowed", "report"] = Field(
        default="none", description="cycles in which links can wait for each other"
    )
    absent: AbsentField = "refused"

    def needs(self) -> Need:
        """The job's LIDs where only its pairs are judged."""
        return Need(job=self.every == "job")

    @property
    def aspects(self) -> Mapping[str, str]:
        """What is expected of each ordered aspect of the routes."""
        pairs = "every pair" if self.every == "pair" else "every pair of the job"
        found = {"delivery": f"{pairs} delivered"}
        if self.max_hops is not None:
            found["hops"] = f"at most {self.max_hops} switches on the way"
        if self.credit_loops == "none":
            found["credit loops"] = "no credit loop on one virtual lane"
        return found

    @property
    def ordered(self) -> str:
        """``every pair delivered, at most 4 switches on the way``."""
        return ", ".join(self.aspects.values())


def _per_cable(value: object) -> int | Literal["even"]:
    if value == "even":
        return "even"
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise ValueError(f"must be even or a number from 1, not {value!r}")


PerCable = Annotated[
    int | Literal["even"],
    PlainValidator(_per_cable),
    WithJsonSchema({"anyOf": [{"const": "even"}, {"type": "integer", "minimum": 1}]}),
]


class LidSpread(Expectation):
    """No cable carries more of the job's LIDs than ordered.

    Writes follow the LIDs of storage, reads those of the clients. Counted on every cable that the
    job's traffic to them crosses, leaf and spine. ``even`` is the best any static table can do: the
    number of LIDs over the number of usable cables, rounded up; a cable is usable where it is on a
    shortest route, and cables of several rates count by bandwidth. It is judged for the cables each
    switch chooses among, and for those that several switches choose together: into a switch with
    such LIDs, out of and into its pod. Where no static table gives all of them their share at once
    (uneven uplinks, a cable that is missing), the best table that is known is the measure, and a
    note says so. Where ports own several LIDs (LMC), ``even`` holds also for the first LIDs alone.
    Where hosts have a port on each rail and use only pairs of one rail, say ``rails: separate``.
    Where switches route adaptively the tables do not tell the load: never judged.

    ```yaml
    - id: reads-spread
      kind: lid-spread
      lids: clients
      per_cable: even
      because: "a read goes to the client's LID"
    ```
    """

    area: ClassVar[Area] = "routes"

    kind: Literal["lid-spread"]
    lids: JobNames = Field(description="clients or storage of the job, or a node set")
    per_cable: PerCable = Field(description="LIDs on the fullest cable, or even")
    group: Between | None = Field(default=None, description="only cables between these two sides")
    absent: AbsentField = "refused"
    rails: Literal["joint", "separate"] = Field(
        default="joint",
        description="every port sends to every other, or the n-th of a host to the n-th of others",
    )

    def needs(self) -> Need:
        """The job's LIDs: the cables judged are those that the job's traffic crosses."""
        return Need(job=True)

    @property
    def limit(self) -> str:
        """``their even share``, or ``2 LIDs``."""
        if self.per_cable == "even":
            return "their even share"
        return f"{self.per_cable} {'LID' if self.per_cable == 1 else 'LIDs'}"

    @property
    def ordered(self) -> str:
        """``at most their even share of the LIDs of clients per cable``."""
        if self.per_cable == "even":
            return f"at most their even share of the LIDs of {self.lids} per cable"
        return f"at most {self.per_cable} of the LIDs of {self.lids} per cable"


class Balance(Expectation):
    """The LIDs of the whole fabric are spread evenly over the cables of each group.

    A group is all cables between the same two switches.

    ```yaml
    - id: balanced
      kind: balance
      max_minus_min: 1
    ```
    """

    area: ClassVar[Area] = "routes"

    kind: Literal["balance"]
    max_minus_min: Count = Field(description="fullest minus emptiest cable of a group, in LIDs")
    group: Between | None = Field(default=None, description="only cables between these two sides")
    absent: AbsentField = "refused"

    @property
    def ordered(self) -> str:
        """``a difference of at most 1 LID between two cables of a group``."""
        lids = "LID" if self.max_minus_min == 1 else "LIDs"
        return f"a difference of at most {self.max_minus_min} {lids} between two cables of a group"

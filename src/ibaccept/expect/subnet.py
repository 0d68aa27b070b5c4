"""Expectations about the subnet and its manager."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ibaccept.expect.base import Area, Expectation
from ibaccept.expect.fields import AtLeastOne, Count, GuidField


class SubnetManager(Expectation):
    """The subnet is managed as ordered.

    Exactly so many subnet managers say they are master. Whether one runs on a host or in a switch
    is told by its GUID: a switch's own manager has the switch's node GUID.

    ```yaml
    - id: one-sm
      kind: subnet-manager
      masters: 1
      on: host
      standbys: 1
      because: "managers embedded in switches hide the routing options"
    ```
    """

    area: ClassVar[Area] = "subnet"

    kind: Literal["subnet-manager"]
    masters: AtLeastOne = Field(default=1, description="exactly so many masters")
    on: Literal["host", "switch"] | None = Field(default=None, description="where the master runs")
    guid: GuidField | None = Field(
        default=None, description="port GUID of the master on a host, node GUID of one in a switch"
    )
    standbys: Count | None = Field(
        default=None, description="exactly so many standbys; not judged when left out"
    )
    priority: Annotated[int, Field(strict=True, ge=0, le=15)] | None = Field(
        default=None, description="priority of the master"
    )

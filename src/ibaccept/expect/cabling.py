"""Expectations about which port is cabled to which."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ibaccept.expect.base import Area, Expectation
from ibaccept.expect.fields import AtLeastOne, Text
from ibaccept.expect.selector import Between, LinkSelector


class Cabling(Expectation):
    """The fabric is cabled as planned.

    Missing, extra, moved and swapped cables are told with both ends; a swap is told as one. A
    cable that the plan does not name is extra where it takes a planned port, joins two planned
    nodes, or joins such types of nodes as the plan has cables between.

    ```yaml
    - id: all-cabled
      kind: cabling
      plan: inventory/cables.csv
      extra: allowed
    ```
    """

    area: ClassVar[Area] = "cabling"

    kind: Literal["cabling"]
    plan: Text = Field(
        description="CSV file or the folder of an earlier run, relative to the expectations file"
    )
    extra: Literal["refused", "allowed"] = Field(
        default="refused", description="cables that the plan does not name"
    )
    each: Literal["cable"] | None = Field(default=None, description="one item per planned cable")


class LinkCount(Expectation):
    """As many links as ordered are up.

    ```yaml
    - id: isl-count
      kind: link-count
      between: [SwitchA, SwitchB]
      count: 8
    ```
    """

    area: ClassVar[Area] = "cabling"

    kind: Literal["link-count"]
    between: Between
    count: AtLeastOne = Field(description="exactly so many links that are up")

    @property
    def links(self) -> LinkSelector:
        """The links to count."""
        return LinkSelector(between=self.between)

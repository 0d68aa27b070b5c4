"""Expectations about the rate of links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from ibaccept.expect.base import Area, Expectation
from ibaccept.expect.fields import SpeedField, WidthField
from ibaccept.expect.selector import LinkSelector
from ibaccept.model import Rate, Speed, Width


@dataclass(frozen=True, slots=True)
class RateOrder:
    """The ordered width, speed, or both; a condition for ``judge``."""

    width: Width | None
    speed: Speed | None

    def met(self, actual: Rate) -> bool:
        """True where the rate has the ordered width and speed; 2X NDR is not 4X HDR."""
        return self.width in {None, actual.width} and self.speed in {None, actual.speed}

    def __str__(self) -> str:
        return " ".join(str(part) for part in (self.width, self.speed) if part is not None)


class LinkRate(Expectation):
    """Every selected link trains at the ordered width and speed.

    Width and speed are compared each for itself. A port that is down has no rate: with a plan it
    is told as down, never as slow.

    ```yaml
    - id: isl-4x-hdr
      kind: link-rate
      links: isl
      width: 4X
      speed: HDR
      because: "spine ordered as HDR"
    - id: storage-4x-edr
      kind: link-rate
      links: {nodes: storage, except: {names: "stor09/*"}}
      speed: EDR
    ```
    """

    area: ClassVar[Area] = "links"

    kind: Literal["link-rate"]
    links: LinkSelector
    width: WidthField | None = None
    speed: SpeedField | None = None
    each: Literal["cable"] | None = Field(
        default=None, description="one item per planned cable; needs an entry of kind cabling"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.width is None and self.speed is None:
            raise ValueError("nothing is ordered; give width, speed or both")
        return self

    @property
    def rate(self) -> RateOrder:
        """What was ordered."""
        return RateOrder(self.width, self.speed)

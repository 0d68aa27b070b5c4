"""Expectations about error counters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema, field_validator

from ibaccept.counters import FAULT_COUNTERS, WIDTH
from ibaccept.expect.base import Area, Expectation
from ibaccept.expect.fields import Count, CounterName
from ibaccept.expect.selector import LinkSelector
from ibaccept.units import Duration

LONGEST_WINDOW = 24 * 3600.0


def _window(value: object) -> Duration | Literal["load"]:
    if value == "load":
        return "load"
    if isinstance(value, Duration):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"must be a duration or load, not {value!r}")  # noqa: TRY004 - pydantic reports ValueErrors
    duration = Duration.parse(str(value))
    if not 1 <= duration.seconds <= LONGEST_WINDOW:
        raise ValueError(f"{value!r} is not between 1s and 24h")
    return duration


Window = Annotated[
    Duration | Literal["load"],
    PlainValidator(_window),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(
        {"anyOf": [{"const": "load"}, {"type": "string", "pattern": r"^\d+(\.\d+)?\s*(ms|s|m|h)$"}]}
    ),
]


class ErrorCounters(Expectation):
    """No error counter grows beyond its limit.

    Two readings are compared; nothing is cleared. A counter without a limit of its own may not
    grow at all if it counts faults of the link, and is shown but not judged if its cause lies
    elsewhere (PortRcvRemotePhysicalErrors, PortRcvSwitchRelayErrors, VL15Dropped, QP1Dropped,
    PortXmitWait). A saturated, cleared or unsupported counter is an error, never a pass.

    ```yaml
    - id: no-errors
      kind: error-counters
      links: all
      window: 60s
    - id: few-symbol-errors
      kind: error-counters
      links: isl
      window: 10m
      limits: {SymbolErrorCounter: 10}
    ```
    """

    area: ClassVar[Area] = "counters"

    kind: Literal["error-counters"]
    links: LinkSelector
    window: Window = Field(description="time between the readings; load = during the load runs")
    limits: Mapping[CounterName, Count] = Field(
        default={}, description="growth allowed within the window, by counter"
    )
    each: Literal["cable"] | None = Field(
        default=None, description="one item per planned cable; needs an entry of kind cabling"
    )

    @field_validator("limits")
    @classmethod
    def _can_be_exceeded(cls, value: Mapping[str, int]) -> Mapping[str, int]:
        for name, limit in value.items():
            most = (1 << WIDTH[name]) - 1
            if limit >= most:
                raise ValueError(
                    f"{name} has {WIDTH[name]} bits and stands still at {most}, so it can never "
                    f"grow by more than {limit}; give a limit that can be exceeded"
                )
        return value

    @property
    def is_under_load(self) -> bool:
        """True with ``window: load``."""
        return self.window == "load"

    @property
    def window_text(self) -> str:
        """``60s``, or ``the load runs``."""
        return "the load runs" if self.window == "load" else str(self.window)

    def limit(self, counter: str) -> int | None:
        """Growth allowed; None for a counter that is only shown."""
        if counter in self.limits:
            return self.limits[counter]
        return 0 if counter in FAULT_COUNTERS else None

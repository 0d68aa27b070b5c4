"""Expectations about error counters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema, field_validator

from ibaccept.checks.base import AbsentField, Area, Expectation, Need
from ibaccept.checks.links import BOTH_ENDS, SHORT, SLACK, absent, ports_of
from ibaccept.checks.selector import AbsentNode, LinkSelector
from ibaccept.fabric.counters import COUNTERS, FAULT_COUNTERS, WIDTH
from ibaccept.fabric.model import PortId
from ibaccept.fabric.units import Duration
from ibaccept.observe.snapshot import Gap, Snapshot, Window
from ibaccept.site.fields import Count, CounterName
from ibaccept.verdict import Different, ItemAnswer, Met
from ibaccept.verdict.absence import NotSeen, NotSeenError
from ibaccept.verdict.evidence import CaptureRef, Counter, CounterState

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


CounterWindow = Annotated[
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
    window: CounterWindow = Field(
        description="time between the readings; load = during the load runs"
    )
    limits: Mapping[CounterName, Count] = Field(
        default={}, description="growth allowed within the window, by counter"
    )
    each: Literal["cable"] | None = Field(
        default=None, description="one item per planned cable; needs an entry of kind cabling"
    )
    absent: AbsentField = "refused"

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

    def needs(self) -> Need:
        """A second counter sweep after the window, or whatever load runs there are."""
        if isinstance(self.window, Duration):
            return Need(windows=frozenset({self.window.seconds}))
        return Need(any_load=True)

    def each_cables(self) -> LinkSelector | None:
        """The links, with ``each: cable``."""
        return self.links if self.each is not None else None

    @property
    def window_text(self) -> str:
        """``60s``, or ``the load runs``."""
        return "the load runs" if self.window == "load" else str(self.window)

    @property
    def ordered(self) -> str:
        """``growth of at most 0 of each error counter, 10 of SymbolErrorCounter``."""
        own = [f"{limit} of {name}" for name, limit in self.limits.items()]
        return ", ".join(("growth of at most 0 of each error counter", *own))

    def limit(self, counter: str) -> int | None:
        """Growth allowed: the entry's own limit, else 0 for a fault counter (the default).

        None for a counter that is only shown.
        """
        if counter in self.limits:
            return self.limits[counter]
        return 0 if counter in FAULT_COUNTERS else None


def growth_of(
    snapshot: Snapshot, window: Window, expected: ErrorCounters
) -> Callable[[Any], ItemAnswer]:
    """Judges the counters of both ends of an item over a window.

    Returns:
        A function of the item: met, what grew beyond its limit, or what could not be judged.
        Proven growth is a difference even where another counter could not be judged.
    """
    judged = [(name, limit) for name in COUNTERS if (limit := expected.limit(name)) is not None]
    always = all(COUNTERS[name].cap_bit is None for name, _ in judged)

    def growth(item: Any) -> ItemAnswer:
        if isinstance(item, Gap | AbsentNode):
            return absent(item)
        ports = [port for port in ports_of(item) if snapshot.fabric.port(port) is not None]
        grown, unclear = [], []
        if len(ports) < BOTH_ENDS:
            unclear.append(f"not seen at both ends: {item.state_text()}")
        for port in ports:
            if always and window.is_clean(port):
                continue
            label = snapshot.fabric.port_name(port)
            wrong, unknown = _port_growth(window, port, label, judged)
            grown += wrong
            unclear += unknown
        if grown:
            return Different("; ".join(grown))
        if unclear:
            why = "; ".join(dict.fromkeys(unclear))
            return NotSeen("error counters", why, "read the port again in a new window")
        return Met()

    return growth


def _port_growth(
    window: Window, port: PortId, label: str, judged: Sequence[tuple[str, int]]
) -> tuple[list[str], list[str]]:
    """What the counters of a port grew beyond their limits, and what could not be judged."""
    if window.fell(port) is not None:
        return [], [f"{label}: {window.why_void(port)}"]
    grown: list[str] = []
    unclear: list[str] = []
    for name, limit in judged:
        wrong, unknown = _growth(window, port, label, name, limit)
        grown += wrong
        unclear += unknown
    void = window.why_void(port)
    if void is not None and not unclear:
        unclear.append(f"{label}: {void}")
    return grown, unclear


def _growth(
    window: Window, port: PortId, label: str, name: str, limit: int
) -> tuple[list[str], list[str]]:
    """What one counter grew beyond its limit, and what of it could not be judged."""
    counter = window.counter(port, name, label=label)
    if counter.delta is None:
        return [], [_unclear(counter, window, port)]
    return ([_grown(counter, limit)] if counter.delta > limit else []), []


def _grown(counter: Counter, limit: int) -> str:
    over = f", limit {limit}" if limit else ""
    return f"{counter.port} {counter.name} +{counter.delta}{_in(counter)}{over}"


def _in(counter: Counter) -> str:
    return f" in {counter.seconds:.0f} s" if counter.seconds is not None else ""


def _unclear(counter: Counter, window: Window, port: PortId) -> str:
    where = f"{counter.port} {counter.name}"
    if counter.state is CounterState.SATURATED:
        return f"{where} is saturated at {(1 << counter.bits) - 1}: it can no longer grow"
    return window.why_unread(port, counter.name)


def window_of(snapshot: Snapshot, expected: ErrorCounters) -> Window:
    """The two sweeps an entry compares.

    Raises:
        NotSeenError: one of them could not be made.
    """
    assert not isinstance(expected.window, str)  # noqa: S101 - load entries have their own test
    ordered = expected.window.seconds
    window = snapshot.window(ordered)
    if window.between is None or window.between < ordered * SHORT - SLACK:
        # The expectations of a replay may order a longer window than the run waited.
        shown = "an unknown time" if window.between is None else f"{window.between:.1f} s"
        raise NotSeenError(
            NotSeen(
                f"a window of {expected.window}",
                f"the two readings are {shown} apart, the entry orders {expected.window}",
                "look at the fabric again with this window",
                tuple(CaptureRef(sweep.file, None, "") for sweep in (window.before, window.after)),
            )
        )
    return window

"""The port counters of the performance management class, by the names perfquery prints.

Widths and meaning: InfiniBand Architecture Specification volume 1, PortCounters and
PortCountersExtended; capability bits: ``iba_types.h`` of infiniband-diags. Counters stick at
their maximum, so the width decides which value is "saturated".
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

EXTENDED_BITS = 64
"""Width of every counter of the extended set (``perfquery -x``)."""

CAP_EXTENDED = 9
"""CapMask bit: the extended set, with unicast and multicast packet counters."""

CAP_EXTENDED_NO_IETF = 10
"""CapMask bit: the extended set without unicast and multicast packet counters."""

CAP_XMIT_WAIT = 12
"""CapMask bit: PortXmitWait is measured."""

CAP_QP1_DROPPED = 15
"""CapMask bit: QP1Dropped is measured."""

CAP2_ADDITIONAL = 1
"""CapMask2 bit: the extended set also holds the error counters, 64 bits wide."""


class CounterClass(enum.StrEnum):
    """What growth of a counter in a loaded window means.

    ``FAULT``: something is wrong with this port's link. ``REPORT``: to be shown, not failed (the
    cause is elsewhere or is congestion). ``DATA``: traffic.
    """

    FAULT = "fault"
    REPORT = "report"
    DATA = "data"


@dataclass(frozen=True, slots=True)
class CounterType:
    """One counter of the table.

    Attributes:
        bits: width in the basic set; 64 for counters of the extended set only.
        cls: what growth means.
        cap_bit: CapMask bit without which a printed value was not measured; None = always is.
    """

    name: str
    bits: int
    cls: CounterClass
    cap_bit: int | None = None


_FAULT, _REPORT, _DATA = CounterClass.FAULT, CounterClass.REPORT, CounterClass.DATA

TABLE: tuple[CounterType, ...] = (
    CounterType("SymbolErrorCounter", 16, _FAULT),
    CounterType("LinkErrorRecoveryCounter", 8, _FAULT),
    CounterType("LinkDownedCounter", 8, _FAULT),
    CounterType("PortRcvErrors", 16, _FAULT),
    CounterType("PortRcvRemotePhysicalErrors", 16, _REPORT),
    CounterType("PortRcvSwitchRelayErrors", 16, _REPORT),
    CounterType("PortXmitDiscards", 16, _FAULT),
    CounterType("PortXmitConstraintErrors", 8, _FAULT),
    CounterType("PortRcvConstraintErrors", 8, _FAULT),
    CounterType("LocalLinkIntegrityErrors", 4, _FAULT),
    CounterType("ExcessiveBufferOverrunErrors", 4, _FAULT),
    CounterType("QP1Dropped", 16, _REPORT, CAP_QP1_DROPPED),
    CounterType("VL15Dropped", 16, _REPORT),
    CounterType("PortXmitData", 32, _DATA),
    CounterType("PortRcvData", 32, _DATA),
    CounterType("PortXmitPkts", 32, _DATA),
    CounterType("PortRcvPkts", 32, _DATA),
    CounterType("PortXmitWait", 32, _REPORT, CAP_XMIT_WAIT),
    CounterType("PortUnicastXmitPkts", 64, _DATA, CAP_EXTENDED),
    CounterType("PortUnicastRcvPkts", 64, _DATA, CAP_EXTENDED),
    CounterType("PortMulticastXmitPkts", 64, _DATA, CAP_EXTENDED),
    CounterType("PortMulticastRcvPkts", 64, _DATA, CAP_EXTENDED),
)
"""Every counter, in the order perfquery prints the basic set, then the extended set's own."""

COUNTERS: dict[str, CounterType] = {counter.name: counter for counter in TABLE}
"""The table by name."""

WIDTH: dict[str, int] = {counter.name: counter.bits for counter in TABLE}
"""Bits in the basic set, by name."""

FAULT_COUNTERS: tuple[str, ...] = tuple(c.name for c in TABLE if c.cls is _FAULT)
REPORT_COUNTERS: tuple[str, ...] = tuple(c.name for c in TABLE if c.cls is _REPORT)
DATA_COUNTERS: tuple[str, ...] = tuple(c.name for c in TABLE if c.cls is _DATA)

HISTORIC_NAMES: dict[str, str] = {
    # OFED 1.2 to 1.5
    "SymbolErrors": "SymbolErrorCounter",
    "LinkRecovers": "LinkErrorRecoveryCounter",
    "LinkDowned": "LinkDownedCounter",
    "RcvErrors": "PortRcvErrors",
    "RcvRemotePhysErrors": "PortRcvRemotePhysicalErrors",
    "RcvSwRelayErrors": "PortRcvSwitchRelayErrors",
    "XmtDiscards": "PortXmitDiscards",
    "XmtConstraintErrors": "PortXmitConstraintErrors",
    "RcvConstraintErrors": "PortRcvConstraintErrors",
    "LinkIntegrityErrors": "LocalLinkIntegrityErrors",
    "ExcBufOverrunErrors": "ExcessiveBufferOverrunErrors",
    "XmtData": "PortXmitData",
    "RcvData": "PortRcvData",
    "XmtPkts": "PortXmitPkts",
    "RcvPkts": "PortRcvPkts",
    # OFED 1.1, otherwise as 1.2; the unit was octets / 4 then, too
    "XmtBytes": "PortXmitData",
    "RcvBytes": "PortRcvData",
}
"""Names of old perfquery versions -> today's."""


def bits(name: str, *, extended: bool) -> int | None:
    """Width of a counter, None for a name that is not in the table.

    Args:
        name: as perfquery prints it today.
        extended: read from the extended set.
    """
    if name not in WIDTH:
        return None
    return EXTENDED_BITS if extended else WIDTH[name]


def unmeasured(
    names: frozenset[str], cap_mask: int | None, cap_mask2: int | None, *, extended: bool
) -> frozenset[str]:
    """Which printed values the capability bits say were not measured, so that 0 is no reading.

    Args:
        names: counters as printed (today's names).
        cap_mask: CapMask of the port's ClassPortInfo; None = not known, so none is returned.
        cap_mask2: CapMask2; None for the basic set, and from versions that do not print it.
        extended: read from the extended set.
    """
    if cap_mask is None:
        return frozenset()
    missing = {
        counter.name
        for counter in TABLE
        if counter.cap_bit is not None and not cap_mask >> counter.cap_bit & 1
    }
    if extended and not cap_mask >> CAP_EXTENDED & 1 and not cap_mask >> CAP_EXTENDED_NO_IETF & 1:
        return names
    if extended and cap_mask2 is not None and not cap_mask2 >> CAP2_ADDITIONAL & 1:
        missing |= {*FAULT_COUNTERS, *REPORT_COUNTERS}
    return names & missing

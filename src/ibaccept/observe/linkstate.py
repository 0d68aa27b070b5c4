"""Whether a link carries data, and what every other state of its ports means. Pure.

Only a port that is Active/LinkUp carries data: Polling and training are states of the cable,
Initialize and Armed are states on the way on which a subnet manager brings a port up.

States and their meaning: InfiniBand Architecture Specification volume 1, PortInfo (PortState,
PortPhysicalState) and the link state machine of volume 1, chapter 7; names as in
``libibmad/dump.c`` of rdma-core.
"""

from __future__ import annotations

from dataclasses import dataclass

from ibaccept.fabric.model import Fabric, Link, PhysState, Port, PortState

_PHYSICAL = {
    PhysState.SLEEP: "the port is in sleep mode",
    PhysState.POLLING: "no peer or no cable",
    PhysState.DISABLED: "disabled by the switch or by an administrator",
    PhysState.TRAINING: "the link is training",
    PhysState.ERROR_RECOVERY: "the link is retraining after errors",
    PhysState.PHY_TEST: "the port is in a test mode",
}

_LOGICAL = {
    PortState.DOWN: "the cable is trained, but the link layer is down",
    PortState.INITIALIZE: "no subnet manager has configured it",
    PortState.ARMED: "a subnet manager has configured it, but not activated it",
}


@dataclass(frozen=True, slots=True)
class LinkState:
    """Whether a link carries data.

    Attributes:
        is_up: both ends are Active/LinkUp; None where an end was not seen and the other is up.
        text: both ends and what their states mean, for the reader; empty where the link is up.
    """

    is_up: bool | None
    text: str = ""


def port_is_up(port: Port | None) -> bool | None:
    """True for Active/LinkUp, None where a part of the state was not seen."""
    if port is None:
        return None
    if meaning(port):
        return False
    return True if (port.state, port.phys) == (PortState.ACTIVE, PhysState.LINK_UP) else None


def meaning(port: Port) -> str:
    """What keeps a port from carrying data; empty where it is up or its state was not seen."""
    if port.phys in _PHYSICAL:
        return _PHYSICAL[port.phys]
    if port.state is PortState.DOWN and port.phys is not PhysState.LINK_UP:
        return "no physical state was shown"
    return _LOGICAL.get(port.state, "") if port.state is not None else ""


def port_state(port: Port | None) -> str:
    """``Initialize/LinkUp (no subnet manager has configured it)``, or that it was not seen."""
    if port is None or (port.state is None and port.phys is None):
        return "in no state that was seen"
    parts = [part.value if part is not None else "?" for part in (port.state, port.phys)]
    why = meaning(port)
    return "/".join(parts) + (f" ({why})" if why else "")


def link_state(link: Link, fabric: Fabric) -> LinkState:
    """Whether a link of a fabric carries data."""
    names = (fabric.port_name(link.a), fabric.port_name(link.b))
    ups = [port_is_up(end) for end in link.ends]
    if all(ups):
        return LinkState(is_up=True)
    first, second = (port_state(end) for end in link.ends)
    if first == second:
        text = f"both ends are {first}"
    else:
        text = f"{names[0]} is {first}; {names[1]} is {second}"
    return LinkState(False if False in ups else None, text)

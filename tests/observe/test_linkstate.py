"""Only Active/LinkUp at both ends carries data; every other pair of states has its words."""

import itertools

import pytest

from ibaccept.fabric.model import Fabric, Guid, Node, NodeType, PhysState, Port, PortId, PortState
from ibaccept.observe.linkstate import LinkState, link_state, port_is_up, port_state

A, B = PortId(Guid(0xA), 13), PortId(Guid(0xB), 25)
UP = (PortState.ACTIVE, PhysState.LINK_UP)


def link(a, b):
    """A link whose ends are in these states, and its fabric."""
    ends = (Port(A, state=a[0], phys=a[1], remote=B), Port(B, state=b[0], phys=b[1], remote=A))
    fabric = Fabric.of(
        Node(end.id.guid, NodeType.SWITCH, name, 40, {end.id.port: end})
        for name, end in zip(("SwitchA", "SwitchB"), ends, strict=True)
    )
    return fabric.links[0], fabric


@pytest.mark.parametrize(
    ("state", "phys", "text"),
    [
        ("Active", "LinkUp", "Active/LinkUp"),
        ("Initialize", "LinkUp", "Initialize/LinkUp (no subnet manager has configured it)"),
        (
            "Armed",
            "LinkUp",
            "Armed/LinkUp (a subnet manager has configured it, but not activated it)",
        ),
        (
            "Armed",
            "LinkErrorRecovery",
            "Armed/LinkErrorRecovery (the link is retraining after errors)",
        ),
        (
            "Active",
            "LinkErrorRecovery",
            "Active/LinkErrorRecovery (the link is retraining after errors)",
        ),
        ("Down", "Polling", "Down/Polling (no peer or no cable)"),
        ("Down", "Sleep", "Down/Sleep (the port is in sleep mode)"),
        ("Down", "Disabled", "Down/Disabled (disabled by the switch or by an administrator)"),
        (
            "Down",
            "PortConfigurationTraining",
            "Down/PortConfigurationTraining (the link is training)",
        ),
        ("Down", "PhyTest", "Down/PhyTest (the port is in a test mode)"),
        ("Down", "LinkUp", "Down/LinkUp (the cable is trained, but the link layer is down)"),
        ("Down", None, "Down/? (no physical state was shown)"),
        ("Active", None, "Active/?"),
        (None, "LinkUp", "?/LinkUp"),
        ("NoChange", "LinkUp", "NoChange/LinkUp"),
        ("Active", "NoChange", "Active/NoChange"),
        (None, None, "in no state that was seen"),
    ],
)
def test_a_state_has_its_words(state, phys, text):
    port = Port(A, state=state and PortState(state), phys=phys and PhysState(phys))

    assert port_state(port) == text


def test_a_port_that_was_not_seen_is_neither_up_nor_down():
    assert port_state(None) == "in no state that was seen"
    assert port_is_up(None) is None


@pytest.mark.parametrize(
    ("a", "b", "is_up", "text"),
    [
        (UP, UP, True, ""),
        (
            (PortState.INITIALIZE, PhysState.LINK_UP),
            (PortState.INITIALIZE, PhysState.LINK_UP),
            False,
            "both ends are Initialize/LinkUp (no subnet manager has configured it)",
        ),
        (
            (PortState.ARMED, PhysState.ERROR_RECOVERY),
            UP,
            False,
            "SwitchA/13 is Armed/LinkErrorRecovery (the link is retraining after errors); "
            "SwitchB/25 is Active/LinkUp",
        ),
        (
            UP,
            (None, None),
            None,
            "SwitchA/13 is Active/LinkUp; SwitchB/25 is in no state that was seen",
        ),
        (
            (None, None),
            (PortState.DOWN, PhysState.DISABLED),
            False,
            "SwitchA/13 is in no state that was seen; SwitchB/25 is Down/Disabled (disabled by "
            "the switch or by an administrator)",
        ),
    ],
)
def test_a_link_has_the_states_of_both_ends(a, b, is_up, text):
    assert link_state(*link(a, b)) == LinkState(is_up, text)


def test_no_pair_but_active_and_linkup_twice_is_up():
    states = [*itertools.product([None, *PortState], [None, *PhysState])]

    found = {(a, b): link_state(*link(a, b)) for a, b in itertools.product(states, repeat=2)}

    assert [pair for pair, state in found.items() if state.is_up] == [(UP, UP)]
    assert all(state.text for pair, state in found.items() if pair != (UP, UP))

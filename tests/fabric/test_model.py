"""The nouns of a fabric: what a link is, and who owns a LID."""

import pytest

from ibaccept.fabric.model import (
    Fabric,
    Guid,
    Lid,
    Node,
    NodeType,
    Port,
    PortId,
    Rate,
    Speed,
    Width,
)

SWITCH, CA, ROUTER = NodeType.SWITCH, NodeType.CA, NodeType.ROUTER
BOX = (Guid(7), Guid(7))


def pair(one, other, *, same=False, system=BOX):
    """The only link between two nodes of these types, or between two ports of one."""
    far = Guid(1) if same else Guid(2)
    cabled = [(Guid(1), 1, far, 2), (far, 2, Guid(1), 1)]
    types = {Guid(1): one} if same else {Guid(1): one, Guid(2): other}
    fabric = Fabric.of(
        Node(
            guid,
            kind,
            f"n{guid:d}",
            2,
            {
                port: Port(PortId(guid, port), remote=PortId(peer, number))
                for own, port, peer, number in cabled
                if own == guid
            },
            system_guid=system[guid - 1],
        )
        for guid, kind in types.items()
    )
    (link,) = fabric.links
    return fabric, link


@pytest.mark.parametrize(
    ("one", "other", "options", "internal"),
    [
        (SWITCH, SWITCH, {}, True),
        (SWITCH, ROUTER, {}, True),
        (SWITCH, CA, {}, True),  # an aggregation node in its switch
        (CA, CA, {}, False),  # two ports of one adapter, cabled back to back
        (SWITCH, SWITCH, {"same": True}, False),
        (SWITCH, SWITCH, {"system": (Guid(7), Guid(8))}, False),
        (SWITCH, SWITCH, {"system": (None, None)}, False),
        (SWITCH, SWITCH, {"system": (Guid(0), Guid(0))}, False),
    ],
)
def test_a_link_inside_a_box(one, other, options, internal):
    fabric, link = pair(one, other, **options)

    assert fabric.is_internal(link) is internal


@pytest.mark.parametrize(
    ("one", "other", "isl"),
    [(SWITCH, SWITCH, True), (SWITCH, ROUTER, True), (SWITCH, CA, False), (CA, CA, False)],
)
def test_links_between_switches(one, other, isl):
    fabric, link = pair(one, other)

    assert fabric.is_isl(link) is isl


def test_owners_of_lids():
    """2^LMC of a CA's port; those of a switch are its port 0's."""
    ca = Node(Guid(1), CA, "a", 1, {1: Port(PortId(Guid(1), 1), lid=Lid(4), lmc=1)})
    switch = Node(Guid(2), SWITCH, "b", 1, {1: Port(PortId(Guid(2), 1))}, lid=Lid(9))
    fabric = Fabric.of([ca, switch])

    assert fabric.lid_owner == {
        4: PortId(Guid(1), 1),
        5: PortId(Guid(1), 1),
        9: PortId(Guid(2), 0),
    }


@pytest.mark.parametrize("speed", Speed)
def test_a_rate_reads_back(speed):
    rate = Rate(Width.X4, speed)

    assert Rate.parse(str(rate)) == rate
    assert Guid.parse(str(Guid(0xC0FFEE))) == Guid(0xC0FFEE)


@pytest.mark.parametrize(
    ("read", "text"),
    [(Guid.parse, "0x12345678901234567"), (Width.parse, "3X"), (Speed.parse, "LDR"),
     (Rate.parse, "HDR 4X")],
)  # fmt: skip
def test_refused(read, text):
    with pytest.raises(ValueError, match="is not a"):
        read(text)


def test_two_nodes_of_one_guid():
    with pytest.raises(ValueError, match="two nodes have the GUID"):
        Fabric.of([Node(Guid(1), CA, "a", 1), Node(Guid(1), CA, "b", 1)])

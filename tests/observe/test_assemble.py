"""One fabric of ibnetdiscover and iblinkinfo; no disagreement of the two passes as a rate."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ibaccept.fabric.model import Guid, Lid, NodeType, PhysState, Port, PortId, PortState, Rate
from ibaccept.observe.assemble import gaps, merge, to_fabric
from ibaccept.parse import ParseError, iblinkinfo, ibnetdiscover

GOLDEN = Path(__file__).parents[1] / "parse" / "golden"
SAMPLES = Path(__file__).resolve().parents[2] / "../shared/samples"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="shared/ is not beside the project")
LEAF01, LEAF02 = Guid(0xB8599F0300FC6D04), Guid(0xB8599F0300FC6D44)


def topology_text(case):
    return (GOLDEN / "ibnetdiscover" / f"{case}.txt").read_text()


def rows_text(case):
    return (GOLDEN / "iblinkinfo" / f"{case}.txt").read_text()


def merged(topology, rows):
    return merge(ibnetdiscover.parse(topology), iblinkinfo.parse(rows).rows)


def rates(fabric):
    return {fabric.link_name(link): str(link.rate) for link in fabric.links}


MIXED = {
    "node001 mlx5_0/1 - leaf01/1": "4X HDR",
    "node002 mlx5_0/1 - leaf01/2": "2X HDR",
    "stor001 mlx5_0/1 - leaf02/1": "4X EDR",
    "stor002 mlx5_0/1 - leaf02/2": "1X SDR",
    "mgmt01 mlx4_0/1 - leaf01/3": "4X FDR",
    "mgmt01 mlx4_0/2 - leaf02/3": "4X QDR",
    "leaf01/5 - leaf01/6": "4X HDR",
    "leaf01/7 - leaf02/7": "4X EDR",
    "leaf01/8 - leaf02/8": "12X DDR",
}
TWO = {
    "node001 mlx5_0/1 - leaf01/1": "4X HDR",
    "node002 mlx5_0/1 - leaf01/2": "4X HDR",
    "stor001 mlx5_0/1 - leaf02/1": "4X HDR",
    "stor002 mlx5_0/1 - leaf02/2": "4X HDR",
    "leaf01/7 - leaf02/7": "4X HDR",
    "leaf01/8 - leaf02/8": "4X HDR",
}


def test_ibnetdiscover_alone():
    topology = ibnetdiscover.parse(topology_text("mixed-speeds"))
    fabric = to_fabric(topology)

    assert rates(fabric) == MIXED
    assert {port.state for port in fabric.ports()} == {None}
    assert gaps(topology) == ()
    assert fabric.nodes[LEAF01].lid == 7
    assert (fabric.nodes[LEAF01].vendor_id, fabric.nodes[LEAF01].num_ports) == (0x2C9, 8)
    assert sum(fabric.is_isl(link) for link in fabric.links) == 3


@pytest.mark.parametrize("rows", ["mixed-speeds", "line-mixed-speeds"])
def test_both_tools_agree(rows):
    """Either mode of iblinkinfo; ports that are down come from it alone."""
    fabric, sentences = merged(topology_text("mixed-speeds"), rows_text(rows))

    assert sentences == ()
    assert rates(fabric) == MIXED
    assert Counter(port.state for port in fabric.ports()) == {
        PortState.ACTIVE: 18,
        PortState.DOWN: 4,
    }
    assert fabric.port(PortId(LEAF01, 4)) == Port(
        PortId(LEAF01, 4), state=PortState.DOWN, phys=PhysState.POLLING
    )
    assert fabric.port(PortId(Guid(0x0C42A10300F00500), 2)) == Port(
        PortId(Guid(0x0C42A10300F00500), 2),
        guid=Guid(0x0C42A10300F00502),
        lid=Lid(6),
        state=PortState.ACTIVE,
        phys=PhysState.LINK_UP,
        rate=Rate.parse("4X QDR"),
        rate_text="4X 10.0 Gbps",
        remote=PortId(LEAF02, 3),
    )


def test_lmc():
    fabric, sentences = merged(topology_text("lmc-2"), rows_text("line-lmc-2"))

    host = fabric.nodes[Guid(0x0C42A10300F00500)]
    assert sentences == ()
    assert list(host.lids()) == [20, 21, 22, 23, 24, 25, 26, 27]


def test_a_down_cable():
    fabric, sentences = merged(topology_text("down-cable"), rows_text("line-down-cable"))

    assert sentences == ()
    assert rates(fabric) == {k: v for k, v in TWO.items() if k != "leaf01/8 - leaf02/8"}
    assert sum(port.is_down for port in fabric.ports()) == 10


def test_a_host_that_does_not_answer():
    fabric, sentences = merged(topology_text("silent-host"), rows_text("line-silent-host"))

    assert sentences == (f"leaf02/2 ({LEAF02}) is Active, but neither tool could read its peer",)
    assert rates(fabric) == {k: v for k, v in TWO.items() if not k.startswith("stor002")}
    silent = fabric.port(PortId(LEAF02, 2))
    assert (silent.rate, silent.remote) == (Rate.parse("4X HDR"), None)


def test_a_cable_that_only_ibnetdiscover_saw():
    """It stays in the fabric without a rate, so that judging it is an error, never a pass."""
    fabric, sentences = merged(topology_text("two-switches"), rows_text("line-down-cable"))

    leaf01, leaf02 = f"leaf01/8 ({LEAF01})", f"leaf02/8 ({LEAF02})"
    text = "is Down in iblinkinfo (line {}), but ibnetdiscover shows a cable to {}"
    assert sentences == (
        f"{leaf01} {text.format(19, 'leaf02/8')}",
        f"{leaf02} {text.format(10, 'leaf01/8')}",
    )
    assert rates(fabric) == {**TWO, "leaf01/8 - leaf02/8": "None"}
    port = fabric.port(PortId(LEAF01, 8))
    assert (port.state, port.rate_text) == (
        PortState.DOWN,
        "ibnetdiscover 4xHDR, iblinkinfo Down",
    )


def test_a_cable_that_only_iblinkinfo_saw():
    fabric, sentences = merged(topology_text("down-cable"), rows_text("line-two-switches"))

    assert sentences == (
        f"leaf01/8 ({LEAF01}) is Active with the peer leaf02/8 ({LEAF02}) in iblinkinfo (line 19), "
        "but ibnetdiscover does not list it",
        f"leaf02/8 ({LEAF02}) is Active with the peer leaf01/8 ({LEAF01}) in iblinkinfo (line 10), "
        "but ibnetdiscover does not list it",
    )
    assert rates(fabric) == {**TWO, "leaf01/8 - leaf02/8": "None"}


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "53.125 Gbps",
            "25.78125 Gbps",
            "is 4xHDR in ibnetdiscover, but 4X 25.78125 Gbps in iblinkinfo (line 11)",
        ),
        ("( 4X ", "( 2X ", "is 4xHDR in ibnetdiscover, but 2X 53.125 Gbps in iblinkinfo (line 11)"),
        (
            "5    2[",
            "5    3[",
            "is cabled to leaf01/2 in ibnetdiscover, but to leaf01/3 (0xb8599f0300fc6d04) in "
            "iblinkinfo (line 11)",
        ),
    ],
)
def test_disagreement_takes_the_rate(old, new, sentence):
    lines = rows_text("line-two-switches").split("\n")
    index = next(i for i, line in enumerate(lines) if line.startswith("0x0c42a10300f00201"))
    assert old in lines[index]
    lines[index] = lines[index].replace(old, new)

    fabric, sentences = merged(topology_text("two-switches"), "\n".join(lines))

    assert sentences == (f"node002 mlx5_0/1 (0x0c42a10300f00200) {sentence}",)
    assert rates(fabric) == {**TWO, "node002 mlx5_0/1 - leaf01/2": "None"}
    assert fabric.port(PortId(Guid(0x0C42A10300F00200), 1)).rate is None


def test_other_lids_and_missing_rows_are_told():
    lines = [
        line.replace("      2    1[", "     12    1[")
        for line in rows_text("line-two-switches").split("\n")
        if not line.startswith("0x0c42a10300f00101")
    ]

    fabric, sentences = merged(topology_text("two-switches"), "\n".join(lines))

    assert sentences == (
        "node001 mlx5_0/1 (0x0c42a10300f00100) is in ibnetdiscover, but iblinkinfo has no row of "
        "it",
        "node002 mlx5_0/1 (0x0c42a10300f00200) has LID 2 in ibnetdiscover, but 12 in iblinkinfo "
        "(line 11)",
    )
    assert rates(fabric) == TWO
    assert fabric.port(PortId(Guid(0x0C42A10300F00100), 1)).state is None


def test_rows_of_strangers_are_told():
    """A row whose GUID ibnetdiscover does not list, and one without a GUID, are never guessed."""
    rows = rows_text("line-two-switches")
    stranger = next(line for line in rows.split("\n") if line.startswith("0x0c42a10300f00101"))
    headerless = '      5    9[  ] ==(                Down/ Polling)==>             [  ] "" ( )'

    fabric, sentences = merged(
        topology_text("two-switches"),
        rows + stranger.replace("f00101", "f0aa01") + "\n" + headerless + "\n",
    )

    assert sentences == (
        "iblinkinfo line 21 shows port 1 of node001 mlx5_0 (0x0c42a10300f0aa01), which "
        "ibnetdiscover does not list",
        "iblinkinfo line 22 shows port 9 of (no name) (no GUID), which ibnetdiscover does not list",
    )
    assert rates(fabric) == TWO


def test_two_rows_of_one_port_that_differ():
    rows = rows_text("line-two-switches")
    row = next(line for line in rows.split("\n") if line.startswith("0x0c42a10300f00101"))

    same, nothing = merged(topology_text("two-switches"), f"{rows}{row}\n")
    fabric, sentences = merged(
        topology_text("two-switches"), f"{rows}{row.replace('53.125', '106.25')}\n"
    )

    assert (rates(same), nothing) == (TWO, ())
    assert sentences == (
        "node001 mlx5_0/1 (0x0c42a10300f00100) has two rows in iblinkinfo that differ, lines 20 "
        "and 21",
    )
    assert rates(fabric) == {**TWO, "node001 mlx5_0/1 - leaf01/1": "None"}


def test_a_speed_only_one_tool_can_name():
    """``undefined (8)``: an older word is no disagreement; the other tool's word is taken."""
    rows = rows_text("line-two-switches").replace("        53.125 Gbps", "     undefined (8)")

    fabric, sentences = merged(topology_text("two-switches"), rows)

    assert sentences == ()
    assert rates(fabric) == TWO
    assert fabric.port(PortId(LEAF01, 1)).rate_text == (
        "ibnetdiscover 4xHDR, iblinkinfo 4X undefined (8)"
    )


ONE_SWITCH = (
    'Switch\t8 "S-0000000000000002"\t\t# "leaf" base port 0 lid 9 lmc 0\n'
    '[1]\t"H-0000000000000010"[2](12) \t\t# "node" lid 3 4xHDR\n'
    '[5]\t"S-0000000000000003"[7]\t\t# "spine" lid 4 4xHDR\n'
    '[6]\t"S-0000000000000003"[8]\t\t# "spine" lid 4 4xHDR\n'
)


def test_peers_without_a_block():
    """They are nodes with the ports that others name; such a cable has no rate at that end."""
    topology = ibnetdiscover.parse(ONE_SWITCH)
    fabric = to_fabric(topology)

    leaf, spine, node = Guid(2), Guid(3), Guid(0x10)
    no_block = "has no block in ibnetdiscover: only its ports that others name are known"
    no_line = "has no line of its own in ibnetdiscover"
    assert gaps(topology) == (
        f"node ({node}) {no_block}; its port count is not",
        f"node/2 ({node}) {no_line}; leaf/1 names it",
        f"spine ({spine}) {no_block}; its port count is not",
        f"spine/7 ({spine}) {no_line}; leaf/5 names it",
        f"spine/8 ({spine}) {no_line}; leaf/6 names it",
    )
    assert rates(fabric) == {
        "leaf/1 - node/2": "None",
        "leaf/5 - spine/7": "None",
        "leaf/6 - spine/8": "None",
    }
    assert (fabric.nodes[spine].type, fabric.nodes[spine].lid) == (NodeType.SWITCH, 4)
    assert fabric.nodes[spine].num_ports == 8
    assert fabric.port(PortId(node, 2)) == Port(
        PortId(node, 2), guid=Guid(0x12), lid=Lid(3), remote=PortId(leaf, 1)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ONE_SWITCH.replace("S-0000000000000002", "leaf"), "identity is the GUID"),
        (ONE_SWITCH.replace("S-0000000000000003", "S-9c05<redacted>"), "identity is the GUID"),
        (ONE_SWITCH + '\nCa\t1 "H-0000000000000002"\t\t# "twin"\n', "two nodes have the GUID"),
    ],
)
def test_no_fabric_without_identity(text, message):
    topology = ibnetdiscover.parse(text)

    with pytest.raises(ParseError, match=message):
        to_fabric(topology)


@needs_samples
def test_a_large_fabric():
    """Selene, 666 switches: every cable of the capture is a link with the rate of both ends."""
    text = (SAMPLES / "ibnetdiscover/selene-compute-hdr.txt").read_text()
    topology = ibnetdiscover.parse(text)
    fabric = to_fabric(topology)

    assert Counter(str(link.rate) for link in fabric.links) == {"4X HDR": 12852}
    assert sum(fabric.is_isl(link) for link in fabric.links) == 8511
    assert len(list(fabric.hosts())) == 4341 - 666
    assert gaps(topology) == ()


@needs_samples
def test_cables_from_a_switch_to_itself():
    text = (SAMPLES / "ibnetdiscover/small-with-self-links.txt").read_text()
    fabric = to_fabric(ibnetdiscover.parse(text))

    loops = [link for link in fabric.links if link.a.id.guid == link.b.id.guid]
    assert [(link.a.id.port, link.b.id.port, str(link.rate)) for link in loops] == [
        (25, 26, "4X FDR10"),
        (28, 29, "4X FDR"),
    ]


@needs_samples
@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("avakas/subnet0", {"4X QDR": 568, "4X DDR": 1}),
        ("plafrim2/subnet0", {"4X QDR": 155}),
        ("plafrim2/subnet1", {"4X SDR": 1, "4X QDR": 22}),
    ],
)
def test_fabric_of_a_listing(folder, expected):
    text = (SAMPLES / "sets" / folder / "ibnetdiscover-p.txt").read_text()
    topology = ibnetdiscover.to_topology(ibnetdiscover.parse_ports(text))

    assert Counter(str(link.rate) for link in to_fabric(topology).links) == expected
    assert gaps(topology) == ()


def test_a_peer_is_compared_by_lid_where_rows_have_no_guid():
    rows = rows_text("two-switches")
    row = next(line for line in rows.split("\n") if line.startswith("      0x0c42a10300f00201"))
    other_lid = row.replace("      5    2[", "      6    2[")
    silent = row.split("==>")[0] + '==>      "Port not available"'

    by_lid = merged(topology_text("two-switches"), rows.replace(row, other_lid))
    unread = merged(topology_text("two-switches"), rows.replace(row, silent))

    start = "node002 mlx5_0/1 (0x0c42a10300f00200) is cabled to leaf01/2 in ibnetdiscover, but to"
    line = rows[: rows.index(row)].count("\n") + 1
    assert by_lid[1] == (f"{start} leaf01/2 in iblinkinfo (line {line})",)
    assert unread[1] == (f"{start} no peer that answered in iblinkinfo (line {line})",)
    for fabric, _ in (by_lid, unread):
        assert rates(fabric) == {**TWO, "node002 mlx5_0/1 - leaf01/2": "None"}


def test_port_0_is_the_node_itself():
    text = ONE_SWITCH + '[0]\t"S-0000000000000004"[1]\t\t# "x" lid 8 4xHDR\n'

    assert to_fabric(ibnetdiscover.parse(text)) == to_fabric(ibnetdiscover.parse(ONE_SWITCH))

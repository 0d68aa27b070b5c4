"""``.lst`` files: cables of OpenSM and ibdiagnet, every number hexadecimal."""

from pathlib import Path

import pytest

from ibaccept.fabric.model import Guid, Lid, NodeType
from ibaccept.parse import ParseError
from ibaccept.parse.ibdiagnet_lst import parse
from ibaccept.parse.ibnetdiscover import NodeRecord, PortRecord

GOLDEN = Path(__file__).parents[1] / "golden" / "aliased-reads" / "opensm-subnet.lst"

CA = (
    "{ CA-SM Ports:02 SystemGUID:0000000000000103 NodeGUID:0000000000000100 "
    "PortGUID:0000000000000101 VenID:000002C9 DevID:5A440000 Rev:000000A1 "
    "{node001 {HCA-1} } LID:00b5 PN:01 }"
)
SW = (
    "{ SW Ports:41 SystemGUID:0000000000000010 NodeGUID:0000000000000010 "
    "PortGUID:0000000000000010 VenID:000002C9 DevID:0000 Rev:00000000 "
    "{leaf 1} LID:0001 PN:0d }"
)
CA_2 = CA.replace("PN:01", "PN:02") + " " + SW
TAIL = " PHY=4x LOG=ACT SPD=100"


def test_one_cable_whole():
    topology = parse(f"# made by ibdiagnet\n\n{CA} {SW}{TAIL}\n")

    common = {"label": None, "lmc": 0, "width": None, "speed": None, "line": 3}
    common["rate_text"] = "4x 100 Gb/s a lane ACT"
    nothing = {"vendor_id": None, "device_id": None, "chassis": None, "lmc": 0, "line": 3}
    assert topology.nodes == (
        NodeRecord(
            type=NodeType.CA,
            guid=Guid(0x100),
            id_text="H-0000000000000100",
            name="node001 {HCA-1} ",
            num_ports=2,
            lid=None,
            system_guid=Guid(0x103),
            ports=(
                PortRecord(
                    number=1,
                    guid=Guid(0x101),
                    lid=Lid(0xB5),
                    peer_type=NodeType.SWITCH,
                    peer_guid=Guid(0x10),
                    peer_id_text="S-0000000000000010",
                    peer_port=13,
                    peer_port_guid=None,
                    peer_name="leaf 1",
                    peer_lid=Lid(1),
                    **common,
                ),
            ),
            **nothing,
        ),
        NodeRecord(
            type=NodeType.SWITCH,
            guid=Guid(0x10),
            id_text="S-0000000000000010",
            name="leaf 1",
            num_ports=65,
            lid=Lid(1),
            system_guid=Guid(0x10),
            port_guid=Guid(0x10),
            ports=(
                PortRecord(
                    number=13,
                    guid=None,
                    lid=None,
                    peer_type=NodeType.CA,
                    peer_guid=Guid(0x100),
                    peer_id_text="H-0000000000000100",
                    peer_port=1,
                    peer_port_guid=Guid(0x101),
                    peer_name="node001 {HCA-1} ",
                    peer_lid=Lid(0xB5),
                    **common,
                ),
            ),
            **nothing,
        ),
    )
    assert (topology.initiated_from, topology.warnings) == (None, ())


def test_a_cable_may_be_listed_from_both_ends():
    once, twice = parse(f"{CA} {SW}{TAIL}\n"), parse(f"{CA} {SW}{TAIL}\n{SW} {CA}{TAIL}\n")

    assert twice == once


def test_opensms_own_list():
    topology = parse(GOLDEN.read_text())

    kinds = [node.type for node in topology.nodes]
    assert (kinds.count(NodeType.CA), kinds.count(NodeType.SWITCH)) == (57, 2)
    assert sum(len(node.ports) for node in topology.nodes) == 2 * 65


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ".lst output: no cable; give the whole file"),
        ("# only a comment\n", ".lst output: no cable; give the whole file"),
        (
            f"{CA} {SW} PHY=4x",
            f".lst output, line 1: not a cable of a .lst file: {f'{CA} {SW} PHY=4x'[:200]!r}",
        ),
        (
            f"{CA} {SW}{TAIL}\n{CA} {SW.replace('PN:0d', 'PN:0e')}{TAIL}\n",
            ".lst output, line 2: port 1 of 0x0000000000000100 has another cable or LID in line 1: "
            f"{f'{CA} {SW}'[:200]!r}",
        ),
        (
            f"{CA} {SW}{TAIL}\n{CA.replace('PN:01', 'PN:02')} "
            f"{SW.replace('LID:0001 PN:0d', 'LID:0002 PN:0e')}{TAIL}\n",
            ".lst output, line 2: 0x0000000000000010 is another node here than in line 1: "
            f"{CA_2[:200]!r}",
        ),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(ParseError) as caught:
        parse(text)

    assert str(caught.value) == message

"""The plan file: what is read, and one sentence for each thing wrong with it."""

from pathlib import Path

import pytest

from ibaccept.errors import InputError
from ibaccept.fabric.model import Fabric, Guid, Node, NodeType, Port, PortId
from ibaccept.site.plan import End, Plan, PlannedCable, write_plan

HEADER = "a_name,a_guid,a_port,b_name,b_guid,b_port\n"


def test_a_plan_with_all_columns():
    text = (
        "rack,a_name,a_guid,a_port,b_name,b_guid,b_port,label,length,part\r\n"
        "R1,SwitchA,0x0002c90300000001,13,SwitchB,2c90300000002,25,L-1,3 m,MCP1650\r\n"
        "\r\n"
        "R1,SwitchA,,14,SwitchB,,26,,,\r\n"
    )

    plan = Plan.read(text, name="cables.csv")

    assert plan == Plan(
        (
            PlannedCable(
                End("SwitchA", Guid(0x0002C90300000001), 13, "R1"),
                End("SwitchB", Guid(0x0002C90300000002), 25, "R1"),
                "L-1",
                "3 m",
                "MCP1650",
                2,
            ),
            PlannedCable(End("SwitchA", None, 14, "R1"), End("SwitchB", None, 26, "R1"), line=4),
        ),
        "cables.csv",
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "p:1: the file is empty; its first line is a_name,a_guid,a_port,b_name,b_guid,b_port"),
        (HEADER, "p: the plan has no cable; add a row for each"),
        (
            "A,1,B,2\n",
            "p:1: the first line is no header; put above it the names of the columns, such as "
            "a_name,a_guid,a_port,b_name,b_guid,b_port",
        ),
        (
            "a_name,a_port,b_name,b_port,lable\n",
            "p:1: unknown column 'lable'; did you mean 'label'?",
        ),
        (
            "a_nmae,a_port,b_name,b_port\n",
            "p:1: unknown column 'a_nmae'; did you mean 'a_name'?",
        ),
        ("a_name,a_port,b_name\n", "p:1: the column b_port is missing"),
        (
            "a_name,a_port,b_port\n",
            "p:1: the columns b_name and b_guid are both missing; one is needed",
        ),
        ("a_name,a_name,a_port,b_name,b_port\n", "p:1: the column 'a_name' is there twice"),
        (HEADER + "A,,1,B,,2,x\n", "p:2: 7 cells where the header has 6 columns"),
        (
            HEADER + "A,1.07E+15,1,B,,2\n",
            "p:2: a_guid: '1.07E+15' is not a GUID (1 to 16 hexadecimal digits)",
        ),
        (HEADER + "A,,0,B,,2\n", "p:2: a_port: '0' is not a port number (1 to 254)"),
        (HEADER + "A,,1,B,,x\n", "p:2: b_port: 'x' is not a port number (1 to 254)"),
        (HEADER + ",,1,B,,2\n", "p:2: a_name and a_guid are both empty; one is needed"),
        (HEADER + "A,,1,A,,1\n", "p:2: both ends are A/1"),
        (HEADER + "A,,1,B,,2\n\nC,,1,A,,1\n", "p:4: A/1 is already used in line 2"),
        (HEADER + 'A,,1,"B,,2\n', "p:2: is not CSV: unexpected end of data"),
        (
            HEADER + "A,,x,B,,2\nA,,y,B,,3\n",
            "p:2: a_port: 'x' is not a port number (1 to 254)\n"
            "p:3: a_port: 'y' is not a port number (1 to 254)",
        ),
    ],
)
def test_bad_plans(text, sentence):
    with pytest.raises(InputError) as caught:
        Plan.read(text, name="p")

    assert str(caught.value) == sentence


def test_unreadable_files(tmp_path: Path):
    (tmp_path / "latin.csv").write_bytes(b"a_name\xe4")
    messages = []
    for name in ("absent.csv", "latin.csv"):
        with pytest.raises(InputError) as caught:
            Plan.load(tmp_path / name, name=name)
        messages.append(str(caught.value))

    assert messages == [
        "absent.csv: cannot be read: No such file or directory",
        "latin.csv:1: byte 0xe4 is not UTF-8 text; save the plan as UTF-8, or convert it with: "
        "iconv -f WINDOWS-1252 -t UTF-8",
    ]


def test_racks_and_labels_of_both_ends_and_columns_of_the_site():
    text = (
        "A_Name,a_port,a_rack,a_label,b_name,b_port,b_rack,b_label,rack,Ticket\n"
        "SwitchA,1,R1,CA-1,SwitchB,2,,CB-1,R9,T-7\n"
    )

    plan = Plan.read(text, name="p")
    assert plan.cables == (
        PlannedCable(
            End("SwitchA", None, 1, "R1", "CA-1"),
            End("SwitchB", None, 2, "R9", "CB-1"),
            line=2,
            more=(("Ticket", "T-7"),),
        ),
    )


def test_cells_that_a_spreadsheet_leaves_out_at_the_end_of_a_row_are_empty():
    text = "a_name,a_port,b_name,b_port,label,length\nA,1,B,2\nC,1,D,2,L,,,\n"

    plan = Plan.read(text, name="p")
    assert [(cable.name, cable.label) for cable in plan.cables] == [
        ("A/1 - B/2", ""),
        ("C/1 - D/2", "L"),
    ]


def two_switches(names=("Switch A, upper", "B")):
    a, b = Guid(1), Guid(2)
    return Fabric.of(
        [
            Node(a, NodeType.SWITCH, names[0], 4, {1: Port(PortId(a, 1), remote=PortId(b, 3))}),
            Node(b, NodeType.SWITCH, names[1], 4, {3: Port(PortId(b, 3), remote=PortId(a, 1))}),
        ]
    )


def test_a_recorded_plan_reads_back_as_the_fabric():
    fabric = two_switches()

    text = write_plan(fabric)

    assert text == HEADER + ('"Switch A, upper",0x0000000000000001,1,B,0x0000000000000002,3\n')
    recorded = PlannedCable(End("Switch A, upper", Guid(1), 1), End("B", Guid(2), 3))
    assert Plan.from_fabric(fabric, name="run") == Plan((recorded,), "run")
    assert [c.ends for c in Plan.read(text, name="p").cables] == [recorded.ends]


def test_no_plan_is_taken_from_an_empty_fabric():
    with pytest.raises(InputError) as caught:
        Plan.from_fabric(Fabric.of([]), name="run")

    assert str(caught.value) == "run: no cable was seen, so there is no plan to take from it"


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "sw\x1b[2J"])
def test_a_name_that_acts_is_recorded_by_its_guid(name):
    """The plan is printed on a terminal and opened in spreadsheets."""
    nodes = [
        Node(
            Guid(own),
            NodeType.SWITCH,
            text,
            2,
            {1: Port(PortId(Guid(own), 1), remote=PortId(Guid(other), 1))},
        )
        for own, other, text in ((1, 2, name), (2, 1, "SwitchB"))
    ]
    text = write_plan(Fabric.of(nodes))

    assert text == HEADER + f",{Guid(1)},1,SwitchB,{Guid(2)},1\n"
    assert Plan.read(text, name="cables.csv").cables[0].ends == (
        End("", Guid(1), 1),
        End("SwitchB", Guid(2), 1),
    )

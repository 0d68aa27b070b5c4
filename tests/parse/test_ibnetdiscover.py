"""``ibnetdiscover``: what the tool printed in the ibsim lab, and what others captured."""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ibaccept.fabric.model import Guid, Lid, NodeType, Rate, Speed, Width
from ibaccept.parse import ParseError, ParseWarning
from ibaccept.parse.ibnetdiscover import (
    NodeRecord,
    PortRecord,
    Topology,
    parse,
    parse_ports,
    to_topology,
)

GOLDEN = Path(__file__).parent / "golden" / "ibnetdiscover"


def missing_peers(topology):
    """Ids of peers that no block describes, in the order met."""
    blocks = {node.id_text for node in topology.nodes}
    peers = [port.peer_id_text for node in topology.nodes for port in node.ports]
    return tuple(dict.fromkeys(peer for peer in peers if peer not in blocks))


SAMPLES = Path(__file__).resolve().parents[2] / "../shared/samples"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="shared/ is not beside the project")
BLOCKS = sorted(path.stem for path in GOLDEN.glob("*.yaml") if not path.stem.startswith("ports-"))
LISTINGS = sorted(path.stem for path in GOLDEN.glob("ports-*.yaml"))


def read(path):
    """The text as a transport gives it: no newline translation."""
    return path.read_bytes().decode("utf-8", "surrogateescape")


def plain(value):
    """A parsed value as YAML can hold it; a key that is absent is None."""
    if dataclasses.is_dataclass(value):
        fields = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
        return {name: plain(item) for name, item in fields if item is not None}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, NodeType):
        return value.value
    if isinstance(value, Guid | enum.Enum):
        return str(value)
    return int(value) if isinstance(value, Lid) else value


def test_every_golden_sample_has_its_expected_value():
    texts = {path.stem for path in GOLDEN.glob("*.txt")}

    assert texts == {*BLOCKS, *LISTINGS, "cut"}
    assert len(BLOCKS) == 8
    assert len(LISTINGS) == 2


@pytest.mark.parametrize("case", BLOCKS)
def test_golden(case):
    topology = parse(read(GOLDEN / f"{case}.txt"))

    assert plain(topology) == yaml.safe_load((GOLDEN / f"{case}.yaml").read_text())


@pytest.mark.parametrize("case", LISTINGS)
def test_golden_listing(case):
    listing = parse_ports(read(GOLDEN / f"{case}.txt"))

    assert plain(listing) == yaml.safe_load((GOLDEN / f"{case}.yaml").read_text())


def test_a_listing_gives_the_cables_of_the_blocks():
    """``-p`` has port GUIDs only: each CA port is a node of its own, the cables are the same."""
    blocks = parse(read(GOLDEN / "mixed-speeds.txt"))
    listed = to_topology(parse_ports(read(GOLDEN / "ports-mixed-speeds.txt")))

    def ends(topology):
        return {
            (
                port.guid or node.guid,
                port.number,
                port.peer_port_guid or port.peer_guid,
                port.peer_port,
                port.lid,
                port.peer_lid,
                port.width,
                port.speed,
            )
            for node in topology.nodes
            for port in node.ports
        }

    assert ends(listed) == ends(blocks)
    assert len(ends(listed)) == 18
    assert missing_peers(listed) == ()


def test_cut_in_the_last_line():
    text = read(GOLDEN / "cut.txt")

    with pytest.raises(ParseError) as caught:
        parse(text)

    assert (caught.value.tool, caught.value.line) == ("ibnetdiscover", text.count("\n") + 1)
    assert caught.value.text == text.rpartition("\n")[2]


HEADER = 'switchguid=0x2(2)\nSwitch\t8 "S-0000000000000002"\t\t# "s" base port 0 lid 9 lmc 0\n'


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no node was printed"),
        ("#\n# Topology file: generated on Mon\n#\n", None, "no node was printed"),
        ("ibwarn: [1] x: y\n", None, r"no node was printed.*ibwarn: \[1\] x: y"),
        (HEADER + "iberror: failed: discover failed\n", 3, "the sweep failed"),
        (HEADER + "what is this\n", 3, "not understood"),
        (HEADER.rstrip("\n"), 2, "cut"),
        ('Ca\t1 "H-0000000000000001"', 1, "cut"),
        (HEADER + '[1]\t"S-0000000000000003"[1]\t\t# "x" lid 3 4xFDR', 3, "cut"),
        (HEADER + '[1]\t"S-0000000000000003"[1]\t\t# "x" lid 3 4xHD', 3, "cut"),
        (HEADER + '[1]\t"S-0000000000000003"[1]', 3, "cut"),
        (HEADER + '[1]\t"S-0000000000000003"[1', 3, "not understood"),
        (HEADER + '[9]\t"S-0000000000000003"[1]\t\t# "x" lid 3 4xHDR\n', 3, "has 8 ports"),
        (HEADER + '[1]\t"S-0000000000000003"[1]\t\t# "x" lid 3 4xHDR\n' * 2, 4, "a second line"),
        (HEADER + '[1]\t"S-0000000000000003"[1]\t\t# lid 1 lmc 0 "x" lid 3 4xHDR\n', 3, "name fi"),
        (HEADER + "\nvendid=0x2c9\n", 5, "no header line"),
        ("\n" + '[1]\t"S-0000000000000003"[1]\t\t# "x" lid 3 4xHDR\n', 2, "without the header"),
        (HEADER.replace("0x2(2)", "0x3(3)"), 2, "header is of another node"),
        (HEADER.replace("switchguid", "caguid"), 2, "header is of another node"),
        (HEADER + "\n" + HEADER.replace('"s"', '"t"'), 5, "two blocks that differ"),
        (
            HEADER + '[1]\t"S-0000000000000002"[2]\t\t# "s" lid 9 4xHDR\n'
            '[2]\t"S-0000000000000002"[3]\t\t# "s" lid 9 4xHDR\n',
            3,
            "names S-0000000000000002 port 3",
        ),
        (
            HEADER + '[1]\t"S-0000000000000003"[7]\t\t# "x" lid 3 4xHDR\n'
            '[2]\t"S-0000000000000003"[7]\t\t# "x" lid 3 4xHDR\n',
            4,
            "so does another port",
        ),
    ],
)
def test_refused(text, line, message):
    with pytest.raises(ParseError, match=message) as caught:
        parse(text)

    assert (caught.value.tool, caught.value.line) == ("ibnetdiscover", line)


@pytest.mark.parametrize(
    "text", ["", "DR path slid 0; dlid 0; 0 -> new Switch\n", HEADER, "SW 1 1 0x1 4x HDR - CA 2\n"]
)
def test_listing_refused(text):
    with pytest.raises(ParseError):
        parse_ports(text)


def test_a_chassis_prints_its_switches_twice():
    """``-g``: the chassis number, the external ports, and the second block kept as a warning."""
    block = (
        "\nvendid=0x8f1\ndevid=0x5a31\nsysimgguid=0x20\t\t# Chassis 3 (core)\n"
        "switchguid=0x2(22)\t# Line 1 Chip 1 \n"
        'Switch\t24 "S-0000000000000002"\t\t# "line" base port 0 lid 9 lmc 0\n'
        '[13][ext 7]\t"S-0000000000000003"[24][ext 12]\t\t# "edge" lid 0 4xQDR\n'
    )
    topology = parse(
        "#\nChassis 3 (guid 0x20)\nHostname: core\n\n# Spine Nodes\n# Line Nodes"
        + block
        + "\n# Chassis Switches"
        + block
        + "\nNon-Chassis Nodes\n"
    )

    port = PortRecord(
        13, "7", None, None, 0, NodeType.SWITCH, Guid(3), "S-0000000000000003", 24, None,
        "edge", None, Width.X4, Speed.QDR, "4xQDR", 12,
    )  # fmt: skip
    node = NodeRecord(
        NodeType.SWITCH, Guid(2), "S-0000000000000002", "line", 24, Lid(9), 0, 0x8F1, 0x5A31,
        Guid(0x20), 3, (port,), 11, Guid(0x22),
    )  # fmt: skip
    assert topology == Topology(
        (node,), None, (ParseWarning(19, "S-0000000000000002 is printed again"),)
    )
    assert missing_peers(topology) == ("S-0000000000000003",)


def test_a_router_has_lids_at_its_ports():
    topology = parse(
        'vendid=0x2c9\ndevid=0x1\nrtguid=0x5\nRt\t2 "R-0000000000000005"\t\t# "gate"\n'
        '[1](51) \t"H-0000000000000006"[2] (61) \t\t# lid 65535 lmc 0 "node" lid 4 ??' + "???\n"
    )

    port = PortRecord(
        1, None, Guid(0x51), None, 0, NodeType.CA, Guid(6), "H-0000000000000006", 2, Guid(0x61),
        "node", Lid(4), None, None, "?????", 5,
    )  # fmt: skip
    assert topology == Topology(
        (
            NodeRecord(
                NodeType.ROUTER, Guid(5), "R-0000000000000005", "gate", 2, None, 0, 0x2C9, 1,
                None, None, (port,), 4,
            ),
        ),
        None,
        (),
    )  # fmt: skip


# -- a random fabric in the tool's own format strings -------------------------------------------

names = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=24)
odd_names = st.one_of(
    names,
    st.sampled_from(['a" lid 3 4xHDR', '"', "# x", "[1]", 'x" base port 0 lid 1 lmc 0', " b ", ""]),
)
RATES = {f"{int(width)}x{speed}": (Width(width), speed) for width in Width for speed in Speed}
rates = st.sampled_from(sorted([*RATES, "4x???", "?????", "4xZDR"]))


@st.composite
def fabrics(draw):
    """``(text, topology)``: nodes with random cables, printed as ibnetdiscover.c does."""
    kinds = draw(st.lists(st.sampled_from([NodeType.SWITCH, NodeType.CA]), min_size=1, max_size=5))
    nodes = [
        (kind, 0x100 * number, draw(odd_names), draw(st.integers(1, 3)), 10 * number)
        for number, kind in enumerate(kinds, 1)
    ]
    free = draw(st.permutations([(i, p + 1) for i, n in enumerate(nodes) for p in range(n[3])]))
    cables = draw(st.integers(0, len(free) // 2))
    peers = {}
    for a, b in list(pairwise(free[: 2 * cables]))[::2]:
        rate = draw(rates)
        peers[a], peers[b] = (*b, rate), (*a, rate)
    lmc = draw(st.integers(0, 3))
    suffix = draw(st.sampled_from(["", " s=4 w=2 v=4", " s=4 w=2 v=4 e=4"]))
    lines = ["#", "# Topology file: generated on Mon Nov 30 12:00:00 2026", "#"]
    lines += [f"# Initiated from node {nodes[0][1]:016x} port {nodes[0][1] + 1:016x}"]
    letter = {NodeType.SWITCH: "S", NodeType.CA: "H"}
    records = []
    for i, (kind, guid, name, count, lid) in enumerate(nodes):
        switch = kind is NodeType.SWITCH
        lines += ["", "vendid=0x2c9", "devid=0xd2f0", f"sysimgguid=0x{guid:x}"]
        if switch:
            lines += [f"switchguid=0x{guid:x}({guid:x})"]
            lines += [
                f'Switch\t{count} "S-{guid:016x}"\t\t# "{name}" enhanced port 0 lid {lid} lmc {lmc}'
            ]
        else:
            lines += [f"caguid=0x{guid:x}", f'Ca\t{count} "H-{guid:016x}"\t\t# "{name}"']
        header, ports = len(lines), []
        for number in range(1, count + 1):
            if (i, number) not in peers:
                continue
            j, peer_port, rate = peers[i, number]
            peer_kind, peer_guid, peer_name, _, peer_lid = nodes[j]
            peer_switch = peer_kind is NodeType.SWITCH
            own_lid, far_lid = lid + number, peer_lid + (0 if peer_switch else peer_port)
            peer = f'"{letter[peer_kind]}-{peer_guid:016x}"[{peer_port}]'
            if switch:
                shown = "" if peer_switch else f"({peer_guid + peer_port:x}) "
                start, own = f"[{number}]\t{peer}{shown}", ""
            else:
                shown = "" if peer_switch else f" ({peer_guid + peer_port:x}) "
                start = f"[{number}]({guid + number:x}) \t{peer}{shown}"
                own = f"lid {own_lid} lmc {lmc} "
            lines += [f'{start}\t\t# {own}"{peer_name}" lid {far_lid} {rate}{suffix}']
            width, speed = RATES.get(rate, (None if rate[0] == "?" else Width.X4, None))
            ports += [
                PortRecord(
                    number, None, None if switch else Guid(guid + number),
                    None if switch else Lid(own_lid), 0 if switch else lmc, peer_kind,
                    Guid(peer_guid), f"{letter[peer_kind]}-{peer_guid:016x}", peer_port,
                    None if peer_switch else Guid(peer_guid + peer_port), peer_name, Lid(far_lid),
                    width, speed, rate, len(lines),
                )
            ]  # fmt: skip
        records += [
            NodeRecord(
                kind, Guid(guid), f"{letter[kind]}-{guid:016x}", name, count,
                Lid(lid) if switch else None, lmc if switch else 0, 0x2C9, 0xD2F0, Guid(guid),
                None, tuple(ports), header, Guid(guid) if switch else None,
            )
        ]  # fmt: skip
    return "\n".join(lines) + "\n", Topology(tuple(records), Guid(nodes[0][1]), ())


def facts(topology):
    """All that was said of nodes and ports, one by one and without line numbers."""
    said = set()
    for node in topology.nodes:
        for owner, value in [((node.id_text,), node)] + [
            ((node.id_text, port.number), port) for port in node.ports
        ]:
            said |= {
                (owner, field.name, getattr(value, field.name))
                for field in dataclasses.fields(value)
                if field.name not in ("line", "ports") and getattr(value, field.name) is not None
            }
    return said


def no_more_than(text, topology):
    try:
        part = parse(text)
    except ParseError:
        return
    assert facts(part) <= facts(topology)


@given(fabrics())
def test_what_is_printed_is_what_is_read(fabric):
    text, topology = fabric

    assert parse(text) == topology
    assert parse(text.replace("\n", "\r\n")) == topology
    assert missing_peers(topology) == ()


@settings(max_examples=60)
@given(fabrics(), st.data())
def test_a_cut_text_never_says_more(fabric, data):
    text, topology = fabric
    cut = data.draw(st.integers(0, len(text)))

    no_more_than(text[:cut], topology)


@settings(max_examples=60)
@given(fabrics(), st.data())
def test_a_lost_line_never_says_more(fabric, data):
    text, topology = fabric
    lines = text.split("\n")
    lost = data.draw(st.integers(0, len(lines) - 1))

    no_more_than("\n".join(lines[:lost] + lines[lost + 1 :]), topology)


@settings(max_examples=60)
@given(fabrics(), st.data())
def test_lost_blocks_say_no_more_or_are_missed(fabric, data):
    """A run of lines is lost: refused, or nothing false is said, or a peer is missed by name."""
    text, topology = fabric
    lines = text.split("\n")
    first = data.draw(st.integers(0, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    try:
        part = parse("\n".join(lines[:first] + lines[last:]))
    except ParseError:
        return
    # the first id lines of one block and the rest of another still read as one block
    ids = ("vendor_id", "device_id", "system_guid")
    said = {fact for fact in facts(part) if fact[1] not in ids}
    # the head of one block and a port of its peer read as a loopback plug, which there may be
    plugged = {
        (node.id_text, port.number)
        for node in part.nodes
        for port in node.ports
        if (port.peer_id_text, port.peer_port) == (node.id_text, port.number)
    }
    rest = {fact for fact in said if fact[0] not in plugged}
    assert rest <= facts(topology) or missing_peers(part) != ()


# -- captures of others ------------------------------------------------------------------------


def cables(topology):
    """Each cable once: its ends by id and port -> the rates printed for it."""
    found = {}
    for node in topology.nodes:
        for port in node.ports:
            ends = sorted([(node.id_text, port.number), (port.peer_id_text, port.peer_port)])
            found.setdefault(tuple(ends), []).append(port.rate_text)
    return found


def summary(topology):
    """What samples/INDEX.md says of a capture, counted here."""
    types = {node.id_text: node.type for node in topology.nodes}
    found = cables(topology)
    rates = Counter("/".join(sorted(set(texts))) for texts in found.values())
    between = [
        ends
        for ends in found
        if all(types.get(end[0], end[0][:2] == "S-") in (NodeType.SWITCH, True) for end in ends)
    ]
    switches = [node for node in topology.nodes if node.type is NodeType.SWITCH]
    ca_ports = [p for n in topology.nodes if n.type is NodeType.CA for p in n.ports]
    lids = [n.lid for n in switches if n.lid] + [p.lid for p in ca_ports if p.lid]
    return {
        "switches": len(switches),
        "CAs": sum(node.type is NodeType.CA for node in topology.nodes),
        "CA port lines": len(ca_ports),
        "cables": dict(rates),
        "switch-to-switch": len(between),
        "self": sum(ends[0][0] == ends[1][0] for ends in found),
        "one end": sum(len(texts) == 1 for texts in found.values()),
        "port counts": dict(Counter(node.num_ports for node in switches)),
        "no LID": (
            sum(node.lid is None for node in switches),
            sum(port.lid is None for port in ca_ports),
        ),
        "LIDs": (min(lids), max(lids)) if lids else None,
        "missing": len(missing_peers(topology)),
    }


def facts_of(switches, cas, lines, rates, between, counts, lids, **other):
    return {
        "switches": switches,
        "CAs": cas,
        "CA port lines": lines,
        "cables": rates,
        "switch-to-switch": between,
        "self": other.get("self", 0),
        "one end": other.get("one_end", 0),
        "port counts": counts,
        "no LID": other.get("no_lid", (0, 0)),
        "LIDs": lids,
        "missing": other.get("missing", 0),
    }


@needs_samples
@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (
            "ibnetdiscover/12x-qdr-emulated.txt",
            facts_of(1, 1, 2, {"12xQDR": 4}, 0, {32: 1}, (6, 8), one_end=2, missing=1),
        ),
        (
            "ibnetdiscover/director-chassis.txt",
            facts_of(
                400, 2328, 2328, {"4xHDR": 8719, "4xEDR": 4}, 6395, {41: 400}, (1, 4564),
                no_lid=(1, 631),
            ),
        ),
        (
            "ibnetdiscover/janus-qdr-2014.txt",
            facts_of(214, 1356, 1356, {"4xQDR": 4168}, 2812, {32: 1, 36: 213}, (1, 1580)),
        ),
        (
            "ibnetdiscover/kary-tree-all-lids-0.txt",
            facts_of(80, 128, 128, {"4xEDR": 384}, 256, {8: 80}, None, no_lid=(80, 128)),
        ),
        (
            "ibnetdiscover/only-self-no-link.txt",
            facts_of(0, 1, 0, {}, 0, {}, None),
        ),
        (
            "ibnetdiscover/selene-compute-hdr.txt",
            facts_of(666, 4341, 4341, {"4xHDR": 12852}, 8511, {41: 666}, (1, 5994)),
        ),
        (
            "ibnetdiscover/small-with-self-links.txt",
            facts_of(
                2, 13, 13, {"4xFDR": 12, "4xEDR": 2, "4xHDR": 1, "4xFDR10": 1}, 3,
                {36: 1, 41: 1}, (1, 101), self=2,
            ),
        ),
        (
            "ibnetdiscover/trailing-fields-hand-cut.txt",
            facts_of(8, 10, 10, {"4xHDR": 18}, 7, {41: 8}, (150, 3191), one_end=1, missing=1),
        ),
        (
            "ibdiagnet2/fabric-a.ibnetdiscover",
            facts_of(9, 263, 263, {"4xNDR": 271}, 8, {65: 9}, (1, 274)),
        ),
        (
            "ibsim_net/two-switches-two-paths.net",
            facts_of(2, 2, 4, {"": 6}, 2, {8: 2}, None, no_lid=(2, 4)),
        ),
    ],
)  # fmt: skip
def test_captures(file, expected):
    topology = parse(read(SAMPLES / file))

    assert summary(topology) == expected


@needs_samples
def test_names_of_captures_are_exact():
    selene = parse(read(SAMPLES / "ibnetdiscover/selene-compute-hdr.txt"))
    fabric_a = parse(read(SAMPLES / "ibdiagnet2/fabric-a.ibnetdiscover"))
    janus = parse(read(SAMPLES / "ibnetdiscover/janus-qdr-2014.txt"))

    def most(topology, kind):
        names = Counter(node.name for node in topology.nodes if node.type is kind)
        return names.most_common(1)[0]

    assert most(selene, NodeType.CA) == ("Mellanox Technologies Aggregation Node", 666)
    assert sum(node.name != node.name.strip() for node in selene.nodes) == 6
    assert most(fabric_a, NodeType.SWITCH) == ("Quantum-2 Mellanox Technologies", 8)
    assert most(janus, NodeType.SWITCH) == ("Infiniscale-IV Mellanox Technologies", 79)
    assert selene.initiated_from == Guid(0x0C42A10300255562)
    assert fabric_a.nodes[0].ports[2].label == "1/2/1"


@needs_samples
def test_a_director_log_of_a_terminal():
    """PuTTY's first line and the prompt are noise, kept and counted; tabs may be eaten."""
    topology = parse(read(SAMPLES / "ibnetdiscover/director-chassis.txt"))

    names = Counter(node.name for node in topology.nodes if node.type is NodeType.CA)
    assert [warning.line for warning in topology.warnings] == [1, 33821]
    assert names.most_common(1) == [("MT4123 ConnectX6   Mellanox Technologies", 103)]


@needs_samples
def test_redacted_guids_are_no_identity():
    topology = parse(read(SAMPLES / "ibnetdiscover/ndr200-split-129ports.txt"))

    (switch,) = topology.nodes
    assert (switch.guid, switch.num_ports, switch.lid) == (None, 129, 1)
    assert [
        (port.number, port.peer_name, port.peer_lid, port.peer_guid, port.rate_text)
        for port in switch.ports
    ] == [
        (1, "tj01-4090-node005 mlx5_2", 22, None, "2xNDR"),
        (2, "tj01-4090-node004 mlx5_2", 27, None, "2xNDR"),
        (3, "tj01-4090-node006 mlx5_2", 10, None, "2xNDR"),
        (4, "tj01-4090-node007 mlx5_2", 12, None, "2xNDR"),
        (6, "tj01-4090-node009 mlx5_2", 11, None, "2xNDR"),
    ]
    assert len(missing_peers(topology)) == 3


@needs_samples
def test_a_failed_tool():
    with pytest.raises(ParseError, match="the sweep failed") as caught:
        parse(read(SAMPLES / "ibnetdiscover/error-client-register.txt"))

    assert caught.value.line == 3


@needs_samples
@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("avakas/subnet0", (1181, 834, 25, 281, {"4xQDR": 568, "4xDDR": 1}, 288, {"4x SDR": 43})),
        ("plafrim2/subnet0", (348, 209, 7, 96, {"4xQDR": 155}, 59, {"1x SDR": 35, "4x QDR": 3})),
        (
            "plafrim2/subnet1",
            (59, 24, 1, 23, {"4xSDR": 1, "4xQDR": 22}, 0, {"4x ???": 2, "4x SDR": 11}),
        ),
    ],
)
def test_captured_listings(folder, expected):
    listing = parse_ports(read(SAMPLES / "sets" / folder / "ibnetdiscover-p.txt"))

    topology = summary(to_topology(listing))
    unconnected = Counter(row.rate_text for row in listing.rows if row.peer_port is None)
    assert (
        len(listing.rows),
        len(listing.warnings),
        topology["switches"],
        topology["CAs"],
        topology["cables"],
        topology["switch-to-switch"],
        dict(unconnected),
    ) == expected
    assert (topology["one end"], topology["missing"]) == (0, 0)


@needs_samples
def test_excerpts_of_listings():
    blanks = parse_ports(read(SAMPLES / "ibnetdiscover/ports-mode-blanks-in-names.txt"))
    bare = parse_ports(read(SAMPLES / "ibnetdiscover/ports-mode-name-without-quotes.txt"))

    assert [(row.name, row.peer_name, row.rate_text, row.speed) for row in blanks.rows] == [
        ("Mellanox Technologies Aggregation Node", "5FB0405-leaf-IB01 ", "4x HDR", Speed.HDR),
        ("worker20 mlx5_3", "5FB0405-leaf-IB01 ", "4x HDR", Speed.HDR),
        ("5FB0406-spine-IB01 ", None, "4x SDR", None),
        (" 5FB0406-spine-IB02 ", None, "4x SDR", None),
        (
            " 5FB0406-spine-IB03 ",
            "Mellanox Technologies Aggregation Node",
            "4x HDR",
            Speed.HDR,
        ),
        ("Infiniscale-IV Mellanox Technologies", None, "4x QDR", None),
    ]
    assert [row.name for row in bare.rows] == ["Infiniscale-IV Mellanox Technologies"]
    assert Rate(Width.X4, Speed.HDR) == Rate(blanks.rows[0].width, blanks.rows[0].speed)


# -- what stands around an output, and other writers of it --------------------------------------

PLAIN = """\
# Initiated from node 0000000000000001 port 0000000000000001

sysimgguid=0x10
switchguid={switch}
Switch\t41 "S-0000000000000012"\t\t# "leaf" base port 0 lid 1 lmc 0
[2]\t"H-0000000000000001"[1](1) \t\t# "node01 HCA-1" lid 3 4xHDR

caguid=0x1
Ca\t1 "H-0000000000000001"\t\t# "node01 HCA-1"
[1](1) \t"S-0000000000000012"[2]\t\t# lid 3 lmc 0 "leaf" lid 1 4xHDR
"""


def read_plain(text):
    return [(node.guid, node.ports[0].rate_text) for node in parse(text).nodes]


def test_a_directors_box_before_the_chip():
    """ibdiagnet: ``switchguid=0xBOX(CHIP)``; ibnetdiscover: ``0xCHIP(PORT)``."""
    expected = [(0x12, "4xHDR"), (0x1, "4xHDR")]

    assert read_plain(PLAIN.format(switch="0x12(12)")) == expected
    assert read_plain(PLAIN.format(switch="0x10(12)")) == expected
    for other in ("0x11(12)", "0x10(13)"):  # another box, another chip
        with pytest.raises(ParseError, match="its header is of another node"):
            parse(PLAIN.format(switch=other))


@pytest.mark.parametrize(
    ("before", "after", "warnings"),
    [
        ("\ufeff", "", 0),
        ("[root@mgmt01 ~]# ibnetdiscover\n", "[root@mgmt01 ~]# ", 2),
        ("\ufeffmgmt01:~ # ibnetdiscover\n", "mgmt01:~ # \n", 2),
        ("admin@mgmt-01:~$ sudo ibnetdiscover\n", "admin@mgmt-01:~$ ", 2),
        ("Authorized users only!\n\n", "", 1),
    ],
)
def test_prompts_and_marks_around_an_output(before, after, warnings):
    text = PLAIN.format(switch="0x12(12)")
    topology = parse(before + text + after)

    assert [node.guid for node in topology.nodes] == [0x12, 0x1]
    assert len(topology.warnings) == warnings


def test_words_within_an_output_are_not_understood():
    text = PLAIN.format(switch="0x12(12)").replace("caguid", "Authorized users only!\ncaguid")
    with pytest.raises(ParseError, match="not understood"):
        parse(text)


def test_a_net_file_of_ibsim_with_the_rate_alone():
    text = 'Switch 2 "sw1"\n[1]\t"node1"[1] 4xDDR\n\nHca 1 "node1"\n[1]\t"sw1"[1]\n'
    topology = parse(text)

    assert [node.ports[0].rate_text for node in topology.nodes] == ["4xDDR", ""]

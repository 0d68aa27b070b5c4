"""Forwarding tables: the readers of dump_fts, ibroute, OpenSM's and ibdiagnet's dumps.

The goldens are outputs of Debian's infiniband-diags 44 and OpenSM 3.3.23 over a simulated fabric of
two leaves and two spines (``failed-read``: the simulator drops LinearForwardingTable MADs of one
switch). ibdiagnet does not run over the simulator, so its file is OpenSM's with ibdiagnet's words.
"""

import mmap
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ibaccept.fabric.lft import NO_ENTRY
from ibaccept.fabric.model import Guid
from ibaccept.parse import ParseError, dump_fts, ibdiagnet_fdbs, ibroute, opensm_dump
from ibaccept.parse.lft import with_lftr
from ibaccept.parse.saquery import parse_lftr

GOLDEN = Path(__file__).parent / "golden"
SAMPLES = Path(__file__).resolve().parents[2] / "../shared/samples"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="shared/ is not beside the project")

READERS = {
    "dump_fts/names": dump_fts.parse,
    "dump_fts/numeric": dump_fts.parse,
    "dump_fts/lmc-2": dump_fts.parse,
    "dump_fts/top-64": dump_fts.parse,
    "dump_fts/failed-read": dump_fts.parse,
    "ibroute/names": ibroute.parse,
    "ibroute/numeric": ibroute.parse,
    "ibroute/all": ibroute.parse,
    "ibroute/range": ibroute.parse,
    "ibroute/lmc-2": ibroute.parse,
    "ibroute/top-64": ibroute.parse,
    "ibroute/failed-read": ibroute.parse,
    "opensm_dump/lfts": opensm_dump.parse_lfts,
    "opensm_dump/lfts-top-64": opensm_dump.parse_lfts,
    "opensm_dump/fdbs": opensm_dump.parse_fdbs,
}


def read(case):
    text = (GOLDEN / f"{case}.txt").read_bytes()
    stderr = GOLDEN / f"{case}.stderr"
    return READERS[case](text, stderr.read_text()) if stderr.exists() else READERS[case](text)


def value(table):
    """A table as its golden holds it: LIDs by output port, in order of ports."""
    by_port = {}
    for lid, port in table.entries().items():
        by_port.setdefault(port, []).append(lid)
    return {
        "tool": table.tool,
        "guid": str(table.guid),
        "lid": table.lid,
        "name": table.name,
        "range": [table.first, table.top],
        "lids_by_port": {port: by_port[port] for port in sorted(by_port)},
        "unknown": np.flatnonzero(~table.known).tolist(),
        "complete": table.complete,
        "above": table.above,
        "problems": list(table.problems),
        "notes": list(table.notes),
        "hops": None if table.hops is None else table.hops.tolist(),
    }


def rows_by_line(text):
    """(LID, port) rows of every section, read line by line: the slow way to the same."""
    sections = []
    for line in text.decode().splitlines():
        if line.startswith(("Unicast lids", "dump_ucast_routes")):
            sections.append({})
        elif match := re.match(r"0x([0-9a-fA-F]{4}) (?:: )?(\d{3}|UNREACHABLE)\b", line):
            port = NO_ENTRY if match[2] == "UNREACHABLE" else int(match[2])
            sections[-1][int(match[1], 16)] = port
    return sections


@pytest.mark.parametrize("case", READERS)
def test_golden(case):
    expected = yaml.safe_load((GOLDEN / f"{case}.yaml").read_text())

    assert [value(table) for table in read(case)] == expected


@pytest.mark.parametrize("case", [c for c in READERS if "failed" not in c])
def test_rows_are_those_a_line_by_line_reading_finds(case):
    text = (GOLDEN / f"{case}.txt").read_bytes()
    tables = READERS[case](text)

    found = [
        {lid: port for lid, port in table.entries().items() if port != NO_ENTRY} for table in tables
    ]
    rows = [
        {lid: port for lid, port in section.items() if lid and port != NO_ENTRY}
        for section in rows_by_line(text)
    ]

    assert found == rows


@pytest.mark.parametrize("case", [c for c in READERS if c.startswith(("dump_fts", "ibroute"))])
def test_lines_are_those_of_the_output(case):
    """By number; ``-n`` prints no more of a row than the LID and the port."""
    lines = (GOLDEN / f"{case}.txt").read_text().splitlines()
    heads = [n for n, line in enumerate(lines, 1) if line.startswith("Unicast")]
    tables = read(case)

    assert [table.lines.head.line for table in tables] == heads
    for table, start, stop in zip(tables, heads, [*heads[1:], len(lines) + 1], strict=True):
        rows = [n for n in range(start, stop) if lines[n - 1].startswith("0x")]
        found = table.lines.of(range(1 << 16))
        assert [row.line for row in found] == [start, *rows]
        assert found[0].text == lines[start - 1].strip()
        assert [row.text for row in found[1:]] == [lines[n - 1][:10] for n in rows]


def test_a_lid_with_several_rows_has_no_line():
    (table,) = ibroute.parse(section([(1, 5), (2, 6), (2, 7)]))

    assert [row.text for row in table.lines.of([1, 2])[1:]] == ["0x0001 005"]


def test_names_and_numbers_give_the_same_tables_as_opensm_wrote():
    tables = {
        case: {table.guid: table.entries() for table in read(case)}
        for case in ("dump_fts/names", "dump_fts/numeric", "opensm_dump/lfts", "opensm_dump/fdbs")
    }

    assert len(tables["dump_fts/names"]) == 4
    assert [tables[case] == tables["dump_fts/names"] for case in tables] == [True] * 4


def test_memory_map_array_and_carriage_returns_read_as_bytes_do():
    path = GOLDEN / "dump_fts/names.txt"
    text = path.read_bytes()
    with path.open("rb") as file:
        mapped = dump_fts.parse(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    assert mapped == dump_fts.parse(text)
    assert dump_fts.parse(np.frombuffer(text, dtype=np.uint8)) == mapped
    assert dump_fts.parse(text.replace(b"\n", b"\r\n")) == mapped


@pytest.mark.parametrize("case", ["dump_fts/multicast", "ibroute/multicast"])
def test_multicast_alone_is_no_table(case):
    with pytest.raises(ParseError, match="multicast tables only"):
        ibroute.parse((GOLDEN / f"{case}.txt").read_bytes())


def test_multicast_section_is_left_out():
    text = (GOLDEN / "ibroute/numeric.txt").read_bytes()
    multicast = (GOLDEN / "ibroute/multicast.txt").read_bytes()

    assert ibroute.parse(text + multicast) == ibroute.parse(text)
    assert ibroute.parse(multicast + text) == ibroute.parse(text)


def test_the_sa_fills_the_hole_at_a_multiple_of_64():
    (table,) = read("ibroute/top-64")
    block = parse_lftr((GOLDEN / "ibroute/top-64.lftr").read_text())
    truth = {t.guid: t for t in read("opensm_dump/lfts-top-64")}[table.guid]

    filled = with_lftr(table, block.ports)

    assert (table.complete, bool(table.known[64])) == (False, False)
    assert (filled.complete, filled.problems, filled.entries()) == (True, (), truth.entries())


def test_the_sa_may_not_contradict_what_was_read():
    (table,) = read("ibroute/top-64")

    with pytest.raises(ValueError, match="the tables changed in between"):
        with_lftr(table, {64: 1, 5: 200})


def test_a_stderr_line_voids_the_switch_it_names_else_every_table():
    text = (GOLDEN / "dump_fts/numeric.txt").read_bytes()
    guid = Guid.parse("0x0002c90300000200")

    def known(stderr):
        return [table.guid for table in dump_fts.parse(text, stderr) if table.known.any()]

    everyone = known("")
    assert len(everyone) == 4
    named = (
        "SubnGet(LFT) failed on switch 'x' DR path slid 0; dlid 0; 0,1 Node GUID 0x2c90300000200"
    )
    assert known(named) == [other for other in everyone if other != guid]
    addressed = "ibwarn: [7] mad_rpc: _do_madrpc failed; dport (DR path slid 0; dlid 0; 0,1,5,3)"
    assert known(addressed) == [other for other in everyone if other != guid]
    assert known("ibwarn: [7] something else") == []
    assert known('ibwarn: [7] sim_connect: attached as client 1 at node "H-1"') == everyone
    silent = (
        "src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1,5{} Attr 0x11:0) bad status 110; "
        "Connection timed out"
    )
    assert known(silent.format(",9")) == everyone  # it only looked for switches there
    assert known(silent.format(",3")) == [other for other in everyone if other != guid]
    loader = "ERROR: ld.so: object 'x.so' from LD_PRELOAD cannot be preloaded: ignored."
    assert known(f"Authorized users only!\n{loader}\n{loader}") == everyone
    assert known(f"{loader}\nwhat is this 7") == []


def test_a_failed_read_that_landed_in_stdout_voids_too():
    lines = (GOLDEN / "dump_fts/numeric.txt").read_bytes().splitlines(keepends=True)
    warning = b"ibwarn: [7] mad_rpc: _do_madrpc failed; dport (Lid 3)\n"

    for at in (0, 8):
        text = b"".join([*lines[:at], warning, *lines[at:]])
        assert [t.known.any() for t in dump_fts.parse(text)] == [False] * 4


def section(rows, *, top=0x46, trailer=None, tool_line=""):
    head = f"Unicast lids [0x0-{top:#x}] of switch Lid 187 guid 0x00000000000000aa (SwitchB):\n"
    body = "".join(f"0x{lid:04x} {port:03d} \n" for lid, port in rows)
    end = "" if trailer is None else f"{trailer} valid lids dumped \n"
    return f"{head}  Lid  Out   Destination\n       Port     Info \n{body}{end}{tool_line}".encode()


def test_missing_trailer_leaves_the_gaps_unknown():
    (table,) = ibroute.parse(section([(lid, 7) for lid in range(1, 0x40)]))

    assert table.problems == (
        "table of SwitchB read up to 0x3f of 0x46: the trailer is missing; read the table again",
    )
    assert table.entries() == dict.fromkeys(range(1, 0x40), 7)


def test_missing_trailer_with_every_lid_read_is_complete():
    error = "/usr/sbin/ibroute: iberror: failed: dump tables: linear forwarding table get failed\n"
    (table,) = ibroute.parse(section([(lid, 7) for lid in range(1, 0x47)], tool_line=error))

    assert (table.complete, table.problems) == (True, ())
    assert table.notes == ("the trailer is missing", f"it ends with {error.strip()!r}")


VOID = (
    "table of SwitchB not usable: {}, so lines are lost and its rows may be those of two switches; "
    "read the tables again"
)


@pytest.mark.parametrize(
    ("rows", "trailer", "reason"),
    [
        ([(1, 7), (3, 7)], 3, "the trailer says 3 rows, 2 were read"),
        ([(1, 7), (4, 7), (2, 7)], 3, "its rows are not in the order of their LIDs"),
        ([(1, 7), (4, 7), (2, 7)], None, "its rows are not in the order of their LIDs"),
        ([(1, 7), (187, 2)], 2, "it sends packets to its own LID 187 out of port 2"),
    ],
)
def test_rows_that_contradict_header_or_trailer_void_the_table(rows, trailer, reason):
    """Rows of the next switch can stand there: its header may be among the lines lost."""
    (table,) = ibroute.parse(section(rows, top=0xBB, trailer=trailer))

    assert (table.entries(), table.complete, table.above) == ({}, False, False)
    assert table.problems == (VOID.format(reason),)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("[0x0-0xffffffff]", "0x0 to 0xffffffff"), ("[0x5-0x4]", "0x5 to 0x4"),
     ("[0x0-0xc000]", "0x0 to 0xc000")],
)  # fmt: skip
def test_a_range_no_table_has_is_refused(text, numbers):
    """Else one number decides how much memory is asked for."""
    with pytest.raises(ParseError) as caught:
        ibroute.parse(section([(1, 7)], trailer=1).replace(b"[0x0-0x46]", text.encode()))

    assert str(caught.value).startswith(
        f"ibroute output, line 1: {numbers} is not a range of a forwarding table (0x0 to 0xbfff): "
    )


def test_the_own_lid_may_have_no_entry():
    (table,) = ibroute.parse(section([(1, 7), (187, 255)], top=0xBB, trailer=2))

    assert table.complete


def test_gaps_of_a_sound_table_are_entries_that_are_not_there():
    (table,) = ibroute.parse(section([(1, 7), (3, 8)], top=3, trailer=2))

    assert (table.entries(), table.complete) == ({1: 7, 2: NO_ENTRY, 3: 8}, True)


def test_a_repeated_lid_is_unknown_and_so_is_what_it_covers():
    rows = [(1, 7), (2, 7), (3, 7), (3, 9), (3, 8)]
    (table,) = ibroute.parse(section(rows, top=5, trailer=5))

    assert table.entries() == {1: 7, 2: 7}
    assert table.problems == (
        "table of SwitchB read up to 0x3 of 0x5: LID 0x0003 has 3 rows; read the table again",
    )


@pytest.mark.parametrize(
    ("bad", "line"),
    [
        (b"0x00g2 007 \n", 5),
        (b"0x0002 0x7 \n", 5),
        (b"0x0002 256 \n", 5),
        (b"0x0002 07\n", 5),
        (b"0x2 7 \n", 5),
        (b"0x0002 007 0x0003 008 \n", 5),
        (b"what is this\n", 5),
        (b"0x0047 007 \n", 5),
    ],
)
def test_a_garbled_row_is_an_error_that_names_its_line(bad, line):
    text = section([(1, 7), (2, 7), (3, 7)], trailer=3).replace(b"0x0002 007 \n", bad)

    with pytest.raises(ParseError) as caught:
        ibroute.parse(text)

    assert (caught.value.tool, caught.value.line, caught.value.text) == (
        "ibroute",
        line,
        bad.decode().rstrip("\n"),
    )


@pytest.mark.parametrize("text", [b"", b"\n", b"ibroute: iberror: failed: no such lid\n", b"x\n"])
def test_no_table_is_an_error(text):
    for parse in (dump_fts.parse, ibroute.parse, opensm_dump.parse_lfts, opensm_dump.parse_fdbs):
        with pytest.raises(ParseError):
            parse(text)


def test_two_tables_of_one_switch_are_an_error():
    with pytest.raises(ParseError, match="two tables"):
        ibroute.parse(section([(1, 7)], top=1, trailer=1) * 2)


def test_fdbs_of_a_shorter_section_is_cut():
    text = (GOLDEN / "opensm_dump/fdbs.txt").read_bytes()
    cut = b"".join(text.splitlines(keepends=True)[:-3])

    tables = opensm_dump.parse_fdbs(cut)

    assert [table.complete for table in tables] == [True, True, True, False]
    assert tables[-1].problems == (
        f"table of {tables[-1].guid} read up to 0x9 of 0xc: rows are missing; read the table again",
    )


def test_fdbs_knows_the_other_endings_of_a_row():
    head = b"dump_ucast_routes: Switch 0x00000000000000aa\nLID    : Port : Hops : Optimal\n"
    rows = (
        b"0x0001 : 003  : 02   : yes\n0x0002 : UNREACHABLE\n0x0003 : 004  : HOPS UNKNOWN\n"
        b"0x0004 : 005  : 03   : No 2 hop path possible via port 6!\n"
    )

    (table,) = opensm_dump.parse_fdbs(head + rows)

    assert table.entries() == {1: 3, 2: NO_ENTRY, 3: 4, 4: 5}
    assert table.hops.tolist() == [255, 2, 255, 255, 3]


def test_ibdiagnet_fdbs():
    text = (GOLDEN / "opensm_dump/fdbs.txt").read_text()
    text = text.replace("dump_ucast_routes", "osm_ucast_mgr_dump_ucast_routes")
    text = re.sub(r": \d\d   : yes", ": 00   : yes", text)
    plft = text.replace("LID    :", "PLFT_NUM: 0\nLID    :")
    several = plft.replace("PLFT_NUM: 0", "PLFT_NUM: 1", 1)
    expected = [table.entries() for table in read("opensm_dump/fdbs")]

    assert [t.entries() for t in ibdiagnet_fdbs.parse(text.encode())] == expected
    assert [t.entries() for t in ibdiagnet_fdbs.parse(plft.encode())] == expected
    assert [t.entries() for t in ibdiagnet_fdbs.parse(several.encode())] == [{}, *expected[1:]]
    assert [t.hops for t in ibdiagnet_fdbs.parse(text.encode())] == [None] * 4


@settings(deadline=None)
@given(case=st.sampled_from([c for c in READERS if "failed" not in c]), data=st.data())
def test_a_cut_file_never_knows_more(case, data):
    text = (GOLDEN / f"{case}.txt").read_bytes()
    whole = {table.guid: table.entries() for table in READERS[case](text)}
    at = data.draw(st.integers(0, len(text) - 1))
    try:
        cut = READERS[case](text[:at])
    except ParseError:
        return

    known = {(t.guid, lid, port) for t in cut for lid, port in t.entries().items()}

    assert known <= {(g, lid, port) for g, rows in whole.items() for lid, port in rows.items()}


@needs_samples
def test_the_broken_table_of_plafrim2():
    (table,) = ibroute.parse((SAMPLES / "sets/plafrim2/subnet0/ibroute-lid60.txt").read_bytes())

    assert (table.lid, table.complete, int(table.known.sum())) == (60, False, 60)
    assert not table.known[0x3F:].any()
    assert table.problems == (
        "table of TS-i12k00066a00e30076ab read up to 0x3f of 0x6a: the trailer is missing; "
        "LID 0x003f has 22 rows; read the table again",
    )


@needs_samples
def test_every_ibroute_of_the_samples():
    found = {
        path.parent.parent.name + "/" + path.name: table.complete
        for path in sorted((SAMPLES / "sets").glob("*/*/ibroute-*.txt"))
        for table in ibroute.parse(path.read_bytes())
    }

    assert len(found) == 33
    assert [name for name, complete in found.items() if not complete] == [
        "plafrim2/ibroute-lid60.txt"
    ]


@needs_samples
def test_old_opensm_fdbs():
    tables = opensm_dump.parse_fdbs((SAMPLES / "opensm_fdbs/osm-old.fdbs").read_bytes())

    hops = np.concatenate([table.hops[table.known] for table in tables])
    assert len(tables) == 62
    assert all(table.complete for table in tables)
    assert dict(zip(*np.unique(hops, return_counts=True), strict=True)) == {
        0: 62,
        1: 341,
        2: 839,
        3: 1572,
        4: 1100,
        5: 96,
        6: 20,
    }

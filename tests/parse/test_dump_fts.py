"""``dump_fts`` with lines lost: nothing is known then that the whole output does not say."""

from itertools import combinations

import numpy as np
import pytest

from ibaccept.fabric.lft import NO_ENTRY
from ibaccept.fabric.model import Fabric, Guid, Lid, Node, NodeType, Port, PortId
from ibaccept.parse import ParseError
from ibaccept.parse.dump_fts import parse
from ibaccept.routing.tables import CablingArrays, Tables


def dump(tables, top):
    """``-n``: the sections of switches, rows by LID."""
    return "".join(
        f"Unicast lids [0x0-{top:#x}] of switch DR path slid 0; dlid 0; 0,{guid} "
        f"guid 0x{guid:016x} (sw{guid}):\n  Lid  Out   Destination\n       Port     Info \n"
        + "".join(f"0x{lid:04x} {port:03d} \n" for lid, port in rows.items())
        + f"{len(rows)} valid lids dumped \n"
        for guid, rows in tables.items()
    )


def fabric_of(tables):
    """A ring of switches; LID n is that of switch n."""
    guids = list(tables)
    ports = {guid: {} for guid in guids}
    for here, there in zip(guids, [*guids[1:], guids[0]], strict=True):
        ports[here][1] = Port(PortId(Guid(here), 1), remote=PortId(Guid(there), 2))
        ports[there][2] = Port(PortId(Guid(there), 2), remote=PortId(Guid(here), 1))
    return Fabric.of(
        Node(Guid(guid), NodeType.SWITCH, f"sw{guid}", 8, ports[guid], lid=Lid(guid))
        for guid in guids
    )


def made(switches, top, seed, *, holes):
    """Tables by GUID; in ``holes`` of ten places there is no entry."""
    draw = np.random.default_rng(seed)
    return {
        guid: {
            lid: 0 if lid == guid else int(draw.integers(1, 9))
            for lid in range(1, top + 1)
            if lid == guid or draw.integers(10) >= holes
        }
        for guid in range(1, switches + 1)
    }


def wrong(text, tables, cabling):
    """(switch, LID) of entries held for known that are not those of the switch."""
    try:
        laid = Tables(cabling, parse(text.encode()))
    except ParseError:
        return []
    return [
        (guid, lid)
        for lid, number in np.argwhere(laid.known).tolist()
        for guid in [int(cabling.switches[number])]
        if lid and laid.out[lid, number] != tables[guid].get(lid, NO_ENTRY)
    ]


@pytest.mark.parametrize(("holes", "top"), [(0, 6), (3, 8)])
def test_every_block_of_lines_lost(holes, top):
    """Also one that holds a header, and one that leaves as many rows as the trailer says."""
    tables = made(3, top, holes, holes=holes)
    lines, cabling = dump(tables, top).splitlines(keepends=True), CablingArrays(fabric_of(tables))

    assert wrong("".join(lines), tables, cabling) == []
    lost = {
        (start, stop): wrong("".join(lines[:start] + lines[stop:]), tables, cabling)
        for start, stop in combinations(range(len(lines) + 1), 2)
    }
    assert {part: found for part, found in lost.items() if found} == {}


def test_every_cut_and_every_lost_head():
    tables = made(2, 5, 1, holes=0)
    text, cabling = dump(tables, 5), CablingArrays(fabric_of(tables))

    found = [wrong(part, tables, cabling)
             for n in range(1, len(text)) for part in (text[:n], text[n:])]  # fmt: skip
    assert not any(found)


@pytest.mark.parametrize("seed", range(60))
def test_two_blocks_of_bytes_lost(seed):
    draw = np.random.default_rng(seed)
    tables = made(int(draw.integers(2, 6)), int(draw.integers(5, 31)), seed, holes=seed % 6)
    top = max(max(rows) for rows in tables.values())
    text, cabling = dump(tables, top), CablingArrays(fabric_of(tables))
    for _ in range(2):
        start, size = draw.integers(len(text)), draw.integers(1, 2 + len(text) // 3)
        text = text[:start] + text[start + size :]

    assert wrong(text, tables, cabling) == []


def test_a_switch_without_a_table():
    """The one sentence says it, for each table that is not used."""
    tables = made(4, 6, 5, holes=0)
    cabling = CablingArrays(fabric_of(tables))
    laid = Tables(cabling, parse(dump({guid: tables[guid] for guid in (1, 2)}, 6).encode()))

    assert not laid.known.any()
    assert set(laid.problems) == {
        "dump_fts printed no table of sw3 and 1 more, and does not say why: lines are "
        "lost, and rows of one switch may stand under the header of another; read the tables "
        "again",
        "the table of sw3 was not read; read it with dump_fts -n or ibroute",
        "the table of sw4 was not read; read it with dump_fts -n or ibroute",
    }

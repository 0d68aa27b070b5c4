"""The row dump_fts drops where the last LID is a multiple of 64: the SA is asked for it."""

from pathlib import Path

from ibaccept.fabric.model import Fabric, Lid, Node, NodeType
from ibaccept.observe.observer import Observer
from ibaccept.observe.subnet import tables_of
from ibaccept.parse import dump_fts
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import CommandResult, Host

TEXT = (Path(__file__).parents[1] / "parse/golden/dump_fts/top-64.txt").read_bytes()
TABLES = dump_fts.parse(TEXT, "")
LIDS = {table.guid: 100 + number for number, table in enumerate(TABLES)}
HOLE = (
    "table of {}: LID 0x40 is the last of the table and a multiple of 64, which dump_fts does not "
    "print; ask the SA for it (saquery LFTR)"
)


def record(lid, port):
    """What saquery prints of block 1: LID 64 leaves by a port, the others have no entry."""
    rows = "".join(f"\t\t{64 + n}\t{port if n == 0 else 255}\n" for n in range(64))
    head = f"LFT Record dump:\n\t\tLID........................{lid}\n"
    return f"{head}\t\tBlock......................1\n\t\tLFT:\n\t\tLID\tPort Number\n{rows}"


class Sa:
    """dump_fts as captured; ``answer`` gives what saquery prints for a LID, None for a timeout."""

    def __init__(self, answer):
        self.answer = answer
        self.sent = []

    def run(self, host, argv, **_limits):
        self.sent.append(" ".join(argv))
        if argv[0] == "dump_fts":
            return CommandResult(host.name, argv, TEXT, b"", 0)
        text = self.answer(int(argv[-1].split("/")[0]))
        if text is None:
            error = b"Query SA failed: Connection timed out\n"
            return CommandResult(host.name, argv, b"", error, 110)
        return CommandResult(host.name, argv, text.encode(), b"", 0)


def read(answer, count=2):
    """The tables as collected from the first ``count`` switches the sweep saw; what was sent."""
    nodes = [
        Node(table.guid, NodeType.SWITCH, table.name or "", 40, {}, lid=Lid(LIDS[table.guid]))
        for table in TABLES[:count]
    ]
    transport = Sa(answer)
    host = InventoryHost("mgmt01", Host("mgmt01"))
    observer = Observer(transport, host, lambda _text: None)
    tables, _ = tables_of(observer, Fabric.of(nodes))
    return tables, transport.sent[1:]


def test_the_sa_gives_the_row_of_every_switch():
    tables, sent = read(lambda lid: record(lid, 17), count=4)

    assert sent == [f"saquery LFTR {lid}/1" for lid in (100, 101, 102, 103)]
    assert [(t.complete, int(t.ports[64]), t.problems) for t in tables] == [(True, 17, ())] * 4


def test_a_silent_sa_leaves_the_lid_unknown_and_is_queried_three_times_only():
    tables, sent = read(lambda _lid: None, count=4)

    assert sent == [f"saquery LFTR {lid}/1" for lid in (100, 101, 102)]
    assert [(t.complete, bool(t.known[64]), bool(t.known[63])) for t in tables] == [
        (False, False, True)
    ] * 4
    assert [t.problems for t in tables] == [
        *(
            (
                f"{HOLE.format(name)}: SA query failed: mgmt01: saquery LFTR {lid}/1 ended with "
                "exit code 110: Query SA failed: Connection timed out",
            )
            for name, lid in (("leaf02", 100), ("spine02", 101), ("spine01", 102))
        ),
        (f"{HOLE.format('leaf01')}: not queried, as the SA gave no answer for 3 other switches",),
    ]


def test_the_block_of_another_switch_is_not_taken():
    tables, _ = read(lambda _lid: record(7, 17), count=1)

    assert [(bool(t.known[64]), t.problems) for t in tables] == [
        (False, (HOLE.format(name),)) for name in ("leaf02", "spine02", "spine01", "leaf01")
    ]


def test_a_switch_the_sweep_did_not_see_is_not_asked_for():
    tables, sent = read(lambda lid: record(lid, 17), count=1)

    assert sent == ["saquery LFTR 100/1"]
    assert [bool(t.known[64]) for t in tables] == [True, False, False, False]

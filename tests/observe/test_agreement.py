"""Something is taken from each look in turn: what one tool shows and another lacks is an error."""

import re
from pathlib import Path

import pytest

from ibaccept.observe.look import Look, look
from ibaccept.site.inventory import load_inventory
from ibaccept.transport import CommandResult
from ibaccept.verdict.absence import NotSeen

GOLDEN = Path(__file__).parents[1] / "golden/look"
COMMANDS = {
    "ibstat": "ibstat",
    "ibqueryerrors": "ibqueryerrors --skip-sl",
    "ibqueryerrors-counters": "ibqueryerrors --skip-sl --counters",
    "ibnetdiscover": "ibnetdiscover",
    "iblinkinfo": "iblinkinfo --line",
    "sminfo": "sminfo",
    "saquery-s": "saquery -s",
    "dump_fts": "dump_fts -n",
}
MGMT = "0x0c42a10300f00300"


class Outputs:
    """A transport that answers with the golden outputs, some of them edited."""

    def __init__(self, **edits):
        self.texts = {argv: (GOLDEN / f"{name}.txt").read_text() for name, argv in COMMANDS.items()}
        for name, edit in edits.items():
            argv = COMMANDS[name.replace("__", "-")]
            edited = edit(self.texts[argv])
            assert edited != self.texts[argv]
            self.texts[argv] = edited

    def run(self, host, argv, *, timeout, root=False, limit=None):
        del timeout, root, limit
        text = self.texts.get(" ".join(argv), "2.1.0")
        return CommandResult(host.name, tuple(argv), text.encode(), b"", 0, start=1.0, end=2.0)

    def run_many(self, jobs, *, timeout, root=False, limit=None, fan_out=32):
        del limit, fan_out
        return {n: self.run(*job, timeout=timeout, root=root) for n, job in enumerate(jobs)}


@pytest.fixture
def gaps(tmp_path):
    """``gaps(ibnetdiscover=edit)``: the snapshot of edited outputs, and its gaps' reasons."""
    (tmp_path / "site.yaml").write_text("observers: {hosts: {mgmt01: {}}}\n")
    inventory = load_inventory(tmp_path / "site.yaml")

    def of(**edits):
        snapshot = look(Outputs(**edits), inventory, None, Look(), sleep=lambda _seconds: None)
        return snapshot, [gap.reason for gap in snapshot.gaps]

    return of


def without_block(name):
    """Takes a node's block out of ibnetdiscover, and every line that names it."""

    def edit(text):
        blocks = [block for block in text.split("\n\n") if f'# "{name}"' not in _first(block)]
        return "\n\n".join("\n".join(_others(block, name)) for block in blocks)

    return edit


def _first(block):
    return next((line for line in block.splitlines() if re.match(r"(Switch|Ca)\s", line)), "")


def _others(block, name):
    return [line for line in block.splitlines() if f'"{name}"' not in line]


def without_lines(pattern):
    return lambda text: "".join(
        line for line in text.splitlines(keepends=True) if not re.search(pattern, line)
    )


def replaced(old, new):
    return lambda text: text.replace(old, new)


def test_looks_that_agree_have_no_gap(gaps):
    snapshot, reasons = gaps()

    assert (reasons, snapshot.unseen(), snapshot.warnings) == ([], (), ())
    assert snapshot.managers.silent == ()
    assert snapshot.routes.problems == ()
    assert all(snapshot.sweeps[0.0].is_clean(port.id) for port in snapshot.fabric.ports())


def test_a_node_that_ibnetdiscover_lacks_is_a_gap_of_every_other_tool(gaps):
    snapshot, reasons = gaps(ibnetdiscover=without_block("stor-1"))

    guid = "0x0c42a10300f00200"
    assert guid not in [str(node) for node in snapshot.fabric.nodes]
    assert reasons == [
        "iblinkinfo line 15 shows port 1 of stor-1 (0x0c42a10300f00201), which ibnetdiscover does "
        "not list",
        "SwitchB/1 (0x0002c90300000002) is Active with the peer stor-1/1 (0x0c42a10300f00201) in "
        "iblinkinfo (line 16), but ibnetdiscover does not list it",
        f"ibqueryerrors shows the node {guid}, ibnetdiscover does not",
    ]
    assert snapshot.sweeps[0.0].unlisted == (
        "ibqueryerrors looked at 5 nodes, ibnetdiscover shows 4: the fabric changed between the two"
    )


def test_a_switch_that_ibnetdiscover_lacks_is_a_gap_of_dump_fts(gaps):
    _, reasons = gaps(
        ibnetdiscover=without_block("SwitchA"),
        ibqueryerrors__counters=without_lines("0x2c90300000001"),
        iblinkinfo=without_lines("0x0002c90300000001"),
    )

    assert (
        "dump_fts shows the switch SwitchA (0x0002c90300000001), ibnetdiscover does not" in reasons
    )


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (
            lambda text: "".join(text.splitlines(keepends=True)[5:]),
            "mgmt01: the head of ibnetdiscover ('Initiated from node') is missing, so its first "
            "lines may be lost",
        ),
        (
            without_block("mgmt01"),
            f"mgmt01: ibnetdiscover began at the node {MGMT} and shows no block of it: lines are "
            "lost",
        ),
    ],
    ids=["no head", "no first node"],
)
def test_an_ibnetdiscover_without_its_head_shows_no_fabric(gaps, edit, reason):
    snapshot, _ = gaps(ibnetdiscover=edit)

    assert isinstance(snapshot.fabric_seen, NotSeen)
    assert snapshot.fabric_seen.reason == reason


def test_a_port_that_iblinkinfo_lacks_is_a_gap(gaps):
    _, reasons = gaps(iblinkinfo=without_lines(r'"\s+SwitchA"\s+2\s+13\['))

    assert reasons == [
        "SwitchA/13 (0x0002c90300000001) is in ibnetdiscover, but iblinkinfo has no row of it"
    ]


def test_a_node_that_the_counters_lack_is_unread(gaps):
    snapshot, reasons = gaps(ibqueryerrors__counters=without_lines("c42a10300f00100 "))

    port = snapshot.fabric.by_name["client-1"][0].ports[1].id
    assert reasons == []
    assert snapshot.sweeps[0.0].why_unread(port, "SymbolErrorCounter") == (
        "ibqueryerrors did not meet client-1 (0x0c42a10300f00100) in its sweep"
    )


def test_a_summary_of_another_number_of_nodes_proves_no_port_clean(gaps):
    few, _ = gaps(ibqueryerrors=replaced("5 nodes", "4 nodes"))
    many, _ = gaps(ibqueryerrors=replaced("5 nodes", "6 nodes"))

    assert few.sweeps[0.0].unlisted == "ibqueryerrors looked at 4 of 5 nodes"
    assert many.sweeps[0.0].unlisted == (
        "ibqueryerrors looked at 6 nodes, ibnetdiscover shows 5: the fabric changed between the two"
    )


def test_a_switch_that_dump_fts_lacks_has_unknown_routes(gaps):
    snapshot, reasons = gaps(dump_fts=lambda text: text[: text.index("Unicast lids", 9)])

    assert reasons == []
    assert snapshot.routes.problems == (
        "dump_fts printed no table of SwitchB, and does not say why: lines are lost, and rows "
        "of one switch may stand under the header of another; read the tables again",
        "the table of SwitchB was not read; read it with dump_fts -n or ibroute",
    )


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "0xc42a10300f00301",
            "0xc42a10300f99901",
            "sminfo names the GUID 0x0c42a10300f99901 at LID 1, which no port of the sweep has",
        ),
        (
            "0xc42a10300f00301",
            "0xc42a10300f00101",
            "sminfo names client-1/1 (0x0c42a10300f00101) at LID 1, which is of mgmt01/1 in the "
            "sweep",
        ),
        (
            "lid 1 sm guid 0xc42a10300f00301",
            "lid 9 sm guid 0xc42a10300f00301",
            "sminfo names mgmt01/1 (0x0c42a10300f00301) at LID 9, which no port has in the sweep",
        ),
    ],
)
def test_a_manager_that_the_sweep_does_not_hold_is_a_gap(gaps, old, new, reason):
    _, reasons = gaps(sminfo=replaced(old, new))

    assert reasons == [reason]


def test_a_master_that_the_sa_does_not_list_is_told(gaps):
    snapshot, reasons = gaps(saquery__s=lambda text: re.sub(r"(?<=id)(\.+)1", r"\g<1>4", text))

    assert reasons == []
    assert snapshot.managers.silent[0].reason == (
        "sminfo answers for LID 1, which 'saquery -s' does not list"
    )


BACK_TO_BACK = {
    "ibnetdiscover": """#
# Initiated from node 0c42a10300f00300 port 0c42a10300f00301

caguid=0xc42a10300f00300
Ca	1 "H-0c42a10300f00300"		# "mgmt01"
[1](c42a10300f00301)	"H-0c42a10300f00100"[1](c42a10300f00101) # lid 1 lmc 0 "calc1" lid 3 4xHDR

caguid=0xc42a10300f00100
Ca	1 "H-0c42a10300f00100"		# "calc1"
[1](c42a10300f00101)	"H-0c42a10300f00300"[1](c42a10300f00301) # lid 3 lmc 0 "mgmt01" lid 1 4xHDR
""",
    "iblinkinfo": """\
0x0c42a10300f00101 "calc1"  3    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>  \
0x0c42a10300f00301      1    1[  ] "mgmt01" ( )
0x0c42a10300f00301 "mgmt01"  1    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>  \
0x0c42a10300f00101      3    1[  ] "calc1" ( )
""",
    "ibqueryerrors": """
## Summary: 2 nodes checked, 0 bad nodes found
##          2 ports checked, 0 ports have errors beyond threshold
## Thresholds:
## Suppressed:
""",
}


def test_two_hosts_back_to_back_are_a_fabric_without_tables(gaps):
    given = {name: lambda _text, new=new: new for name, new in BACK_TO_BACK.items()}
    only = without_lines("0x2c9030000000|stor-1|f00200")

    snapshot, reasons = gaps(**given, ibqueryerrors__counters=only, dump_fts=lambda _text: "-")

    fabric = snapshot.fabric
    assert (reasons, snapshot.unseen(), snapshot.tables) == ([], (), ())
    assert [fabric.link_name(link) for link in fabric.links] == ["calc1/1 - mgmt01/1"]
    assert all(snapshot.sweeps[0.0].is_clean(port.id) for port in fabric.ports())

"""``ibaccept spread`` and ``route`` on captures that the real OpenSM and tools made in the lab."""

import itertools
from pathlib import Path

import pytest

from ibaccept.cli import main

GOLDEN = Path(__file__).parents[1] / "golden" / "aliased-reads"
SAMPLES = Path(__file__).resolve().parents[2] / "../shared/samples"
shared = pytest.mark.skipif(not SAMPLES.is_dir(), reason="shared/ is not beside the project")

JOB = "client-[01,09,17,25,33,41,02,10,18,26,34,03]"
TOPOLOGIES = ["ibnetdiscover.txt", "ibnetdiscover-p.txt", "opensm-subnet.lst"]
TABLES = [
    ["dump_fts.txt"],
    ["dump_fts-n.txt"],
    ["ibroute-SwitchA.txt", "ibroute-SwitchB.txt"],
    ["opensm-lfts.dump"],
    ["opensm.fdbs"],
]
READS = """\
from stor-[1-8] (8 LIDs)
to client-[01-03,09-10,17-18,25-26,33-34,41] (12 LIDs)
96 of 96 pairs delivered

SwitchB to SwitchA: 12 LIDs over 8 usable cables; on the fullest 6, at best 2; 3 of 8 in use
  towards     LIDs of all  cable: LIDs of the job
  SwitchA/13            6  SwitchB/25: 6 client-[01,09,17,25,33,41]
  SwitchA/14            6  SwitchB/26: 5 client-[02,10,18,26,34]
  SwitchA/15            6  SwitchB/27: 1 client-03
  SwitchA/16            6  SwitchB/28: 0
  SwitchA/17            6  SwitchB/29: 0
  SwitchA/18            6  SwitchB/30: 0
  SwitchA/19            6  SwitchB/31: 0
  SwitchA/20            6  SwitchB/32: 0
"""
ADAPTIVE = (
    "ibaccept: where adaptive routing is on, the tables are only the fallback and these counts do "
    "not predict the load"
)


def ask(capsys, *argv, topology="ibnetdiscover.txt", tables=("opensm.fdbs",)):
    """Exit code, standard output, lines of standard error."""
    files = [f"--topology={GOLDEN / topology}", "--lfts", *(str(GOLDEN / t) for t in tables)]
    code = main([*argv, *files])
    out, err = capsys.readouterr()
    return code, out, err.splitlines()


@pytest.mark.parametrize(("topology", "tables"), list(itertools.product(TOPOLOGIES, TABLES)))
def test_the_collapse_of_the_reads_is_seen_in_every_capture(capsys, topology, tables):
    code, out, _ = ask(
        capsys,
        "spread",
        f"--lids-of={JOB}",
        "--from=stor-[1-8]",
        topology=topology,
        tables=tables,
    )

    assert (code, out) == (0, READS)


def test_what_is_believed_is_said_on_standard_error(capsys):
    _, _, err = ask(capsys, "spread", f"--lids-of={JOB}", "--from=stor-*")

    assert err == [
        "ibaccept: who receives: LIDs by node description: "
        "client-[01-03,09-10,17-18,25-26,33-34,41]",
        ADAPTIVE,
    ]


def test_the_writes_are_even(capsys):
    code, out, _ = ask(
        capsys, "spread", "--lids-of=stor-[1-8]", f"--from={JOB}", "--per-cable=even"
    )

    assert code == 0
    assert out.splitlines()[4:8] == [
        "SwitchA to SwitchB: 8 LIDs over 8 usable cables; on the fullest 1, at best 1; 8 of 8 in "
        "use",
        "  towards     LIDs of all  cable: LIDs of the job",
        "  SwitchB/25            2  SwitchA/13: 1 stor-1",
        "  SwitchB/26            1  SwitchA/14: 1 stor-2",
    ]
    assert out.splitlines()[-2:] == ["", "MET"]


@pytest.mark.parametrize(
    ("limit", "code", "last"),
    [
        ("even", 1, "NOT MET: SwitchB puts 6 LIDs on one cable, and 2 are allowed"),
        ("5", 1, "NOT MET: SwitchB puts 6 LIDs on one cable, and 5 are allowed"),
        ("6", 0, "MET"),
    ],
)
def test_a_limit_is_judged(capsys, limit, code, last):
    found = ask(capsys, "spread", f"--lids-of={JOB}", "--from=stor-[1-8]", f"--per-cable={limit}")

    assert (found[0], found[1]) == (code, f"{READS}\n{last}\n")


def test_every_other_host_sends_by_default(capsys):
    code, out, _ = ask(capsys, "spread", "--lids-of=3,4")

    assert (code, out.splitlines()[:3]) == (
        0,
        ["from 55 host ports (55 LIDs)", "to [3-4] (2 LIDs)", "110 of 110 pairs delivered"],
    )


def test_a_table_that_was_not_given_is_unknown_and_never_met(capsys):
    code, out, err = ask(
        capsys,
        "spread",
        f"--lids-of={JOB}",
        "--from=stor-[1-8]",
        "--per-cable=6",
        tables=["ibroute-SwitchA.txt"],
    )

    assert code == 3
    assert out.splitlines()[2:4] == [
        "0 of 96 pairs delivered",
        "  unknown: 96; their LIDs are counted on no cable",
    ]
    assert out.splitlines()[-1] == ("NOT JUDGED: routes lead over table entries that were not read")
    assert err[0] == (
        "ibaccept: the table of SwitchB was not read; read it with dump_fts -n or ibroute"
    )


def test_a_missing_entry_is_not_met(capsys, tmp_path):
    table = tmp_path / "fdbs"
    text = (GOLDEN / "opensm.fdbs").read_text()
    head, _, tail = text.partition("dump_ucast_routes: Switch 0x0002c90300000002")
    broken = tail.replace("0x0003 : 025  : 02   : yes", "0x0003 : UNREACHABLE")
    assert broken != tail
    table.write_text(f"{head}dump_ucast_routes: Switch 0x0002c90300000002{broken}")

    code, out, _ = ask(
        capsys,
        "spread",
        "--lids-of=client-[01-02]",
        "--from=stor-[1-8]",
        "--per-cable=6",
        tables=[table],
    )
    route = ask(capsys, "route", "stor-1", "client-01", tables=[table])

    assert code == 1
    assert out.splitlines()[2:5] == [
        "8 of 16 pairs delivered",
        "  no-entry: 8; their LIDs are counted on no cable",
        "  e.g. LID 51 to 3: stor-1/1 -> SwitchB, no-entry",
    ]
    assert out.splitlines()[-1] == "NOT MET: 8 pairs are not delivered"
    assert (route[0], route[1].splitlines()[:3]) == (
        1,
        [
            "stor-1/1 (LID 51) to client-01/1 (LID 3): no-entry over 1 switch",
            "  stor-1/1 -> SwitchB/1",
            "  the table of SwitchB has no entry for LID 3: packets are dropped there",
        ],
    )


def test_a_job_on_one_switch_crosses_no_cable_and_is_not_judged(capsys):
    code, out, _ = ask(
        capsys, "spread", "--lids-of=client-01", "--from=client-02", "--per-cable=even"
    )

    assert (code, out.splitlines()[2:]) == (
        3,
        [
            "1 of 1 pairs delivered",
            "no cable between switches is crossed",
            "",
            "NOT JUDGED: no cable between switches is crossed, so there is nothing to spread",
        ],
    )


def test_a_route_is_shown_hop_by_hop_in_both_directions(capsys):
    code, out, err = ask(capsys, "route", "client-01", "51")

    assert (code, err) == (0, [])
    assert out.splitlines() == [
        "client-01/1 (LID 3) to stor-1/1 (LID 51): delivered over 2 switches",
        "  client-01/1 -> SwitchA/1",
        "  SwitchA/13 -> SwitchB/25",
        "  SwitchB/1 -> stor-1/1",
        "stor-1/1 (LID 51) to client-01/1 (LID 3): delivered over 2 switches",
        "  stor-1/1 -> SwitchB/1",
        "  SwitchB/25 -> SwitchA/13",
        "  SwitchA/1 -> client-01/1",
    ]


def test_a_route_may_end_at_a_switch(capsys):
    code, out, _ = ask(capsys, "route", "SwitchB", "client-13")

    assert (code, out.splitlines()) == (
        0,
        [
            "SwitchB (LID 59) to client-13/1 (LID 15): delivered over 2 switches",
            "  SwitchB/29 -> SwitchA/17",
            "  SwitchA/21 -> client-13/1",
            "client-13/1 (LID 15) to SwitchB (LID 59): delivered over 2 switches",
            "  client-13/1 -> SwitchA/21",
            "  SwitchA/14 -> SwitchB/26",
        ],
    )


@pytest.mark.parametrize(
    ("argv", "messages"),
    [
        (
            ["spread", "--lids-of=client-[1-2]", "--from=storr-1"],
            [
                "--lids-of: no host of the fabric is called 'client-1'; did you mean 'client-01'?",
                "--lids-of: no host of the fabric is called 'client-2'; did you mean 'client-02'?",
            ],
        ),
        (
            ["spread", "--lids-of=client-01", "--from=storr-1"],
            ["--from: no host of the fabric is called 'storr-1'; did you mean 'stor-1'?"],
        ),
        (
            ["spread", "--lids-of=SwitchA"],
            ["--lids-of: 'SwitchA' is a switch, and a job runs on hosts; name a host"],
        ),
        (
            ["spread", "--lids-of=*"],
            ["every host of the fabric receives; name who sends with --from=SET"],
        ),
        (
            ["spread", "--lids-of=*", "--per-cable=0"],
            ["--per-cable must be even or a number from 1, not '0'"],
        ),
        (
            ["route", "client-[01-02]", "stor-1"],
            ["A: 'client-[01-02]' names 2 hosts; a route has one at an end"],
        ),
        (["route", "stor-1", "51"], ["stor-1 and 51 are one port; name two"]),
    ],
)
def test_a_name_that_fits_no_host_is_refused(capsys, argv, messages):
    assert ask(capsys, *argv) == (4, "", [f"ibaccept: {message}" for message in messages])


def test_the_problems_of_all_files_come_together(capsys):
    code, out, err = ask(
        capsys,
        "route",
        "a",
        "b",
        topology="opensm.fdbs",
        tables=["ibnetdiscover.txt", "none"],
    )

    assert (code, out) == (4, "")
    assert [line.split(": ", 1)[1].split(";")[0].removeprefix(f"{GOLDEN}/") for line in err] == [
        "opensm.fdbs shows no topology",
        "ibnetdiscover.txt holds no forwarding table",
        "none cannot be read: No such file or directory",
    ]


def test_tables_of_another_fabric_are_refused(capsys, tmp_path):
    other = tmp_path / "fdbs"
    other.write_text((GOLDEN / "opensm.fdbs").read_text().replace("0x0002c903", "0x0002c904"))

    code, out, err = ask(capsys, "route", "stor-1", "stor-2", tables=[other])

    assert (code, out, err) == (
        4,
        "",
        [
            f"ibaccept: none of the switches with a table is in {GOLDEN}/ibnetdiscover.txt: sweep "
            "and tables are of different fabrics"
        ],
    )


def sample(capsys, argv, topology, tables):
    files = [str(path) for path in sorted(SAMPLES.glob(tables))]
    code = main([*argv[:1], f"--topology={SAMPLES / topology}", "--lfts", *files, *argv[1:]])
    return code, capsys.readouterr().out.splitlines()


@shared
@pytest.mark.parametrize(
    ("hosts", "topology", "tables", "code", "pairs"),
    [
        (
            "node[001-024]",
            "sets/avakas/subnet0/ibnetdiscover-p.txt",
            "sets/avakas/subnet0/ibroute-*.txt",
            0,
            "6,168 of 6,168 pairs delivered",
        ),
        (
            "miriel[044-066]",
            "sets/plafrim2/subnet0/ibnetdiscover-p.txt",
            "sets/plafrim2/subnet0/ibroute-*.txt",
            3,
            "1,299 of 1,679 pairs delivered",
        ),
        (
            "sirocco06",
            "sets/plafrim2/subnet1/ibnetdiscover-p.txt",
            "sets/plafrim2/subnet1/ibroute-*.txt",
            0,
            "22 of 22 pairs delivered",
        ),
        (
            "swlab225",
            "ibdiagnet1/subnet-old.lst",
            "opensm_fdbs/osm-old.fdbs",
            0,
            "2 of 2 pairs delivered",
        ),
    ],
)
def test_every_table_of_the_samples_answers(capsys, hosts, topology, tables, code, pairs):
    found, out = sample(capsys, ["spread", f"--lids-of={hosts}"], topology, tables)

    assert (found, out[2]) == (code, pairs)

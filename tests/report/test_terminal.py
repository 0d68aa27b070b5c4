"""The layout of section 7 of the design, compared whole."""

from dataclasses import replace

from ibaccept.report import Answer, Counts, NotRun, Result, closing_lines, failure_text, overall
from ibaccept.report.terminal import AlreadyShown
from ibaccept.verdict import Coverage, Finding, Outcome, Subject, Table, Verdict
from ibaccept.verdict.evidence import CaptureRef, Counter, CounterState, RouteRef

EXAMPLE = """\
FAILED tests_fabric/test_links.py::test_link_rate[isl-4x-hdr]
isl-4x-hdr: 2 of 96 inter-switch links are not 4X HDR                       expectations.yaml:9
because: spine ordered as HDR
  expected 4X HDR, found 4X EDR:
    leaf01/2 - spine01/2
      counters  SymbolErrorCounter 47 (+47 in 60 s), LinkDownedCounter 255, saturated
      routes    118 of 4,032 pairs cross it, e.g. LID 10 to 87: node001 -> leaf01/2 -> spine01/5 \
-> node087, delivered
      seen in   captures/0003-iblinkinfo.txt:12: 5 2[ ] ==( 4X 25.78125 Gbps Active/ LinkUp)==> ...
      again     ssh mgmt01 'iblinkinfo --line' | grep 0x0002c90300000001"""


def verdict(*findings, **fields):
    whole = {
        "id": "x",
        "kind": "k",
        "nodeid": "tests_fabric/test_x.py::test_x[x]",
        "outcome": Outcome.FAIL,
        "sentence": "some differ",
        "because": "",
        "coverage": Coverage(len(findings) or 1, len(findings) or 1),
        "findings": findings,
    }
    return Verdict(**(whole | fields))


def finding(name, found="down", **fields):
    return Finding(
        Subject("node", name, fields.pop("guids", ())), "fail", "Active", found, **fields
    )


def reading(name, before, after, bits=16, port="sw/1"):
    return Counter.between(name, port, before, after, seconds=60.0, bits=bits)


def body(shown):
    """The lines after the heading and the sentence."""
    return failure_text(shown, 80).splitlines()[2:]


def test_the_example_of_the_design(failed):
    assert failure_text(failed, 95) == EXAMPLE


def test_width_moves_only_the_source(failed):
    lines = EXAMPLE.splitlines()
    sentence = "isl-4x-hdr: 2 of 96 inter-switch links are not 4X HDR"

    assert failure_text(failed, 100).splitlines() == [
        lines[0],
        f"{sentence}{'expectations.yaml:9':>47}",
        *lines[2:],
    ]
    assert failure_text(failed, 60).splitlines() == [
        lines[0],
        sentence,
        f"{'expectations.yaml:9':>60}",
        *lines[2:],
    ]


def test_without_heading(failed):
    assert failure_text(failed, 95, heading=False).splitlines() == EXAMPLE.splitlines()[1:]


def test_colour_only_where_asked(failed):
    coloured = failure_text(failed, 95, colour=True)

    assert coloured.splitlines()[0] == (
        "\x1b[31mFAILED tests_fabric/test_links.py::test_link_rate[isl-4x-hdr]\x1b[0m"
    )
    plain = coloured
    for code in ("\x1b[31m", "\x1b[1m", "\x1b[2m", "\x1b[0m"):
        plain = plain.replace(code, "")
    assert plain == EXAMPLE


def test_an_error_says_what_was_not_seen_and_what_to_do(not_judged):
    assert failure_text(not_judged, 80).splitlines() == [
        "ERROR tests_fabric/test_counters.py::test_error_counters[no-errors]",
        "no-errors: 1 of 1,580 links could not be judged             expectations.yaml:10",
        "coverage: 1,579 of 1,580 judged",
        "  expected no growth in 60 s, not seen: perfquery of LID 12 port 3 timed out:",
        "    leaf07/3 - node101/1",
        "      lacking   the second reading of leaf07/3 was not had",
        "      to do     look at the management port of leaf07, then run again",
        "      again     ssh mgmt01 perfquery -x 12 3",
    ]


def test_a_waived_finding_names_its_ticket(waived):
    assert failure_text(waived, 80).splitlines() == [
        "WAIVED tests_fabric/test_cabling.py::test_cabling[all-cabled]",
        "all-cabled: 1 of 480 planned cables is missing               expectations.yaml:8",
        "  waived (RMA-4711: cable on order): expected a cable, found leaf01/17 is down:",
        "    leaf01/17 - spine03/9",
    ]


def test_a_pass_shows_its_table_and_note(passed):
    assert failure_text(passed, 80).splitlines() == [
        "PASSED tests_fabric/test_subnet.py::test_subnet_manager[one-sm]",
        "one-sm: 1 of 1 masters runs on a host                        expectations.yaml:7",
        "because: embedded SMs hide routing options",
        "  Subnet managers:",
        "    host    priority",
        "    mgmt01        14",
        "note: A standby would be seen by sminfo only.",
    ]


def test_a_pass_on_nothing_is_shown_as_error(passed):
    shown = replace(passed, coverage=Coverage(0, 0), tables=(), notes=(), because="", source="")

    assert failure_text(shown, 80).splitlines() == [
        "ERROR tests_fabric/test_subnet.py::test_subnet_manager[one-sm]",
        "one-sm: 1 of 1 masters runs on a host",
        "coverage: 0 of 0 judged",
        "not believed: recorded as pass without bearing it out; run this entry again, "
        "and report the suite if it stays",
    ]


def test_every_counter_state_of_both_ends(slow_link):
    counters = (
        reading("A", 5, 5),
        reading("B", 500, 3),
        reading("C", 65535, 65535),
        reading("D", None, 4),
        Counter("E", "sw/1", None, None, None, 16, CounterState.UNSUPPORTED),
        reading("F", 0, 0),
        reading("G", 0, 0),
        Counter("H", "sw/1", 1, 3, None, 16, CounterState.OK),
        reading("A", 0, 0, port="sw/2"),
        reading("B", 0, 0, port="sw/2"),
        reading("A", 0, 0, port="sw/3"),
        reading("B", 0, 12_345_678_901, bits=64, port="sw/4"),
        reading("A", 0, 0, port="sw/4"),
    )

    assert body(verdict(replace(slow_link, counters=counters, routes=None, captures=(), again="")))[
        2:
    ] == [
        "      counters  sw/1: A 5 (+0 in 60 s), B 500 then 3, cleared; C 65,535, saturated; "
        "D not read then 4, E not supported, H 3 (+2 between two readings), 2 others 0",
        "                sw/2: all 2 read 0",
        "                sw/3: A 0",
        "                sw/4: B 12,345,678,901 (+12,345,678,901 in 60 s), 1 other 0",
    ]


def test_identical_findings_fold_to_node_sets():
    names = [f"node{i:03}" for i in (*range(1, 301), 400)]
    shown = verdict(
        *map(finding, names), finding("sw1"), finding("MF0;core:X"), finding("node9", "Init")
    )

    assert body(shown) == [
        "  expected Active, found down:",
        "    node[001-300,400] (301)",
        "    sw1",
        "    MF0;core:X",
        "  expected Active, found Init:",
        "    node9",
    ]


def test_two_nodes_of_one_name_are_told_apart():
    shown = verdict(
        finding("node1", guids=("0x1",)), finding("node1", guids=("0x2",)), finding("node2")
    )

    assert body(shown) == [
        "  expected Active, found down:",
        "    node1 (0x1)",
        "    node1 (0x2)",
        "    node2",
    ]


def test_different_evidence_is_not_folded_and_ten_are_shown():
    shown = verdict(*(finding(f"node{i}", again=f"ssh m smpquery nodeinfo {i}") for i in range(15)))

    lines = body(shown)

    assert lines[:3] == [
        "  expected Active, found down:",
        "    node0",
        "      again     ssh m smpquery nodeinfo 0",
    ]
    assert lines[-3:] == [
        "    node9",
        "      again     ssh m smpquery nodeinfo 9",
        "    ... and 5 more, all in verdicts.json",
    ]


def test_ten_different_differences_are_shown():
    lines = body(verdict(*(finding(f"node{i}", f"{i} errors") for i in range(1500))))

    assert lines[18:] == [
        "  expected Active, found 9 errors:",
        "    node9",
        "  ... and 1,490 more that differ otherwise, all in verdicts.json",
    ]


def test_failures_come_first_and_waived_ones_last():
    shown = verdict(
        finding("a", "1", waived="T-1: known"),
        replace(finding("b", "not answering"), outcome="error"),
        finding("c", "2"),
    )

    assert body(shown) == [
        "  expected Active, found 2:",
        "    c",
        "  expected Active, not seen: not answering:",
        "    b",
        "  waived (T-1: known): expected Active, found 1:",
        "    a",
    ]


def test_long_evidence_is_cut_and_says_so():
    captures = tuple(CaptureRef("captures/1.txt", n, "x" * 300) for n in (1, 2, 3, 4, 5))
    shown = verdict(finding("a", captures=captures, routes=RouteRef(1, 2)))

    assert body(shown)[2:] == [
        "      routes    1 of 2 pairs crosses it",
        f"      seen in   captures/1.txt:1: {'x' * 156} ...",
        f"                captures/1.txt:2: {'x' * 156} ...",
        f"                captures/1.txt:3: {'x' * 156} ...",
        "                ... and 2 more lines",
    ]


def test_tables_are_cut_and_an_empty_one_says_so():
    rows = tuple((f"c{i}", "1.0 GiB/s") for i in range(43))
    lines = body(
        verdict(
            tables=(Table("Cables", ("cable", "rate"), rows), Table("None", ("cable", "rate"), ()))
        )
    )

    assert [lines[0], lines[1], lines[2], *lines[-4:]] == [
        "  Cables:",
        "    cable       rate",
        "    c0     1.0 GiB/s",
        "    ... and 3 more rows, all in verdicts.json",
        "  None:",
        "    cable  rate",
        "    (no rows)",
    ]


def test_closing_lines(verdicts, meta, not_run):
    assert closing_lines(overall(verdicts, not_run), meta) == [
        "warning: 2 hosts had no SSH",
        "not run (needs --load): fabric-carries",
        "hall-3: 1 passed, 1 failed, 1 not judged, 1 waived, 1 not run",
        "orders: reports/2026-11-30T101603Z-hall-3/inputs/expectations.yaml",
        "report: reports/2026-11-30T101603Z-hall-3/index.html",
        "NOT ACCEPTED",
    ]


def test_closing_lines_of_an_empty_run(meta):
    quiet = replace(meta, warnings=())

    assert closing_lines(overall((), {}), quiet) == [
        "hall-3: no entry was judged",
        "orders: reports/2026-11-30T101603Z-hall-3/inputs/expectations.yaml",
        "report: reports/2026-11-30T101603Z-hall-3/index.html",
        "INCOMPLETE",
    ]


def test_closing_lines_in_colour(meta):
    result = Result(Answer.ACCEPTED, Counts(passed=1200), 0, {"a": NotRun("x"), "b": NotRun("x")})

    assert closing_lines(result, replace(meta, warnings=()), colour=True) == [
        "not run (x): a, b",
        "hall-3: 1,200 passed",
        "orders: reports/2026-11-30T101603Z-hall-3/inputs/expectations.yaml",
        "report: reports/2026-11-30T101603Z-hall-3/index.html",
        "\x1b[1;32mACCEPTED\x1b[0m",
    ]


def test_what_was_shown_of_another_entry_is_not_shown_again(passed):
    already = AlreadyShown()
    first = failure_text(passed, 80, already=already)
    more = Table("More", ("x",), (("1",),))
    other = replace(
        passed, id="two-sms", tables=(*passed.tables, more), notes=(*passed.notes, "Another.")
    )

    assert first == failure_text(passed, 80)
    assert failure_text(other, 80, already=already).splitlines()[3:] == [
        "  Subnet managers: as under one-sm",
        "  More:",
        "    x",
        "    1",
        "note: Another.",
        "note: 1 note as under one-sm",
    ]
    third = replace(other, id="three-sms")
    assert failure_text(third, 80, already=already).splitlines()[3:] == [
        "  Subnet managers: as under one-sm",
        "  More: as under two-sms",
        "note: 1 note as under one-sm",
        "note: 1 note as under two-sms",
    ]

"""The look at a fabric, with a transport that answers from a script; and the proof of findings."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from ibaccept import commands
from ibaccept.checks.proof import SHOWN, Aspect, Evidence
from ibaccept.fabric.model import PortId
from ibaccept.observe.look import Look, look
from ibaccept.observe.snapshot import Gap, SubnetManagers
from ibaccept.site.inventory import load_inventory
from ibaccept.transport import CommandResult, TransportError
from ibaccept.verdict import (
    Different,
    NotJudgedError,
    NotMetError,
    Outcome,
    Subject,
    judge,
    require,
)
from ibaccept.verdict.absence import NotSeen, NotSeenError
from ibaccept.verdict.evidence import CaptureRef, Counter, CounterState, RouteExample, RouteRef

GOLDEN = Path(__file__).parents[1] / "golden/look"
INVENTORY = """\
observers: {hosts: {mgmt01: {ib_sudo: true}, mgmt02: {}}}
clients: {hosts: {client-1: {}}}
storage: {hosts: {stor-1: {}}}
"""


def golden(name):
    return (GOLDEN / f"{name}.txt").read_bytes()


def whole():
    """What the tools print, by the command line."""
    return {
        "ibstat": golden("ibstat"),
        "ibstat --version": b"ibstat 2.1.0\n",
        "ibqueryerrors --skip-sl": golden("ibqueryerrors"),
        "ibqueryerrors --skip-sl --counters": golden("ibqueryerrors-counters"),
        "ibnetdiscover": golden("ibnetdiscover"),
        "iblinkinfo --line": golden("iblinkinfo"),
        "sminfo": golden("sminfo"),
        "saquery -s": golden("saquery-s"),
        "dump_fts -n": golden("dump_fts"),
    }


@dataclass
class Script:
    """A transport: outputs by command line; a list answers one after the other.

    An answer is stdout, a whole result (its host and argv are filled in), or an error to raise.
    """

    answers: dict = field(default_factory=whole)
    asked: list = field(default_factory=list)
    clock: float = 1000.0

    def run(self, host, argv, *, timeout, root=False, limit=1 << 23):
        del limit
        assert commands.is_permitted(argv)
        text = " ".join(argv)
        self.asked.append((host.name, text, root, timeout))
        answer = self.answers.get((host.name, text), self.answers.get(text))
        if isinstance(answer, list):
            answer = answer.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, bytes):
            answer = result(answer)
        self.clock += 1
        return replace(
            answer, host=host.name, argv=tuple(argv), start=self.clock - 1, end=self.clock
        )

    def close(self):
        pass


def result(stdout=b"", stderr=b"", code=0, **flags):
    return CommandResult("", ("x",), stdout, stderr, code, **flags)


@pytest.fixture
def inventory(tmp_path):
    (tmp_path / "site.yaml").write_text(INVENTORY)
    return load_inventory(tmp_path / "site.yaml")


@pytest.fixture
def seen(inventory):
    """Look through a script, changed by command line; returns the snapshot and the script."""

    def make(changes=None, windows=(3.0,), hosts=()):
        script = Script({**whole(), **(changes or {})})
        wanted = Look(windows, tuple(inventory.hosts[name] for name in hosts))
        return look(script, inventory, None, wanted, sleep=lambda _seconds: None), script

    return make


def test_a_whole_look(seen):
    snapshot, script = seen()

    sweep = ["ibqueryerrors --skip-sl", "ibqueryerrors --skip-sl --counters"]
    assert [(host, text, root) for host, text, root, _ in script.asked] == [
        ("mgmt01", text, not text.startswith("ibstat"))
        for text in (
            "ibstat",
            "ibstat --version",
            *sweep,
            "ibnetdiscover",
            "iblinkinfo --line",
            "sminfo",
            "saquery -s",
            "dump_fts -n",
            *sweep,
        )
    ]
    assert (snapshot.observer, snapshot.gaps, snapshot.warnings) == ("mgmt01", (), ())
    assert snapshot.tools == {"infiniband-diags": "2.1.0"}
    assert [snapshot.fabric.link_name(link) for link in snapshot.fabric.links] == [
        "SwitchA/1 - client-1/1",
        "SwitchA/13 - SwitchB/25",
        "SwitchB/1 - stor-1/1",
        "SwitchB/26 - mgmt01/1",
    ]
    assert {str(link.rate) for link in snapshot.fabric.links} == {"4X HDR"}
    (manager,) = snapshot.managers.found
    assert (str(manager.guid), manager.lid, manager.priority, manager.state) == (
        "0x0c42a10300f00301",
        1,
        0,
        3,
    )
    assert [(table.top, len(table.known.nonzero()[0])) for table in snapshot.tables] == [
        (5, 5),
        (5, 5),
    ]
    assert sorted(snapshot.sweeps) == [0.0, 3.0]


def test_windows_wait_for_what_is_left(inventory):
    slept = []
    said = []
    look(
        Script(),
        inventory,
        None,
        Look((60.0, 10.0)),
        sleep=slept.append,
        progress=said.append,
    )

    assert [round(seconds) for seconds in slept] == [10, 60]
    assert [text for text in said if text.startswith("waiting")] == [
        "waiting 10 s for the window of 10 s to pass",
        "waiting 60 s for the window of 60 s to pass",
    ]


# -- who looks -----------------------------------------------------------------------------------

REFUSED = TransportError("mgmt01", "connect", "port 22 refused the connection")
DOWN = b"State: Down\n\t\tPhysical state: Polling"


def ibstat(old, new):
    text = golden("ibstat")
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (REFUSED, "mgmt01: port 22 refused the connection"),
        (
            result(code=127, missing=True),
            "mgmt01: ibstat is not installed there (or not in PATH and the sbin folders)",
        ),
        (
            result(b"CA 'mlx5_0'\n\tCA", code=None, lost=True),
            "mgmt01: the connection was lost while ibstat ran; its output is cut",
        ),
        (
            ibstat(b"Link layer: IB", b"Link layer: Ethernet"),
            "mgmt01 has no InfiniBand port: ibsim0/1 has link layer Ethernet",
        ),
        (
            ibstat(b"State: Active\n\t\tPhysical state: LinkUp", DOWN),
            "no InfiniBand port of mgmt01 is up: ibsim0/1 is Down/Polling",
        ),
        (
            result(stderr=b"ibpanic: can't list\n", code=3),
            "mgmt01: ibstat ended with exit code 3: ibpanic: can't list",
        ),
    ],
)
def test_another_observer_looks_where_one_cannot(seen, answer, reason):
    snapshot, script = seen({("mgmt01", "ibstat"): answer})

    assert snapshot.observer == "mgmt02"
    assert snapshot.warnings == (f"not used as observer: {reason}",)
    assert len(snapshot.fabric.links) == 4
    assert {host for host, _, _, _ in script.asked[1:]} == {"mgmt02"}


def test_where_nobody_can_look_nothing_is_seen(seen):
    snapshot, script = seen({"ibstat": [REFUSED, result(code=127, missing=True)]})

    reason = (
        "no observer can see it: mgmt01: port 22 refused the connection; mgmt02: ibstat is not "
        "installed there (or not in PATH and the sbin folders)"
    )
    parts = (snapshot.fabric_seen, snapshot.managers_seen, snapshot.tables_seen)
    assert {part.reason for part in (*parts, *snapshot.sweeps.values())} == {reason}
    assert (snapshot.observer, len(script.asked), sorted(snapshot.sweeps)) == (None, 2, [0.0, 3.0])
    with pytest.raises(NotSeenError, match="the fabric could not be seen: no observer"):
        _ = snapshot.fabric


# -- parts that are not seen ---------------------------------------------------------------------

PARTS = {
    "ibnetdiscover": {"fabric", "sweep"},
    "iblinkinfo --line": {"fabric", "sweep"},
    "ibqueryerrors --skip-sl": {"sweep"},
    "sminfo": {"managers"},
    "dump_fts -n": {"tables"},
}
"""Parts that cannot be seen without a command (managers and tables stand by themselves)."""


def blind(snapshot):
    """Parts that were not seen."""
    parts = {
        "fabric": snapshot.fabric_seen,
        "managers": snapshot.managers_seen,
        "tables": snapshot.tables_seen,
        "sweep": snapshot.sweeps[0.0],
    }
    return {name for name, part in parts.items() if isinstance(part, NotSeen)}


@pytest.mark.parametrize("command", sorted(PARTS))
@pytest.mark.parametrize(
    "answer",
    [
        result(code=127, missing=True),
        result(code=1, sudo_refused=True, stderr=b"sudo: a password is required\n"),
        result(b"half a li", code=None, lost=True),
        result(b"half a li", code=None, timed_out=True),
        result(b"half a li\n", code=None, truncated=True),
        result(b"nonsense\n"),
        result(b""),
        result(code=None, signal="KILL"),
        TransportError("mgmt01", "session", "the login shell did not run our command"),
    ],
    ids=[
        "missing",
        "sudo",
        "lost",
        "hang",
        "too-long",
        "nonsense",
        "nothing",
        "killed",
        "no-shell",
    ],
)
def test_a_command_that_gives_nothing_blinds_its_own_part_only(seen, command, answer):
    snapshot, _ = seen({command: answer})

    assert blind(snapshot) == PARTS[command]


def test_no_manager_is_only_believed_where_sminfo_says_it(seen):
    failed = (
        b"ibwarn: [1] mad_rpc: _do_madrpc failed; dport (Lid 1)\nsminfo: iberror: failed: query\n"
    )
    snapshot, _ = seen({"sminfo": result(failed, code=255)})

    # The script keeps no stderr or file, so there is no line to cite.
    assert snapshot.managers == SubnetManagers(gone=True)


def test_no_manager_is_not_believed_where_its_node_is_silent_too(seen):
    failed = b"sminfo: iberror: failed: query\n"
    stderr = b"ibwarn: [1] x: IB_GSI_PORT_COUNTERS query failed on mgmt01, Lid 1 port 1\n"
    errors = result(golden("ibqueryerrors"), stderr)
    snapshot, _ = seen({"sminfo": result(failed, code=255), "ibqueryerrors --skip-sl": errors})

    assert blind(snapshot) == {"managers"}


def test_managers_that_the_sa_names_are_asked(seen):
    other = golden("sminfo").replace(b"sm lid 1", b"sm lid 3").replace(b"f00301", b"f00101")
    standby = other.replace(b"state 3 SMINFO_MASTER", b"state 2 SMINFO_STANDBY")
    head, record, rest = golden("saquery-s").partition(b"PortInfoRecord dump:\n")
    values, blank, tail = rest.partition(b"\n\n")
    second = values.replace(b"Lid..............1", b"Lid..............3")
    second = second.replace(b"\tbase_lid................1", b"\tbase_lid................3")
    named = head + record + values + b"\n" + record + second + blank + tail
    answered, script = seen({"saquery -s": named, "sminfo 3": standby})
    silent, _ = seen({"saquery -s": named, "sminfo 3": result(code=255)})

    assert "sminfo 3" in [text for _, text, _, _ in script.asked]
    assert [(m.lid, m.state_name) for m in answered.managers.found] == [
        (1, "SMINFO_MASTER"),
        (3, "SMINFO_STANDBY"),
    ]
    assert [m.lid for m in silent.managers.found] == [1]
    assert tuple(part.reason for part in silent.managers.silent) == (
        "the SA names one at LID 3, which did not answer: mgmt01: sminfo 3 ended with exit code "
        "255: it printed nothing",
    )


def test_a_line_of_trouble_is_a_gap_with_its_place(seen):
    line = (
        b"src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1,13 Attr 0x11:0) bad status 110; "
        b"Connection timed out\n"
    )
    snapshot, _ = seen({"ibnetdiscover": result(golden("ibnetdiscover"), line)})

    shown = CaptureRef("", 1, line.decode().strip())
    assert snapshot.gaps == (
        Gap(
            "the node behind SwitchB/13",
            "the node behind SwitchB/13 did not answer",
            (shown,),
            at=PortId(snapshot.fabric.by_name["SwitchB"][0].guid, 13),
            route=(1, 13),
        ),
    )


def test_one_silent_node_hides_neither_counters_nor_tables(seen):
    """Every tool sweeps first, and says the same of it: it is one gap."""
    line = (
        b"src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1,13 Attr 0x11:0) bad status 110; "
        b"Connection timed out\n"
    )
    tools = ("ibnetdiscover", "iblinkinfo --line", "dump_fts -n", "ibqueryerrors --skip-sl")
    names = ("ibnetdiscover", "iblinkinfo", "dump_fts", "ibqueryerrors")
    silent = {tool: result(golden(name), line) for tool, name in zip(tools, names, strict=True)}
    snapshot, _ = seen(silent)
    whole, _ = seen({})

    assert [gap.name for gap in snapshot.gaps] == ["the node behind SwitchB/13"]
    assert snapshot.open_gaps == ()
    assert snapshot.tables == whole.tables
    assert (snapshot.sweeps[0.0].unlisted, whole.sweeps[0.0].unlisted) == (None, None)


def test_a_line_that_tells_of_no_trouble_is_a_warning(seen):
    snapshot, _ = seen({"iblinkinfo --line": result(golden("iblinkinfo"), b"[7] hello\n")})

    assert (snapshot.gaps, snapshot.warnings) == ((), ("iblinkinfo reported: hello",))


def test_hosts_are_asked_for_their_own_lids(seen):
    own = golden("ibstat")
    snapshot, script = seen(
        {
            ("client-1", "ibstat"): own,
            ("stor-1", "ibstat"): TransportError("stor-1", "connect", "no"),
        },
        windows=(),
        hosts=("client-1", "stor-1"),
    )

    assert [(h, t, r) for h, t, r, _ in script.asked[-2:]] == [
        ("client-1", "ibstat", False),
        ("stor-1", "ibstat", False),
    ]
    assert [port.lid for ca in snapshot.hosts["client-1"].cas for port in ca.ports] == [1]
    assert snapshot.hosts["stor-1"] == NotSeen(
        "the LIDs of stor-1", "stor-1: no", "check that the host is up and that sshd listens"
    )


def test_a_fabric_without_a_link_is_not_seen(seen):
    host = golden("ibnetdiscover").decode().split("\n\n")
    alone = "\n\n".join([host[0], host[-1].split("\n[1]")[0] + "\n"])
    snapshot, _ = seen({"ibnetdiscover": alone.encode(), "iblinkinfo --line": b"\n"})

    assert isinstance(snapshot.fabric_seen, NotSeen)


# -- proof ---------------------------------------------------------------------------------------


def grown(value):
    """The errors of SwitchB/25 at one sweep."""
    return result(
        (
            'Errors for 0x2c90300000002 "SwitchB"\n'
            f"   GUID 0x2c90300000002 port 25: [SymbolErrorCounter == {value}]\n"
            "\n## Summary: 5 nodes checked, 1 bad nodes found\n"
            "##          42 ports checked, 1 ports have errors beyond threshold\n"
            "## Thresholds: \n## Suppressed:\n"
        ).encode(),
        code=1,
    )


def isl(snapshot):
    (link,) = (link for link in snapshot.fabric.links if snapshot.fabric.is_isl(link))
    return link


def test_a_link_is_proven_by_counters_routes_and_lines(seen):
    snapshot, _ = seen({"ibqueryerrors --skip-sl": [grown(47), grown(59)]})
    evidence = Evidence(snapshot, "4X HDR")
    link = isl(snapshot)

    assert evidence.subject(link) == Subject(
        "link",
        "SwitchA/13 - SwitchB/25",
        ("0x0002c90300000001", "0x0002c90300000002"),
        (13, 25),
    )
    proof = evidence.proof(link)
    symbol = [c for c in proof.counters if c.name == "SymbolErrorCounter"]
    seconds = snapshot.window(3.0).seconds
    assert symbol == [
        Counter("SymbolErrorCounter", "SwitchA/13", 0, 0, seconds, 16, CounterState.OK),
        Counter("SymbolErrorCounter", "SwitchB/25", 47, 59, seconds, 16, CounterState.OK),
    ]
    assert {c.name for c in proof.counters} <= set(SHOWN)
    assert proof.routes == RouteRef(
        4,
        6,
        (
            RouteExample(3, 1, ("client-1/1", "SwitchA/13", "SwitchB/26", "mgmt01"), "delivered"),
            RouteExample(1, 3, ("mgmt01/1", "SwitchB/25", "SwitchA/1", "client-1"), "delivered"),
        ),
    )
    assert [capture.line for capture in proof.captures] == [14, 40, 2]
    assert proof.captures[2].text == ("GUID 0x2c90300000002 port 25: [SymbolErrorCounter == 59]")
    assert proof.again == "ssh mgmt01 'iblinkinfo --line' | grep 0x0002c90300000001"
    assert proof.missing == ()


def test_what_cannot_be_proven_is_said(seen):
    snapshot, _ = seen(
        {
            "ibqueryerrors --skip-sl": result(code=127, missing=True),
            "dump_fts -n": result(code=127, missing=True),
        }
    )

    proof = Evidence(snapshot, "4X HDR").proof(isl(snapshot))
    assert (proof.counters, proof.routes) == ((), None)
    assert proof.missing == (
        "error and data counters were not read",
        "routes: the forwarding tables could not be seen: mgmt01: dump_fts is not installed there "
        "(or not in PATH and the sbin folders)",
    )


def test_the_proof_of_other_things(seen):
    snapshot, _ = seen()
    evidence = Evidence(snapshot, "4X HDR")
    shown = CaptureRef("captures/0007-sminfo.txt", 1, "sminfo: ...")
    aspect = Aspect("subnet-manager", "masters", captures=(shown,), command="sminfo")

    assert evidence.subject(aspect) == Subject("subnet-manager", "masters")
    proof = evidence.proof(aspect)
    assert (proof.captures, proof.again) == ((shown,), "ssh mgmt01 'sminfo'")
    gap = Gap("the node behind SwitchB/13", "it did not answer", (shown,))
    assert evidence.subject(gap) == Subject("node", "the node behind SwitchB/13")
    assert evidence.proof(gap).captures == (shown,)
    assert evidence.subject("a word") == Subject("item", "a word")


def test_a_verdict_is_kept_whatever_it_is(seen):
    snapshot, _ = seen()
    evidence = Evidence(snapshot, "4X HDR")
    with pytest.raises(NotMetError):
        require(
            judge([isl(snapshot)], expected="1", actual=lambda _: Different("2"), noun="l"),
            evidence,
        )
    with pytest.raises(NotJudgedError):
        require(judge([isl(snapshot)], expected="1", actual=lambda _: None, noun="x"), evidence)
    unseen = evidence.unseen(NotSeen("the links", "why", "what to do"))

    assert [v.outcome for v in evidence.verdicts] == [Outcome.FAIL, Outcome.ERROR, Outcome.ERROR]
    (finding,) = unseen.findings
    assert (unseen.sentence, finding.expected, finding.found, finding.hint) == (
        "the links could not be seen, so nothing was judged (expected: 4X HDR)",
        "4X HDR",
        "why",
        "what to do",
    )

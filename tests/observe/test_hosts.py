"""Hosts of the inventory that the topology does not show."""

import pytest

from ibaccept.errors import InputProblemsError
from ibaccept.fabric.model import Fabric, Guid, Lid, Node, NodeType, Port, PortId
from ibaccept.observe.hosts import absent_gap, absent_hosts, stats_of
from ibaccept.observe.lids import lids_of
from ibaccept.observe.snapshot import Gap
from ibaccept.parse import ibstat
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import CommandResult, Host, TransportError
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

CA, SWITCH = Guid(0x10), Guid(0x20)
IBSTAT = """\
CA 'mlx5_0'
\tCA type: MT4123
\tNumber of ports: 1
\tNode GUID: 0x{guid:016x}
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 200
\t\tBase lid: 3
\t\tLMC: 0
\t\tSM lid: 1
\t\tPort GUID: 0x{guid:016x}
\t\tLink layer: InfiniBand
"""


def fabric(description):
    at_host, at_switch = PortId(CA, 1), PortId(SWITCH, 7)
    own = Port(at_host, guid=CA, lid=Lid(3), remote=at_switch)
    return Fabric.of(
        [
            Node(CA, NodeType.CA, description, 1, {1: own}),
            Node(SWITCH, NodeType.SWITCH, "leaf", 36, {7: Port(at_switch, remote=at_host)}),
        ]
    )


def host(name, **more):
    return InventoryHost(name, Host(name), **more)


@pytest.mark.parametrize(
    ("description", "given"),
    [
        ("calc08", host("calc08")),
        ("calc08 HCA-1", host("calc08")),
        ("calc08.hall3.example mlx5_0", host("calc08")),
        ("calc08 mlx5_0", host("calc08.hall3.example")),
        ("CALC08 HCA-1", host("calc08")),
        ("ConnectX board 5", host("calc08", ib_name="ConnectX board 5")),
        ("MT4123", host("0x0000000000000010")),
        ("MT4123", host("3")),
    ],
)
def test_a_host_is_there_by_any_spelling_of_its_name(description, given):
    assert absent_hosts([given], fabric(description), {}) == ()


@pytest.mark.parametrize(
    ("description", "given"),
    [
        ("calc07", host("calc08")),
        ("calc080 HCA-1", host("calc08")),
        ("calc08", host("calc08", ib_name="calc09")),
        ("calc08", host("4")),
    ],
)
def test_another_name_is_another_host(description, given):
    assert absent_hosts([given], fabric(description), {}) == (given,)


@pytest.mark.parametrize(("guid", "there"), [(CA, True), (Guid(0x99), False)])
def test_its_own_ibstat_shows_a_host_of_any_description(guid, there):
    given = host("calc08")
    stats = {"calc08": ibstat.parse(IBSTAT.format(guid=guid))}

    assert absent_hosts([given], fabric("MT4123 ConnectX6"), stats) == (() if there else (given,))


def test_a_host_that_could_not_be_asked_is_known_by_its_name_alone():
    stats = dict.fromkeys(("calc08", "leaf"), NotSeen("the LIDs", "connection refused"))

    assert absent_hosts([host("calc08"), host("leaf")], fabric("x"), stats) == (host("calc08"),)


def test_without_a_topology_no_host_is_called_absent():
    assert absent_hosts([host("calc08")], NotSeen("the fabric", "silent"), {}) == ()


def test_the_gap_names_the_host_and_cites_the_topology():
    assert absent_gap(host("a", ib_name="b"), "captures/2.txt") == Gap(
        "a",
        "a (ib_name b) is in the inventory and not in the fabric",
        (CaptureRef("captures/2.txt", None, ""),),
        "it is off, unplugged, in another subnet, or has another node description (then set "
        "ib_name); entries about links and routes leave it out with 'absent: allowed'",
    )


class Answers:
    """ibstat of a host whose second HCA cannot be opened, or as a test changes it."""

    def __init__(self, changes):
        self.changes = changes

    def run(self, host, argv, *, timeout, root, limit):
        del timeout, root, limit
        if isinstance(self.changes, TransportError):
            raise self.changes
        values = {"stdout": IBSTAT.format(guid=CA).encode(), "stderr": b"", "exit_code": 0}
        return CommandResult(host.name, tuple(argv), **(values | self.changes))

    def close(self):
        pass


PANIC = b"ibpanic: [7] main: stat of IB device 'mlx5_1' failed: No such file or directory\n"
SAID = PANIC.decode().strip()
NOT_WHOLE = (
    "calc08: its ibstat was not read whole (line 13: {}), so some of its ports may not be known; "
    "run ibstat there and see what it says"
)


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, (3,)),
        # what is not of the tool itself is no trouble
        ({"stderr": b"libibverbs: Warning: no driver\n"}, (3,)),
        (
            {"exit_code": 255, "stderr": PANIC},
            NOT_WHOLE.format(repr(f"calc08: ibstat ended with exit code 255: {SAID}")),
        ),
        (
            {"stderr": PANIC},
            NOT_WHOLE.format(repr(f"calc08: ibstat says that it failed: {SAID}")),
        ),
        (
            {"stderr": b"ibwarn: [7] umad_get_port: open failed\n"},
            NOT_WHOLE.format("'ibwarn: [7] umad_get_port: open failed'"),
        ),
        (
            {"exit_code": None, "timed_out": True},
            NOT_WHOLE.format(
                "'calc08: ibstat did not end in time and was stopped; its output is cut'"
            ),
        ),
        (
            {"exit_code": None, "truncated": True},
            NOT_WHOLE.format(
                "'calc08: ibstat printed more than the output limit; its output is cut'"
            ),
        ),
        # a host that shows nothing is known by its node description, and the verdict says so
        ({"stdout": b"", "exit_code": 255, "stderr": PANIC}, (3,)),
        ({"stdout": b"", "exit_code": 127, "missing": True}, (3,)),
        (TransportError("calc08", "connect", "refused the connection"), (3,)),
    ],
)
def test_a_list_of_ports_that_is_not_whole_is_an_error_of_its_host(changes, outcome):
    """It passed by the ports that were shown before the tool failed."""
    one = host("calc08")
    seen = stats_of(Answers(changes), [one], 4, lambda _text: None)
    stats = {name: stat for name, stat in seen.items() if not isinstance(stat, NotSeen)}

    if isinstance(outcome, tuple):
        assert lids_of(fabric("calc08 mlx5_0"), [one], stats).lids == outcome
        return
    with pytest.raises(InputProblemsError) as caught:
        lids_of(fabric("calc08 mlx5_0"), [one], stats)
    assert str(caught.value) == outcome

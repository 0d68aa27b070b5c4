"""Samples of the cables: what is read how, and what one silent port costs."""

import pytest

from ibaccept.fabric.model import Guid, PortId
from ibaccept.load.cables import Query
from ibaccept.load.clocks import Clocks
from ibaccept.load.watch import Sample, Watch
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import CommandResult, Host, TransportError
from ibaccept.transport.captures import CapturedResult


def captured(host, start, end, sent, received):
    return CapturedResult(
        host, ("date",), b"", b"", 0, start=start, end=end, sent=sent, received=received
    )


BLOCK = """\
# Port extended counters: Lid 2 port {port} (CapMask: 0x1300 CapMask2: 0x0000000)
PortSelect:......................{port}
CounterSelect:...................0x0000
PortXmitData:....................{value}
PortRcvData:.....................1
PortXmitPkts:....................1
PortRcvPkts:.....................1
PortUnicastXmitPkts:.............0
PortUnicastRcvPkts:..............0
PortMulticastXmitPkts:...........0
PortMulticastRcvPkts:............0
"""
FAILED = "/usr/sbin/perfquery: iberror: failed: perfextquery\n"


class Tool:
    """Answers as perfquery does where port 14 of LID 2 does not answer; LID 3 has no such port."""

    def __init__(self):
        self.asked = []

    def run(self, host, argv, *, timeout, root, limit=0):
        del timeout, limit
        each = argv[0] == "sh"
        assert root is not each
        if each:
            _sh, _c, _script, _name, *words = argv
            self.asked.append(" ".join(words))
            text = ""
            for number, lid in enumerate(words[-1].split(",")):
                told, code = self.switch(int(lid), "-x" in words)
                start = 9.0 + number / 10
                text += (
                    f"# ibaccept begin {lid} {start:.3f}\n{told}"
                    f"# ibaccept end {lid} {code} {start + 0.1:.3f}\n"
                )
            return CommandResult(host.name, argv, text.encode(), b"", 0, start=8.5, end=9.9)
        self.asked.append(" ".join(argv[1:]))
        told, code = self.port(int(argv[-2]), int(argv[-1]), "-x" in argv)
        return CommandResult(host.name, argv, told.encode(), b"", code, start=9.0, end=9.1)

    def switch(self, lid, extended):
        text = ""
        for port in (13, 14, 15):
            told, code = self.port(lid, port, extended)
            text += told
            if code:
                return text, code
        return text, 0

    def port(self, lid, port, extended):
        if not extended or (lid, port) == (2, 14):
            return FAILED, 255
        return BLOCK.format(port=port, value=port * 100).replace("Lid 2", f"Lid {lid}"), 0


def test_one_port_that_does_not_answer_does_not_hide_the_others():
    two, three = (
        {number: PortId(Guid(lid), number) for number in numbers}
        for lid, numbers in ((2, (13, 14, 15)), (3, (13, 15)))
    )
    tool = Tool()
    watch = Watch(tool, InventoryHost("obs", Host("obs")), [Query(2, two), Query(3, three)])

    watch.first()
    taken = watch.sample()

    assert {
        (port.guid, port.port): reading.value
        for (port, name), reading in taken.readings.items()
        if name == "PortXmitData"
    } == {(2, 13): 1300, (2, 15): 1500, (3, 13): 1300, (3, 15): 1500}
    assert list(taken.why) == [two[14]]
    assert watch.problems["LID 2 port 14"].what == "the load of cables at LID 2 port 14"
    assert "perfquery: obs: perfquery -x 2 14 ended with exit code 255" in taken.why[two[14]]
    assert watch.problems["LID 2"].reason == (
        "perfquery: obs: LID 2: exit code 255: /usr/sbin/perfquery: iberror: failed: perfextquery"
    )
    # a session for each of the two, then port by port where one does not answer
    assert sorted(line for line in tool.asked[:2]) == [" -x   2", " -x   3"]
    assert {"-x 2 13", "-x 2 14", "-x 2 15"} <= set(tool.asked)
    assert not any(line.startswith("-x 3 ") for line in tool.asked)
    # each reading has the time of its own switch, and the line it stands in
    reading = taken.readings[three[13], "PortXmitData"]
    assert (reading.time, reading.line) == (pytest.approx(9.05), 5)


def test_the_switches_are_shared_among_a_few_sessions():
    queries = [Query(lid, {13: PortId(Guid(lid), 13)}) for lid in range(3, 13)]
    host = Query(40, {1: PortId(Guid(40), 1)}, is_switch=False)
    tool = Tool()
    observer = InventoryHost("obs", Host("obs"), ib_hca=("mlx5_1",), ib_port=2)
    watch = Watch(tool, observer, [*queries, host])

    taken = watch.sample()

    assert sorted(tool.asked) == [
        " -x mlx5_1 2 3,7,11", " -x mlx5_1 2 4,8,12", " -x mlx5_1 2 5,9", " -x mlx5_1 2 6,10",
        "-C mlx5_1 -P 2 -x 40 1",
    ]  # fmt: skip
    assert {port.guid for port, _ in taken.readings} == {*range(3, 13), 40}
    assert (taken.longest, taken.why) == (pytest.approx(0.1), {})


def test_with_sudo_each_perfquery_is_run_by_it():
    tool = Tool()
    observer = InventoryHost("obs", Host("obs", sudo=True))
    Watch(tool, observer, [Query(3, {13: PortId(Guid(3), 13)})]).sample()

    assert tool.asked == ["sudo -n -- -x   3"]


def test_a_sample_before_the_last_start_is_not_steady():
    clocks = Clocks()
    clocks.note(captured("obs", 100.0, 100.0, 100.0, 100.0))
    clocks.note(captured("late", 137.0, 137.0, 100.0, 100.0))  # 37 s ahead
    watch = Watch(Tool(), InventoryHost("obs", Host("obs")), [], clocks)
    watch.samples = [Sample({}, at, at, 0.0, {}) for at in (200.0, 202.0, 204.0, 206.0)]
    watch.steady = [1, 2, 3]

    watch.not_before({"late#0": 240.0, "obs#1": 201.0})
    seen = list(watch.steady)
    watch.not_before({})

    assert (seen, watch.steady) == ([2, 3], [])


class Silent:
    """A host that answers nothing, or other than perfquery does."""

    def __init__(self, answer):
        self.answer = answer

    def run(self, host, argv, *, timeout, root, limit):
        del timeout, root, limit
        if isinstance(self.answer, TransportError):
            raise self.answer
        values = {"stdout": b"", "stderr": b"", "exit_code": 0, "start": 1.0, "end": 2.0}
        return CommandResult(host.name, tuple(argv), **(values | self.answer))

    def close(self):
        pass


@pytest.mark.parametrize(
    ("answer", "switch", "adapter"),
    [
        (
            TransportError("obs", "connect", "refused"),
            "perfquery: obs: refused", "perfquery: obs: refused",
        ),
        (
            {"exit_code": 3},
            "perfquery: obs: perfquery-each ended with exit code 3: it printed nothing",
            "perfquery: obs: perfquery -x 9 1 ended with exit code 3: it printed nothing",
        ),
        (
            {"stdout": b""},
            "perfquery: obs: perfquery output: nothing was printed; see its stderr and exit code",
            "perfquery: obs: perfquery output: nothing was printed; its stderr and exit code say "
            "why, then run it again",
        ),
        (
            {"exit_code": None, "truncated": True},
            "perfquery: obs: perfquery-each printed more than the output limit; its output is cut",
            "perfquery: obs: perfquery printed more than the output limit; its output is cut",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_why_for_each_query(answer, switch, adapter):
    port, other = (PortId(Guid(2), number) for number in (13, 14))
    watch = Watch(
        Silent(answer),
        InventoryHost("obs", Host("obs")),
        [Query(2, {13: port, 14: other}), Query(9, {1: PortId(Guid(9), 1)}, is_switch=False)],
    )

    watch.first()
    watch.last()

    assert (watch.before, watch.after, watch.samples) == (None, None, [])
    assert {key: part.reason for key, part in watch.problems.items()} == {
        "LID 2": switch, "LID 9 port 1": adapter,
    }  # fmt: skip

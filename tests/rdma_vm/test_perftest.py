"""What perftest really does when things go wrong, and what ``perftest.accept`` makes of it.

Through the suite's own SSH transport, against real perftest on soft-RoCE devices. Rates mean
nothing here; rows, exit codes, messages and what is left running do.
"""

import re
import time

import pytest

from ibaccept.parse import ParseError, perftest, ss
from ibaccept.parse.perftest import BandwidthRow, Refused
from ibaccept.transport.ssh import SshTransport

pytestmark = [pytest.mark.real, pytest.mark.vm]

SECONDS = 4
MESSAGE = 16384
NOBODY_LEFT = ""
_TOLD = "Unable to read from socket/rdma_cm; Failed to exchange data between server and clients"
NO_MEASUREMENT = "whatever it printed is no measurement; see the server's own exit code and stderr"
LOST_SERVER = frozenset(
    Refused(f"the client ended with exit code 1: {first}; {_TOLD}", NO_MEASUREMENT)
    for first in (
        "ethernet_read_keys: Couldn't read remote address",
        "ethernet_read_data: Couldn't read reports",
    )
)
"""What a client says of a server that is gone, by what it was to read from it next."""
NOBODY_THERE = Refused(
    "the client ended with exit code 1: Couldn't connect to 127.0.0.1:{port}; "
    "Unable to open file descriptor for socket connection Unable to init the socket connection",
    NO_MEASUREMENT,
)


@pytest.fixture(scope="module")
def transport(rdma_vm):
    made = SshTransport(lambda _: True, ssh_config=rdma_vm.ssh_config, connect_timeout=30)
    yield made
    made.close()


class Bench:
    """Starts servers on vm1 and clients on vm2."""

    def __init__(self, machine, transport):
        self.vm1, self.vm2 = machine.host("vm1"), machine.host("vm2")
        self.transport = transport
        self.servers = []

    def options(self, port, *, qps=2, message=MESSAGE, depth=("-t", "4"), seconds=SECONDS, device):
        words = ("-D", seconds, "-q", qps, "-s", message, "-p", port)
        return [str(word) for word in ("-d", device, "-F", "--report_gbits", *words, *depth)]

    def serve(self, port, *, tool="ib_write_bw", ready=True, **options):
        """A server; returns once it listens."""
        argv = [tool, *self.options(port, device="rxe1", **options)]
        server = self.transport.start(self.vm1, argv, timeout=60)
        self.servers.append(server)
        if ready:
            for _ in range(100):
                if port in self.listening():
                    return server
            pytest.fail(f"no server on port {port}")
        return server

    def listening(self):
        result = self.transport.run(self.vm1, ["ss", "-ltn"], timeout=20)
        return ss.listening_ports(ss.parse(result.text))

    def client(self, port, *, tool="ib_write_bw", device="rxe2", **options):
        argv = [tool, *self.options(port, device=device, **options), "127.0.0.1"]
        return self.transport.start(self.vm2, argv, timeout=60)

    def left(self):
        """Processes of perftest that still run."""
        return self.transport.run(self.vm1, ["pgrep", "-x", "ib_(write|read)_bw"], timeout=20).text

    def stop(self):
        return [server.stop().exit_code for server in self.servers]


@pytest.fixture
def bench(rdma_vm, transport):
    made = Bench(rdma_vm, transport)
    yield made
    made.stop()


def judged(result, *, tool="ib_write_bw", message=MESSAGE, qps=2, link_type=None, seconds=SECONDS):
    """What becomes of a client's output: a row, a refusal, or a parse error's sentence."""
    try:
        test = perftest.parse(result.text)
    except ParseError as error:
        if result.exit_code == 0:
            return str(error)
        test = perftest.BandwidthTest(None, None, (), None, bidirectional=False)
    return perftest.accept(
        test,
        result.exit_code,
        result.error_text,
        message=message,
        duration=seconds,
        tool=tool,
        qps=qps,
        link_type=link_type,
    )


def shape(row):
    """A row without what differs from run to run."""
    assert isinstance(row, BandwidthRow), row
    return row.message_bytes, row.peak_gbps, row.iterations > 0, perftest.consistent(row)


def test_pairs_at_once(bench):
    """Three pairs, one of them reading, begin together: three rows, and nothing is left."""
    servers = [
        bench.serve(18610),
        bench.serve(18611),
        bench.serve(18612, tool="ib_read_bw", qps=1),
    ]
    clients = [
        bench.client(18610),
        bench.client(18611),
        bench.client(18612, tool="ib_read_bw", qps=1),
    ]
    results = [client.wait() for client in clients]
    ends = [server.wait() for server in servers]
    rows = [
        judged(results[0]),
        judged(results[1]),
        judged(results[2], tool="ib_read_bw", qps=1),
    ]

    assert [shape(row) for row in rows] == [(MESSAGE, None, True, True)] * 3
    assert [result.exit_code for result in (*results, *ends)] == [0] * 6
    assert bench.left() == NOBODY_LEFT
    # begun within a second of each other, by the machine's clock
    starts = [result.start for result in results]
    assert max(starts) - min(starts) < SECONDS / 4
    # and over Ethernet it is no InfiniBand measurement, whatever it measured
    assert judged(results[0], link_type="IB") == Refused(
        "the link type is Ethernet, not IB",
        "name the InfiniBand device with -d (ib_hca in the inventory)",
    )


def test_killed_server(bench):
    """The client prints a plausible row all the same; its exit code alone tells."""
    server = bench.serve(18620)
    client = bench.client(18620)
    for _ in range(100):  # the server stops listening when its client has come
        if 18620 not in bench.listening():
            break
    pid = bench.transport.run(bench.vm1, ["pgrep", "-o", "-x", "ib_write_bw"], timeout=20).text
    bench.transport.run(bench.vm1, ["kill", "-KILL", pid.strip()], timeout=20)
    result, end = client.wait(), server.wait()

    assert (end.exit_code, end.signal) == (None, "KILL")
    assert result.exit_code == 1
    assert judged(result) in LOST_SERVER
    assert bench.left() == NOBODY_LEFT


def test_port_in_use(bench):
    """A second server says that it waits for a client, and ends: its stdout is no sign of life."""
    first = bench.serve(18630)
    second = bench.serve(18630, ready=False).wait()
    result = bench.client(18630).wait()

    assert second.exit_code == 1
    assert "Waiting for client to connect" in second.text
    assert second.error_text == (
        "Couldn't listen to port 18630\n"
        "Unable to open file descriptor for socket connection"
        " Unable to init the socket connection\n"
    )
    assert shape(judged(result)) == (MESSAGE, None, True, True)
    assert first.wait().exit_code == 0


def test_busy_server(bench):
    """A server takes one client; the next is turned away at once, and the first is not hurt."""
    server = bench.serve(18640)
    first = bench.client(18640)
    for _ in range(100):
        if 18640 not in bench.listening():
            break
    second = bench.client(18640).wait()
    result = first.wait()

    assert judged(second) == Refused(NOBODY_THERE.reason.format(port=18640), NOBODY_THERE.hint)
    assert shape(judged(result)) == (MESSAGE, None, True, True)
    assert server.wait().exit_code == 0


def test_wrong_device(bench):
    """It ends at once on either side, and the server that waits for it is stopped by us."""
    server = bench.serve(18650)
    result = bench.client(18650, device="mlx5_9").wait()
    stopped = server.stop()

    assert (result.exit_code, result.text) == (1, "")
    assert judged(result) == Refused(
        "the client ended with exit code 1: IB device mlx5_9 not found; "
        "Unable to find the Infiniband/RoCE device",
        NO_MEASUREMENT,
    )
    assert (stopped.exit_code, stopped.signal, stopped.text) == (None, "TERM", "")
    assert bench.left() == NOBODY_LEFT


def test_zero_iterations(bench):
    """The window closes before the first message has arrived: exit code 0, and a row of zeros."""
    slow = {"message": 48 << 20, "qps": 1, "depth": ("-t", "1"), "seconds": 1}
    server = bench.serve(18660, **slow)
    result = bench.client(18660, **slow).wait()

    assert (result.exit_code, judged(result, message=48 << 20, qps=1, seconds=1)) == (
        0,
        Refused(
            "no message was completed inside the measured window, so nothing was measured",
            "run longer (-D) or with fewer messages in flight (-t 4)",
        ),
    )
    assert server.wait().exit_code == 0


def test_mismatched_queue_pairs(bench):
    """The ends disagree on -q: both fail, and the server may print a row of memory contents."""
    server = bench.serve(18670, qps=2)
    result = bench.client(18670, qps=4).wait()
    end = server.wait()

    assert (result.exit_code, end.exit_code) == (1, 1)
    assert judged(result, qps=4) in LOST_SERVER
    # and were it taken for a client's that ended well, it would be refused still
    row = re.search(r"^ \d{10,}.*\n", end.text, re.MULTILINE)
    assert row is not None
    client_text = (
        result.text
        + " #bytes     #iterations    BW peak[Gb/sec]    "
        + ("BW average[Gb/sec]   MsgRate[Mpps]\n" + row[0])
    )
    test = perftest.parse(client_text)
    assert perftest.accept(
        test, 0, "", message=MESSAGE, duration=SECONDS, qps=4, link_type=None
    ) == Refused(
        f"the row is of {test.rows[0].message_bytes} byte messages, not {MESSAGE}",
        "give both ends the same options, and run it again",
    )


def test_a_lost_connection_ends_both(bench, rdma_vm):
    """Nothing outlives the connection that started it."""
    own = SshTransport(lambda _: True, ssh_config=rdma_vm.ssh_config, connect_timeout=30)
    started = Bench(rdma_vm, own)
    started.serve(18680)
    started.client(18680)
    assert bench.left() != NOBODY_LEFT
    own.close()
    for _ in range(40):
        if bench.left() == NOBODY_LEFT:
            break
        time.sleep(0.25)

    assert bench.left() == NOBODY_LEFT

"""The suite's RDMA runner over SSH against real perftest: whole runs, and what they leave."""

import contextlib
import dataclasses
import re
import threading

import pytest

from ibaccept import commands
from ibaccept.load.clocks import Clocks
from ibaccept.load.pace import FIRST_PORT, Pace, RdmaLoad
from ibaccept.load.rdma import RdmaRunner, pairs_of
from ibaccept.load.result import PairRate
from ibaccept.site.inventory import load_inventory
from ibaccept.transport.ssh import SshTransport

pytestmark = [pytest.mark.real, pytest.mark.vm]

CLIENTS = ("client0", "client1", "client2")
LOAD = RdmaLoad(duration=4, message=16384, qps=2, depth=4, link_type=None)


@pytest.fixture(scope="module")
def transport(rdma_vm):
    """Only what the suite may send at all."""
    made = SshTransport(
        lambda argv: any(command.permits(argv) for command in commands.ALL),
        ssh_config=rdma_vm.ssh_config,
        connect_timeout=30,
    )
    yield made
    made.close()


@pytest.fixture(scope="module")
def spy(rdma_vm):
    """Runs anything: what the suite itself may not."""
    made = SshTransport(lambda _: True, ssh_config=rdma_vm.ssh_config, connect_timeout=30)

    def spy(*argv):
        return made.run(rdma_vm.host("vm1"), argv, timeout=30)

    # perftest's client meets a host by its name; all the clients are vm1
    names = " ".join(CLIENTS)
    spy("sh", "-c", f"echo 10.78.0.1 {names} >>/etc/hosts")
    yield spy
    made.close()


@pytest.fixture
def run(rdma_vm, transport, spy):
    """Run pairs of ``clients`` clients (all of them vm1) with vm2; nothing may be left."""
    known = load_inventory(rdma_vm.inventory).hosts

    def go(load=LOAD, *, clients=1, direction="read", meanwhile=None, look=True, **hosts):
        names = CLIENTS[:clients]
        every = {name: _named(known["vm1"], name) for name in names} | {"vm2": known["vm2"]}
        runner = RdmaRunner(transport, load, every | hosts, Pace(), Clocks())
        pairs = pairs_of(names, ["vm2"], direction, load.tool)
        helper = threading.Thread(target=meanwhile) if meanwhile else None
        if helper:
            helper.start()
        result = runner.run(pairs, direction, None)
        if helper:
            helper.join()
        assert not look or spy("pgrep", "-x", "ib_(write|read)_bw").text == ""
        return result

    return go


@pytest.fixture
def spy_server(rdma_vm):
    """``with spy_server(port)``: a perftest server of somebody else's listens on vm1."""

    @contextlib.contextmanager
    def serve(port):
        other = SshTransport(lambda _: True, ssh_config=rdma_vm.ssh_config, connect_timeout=30)
        host = rdma_vm.host("vm1")
        server = other.start(host, ["ib_write_bw", "-d", "rxe1", "-p", str(port)], timeout=120)
        for _ in range(100):
            if f":{port} " in other.run(host, ["ss", "-ltn"], timeout=30).text:
                break
        yield
        server.stop()
        other.close()

    return serve


@pytest.fixture
def kill_a_server(spy):
    """Kills the server of the first pair once both clients have come."""

    def kill():
        for _ in range(60):
            # a client's command ends with its peer, a server's with its port
            found = spy("pgrep", "-f", f"^ib_write_bw .*-p {FIRST_PORT}$").text.split()
            clients = spy("pgrep", "-f", "^ib_write_bw .* client[01]$").text.split()
            if len(found) == 1 and len(clients) == 2:
                spy("kill", "-KILL", *found)
                return

    return kill


def _named(host, name):
    return dataclasses.replace(
        host, name=name, transport=dataclasses.replace(host.transport, name=name)
    )


def outcome(result):
    """A run without what differs from time to time: a measured pair is its sender and MTU."""
    return {
        pair.tcp_port: (rate.pair.sender, rate.mtu, rate.iterations > 0)
        if isinstance(rate, PairRate)
        else rate.reason
        for pair, rate in result.pairs.items()
    }


def test_pairs_at_once(run):
    """Storage sends to three clients at once; every pair has a row."""
    result = run(clients=3)

    assert outcome(result) == {FIRST_PORT + n: ("vm2", 1024, True) for n in range(3)}
    assert (result.moved, result.ended) == ((), (6, 6))
    assert result.spread is not None
    assert result.spread.seconds < LOAD.duration / 4
    assert result.total is not None


def test_reading_the_other_way(run):
    """``ib_read_bw``: the storage's server is read by the client."""
    result = run(dataclasses.replace(LOAD, tool="ib_read_bw", qps=1))

    assert outcome(result) == {FIRST_PORT: ("vm2", 1024, True)}


def test_port_in_use(run, spy_server):
    """A port that somebody else has is passed by, and the result says so."""
    with spy_server(FIRST_PORT):
        result = run(look=False)  # the other's server is left, and rightly

    assert outcome(result) == {FIRST_PORT + 1: ("vm2", 1024, True)}
    assert result.moved == (f"client0: TCP port {FIRST_PORT} is in use, the next one was taken",)


def test_killed_server(run, kill_a_server):
    """One of two servers dies under load: its pair is no measurement, and there is no total."""
    result = run(dataclasses.replace(LOAD, duration=8), clients=2, meanwhile=kill_a_server)

    rows = outcome(result)
    assert rows.pop(FIRST_PORT + 1) == ("vm2", 1024, True)
    assert list(rows) == [FIRST_PORT]
    # the client has printed a row or not yet, as the moment has it: neither is a measurement
    assert re.fullmatch(
        r"client: vm2: (?:the client|ib_write_bw) ended with exit code 1: "
        r".*Failed to exchange data between server and clients.*",
        rows[FIRST_PORT],
    )
    assert (result.total, result.ended) == (None, (4, 4))


def test_wrong_device(run, rdma_vm):
    """A device the host has not: the tool's own words, and no client was begun."""
    known = load_inventory(rdma_vm.inventory).hosts
    result = run(client0=dataclasses.replace(_named(known["vm1"], "client0"), ib_hca=("mlx5_9",)))

    assert outcome(result) == {
        FIRST_PORT: "server: client0: ib_write_bw ended with exit code 1: "
        "Unable to find the Infiniband/RoCE device"
    }
    assert result.ended == (1, 1)


def test_not_infiniband(run):
    """A site that asks for InfiniBand gets no number from RoCE."""
    result = run(dataclasses.replace(LOAD, link_type="IB"))

    assert outcome(result) == {FIRST_PORT: "client: vm2: the link type is Ethernet, not IB"}

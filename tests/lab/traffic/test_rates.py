"""Rates on the tables of a real OpenSM, without processes: each limit binds where it should."""

from pathlib import Path

import pytest
import yaml

from ibaccept.fabric.model import Guid, PortId, Rate
from ibaccept.fabric.units import Bandwidth
from ibaccept.lab import Lab
from ibaccept.lab.fabric.network import Network
from ibaccept.lab.traffic.dataplane import DataPlane, Flow
from ibaccept.lab.traffic.settings import Traffic
from ibaccept.routing.forecast import AdmissibleInputs, Ceiling, forecast

pytestmark = pytest.mark.real

GIB = 1 << 30
SWITCH_A, SWITCH_B = Guid(0x0002C90300000001), Guid(0x0002C90300000002)
ISLS = range(25, 33)
WIRE = (1 + 26 / 4096) / 4
"""PortXmitData of a byte of payload."""


@pytest.fixture(scope="module")
def network():
    with Lab.start("healthy") as lab:
        net = lab.scenario.topology.build(lab.scenario.folder)
        return Network(*lab.backend.look(), {node.name: node.guid for node in net.hosts()})


STORAGE = tuple(f"stor-{n}" for n in range(1, 9))
JOB = tuple(f"client-{n:02d}" for n in (1, 9, 17, 25, 33, 41, 2, 10, 18, 26, 34, 3))


def plane(network, traffic, flows):
    """A data plane that moved these flows for ten seconds."""
    section = Traffic.model_validate({"ceilings": {"4X HDR": "22.6 GiB/s"}, **traffic})
    found = DataPlane(section, STORAGE, flows=list(flows))
    found.attach(network)
    found.advance(10.0)
    return found


def reads(clients=JOB):
    return [Flow(tuple((s, c) for s in STORAGE), client=c, read=True) for c in clients]


def writes(clients=JOB):
    return [Flow(tuple((c, s) for s in STORAGE), client=c) for c in clients]


def total(flows):
    """GiB/s of all flows."""
    return sum(flow.rate for flow in flows) / GIB


def waits(found, guid):
    """Ports of a switch that waited, the longest first."""
    ticks = {p.port: c.wait for p, c in found.counted().items() if p.guid == guid and c.wait}
    return sorted(ticks, key=lambda port: -ticks[port])


PACE = {"hosts": "client-[01-48]", "pace": "7.62 GiB/s"}


def test_reads_of_an_aliased_job_and_writes(network):
    """Without losses: the forecast of domain, 2 x 22.6 + 7.6."""
    read, write = reads(), writes()
    plane(network, {"hosts": [PACE]}, read)
    plane(network, {"hosts": [PACE]}, write)

    assert total(read) == pytest.approx(2 * 22.6 + 7.62)
    assert total(write) == pytest.approx(12 * 7.62)


def test_the_forecast_on_real_tables_is_that_of_the_data_plane(network):
    """The forecast knows nothing of the data plane, and the other way round."""
    found = forecast(
        AdmissibleInputs(
            routes=network.routes,
            clients={name: network.lid(name) for name in JOB},
            servers={name: network.lid(name) for name in STORAGE},
            ceilings={Rate.parse("4X HDR"): Ceiling(Bandwidth.from_gib(22.6), "configured")},
            client_write=dict.fromkeys(JOB, Bandwidth.from_gib(7.62)),
        ),
        "read",
    )

    read = reads()
    plane(network, {"hosts": [PACE]}, read)
    assert found.sum_text == "2 x 22.6 + 7.6 = 52.8 GiB/s"
    assert [(c.name, len(c.lids), c.binds) for c in found.cables if c.isl] == [
        ("SwitchB/25", 6, True),
        ("SwitchB/26", 5, True),
        ("SwitchB/27", 1, False),
    ]
    assert [found.clients[name].gib for name in JOB] == pytest.approx(
        [flow.rate / GIB for flow in read]
    )


def test_a_cable_shared_by_receivers_loses_and_rdma_alone_reaches_the_same(network):
    read = reads()
    rdma = [Flow(((STORAGE[n % 8], client),)) for n, client in enumerate(JOB)]
    for flows in (read, rdma):
        plane(network, {"hosts": [PACE], "contention": "4%"}, flows)

    assert [total(read), total(rdma)] == pytest.approx([2 * 22.6 * 0.96 + 7.62] * 2)
    gbps = sorted(flow.rate * 8 / 1e9 for flow in rdma)
    assert gbps == pytest.approx([31.06] * 6 + [37.27] * 5 + [65.45], rel=1e-3)


def test_a_host_that_does_not_exist_is_lost(network):
    flow = Flow((("stor-1", "nobody"),))
    plane(network, {}, [flow])

    assert (flow.lost, flow.rate, flow.moved) == (True, 0.0, 0.0)


def test_a_flow_of_a_size_ends_when_it_is_through(network):
    flow = Flow((("stor-1", "client-01"),), size=22.6 * GIB * 3)
    found = DataPlane(Traffic(ceilings={"4X HDR": "22.6 GiB/s"}), STORAGE, flows=[flow])
    found.attach(network)

    assert (found.next_end(), found.through()) == (pytest.approx(3.0), [])
    found.advance(found.next_end())
    assert found.through() == [flow]


def test_adaptive_switches_spread_what_the_tables_do_not(network):
    read = reads()
    found = plane(network, {"hosts": [PACE], "adaptive": True}, read)

    assert total(read) == pytest.approx(12 * 7.62)
    sent = [found.counted()[PortId(SWITCH_B, port)].sent for port in ISLS]
    assert sent == pytest.approx([12 * 7.62 * GIB * 10 * WIRE / 8] * 8)


def test_storage_binds_and_no_cable_is_full(network):
    read, rdma = reads(), [Flow((("stor-1", "client-01"),))]
    found = plane(network, {"filesystem": {"read": "20 GiB/s"}}, [*read])
    plane(network, {"filesystem": {"read": "20 GiB/s"}}, rdma)

    assert total(read) == pytest.approx(20)
    assert (total(rdma), waits(found, SWITCH_B)) == (pytest.approx(22.6), [])


def test_read_ahead_binds_each_client(network):
    clients = ("client-01", "client-02")
    read, write = reads(clients), writes(clients)
    limit = {"hosts": [{"hosts": "client-[01-48]", "fs_read": "3 GiB/s"}]}
    plane(network, limit, read)
    plane(network, limit, write)

    assert [total([flow]) for flow in read] == pytest.approx([3, 3])
    assert [total([flow]) for flow in write] == pytest.approx([22.6, 22.6])


def test_a_pcie_slot_of_half_the_lanes_binds_both_directions(network):
    limit = {"hosts": [{"hosts": "stor-[1-8]", "nic": "12 GiB/s"}]}
    out, into = Flow((("stor-1", "client-01"),)), Flow((("client-02", "stor-2"),))
    found = plane(network, limit, [out, into])

    assert [total([flow]) for flow in (out, into)] == pytest.approx([12, 12])
    # What the slow host takes waits at the port that faces it; what it sends waits nowhere.
    assert waits(found, SWITCH_B) == [2]


def test_a_slow_receiver_is_seen_at_the_port_that_faces_it(network):
    flows = [Flow(((f"stor-{n}", f"client-0{n}"),)) for n in (1, 2, 3)]
    found = plane(network, {"hosts": [{"hosts": "client-02", "receive": "5 GiB/s"}]}, flows)

    assert [total([flow]) for flow in flows] == pytest.approx([22.6, 5, 22.6])
    counted = found.counted()
    assert counted[PortId(SWITCH_A, 2)].wait > 5 * counted[PortId(SWITCH_A, 1)].wait
    assert waits(found, SWITCH_A)[0] == 2


def test_a_scenario_that_names_no_host_of_its_own_is_refused(play):
    with pytest.raises(ValueError, match="the traffic is of 'client-99', which is not among"):
        play(traffic={"hosts": [{"hosts": "client-99", "nic": "1 GiB/s"}]})


def test_links_without_a_ceiling_carry_what_is_known_of_their_rate(network):
    flow = Flow((("stor-1", "client-01"),))
    found = DataPlane(Traffic(), STORAGE, flows=[flow])
    found.attach(network)

    assert flow.rate * 8 / 1e9 == pytest.approx(0.984 * Rate.parse("4X HDR").gbps)


def test_the_example_of_the_documentation_is_one():
    text = (Path(__file__).resolve().parents[3] / "docs" / "lab-traffic.md").read_text()
    example = text.partition("```yaml\n")[2].partition("```")[0]

    section = Traffic.model_validate(yaml.safe_load(example)["traffic"])

    kinds = {type(mishap).__name__ for mishap in section.mishaps}
    assert kinds == {"Hang", "Dies", "PortTaken", "NoWrite", "Clears"}
    assert section.limit("client-09", "receive") == 5 * GIB

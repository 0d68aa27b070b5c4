"""Forecasts of a job on two switches by hand, and what may enter one."""

from dataclasses import fields

import numpy as np
import pytest

from ibaccept.errors import InputError
from ibaccept.fabric.lft import NO_ENTRY, SwitchTable
from ibaccept.fabric.model import Fabric, Guid, Lid, Node, NodeType, Port, PortId, Rate
from ibaccept.fabric.units import Bandwidth
from ibaccept.routing.crossings import crossings
from ibaccept.routing.forecast import AdmissibleInputs, Ceiling, ForecastCable, Term, forecast
from ibaccept.routing.paths import Routes

HDR = Rate.parse("4X HDR")
CEILING = Ceiling(Bandwidth.from_gib(22.6), "configured")
WROTE = Bandwidth.from_gib(7.62)
A, B = Guid(0xA), Guid(0xB)
ISLS = 8
FIRST_A, FIRST_B = 113, 125
COLLAPSE = [*range(0, 48, 8), *range(1, 41, 8), 2]
"""Clients (from 0) whose LIDs leave SwitchB by its first ISL (6), second (5) and third (1)."""


def two_switches(clients=48, storage=8, rate=HDR, odd=None):
    """Clients at SwitchA 1.., LIDs 1..; storage at SwitchB 1.., LIDs 101..; LID mod 8 -> ISL."""
    lids = {f"client-{n + 1:02d}": n + 1 for n in range(clients)}
    stores = {f"stor-{n + 1}": 101 + n for n in range(storage)}
    ports = {A: {}, B: {}}
    nodes = []
    for switch, hosts in ((A, lids), (B, stores)):
        for number, (name, lid) in enumerate(hosts.items(), 1):
            end, here = PortId(Guid(0x100 * lid), 1), PortId(switch, number)
            ports[switch][number] = Port(here, rate=rate, remote=end)
            only = Port(end, lid=Lid(lid), rate=rate, remote=here)
            nodes.append(Node(end.guid, NodeType.CA, name, 1, {1: only}))
    for number in range(ISLS):
        a, b = PortId(A, FIRST_A + number), PortId(B, FIRST_B + number)
        trained = odd if odd is not None and number == 0 else rate
        ports[A][a.port] = Port(a, rate=trained, remote=b)
        ports[B][b.port] = Port(b, rate=trained, remote=a)
    nodes.append(Node(A, NodeType.SWITCH, "SwitchA", 200, ports[A], lid=Lid(201)))
    nodes.append(Node(B, NodeType.SWITCH, "SwitchB", 200, ports[B], lid=Lid(202)))
    to_a = {lid: FIRST_A + (lid - 101) % ISLS for lid in stores.values()}
    to_b = {lid: FIRST_B + (lid - 1) % ISLS for lid in lids.values()}
    own_a = {lid: lid for lid in lids.values()}
    own_b = {lid: lid - 100 for lid in stores.values()}
    tables = [table(A, own_a | to_a), table(B, own_b | to_b)]
    return Routes(Fabric.of(nodes), tables), lids, stores


def table(switch, entries):
    ports = np.full(256, NO_ENTRY, dtype=np.uint8)
    ports[list(entries)] = list(entries.values())
    known = np.ones(256, dtype=np.bool_)
    return SwitchTable("by hand", switch, None, None, 0, 255, ports, known, True, ())


def inputs(chosen=COLLAPSE, *, wrote=WROTE, **changes):
    routes, lids, stores = two_switches()
    names = [f"client-{n + 1:02d}" for n in chosen]
    return AdmissibleInputs(
        **{
            "routes": routes,
            "clients": {name: lids[name] for name in names},
            "servers": stores,
            "ceilings": {HDR: CEILING},
            "client_write": dict.fromkeys(names, wrote),
            **changes,
        }
    )


def gib(value):
    return pytest.approx(value, rel=1e-9)


def test_the_case_of_six_five_and_one():
    got = forecast(inputs(), "read")

    isls = {c.name: (len(c.lids), c.load.gib, c.binds) for c in got.cables if c.isl}
    assert isls == {
        "SwitchB/125": (6, gib(22.6), True),
        "SwitchB/126": (5, gib(22.6), True),
        "SwitchB/127": (1, gib(7.62), False),
    }
    assert got.aggregate.gib == gib(52.82)
    assert got.lock_step.gib == gib(12 * 22.6 / 6)
    assert got.permitted.gib == gib(3 * 22.6)
    assert got.sum_text == "2 x 22.6 + 7.6 = 52.8 GiB/s"
    assert got.sentence == (
        "12 clients read 45.2 (in lock-step) to 52.8 GiB/s (max-min fair): "
        "2 x 22.6 + 7.6 = 52.8 GiB/s (2 x 22.6: inter-switch cables at the ceiling; "
        "7.6: client at the rate of the write run); head-of-line blocking is not modelled"
    )
    assert sorted(round(rate.gib, 3) for rate in got.clients.values()) == [
        *[3.767] * 6,
        *[4.52] * 5,
        7.62,
    ]
    assert [rate.gib for rate in got.servers.values()] == [gib(52.82 / 8)] * 8
    assert got.flows.shape == (12, 8)


def test_writes_of_the_same_nodes_are_even_and_bounded_by_the_hosts():
    """Eight storage LIDs, one on each cable: the cables of the storage servers are full too."""
    got = forecast(inputs(), "write")

    assert [(c.name, len(c.lids), c.load.gib) for c in got.cables if c.isl] == [
        (f"SwitchA/{FIRST_A + n}", 1, gib(22.6)) for n in range(ISLS)
    ]
    assert {c.binds for c in got.cables if c.isl or c.towards.startswith("stor")} == {True}
    assert (got.aggregate.gib, got.lock_step.gib) == (gib(8 * 22.6), gib(8 * 22.6))
    assert got.terms == (Term(8, got.terms[0].each, "inter-switch cables at the ceiling"),)


def test_a_cable_in_full():
    got = forecast(inputs(), "read").binding[0]

    assert got == ForecastCable(
        port=PortId(B, FIRST_B),
        name="SwitchB/125",
        towards="SwitchA/113",
        isl=True,
        lids=(1, 9, 17, 25, 33, 41),
        load=Bandwidth(got.load.bytes_per_second),
        ceiling=CEILING,
        binds=True,
    )


def test_lock_step_is_the_bound_of_the_fullest_cable():
    """(N/U)/k of what all U cables carry, for any spread."""
    got = forecast(inputs([0, 8, 16, 1, 2, 3]), "read")

    assert got.lock_step.gib == gib(8 * 22.6 * (6 / 8) / 3) == gib(6 * 7.62 * 22.6 / 3 / 7.62)


def test_adapters_storage_and_servers_hold_back_too():
    nic = {"client-01": Bandwidth.from_gib(2.0)}
    slow = forecast(inputs([0, 1, 2], nic=nic), "read")
    pool = forecast(inputs([0, 1, 2], storage=Bandwidth.from_gib(9.0)), "read")
    taken = {f"stor-{n + 1}": Bandwidth.from_gib(1.5) for n in range(8)}
    servers = forecast(inputs([0, 1, 2], server_write=taken), "read")

    assert slow.terms == (
        Term(2, slow.clients["client-02"], "clients at the rate of the write run"),
        Term(1, slow.clients["client-01"], "client at the limit of the adapter"),
    )
    assert slow.aggregate.gib == gib(2 + 2 * 7.62)
    assert (pool.sum_text, pool.permitted.gib) == ("9.0 = 9.0 GiB/s", gib(3 * 22.6))
    assert servers.sentence.startswith("3 clients read 12.0 (in lock-step) to 12.0 GiB/s")
    assert "(8 x 1.5: servers at the rate of the write run)" in servers.sentence


def test_a_slow_cable_carries_what_its_own_rate_allows():
    one = Rate.parse("1X HDR")
    routes, lids, stores = two_switches(odd=one)
    ceilings = {HDR: CEILING, one: Ceiling.derive(one)}
    got = forecast(inputs(routes=routes, ceilings=ceilings, servers=stores), "read")

    assert (got.binding[0].name, got.binding[0].ceiling.how) == ("SwitchB/125", "derived")
    assert got.binding[0].load.gbps == gib(50 * 0.984)
    assert "link ceilings derived from the data rate, not measured" in got.sentence
    assert lids["client-01"] == 1


def test_only_these_things_may_enter():
    """Nothing of a read run, of the file system or of RDMA, can be given to a forecast."""
    assert [part.name for part in fields(AdmissibleInputs)] == [
        "routes",
        "clients",
        "servers",
        "ceilings",
        "client_write",
        "server_write",
        "nic",
        "storage",
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"clients": {}}, "a forecast needs at least one client and one storage server"),
        (
            {"client_write": {}},
            "the write run shows no rate of client-01 and 11 other clients; run",
        ),
        ({"server_write": {"stor-1": WROTE}}, "the write run shows no rate of stor-2 and 6 other"),
        ({"servers": {"client-01": 1}}, "client-01 is a client and a storage server; name it once"),
        (
            {"ceilings": {}},
            "SwitchA/1 - 0x0000000000000100/1|.* is 4X HDR, for which no ceiling is",
        ),
        ({"servers": {"stor-1": 250}}, "no port that the sweep saw owns LID 250; sweep again"),
        ({"servers": {"stor-1": 1}}, "LID 1 would send to itself; name different hosts"),
    ],
)
def test_what_cannot_be_forecast_is_refused(changes, sentence):
    with pytest.raises(InputError, match=f"^(?:{sentence})"):
        forecast(inputs(**changes), "read")


def test_a_pair_that_is_not_delivered_has_no_forecast():
    routes, lids, stores = two_switches()
    broken = Routes(routes.fabric, [table(A, {1: 1}), table(B, {})])

    with pytest.raises(
        InputError, match=r"^8 of 8 pairs of the job are not delivered by the tables.*no-entry"
    ):
        forecast(inputs([0], routes=broken), "read")
    assert (len(lids), len(stores)) == (48, 8)


def test_a_cable_of_unknown_rate_is_named():
    routes, _, _ = two_switches(rate=None)

    with pytest.raises(InputError, match=r"^width and speed of the cable at Switch.* not seen; a"):
        forecast(inputs(routes=routes), "read")


def test_crossings_are_the_hops_of_single_routes():
    routes, lids, stores = two_switches()
    pairs = [(s, d) for s in (*stores.values(), 5) for d in lids.values() if s != d]
    owner = routes.cabling.owner
    source = np.array([owner[s] for s, _ in pairs], dtype=np.int64)

    got = crossings(routes, source, np.array([d for _, d in pairs]))

    assert got.end.tolist() == [0] * len(pairs)
    for number, (slid, dlid) in enumerate(pairs):
        at = np.flatnonzero(got.pair == number)
        hops = [
            PortId(routes.cabling.switches[got.switch[i]], int(got.port[i])) for i in at.tolist()
        ]
        assert hops == list(routes.path(slid, dlid).ports[1:])


@pytest.mark.parametrize(
    ("gib_per_second", "place"),
    [
        (40.68, "10.0 % below lock-step (45.2)"),
        (45.2, "0 % of the way from lock-step to max-min fair"),
        (48.0, "37 % of the way from lock-step to max-min fair"),
        (52.82, "100 % of the way from lock-step to max-min fair"),
        (58.102, "10.0 % above max-min fair (52.8)"),
    ],
)
def test_a_figure_has_a_place_in_the_bracket(gib_per_second, place):
    got = forecast(inputs(), "read")

    assert got.place_of(Bandwidth.parse(f"{gib_per_second} GiB/s")) == place

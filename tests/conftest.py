"""Fabrics in small: by hand as the snapshot and the job, and captured text as whole runs."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from ibaccept import commands
from ibaccept.fabric.lft import NO_ENTRY, SwitchTable, TableLines, TableRow
from ibaccept.fabric.model import (
    Fabric,
    Guid,
    Lid,
    Node,
    NodeType,
    PhysState,
    Port,
    PortId,
    PortState,
    Rate,
)
from ibaccept.observe.counters import Sweep
from ibaccept.observe.lids import JobSides, lids_of
from ibaccept.observe.snapshot import SeenManager, Snapshot, SubnetManagers
from ibaccept.parse.ibqueryerrors import PortData, PortErrors
from ibaccept.run.session import Given
from ibaccept.site.inventory import Inventory, InventoryHost
from ibaccept.transport import CommandResult, Host
from ibaccept.verdict.evidence import CaptureRef

# a machine that is busy is no fault of an example
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

SWITCH, HOST = 0x5000, 0x9000
HDR = Rate.parse("4X HDR")
UP = {"state": PortState.ACTIVE, "phys": PhysState.LINK_UP}


class Site:
    """A fabric in the making: switches with their tables, cables, hosts.

    Hosts get the first LIDs (``2^lmc`` each) in the order they are added, switches those after
    them. A table is the port by LID; LIDs it does not name have no entry.
    """

    def __init__(self, *switches, lmc=0):
        self.switches = switches
        self.lmc = lmc
        self.hosts = []
        self.at = {name: {} for name in switches}
        self.tables = {name: {} for name in switches}
        self.problems = {}
        self.changes = {}
        self.lost = set()
        self.readings = ({}, {})
        self.managers = []

    def cable(self, a, p, b, q):
        """Cable two switches."""
        self.at[a][p] = PortId(self.guid(b), q)
        self.at[b][q] = PortId(self.guid(a), p)

    def host(self, name, switch, port, *, lid=True):
        """A host; its LIDs."""
        index = len(self.hosts)
        guid = Guid(HOST + index)
        self.at[switch][port] = PortId(guid, 1)
        first = (index + 1) << self.lmc
        remote = PortId(self.guid(switch), port)
        rest = {"remote": remote, "rate": HDR, **UP}
        own = Port(PortId(guid, 1), guid, lid=Lid(first) if lid else None, lmc=self.lmc, **rest)
        self.hosts.append(Node(guid, NodeType.CA, name, 1, {1: own}))
        lids = range(first, first + (1 << self.lmc)) if lid else range(0)
        for known in lids:
            self.tables[switch][known] = port
        return lids

    def route(self):
        """Fill the tables with shortest routes, LIDs in turn over the cables that are as short."""
        near = {a: dict(self.at[a].items()) for a in self.switches}
        names = {self.guid(name): name for name in self.switches}
        for node in self.hosts:
            (own,) = node.ports.values()
            hops = {names[own.remote.guid]: 0}
            for name in (reached := list(hops)):
                for to in near[name].values():
                    if to.guid in names and names[to.guid] not in hops:
                        hops[names[to.guid]] = hops[name] + 1
                        reached.append(names[to.guid])
            for lid in own.lids():
                for name in reached[1:]:
                    ports = [
                        port
                        for port, to in sorted(near[name].items())
                        if to.guid in names and hops[names[to.guid]] == hops[name] - 1
                    ]
                    self.tables[name][lid] = ports[lid % len(ports)]

    def change(self, name, port, **fields):
        """Fields of a port that are otherwise up at 4X HDR."""
        self.changes[name, port] = fields

    def lose(self, *names):
        """Nodes that the sweep does not show; what is cabled to them is up, its peer not seen."""
        self.lost.update(names)

    def count(self, name, port, counter, before, after):
        """Readings of an error counter, 60 s apart; every other counter reads 0."""
        for readings, value in zip(self.readings, (before, after), strict=True):
            readings.setdefault((name, port), {})[counter] = value

    def manager(self, name, state, priority=14):
        """A subnet manager on a host's port, or inside a switch."""
        names = {3: "SMINFO_MASTER", 2: "SMINFO_STANDBY"}
        number = len(self.managers) + 1
        line = CaptureRef(f"captures/{number:04}-sminfo.txt", 1, f"sminfo: {name} {names[state]}")
        self.managers.append((name, state, priority, names[state], line))

    def node_guid(self, name):
        """The GUID of a switch or a host."""
        if name in self.switches:
            return self.guid(name)
        return next(node.guid for node in self.hosts if node.name == name)

    def guid(self, name):
        return Guid(SWITCH + self.switches.index(name))

    def fabric(self):
        first = (len(self.hosts) + 1) << self.lmc
        nodes = list(self.hosts)
        for number, name in enumerate(self.switches):
            guid = self.guid(name)
            own = {
                port: Port(PortId(guid, port), remote=remote, rate=HDR, **UP)
                for port, remote in self.at[name].items()
            }
            nodes.append(Node(guid, NodeType.SWITCH, name, 99, own, lid=Lid(first + number)))
        return Fabric.of(self._changed(node) for node in nodes if node.name not in self.lost)

    def _changed(self, node):
        gone = {self.node_guid(name) for name in self.lost}
        ports = {}
        for number, port in node.ports.items():
            fields = dict(self.changes.get((node.name, number), {}))
            if fields.get("state") is PortState.DOWN:
                fields.setdefault("phys", PhysState.POLLING)
            if port.remote is not None and port.remote.guid in gone:
                fields.setdefault("remote", None)
            ports[number] = replace(port, **fields)
        return replace(node, ports=ports)

    def table(self, name, unknown=()):
        top = ((len(self.hosts) + 1) << self.lmc) + len(self.switches)
        ports = np.full(top + 1, NO_ENTRY, dtype=np.uint8)
        known = np.ones(top + 1, dtype=np.bool_)
        known[0] = False
        for lid, port in self.tables[name].items():
            ports[lid] = port
        known[list(unknown)] = False
        return SwitchTable(
            *("dump_fts", self.guid(name), None, name, 0, top),
            ports=ports,
            known=known,
            complete=not unknown,
            lines=self._lines(name),
            problems=(f"table of {name} read up to 0x3 of {top:#x}",) if unknown else (),
        )

    def _lines(self, name):
        """Of each table a header and a row for every LID it names."""
        first = 1 + 100 * self.switches.index(name)
        rows = sorted(self.tables[name].items())
        return TableLines(
            TableRow(first, f"Unicast lids of switch {name}"),
            np.arange(first + 1, first + 1 + len(rows), dtype=np.int32),
            np.array([lid for lid, _ in rows], dtype=np.int32),
            np.array([port for _, port in rows], dtype=np.uint8),
        )

    def snapshot(self, *, unknown=None, gaps=(), **groups):
        """What was seen; groups of the inventory by name; LIDs not read by switch."""
        names = [node.name for node in self.hosts]
        hosts = {name: InventoryHost(name, Host(name)) for name in names}
        return Snapshot(
            observer="mgmt01",
            inventory=Inventory({"observers": (), **groups}, hosts),
            plan=None,
            fabric_seen=self.fabric(),
            gaps=gaps,
            tables_seen=tuple(
                self.table(name, (unknown or {}).get(name, ())) for name in self.switches
            ),
        )

    def seen(self, *, groups=None, **parts):
        """What was seen, with two readings of the counters, managers, and a line of each port.

        Args:
            groups: of the inventory, by name.
            parts: of the snapshot, in place of what this site has.
        """
        unknown, gaps = parts.pop("unknown", None), parts.pop("gaps", ())
        snapshot = self.snapshot(unknown=unknown, gaps=gaps, **(groups or {}))
        fabric = snapshot.fabric
        ports = sorted(fabric.ports(), key=lambda port: port.id)
        lines = {
            port.id: (CaptureRef("captures/0002-iblinkinfo.txt", n, fabric.port_name(port)),)
            for n, port in enumerate(ports, 1)
        }
        own = {
            "sweeps": {0.0: self._sweep(0, 100.0), 60.0: self._sweep(1, 161.0)},
            "managers_seen": SubnetManagers(tuple(self._managers(fabric))),
            "lines": lines,
            "tables_file": "captures/0006-dump_fts.txt",
        }
        return replace(snapshot, **{**own, **parts})

    def _sweep(self, number, start):
        errors = {}
        for (name, port), counters in self.readings[number].items():
            guid = self.node_guid(name)
            text = f"GUID {guid} port {port}: {counters}"
            errors[PortId(guid, port)] = PortErrors(
                guid, guid, name, port, counters, frozenset(), None, 7, text
            )
        file = f"captures/000{number + 4}-ibqueryerrors.txt"
        return Sweep(start, start + 0.5, file, errors=errors, read_data=self._data)

    def _data(self):
        ports = [port.id for port in self.fabric().ports()]
        return {
            port: PortData(port.guid, "", port.port, {"PortXmitData": 0}, 64, None, 1, "")
            for port in ports
        }

    def _managers(self, fabric):
        for name, state, priority, state_name, line in self.managers:
            guid = self.node_guid(name)
            lid = fabric.nodes[guid].lid or next(iter(fabric.nodes[guid].ports.values())).lid
            yield SeenManager(guid, lid, priority, state, state_name, line)


@pytest.fixture(name="site_of")
def site_of_fixture():
    """The class; call it with the names of the switches."""
    return Site


@pytest.fixture(name="sides_of")
def sides_of_fixture():
    """``sides_of(snapshot, clients, storage)``: a job, by node description."""

    def sides(snapshot, clients, storage):
        return JobSides(*(lids_of(snapshot.fabric, names) for names in (clients, storage)))

    return sides


# -- a site whose observer answers from captured text: whole runs without a lab -------------

GOLDEN = Path(__file__).parent / "golden/look"
INVENTORY = """\
observers: {hosts: {mgmt01: {}}}
clients: {hosts: {client-1: {}}}
storage: {hosts: {stor-1: {}}}
"""
EXPECTATIONS = """\
version: 1
fabric: scripted
expect:
  - {id: one-sm, kind: subnet-manager, masters: 1}
  - {id: isl-4x-hdr, kind: link-rate, links: isl, width: 4X, speed: HDR}
  - {id: no-errors, kind: error-counters, links: all, window: 1s}
"""
ANSWERS = {
    "ibstat": "ibstat",
    "ibqueryerrors --skip-sl": "ibqueryerrors",
    "ibqueryerrors --skip-sl --counters": "ibqueryerrors-counters",
    "ibnetdiscover": "ibnetdiscover",
    "iblinkinfo --line": "iblinkinfo",
    "sminfo": "sminfo",
    "saquery -s": "saquery-s",
    "dump_fts -n": "dump_fts",
}


@dataclass
class Observer:
    """A transport that prints what the tools of one healthy fabric printed."""

    sent: list = field(default_factory=list)
    clock: float = 1000.0

    def run(self, host, argv, *, timeout, root=False, limit=1 << 23):
        del timeout, root, limit
        assert commands.is_permitted(argv)
        text = " ".join(argv)
        self.sent.append(text)
        name = ANSWERS.get(text)
        out = b"ibstat 2.1.0\n" if name is None else (GOLDEN / f"{name}.txt").read_bytes()
        self.clock += 1
        return CommandResult(
            host.name, tuple(argv), out, b"", 0, start=self.clock - 1, end=self.clock
        )

    def close(self):
        pass


@dataclass
class Desk:
    """A folder with a site's files, and the options of a run."""

    folder: Path
    observer: Observer
    options: dict = field(default_factory=dict)

    def given(self, **options):
        known = {name.replace("_", "-"): text for name, text in options.items()}
        return Given(known.get, self.folder, self.start_lab)

    def start_lab(self, name, backend):
        raise AssertionError(f"no lab was named, yet {name} ({backend}) was started")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    observer = Observer()
    monkeypatch.setattr("ibaccept.run.look.open_transport", lambda *_given, **_more: observer)
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory/site.yaml").write_text(INVENTORY)
    (tmp_path / "expectations.yaml").write_text(EXPECTATIONS)
    return Desk(tmp_path, observer)

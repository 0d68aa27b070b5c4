"""Small fabrics and tables by hand, as the snapshot and the job that entries are judged by."""

import numpy as np
import pytest
from hypothesis import settings

from ibaccept.fabric.lft import NO_ENTRY, SwitchTable
from ibaccept.fabric.model import Fabric, Guid, Lid, Node, NodeType, Port, PortId, Rate
from ibaccept.observe.lids import JobSides, lids_of
from ibaccept.observe.snapshot import Snapshot
from ibaccept.site.inventory import Inventory, InventoryHost
from ibaccept.transport import Host

# a machine that is busy is no fault of an example
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

SWITCH, HOST = 0x5000, 0x9000
HDR = Rate.parse("4X HDR")


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
        rest = {"remote": remote, "rate": HDR}
        own = Port(PortId(guid, 1), lid=Lid(first) if lid else None, lmc=self.lmc, **rest)
        self.hosts.append(Node(guid, NodeType.CA, name, 1, {1: own}))
        lids = range(first, first + (1 << self.lmc)) if lid else range(0)
        for known in lids:
            self.tables[switch][known] = port
        return lids

    def guid(self, name):
        return Guid(SWITCH + self.switches.index(name))

    def fabric(self):
        first = (len(self.hosts) + 1) << self.lmc
        nodes = list(self.hosts)
        for number, name in enumerate(self.switches):
            guid = self.guid(name)
            own = {
                port: Port(PortId(guid, port), remote=remote, rate=HDR)
                for port, remote in self.at[name].items()
            }
            nodes.append(Node(guid, NodeType.SWITCH, name, 99, own, lid=Lid(first + number)))
        return Fabric.of(nodes)

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
            problems=(f"table of {name} read up to 0x3 of {top:#x}",) if unknown else (),
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

"""Which tools must agree before anything passes: the one place that says so.

Six tools sweep one fabric independently. A cut, a timeout or a cable that is plugged while
they run shows as a disagreement. So what one tool shows and another lacks is an *error*, never
dropped:

=================  ==========================  ====================================================
one tool           the other                   what becomes of a disagreement
=================  ==========================  ====================================================
ibnetdiscover      its own head                without the node that the sweep began from, the
                                               output is cut: no fabric was seen
ibnetdiscover      iblinkinfo                  node, port, peer, rate or LID of one only: a gap, an
                                               error of every entry about links (``assemble.merge``)
ibnetdiscover      ibqueryerrors               node of ibqueryerrors only: a gap; number of nodes
                                               differs, or a port is not listed: ports without a row
                                               are not 0; node of ibnetdiscover only: its counters
                                               are unread (``counters.read_sweep``)
ibqueryerrors      ibqueryerrors --counters    port without data counters: its window is void
                                               (``snapshot.Window.why_void``)
ibnetdiscover      dump_fts                    table of an unknown switch: a gap; switch without a
                                               table: its routes are unknown (``routing.tables``)
ibnetdiscover      sminfo                      GUID or LID that no port of the sweep has: a gap, and
                                               the manager is not judged (``unplaced``)
sminfo             saquery                     master that the SA does not list, or manager that the
                                               SA lists and sminfo does not reach: an error of
                                               entries about the manager (``not_listed``)
=================  ==========================  ====================================================

``tests/observe/test_agreement.py`` removes something from each output in turn.
"""

from __future__ import annotations

from collections.abc import Iterable

from ibaccept.fabric.lft import SwitchTable
from ibaccept.fabric.model import Fabric, Guid, Lid, PortId
from ibaccept.observe.snapshot import Gap, SeenManager, SubnetManagers
from ibaccept.parse.ibnetdiscover import Topology
from ibaccept.verdict.absence import NotSeen


def beheaded(topology: Topology) -> str | None:
    """Why the output of ibnetdiscover is not whole at its beginning; None where it is.

    Its head names the node that the sweep began from, and that node has a block.
    """
    start = topology.initiated_from
    if start is None:
        return (
            "the head of ibnetdiscover ('Initiated from node') is missing, so its first lines may "
            "be lost"
        )
    if start not in {node.guid for node in topology.nodes}:
        return f"ibnetdiscover began at the node {start} and shows no block of it: lines are lost"
    return None


def strangers(
    fabric: Fabric | NotSeen,
    counted: Iterable[Guid],
    tables: Iterable[SwitchTable] | NotSeen,
    managers: SubnetManagers | NotSeen,
) -> tuple[Gap, ...]:
    """Nodes that another tool shows and the topology does not hold: gaps of the topology.

    Args:
        fabric: nodes of ibnetdiscover and iblinkinfo; nothing is missing where none was seen.
        counted: node GUIDs that ibqueryerrors shows.
        tables: forwarding tables of dump_fts.
        managers: managers of sminfo.
    """
    if isinstance(fabric, NotSeen):
        return ()
    gaps = [
        Gap(str(guid), f"ibqueryerrors shows the node {guid}, ibnetdiscover does not")
        for guid in sorted(counted)
        if guid not in fabric.nodes
    ]
    if not isinstance(tables, NotSeen):
        gaps += [
            Gap(
                str(table.guid),
                f"{table.tool} shows the switch {table.label} ({table.guid}), ibnetdiscover does "
                "not",
            )
            for table in tables
            if table.guid not in fabric.nodes
        ]
    if not isinstance(managers, NotSeen):
        gaps += [
            Gap(f"subnet manager {one.guid}", why, (one.capture,))
            for one in managers.found
            if (why := unplaced(one, fabric)) is not None
        ]
    return tuple({gap.name: gap for gap in gaps}.values())


def owner_of(guid: Guid, fabric: Fabric) -> PortId | None:
    """The port a subnet manager runs on: a host's port by its GUID, a switch's port 0."""
    node = fabric.nodes.get(guid)
    if node is not None and node.is_switch:
        return PortId(guid, 0)
    return next((port.id for port in fabric.ports() if port.guid == guid), None)


def unplaced(manager: SeenManager, fabric: Fabric) -> str | None:
    """Why a manager is at no port of the topology; None where GUID and LID name one port."""
    owner = owner_of(manager.guid, fabric)
    if owner is None:
        return (
            f"sminfo names the GUID {manager.guid} at LID {manager.lid}, which no port of the "
            "sweep has"
        )
    at_lid = fabric.lid_owner.get(int(manager.lid))
    if at_lid != owner:
        other = f"is of {fabric.port_name(at_lid)}" if at_lid is not None else "no port has"
        return (
            f"sminfo names {fabric.port_name(owner)} ({manager.guid}) at LID {manager.lid}, which "
            f"{other} in the sweep"
        )
    return None


def not_listed(master: SeenManager, named: Iterable[Lid]) -> NotSeen | None:
    """What is unknown where the SA and sminfo do not name one master; None where they do."""
    if master.lid in set(named):
        return None
    why = f"sminfo answers for LID {master.lid}, which 'saquery -s' does not list"
    return NotSeen("the subnet managers", why, "look again", (master.capture,))

"""Subnet managers and forwarding tables, as the observer's tools show them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ibaccept import commands
from ibaccept.fabric.lft import SwitchTable
from ibaccept.fabric.model import Fabric, Lid
from ibaccept.observe.agreement import not_listed
from ibaccept.observe.counters import RawSweep
from ibaccept.observe.observer import Observer
from ibaccept.observe.outputs import captures_of, file_of, whole
from ibaccept.observe.snapshot import SeenManager, SubnetManagers
from ibaccept.parse import dump_fts, ibstat, saquery, sminfo
from ibaccept.parse.lft import with_lftr
from ibaccept.transport import CommandResult
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef

BLOCK = 64
"""LIDs in one block of a forwarding table."""


def managers_of(
    observer: Observer, stat: ibstat.IbStat, fabric: Fabric | NotSeen, counters: RawSweep
) -> SubnetManagers | NotSeen:
    """Every subnet manager the SA names."""

    def one(result: CommandResult) -> SeenManager:
        info = sminfo.parse(result.text)
        capture = CaptureRef(file_of(result), info.line, result.text.splitlines()[info.line - 1])
        return SeenManager(info.guid, info.lid, info.priority, info.state, info.state_name, capture)

    answered = True

    def master_or_silence(result: CommandResult) -> SeenManager | NotSeen:
        nonlocal answered
        try:
            found = one(result)
        except sminfo.NoAnswerError as error:
            answered = False
            reason = f"{observer.host.name}: no answer to sminfo: {error.text.strip()}"
            return NotSeen("the subnet managers", reason, "", captures_of(result))
        bad = whole("the subnet managers", result)
        return bad if isinstance(bad, NotSeen) else found

    master = observer.take("the subnet managers", commands.SMINFO, master_or_silence, ok=(0, 255))
    if isinstance(master, NotSeen):
        # Not made, or not readable: then nothing is known of the SM.
        return master if answered else _silence(master, observer, stat, fabric, counters)
    named = observer.take(
        "the subnet managers", commands.SAQUERY_SM, lambda result: saquery.parse_sms(result.text)
    )
    if isinstance(named, NotSeen):
        unlisted = replace(named, reason=f"the SA did not list them: {named.reason}")
        return SubnetManagers((master,), (unlisted,))
    found = {master.lid: master}
    lids = {sm.lid for sm in named}
    alone = not_listed(master, lids)
    silent = [alone] if alone is not None else []
    for lid in sorted(lids - {master.lid}):
        other = observer.take("a subnet manager", commands.SMINFO_LID, one, lid=int(lid))
        if isinstance(other, NotSeen):
            why = f"the SA names one at LID {lid}, which did not answer: {other.reason}"
            silent.append(replace(other, reason=why))
        else:
            found[Lid(lid)] = other
    return SubnetManagers(tuple(found.values()), tuple(silent))


def _silence(
    silence: NotSeen,
    observer: Observer,
    stat: ibstat.IbStat,
    fabric: Fabric | NotSeen,
    counters: RawSweep,
) -> SubnetManagers | NotSeen:
    """What no answer to sminfo means: no SM where that is proven, else not seen."""
    up = [p for ca in stat.cas for p in ca.ports if p.phys_state == "LinkUp"]
    if up and not stat.problems and all(port.sm_lid is None for port in up):
        # The port is up and was never configured: there is no SM, which is an observation.
        return SubnetManagers(none=CaptureRef(observer.stat_file, up[0].line, "SM lid: 0"))
    if any(_is_alive(fabric, counters, port.sm_lid) for port in up):
        # The node answers everything else, so the query arrived and no SM is there.
        return SubnetManagers(none=silence.captures[0] if silence.captures else None, gone=True)
    return silence


def _is_alive(fabric: Fabric | NotSeen, counters: RawSweep, lid: Lid | None) -> bool:
    """True where the node at a LID answered the topology sweep and the counter sweep."""
    if isinstance(fabric, NotSeen) or lid is None or int(lid) not in fabric.lid_owner:
        return False
    sweep = counters.sweep(fabric)
    if isinstance(sweep, NotSeen):
        return False
    owner = fabric.lid_owner[int(lid)]
    ports = [port.id for port in fabric.nodes[owner.guid].ports.values()]
    return all(sweep.why_unread(port, "SymbolErrorCounter") is None for port in ports)


def tables_of(
    observer: Observer, fabric: Fabric | NotSeen
) -> tuple[tuple[SwitchTable, ...] | NotSeen, str | None]:
    """Forwarding tables and their capture."""
    if not isinstance(fabric, NotSeen) and not any(fabric.switches()):
        return (), None  # hosts cabled to each other: there is no table to read

    outputs: list[CommandResult] = []

    def read(result: CommandResult) -> tuple[SwitchTable, ...]:
        outputs.append(result)
        return dump_fts.parse(result.stdout, result.error_text)

    tables = observer.take(
        "the forwarding tables", commands.DUMP_FTS, read, rows=_table_rows(fabric)
    )
    if isinstance(tables, NotSeen) or isinstance(fabric, NotSeen):
        return tables, None
    asking = _Asking()
    mended = tuple(_mend(observer, fabric, table, asking) for table in tables)
    return mended, file_of(outputs[0])


def _table_rows(fabric: Fabric | NotSeen) -> int | None:
    """Rows of all tables: a row a LID, and a few lines around those of each switch."""
    if isinstance(fabric, NotSeen):
        return None
    switches = sum(node.is_switch for node in fabric.nodes.values())
    return switches * (max(fabric.lid_owner, default=0) + BLOCK)


@dataclass
class _Asking:
    """How often the SA gave no answer: each costs its timeout, and there may be 600 switches."""

    silent: int = 0


ASKED_IN_VAIN = 3


def _mend(observer: Observer, fabric: Fabric, table: SwitchTable, asking: _Asking) -> SwitchTable:
    """Ask the SA for the one LID that dump_fts drops when the top is a multiple of 64."""
    node = fabric.nodes.get(table.guid)
    hole = table.top % BLOCK == 0 and table.top > 0 and not table.known[table.top]
    if not hole or node is None or node.lid is None or not table.known[: table.top].any():
        return table
    if asking.silent >= ASKED_IN_VAIN:
        text = f"not queried, as the SA gave no answer for {ASKED_IN_VAIN} other switches"
        return replace(table, problems=tuple(f"{old}: {text}" for old in table.problems))
    block = observer.take(
        "one block of a table",
        commands.SAQUERY_LFTR,
        lambda result: saquery.parse_lftr(result.text),
        lid=int(node.lid),
        block=table.top // BLOCK,
    )
    if isinstance(block, NotSeen):
        asking.silent += 1
        failed = tuple(f"{problem}: SA query failed: {block.reason}" for problem in table.problems)
        return replace(table, problems=failed)
    if block.lid != node.lid:
        return table
    try:
        return with_lftr(table, block.ports)
    except ValueError as error:
        return table.voided(str(error))

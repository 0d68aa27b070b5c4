"""One look at the fabric: which commands, where, in which order -> Snapshot.

Each raw output is on disk before it is parsed (the transport records). A step that fails leaves a
``NotSeen`` in its place and the others go on, so that one silent tool does not blind every entry.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ibaccept import assemble, commands
from ibaccept.bundle import CapturedResult
from ibaccept.commands import Command
from ibaccept.errors import IbacceptError
from ibaccept.evidence import CaptureRef
from ibaccept.inventory import Inventory, InventoryHost
from ibaccept.model import Fabric, Guid, Lid, NodeType, PortId
from ibaccept.parse import (
    ParseError,
    dump_fts,
    iblinkinfo,
    ibnetdiscover,
    ibqueryerrors,
    ibstat,
    saquery,
    sminfo,
)
from ibaccept.parse.lft import SwitchTable, with_lftr
from ibaccept.plan import Plan
from ibaccept.snapshot import (
    Gap,
    NotSeen,
    Snapshot,
    SubnetManager,
    SubnetManagers,
)
from ibaccept.sweep import Sweep, read_sweep
from ibaccept.transport import CommandResult, Transport, TransportError

T = TypeVar("T")

_TROUBLE = re.compile(
    r"ibwarn|iberror|ibpanic|umad|query_smp|bad status|timed? ?out|failed|error", re.IGNORECASE
)
"""A line of a sweep's stderr with one of these says that a node did not answer."""

_DIRECTED = re.compile(r"DR path slid \d+; dlid \d+; (0(?:,\d+)+)")
"""The directed route in a message of a failed query: output ports, hop by hop."""

_PID = re.compile(r"\[\d+\] ?")
BLOCK = 64
"""LIDs in one block of a forwarding table."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a run wants to see.

    Attributes:
        windows: seconds between the first counter sweep and the later ones.
        hosts: hosts to ask for their own ``ibstat``.
        fan_out: hosts asked at a time.
    """

    windows: tuple[float, ...] = ()
    hosts: tuple[InventoryHost, ...] = ()
    fan_out: int = 32


@dataclass
class _Observer:
    """The host that looks, and what it printed so far."""

    transport: Transport
    host: InventoryHost
    progress: Callable[[str], None]
    stat_file: str = ""
    warnings: list[str] = field(default_factory=list)

    def run(self, command: Command, **values: object) -> CommandResult | NotSeen:
        """Run a command here; what it printed, or why that cannot be taken."""
        hca = self.host.ib_hca[0] if self.host.ib_hca else None
        argv = command.argv(hca=hca, hca_port=self.host.ib_port, **values)
        self.progress(f"{' '.join(argv)} on {self.host.name}")
        try:
            result = self.transport.run(
                self.host.transport, argv, timeout=command.timeout, root=command.root
            )
        except TransportError as error:
            return NotSeen(f"the output of {' '.join(argv)}", str(error), _hint(error))
        problem = result.problem()
        if problem is not None:
            what = f"the output of {' '.join(argv)}"
            return NotSeen(what, problem, _next_step(result), _head(result))
        return result

    def take(
        self,
        what: str,
        command: Command,
        parse: Callable[[CommandResult], T],
        *,
        ok: Sequence[int] = (0,),
        **values: object,
    ) -> T | NotSeen:
        """Run and parse; ``what`` names the part in a message."""
        result = self.run(command, **values)
        if isinstance(result, NotSeen):
            return NotSeen(what, result.reason, result.hint, result.captures)
        if result.exit_code not in ok:
            return NotSeen(
                what,
                f"{self.host.name}: {' '.join(result.argv)} ended with exit code "
                f"{result.exit_code}: {_said(result)}",
                "run it by hand there and see what it says",
                _head(result),
            )
        try:
            return parse(result)
        except ParseError as error:
            shown = CaptureRef(_file(result), error.line, error.text.strip())
            return NotSeen(
                what,
                f"{self.host.name}: {error}",
                "if the tool printed this itself, its version is not known yet: report the capture",
                (shown,),
            )


def look(
    transport: Transport,
    inventory: Inventory,
    plan: Plan | None,
    wanted: Look,
    *,
    progress: Callable[[str], None] = lambda _text: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Snapshot:
    """Look at the fabric once.

    Args:
        transport: records; replays in a replay.
        inventory: its group ``observers`` is tried in order until one host can see the fabric.
        plan: kept in the snapshot.
        wanted: windows and hosts.
        progress: told every step, a line each.
        sleep: waits for the window to pass; a no-op in a replay.
    """
    chosen = _choose(transport, inventory, progress)
    if isinstance(chosen, NotSeen):
        return Snapshot(
            None,
            inventory,
            plan,
            chosen,
            sweeps=dict.fromkeys((0.0, *wanted.windows), chosen),
            managers_seen=chosen,
            tables_seen=chosen,
        )
    observer, stat = chosen
    version = observer.run(commands.VERSION)
    tools = {} if isinstance(version, NotSeen) else {"infiniband-diags": _version(version)}
    first = _Raw.read(observer)
    since = time.monotonic()
    topology, fabric, gaps, lines = _topology(observer)
    managers = _managers(observer, stat, fabric, first)
    tables, tables_file, tables_text = _tables(observer, fabric)
    hosts = _hosts(transport, wanted, progress)
    raws = {0.0: first}
    for seconds in sorted(wanted.windows):
        rest = seconds - (time.monotonic() - since)
        if rest > 0:
            progress(f"waiting {rest:.0f} s for the window of {seconds:g} s to pass")
            sleep(rest)
        raws[seconds] = _Raw.read(observer)
    del topology
    return Snapshot(
        observer.host.name,
        inventory,
        plan,
        fabric,
        gaps,
        {seconds: raw.sweep(fabric) for seconds, raw in raws.items()},
        managers,
        tables,
        tables_file,
        tables_text,
        hosts,
        lines,
        tuple(observer.warnings),
        tools,
    )


def sweep_again(
    transport: Transport,
    inventory: Inventory,
    snapshot: Snapshot,
    progress: Callable[[str], None] = lambda _text: None,
) -> Sweep | NotSeen:
    """One more counter sweep by the observer of a look, for a window of one's own."""
    if snapshot.observer is None:
        return NotSeen("the error counters", "no observer can see the fabric")
    observer = _Observer(transport, inventory.hosts[snapshot.observer], progress)
    return _Raw.read(observer).sweep(snapshot.fabric_seen)


# -- who looks -----------------------------------------------------------------------------------


def _choose(
    transport: Transport, inventory: Inventory, progress: Callable[[str], None]
) -> tuple[_Observer, ibstat.IbStat] | NotSeen:
    """The first observer that can be reached and has an InfiniBand port that is up."""
    refused: list[NotSeen] = []
    for name in inventory.groups["observers"]:
        observer = _Observer(transport, inventory.hosts[name], progress)
        stat = observer.take("the fabric", commands.IBSTAT, _read_stat, ok=(0, 255))
        if isinstance(stat, NotSeen):
            refused.append(stat)
            continue
        parsed, file = stat
        observer.stat_file = file
        why = _blind(observer.host, parsed)
        if why is not None:
            hint = "name another host under observers, or set ib_hca and ib_port for this one"
            refused.append(NotSeen("the fabric", why, hint, (CaptureRef(file, None, ""),)))
            continue
        observer.warnings += [f"not used as observer: {part.reason}" for part in refused]
        return observer, parsed
    if len(refused) == 1:
        return refused[0]
    return NotSeen(
        "the fabric",
        "no observer can see it: " + "; ".join(part.reason for part in refused),
        refused[0].hint,
        tuple(capture for part in refused for capture in part.captures),
    )


def _read_stat(result: CommandResult) -> tuple[ibstat.IbStat, str]:
    return ibstat.parse(result.text), _file(result)


def _blind(host: InventoryHost, stat: ibstat.IbStat) -> str | None:
    """Why this host cannot see the fabric, None where it can."""
    wanted = host.ib_hca[:1]
    cas = [ca for ca in stat.cas if not wanted or ca.name in wanted]
    if wanted and not cas:
        have = ", ".join(ca.name for ca in stat.cas) or "none"
        return f"{host.name} has no HCA {wanted[0]} (it has {have})"
    ports = [
        (ca.name, port)
        for ca in cas
        for port in ca.ports
        if host.ib_port is None or port.number == host.ib_port
    ]
    if not ports:
        return f"ibstat on {host.name} shows no port" + (
            f" {host.ib_port}" if host.ib_port is not None else ""
        )
    infiniband = [(name, port) for name, port in ports if port.link_layer != "Ethernet"]
    if not infiniband:
        names = ", ".join(f"{name}/{port.number}" for name, port in ports)
        return f"{host.name} has no InfiniBand port: {names} has link layer Ethernet"
    if not any(port.phys_state == "LinkUp" for _, port in infiniband):
        states = ", ".join(
            f"{name}/{port.number} is {port.state}/{port.phys_state}" for name, port in infiniband
        )
        return f"no InfiniBand port of {host.name} is up: {states}"
    return None


# -- topology ------------------------------------------------------------------------------------


def _topology(
    observer: _Observer,
) -> tuple[object, Fabric | NotSeen, tuple[Gap, ...], dict[PortId, tuple[CaptureRef, ...]]]:
    gaps: list[Gap] = []

    troubles: list[CommandResult] = []

    def read_topology(result: CommandResult) -> ibnetdiscover.Topology:
        troubles.append(result)
        return ibnetdiscover.parse(result.text)

    def read_links(result: CommandResult) -> tuple[iblinkinfo.LinkInfo, str]:
        troubles.append(result)
        return iblinkinfo.parse(result.text), _file(result)

    topology = observer.take("the fabric", commands.IBNETDISCOVER, read_topology)
    links = observer.take("the fabric", commands.IBLINKINFO, read_links)
    if isinstance(topology, NotSeen):
        return None, topology, (), {}
    if isinstance(links, NotSeen):
        return topology, links, (), {}
    info, file = links
    try:
        fabric, sentences = assemble.merge(topology, info.rows)
    except (ParseError, ValueError) as error:
        return topology, NotSeen("the fabric", f"{observer.host.name}: {error}"), (), {}
    if not fabric.links:
        return (
            topology,
            NotSeen(
                "the fabric",
                f"{observer.host.name} sees no link at all ({len(fabric.nodes)} nodes)",
                "look at its cable with ibstat",
            ),
            (),
            {},
        )
    for result in troubles:
        gaps += _gaps(observer, result, fabric, topology.initiated_from)
    # A sentence of merge is a port or node that was not seen whole, or seen as two things.
    gaps += [Gap(sentence, sentence) for sentence in sentences]
    return topology, fabric, tuple(_unique(gaps)), _lines(fabric, info, file)


def _gaps(
    observer: _Observer, result: CommandResult, fabric: Fabric, start: Guid | None
) -> list[Gap]:
    """Every line of trouble on a sweep's stderr is something that the sweep did not see."""
    found = []
    for number, line in enumerate(result.error_text.splitlines(), 1):
        if not line.strip():
            continue
        text = _PID.sub("", line.strip())
        if _TROUBLE.search(line):
            capture = CaptureRef(_error_file(result), number, line.strip())
            behind = _behind(fabric, start, text)
            if behind is not None:
                name = f"the node behind {behind}"
                found.append(Gap(name, f"{name} did not answer", (capture,)))
            else:
                found.append(Gap(text, f"a query of the sweep failed: {text}", (capture,)))
        else:
            observer.warnings.append(f"{result.argv[0]} said: {text}")
    return found


def _behind(fabric: Fabric, start: Guid | None, text: str) -> str | None:
    """The port that a directed route ends at: ``... dlid 0; 0,1,25 Attr ...`` -> SwitchB/25."""
    match = _DIRECTED.search(text)
    if match is None or start is None:
        return None
    *way, last = [int(hop) for hop in match.group(1).split(",")[1:]] or [0]
    guid = start
    for hop in way:
        port = fabric.port(PortId(guid, hop))
        if port is None or port.remote is None:
            return None
        guid = port.remote.guid
    here = PortId(guid, last)
    return fabric.port_name(here) if fabric.port(here) is not None else None


def _unique(gaps: Sequence[Gap]) -> list[Gap]:
    return list({gap.name: gap for gap in reversed(gaps)}.values())[::-1]


def _lines(
    fabric: Fabric, info: iblinkinfo.LinkInfo, file: str
) -> dict[PortId, tuple[CaptureRef, ...]]:
    owners: dict[tuple[Guid, int], PortId] = {}
    for port in fabric.ports():
        node = fabric.nodes[port.id.guid]
        guid = port.guid if node.type is NodeType.CA and port.guid is not None else node.guid
        owners[(guid, port.id.port)] = port.id
    found: dict[PortId, tuple[CaptureRef, ...]] = {}
    for row in info.rows:
        owner = owners.get((row.guid, row.port)) if row.guid is not None else None
        if owner is not None:
            found[owner] = (CaptureRef(file, row.line, " ".join(row.text.split())),)
    return found


# -- counters ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Raw:
    """Outputs of one sweep; assigned to ports when the topology is known."""

    errors: tuple[ibqueryerrors.QueryErrors, CommandResult] | NotSeen
    data: CommandResult | NotSeen

    @classmethod
    def read(cls, observer: _Observer) -> _Raw:
        """Errors first, data right after; one process each for the whole fabric."""

        def parse(result: CommandResult) -> tuple[ibqueryerrors.QueryErrors, CommandResult]:
            return ibqueryerrors.parse(result.text), result

        return cls(
            observer.take("the error counters", commands.IBQUERYERRORS, parse, ok=(0, 1)),
            observer.take(
                "the data counters",
                commands.IBQUERYERRORS_COUNTERS,
                lambda result: result,
                ok=(0, 1),
            ),
        )

    def sweep(self, fabric: Fabric | NotSeen) -> Sweep | NotSeen:
        """The sweep, once it is known which ports there are."""
        if isinstance(self.errors, NotSeen):
            return self.errors
        if isinstance(fabric, NotSeen):
            return fabric
        parsed, result = self.errors
        data = None if isinstance(self.data, NotSeen) else self.data
        return read_sweep(
            fabric,
            parsed,
            result.error_text,
            start=result.start,
            end=result.end,
            file=_file(result),
            data_text=data.text if data is not None else None,
            data_file=_file(data) if data is not None else None,
        )


# -- subnet managers -----------------------------------------------------------------------------


def _managers(
    observer: _Observer, stat: ibstat.IbStat, fabric: Fabric | NotSeen, counters: _Raw
) -> SubnetManagers | NotSeen:
    def one(result: CommandResult) -> SubnetManager:
        info = sminfo.parse(result.text)
        capture = CaptureRef(_file(result), info.line, result.text.splitlines()[info.line - 1])
        return SubnetManager(
            info.guid, info.lid, info.priority, info.state, info.state_name, capture
        )

    answered = True

    def master_or_silence(result: CommandResult) -> SubnetManager | NotSeen:
        nonlocal answered
        try:
            return one(result)
        except sminfo.NoAnswerError as error:
            answered = False
            reason = f"{observer.host.name}: nobody answered sminfo: {error.text.strip()}"
            return NotSeen("the subnet managers", reason, "", _head(result))

    master = observer.take("the subnet managers", commands.SMINFO, master_or_silence, ok=(0, 255))
    if isinstance(master, NotSeen):
        # Not made, or not readable: then nothing is known of the SM.
        return master if answered else _silence(master, observer, stat, fabric, counters)
    named = observer.take(
        "the subnet managers", commands.SAQUERY_SM, lambda result: saquery.parse_sms(result.text)
    )
    if isinstance(named, NotSeen):
        return SubnetManagers((master,), (f"the SA did not list them: {named.reason}",))
    found = {master.lid: master}
    silent = []
    for lid in sorted({sm.lid for sm in named} - {master.lid}):
        other = observer.take("a subnet manager", commands.SMINFO_LID, one, lid=int(lid))
        if isinstance(other, NotSeen):
            silent.append(f"the SA names one at LID {lid}, which did not answer: {other.reason}")
        else:
            found[Lid(lid)] = other
    return SubnetManagers(tuple(found.values()), tuple(silent))


def _silence(
    asked: NotSeen,
    observer: _Observer,
    stat: ibstat.IbStat,
    fabric: Fabric | NotSeen,
    counters: _Raw,
) -> SubnetManagers | NotSeen:
    """What it means that nobody answered sminfo: no SM where that is proven, else not seen."""
    up = [p for ca in stat.cas for p in ca.ports if p.phys_state == "LinkUp"]
    if up and all(port.sm_lid is None for port in up):
        # The port is up and was never configured: there is no SM, which is an observation.
        return SubnetManagers(none=CaptureRef(observer.stat_file, up[0].line, "SM lid: 0"))
    if any(_is_alive(fabric, counters, port.sm_lid) for port in up):
        # The node answers everything else, so the query arrived and no SM is there.
        return SubnetManagers(none=asked.captures[0] if asked.captures else None, gone=True)
    return asked


def _is_alive(fabric: Fabric | NotSeen, counters: _Raw, lid: Lid | None) -> bool:
    """True where the node at a LID answered the topology sweep and the counter sweep."""
    if isinstance(fabric, NotSeen) or lid is None or int(lid) not in fabric.lid_owner:
        return False
    sweep = counters.sweep(fabric)
    if isinstance(sweep, NotSeen):
        return False
    owner = fabric.lid_owner[int(lid)]
    ports = [port.id for port in fabric.nodes[owner.guid].ports.values()]
    return all(sweep.why_unread(port, "SymbolErrorCounter") is None for port in ports)


# -- forwarding tables ---------------------------------------------------------------------------


def _tables(
    observer: _Observer, fabric: Fabric | NotSeen
) -> tuple[tuple[SwitchTable, ...] | NotSeen, str | None, bytes]:
    outputs: list[CommandResult] = []

    def read(result: CommandResult) -> tuple[SwitchTable, ...]:
        outputs.append(result)
        return dump_fts.parse(result.stdout, result.error_text)

    tables = observer.take("the forwarding tables", commands.DUMP_FTS, read)
    if isinstance(tables, NotSeen) or isinstance(fabric, NotSeen):
        return tables, None, b""
    asking = _Asking()
    mended = tuple(_mend(observer, fabric, table, asking) for table in tables)
    return mended, _file(outputs[0]), outputs[0].stdout


@dataclass
class _Asking:
    """How often the SA gave no answer: each costs its timeout, and there may be 600 switches."""

    silent: int = 0


ASKED_IN_VAIN = 3


def _mend(observer: _Observer, fabric: Fabric, table: SwitchTable, asking: _Asking) -> SwitchTable:
    """Ask the SA for the one LID that dump_fts drops when the top is a multiple of 64."""
    node = fabric.nodes.get(table.guid)
    hole = table.top % BLOCK == 0 and table.top > 0 and not table.known[table.top]
    if not hole or node is None or node.lid is None or not table.known[: table.top].any():
        return table
    if asking.silent >= ASKED_IN_VAIN:
        text = f"not asked, as it gave no answer for {ASKED_IN_VAIN} other switches"
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
        asked = tuple(f"{problem}: asked, and {block.reason}" for problem in table.problems)
        return replace(table, problems=asked)
    if block.lid != node.lid:
        return table
    try:
        return with_lftr(table, block.ports)
    except ValueError as error:
        return table.voided(str(error))


# -- hosts ---------------------------------------------------------------------------------------


def _hosts(
    transport: Transport, wanted: Look, progress: Callable[[str], None]
) -> dict[str, ibstat.IbStat | NotSeen]:
    if not wanted.hosts:
        return {}
    progress(f"ibstat on {len(wanted.hosts)} hosts")
    argv = commands.IBSTAT.argv()
    results = transport.run_many(
        [(host.transport, argv) for host in wanted.hosts],
        timeout=commands.IBSTAT.timeout,
        root=commands.IBSTAT.root,
        fan_out=wanted.fan_out,
    )
    return {host.name: _host(host, results[i]) for i, host in enumerate(wanted.hosts)}


def _host(host: InventoryHost, result: CommandResult | TransportError) -> ibstat.IbStat | NotSeen:
    what = f"the LIDs of {host.name}"
    if isinstance(result, TransportError):
        return NotSeen(what, str(result), _hint(result))
    problem = result.problem()
    if problem is not None:
        return NotSeen(what, problem, "", _head(result))
    try:
        return ibstat.parse(result.text)
    except ParseError as error:
        return NotSeen(what, f"{host.name}: {error}", "", _head(result))


# -- words ---------------------------------------------------------------------------------------


def _file(result: CommandResult) -> str:
    return result.stdout_file if isinstance(result, CapturedResult) else ""


def _error_file(result: CommandResult) -> str:
    if isinstance(result, CapturedResult) and result.stderr_file is not None:
        return result.stderr_file
    return ""


def _head(result: CommandResult) -> tuple[CaptureRef, ...]:
    """The first line of stderr and the last of stdout: where a tool says why it ended."""
    found = []
    for file, text, index in (
        (_error_file(result), result.error_text, 0),
        (_file(result), result.text, -1),
    ):
        lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
        if lines and file:
            number, line = lines[index]
            found.append(CaptureRef(file, number, line.strip()))
    return tuple(found)


def _next_step(result: CommandResult) -> str:
    """What to do about an output that is not whole; a refused sudo says it itself."""
    if result.missing:
        return "install infiniband-diags there, or name another host under observers"
    if result.timed_out or result.lost or result.truncated:
        return "run it by hand there and see where it stops, then look again"
    return ""


def _said(result: CommandResult) -> str:
    for text in (result.error_text, result.text):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            return lines[-1][:300]
    return "it printed nothing"


def _version(result: CommandResult) -> str:
    words = (result.text + result.error_text).split()
    return words[-1] if words else "unknown"


_HINTS = {
    "resolve": "check the name, or set ansible_host in the inventory",
    "connect": "check that the host is up and that sshd listens",
    "authentication": "check user and key with ssh by hand",
    "replay": "",
}


def _hint(error: IbacceptError) -> str:
    return _HINTS.get(getattr(error, "step", ""), "")

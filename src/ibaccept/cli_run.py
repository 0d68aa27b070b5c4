"""``ibaccept check``, ``capture``, ``plan``, ``show``: the steps of a run without pytest."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ibaccept import commands
from ibaccept.bundle import Bundle
from ibaccept.cli_site import command_text
from ibaccept.cli_text import DONE, NOT_SEEN, columns, complain, say
from ibaccept.collect import Look, look
from ibaccept.errors import InputError
from ibaccept.expect.base import Expectation
from ibaccept.expect.file import load_expectations
from ibaccept.expect.selector import LinkSelector, planned_cables
from ibaccept.inventory import Inventory, InventoryHost, load_inventory
from ibaccept.nodeset import fold
from ibaccept.plan import Plan, write_plan
from ibaccept.report.json_report import load_document
from ibaccept.report.meta import RunMeta
from ibaccept.report.result import outcome_of, overall
from ibaccept.report.terminal import closing_lines, failure_text
from ibaccept.run import (
    INPUTS,
    Inputs,
    RunInfo,
    fabric_of,
    keep_inputs,
    new_run_dir,
    take_snapshot,
)
from ibaccept.snapshot import NotSeen, Snapshot
from ibaccept.suggest import did_you_mean
from ibaccept.transport import Transport
from ibaccept.transport.replay import RecordingTransport, ReplayTransport
from ibaccept.transport.router import open_transport
from ibaccept.verdict import Outcome
from ibaccept.yamlfile import InputProblemsError

DEFAULTS = {
    "inventory": "inventory/site.yaml",
    "expectations": "expectations.yaml",
    "reports": "reports",
}
"""As the options of the pytest run."""

VERDICTS = "verdicts.json"


def _given(options: argparse.Namespace, name: str) -> str | None:
    """An option, else its environment variable ``IBACCEPT_...``, else its default."""
    text: str | None = getattr(options, name, None)
    return text or os.environ.get(f"IBACCEPT_{name.upper()}") or DEFAULTS.get(name)


def _path(options: argparse.Namespace, name: str) -> Path:
    return Path(_given(options, name) or "")


def _ssh_config(options: argparse.Namespace) -> Path | None:
    text = _given(options, "ssh_config")
    if text is not None and not Path(text).is_file():
        raise InputError(f"there is no file {text}; --ssh-config names an OpenSSH configuration")
    return None if text is None else Path(text)


# -- check ---------------------------------------------------------------------------------------


def check(options: argparse.Namespace) -> int:
    """Accept the inputs or name every problem; list what a run would do."""
    inputs = _load(options)
    inputs.check_load()
    expectations = inputs.expectations
    say(
        f"{inputs.expectations_file}: {len(expectations.entries)} entries for {expectations.fabric}"
    )
    rows = [
        (entry.id, entry.kind, expectations.source(entry), entry_text(entry))
        for entry in expectations.entries
    ]
    for line in columns(rows):
        say(f"  {line}")
    for waiver in expectations.waivers:
        say(f"  waived until {waiver.until}: {waiver.expectation}, {waiver.subject}")
    for text, plan in expectations.plans.items():
        say(f"cabling plan {text}: {len(plan.cables)} cables")
    say(f"{inputs.inventory_file}: {len(inputs.inventory.hosts)} hosts")
    if inputs.job is not None:
        say(f"job: clients {fold(inputs.job.clients)}, storage {fold(inputs.job.storage)}")
    for line in _what_runs(inputs):
        say(line)
    return DONE


def _load(options: argparse.Namespace) -> Inputs:
    """All inputs; the problems of all files together.

    Raises:
        InputError: every problem, a sentence each.
    """
    expectations, inventory = _path(options, "expectations"), _path(options, "inventory")
    _gather(
        [
            lambda: load_expectations(
                _there(expectations, "expectations"), name=expectations.name, load_fabric=fabric_of
            ),
            lambda: load_inventory(_there(inventory, "inventory")),
        ]
    )
    inputs = Inputs.load(expectations, inventory, _given(options, "job"))
    _gather(_cable_checks(inputs))
    return inputs


def _there(path: Path, what: str) -> Path:
    if not path.is_file():
        raise InputError(f"there is no file {path}; name the {what} with --{what}=FILE")
    return path


def _gather(steps: Iterable[Callable[[], object]]) -> None:
    """Run every step; raise the problems of all of them."""
    problems: list[str] = []
    for step in steps:
        try:
            step()
        except InputProblemsError as error:
            problems += error.problems
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputProblemsError(dict.fromkeys(problems))


def _cable_checks(inputs: Inputs) -> Iterator[Callable[[], object]]:
    """Entries with ``each: cable`` need the cables by the plan alone."""
    plan = inputs.plan
    for entry in inputs.expectations.entries:
        links = getattr(entry, "links", None)
        if getattr(entry, "each", None) is None or plan is None or links is None:
            continue
        yield _cable_check(inputs, entry, links, plan)


def _cable_check(
    inputs: Inputs, entry: Expectation, links: LinkSelector, plan: Plan
) -> Callable[[], object]:
    def step() -> None:
        where = f"{inputs.expectations.source(entry)}: {entry.id}"
        try:
            chosen = planned_cables(links, plan, inputs.inventory)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        if not chosen:
            raise InputError(f"{where}: the plan has no {links.noun}, so nothing would be judged")

    return step


def entry_text(entry: Expectation) -> str:
    """What an entry looks at, from its own keys: ``inter-switch links; rate 4X HDR``."""
    parts: list[str] = []
    for name, field in type(entry).model_fields.items():
        value = getattr(entry, name)
        if name in Expectation.model_fields or value is None:
            continue
        if isinstance(value, LinkSelector):
            parts.insert(0, value.noun)
        elif name in entry.model_fields_set:
            parts.append(f"{(field.alias or name).replace('_', ' ')} {_value(value)}")
    if entry.is_under_load:
        parts.append("only with --load")
    return "; ".join(parts)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_value(part)}" for key, part in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(map(_value, value))
    return str(value)


def _what_runs(inputs: Inputs) -> Iterator[str]:
    """Hosts and commands of a run, read-only ones and those that make load."""
    yield "A run connects to:"
    observers = inputs.inventory.observers
    rest = "the first of these that sees the fabric" if len(observers) > 1 else "it"
    yield "  to look (read-only):"
    for host in observers:
        yield f"    {host_text(host)}"
    yield f"  and sends to {rest} no other commands than:"
    looking = [c for c in commands.ALL if c.root or c.template[0] == commands.IBSTAT.template[0]]
    for command in looking:
        yield f"    {_as(command_text(command), root=command.root, hosts=observers)}"
    asked = inputs.job_hosts()
    if asked:
        yield "  to ask for their LIDs (read-only), ibstat on:"
        yield f"    {fold(host.name for host in asked)}"
    loaded = [entry.id for entry in inputs.expectations.entries if entry.is_under_load]
    if not loaded:
        yield "No entry makes load."
        return
    yield f"Only with --load, for {', '.join(loaded)}:"
    if inputs.job is not None:
        names = dict.fromkeys((*inputs.job.clients, *inputs.job.storage))
        yield f"  load is made on {fold(names)}, by no other commands than:"
    workloads = inputs.expectations.workloads
    chosen = {part.tool for part in (workloads.filesystem, workloads.rdma) if part is not None}
    others = commands.LOAD_TOOLS - chosen
    for command in commands.ALL:
        if command not in looking and command.template[0] not in others:
            yield f"    {command_text(command)}"


def _as(text: str, *, root: bool, hosts: Iterable[InventoryHost]) -> str:
    return f"sudo -n {text}" if root and any(host.ib_sudo for host in hosts) else text


def host_text(host: InventoryHost) -> str:
    """``mgmt01: ssh 10.0.0.1 port 22 as root, sudo``."""
    way = host.transport
    if way.local:
        parts = ["this machine"]
    else:
        parts = [f"ssh {way.address or way.name}"]
        parts += [f"port {way.port}"] if way.port is not None else []
        parts += [f"as {way.user}"] if way.user is not None else []
    text = " ".join(parts)
    if host.ib_hca:
        text += f", HCA {', '.join(host.ib_hca)}"
    if host.ib_port is not None:
        text += f", port {host.ib_port} of the HCA"
    return f"{host.name}: {text}{', sudo' if host.ib_sudo else ''}"


# -- capture -------------------------------------------------------------------------------------


def capture(options: argparse.Namespace) -> int:
    """Leave a run's folder with everything a judgement needs."""
    inputs = _load(options)
    ssh_config = _ssh_config(options)
    info = RunInfo.now(inputs.expectations.fabric, job=_given(options, "job"), load=False)
    run_dir = new_run_dir(_path(options, "reports"), info)
    keep_inputs(run_dir, inputs, info)
    snapshot = take_snapshot(run_dir, inputs, ssh_config=ssh_config, progress=complain)
    (run_dir / ".look.lock").unlink(missing_ok=True)
    say(str(run_dir))
    unseen = [*_unseen(snapshot)]
    for sentence in (*snapshot.warnings, *unseen):
        complain(sentence)
    sys.stdout.flush()
    complain(f"judge it with: pytest tests_fabric --replay={run_dir}")
    return NOT_SEEN if unseen else DONE


def _unseen(snapshot: Snapshot) -> Iterator[str]:
    """A sentence for each part that could not be seen, each once."""
    parts: list[object] = [
        snapshot.fabric_seen,
        *snapshot.sweeps.values(),
        snapshot.managers_seen,
        snapshot.tables_seen,
        *snapshot.hosts.values(),
    ]
    told: dict[str, None] = {}
    for part in parts:
        if isinstance(part, NotSeen):
            told[f"{part.what} could not be seen: {part.reason}"] = None
    yield from told


# -- plan ----------------------------------------------------------------------------------------


def plan(options: argparse.Namespace) -> int:
    """Write the cables of a good fabric as a plan."""
    if (options.run is None) == (options.inventory is None):
        raise InputError("name the folder of a run, or --inventory=FILE to look now; one of them")
    if options.run is not None:
        folder = Path(options.run)
        RunInfo.read(folder)
        inventory = load_inventory(folder / INPUTS / "inventory.yaml")
        snapshot = _look(ReplayTransport(folder), inventory, lambda _step: None)
    else:
        inventory = load_inventory(_there(Path(options.inventory), "inventory"))
        with tempfile.TemporaryDirectory(prefix="ibaccept-") as folder_name:
            transport = open_transport(commands.is_permitted, ssh_config=_ssh_config(options))
            recording = RecordingTransport(transport, Bundle(Path(folder_name)))
            try:
                snapshot = _look(recording, inventory, complain)
            finally:
                recording.close()
    fabric = snapshot.fabric
    if snapshot.gaps:
        for gap in snapshot.gaps:
            complain(f"{gap.name}: {gap.reason}")
        complain("no plan is written: the sweep was not whole, so cables would be missing from it")
        return NOT_SEEN
    Plan.from_fabric(fabric, name=options.run or "the fabric")  # refuses a fabric without cables
    text = write_plan(fabric)
    if options.output is None:
        say(text.rstrip("\n"))
    else:
        try:
            Path(options.output).write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise InputError(f"{options.output} cannot be written: {error.strerror}") from None
    down = sum(port.is_down for port in fabric.ports())
    complain(
        f"{len(fabric.links)} cables between {len(fabric.nodes)} nodes; {down} ports are down: a "
        "cable that is down now is not in the plan"
    )
    return DONE


def _look(transport: Transport, inventory: Inventory, progress: Callable[[str], None]) -> Snapshot:
    return look(transport, inventory, None, Look(), progress=progress, sleep=lambda _seconds: None)


# -- show ----------------------------------------------------------------------------------------


def show(options: argparse.Namespace) -> int:
    """Print the verdicts of a run; the exit code is the run's."""
    given = Path(options.run)
    path = given / VERDICTS if given.is_dir() else given
    if not path.is_file():
        raise InputError(f"{given} holds no {VERDICTS}: no run was judged there; see --help")
    document = load_document(path)
    verdicts = list(document.verdicts)
    if options.id is not None:
        known = [*(verdict.id for verdict in verdicts), *document.not_run]
        verdicts = [v for v in verdicts if v.id == options.id or v.id.startswith(f"{options.id}:")]
        if not verdicts and options.id not in document.not_run:
            raise InputError(
                f"{path} has no verdict on {options.id!r}{did_you_mean(options.id, known)}"
            )
    if options.failures:
        verdicts = [v for v in verdicts if outcome_of(v) in {Outcome.FAIL, Outcome.ERROR}]
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    width = shutil.get_terminal_size((100, 24)).columns
    for verdict in verdicts:
        say(failure_text(verdict, width, colour=colour))
        say()
    result = overall(document.verdicts, document.not_run)
    meta = RunMeta(
        fabric=document.fabric,
        started=document.started,
        ended=document.ended,
        run_dir=path.parent,
        warnings=document.warnings,
    )
    for line in closing_lines(result, meta, colour=colour):
        say(line)
    return max(result.exit_code, document.exit_code)

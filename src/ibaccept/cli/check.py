"""ibaccept check: accept or refuse the inputs; connect to nothing."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

from ibaccept import commands
from ibaccept.checks.base import Expectation
from ibaccept.checks.selector import LinkSelector
from ibaccept.cli.inputs import load_inputs
from ibaccept.cli.site import command_text
from ibaccept.cli.text import DONE, columns, say
from ibaccept.fabric.harmless import clean
from ibaccept.fabric.nodeset import fold
from ibaccept.run.inputs import Inputs
from ibaccept.site.inventory import InventoryHost


def check(options: argparse.Namespace) -> int:
    """Accept the inputs or name every problem; list what a run would do."""
    inputs = load_inputs(options)
    inputs.check_load()
    expectations = inputs.expectations
    _say(
        f"{inputs.expectations_file}: {len(expectations.entries)} entries for {expectations.fabric}"
    )
    rows = [
        (entry.id, entry.kind, expectations.source(entry), entry_text(entry))
        for entry in expectations.entries
    ]
    for line in columns(rows):
        _say(f"  {line}")
    for waiver in expectations.waivers:
        _say(f"  waived until {waiver.until}: {waiver.expectation}, {waiver.subject}")
    for text, plan in expectations.plans.items():
        _say(f"cabling plan {text}: {len(plan.cables)} cables")
    _say(f"{inputs.inventory_file}: {len(inputs.inventory.hosts)} hosts")
    if inputs.job is not None:
        _say(f"job: clients {fold(inputs.job.clients)}, storage {fold(inputs.job.storage)}")
    for line in _what_runs(inputs):
        _say(line)
    return DONE


def _say(line: str) -> None:
    """A line of the result; the fabric's name, ids and hosts in it are the file's."""
    say(clean(line))


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
    yield "  to observe the fabric (read-only):"
    for host in observers:
        yield f"    {host_text(host)}"
    yield f"  and sends to {rest} no other commands than:"
    looking = [c for c in commands.ALL if c.root or c.template[0] == commands.IBSTAT.template[0]]
    for command in looking:
        yield f"    {_as(command_text(command), root=command.root, hosts=observers)}"
    queried = inputs.job_hosts()
    if queried:
        yield "  to read their LIDs (read-only), ibstat on:"
        yield f"    {fold(host.name for host in queried)}"
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

"""Ansible-shaped inventory: who can see the fabric, who are clients and storage, and how to log in.

Groups ``observers`` (run infiniband-diags), ``clients``, ``storage``, ``switches`` (optional), and
any other the expectations name. Format: Ansible's "YAML inventory" (``all`` or top-level groups,
each with ``hosts``, ``vars``, ``children``). Variables of the inner group beat the outer, those of
a host beat all groups; among groups of one depth the last in alphabetical order wins, as in
Ansible. Host variables read: ``ansible_host``, ``_port``, ``_user``, ``_ssh_private_key_file``,
``ansible_connection: local``, and ``ib_hca``, ``ib_port``, ``ib_sudo``, ``ib_name``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ibaccept.errors import InputError, InputProblemsError
from ibaccept.fabric.nodeset import expand, fold
from ibaccept.fabric.suggest import did_you_mean
from ibaccept.site.yamlfile import Document, Where, load
from ibaccept.transport import Host

GROUP_KEYS = ("hosts", "vars", "children")
IB_VARS = ("ib_hca", "ib_port", "ib_sudo", "ib_name")
READ_VARS = (
    "ansible_host",
    "ansible_port",
    "ansible_user",
    "ansible_ssh_private_key_file",
    "ansible_connection",
    *IB_VARS,
)
"""Variables of a host that are read; all others are left alone and shown nowhere."""
SLURM = "SLURM_JOB_NODELIST"


@dataclass(frozen=True, slots=True)
class InventoryHost:
    """One host.

    Attributes:
        name: inventory name.
        transport: how to reach it.
        ib_hca: HCAs to use, empty = the tools' default.
        ib_port: port of the HCA, None = the tools' default.
        ib_sudo: commands that need root run with sudo.
        ib_name: node description where it differs from the name.
        line: where the inventory names it first.
    """

    name: str
    transport: Host
    ib_hca: tuple[str, ...] = ()
    ib_port: int | None = None
    ib_sudo: bool = False
    ib_name: str | None = None
    line: int = 0


@dataclass(frozen=True)
class Inventory:
    """Hosts and groups.

    Attributes:
        groups: host names of each group, those of its children included, in the file's order.
        hosts: every host by name.
        file: how messages call the inventory.
    """

    groups: Mapping[str, tuple[str, ...]]
    hosts: Mapping[str, InventoryHost]
    file: str = "inventory"

    def group(self, name: str) -> tuple[str, ...]:
        """Hosts of a group.

        Raises:
            InputError: no such group, or an empty one.
        """
        if name not in self.groups:
            raise InputError(
                f"{self.file}: there is no group {name!r}{did_you_mean(name, self.groups)}"
            )
        if not self.groups[name]:
            raise InputError(f"{self.file}: the group {name!r} is empty; add hosts to it")
        return self.groups[name]

    @property
    def observers(self) -> tuple[InventoryHost, ...]:
        """Hosts that run infiniband-diags; never empty."""
        return tuple(self.hosts[name] for name in self.group("observers"))

    def node_set(self, text: str) -> tuple[str, ...]:
        """Hosts of a group or a node set, all of them in the inventory.

        Raises:
            InputError: an empty group, a malformed set, or a name the inventory does not hold.
        """
        if text in self.groups:
            return self.group(text)
        try:
            names = expand(text)
        except ValueError as error:
            raise InputError(str(error)) from None
        unknown = [name for name in names if name not in self.hosts]
        if unknown:
            verb = "is" if len(unknown) == 1 else "are"
            known = self.hosts if len(unknown) > 1 else [*self.hosts, *self.groups]
            raise InputError(
                f"{fold(unknown)} {verb} not in {self.file}{did_you_mean(unknown[0], known)}"
            )
        return names


def load_inventory(path: Path, *, name: str | None = None) -> Inventory:
    """Read an inventory.

    Args:
        path: the YAML file.
        name: how messages call it.

    Raises:
        InputError: every problem of the file, a sentence each.
    """
    return read_inventory(load(path, name=name, foreign_tags=True))


def read_inventory(document: Document) -> Inventory:
    """As ``load_inventory``, from a loaded document.

    Raises:
        InputError: every problem of the file, a sentence each.
    """
    reader = _Reader(document)
    if isinstance(document.value, dict):
        for group, body in document.value.items():
            reader.group(group, body, (group,), None)
    else:
        reader.problem((), "an inventory is a mapping of groups")
    reader.check_cycles()
    inventory = reader.inventory()
    if not inventory.groups.get("observers") and not reader.problems:
        todo = "name a host there that runs infiniband-diags"
        if "observers" in inventory.groups:
            reader.problem(reader.line_of["observers"], f"the group 'observers' is empty; {todo}")
        else:
            near = did_you_mean("observers", inventory.groups)
            reader.problem((), f"there is no group 'observers'; {todo}{near}")
    if reader.problems:
        raise InputProblemsError(dict.fromkeys(reader.problems))
    return inventory


@dataclass
class _Reader:
    document: Document
    problems: list[str] = field(default_factory=list)
    line_of: dict[str, Where] = field(default_factory=dict)
    direct: dict[str, dict[str, None]] = field(default_factory=dict)
    children: dict[str, dict[str, None]] = field(default_factory=dict)
    group_vars: dict[str, dict[str, tuple[Any, Where]]] = field(default_factory=dict)
    host_vars: dict[str, dict[str, tuple[Any, Where]]] = field(default_factory=dict)
    first: dict[str, Where] = field(default_factory=dict)

    def problem(self, where: Where, sentence: str) -> None:
        self.problems.append(self.document.problem(where, sentence))

    def group(self, name: str, body: Any, where: Where, parent: str | None) -> None:
        self.line_of.setdefault(name, where)
        self.direct.setdefault(name, {})
        self.children.setdefault(name, {})
        self.group_vars.setdefault(name, {})
        if parent is not None:
            self.children[parent][name] = None
        if body is None:
            return
        if not isinstance(body, dict):
            self.problem(where, f"the group {name!r} must hold hosts, vars or children")
            return
        for key, value in body.items():
            at = (*where, key)
            if key not in GROUP_KEYS:
                self.problem(
                    at, f"unknown key {key!r} in the group {name!r}{did_you_mean(key, GROUP_KEYS)}"
                )
            elif value is not None and not isinstance(value, dict):
                self.problem(at, f"{key!r} of the group {name!r} must be a mapping")
            else:
                self.part(name, key, value or {}, at)

    def part(self, group: str, key: str, value: Mapping[str, Any], where: Where) -> None:
        """One of hosts, vars, children of a group."""
        if key == "vars":
            self.variables(self.group_vars[group], value, where, f"the group {group!r}")
        elif key == "children":
            for child, inner in value.items():
                self.group(child, inner, (*where, child), group)
        else:
            for pattern, own in value.items():
                self.hosts(group, pattern, own, (*where, pattern))

    def hosts(self, group: str, pattern: str, own: Any, where: Where) -> None:
        try:
            names = expand(pattern)
        except ValueError as error:
            self.problem(where, str(error))
            return
        if own is not None and not isinstance(own, dict):
            self.problem(where, f"the variables of {pattern} must be a mapping")
            return
        if len(names) > 1 and own and "ib_name" in own:
            self.problem(
                (*where, "ib_name"),
                f"one ib_name cannot be the name of {len(names)} hosts; give each its own entry",
            )
            return
        for host in names:
            self.direct[group][host] = None
            self.first.setdefault(host, where)
            self.variables(self.host_vars.setdefault(host, {}), own or {}, where, host)

    def variables(
        self, into: dict[str, tuple[Any, Where]], new: Mapping[str, Any], where: Where, owner: str
    ) -> None:
        for key, value in new.items():
            at = (*where, key)
            if key.startswith("ib_") and key not in IB_VARS:
                self.problem(at, f"{owner}: unknown variable {key!r}{did_you_mean(key, IB_VARS)}")
            elif key in into and into[key][0] != value:
                line = self.document.line(into[key][1])
                two = f"{value!r} here and {into[key][0]!r}"
                if key not in READ_VARS:
                    two = "one value here and another"  # it may be a password
                self.problem(at, f"{owner}: {key} is {two} in line {line}")
            else:
                into[key] = (value, at)

    def check_cycles(self) -> None:
        for name in self.children:
            below: set[str] = set()
            todo = list(self.children[name])
            while todo:
                child = todo.pop()
                if child not in below:
                    below.add(child)
                    todo += self.children[child]
            if name in below:
                self.problem(self.line_of[name], f"the group {name!r} is its own child")
                self.children[name] = {}

    def members(self, name: str) -> dict[str, None]:
        found = dict(self.direct[name])
        for child in self.children[name]:
            found.update(self.members(child))
        return found

    def depths(self) -> dict[str, int]:
        """Longest path from the top: inner groups beat outer ones. ``all`` is the outermost."""
        depth = dict.fromkeys(self.children, 1)
        depth["all"] = 0
        for _ in self.children:  # no path has more steps
            for group, children in self.children.items():
                for child in children:
                    depth[child] = max(depth[child], depth[group] + 1)
        return depth

    def inventory(self) -> Inventory:
        groups = {name: tuple(self.members(name)) for name in self.children}
        groups["all"] = tuple(self.first)
        depth = self.depths()
        ordered = sorted(self.group_vars, key=lambda group: (depth[group], group))
        of_host: dict[str, dict[str, tuple[Any, Where]]] = {host: {} for host in self.first}
        for group in ordered:
            for host in groups[group]:
                of_host[host].update(self.group_vars[group])
        hosts = {}
        described: dict[str, str] = {}
        for host, values in of_host.items():
            values.update(self.host_vars[host])
            hosts[host] = made = self.host(host, values)
            if made.ib_name is not None and made.ib_name in described:
                self.problem(
                    values["ib_name"][1],
                    f"{host}: ib_name {made.ib_name!r} is also that of {described[made.ib_name]}",
                )
            if made.ib_name is not None:
                described[made.ib_name] = host
        return Inventory(groups, hosts, self.document.file)

    def reachable(self, name: str, shown: str | None, where: Where) -> None:
        """Refuse what ssh would take for an option, or for two words."""
        if shown is not None and (shown.startswith("-") or re.search(r"\s", shown)):
            self.problem(where, f"{name}: {shown!r} is no name or address of a host")

    def host(self, name: str, values: Mapping[str, tuple[Any, Where]]) -> InventoryHost:
        def text(key: str) -> str | None:
            value, where = values.get(key, (None, ()))
            if value is None:
                return None
            if isinstance(value, int | float) and not isinstance(value, bool):
                value = str(value)
            if not isinstance(value, str) or not value.strip() or "\n" in value:
                self.problem(where, f"{name}: {key} must be text, not {value!r}")
                return None
            if "{{" in value:
                self.problem(
                    where, f"{name}: {key} is a template ({value}); write the value itself"
                )
                return None
            return value.strip()

        def number(key: str, highest: int) -> int | None:
            written = text(key)
            if written is None:
                return None
            if not re.fullmatch(r"[1-9]\d*", written) or int(written) > highest:
                self.problem(values[key][1], f"{name}: {key} must be 1 to {highest}, not {written}")
                return None
            return int(written)

        sudo, where = values.get("ib_sudo", (False, ()))
        if not isinstance(sudo, bool):
            self.problem(where, f"{name}: ib_sudo must be true or false, not {sudo!r}")
            sudo = False
        address = text("ansible_host")
        self.reachable(name, name, self.first[name])
        self.reachable(name, address, values.get("ansible_host", ("", ()))[1])
        key_file = text("ansible_ssh_private_key_file")
        transport = Host(
            name,
            address=address,
            port=number("ansible_port", 65535),
            user=text("ansible_user"),
            key_file=Path(key_file).expanduser() if key_file else None,
            sudo=sudo,
            local=text("ansible_connection") == "local",
        )
        return InventoryHost(
            name,
            transport,
            self.hcas(name, values),
            number("ib_port", 254),
            sudo,
            text("ib_name"),
            self.document.line(self.first[name]),
        )

    def hcas(self, name: str, values: Mapping[str, tuple[Any, Where]]) -> tuple[str, ...]:
        value, where = values.get("ib_hca", ((), ()))
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list | tuple) or not all(
            isinstance(hca, str) and re.fullmatch(r"[A-Za-z]\w{0,63}", hca, re.ASCII)
            for hca in listed
        ):
            self.problem(
                where, f"{name}: ib_hca must be an HCA such as mlx5_0 or a list, not {value!r}"
            )
            return ()
        return tuple(dict.fromkeys(listed))


def job_nodes(
    text: str, inventory: Inventory, *, environ: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Hosts of a job, in the order given, each once.

    Args:
        text: an inventory group, ``SLURM_JOB_NODELIST`` (the variable is read), a file with one
            name or set a line (``#`` starts a comment), or a node set.
        inventory: every name must be in it.
        environ: the environment, default ``os.environ``.

    Raises:
        InputError: nothing named, a malformed set, or names that the inventory does not hold.
    """
    environ = os.environ if environ is None else environ
    written = text.strip()
    if not written:
        raise InputError("the job's node list is empty; name a group, a node set or a file")
    if written in inventory.groups:
        return inventory.group(written)
    if written.lstrip("$") == SLURM:
        value = environ.get(SLURM, "").strip()
        if not value:
            raise InputError(f"{SLURM} is not set; run inside a Slurm job or name the nodes")
        return _job(inventory, [(SLURM, value)])
    if Path(written).is_file():
        try:
            lines = Path(written).read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{written}: cannot be read as text: {error}") from None
        parts = [(f"{written}:{n}", part.split("#")[0].strip()) for n, part in enumerate(lines, 1)]
        parts = [(where, part) for where, part in parts if part]
        if not parts:
            raise InputError(f"{written}: names no node")
        return _job(inventory, parts)
    if "/" in written:
        raise InputError(f"{written}: there is no such file")
    return _job(inventory, [("job", written)])


def _job(inventory: Inventory, parts: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    problems = []
    for where, part in parts:
        try:
            names.update(dict.fromkeys(inventory.node_set(part)))
        except InputError as error:
            problems.append(f"{where}: {error}")
    if problems:
        raise InputProblemsError(problems)
    return tuple(names)

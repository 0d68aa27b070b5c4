"""Which links an entry is about: the keys of ``links:`` and ``between:``, and what they select.

A node is named by an inventory group, a pattern (``spine*``) or a node set. A host of the
inventory is found in the fabric by its ``ib_name``, its name, or its name as the first word of
the node description (``node001 HCA-1``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ibaccept.errors import InputError
from ibaccept.fabric.model import Fabric, Guid, Link, NodeType, PortId
from ibaccept.fabric.nodeset import expand, fold
from ibaccept.fabric.suggest import did_you_mean
from ibaccept.observe.placement import EndState, PlacedCable, locate
from ibaccept.site.fields import Nodes, Strict
from ibaccept.site.inventory import Inventory
from ibaccept.site.plan import End, Plan, PlannedCable

LinkType = Literal["isl", "host", "internal", "all"]
HCA_PORTS = 2
"""Most ports of a channel adapter; a planned node with a higher port number is a switch."""

NOUNS = {
    "isl": "inter-switch links",
    "host": "host links",
    "internal": "links inside a box",
    "all": "links",
}


class LinkSelector(Strict):
    """Links that meet every given key. ``isl``, ``host``, ``internal``, ``all``: ``{type: ...}``.

    Links between nodes of one system image GUID are inside a box: ``internal``, not ``isl``.
    ``all`` holds those between the switch chips of a director, which carry the fabric's traffic,
    but not a switch's link to its own router.
    """

    type: LinkType = "all"
    between: tuple[Nodes, Nodes] | None = Field(
        default=None, description="one end on a node of the first, the other on one of the second"
    )
    nodes: Nodes | None = Field(default=None, description="at least one end on such a node")
    names: str | None = Field(
        default=None, description="pattern (* ?) for the whole name, 'SwitchA/13 - SwitchB/25'"
    )
    exclude: LinkSelector | None = Field(
        default=None, alias="except", description="but not these links"
    )

    @model_validator(mode="before")
    @classmethod
    def _word(cls, value: Any) -> Any:
        if isinstance(value, str):
            if value not in NOUNS:
                near = did_you_mean(value, NOUNS)
                raise ValueError(f"{value!r} is no selection of links{near}")
            return {"type": value}
        if not isinstance(value, dict | LinkSelector):
            raise ValueError(f"must be isl, host, internal, all or a mapping, not {value!r}")  # noqa: TRY004 - pydantic reports ValueErrors
        return value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """A word or a mapping."""
        return {"anyOf": [{"enum": list(NOUNS)}, handler(core_schema)]}

    @property
    def noun(self) -> str:
        """``inter-switch links between SwitchA and SwitchB``."""
        words = [NOUNS[self.type]]
        if self.between is not None:
            words.append(f"between {self.between[0]} and {self.between[1]}")
        if self.nodes is not None:
            words.append(f"of {self.nodes}")
        if self.names is not None:
            words.append(f"named {self.names}")
        if self.exclude is not None:
            words.append(f"(except {self.exclude.noun.removeprefix('links ')})")
        return " ".join(words)


Between = Annotated[tuple[Nodes, Nodes], Field(description="two groups, patterns or node sets")]


@dataclass(frozen=True, slots=True)
class AbsentNode:
    """A host of the inventory that a selection names and the fabric does not show."""

    name: str


Item = Link | PlacedCable | AbsentNode


@dataclass(frozen=True, slots=True)
class Selection:
    """What a selector gives.

    Attributes:
        items: links; planned cables that are not there or not seen; inventory hosts that are not
            there (without a plan nothing else shows that their links are not judged).
        noun: what they are, in the plural.
    """

    items: tuple[Item, ...]
    noun: str


def select(
    selector: LinkSelector, fabric: Fabric, inventory: Inventory | None, plan: Plan | None = None
) -> Selection:
    """Links of the fabric, and with a plan the planned cables that are not there.

    Rows of the plan that fit nothing select nothing: they are errors of ``cabling`` alone.

    Raises:
        InputError: a name that is neither a group, nor in the inventory, the fabric or the plan.
    """
    cables = locate(plan, fabric) if plan is not None else ()
    context = _Context(fabric, inventory, cables)
    is_selected = context.matcher(selector)
    items: list[Item] = [link for link in fabric.links if is_selected(context.of_link(link))]
    items += [
        cable
        for cable in cables
        if cable.link is None and not cable.problem and is_selected(context.of_cable(cable))
    ]
    items += context.absent_items(selector)
    return Selection(tuple(items), selector.noun)


def unnamed_hosts(
    selector: LinkSelector,
    fabric: Fabric,
    inventory: Inventory | None,
    plan: Plan | None,
    hosts: Iterable[str],
) -> set[str]:
    """Those of some hosts without a node whose links a selector means without naming them.

    ``isl`` and ``internal`` mean no host's link, and what names nodes or links is ``select``'s own
    to miss. A host in the plan is missed there too, by its planned cable.
    """
    named = (selector.between, selector.nodes, selector.names)
    if selector.type in {"isl", "internal"} or any(part is not None for part in named):
        return set()
    context = _Context(fabric, inventory, locate(plan, fabric) if plan is not None else ())
    return {name for name in hosts if not context.host(name)} - context.excluded_hosts(selector)


def may_be_at(
    selector: LinkSelector,
    fabric: Fabric,
    inventory: Inventory | None,
    plan: Plan | None,
    port: PortId,
) -> bool:
    """Whether a selector can mean the link at a port behind which no seen node is.

    What is there may be any node that was not seen; a node that a selector names and that was not
    seen is an item of ``select`` itself, but a pattern can mean more nodes than are known.
    """
    context = _Context(fabric, inventory, locate(plan, fabric) if plan is not None else ())

    def is_near(text: str) -> bool:
        return port.guid in context.nodes(text) or re.search(r"[*?]", text) is not None

    if selector.between is not None:
        return any(is_near(text) for text in selector.between)
    return selector.nodes is None or is_near(selector.nodes)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A link or planned cable as a selector sees it: nodes by GUID, or by name if not there."""

    nodes: tuple[Guid | str, Guid | str]
    type: Literal["isl", "host", "internal", "other"]
    in_all: bool
    names: tuple[str, str]


class _Context:
    def __init__(
        self, fabric: Fabric, inventory: Inventory | None, cables: tuple[PlacedCable, ...]
    ) -> None:
        self.fabric = fabric
        self.inventory = inventory
        self.cables = cables
        self.by_first_word: dict[str, list[Guid]] = {}
        for node in fabric.nodes.values():
            words = node.name.split()
            if words and node.type is NodeType.CA:
                self.by_first_word.setdefault(words[0], []).append(node.guid)
        self.planned_first_word: dict[str, set[Guid | str]] = {}
        self.planned_nodes = {
            end.name: _node_key(fabric, end, port)
            for cable in cables
            for end, port in zip(cable.planned.ends, (cable.a, cable.b), strict=True)
            if end.name
        }
        for name, key in self.planned_nodes.items():
            self.planned_first_word.setdefault(name.split()[0], set()).add(key)
        self.planned_switches = planned_switches((cable.planned for cable in cables), inventory)
        self.known_hosts = _known_hosts(inventory)

    def of_link(self, link: Link) -> _Candidate:
        fabric = self.fabric
        kind: Literal["isl", "host", "internal", "other"] = "other"
        routed = any(fabric.node_of(end).type is NodeType.ROUTER for end in link.ends)
        if fabric.is_internal(link):
            kind = "internal"
        elif fabric.is_isl(link):
            kind = "isl"
        elif fabric.is_host_link(link):
            kind = "host"
        names = (fabric.port_name(link.a), fabric.port_name(link.b))
        in_all = kind != "internal" or not routed
        return _Candidate((link.a.id.guid, link.b.id.guid), kind, in_all, names)

    def of_cable(self, cable: PlacedCable) -> _Candidate:
        ports = (cable.a, cable.b)
        keys, are_hosts = [], []
        for end, port, state in zip(cable.planned.ends, ports, cable.states, strict=True):
            keys.append(_node_key(self.fabric, end, port))
            if state is EndState.NO_NODE or port is None:
                are_hosts.append(_plan_node(end) not in self.planned_switches)
            else:
                are_hosts.append(self.fabric.node_of(port).type is NodeType.CA)
        kind: Literal["isl", "host"] = "host" if any(are_hosts) else "isl"
        return _Candidate((keys[0], keys[1]), kind, in_all=True, names=cable.names)

    def unclear_ends(self, cable: PlannedCable) -> list[str]:
        """Ends that neither plan nor inventory shows to be switches or hosts."""
        return [
            _plan_node(end)
            for end in cable.ends
            if _plan_node(end) not in self.planned_switches
            and not {end.name, *end.name.split()[:1]} & self.known_hosts
        ]

    def matcher(self, selector: LinkSelector) -> Callable[[_Candidate], bool]:
        """The selector with its names resolved once."""
        pair = None
        if selector.between is not None:
            pair = (self.nodes(selector.between[0]), self.nodes(selector.between[1]))
        nodes = self.nodes(selector.nodes) if selector.nodes is not None else None
        names = selector.names
        excluded = self.matcher(selector.exclude) if selector.exclude is not None else None

        def matches(candidate: _Candidate) -> bool:
            a, b = candidate.nodes
            is_type = (
                candidate.in_all if selector.type == "all" else candidate.type == selector.type
            )
            if not is_type:
                return False
            if pair is not None and not (
                (a in pair[0] and b in pair[1]) or (b in pair[0] and a in pair[1])
            ):
                return False
            if nodes is not None and a not in nodes and b not in nodes:
                return False
            if names is not None:
                both = (candidate.names, candidate.names[::-1])
                if not any(fnmatchcase(" - ".join(ends), names) for ends in both):
                    return False
            return excluded is None or not excluded(candidate)

        return matches

    def nodes(self, text: str) -> set[Guid | str]:
        """Nodes a group, pattern or set names, those the plan has but the fabric has not too."""
        found: set[Guid | str] = set()
        if re.search(r"[*?]", text):
            for node in self.fabric.nodes.values():
                if fnmatchcase(node.name.strip(), text):
                    found.add(node.guid)
            found |= {key for name, key in self.planned_nodes.items() if fnmatchcase(name, text)}
            for name in self.inventory.hosts if self.inventory is not None else ():
                if fnmatchcase(name, text):
                    found |= self.host(name)
            if not found:
                raise InputError(f"no node's name matches {text!r}")
            return found
        for name in self.set_names(text):
            nodes = self.host(name)
            if not nodes and (self.inventory is None or name not in self.inventory.hosts):
                known = [*self.fabric.by_name, *self.by_first_word, *self.planned_nodes]
                if self.inventory is not None:
                    known += [*self.inventory.groups, *self.inventory.hosts]
                raise InputError(
                    f"{name!r} is no group, and no node has that name{did_you_mean(name, known)}"
                )
            found |= nodes
        return found

    def set_names(self, text: str) -> tuple[str, ...]:
        if self.inventory is not None and text in self.inventory.groups:
            return self.inventory.group(text)
        if text.strip() in self.fabric.by_name:  # a name with a space or a comma in it
            return (text.strip(),)
        return expand(text)

    def host(self, name: str) -> set[Guid | str]:
        """Nodes of one name; several for a host with several HCAs."""
        host = self.inventory.hosts.get(name) if self.inventory is not None else None
        described = host.ib_name if host is not None and host.ib_name is not None else name
        found: set[Guid | str] = {node.guid for node in self.fabric.by_name.get(described, ())}
        if not found:
            found |= set(self.by_first_word.get(described, ()))
        if described in self.planned_nodes:
            found.add(self.planned_nodes[described])
        elif not found and host is not None:
            found |= self.planned_first_word.get(described, set())
        return found

    def absent_items(self, selector: LinkSelector) -> list[AbsentNode]:
        """Inventory hosts that the selector names and nothing shows."""
        if self.inventory is None or selector.names is not None:
            return []
        named = [*(selector.between or ()), *([selector.nodes] if selector.nodes else [])]
        names = {name for text in named for name in self.inventory_names(text)}
        names -= self.excluded_hosts(selector)
        switches = set(self.inventory.groups.get("switches", ()))
        if selector.type in {"isl", "internal"}:
            names &= switches
        elif selector.type == "host":
            names -= switches
        return [
            AbsentNode(name)
            for name in self.inventory.hosts
            if name in names and not self.host(name)
        ]

    def excluded_hosts(self, selector: LinkSelector) -> set[str]:
        """Hosts of the inventory whose links ``except:`` takes out whole."""
        out = selector.exclude
        if out is None or out.nodes is None:
            return set()
        if out.names is not None or out.between is not None or out.exclude is not None:
            return set()
        names = self.inventory_names(out.nodes)
        if out.type in {"all", selector.type}:
            return names
        # All links of a host are host links; a switch has others, too.
        switches = self.inventory.groups.get("switches", ()) if self.inventory is not None else ()
        return names - set(switches) if out.type == "host" else set()

    def inventory_names(self, text: str) -> set[str]:
        inventory = self.inventory
        if inventory is None:
            return set()
        if re.search(r"[*?]", text):
            return {name for name in inventory.hosts if fnmatchcase(name, text)}
        return {name for name in self.set_names(text) if name in inventory.hosts}


def _node_key(fabric: Fabric, end: End, port: PortId | None) -> Guid | str:
    if port is not None and port.guid in fabric.nodes:
        return port.guid
    return end.name or str(end.guid)


def _plan_node(end: End) -> str:
    return end.name or str(end.guid)


def planned_switches(cables: Iterable[PlannedCable], inventory: Inventory | None) -> set[str]:
    """Nodes of a plan that are switches, where the fabric does not say (they are not in it).

    Those of the inventory's group ``switches``, and those with a port above 2.
    """
    named = set(inventory.groups.get("switches", ())) if inventory is not None else set()
    return named | {_plan_node(e) for c in cables for e in c.ends if e.port > HCA_PORTS}


def _known_hosts(inventory: Inventory | None) -> set[str]:
    """Names of the inventory's hosts, also as the fabric describes them; no switches."""
    if inventory is None:
        return set()
    switches = inventory.groups.get("switches", ())
    hosts = [host for host in inventory.hosts.values() if host.name not in switches]
    return {host.ib_name or host.name for host in hosts}


def planned_cables(
    selector: LinkSelector, plan: Plan, inventory: Inventory | None
) -> tuple[PlannedCable, ...]:
    """Cables of a plan that a selector names, by the plan alone: no fabric is needed.

    For ``each: cable``, where the items must be known before the fabric is looked at.

    Raises:
        InputError: a name that is neither in the plan nor in the inventory, a host without a
            cable in the plan, or nodes that may be switches or hosts.
    """
    nothing = Fabric.of([])
    cables = locate(plan, nothing)
    context = _Context(nothing, inventory, cables)
    is_selected = context.matcher(selector)
    chosen = []
    unclear: set[str] = set()
    for cable in cables:
        candidate = context.of_cable(cable)
        ends = context.unclear_ends(cable.planned)
        if ends and is_selected(replace(candidate, type="isl")) != is_selected(
            replace(candidate, type="host")
        ):
            unclear.update(ends)
        elif is_selected(candidate):
            chosen.append(cable.planned)
    if unclear:
        raise InputError(
            f"{plan.file}: it is unclear whether {fold(unclear)} is a switch or a host; name it in "
            "the inventory, switches in the group 'switches'"
        )
    absent = [node.name for node in context.absent_items(selector)]
    if absent:
        raise InputError(f"{plan.file}: has no cable of {fold(absent)}; add it to the plan")
    return tuple(chosen)


def find(planned: PlannedCable, located: Mapping[PlannedCable, PlacedCable]) -> Link | PlacedCable:
    """One planned cable in the fabric: the link, or what was seen of its ends.

    Args:
        planned: the cable.
        located: every planned cable, from ``by_plan``; make it once per fabric.
    """
    cable = located[planned]
    return cable.link if cable.link is not None else cable


def by_plan(plan: Plan, fabric: Fabric) -> Mapping[PlannedCable, PlacedCable]:
    """Every planned cable as the fabric shows it.

    Raises:
        InputError: as ``locate``.
    """
    return {cable.planned: cable for cable in locate(plan, fabric)}


def nodes_named(text: str, fabric: Fabric, inventory: Inventory | None) -> set[Guid | str]:
    """Node GUIDs that a group, pattern or node set names.

    Raises:
        InputError: an unknown name.
    """
    return _Context(fabric, inventory, ()).nodes(text)

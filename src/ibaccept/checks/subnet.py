"""Expectations about the subnet and its manager."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ibaccept.checks.base import Area, Expectation
from ibaccept.checks.links import ANOTHER_LOOK
from ibaccept.checks.proof import Aspect
from ibaccept.fabric.model import Guid
from ibaccept.fabric.wording import reasons
from ibaccept.observe.agreement import owner_of, unplaced
from ibaccept.observe.snapshot import MASTER, STANDBY, SeenManager, Snapshot
from ibaccept.site.fields import AtLeastOne, Count, GuidField
from ibaccept.verdict import Different, ItemAnswer, Met, same
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef


class SubnetManager(Expectation):
    """The subnet has the ordered subnet managers.

    The number of masters is exact. The GUID shows whether a manager runs on a host or in a switch:
    a switch's own manager has the switch's node GUID.

    ```yaml
    - id: one-sm
      kind: subnet-manager
      masters: 1
      on: host
      standbys: 1
      because: "managers embedded in switches hide the routing options"
    ```
    """

    area: ClassVar[Area] = "subnet"

    kind: Literal["subnet-manager"]
    masters: AtLeastOne = Field(default=1, description="number of masters, exactly")
    on: Literal["host", "switch"] | None = Field(default=None, description="where the master runs")
    guid: GuidField | None = Field(
        default=None, description="port GUID of the master on a host, node GUID of one in a switch"
    )
    standbys: Count | None = Field(
        default=None, description="number of standbys, exactly; not judged when left out"
    )
    priority: Annotated[int, Field(strict=True, ge=0, le=15)] | None = Field(
        default=None, description="priority of the master"
    )

    @property
    def aspects(self) -> Mapping[str, str]:
        """What is expected of each ordered aspect: ``masters``: ``1 master``."""
        found = {"masters": _number("masters", self.masters)}
        if self.on is not None:
            found["on"] = _on(self.on)
        if self.guid is not None:
            found["guid"] = _guid(self.guid)
        if self.standbys is not None:
            found["standbys"] = _number("standbys", self.standbys)
        if self.priority is not None:
            found["priority"] = _priority(self.priority)
        return found

    @property
    def ordered(self) -> str:
        """``1 master, master on a host, 1 standby``."""
        return ", ".join(self.aspects.values())


QUERY_EACH = "query each with 'sminfo LID' on the observer"


def aspects(snapshot: Snapshot, ordered: SubnetManager) -> list[Aspect]:
    """The aspects an entry orders, each with the lines that show it.

    Raises:
        NotSeenError: no subnet manager could be queried.
    """
    seen = snapshot.managers
    captures: tuple[CaptureRef, ...] = (
        *(manager.capture for manager in seen.found),
        *(line for part in seen.silent for line in part.captures),
    )
    if seen.none is not None:
        captures = (seen.none,)
    return [
        Aspect("subnet-manager", name, captures=captures, command="sminfo")
        for name in ordered.aspects
    ]


def judged(snapshot: Snapshot, ordered: SubnetManager) -> Callable[[Aspect], ItemAnswer]:
    """A function of the aspect: met, what differs, or what was not seen."""
    seen = snapshot.managers
    masters = [manager for manager in seen.found if manager.state == MASTER]
    standbys = [manager for manager in seen.found if manager.state == STANDBY]
    fabric = snapshot.fabric
    adrift = [why for one in seen.found if (why := unplaced(one, fabric)) is not None]
    silent = reasons([*(part.reason for part in seen.silent), *adrift])
    if any(manager.state is None for manager in seen.found):
        silent = "sminfo is too old to print a state"

    def master(aspect: Aspect) -> ItemAnswer:
        if not masters:
            why = silent or f"there is no master, so its {aspect.name} cannot be judged"
            return NotSeen("the master", why)
        one = masters[0]
        if len(masters) > 1:
            return NotSeen("the master", f"there are {len(masters)} masters, so none is the master")
        if adrift:
            return NotSeen("the master", "; ".join(adrift), ANOTHER_LOOK, (one.capture,))
        match aspect.name:
            case "on":
                return same(_on(ordered.on), _on(_where(snapshot, one)))
            case "guid":
                return same(_guid(ordered.guid), _guid(one.guid))
            case _:
                return same(_priority(ordered.priority), _priority(one.priority))

    def of(aspect: Aspect) -> ItemAnswer:
        if aspect.name in {"masters", "standbys"}:
            found = masters if aspect.name == "masters" else standbys
            number = ordered.masters if aspect.name == "masters" else ordered.standbys
            assert number is not None  # noqa: S101 - only ordered aspects are judged
            return _count(snapshot, aspect.name, number, found, silent)
        return master(aspect)

    return of


def managers_note(snapshot: Snapshot) -> str:
    """Who is master and who stands by: ``Master: mgmt01/1 (LID 1, priority 0). Standbys: none.``.

    Raises:
        NotSeenError: no subnet manager could be asked.
    """
    found = snapshot.managers.found
    masters = [_described(snapshot, one) for one in found if one.state == MASTER]
    standbys = [_described(snapshot, one) for one in found if one.state == STANDBY]
    others = [_described(snapshot, one) for one in found if one.state not in {MASTER, STANDBY}]
    parts = [
        f"Master: {', '.join(masters) or 'none'}",
        f"Standbys: {', '.join(standbys) or 'none'}",
    ]
    if others:
        parts.append(f"In another state: {', '.join(others)}")
    return ". ".join(parts) + "."


def _described(snapshot: Snapshot, manager: SeenManager) -> str:
    state = "" if manager.state in {MASTER, STANDBY} else f", {manager.state_name or 'no state'}"
    owner = owner_of(manager.guid, snapshot.fabric)
    where = snapshot.fabric.port_name(owner) if owner is not None else str(manager.guid)
    return f"{where} (LID {manager.lid}, priority {manager.priority}{state})"


def _count(
    snapshot: Snapshot, what: str, number: int, found: list[SeenManager], silent: str
) -> ItemAnswer:
    if len(found) > number or (len(found) < number and not silent):
        who = ", ".join(f"LID {m.lid} on {_name(snapshot, m)}" for m in found)
        gone = (
            ": the node of the last one answers, its SM does not" if snapshot.managers.gone else ""
        )
        return Different(_number(what, len(found)) + (f": {who}" if who else gone))
    if silent:
        reason = f"{_number(what, len(found))} answered, but {silent}"
        return NotSeen(f"the {what}", reason, QUERY_EACH)
    return Met()


def _number(what: str, number: int) -> str:
    """``1 master``, ``2 masters``."""
    return f"{number} {what.removesuffix('s') if number == 1 else what}"


def _on(where: str | None) -> str:
    return f"master on a {where}" if where == "host" else f"master in a {where}"


def _guid(guid: Guid | None) -> str:
    return f"master with GUID {guid}"


def _priority(number: int | None) -> str:
    return f"master with priority {number}"


def _where(snapshot: Snapshot, manager: SeenManager) -> str:
    """A switch's own SM answers with the switch's node GUID; any other runs on a host."""
    node = snapshot.fabric.nodes.get(manager.guid)
    return "switch" if node is not None and node.is_switch else "host"


def _name(snapshot: Snapshot, manager: SeenManager) -> str:
    owner = snapshot.fabric.lid_owner.get(int(manager.lid))
    return (
        snapshot.fabric.nodes[owner.guid].name.strip() if owner is not None else str(manager.guid)
    )

"""Expectations about the subnet and its manager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ibaccept.checks.base import Area, Expectation
from ibaccept.checks.proof import Aspect
from ibaccept.observe.snapshot import MASTER, STANDBY, SeenManager, Snapshot
from ibaccept.site.fields import AtLeastOne, Count, GuidField
from ibaccept.verdict import Different, Unseen
from ibaccept.verdict.evidence import CaptureRef


class SubnetManager(Expectation):
    """The subnet is managed as ordered.

    Exactly so many subnet managers say they are master. Whether one runs on a host or in a switch
    is told by its GUID: a switch's own manager has the switch's node GUID.

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
    masters: AtLeastOne = Field(default=1, description="exactly so many masters")
    on: Literal["host", "switch"] | None = Field(default=None, description="where the master runs")
    guid: GuidField | None = Field(
        default=None, description="port GUID of the master on a host, node GUID of one in a switch"
    )
    standbys: Count | None = Field(
        default=None, description="exactly so many standbys; not judged when left out"
    )
    priority: Annotated[int, Field(strict=True, ge=0, le=15)] | None = Field(
        default=None, description="priority of the master"
    )


AS_ORDERED = "as ordered"


ASK = "ask each with 'sminfo LID' on the observer"


def aspects(snapshot: Snapshot, ordered: SubnetManager) -> list[Aspect]:
    """The aspects an entry orders, each with the lines that show it.

    Raises:
        NotSeenError: no subnet manager could be asked.
    """
    seen = snapshot.managers
    captures: tuple[CaptureRef, ...] = tuple(manager.capture for manager in seen.found)
    if seen.none is not None:
        captures = (seen.none,)
    optional = ("on", "guid", "standbys", "priority")
    names = ("masters", *(name for name in optional if getattr(ordered, name) is not None))
    return [Aspect("subnet-manager", name, captures=captures, command="sminfo") for name in names]


def judged(
    snapshot: Snapshot, ordered: SubnetManager
) -> Callable[[Aspect], str | Different | Unseen]:
    """A function of the aspect: ``as ordered``, what differs, or what was not seen."""
    seen = snapshot.managers
    masters = [manager for manager in seen.found if manager.state == MASTER]
    standbys = [manager for manager in seen.found if manager.state == STANDBY]
    silent = "; ".join(seen.silent)
    if any(manager.state is None for manager in seen.found):
        silent = "sminfo is too old to print a state"

    def master(aspect: Aspect) -> str | Different | Unseen:
        if not masters:
            return Unseen(silent or f"there is no master, so its {aspect.name} cannot be judged")
        one = masters[0]
        if len(masters) > 1:
            return Unseen(f"there are {len(masters)} masters, so none is the master")
        match aspect.name:
            case "on":
                return _same(str(ordered.on), _where(snapshot, one))
            case "guid":
                return _same(str(ordered.guid), str(one.guid))
            case _:
                return _same(str(ordered.priority), str(one.priority))

    def of(aspect: Aspect) -> str | Different | Unseen:
        if aspect.name in {"masters", "standbys"}:
            found = masters if aspect.name == "masters" else standbys
            number = ordered.masters if aspect.name == "masters" else ordered.standbys
            assert number is not None  # noqa: S101 - only ordered aspects are judged
            return _count(snapshot, aspect.name, number, found, silent)
        return master(aspect)

    return of


def _count(
    snapshot: Snapshot, what: str, number: int, found: list[SeenManager], silent: str
) -> str | Different | Unseen:
    if len(found) > number or (len(found) < number and not silent):
        who = ", ".join(f"LID {m.lid} on {_name(snapshot, m)}" for m in found)
        gone = (
            ": the node of the last one answers, its SM does not" if snapshot.managers.gone else ""
        )
        return Different(f"{len(found)} {what}" + (f": {who}" if who else gone), f"{number} {what}")
    if silent:
        return Unseen(f"{len(found)} {what} answered, but {silent}", ASK)
    return AS_ORDERED


def _same(ordered: str, found: str) -> str | Different:
    return AS_ORDERED if ordered == found else Different(found, ordered)


def _where(snapshot: Snapshot, manager: SeenManager) -> str:
    """A switch's own SM answers with the switch's node GUID; any other runs on a host."""
    node = snapshot.fabric.nodes.get(manager.guid)
    return "switch" if node is not None and node.is_switch else "host"


def _name(snapshot: Snapshot, manager: SeenManager) -> str:
    owner = snapshot.fabric.lid_owner.get(int(manager.lid))
    return (
        snapshot.fabric.nodes[owner.guid].name.strip() if owner is not None else str(manager.guid)
    )

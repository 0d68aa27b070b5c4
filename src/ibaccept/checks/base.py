"""What every kind of expectation has in common."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import AfterValidator, Field, StringConstraints

from ibaccept.checks.selector import LinkSelector
from ibaccept.fabric.nodeset import fold
from ibaccept.observe.snapshot import Snapshot
from ibaccept.site.fields import Strict
from ibaccept.site.settings import Settings

Area = Literal["links", "cabling", "counters", "subnet", "routes", "throughput", "hosts"]
Severity = Literal["blocker", "critical", "normal", "minor", "trivial"]
PYTEST_MARKS = {"filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"}
"""Marks that pytest itself acts on; an entry with one would not be judged as written."""


def _mark(value: str) -> str:
    if value in PYTEST_MARKS:
        raise ValueError(f"{value!r} is a mark that pytest itself acts on; use another word")
    return value


Mark = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$"), AfterValidator(_mark)]


WorkloadName = Literal["filesystem", "rdma"]
WORKLOADS: tuple[WorkloadName, ...] = get_args(WorkloadName)


Absent = Literal["refused", "allowed"]
AbsentField = Annotated[
    Absent,
    Field(
        description="hosts of the job, or of the groups clients and storage, that the fabric does "
        "not show; allowed leaves them out"
    ),
]


def absent_note(snapshot: Snapshot, absent: Absent) -> tuple[str, ...]:
    """Names the hosts that ``absent: allowed`` leaves out; nothing where it leaves out none."""
    if absent == "refused" or not snapshot.absent:
        return ()
    names = fold(gap.name for gap in snapshot.absent)
    return (f"not in the fabric, and left out by absent: allowed: {names}",)


@dataclass(frozen=True, slots=True)
class Need:
    """What an entry cannot be judged without; a run observes the union of its entries' needs.

    Attributes:
        windows: seconds between the first counter sweep and one more.
        job: the job's LIDs, by ``ibstat`` on its hosts.
        workloads: load runs of these workloads.
        any_load: load runs of whatever workloads the file has.
    """

    windows: frozenset[float] = frozenset()
    job: bool = False
    workloads: frozenset[WorkloadName] = frozenset()
    any_load: bool = False

    @property
    def load(self) -> bool:
        """True where load runs are needed."""
        return self.any_load or bool(self.workloads)

    def __or__(self, other: Need) -> Need:
        return Need(
            self.windows | other.windows,
            self.job or other.job,
            self.workloads | other.workloads,
            self.any_load or other.any_load,
        )


class Expectation(Strict):
    """One entry of ``expect:``. A kind is a subclass with a ``kind: Literal[...]`` of its own.

    The first line of a kind's docstring is the sentence of the reports; the YAML example in it is
    documentation and is loaded by a test.

    Attributes:
        id: name of the entry in every report; stable over runs.
        kind: which class this is.
        because: why it was ordered; printed with every failure.
        severity: for the reports.
        marks: pytest marks, for ``-m``.
        area: what the entry is about; a test module and an Allure feature each.
        needs_load: every entry of the kind is judged only with ``--load``.
        workloads: entries of ``workloads:`` no entry of the kind can do without.
        unplanned_too: with ``each: cable``, one item more for the cables that no plan names.
    """

    area: ClassVar[Area]
    needs_load: ClassVar[bool] = False
    workloads: ClassVar[frozenset[WorkloadName]] = frozenset()
    unplanned_too: ClassVar[bool] = False

    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")] = Field(
        description="name of the entry in every report"
    )
    kind: str
    because: str = Field(default="", description="why it was ordered; printed with every failure")
    severity: Severity = "normal"
    marks: tuple[Mark, ...] = Field(default=(), description="pytest marks, such as nightly")

    def needs(self) -> Need:
        """What has to be observed before the entry can be judged."""
        return Need(job=bool(self.workloads), workloads=self.workloads)

    def each_cables(self) -> LinkSelector | None:
        """Which planned cables are an item each; None where the entry is one item."""
        return None

    def plan_named(self) -> str | None:
        """The cabling plan the entry is held against, as the file names it."""
        return None

    def problems(self, settings: Settings) -> Iterator[str]:
        """What of the rest of the file the entry cannot be judged by, a sentence each."""
        need = self.needs()
        if need.job and settings.job is None:
            yield f"{self.kind} needs 'job:' with clients and storage"
        given = settings.workloads
        for name in WORKLOADS:
            if name in need.workloads and getattr(given, name) is None:
                yield f"{self.kind} needs 'workloads:' with {name}"
        if need.any_load and given.filesystem is None and given.rdma is None:
            yield "window: load needs 'workloads:' with filesystem or rdma"

    @property
    def ordered(self) -> str:
        """What the entry expects, in words with its values: ``4X HDR``."""
        raise NotImplementedError

    @property
    def is_under_load(self) -> bool:
        """True where this entry is judged only with ``--load``."""
        return self.needs().load

    @classmethod
    def kind_name(cls) -> str | None:
        """``link-rate``; None for a class that is no kind itself."""
        values: tuple[Any, ...] = get_args(cls.model_fields["kind"].annotation)
        return str(values[0]) if values else None

    @classmethod
    def sentence(cls) -> str:
        """What the kind says: the first line of its docstring."""
        return inspect.getdoc(cls).splitlines()[0] if cls.__doc__ else ""  # type: ignore[union-attr] # has a docstring

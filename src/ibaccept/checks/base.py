"""What every kind of expectation has in common."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import AfterValidator, Field, StringConstraints

from ibaccept.site.fields import Strict

Area = Literal["links", "cabling", "counters", "subnet", "routes", "throughput", "hosts"]
Severity = Literal["blocker", "critical", "normal", "minor", "trivial"]
PYTEST_MARKS = {"filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"}
"""Marks by which pytest acts; an entry that named one would not be judged as it is written."""


def _mark(value: str) -> str:
    if value in PYTEST_MARKS:
        raise ValueError(f"{value!r} is a mark pytest itself acts by; use another word")
    return value


Mark = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$"), AfterValidator(_mark)]


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
        needs_load: judged only with ``--load``.
        needs_workloads: entries of ``workloads:`` it cannot do without.
    """

    area: ClassVar[Area]
    needs_load: ClassVar[bool] = False
    needs_workloads: ClassVar[tuple[str, ...]] = ()

    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")] = Field(
        description="name of the entry in every report"
    )
    kind: str
    because: str = Field(default="", description="why it was ordered; printed with every failure")
    severity: Severity = "normal"
    marks: tuple[Mark, ...] = Field(default=(), description="pytest marks, such as nightly")

    @property
    def is_under_load(self) -> bool:
        """True where this entry is judged only with ``--load``."""
        return self.needs_load

    @property
    def workloads_needed(self) -> tuple[str, ...]:
        """Names of the workloads this entry is judged from."""
        return self.needs_workloads

    @property
    def needs_job(self) -> bool:
        """True where the entry is about the job's nodes."""
        return bool(self.workloads_needed)

    @classmethod
    def kind_name(cls) -> str | None:
        """``link-rate``; None for a class that is no kind itself."""
        values: tuple[Any, ...] = get_args(cls.model_fields["kind"].annotation)
        return str(values[0]) if values else None

    @classmethod
    def sentence(cls) -> str:
        """What the kind says: the first line of its docstring."""
        return inspect.getdoc(cls).splitlines()[0] if cls.__doc__ else ""  # type: ignore[union-attr] # has a docstring

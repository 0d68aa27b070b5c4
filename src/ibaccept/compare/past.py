"""A finished run, read back from its folder: verdicts, inputs, sweep and load runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ibaccept.checks.base import Expectation
from ibaccept.errors import IbacceptError, InputError
from ibaccept.load.result import LoadRuns
from ibaccept.observe.snapshot import Snapshot
from ibaccept.report.json_report import VERDICTS, VerdictsDocument, load_document
from ibaccept.report.meta import epoch
from ibaccept.run.inputs import Inputs
from ibaccept.run.loads import ended_load, recorded_loads
from ibaccept.run.look import recorded_snapshot
from ibaccept.run.record import RunInfo, replay_inputs
from ibaccept.verdict.absence import NotSeen


def _silent(_step: str) -> None:
    """Take no progress."""


HINT = "judge the run again with --replay to see what is wrong with its folder"


@dataclass(frozen=True)
class PastRun:
    """One finished run.

    Attributes:
        folder: of the run, as it was given.
        document: its verdicts.json.
        inputs: its own copies of expectations and inventory; or why they cannot be used.
        snapshot: the sweep, from its captures; or why there is none.
        loads: its load runs; None where it made none.
    """

    folder: Path
    document: VerdictsDocument
    inputs: Inputs | NotSeen
    snapshot: Snapshot | NotSeen
    loads: LoadRuns | NotSeen | None

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read a run's folder. Verdicts are needed; what else cannot be read says why.

        Raises:
            IbacceptError: the folder holds no verdicts.json, or one that cannot be read.
        """
        if not (folder / VERDICTS).is_file():
            raise InputError(
                f"{folder} holds no {VERDICTS}; name the folder of a finished run, such as "
                "reports/latest"
            )
        document = load_document(folder / VERDICTS)
        source = folder.resolve()
        try:
            inputs = replay_inputs(source, None, None)
            info = RunInfo.read(source)
        except IbacceptError as error:
            part = NotSeen(f"the inputs of {folder}", str(error), HINT)
            return cls(folder, document, part, part, None)
        try:
            snapshot = recorded_snapshot(source, inputs)
        except IbacceptError as error:
            part = NotSeen(f"the captures of {folder}", str(error), HINT)
            return cls(folder, document, inputs, part, None)
        if not ended_load(source):
            return cls(folder, document, inputs, snapshot, None)
        try:
            loads = recorded_loads(source, inputs, snapshot, info=info, progress=_silent).runs
        except IbacceptError as error:
            part = NotSeen(f"the load runs of {folder}", str(error), HINT)
            return cls(folder, document, inputs, snapshot, part)
        return cls(folder, document, inputs, snapshot, loads)

    @property
    def started(self) -> float | None:
        """Seconds since the epoch; None where the document does not say."""
        return epoch(self.document.started)

    def entries(self) -> dict[str, Expectation]:
        """The orders by id; empty where the inputs could not be read."""
        if isinstance(self.inputs, NotSeen):
            return {}
        return {entry.id: entry for entry in self.inputs.expectations.entries}

    def plan_rows(self) -> object:
        """The rows of the cabling plan, to be compared; None where there is none."""
        if isinstance(self.inputs, NotSeen) or self.inputs.plan is None:
            return None
        return self.inputs.plan.cables

    def load_settings(self) -> object:
        """What the load runs were made and judged by, to be compared; None where not known."""
        if isinstance(self.inputs, NotSeen):
            return None
        known = self.inputs.expectations
        return known.workloads, known.ceilings

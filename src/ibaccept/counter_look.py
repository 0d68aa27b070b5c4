"""One counter sweep: ibqueryerrors for errors, then for data, one process each."""

from __future__ import annotations

from dataclasses import dataclass

from ibaccept import commands
from ibaccept.model import Fabric
from ibaccept.observer import (
    Observer,
    file_of,
)
from ibaccept.parse import (
    ibqueryerrors,
)
from ibaccept.snapshot import (
    NotSeen,
)
from ibaccept.sweep import Sweep, read_sweep
from ibaccept.transport import CommandResult


@dataclass(frozen=True)
class RawSweep:
    """Outputs of one sweep; assigned to ports when the topology is known."""

    errors: tuple[ibqueryerrors.QueryErrors, CommandResult] | NotSeen
    data: CommandResult | NotSeen

    @classmethod
    def read(cls, observer: Observer) -> RawSweep:
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
            file=file_of(result),
            data_text=data.text if data is not None else None,
            data_file=file_of(data) if data is not None else None,
        )

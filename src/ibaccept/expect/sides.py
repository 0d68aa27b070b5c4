"""The two sides of a job: LIDs that reads go to, and LIDs that writes go to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ibaccept.lids import JobLids

SHOWN = 3


@dataclass(frozen=True, slots=True)
class JobSides:
    """Clients and storage, with how each host's LIDs are known.

    Attributes:
        unasked: why hosts could not be asked for their own ``ibstat``, a sentence each.
    """

    clients: JobLids
    storage: JobLids
    unasked: tuple[str, ...] = ()

    @property
    def names(self) -> Mapping[int, str]:
        """Host by LID."""
        owners = {**self.clients.owner, **self.storage.owner}
        return {lid: host.host for lid, host in owners.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """How the LIDs are known."""
        told = tuple(
            f"{side}: {note}"
            for side, lids in (("clients", self.clients), ("storage", self.storage))
            for note in lids.notes
        )
        return (*told, *unasked_notes(self.unasked))


def unasked_notes(reasons: Sequence[str]) -> tuple[str, ...]:
    """One sentence about all hosts that could not be asked; the first few reasons."""
    if not reasons:
        return ()
    more = f"; and {len(reasons) - SHOWN} more" if len(reasons) > SHOWN else ""
    return (f"hosts that could not be asked for their ibstat: {'; '.join(reasons[:SHOWN])}{more}",)

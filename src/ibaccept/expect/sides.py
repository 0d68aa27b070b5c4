"""The two sides of a job: LIDs that reads go to, and LIDs that writes go to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ibaccept.lids import JobLids


@dataclass(frozen=True, slots=True)
class JobSides:
    """Clients and storage, with how each host's LIDs are known."""

    clients: JobLids
    storage: JobLids

    @property
    def names(self) -> Mapping[int, str]:
        """Host by LID."""
        owners = {**self.clients.owner, **self.storage.owner}
        return {lid: host.host for lid, host in owners.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """How the LIDs are known."""
        return tuple(
            f"{side}: {note}"
            for side, lids in (("clients", self.clients), ("storage", self.storage))
            for note in lids.notes
        )

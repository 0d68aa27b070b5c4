"""The load runs of one run of the suite: made at most once, when the first entry asks for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ibaccept.expect.measured import Measured
from ibaccept.expect.sides import JobSides
from ibaccept.load.result import LoadRuns
from ibaccept.snapshot import NotSeen, NotSeenError, Snapshot, Window
from ibaccept.sweep import Sweep


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the load runs gave, with the counter sweeps around them."""

    runs: LoadRuns
    before: Sweep | NotSeen
    after: Sweep | NotSeen


@dataclass
class LoadLook:
    """Makes the load runs when asked, and keeps them.

    Attributes:
        snapshot: the look before them.
        sides: finds the job's LIDs; asked late, because it can fail for one entry's sake.
        make: makes the load runs.
        adaptive: what the site says of adaptive routing.
    """

    snapshot: Snapshot
    sides: Callable[[Snapshot], JobSides]
    make: Callable[[], Loaded]
    adaptive: bool | None
    _loaded: list[Loaded] = field(default_factory=list)

    def loaded(self) -> Loaded:
        """The load runs; made at the first call."""
        if not self._loaded:
            self._loaded.append(self.make())
        return self._loaded[0]

    def window(self) -> Window:
        """The counter sweeps before and after all load runs.

        Raises:
            NotSeenError: one of them could not be made.
        """
        loaded = self.loaded()
        for sweep in (loaded.before, loaded.after):
            if isinstance(sweep, NotSeen):
                raise NotSeenError(sweep)
        assert isinstance(loaded.before, Sweep)  # noqa: S101 - not NotSeen
        assert isinstance(loaded.after, Sweep)  # noqa: S101 - not NotSeen
        return Window(loaded.before, loaded.after)

    def measured(self) -> Measured:
        """The job under load.

        Raises:
            NotSeenError: the fabric was not seen.
            InputError: a host of the job has no LID in this subnet.
        """
        sides = self.sides(self.snapshot)
        loaded = self.loaded()
        try:
            window: Window | NotSeen = self.window()
        except NotSeenError as error:
            window = error.part
        return Measured(self.snapshot, sides, loaded.runs, window, self.adaptive)

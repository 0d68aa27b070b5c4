"""The load runs of one run of the suite: made at most once, when the first entry asks for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ibaccept import commands
from ibaccept.checks.throughput.measured import Measured
from ibaccept.errors import IbacceptError
from ibaccept.load.pace import Pace
from ibaccept.load.result import LoadRuns
from ibaccept.load.runs import LABEL, run_load
from ibaccept.observe.counters import Sweep
from ibaccept.observe.lids import JobSides
from ibaccept.observe.look import sweep_again
from ibaccept.observe.snapshot import Snapshot, Window
from ibaccept.run.inputs import Inputs
from ibaccept.run.record import INPUTS, LOADED, RunInfo, alone
from ibaccept.transport.captures import CAPTURES, Bundle
from ibaccept.transport.replay import RecordingTransport, ReplayTransport
from ibaccept.transport.router import open_transport
from ibaccept.verdict.absence import NotSeen, NotSeenError


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the load runs gave, with the counter sweeps around them."""

    runs: LoadRuns
    before: Sweep | NotSeen
    after: Sweep | NotSeen


@dataclass
class LoadLook:
    """Makes the load runs when the first entry needs them, and keeps them.

    Attributes:
        snapshot: the sweep before them.
        sides: finds the job's LIDs; called late, because its failure concerns single entries.
        make: makes the load runs.
        adaptive: adaptive routing is on, off, or not known.
    """

    snapshot: Snapshot
    sides: Callable[[Snapshot], JobSides]
    make: Callable[[], Loaded]
    adaptive: bool | None
    _loaded: list[Loaded] = field(default_factory=list)
    _failed: IbacceptError | None = None

    def loaded(self) -> Loaded:
        """The load runs; made at the first call, and never a second time where that failed.

        Raises:
            IbacceptError: they could not be made; the same for every entry under load.
        """
        if self._failed is not None:
            raise self._failed
        if not self._loaded:
            try:
                self._loaded.append(self.make())
            except IbacceptError as error:
                self._failed = error
                raise
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


def take_loads(
    run_dir: Path,
    inputs: Inputs,
    snapshot: Snapshot,
    *,
    info: RunInfo,
    ssh_config: Path | None,
    progress: Callable[[str], None],
) -> Loaded:
    """The load runs of this run, with a counter sweep before and after; made once, as the sweep.

    Args:
        run_dir: the run's folder; its captures of load runs, where complete, are read.
        inputs: what to run.
        snapshot: the sweep before.
        info: its token, and the pace.
        ssh_config: see ``open_transport``.
        progress: takes each step, a line each.
    """
    marker = run_dir / CAPTURES / LOADED
    # Not the file of the look: who only reads the look need not wait for the load.
    with alone(run_dir / INPUTS / "expectations.yaml"):
        if not marker.is_file():
            recording = RecordingTransport(
                open_transport(commands.permit(load=True), ssh_config=ssh_config), Bundle(run_dir)
            )
            try:
                loaded = _load(recording, inputs, snapshot, info.token, info.pace, progress)
            finally:
                recording.close()
            marker.touch()
            return loaded
    return recorded_loads(run_dir, inputs, snapshot, info=info, progress=progress)


def ended_load(run_dir: Path) -> bool:
    """True where a run made load runs, all of them to their end."""
    return (run_dir / CAPTURES / LOADED).is_file()


def recorded_loads(
    run_dir: Path,
    inputs: Inputs,
    snapshot: Snapshot,
    *,
    info: RunInfo,
    progress: Callable[[str], None],
) -> Loaded:
    """The load runs of a run, from its captures alone; the arguments as in ``take_loads``.

    Raises:
        NotSeenError: the run was cut short before they had ended.
        IbacceptError: the captures were cut or changed, or lack what the inputs order.
    """
    if not ended_load(run_dir):
        raise NotSeenError(
            NotSeen(
                "the load runs",
                "the run that is judged again was cut short before they had ended",
                "run the suite with --load against the fabric and let it end",
            )
        )
    replay = ReplayTransport(run_dir, label=LABEL)
    at_once = replace(info.pace, sleep=lambda _seconds: None)
    return _load(replay, inputs, snapshot, info.token, at_once, progress)


def _load(
    transport: RecordingTransport | ReplayTransport,
    inputs: Inputs,
    snapshot: Snapshot,
    token: str,
    pace: Pace,
    progress: Callable[[str], None],
) -> Loaded:
    with transport.labelled(LABEL):
        before = sweep_again(transport, inputs.inventory, snapshot, progress)
        runs = run_load(
            transport, inputs.load_inputs(token), snapshot, pace=pace, progress=progress
        )
        after = sweep_again(transport, inputs.inventory, snapshot, progress)
    return Loaded(runs, before, after)

"""One pytest run about a fabric: inputs, folder, sweep, load runs, lab. No pytest in here."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ibaccept.errors import InputError
from ibaccept.fabric.nodeset import fold
from ibaccept.observe.snapshot import Snapshot
from ibaccept.run.inputs import Inputs
from ibaccept.run.items import item_id
from ibaccept.run.loads import Loaded, LoadLook, recorded_loads, take_loads
from ibaccept.run.look import recorded_snapshot, take_snapshot
from ibaccept.run.record import RunInfo, copy_captures, keep_inputs, new_run_dir, replay_inputs
from ibaccept.verdict import Verdict
from ibaccept.verdict.answer import NotRun

if TYPE_CHECKING:
    from ibaccept.lab.session import RunningLab

DEFAULTS = {
    "inventory": "inventory/site.yaml",
    "expectations": "expectations.yaml",
    "lab-backend": "ibsim",
    "reports": "reports",
}


@dataclass(frozen=True)
class Given:
    """The options of the run.

    Attributes:
        option: an option as given or from its environment variable, None where it is not.
        folder: relative paths start here.
        start_lab: starts a scenario with a backend.
    """

    option: Callable[[str], str | None]
    folder: Path
    start_lab: Callable[[str, str], RunningLab]

    def path(self, name: str) -> Path | None:
        """A path that was given; None where it was not."""
        text = self.option(name)
        return None if text is None else self.folder / text

    def path_or_default(self, name: str) -> Path:
        """A path that was given, or its default."""
        return self.folder / (self.option(name) or DEFAULTS[name])


@dataclass
class Session:
    """This pytest run.

    Attributes:
        inputs: accepted expectations and inventory.
        info: facts of the run, as in ``run.json``.
        run_dir: its folder.
        ssh_config: OpenSSH configuration to use instead of the user's.
        progress: takes each step, a line each.
        lab: the simulated fabric, where one was started.
        replay: the run that is judged again: nothing is sent, whatever its captures lack.
        verdicts: of every item that ended, in order (controller only).
        meta: observer, tools and warnings of the sweep, for the reports (controller only).
        skipped: items that did not run, by id (controller only).
        seen: the sweep, once it was made.
    """

    inputs: Inputs
    info: RunInfo
    run_dir: Path
    ssh_config: Path | None
    progress: Callable[[str], None]
    lab: RunningLab | None = None
    replay: Path | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    meta: dict[str, Any] = field(default_factory=dict)
    skipped: dict[str, NotRun] = field(default_factory=dict)
    seen: Snapshot | None = None
    _loads: LoadLook | None = None

    def snapshot(self) -> Snapshot:
        """The sweep of the fabric; made at most once per run."""
        if self.seen is None and self.replay is not None:
            self.seen = recorded_snapshot(self.run_dir, self.inputs)
        elif self.seen is None:
            self.seen = take_snapshot(
                self.run_dir, self.inputs, ssh_config=self.ssh_config, progress=self.progress
            )
        return self.seen

    def loads(self, snapshot: Snapshot) -> LoadLook:
        """The load runs; made at most once per run, when the first entry needs them."""
        if self._loads is None:
            self._loads = LoadLook(
                snapshot,
                self.inputs.job_lids,
                lambda: self._load(snapshot),
                self.inputs.adaptive.is_on,
            )
        return self._loads

    def _load(self, snapshot: Snapshot) -> Loaded:
        given = (self.run_dir, self.inputs, snapshot)
        if self.replay is not None:
            return recorded_loads(*given, info=self.info, progress=self.progress)
        return take_loads(
            *given, info=self.info, ssh_config=self.ssh_config, progress=self.progress
        )


def begin(given: Given, progress: Callable[[str], None], *, reports: Path | None = None) -> Session:
    """Accept the inputs, start the lab where one is named, make the run's folder.

    Args:
        given: the options.
        progress: called with every step, a line each.
        reports: folder for the run's folder instead of the given one.

    Raises:
        IbacceptError: bad input; a bundle that was changed; a lab that cannot start.
    """
    job = given.option("job")
    ssh_config = given.path("ssh-config")
    if ssh_config is not None and not ssh_config.is_file():
        raise InputError(f"there is no file {ssh_config}; name it with --ssh-config=FILE")
    lab: RunningLab | None = None
    source: Path | None = None
    load = bool(given.option("load"))
    if given.option("replay") is not None:
        if given.option("lab") is not None:
            raise InputError("--replay judges what was captured; it cannot be used with --lab")
        source = given.path_or_default("replay").resolve()
        inputs = replay_inputs(source, given.path("expectations"), given.path("inventory"), job)
        info = RunInfo.read(source)
        info = info if job is None else replace(info, job=job)
    elif (name := given.option("lab")) is not None:
        progress(f"starting the lab {name}")
        lab = given.start_lab(name, given.option("lab-backend") or DEFAULTS["lab-backend"])
        ssh_config = lab.ssh_config
        try:
            inputs = _lab_inputs(given, lab, job)
        except BaseException:
            lab.stop()
            raise
        info = RunInfo.now(inputs.expectations.fabric, job=job or lab.job, load=load, lab=True)
    else:
        inputs = Inputs.load(
            given.path_or_default("expectations"), given.path_or_default("inventory"), job
        )
        info = RunInfo.now(inputs.expectations.fabric, job=job, load=load)
    try:
        if load:
            inputs.check_load()
        run_dir = new_run_dir(
            reports or given.path_or_default("reports"),
            info if source is None else _replayed(info),
        )
        info = _filled(run_dir, inputs, info, source)
    except BaseException:
        if lab is not None:
            lab.stop()
        raise
    return Session(inputs, info, run_dir, ssh_config, progress, lab, source)


def _filled(run_dir: Path, inputs: Inputs, info: RunInfo, source: Path | None) -> RunInfo:
    """Write what a run begins with into its folder; the folder does not stay where it cannot be."""
    try:
        info = keep_inputs(run_dir, inputs, info)
        if source is not None:
            copy_captures(source, run_dir)
    except OSError as error:
        shutil.rmtree(run_dir, ignore_errors=True)
        raise InputError(
            f"{run_dir} could not be written ({error.strerror}); free space, or name another "
            "folder with --reports=FOLDER"
        ) from None
    except BaseException:
        shutil.rmtree(run_dir, ignore_errors=True)
        raise
    return info


def _replayed(info: RunInfo) -> RunInfo:
    """The run's facts with the time of now, for the name of the folder only."""
    return RunInfo.now(info.fabric, job=info.job, load=info.load)


def _lab_inputs(given: Given, lab: RunningLab, job: str | None) -> Inputs:
    expectations = given.path("expectations") or lab.expectations
    if expectations is None:
        raise InputError(
            f"the scenario {lab.scenario.name} has no expectations; give --expectations=FILE"
        )
    return Inputs.load(expectations, given.path("inventory") or lab.inventory, job or lab.job)


def join(sent: dict[str, Any], progress: Callable[[str], None]) -> Session:
    """A worker's part of the controller's run: the same files, the same folder."""
    run_dir = Path(sent["run_dir"])
    inputs = replay_inputs(run_dir, None, None)
    ssh_config, replay = sent["ssh_config"], sent.get("replay")
    return Session(
        inputs,
        RunInfo.read(run_dir),
        run_dir,
        None if ssh_config is None else Path(ssh_config),
        progress,
        replay=None if replay is None else Path(replay),
    )


def ids_of(run: Session) -> Iterator[str]:
    """Ids of all items of a run, in the order of the expectations."""
    for expected in run.inputs.expectations.entries:
        for cable in run.inputs.items(expected):
            yield item_id(expected, cable)


def job_text(run: Session) -> str:
    """The job in words; empty where there is none."""
    job = run.inputs.job
    return f"clients {fold(job.clients)}, storage {fold(job.storage)}" if job is not None else ""

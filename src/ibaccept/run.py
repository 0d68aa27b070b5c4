"""One run: its inputs, its folder, and the look at the fabric. Shared by the plugin and the CLI."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
import time
from collections.abc import Callable, Container, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Self

from filelock import FileLock

from ibaccept import assemble, commands
from ibaccept.bundle import CAPTURES, Bundle, CapturedResult
from ibaccept.bundle import load as load_bundle
from ibaccept.collect import Look, look, sweep_again
from ibaccept.errors import IbacceptError, InputError
from ibaccept.expect.adaptive import AdaptiveRouting, without_secrets
from ibaccept.expect.counters import ErrorCounters
from ibaccept.expect.file import Expectations, load_expectations
from ibaccept.expect.head import FilesystemWorkload, RdmaWorkload
from ibaccept.expect.sides import JobSides, unasked_notes
from ibaccept.inventory import Inventory, InventoryHost, job_nodes, load_inventory
from ibaccept.lids import lids_of
from ibaccept.load.inputs import FilesystemLoad, LoadInputs, Pace, RdmaLoad
from ibaccept.load.run import LABEL, run_load
from ibaccept.loadlook import Loaded
from ibaccept.model import Fabric, Rate
from ibaccept.nodeset import fold
from ibaccept.parse import iblinkinfo, ibnetdiscover
from ibaccept.parse.recorded import RecordedRun, parse_all
from ibaccept.plan import Plan, write_plan
from ibaccept.snapshot import NotSeen, Snapshot
from ibaccept.transport.replay import RecordingTransport, ReplayTransport
from ibaccept.transport.router import open_transport
from ibaccept.units import Bandwidth, Duration

INPUTS = "inputs"
RUN = "run.json"
COMPLETE = "complete"
LOADED = "loaded"


def fabric_of(run_dir: Path) -> Fabric:
    """The fabric an earlier run saw, from its captures.

    Raises:
        IbacceptError: its bundle holds no whole sweep.
    """
    found: dict[str, CapturedResult] = {}
    for entry in load_bundle(run_dir):
        if isinstance(entry, CapturedResult) and entry.argv[0] in {"ibnetdiscover", "iblinkinfo"}:
            found.setdefault(entry.argv[0], entry)
    for tool in ("ibnetdiscover", "iblinkinfo"):
        if tool not in found or found[tool].exit_code != 0 or found[tool].problem() is not None:
            raise InputError(f"{run_dir} holds no whole output of {tool}; name another run")
    topology = ibnetdiscover.parse(found["ibnetdiscover"].text)
    fabric, _ = assemble.merge(topology, iblinkinfo.parse(found["iblinkinfo"].text).rows)
    return fabric


CLOCK_SLACK = 300.0
"""Seconds by which the clock of a recorded result may be ahead of ours."""


@dataclass(frozen=True)
class Job:
    """Whose traffic is judged: inventory names."""

    clients: tuple[str, ...]
    storage: tuple[str, ...]


@dataclass(frozen=True)
class Inputs:
    """What a run goes by, all of it accepted.

    Attributes:
        job: None where the expectations name none.
        expectations_file: path read.
        inventory_file: path read.
        plan_files: where plans were read from that are not below the expectations' folder.
    """

    expectations: Expectations
    inventory: Inventory
    job: Job | None
    expectations_file: Path
    inventory_file: Path
    plan_files: Mapping[str, Path] = field(default_factory=dict)

    @classmethod
    def load(
        cls,
        expectations_file: Path,
        inventory_file: Path,
        job: str | None = None,
        plans: Mapping[str, Path] | None = None,
    ) -> Self:
        """Read and hold against each other. No connection is made.

        Args:
            expectations_file: expectations.yaml.
            inventory_file: the inventory.
            job: replaces the job's clients (``--job``).
            plans: where the plans are, by the text of ``plan:``, in a replay.

        Raises:
            InputError: every problem, a sentence each.
        """
        for path, what in ((expectations_file, "expectations"), (inventory_file, "inventory")):
            if not path.is_file():
                raise InputError(f"there is no file {path}; name the {what} with --{what}=FILE")
        expectations = load_expectations(
            expectations_file,
            name=expectations_file.name,
            load_fabric=fabric_of,
            plan_files=plans,
        )
        inventory = load_inventory(inventory_file)
        expectations.check(inventory)
        if not inventory.groups.get("observers"):
            raise InputError(
                f"{inventory_file}: the group observers is missing or empty; it names the hosts "
                "that run infiniband-diags"
            )
        return cls(
            expectations,
            inventory,
            _job(expectations, inventory, job),
            expectations_file,
            inventory_file,
            plans or {},
        )

    @property
    def ceilings(self) -> Mapping[Rate, Bandwidth]:
        """Payload of one idle link by rate, as the site measured it; empty where it did not."""
        given = self.expectations.ceilings
        return given if isinstance(given, Mapping) else {}

    @property
    def adaptive(self) -> AdaptiveRouting:
        """What is known of adaptive routing; where it is on, tables do not predict load."""
        return self.expectations.adaptive_routing

    @property
    def plan(self) -> Plan | None:
        """The cabling plan, where an entry names one."""
        return self.expectations.plan

    def look(self) -> Look:
        """What these entries need to see."""
        windows = {
            entry.window.seconds
            for entry in self.expectations.of_kind(ErrorCounters)
            if isinstance(entry.window, Duration)
        }
        return Look(tuple(sorted(windows)), self.job_hosts())

    def job_lids(self, snapshot: Snapshot) -> JobSides:
        """The LIDs of the job, by each host's own ``ibstat`` where it could be asked.

        Raises:
            NotSeenError: the fabric was not seen.
            InputError: a host without a LID in this subnet, or a name that fits no node or two.
        """
        assert self.job is not None  # noqa: S101 - the schema refuses such entries without a job
        names = dict.fromkeys((*self.job.clients, *self.job.storage))
        asked = {name: snapshot.hosts[name] for name in names if name in snapshot.hosts}
        stats = {name: stat for name, stat in asked.items() if not isinstance(stat, NotSeen)}
        silent = tuple(stat.reason for stat in asked.values() if isinstance(stat, NotSeen))
        try:
            clients, storage = (
                lids_of(snapshot.fabric, [self.inventory.hosts[name] for name in side], stats)
                for side in (self.job.clients, self.job.storage)
            )
        except InputError as error:
            raise InputError("; ".join((str(error), *unasked_notes(silent)))) from None
        return JobSides(clients, storage, silent)

    def check_load(self) -> None:
        """Refuse what no load run can go by, before any host is asked.

        Raises:
            InputError: every problem of recorded results; a host that is a client and a server.
        """
        if any(entry.is_under_load for entry in self.expectations.entries):
            self.load_inputs("")

    def load_inputs(self, token: str) -> LoadInputs:
        """What the load runs of these entries go by: only the workloads that one of them needs."""
        needed = {
            name
            for entry in self.expectations.entries
            if entry.is_under_load
            for name in entry.workloads_needed
        }
        if any(
            entry.is_under_load and not entry.workloads_needed
            for entry in self.expectations.entries
        ):
            needed |= {"filesystem", "rdma"}  # window: load is about whatever load there is
        workloads, job = self.expectations.workloads, self.job
        assert job is not None  # noqa: S101 - the schema refuses load entries without a job
        both = sorted(set(job.clients) & set(job.storage))
        if both:
            raise InputError(
                f"job: {fold(both)} {'are' if len(both) > 1 else 'is'} client and storage server: "
                "what such a host reads from itself crosses no cable; name it once"
            )
        filesystem = workloads.filesystem if "filesystem" in needed else None
        rdma = workloads.rdma if "rdma" in needed else None
        return LoadInputs(
            tuple(self.inventory.hosts[name] for name in job.clients),
            tuple(self.inventory.hosts[name] for name in job.storage),
            None if filesystem is None else self._filesystem_load(filesystem),
            None if rdma is None else _rdma_load(rdma),
            self.expectations.ceilings or {},
            token,
        )

    def _filesystem_load(self, given: FilesystemWorkload) -> FilesystemLoad:
        texts = []
        for file in given.file:
            path = self.plan_files.get(file, self.expectations_file.parent / file)
            try:
                texts.append((file, path.read_text("utf-8")))
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path}: byte {error.start + 1} is no UTF-8 text; give the result as YAML or "
                    "JSON, see workloads: filesystem: file"
                ) from None
            except OSError as error:
                raise InputError(
                    f"{path}: {error.strerror}; see workloads: filesystem: file"
                ) from None
        return FilesystemLoad(
            tool=given.tool,
            path=given.path,
            size_per_client=None if given.size_per_client is None else given.size_per_client.bytes,
            block=given.block.bytes,
            processes=given.processes,
            depth=given.depth,
            at_most=given.at_most.seconds,
            keep=given.keep,
            cached=given.cached == "allowed",
            engine=given.engine,
            direct=given.direct,
            recorded=_of_the_past(parse_all(texts)),
        )

    def job_hosts(self) -> tuple[InventoryHost, ...]:
        """Hosts whose own ``ibstat`` tells their LIDs, where an entry is about the job."""
        if self.job is None or not any(entry.needs_job for entry in self.expectations.entries):
            return ()
        names = dict.fromkeys((*self.job.clients, *self.job.storage))
        return tuple(self.inventory.hosts[name] for name in names)


def _of_the_past(runs: tuple[RecordedRun, ...]) -> tuple[RecordedRun, ...]:
    now = time.time()
    for run in runs:
        if run.end > now + CLOCK_SLACK:
            raise InputError(
                f"workloads: filesystem: the recorded {run.direction} run ends "
                f"{datetime.fromtimestamp(run.end, UTC):%Y-%m-%dT%H:%M:%SZ}, which is yet to come"
            )
    return runs


def _rdma_load(given: RdmaWorkload) -> RdmaLoad:
    return RdmaLoad(
        tool=given.tool,
        duration=max(1, round(given.duration.seconds)),
        message=given.message.bytes,
        qps=given.qps,
        direction=given.direction,
        pattern=given.pattern,
        depth=given.depth,
    )


def _job(expectations: Expectations, inventory: Inventory, clients: str | None) -> Job | None:
    named = expectations.job
    if named is None:
        if clients is not None:
            raise InputError(
                f"{expectations.file} has no 'job:', so --job has nothing to replace; "
                "add job: {clients: ..., storage: ...}"
            )
        return None
    chosen = job_nodes(clients if clients is not None else named.clients, inventory)
    return Job(chosen, inventory.node_set(named.storage))


@dataclass(frozen=True)
class RunInfo:
    """Facts of a run that a replay needs; ``run.json``.

    Attributes:
        started: UTC, ISO 8601.
        today: the day waivers are held against.
        job: the hosts ``--job`` named, None where it was not given. A file or a variable it was
            read from may say something else at the time of a replay.
        load: whether load runs were made.
        lab: the fabric is simulated: it has no ramp, and is sampled more often.
        token: names what the load runs leave on hosts while they last.
        sums: sha256 of each file below ``inputs/``, by its name there.
        plans: file of each plan and subnet file below ``inputs/``, by its text in the expectations.
    """

    fabric: str
    started: str
    today: str
    job: str | None = None
    load: bool = False
    lab: bool = False
    token: str = ""
    sums: Mapping[str, str] | None = None
    plans: Mapping[str, str] | None = None

    @property
    def day(self) -> date:
        """``today`` as a date."""
        return date.fromisoformat(self.today)

    @property
    def pace(self) -> Pace:
        """How long load runs wait, and how much of their begin is not steady."""
        return Pace(interval=1.0, ramp=1.5) if self.lab else Pace()

    @classmethod
    def now(cls, fabric: str, *, job: str | None, load: bool, lab: bool = False) -> Self:
        """A run that starts now."""
        started = datetime.now(UTC)
        return cls(
            fabric,
            started.strftime("%Y-%m-%dT%H:%M:%SZ"),
            started.date().isoformat(),
            job,
            load,
            lab,
            secrets.token_hex(8),
        )

    @classmethod
    def read(cls, run_dir: Path) -> Self:
        """The facts of an earlier run.

        Raises:
            InputError: there is no such run.
        """
        try:
            raw: dict[str, Any] = json.loads((run_dir / RUN).read_text("utf-8"))
            return cls(**raw)
        except (OSError, ValueError, TypeError) as error:
            raise InputError(
                f"{run_dir} is not the folder of a run ({RUN} cannot be read: {error})"
            ) from None


def new_run_dir(reports: Path, info: RunInfo) -> Path:
    """``reports/2026-11-30T101603Z-hall3``; another run in the same second gets a suffix."""
    try:
        reports.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{reports} cannot be made a folder for reports: {error.strerror}; name another with "
            "--reports=FOLDER"
        ) from None
    stamp = info.started.replace(":", "")
    name = f"{stamp}-{re.sub(r'[^A-Za-z0-9._-]+', '-', info.fabric)}"
    for number in range(1, 1000):
        path = reports / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(
                f"no folder for this run can be made in {reports}: {error.strerror}; "
                "name another with --reports=FOLDER"
            ) from None
        return path
    raise InputError(f"{reports} holds too many runs of {stamp}")


def keep_inputs(run_dir: Path, inputs: Inputs, info: RunInfo) -> RunInfo:
    """Copy expectations, inventory, plans and subnet files to the run's folder; ``run.json``."""
    folder = run_dir / INPUTS
    folder.mkdir(exist_ok=True)
    shutil.copyfile(inputs.expectations_file, folder / "expectations.yaml")
    shutil.copyfile(inputs.inventory_file, folder / "inventory.yaml")
    plans = {}
    for number, (text, plan) in enumerate(inputs.expectations.plans.items()):
        name = "cables.csv" if number == 0 else f"cables-{number + 1}.csv"
        source = inputs.plan_files.get(text, inputs.expectations_file.parent / text)
        if source.is_file():
            shutil.copyfile(source, folder / name)
        elif source.is_dir():
            (folder / name).write_text(write_plan(fabric_of(source)), "utf-8")
        else:
            raise InputError(f"{plan.file} is gone")
        plans[text] = f"{INPUTS}/{name}"
    for sign in inputs.expectations.adaptive_routing.signs:
        source = inputs.plan_files.get(sign.file, inputs.expectations_file.parent / sign.file)
        kept = without_secrets(source.read_text("utf-8", errors="replace"))
        (run_dir / sign.capture.file).write_text(kept, "utf-8")
        plans[sign.file] = sign.capture.file
    recorded = inputs.expectations.workloads.filesystem
    for number, file in enumerate(recorded.file if recorded is not None else ()):
        source = inputs.plan_files.get(file, inputs.expectations_file.parent / file)
        if source.is_file():  # a missing one is told by the entry that needs it
            shutil.copyfile(source, folder / f"recorded-{number + 1}")
            plans[file] = f"{INPUTS}/recorded-{number + 1}"
    # A file or SLURM_JOB_NODELIST may be gone or mean another job when the run is judged again.
    job = info.job if info.job is None or inputs.job is None else fold(inputs.job.clients)
    sums = {path.name: _sha256(path) for path in sorted(folder.iterdir())}
    done = RunInfo(**{**asdict(info), "plans": plans, "job": job, "sums": sums})
    (run_dir / RUN).write_text(json.dumps(asdict(done), indent=1) + "\n", "utf-8")
    return done


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _check_inputs(run_dir: Path, info: RunInfo, given: Container[str]) -> None:
    """Refuse inputs of a run that are no longer those it was judged by.

    Raises:
        InputError: a file is missing or was changed.
    """
    options = {"expectations.yaml": "--expectations", "inventory.yaml": "--inventory"}
    for name, known in (info.sums or {}).items():
        path = run_dir / INPUTS / name
        if name in given:
            continue
        if not path.is_file() or _sha256(path) != known:
            how = f"; to judge by another, give it with {options[name]}" if name in options else ""
            raise InputError(f"{path} was changed after the run, so it is not judged again{how}")


def replay_inputs(
    run_dir: Path, expectations: Path | None, inventory: Path | None, job: str | None = None
) -> Inputs:
    """Inputs of an earlier run, or others to judge the same captures by.

    Args:
        run_dir: of that run.
        expectations: others than its own.
        inventory: likewise.
        job: clients of another job than its own. Tables tell of any job; what was captured of the
            load is the load of that run, so nothing of it is seen for another.

    Raises:
        InputError: as ``Inputs.load``.
    """
    info = RunInfo.read(run_dir)
    given = {
        name
        for name, path in (("expectations.yaml", expectations), ("inventory.yaml", inventory))
        if path is not None
    }
    _check_inputs(run_dir, info, given)
    plans = {text: run_dir / name for text, name in (info.plans or {}).items()}
    return Inputs.load(
        expectations or run_dir / INPUTS / "expectations.yaml",
        inventory or run_dir / INPUTS / "inventory.yaml",
        info.job if job is None else job,
        plans if expectations is None else None,
    )


def copy_captures(source: Path, run_dir: Path) -> None:
    """The captures of an earlier run, for a replay's own report.

    Raises:
        IbacceptError: they are not there or not whole.
    """
    load_bundle(source)  # refuses a bundle that was cut or changed
    if not (source / CAPTURES / COMPLETE).is_file():
        raise IbacceptError(
            f"the look at the fabric in {source} was cut short, so its captures are not complete; "
            "run the suite against the fabric"
        )
    try:
        shutil.copytree(source / CAPTURES, run_dir / CAPTURES, dirs_exist_ok=True)
    except (OSError, shutil.Error) as error:
        first = error.args[0][0][-1] if isinstance(error, shutil.Error) else error.strerror
        shutil.rmtree(run_dir, ignore_errors=True)
        raise IbacceptError(
            f"the captures of {source} could not be copied to {run_dir}: {first}"
        ) from None


def take_snapshot(
    run_dir: Path,
    inputs: Inputs,
    *,
    ssh_config: Path | None,
    progress: Callable[[str], None],
) -> Snapshot:
    """The look of this run: made once, by whichever process comes first; the others read it.

    Args:
        run_dir: the run's folder; its captures, where complete, are read and nothing is sent.
        inputs: what to look for.
        ssh_config: see ``open_transport``.
        progress: told every step, a line each.
    """
    marker = run_dir / CAPTURES / COMPLETE
    with FileLock(run_dir / ".look.lock"):
        if not marker.is_file():
            recording = RecordingTransport(
                open_transport(commands.is_permitted, ssh_config=ssh_config), Bundle(run_dir)
            )
            try:
                snapshot = look(
                    recording, inputs.inventory, inputs.plan, inputs.look(), progress=progress
                )
            finally:
                recording.close()
            marker.touch()
            return snapshot
    return look(
        ReplayTransport(run_dir, label=""),
        inputs.inventory,
        inputs.plan,
        inputs.look(),
        sleep=lambda _seconds: None,
    )


def take_loads(
    run_dir: Path,
    inputs: Inputs,
    snapshot: Snapshot,
    *,
    info: RunInfo,
    ssh_config: Path | None,
    progress: Callable[[str], None],
) -> Loaded:
    """The load runs of this run, with a counter sweep before and after; made once, as the look.

    Args:
        run_dir: the run's folder; its captures of load runs, where complete, are read.
        inputs: what to run.
        snapshot: the look before.
        info: its token, and the pace.
        ssh_config: see ``open_transport``.
        progress: told every step, a line each.
    """
    marker = run_dir / CAPTURES / LOADED
    with FileLock(run_dir / ".load.lock"):
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

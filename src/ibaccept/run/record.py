"""The folder of a run: what is written where, and read back in a replay."""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Self

from pydantic import ConfigDict, TypeAdapter, ValidationError

from ibaccept.errors import IbacceptError, InputError
from ibaccept.fabric.nodeset import fold
from ibaccept.load.pace import Pace
from ibaccept.observe.captured import fabric_of
from ibaccept.run.inputs import Inputs
from ibaccept.site.files import SiteFiles, own_file
from ibaccept.site.masking import masked_inventory, masked_settings
from ibaccept.site.plan import write_plan
from ibaccept.transport.captures import CAPTURES
from ibaccept.transport.captures import load as load_bundle

INPUTS = "inputs"
RUN = "run.json"
COMPLETE = "complete"
LOADED = "loaded"
SUM = "sha256"
"""Key of the checksum in ``run.json``: of its other keys, sorted, as JSON."""


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

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

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

    def write(self, run_dir: Path) -> None:
        """Write ``run.json``, with a checksum of what it says."""
        known = asdict(self)
        text = json.dumps({**known, SUM: _sum(known)}, indent=1) + "\n"
        (run_dir / RUN).write_text(text, "utf-8")

    @classmethod
    def read(cls, run_dir: Path) -> Self:
        """The facts of an earlier run.

        Raises:
            InputError: there is no such run, or its ``run.json`` was changed.
        """
        try:
            facts = _unchanged(json.loads(own_file(run_dir, RUN).read_text("utf-8")))
            # As JSON: strict validation takes a mapping for the class only from there.
            info = TypeAdapter(cls).validate_json(json.dumps(facts))
            date.fromisoformat(info.today)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise _no_run(run_dir, f"{RUN}: {where}: {first['msg']}") from None
        except InputError as error:
            raise _no_run(run_dir, str(error)) from None
        except (OSError, ValueError, RecursionError) as error:
            raise _no_run(run_dir, f"{RUN} cannot be read: {error}") from None
        return info


def _no_run(run_dir: Path, why: str) -> InputError:
    return InputError(f"{run_dir} is not the folder of a run ({why})")


def _unchanged(raw: Any) -> dict[str, Any]:
    """What ``run.json`` says without its checksum; runs of older versions have none."""
    if not isinstance(raw, dict):
        raise InputError(f"{RUN} is no mapping")
    facts = {key: value for key, value in raw.items() if key != SUM}
    if SUM in raw and raw[SUM] != _sum(facts):
        raise InputError(f"{RUN} was changed after the run: its checksum is another")
    return facts


def _sum(known: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


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
    """Copy expectations, inventory, plans and subnet files to the run's folder; ``run.json``.

    The folder is handed to others: secrets are masked (see ``site.masking``), and no copy can be
    read by more users than its original.
    """
    folder = run_dir / INPUTS
    folder.mkdir(exist_ok=True)
    _keep(inputs.expectations_file, folder / "expectations.yaml")
    _keep(inputs.inventory_file, folder / "inventory.yaml", masked_inventory)
    plans = {}
    for number, (text, plan) in enumerate(inputs.expectations.plans.items()):
        source = inputs.files.path(text)
        suffix = ".xlsx" if source.suffix.lower() == ".xlsx" else ".csv"
        name = f"cables{suffix}" if number == 0 else f"cables-{number + 1}{suffix}"
        if source.is_file():
            _keep(source, folder / name)
        elif source.is_dir():
            (folder / name).write_text(write_plan(fabric_of(source)), "utf-8")
        else:
            raise InputError(f"{plan.file} was there and is no longer")
        plans[text] = f"{INPUTS}/{name}"
    for sign in inputs.expectations.adaptive_routing.signs:
        _keep(inputs.files.path(sign.file), run_dir / sign.capture.file, masked_settings)
        plans[sign.file] = sign.capture.file
    recorded = inputs.expectations.workloads.filesystem
    for number, file in enumerate(recorded.file if recorded is not None else ()):
        source = inputs.files.path(file)
        if source.is_file():  # a missing one is named by the entry that needs it
            _keep(source, folder / f"recorded-{number + 1}")
            plans[file] = f"{INPUTS}/recorded-{number + 1}"
    # A file or SLURM_JOB_NODELIST may be gone or mean another job when the run is judged again.
    job = info.job if info.job is None or inputs.job is None else fold(inputs.job.clients)
    sums = {path.name: _sha256(path) for path in sorted(folder.iterdir())}
    done = RunInfo(**{**asdict(info), "plans": plans, "job": job, "sums": sums})
    done.write(run_dir)
    return done


def _keep(source: Path, target: Path, mask: Callable[[str], str] | None = None) -> None:
    """Copy a file, its text masked; readable for those who can read the original."""
    data = source.read_bytes()
    if mask is not None:
        data = mask(data.decode("utf-8-sig", errors="replace")).encode("utf-8")
    mode = stat.S_IMODE(source.stat().st_mode) & 0o666 | stat.S_IRUSR | stat.S_IWUSR
    target.unlink(missing_ok=True)
    target.touch(mode, exist_ok=False)
    target.write_bytes(data)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _check_inputs(run_dir: Path, info: RunInfo, given: Container[str]) -> None:
    """Refuse inputs of a run that are no longer those it was judged by.

    Raises:
        InputError: a file is missing or was changed.
    """
    options = {"expectations.yaml": "--expectations", "inventory.yaml": "--inventory"}
    for name, known in (info.sums or {}).items():
        if name in given:
            continue
        path = own_file(run_dir, f"{INPUTS}/{name}")
        if _sha256(path) != known:
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
        job: clients of another job than its own. Tables hold for any job; what was captured of the
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
    expectations_file = expectations or own_file(run_dir, f"{INPUTS}/expectations.yaml")
    return Inputs.load(
        expectations_file,
        inventory or own_file(run_dir, f"{INPUTS}/inventory.yaml"),
        info.job if job is None else job,
        SiteFiles(run_dir, info.plans or {}) if expectations is None else None,
        job_file=job is not None,
    )


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold off the other processes of a run (xdist workers) until the block is left.

    The lock is on a file that the run has anyway: whatever ends the run, no lock file stays behind.
    """
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def check_captures(source: Path) -> None:
    """Refuse captures of an earlier run that are not whole.

    Raises:
        IbacceptError: they are not there, were cut or changed, or the sweep was cut short.
    """
    for path in sorted((source / CAPTURES).glob("*")):
        own_file(source, f"{CAPTURES}/{path.name}")  # refuses links
    load_bundle(source)  # refuses a bundle that was cut or changed
    if not (source / CAPTURES / COMPLETE).is_file():
        raise IbacceptError(
            f"the sweep of the fabric in {source} was cut short, so its captures are not complete; "
            "run the suite against the fabric"
        )


def copy_captures(source: Path, run_dir: Path) -> None:
    """The captures of an earlier run, for a replay's own report.

    Raises:
        IbacceptError: they are not there or not whole.
    """
    check_captures(source)
    try:
        shutil.copytree(source / CAPTURES, run_dir / CAPTURES, dirs_exist_ok=True)
    except (OSError, shutil.Error) as error:
        first = error.args[0][0][-1] if isinstance(error, shutil.Error) else error.strerror
        shutil.rmtree(run_dir, ignore_errors=True)
        raise IbacceptError(
            f"the captures of {source} could not be copied to {run_dir}: {first}"
        ) from None

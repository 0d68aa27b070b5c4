"""The inputs of one run, accepted and held against each other. Shared by plugin and CLI."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Self, TypeVar

from ibaccept.checks.base import WORKLOADS, Absent, Expectation, Need
from ibaccept.checks.expectations import Expectations, load_expectations
from ibaccept.checks.selector import planned_cables
from ibaccept.errors import InputError, InputProblemsError
from ibaccept.fabric.model import Rate
from ibaccept.fabric.nodeset import fold
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.pace import FilesystemLoad, LoadInputs, RdmaLoad
from ibaccept.observe.lids import JobSides, lids_of, unasked_notes
from ibaccept.observe.look import Look
from ibaccept.observe.snapshot import Snapshot
from ibaccept.run.waivers import covers
from ibaccept.site.adaptive import AdaptiveRouting
from ibaccept.site.files import SiteFiles
from ibaccept.site.inventory import Inventory, InventoryHost, job_nodes, load_inventory
from ibaccept.site.plan import Plan, PlannedCable
from ibaccept.site.recorded import RecordedRun, parse_all
from ibaccept.site.settings import FilesystemWorkload, RdmaWorkload
from ibaccept.verdict.absence import NotSeen, NotSeenError

T = TypeVar("T")

CLOCK_SLACK = 300.0
"""Seconds by which the clock of a recorded result may be ahead of ours."""


@dataclass(frozen=True)
class Job:
    """Whose traffic is judged: inventory names."""

    clients: tuple[str, ...]
    storage: tuple[str, ...]


@dataclass(frozen=True)
class Inputs:
    """What a run is judged by, all of it accepted.

    Attributes:
        job: None where the expectations name none.
        expectations_file: path read.
        inventory_file: path read.
        files: where the files are that the expectations name.
    """

    expectations: Expectations
    inventory: Inventory
    job: Job | None
    expectations_file: Path
    inventory_file: Path
    files: SiteFiles

    @classmethod
    def load(
        cls,
        expectations_file: Path,
        inventory_file: Path,
        job: str | None = None,
        files: SiteFiles | None = None,
        *,
        job_file: bool = True,
    ) -> Self:
        """Read and hold against each other. No connection is made.

        Args:
            expectations_file: expectations.yaml.
            inventory_file: the inventory.
            job: replaces the job's clients (``--job``).
            files: where the files are that the expectations name, default relative to theirs.
            job_file: the job may be a file or ``SLURM_JOB_NODELIST``; else a group or a node set.

        Raises:
            InputError: every problem, a sentence each.
        """
        named = SiteFiles(expectations_file.parent) if files is None else files
        expectations, inventory = _both(
            lambda: load_expectations(
                existing(expectations_file, "expectations"),
                name=expectations_file.name,
                files=named,
            ),
            lambda: load_inventory(existing(inventory_file, "inventory")),
        )
        expectations.check(inventory)
        inputs = cls(
            expectations,
            inventory,
            _job(expectations, inventory, job, read_files=job_file),
            expectations_file,
            inventory_file,
            named,
        )
        problems = [
            f"{expectations.source(entry)}: {entry.id}: {problem}"
            for entry in expectations.entries
            for problem in inputs.item_problems(entry)
        ]
        if problems:
            raise InputProblemsError(problems)
        return inputs

    def items(self, entry: Expectation) -> tuple[PlannedCable | None, ...]:
        """What an entry is an item about: None for the entry itself, or each planned cable.

        Raises:
            InputError: links that the plan alone cannot distinguish.
        """
        links = entry.each_cables()
        if links is None:
            return (None,)
        plan = self.plan
        assert plan is not None  # noqa: S101 - each: without a plan is refused
        own = (None,) if entry.unplanned_too else ()
        return (*own, *planned_cables(links, plan, self.inventory))

    def item_problems(self, entry: Expectation) -> Iterator[str]:
        """What is wrong with ``each: cable`` of an entry by the plan alone, a sentence each.

        An entry without an item would be in no report, and a waiver for a cable that is in no item
        would cover nothing unnoticed.
        """
        links = entry.each_cables()
        if links is None:
            return
        try:
            items = self.items(entry)
        except InputError as error:
            yield str(error)
            return
        names = [cable.name for cable in items if cable is not None]
        if not names:
            yield f"the plan has no {links.noun}, so nothing would be judged"
        for waiver in self.expectations.waivers:
            if waiver.expectation == entry.id and not any(covers(waiver, name) for name in names):
                yield (
                    f"the waiver {waiver.ticket} names {waiver.subject!r}, which is none of the "
                    f"planned cables of {entry.id}"
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
        return Look(tuple(sorted(self.need.windows)), self.job_hosts(), self.about())

    def about(self) -> tuple[InventoryHost, ...]:
        """Hosts the run is about: those of the job, and of the groups clients and storage."""
        groups = (self.inventory.groups.get(name, ()) for name in ("clients", "storage"))
        job = () if self.job is None else (*self.job.clients, *self.job.storage)
        names = dict.fromkeys((*job, *(name for group in groups for name in group)))
        return tuple(self.inventory.hosts[name] for name in names)

    @property
    def need(self) -> Need:
        """The union of what the entries need."""
        return reduce(or_, (entry.needs() for entry in self.expectations.entries), Need())

    def job_lids(self, snapshot: Snapshot, *, absent: Absent = "refused") -> JobSides:
        """The LIDs of the job, by each host's own ``ibstat`` where it could be read.

        Args:
            snapshot: what was seen.
            absent: whether hosts of the job that the fabric does not show are left out.

        Raises:
            NotSeenError: the fabric was not seen, or it does not show a host of the job.
            InputError: a host without a LID in this subnet, or a name that fits no node or two.
        """
        assert self.job is not None  # noqa: S101 - the schema refuses such entries without a job
        missing = {gap.name: gap for gap in snapshot.absent}
        left = set(missing) if absent == "allowed" else set()
        sides = [
            [self.inventory.hosts[name] for name in side if name not in left]
            for side in (self.job.clients, self.job.storage)
        ]
        names = dict.fromkeys(host.name for side in sides for host in side)
        queried = {name: snapshot.hosts[name] for name in names if name in snapshot.hosts}
        stats = {name: stat for name, stat in queried.items() if not isinstance(stat, NotSeen)}
        silent = tuple(stat.reason for stat in queried.values() if isinstance(stat, NotSeen))
        try:
            clients, storage = (lids_of(snapshot.fabric, side, stats) for side in sides)
        except InputError as error:
            problems = (*str(error).split("\n"), *unasked_notes(silent))
            gaps = [missing[name] for name in names if name in missing]
            if not gaps:
                raise InputProblemsError(problems) from None
            captures = tuple(dict.fromkeys(capture for gap in gaps for capture in gap.captures))
            what = f"the LIDs of {fold(gap.name for gap in gaps)}"
            raise NotSeenError(NotSeen(what, "\n".join(problems), gaps[0].hint, captures)) from None
        return JobSides(clients, storage, silent)

    def check_load(self) -> None:
        """Refuse what no load run can be made from, before any connection.

        Raises:
            InputError: every problem of recorded results; a host that is a client and a server.
        """
        if self.need.load:
            self.load_inputs("")

    def load_inputs(self, token: str) -> LoadInputs:
        """Inputs of the load runs: only the workloads that some entry needs."""
        need = self.need
        needed = frozenset(WORKLOADS) if need.any_load else need.workloads
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
            path = self.files.path(file)
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
        """Hosts whose LIDs their own ``ibstat`` shows, where an entry is about the job."""
        if self.job is None or not self.need.job:
            return ()
        names = dict.fromkeys((*self.job.clients, *self.job.storage))
        return tuple(self.inventory.hosts[name] for name in names)


def existing(path: Path, what: str) -> Path:
    """The path itself.

    Raises:
        InputError: there is no such file.
    """
    if not path.is_file():
        raise InputError(f"there is no file {path}; name the {what} with --{what}=FILE")
    return path


def _both(
    expectations: Callable[[], Expectations], inventory: Callable[[], Inventory]
) -> tuple[Expectations, Inventory]:
    """Both files, or the problems of both together."""
    problems: list[str] = []
    read: tuple[Expectations | None, Inventory | None] = (
        _try(expectations, problems),
        _try(inventory, problems),
    )
    if read[0] is None or read[1] is None:
        raise InputProblemsError(dict.fromkeys(problems))
    return read[0], read[1]


def _try(step: Callable[[], T], problems: list[str]) -> T | None:
    try:
        return step()
    except InputProblemsError as error:
        problems += error.problems
    except InputError as error:
        problems.append(str(error))
    return None


def _of_the_past(runs: tuple[RecordedRun, ...]) -> tuple[RecordedRun, ...]:
    now = time.time()
    for run in runs:
        if run.end > now + CLOCK_SLACK:
            raise InputError(
                f"workloads: filesystem: the recorded {run.direction} run ends "
                f"{datetime.fromtimestamp(run.end, UTC):%Y-%m-%dT%H:%M:%SZ}, which is in the future"
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


def _job(
    expectations: Expectations, inventory: Inventory, clients: str | None, *, read_files: bool
) -> Job | None:
    named = expectations.job
    if named is None:
        if clients is not None:
            raise InputError(
                f"{expectations.file} has no 'job:', so --job has nothing to replace; "
                "add job: {clients: ..., storage: ...}"
            )
        return None
    text = clients if clients is not None else named.clients
    chosen = job_nodes(text, inventory) if read_files else inventory.node_set(text)
    return Job(chosen, inventory.node_set(named.storage))

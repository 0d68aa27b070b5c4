"""One run: its inputs, its folder, and the look at the fabric. Shared by the plugin and the CLI."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Self

from ibaccept.checks.base import WORKLOADS, Need
from ibaccept.checks.expectations import Expectations, load_expectations
from ibaccept.errors import InputError
from ibaccept.fabric.model import Rate
from ibaccept.fabric.nodeset import fold
from ibaccept.fabric.units import Bandwidth
from ibaccept.load.pace import FilesystemLoad, LoadInputs, RdmaLoad
from ibaccept.observe.captured import fabric_of
from ibaccept.observe.lids import JobSides, lids_of, unasked_notes
from ibaccept.observe.look import Look
from ibaccept.observe.snapshot import Snapshot
from ibaccept.site.adaptive import AdaptiveRouting
from ibaccept.site.inventory import Inventory, InventoryHost, job_nodes, load_inventory
from ibaccept.site.plan import Plan
from ibaccept.site.recorded import RecordedRun, parse_all
from ibaccept.site.settings import FilesystemWorkload, RdmaWorkload
from ibaccept.verdict.absence import NotSeen

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
        return Look(tuple(sorted(self.need.windows)), self.job_hosts())

    @property
    def need(self) -> Need:
        """The union of what the entries need."""
        return reduce(or_, (entry.needs() for entry in self.expectations.entries), Need())

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
        if self.need.load:
            self.load_inputs("")

    def load_inputs(self, token: str) -> LoadInputs:
        """What the load runs of these entries go by: only the workloads that one of them needs."""
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
        if self.job is None or not self.need.job:
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

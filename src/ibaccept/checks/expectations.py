"""expectations.yaml as a whole: read, and refused with every problem before any connection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from ibaccept.checks.base import Expectation
from ibaccept.checks.catalogue import kinds
from ibaccept.errors import InputError, InputProblemsError
from ibaccept.fabric import units
from ibaccept.fabric.model import Rate
from ibaccept.fabric.suggest import did_you_mean
from ibaccept.observe.captured import fabric_of
from ibaccept.parse import ParseError, adaptive
from ibaccept.site.adaptive import AdaptiveRouting, FileSign, kept_name
from ibaccept.site.fields import node_names
from ibaccept.site.files import SiteFiles
from ibaccept.site.inventory import Inventory
from ibaccept.site.plan import Plan
from ibaccept.site.problems import sentences
from ibaccept.site.settings import JobSetting, Settings, Waiver, Workloads
from ibaccept.site.yamlfile import Document, Where, load
from ibaccept.verdict.evidence import CaptureRef

E = TypeVar("E", bound=Expectation)


@dataclass(frozen=True)
class Expectations:
    """The accepted file.

    Attributes:
        file: how messages call it.
        entries: in the file's order.
        lines: line of each entry, by id.
        plans: cabling plans by the text of ``plan:``.
        job_lines: line of the job's ``clients`` and ``storage``.
        adaptive_routing: what the file and its ``subnet_files`` say.
    """

    file: str
    fabric: str
    entries: tuple[Expectation, ...]
    lines: Mapping[str, int]
    version: int = 1
    adaptive_routing: AdaptiveRouting = field(default_factory=AdaptiveRouting)
    ceilings: Mapping[Rate, units.Bandwidth] | Literal["measure"] | None = None
    job: JobSetting | None = None
    workloads: Workloads = field(default_factory=Workloads)
    waivers: tuple[Waiver, ...] = ()
    plans: Mapping[str, Plan] = field(default_factory=dict)
    job_lines: Mapping[str, int] = field(default_factory=dict)

    def line_of(self, entry_id: str) -> int:
        """Line of an entry.

        Raises:
            KeyError: no such entry.
        """
        return self.lines[entry_id]

    def source(self, entry: Expectation) -> str:
        """``expectations.yaml:9``."""
        return f"{self.file}:{self.lines[entry.id]}"

    def of_kind(self, kind: type[E]) -> tuple[E, ...]:
        """Entries of one class, in the file's order."""
        return tuple(entry for entry in self.entries if isinstance(entry, kind))

    @property
    def plan(self) -> Plan | None:
        """The plan the first entry names: it decides ``links:`` and ``each: cable``."""
        named = (entry.plan_named() for entry in self.entries)
        return next((self.plans.get(text) for text in named if text is not None), None)

    def check(self, inventory: Inventory) -> None:
        """Hold the names of the file against an inventory.

        Raises:
            InputError: every name that is not there and every group that is empty.
        """
        problems = []
        parts: list[tuple[str, str, Any]] = [
            (f"{self.file}:{self.job_lines.get(role, 1)}", f"job.{role}", getattr(self.job, role))
            for role in (JobSetting.model_fields if self.job is not None else ())
        ]
        parts += [(self.source(entry), entry.id, entry) for entry in self.entries]
        for where, subject, part in parts:
            found = [
                ": ".join((subject, *([".".join(path)] if path else []), problem))
                for path, nodes in node_names(part)
                for problem in nodes.problems(inventory)
            ]
            problems += [f"{where}: {sentence}" for sentence in dict.fromkeys(found)]
        if problems:
            raise InputProblemsError(problems)


def load_expectations(
    path: Path, *, name: str | None = None, files: SiteFiles | None = None
) -> Expectations:
    """Read expectations.yaml; nothing is accepted unless all of it is right.

    Args:
        path: the file.
        name: how messages call it, default the path as given.
        files: where the files are that it names, default relative to its folder.

    Raises:
        InputError: every problem, a sentence each.
    """
    return read_expectations(load(path, name=name), files or SiteFiles(path.parent))


def read_expectations(document: Document, files: SiteFiles) -> Expectations:
    """As ``load_expectations``, from a loaded document.

    Raises:
        InputError: every problem, a sentence each.
    """
    return _Reader(document, files).read()


@dataclass
class _Reader:
    document: Document
    site: SiteFiles
    problems: list[str] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)

    def read(self) -> Expectations:
        raw = self.document.value
        if not isinstance(raw, dict):
            raise InputError(
                self.document.problem((), "must be a mapping with version, fabric and expect")
            )
        self.no_nulls(raw, ())
        head: Settings | None = None
        try:
            head = Settings.model_validate(raw)
        except ValidationError as error:
            self.problems += sentences(error, self.document, (), Settings)
        listed = raw.get("expect")
        entries = []
        if isinstance(listed, list):
            if not listed:
                self.problem(("expect",), "expect: there is no entry, so nothing would be judged")
            entries = [self.entry(value, ("expect", n)) for n, value in enumerate(listed)]
        accepted = tuple(entry for entry in entries if entry is not None)
        for n, entry in enumerate(entries):
            if entry is not None:
                self.files(entry, ("expect", n))
        if head is not None:
            self.together(head, accepted, entries)
        routing = AdaptiveRouting() if head is None else self.adaptive(head)
        if self.problems or head is None:
            raise InputProblemsError(sorted(self.problems, key=self.order))
        return Expectations(
            self.document.file,
            head.fabric,
            accepted,
            self.lines,
            head.version,
            routing,
            head.ceilings,
            head.job,
            head.workloads,
            head.waivers,
            self.plans,
            {role: self.document.line(("job", role)) for role in JobSetting.model_fields},
        )

    def problem(self, where: Where, sentence: str) -> None:
        self.problems.append(self.document.problem(where, sentence))

    def no_nulls(self, value: Any, where: Where) -> None:
        """A key without a value would order nothing and pass; it is refused."""
        if value is None:
            name = ".".join(str(part) for part in where if not isinstance(part, int))
            self.problem(
                where, f"{name.removeprefix('expect.')} has no value; give one or leave it out"
            )
        elif isinstance(value, dict):
            for key, part in value.items():
                self.no_nulls(part, (*where, key))
        elif isinstance(value, list):
            for n, part in enumerate(value):
                self.no_nulls(part, (*where, n))

    def order(self, problem: str) -> tuple[bool, int]:
        """By line; problems of other files (plans) last."""
        own = re.match(re.escape(self.document.file) + r":(\d+): ", problem)
        return (own is None, int(own.group(1)) if own else 0)

    def entry(self, value: Any, where: Where) -> Expectation | None:
        if not isinstance(value, dict):
            if value is not None:
                self.problem(where, f"an entry is a mapping with id and kind, not {value!r}")
            return None
        subject = self.identity(value.get("id"), (*where, "id"))
        cls = self.kind(value, where, subject)
        if cls is None:
            return None
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            self.problems += sentences(error, self.document, where, cls, subject)
            return None

    def identity(self, entry_id: Any, where: Where) -> str:
        """Take an id down; gives how sentences about its entry start."""
        if not isinstance(entry_id, str):
            return ""
        if entry_id in self.lines:
            first = self.lines[entry_id]
            self.problem(where, f"the id {entry_id!r} is already used in line {first}")
        self.lines.setdefault(entry_id, self.document.line(where))
        return f"{entry_id}: "

    def kind(
        self, value: Mapping[str, Any], where: Where, subject: str
    ) -> type[Expectation] | None:
        if "kind" not in value:
            self.problem(where, f"{subject}the key 'kind' is missing")
            return None
        name = value["kind"]
        cls = kinds().get(name) if isinstance(name, str) else None
        if cls is None and name is not None:
            near = did_you_mean(str(name), kinds())
            self.problem((*where, "kind"), f"{subject}unknown kind {name!r}{near}")
        return cls

    def files(self, entry: Expectation, where: Where) -> None:
        """Read the plan an entry names."""
        text = entry.plan_named()
        if text is None or text in self.plans:
            return
        try:
            plan = self.plan(text)
        except InputProblemsError as error:
            self.problems += error.problems
        except InputError as error:
            self.problem((*where, "plan"), f"{entry.id}: plan: {error}")
        else:
            self.plans[text] = plan

    def plan(self, text: str) -> Plan:
        path = self.site.path(text)
        if not path.is_dir():
            if not path.exists():
                raise InputError(f"there is no file {path}")
            return Plan.load(path)
        if not (path / "captures" / "index.jsonl").is_file():
            raise InputError(f"the folder {text} is not that of a run")
        return Plan.from_fabric(fabric_of(path), name=text)

    def adaptive(self, head: Settings) -> AdaptiveRouting:
        """What the file and its subnet files say of adaptive routing."""
        said_at = None
        if head.adaptive_routing is not None:
            line = self.document.line(("adaptive_routing",))
            text = f"adaptive_routing: {head.adaptive_routing}"
            said_at = CaptureRef("inputs/expectations.yaml", line, text)
        signs = []
        for number, text in enumerate(head.subnet_files):
            where: Where = ("subnet_files", number)
            if text in head.subnet_files[:number]:
                self.problem(where, f"subnet_files: {text} is there twice")
                continue
            try:
                path = self.site.path(text)
                sign = adaptive.parse(path.read_text("utf-8", errors="replace"))
            except OSError as error:
                why = f"{path} cannot be read: {error.strerror}"
                self.problem(where, f"subnet_files: {why}")
            except InputError as error:
                self.problem(where, f"subnet_files: {error}")
            except ParseError as error:
                self.problem(where, f"subnet_files: {text}: {error}")
            else:
                kept = kept_name(number, text)
                if sign is None:
                    signs.append(FileSign(None, text, CaptureRef(kept, None, "")))
                else:
                    shown = CaptureRef(kept, sign.line, sign.text)
                    signs.append(FileSign(sign.state, text, shown))
        return AdaptiveRouting(head.adaptive_routing, said_at, tuple(signs))

    def together(
        self, head: Settings, accepted: tuple[Expectation, ...], entries: list[Expectation | None]
    ) -> None:
        """What only the whole file shows."""
        planned = {entry.plan_named() for entry in accepted} - {None}
        for n, entry in enumerate(entries):
            if entry is None:
                continue
            for sentence in entry.problems(head):
                self.problem(("expect", n), f"{entry.id}: {sentence}")
            if entry.each_cables() is not None and len(planned) != 1:
                count = "none" if not planned else str(len(planned))
                self.problem(
                    ("expect", n, "each"),
                    f"{entry.id}: each: cable needs exactly one plan in the entries of kind "
                    f"cabling; they name {count}",
                )
        self.waivers(head)

    def waivers(self, head: Settings) -> None:
        first: dict[tuple[str, str], int] = {}
        for n, waiver in enumerate(head.waivers):
            at: Where = ("waivers", n, "expectation")
            if waiver.expectation not in self.lines:
                near = did_you_mean(waiver.expectation, self.lines)
                self.problem(at, f"a waiver for {waiver.expectation!r}, which is no entry{near}")
            key = (waiver.expectation, waiver.subject)
            if key in first:
                self.problem(at, f"{key[1]} of {key[0]} is already waived in line {first[key]}")
            first.setdefault(key, self.document.line(at))

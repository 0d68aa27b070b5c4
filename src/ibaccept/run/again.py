"""An earlier run, judged again in this process: its verdicts, and nothing is sent or written."""

from __future__ import annotations

import errno
import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, get_type_hints

from ibaccept.checks.base import Expectation
from ibaccept.checks.proof import Evidence, unseen_verdict
from ibaccept.errors import IbacceptError
from ibaccept.observe.snapshot import Snapshot
from ibaccept.run.items import Entry, entries_of
from ibaccept.run.record import RunInfo, check_captures, replay_inputs
from ibaccept.run.session import Session
from ibaccept.verdict import NotJudgedError, NotMetError, Verdict
from ibaccept.verdict.absence import NotSeen, NotSeenError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EFBIG, errno.EIO}
"""Errors of a folder that cannot be written; of the suite they say nothing."""

Question = Callable[..., None]
"""A test function of the suite: selects, judges and requires for the kind it is annotated with."""


def open_again(run_dir: Path) -> Session:
    """The session that judges an earlier run where it lies.

    Args:
        run_dir: folder of that run.

    Raises:
        IbacceptError: its inputs or captures are not whole or were changed.
    """
    inputs = replay_inputs(run_dir, None, None)
    info = RunInfo.read(run_dir)
    check_captures(run_dir)
    return Session(inputs, info, run_dir, None, _silent, replay=run_dir)


def by_kind(questions: Iterable[Question]) -> dict[type[Expectation], Question]:
    """Test functions by the kind their parameter ``expected`` is annotated with."""
    return {get_type_hints(question)["expected"]: question for question in questions}


def judge_again(run: Session, questions: Mapping[type[Expectation], Question]) -> list[Verdict]:
    """The verdict of every entry that the run judged, in the order of the expectations.

    Args:
        run: of ``open_again``.
        questions: of ``by_kind``.
    """
    return [
        _verdict(run, entry, questions[type(entry.expected)])
        for expected in run.inputs.expectations.entries
        if run.info.load or not expected.is_under_load
        for entry in entries_of(run.inputs, expected, run.info.day)
    ]


def part_of(error: IbacceptError) -> NotSeen:
    """What could not be seen, by an error of the suite."""
    if isinstance(error, NotSeenError):
        return error.part
    return NotSeen("what the entry is about", str(error))


def unseen_part(raised: BaseException | None) -> NotSeen | None:
    """What could not be seen where this was raised (by the look, the load runs), else None."""
    if isinstance(raised, IbacceptError):
        return part_of(raised)
    if isinstance(raised, OSError) and raised.errno in FULL:
        place = raised.filename or "the run's folder"
        why = f"{place} could not be written: {raised.strerror}"
        return NotSeen("what the entry is about", why, "free space or permissions, then run again")
    return None


def _silent(_text: str) -> None:
    """Take no progress."""


def _verdict(run: Session, entry: Entry, question: Question) -> Verdict:
    nodeid = f"{question.__name__}[{entry.id}]"
    try:
        snapshot = run.snapshot()
    except (IbacceptError, OSError) as error:
        part = unseen_part(error)
        if part is None:
            raise
        return entry.completer(nodeid)(unseen_verdict(part, entry.expected.ordered))
    evidence = entry.evidence(snapshot, nodeid)
    try:
        question(**_arguments(run, entry, snapshot, evidence, question))
    except (NotMetError, NotJudgedError) as error:
        return error.verdict
    except IbacceptError as error:
        return evidence.unseen(part_of(error))
    if not evidence.verdicts:
        return evidence.unseen(NotSeen("anything", "the test judged nothing"))
    return evidence.verdicts[-1]


def _arguments(
    run: Session, entry: Entry, snapshot: Snapshot, evidence: Evidence, question: Question
) -> dict[str, Any]:
    """What a test function takes, by the names of its parameters."""
    makers: dict[str, Callable[[], Any]] = {
        "snapshot": lambda: snapshot,
        "expected": lambda: entry.expected,
        "cable": lambda: entry.cable,
        "inputs": lambda: run.inputs,
        "loads": lambda: run.loads(snapshot),
        "evidence": lambda: evidence,
    }
    return {name: makers[name]() for name in inspect.signature(question).parameters}

"""An earlier run judged again without pytest: the suite's own test functions, by their kind."""

import errno
import importlib.util
import inspect
from pathlib import Path

import pytest

from ibaccept.checks.links import LinkRate
from ibaccept.checks.subnet import SubnetManager
from ibaccept.errors import IbacceptError, InputError
from ibaccept.observe.snapshot import Snapshot
from ibaccept.run.again import by_kind, judge_again, open_again, unseen_part
from ibaccept.run.session import begin
from ibaccept.transport.captures import BundleError
from ibaccept.verdict.absence import NotSeen, NotSeenError

SUITE = Path(__file__).resolve().parents[2] / "tests_fabric"
LOAD = (
    "version: 1\nfabric: scripted\njob: {clients: clients, storage: storage}\n"
    "workloads:\n  rdma: {}\nexpect:\n"
    "  - {id: one-sm, kind: subnet-manager, masters: 2}\n"
    "  - {id: clean-load, kind: error-counters, links: isl, window: load}\n"
)


def suite():
    found = []
    for path in sorted(SUITE.glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"again_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found += [f for f in vars(module).values() if inspect.isfunction(f)]
    return by_kind(f for f in found if f.__name__.startswith("test_"))


@pytest.fixture
def looked(desk):
    """A run whose look was made."""
    run = begin(desk.given(), lambda _text: None)
    run.snapshot()
    return run.run_dir


def judged(run_dir, questions=None):
    verdicts = judge_again(open_again(run_dir), questions or suite())
    return {v.id: (str(v.outcome), v.coverage.judged, v.coverage.of) for v in verdicts}


def test_the_suite_judges_every_entry(looked):
    assert judged(looked) == {
        "one-sm": ("pass", 1, 1),
        "isl-4x-hdr": ("pass", 1, 1),
        "no-errors": ("pass", 4, 4),
    }


def test_an_entry_under_load_of_a_run_without_load_is_not_judged(desk):
    (desk.folder / "expectations.yaml").write_text(LOAD)
    run = begin(desk.given(), lambda _text: None)
    run.snapshot()

    assert judged(run.run_dir) == {"one-sm": ("fail", 1, 1)}


def test_what_a_test_does_not_see_or_judge_is_an_error(looked):
    def unseen(snapshot: Snapshot, expected: SubnetManager) -> None:
        raise NotSeenError(NotSeen("the master", f"{expected.id} of {len(snapshot.gaps)}"))

    def silent(expected: LinkRate) -> None:
        del expected

    def refused(expected: object) -> None:
        raise InputError(f"not {expected}")

    questions = suite()
    known = {**questions, SubnetManager: unseen, LinkRate: silent}
    found = judge_again(open_again(looked), known)

    assert [(v.id, str(v.outcome), v.findings[0].found) for v in found[:2]] == [
        ("one-sm", "error", "one-sm of 0"),
        ("isl-4x-hdr", "error", "the test judged nothing"),
    ]
    assert judged(looked, dict.fromkeys(questions, refused)) == {
        "one-sm": ("error", 0, 0),
        "isl-4x-hdr": ("error", 0, 0),
        "no-errors": ("error", 0, 0),
    }


def test_a_bug_in_a_test_is_no_verdict(looked):
    def broken(expected: object) -> None:
        raise KeyError(str(expected))

    with pytest.raises(KeyError):
        judged(looked, dict.fromkeys(suite(), broken))


def test_a_bundle_that_was_changed_is_refused(looked):
    (looked / "captures/0006-iblinkinfo.txt").write_bytes(b"")

    with pytest.raises(BundleError):
        open_again(looked)


def test_a_sweep_that_was_cut_short_is_refused(looked):
    (looked / "captures/complete").unlink()

    with pytest.raises(IbacceptError, match="was cut short"):
        open_again(looked)


def test_the_unseen_part_of_what_was_raised():
    part = NotSeen("the master", "no answer")
    full = OSError(errno.ENOSPC, "No space left on device", "run.json")

    assert [
        unseen_part(raised)
        for raised in (NotSeenError(part), InputError("no"), full, OSError(errno.ENOENT, ""), None)
    ] == [
        part,
        NotSeen("what the entry is about", "no"),
        NotSeen(
            "what the entry is about",
            "run.json could not be written: No space left on device",
            "free space or permissions, then run again",
        ),
        None,
        None,
    ]

"""The load runs of a run: made once, and never a second time where that failed."""

from dataclasses import dataclass, field

import pytest

from ibaccept.errors import IbacceptError
from ibaccept.observe.counters import Sweep
from ibaccept.run.again import open_again
from ibaccept.run.loads import Loaded, LoadLook
from ibaccept.run.session import begin, join
from ibaccept.verdict.absence import NotSeen, NotSeenError

RUNS = object()
LOST = NotSeen("the counters after the load", "mgmt01: the connection was lost")


@dataclass
class Maker:
    """Makes load runs, or cannot; counts how often it was called."""

    made: object
    calls: list = field(default_factory=list)

    def __call__(self):
        self.calls.append(1)
        if isinstance(self.made, Exception):
            raise self.made
        return self.made


def look_of(made):
    maker = Maker(made)
    return LoadLook(None, lambda _snapshot: None, maker, None), maker


def sweep():
    return object.__new__(Sweep)


def test_every_entry_reads_the_same_load_runs():
    before, after = sweep(), sweep()
    loads, maker = look_of(Loaded(RUNS, before, after))

    assert loads.loaded() is loads.loaded()
    window = loads.window()
    assert (window.before is before, window.after is after, len(maker.calls)) == (True, True, 1)


def test_load_that_could_not_be_made_is_not_tried_again():
    loads, maker = look_of(IbacceptError("no pair could be made"))

    for _entry in range(3):
        with pytest.raises(IbacceptError, match="no pair could be made"):
            loads.loaded()

    assert len(maker.calls) == 1


@pytest.mark.parametrize("lost", ["before", "after"])
def test_there_is_no_window_without_both_sweeps(lost):
    parts = {"before": sweep(), "after": sweep()} | {lost: LOST}
    loads, _maker = look_of(Loaded(RUNS, **parts))

    with pytest.raises(NotSeenError) as unseen:
        loads.window()

    assert unseen.value.part == LOST
    assert loads.measured().window == LOST


@pytest.mark.parametrize("way", ["--replay", "xdist worker", "in place"])
def test_a_replay_makes_no_load_run_that_the_earlier_run_did_not_end(desk, monkeypatch, way):
    """The earlier run may have been killed under load: its captures lack the mark of the end."""
    (desk.folder / "expectations.yaml").write_text(
        "version: 1\nfabric: scripted\njob: {clients: clients, storage: storage}\n"
        "workloads:\n  rdma: {}\nexpect:\n"
        "  - {id: clean-load, kind: error-counters, links: isl, window: load}\n"
    )
    earlier = begin(desk.given(load="1"), print)
    earlier.snapshot()
    sent = []
    monkeypatch.setattr("ibaccept.run.loads.open_transport", lambda *_a, **_k: sent.append(1))
    run = begin(desk.given(replay=str(earlier.run_dir)), print)
    if way == "xdist worker":
        run = join({"run_dir": run.run_dir, "ssh_config": None, "replay": run.replay}, print)
    if way == "in place":
        run = open_again(earlier.run_dir)

    with pytest.raises(NotSeenError) as caught:
        run.loads(run.snapshot()).loaded()
    assert (caught.value.part.reason, sent) == (
        "the run that is judged again was cut short before they had ended",
        [],
    )

"""The sweep of one run is made once; whoever comes later reads its captures."""

from ibaccept.run.look import take_snapshot
from ibaccept.run.session import begin


def test_the_fabric_is_looked_at_once(desk):
    steps = []
    run = begin(desk.given(), steps.append)

    first = run.snapshot()
    sent = list(desk.observer.sent)
    again = take_snapshot(run.run_dir, run.inputs, ssh_config=None, progress=steps.append)

    assert sorted(set(sent)) == [
        "dump_fts -n",
        "iblinkinfo --line",
        "ibnetdiscover",
        "ibqueryerrors --skip-sl",
        "ibqueryerrors --skip-sl --counters",
        "ibstat",
        "ibstat --version",
        "saquery -s",
        "sminfo",
    ]
    assert desk.observer.sent == sent
    assert run.snapshot() is first
    assert (again.fabric, again.gaps, again.observer, again.unseen()) == (
        first.fabric,
        (),
        "mgmt01",
        first.unseen(),
    )
    assert (run.run_dir / "captures/complete").is_file()

"""Do errors grow?"""

from ibaccept.checks.base import absent_note
from ibaccept.checks.counters import ErrorCounters, growth_of, window_of
from ibaccept.checks.links import links_of
from ibaccept.checks.proof import Evidence
from ibaccept.checks.throughput.under_load import load_note, under_load
from ibaccept.observe.snapshot import Snapshot
from ibaccept.run.loads import LoadLook
from ibaccept.site.plan import PlannedCable
from ibaccept.verdict import judge, require


def test_error_counters(
    snapshot: Snapshot,
    expected: ErrorCounters,
    cable: PlannedCable | None,
    loads: LoadLook,
    evidence: Evidence,
) -> None:
    """No error counter grows beyond its limit."""
    links = links_of(snapshot, expected.links, cable, absent=expected.absent)
    notes = absent_note(snapshot, expected.absent)
    if expected.window == "load":
        runs = loads.loaded().runs
        growth = growth_of(snapshot, loads.window(), expected)
        growth = under_load(runs, growth, links.items)
        notes = (load_note(runs, links.items), *notes)
    else:
        growth = growth_of(snapshot, window_of(snapshot, expected), expected)

    verdict = judge(
        links.items,
        expected=expected.ordered,
        actual=growth,
        noun=links.noun,
        met=f"have no error counter beyond its limit in {expected.window_text}",
        not_met=f"have error counters beyond their limits in {expected.window_text}",
        notes=notes,
    )

    require(verdict, evidence)

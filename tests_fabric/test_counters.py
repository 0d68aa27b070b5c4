"""Do errors grow?"""

from ibaccept.expect.counters import ErrorCounters
from ibaccept.expect.loaded import load_note, under_load
from ibaccept.expect.look import WITHIN, growth_of, links_of, window_of
from ibaccept.loadlook import LoadLook
from ibaccept.plan import PlannedCable
from ibaccept.prove import Evidence
from ibaccept.snapshot import Snapshot
from ibaccept.verdict import judge, require


def test_error_counters(
    snapshot: Snapshot,
    expected: ErrorCounters,
    cable: PlannedCable | None,
    loads: LoadLook,
    evidence: Evidence,
) -> None:
    """No error counter grows beyond its limit."""
    links = links_of(snapshot, expected.links, cable)
    notes: tuple[str, ...] = ()
    if expected.window == "load":
        runs = loads.loaded().runs
        growth = growth_of(snapshot, loads.window(), expected)
        growth = under_load(runs, growth, links.items)
        notes = (load_note(runs, links.items),)
    else:
        growth = growth_of(snapshot, window_of(snapshot, expected), expected)

    verdict = judge(
        links.items,
        expected=WITHIN,
        actual=growth,
        noun=links.noun,
        as_ordered=f"have no error counter beyond its limit in {expected.window_text}",
        not_as_ordered=f"have error counters beyond their limits in {expected.window_text}",
        notes=notes,
    )

    require(verdict, evidence)

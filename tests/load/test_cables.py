"""Which cables a job crosses, which end sends which way, and how they are read."""

import pytest

from ibaccept.load.cables import Query, job_cables, queries
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import Host
from ibaccept.verdict.absence import NotSeen, NotSeenError


def hosts(*names):
    return [InventoryHost(name, Host(name)) for name in names]


@pytest.fixture
def site(site_of):
    """c1, c2 on A and s1, s2 on B; two cables; reads go over the first, writes over both."""
    site = site_of("A", "B")
    for number, name in enumerate(("c1", "c2"), 1):
        (lid,) = site.host(name, "A", number)
        site.tables["B"][lid] = 25
    for number, name in enumerate(("s1", "s2"), 1):
        (lid,) = site.host(name, "B", number)
        site.tables["A"][lid] = 12 + number
    site.cable("A", 13, "B", 25)
    site.cable("A", 14, "B", 26)
    return site


def shown(fabric, found):
    return {
        " - ".join(fabric.port_name(end.id) for end in cable.link.ends): (
            cable.kind, fabric.port_name(cable.to_clients), cable.reads, cable.writes, cable.host,
        )
        for cable in found.cables
    }  # fmt: skip


def test_the_cables_of_a_job_and_the_idle_one_beside_them(site):
    snapshot = site.snapshot()

    found = job_cables(snapshot, hosts("c1", "c2"), hosts("s1", "s2"))

    assert shown(snapshot.fabric, found) == {
        "A/13 - B/25": ("isl", "B/25", (4, 0), (0, 2), None),
        "A/14 - B/26": ("isl", "B/26", (0, 0), (0, 2), None),
        "A/1 - c1/1": ("client", "A/1", (0, 0), (0, 0), "c1"),
        "A/2 - c2/1": ("client", "A/2", (0, 0), (0, 0), "c2"),
        "B/1 - s1/1": ("storage", "s1/1", (0, 0), (0, 0), "s1"),
        "B/2 - s2/1": ("storage", "s2/1", (0, 0), (0, 0), "s2"),
    }
    assert (found.problems, found.lacking) == ((), {})
    first = next(cable for cable in found.cables if cable.kind == "isl")
    assert (first.flows("read"), first.flows("write")) == ((4, 0), (0, 2))


def test_pairs_that_the_tables_lose_are_a_problem(site):
    del site.tables["B"][1]  # c1

    found = job_cables(site.snapshot(), hosts("c1", "c2"), hosts("s1", "s2"))

    assert found.problems == (
        NotSeen(
            "the cables of 2 of 4 pairs",
            "the tables read do not deliver them (toward clients)",
            "look at the routes entries of the report first",
        ),
    )


def test_a_host_that_is_not_there_is_not_seen(site):
    with pytest.raises(NotSeenError) as caught:
        job_cables(site.snapshot(), hosts("c1", "c9"), hosts("s1"))

    assert caught.value.part.what == "the cables of the job"
    assert "c9" in caught.value.part.reason


def test_a_switch_is_read_whole_and_a_cable_without_one_at_its_adapter(site):
    snapshot = site.snapshot()
    found = job_cables(snapshot, hosts("c1", "c2"), hosts("s1", "s2"))

    asked = queries(snapshot.fabric, found.cables)

    assert [(int(query.lid), sorted(query.ports), query.is_switch) for query in asked] == [
        (5, [1, 2, 13, 14], True), (6, [1, 2, 25, 26], True),
    ]  # fmt: skip
    assert isinstance(asked[0], Query)

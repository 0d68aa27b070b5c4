"""Where pairs are lost, by switch and LID."""

from ibaccept.routing.losses import losses
from ibaccept.routing.paths import Routes
from ibaccept.routing.route import Disposition


def lost(fabric_of, table_of, entries, **unknown):
    """Two switches with a host a (LID 1) and b (LID 2) each on one."""
    fabric = fabric_of(["A", "B"], [((0, 1), (1, 1))], [("a", 0, 5), ("b", 1, 5)])
    tables = [
        table_of(number, some, 4, unknown=unknown.get(f"of{number}", ()))
        for number, some in enumerate(entries)
    ]
    return [
        (loss.name, loss.lid, loss.end, loss.pairs, loss.text("x"))
        for loss in losses(Routes(fabric, tables))
    ]


def test_what_is_delivered_is_not_lost(fabric_of, table_of):
    assert lost(fabric_of, table_of, [{1: 5, 2: 1}, {1: 1, 2: 5}]) == []


def test_each_end_is_named_at_its_switch(fabric_of, table_of):
    assert lost(fabric_of, table_of, [{1: 5, 2: 1}, {2: 5}]) == [
        ("B", 1, Disposition.NO_ENTRY, 1, "B has no row for LID 1 (x): 1 pair")
    ]
    assert lost(fabric_of, table_of, [{1: 5, 2: 1}, {1: 7, 2: 5}]) == [
        ("B", 1, Disposition.DEAD_END, 1, "B sends LID 1 (x) to a port without a cable: 1 pair")
    ]
    assert lost(fabric_of, table_of, [{1: 5, 2: 1}, {1: 5, 2: 5}]) == [
        (
            "B",
            1,
            Disposition.WRONG_PORT,
            1,
            "B sends LID 1 (x) to a port that does not own it: 1 pair",
        )
    ]


def test_a_loop_is_named_by_a_switch_of_it(fabric_of, table_of):
    (loss,) = lost(fabric_of, table_of, [{1: 1, 2: 1}, {1: 1, 2: 5}])

    assert loss[1:4] == (1, Disposition.LOOP, 1)


def test_what_was_not_read_is_no_loss(fabric_of, table_of):
    assert lost(fabric_of, table_of, [{1: 5, 2: 1}, {2: 5}], of1=[1]) == []

"""Scenario files: every one loads, names what exists, and says the whole outcome."""

import pytest

from ibaccept.errors import InputError
from ibaccept.lab import faults, load, names, scenario
from ibaccept.lab.fabric.netfile import NetFile, PortRef
from ibaccept.site import yamlfile
from ibaccept.verdict import Outcome

MINIMAL = "description: x\ntopology: {builder: two-switch}\n"


def edited(play: scenario.Scenario) -> NetFile:
    """The topology with the cabling faults in it."""
    net = play.topology.build(play.folder)
    for fault in play.faults:
        if isinstance(fault, faults.CableRateFault):
            net.set_rate(fault.cable, fault.rate)
        elif isinstance(fault, faults.MissingCable):
            net.remove(fault.cable)
        elif isinstance(fault, faults.SwappedCables):
            net.swap(*fault.cables)
    return net


LINKS_AND_COUNTERS = {
    "counters-cleared": "INCOMPLETE",
    "dead-switch": "INCOMPLETE",
    "edr-cable": "NOT ACCEPTED",
    "healthy": "INCOMPLETE",  # without --load
    "missing-cable": "NOT ACCEPTED",
    "mixed-generations": "ACCEPTED",
    "no-sm": "NOT ACCEPTED",
    "noisy-cable": "NOT ACCEPTED",
    "old-errors": "ACCEPTED",
    "saturated-counters": "INCOMPLETE",
    "slow-cable": "NOT ACCEPTED",
    "swapped-cables": "NOT ACCEPTED",
    "switch-sm": "NOT ACCEPTED",
    "unknown-host-key": "INCOMPLETE",
    "unreachable-observer": "INCOMPLETE",
}


def test_the_scenarios_of_links_and_counters():
    """A wrong PASS needs one that must fail; a wrong FAIL one that must be accepted."""
    known = [name for name in names() if name in LINKS_AND_COUNTERS]

    assert {name: load(name).result for name in known} == LINKS_AND_COUNTERS


@pytest.mark.parametrize("name", names())
def test_outcomes_name_every_expectation(name):
    play = load(name)

    entries = yamlfile.loads(play.expectations_text(), name=name).value["expect"]
    ids = [entry["id"] for entry in entries]
    if play.load is None:
        assert list(play.outcomes) == ids
    else:
        assert list(play.load.outcomes) == ids
        assert list(play.outcomes) in ([], ids[: len(play.outcomes)])
    assert [entry["id"] for entry in entries if not entry.get("because")] == []


def result_of(outcomes, *, is_whole=True):
    """The answer; ``is_whole``: no entry is left for a run with load."""
    found = set(outcomes.values())
    if Outcome.FAIL in found:
        return "NOT ACCEPTED"
    return "ACCEPTED" if is_whole and found <= {Outcome.PASS, Outcome.WAIVED} else "INCOMPLETE"


@pytest.mark.parametrize("name", names())
def test_the_result_follows_from_the_outcomes(name):
    play = load(name)

    assert play.result == result_of(play.outcomes, is_whole=play.load is None)
    if play.load is not None:
        assert play.load.result == result_of(play.load.outcomes)


@pytest.mark.parametrize("name", names())
def test_evidence_is_of_entries_that_do_not_pass(name):
    play = load(name)

    assert {item.id for item in play.evidence} <= {
        entry for entry, outcome in play.outcomes.items() if outcome is not Outcome.PASS
    }


@pytest.mark.parametrize("name", names())
def test_names_in_a_scenario_exist(name):
    play = load(name)

    net = edited(play)
    for host in play.hosts.names:
        assert net.node(play.hosts.node(host)).kind == "Ca"
    assert play.sm is None or net.node(play.sm.host).name == play.sm.host
    assert set(play.job) <= set(play.hosts.clients)


def test_a_whole_scenario():
    play = load("noisy-cable")

    assert play.faults == (
        faults.SetCounters(
            type="set", port=PortRef("SwitchB", 27), counters={"SymbolErrorCounter": 47}
        ),
        faults.CountUp(
            type="count",
            port=PortRef("SwitchB", 27),
            counters={"SymbolErrorCounter": 12},
            when=faults.After(after=faults.Served(command="ibqueryerrors", nth=1)),
        ),
    )
    assert play.hosts.observers == ("mgmt01",)
    assert play.hosts.storage == tuple(f"stor-{n}" for n in range(1, 9))
    assert play.sm == scenario.SimSubnetManager(host="mgmt01", engine="minhop")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            MINIMAL + "colour: red\n",
            "s.yaml:3: colour: Extra inputs are not permitted",
        ),
        (
            MINIMAL + "faults:\n  - {type: rate, cable: SwitchA, rate: 1X HDR}\n",
            "s.yaml:4: faults.0.rate.cable: Value error, 'SwitchA' is not a port; "
            "write NODE/PORT, as in SwitchA/13",
        ),
        (
            MINIMAL + "faults:\n  - {type: rate, cable: SwitchA/13, rate: fast}\n",
            "s.yaml:4: faults.0.rate.rate: Value error, 'fast' is not a link rate such as 4X HDR",
        ),
    ],
)
def test_a_wrong_scenario_is_refused_with_its_line(tmp_path, text, message):
    path = tmp_path / "s.yaml"
    path.write_text(text)

    with pytest.raises(InputError) as caught:
        load(path)

    assert str(caught.value).removeprefix(f"{tmp_path}/") == message


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("{type: unreachable, host: nobody}", "a fault is of 'nobody', which is not among the "),
        ("{type: output, command: ls, how: cut}", "'ls' is not one of dump_fts, ibaddr, "),
        ("{type: output, command: ibstat, how: replace}", "'sed' goes with 'how: replace'"),
        ("{type: output, command: ibstat, how: cut, sed: x}", "'sed' goes with 'how: replace'"),
    ],
)
def test_a_fault_that_would_be_none_is_refused(tmp_path, fault, message):
    path = tmp_path / "s.yaml"
    path.write_text(f"{MINIMAL}faults:\n  - {fault}\n")

    with pytest.raises(InputError, match=message):
        load(path)


def test_sm_none(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(MINIMAL + "sm: none\n")

    assert load(path).sm is None


def test_an_unknown_name_lists_the_known():
    with pytest.raises(
        InputError, match=r"there is no lab scenario 'helthy'; there are .*, healthy, "
    ):
        load("helthy")


def test_a_capture_is_a_scenario(tmp_path):
    net = scenario.TwoSwitch(builder="two-switch", clients=2, storage=1).build(tmp_path)
    (tmp_path / "site.txt").write_text(net.text())

    play = load(f"capture:{tmp_path / 'site.txt'}")

    assert play.hosts == scenario.Hosts(
        observers=("client-1",),
        clients=("client-2", "stor-1", "mgmt01"),
        nodes={node.name: node.id for node in net.hosts()},
    )
    assert play.topology.build(play.folder) == net

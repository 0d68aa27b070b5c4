"""Pairs of perftest on hosts that answer as the real ones do: who meets whom, and what fails."""

import pytest

from ibaccept.fabric.units import Bandwidth
from ibaccept.load.clocks import Clocks
from ibaccept.load.pace import Pace, RdmaLoad
from ibaccept.load.rdma import RdmaRunner, pairs_of
from ibaccept.load.result import Pair, PairRate
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import Host
from ibaccept.verdict.absence import NotSeen

CLIENTS, STORAGE = ["c1", "c2"], ["s1", "s2"]


def test_pairs_go_round_the_storage_each_with_its_own_port():
    assert pairs_of(["a", "b", "c"], ["s", "t"], "read", "ib_write_bw") == (
        Pair("a", "s", "s", "a", 18600), Pair("b", "t", "t", "b", 18601),
        Pair("c", "s", "s", "c", 18602),
    )  # fmt: skip
    assert pairs_of(["a", "b", "c"], ["s", "t"], "write", "ib_write_bw", shift=1) == (
        Pair("a", "t", "a", "t", 18600), Pair("b", "s", "b", "s", 18601),
        Pair("c", "t", "c", "t", 18602),
    )  # fmt: skip
    # a reader is the tool's client, so the sender runs the server
    assert pairs_of(["a"], ["s"], "read", "ib_read_bw") == (Pair("a", "s", "s", "s", 18600),)
    assert pairs_of(["a"], ["s"], "write", "ib_read_bw") == (Pair("a", "s", "a", "a", 18600),)


def run(played, load=None, direction="read", **hosts):
    load = load or RdmaLoad(duration=4)
    known = {
        name: hosts.get(name, InventoryHost(name, Host(name))) for name in (*CLIENTS, *STORAGE)
    }
    pace = Pace(sleep=played.sleep, listening=3)
    runner = RdmaRunner(played, load, known, pace, Clocks())
    return runner.run(pairs_of(CLIENTS, STORAGE, direction, load.tool), direction, None)


def shown(result):
    return {
        pair.client: rate.rate.gbps if isinstance(rate, PairRate) else rate.reason
        for pair, rate in result.pairs.items()
    }


def test_all_pairs_at_once(played):
    result = run(played)

    assert shown(result) == {"c1": 98.0, "c2": 98.0}
    assert result.total == Bandwidth(2 * 98e9 / 8)
    assert (result.direction, result.tool, result.seconds) == ("read", "ib_write_bw", 4.0)
    assert (result.moved, result.unseen, result.ended) == ((), (), (4, 4))
    assert dict(played.ports) == {name: {22} for name in (*CLIENTS, *STORAGE)}
    options = "-F -D 4 -q 4 -s 1048576 --report_gbits -p"
    assert [" ".join(line) for line in played.sent if line[1] == "ib_write_bw"] == [
        f"c1 ib_write_bw {options} 18600", f"c2 ib_write_bw {options} 18601",
        f"s1 ib_write_bw {options} 18600 c1", f"s2 ib_write_bw {options} 18601 c2",
    ]  # fmt: skip


def test_device_port_depth_and_address_are_the_inventorys(played):
    load = RdmaLoad("ib_read_bw", duration=4, depth=64)
    server = InventoryHost("s1", Host("s1", address="10.1.2.3"), ib_hca=("mlx5_1",), ib_port=2)
    tunnel = InventoryHost("s2", Host("s2", address="127.0.0.1"))

    result = run(played, load, s1=server, s2=tunnel)

    assert shown(result) == {"c1": 98.0, "c2": 98.0}
    options = "-F -D 4 -q 4 -s 1048576 --report_gbits -p"
    assert [" ".join(line) for line in played.sent if line[1] == "ib_read_bw"] == [
        f"s1 ib_read_bw -d mlx5_1 -i 2 -t 64 {options} 18600",
        f"s2 ib_read_bw -t 64 {options} 18601",
        # where it is to be met; a tunnel's end is no place between hosts
        f"c1 ib_read_bw -t 64 {options} 18600 10.1.2.3",
        f"c2 ib_read_bw -t 64 {options} 18601 s2",
    ]


def test_a_port_in_use_is_passed_over_and_said(played):
    played.ports["c1"] |= {18600, 18601}

    result = run(played)

    assert shown(result) == {"c1": 98.0, "c2": 98.0}
    assert [pair.tcp_port for pair in result.pairs] == [18602, 18603]
    assert result.moved == tuple(
        f"c1: TCP port {port} is in use, the next one was taken" for port in (18600, 18601)
    )


def test_a_port_that_is_taken_in_between_is_changed(played):
    """ss did not show it yet, so the server itself says so, and another port is tried."""
    taken = {18600}
    text = played._text

    def hidden(host, tool, argv):
        lines = text(host, tool, argv).splitlines(keepends=True)
        return "".join(line for line in lines if tool != "ss" or ":18600 " not in line)

    played.ports["c1"] |= taken
    played._text = hidden

    result = run(played)

    assert shown(result) == {"c1": 98.0, "c2": 98.0}
    assert sorted(pair.tcp_port for pair in result.pairs) == [18601, 18602]


def test_a_host_all_of_whose_ports_are_taken(played):
    # nothing is listed, and whatever port is tried is in use
    played.answers["c1", "ib_write_bw"] = {
        "exit_code": 1, "stdout": b"", "stderr": b"Couldn't listen to port 18600\n",
    }  # fmt: skip

    assert shown(run(played)) == {
        "c1": "server: c1: 8 TCP ports up to 18608 are in use",
        "c2": 98.0,
    }


@pytest.mark.parametrize(
    ("key", "changes", "reason"),
    [
        (
            ("c1", "ib_write_bw"), {"missing": True, "exit_code": 127, "stdout": b""},
            "server: c1: ib_write_bw is not installed there (or not in PATH and the sbin folders)",
        ),
        (
            ("c1", "ss"), {"exit_code": 1, "stdout": b"", "stderr": b"ss: no\n"},
            "server: c1: ss -ltn ended with exit code 1: ss: no",
        ),
        (
            ("c1", "ss"), {"stdout": b"State Nonsense\nx y\n"},
            "server: c1: ss output, line 1: not the header of 'ss -ltn': 'State Nonsense'",
        ),
        (
            ("s1", "ib_write_bw"), {"exit_code": 1, "stdout": b"", "stderr": b"Couldn't connect\n"},
            "client: s1: ib_write_bw ended with exit code 1: Couldn't connect",
        ),
        (
            ("s1", "ib_write_bw"), {"exit_code": 1, "stderr": b"Failed status 12\n"},
            "client: s1: the client ended with exit code 1: Failed status 12",
        ),
        (
            ("s1", "ib_write_bw"), {"exit_code": None, "signal": "KILL"},
            "client: s1: ib_write_bw was ended by signal KILL; its output may be cut",
        ),
        (
            ("s1", "ib_write_bw"), {"stdout": b"hello\n"},
            "client: s1: perftest output, line 1: not a line of a bandwidth test: 'hello'",
        ),
        (
            ("s1", "ib_write_bw"), {"exit_code": None, "truncated": True},
            "client: s1: ib_write_bw printed more than the output limit; its output is cut",
        ),
    ],
)  # fmt: skip
def test_what_fails_costs_its_own_pair(played, key, changes, reason):
    played.answers[key] = changes

    result = run(played)

    assert shown(result)["c2"] == 98.0
    assert result.total is None
    (part,) = result.unseen
    assert part.what == "the rate of s1 to c1"
    assert part.reason == reason


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (("c1", "ss"), "server: c1: refused the connection"),
        (("c1", "ib_write_bw"), "server: c1: refused the connection"),
        (("s1", "ib_write_bw"), "client: s1: refused the connection"),
    ],
)
def test_a_host_that_is_gone_costs_its_own_pair(played, gone, key, reason):
    played.answers[key] = gone

    assert shown(run(played)) == {"c1": reason, "c2": 98.0}


def test_a_server_that_never_listens(played):
    """It runs, and ss does not show its port: after so many looks its pair is given up."""
    text = played._text
    played._text = lambda host, tool, argv: (
        text(host, tool, argv).splitlines(keepends=True)[0]
        if (host.name, tool) == ("c1", "ss")
        else text(host, tool, argv)
    )

    result = run(played)

    assert result.unseen == (
        NotSeen(
            "the rate of s1 to c1",
            "server: c1: ib_write_bw runs but does not listen on TCP port 18600",
            "run ss -ltnp on c1",
        ),
    )
    assert shown(result)["c2"] == 98.0


def test_a_server_that_somebody_else_met_is_no_server(played):
    """It had listened, and has ended with exit code 0 before its client began."""
    text, looks = played._text, []

    def met(host, tool, argv):
        if (host.name, tool) == ("c1", "ss"):
            looks.append(host)
            if len(looks) == 3:
                (one,) = [r for r in played.running if r.host.name == "c1"]
                one._end(one.answer)
        return text(host, tool, argv)

    played.answers["c2", "ss"] = {}
    played._text = met
    played.ports["c1"].add(9)

    result = run(played)

    assert shown(result)["c2"] == 98.0
    assert shown(result)["c1"] in {
        98.0, "server: c1: it ended before its client began: another client met it",
    }  # fmt: skip


def test_a_failed_client_names_its_servers_end_too(played):
    played.answers["s1", "ib_write_bw"] = {"exit_code": 1, "stderr": b"Failed status 12\n"}
    end = played.sleep

    def kill(seconds):
        end(seconds)
        for one in played.running:
            if one.host.name == "c1" and one.result is None:
                one._end(
                    one.answer.__class__(
                        "c1", one.argv, b"", b"ethernet_read_keys: Couldn't read\n", 1
                    )
                )

    played.sleep = kill

    (part,) = run(played).unseen

    assert part.reason == (
        "client: s1: the client ended with exit code 1: Failed status 12; server: c1: ib_write_bw "
        "ended with exit code 1: ethernet_read_keys: Couldn't read"
    )

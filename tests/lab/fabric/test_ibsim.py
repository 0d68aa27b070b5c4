"""The ibsim lab with the real tools: what they print, what can be changed, and that it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ibaccept.errors import IbacceptError, InputError
from ibaccept.lab import Lab
from ibaccept.lab.fabric import ibsim
from ibaccept.lab.fabric.netfile import NetFile, PortRef
from ibaccept.lab.ssh.process import Processes
from ibaccept.site.inventory import load_inventory
from ibaccept.site.plan import Plan

pytestmark = pytest.mark.real


def is_running(pid: int) -> bool:
    """True while a process is there and not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def cables(net):
    """Cables whatever end comes first."""
    return {(frozenset({str(c.a), str(c.b)}), str(c.rate)) for c in net.cables()}


def until(condition, seconds=10.0):
    """Wait for a condition; False where it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture(scope="module")
def healthy():
    with Lab.start("healthy") as lab:
        yield lab


def test_ibnetdiscover_shows_the_fabric_as_it_was_built(healthy, ssh):
    done = ssh(healthy, "mgmt01", "ibnetdiscover")

    built = healthy.scenario.topology.build(healthy.scenario.folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "# Initiated from node 0c42a10300f03900 port 0c42a10300f03901" in done.stdout
    assert cables(NetFile.parse(done.stdout)) == cables(built)


def test_iblinkinfo_shows_a_line_per_port(healthy, ssh):
    done = ssh(healthy, "mgmt01", "iblinkinfo --line")

    lines = done.stdout.splitlines()
    isl = (
        '0x0002c90300000001 "                       SwitchA"      2   15[  ] ==( 4X        53.125 '
    )
    assert (done.returncode, done.stderr, len(lines)) == (0, "", 57 + 56 + 33)
    assert [line for line in lines if line.startswith(isl)] == [
        isl + "Gbps Active/  LinkUp)==>  0x0002c90300000002     59   27[  ] "
        '"SwitchB" (Could be 12X )'
    ]
    assert sum("Down/ Polling" in line for line in lines) == 33 - 17


def test_the_case_of_the_article(healthy, ssh):
    """Stock min-hop puts six client LIDs on each ISL; the twelve of the job lie 6 / 5 / 1."""
    clients = [f"client-{n:02d}" for n in (1, 9, 17, 25, 33, 41, 2, 10, 18, 26, 34, 3)]
    shown = ssh(healthy, "mgmt01", "ibnetdiscover").stdout.split("\n\n")
    tables = ssh(healthy, "mgmt01", "dump_fts -n").stdout.split("Unicast lids ")
    switch_b = next(table for table in tables if "(SwitchB)" in table)
    port_of = {
        int(row.split()[0], 16): int(row.split()[1])
        for row in switch_b.splitlines()
        if row.startswith("0x")
    }
    lid_of = {
        name: int(block.split("# lid ")[1].split()[0])
        for block in shown
        for name in clients
        if block.partition("\n[1](")[0].endswith(f'# "{name}"')
    }

    ports = [port_of[lid_of[name]] for name in clients]
    assert {port: ports.count(port) for port in sorted(set(ports))} == {25: 6, 26: 5, 27: 1}
    assert {p: list(port_of.values()).count(p) for p in range(26, 33)} == dict.fromkeys(
        range(26, 33), 6
    )


def test_sminfo_and_saquery_are_answered(healthy, ssh):
    sminfo = ssh(healthy, "mgmt01", "sminfo")
    saquery = ssh(healthy, "mgmt01", "saquery -s")

    assert sminfo.stdout.startswith("sminfo: sm lid 1 sm guid 0xc42a10300f03901, activity count ")
    assert sminfo.stdout.endswith(" priority 0 state 3 SMINFO_MASTER\n")
    assert (saquery.returncode, saquery.stdout.count("PortInfoRecord dump:")) == (0, 1)


def test_ibstat_shows_the_hosts_own_hca(healthy, ssh):
    guids = {
        host: ssh(healthy, host, "ibstat -p").stdout for host in ("client-05", "stor-8", "mgmt01")
    }

    assert guids == {
        "client-05": "0x0c42a10300f00501\n",
        "stor-8": "0x0c42a10300f03801\n",
        "mgmt01": "0x0c42a10300f03901\n",
    }


def test_sudo_becomes_the_tool(healthy, ssh):
    done = ssh(healthy, "client-05", "sudo -n -- ibstat -p")

    assert (done.returncode, done.stdout, done.stderr) == (0, "0x0c42a10300f00501\n", "")


def test_the_files_of_a_lab_are_those_the_suite_reads(healthy):
    inventory = load_inventory(healthy.inventory)
    plan = Plan.load(healthy.plan)

    assert {name: len(group) for name, group in inventory.groups.items()} == {
        "observers": 1,
        "clients": 48,
        "storage": 8,
        "all": 57,
    }
    host = inventory.hosts["client-07"].transport
    assert (host.address, host.port, host.user, host.key_file, host.sudo) == (
        "127.0.0.1",
        healthy.port,
        "client-07",
        healthy.key_file,
        True,
    )
    assert len(plan.cables) == 57 + 8
    assert (healthy.folder / "inventory/cables.csv") == healthy.plan
    assert healthy.key_file.stat().st_mode & 0o777 == 0o600


def test_counters_are_read_by_the_real_tool(start, ssh):
    lab = start()
    port = PortRef("client-3", 1)
    lab.backend.set_counters(port, {"SymbolErrorCounter": 47, "LinkDownedCounter": 300})
    lab.backend.add_counters(port, {"SymbolErrorCounter": 5, "PortXmitDiscards": 70000})
    lab.backend.set_counters(port, {"PortXmitData": 347892350976, "PortRcvPkts": 1 << 40})

    lid = ssh(lab, "client-3", "ibstat").stdout.split("Base lid: ")[1].split()[0]
    basic = ssh(lab, "mgmt01", f"perfquery {lid} 1").stdout
    wide = ssh(lab, "mgmt01", f"perfquery -x {lid} 1").stdout
    shown = dict(line.replace(".", "").split(":") for line in basic.splitlines()[1:])
    extended = dict(line.replace(".", "").split(":") for line in wide.splitlines()[1:])
    names = ("SymbolErrorCounter", "LinkDownedCounter", "PortXmitDiscards", "PortRcvErrors")
    assert [int(shown[name]) for name in names] == [52, 255, 65535, 0]
    # What our own datagrams add is small: 72 words and a packet each.
    assert 347892350976 <= int(extended["PortXmitData"]) < 347892350976 + 100 * 72
    assert 1 << 40 <= int(extended["PortRcvPkts"]) < (1 << 40) + 100


def test_clearing_sets_back_what_was_set(start, ssh):
    lab = start()
    for port in ("client-3/1", "SwitchB/25"):
        lab.backend.set_counters(PortRef.parse(port), {"SymbolErrorCounter": 47})
    lab.backend.clear_counters(PortRef("client-3", 1))

    one = ssh(lab, "mgmt01", "ibqueryerrors --skip-sl")
    lab.backend.clear_counters(None)
    none = ssh(lab, "mgmt01", "ibqueryerrors --skip-sl")
    assert (one.returncode, "client-3" in one.stdout, "port 25: [Symbol" in one.stdout) == (
        1,
        False,
        True,
    )
    assert (none.returncode, ", 0 bad nodes found" in none.stdout) == (0, True)


def test_an_unknown_counter_or_node_is_refused(start):
    lab = start()

    with pytest.raises(InputError, match="'SymbolErrors' is not a counter of ibsim"):
        lab.backend.set_counters(PortRef("client-3", 1), {"SymbolErrors": 1})
    with pytest.raises(InputError, match="no node is called 'client-9'"):
        lab.backend.set_counters(PortRef("client-9", 1), {"SymbolErrorCounter": 1})


def test_something_happens_after_the_nth_command(start, ssh):
    lab = start(
        faults=[
            {
                "type": "count",
                "port": "client-3/1",
                "counters": {"SymbolErrorCounter": 9},
                "when": {"after": {"command": command, "nth": nth}},
            }
            for command, nth in (("ibqueryerrors", 2), ("ibqueryerrors --skip-sl", 3))
        ]
    )

    seen = [ssh(lab, "mgmt01", "ibqueryerrors --skip-sl").stdout for _ in range(4)]
    assert [text.count("SymbolErrorCounter == 9]") for text in seen] == [0, 0, 1, 0]
    assert [text.count("SymbolErrorCounter == 18]") for text in seen] == [0, 0, 0, 1]


def test_cabling_faults_are_in_the_fabric_and_not_in_the_plan(start, ssh):
    lab = start(
        faults=[
            {"type": "rate", "cable": "SwitchA/13", "rate": "1X HDR"},
            {"type": "missing", "cable": "SwitchA/14"},
            {"type": "swap", "cables": ["SwitchA/1", "SwitchA/2"]},
        ]
    )

    found = {
        (str(cable.a), str(cable.b), str(cable.rate))
        for cable in NetFile.parse(ssh(lab, "mgmt01", "ibnetdiscover").stdout).cables()
        if str(cable.a) in {"SwitchA/1", "SwitchA/2", "SwitchA/13", "SwitchA/14"}
    }
    assert found == {
        ("SwitchA/1", "client-2/1", "4X HDR"),
        ("SwitchA/2", "client-1/1", "4X HDR"),
        ("SwitchA/13", "SwitchB/25", "1X HDR"),
    }
    assert [cable.name for cable in Plan.load(lab.plan).cables] == [
        "SwitchA/1 - client-1/1",
        "SwitchA/2 - client-2/1",
        "SwitchA/3 - client-3/1",
        "SwitchA/4 - client-4/1",
        "SwitchA/5 - client-5/1",
        "SwitchA/6 - client-6/1",
        "SwitchA/13 - SwitchB/25",
        "SwitchA/14 - SwitchB/26",
        "SwitchB/1 - stor-1/1",
        "SwitchB/2 - stor-2/1",
        "SwitchB/27 - mgmt01/1",
    ]


def test_an_unlinked_cable_is_routed_around(start, ssh):
    lab = start()

    lab.backend.unlink(PortRef("SwitchA", 13))

    def ports() -> set[str]:
        rows = ssh(lab, "mgmt01", "dump_fts -n").stdout.splitlines()
        return {row.split()[1] for row in rows if row.startswith("0x")}

    assert until(lambda: not {"013", "025"} & ports())


def test_no_sm(start, ssh):
    lab = start(faults=[{"type": "no-sm"}])

    done = ssh(lab, "mgmt01", "sminfo")
    links = ssh(lab, "mgmt01", "iblinkinfo --line").stdout
    assert (done.returncode, "iberror: failed: query" in done.stdout) == (255, True)
    assert links.count(" Active/") == 2 * (6 + 2 + 1 + 2)


def test_a_fabric_that_was_never_routed(start, ssh):
    lab = start(sm="none")

    links = ssh(lab, "mgmt01", "iblinkinfo --line").stdout
    assert (links.count(" Active/"), links.count("Initialize/")) == (0, 2 * (6 + 2 + 1 + 2))


def test_a_silent_node_is_not_seen(start, ssh):
    lab = start(faults=[{"type": "silence", "node": "SwitchA"}])

    done = ssh(lab, "mgmt01", "ibnetdiscover")
    assert ("client-1" in done.stdout, "bad status 110" in done.stderr) == (False, True)


@pytest.mark.parametrize("engine", ["minhop", "updn", "ftree", "lash"])
def test_engines(start, ssh, engine):
    lab = start(
        topology={"builder": "fat-tree", "leaves": 3, "spines": 2, "hosts": 2},
        hosts={"clients": "node[001-006]"},
        sm={"engine": engine, "roots": "spine[01-02]"},
    )

    log = (lab.folder / "opensm" / "osm.log").read_text()
    assert f"{engine} tables configured on all switches" in log
    assert ssh(lab, "mgmt01", "dump_fts -n").stdout.count("valid lids dumped") == 5


def test_an_engine_that_falls_back_is_an_error(play):
    """ftree cannot route a ring; OpenSM says so in its log only, and runs min-hop."""
    ring = play(
        topology={"builder": "ring"},
        hosts={"clients": "node[001-008]"},
        sm={"engine": "ftree"},
    )

    with pytest.raises(IbacceptError, match="routing engine ftree and used minhop; see "):
        Lab.start(ring)


def test_order_file_and_lmc(start, ssh):
    lab = start(sm={"first": "client-[4-6]", "lmc": 1, "scatter_ports": 7, "port_shifting": True})

    order = (lab.folder / "opensm" / "guid_routing_order_file").read_text().split()
    assert order == ["0xc42a10300f00401", "0xc42a10300f00501", "0xc42a10300f00601"]
    assert "LMC: 1" in ssh(lab, "client-4", "ibstat").stdout


def test_tables_from_a_file(start, ssh, tmp_path):
    dumped = start(folder=tmp_path / "first").folder / "opensm" / "opensm-lfts.dump"
    tables = dumped.read_text().replace(" 013 ", " 014 ")

    lab = start(sm={"engine": "file", "lfts": tables})

    rows = ssh(lab, "mgmt01", "dump_fts -n").stdout.splitlines()
    ports = [row.split()[1] for row in rows if row.startswith("0x")]
    assert ("013" in ports, "014" in ports) == (False, True)


def test_two_labs_at_once(start, ssh):
    one, two = start(), start(faults=[{"type": "missing", "cable": "client-1/1"}])

    states = [
        ssh(lab, "client-1", "ibstat").stdout.split("State: ")[1].split()[0] for lab in (one, two)
    ]
    assert states == ["Active", "Down"]


def test_stop_leaves_nothing(start, ssh):
    lab = start()
    assert ssh(lab, "mgmt01", "sminfo").returncode == 0
    left_running = subprocess.Popen(
        ["ssh", "-F", str(lab.ssh_config), "mgmt01", "sleep 1000 & sleep 1000"],
        stdin=subprocess.DEVNULL,
    )
    assert until(lambda: len(lab.pids) == 4 and len(_children(lab.pids)) == 2)
    pids = {*lab.pids, *_children(lab.pids)}

    lab.stop()

    left_running.wait(10)
    assert (len(pids), [pid for pid in pids if is_running(pid)]) == (6, [])
    assert not lab.folder.exists()
    lab.stop()


def test_stop_ends_what_a_command_left_behind(start, ssh):
    """Its shell has ended long since; the process group is still the lab's."""
    lab = start()
    done = ssh(lab, "mgmt01", "sleep 1000 </dev/null >/dev/null 2>&1 & echo $!")
    pid = int(done.stdout)
    before = is_running(pid)

    lab.stop()

    assert (before, until(lambda: not is_running(pid))) == (True, True)


def _children(pids):
    """Children of these processes that are not among them (the sleeps of a shell)."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent in pids:
                found.add(int(folder.name))
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_an_ended_parent_leaves_nothing(tmp_path, number):
    """Killed, interrupted from the keyboard, or ended: nothing of the lab is left."""
    script = (
        "import time\n"
        "from ibaccept.lab import Lab\n"
        "from pathlib import Path\n"
        f"lab = Lab.start('healthy', folder=Path({str(tmp_path / 'lab')!r}))\n"
        "print(*lab.pids, flush=True)\n"
        "time.sleep(1000)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    alive = [is_running(pid) for pid in pids]

    os.kill(parent.pid, number)
    parent.wait()
    parent.stdout.close()

    assert alive == [True, True, True]
    assert until(lambda: not any(is_running(pid) for pid in pids))


def test_a_failed_start_leaves_nothing(play, monkeypatch):
    started: list[Processes] = []
    original = Processes.__init__

    def remember(self, token):
        original(self, token)
        started.append(self)

    monkeypatch.setattr(Processes, "__init__", remember)
    with pytest.raises(InputError, match="no node is called 'nobody'"):
        Lab.start(play(faults=[{"type": "unlink", "cable": "nobody/1"}]))

    assert [pid for processes in started for pid in processes.pids if is_running(pid)] == []


def test_missing_packages_are_named_all_at_once(monkeypatch):
    monkeypatch.setattr(ibsim, "SYSTEM_PATH", "/nonexistent")

    with pytest.raises(IbacceptError) as caught:
        ibsim.require_packages()

    assert str(caught.value) == (
        "the ibsim lab needs Debian packages that are not installed here: "
        "apt-get install ibsim-utils opensm infiniband-diags util-linux"
    )


def test_an_unknown_backend():
    with pytest.raises(InputError, match="there is no lab backend 'hardware'; there is ibsim"):
        Lab.start("healthy", backend="hardware")


def test_a_capture_starts(tmp_path, ssh, play):
    net = play().topology.build(tmp_path)
    (tmp_path / "site.txt").write_text(net.text())

    with Lab.start(f"capture:{tmp_path / 'site.txt'}") as lab:
        shown = NetFile.parse(ssh(lab, "client-1", "ibnetdiscover").stdout)

    assert cables(shown) == cables(net)


def test_the_log_has_every_command(start, ssh):
    lab = start()
    ssh(lab, "client-1", "echo 'a  b'; exit 3")
    ssh(lab, "mgmt01", "kill -TERM $$")

    assert until(lambda: lab.log.read_text().count("\n") == 2)
    lines = [json.loads(line) for line in lab.log.read_text().splitlines()]
    assert [(line["host"], line["exec"], line["exit"]) for line in lines] == [
        ("client-1", "echo 'a  b'; exit 3", 3),
        ("mgmt01", "kill -TERM $$", -15),
    ]
    assert all(abs(line["time"] - time.time()) < 60 for line in lines)

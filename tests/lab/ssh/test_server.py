"""The lab's SSH server is one: streams, exit codes, lost clients, refusals, two hundred hosts."""

import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paramiko
import pytest

from ibaccept import commands
from ibaccept.lab.hosts.played import argv_of
from ibaccept.site.inventory import load_inventory
from ibaccept.transport import TransportError
from ibaccept.transport.fanout import run_many
from ibaccept.transport.ssh import SshTransport
from ibaccept.transport.wrap import wrap

pytestmark = pytest.mark.real


def connect(lab, host):
    """A paramiko client logged in as a host, keys strictly checked."""
    client = paramiko.SSHClient()
    client.load_host_keys(str(lab.known_hosts))
    client.set_missing_host_key_policy(paramiko.RejectPolicy())
    client.connect(
        "127.0.0.1",
        lab.port,
        host,
        key_filename=str(lab.key_file),
        allow_agent=False,
        look_for_keys=False,
        banner_timeout=60,
        auth_timeout=60,
    )
    return client


def until(condition, seconds=10.0):
    """Wait for a condition; False where it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def run(lab, host, command, **options):
    """One command by the suite's own transport."""
    transport = SshTransport(commands.is_permitted, ssh_config=lab.ssh_config)
    try:
        target = load_inventory(lab.inventory).hosts[host].transport
        return transport.run(
            target, command.argv(), **{"timeout": 20, "root": command.root, **options}
        )
    finally:
        transport.close()


def test_streams_are_kept_apart_and_the_exit_code_comes_back(start, ssh):
    done = ssh(start(), "client-1", "echo out; echo err >&2; exit 7")

    assert (done.stdout, done.stderr, done.returncode) == ("out\n", "err\n", 7)


def test_input_reaches_the_command_and_ends(start):
    lab = start()
    data = bytes(range(256)) * 20_000

    done = subprocess.run(
        ["ssh", "-F", str(lab.ssh_config), "client-1", "cat"],
        input=data,
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stderr, done.stdout == data) == (0, b"", True)


def test_a_command_that_does_not_read_its_input(start):
    done = subprocess.run(
        ["ssh", "-F", str(start().ssh_config), "client-1", "exec 0<&-; echo done"],
        input=b"x" * 5_000_000,
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, b"done\n")


def test_a_signal_comes_back_as_a_signal(start):
    """RFC 4254: exit-signal, and no exit status. paramiko shows -1 for it."""
    with connect(start(), "client-1") as client:
        _stdin, stdout, _stderr = client.exec_command("kill -KILL $$")

        assert stdout.channel.recv_exit_status() == -1


def test_commands_run_as_their_host_without_our_environment(start, ssh, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD_OF_MINE", "x")

    done = ssh(start(), "stor-2", 'echo "$USER $LOGNAME $SIM_HOST ${LD_PRELOAD_OF_MINE:-none}"')

    assert done.stdout == "stor-2 stor-2 H-0c42a10300f00800 none\n"


def test_a_lost_client_is_seen_as_end_of_input_and_nothing_is_killed(start, tmp_path):
    """As sshd: the process gets EOF. What it does then is its own affair."""
    lab = start()
    seen = tmp_path / "seen"
    client = connect(lab, "client-1")
    client.exec_command(f"cat; echo eof > {seen}; sleep 0.3; echo alive >> {seen}")
    assert until(lambda: len(lab.pids) == 4)

    client.close()

    assert until(lambda: seen.exists() and seen.read_text() == "eof\nalive\n")
    assert until(lambda: len(lab.pids) == 3)


def test_channels_of_one_connection_are_served_at_once(start):
    with connect(start(), "client-1") as client:
        started = time.monotonic()
        streams = [client.exec_command(f"sleep 0.5; echo {n}")[1] for n in range(8)]
        answers = [stream.read() for stream in streams]

        assert answers == [f"{n}\n".encode() for n in range(8)]
        assert time.monotonic() - started < 3


def test_more_tools_than_the_simulator_has_places(start):
    """ibsim serves ten clients; the rest waits its turn."""
    lab = start()
    with connect(lab, "mgmt01") as client, ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(
                lambda _n: client.exec_command("ibnetdiscover | grep -c ^Ca")[1].read(), range(40)
            )
        )

        assert answers == [b"9\n"] * 40


def test_two_hundred_hosts_at_once(start):
    lab = start(
        topology={"builder": "fat-tree", "leaves": 10, "spines": 2, "hosts": 20},
        hosts={"clients": "node[001-200]"},
    )
    hosts = [f"node{n:03d}" for n in range(1, 201)]
    before = threading.active_count()

    with ThreadPoolExecutor(200) as pool:
        clients = list(pool.map(lambda host: connect(lab, host), hosts))
        answers = list(pool.map(lambda c: c.exec_command("ibstat -p")[1].read(), clients))
    for client in clients:
        client.close()

    expected = [f"0x{0x0C42A10300F00001 + 0x100 * n:016x}\n".encode() for n in range(1, 201)]
    assert answers == expected
    # A thread per running command, and they are used again: far fewer than 200 x 2.
    assert until(lambda: threading.active_count() - before < 250)


def test_the_suites_own_transport(start):
    lab = start()

    result = run(lab, "mgmt01", commands.SMINFO)

    assert (result.exit_code, result.stderr, result.problem()) == (0, b"", None)
    assert result.text.endswith("SMINFO_MASTER\n")


def test_wrapped_and_plain_commands_are_known_by_their_tool():
    wrapped = wrap(("ibqueryerrors", "--skip-sl"), timeout=5, root=True)

    assert [argv_of(text) for text in (wrapped.exec_string, "sudo -n sminfo 3", "x 'y")] == [
        ("ibqueryerrors", "--skip-sl"),
        ("sminfo", "3"),
        ("x", "'y"),
    ]


@pytest.mark.parametrize(
    ("fault", "step"),
    [
        ({"type": "unreachable", "host": "client-1"}, "connect"),
        ({"type": "unreachable", "host": "client-1", "how": "silent"}, "connect"),
        ({"type": "host-key", "host": "client-1"}, "host key"),
        ({"type": "host-key", "host": "client-1", "how": "changed"}, "host key"),
        ({"type": "authentication", "host": "client-1"}, "authentication"),
        ({"type": "unresolved", "host": "client-1"}, "resolve"),
    ],
)
def test_a_host_that_cannot_be_used(start, fault, step):
    """One host is out of order; its neighbour is not."""
    lab = start(faults=[fault])
    inventory = load_inventory(lab.inventory)
    transport = SshTransport(commands.is_permitted, ssh_config=lab.ssh_config, connect_timeout=3)
    results = run_many(
        transport,
        [(inventory.hosts[host].transport, ("ibstat",)) for host in ("client-1", "client-2")],
        timeout=20,
    )
    transport.close()

    refused, served = results[0], results[1]
    assert isinstance(refused, TransportError)
    assert (refused.step, served.exit_code) == (step, 0)


def test_nobody_else_gets_in(start, tmp_path):
    lab = start()
    other = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)

    refusals = []
    for user, key in (("client-1", other), ("nobody", lab.key_file)):
        with paramiko.SSHClient() as client:
            client.load_host_keys(str(lab.known_hosts))
            with pytest.raises(paramiko.AuthenticationException) as caught:
                client.connect(
                    "127.0.0.1",
                    lab.port,
                    user,
                    key_filename=str(key),
                    allow_agent=False,
                    look_for_keys=False,
                )
            refusals.append(type(caught.value))
    assert refusals == [paramiko.AuthenticationException] * 2


def test_a_missing_tool(start, ssh):
    fault = {"type": "missing-tools", "host": "client-1", "tools": ["ibstat"]}
    lab = start(faults=[fault])

    wrapped = run(lab, "client-1", commands.IBSTAT)
    plain = ssh(lab, "client-1", "ibstat")
    by_sudo = ssh(lab, "client-1", "sudo -n ibstat")
    other = ssh(lab, "client-2", "ibstat -p")
    assert (wrapped.missing, wrapped.stdout) == (True, b"")
    assert (plain.returncode, plain.stdout, "not found" in plain.stderr) == (127, "", True)
    assert (by_sudo.returncode, by_sudo.stderr) == (
        1,
        "sudo: ibstat-that-is-not-installed: command not found\n",
    )
    assert other.returncode == 0


def test_sudo_that_asks_for_a_password(start):
    lab = start(faults=[{"type": "sudo-refused", "host": "mgmt01"}])

    result = run(lab, "mgmt01", commands.SMINFO)

    assert (result.sudo_refused, result.exit_code, result.stdout) == (True, 1, b"")


def test_output_that_is_cut_or_garbled(start):
    whole = run(start(), "mgmt01", commands.IBLINKINFO).stdout
    cut = run(
        start(faults=[{"type": "output", "command": "iblinkinfo", "how": "cut", "at": 30}]),
        "mgmt01",
        commands.IBLINKINFO,
    )
    garbled = run(
        start(faults=[{"type": "output", "command": "iblinkinfo", "how": "garble"}]),
        "mgmt01",
        commands.IBLINKINFO,
    )

    assert (cut.exit_code, cut.stdout) == (0, whole[: len(whole) * 30 // 100])
    half = len(whole) // 2
    noise = b"\x01\xff lp0 on fire \n"
    assert (garbled.exit_code, garbled.stdout) == (0, whole[:half] + noise + whole[half:])


def test_output_that_is_changed_on_one_host_and_one_time(start, ssh):
    """An HCA in Ethernet mode, which the simulator does not have."""
    fault = {
        "type": "output",
        "command": "ibstat",
        "how": "replace",
        "host": "client-2",
        "nth": 2,
        "sed": "s/Link layer: IB/Link layer: Ethernet/",
    }
    lab = start(faults=[fault])

    shown = [
        ssh(lab, host, "ibstat").stdout.rpartition(": ")[2].strip()
        for host in ("client-1", "client-2", "client-1", "client-2", "client-2")
    ]
    assert shown == ["IB", "IB", "IB", "Ethernet", "IB"]


def test_a_tool_that_hangs_is_ended_by_the_timeout(start):
    lab = start(faults=[{"type": "output", "command": "sminfo", "how": "hang", "at": 100}])

    result = run(lab, "mgmt01", commands.SMINFO, timeout=2)

    assert (result.timed_out, result.exit_code) == (True, None)
    assert result.text.endswith("SMINFO_MASTER\n")
    assert until(lambda: len(lab.pids) == 3)


def test_a_connection_that_is_cut_in_mid_output(start):
    lab = start(faults=[{"type": "output", "command": "iblinkinfo", "how": "disconnect"}])

    result = run(lab, "mgmt01", commands.IBLINKINFO)

    assert (result.lost, result.exit_code, 500 < len(result.stdout) < 5000) == (True, None, True)


def test_a_client_that_says_nothing_stops_nobody(start, ssh):
    lab = start()

    with socket.create_connection(("127.0.0.1", lab.port)):
        done = ssh(lab, "client-1", "echo served")

    assert done.stdout == "served\n"


def test_tools_leave_no_files_outside_the_labs_folder(start, ssh, tmp_path, monkeypatch):
    """umad2sim writes its /sys into the working directory."""
    monkeypatch.chdir(tmp_path)
    lab = start()

    ssh(lab, "client-1", "ibstat")

    assert list(Path.cwd().iterdir()) == []

"""Traffic in the lab, with processes: what the tools say, what perfquery counts, and mishaps."""

import json
import re
import subprocess
import time
from pathlib import Path

import pytest

from ibaccept.fabric.model import Guid
from ibaccept.lab import Lab
from ibaccept.lab.scenario import load
from ibaccept.lab.standins import fio, ib_bw
from ibaccept.lab.traffic.settings import Traffic
from ibaccept.observe.assemble import to_fabric
from ibaccept.parse import ibnetdiscover

pytestmark = pytest.mark.real

GIB = 1 << 30
HDR = 22.6 * GIB
SWITCH_A, SWITCH_B = Guid(0x0002C90300000001), Guid(0x0002C90300000002)
ISLS = range(25, 33)
SAMPLES = Path(__file__).resolve().parents[3] / "../shared/samples/perftest-rxe"
WIRE = (1 + 26 / 4096) / 4
"""PortXmitData of a byte of payload."""


def begin(lab, host, command):
    """Start a command as the SSH server does, without SSH."""
    return subprocess.Popen(
        ["sh", "-c", command],
        env=dict(lab.environment(host)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(process):
    """Exit code, stdout, stderr."""
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def run(lab, host, command):
    return end(begin(lab, host, command))


def listens(lab, host, port):
    """Wait until a server listens, as a load run does."""
    deadline = time.monotonic() + 20
    while f":{port} " not in run(lab, host, "ss -ltn")[1]:
        assert time.monotonic() < deadline, f"nobody listens on {host}:{port}"
        time.sleep(0.05)


def lid_of(lab, guid):
    fabric = to_fabric(ibnetdiscover.parse(run(lab, "mgmt01", "ibnetdiscover")[1]))
    return int(fabric.nodes[guid].lid)


def counters(lab, lid, port):
    """The 64-bit counters, and PortXmitWait, of one port."""
    text = "".join(
        run(lab, "mgmt01", f"perfquery {option} {lid} {port}")[1] for option in ("", "-x")
    )
    return {name: int(value) for name, value in re.findall(r"^(\w+):\.+(\d+)$", text, re.MULTILINE)}


def isl_data(lab, lid):
    """PortXmitData and PortRcvData of SwitchB's ISLs, by port, and the time of the read."""
    text = run(lab, "mgmt01", f"perfquery -x -l {lid} {ISLS[0]}-{ISLS[-1]}")[1]
    rows = re.findall(r"PortSelect:\.+(\d+)\n.*\nPortXmitData:\.+(\d+)\nPortRcvData:\.+(\d+)", text)
    return {int(port): (int(sent), int(received)) for port, sent, received in rows}


def timed(read):
    """A reading, and the moments before and after it: it was taken between them."""
    before = time.monotonic()
    value = read()
    return value, before, time.monotonic()


def window(read, seconds=1.5):
    """Two readings, and the least and the most time between them."""
    first, before_first, after_first = timed(read)
    time.sleep(seconds)
    second, before_second, after_second = timed(read)
    return first, second, before_second - after_first, after_second - before_first


def is_rate(grown, spans, gib):
    """Whether so many octets / 4 can be that many GiB/s of payload, within 1 %."""
    moved = grown / WIRE / GIB
    return gib * spans[0] * 0.99 <= moved <= gib * spans[1] * 1.01


def isl_rates(lab, lid):
    """What SwitchB's ISLs sent and received in a window, by port, and its least and most time."""
    first, second, *spans = window(lambda: isl_data(lab, lid))
    grown = {
        port: (second[port][0] - first[port][0], second[port][1] - first[port][1]) for port in first
    }
    return grown, spans


def row_of(text):
    """Words of perftest's result row."""
    return text.splitlines()[-2].split()


# -- the case of domain: writes even, reads on three cables ----------------------------------------


@pytest.fixture(scope="module")
def aliased():
    with Lab.start("aliased-reads") as lab:
        for client in lab.scenario.job:
            assert run(lab, client, f"mkdir -- /scratch/{client}")[0] == 0
        yield lab
        assert not (lab.folder / "plane.log").exists()


def file_system(lab, direction):
    """Run fio on all clients of the job; per client GiB/s, and the ISLs meanwhile."""
    command = (
        f"fio --name=data --directory=/scratch/$USER --bs=1048576 --size=1G --rw={direction} "
        "--numjobs=2 --iodepth=4 --ioengine=libaio --direct=1 --group_reporting "
        "--time_based --runtime=4 --output-format=json"
    )
    lid = lid_of(lab, SWITCH_B)
    jobs = [begin(lab, client, command) for client in lab.scenario.job]
    time.sleep(1.0)
    isls = isl_rates(lab, lid)
    results = [end(job) for job in jobs]
    assert [(code, err) for code, _, err in results] == [(0, "")] * len(jobs)
    sides = [json.loads(out)["jobs"][0][direction] for _, out, _ in results]
    return [side["bw_bytes"] / GIB for side in sides], isls


def test_a_write_run_is_even_at_what_the_clients_offer(aliased):
    clients, (grown, spans) = file_system(aliased, "write")

    assert clients == pytest.approx([7.62] * 12, rel=0.01)
    assert [port for port in ISLS if not is_rate(grown[port][1], spans, 91.44 / 8)] == []
    assert max(to_clients for to_clients, _ in grown.values()) < 10_000


def test_a_read_run_fills_two_cables_and_is_what_rdma_alone_gives(aliased):
    clients, (grown, spans) = file_system(aliased, "read")
    rdma = pairs_at_once(aliased)

    loaded = {25: 21.696, 26: 21.696, 27: 7.62}
    assert [port for port in loaded if not is_rate(grown[port][0], spans, loaded[port])] == []
    assert max(grown[port][0] for port in ISLS if port not in loaded) < 10_000
    # They do not begin at the same moment here: whoever is first has more for a while.
    assert sum(clients) == pytest.approx(51.0, rel=0.05)
    assert rdma == pytest.approx(sum(clients), rel=0.05)


def pairs_at_once(lab):
    """Every client receives from a storage server; the sum in GiB/s."""
    flags = "-d mlx5_0 -F -D 4 -q 4 -s 1048576 --report_gbits"
    clients = lab.scenario.job
    stores = lab.scenario.hosts.storage
    servers = [
        begin(lab, client, f"ib_write_bw {flags} -p {18600 + n}")
        for n, client in enumerate(clients)
    ]
    for n, client in enumerate(clients):
        listens(lab, client, 18600 + n)
    senders = [
        begin(lab, stores[n % 8], f"ib_write_bw {flags} -p {18600 + n} {client}")
        for n, client in enumerate(clients)
    ]
    results = [end(sender) for sender in senders]
    assert [(code, err) for code, _, err in results] == [(0, "")] * 12
    assert [end(server)[0] for server in servers] == [0] * 12
    gbps = sorted(float(row_of(out)[3]) for _, out, _ in results)
    assert gbps == pytest.approx([31.06] * 6 + [37.27] * 5 + [65.45], rel=0.01)
    return sum(gbps) * 1e9 / 8 / GIB


# -- what the counters count -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def small():
    """Two clients and two servers over two cables, with mishaps on some hosts."""
    play = load("healthy").model_copy(
        update={
            "plan": False,
            "traffic": Traffic.model_validate(
                {
                    "ceilings": {"4X HDR": "22.6 GiB/s"},
                    "hosts": [{"hosts": "client-04", "memory": "16GiB"}],
                    "mishaps": [
                        {"type": "hang", "host": "client-05", "tool": "ib_write_bw"},
                        {"type": "hang", "host": "client-05", "tool": "fio"},
                        {"type": "dies", "host": "client-06", "after": "1s"},
                        {"type": "port-taken", "host": "client-07", "port": 18515},
                        {"type": "no-write", "host": "client-08", "how": "full"},
                        {"type": "no-write", "host": "client-09", "how": "read-only"},
                    ],
                }
            ),
        }
    )
    with Lab.start(play) as lab:
        yield lab
        assert not (lab.folder / "plane.log").exists()


def pair(lab, server, client, flags, tool="ib_write_bw", port=18515):
    """Run one pair; results of server and client."""
    waiting = begin(lab, server, f"{tool} {flags} -p {port}")
    listens(lab, server, port)
    done = run(lab, client, f"{tool} {flags} -p {port} {server}")
    return end(waiting), done


@pytest.mark.parametrize("tool", ["ib_write_bw", "ib_read_bw"])
def test_counters_hold_every_byte_on_both_ends_of_every_cable(small, tool):
    """5,000 messages of 1 MiB on each of two queue pairs, exactly, whatever the moment."""
    lids = {"a": lid_of(small, SWITCH_A), "b": lid_of(small, SWITCH_B)}
    ports = [(lids["b"], 1), (lids["b"], 25), (lids["a"], 13), (lids["a"], 1)]
    before = [counters(small, *port) for port in ports]

    server, client = pair(small, "client-01", "stor-1", "-F -n 5000 -q 2 -s 1048576", tool)

    after = [counters(small, *port) for port in ports]
    moved = 10_000 * (1 << 20) * WIRE
    sender = tool == "ib_write_bw"
    assert (server[0], client[0], row_of(client[1])[1]) == (0, 0, "10000")
    grown = [
        (b["PortXmitData"] - a["PortXmitData"], b["PortRcvData"] - a["PortRcvData"])
        for a, b in zip(before, after, strict=True)
    ]
    # Read answers of storage-1 go where the writes of client-01 would: another column, other ISL.
    from_storage = [(0, moved), (moved, 0), (0, moved), (moved, 0)]
    if sender:
        assert [pytest.approx(pair, rel=1e-3, abs=1.1e6) for pair in from_storage] == grown
    else:
        assert grown[0] == pytest.approx((moved, 0), rel=1e-3, abs=1.1e6)
        assert grown[3] == pytest.approx((0, moved), rel=1e-3, abs=1.1e6)
    packets = after[0]["PortRcvPkts" if sender else "PortXmitPkts"]
    assert packets - before[0]["PortRcvPkts" if sender else "PortXmitPkts"] == pytest.approx(
        10_000 * 256, rel=1e-2
    )


def test_the_basic_data_counters_stick(small):
    lid = lid_of(small, SWITCH_A)

    pair(small, "client-02", "stor-2", "-F -n 20000 -q 1 -s 1048576")

    text = run(small, "mgmt01", f"perfquery {lid} 2; perfquery -x {lid} 2")[1]
    sent = [int(value) for value in re.findall(r"PortXmitData:\.+(\d+)", text)]
    assert sent[0] == (1 << 32) - 1
    assert sent[1] > 20_000 * (1 << 20) / 4


def test_a_cleared_port_begins_at_nothing(start):
    lab = start(
        faults=[
            {
                "type": "clear",
                "when": {"after": {"command": "sminfo"}},
            }
        ]
    )
    lid = lid_of(lab, SWITCH_A)
    server = begin(lab, "client-1", "ib_write_bw -F -D 6")
    listens(lab, "client-1", 18515)
    client = begin(lab, "stor-1", "ib_write_bw -F -D 6 client-1")
    time.sleep(2)
    before = counters(lab, lid, 1)["PortXmitData"]

    lab._site.served(type("Request", (), {"host": "mgmt01", "text": "sminfo"})())
    after = counters(lab, lid, 1)["PortXmitData"]
    time.sleep(1)
    later = counters(lab, lid, 1)["PortXmitData"]

    assert before > 20 * GIB * WIRE
    assert after < before / 4
    assert later - after > 15 * GIB * WIRE
    assert [end(client)[0], end(server)[0]] == [0, 0]


def test_a_pulled_cable_moves_the_load_to_another(start):
    lab = start(faults=[])
    lid = lid_of(lab, SWITCH_B)
    server = begin(lab, "client-1", "ib_write_bw -F -D 8")
    listens(lab, "client-1", 18515)
    client = begin(lab, "stor-1", "ib_write_bw -F -D 8 client-1")
    time.sleep(1)
    used = next(port for port in (25, 26) if counters(lab, lid, port)["PortXmitData"] > GIB * WIRE)

    lab._unlink(type("Ref", (), {"node": "SwitchB", "port": used})())
    other = 51 - used
    time.sleep(1)
    before = counters(lab, lid, other)["PortXmitData"]
    time.sleep(1)

    assert counters(lab, lid, other)["PortXmitData"] - before > 15 * GIB * WIRE
    assert [end(client)[0], end(server)[0]] == [0, 0]


# -- how the tools behave --------------------------------------------------------------------------

NO_CONNECTION = (
    "Unable to open file descriptor for socket connection Unable to init the socket connection\n"
)
LOST = (
    "ethernet_read_keys: Couldn't read remote address\n"
    " Unable to read {} socket/rdma_cm\n"
    " Failed to exchange data between server and clients\n"
)


def test_nobody_listens(small):
    done = run(small, "stor-1", "ib_write_bw -F -D 2 -p 18999 client-01")

    assert done == (1, "", f"Couldn't connect to client-01:18999\n{NO_CONNECTION}")


def test_a_name_that_does_not_resolve(small):
    done = run(small, "stor-1", "ib_write_bw -F -D 2 nobody")

    assert done == (1, "", f"Name or service not known for nobody:18515\n{NO_CONNECTION}")


def test_a_port_in_use(small):
    taken = run(small, "client-07", "ib_write_bw -F -D 2")

    assert taken == (1, ib_bw.BANNER, f"Couldn't listen to port 18515\n{NO_CONNECTION}")


def test_a_wrong_device(small):
    done = run(small, "client-01", "ib_write_bw -d mlx5_9 -F -D 5")

    sentence = "IB device mlx5_9 not found\n Unable to find the Infiniband/RoCE device\n"
    assert done == (1, "", sentence)


def test_a_busy_server_refuses_a_second_client(small):
    server = begin(small, "client-10", "ib_write_bw -F -D 3")
    listens(small, "client-10", 18515)
    first = begin(small, "stor-1", "ib_write_bw -F -D 3 client-10")
    time.sleep(1)

    second = run(small, "stor-2", "ib_write_bw -F -D 3 client-10")

    assert second == (1, "", f"Couldn't connect to client-10:18515\n{NO_CONNECTION}")
    assert (end(first)[0], end(server)[0]) == (0, 0)


def test_no_message_was_through_in_the_window(small):
    _, (code, out, _) = pair(small, "client-11", "stor-3", f"-F -D 1 -s {1 << 36} --report_gbits")

    assert code == 0
    zeros = "0           0.000000            0.000000            0.000000"
    assert out.endswith(f"\n {1 << 36}    {zeros}\n{ib_bw.LINE}\n")


def test_a_killed_server_leaves_a_row_and_exit_code_1(small):
    server = begin(small, "client-12", "exec ib_write_bw -F -D 4 --report_gbits")
    listens(small, "client-12", 18515)
    client = begin(small, "stor-4", "ib_write_bw -F -D 4 --report_gbits client-12")
    time.sleep(2)

    server.kill()

    assert end(server) == (-9, "", "")
    code, out, err = end(client)
    assert (code, err) == (1, LOST.format("from"))
    assert 0 < float(row_of(out)[3]) < 194.1


def test_a_killed_client_ends_its_server_at_once(small):
    server = begin(small, "client-13", "ib_write_bw -F -D 30")
    listens(small, "client-13", 18515)
    client = begin(small, "stor-5", "exec ib_write_bw -F -D 30 client-13")
    time.sleep(1)

    client.kill()

    assert end(client) == (-9, "", "")
    code, out, err = end(server)
    assert (code, err) == (1, LOST.format("to"))
    assert out.splitlines()[-1].startswith(" #bytes     #iterations    BW peak[MB/sec]")


def test_what_hangs_never_ends(small):
    server = begin(small, "stor-6", "exec ib_write_bw -F -D 1")
    listens(small, "stor-6", 18515)
    client = begin(small, "client-05", "exec ib_write_bw -F -D 1 stor-6")
    assert run(small, "client-05", "mkdir /scratch/hang")[0] == 0
    files = begin(
        small,
        "client-05",
        "exec fio --name=x --directory=/scratch/hang --size=1M --rw=write --output-format=json",
    )
    time.sleep(3)

    assert [p.poll() for p in (server, client, files)] == [None] * 3
    for process in (client, files, server):
        process.kill()
        assert end(process)[0] in {-9, 1}


def test_a_host_that_dies_takes_its_processes_and_connections(small, ssh):
    server = begin(small, "client-06", "exec ib_write_bw -F -D 20")
    listens(small, "client-06", 18515)
    session = subprocess.Popen(
        ["ssh", "-F", str(small.ssh_config), "client-06", "sleep 60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(1)
    client = begin(small, "stor-7", "ib_write_bw -F -D 20 client-06")

    assert end(server) == (-9, "", "")
    code, out, err = end(client)
    assert (code, out.splitlines()[-1].split()[0]) == (1, "#bytes")
    assert err.startswith(" Completion with error at client\n Failed status 12: wr_id 0 syndrom")
    assert (session.wait(20), ssh(small, "client-06", "true").returncode) == (255, 255)
    assert run(small, "stor-7", "ib_write_bw -F -D 2 client-06")[0] == 1
    session.communicate()


def test_a_file_system_that_cannot_be_written(small):
    flags = "--size=1M --rw=write --output-format=json"
    assert run(small, "client-08", "mkdir /scratch/full")[0] == 0

    code, out, err = run(small, "client-08", f"fio --name=x --directory=/scratch/full {flags}")
    refused = run(small, "client-09", "mkdir /scratch/ro")

    assert code == 1
    assert err == (
        "fio: io_u error on file /scratch/full/x.0.0: No space left on device: write offset=0, "
        "buflen=4096\n"
    )
    assert json.loads(out.split("\n", 1)[1])["jobs"][0]["error"] == 28
    assert refused == (
        1,
        "",
        "mkdir: cannot create directory '/scratch/ro': Read-only file system\n",
    )


def test_files_are_there_with_their_size_and_can_be_removed(small):
    fio_command = (
        "fio --name=x --directory=/scratch/one --size=4M --numjobs=2 --rw=write "
        "--output-format=json"
    )
    outcomes = [
        run(small, "client-03", command)
        for command in (
            "mkdir -- /scratch/one",
            "mkdir -- /scratch/one",
            fio_command,
            "stat -c '%n %s' /scratch/one/x.0.0 | sed s,.*/,,",
            "rm -rf -- /scratch/one",
            fio_command,
        )
    ]

    assert outcomes[:2] == [
        (0, "", ""),
        (1, "", "mkdir: cannot create directory \u2018/scratch/one\u2019: File exists\n"),
    ]
    assert [job["write"]["io_bytes"] for job in json.loads(outcomes[2][1])["jobs"]] == [4 << 20] * 2
    assert outcomes[3:5] == [(0, "x.0.0 4194304\n", ""), (0, "", "")]
    assert outcomes[5][::2] == (
        1,
        "fio: /scratch/one is not a directory\nfio: failed parsing directory=/scratch/one\n",
    )


def test_elsewhere_fio_is_the_real_one(small, tmp_path):
    """And prints what the stand-in prints: same keys in the same order, same kinds of numbers."""
    options = [
        "--name=x",
        f"--directory={tmp_path}",
        "--size=4M",
        "--bs=1048576",
        "--numjobs=2",
        "--group_reporting",
        "--output-format=json",
        "--rw=write",
    ]

    code, out, err = run(small, "client-03", " ".join(["fio", *options]))

    assert (code, err) == (0, "")
    given = fio.options(options)
    assert shape(out.partition(',\n  "disk_util"')[0] + "\n}\n") == shape(
        fio.report(given, 8 << 20, 0.005, 0)
    )


def shape(text):
    """A JSON text without its figures."""
    return re.sub(r"\d+(\.\d+)?(?=,?\n)", lambda m: "float" if m[1] else "int", text).replace(
        '"time" : ' + text.partition('"time" : ')[2].partition("\n")[0], '"time"'
    )


def test_memory_is_the_scenarios_or_the_machines_own(small):
    own = run(small, "client-03", "cat /proc/meminfo")[1].splitlines()[0]
    given = run(small, "client-04", "cat /proc/meminfo")[1].splitlines()[0]

    assert own == Path("/proc/meminfo").read_text().splitlines()[0]
    assert given == "MemTotal:       16777216 kB"


def test_ss_shows_the_listeners_of_its_host(small):
    server = begin(small, "client-14", "exec ib_write_bw -F -D 2 -p 18700")
    listens(small, "client-14", 18700)

    here = run(small, "client-14", "ss -ltn")
    there = run(small, "client-15", "ss -H -ltn")

    server.kill()
    assert end(server)[0] == -9
    assert here == (
        0,
        "State  Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess\n"
        "LISTEN 0      128          0.0.0.0:22         0.0.0.0:*          \n"
        "LISTEN 0      1            0.0.0.0:18700      0.0.0.0:*          \n",
        "",
    )
    assert there == (0, "LISTEN 0      128    0.0.0.0:22 0.0.0.0:*\n", "")


def test_a_folder_may_have_a_long_name(start, tmp_path):
    lab = start(folder=tmp_path / ("long" * 20))

    assert run(lab, "client-1", "ss -H -ltn")[1] == "LISTEN 0      128    0.0.0.0:22 0.0.0.0:*\n"


def test_stand_ins_say_that_they_are(small):
    versions = [run(small, "stor-1", f"{tool} --version") for tool in ("ib_write_bw", "ib_read_bw")]

    assert versions == [
        (
            1,
            "Version: 6.06\n",
            f"this {tool} is a stand-in of the ibaccept lab; no hardware is used\n",
        )
        for tool in ("ib_write_bw", "ib_read_bw")
    ]
    assert run(small, "stor-1", "fio --version") == (
        0,
        "fio-3.33\n",
        "on /scratch this is a stand-in of the ibaccept lab\n",
    )


# -- what the cables carry is not what a tool claims -----------------------------------------------


def test_traffic_of_others_takes_its_share(start):
    lab = start(
        traffic={"background": [{"source": "stor-1", "sink": "client-6", "rate": "4 GiB/s"}]}
    )
    lid = lid_of(lab, SWITCH_A)
    first, second, *spans = window(lambda: counters(lab, lid, 6)["PortXmitData"])

    assert is_rate(second - first, spans, 4)


def test_cached_reads_claim_more_than_was_moved(start):
    lab = start(
        traffic={
            "filesystem": {"cached": "60%"},
            "hosts": [{"hosts": "client-1", "pace": "4 GiB/s"}],
        }
    )
    lid = lid_of(lab, SWITCH_A)
    before = counters(lab, lid, 1)["PortXmitData"]
    command = (
        "mkdir /scratch/c; "
        f"fio --name=x --directory=/scratch/c --size={8 * GIB} --rw=read --output-format=json"
    )

    code, out, _ = run(lab, "client-1", command)

    side = json.loads(out)["jobs"][0]["read"]
    moved = (counters(lab, lid, 1)["PortXmitData"] - before) / WIRE
    assert (code, side["io_bytes"]) == (0, 8 * GIB)
    assert moved == pytest.approx(0.4 * 8 * GIB, rel=0.01)
    assert side["bw_bytes"] / GIB == pytest.approx(10, rel=0.02)

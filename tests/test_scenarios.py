"""Every scenario of the lab, run as a person would: outcomes, evidence, replay, commands sent."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from ibaccept import commands
from ibaccept.checks.diagnosis import Cause
from ibaccept.lab import Lab
from ibaccept.lab import scenario as lab
from ibaccept.lab.hosts.played import argv_of

pytestmark = pytest.mark.real

ROOT = Path(__file__).resolve().parents[1]
PLACES = {"look": 2, "load": 3}
"""Labs at a time, over all workers of pytest-xdist. Under load a lab mostly waits."""

LAB_PLUGIN = '''
"""Keeps the log of the lab's SSH server and what is left, and ends a hanging iblinkinfo early."""
import json, os, shutil, time
from dataclasses import replace
from pathlib import Path
from ibaccept import commands
from ibaccept.checks.diagnosis import Cause
from ibaccept.lab.session import RunningLab

if "SHORT" in os.environ:
    commands.IBLINKINFO = replace(commands.IBLINKINFO, timeout=2.0)
stop = RunningLab.stop

def left(folder, *words):
    """Command lines of the lab's processes, of those that hold a word where there are words."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes()
            if folder not in (process / "environ").read_bytes() or process.name == str(os.getpid()):
                continue
        except OSError:
            continue
        if line and (not words or any(word in line for word in words)):
            found.append(line.replace(b"\\0", b" ").decode("utf-8", "replace"))
    return found

def stop_and_keep(self):
    kept, folder = Path(os.environ["KEPT_LOG"]), str(self.folder).encode()
    if self.log.exists():
        shutil.copy(self.log, kept)
    deadline = time.monotonic() + 6
    while (tools := left(folder, b"ib_write_bw", b"fio")) and time.monotonic() < deadline:
        time.sleep(0.1)
    scratch = [str(path) for path in (self.folder / "scratch").rglob("*")]
    stop(self)
    kept.with_suffix(".left").write_text(json.dumps([*tools, *scratch, *left(folder)]))

RunningLab.stop = stop_and_keep
'''

WHOLE_LOOK = [
    "ibstat",
    "ibstat --version",
    "ibqueryerrors --skip-sl",
    "ibqueryerrors --skip-sl --counters",
    "ibnetdiscover",
    "iblinkinfo --line",
    "sminfo",
    "saquery -s",
    "dump_fts -n",
    "ibqueryerrors --skip-sl",
    "ibqueryerrors --skip-sl --counters",
]
"""What one look with one window sends to the observer, in this order."""

READ_ONLY_TOOLS = {
    "dump_fts",
    "iblinkinfo",
    "ibnetdiscover",
    "ibqueryerrors",
    "ibstat",
    "saquery",
    "sminfo",
}


@dataclass(frozen=True)
class Ran:
    """One run of the suite in a process of its own."""

    code: int
    text: str
    folder: Path
    log: Path

    @property
    def document(self):
        return json.loads((self.folder / "latest/verdicts.json").read_text())

    @property
    def sent(self):
        """(host, argv) of every command the lab served, in order."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [(line["host"], argv_of(line["exec"])) for line in lines]

    @property
    def left(self):
        """Load tools and files at the end of the suite, processes at that of the lab."""
        return json.loads(self.log.with_suffix(".left").read_text())

    @property
    def captured(self):
        index = (self.folder / "latest/captures/index.jsonl").read_text().splitlines()
        return [json.loads(line) for line in index]


def run_suite(folder, *options, env=None):
    """``pytest tests_fabric`` with these options, reports below ``folder``."""
    folder.mkdir(parents=True)
    plugins = folder / "plugins"
    plugins.mkdir()
    (plugins / "lab_plugin.py").write_text(LAB_PLUGIN)
    reports, log = folder / "reports", folder / "commands.jsonl"
    clean = {name: text for name, text in os.environ.items() if not name.startswith("IBACCEPT_")}
    paths = [str(plugins), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "tests_fabric", "-p", "no:cacheprovider"),
            *("-p", "lab_plugin", f"--reports={reports}", *options),
        ],
        cwd=ROOT,
        env={
            **clean,
            "COLUMNS": "200",
            "KEPT_LOG": str(log),
            "PYTHONPATH": os.pathsep.join(paths),
            **(env or {}),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="surrogateescape",
        timeout=240,
        check=False,
    )
    return Ran(done.returncode, done.stdout, reports, log)


@pytest.fixture(scope="session")
def shared(tmp_path_factory, worker_id):
    """A folder that all workers of pytest-xdist share."""
    base = tmp_path_factory.getbasetemp()
    return base if worker_id == "master" else base.parent


@contextmanager
def one_of(shared, kind="look"):
    """Wait for one of the places for labs."""
    number = 0
    while True:
        lock = FileLock(shared / f"{kind}-{number % PLACES[kind]}.lock")
        number += 1
        try:
            lock.acquire(timeout=0.2)
        except Timeout:
            continue
        with lock:
            lock.release()
            yield
        return


def play(shared, folder, name, kind):
    """The scenario's run, and its replay."""
    env = {"SHORT": "1"} if name == "bad-hang" else None
    load = ["--load"] if kind == "load" else []
    with one_of(shared, kind):
        ran = run_suite(folder / "run", f"--lab={name}", *load, env=env)
    return ran, run_suite(folder / "again", f"--replay={ran.folder / 'latest'}", *load)


def playing(request, shared, tmp_path_factory, kind, test):
    """Run and replay of a scenario; alone in this process, the next ones run meanwhile."""
    chosen = []
    if not hasattr(request.config, "workerinput"):
        chosen += [
            item.callspec.params["name"] for item in request.session.items if item.function is test
        ]
    started: dict[str, Future[tuple[Ran, Ran]]] = {}
    with ThreadPoolExecutor(PLACES[kind] + 1) as pool:  # one replays while the others run

        def start(name):
            folder = tmp_path_factory.mktemp(name)
            started[name] = pool.submit(play, shared, folder, name, kind)

        for name in chosen:
            start(name)

        def of(name):
            if name not in started:
                start(name)
            return started[name].result()

        yield of
        pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="session")
def plays(request, shared, tmp_path_factory):
    """``plays(name)``: the scenario without load."""
    yield from playing(request, shared, tmp_path_factory, "look", test_scenario)


@pytest.fixture(scope="session")
def loaded_plays(request, shared, tmp_path_factory):
    """``loaded_plays(name)``: the scenario with ``--load``."""
    yield from playing(request, shared, tmp_path_factory, "load", test_scenario_under_load)


# -- what a scenario says ------------------------------------------------------------------------


def without_chance(text):
    """The text without ports, keys and folders of this one run."""
    text = re.sub(r"SHA256:[A-Za-z0-9+/]{43}", "SHA256:KEY", text)
    text = re.sub(r"(127\.0\.0\.1\]?)(:| port )\d+", r"\1\2PORT", text)
    return re.sub(r"[^\s(]*ibaccept-lab-\w+", "LAB", text)


def squeezed(text):
    return " ".join(text.split())


def counters_of(finding):
    """Counters by name, and as ``SwitchB/27 SymbolErrorCounter +12`` or ``... saturated``."""
    for counter in finding["counters"]:
        yield counter["name"]
        value = counter["state"]
        if value == "ok" and counter["before"] is None:
            value = "read once"
        elif value == "ok":
            value = f"+{counter['after'] - counter['before']}"
        yield f"{counter['port']} {counter['name']} {value}"


def lacking(row, document):
    """What a row of ``evidence:`` asks for and the verdicts do not have."""
    findings = [
        finding
        for verdict in document["verdicts"]
        if verdict["id"] == row.id
        for finding in verdict["findings"]
        if without_chance(finding["subject"]["name"]) == row.subject
    ]
    if len(findings) > 1 and row.found is not None:
        # several problems of one entry, a finding each
        findings = [f for f in findings if without_chance(f["found"]) == row.found]
    if len(findings) != 1:
        return [f"{row.id} has {len(findings)} findings about {row.subject}"]
    (finding,) = findings
    texts = [squeezed(capture["text"]) for capture in finding["captures"]]
    wrong = [
        f"{row.id}: {key} is {without_chance(finding[key])!r}"
        for key in ("expected", "found")
        if getattr(row, key) is not None and getattr(row, key) != without_chance(finding[key])
    ]
    if not re.match(row.like, finding["found"]):
        wrong.append(f"{row.id}: found is {finding['found']!r}")
    missing = set(row.counters) - set(counters_of(finding))
    wrong += [f"{row.id}: no counter {text}" for text in sorted(missing)]
    if row.routes and not (finding["routes"] and finding["routes"]["of"] > 0):
        wrong.append(f"{row.id}: no routes")
    wrong += [
        f"{row.id}: no captured line has {pattern}"
        for pattern in row.captures
        if not any(re.search(pattern, text) for text in texts)
    ]
    files = [capture["file"] for capture in finding["captures"]]
    if row.file and not (files and all(re.search(row.file, file) for file in files)):
        wrong.append(f"{row.id}: cites {files}")
    return wrong


def wrong_quotes(document, run_dir):
    """Captured lines that are not, word for word, where the finding says they are."""
    for verdict in document["verdicts"]:
        for finding in verdict["findings"]:
            for capture in finding["captures"]:
                data = (run_dir / capture["file"]).read_bytes().decode("utf-8", "surrogateescape")
                if capture["line"] is None:
                    continue
                line = data.splitlines()[capture["line"] - 1]
                if squeezed(line) != squeezed(capture["text"]):
                    yield f"{capture['file']}:{capture['line']} is {line!r}"


def is_looked_at(scenario):
    """Whether it is run without load: where there is nothing but load to see, it is not."""
    return scenario.load is None or bool(scenario.outcomes)


NAMES = [name for name in lab.names() if is_looked_at(lab.load(name))]
UNDER_LOAD = [name for name in lab.names() if lab.load(name).load is not None]


@pytest.mark.parametrize("name", lab.names())
def test_every_scenario_that_is_not_accepted_names_its_evidence(name):
    scenario = lab.load(name)

    for said in filter(None, (scenario, scenario.load)):
        wrong = {i for i, outcome in said.outcomes.items() if outcome in {"fail", "error"}}
        assert {row.id for row in said.evidence} == wrong


@pytest.mark.parametrize("name", NAMES)
def test_scenario(name, plays):
    """The whole map of outcomes, the answer, every piece of evidence, and the same again."""
    scenario = lab.load(name)
    ran, again = plays(name)
    document, replayed = ran.document, again.document
    run_dir = (ran.folder / "latest").resolve()

    outcomes = {verdict["id"]: verdict["outcome"] for verdict in document["verdicts"]}
    code = 1 if {"fail", "error"} & set(scenario.outcomes.values()) else 0
    under_load = set() if scenario.load is None else set(scenario.load.outcomes)
    assert (outcomes, set(document["not_run"])) == (
        dict(scenario.outcomes),
        under_load - set(scenario.outcomes),
    ), ran.text
    assert (document["result"], ran.code, ran.text.splitlines()[-1]) == (
        scenario.result,
        code,
        scenario.result,
    )
    assert [text for row in scenario.evidence for text in lacking(row, document)] == []
    assert list(wrong_quotes(document, run_dir)) == []
    assert "Traceback" not in ran.text
    # Judged again from the captures, with no lab: the same.
    assert (replayed["verdicts"], replayed["result"], again.code, again.log.exists()) == (
        document["verdicts"],
        document["result"],
        code,
        False,
    )
    assert again.text.splitlines()[-1] == scenario.result
    assert again.captured == ran.captured
    # Only what commands.py lists was sent, and all that was sent was captured, in this order.
    assert [argv for _, argv in ran.sent if not commands.is_permitted(argv)] == []
    made = [(entry["host"], tuple(entry["argv"])) for entry in ran.captured if "error" not in entry]
    assert Counter(ran.sent) == Counter(made)
    assert {argv[0] for _, argv in ran.sent} <= READ_ONLY_TOOLS


def named_causes(document):
    """The look-alikes that the report says fit."""
    lines = [
        line
        for verdict in document["verdicts"]
        for line in verdict["notes"]
        if line.startswith("diagnosis: ")
    ]
    return {cause for cause in Cause for line in lines if f" {cause.value} fits: " in line}


@pytest.mark.parametrize("name", UNDER_LOAD)
def test_scenario_under_load(name, loaded_plays):
    """The whole map with ``--load``, its look-alike and no other, nothing left, the same again."""
    scenario = lab.load(name)
    ran, again = loaded_plays(name)
    document, replayed = ran.document, again.document
    said = scenario.load

    outcomes = {verdict["id"]: verdict["outcome"] for verdict in document["verdicts"]}
    code = 0 if said.result == "ACCEPTED" else 1
    assert (outcomes, document["not_run"]) == (dict(said.outcomes), {}), ran.text
    assert (document["result"], ran.code, ran.text.splitlines()[-1]) == (
        said.result,
        code,
        said.result,
    )
    assert named_causes(document) == ({said.diagnosis} - {None})
    assert [text for row in said.evidence for text in lacking(row, document)] == []
    notes = [note for verdict in document["verdicts"] for note in verdict["notes"]]
    lines = [squeezed(line) for line in (*ran.text.splitlines(), *notes)]
    assert [p for p in said.says if not any(re.search(p, line) for line in lines)] == []
    assert list(wrong_quotes(document, (ran.folder / "latest").resolve())) == []
    assert "Traceback" not in ran.text
    assert [x for x in ran.left if not any(re.search(p, x) for p in said.leaves)] == []
    assert (replayed["verdicts"], replayed["result"], again.code, again.log.exists()) == (
        document["verdicts"],
        document["result"],
        code,
        False,
    )
    permitted = commands.permit(load=True)
    assert [argv for _, argv in ran.sent if not permitted(argv)] == []


def test_a_whole_look_sends_exactly_these_commands(plays):
    ran, _ = plays("old-errors")

    assert [(host, " ".join(argv)) for host, argv in ran.sent] == [
        ("mgmt01", text) for text in WHOLE_LOOK
    ]
    assert {argv[0] for _, argv in ran.sent} == READ_ONLY_TOOLS


def test_what_lies_in_the_way_of_one_observer_is_told_of_each(plays):
    """Where nobody can look, the reasons of all observers are there; one that can is enough."""
    none, _ = plays("bad-every-observer")
    second, _ = plays("bad-first-observer")

    assert none.captured[0]["error"]["step"] == "connect"
    assert none.captured[1]["error"]["step"] == "host key"
    assert [without_chance(text) for text in second.document["warnings"]] == [
        "not used as observer: mgmt01: 127.0.0.1 port PORT refused the connection; is sshd running "
        "on that port?"
    ]
    assert {host for host, _ in second.sent} == {"client-1"}


@pytest.mark.parametrize(
    ("name", "tool", "flag"),
    [
        ("bad-tool-missing", "ibnetdiscover", "missing"),
        ("bad-sudo", "ibnetdiscover", "sudo_refused"),
        ("bad-disconnect", "ibnetdiscover", "lost"),
        ("bad-hang", "iblinkinfo", "timed_out"),
    ],
)
def test_what_went_wrong_with_a_command_is_captured_with_what_it_printed(plays, name, tool, flag):
    ran, _ = plays(name)

    (entry,) = [e for e in ran.captured if e["argv"][0] == tool]
    flags = ("missing", "sudo_refused", "lost", "timed_out", "truncated")
    kept = (ran.folder / "latest/captures" / entry["stdout"]).read_bytes()
    assert [name for name in flags if entry[name]] == [flag]
    assert bool(kept) is (flag in {"lost", "timed_out"})


def test_workers_look_once_and_judge_alike(shared, tmp_path):
    """With -n 4 one worker looks; all judge what it saw."""
    with one_of(shared):
        ran = run_suite(tmp_path / "four", "--lab=edr-cable", "-n", "4")
        alone = run_suite(tmp_path / "one", f"--replay={ran.folder / 'latest'}", "-n", "0")
        four = run_suite(tmp_path / "again", f"--replay={ran.folder / 'latest'}", "-n", "4")

    outcomes = {verdict["id"]: verdict["outcome"] for verdict in ran.document["verdicts"]}
    assert [" ".join(argv) for _, argv in ran.sent] == WHOLE_LOOK
    assert [" ".join(entry["argv"]) for entry in ran.captured] == WHOLE_LOOK
    assert (outcomes, ran.code, ran.text.splitlines()[-1]) == (
        dict(lab.load("edr-cable").outcomes),
        1,
        "NOT ACCEPTED",
    )
    assert ran.document["verdicts"] == alone.document["verdicts"] == four.document["verdicts"]


def test_a_lab_started_elsewhere_is_looked_at_by_inventory(shared, tmp_path):
    """As a site does: an inventory, expectations and an ssh_config; and the log is the lab's."""
    with one_of(shared), Lab.start("edr-cable", folder=tmp_path / "lab") as running:
        ran = run_suite(
            tmp_path / "run",
            f"--inventory={running.inventory}",
            f"--expectations={running.expectations}",
            f"--ssh-config={running.ssh_config}",
        )
        log = running.log.read_text().splitlines()

    sent = [argv_of(json.loads(line)["exec"]) for line in log]
    outcomes = {verdict["id"]: verdict["outcome"] for verdict in ran.document["verdicts"]}
    assert (outcomes, ran.code, ran.text.splitlines()[-1]) == (
        dict(lab.load("edr-cable").outcomes),
        1,
        "NOT ACCEPTED",
    )
    assert [" ".join(argv) for argv in sent] == WHOLE_LOOK
    assert [argv for argv in sent if not commands.is_permitted(argv)] == []

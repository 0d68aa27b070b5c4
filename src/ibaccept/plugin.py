"""Glue between pytest and the suite: options, items, outcomes, the end of a run."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Generator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import allure_commons
import pytest

import ibaccept
from ibaccept.checks.base import Expectation
from ibaccept.checks.proof import Evidence, unseen_verdict
from ibaccept.errors import IbacceptError, InputError
from ibaccept.fabric.harmless import clean
from ibaccept.observe.snapshot import Snapshot
from ibaccept.report.allure import VerdictResults, labels
from ibaccept.report.meta import RunMeta
from ibaccept.report.terminal import AlreadyShown, closing_lines, failure_text
from ibaccept.report.writer import write_all
from ibaccept.run.inputs import Inputs
from ibaccept.run.items import Entry
from ibaccept.run.loads import LoadLook
from ibaccept.run.session import Given, Session, begin, ids_of, job_text, join
from ibaccept.verdict import VERDICT, NotJudgedError, NotMetError, Outcome, Verdict
from ibaccept.verdict.absence import NotSeen, NotSeenError
from ibaccept.verdict.answer import NotRun, overall

if TYPE_CHECKING:
    from ibaccept.lab.session import RunningLab
    from ibaccept.site.plan import PlannedCable

SUITE = "tests_fabric"
VERDICT_PROPERTY = "ibaccept-verdict"
META_PROPERTY = "ibaccept-meta"

OPTIONS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("inventory", {}, "inventory of the site (default inventory/site.yaml)"),
    ("expectations", {}, "what was ordered (default expectations.yaml)"),
    ("job", {}, "the job's clients: a group, a node set, a file, SLURM_JOB_NODELIST"),
    ("load", {"action": "store_true"}, "also make the load runs the expectations describe"),
    ("lab", {}, "look at a simulated fabric: a scenario's name, its file, or capture:FILE"),
    ("lab-backend", {"choices": ("ibsim",)}, "what plays the lab's fabric"),
    ("replay", {}, "judge the captures of an earlier run again; nothing is sent"),
    ("reports", {}, "folder for the run's folder (default reports)"),
    ("ssh-config", {}, "OpenSSH configuration to use instead of the user's"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Every option, each with an environment variable IBACCEPT_<NAME>."""
    group = parser.getgroup("ibaccept", "acceptance of an InfiniBand fabric")
    for name, settings, text in OPTIONS:
        dest = f"ibaccept_{name.replace('-', '_')}"
        group.addoption(f"--{name}", dest=dest, default=None, help=text, **settings)


def option(config: pytest.Config, name: str) -> str | None:
    """An option as given, else from its environment variable, else None."""
    dest = name.replace("-", "_")
    given = config.getoption(f"ibaccept_{dest}", None)
    if given is not None:
        return str(given)
    return os.environ.get(f"IBACCEPT_{dest.upper()}") or None


def _given(config: pytest.Config) -> Given:
    return Given(partial(option, config), config.invocation_params.dir, _start_lab)


def _start_lab(name: str, backend: str) -> RunningLab:
    from ibaccept.lab import Lab  # noqa: PLC0415 - only where a lab is requested

    return Lab.start(name, backend=backend)


SHOWS = ("help", "version", "showfixtures", "show_fixtures_per_test", "markers", "cacheshow")
"""Options by which pytest prints something and runs no test."""

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EFBIG, errno.EIO}
"""Errors of a folder that cannot be written; of the suite they say nothing."""

RUN = pytest.StashKey[Session]()
EVIDENCE = pytest.StashKey[Evidence]()
ALLURE = pytest.StashKey[VerdictResults]()


def _is_active(config: pytest.Config) -> bool:
    """True where this pytest run is about a fabric (and not about this package's own tests)."""
    if _only_shows(config):
        return False
    if any(SUITE in Path(arg.split("::")[0]).parts for arg in config.args):
        return True
    return any(option(config, name) for name in ("inventory", "lab", "replay"))


def _only_shows(config: pytest.Config) -> bool:
    """True where pytest only prints something and judges nothing."""
    return any(config.getoption(name, None) for name in SHOWS)


def _worker(config: pytest.Config) -> dict[str, Any] | None:
    given: dict[str, dict[str, Any]] | None = getattr(config, "workerinput", None)
    return None if given is None else given.get("ibaccept")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Refuse bad input, start a lab where one is requested, make the run's folder."""
    if not _is_active(config):
        return
    try:
        sent = _worker(config)
        if sent is not None:
            run = join(sent, _Progress(config))
        elif hasattr(config, "workerinput"):
            raise InputError("this xdist worker does not know which run it belongs to")
        else:
            run = begin(_given(config), _Progress(config), reports=_no_reports(config))
    except IbacceptError as error:
        # Bad input; or a bundle that was changed, or a lab that cannot start: nothing was judged.
        raise pytest.UsageError("\n".join(map(clean, str(error).split("\n")))) from None
    config.stash[RUN] = run
    if config.pluginmanager.hasplugin("allure_listener"):
        _complete_allure(config, run.info.fabric)
    for entry in run.inputs.expectations.entries:
        for mark in entry.marks:
            config.addinivalue_line("markers", f"{mark}: named by {run.inputs.expectations.file}")


def _no_reports(config: pytest.Config) -> Path | None:
    """With ``--collect-only`` a folder for the run that does not stay; else None."""
    if not config.getoption("collectonly"):
        return None
    folder = tempfile.mkdtemp(prefix="ibaccept-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    return Path(folder)


def _complete_allure(config: pytest.Config, fabric: str) -> None:
    """``--alluredir`` was given: allure-pytest writes the results, the verdicts complete them."""
    results = VerdictResults(fabric)
    allure_commons.plugin_manager.register(results)
    config.add_cleanup(lambda: allure_commons.plugin_manager.unregister(results))
    config.stash[ALLURE] = results


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Send an xdist worker the folder of its run."""
    run = node.config.stash.get(RUN, None)
    if run is not None:
        node.workerinput["ibaccept"] = {
            "run_dir": str(run.run_dir.resolve()),
            "ssh_config": None if run.ssh_config is None else str(run.ssh_config),
        }


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the lab."""
    run = config.stash.get(RUN, None)
    if run is not None and run.lab is not None:
        run.lab.stop()


class _Progress:
    """A line for each step of the look; on stderr, so that it never mixes with a report."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def __call__(self, text: str) -> None:
        if self._config.getoption("quiet", 0) > 0 or hasattr(self._config, "workerinput"):
            return
        capture = self._config.pluginmanager.getplugin("capturemanager")
        terminal = self._config.get_terminal_writer()
        if capture is None:
            terminal.line(f"ibaccept: {text}")
            return
        with capture.global_and_fixture_disabled():
            if terminal.width_of_current_line:
                terminal.line()
            terminal.line(f"ibaccept: {text}")
            terminal.flush()


# -- items ---------------------------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One item per entry of the annotated kind; with ``each: cable`` one per planned cable."""
    if "expected" not in metafunc.fixturenames:
        return
    kind = get_type_hints(metafunc.function).get("expected")
    if not (isinstance(kind, type) and issubclass(kind, Expectation)):
        return
    run = metafunc.config.stash.get(RUN, None)
    if run is None and _only_shows(metafunc.config):
        metafunc.parametrize("entry", [], indirect=True)
        return
    if run is None:
        raise pytest.UsageError(
            f"{metafunc.function.__name__} judges a fabric: give --inventory, --lab or --replay"
        )
    params = []
    for expected in run.inputs.expectations.of_kind(kind):
        marks = [getattr(pytest.mark, mark) for mark in expected.marks]
        if metafunc.config.pluginmanager.hasplugin("allure_pytest"):
            marks += _allure_marks(run, expected)
        if expected.is_under_load:
            marks.append(pytest.mark.xdist_group("load"))
            if not run.info.load:
                requested = run.replay is not None and bool(option(metafunc.config, "load"))
                marks.append(pytest.mark.skip(reason=NO_LOAD_THEN if requested else NEEDS_LOAD))
        for cable in run.inputs.items(expected):
            entry = Entry(
                expected,
                cable,
                run.inputs.expectations.source(expected),
                tuple(w for w in run.inputs.expectations.waivers if w.expectation == expected.id),
                run.info.day,
            )
            params.append(pytest.param(entry, id=entry.id, marks=marks))
    metafunc.parametrize("entry", params, indirect=True)


def _allure_marks(run: Session, expected: Expectation) -> list[pytest.MarkDecorator]:
    """The labels of an entry, as allure-pytest's own decorators mark a test with them."""
    rows = labels(run.info.fabric, expected.kind, expected.area, expected.severity)
    return [pytest.mark.allure_label(value, label_type=name) for name, value in rows]


CHOICES = (
    "keyword",
    "markexpr",
    *(f"allure_{name}" for name in ("severities", "epics", "features", "stories", "labels")),
)
"""Options by which entries are chosen: ``-k``, ``-m``, and those of allure-pytest."""

NEEDS_LOAD = "needs --load"
NO_LOAD_THEN = "the run that is replayed made no load"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drop the placeholders pytest makes for kinds that no entry orders."""
    if config.stash.get(RUN, None) is None:
        return
    items[:] = [item for item in items if not _is_placeholder(item)]


def _is_placeholder(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    return (
        callspec is not None
        and "entry" in callspec.params
        and not isinstance(callspec.params["entry"], Entry)
    )


@pytest.fixture
def entry(request: pytest.FixtureRequest) -> Entry:
    """The entry of expectations.yaml this item judges."""
    given: Entry = request.param
    return given


@pytest.fixture
def expected(entry: Entry) -> Expectation:
    """What was ordered: the entry, of the kind the test names by annotation."""
    return entry.expected


@pytest.fixture
def cable(entry: Entry) -> PlannedCable | None:
    """The planned cable this item is about, with ``each: cable``."""
    return entry.cable


@pytest.fixture(scope="session")
def _look(request: pytest.FixtureRequest) -> Snapshot:
    return request.config.stash[RUN].snapshot()


@pytest.fixture
def snapshot(_look: Snapshot) -> Snapshot:
    """What was seen of the fabric."""
    return _look


@pytest.fixture
def inputs(request: pytest.FixtureRequest) -> Inputs:
    """The accepted expectations, inventory and job."""
    return request.config.stash[RUN].inputs


@pytest.fixture
def loads(request: pytest.FixtureRequest, snapshot: Snapshot) -> LoadLook:
    """The load runs; made when the first entry under load asks for them."""
    return request.config.stash[RUN].loads(snapshot)


@pytest.fixture
def evidence(request: pytest.FixtureRequest, snapshot: Snapshot, entry: Entry) -> Evidence:
    """Proves the findings of this test and keeps its verdict."""
    made = Evidence(
        snapshot,
        entry.expected.ordered,
        entry.completer(request.node.nodeid),
        by_counters=entry.expected.area == "counters",
    )
    request.node.stash[EVIDENCE] = made
    return made


# -- outcomes ------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """A part that was not seen becomes an error verdict; a test that judged nothing, too."""
    evidence = pyfuncitem.stash.get(EVIDENCE, None)
    if evidence is None:
        return (yield)
    try:
        result = yield
    except NotSeenError as error:
        raise NotJudgedError(evidence.unseen(error.part)) from None
    except IbacceptError as error:
        part = NotSeen("what the entry is about", str(error))
        raise NotJudgedError(evidence.unseen(part)) from None
    if not evidence.verdicts:
        raise NotJudgedError(evidence.unseen(NotSeen("anything", "the test judged nothing")))
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a verdict into pytest's words: wrong = failed, unknown = error, waived = xfailed."""
    report = yield
    callspec = getattr(item, "callspec", None)
    entry = callspec.params.get("entry") if callspec is not None else None
    if not isinstance(entry, Entry) or report.when == "teardown":
        return report
    evidence = item.stash.get(EVIDENCE, None)
    verdict = evidence.verdicts[-1] if evidence is not None and evidence.verdicts else None
    raised = call.excinfo.value if call.excinfo is not None else None
    part = _unseen_part(raised)
    if report.failed and part is not None:
        verdict = entry.completer(item.nodeid)(unseen_verdict(part, entry.expected.ordered))
        report.longrepr = failure_text(verdict, 100, heading=False)
        report.when = "setup"
    elif report.failed and not isinstance(raised, NotMetError | NotJudgedError):
        # A bug of the suite keeps its traceback; the entry was not judged, so it is no failure.
        verdict = _bug(entry, item.nodeid, raised)
        report.when = "setup"
    elif verdict is not None and verdict.outcome is Outcome.FAIL:
        report.longrepr = failure_text(verdict, 100, heading=False)
    elif verdict is not None and verdict.outcome is Outcome.ERROR:
        report.longrepr = failure_text(verdict, 100, heading=False)
        report.when = "setup"  # what pytest, its JUnit and xdist call an error and not a failure
    elif verdict is not None and verdict.outcome is Outcome.WAIVED:
        report.outcome = "skipped"
        report.wasxfail = "; ".join(
            dict.fromkeys(f.waived for f in verdict.findings if f.waived is not None)
        )
    if verdict is not None and (report.failed or call.when == "call"):
        text = json.dumps(VERDICT.dump_python(verdict, mode="json"))
        report.user_properties.append((VERDICT_PROPERTY, text))
        run = item.config.stash[RUN]
        report.user_properties.append((META_PROPERTY, json.dumps(_meta(run))))
        if ALLURE in item.config.stash:
            is_bug = (
                raised is not None
                and part is None
                and not isinstance(raised, NotMetError | NotJudgedError)
            )
            item.config.stash[ALLURE].judged(verdict, is_bug=is_bug)
    return report


def _unseen_part(raised: BaseException | None) -> NotSeen | None:
    """What could not be seen where a fixture raised (the look, the load runs), else None."""
    if isinstance(raised, NotSeenError):
        return raised.part
    if isinstance(raised, IbacceptError):
        return NotSeen("what the entry is about", str(raised))
    if isinstance(raised, OSError) and raised.errno in FULL:
        place = raised.filename or "the run's folder"
        why = f"{place} could not be written: {raised.strerror}"
        return NotSeen("what the entry is about", why, "free space or permissions, then run again")
    return None


def _bug(entry: Entry, nodeid: str, raised: BaseException | None) -> Verdict:
    what = f"{type(raised).__name__}: {raised}" if raised is not None else "unknown"
    part = NotSeen("this entry", f"a bug in the suite, {what}", "report it")
    return entry.completer(nodeid)(unseen_verdict(part, entry.expected.ordered))


def _meta(run: Session) -> dict[str, Any]:
    seen = run.seen
    if seen is None:
        return {}
    return {"observer": seen.observer, "tools": dict(seen.tools), "warnings": list(seen.warnings)}


# -- the end -------------------------------------------------------------------------------------


class _Collector:
    """Collects the verdicts in the controller, from this process or from workers."""

    def __init__(self, run: Session) -> None:
        self.run = run
        self.shown = AlreadyShown()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, text in report.user_properties:
            if name == VERDICT_PROPERTY:
                verdict = VERDICT.validate_python(json.loads(str(text)), strict=False)
                self.run.verdicts.append(verdict)
                if report.failed and isinstance(report.longrepr, str):
                    report.longrepr = failure_text(verdict, 100, heading=False, already=self.shown)
            elif name == META_PROPERTY and text != "{}":
                self.run.meta = json.loads(str(text))
        if report.when == "setup" and report.skipped and "[" in report.nodeid:
            entry_id = report.nodeid.partition("[")[2].removesuffix("]")
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else "skipped"
            reason = reason.removeprefix("Skipped: ")
            self.run.skipped[entry_id] = NotRun(
                reason, deliberate=reason in {NEEDS_LOAD, NO_LOAD_THEN}, nodeid=report.nodeid
            )


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Collect verdicts in the controller."""
    run = session.config.stash.get(RUN, None)
    if run is not None and not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(_Collector(run), "ibaccept-collector")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(
    session: pytest.Session, exitstatus: int | pytest.ExitCode
) -> Generator[None, None, None]:
    """Write the reports; the site's answer is the last line of the terminal."""
    config = session.config
    run = config.stash.get(RUN, None)
    if run is None or hasattr(config, "workerinput"):
        yield
        return
    if config.getoption("collectonly"):
        yield
        return
    ended = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    meta = RunMeta(
        fabric=run.info.fabric,
        started=run.info.started,
        ended=ended if run.replay is None else "",
        replayed="" if run.replay is None else f"{ended}, from the captures of {run.replay.name}",
        tools=run.meta.get("tools", {}),
        observer=run.meta.get("observer") or "",
        run_dir=_shown(config, run.run_dir),
        expectations=run.inputs.expectations.file,
        ibaccept=ibaccept.__version__,
        job=job_text(run),
        warnings=tuple(run.meta.get("warnings", ())),
    )
    order = {item: number for number, item in enumerate(ids_of(run))}
    verdicts = sorted(run.verdicts, key=lambda v: order.get(v.id, len(order)))
    not_run = _not_run(config, run)
    result, problems = overall(verdicts, not_run), []
    try:
        write_all(run.run_dir, verdicts, meta, not_run)
    except IbacceptError as error:
        problems.append(str(error))
    if exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
        worst = max(int(exitstatus), result.exit_code)
        session.exitstatus = pytest.ExitCode(worst)
    try:
        yield
    except OSError as error:  # pytest's own reports, such as --junitxml
        problems.append(f"{error.filename or 'a report'} could not be written: {error.strerror}")
    finally:
        terminal = config.get_terminal_writer()
        terminal.line()
        for line in closing_lines(result, meta, problems, colour=terminal.hasmarkup):
            terminal.line(line)
        terminal.flush()


def _shown(config: pytest.Config, path: Path) -> Path:
    """As short as the person at the terminal would type it."""
    try:
        return path.resolve().relative_to(config.invocation_params.dir)
    except ValueError:
        return path


def _not_run(config: pytest.Config, run: Session) -> dict[str, NotRun]:
    """Entries without a verdict, and why. What the person chose not to run is deliberate."""
    judged = {verdict.id for verdict in run.verdicts}
    chose = any(config.getoption(name, None) for name in CHOICES) or any(
        Path(arg.split("::")[0]).name != SUITE or "::" in arg for arg in config.args
    )
    found = {}
    for entry_id in ids_of(run):
        if entry_id in judged:
            continue
        reason = NotRun("not among the tests chosen", deliberate=True)
        if not chose:
            reason = NotRun("its test did not run")
        found[entry_id] = run.skipped.get(entry_id, reason)
    return found

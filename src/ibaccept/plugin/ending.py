"""The end of a run: verdicts gathered, reports written, the site's answer on the terminal."""

from __future__ import annotations

import json
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import ibaccept
from ibaccept.errors import IbacceptError
from ibaccept.plugin.items import NEEDS_LOAD, NO_LOAD_THEN
from ibaccept.plugin.options import CHOICES, SUITE
from ibaccept.plugin.outcomes import META_PROPERTY, VERDICT_PROPERTY
from ibaccept.plugin.session import RUN
from ibaccept.report.meta import RunMeta
from ibaccept.report.terminal import AlreadyShown, closing_lines, failure_text
from ibaccept.report.writer import write_all
from ibaccept.run.session import Session, ids_of, job_text
from ibaccept.verdict import VERDICT
from ibaccept.verdict.answer import NotRun, overall


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

"""Begin and end of a run within pytest: inputs, folder, lab, and the workers of xdist."""

from __future__ import annotations

import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import allure_commons
import pytest

from ibaccept.errors import IbacceptError, InputError
from ibaccept.fabric.harmless import clean
from ibaccept.plugin.options import is_active, option
from ibaccept.plugin.progress import Progress
from ibaccept.report.allure import VerdictResults
from ibaccept.run.session import Given, Session, begin, join

if TYPE_CHECKING:
    from ibaccept.lab.session import RunningLab

RUN = pytest.StashKey[Session]()
ALLURE = pytest.StashKey[VerdictResults]()


def _given(config: pytest.Config) -> Given:
    return Given(partial(option, config), config.invocation_params.dir, _start_lab)


def _start_lab(name: str, backend: str) -> RunningLab:
    from ibaccept.lab import Lab  # noqa: PLC0415 - only where a lab is requested

    return Lab.start(name, backend=backend)


def _worker(config: pytest.Config) -> dict[str, Any] | None:
    given: dict[str, dict[str, Any]] | None = getattr(config, "workerinput", None)
    return None if given is None else given.get("ibaccept")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Refuse bad input, start a lab where one is requested, make the run's folder."""
    if not is_active(config):
        return
    try:
        sent = _worker(config)
        if sent is not None:
            run = join(sent, Progress(config))
        elif hasattr(config, "workerinput"):
            raise InputError("this xdist worker does not know which run it belongs to")
        else:
            run = begin(_given(config), Progress(config), reports=_no_reports(config))
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
            "replay": None if run.replay is None else str(run.replay),
        }


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the lab."""
    run = config.stash.get(RUN, None)
    if run is not None and run.lab is not None:
        run.lab.stop()

"""``ibaccept check``, ``capture``, ``plan``, ``show``: the steps of a run without pytest."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from ibaccept import commands
from ibaccept.cli.inputs import load_inputs
from ibaccept.cli.options import given, path_of, ssh_config_of
from ibaccept.cli.text import DONE, NOT_SEEN, complain, say, write_file
from ibaccept.errors import InputError
from ibaccept.observe.look import Look, look
from ibaccept.observe.snapshot import Snapshot
from ibaccept.run.inputs import existing
from ibaccept.run.look import take_snapshot
from ibaccept.run.record import INPUTS, RunInfo, keep_inputs, new_run_dir
from ibaccept.site.files import own_file
from ibaccept.site.inventory import Inventory, load_inventory
from ibaccept.site.plan import Plan, write_plan
from ibaccept.transport import Transport
from ibaccept.transport.captures import Bundle
from ibaccept.transport.replay import RecordingTransport, ReplayTransport
from ibaccept.transport.router import open_transport


def capture(options: argparse.Namespace) -> int:
    """Leave a run's folder with everything a judgement needs."""
    inputs = load_inputs(options)
    ssh_config = ssh_config_of(options)
    info = RunInfo.now(inputs.expectations.fabric, job=given(options, "job"), load=False)
    run_dir = new_run_dir(path_of(options, "reports"), info)
    keep_inputs(run_dir, inputs, info)
    snapshot = take_snapshot(run_dir, inputs, ssh_config=ssh_config, progress=complain)
    say(str(run_dir))
    parts = snapshot.unseen()
    unseen = dict.fromkeys(f"{part.what} could not be seen: {part.reason}" for part in parts)
    for sentence in (*snapshot.warnings, *unseen):
        complain(sentence)
    sys.stdout.flush()
    complain(f"judge it with: pytest tests_fabric --replay={run_dir}")
    return NOT_SEEN if unseen else DONE


def plan(options: argparse.Namespace) -> int:
    """Write the cables of a good fabric as a plan."""
    if (options.run is None) == (options.inventory is None):
        raise InputError("name the folder of a run, or --inventory=FILE to sweep now; one of them")
    if options.run is not None:
        folder = Path(options.run)
        RunInfo.read(folder)
        inventory = load_inventory(own_file(folder, f"{INPUTS}/inventory.yaml"))
        snapshot = _look(ReplayTransport(folder), inventory, lambda _step: None)
    else:
        inventory = load_inventory(existing(Path(options.inventory), "inventory"))
        with tempfile.TemporaryDirectory(prefix="ibaccept-") as folder_name:
            transport = open_transport(commands.is_permitted, ssh_config=ssh_config_of(options))
            recording = RecordingTransport(transport, Bundle(Path(folder_name)))
            try:
                snapshot = _look(recording, inventory, complain)
            finally:
                recording.close()
    fabric = snapshot.fabric
    if snapshot.gaps:
        for gap in snapshot.gaps:
            complain(f"{gap.name}: {gap.reason}")
        complain("no plan is written: the sweep was not whole, so cables would be missing from it")
        return NOT_SEEN
    Plan.from_fabric(fabric, name=options.run or "the fabric")  # refuses a fabric without cables
    text = write_plan(fabric)
    if options.output is None:
        say(text.rstrip("\n"))
    else:
        write_file(Path(options.output), text)
    down = sum(port.is_down for port in fabric.ports())
    complain(
        f"{len(fabric.links)} cables between {len(fabric.nodes)} nodes; {down} ports are down: a "
        "cable that is down now is not in the plan"
    )
    return DONE


def _look(transport: Transport, inventory: Inventory, progress: Callable[[str], None]) -> Snapshot:
    return look(transport, inventory, None, Look(), progress=progress, sleep=lambda _seconds: None)

"""A run makes its look once, whatever the number of workers, or replays it.

What a look sends, and in which order, is in `ibaccept.observe.look`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ibaccept import commands
from ibaccept.observe.look import look
from ibaccept.observe.snapshot import Snapshot
from ibaccept.run.inputs import Inputs
from ibaccept.run.record import COMPLETE, RUN, alone
from ibaccept.transport.captures import CAPTURES, Bundle
from ibaccept.transport.replay import RecordingTransport, ReplayTransport
from ibaccept.transport.router import open_transport


def take_snapshot(
    run_dir: Path,
    inputs: Inputs,
    *,
    ssh_config: Path | None,
    progress: Callable[[str], None],
) -> Snapshot:
    """The sweep of this run: made once, by the first process that needs it; the others read it.

    Args:
        run_dir: the run's folder; its captures, where complete, are read and nothing is sent.
        inputs: what to observe.
        ssh_config: see ``open_transport``.
        progress: takes each step, a line each.
    """
    marker = run_dir / CAPTURES / COMPLETE
    with alone(run_dir / RUN):
        if not marker.is_file():
            recording = RecordingTransport(
                open_transport(commands.is_permitted, ssh_config=ssh_config), Bundle(run_dir)
            )
            try:
                snapshot = look(
                    recording, inputs.inventory, inputs.plan, inputs.look(), progress=progress
                )
            finally:
                recording.close()
            marker.touch()
            return snapshot
    return recorded_snapshot(run_dir, inputs)


def recorded_snapshot(run_dir: Path, inputs: Inputs) -> Snapshot:
    """The sweep of a run, from its captures alone.

    Raises:
        IbacceptError: the captures were cut or changed.
    """
    return look(
        ReplayTransport(run_dir, label=""),
        inputs.inventory,
        inputs.plan,
        inputs.look(),
        sleep=lambda _seconds: None,
    )

"""A site whose observer answers from captured text: whole runs without a lab."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ibaccept import commands
from ibaccept.run.session import Given
from ibaccept.transport import CommandResult

GOLDEN = Path(__file__).parents[1] / "golden/look"
INVENTORY = """\
observers: {hosts: {mgmt01: {}}}
clients: {hosts: {client-1: {}}}
storage: {hosts: {stor-1: {}}}
"""
EXPECTATIONS = """\
version: 1
fabric: scripted
expect:
  - {id: one-sm, kind: subnet-manager, masters: 1}
  - {id: isl-4x-hdr, kind: link-rate, links: isl, width: 4X, speed: HDR}
  - {id: no-errors, kind: error-counters, links: all, window: 1s}
"""
ANSWERS = {
    "ibstat": "ibstat",
    "ibqueryerrors --skip-sl": "ibqueryerrors",
    "ibqueryerrors --skip-sl --counters": "ibqueryerrors-counters",
    "ibnetdiscover": "ibnetdiscover",
    "iblinkinfo --line": "iblinkinfo",
    "sminfo": "sminfo",
    "saquery -s": "saquery-s",
    "dump_fts -n": "dump_fts",
}


@dataclass
class Observer:
    """A transport that prints what the tools of one healthy fabric printed."""

    sent: list = field(default_factory=list)
    clock: float = 1000.0

    def run(self, host, argv, *, timeout, root=False, limit=1 << 23):
        del timeout, root, limit
        assert commands.is_permitted(argv)
        text = " ".join(argv)
        self.sent.append(text)
        name = ANSWERS.get(text)
        out = b"ibstat 2.1.0\n" if name is None else (GOLDEN / f"{name}.txt").read_bytes()
        self.clock += 1
        return CommandResult(
            host.name, tuple(argv), out, b"", 0, start=self.clock - 1, end=self.clock
        )

    def close(self):
        pass


@dataclass
class Desk:
    """A folder with a site's files, and the options of a run."""

    folder: Path
    observer: Observer
    options: dict = field(default_factory=dict)

    def given(self, **options):
        known = {name.replace("_", "-"): text for name, text in options.items()}
        return Given(known.get, self.folder, self.start_lab)

    def start_lab(self, name, backend):
        raise AssertionError(f"no lab was named, yet {name} ({backend}) was started")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    observer = Observer()
    monkeypatch.setattr("ibaccept.run.look.open_transport", lambda *_given, **_more: observer)
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory/site.yaml").write_text(INVENTORY)
    (tmp_path / "expectations.yaml").write_text(EXPECTATIONS)
    return Desk(tmp_path, observer)

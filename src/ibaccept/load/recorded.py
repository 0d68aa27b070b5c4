"""A result that the site's own benchmark gave: a small YAML (or JSON) file.

```yaml
benchmark: IOR 4.0.0
clients: node[001-012]          # required: a figure without its nodes is not reproducible
size_per_client: 64GiB
write: {rate: 91.4 GiB/s, start: 2026-11-30T10:16:03Z, end: 2026-11-30T10:18:00Z}
read: {rate: 50.3 GiB/s, start: 2026-11-30T10:20:00Z, end: 2026-11-30T10:23:30Z}
```
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import yaml

from ibaccept.load.inputs import Direction
from ibaccept.load.result import DataSet, FilesystemRun
from ibaccept.nodeset import expand, fold
from ibaccept.snapshot import NotSeen
from ibaccept.units import Bandwidth, Size

_WHAT = "the recorded result"


def read_recorded(
    text: str, clients: Sequence[str]
) -> dict[Direction, FilesystemRun | NotSeen] | NotSeen:
    """The runs of a recorded result; only what the file holds.

    Args:
        text: of the file.
        clients: of the job: the file must be of the same nodes.
    """
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        return NotSeen(_WHAT, f"recorded: the file is no YAML: {error}", "correct it")
    if not isinstance(data, dict):
        return NotSeen(_WHAT, "recorded: the file is not a mapping", "write clients, write, read")
    named = data.get("clients")
    if not named:
        return NotSeen(
            _WHAT,
            "recorded: the file names no clients, so nobody can tell which cables were loaded",
            "add the node list: clients: node[001-012]",
        )
    try:
        names = expand(str(named))
        size = Size.parse(str(data["size_per_client"])) if "size_per_client" in data else None
    except ValueError as error:
        return NotSeen(_WHAT, f"recorded: {error}", "correct the file")
    if sorted(names) != sorted(clients):
        return NotSeen(
            _WHAT,
            f"recorded: it is of {fold(names)}, the job is {fold(clients)}",
            "judge the nodes that were loaded: --job=" + fold(names),
        )
    tool = f"recorded: {data.get('benchmark', 'a benchmark without a name')}"
    data_set = None if size is None else DataSet(size.bytes, len(names), None, None)
    found: dict[Direction, FilesystemRun | NotSeen] = {}
    for direction in ("write", "read"):
        if direction in data:
            found[direction] = _run(direction, data[direction], tool, data_set)
    return found


def _run(
    direction: Direction, data: Any, tool: str, data_set: DataSet | None
) -> FilesystemRun | NotSeen:
    try:
        assert isinstance(data, Mapping)  # noqa: S101 - told below like everything else
        rate = Bandwidth.parse(str(data["rate"]))
        start, end = (_seconds(data[key]) for key in ("start", "end"))
    except (AssertionError, KeyError, ValueError, TypeError) as error:
        return NotSeen(
            f"the recorded {direction} run",
            f"recorded: {direction} needs rate, start and end ({error!r})",
            "write them as in {rate: 91.4 GiB/s, start: 2026-11-30T10:16:03Z, end: ...}",
        )
    if end <= start:
        return NotSeen(
            f"the recorded {direction} run", f"recorded: {direction} ends before it starts"
        )
    return FilesystemRun(direction, tool, {}, data_set, None, end - start, recorded=rate)


def _seconds(value: Any) -> float:
    when = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    if when.tzinfo is None:
        raise ValueError(f"{value} has no time zone; end it with Z")
    return when.timestamp()

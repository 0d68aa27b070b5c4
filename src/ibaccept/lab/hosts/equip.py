"""Put the traffic stand-ins first in a simulated host's ``PATH``.

``ib_write_bw``, ``ib_read_bw`` and ``ss`` always stand in; ``fio``, ``mkdir``, ``rm`` and the like
only where the path is on the simulated file system, behind which a folder of the lab stands;
``cat /proc/meminfo`` only where the scenario says how much memory the host has.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from ibaccept.lab.hosts.shims import SYSTEM_PATH
from ibaccept.lab.traffic.plane import MEMORY, MOUNT, NO_WRITE, SCRATCH

FILE_TOOLS = ("df", "find", "ls", "mkdir", "rm", "rmdir", "stat", "touch")
"""Tools that see the simulated file system."""

# -I -S: no site packages, no user's environment; a start takes a third of the time.
_PYTHON = """\
#!/bin/sh
# A stand-in of the ibaccept lab; see its --version.
exec {python} -I -S -c {script} "$@"
"""

_SCRIPT = """\
import sys; sys.path.insert(0, {lab!r})
from standins.{module} import main
sys.exit(main({argument}))"""

_FIO = """\
#!/bin/sh
# fio: the real one, but for the simulated file system.
for word; do
    case $word in
        --version) echo "on ${mount} this is a stand-in of the ibaccept lab" >&2 ;;
        --directory="${mount}"|--directory="${mount}"/*) exec {standin} "$@" ;;
    esac
done
exec {real} "$@"
"""

# Words with an absolute path below the mount point get the folder's; messages get it back.
_FILE_TOOL = """\
#!/bin/sh
# {name}, on a host that has the simulated file system mounted.
here=
for word; do
    shift
    case $word in
        "${mount}"|"${mount}"/*)
            here=1
            if [ {writes} -eq 1 ] && [ "${{{no_write}:-}}" = read-only ]; then
                echo "{name}: cannot {verb} '$word': Read-only file system" >&2
                exit 1
            fi
            word=${scratch}${{word#"${mount}"}} ;;
    esac
    set -- "$@" "$word"
done
PATH={path}
[ -n "$here" ] || exec {name} "$@"
exec 3>&1
errors=$({name} "$@" 2>&1 >&3)
code=$?
[ -z "$errors" ] || printf '%s\\n' "$errors" | sed "s|${scratch}|${mount}|g" >&2
exit "$code"
"""

_CAT = """\
#!/bin/sh
# cat, on a host whose memory the scenario gives.
if [ "$*" = /proc/meminfo ] && [ -n "${{{memory}:-}}" ]; then
    exec sed -e "s/^MemTotal: .*/$(printf 'MemTotal:       %8d kB' "${memory}")/" \\
        -e "s/^MemFree: .*/$(printf 'MemFree:        %8d kB' "$(({memory} / 10 * 9))")/" \\
        -e "s/^MemAvailable: .*/$(printf 'MemAvailable:   %8d kB' "$(({memory} / 10 * 9))")/" \\
        /proc/meminfo
fi
exec {real} "$@"
"""

_VERBS = {
    "mkdir": "create directory",
    "touch": "touch",
    "rm": "remove",
    "rmdir": "remove",
}
"""What a tool that writes cannot do to a read-only file system."""


def equip(folder: Path, *, memory: bool) -> None:
    """Write the programs.

    Args:
        folder: goes first in ``PATH``; created where it is not there.
        memory: some host's memory is given.
    """
    folder.mkdir(exist_ok=True)
    for name, module, argument in (
        ("ib_write_bw", "ib_bw", '"ib_write_bw"'),
        ("ib_read_bw", "ib_bw", '"ib_read_bw"'),
        ("ss", "ss", ""),
        (".fio", "fio", ""),
    ):
        _write(folder / name, _python(module, argument))
    fio = {"mount": MOUNT, "standin": shlex.quote(str(folder / ".fio")), "real": "/usr/bin/fio"}
    _write(folder / "fio", _FIO.format(**fio))
    for name in FILE_TOOLS:
        verb = _VERBS.get(name)
        text = _FILE_TOOL.format(
            name=name,
            mount=MOUNT,
            scratch=SCRATCH,
            no_write=NO_WRITE,
            path=SYSTEM_PATH,
            writes=int(verb is not None),
            verb=verb,
        )
        _write(folder / name, text)
    if memory:
        _write(folder / "cat", _CAT.format(memory=MEMORY, real="/usr/bin/cat"))


def _python(module: str, argument: str) -> str:
    script = _SCRIPT.format(lab=str(Path(__file__).parents[1]), module=module, argument=argument)
    return _PYTHON.format(python=shlex.quote(sys.executable), script=shlex.quote(script))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)

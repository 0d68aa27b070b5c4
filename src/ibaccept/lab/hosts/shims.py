"""Small programs that stand first in a simulated host's ``PATH``.

A shim of an InfiniBand tool waits for one of the simulator's places (a lock file each), then
becomes the real tool, so that signals and exit codes are the tool's own. Where the server asks for
it, the tool's real output is cut, garbled, changed or followed by a hang.
"""

from __future__ import annotations

from pathlib import Path

from ibaccept.lab import backend

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where the real tools are looked for, as sshd does for root."""

TOOLS = (
    "dump_fts",
    "ibaddr",
    "iblinkinfo",
    "ibnetdiscover",
    "ibportstate",
    "ibqueryerrors",
    "ibroute",
    "ibstat",
    "ibtracert",
    "perfquery",
    "saquery",
    "sminfo",
    "smpquery",
)
"""The tools of infiniband-diags that talk to the fabric and are programs, not scripts of others."""

# The lock is held by the open file, which the tool inherits: it ends with the tool in any case.
_SHIM = """\
#!/bin/sh
# {name}, as it runs on the simulated host $SIM_HOST.
i=0
while [ "$i" -lt {clients} ]; do
    exec 9>"{folder}/.place$i"
    flock -n 9 && break
    i=$((i + 1))
done
if [ "$i" -eq {clients} ]; then
    i=$(($$ % {clients}))
    exec 9>"{folder}/.place$i"
    flock 9
fi
{sync}if [ "${{{tool}:-}}" != "{name}" ]; then
    LD_PRELOAD={preload} exec {real} "$@"
fi
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
LD_PRELOAD={preload} {real} "$@" >"$out"
code=$?
exec 9>&-
part=$(($(wc -c <"$out") * ${{{at}:-50}} / 100))
case "${{{how}}}" in
    cut) head -c "$part" "$out" ;;
    hang) head -c "$part" "$out"; rm -f "$out"; exec sleep 1000000 ;;
    garble)
        head -c "$part" "$out"
        printf '\\001\\377 lp0 on fire \\n'
        tail -c +"$((part + 1))" "$out" ;;
    replace) sed -e "${{{sed}}}" "$out" ;;
esac
exit "$code"
"""

# The data plane sets the simulator's counters to what they are now; see ibaccept.lab.traffic.plane.
_SYNC = """\
if [ -n "${IBACCEPT_LAB_SYNC:-}" ]; then
    exec 8<"$IBACCEPT_LAB_SYNC/synced.$i"
    echo "$i $$" >"$IBACCEPT_LAB_SYNC/sync"
    while read -r synced <&8 && [ "$synced" != "$$" ]; do :; done
    exec 8<&-
fi
"""

_READ_COUNTERS = frozenset({"perfquery", "ibqueryerrors"})

_SUDO = """\
#!/bin/sh
# sudo -n, as far as the lab needs it: everybody may do everything, or nothing.
[ "$1" = "-n" ] && shift
[ "$1" = "--" ] && shift
if [ "${IBACCEPT_LAB_SUDO:-}" = refuse ]; then
    echo "sudo: a password is required" >&2
    exit 1
fi
if ! command -v "$1" >/dev/null; then
    echo "sudo: $1: command not found" >&2
    exit 1
fi
exec "$@"
"""


def write_shims(folder: Path, preload: Path, clients: int) -> None:
    """Write the shims of every tool, and ``sudo``.

    Args:
        folder: created; goes first in ``PATH``.
        preload: libumad2sim.so.
        clients: how many tools run at a time.
    """
    folder.mkdir()
    for name in TOOLS:
        text = _SHIM.format(
            name=name,
            real=_real(name),
            folder=folder,
            preload=preload,
            clients=clients,
            sync=_SYNC if name in _READ_COUNTERS else "",
            tool=backend.OUTPUT_TOOL,
            at=backend.OUTPUT_AT,
            how=backend.OUTPUT_FAULT,
            sed=backend.OUTPUT_SED,
        )
        _write(folder / name, text)
    _write(folder / "sudo", _SUDO)


def _real(name: str) -> str:
    for place in SYSTEM_PATH.split(":"):
        if (Path(place) / name).exists():
            return f"{place}/{name}"
    return f"/usr/sbin/{name}"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)

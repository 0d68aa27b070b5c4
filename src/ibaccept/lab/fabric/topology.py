"""Builders of simulated fabrics: each gives a :class:`~ibaccept.lab.fabric.netfile.NetFile`.

GUIDs are deterministic: switch ``i`` (from 1) is ``0x0002c90300000000 + i``, host ``i`` is
``0x0c42a10300f00000 + 0x100 * i`` and its port ``n`` that plus ``n``. So are the LIDs OpenSM gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path

from ibaccept.errors import InputError
from ibaccept.fabric.model import Rate
from ibaccept.lab.fabric.netfile import NetFile, NetNode, NetPort

SWITCH_GUID = 0x0002C90300000000
HOST_GUID = 0x0C42A10300F00000
HOST_STEP = 0x100
OBSERVER = "mgmt01"
"""The host with no part in any job: runs the SM, and the diagnostics look from there."""

_MAX_PORTS = 254


class _Builder:
    """Collects nodes and cables; names are node descriptions."""

    def __init__(self, rate: str) -> None:
        self.rate = Rate.parse(rate)
        self._switches: dict[str, NetNode] = {}
        self._hosts: dict[str, NetNode] = {}

    def switch(self, name: str, ports: int) -> None:
        if not 0 < ports <= _MAX_PORTS:
            raise InputError(f"{name} would need {ports} ports; a switch has 1 to {_MAX_PORTS}")
        guid = SWITCH_GUID + len(self._switches) + 1
        self._switches[name] = NetNode(
            "Switch",
            ports,
            f"S-{guid:016x}",
            f'"{name}" enhanced port 0 lid 0 lmc 0',
            ["vendid=0x2c9", "devid=0xd2f0", f"sysimgguid=0x{guid:x}", f"switchguid=0x{guid:x}"],
        )

    def host(
        self, name: str, switch: str, port: int, rate: Rate | None = None, *, ports: int = 1
    ) -> None:
        """A host with one HCA, whose first port is cabled."""
        guid = HOST_GUID + HOST_STEP * (len(self._hosts) + 1)
        self._hosts[name] = NetNode(
            "Ca",
            ports,
            f"H-{guid:016x}",
            f'"{name}"',
            ["vendid=0x2c9", "devid=0x101b", f"sysimgguid=0x{guid:x}", f"caguid=0x{guid:x}"],
        )
        self.cable(name, 1, switch, port, rate)

    def cable(self, a: str, a_port: int, b: str, b_port: int, rate: Rate | None = None) -> None:
        ends = ((self._node(a), a_port), (self._node(b), b_port))
        word = rate or self.rate
        text = f"{int(word.width)}x{word.speed}"
        for (near, number), (far, far_number) in (ends, ends[::-1]):
            if number in near.ports or not 0 < number <= near.num_ports:
                raise InputError(f"port {number} of {near.name} is taken or does not exist")
            near.ports[number] = NetPort(
                number,
                far.id,
                far_number,
                "" if near.is_switch else f"{near.guid + number:x}",
                "" if far.is_switch else f"{far.guid + far_number:x}",
                comment=f'"{far.name}" lid 0 {text}'
                if near.is_switch
                else f'lid 0 lmc 0 "{far.name}" lid 0 {text}',
            )

    def _node(self, name: str) -> NetNode:
        return self._switches[name] if name in self._switches else self._hosts[name]

    def net(self) -> NetFile:
        nodes = (*self._switches.values(), *self._hosts.values())
        return NetFile({node.id: node for node in nodes})


def _names(prefix: str, count: int) -> list[str]:
    """``client-01`` ... ``client-48``: one width, so that node sets fold."""
    width = len(str(count))
    return [f"{prefix}{number:0{width}d}" for number in range(1, count + 1)]


def two_switch(
    clients: int = 48,
    storage: int = 8,
    isls: int = 8,
    rate: str = "4X HDR",
    isl_rate: str | None = None,
    host_ports: int = 1,
) -> NetFile:
    """The case of the two switches: clients on SwitchA, storage servers on SwitchB.

    ISLs run from SwitchA ports 13, 14, ... to SwitchB ports 25, 26, ...; clients take the other
    ports of SwitchA in order, storage servers SwitchB's ports from 1, the observer SwitchB's last.

    Args:
        clients: hosts ``client-01`` ... on SwitchA.
        storage: hosts ``stor-1`` ... on SwitchB, at most 24.
        isls: cables between the switches.
        rate: of every cable.
        isl_rate: of the ISLs, where it differs.
        host_ports: ports of each client and storage server, on one HCA; those of a host follow each
            other on the switch.
    """
    first_a, first_b = 13, 25
    if storage * host_ports >= first_b:
        raise InputError(
            f"SwitchB has {first_b - 1} ports for storage servers, not {storage * host_ports}"
        )
    build = _Builder(rate)
    isl_ports = range(first_a, first_a + isls)
    build.switch("SwitchA", max(clients * host_ports + isls, first_a + isls - 1))
    build.switch("SwitchB", first_b + isls)
    free = (port for port in range(1, _MAX_PORTS) if port not in isl_ports)
    for name in _names("client-", clients):
        build.host(name, "SwitchA", next(free), ports=host_ports)
        for number in range(2, host_ports + 1):
            build.cable(name, number, "SwitchA", next(free))
    for index, name in enumerate(_names("stor-", storage)):
        first = index * host_ports + 1
        build.host(name, "SwitchB", first, ports=host_ports)
        for number in range(2, host_ports + 1):
            build.cable(name, number, "SwitchB", first + number - 1)
    build.host(OBSERVER, "SwitchB", first_b + isls)
    for index in range(isls):
        build.cable(
            "SwitchA",
            first_a + index,
            "SwitchB",
            first_b + index,
            Rate.parse(isl_rate) if isl_rate else None,
        )
    return build.net()


def fat_tree(
    levels: int = 2,
    leaves: int = 4,
    spines: int = 2,
    hosts: int = 8,
    links: int = 1,
    rate: str = "4X HDR",
    leaf_rates: Mapping[int, str] | None = None,
    pods: int = 2,
    cores: int = 2,
) -> NetFile:
    """Leaves under spines (``leaf01/1`` ... hosts, then spines in order); with 3 levels, pods.

    With ``levels: 3`` every pod is such a tree (``pod1-leaf01``), and each of its spines has
    ``links`` cables to every core (``core01``).

    Args:
        levels: 2 or 3.
        leaves: leaf switches (a pod).
        spines: spine switches (a pod).
        hosts: hosts a leaf, named ``node001`` ... over the whole tree.
        links: cables a pair of switches.
        rate: of every cable.
        leaf_rates: rate of every cable of a leaf, by leaf number from 1 (a mix of generations).
        pods: for 3 levels.
        cores: for 3 levels.

    Raises:
        InputError: ``levels`` is neither 2 nor 3, or a switch would need too many ports.
    """
    if levels not in {2, 3}:
        raise InputError(f"a fat tree has 2 or 3 levels here, not {levels}")
    build = _Builder(rate)
    rates = {number: Rate.parse(text) for number, text in (leaf_rates or {}).items()}
    prefixes = [""] if levels == 2 else [f"pod{number}-" for number in range(1, pods + 1)]  # noqa: PLR2004 - levels
    core_names = [] if levels == 2 else _names_2("core", cores)  # noqa: PLR2004 - levels
    leaf_names = [f"{prefix}{name}" for prefix in prefixes for name in _names_2("leaf", leaves)]
    spine_names = [f"{prefix}{name}" for prefix in prefixes for name in _names_2("spine", spines)]
    observer_port = hosts + spines * links + 1
    for name in leaf_names:
        build.switch(name, observer_port)
    for name in spine_names:
        build.switch(name, (leaves + len(core_names)) * links)
    for name in core_names:
        build.switch(name, len(spine_names) * links)
    names = iter(_names("node", max(len(leaf_names) * hosts, 100)))
    for (index, leaf), port in product(enumerate(leaf_names), range(1, hosts + 1)):
        build.host(next(names), leaf, port, rates.get(index + 1))
    build.host(OBSERVER, leaf_names[0], observer_port, rates.get(1))
    for (index, leaf), spine, link in product(enumerate(leaf_names), range(spines), range(links)):
        pod, position = divmod(index, leaves)
        build.cable(
            leaf,
            hosts + spine * links + link + 1,
            spine_names[pod * spines + spine],
            position * links + link + 1,
            rates.get(index + 1),
        )
    for (index, spine_name), (core_index, core), link in product(
        enumerate(spine_names), enumerate(core_names), range(links)
    ):
        build.cable(
            spine_name,
            (leaves + core_index) * links + link + 1,
            core,
            index * links + link + 1,
        )
    return build.net()


def _names_2(prefix: str, count: int) -> list[str]:
    """As ``_names`` with at least two digits: ``leaf01``."""
    width = max(2, len(str(count)))
    return [f"{prefix}{number:0{width}d}" for number in range(1, count + 1)]


def ring(switches: int = 4, hosts: int = 2, rate: str = "4X HDR") -> NetFile:
    """Switches in a ring (``switch1/1`` to the next one's port 2): min-hop has credit loops on it.

    Args:
        switches: 3 or more.
        hosts: hosts a switch.
        rate: of every cable.
    """
    if switches < 3:  # noqa: PLR2004 - the smallest ring
        raise InputError(f"a ring has 3 or more switches, not {switches}")
    build = _Builder(rate)
    names = _names("switch", switches)
    for name in names:
        build.switch(name, hosts + 3)
    host_names = iter(_names("node", max(switches * hosts, 100)))
    for name in names:
        for port in range(3, hosts + 3):
            build.host(next(host_names), name, port)
    build.host(OBSERVER, names[0], hosts + 3)
    for index, name in enumerate(names):
        build.cable(name, 1, names[(index + 1) % switches], 2)
    return build.net()


def kary(k: int = 4, n: int = 2, rate: str = "4X HDR") -> NetFile:
    """A k-ary n-tree: k^n hosts, n levels of k^(n-1) switches; full bisection.

    A switch of level ``l`` and digits ``w`` (``sw-l-w``, level 0 at the hosts) reaches by its
    up-port ``k+1+i`` the switch of level ``l+1`` whose digit ``l`` is ``i``, the others the same.

    Args:
        k: down-ports a switch (twice as many ports in all).
        n: levels.
        rate: of every cable.
    """
    build = _Builder(rate)
    words = list(product(range(k), repeat=n - 1))

    def name(level: int, word: tuple[int, ...]) -> str:
        return f"sw-{level}-" + ("".join(f"{digit:02d}" for digit in word) or "0")

    for level in range(n):
        for word in words:
            build.switch(name(level, word), 2 * k + 1)
    hosts = iter(_names("node", max(k**n, 100)))
    for word in words:
        for port in range(1, k + 1):
            build.host(next(hosts), name(0, word), port)
    build.host(OBSERVER, name(0, words[0]), 2 * k + 1)
    for level in range(n - 1):
        for word, digit in product(words, range(k)):
            upper = (*word[:level], digit, *word[level + 1 :])
            build.cable(name(level, word), k + 1 + digit, name(level + 1, upper), word[level] + 1)
    return build.net()


def capture(path: Path) -> NetFile:
    """A fabric as ``ibnetdiscover`` printed it.

    Raises:
        InputError: the file cannot be read, or a line is not understood.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    return NetFile.parse(text, str(path))

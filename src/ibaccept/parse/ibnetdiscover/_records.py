"""What ibnetdiscover shows, as values; and how its words and numbers read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ibaccept.fabric.model import (
    LIDS,
    LMCS,
    PORT_NUMBERS,
    UNICAST_LIDS,
    Guid,
    Lid,
    NodeType,
    Speed,
    Width,
)
from ibaccept.parse import ParseError, ParseWarning
from ibaccept.parse.diags import bounded

TOOL = "ibnetdiscover"

TYPES = {
    "Switch": NodeType.SWITCH,
    "Ca": NodeType.CA,
    "Hca": NodeType.CA,  # ibsim's word
    "Rt": NodeType.ROUTER,
    "S-": NodeType.SWITCH,
    "H-": NodeType.CA,
    "R-": NodeType.ROUTER,
    "SW": NodeType.SWITCH,
    "CA": NodeType.CA,
    "RT": NodeType.ROUTER,
}
PREFIXES = {NodeType.SWITCH: "S-", NodeType.CA: "H-", NodeType.ROUTER: "R-"}


@dataclass(frozen=True, slots=True)
class PortRecord:
    """One port line: this end, the peer, and the rate this end reads.

    Attributes:
        number: port number on the node.
        label: external label (``[ext 3]`` gives ``3``, ibdiagnet's ``(1/2/1)`` gives ``1/2/1``).
        guid: own port GUID (CAs and routers).
        lid: own LID (CAs and routers); None where the tool printed 0 or 65535.
        lmc: of the own LID.
        peer_type: from the ``S-``, ``H-``, ``R-`` of the peer's id; None for other ids.
        peer_guid: node GUID of the peer; None where the id is not hexadecimal.
        peer_id_text: the peer's id as printed.
        peer_port: port number on the peer.
        peer_port_guid: port GUID of a peer that is not a switch.
        peer_name: as printed, blanks kept; empty where none is printed.
        peer_lid: LID of the peer (a switch's port 0); None where the tool printed 0 or 65535.
        width: lanes; None where the tool printed ``??`` or nothing.
        speed: generation; None where the tool printed ``???`` or one that is not known here.
        rate_text: ``4xHDR`` as printed.
        line: 1-based line number.
    """

    number: int
    label: str | None
    guid: Guid | None
    lid: Lid | None
    lmc: int
    peer_type: NodeType | None
    peer_guid: Guid | None
    peer_id_text: str
    peer_port: int | None
    peer_port_guid: Guid | None
    peer_name: str
    peer_lid: Lid | None
    width: Width | None
    speed: Speed | None
    rate_text: str
    line: int


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """One block.

    Attributes:
        guid: node GUID; None where the id is not hexadecimal (redacted, or an ibsim name).
        id_text: the id as printed, ``S-0002c90300000001``.
        name: node description exactly as printed.
        lid: LID of a switch's port 0; None where the tool printed 0 or 65535, or nothing.
        lmc: of that LID.
        port_guid: port GUID of a switch's port 0, as other tools may name the switch.
        chassis: number of the chassis (``-g``).
        ports: connected ports in the order printed.
        line: 1-based number of the header line.
    """

    type: NodeType
    guid: Guid | None
    id_text: str
    name: str
    num_ports: int
    lid: Lid | None
    lmc: int
    vendor_id: int | None
    device_id: int | None
    system_guid: Guid | None
    chassis: int | None
    ports: tuple[PortRecord, ...]
    line: int
    port_guid: Guid | None = None


@dataclass(frozen=True, slots=True)
class Topology:
    """The whole output.

    Attributes:
        initiated_from: node GUID of the HCA the sweep started on; None where not printed.
        warnings: lines of known noise, and blocks that ``-g`` repeats.
    """

    nodes: tuple[NodeRecord, ...]
    initiated_from: Guid | None
    warnings: tuple[ParseWarning, ...]


@dataclass(frozen=True, slots=True)
class ListedPort:
    """One row of ``ibnetdiscover -p``. The peer fields are None where nothing is connected.

    Attributes:
        guid: port GUID; of a switch, that of its port 0.
        rate_text: ``4x HDR`` as printed; a default, no rate, where nothing is connected.
        width: None where nothing is connected, or not known.
        speed: as ``width``.
        name: node description, blanks kept.
        line: 1-based line number.
    """

    type: NodeType
    lid: Lid | None
    port: int
    guid: Guid
    rate_text: str
    width: Width | None
    speed: Speed | None
    name: str
    peer_type: NodeType | None
    peer_lid: Lid | None
    peer_port: int | None
    peer_guid: Guid | None
    peer_name: str | None
    line: int


@dataclass(frozen=True, slots=True)
class PortListing:
    """The output of ``ibnetdiscover -p``; the warnings hold merged progress lines."""

    rows: tuple[ListedPort, ...]
    warnings: tuple[ParseWarning, ...]


def refuse_contradictions(nodes: Sequence[NodeRecord]) -> None:
    """Refuse two lines that cannot both be true: each port has one peer, and is the peer of one."""
    lines = {
        (node.id_text, port.number): port
        for node in nodes
        if node.guid is not None
        for port in node.ports
    }
    claimed: dict[tuple[str, int], int] = {}
    for (id_text, number), port in lines.items():
        if port.peer_guid is None or port.peer_port is None:
            continue
        peer = (port.peer_id_text, port.peer_port)
        other = lines.get(peer)
        if other is not None and (other.peer_id_text, other.peer_port) == (id_text, number):
            continue
        if other is not None:
            why = (
                f"but that one (line {other.line}) names {other.peer_id_text} port "
                f"{other.peer_port}"
            )
        elif peer in claimed:
            why = f"and so does another port (line {claimed[peer]})"
        else:
            claimed[peer] = port.line
            continue
        raise ParseError(
            TOOL,
            f"{id_text} port {number} names {peer[0]} port {peer[1]} as its peer, {why}: lines are "
            "missing, a cable moved during the sweep, or two nodes have one GUID; read the fabric "
            "again",
            line=port.line,
        )


def print_id(kind: NodeType, guid: Guid) -> str:
    """The id as the blocks print it, ``S-0002c90300000001``."""
    return f"{PREFIXES[kind]}{int(guid):016x}"


@lru_cache(maxsize=1 << 16)
def read_id(id_text: str) -> Guid | None:
    """The node GUID of an id; None for a name or a redacted id."""
    return read_guid(id_text[2:]) if id_text[:2] in ("S-", "H-", "R-") else None


@lru_cache(maxsize=1 << 16)
def read_guid(text: str) -> Guid | None:
    """A GUID; None for text that is none."""
    try:
        return Guid.parse(text)
    except ValueError:
        return None


def read_hex(value: tuple[str, str | None] | None) -> int | None:
    """A hexadecimal id; None where it is absent or no number."""
    if value is None or not re.fullmatch(r"[0-9a-fA-F]+", value[0]):
        return None
    return int(value[0], 16)


@lru_cache(maxsize=1 << 16)
def read_lid(text: str | None) -> Lid | None:
    """A LID; None where it is absent, 0 or 65535 (no LID assigned).

    Raises:
        ValueError: more than 16 bits.
    """
    lid = Lid(bounded(text or 0, LIDS, "a LID"))
    return lid if int(lid) in UNICAST_LIDS else None


@lru_cache(maxsize=1 << 10)
def read_lmc(text: str | None) -> int:
    """An LMC; 0 where it is absent.

    Raises:
        ValueError: more than 3 bits.
    """
    return bounded(text or 0, LMCS, "an LMC")


@lru_cache(maxsize=1 << 10)
def read_port(text: str) -> int:
    """A port number, or a number of ports.

    Raises:
        ValueError: more than 254.
    """
    return bounded(text, PORT_NUMBERS, "a port number")


@lru_cache(maxsize=1 << 16)
def read_width(text: str | None) -> Width | None:
    """Lanes; None for ``??`` and absent."""
    try:
        return Width.parse(text or "")
    except ValueError:
        return None


@lru_cache(maxsize=1 << 16)
def read_speed(text: str | None) -> Speed | None:
    """A generation; None for ``???``, absent, and names not known here."""
    try:
        return Speed.parse(text or "")
    except ValueError:
        return None

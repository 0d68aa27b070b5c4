"""The default output: one block a node."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from ibaccept.fabric.model import Guid, NodeType, Speed
from ibaccept.fabric.wording import reasons
from ibaccept.parse import ParseError, ParseWarning
from ibaccept.parse.diags import is_banner, is_error, is_foreign, is_noise, plain, refuse_overlong
from ibaccept.parse.ibnetdiscover._records import (
    TOOL,
    TYPES,
    NodeRecord,
    PortRecord,
    Topology,
    read_guid,
    read_hex,
    read_id,
    read_lid,
    read_lmc,
    read_port,
    read_speed,
    read_width,
    refuse_contradictions,
)

_IDS = re.compile(
    r"(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=0x([^\s(#]*)\s*(?:\(([^)]*)\))?\s*"
    r"(?:#\s*(.*))?\Z"
)
_CHASSIS = re.compile(r"#?\s*Chassis (\d+)\b")
_HEADER = re.compile(
    r'(Switch|Ca|Hca|Rt)\s*(\d+)\s*"([^"]*)"\s*'
    r'(?:#\s*"(.*)"\s*(?:(?:enhanced|base) port 0 lid (\d+) lmc (\d+))?\s*(?:\(scp\))?)?\Z'
)
_PORT = re.compile(
    r"\[(\d+)\](?:\[ext (\d+)\])?\s*((?:\([^()]*\))*)\s*"
    r'"([^"]*)"\s*\[(\d+)\](?:\[ext \d+\])?\s*(?:\(([^()]*)\))?\s*'
    r"(?:(\d+x)([A-Z]+\d*)\s*)?(?:#\s*(.*))?\Z"  # a net file of ibsim can have the rate alone
)
_LINK = re.compile(
    r'(?:lid (\d+) lmc (\d+) )?"(.*)" lid (\d+) (?:(\d+x|\?\?)([A-Z]+\d*|\?\?\?))'
    r"(?: [swve]=\d+| slot \d+| \(scp\))*\Z"
)
_INITIATED = re.compile(r"# Initiated from node (\S+) port")
_SECTION = re.compile(r"Chassis \d+(?: \(guid 0x[0-9a-fA-F]+\))?\Z|Hostname: |Non-Chassis Nodes\Z")
_GUID_KEYS = {
    "switchguid": NodeType.SWITCH,
    "caguid": NodeType.CA,
    "rtguid": NodeType.ROUTER,
}


@dataclass(slots=True)
class _Block:
    """A node block while it is read: the id lines come before the header line."""

    ids: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    chassis: int | None = None
    header: NodeRecord | None = None
    ports: dict[int, PortRecord] = field(default_factory=dict)


def parse(text: str) -> Topology:
    """Read the default output (also ``-g``, ``-f``, ibdiagnet's file, ibsim's net file).

    Raises:
        ParseError: a line that is not understood, a block that is cut, two lines that contradict
            each other, or no node at all.
    """
    return _Reader().read(text)


class _Reader:
    """Reads blocks line by line; an empty line ends a block."""

    def __init__(self) -> None:
        self.nodes: list[NodeRecord] = []
        self.known: dict[str, NodeRecord] = {}
        self.warnings: list[ParseWarning] = []
        self.initiated: Guid | None = None
        self.block = _Block()

    def read(self, text: str) -> Topology:
        text = plain(TOOL, text)
        refuse_overlong(TOOL, text)
        last = text.rsplit("\n", 1)[-1]
        whole = not last or is_foreign(last)
        number = 0
        lines = text.split("\n")
        for number, raw in enumerate(lines, 1):
            last = raw.replace("\r", "").strip()
            try:
                self.line(number, last, ended=whole or number < len(lines))
            except ValueError as error:
                raise ParseError(TOOL, str(error), line=number, text=last) from None
        if self.block.ids and self.block.header is None:
            raise ParseError(
                TOOL, "the last block has no header line: the output is cut", line=number, text=last
            )
        self.close()
        if not self.nodes:
            printed = reasons(warning.text for warning in self.warnings)
            raise ParseError(
                TOOL,
                "no node was printed, so no fabric was seen; run it by hand on the observer and "
                "look at its error text" + (f" (it printed: {printed})" if printed else ""),
            )
        refuse_contradictions(self.nodes)
        return Topology(tuple(self.nodes), self.initiated, tuple(self.warnings))

    def line(self, number: int, line: str, *, ended: bool) -> None:
        if line.startswith("[") and not is_foreign(line):
            self.port(number, line, ended=ended)
        elif not line:
            # an empty line between the id lines and the header would lose the ids
            if not self.block.ids or self.block.header is not None:
                self.close()
        elif line.startswith("#"):
            self.comment(line)
        elif match := _IDS.match(line):
            self.identity(match)
        elif match := _HEADER.match(line):
            self.header(number, line, match, ended=ended)
        elif is_error(line):
            raise ParseError(
                TOOL,
                "the sweep failed; see that the HCA's port is active and that the user may open "
                "/dev/infiniband/umad*",
                line=number,
                text=line,
            )
        elif _SECTION.match(line):
            self.close()
        elif is_noise(line) or is_foreign(line) or (not self.begun and is_banner(line)):
            self.warnings.append(ParseWarning(number, line))
        else:
            raise ParseError(TOOL, "this line is not understood", line=number, text=line)

    @property
    def begun(self) -> bool:
        """A line of the tool was met."""
        return bool(self.nodes or self.block.ids or self.block.header or self.initiated)

    def comment(self, line: str) -> None:
        if match := _INITIATED.match(line):
            self.initiated = read_guid(match[1])
        elif (match := _CHASSIS.match(line)) and self.block.ids:
            self.block.chassis = int(match[1])

    def identity(self, match: re.Match[str]) -> None:
        key, value, more, comment = match.groups()
        if self.block.header is not None or key in self.block.ids:
            self.close()
        self.block.ids[key] = (value, more)
        if comment and (chassis := _CHASSIS.match(comment)):
            self.block.chassis = int(chassis[1])

    def header(self, number: int, line: str, match: re.Match[str], *, ended: bool) -> None:
        if self.block.header is not None:
            self.close()
        word, count, id_text, name, lid, lmc = match.groups()
        kind = TYPES[word]
        if not ended:
            raise ParseError(TOOL, "the output is cut in this header", line=number, text=line)
        guid = read_id(id_text)
        ids = self.block.ids
        port_guid = None
        for key, expected in _GUID_KEYS.items():
            if key not in ids:
                continue
            value, more = ids[key]
            own = read_guid(value)
            if more and own == read_guid(ids.get("sysimgguid", ("", None))[0]):
                # ibdiagnet prints the box's GUID there, and the chip's own in brackets
                own = guid if guid in {own, read_guid(more)} else own
            if expected is not kind or own != guid:
                raise ParseError(
                    TOOL,
                    f"the block began with {key}=0x{value}, but its header is of another node: "
                    "lines are missing; read the fabric again",
                    line=number,
                    text=line,
                )
            port_guid = read_guid(more) if more else None
        self.block.header = NodeRecord(
            type=kind,
            guid=guid,
            id_text=id_text,
            name=id_text if name is None else name,
            num_ports=read_port(count),
            lid=read_lid(lid),
            lmc=read_lmc(lmc),
            vendor_id=read_hex(ids.get("vendid")),
            device_id=read_hex(ids.get("devid")),
            system_guid=read_guid(ids["sysimgguid"][0]) if "sysimgguid" in ids else None,
            chassis=self.block.chassis,
            ports=(),
            line=number,
            port_guid=port_guid,
        )

    def port(self, number: int, line: str, *, ended: bool) -> None:
        node = self.block.header
        if node is None:
            raise ParseError(
                TOOL,
                "a port line without the header of its node: lines are missing; read the fabric "
                "again",
                line=number,
                text=line,
            )
        port = _port(node.type, number, line, ended=ended)
        if port.number > node.num_ports:
            raise ParseError(
                TOOL,
                f"{node.id_text} has {node.num_ports} ports, but this is a line of port "
                f"{port.number}",
                line=number,
                text=line,
            )
        if port.number in self.block.ports:
            raise ParseError(
                TOOL,
                f"a second line of {node.id_text} port {port.number}: lines are missing, or the "
                "output holds two sweeps",
                line=number,
                text=line,
            )
        self.block.ports[port.number] = port

    def close(self) -> None:
        block, self.block = self.block, _Block()
        if block.header is None:
            return
        node = replace(block.header, ports=tuple(block.ports.values()))
        first = None if node.guid is None else self.known.get(node.id_text)
        if first is not None:
            # -g prints the switches of a chassis once by slot and once more in a list
            if _without_lines(first) != _without_lines(node):
                raise ParseError(
                    TOOL,
                    f"{node.id_text} has two blocks that differ (the first is at line "
                    f"{first.line}): two nodes with one GUID, or two sweeps in one text",
                    line=node.line,
                )
            self.warnings.append(ParseWarning(node.line, f"{node.id_text} is printed again"))
            return
        self.known[node.id_text] = node
        self.nodes.append(node)


def _port(kind: NodeType, number: int, line: str, *, ended: bool) -> PortRecord:
    match = _PORT.match(line)
    if match is None:
        raise ParseError(TOOL, "this port line is not understood", line=number, text=line)
    port, ext, groups, peer_id, peer_port, peer_port_guid, *rate, comment = match.groups()
    labels = groups[1:-1].split(")(") if groups else []
    # a CA prints its port GUID last; ibdiagnet prints a label before it
    guid = read_guid(labels.pop()) if labels and kind is not NodeType.SWITCH else None
    label = ext or (labels[-1] if labels else None)
    lid = lmc = name = peer_lid = None
    width, speed = rate
    if comment is not None:
        link = _LINK.match(comment)
        if link is None or (link[1] is None) is not (kind is NodeType.SWITCH):
            raise ParseError(
                TOOL,
                "this port line is not understood (a switch's line shows the peer's name first, "
                "another node's its own LID)",
                line=number,
                text=line,
            )
        lid, lmc, name, peer_lid, width, speed = link.groups()
    rate_text = f"{width}{speed}" if width and speed else ""
    known = read_speed(speed)
    # FDR may be the beginning of FDR10, and an unknown word that of a known one
    if not ended and (not rate_text or known in (None, Speed.FDR)):
        raise ParseError(TOOL, "the last line is cut", line=number, text=line)
    return PortRecord(
        number=read_port(port),
        label=label,
        guid=guid,
        lid=read_lid(lid),
        lmc=read_lmc(lmc),
        peer_type=TYPES.get(peer_id[:2]),
        peer_guid=read_id(peer_id),
        peer_id_text=peer_id,
        peer_port=read_port(peer_port),
        peer_port_guid=read_guid(peer_port_guid) if peer_port_guid else None,
        peer_name=name or "",
        peer_lid=read_lid(peer_lid),
        width=read_width(width),
        speed=known,
        rate_text=rate_text,
        line=number,
    )


def _without_lines(node: NodeRecord) -> NodeRecord:
    return replace(node, line=0, ports=tuple(replace(port, line=0) for port in node.ports))

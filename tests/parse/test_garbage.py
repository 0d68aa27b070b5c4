"""Whatever a file holds, it is accepted or refused with a sentence; nothing else is raised."""

import dataclasses
import importlib
import pkgutil
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibaccept import parse as readers
from ibaccept.checks import read_expectations
from ibaccept.errors import InputError
from ibaccept.fabric.lft import SwitchTable
from ibaccept.fabric.nodeset import expand
from ibaccept.parse import ParseError
from ibaccept.parse.diags import is_foreign
from ibaccept.site.files import SiteFiles
from ibaccept.site.inventory import read_inventory
from ibaccept.site.plan import Plan
from ibaccept.site.yamlfile import Document, loads

# that a line ran on garbage is no proof of what it does; and traced it takes twice the time
pytestmark = pytest.mark.no_cover

WORDS = st.sampled_from(
    [
        "version",
        "fabric",
        "expect",
        "id",
        "kind",
        "links",
        "isl",
        "width",
        "4X",
        "link-rate",
        "between",
        "nodes",
        "except",
        "hosts",
        "vars",
        "children",
        "observers",
        "all",
        "ib_port",
        "ib_hca",
        "ansible_host",
        "ceilings",
        "job",
        "clients",
        "waivers",
        "workloads",
        "filesystem",
        "rdma",
        "tool",
        "fio",
        "window",
        "60s",
        "limits",
        "PortRcvErrors",
        "a",
        "b",
        "node[1-3]",
    ]
)
LEAVES = st.one_of(
    WORDS,
    st.text(max_size=6),
    st.integers(-2, 300),
    st.floats(allow_nan=False),
    st.booleans(),
    st.none(),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=25,
)

NOWHERE = SiteFiles(Path("nowhere"))


def outcome(read, *args, **kwargs):
    """What came of it: ``accepted``, or ``refused`` with a sentence of one line or more."""
    try:
        read(*args, **kwargs)
    except InputError as error:
        return "refused" if str(error).strip() else "no sentence"
    return "accepted"


def has_lines(value, where=()):
    lines = {where: 1}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in items:
        lines[(*where, key)] = 1
        if isinstance(part, dict | list):
            lines |= has_lines(part, (*where, key))
    return lines


@settings(max_examples=300, deadline=None)
@given(st.text("ab:[]{}-,\n \t'\"&*!?|>#<0x1\x01\ufeff", max_size=40))
def test_any_text_as_yaml(text):
    assert outcome(loads, text, name="f") in {"accepted", "refused"}


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(WORDS, VALUES, max_size=5))
def test_any_values_as_inventory_and_expectations(value):
    document = Document("f", value, has_lines(value))

    assert outcome(read_inventory, document) in {"accepted", "refused"}
    assert outcome(read_expectations, document, NOWHERE) in {
        "accepted",
        "refused",
    }


@settings(max_examples=300, deadline=None)
@given(VALUES.filter(lambda value: isinstance(value, dict)))
def test_any_values_as_an_entry(entry):
    value = {"version": 1, "fabric": "f", "expect": [{"id": "x", "kind": "link-rate", **entry}]}
    document = Document("f", value, has_lines(value))

    assert outcome(read_expectations, document, NOWHERE) in {
        "accepted",
        "refused",
    }


@settings(max_examples=300, deadline=None)
@given(st.text('ab,;"\n\r\t 019x\x00', max_size=30))
def test_any_rows_as_a_plan(text):
    header = "a_name,a_port,b_name,b_port\n"

    assert outcome(Plan.read, header + text, name="f") in {"accepted", "refused"}
    assert outcome(Plan.read, text, name="f") in {"accepted", "refused"}


@settings(max_examples=500, deadline=None)
@given(st.text("ab[]-,:^!&/0129 @%", max_size=14))
def test_any_text_as_a_node_set(text):
    def read():
        try:
            return expand(text)
        except ValueError as error:
            raise InputError(str(error)) from None

    assert outcome(read) in {"accepted", "refused"}


# -- what tools print ----------------------------------------------------------------------------

GOLDEN = Path(__file__).parents[1] / "parse" / "golden"
MIB = 1 << 20
ROW = (
    "{ CA Ports:01 SystemGUID:0000000000000103 NodeGUID:0000000000000100 "
    "PortGUID:0000000000000101 VenID:000002C9 DevID:5A440000 Rev:000000A1 {node001 HCA-1} "
    "LID:00b5 PN:01 } { SW Ports:41 SystemGUID:0000000000000010 NodeGUID:0000000000000010 "
    "PortGUID:0000000000000010 VenID:000002C9 DevID:0000 Rev:00000000 {leaf 1} LID:0001 PN:0d } "
    "PHY=4x LOG=ACT SPD=100\n"
)
FDBS = (
    "osm_ucast_mgr_dump_ucast_routes: Switch 0x0002c90109fb0000\nLID    : Port : Hops : Optimal\n"
    "0x0002 : 003  : 00   : yes\n0x0003 : UNREACHABLE\n\nPLFT_NUM: 0\n"
)
IOR = (
    "IOR-3.0.1: MPI Coordinated Test of Parallel I/O\nSummary:\n"
    "    clients            = 1 (1 per node)\n    aggregate filesize = 1 MiB\n\n"
    "access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter\n"
    "------    ---------  ---------- ---------  --------   --------   --------   --------   ----\n"
    "write     75.82      1024.00    256.00     0.001198   0.010607   0.001384   0.013190   0\n"
    "Max Write: 75.82 MiB/sec (79.50 MB/sec)\n"
    "0: WARNING: Using actual aggregate bytes moved = 1048576.\n"
    "Finished: Mon Jul 24 16:10:54 2017\n"
)
ELBENCHO = (
    "OPERATION RESULT TYPE        FIRST DONE  LAST DONE\n"
    "========= ================   ==========  =========\n"
    "READ      Elapsed ms       :      85656      99973\n"
    "          Throughput MiB/s :      10572      10488\n"
    "          Total MiB        :     905632    1048576\n---\n"
    "WRITE     Elapsed time     :  1m39s973ms\n"
    "          Throughput MiB/s :      10488\n"
    "          Total MiB        :    1048576\n---\n"
)
RECORDED = (
    "tool: h5perf 1.14\nnodes: node[001-002]\ndirection: read\nbytes: 128GiB\nseconds: 15.6\n"
    "start: 2026-11-30T10:16:03Z\nend: 1796033779.0\n"
    "per_client: {node001: 64GiB, node002: 68719476736}\n"
)
LSPCI = (
    "1a:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n"
    "\tLnkCap: Port #0, Speed 32GT/s, Width x16, ASPM not supported\n"
    "\tLnkSta: Speed 32GT/s (ok), Width x16 (ok)\n"
)
SUBNET_FILES = (
    "START_AR_INFO\nNodeGUID,e,is_arn_sup\n0xb83fd20300a1b2c0,1,1\nEND_AR_INFO\n",
    "LFT Definition:\nLID  Static Port  LID State  Group\n-----\n0x0001  5  Static  0\n",
    "# options\nrouting_engine ar_updn\nevent_plugin_name (null)\n",
    "Nov 30 10:16:03 817351 [E6] 0x02 -> osm: ar_updn tables configured on all switches\n",
    "Adaptive Routing is enabled on 3 switches.\n",
)


def tool_outputs(folder, *names):
    """Golden samples of a tool: all, or those of these names."""
    files = sorted(path for path in (GOLDEN / folder).iterdir() if path.suffix != ".yaml")
    texts = [path.read_text("utf-8") for path in files if not names or path.stem in names]
    assert texts, (folder, names)
    return tuple(texts)


EACH = "".join(
    f"# ibaccept begin {lid} 1796056934.1859593\n{text}# ibaccept end {lid} {code} 1796056934.19\n"
    for (lid, code), text in zip(
        ((2, 0), (3, 255)), tool_outputs("perfquery", "extended", "cut-extended"), strict=True
    )
)

READERS = {
    "adaptive.parse": SUBNET_FILES,
    "dump_fts.parse": tool_outputs("dump_fts"),
    "elbencho.parse": (ELBENCHO,),
    "fio.parse": tool_outputs("fio"),
    "ibdiagnet_fdbs.parse": (FDBS,),
    "ibdiagnet_lst.parse": (ROW,),
    "iblinkinfo.parse": tool_outputs("iblinkinfo"),
    "ibnetdiscover.parse": tool_outputs("ibnetdiscover"),
    "ibnetdiscover.parse_ports": tool_outputs("ibnetdiscover"),
    "ibqueryerrors.parse": tool_outputs("ibqueryerrors"),
    "ibqueryerrors.parse_stderr": tool_outputs("ibqueryerrors", "lossy-sweep"),
    "ibroute.parse": tool_outputs("ibroute"),
    "ibstat.parse": tool_outputs("ibstat"),
    "ior.parse": (IOR,),
    "lspci.parse": (LSPCI,),
    "meminfo.parse": tool_outputs("meminfo"),
    "opensm_dump.parse_fdbs": tool_outputs("opensm_dump", "fdbs"),
    "opensm_dump.parse_lfts": tool_outputs("opensm_dump", "lfts"),
    "perfquery.parse": tool_outputs("perfquery"),
    "perfquery_each.parse": (EACH,),
    "perftest.parse": tool_outputs("perftest"),
    "recorded.parse": (RECORDED,),
    "recorded.parse_all": (RECORDED,),
    "saquery.parse_lftr": tool_outputs("saquery", "lft-block", "cut-lft"),
    "saquery.parse_sms": tool_outputs("saquery"),
    "sminfo.parse": tool_outputs("sminfo"),
    "smpquery.parse_nodedesc": tool_outputs("smpquery"),
    "smpquery.parse_nodeinfo": tool_outputs("smpquery"),
    "smpquery.parse_portinfo": tool_outputs("smpquery"),
    "smpquery.parse_switchinfo": tool_outputs("smpquery"),
    "ss.parse": tool_outputs("ss"),
}
"""Whole outputs, by the function that reads them."""


def in_bytes(read):
    return lambda text: read(text.encode("utf-8", "surrogatepass"))


HOW = {
    "dump_fts.parse": in_bytes,
    "ibdiagnet_fdbs.parse": in_bytes,
    "ibroute.parse": in_bytes,
    "opensm_dump.parse_fdbs": in_bytes,
    "opensm_dump.parse_lfts": in_bytes,
    "recorded.parse": lambda read: partial(read, name="site.yaml"),
    "recorded.parse_all": lambda read: lambda text: read([("site.yaml", text)]),
}
"""Readers that do not take one text."""

NO_READERS = {"diags", "lft", "lft_rows"}
"""Modules of parse/ that read no output of their own: what several readers share."""

CONTROLS = ["\0", "\ufeff", "\ud800", "\r", "\n", "\n\n", "\x85", "\u2028", "%", '"', "[" * 3000]
NUMBERS = [
    "-", "-1", "0", "nan", "inf", "NaN", "Infinity", "1e400", "1e-400", "\u0662", "\u00b2", ".",
    "0x", "0x" + "f" * 40, "9" * 25, "9" * 400, "9" * 5000, "true", "null", "{", "}", ":", ",",
]  # fmt: skip
JUNK = st.one_of(st.text(max_size=8), st.sampled_from([*CONTROLS, *NUMBERS]))


def reader(name):
    module, function = name.split(".")
    home = "site" if module == "recorded" else "parse"
    read = getattr(importlib.import_module(f"ibaccept.{home}.{module}"), function)
    return HOW.get(name, lambda read: read)(read)


def read_outcome(read, text):
    """``read``, or ``refused`` with a sentence; any other exception is a fault of the reader."""
    try:
        read(text)
    except (ParseError, InputError) as error:
        return "refused" if str(error).strip() else "no sentence"
    return "read"


def test_every_reader_is_here():
    """A module added to parse/ has its outputs damaged here too."""
    found = {"recorded.parse", "recorded.parse_all"}  # of site/: a site's own record of a result
    for module in pkgutil.iter_modules(readers.__path__):
        loaded = importlib.import_module(f"ibaccept.parse.{module.name}")
        own = {
            f"{module.name}.{name}"
            for name, value in vars(loaded).items()
            if (name == "parse" or name.startswith("parse_"))
            and value.__module__.startswith(loaded.__name__)
        }
        assert bool(own) != (module.name in NO_READERS), module.name
        found |= own

    assert found - {"ibroute.parse_sections", "opensm_dump.parse_fdbs_sections"} == set(READERS)


def is_read(name):
    """Whether one of the samples is read whole: else nothing would be damaged here."""
    return any(read_outcome(reader(name), text) == "read" for text in READERS[name])


@pytest.mark.parametrize("name", READERS)
def test_samples_are_read(name):
    assert is_read(name)


@pytest.mark.parametrize("name", READERS)
def test_cut_outputs(name):
    """Cut after every line, and inside the lines around each sixteenth of it."""
    read = reader(name)
    for text in READERS[name]:
        ends = [n + 1 for n, character in enumerate(text) if character == "\n"]
        inside = [min(len(text), len(text) * part // 16 + 1) for part in range(16)]
        for end in {0, *ends[:40], *ends[-40:], *(e - 1 for e in ends[-20:]), *inside}:
            assert read_outcome(read, text[:end]) in {"read", "refused"}


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damaged_outputs(name, data):
    """Parts replaced by junk: huge numbers, no numbers, controls, half a line, lines twice."""
    text = data.draw(st.sampled_from(READERS[name]))
    for _ in range(data.draw(st.integers(1, 3))):
        words = [
            match for match in range(len(text)) if text[match - 1 : match] in {"", " ", ":", "."}
        ]
        start = data.draw(st.sampled_from(words) if words else st.just(0))
        length = data.draw(st.integers(0, 12))
        text = text[:start] + data.draw(JUNK) + text[start + length :]

    assert read_outcome(reader(name), text) in {"read", "refused"}


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_shuffled_lines(name, data):
    """Lines lost, doubled and out of order."""
    lines = data.draw(st.sampled_from(READERS[name])).splitlines(keepends=True)
    chosen = data.draw(st.lists(st.sampled_from(lines), max_size=12)) if lines else []
    kept = data.draw(st.integers(0, len(lines)))

    assert read_outcome(reader(name), "".join(lines[:kept] + chosen)) in {"read", "refused"}


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=30, deadline=None)
@given(binary=st.binary(max_size=64))
def test_binary(name, binary):
    """What a transport hands over where the output was not text."""
    assert read_outcome(reader(name), binary.decode("utf-8", "replace")) in {"read", "refused"}
    assert read_outcome(reader(name), binary.decode("latin-1")) in {"read", "refused"}


AMID = "ERROR: ld.so: object 'x.so' from LD_PRELOAD cannot be preloaded: ignored.\n"
BEFORE = "\ufeff[root@mgmt01 ~]# the command\nAuthorized users only!\n"
AFTER = "[root@mgmt01 ~]# "
OTHERS = {"adaptive.parse", "fio.parse", "ibdiagnet_lst.parse", "ibdiagnet_fdbs.parse",
          "ibqueryerrors.parse_stderr", "opensm_dump.parse_fdbs", "opensm_dump.parse_lfts",
          "perfquery_each.parse", "recorded.parse", "recorded.parse_all"}  # fmt: skip
"""Files, and what is no output of one tool on a terminal."""
PLAIN_STARTS = {"ior.parse", "elbencho.parse", "lspci.parse", "meminfo.parse", "perftest.parse",
                "smpquery.parse_nodedesc", "smpquery.parse_nodeinfo", "smpquery.parse_portinfo",
                "smpquery.parse_switchinfo", "ss.parse"}  # fmt: skip
"""Tools started by the suite alone, over a session without a login's words."""


def said(value):
    """What was read, without the places in the text."""
    places = {"line", "lines", "warnings", "text"}
    if isinstance(value, SwitchTable):
        return (value.guid, value.entries(), value.complete, value.problems, value.notes)
    if dataclasses.is_dataclass(value):
        named = [f.name for f in dataclasses.fields(value) if f.name not in places]
        return {name: said(getattr(value, name)) for name in named}
    if isinstance(value, tuple | list):
        return [said(item) for item in value]
    return value


@pytest.mark.parametrize("name", sorted(set(READERS) - OTHERS))
def test_lines_from_outside_the_tool_change_nothing(name):
    """The loader's between any two lines; prompt, byte order mark and a login's words around."""
    read = reader(name)
    for text in READERS[name]:
        if read_outcome(read, text) != "read":
            continue
        whole = said(read(text))
        before = BEFORE.replace("Authorized users only!\n", "") if name in PLAIN_STARTS else BEFORE
        assert said(read(before + text + AFTER)) == whole
        lines = text.splitlines(keepends=True)
        for at in range(0, len(lines) + 1, 1 + len(lines) // 12):
            assert said(read("".join([*lines[:at], AMID, *lines[at:]]))) == whole


@pytest.mark.parametrize("name", sorted(set(READERS) - OTHERS))
def test_no_line_of_a_tool_is_taken_for_one_from_outside(name):
    found = [line for text in READERS[name] for line in text.split("\n") if is_foreign(line)]

    assert [line for line in found if "sim_connect" not in line] == []


UNSNIFFED = {"fio.parse", "recorded.parse", "recorded.parse_all", "adaptive.parse",
             "ibqueryerrors.parse_stderr", "perfquery_each.parse"}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(READERS) - UNSNIFFED))
@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_named(name, coding):
    module, function = name.split(".")
    raw = READERS[name][0].encode(coding)
    text = raw if HOW.get(name) is in_bytes else raw.decode("utf-8", "surrogateescape")
    read = getattr(importlib.import_module(f"ibaccept.parse.{module}"), function)
    with pytest.raises(ParseError, match="UTF-16"):
        read(text)


FILLS = [" ", "a", "0x", ". ", ": a ", "A    ", '" ', "=", "(", "[1]"]
UNCAPPED = {"adaptive.parse", "fio.parse", "recorded.parse", "recorded.parse_all"}
"""Files with lines of any length; forwarding tables are read as arrays, a line up to 400 bytes."""


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("fill", FILLS)
def test_a_line_of_40000_characters(name, fill):
    """Refused, or read in time by its length: by its square it would take minutes."""
    read = reader(name)
    for text in READERS[name][:2]:
        lines = text.splitlines(keepends=True)
        for at in {0, len(lines) // 2, len(lines) - 1}:
            half = len(lines[at]) // 2
            long = lines[at][:half] + fill * (40_000 // len(fill)) + lines[at][half:]
            damaged = "".join([*lines[:at], long, *lines[at + 1 :]])
            outcome = read_outcome(read, damaged)
            assert outcome in {"read", "refused"}
            if name not in UNCAPPED | {"ibqueryerrors.parse_stderr", "perfquery_each.parse"}:
                assert outcome == "refused" or HOW.get(name) is in_bytes

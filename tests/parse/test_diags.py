"""What the tools of infiniband-diags have in common."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.parse import (
    ParseError,
    diags,
    iblinkinfo,
    ibnetdiscover,
    ibqueryerrors,
    ibstat,
    perfquery,
    saquery,
)
from ibaccept.parse.diags import (
    LONGEST_LINE,
    ErrorLine,
    error_lines,
    foreign_lines,
    is_banner,
    is_foreign,
    refuse_overlong,
)

TIMEOUT = (
    "src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1,13,22 Attr 0x11:0) bad status 110; "
    "Connection timed out"
)


def test_the_directed_route_of_a_failed_query():
    assert error_lines(f"\n{TIMEOUT}\n") == (
        ErrorLine(2, TIMEOUT, TIMEOUT, True, route=(1, 13, 22)),
    )


def test_a_line_without_a_route():
    text = "ibwarn: [4711] get_node: node info failed on Lid 5\nusing port 1\n"

    assert error_lines(text) == (
        ErrorLine(
            1, text.split("\n", maxsplit=1)[0], "ibwarn: get_node: node info failed on Lid 5", True
        ),
        ErrorLine(2, "using port 1", "using port 1", False),
    )


@given(st.text())
def test_any_standard_error_is_read(text):
    lines = text.splitlines()

    assert [(said.line, said.text) for said in error_lines(text)] == [
        (number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()
    ]


# -- numbers that a field cannot hold: what is built from them is bounded -----------------------

BLOCK = (
    'Switch\t{count} "S-0000000000000002"\t\t# "leaf" enhanced port 0 lid {lid} lmc {lmc}\n'
    '[{port}]\t"H-0000000000000001"[{peer}](3) \t\t# "host" lid {far} 4xHDR\n'
)
GOOD = {"count": 40, "lid": 5, "lmc": 0, "port": 1, "peer": 1, "far": 7}
LISTED = (
    "SW {lid} {port} 0x0000000000000002 4x HDR - CA {far} {peer} 0x0000000000000003 ( 'a' - 'b' )\n"
)
LINE = (
    '0x0000000000000002 "leaf" {lid} {port}[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==>  '
    '0x0000000000000003 {far} {peer}[  ] "host" ( )\n'
)
STAT = (
    "CA 'mlx5_0'\n\tNumber of ports: {count}\n\tPort 1:\n\t\tBase lid: {lid}\n\t\tLMC: {lmc}\n"
    "\t\tSM lid: {far}\n\t\tPort GUID: 0x3\n"
)
TEXTS = {
    "ibnetdiscover": (ibnetdiscover.parse, BLOCK),
    "ibnetdiscover -p": (ibnetdiscover.parse_ports, LISTED),
    "iblinkinfo": (iblinkinfo.parse, LINE),
    "ibstat": (ibstat.parse, STAT),
}
SAID = {
    "count": "is not a (?:port number|number of ports) \\(0 to 254\\)",
    "lid": "is not a LID \\(0 to 65535\\)",
    "lmc": "is not an LMC \\(0 to 7\\)",
    "port": "is not a port number \\(0 to 254\\)",
    "peer": "is not a port number \\(0 to 254\\)",
    "far": "is not a LID \\(0 to 65535\\)",
}
BAD = {"count": [255, 2**64], "lid": [65536, 2**64], "lmc": [8, 27], "port": [255, 2**64],
       "peer": [255, 2**64], "far": [65536, 2**64]}  # fmt: skip


@pytest.mark.parametrize("tool", TEXTS)
def test_numbers_that_can_be_are_read(tool):
    read, text = TEXTS[tool]

    assert read(text.format(**GOOD))


@pytest.mark.parametrize(
    ("tool", "field", "number"),
    [
        (tool, field, number)
        for tool, (_, text) in TEXTS.items()
        for field, numbers in BAD.items()
        if f"{{{field}}}" in text
        for number in numbers
    ],
)
def test_numbers_that_cannot_be_are_refused(tool, field, number):
    read, text = TEXTS[tool]
    with pytest.raises(ParseError, match=f"line \\d: {number} {SAID[field]}"):
        read(text.format(**GOOD | {field: number}))


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (
            ibqueryerrors.parse,
            'Errors for "a"\n   GUID 0x1 port 256: [LinkDownedCounter == 1]\n',
            "256 is not a port number (0 to 254)",
        ),
        (
            perfquery.parse,
            "# Port counters: Lid 65536 port 1\nPortSelect:......................1\n",
            "65536 is not a LID (0 to 65535)",
        ),
        (
            perfquery.parse,
            "# Port counters: Lid 5 port 256\nPortSelect:......................1\n",
            "256 is not a port number (0 to 255)",
        ),
        *(
            (
                saquery.parse_sms,
                f"IsSM ports\nPortInfoRecord dump:\n\t\tbase_lid................{lid}\n"
                "\t\tmaster_sm_base_lid......1\n\t\tcapability_mask.........0x0\n\n"
                "IsSMdisabled ports\n",
                f"its base_lid is {lid}, which is not a LID a port can own (1 to 49151)",
            )
            for lid in (0, 49152, 2**64)
        ),
    ],
)
def test_other_numbers_that_cannot_be(read, text, message):
    with pytest.raises(ParseError) as caught:
        read(text)

    assert message in str(caught.value)


def test_a_port_that_was_told_of_no_master():
    (sm,) = saquery.parse_sms(
        "IsSM ports\nPortInfoRecord dump:\n\t\tbase_lid................3\n"
        "\t\tmaster_sm_base_lid......0\n\t\tcapability_mask.........0x0\n\nIsSMdisabled ports\n"
    )

    assert (sm.lid, sm.master_lid) == (3, None)


# -- lines from outside the tool ------------------------------------------

FOREIGN = [
    "ERROR: ld.so: object '/opt/lib/x.so' from LD_PRELOAD cannot be preloaded "
    "(cannot open shared object file): ignored.",
    "ibnetdiscover: /lib64/libibumad.so.3: no version information available (required by x)",
    "libibverbs: Warning: couldn't load driver 'libmlx5-rdmav34.so': cannot open shared object",
    "libibverbs: Warning: no userspace device-specific driver found for uverbs0",
    "-bash: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8)",
    "perl: warning: Setting locale failed.",
    "\tLC_ALL = (unset),",
    "stty: 'standard input': Inappropriate ioctl for device",
    "bash: no job control in this shell",
    "/usr/bin/id: cannot find name for group ID 5000",
    "sudo: unable to resolve host mgmt01: Name or service not known",
    "Warning: Permanently added 'mgmt01' (ED25519) to the list of known hosts.",
    "Last login: Tue Dec  1 03:00:00 2026 from 10.0.0.1",
    "There were 3 failed login attempts since the last successful login.",
    "=~=~=~=~=~= PuTTY log 2026.12.01 10:00:00 =~=~=~=~=~=",
    "[root@mgmt01 ~]# ibnetdiscover",
    "[root@mgmt01 ~]# ",
    "(hpc) [root@mgmt01 /tmp]# dump_fts -n > x",
    "root@mgmt01:~# iblinkinfo --line",
    "admin@mgmt-01:~$ sudo ibnetdiscover",
    "mgmt01:~ # ibnetdiscover",
    "mgmt01:~ # ",
    "switch-1 [standalone: master] > ",
    "\ufeff[root@mgmt01 ~]# ibnetdiscover ",
    'ibwarn: [12] sim_connect: attached as client 3 at node "H-1"',
]
OF_TOOLS = [
    TIMEOUT,
    "ibwarn: [4711] mad_rpc: _do_madrpc failed; dport (Lid 5)",
    "SubnGet(LFT) failed on switch 'x' DR path slid 0; dlid 0; 0,1 Node GUID 0x2c90300000200",
    "ibpanic: [17] main: stat of IB device 'mlx5_1' failed: (No such device)",
    "/usr/sbin/sminfo: iberror: failed: query",
    "libibverbs: error: it is broken",
    "Query SA failed: Connection timed out",
    "discover failed",
    "a line that nobody knows",
]


@pytest.mark.parametrize("line", FOREIGN)
def test_lines_from_outside_the_tool(line):
    assert is_foreign(line)
    assert [said.failed for said in error_lines(line)] == [False]


@pytest.mark.parametrize("line", OF_TOOLS)
def test_lines_of_the_tools_are_theirs(line):
    assert not is_foreign(line)


@pytest.mark.parametrize(
    ("line", "banner"),
    [
        ("Authorized users only!", True),
        ("*" * 40, True),
        ("* All activity may be monitored. *", True),
        ("Welcome to the cluster", True),
        ("CA 'mlx5_0'", False),
        ("Query failed", False),
        ("cannot open the port", False),
        ("0x0001 021", False),
        ("Switch 40 ports", False),
        ("[1](2)", False),
        ("", False),
    ],
)
def test_words_of_a_login(line, banner):
    assert is_banner(line) is banner


def test_foreign_lines_are_counted_at_both_ends():
    text = f"\ufeff{FOREIGN[15]}\n" + "data\n" * 50_000 + f"{FOREIGN[16]}"

    assert foreign_lines(text.encode()) == ("byte order mark", FOREIGN[15], FOREIGN[16].strip())


@given(st.from_regex(diags._FOREIGN, fullmatch=True))
def test_foreign_lines_that_begin_with_a_blank_have_a_pattern_of_their_own(line):
    # else is_foreign, which holds such a line against that pattern alone, would miss it
    assert (line[:1].isspace(), is_foreign(line)) == (False, len(line) <= LONGEST_LINE)


@pytest.mark.parametrize("line", ['\tLC_ALL = "C.UTF-8",', "    LANGUAGE = (unset),"])
def test_indented_lines_of_the_shell_are_foreign(line):
    assert is_foreign(line)


PIECES = st.sampled_from(
    ["7", "12", "x", " ", "\n", "\r\n", "٣", "7" * 31, "7" * 64, "7" * 65, "x" * 4095, "x" * 4097]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_a_line_or_number_longer_than_any_is_refused(text):
    lines = text.split("\n")
    long = [n for n, line in enumerate(lines, 1) if len(line) > LONGEST_LINE]
    runs = [
        n
        for n, line in enumerate(lines, 1)
        for digits, run in itertools.groupby(line, str.isdecimal)
        if digits and len(list(run)) >= 65
    ]
    expected = long[:1] or runs[:1]

    found = []
    try:
        refuse_overlong("tool", text)
    except ParseError as error:
        found.append(error.line)
    assert found == expected

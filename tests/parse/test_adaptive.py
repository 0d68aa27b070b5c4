"""Which files say that switches route adaptively, and the line that says it."""

import pytest

from ibaccept.parse import ParseError
from ibaccept.parse.adaptive import Sign, parse

AR_INFO = """\
START_NODES
NodeDesc,NumPorts
"leaf1",41
END_NODES

START_AR_INFO
NodeGUID,e,is_arn_sup
0xb83fd20300a1b2c0,{first},1
0xb83fd20300a1b2d0,{second},1
END_AR_INFO
"""
FAR = """\
# ibdiagnet
Switch 0xb83fd20300a1b2c0 - "leaf1"
AR Group Table
Groups Definition:
Group  SubGroup  WHBF  Ports
----------------------------
12     0         0     5,6,7

LFT Definition:
LID       Static Port  LID State  Group
---------------------------------------
0x0001    5            Static     0
0x0002    6            {state}     12

Switch 0xb83fd20300a1b2d0 - "leaf2"
"""
LOG = (
    "Nov 30 10:16:03 817351 [E63ED6C0] 0x02 -> osm_ucast_mgr_process: {} tables configured on all "
    "switches\n"
)


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("# x\nrouting_engine ar_updn\n", Sign("on", 2, "routing_engine ar_updn")),
        ("routing_engine = ar_ftree,updn\n", Sign("on", 1, "routing_engine = ar_ftree,updn")),
        ("routing_engine dfp\n", Sign("on", 1, "routing_engine dfp")),
        ("routing_engine ar_dor \n", Sign("on", 1, "routing_engine ar_dor")),
        ("routing_engine updn,minhop\nlmc 0\n", Sign("off", 1, "routing_engine updn,minhop")),
        (
            "routing_engine ar_updn\nrouting_engine ftree\n",
            Sign("off", 2, "routing_engine ftree"),
        ),
        ("routing_engine (null)\n", None),
        ("routing_engine\t(null)\nevent_plugin_name (null)\n", None),
        (
            "routing_engine updn\nevent_plugin_name ccmgr armgr\n",
            Sign("on", 2, "event_plugin_name ccmgr armgr"),
        ),
        (LOG.format("minhop"), Sign("off", 1, LOG.format("minhop").strip())),
        (
            LOG.format("ar_updn") + LOG.format("minhop"),
            Sign("off", 2, LOG.format("minhop").strip()),
        ),
        (
            LOG.format("minhop") + LOG.format("ar_updn"),
            Sign("on", 2, LOG.format("ar_updn").strip()),
        ),
        (
            "AR Manager - Configuration cycle (number 1) completed successfully\n"
            + LOG.format("updn"),
            Sign("on", 1, "AR Manager - Configuration cycle (number 1) completed successfully"),
        ),
        (
            "Adaptive Routing is enabled on 3 switches.\n",
            Sign("on", 1, "Adaptive Routing is enabled on 3 switches."),
        ),
        (
            "x\nAdaptive Routing is enabled on 0 switches.\n"
            "Hashed Based Forwarding is enabled on 0 switches.\n",
            Sign("off", 2, "Adaptive Routing is enabled on 0 switches."),
        ),
        (
            "Adaptive Routing is enabled on 0 switches.\n"
            "Hashed Based Forwarding is enabled on 9 switches.\n",
            Sign("on", 2, "Hashed Based Forwarding is enabled on 9 switches."),
        ),
        ("Hashed Based Forwarding is enabled on 0 switches\n", None),
        (AR_INFO.format(first=0, second=1), Sign("on", 9, "0xb83fd20300a1b2d0,1,1")),
        (AR_INFO.format(first=0, second=0), Sign("off", 8, "0xb83fd20300a1b2c0,0,1")),
        ("START_AR_INFO\nNodeGUID,e\nEND_AR_INFO\n", None),
        ("START_RUN_INFO\nEND_RUN_INFO\n# INDEX_TABLE offset: 1, line: 2\n", None),
        (
            FAR.format(state="Free"),
            Sign("on", 13, "0x0002    6            Free     12"),
        ),
        (
            FAR.format(state="Static"),
            Sign("off", 12, "0x0001    5            Static     0"),
        ),
    ],
)
def test_the_line_that_decides(text, sign):
    assert parse(text) == sign


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nothing in it is about adaptive routing"),
        ("lmc 0\nsm_priority 15\n", "nothing in it is about adaptive routing"),
        ("# routing_engine ar_updn\n", "nothing in it is about adaptive routing"),
        ("START_AR_INFO\nNodeGUID,e\n0x1,1\n", "line 1: the section AR_INFO has no end"),
        ("START_AR_INFO\nNodeGUID,x\nEND_AR_INFO\n", "line 2: AR_INFO has no column 'e'"),
        ("START_AR_INFO\nNodeGUID,e\n0x1,N/A\nEND_AR_INFO\n", "line 3: not a row of AR_INFO"),
        ("START_AR_INFO\nNodeGUID,e\n0x1\nEND_AR_INFO\n", "line 3: not a row of AR_INFO"),
        ("LFT Definition:\n---\n0x0001 5\n", "line 3: not a row of LFT Definition"),
    ],
)
def test_what_is_cut_or_not_known_is_refused(text, message):
    with pytest.raises(ParseError) as caught:
        parse(text)

    assert message in str(caught.value)

"""saquery: records, the subnet managers, and one block of a forwarding table."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibaccept.fabric.model import Guid, Lid
from ibaccept.parse import ParseError
from ibaccept.parse.saquery import LftBlock, SaSm, parse_lftr, parse_sms

READERS = {
    "one-sm": parse_sms,
    "two-sms": parse_sms,
    "lft-block": parse_lftr,
}
BROKEN = {
    "no-sm": (
        parse_sms,
        ", line 1: the query did not reach the SA, or the SA did not answer: "
        "'Query SA failed: Connection timed out'",
    ),
    "cut-no-heading": (
        parse_sms,
        ": expected the headings 'IsSM ports' and 'IsSMdisabled ports', got ('IsSM',): the output "
        "is cut; run it again",
    ),
    "cut-lft": (
        parse_lftr,
        ", line 1: 35 forwarding entries instead of the 64 from LID 0 on: the output is cut; run "
        "it again",
    ),
}


@pytest.mark.parametrize("case", READERS)
def test_golden(case, golden, expected, plain):
    assert plain(READERS[case](golden("saquery", case))) == expected("saquery", case)


@pytest.mark.parametrize("case", BROKEN)
def test_broken_golden(case, golden):
    reader, message = BROKEN[case]

    with pytest.raises(ParseError) as caught:
        reader(golden("saquery", case))

    assert str(caught.value) == f"saquery output{message}"


HEADINGS = "IsSM ports\n{}\nIsSMdisabled ports\n"
SM_RECORD = (
    "SMInfoRecord dump:\n\t\tRID\n\t\tLID...................{lid}\n\t\tSMInfo dump:\n"
    "\t\tGUID..................0x{guid:016x}\n\t\tSM_Key................0x0000000000000000\n"
    "\t\tActCount..............{act}\n\t\tPriority..............{prio}\n"
    "\t\tSMState...............{state}\n"
)
PORT_RECORD = (
    "PortInfoRecord dump:\n\t\tEndPortLid..............{lid}\n\t\tPortNum.................1\n"
    "\t\tbase_lid................{lid}\n\t\tmaster_sm_base_lid......{master}\n"
    "\t\tcapability_mask.........0x{mask:X}\n"
)


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (
            parse_sms,
            "",
            "output: nothing was printed; its stderr and exit code say why, then run it again",
        ),
        (
            parse_sms,
            "ibwarn: [1] x\n",
            "output: neither a record nor 'IsSM ports' was printed; see its stderr",
        ),
        (
            parse_sms,
            "NodeRecord dump:\n",
            "output, line 1: a record without rows: the output is cut",
        ),
        (
            parse_sms,
            "lid.....................134\n",
            "output, line 1: not a row of a record: 'lid.....................134'",
        ),
        (
            parse_sms,
            HEADINGS.format("NodeRecord dump:\n\t\tlid.....................1\n"),
            "output, line 2: neither a PortInfoRecord nor an SMInfoRecord: 'NodeRecord'",
        ),
        (
            parse_sms,
            HEADINGS.format("PortInfoRecord dump:\n\t\tbase_lid................1\n"),
            "output, line 2: the PortInfoRecord lacks its master_sm_base_lid: the output is cut; "
            "run it again",
        ),
        (
            parse_sms,
            HEADINGS.format("PortInfoRecord dump:\n\t\tbase_lid................x\n"),
            "output, line 2: not a number: 'base_lid x'",
        ),
        (
            parse_lftr,
            "LFT Record dump:\n",
            "output: no LFT record was printed, or its head is cut; run it again",
        ),
        (
            parse_lftr,
            "LFT Record dump:\n\t\tLID........................2\nhello\n",
            "output, line 3: not a line of one LFT record: 'hello'",
        ),
    ],
)
def test_what_is_not_understood_is_named(reader, text, message):
    with pytest.raises(ParseError) as caught:
        reader(text)

    assert str(caught.value) == f"saquery {message}"


def test_both_kinds_of_records_are_subnet_managers():
    text = HEADINGS.format(
        PORT_RECORD.format(lid=1, master=5, mask=0x50C04A)
        + SM_RECORD.format(lid=5, guid=0x2C90300001201, act=9, prio=3, state=2)
    )

    assert parse_sms(text) == (
        SaSm(Lid(1), "PortInfoRecord", "IsSM", None, None, None, None, Lid(5), 0x50C04A, 2),
        SaSm(
            Lid(5),
            "SMInfoRecord",
            "IsSM",
            Guid(0x2C90300001201),
            9,
            3,
            2,
            None,
            None,
            8,
        ),
    )


def test_headings_without_records_are_an_empty_list():
    assert parse_sms(HEADINGS.format("")) == ()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 0xBFFF), st.integers(0, 15)), max_size=4), st.data())
def test_a_cut_list_of_subnet_managers_is_an_error(sms, data):
    text = HEADINGS.format(
        "".join(SM_RECORD.format(lid=lid, guid=lid, act=1, prio=p, state=2) for lid, p in sms)
    )

    assert [(sm.lid, sm.priority) for sm in parse_sms(text)] == sms
    with pytest.raises(ParseError):
        parse_sms(text[: data.draw(st.integers(0, len(text) - 1))])


@st.composite
def blocks(draw):
    lid, block = draw(st.integers(1, 0xBFFF)), draw(st.integers(0, 767))
    ports = draw(st.lists(st.integers(0, 255), min_size=64, max_size=64))
    text = (
        f"LFT Record dump:\n\t\tLID........................{lid}\n"
        f"\t\tBlock......................{block}\n\t\tLFT:\n\t\tLID\tPort Number\n"
        + "".join(f"\t\t{block * 64 + i}\t{port}\n" for i, port in enumerate(ports))
        + "\n"
    )
    return text, LftBlock(Lid(lid), block, dict(enumerate(ports, block * 64)), 1)


@settings(max_examples=40, deadline=None)
@given(blocks(), st.data())
def test_a_block_is_read_back_and_a_cut_one_is_an_error(block, data):
    text, value = block

    assert parse_lftr(text) == value
    with pytest.raises(ParseError):
        parse_lftr(text[: data.draw(st.integers(0, len(text) - 2))])


@pytest.mark.parametrize("reader", [parse_sms, parse_lftr])
def test_capture_without_a_subnet_manager(reader, samples):
    with pytest.raises(ParseError) as caught:
        reader(samples("saquery", "error-no-sm.txt"))

    assert str(caught.value) == (
        "saquery output, line 1: no subnet administration answered: start a subnet manager, or "
        "ask from a port that is cabled to it: "
        "'ibwarn: [1685604] sa_get_handle: No SM/SA found on port :1'"
    )

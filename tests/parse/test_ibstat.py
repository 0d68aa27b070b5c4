"""ibstat: a host's own HCAs; what is cut or missing is None and a problem."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibaccept.fabric.model import Guid, Lid
from ibaccept.parse import ParseError, ParseWarning
from ibaccept.parse.ibstat import Ca, CaPort, IbStat, parse


@pytest.mark.parametrize("case", ["active", "down", "cut", "cut-line"])
def test_golden(case, golden, expected, plain):
    assert plain(parse(golden("ibstat", case))) == expected("ibstat", case)


def test_broken_golden(golden):
    with pytest.raises(ParseError) as caught:
        parse(golden("ibstat", "port-list"))

    assert str(caught.value) == (
        "ibstat output, line 1: not an ibstat output: it begins with \"CA 'name'\": "
        "'0x0002c90300001001'"
    )


def test_new_and_unknown_rows_are_kept(golden):
    text = golden("ibstat", "active")
    text = text.replace("\t\tRate: 104\n", "\t\tRate: 40 (FDR10)\n\t\tEffective speed: 40\n")
    text = text.replace("\t\tLMC: 0\n", "\t\tLMC: 2\n\t\tColour: blue: light\n")

    (ca,) = parse(text).cas
    (port,) = ca.ports

    assert (port.rate, port.effective_speed, port.lmc) == ("40 (FDR10)", "40", 2)
    assert port.extra == {"Colour": "blue: light"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "output: not an ibstat output, no HCA is listed; does this host have an HCA?"),
        (
            "ibpanic: [1] main: can't list IB device names: No such file or directory\n",
            "output: not an ibstat output, no HCA is listed: "
            "ibpanic: [1] main: can't list IB device names: No such file or directory",
        ),
        ("CA 'a'\nhello\n", "output, line 2: not a line of ibstat: 'hello'"),
        (
            "CA 'a'\n\tNode GUID: 0xzz\n",
            "output, line 2: '0xzz' is not a GUID (1 to 16 hexadecimal digits): 'Node GUID: 0xzz'",
        ),
        (
            "CA 'a'\n\tPort 1:\n\t\tBase lid: x\n",
            "output, line 3: not a number: 'Base lid: x'",
        ),
        (
            "CA 'a'\n\tPort 1:\n\t\tLMC: 0\n\t\tLMC: 0\n",
            "output, line 4: the row is printed twice: 'LMC: 0'",
        ),
        (
            "CA 'a'\n\tPort 1:\n\tPort 1:\n",
            "output, line 3: a port is printed twice: 'Port 1:'",
        ),
    ],
)
def test_what_is_not_understood_is_named(text, message):
    with pytest.raises(ParseError) as caught:
        parse(text)

    assert str(caught.value) == f"ibstat {message}"


WORDS = st.from_regex(r"[A-Za-z0-9._]{1,12}", fullmatch=True)
STATES = st.sampled_from(["Active", "Down", "Initializing", "Armed", "???"])


@st.composite
def outputs(draw):
    """(text, value) of a random output."""
    text, cas, line = "", [], 1
    for name in draw(st.lists(WORDS, min_size=1, max_size=3)):
        start, ports = line, []
        guid = draw(st.integers(1, (1 << 64) - 1))
        count = draw(st.integers(0, 2))
        text += (
            f"CA '{name}'\n\tCA type: MT4129\n\tNumber of ports: {count}\n"
            f"\tFirmware version: 28.40\n\tHardware version: 0\n\tNode GUID: 0x{guid:016x}\n"
            f"\tSystem image GUID: 0x{guid:016x}\n"
        )
        line += 7
        for number in range(1, count + 1):
            state, lid, sm = draw(STATES), draw(st.integers(0, 65535)), draw(st.integers(0, 9))
            layer = draw(st.sampled_from(["InfiniBand", "Ethernet"]))
            mask = draw(st.integers(0, (1 << 32) - 1))
            text += (
                f"\tPort {number}:\n\t\tState: {state}\n\t\tPhysical state: LinkUp\n"
                f"\t\tRate: 200\n\t\tBase lid: {lid}\n\t\tLMC: 0\n\t\tSM lid: {sm}\n"
                f"\t\tCapability mask: 0x{mask:08x}\n\t\tPort GUID: 0x{guid:016x}\n"
                f"\t\tLink layer: {layer}\n"
            )
            ports.append(
                CaPort(
                    number,
                    state,
                    "LinkUp",
                    "200",
                    None,
                    Lid(lid) if 0 < lid < 0xC000 else None,
                    0,
                    Lid(sm) if sm else None,
                    mask,
                    Guid(guid),
                    layer,
                    line,
                )
            )
            line += 10
        cas.append(
            Ca(name, "MT4129", count, "28.40", "0", Guid(guid), Guid(guid), tuple(ports), start)
        )
    return text, IbStat(tuple(cas), ())


@settings(max_examples=60, deadline=None)
@given(outputs())
def test_what_ibstat_renders_is_read_back(output):
    text, value = output

    assert parse(text) == value


def known(value):
    """Every (place, name, value) that was read, absent ones left out."""
    return {
        (ca.line, port.line, name, str(getattr(port, name)))
        for ca in value.cas
        for port in ca.ports
        for name in ("state", "rate", "lid", "lmc", "sm_lid", "cap_mask", "port_guid", "link_layer")
        if getattr(port, name) is not None
    } | {
        (ca.line, 0, name, str(getattr(ca, name)))
        for ca in value.cas
        for name in ("name", "type", "num_ports", "firmware", "node_guid", "system_guid")
        if getattr(ca, name) is not None
    }


@settings(max_examples=60, deadline=None)
@given(outputs(), st.data())
def test_a_cut_output_invents_nothing(output, data):
    text, value = output
    cut = text[: data.draw(st.integers(0, len(text)))]

    try:
        found = parse(cut)
    except ParseError:
        found = IbStat((), ())

    assert known(found) <= known(value)


def infiniband(value):
    return {
        (ca.name, port.lid, port.sm_lid, port.rate, port.state, port.phys_state)
        for ca in value.cas
        for port in ca.ports
        if port.is_infiniband
    }


def ethernet(value):
    return {
        (ca.name, port.lid, port.sm_lid, port.rate, port.state, port.phys_state)
        for ca in value.cas
        for port in ca.ports
        if port.is_infiniband is False
    }


def up(lids, sm, rate="200"):
    return {(name, lid, sm, rate, "Active", "LinkUp") for name, lid in lids.items()}


def eth(names, rate, state="Active", phys="LinkUp"):
    return {(f"mlx5_{name}", None, None, rate, state, phys) for name in names}


def test_captures_of_the_world(samples):
    """The facts of samples/INDEX.md."""
    read = {
        name: parse(samples("ibstat", f"{name}.txt"))
        for name in (
            "a100-8ib-1eth",
            "a100-vf-ibpanic-exit255",
            "cx7-sm-on-this-host",
            "h100-8ib-up-3eth-down",
            "h100-ethernet-polling-and-disabled",
            "roce-rate40-on-down-port",
        )
    }

    assert {name: infiniband(value) for name, value in read.items()} == {
        "a100-8ib-1eth": up(
            {
                "mlx5_1": 1369,
                "mlx5_2": 1372,
                "mlx5_3": 1374,
                "mlx5_4": 1379,
                "mlx5_5": 1383,
                "mlx5_6": 1387,
                "mlx5_7": 1392,
                "mlx5_8": 1396,
            },
            83,
        ),
        "a100-vf-ibpanic-exit255": up(
            {
                "mlx5_0": 13247,
                "mlx5_1": 13246,
                "mlx5_2": 13259,
                "mlx5_3": 13276,
                "mlx5_4": 13301,
                "mlx5_5": 13300,
                "mlx5_6": 13302,
                "mlx5_7": 13305,
            },
            1,
        ),
        "cx7-sm-on-this-host": up({"mlx5_0": 48}, 48),
        "h100-8ib-up-3eth-down": up(
            {
                "mlx5_0": 75,
                "mlx5_10": 828,
                "mlx5_11": 944,
                "mlx5_3": 143,
                "mlx5_4": 343,
                "mlx5_5": 454,
                "mlx5_6": 597,
                "mlx5_9": 771,
            },
            334,
            "400",
        ),
        "h100-ethernet-polling-and-disabled": set(),
        "roce-rate40-on-down-port": set(),
    }
    assert {name: ethernet(value) for name, value in read.items()} == {
        "a100-8ib-1eth": eth([0], "200"),
        "a100-vf-ibpanic-exit255": set(),
        "cx7-sm-on-this-host": set(),
        "h100-8ib-up-3eth-down": eth([1], "100") | eth([2, 7, 8], "40", "Down", "Disabled"),
        "h100-ethernet-polling-and-disabled": eth([0, 10, 3, 4, 6, 9], "400")
        | eth([1, 2, 7, 8], "100")
        | eth([11], "40", "Down", "Polling")
        | eth([5], "40", "Down", "Disabled"),
        "roce-rate40-on-down-port": {
            ("roceP2p1s0f0", None, None, "200", "Active", "LinkUp"),
            ("roceP2p1s0f1", None, None, "40", "Down", "Disabled"),
        },
    }
    assert {name: value.problems for name, value in read.items() if value.problems} == {
        "a100-vf-ibpanic-exit255": (
            ParseWarning(
                137,
                "ibpanic: [1400444] main: stat of IB device 'mlx5_8' failed: "
                "No such file or directory",
            ),
        ),
    }


def test_capture_with_a_cut_port(samples):
    found = parse(samples("ibstat", "port-block-cut-no-rate.txt"))

    (port,) = found.cas[0].ports
    assert (port.state, port.phys_state) == ("Down", "Disabled")
    assert (port.rate, port.lid, port.link_layer, port.is_infiniband) == (None, None, None, None)
    assert found.problems == (ParseWarning(8, "the block of mlx5_8 port 1 is cut: no Port GUID"),)


def test_capture_that_is_not_an_ibstat_output(samples):
    with pytest.raises(ParseError) as caught:
        parse(samples("ibstat", "already-grepped-guids.txt"))

    assert str(caught.value) == (
        "ibstat output, line 1: not an ibstat output: it begins with \"CA 'name'\": "
        "'VM_hostname vma414bbc00005I'"
    )

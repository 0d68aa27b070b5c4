"""The counter table: widths, classes and capability bits."""

from ibaccept.fabric.counters import (
    DATA_COUNTERS,
    FAULT_COUNTERS,
    HISTORIC_NAMES,
    REPORT_COUNTERS,
    TABLE,
    WIDTH,
    bits,
    unmeasured,
)


def test_widths_of_the_basic_set():
    assert {width: sorted(n for n, w in WIDTH.items() if w == width) for width in (4, 8, 16)} == {
        4: ["ExcessiveBufferOverrunErrors", "LocalLinkIntegrityErrors"],
        8: [
            "LinkDownedCounter",
            "LinkErrorRecoveryCounter",
            "PortRcvConstraintErrors",
            "PortXmitConstraintErrors",
        ],
        16: [
            "PortRcvErrors",
            "PortRcvRemotePhysicalErrors",
            "PortRcvSwitchRelayErrors",
            "PortXmitDiscards",
            "QP1Dropped",
            "SymbolErrorCounter",
            "VL15Dropped",
        ],
    }


def test_classes_cover_the_table_once():
    assert sorted(FAULT_COUNTERS + REPORT_COUNTERS + DATA_COUNTERS) == sorted(WIDTH)
    assert len(WIDTH) == len(TABLE)
    assert REPORT_COUNTERS == (
        "PortRcvRemotePhysicalErrors",
        "PortRcvSwitchRelayErrors",
        "QP1Dropped",
        "VL15Dropped",
        "PortXmitWait",
    )


def test_historic_names_lead_to_names_of_the_table():
    assert set(HISTORIC_NAMES.values()) <= set(WIDTH)


def test_width_depends_on_the_set():
    assert bits("SymbolErrorCounter", extended=False) == 16
    assert bits("SymbolErrorCounter", extended=True) == 64
    assert bits("PortLocalPhysicalErrors", extended=True) is None


def test_nothing_is_said_without_a_capability_mask():
    assert unmeasured(frozenset(WIDTH), None, None, extended=True) == frozenset()


def test_capability_bits_name_what_was_not_measured():
    names = frozenset(WIDTH)

    assert unmeasured(names, 0x9200, None, extended=False) == frozenset()
    assert unmeasured(names, 0x1200, None, extended=False) == {"QP1Dropped"}
    assert unmeasured(names, 0x9200, 0x2, extended=True) == frozenset()
    assert unmeasured(names, 0x9200, 0x0, extended=True) == {*FAULT_COUNTERS, *REPORT_COUNTERS}
    assert unmeasured(names, 0x9000, 0x2, extended=True) == names


def test_the_extended_set_without_its_capability_bits_was_not_measured():
    """Also where the version of perfquery does not print CapMask2."""
    names = frozenset(DATA_COUNTERS)
    ietf = {name for name in names if "cast" in name}

    assert unmeasured(names, 0x1000, None, extended=True) == names
    assert unmeasured(names, 0x1000, 0x0, extended=True) == names
    assert unmeasured(names, 0x1200, None, extended=True) == frozenset()
    assert unmeasured(names, 0x1400, None, extended=True) == ietf
    assert unmeasured(names - ietf, 0x1000, None, extended=False) == frozenset()

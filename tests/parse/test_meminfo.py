"""/proc/meminfo: the memory of a host."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.parse import ParseError, meminfo


@pytest.mark.parametrize("case", ["small-host"])
def test_golden(golden, expected, plain, case):
    assert plain(meminfo.parse(golden("meminfo", case))) == expected("meminfo", case)


MEMINFO = "MemTotal: {} kB\nMemFree: 2 kB\nBuffers: 3 kB\nCached: 4 kB\n"


@given(st.integers(1, 1 << 40))
def test_meminfo(total):
    """kB is 1024 bytes; what an old kernel does not print is not known."""
    assert meminfo.parse(MEMINFO.format(total)) == meminfo.MemInfo(
        total << 10, 2048, 4096, 3072, None, 0
    )


def test_meminfo_huge_pages():
    """Memory that the page cache cannot have."""
    text = MEMINFO.format(1 << 20) + "HugePages_Total:     100\nHugepagesize:       2048 kB\n"

    assert meminfo.parse(text).huge_pages == 100 * (2 << 20)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MemFree: 2 kB\n", "meminfo output: there is no MemTotal; the file is not whole"),
        ("MemTotal: 2\n", "meminfo output: MemTotal has no unit"),
        (
            MEMINFO.format(0),
            "meminfo output: MemTotal is 0, so the size of the page cache is not known",
        ),
        (
            "MemTotal: x kB\n",
            "meminfo output, line 1: not a 'Name: value kB' row: 'MemTotal: x kB'",
        ),
        (
            "MemTotal: 2 kB\nMemTotal: 2 kB\n",
            "meminfo output, line 2: the row comes twice: 'MemTotal: 2 kB'",
        ),
    ],
)
def test_meminfo_not_understood(text, message):
    """An error that says what is missing."""
    with pytest.raises(ParseError) as raised:
        meminfo.parse(text)

    assert str(raised.value) == message

"""Names that would act instead of being read."""

import pytest

from ibaccept.fabric.harmless import acts, cell, clean

ESCAPE = "sw\x1b[2J"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("leaf01 HCA-1", "leaf01 HCA-1"),
        (ESCAPE, "sw\\x1b[2J"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("raw\udcff", "raw\\xff"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("größe 漢字", "größe 漢字"),
    ],
)
def test_clean(text, cleaned):
    assert clean(text) == cleaned


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1", "-1", "@x", " =1", '"=1', "|x", "%x"])
def test_a_formula_is_shown_as_text(name):
    assert (cell(name), acts(name)) == (f"'{name}", True)


@pytest.mark.parametrize(("name", "does"), [("leaf01", False), (ESCAPE, True), ("a-b", False)])
def test_acts(name, does):
    assert acts(name) is does

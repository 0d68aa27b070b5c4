"""Lists in a sentence."""

import pytest

from ibaccept.fabric.wording import and_more, listed, reasons


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [(0, "", ""), (-3, "rows", ""), (1, "", "and 1 more"), (1234, "rows", "and 1,234 more rows")],
)
def test_and_more(number, noun, text):
    assert and_more(number, noun) == text


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ("", ""),
        ("a", "a"),
        ("abcdef", "a, b, c, d, e, f"),
        ("abcdefg", "a, b, c, d, e, f and 1 more cables"),
    ],
)
def test_listed(items, text):
    assert listed(items, noun="cables") == text


@pytest.mark.parametrize(
    ("items", "text"),
    [("", ""), ("abc", "a; b; c"), ("aabbca", "a; b; c"), ("abcde", "a; b; c; and 2 more")],
)
def test_reasons(items, text):
    assert reasons(items) == text

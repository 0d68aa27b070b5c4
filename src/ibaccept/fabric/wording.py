"""Lists in a sentence: the first few by name, and how many more there are."""

from __future__ import annotations

from collections.abc import Iterable

FEW = 6
"""Names in a sentence."""

REASONS = 3
"""Reasons in a sentence; each is one of its own."""


def and_more(left_out: int, noun: str = "") -> str:
    """``and 1,234 more rows``; empty where nothing is left out."""
    if left_out <= 0:
        return ""
    return f"and {left_out:,} more {noun}".rstrip()


def listed(items: Iterable[str], most: int = FEW, *, noun: str = "") -> str:
    """``a, b and 5 more``: the first ``most`` items, and the number of the others.

    Args:
        items: texts.
        most: items written out.
        noun: what the others are, in the plural: ``and 5 more cables``.
    """
    texts = list(items)
    return " ".join(filter(None, (", ".join(texts[:most]), and_more(len(texts) - most, noun))))


def reasons(items: Iterable[str], most: int = REASONS) -> str:
    """``a; b; and 5 more``: the first few of several sentences, each only once."""
    texts = list(dict.fromkeys(items))
    return "; ".join(filter(None, (*texts[:most], and_more(len(texts) - most))))

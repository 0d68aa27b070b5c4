"""``did you mean``: the closest known name, as the end of a sentence. Standard library only."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LISTED = 12
"""So many known names are printed when none is close; beyond, only their number."""


def closest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known name nearest to ``word``, upper and lower case not told apart; None when far."""
    by_folded = {name.casefold(): name for name in sorted(known, reverse=True)}
    near = difflib.get_close_matches(word.casefold(), sorted(by_folded), n=1, cutoff=cutoff)
    return by_folded[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean 'width'?``, else ``; known are a, b``, else nothing.

    Args:
        word: what was written.
        known: what could have been written.
    """
    names = sorted(set(known))
    near = closest(word, names)
    if near is not None:
        return f"; did you mean {near!r}?"
    if not names:
        return ""
    if len(names) > LISTED:
        return f"; none of the {len(names):,} known names is close"
    return f"; known are {', '.join(names)}"

"""``did you mean``: the closest known name, as the end of a sentence. Standard library only."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

SIMILAR = 0.8
"""difflib ratio from which a name counts as misspelt rather than absent."""

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


class Names:
    """Known names, indexed to find those that another may be a misspelling or the host part of.

    ``node012`` is not a misspelling of ``node013``, nor ``SwitchA`` of ``SwitchB``: names that
    number things must agree in their numbers.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._certain: dict[str, set[str]] = {}
        self._by_index: dict[tuple[str, ...], set[str]] = {}
        for name in names:
            for key in (_host(name), _letters(name)):
                self._certain.setdefault(key, set()).add(name)
            self._by_index.setdefault(_index(name), set()).add(name)

    def near(self, name: str) -> list[str]:
        """Names that may be meant, best first, at most three."""
        found = {
            other: 1 + _ratio(name, other)
            for key in (_host(name), _letters(name))
            for other in self._certain.get(key, ())
        }
        for other in self._by_index.get(_index(name), ()):
            if other not in found:
                ratio = _ratio(name, other)
                if ratio >= SIMILAR:
                    found[other] = ratio
        return sorted(found, key=lambda other: (-found[other], other))[:3]


def _ratio(name: str, other: str) -> float:
    return difflib.SequenceMatcher(None, name.casefold(), other.casefold()).ratio()


def _host(name: str) -> str:
    """First word without domain, as a key that no ``_letters`` equals."""
    return "/" + re.split(r"[\s.]", name.casefold())[0]


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold())


def _index(name: str) -> tuple[str, ...]:
    """What numbers a name: digits, and single letters as in ``client-a`` and ``SwitchB``."""
    pattern = r"\d+|(?<=[-_ .])[A-Za-z](?![A-Za-z])|(?<=[a-z])[A-Z](?![A-Za-z])"
    return tuple(re.findall(pattern, name))

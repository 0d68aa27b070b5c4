"""``did you mean``: the closest known name, as the end of a sentence."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

SIMILAR = 0.8
"""difflib ratio from which a name counts as misspelt rather than absent."""

LISTED = 12
"""Known names that are printed when none is close; beyond, only their number."""

MANY = 200
"""Names that are compared one by one; of more, those that share most characters."""

COMPARED = 40
"""Of many names, those that are compared."""


def closest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known name nearest to ``word``, in upper or lower case; None when all are far.

    Of many names only those that share the most characters with ``word`` are compared, so that
    hundreds of misspelt names among thousands take seconds and not minutes.
    """
    by_folded = {name.casefold(): name for name in sorted(known, reverse=True)}
    folded = word.casefold()
    near = difflib.get_close_matches(folded, _alike(folded, sorted(by_folded)), n=1, cutoff=cutoff)
    return by_folded[near[0]] if near else None


def _alike(word: str, names: Sequence[str]) -> Sequence[str]:
    """The names that can be most alike: all of a few, of many those with the same characters."""
    if len(names) <= MANY:
        return names
    counts, lengths = _characters(tuple(names))
    shared = np.minimum(counts, _counted(word)).sum(axis=1)
    # twice the shared characters over both lengths: what difflib's ratio cannot exceed
    bound = 2.0 * shared / (lengths + len(word))
    best = np.argsort(-bound, kind="stable")[:COMPARED]
    return [names[n] for n in sorted(best)]


@lru_cache(maxsize=4)
def _characters(names: tuple[str, ...]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """How often each character is in each name, and the lengths of the names."""
    return np.stack([_counted(name) for name in names]), np.array([len(name) for name in names])


def _counted(text: str) -> NDArray[np.int32]:
    """How often each of 64 classes of characters is in a text; ASCII letters share none."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32) % 64
    return np.bincount(codes, minlength=64).astype(np.int32)


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
        for other in _alike(name, sorted(self._by_index.get(_index(name), ()))):
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

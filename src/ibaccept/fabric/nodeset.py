"""Node sets: ClusterShell's ``node[001-012]``, Ansible's ``node[001:012]``, letters, exclusions.

ClusterShell expands the numeric sets (and its ``!``, ``&``, ``^`` between sets). Added here:
letters ``client-[a-l]``, Ansible's colon, and exclusion of single names as job schedulers'
users write it: ``node[001-012,^node007]``, ``node[001-012],!node007``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetParseError

MAX_NAMES = 200_000
"""A set larger than any fabric is a typing error; refused before it fills the memory."""

SHOWN = 80
"""Characters of a set that a message repeats."""

_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_LETTERS = re.compile(r"([A-Za-z])[-:]([A-Za-z])\Z")
_COLON = re.compile(r"(\d+):(\d+)(?::(\d+))?\Z")


def expand(text: str) -> tuple[str, ...]:
    """Names of a set, in the order written, each once.

    Raises:
        ValueError: the set is malformed, empty, or far too large.
    """
    keep: dict[str, None] = {}
    drop: set[str] = set()
    for part in _top_level(text):
        for item in _pull_exclusions(part):
            if item[0] in "!^":
                drop.update(_plain(item[1:], text))
            else:
                keep.update(dict.fromkeys(_plain(item, text)))
                _bounded(len(keep), text)
    unknown = sorted(drop - set(keep))
    if unknown:
        raise ValueError(f"{text!r} excludes {fold(unknown)}, which the set does not contain")
    names = tuple(name for name in keep if name not in drop)
    if not names:
        raise ValueError(f"{text!r} names no node")
    return names


def fold(names: Iterable[str]) -> str:
    """``node[001-012]``, ``leaf1/[2-4]``. Letters fold too: ``client-[a,c,e]``.

    The set is for a reader; a name with white space or brackets in it stands in it as it is.
    """
    given = sorted(set(names))
    numeric = [n for n in given if re.search(r"\d", n)]
    letters = [n for n in given if not re.search(r"\d", n)]
    by_stem: dict[str, list[str]] = {}
    for name in letters:
        by_stem.setdefault(name[:-1], []).append(name[-1])
    folded = [
        f"{stem}[{','.join(last)}]" if len(last) > 1 and stem else ",".join(stem + c for c in last)
        for stem, last in by_stem.items()
    ]
    if numeric:
        safe = [n for n in numeric if re.fullmatch(r"[A-Za-z0-9._/-]+", n)]
        if safe:
            folded.append(str(NodeSet.fromlist(safe, resolver=RESOLVER_NOGROUP)))
        folded += [n for n in numeric if n not in safe]
    return ",".join(folded)


def _top_level(text: str) -> Iterator[str]:
    """Parts of a set between commas or white space outside brackets."""
    depth = 0
    part = ""
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth < 0:
            raise ValueError(f"{text!r} is not a node set: ']' without '['")
        if depth == 0 and (character == "," or character.isspace()):
            if part:
                yield part
            part = ""
        else:
            part += character
    if depth:
        raise ValueError(f"{text!r} is not a node set: '[' without ']'")
    if part:
        yield part


def _pull_exclusions(part: str) -> Iterator[str]:
    """``node[001-012,^node007]`` -> ``node[001-012]``, ``^node007`` (also ``^007``)."""
    outside: list[str] = []

    def without(match: re.Match[str]) -> str:
        inside = []
        for element in match.group(1).split(","):
            if element[:1] in {"!", "^"} and len(element) > 1:
                name = element[1:]
                bare = name[0].isdigit() or len(name) == 1
                prefix, suffix = part[: match.start()], part[match.end() :]
                outside.append(f"^{prefix}[{name}]{suffix}" if bare else f"^{name}")
            else:
                inside.append(element)
        return f"[{','.join(inside)}]"

    yield _BRACKET.sub(without, part)
    yield from outside


def _bounded(size: int, whole: str) -> None:
    if size > MAX_NAMES:
        raise ValueError(f"{_short(whole)} names {size:,} nodes; no fabric has that many")


def _short(text: str) -> str:
    return repr(text if len(text) <= SHOWN else f"{text[: SHOWN - 4]} ...")


def _plain(item: str, whole: str) -> Iterator[str]:
    """Names of one part without exclusions. Counted before they are made."""
    try:
        _bounded(math.prod(_count(match.group(1)) for match in _BRACKET.finditer(item)), whole)
    except _NumberError as error:
        raise ValueError(f"{_short(whole)} is not a node set: {error}") from None
    yield from _lettered(item, whole)


def _lettered(item: str, whole: str) -> Iterator[str]:
    """Names of one part, its brackets of letters spelt out first."""
    letters = _BRACKET.search(item)
    while letters is not None:
        elements = letters.group(1).split(",")
        if all(_LETTERS.match(e) or re.fullmatch(r"[A-Za-z]", e) for e in elements):
            for letter in _letters(elements, whole):
                rest = item[: letters.start()] + letter + item[letters.end() :]
                yield from _lettered(rest, whole)
            return
        letters = _BRACKET.search(item, letters.end())
    item = _BRACKET.sub(_colons, item)
    try:
        nodes = NodeSet(item, resolver=RESOLVER_NOGROUP)
    except NodeSetParseError as error:
        raise ValueError(f"{whole!r} is not a node set: {error}") from None
    if any(name.startswith("@") for name in nodes):
        raise ValueError(f"{whole!r}: write the group's name without '@'")
    yield from nodes


class _NumberError(ValueError):
    """A number of a set that no node has."""


def _count(inside: str) -> int:
    """Names a bracket stands for, at most."""
    if re.search(r"[0-9]{19}", inside):
        raise _NumberError("a number is too long")
    return sum(map(_span, inside.split(",")))


def _span(element: str) -> int:
    """Names of one element: of ``001-012``, Ansible's ``001:012``, ``a-l``, or of a single name."""
    numbers = re.fullmatch(r"([0-9]{1,18})[-:]([0-9]{1,18})(?:[/:][0-9]+)?", element)
    if numbers:
        return max(int(numbers[2]) - int(numbers[1]) + 1, 1)
    letters = _LETTERS.match(element)
    return max(ord(letters[2]) - ord(letters[1]) + 1, 1) if letters else 1


def _letters(elements: list[str], whole: str) -> Iterator[str]:
    for element in elements:
        span = _LETTERS.match(element)
        first, last = span.groups() if span else (element, element)
        if ord(first) > ord(last) or first.islower() != last.islower():
            raise ValueError(f"{whole!r} is not a node set: {element!r} runs backwards")
        yield from map(chr, range(ord(first), ord(last) + 1))


def _colons(match: re.Match[str]) -> str:
    """Ansible's ``[001:012:2]`` as ClusterShell's ``[001-012/2]``."""
    elements = []
    for element in match.group(1).split(","):
        span = _COLON.match(element)
        if span is None:
            elements.append(element)
        else:
            first, last, step = span.groups()
            elements.append(f"{first}-{last}" + (f"/{step}" if step else ""))
    return f"[{','.join(elements)}]"

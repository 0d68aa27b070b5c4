"""YAML as YAML 1.2 means it, with a line number for every key. Errors are ``file:line: sentence``.

PyYAML follows YAML 1.1, where a key ``on`` loads as True, ``NO`` as False, ``010`` as 8, ``1:30``
as 90, ``2027-01-31`` as a date, and a repeated key silently wins. Here only ``true``/``false``
are booleans, only decimal numbers without leading zeros are numbers (``0x10``, ``010``, ``1:30``,
``1_000`` stay text), keys are always text, and a repeated key is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ibaccept.errors import InputError, InputProblemsError

Where = tuple[str | int, ...]
"""Path of a value: keys and 0-based list positions from the top."""

MAX_VALUES = 1_000_000
"""Aliases of aliases multiply; a file that unfolds to more values than this is refused."""

LONGEST_NUMBER = 40
"""More digits than any number here has; beyond, it stays text."""

_TAG = "tag:yaml.org,2002:"
_NULL = re.compile(r"~|null|Null|NULL|\Z")
_INT = re.compile(r"[-+]?(?:0|[1-9]\d*)")
_FLOAT = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+)")


@dataclass(frozen=True, slots=True)
class Document:
    """A loaded file.

    Attributes:
        file: how messages call the file.
        value: mappings, lists, text, int, float, bool, None.
        lines: line (1-based) of each key and list item by its path.
    """

    file: str
    value: Any
    lines: Mapping[Where, int]

    def line(self, where: Sequence[str | int]) -> int:
        """Line of a path; where the path itself is not in the file, of what encloses it."""
        path = tuple(where)
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]

    def problem(self, where: Sequence[str | int], sentence: str) -> str:
        """``expectations.yaml:9: sentence``."""
        return f"{self.file}:{self.line(where)}: {sentence}"


class _Loader(yaml.SafeLoader):
    """Composes nodes; which text is a number or a boolean is decided by ``_Builder``."""


# Without implicit resolvers every plain scalar is text at first.
_Loader.yaml_implicit_resolvers = {}


def load(path: Path, *, name: str | None = None, foreign_tags: bool = False) -> Document:
    """Read a file.

    Args:
        path: the file.
        name: how messages call it, default the path as given.
        foreign_tags: take values with tags of other programs (Ansible's ``!vault``) as text.

    Raises:
        InputError: not readable, not UTF-8, not YAML, empty, or a key repeated.
    """
    file = name if name is not None else str(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file}: is not UTF-8 text (byte {error.start + 1}); save it as UTF-8"
        ) from None
    return loads(text, name=file, foreign_tags=foreign_tags)


def loads(text: str, *, name: str, foreign_tags: bool = False) -> Document:
    """As ``load``, for text.

    Raises:
        InputError: not YAML, empty, several documents, or a key repeated.
    """
    try:
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        stated = " ".join(part for part in (error.context, error.problem) if part)
        raise InputError(f"{name}:{line}: is not YAML: {stated}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InputError(
            f"{name}:{line}: is not YAML: a control character (code {error.character:#04x})"
        ) from None
    except RecursionError:
        raise InputError(f"{name}:1: is nested too deeply") from None
    if root is None:
        raise InputError(f"{name}:1: the file is empty")
    builder = _Builder(name, foreign_tags)
    value = builder.build(root, ())
    if builder.problems:
        raise InputProblemsError(builder.problems)
    return Document(name, value, builder.lines)


@dataclass
class _Builder:
    """Turns nodes into values and keeps the lines."""

    file: str
    foreign_tags: bool
    lines: dict[Where, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    count: int = 0
    open_nodes: list[int] = field(default_factory=list)

    def build(self, node: yaml.Node, path: Where) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self.count += 1
        if self.count > MAX_VALUES:
            raise InputError(f"{self.file}:{line}: unfolds to more than {MAX_VALUES:,} values")
        if id(node) in self.open_nodes:
            raise InputError(f"{self.file}:{line}: an alias contains itself")
        known = {_TAG + "str", _TAG + "map", _TAG + "seq"}
        if node.tag not in known and node.tag != "!":
            if not self.foreign_tags:
                shown = node.tag.replace(_TAG, "!!")
                self.problems.append(f"{self.file}:{line}: the tag {shown} is not understood")
            elif isinstance(node, yaml.ScalarNode):
                return node.value
        self.open_nodes.append(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self.mapping(node, path)
            if isinstance(node, yaml.SequenceNode):
                return [self.build(item, (*path, n)) for n, item in enumerate(node.value)]
            return _scalar(node)
        finally:
            self.open_nodes.pop()

    def mapping(self, node: yaml.MappingNode, path: Where) -> dict[str, Any]:
        values: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self.problems.append(f"{self.file}:{line}: a key must be text")
                continue
            name = key.value
            if name == "<<" and key.style is None:
                for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    if not isinstance(source, yaml.MappingNode):
                        self.problems.append(f"{self.file}:{line}: '<<' merges mappings only")
                    else:
                        merged = {**self.build(source, path), **merged}
                continue
            where = (*path, name)
            if name in values:
                first = self.lines[where]
                self.problems.append(
                    f"{self.file}:{line}: the key {name!r} is already set in line {first}"
                )
                continue
            self.lines[where] = line
            values[name] = self.build(value, where)
        return {**merged, **values}


def _scalar(node: yaml.Node) -> Any:
    text = str(node.value)
    if getattr(node, "style", None) is not None or node.tag == "!":  # quoted: text
        return text
    if text in {"true", "false"}:
        return text == "true"
    if _NULL.fullmatch(text):
        return None
    return _number(text) if len(text) <= LONGEST_NUMBER else text


def _number(text: str) -> int | float | str:
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text

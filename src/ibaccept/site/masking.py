"""Copies of a site's files without its secrets, for the folder of a run; line numbers stay."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from ibaccept.site.inventory import READ_VARS

MASKED = "not copied"

_SETTING = re.compile(
    r"^([ \t]*[a-z0-9_]*(?:key|passw|secret)[a-z0-9_]*)(?:[ \t]*=[ \t]*|[ \t]+)\S.*$",
    re.MULTILINE,
)
"""An option of a configuration file that holds a secret: ``m_key 0x12``."""

_COMMENT = re.compile(r"#[^\n]*")
_ANCHOR = re.compile(r"&[^\s,\[\]{}]+(?=\s)")


def masked_settings(text: str) -> str:
    """A configuration file (opensm.conf) without its keys and passwords."""
    return _SETTING.sub(rf"\1 ({MASKED})", text)


def masked_inventory(text: str) -> str:
    """An inventory with the variables that the suite reads, and no other value or comment.

    Which of Ansible's and a site's own variables is a secret cannot be known by its name
    (``ansible_become_pass``, ``bmc_login``, a proxy command with a password in it), so only those
    of ``READ_VARS`` are copied. The copy reads as the same inventory.

    Args:
        text: an inventory that ``load_inventory`` accepts.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    edits = [*_values(root, text), *_comments(text)]
    pieces, at = [], 0
    for start, end, new in sorted(edits):
        if start >= at:  # a comment inside a masked value went with it
            pieces += [text[at:start], new]
            at = end
    return "".join((*pieces, text[at:]))


_Edit = tuple[int, int, str]


def _values(root: yaml.Node | None, text: str) -> Iterator[_Edit]:
    """Replaces the values of all variables that are not read."""
    rows = [row for variables in _variables(root) for row in variables.value]
    kept = {id(value) for key, value in rows if key.value in READ_VARS}
    done: set[int] = set()
    for key, value in rows:
        if key.value in READ_VARS or id(value) in kept | done:
            continue
        is_alias = value.start_mark.index < key.end_mark.index
        if is_alias and not isinstance(value, yaml.ScalarNode):
            continue  # what it stands for is masked, or kept, where it is written
        done.add(id(value))
        start, end = value.start_mark.index, value.end_mark.index
        written = text[start:end].rstrip()
        if written:
            anchor = _ANCHOR.match(written)
            # The items of a list may stand below their key; a text must stand to the right of it.
            indent = "  " if value.start_mark.column <= key.start_mark.column else ""
            lines = "\n" * written.count("\n")
            new = f"{indent}{f'{anchor.group()} ' if anchor else ''}{MASKED}{lines}"
            yield start, start + len(written), new


def _variables(node: yaml.Node | None) -> Iterator[yaml.MappingNode]:
    """The mappings of variables below a mapping of groups: of groups, and of hosts."""
    groups = [node]
    seen: set[int] = set()
    while groups:
        for _, group in _rows(groups.pop()):
            if id(group) in seen:
                continue
            seen.add(id(group))
            for key, part in _rows(group):
                if key == "vars" and isinstance(part, yaml.MappingNode):
                    yield part
                elif key == "children":
                    groups.append(part)
                elif key == "hosts":
                    yield from (v for _, v in _rows(part) if isinstance(v, yaml.MappingNode))


def _rows(node: yaml.Node | None) -> Iterator[tuple[str, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield str(key.value), value


def _comments(text: str) -> Iterator[_Edit]:
    """Empties comments: whatever lies between two tokens and begins with ``#``."""
    at = 0
    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        start, end = token.start_mark.index, token.end_mark.index
        yield from _between(text, at, start)
        at = max(at, end)
    yield from _between(text, at, len(text))


def _between(text: str, start: int, end: int) -> Iterator[_Edit]:
    for comment in _COMMENT.finditer(text, start, end):
        yield comment.start(), comment.end(), "#"

r"""Untrusted text made harmless: names from the fabric, and whatever a site or a tool wrote.

Node names come from the fabric: anybody with a host on it may set one. ``clean`` is applied to
every text before it reaches a terminal, XML, HTML or a spreadsheet; ``verdicts.json`` keeps the
text exactly, written in ASCII escapes.
"""

from __future__ import annotations

import re

# Control characters (terminal escapes), separators that break a line, marks that reorder or hide
# what is read, surrogates (bytes that were not UTF-8), and code points XML 1.0 forbids.
_HARMFUL = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufffe\uffff"
    + "".join(
        f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(1 << 16, 17 << 16, 1 << 16)
    )
    + "\U000e0000-\U000e0fff]"
)

_BYTE_ESCAPES = range(0xDC80, 0xDD00)
"""How Python keeps the bytes 0x80 to 0xff of undecodable text (PEP 383)."""

_LATIN1 = 0x100
_BMP = 0x10000

# What makes a spreadsheet calculate instead of show; the wide forms are read alike in some locales.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "|", "%")


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code in _BYTE_ESCAPES:
        return f"\\x{code - 0xDC00:02x}"
    if code < _LATIN1:
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(match.group(), f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < _BMP else f"\\U{code:08x}"


def clean(text: str) -> str:
    r"""One line of printable text: everything that could act instead of being read is spelt out.

    ``"sw\x1b[2J"`` becomes ``sw\x1b[2J`` in plain letters. The result is valid UTF-8 and, once
    escaped, valid in XML 1.0 and HTML.
    """
    return _HARMFUL.sub(_escape, text)


def cell(text: str) -> str:
    """Text that no spreadsheet takes for a formula: a leading ``'`` where it would."""
    text = clean(text)
    return f"'{text}" if text.lstrip(" \u00a0\u3000\"'").startswith(_FORMULA) else text


def acts(text: str) -> bool:
    """True where a terminal or a spreadsheet would not show the text as it is."""
    return cell(text) != text

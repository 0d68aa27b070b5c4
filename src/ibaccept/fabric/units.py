"""Quantities with their units: ``22.6 GiB/s``, ``194 Gb/s``, ``5%``, ``60s``, ``64GiB``.

GiB is 2^30 bytes, Gb is 10^9 bits. A number without a unit is never read as a quantity. Decimal
bytes (``GB``) are refused: in this field they are written for both meanings. Standard library only.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Self

_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-zµ%/]*)\s*")

_KIB = 1 << 10
_MIB = 1 << 20
_GIB = 1 << 30
_TIB = 1 << 40

_BANDWIDTH = {
    "B/s": 1.0,
    "KiB/s": float(_KIB),
    "MiB/s": float(_MIB),
    "GiB/s": float(_GIB),
    "TiB/s": float(_TIB),
    "b/s": 1 / 8,
    "kb/s": 1e3 / 8,
    "Mb/s": 1e6 / 8,
    "Gb/s": 1e9 / 8,
    "Tb/s": 1e12 / 8,
}
_SIZE = {"TiB": _TIB, "GiB": _GIB, "MiB": _MIB, "KiB": _KIB, "B": 1}
_DURATION = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}

_INTENDED = {
    "gbps": "Gb/s",
    "gbit/s": "Gb/s",
    "gbits/s": "Gb/s",
    "mbps": "Mb/s",
    "mbit/s": "Mb/s",
    "gib": "GiB/s",
    "gibps": "GiB/s",
    "mib": "MiB/s",
    "mibps": "MiB/s",
    "gb": "GiB",
    "mb": "MiB",
    "kb": "KiB",
    "tb": "TiB",
    "g": "GiB",
    "m": "MiB",
    "k": "KiB",
    "t": "TiB",
    "b": "B",
    "sec": "s",
    "secs": "s",
    "second": "s",
    "seconds": "s",
    "min": "m",
    "mins": "m",
    "minute": "m",
    "minutes": "m",
    "hour": "h",
    "hours": "h",
    "percent": "%",
    "pct": "%",
}
"""Lower-case spellings people use, and the unit meant (tried only where a unit did not match)."""


def plain(number: float) -> str:
    """The shortest text that reads back as the same number, without ``.0``."""
    text = repr(float(number))
    return text.removesuffix(".0")


def _split(text: str, noun: str, units: tuple[str, ...], example: str) -> tuple[float, str]:
    """Amount and unit of a quantity.

    Raises:
        ValueError: no number, a wrong unit or none; the sentence suggests what to write.
    """
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not {noun}; write it as {example}")
    number, unit = match.groups()
    if unit in units:
        return float(number), unit
    if unit == "":
        raise ValueError(f"{text!r} has no unit; did you mean '{_join(number, units, example)}'?")
    folded = {name.casefold(): name for name in units}
    meant = _INTENDED.get(unit.casefold())
    if meant not in units:
        meant = folded.get(unit.casefold()) if not _is_ambiguous(unit) else None
    if meant is None or _is_ambiguous(unit):
        hint = f"units are {', '.join(units)}"
        if _is_ambiguous(unit):
            hint = f"write {number} GiB/s (2^30 bytes) or {number} Gb/s (10^9 bits)"
        raise ValueError(f"{text!r}: {unit!r} is no unit of {noun}; {hint}")
    space = " " if "/" in meant else ""
    raise ValueError(
        f"{text!r}: {unit!r} is no unit of {noun}; did you mean '{number}{space}{meant}'?"
    )


def _is_ambiguous(unit: str) -> bool:
    """``GB/s``, ``MB/s``: written for 10^9 bytes, 2^30 bytes and by mistake for bits."""
    return re.fullmatch(r"[kKMGT]?B(?:/s|ps)", unit) is not None and unit != "B/s"


def _join(number: str, units: tuple[str, ...], example: str) -> str:
    unit = next(u for u in sorted(units, key=len, reverse=True) if example.endswith(u))
    return f"{number}{' ' if '/' in unit else ''}{unit}"


@dataclass(frozen=True, slots=True, order=True)
class Bandwidth:
    """Bytes per second. Prints as GiB/s (2^30); ``gbps`` gives Gb/s (10^9 bits)."""

    bytes_per_second: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.bytes_per_second) and self.bytes_per_second >= 0):
            raise ValueError(f"{self.bytes_per_second} is not a bandwidth")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``22.6 GiB/s`` or ``194 Gb/s``.

        Raises:
            ValueError: not a number with one of the units B/s ... TiB/s, b/s ... Tb/s.
        """
        amount, unit = _split(text, "a bandwidth", tuple(_BANDWIDTH), "22.6 GiB/s")
        return cls(amount * _BANDWIDTH[unit])

    @classmethod
    def from_gib(cls, gib_per_second: float) -> Self:
        """A bandwidth given in GiB/s, 2^30 byte/s."""
        return cls(gib_per_second * _GIB)

    @classmethod
    def from_gbps(cls, gbps: float) -> Self:
        """A bandwidth given in Gb/s, 10^9 bit/s."""
        return cls(gbps * 1e9 / 8)

    @property
    def gib(self) -> float:
        """GiB/s, 2^30 bytes."""
        return self.bytes_per_second / _GIB

    @property
    def gbps(self) -> float:
        """Gb/s, 10^9 bits."""
        return self.bytes_per_second * 8 / 1e9

    def __str__(self) -> str:
        return f"{plain(self.gib)} GiB/s"

    def __format__(self, spec: str) -> str:
        """``f"{rate:.1f}"`` is ``22.6 GiB/s``; an empty spec prints all digits."""
        return f"{self.gib:{spec}} GiB/s" if spec else str(self)


@dataclass(frozen=True, slots=True, order=True)
class Percent:
    """A share in percent; ``fraction`` is 0.05 for 5%."""

    percent: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.percent) and self.percent >= 0):
            raise ValueError(f"{self.percent} is not a percentage")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``5%``.

        Raises:
            ValueError: not a number with a percent sign.
        """
        amount, _ = _split(text, "a percentage", ("%",), "5%")
        return cls(amount)

    @property
    def fraction(self) -> float:
        """0.05 for 5%."""
        return self.percent / 100

    def __str__(self) -> str:
        return f"{plain(self.percent)}%"


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time in seconds."""

    seconds: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.seconds) and self.seconds >= 0):
            raise ValueError(f"{self.seconds} is not a duration")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``60s``, ``2m``, ``500ms``, ``1h``.

        Raises:
            ValueError: not a number with one of those units.
        """
        amount, unit = _split(text, "a duration", tuple(_DURATION), "60s")
        return cls(amount * _DURATION[unit])

    def __str__(self) -> str:
        return f"{plain(self.seconds)}s"


@dataclass(frozen=True, slots=True, order=True)
class Size:
    """An amount of data in whole bytes."""

    bytes: int

    def __post_init__(self) -> None:
        if self.bytes < 0:
            raise ValueError(f"{self.bytes} is not a size")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``1MiB``, ``64GiB``, ``4096B``.

        Raises:
            ValueError: not a number with one of B, KiB, MiB, GiB, TiB, or not whole bytes.
        """
        amount, unit = _split(text, "a size", tuple(_SIZE), "64GiB")
        whole = amount * _SIZE[unit]
        if not math.isfinite(whole) or whole != int(whole):
            raise ValueError(f"{text!r} is not a whole number of bytes")
        return cls(int(whole))

    def __str__(self) -> str:
        unit = next(u for u, size in _SIZE.items() if self.bytes % size == 0 or size == 1)
        if self.bytes == 0:
            unit = "B"
        return f"{self.bytes // _SIZE[unit]}{unit}"

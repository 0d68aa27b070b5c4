"""Types of the fields of expectations.yaml, each with its JSON schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    StringConstraints,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, core_schema

from ibaccept.errors import InputError
from ibaccept.fabric import units
from ibaccept.fabric.counters import DATA_COUNTERS, FAULT_COUNTERS, REPORT_COUNTERS
from ibaccept.fabric.model import Guid, Speed, Width
from ibaccept.fabric.nodeset import expand
from ibaccept.fabric.suggest import did_you_mean
from ibaccept.site.inventory import Inventory

T = TypeVar("T")

GUID_DIGITS = 16


class KeyedError(ValueError):
    """A wrong value inside a field; ``path`` leads from the field to it."""

    def __init__(self, message: str, *path: str | int) -> None:
        self.path = path
        super().__init__(message)


class Strict(BaseModel):
    """A mapping of the file: unknown keys are refused, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


def _text(parse: Callable[[str], T], kind: type[T]) -> PlainValidator:
    def validate(value: object) -> T:
        if isinstance(value, kind) and not isinstance(value, str):
            return value
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"must be text, not {value!r}")  # noqa: TRY004 - pydantic reports ValueErrors
        return parse(str(value))

    return PlainValidator(validate)


def _schema(pattern: str, *examples: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": pattern, "examples": list(examples)})


_WHOLE = 100
_NUMBER = r"^\d+(\.\d+)?\s*"
_PRINT = PlainSerializer(str, return_type=str)

Bandwidth = Annotated[
    units.Bandwidth,
    _text(units.Bandwidth.parse, units.Bandwidth),
    _PRINT,
    _schema(_NUMBER + "([KMGT]iB|B|[kMGT]?b)/s$", "22.6 GiB/s", "194 Gb/s"),
]
Percent = Annotated[
    units.Percent,
    _text(units.Percent.parse, units.Percent),
    _PRINT,
    _schema(_NUMBER + "%$", "5%"),
]


def _tolerance(value: units.Percent) -> units.Percent:
    if value.percent >= _WHOLE:
        raise ValueError(f"must be below 100%, not {value}: it could never fail; write such as 5%")
    return value


def _share(value: units.Percent) -> units.Percent:
    if not 0 < value.percent <= _WHOLE:
        raise ValueError(
            f"must be above 0% and at most 100%, not {value}: it could never fail; "
            "write such as 90%"
        )
    return value


def _floor(value: units.Bandwidth) -> units.Bandwidth:
    if value.bytes_per_second <= 0:
        raise ValueError(
            f"must be above 0, not {value}: it could never fail; write such as 90 GiB/s"
        )
    return value


Tolerance = Annotated[Percent, AfterValidator(_tolerance), _schema(r"^\d{1,2}(\.\d+)?\s*%$", "5%")]
"""Allowed shortfall of a value against another; below 100%, or no value could fall short."""
Share = Annotated[
    Percent, AfterValidator(_share), _schema(r"^(100(\.0+)?|\d{1,2}(\.\d+)?)\s*%$", "90%")
]
"""A share of a ceiling: above 0%, at most 100%."""
Floor = Annotated[Bandwidth, AfterValidator(_floor)]
"""A rate that must be reached: above 0."""
Duration = Annotated[
    units.Duration,
    _text(units.Duration.parse, units.Duration),
    _PRINT,
    _schema(_NUMBER + "(ms|s|m|h)$", "60s"),
]
Size = Annotated[
    units.Size,
    _text(units.Size.parse, units.Size),
    _PRINT,
    _schema(_NUMBER + "([KMGT]i)?B$", "64GiB"),
]

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Count = Annotated[int, Field(strict=True, ge=0)]
AtLeastOne = Annotated[int, Field(strict=True, ge=1)]

WidthField = Annotated[
    Width, _text(Width.parse, Width), _PRINT, WithJsonSchema({"enum": [str(w) for w in Width]})
]
SpeedField = Annotated[
    Speed, _text(Speed.parse, Speed), _PRINT, WithJsonSchema({"enum": [str(s) for s in Speed]})
]


def parse_guid(value: object) -> Guid:
    """A GUID in hex (``0x...``, or all 16 digits) or decimal.

    Raises:
        ValueError: no GUID, or digits that could be either.
    """
    if isinstance(value, Guid):
        return value
    text = str(value).strip()
    if isinstance(value, bool) or not re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}|[0-9a-fA-F]+", text):
        raise ValueError(f"{value!r} is not a GUID; write it as 0x0002c90300000001")
    if text[:2].lower() == "0x":
        return Guid.parse(text.lower())
    if not text.isdigit():
        if len(text) == GUID_DIGITS:
            return Guid.parse(text)
        raise ValueError(f"{text!r} has {len(text)} hexadecimal digits; did you mean '0x{text}'?")
    if len(text) == GUID_DIGITS:
        if text.startswith("0"):
            return Guid.parse(text)
        raise ValueError(
            f"{text} could be hexadecimal or decimal; write 0x{text} or {hex(int(text))}"
        )
    if text.startswith("0") or int(text) >= 1 << 64:
        raise ValueError(f"{text} is not a GUID; write it as 0x0002c90300000001")
    return Guid(int(text))


GuidField = Annotated[
    Guid,
    PlainValidator(parse_guid),
    _PRINT,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": "^(0[xX])?[0-9a-fA-F]{1,16}$"},
                {"type": "integer"},
            ]
        }
    ),
]


def _counter(name: object) -> str:
    known = FAULT_COUNTERS + REPORT_COUNTERS
    if name in known:
        return str(name)
    if name in DATA_COUNTERS:
        raise ValueError(f"{name} counts traffic, not errors")
    raise ValueError(f"unknown counter {name!r}{did_you_mean(str(name), known)}")


CounterName = Annotated[
    str,
    PlainValidator(_counter),
    WithJsonSchema({"type": "string", "enum": list(FAULT_COUNTERS + REPORT_COUNTERS)}),
]


class Nodes(str):
    """An inventory group, a node name pattern (``spine*``) or a node set (``node[001-012]``).

    A field of this type may name switches, which stand in no inventory: a name that is no group
    and no host is looked up in the fabric. Where only hosts can be meant, use `HostNames`.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, value: object) -> Self:
        """The text of the file.

        Raises:
            ValueError: no text, or neither a name, a pattern nor a well-formed node set.
        """
        if not isinstance(value, str):
            raise ValueError(f"must be a group, a name pattern or a node set, not {value!r}")  # noqa: TRY004 - as above
        if not re.search(r"[*?]", value):
            expand(value)
        elif "[" in value:
            raise ValueError(f"{value!r} mixes a pattern (* ?) with a node set ([...]); use one")
        return cls(value)

    def problems(self, inventory: Inventory) -> tuple[str, ...]:
        """What is wrong with the names by the inventory alone, a sentence each."""
        if self in inventory.groups and not inventory.groups[self]:
            return (f"the group {str(self)!r} is empty in {inventory.file}",)
        return ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        """Validated by ``parse``; the JSON schema is that of a text."""
        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        """A string, with the words it may hold."""
        return {"type": "string", "description": cls.means()}

    @classmethod
    def means(cls) -> str:
        """What the text may hold, for the JSON schema."""
        return "inventory group, node name pattern (* ?) or node set (node[001-012])"


class HostNames(Nodes):
    """An inventory group or a node set of hosts, all of them in the inventory."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: object) -> Self:
        """The text of the file.

        Raises:
            ValueError: no text, a pattern, or no well-formed node set.
        """
        if isinstance(value, str) and re.search(r"[*?]", value):
            raise ValueError(f"{value!r} is a pattern (* ?); write a group or a node set")
        return super().parse(value)

    def problems(self, inventory: Inventory) -> tuple[str, ...]:
        """An empty group, or names that the inventory does not hold."""
        if empty := super().problems(inventory):
            return empty
        try:
            inventory.node_set(self)
        except InputError as error:
            return (str(error),)
        return ()

    @classmethod
    def means(cls) -> str:
        """What the text may hold, for the JSON schema."""
        return "inventory group or node set (node[001-012])"


class JobNames(HostNames):
    """``clients`` or ``storage`` of the job, or hosts of the inventory."""

    __slots__ = ()

    def problems(self, inventory: Inventory) -> tuple[str, ...]:
        """As of hosts; the two words stand for the job, whatever groups there are."""
        return () if self in JOB_SIDES else super().problems(inventory)

    @classmethod
    def means(cls) -> str:
        """What the text may hold, for the JSON schema."""
        return "clients or storage of the job, inventory group or node set (node[001-012])"


JOB_SIDES = ("clients", "storage")


def node_names(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Nodes]]:
    """Every `Nodes` in a value of the file, with the keys that lead to it."""
    if isinstance(value, Nodes):
        yield path, value
    elif isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            yield from node_names(getattr(value, name), (*path, field.alias or name))
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from node_names(part, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from node_names(part, path)

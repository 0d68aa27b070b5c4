"""Which kinds there are: every subclass of Expectation below checks/. Schema and page of them."""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import operator
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticUndefined

import ibaccept.checks
from ibaccept.checks.base import Expectation
from ibaccept.checks.selector import LinkSelector
from ibaccept.site import recorded
from ibaccept.site.settings import (
    FilesystemWorkload,
    JobSetting,
    RdmaWorkload,
    Settings,
    Waiver,
    Workloads,
)


@cache
def kinds() -> Mapping[str, type[Expectation]]:
    """Every kind by its name, in alphabetical order. A new class in a module here is enough.

    Raises:
        TypeError: two classes with one kind.
    """
    found: dict[str, type[Expectation]] = {}
    for module in pkgutil.walk_packages(ibaccept.checks.__path__, "ibaccept.checks."):
        importlib.import_module(module.name)
    for cls in _subclasses(Expectation):
        name = cls.kind_name()
        if name is None or not cls.__module__.startswith("ibaccept.checks."):
            continue
        if name in found:
            raise TypeError(f"{cls.__name__} and {found[name].__name__} both are kind {name!r}")
        found[name] = cls
    return MappingProxyType(dict(sorted(found.items())))


def _subclasses(cls: type[Expectation]) -> Iterator[type[Expectation]]:
    for sub in cls.__subclasses__():
        yield sub
        yield from _subclasses(sub)


def example(cls: type[Expectation]) -> str:
    """The YAML example of a kind's docstring.

    Raises:
        TypeError: the docstring has none.
    """
    _, fence, rest = (inspect.getdoc(cls) or "").partition("```yaml\n")
    text, end, _ = rest.partition("```")
    if not fence or not end:
        raise TypeError(f"the docstring of {cls.__name__} has no ```yaml example")
    return text


SCHEMA_FILE = Path("docs/expectations.schema.json")


KINDS_FILE = Path("docs/expectations.md")


COMMAND = "ibaccept schema"
"""What writes the files again, for messages."""


_BY_KIND = Field(discriminator="kind")


class _Schema(GenerateJsonSchema):
    """Writes defaults as the file spells them."""

    def encode_default(self, dft: Any) -> Any:
        if isinstance(dft, LinkSelector):
            return dft.type
        if isinstance(dft, Workloads):
            return {}
        spelled = dft if isinstance(dft, str | int | tuple | dict) else str(dft)
        return super().encode_default(spelled)


def _drop_nulls(part: Any) -> None:
    """A key without a value is refused, so the schema does not offer it."""
    if isinstance(part, list):
        for each in part:
            _drop_nulls(each)
    elif isinstance(part, dict):
        choices = [choice for choice in part.get("anyOf", ()) if choice != {"type": "null"}]
        if len(choices) < len(part.get("anyOf", ())):
            part.pop("default", None)
            part.pop("anyOf")
            part.update(choices[0] if len(choices) == 1 else {"anyOf": choices})
        for each in part.values():
            _drop_nulls(each)


def json_schema() -> dict[str, Any]:
    """The JSON schema of expectations.yaml."""
    entry: Any = Annotated[functools.reduce(operator.or_, kinds().values()), _BY_KIND]
    whole = create_model("Expectations", __base__=Settings, expect=(list[entry], ...))
    schema = whole.model_json_schema(by_alias=True, schema_generator=_Schema)
    _drop_nulls(schema)
    schema["title"] = "expectations.yaml of ibaccept"
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return schema


def schema_text() -> str:
    """``docs/expectations.schema.json``."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def kinds_markdown() -> str:
    """``docs/expectations.md``: a section for each kind, from its docstring and fields."""
    parts = [
        "# Kinds of expectations",
        "<!-- Made from the docstrings by `" + COMMAND + "`. Do not edit. -->",
        "Every entry has `id` and `kind`, and may have `because`, `severity` "
        "(blocker, critical, normal, minor, trivial) and `marks`.",
    ]
    for name, cls in kinds().items():
        load = " Judged only with `--load`." if cls.needs_load else ""
        parts += [f"## {name}", f"Area: {cls.area}.{load}", inspect.getdoc(cls) or "", _table(cls)]
    parts.append("# The rest of the file")
    for heading, part in _REST.items():
        parts += [f"## {heading}", inspect.getdoc(part) or "", _table(part)]
    parts += ["## a recorded result", inspect.getdoc(recorded) or ""]
    return "\n\n".join(parts) + "\n"


_REST: dict[str, type[BaseModel]] = {
    "the file": Settings,
    "job": JobSetting,
    "workloads: filesystem": FilesystemWorkload,
    "workloads: rdma": RdmaWorkload,
    "waivers": Waiver,
}


def _table(cls: type[BaseModel]) -> str:
    rows = ["| key | default | meaning |", "|---|---|---|"]
    for name, field in cls.model_fields.items():
        if issubclass(cls, Expectation) and name in Expectation.model_fields:
            continue
        default = "required"
        if field.default is not PydanticUndefined:
            default = "" if field.default is None else f"`{_plain(field.default)}`"
        rows.append(f"| `{field.alias or name}` | {default} | {field.description or ''} |")
    return "\n".join(rows)


def _plain(value: Any) -> str:
    if value == () or value == Workloads():
        return "none"
    return str(getattr(value, "type", value))


def generated() -> dict[Path, str]:
    """Every generated file and what it must hold."""
    return {SCHEMA_FILE: schema_text(), KINDS_FILE: kinds_markdown()}


def write_generated(root: Path) -> tuple[Path, ...]:
    """Write the files below the project's root; gives their paths."""
    for name, text in generated().items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return tuple(root / name for name in generated())


def check_generated(root: Path) -> tuple[str, ...]:
    """A sentence for each file that is missing or stale; empty when all are up to date."""
    problems = []
    for name, text in generated().items():
        path = root / name
        if not path.is_file():
            problems.append(f"{name} is missing; run '{COMMAND}'")
        elif path.read_text("utf-8") != text:
            problems.append(f"{name} is stale; run '{COMMAND}'")
    return tuple(problems)

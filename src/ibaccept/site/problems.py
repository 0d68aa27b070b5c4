"""What pydantic found wrong, as sentences with ``file:line``; all of them, not the first only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ibaccept.fabric.suggest import closest, did_you_mean
from ibaccept.site.fields import KeyedError
from ibaccept.site.yamlfile import Document, Where

_ADVICE = {
    "string_type": "must be text, not {input} (put it in quotes)",
    "string_too_short": "must not be empty",
    "int_type": "must be a whole number, not {input}",
    "bool_type": "must be true or false, not {input}",
    "bool_parsing": "must be true or false, not {input}",
    "tuple_type": "must be a list, not {input}",
    "list_type": "must be a list, not {input}",
    "mapping_type": "must be a mapping, not {input}",
    "dict_type": "must be a mapping, not {input}",
    "model_type": "must be a mapping, not {input}",
    "greater_than_equal": "must be at least {ge}, not {input}",
    "less_than_equal": "must be at most {le}, not {input}",
    "too_long": "must be two names, not {actual_length}",
    "date_from_datetime_parsing": "must be a date such as 2027-01-31, not {input}",
}
"""Sentences by pydantic's error type, where its own speaks of Python."""

_PATTERNS = {
    "id": "must be letters, digits, '.', '_' and '-', at most 64, not {input}",
    "marks": "a mark is lower-case letters, digits and '_', not {input}",
}


def sentences(
    error: ValidationError,
    document: Document,
    base: Where,
    model: type[BaseModel],
    subject: str = "",
) -> list[str]:
    """One sentence for each thing wrong, with the line it is in.

    Args:
        error: what pydantic raised.
        document: the file, for the lines.
        base: path of the validated value in the file.
        model: the class that was validated, for "did you mean".
        subject: starts every sentence, ``isl-4x-hdr: ``.
    """
    found = []
    for detail in error.errors(include_url=False):
        if detail["input"] is None:  # reported for the whole file at once
            continue
        where, sentence = _sentence(detail, model)
        path = (*base, *where)
        found.append((document.line(path), document.problem(path, subject + sentence)))
    return [text for _, text in sorted(found, key=lambda pair: pair[0])]


def _sentence(detail: ErrorDetails, model: type[BaseModel]) -> tuple[Where, str]:
    where = tuple(part for part in detail["loc"] if part != "[key]")
    kind, value = detail["type"], detail["input"]
    context: dict[str, Any] = detail.get("ctx", {})
    if kind == "extra_forbidden":
        known = field_names(model_at(model, where[:-1]) or model)
        return where, f"unknown key {where[-1]!r}{did_you_mean(str(where[-1]), known)}"
    if kind == "missing" and isinstance(where[-1], int):
        return where[:-1], f"{_name(where)}: must be two names"
    if kind == "missing":
        return where[:-1], f"the key {where[-1]!r} is missing"
    if kind == "value_error":
        cause = context["error"]
        where = (*where, *cause.path) if isinstance(cause, KeyedError) else where
        problem = str(cause)
    elif _is_quoted(detail):
        problem = f"must not be text; write {value} without quotes"
    elif kind == "literal_error":
        problem = f"{shown(value)} is not known here; {_known(str(value), context['expected'])}"
    else:
        advice = _PATTERNS.get(str(where[0])) if kind.endswith("mismatch") else _ADVICE.get(kind)
        if advice is None:
            text = detail["msg"].replace("Input should", "must", 1)
            problem = f"{text}, not {shown(value)}"
        else:
            problem = advice.format(input=shown(value), **context)
    name = _name(where)
    return where, f"{name}: {problem}" if name else problem


_UNQUOTED = {"int_type": r"-?[0-9]+", "bool_type": "true|false"}
"""What a text would be without its quotes, by the error that text makes of it."""


def _is_quoted(detail: ErrorDetails) -> bool:
    """True for a number, or true and false, that the quotes make a text: ``version: '1'``."""
    value = detail["input"]
    if not isinstance(value, str):
        return False
    if detail["type"] == "literal_error":
        return value in re.split(r", | or ", detail["ctx"]["expected"])
    pattern = _UNQUOTED.get(detail["type"])
    return pattern is not None and re.fullmatch(pattern, value) is not None


def _known(word: str, expected: str) -> str:
    """The end of a sentence, from pydantic's ``'a', 'b' or 'c'``."""
    allowed = re.findall(r"'([^']*)'", expected) or [expected]
    near = closest(word, allowed)
    return f"did you mean {near!r}?" if near else f"known are {', '.join(allowed)}"


def shown(value: Any) -> str:
    """A value as the file spells it: ``true``, ``null``, ``'text'``."""
    if value is None:
        return "null"
    return repr(value).lower() if isinstance(value, bool) else repr(value)


def _name(where: Where) -> str:
    """``between[1]`` -> ``between``; ``links.nodes``."""
    return ".".join(str(part) for part in where if not isinstance(part, int))


def field_names(model: type[BaseModel]) -> list[str]:
    """Keys of a mapping as the file spells them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def model_at(model: type[BaseModel], where: Sequence[str | int]) -> type[BaseModel] | None:
    """The class of a nested mapping, None where it has none."""
    at: type[BaseModel] | None = model
    for part in where:
        if isinstance(part, int) or at is None:
            continue
        field = next(
            (f for name, f in at.model_fields.items() if part in {name, f.alias}),
            None,
        )
        at = next(_models(field.annotation), None) if field is not None else None
    return at


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)

r"""verdicts.json, schema 1: the data every other report is made from.

The layout is section 6 of the design. The file is ASCII: whatever a node calls itself is kept
exactly, as JSON escapes (a byte that is not UTF-8 as ``\udc80`` to ``\udcff``, PEP 383), and acts
on no terminal. A finding is one line, so that ``grep`` gives it whole and two runs compare line
by line. What differs between two runs of the same verdicts (times, folder) is in top-level keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from ibaccept.errors import IbacceptError
from ibaccept.report.meta import RunMeta
from ibaccept.report.text import ordered
from ibaccept.verdict import VERDICT, Verdict
from ibaccept.verdict.answer import Answer, Counts, NotRun, Result

VERDICTS = "verdicts.json"
"""The file, in the folder of a run."""

SCHEMA: Literal[1] = 1


@dataclass(frozen=True, slots=True)
class VerdictsDocument:
    """The whole file. See ``RunMeta`` for the fields that tell of the run.

    Attributes:
        schema: version of this layout; a reader refuses one it does not know.
        run: name of the run's folder.
        verdicts: in the order of the expectations file.
    """

    schema: Literal[1]
    result: Answer
    exit_code: int
    counts: Counts
    fabric: str
    started: str
    ended: str
    verdicts: tuple[Verdict, ...]
    observer: str = ""
    run: str = ""
    expectations: str = ""
    replayed: str = ""
    ibaccept: str = ""
    job: str = ""
    tools: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    not_run: Mapping[str, NotRun] = field(default_factory=dict)


_DOCUMENT = TypeAdapter(VerdictsDocument)


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def dump_verdict(verdict: Verdict) -> dict[str, Any]:
    """The verdict as plain JSON data."""
    return dict(VERDICT.dump_python(verdict, mode="json"))


def verdict_text(verdict: Verdict) -> str:
    """One verdict as it stands in the file: a key a line and a finding a line."""
    lines = []
    for key, value in dump_verdict(verdict).items():
        if key == "findings" and value:
            rows = ",\n".join("    " + _dump(finding) for finding in value)
            lines.append(f'   "findings": [\n{rows}\n   ]')
        else:
            lines.append(f"   {_dump(key)}: {_dump(value)}")
    return "  {\n" + ",\n".join(lines) + "\n  }"


def render(verdicts: Iterable[Verdict], meta: RunMeta, result: Result) -> str:
    """The text of verdicts.json.

    Raises:
        ValueError: a number is NaN or infinite, which JSON cannot say (absent is None).
    """
    document = VerdictsDocument(
        schema=SCHEMA,
        result=result.answer,
        exit_code=result.exit_code,
        counts=result.counts,
        fabric=meta.fabric,
        started=meta.started,
        ended=meta.ended,
        verdicts=(),
        observer=meta.observer,
        run=meta.run_dir.name,
        expectations=meta.expectations,
        replayed=meta.replayed,
        ibaccept=meta.ibaccept,
        job=meta.job,
        tools=dict(sorted(meta.tools.items())),
        warnings=meta.warnings,
        not_run=result.not_run,
    )
    top = _DOCUMENT.dump_python(document, mode="json")
    del top["verdicts"]
    head = "".join(f" {_dump(key)}: {_dump(value)},\n" for key, value in top.items())
    body = ",\n".join(map(verdict_text, ordered(verdicts)))
    return (
        f'{{\n{head} "verdicts": [\n{body}\n ]\n}}\n'
        if body
        else f'{{\n{head} "verdicts": []\n}}\n'
    )


def load_document(path: Path) -> VerdictsDocument:
    """Read a verdicts.json back, whole.

    Raises:
        IbacceptError: the file cannot be read, is not JSON, is of another schema, or a field is
            missing or of the wrong type.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise IbacceptError(
            f"{path} could not be read ({error.strerror}); name the folder of a finished run"
        ) from error
    except ValueError as error:
        raise IbacceptError(
            f"{path} is not JSON ({error}); it is cut or was edited: "
            "judge the bundle again with --replay"
        ) from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise IbacceptError(
            f"{path} has schema {schema!r}, this ibaccept reads schema {SCHEMA}; "
            "use the version that wrote it, or judge the bundle again with --replay"
        )
    try:
        return _DOCUMENT.validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise IbacceptError(
            f"{path}: {where}: {first['msg']} ({error.error_count()} such); it was edited or "
            "written by another version: judge the bundle again with --replay"
        ) from error


def load(path: Path) -> tuple[Verdict, ...]:
    """The verdicts of a verdicts.json, equal to those that were written.

    Raises:
        IbacceptError: as ``load_document``.
    """
    return load_document(path).verdicts


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of verdicts.json."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_DOCUMENT.json_schema(mode="serialization"),
        "title": "ibaccept verdicts.json, schema 1",
    }


def write_schema(path: Path) -> None:
    """Write ``schema()``, as it stands in docs/verdicts.schema.json."""
    path.write_text(json.dumps(schema(), indent=2) + "\n", encoding="utf-8")

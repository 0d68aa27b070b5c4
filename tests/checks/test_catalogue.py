"""Kinds document themselves: a sentence, an example that loads, and generated files in step."""

import inspect
import re
from pathlib import Path

import pytest

from ibaccept.checks import read_expectations
from ibaccept.checks.base import Expectation
from ibaccept.checks.catalogue import (
    KINDS_FILE,
    SCHEMA_FILE,
    check_generated,
    example,
    json_schema,
    kinds,
    kinds_markdown,
    write_generated,
)
from ibaccept.site.files import SiteFiles
from ibaccept.site.yamlfile import loads

ROOT = Path(__file__).resolve().parents[2]


def test_every_kind_is_found():
    assert {name: (cls.area, cls.needs_load) for name, cls in kinds().items()} == {
        "balance": ("routes", False),
        "cable-load": ("throughput", True),
        "cabling": ("cabling", False),
        "error-counters": ("counters", False),
        "filesystem": ("throughput", True),
        "forecast": ("throughput", True),
        "lid-spread": ("routes", False),
        "link-count": ("cabling", False),
        "link-rate": ("links", False),
        "rdma-ceiling": ("throughput", True),
        "routes": ("routes", False),
        "subnet-manager": ("subnet", False),
    }


@pytest.mark.parametrize("name", sorted(kinds()))
def test_the_example_loads_and_the_first_line_is_a_sentence(name, tmp_path: Path):
    cls = kinds()[name]
    text = example(cls)
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory/cables.csv").write_text("a_name,a_port,b_name,b_port\nA,1,B,1\n")
    whole = (
        "version: 1\nfabric: f\njob: {}\nworkloads:\n"
        "  filesystem: {tool: fio, path: /x, size_per_client: 1GiB}\n  rdma: {}\nexpect:\n"
    )

    loaded = read_expectations(loads(whole + text, name="e"), SiteFiles(tmp_path))

    assert {type(entry) for entry in loaded.entries} == {cls}
    assert cls.sentence() == inspect.getdoc(cls).splitlines()[0]
    assert re.fullmatch(r"[A-Z].*\.", cls.sentence())


def test_two_classes_of_one_kind_are_refused(monkeypatch):
    class Twin(kinds()["balance"]):
        """Twin."""

    monkeypatch.setattr(Twin, "__module__", "ibaccept.checks.twin")
    kinds.cache_clear()
    with pytest.raises(TypeError) as caught:
        kinds()
    monkeypatch.undo()
    kinds.cache_clear()

    assert str(caught.value) == "Twin and Balance both are kind 'balance'"


def test_a_kind_without_an_example_is_refused():
    class Bare(Expectation):
        """Bare."""

    with pytest.raises(TypeError) as caught:
        example(Bare)

    assert str(caught.value) == "the docstring of Bare has no ```yaml example"


def test_the_schema_speaks_of_every_kind_and_refuses_unknown_keys():
    schema = json_schema()
    entries = schema["properties"]["expect"]["items"]
    closed = {name: part.get("additionalProperties") for name, part in schema["$defs"].items()}

    assert set(entries["discriminator"]["mapping"]) == set(kinds())
    assert schema["required"] == ["version", "fabric", "expect"]
    assert schema["additionalProperties"] is False
    assert {name for name, extra in closed.items() if extra is not False} == {"LinkSelector"}
    assert schema["$defs"]["LinkSelector"]["anyOf"][0] == {
        "enum": ["isl", "host", "internal", "all"]
    }
    assert schema["$defs"]["LinkSelector"]["anyOf"][1]["additionalProperties"] is False


def test_the_page_has_a_section_for_every_kind():
    headings = re.findall(r"^##? (.*)$", kinds_markdown(), re.MULTILINE)

    rest = headings.index("The rest of the file")
    assert headings[:rest] == ["Kinds of expectations", *sorted(kinds())]
    assert headings[rest + 1 :] == [
        "the file", "job", "workloads: filesystem", "workloads: rdma", "waivers",
        "a recorded result",
    ]  # fmt: skip


def test_stale_and_missing_files_are_told(tmp_path: Path):
    missing = check_generated(tmp_path)
    written = write_generated(tmp_path)
    fresh = check_generated(tmp_path)
    (tmp_path / KINDS_FILE).write_text("old")

    assert (missing, written, fresh, check_generated(tmp_path)) == (
        (
            "docs/expectations.schema.json is missing; run 'ibaccept schema'",
            "docs/expectations.md is missing; run 'ibaccept schema'",
        ),
        (tmp_path / SCHEMA_FILE, tmp_path / KINDS_FILE),
        (),
        ("docs/expectations.md is stale; run 'ibaccept schema'",),
    )


def test_the_files_of_this_project_are_in_step():
    assert check_generated(ROOT) == ()

"""Golden samples: what a real tool printed, beside the whole value that it means."""

import dataclasses
import enum
from pathlib import Path

import pytest
import yaml

from ibaccept.fabric.model import Guid, Rate

GOLDEN = Path(__file__).parent / "golden"
SAMPLES = Path(__file__).resolve().parents[2] / "../shared/samples"


def _plain(value):
    """Dataclasses, enums and GUIDs as YAML can hold them."""
    match value:
        case Guid() | Rate():
            plain = str(value)
        case _ if dataclasses.is_dataclass(value):
            named = [f.name for f in dataclasses.fields(value) if f.compare]
            plain = {name: _plain(getattr(value, name)) for name in named}
        case enum.Enum():
            plain = value.value
        case dict():
            plain = {key: _plain(item) for key, item in value.items()}
        case tuple() | list():
            plain = [_plain(item) for item in value]
        case set() | frozenset():
            plain = sorted(_plain(item) for item in value)
        case int() if not isinstance(value, bool):
            plain = int(value)
        case _:
            plain = value
    return plain


@pytest.fixture(name="plain", scope="session")
def plain_fixture():
    """Turn a parsed value into what the golden's YAML holds."""
    return _plain


@pytest.fixture(scope="session")
def golden():
    """``golden(tool, case)``: the text of a golden sample."""
    return lambda tool, case: (GOLDEN / tool / f"{case}.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def expected():
    """``expected(tool, case)``: the value beside it."""
    return lambda tool, case: yaml.safe_load(
        (GOLDEN / tool / f"{case}.yaml").read_text(encoding="utf-8")
    )


@pytest.fixture(scope="session")
def samples():
    """``samples(tool, file)``: the text of a capture of the world's, kept beside the project."""
    if not SAMPLES.is_dir():
        pytest.skip("shared/ is not beside the project")
    return lambda tool, file: (SAMPLES / tool / file).read_text(encoding="utf-8")

"""Every kind has its table of outcomes: pass, fail, error, and nothing seen."""

import importlib.util
from pathlib import Path

from ibaccept.checks.catalogue import kinds
from ibaccept.site.yamlfile import loads

HERE = Path(__file__).parent


def tables():
    """Rows of every ``TABLE`` of the tests beside this one."""
    for path in sorted(HERE.rglob("test_*.py")):
        if "\nTABLE" not in path.read_text():
            continue
        spec = importlib.util.spec_from_file_location(f"table_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield from module.TABLE.values()


def case(outcome, coverage):
    """An error is of something that was selected, or there was nothing at all."""
    return "nothing seen" if outcome == "error" and coverage.endswith("of 0") else outcome


def test_every_kind_has_a_pass_a_fail_an_error_and_nothing_seen():
    found = {kind: set() for kind in kinds()}
    for _build, entry, (outcome, _sentence, coverage, _findings) in tables():
        found[loads(entry, name="entry").value["kind"]].add(case(outcome, coverage))

    wanted = {"pass", "fail", "error", "nothing seen"}
    assert {kind: wanted - cases for kind, cases in found.items() if wanted - cases} == {}

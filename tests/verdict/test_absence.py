"""What was not seen, and what shows that it was not."""

import ast
from pathlib import Path

import pytest

import ibaccept
from ibaccept.verdict.absence import NotSeen, NotSeenError, seen
from ibaccept.verdict.evidence import CaptureRef

LINE = CaptureRef("captures/0007-fio.txt", 3, "fio: killed")


def test_what_was_seen_is_itself():
    assert seen(("a", "b")) == ("a", "b")


def test_what_was_not_seen_is_raised_whole():
    part = NotSeen("the links", "it did not answer", "look again", (LINE,))
    with pytest.raises(NotSeenError) as caught:
        seen(part)

    assert caught.value.part is part
    assert str(caught.value) == "the links could not be seen: it did not answer"


def calls():
    """Every ``NotSeen(...)`` of the package, with the place it stands at."""
    root = Path(ibaccept.__file__).parent
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "NotSeen":
                yield f"{path.relative_to(root)}:{node.lineno}", node


def is_from_another(call):
    return any(
        isinstance(node, ast.Attribute) and node.attr == "reason"
        for argument in [*call.args, *(keyword.value for keyword in call.keywords)]
        for node in ast.walk(argument)
    )


def has_captures(call):
    return len(call.args) == 4 or any(keyword.arg == "captures" for keyword in call.keywords)


def test_a_reason_is_never_passed_on_without_what_shows_it():
    found = dict(calls())
    passed_on = {where: call for where, call in found.items() if is_from_another(call)}

    assert len(passed_on) > 3
    assert [where for where, call in passed_on.items() if not has_captures(call)] == []

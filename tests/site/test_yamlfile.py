"""YAML means what it says: few booleans, few numbers, no key twice, a line for everything."""

from pathlib import Path

import pytest

from ibaccept.errors import InputError
from ibaccept.site import yamlfile
from ibaccept.site.yamlfile import Document, load, loads


def test_values_and_lines():
    text = """\
on: NO
list: [010, 1:30, 0x10, 1_000, yes, true, false, 3, -2, 2.5, 1e3, null, ~, 'true', "3", 2027-01-31]
nested:
  - {a: 1,
     b: 2}
empty:
"""

    assert loads(text, name="f") == Document(
        "f",
        {
            "on": "NO",
            "list": [
                *("010", "1:30", "0x10", "1_000", "yes", True, False, 3, -2, 2.5, 1000.0),
                *(None, None, "true", "3", "2027-01-31"),
            ],
            "nested": [{"a": 1, "b": 2}],
            "empty": None,
        },
        {
            (): 1,
            ("on",): 1,
            ("list",): 2,
            **{("list", n): 2 for n in range(16)},
            ("nested",): 3,
            ("nested", 0): 4,
            ("nested", 0, "a"): 4,
            ("nested", 0, "b"): 5,
            ("empty",): 6,
        },
    )


def test_numbers_too_large_stay_text():
    assert loads(f"[{'9' * 5000}, 1e999]", name="f").value == ["9" * 5000, "1e999"]


def test_merge_keys_and_aliases():
    text = "base: &b {x: 1, y: 2}\nhost: {<<: *b, y: 3}\n"

    assert loads(text, name="f").value == {"base": {"x": 1, "y": 2}, "host": {"x": 1, "y": 3}}


def test_tags_of_other_programs_are_text_where_allowed():
    text = "secret: !vault |\n  abc\n"

    assert loads(text, name="f", foreign_tags=True).value == {"secret": "abc\n"}


def test_the_line_of_a_path_that_is_not_there_is_that_of_what_encloses_it():
    document = loads("a:\n  b: 1\n", name="f")

    assert document.problem(("a", "b", "c"), "x") == "f:2: x"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "f:1: the file is empty"),
        ("# only a comment\n", "f:1: the file is empty"),
        ("a: 1\nb: 2\na: 3\n", "f:3: the key 'a' is already set in line 1"),
        ("a: {b: 1,\n  b: 2}\n", "f:2: the key 'b' is already set in line 1"),
        (
            "a: !!python/object:os.system x\n",
            "f:1: the tag !!python/object:os.system is not understood",
        ),
        ("a: !vault x\n", "f:1: the tag !vault is not understood"),
        (
            "a: 1\nb: [1,\n",
            "f:3: is not YAML: while parsing a flow node "
            "expected the node content, but found '<stream end>'",
        ),
        (
            "a: 1\n---\nb: 2\n",
            "f:2: is not YAML: expected a single document in the stream but found another document",
        ),
        (
            "\ta: 1\n",
            "f:1: is not YAML: while scanning for the next token "
            "found character '\\t' that cannot start any token",
        ),
        ("a: 1\nb: \x01\n", "f:2: is not YAML: a control character (code 0x01)"),
        ("a: &x [*x]\n", "f:1: an alias contains itself"),
        ("? [a]\n: 1\n", "f:1: a key must be text"),
        ("a: {<<: 3}\n", "f:1: '<<' merges mappings only"),
        ("[" * 5000, "f:1: is nested too deeply"),
    ],
)
def test_refused(text, sentence):
    with pytest.raises(InputError) as caught:
        loads(text, name="f")

    assert str(caught.value) == sentence


def test_aliases_that_multiply_are_stopped(monkeypatch):
    monkeypatch.setattr(yamlfile, "MAX_VALUES", 5_000)
    text = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
    )

    with pytest.raises(InputError) as caught:
        loads(text, name="f")

    assert str(caught.value) == "f:1: unfolds to more than 5,000 values"


def test_unreadable_files(tmp_path: Path):
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe4\n")
    messages = []
    for name in ("absent.yaml", "latin.yaml"):
        with pytest.raises(InputError) as caught:
            load(tmp_path / name, name=name)
        messages.append(str(caught.value))

    assert messages == [
        "absent.yaml: cannot be read: No such file or directory",
        "latin.yaml: is not UTF-8 text (byte 4); save it as UTF-8",
    ]

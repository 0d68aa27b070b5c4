"""Whatever a file holds, it is accepted or refused with a sentence; nothing else is raised."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ibaccept.errors import InputError
from ibaccept.expect import read_expectations
from ibaccept.inventory import read_inventory
from ibaccept.nodeset import expand
from ibaccept.plan import Plan
from ibaccept.yamlfile import Document, loads

WORDS = st.sampled_from(
    [
        "version",
        "fabric",
        "expect",
        "id",
        "kind",
        "links",
        "isl",
        "width",
        "4X",
        "link-rate",
        "between",
        "nodes",
        "except",
        "hosts",
        "vars",
        "children",
        "observers",
        "all",
        "ib_port",
        "ib_hca",
        "ansible_host",
        "ceilings",
        "job",
        "clients",
        "waivers",
        "workloads",
        "filesystem",
        "rdma",
        "tool",
        "fio",
        "window",
        "60s",
        "limits",
        "PortRcvErrors",
        "a",
        "b",
        "node[1-3]",
    ]
)
LEAVES = st.one_of(
    WORDS,
    st.text(max_size=6),
    st.integers(-2, 300),
    st.floats(allow_nan=False),
    st.booleans(),
    st.none(),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=25,
)


def outcome(read, *args, **kwargs):
    """What came of it: ``accepted``, or ``refused`` with a sentence of one line or more."""
    try:
        read(*args, **kwargs)
    except InputError as error:
        return "refused" if str(error).strip() else "no sentence"
    return "accepted"


def has_lines(value, where=()):
    lines = {where: 1}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in items:
        lines[(*where, key)] = 1
        if isinstance(part, dict | list):
            lines |= has_lines(part, (*where, key))
    return lines


@settings(max_examples=300, deadline=None)
@given(st.text("ab:[]{}-,\n \t'\"&*!?|>#<0x1\x01\ufeff", max_size=40))
def test_any_text_as_yaml(text):
    assert outcome(loads, text, name="f") in {"accepted", "refused"}


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(WORDS, VALUES, max_size=5))
def test_any_values_as_inventory_and_expectations(value):
    document = Document("f", value, has_lines(value))

    assert outcome(read_inventory, document) in {"accepted", "refused"}
    assert outcome(read_expectations, document, folder=Path("nowhere")) in {"accepted", "refused"}


@settings(max_examples=300, deadline=None)
@given(VALUES.filter(lambda value: isinstance(value, dict)))
def test_any_values_as_an_entry(entry):
    value = {"version": 1, "fabric": "f", "expect": [{"id": "x", "kind": "link-rate", **entry}]}
    document = Document("f", value, has_lines(value))

    assert outcome(read_expectations, document, folder=Path("nowhere")) in {"accepted", "refused"}


@settings(max_examples=300, deadline=None)
@given(st.text('ab,;"\n\r\t 019x\x00', max_size=30))
def test_any_rows_as_a_plan(text):
    header = "a_name,a_port,b_name,b_port\n"

    assert outcome(Plan.read, header + text, name="f") in {"accepted", "refused"}
    assert outcome(Plan.read, text, name="f") in {"accepted", "refused"}


@settings(max_examples=500, deadline=None)
@given(st.text("ab[]-,:^!&/0129 @%", max_size=14))
def test_any_text_as_a_node_set(text):
    def read():
        try:
            return expand(text)
        except ValueError as error:
            raise InputError(str(error)) from None

    assert outcome(read) in {"accepted", "refused"}

"""judge and require: the one place that decides what "nothing" means."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.verdict import (
    VERDICT,
    Coverage,
    Difference,
    Different,
    Finding,
    Judgement,
    NotJudgedError,
    NotMetError,
    Outcome,
    Subject,
    Table,
    Unseen,
    Verdict,
    judge,
    require,
)
from ibaccept.verdict.evidence import CaptureRef, Counter, Proof, RouteRef


@dataclass(frozen=True)
class AtMost:
    """A condition."""

    limit: int

    def met(self, actual):
        return actual <= self.limit

    def __str__(self):
        return f"at most {self.limit}"


@dataclass
class Notes:
    """An evidence source that proves every item by its name."""

    verdicts: list = field(default_factory=list)
    change: object = staticmethod(lambda verdict: verdict)

    def subject(self, item):
        return Subject("thing", str(item))

    def proof(self, item):
        return Proof(
            (Counter.between("SymbolErrorCounter", str(item), 1, 4, seconds=3.0, bits=16),),
            RouteRef(1, 6),
            (CaptureRef("captures/0001-x.txt", 7, str(item)),),
            "ssh mgmt01 x",
            ("routes",),
        )

    def record(self, verdict):
        self.verdicts.append(self.change(verdict))
        return self.verdicts[-1]


def judged(values, expected=4, **words):
    """Items 0, 1, ... with these values."""
    return judge(
        range(len(values)), expected=expected, actual=values.__getitem__, noun="cables", **words
    )


def shown(judgement):
    return (judgement.outcome, judgement.judged, judgement.of, judgement.sentence)


def test_all_as_ordered_passes():
    assert judged([4, 4]) == Judgement((), 2, 2, "cables", "are 4", "are not 4")
    assert shown(judged([4, 4])) == (Outcome.PASS, 2, 2, "2 of 2 cables are 4")


def test_nothing_is_no_pass():
    assert judged([]).differences == ()
    assert shown(judged([])) == (
        Outcome.ERROR,
        0,
        0,
        "no cables were seen, so nothing was judged",
    )


def test_wrong_is_a_failure_and_told_first():
    judgement = judged([4, 5, None, Unseen("no answer", "look again"), Different("down")])

    assert judgement.differences == (
        Difference(1, "fail", "4", "5"),
        Difference(2, "error", "4", "no value was read"),
        Difference(3, "error", "4", "no answer", "look again"),
        Difference(4, "fail", "4", "down"),
    )
    assert shown(judgement) == (
        Outcome.FAIL,
        3,
        5,
        "2 of 5 cables are not 4 (2 more could not be judged)",
    )


def test_unseen_among_good_ones_is_an_error():
    assert shown(judged([4, None, 4])) == (
        Outcome.ERROR,
        2,
        3,
        "1 of 3 cables could not be judged",
    )


def test_a_difference_in_words_brings_its_own_order_and_hint():
    assert judged([Different("two", "one", "remove it")]).differences == (
        Difference(0, "fail", "one", "two", "remove it"),
    )


def test_a_condition_is_asked_and_printed():
    judgement = judged([3, 4, 5], AtMost(4))

    assert judgement.differences == (Difference(2, "fail", "at most 4", "5"),)
    assert judgement.sentence == "1 of 3 cables are not at most 4"


@pytest.mark.parametrize("answer", [None, 1, "yes", float("nan"), NotImplemented])
def test_only_true_meets_a_condition(answer):
    class Odd:
        def met(self, _actual):
            return answer

    assert judged([4], Odd()).outcome is Outcome.FAIL


@pytest.mark.parametrize("value", [float("nan"), "4", 4.5, True, (), [4]])
def test_another_value_or_type_is_not_as_ordered(value):
    assert judged([value]).outcome is Outcome.FAIL


def test_words_tables_and_notes_are_kept():
    table = Table("spread", ("cable",), (("A/1",),))
    judgement = judged(
        [4], as_ordered="fit", not_as_ordered="do not fit", tables=[table], notes=["by name"]
    )

    assert judgement == Judgement((), 1, 1, "cables", "fit", "do not fit", (table,), ("by name",))
    assert judgement.sentence == "1 of 1 cables fit"


ORDERED = st.just(4)
WRONG = st.one_of(
    st.integers().filter(lambda value: value != 4),
    st.builds(Different, st.text()),
    st.just(float("nan")),
    st.just("4"),
)
UNSEEN = st.one_of(st.none(), st.builds(Unseen, st.text()))


@given(st.lists(st.one_of(ORDERED, WRONG, UNSEEN)))
def test_a_pass_needs_every_item_seen_and_right(values):
    judgement = judged(values)

    right = bool(values) and all(type(value) is int and value == 4 for value in values)
    assert (judgement.outcome is Outcome.PASS) is right
    assert judgement.of == len(values)
    assert judgement.judged == sum(
        value is not None and not isinstance(value, Unseen) for value in values
    )


@given(st.lists(ORDERED), UNSEEN, st.lists(ORDERED))
def test_one_unseen_item_spoils_a_pass_and_makes_no_failure(before, unseen, after):
    assert judged([*before, unseen, *after]).outcome is Outcome.ERROR


@given(st.lists(st.one_of(ORDERED, WRONG, UNSEEN)))
def test_require_raises_unless_it_passes(values):
    notes = Notes()
    raised = None
    try:
        require(judged(values), notes)
    except (NotMetError, NotJudgedError) as error:
        raised = error

    (verdict,) = notes.verdicts
    kinds = {Outcome.PASS: type(None), Outcome.FAIL: NotMetError, Outcome.ERROR: NotJudgedError}
    assert type(raised) is kinds[verdict.outcome]
    assert len(verdict.findings) == sum(value != 4 for value in values)


def test_require_attaches_the_proof_of_every_difference():
    notes = Notes()
    with pytest.raises(NotMetError) as caught:
        require(judged([4, 5, Unseen("no answer", "look again")]), notes)

    def finding(name, outcome, found, hint=""):
        counter = Counter.between("SymbolErrorCounter", name, 1, 4, seconds=3.0, bits=16)
        return Finding(
            Subject("thing", name),
            outcome,
            "4",
            found,
            hint,
            (counter,),
            RouteRef(1, 6),
            (CaptureRef("captures/0001-x.txt", 7, name),),
            "ssh mgmt01 x",
            ("routes",),
        )

    assert caught.value.verdict == Verdict(
        id="",
        kind="",
        nodeid="",
        outcome=Outcome.FAIL,
        sentence="1 of 3 cables are not 4 (1 more could not be judged)",
        because="",
        coverage=Coverage(2, 3),
        findings=(finding("1", "fail", "5"), finding("2", "error", "no answer", "look again")),
    )
    assert str(caught.value) == caught.value.verdict.sentence
    assert notes.verdicts == [caught.value.verdict]


def test_what_the_record_makes_of_it_counts():
    """A waiver is applied where the verdict is taken down."""
    waived = Verdict("x", "k", "n", Outcome.WAIVED, "s", "", Coverage(1, 1))

    assert require(judged([5]), Notes(change=lambda _verdict: waived)) == waived


def test_a_verdict_survives_json():
    notes = Notes()
    with pytest.raises(NotMetError):
        require(judged([5]), notes)

    assert VERDICT.validate_json(VERDICT.dump_json(notes.verdicts[0])) == notes.verdicts[0]

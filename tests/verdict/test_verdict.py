"""judge and require: the one place that decides what "nothing" means."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.verdict import (
    NO_PROOF,
    VERDICT,
    Coverage,
    Difference,
    Different,
    Finding,
    Judgement,
    Met,
    NotJudgedError,
    NotMetError,
    Outcome,
    Subject,
    Table,
    Verdict,
    judge,
    require,
    same,
)
from ibaccept.verdict.absence import NotSeen
from ibaccept.verdict.evidence import CaptureRef, Counter, Proof, RouteRef


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


def judged(values, **words):
    """Items 0, 1, ... with these values, of which 4 is right."""

    def answer(item):
        value = values[item]
        is_answer = value is None or isinstance(value, Different | NotSeen)
        return value if is_answer else same(4, value)

    return judge(range(len(values)), expected="4", actual=answer, noun="cables", **words)


def shown(judgement):
    return (judgement.outcome, judgement.judged, judgement.of, judgement.sentence)


def test_all_as_ordered_passes():
    assert judged([4, 4]) == Judgement((), 2, 2, "cables", "4")
    assert shown(judged([4, 4])) == (Outcome.PASS, 2, 2, "2 of 2 cables are 4")


def test_nothing_is_no_pass():
    assert judged([]).differences == ()
    assert shown(judged([])) == (
        Outcome.ERROR,
        0,
        0,
        "no cables were seen, so nothing was judged (expected: 4)",
    )


LINE = CaptureRef("captures/0007-fio.txt", 3, "fio: killed")
LOOK_AGAIN = NotSeen("the cable", "no answer", "look again")


def test_wrong_is_a_failure_and_comes_first():
    judgement = judged([4, 5, None, LOOK_AGAIN, Different("down")])

    assert judgement.differences == (
        Difference(1, "fail", "4", "5"),
        Difference(2, "error", "4", "the check answered None"),
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
        "1 of 3 cables could not be judged (expected: 4)",
    )


def test_a_difference_in_words_brings_its_own_order_and_hint():
    assert judged([Different("two", "one", "remove it")]).differences == (
        Difference(0, "fail", "one", "two", "remove it"),
    )


@pytest.mark.parametrize("answer", [None, 4, "met", True, Met])
def test_what_is_no_answer_is_an_error(answer):
    judgement = judge([1], expected="4", actual=lambda _item: answer, noun="cables")

    assert judgement.differences == (Difference(1, "error", "4", f"the check answered {answer!r}"),)
    assert judgement.outcome is Outcome.ERROR


@pytest.mark.parametrize("answer", [1, "yes", float("nan"), NotImplemented])
def test_only_true_is_equal(answer):
    class Odd:
        def __eq__(self, _other):
            return answer

        __hash__ = None

    assert isinstance(same(Odd(), 4), Different)


def mixed(answers, **words):
    """Items by what is expected of each."""
    return judge(
        answers,
        expected=", ".join(answers),
        actual=answers.__getitem__,
        expected_of=str,
        noun="aspects",
        **words,
    )


def test_each_item_may_have_an_expected_value_of_its_own():
    three = {"1 master": Different("2 masters"), "on a host": Met(), "priority 15": LOOK_AGAIN}
    judgement = mixed(three)

    assert judgement.differences == (
        Difference("1 master", "fail", "1 master", "2 masters"),
        Difference("priority 15", "error", "priority 15", "no answer", "look again"),
    )
    assert [shown(judgement), shown(mixed({"1 master": Met(), "on a host": LOOK_AGAIN}))] == [
        (
            Outcome.FAIL,
            2,
            3,
            "1 of 3 aspects are not as expected (1 master) (1 more could not be judged)",
        ),
        (Outcome.ERROR, 1, 2, "1 of 2 aspects could not be judged (expected: on a host)"),
    ]
    assert mixed({"1 master": Met(), "on a host": Met()}).sentence == (
        "2 of 2 aspects are as expected (1 master, on a host)"
    )


def test_many_expected_values_are_not_listed_one_by_one():
    judgement = judge(
        "abcd",
        expected="all of them",
        actual=lambda _item: LOOK_AGAIN,
        expected_of=str,
        noun="letters",
    )

    assert judgement.sentence == "4 of 4 letters could not be judged (expected: all of them)"


@pytest.mark.parametrize("value", [float("nan"), "4", 4.5, True, (), [4]])
def test_another_value_or_type_is_not_as_ordered(value):
    assert judged([value]).outcome is Outcome.FAIL


def test_words_tables_and_notes_are_kept():
    table = Table("spread", ("cable",), (("A/1",),))
    words = {"met": "fit", "not_met": "do not fit", "tables": [table], "notes": ["by name"]}
    judgement = judged([4], **words)

    assert judgement == Judgement(
        *((), 1, 1, "cables", "4", "fit", "do not fit", (table,), ("by name",))
    )
    assert judgement.sentence == "1 of 1 cables fit"
    assert judged([5], **words).sentence == "1 of 1 cables do not fit"


ORDERED = st.just(4)
WRONG = st.one_of(
    st.integers().filter(lambda value: value != 4),
    st.builds(Different, st.text()),
    st.just(float("nan")),
    st.just("4"),
)
UNSEEN = st.one_of(st.none(), st.builds(NotSeen, st.text(), st.text()))


@given(st.lists(st.one_of(ORDERED, WRONG, UNSEEN)))
def test_a_pass_needs_every_item_seen_and_right(values):
    judgement = judged(values)

    right = bool(values) and all(type(value) is int and value == 4 for value in values)
    assert (judgement.outcome is Outcome.PASS) is right
    assert judgement.of == len(values)
    assert judgement.judged == sum(
        value is not None and not isinstance(value, NotSeen) for value in values
    )


@given(st.lists(ORDERED), UNSEEN, st.lists(ORDERED))
def test_one_unseen_item_spoils_a_pass_and_makes_no_failure(before, unseen, after):
    assert judged([*before, unseen, *after]).outcome is Outcome.ERROR


def lines(value):
    """Lines of what is said of a value: each is a problem, and a finding of its own."""
    said = getattr(value, "found", None) or getattr(value, "reason", "")
    return max(1, sum(bool(line.strip()) for line in str(said).split("\n")))


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
    assert len(verdict.findings) == sum(lines(value) for value in values if value != 4)


def test_require_attaches_the_proof_of_every_difference():
    notes = Notes()
    with pytest.raises(NotMetError) as caught:
        require(judged([4, 5, LOOK_AGAIN]), notes)

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


def test_what_shows_the_absence_is_the_proof_of_an_error_and_nothing_else_is():
    notes = Notes()
    with pytest.raises(NotJudgedError):
        require(judged([NotSeen("the run", "fio was killed", "run it again", (LINE,))]), notes)

    assert notes.verdicts[0].findings == (
        Finding(
            *(Subject("thing", "0"), "error", "4", "fio was killed", "run it again"),
            captures=(LINE,),
        ),
    )


def test_an_absence_shown_by_the_lines_of_the_item_keeps_the_whole_proof():
    notes = Notes()
    own = CaptureRef("captures/0001-x.txt", 7, "0")
    with pytest.raises(NotJudgedError):
        require(judged([NotSeen("the cable", "no answer", "", (own,))]), notes)

    (finding,) = notes.verdicts[0].findings
    assert (finding.captures, finding.again) == ((own,), "ssh mgmt01 x")


def test_several_problems_of_one_message_are_a_finding_each():
    notes = Notes()
    with pytest.raises(NotJudgedError):
        require(judged([NotSeen("the LIDs", "a is down\nb is down", "plug in", (LINE,))]), notes)

    found = [Finding(Subject("thing", "0"), "error", "4", text, "plug in", captures=(LINE,))
             for text in ("a is down", "b is down")]  # fmt: skip
    assert notes.verdicts[0].findings == tuple(found)


class Silent(Notes):
    """An evidence source that proves nothing."""

    def proof(self, _item):
        return Proof(again="ssh mgmt01 x")


@pytest.mark.parametrize("answer", [Different("5"), LOOK_AGAIN])
def test_a_finding_without_proof_says_so(answer):
    notes = Silent()
    with pytest.raises((NotMetError, NotJudgedError)):
        require(judged([answer]), notes)

    (finding,) = notes.verdicts[0].findings
    assert (finding.missing, finding.again) == ((NO_PROOF,), "ssh mgmt01 x")


def test_what_the_record_makes_of_it_counts():
    """A waiver is applied where the verdict is taken down."""
    waived = Verdict("x", "k", "n", Outcome.WAIVED, "s", "", Coverage(1, 1))

    assert require(judged([5]), Notes(change=lambda _verdict: waived)) == waived


def test_a_verdict_survives_json():
    notes = Notes()
    with pytest.raises(NotMetError):
        require(judged([5]), notes)

    assert VERDICT.validate_json(VERDICT.dump_json(notes.verdicts[0])) == notes.verdicts[0]

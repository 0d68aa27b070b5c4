"""The exceptions of the suite."""

from ibaccept.errors import IbacceptError, InputError, InputProblemsError


def test_every_problem_is_a_line():
    error = InputProblemsError(iter(["a: no such name", "b: not a number"]))

    assert error.problems == ("a: no such name", "b: not a number")
    assert str(error) == "a: no such name\nb: not a number"
    assert isinstance(error, InputError)
    assert isinstance(error, IbacceptError)

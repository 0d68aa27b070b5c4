"""The exceptions of the suite: what was not seen or was given wrong, and what to do next."""

from collections.abc import Iterable


class IbacceptError(Exception):
    """Something could not be read, reached or understood.

    The message is a sentence for the person at the terminal: what was not seen and what to do.
    It is never raised because the fabric differs from the order (that is a verdict).
    """


class InputError(IbacceptError):
    """Bad input of the user's: a file, an option, a name. No connection has been made yet."""


class InputProblemsError(InputError):
    """Several problems of one input, all found in one go; one line each.

    Attributes:
        problems: the sentences.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))

"""The one exception family of the suite: what was not seen, and what to do next."""


class IbacceptError(Exception):
    """Something could not be read, reached or understood.

    The message is a sentence for the person at the terminal: what was not seen and what to do.
    It is never raised because the fabric differs from the order (that is a verdict).
    """


class InputError(IbacceptError):
    """Bad input of the user's: a file, an option, a name. No connection has been made yet."""

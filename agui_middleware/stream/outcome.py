"""How a stream has ended, if it has."""


class Outcome:
    """Whether a stream takes no more bytes, and the error that ended it, if one did."""

    __slots__ = ("ended", "failure")

    def __init__(self, failure: Exception | None = None) -> None:
        self.ended: bool = failure is not None
        self.failure: Exception | None = failure

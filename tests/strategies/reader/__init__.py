"""What @ag-ui/client 1.0.0 makes of a stream, without Node.

The strategies build on it (a move is legal where the reader accepts it) and tests may use it as an oracle where the real
client is not at hand. `tests/test_strategies.py` holds it against the real client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .conversation import Conversation, reconciled, result_place
from .lanes import FORMS, InvalidStream, Json, Kind, Lanes, Owner
from .verification import Bucket, Verification

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "FORMS",
    "Bucket",
    "InvalidStream",
    "Json",
    "Kind",
    "Owner",
    "Reader",
    "canonical",
    "read",
    "reconciled",
    "result_place",
]


class Reader:
    """Feed it events; it holds what the client would hold. Raises InvalidStream where the client aborts the run."""

    def __init__(self) -> None:
        self.lanes = Lanes()
        self.verification = Verification()
        self.conversation = Conversation()

    def feed(self, event: Json) -> None:
        for expanded in self.lanes.expand(event):
            self.verification.check(expanded)
            self.conversation.apply(expanded)


def read(events: Iterable[Json]) -> tuple[list[Json], Any]:
    """The final messages and state that a client with an empty conversation holds after the stream."""
    reader = Reader()
    for event in events:
        reader.feed(event)
    return reader.conversation.messages, reader.conversation.state


def canonical(value: Any) -> Any:
    """A JSON value as JavaScript has it: numbers are doubles, halves of a pair that meet are one character.

    Values of Python and of a client compare equal in this form, and True differs from 1.
    """
    match value:
        case bool() | None:
            return value
        case int() | float():
            return ("number", float(value))
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        case list():
            return [canonical(item) for item in value]
        case dict():
            return {canonical(name): canonical(member) for name, member in value.items()}
    raise TypeError(value)

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

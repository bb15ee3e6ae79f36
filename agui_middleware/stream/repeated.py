"""Tokens that are like the one before, but for their text.

    data: {"type":"TEXT_MESSAGE_CONTENT","subagentRunId":"s","messageId":"m","delta":"Hello"}
    data: {"type":"TEXT_MESSAGE_CONTENT","subagentRunId":"s","messageId":"m","delta":" world"}

What the filters made of the first tells what they make of the second, if they have promised that (`per_event`) and no other
event has come in between: here the bytes before the delta become `data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m",`. So
the second is neither parsed nor taken through the filters. It costs 6,000 instructions, and 10,000 to 28,000 else. A token
that is not alike costs 1,500 more.

Two events are proved to be alike by their bytes:

- They are equal up to the first `"delta":`. In JSON a quote, these five letters and a quote are the name of a member, since
  a string ends at its first quote without a backslash.
- A string and a single closing brace follow, and the first event is an object. So the delta is the last member of the object
  itself, and not one of an object inside it.
- The string is read by msgspec. So it is JSON: invalid escapes and control characters are found as by `Event.parse`.
"""

from typing import Final

import msgspec

from agui_middleware.protocol.event import Event
from agui_middleware.protocol.json_object import UNDECODABLE

MOST: Final = 16
"""Of how many starts of events the rewriting is remembered: of so many texts that stream at the same time."""
LONGEST: Final = 512
"""How long such a start may be, in bytes. With `MOST`, that bounds the memory to 16 KiB for each response."""
TRIES: Final = 8
"""So many tokens that are like none before, one after another, end the attempts: they carry a timestamp, for example."""

_DELTA: Final = b'"delta":'
_read = msgspec.json.Decoder(str).decode


class Repeated:
    """By the start of a token, the start to write in its place: the same if nothing changes, none if it is dropped."""

    __slots__ = ("_longest", "_tries", "starts")

    def __init__(self, max_event_bytes: int) -> None:
        self.starts: dict[bytes, bytes] = {}
        self._longest = max_event_bytes + 2  # the blank line does not count
        self._tries = TRIES

    def rewrite(self, chunk: bytes) -> bytes | None:
        """The output for a chunk that is one token like one before, the chunk itself where that passed unchanged.

        `None`: it is none.
        """
        start, _, rest = chunk.partition(_DELTA)
        written = self.starts.get(start)
        if written is None or not _is_plain(rest) or len(chunk) > self._longest:
            return None
        self._tries = TRIES
        if written == start:
            return chunk
        return b'%b"delta":%b' % (written, rest) if written else b""

    @staticmethod
    def start_of(chunk: bytes) -> bytes:
        """What stands before the text of a token."""
        return chunk.partition(_DELTA)[0]

    def learn(self, chunk: bytes, event: Event, written: bytes) -> None:
        """Remember the output for a chunk that is one token."""
        if not self._tries:
            return
        self._tries -= 1  # also where it cannot be learned: a timestamp may stand behind the delta as well
        start, _, rest = chunk.partition(_DELTA)
        if len(start) > LONGEST or not _is_plain(rest) or [*event.members()][-1] != "delta":
            return
        written_start, _, written_rest = written.partition(_DELTA)
        if written_rest == (rest if written else b""):
            if len(self.starts) >= MOST:
                self.starts.clear()
            self.starts[start] = written_start


def _is_plain(rest: bytes) -> bool:
    """Whether what follows the name of the delta is a string that is not empty, and the end of event and frame."""
    text, _, end = rest.rpartition(b"}")
    if end != b"\n\n" or 10 in text or 13 in text:
        return False
    try:
        return _read(text) != ""
    except UNDECODABLE:
        return False

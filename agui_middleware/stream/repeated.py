"""Tokens that are like the one before, but for their text.

    data: {"type":"TEXT_MESSAGE_CONTENT","subagentRunId":"s","messageId":"m","delta":"Hello"}
    data: {"type":"TEXT_MESSAGE_CONTENT","subagentRunId":"s","messageId":"m","delta":" world"}

What the filters made of the first tells what they make of the second, if they have promised that (`per_event`) and no other
event has come in between: here the bytes before the delta become `data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m",`. So
the second is neither parsed nor taken through the filters. It costs 6,000 instructions, and 10,000 to 28,000 else. A token
that is not alike costs 1,500 more.

Two events are proved to be alike by their bytes:

- They are equal up to the first `"delta":`, and behind the text that follows. Neither part has a backslash or another
  `"delta"`, and the first event has such a member. So it is that one, and none of an object inside the event.
- The text is read by msgspec. So it is a string: invalid escapes and control characters are found as by `Event.parse`.
"""

import re
from typing import Final

import msgspec

from agui_middleware.protocol.event import Event
from agui_middleware.protocol.json_object import UNDECODABLE

MOST: Final = 16
"""Of how many starts of events the rewriting is remembered: of so many texts that stream at the same time."""
LONGEST: Final = 512
"""How long start and end of an event may be together, in bytes: what is remembered for a response takes 32 KiB at most."""
TRIES: Final = 8
"""So many tokens that are like none before, one after another, end the attempts: they carry a timestamp, for example."""

_DELTA: Final = b'"delta":'
_TEXT: Final = re.compile(rb' ?"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_read = msgspec.json.Decoder(str).decode


class Repeated:
    """By the start of a token, what has to follow its text, and what to write in place of the two."""

    __slots__ = ("_longest", "_tries", "start", "starts")

    def __init__(self, max_event_bytes: int) -> None:
        self.starts: dict[bytes, tuple[bytes, bytes, bytes]] = {}
        self.start: bytes = b""
        """That of the chunk that was rewritten last."""
        self._longest = max_event_bytes + 2  # the blank line does not count
        self._tries = TRIES

    def rewrite(self, chunk: bytes) -> bytes | None:
        """The output for a chunk that is one token like one before, the chunk itself where that passed unchanged.

        `None`: it is none.
        """
        start, _, rest = chunk.partition(_DELTA)
        known = self.starts.get(start)
        if known is None:
            return None
        end, written_start, written_end = known
        text = rest.removesuffix(end)
        if text is rest or not _is_text(text) or len(chunk) > self._longest:
            return None
        self._tries = TRIES
        self.start = start
        if written_start == start and written_end == end:
            return chunk
        return b'%b"delta":%b%b' % (written_start, text, written_end) if written_start else b""

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
        self.starts.pop(start, None)  # something else stands behind the delta
        found = _TEXT.match(rest)
        if found is None or not _is_text(text := found.group()):
            return
        end = rest[found.end() :]
        around = start + end
        if len(around) > LONGEST or 92 in around or b'"delta"' in around or "delta" not in event.members():
            return
        written_start, _, written_rest = written.partition(_DELTA)
        if written and not written_rest.startswith(text):
            return
        if len(self.starts) >= MOST:
            self.starts.clear()
        self.starts[start] = end, written_start, written_rest[len(text) :]


def _is_text(text: bytes) -> bool:
    """Whether this is a JSON string that is not empty."""
    if 10 in text or 13 in text:  # in JSON they may stand around it
        return False
    try:
        return _read(text) != ""
    except UNDECODABLE:
        return False

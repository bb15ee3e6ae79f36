"""Tokens that are like one before, but for their text, and for the timestamp that some servers put in each.

    data: {"type":"TEXT_MESSAGE_CONTENT","subagentRunId":"s","messageId":"m","delta":"Hello"}
    data: {"type":"TEXT_MESSAGE_CONTENT","subagentRunId":"s","messageId":"m","delta":" world"}

What the filters made of the first tells what they make of the second, if they have promised that (`per_event`) and no other
event has come in between: here the bytes before the delta become `data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m",`. So
the second is neither parsed nor taken through the filters. It costs 6,000 instructions, and 10,000 to 28,000 else. A token
that is not alike costs 1,500 more. A filter that holds the first back holds the second back as bytes.

Two events are proved to be alike by their bytes:

- They are equal up to the first `"delta":`, and behind the text that follows. Neither part has a backslash or another
  `"delta"`, and the first event has such a member. So it is that one, and none of an object inside the event.
- A timestamp before the delta is an integer of as many digits as in the first event, which has no other `"timestamp"`.
- The text is read by msgspec. So it is a string: invalid escapes and control characters are found as by `Event.parse`.
"""

import re
from typing import Final, TypeAlias

import msgspec

from agui_middleware.filters.source import Keep
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.json_object import UNDECODABLE

MOST: Final = 16
"""Of how many starts of events the rewriting is remembered: of so many texts that stream at the same time."""
LONGEST: Final = 512
"""How long start and end of an event may be together, in bytes: what is remembered for a response takes 32 KiB at most."""
TRIES: Final = 8
"""So many tokens that are like none before, one after another, end the attempts: each has an id of its own, for example."""

Start: TypeAlias = bytes | tuple[bytes, int, bytes]
"""The bytes before `"delta":`; where they have a timestamp, those around it and the number of its digits."""

Kept: TypeAlias = tuple[Event, Keep]
"""A token as it waits, and what keeps it."""

Known: TypeAlias = tuple[bytes, bytes, bytes, Kept | None]
"""What follows the text, what is written before it (nothing where such tokens are dropped) and behind it, and the token
whose like waits in place of being sent, if it does. `_ANY` stands for the timestamp.
"""

_DELTA: Final = b'"delta":'
_TIMESTAMP: Final = re.compile(rb'"timestamp": ?([1-9][0-9]*),')
_ANY: Final = b"\0"  # no JSON has it
_TEXT: Final = re.compile(rb' ?"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_read = msgspec.json.Decoder(str).decode


class Repeated:
    """By the start of a token, what has to follow its text, and what to write in place of the two."""

    __slots__ = ("_longest", "_tries", "start", "starts")

    def __init__(self, max_event_bytes: int) -> None:
        self.starts: dict[Start, Known] = {}
        self.start: Start = b""
        """That of the chunk that was rewritten or learned last."""
        self._longest = max_event_bytes + 2  # the blank line does not count
        self._tries = TRIES

    def rewrite(self, chunk: bytes) -> bytes | None:
        """The output for a chunk that is one token like one before, the chunk itself where that passed unchanged.

        `None`: it is none.
        """
        start, _, rest = chunk.partition(_DELTA)
        self.start = start
        known = self.starts.get(start) or self._with_timestamp(start)
        if known is None:
            return None
        end, written_start, written_end, kept = known
        text = rest.removesuffix(end)
        if text is rest or not _is_text(text) or len(chunk) > self._longest:
            return None
        self._tries = TRIES
        if kept is not None:
            like, keep = kept
            waits = b'%b"delta":%b%b' % (written_start[6:], text, written_end[:-2])
            return b"" if keep(like.with_same_head(waits)) else None
        if written_start == start and written_end == end:
            return chunk
        return b'%b"delta":%b%b' % (written_start, text, written_end) if written_start else b""

    def learn(self, chunk: bytes, event: Event, written: bytes, kept: Kept | None) -> bool:
        """Remember the output for a chunk that is one token; `kept`: that waits. Return whether it can be remembered."""
        if not self._tries:
            return False
        self._tries -= 1  # also where it cannot be learned
        start, _, rest = chunk.partition(_DELTA)
        found = _TEXT.match(rest)
        if found is None or not _is_text(text := found.group()):
            return False
        end = rest[found.end() :]
        around = start + end
        if len(around) > LONGEST or 92 in around or b'"delta"' in around or "delta" not in event.members():
            return False
        written_start, _, written_rest = written.partition(_DELTA)
        if written and not written_rest.startswith(text):
            return False
        self.start, timestamp = start, b""
        if around.count(b'"timestamp"') == 1 and "timestamp" in event.members():
            self.start, timestamp = _without_timestamp(start)
        if timestamp and written:
            found = _TIMESTAMP.search(written_start)
            if found is None or found.group(1) != timestamp:
                return False
            written_start = written_start[: found.start(1)] + _ANY + written_start[found.end(1) :]
        if len(self.starts) >= MOST:
            self.starts.clear()
        if kept is not None:
            kept = kept[0].with_same_head(b""), kept[1]  # its text, of any length, goes when it leaves
        self.starts[self.start] = end, written_start, written_rest[len(text) :], kept
        return True

    def _with_timestamp(self, start: bytes) -> Known | None:
        self.start, timestamp = _without_timestamp(start)
        known = self.starts.get(self.start)
        if known is None:
            return None
        end, written_start, written_end, kept = known
        return end, written_start.replace(_ANY, timestamp), written_end, kept


def _without_timestamp(start: bytes) -> tuple[Start, bytes]:
    """The start of a token without its timestamp, and that; the start itself and nothing where it has none."""
    found = _TIMESTAMP.search(start)
    if found is None:
        return start, b""
    timestamp = found.group(1)
    return (start[: found.start(1)], len(timestamp), start[found.end(1) :]), timestamp


def _is_text(text: bytes) -> bool:
    """Whether this is a JSON string that is not empty."""
    if 10 in text or 13 in text:  # in JSON they may stand around it
        return False
    try:
        return _read(text) != ""
    except UNDECODABLE:
        return False

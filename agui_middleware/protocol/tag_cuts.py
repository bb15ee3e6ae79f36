"""The tags of an event, and of the messages of a large snapshot, cut out of the bytes: nothing else is decoded.

A snapshot of 1 MiB with one tag leaves as the bytes before the tag and the bytes behind it:

    {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","subagentRunId":"s","content":"…"}]}
    {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","content":"…"}]}

It costs what the floor of the benchmarks costs. Decoding the members, then the messages, then each message that has a tag
cost three times that.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

_NAME: Final = b'"subagentRunId"'


class TaggedMessage(msgspec.Struct, gc=False):
    """A message of which only the tag is read; `UNSET` if it has none."""

    subagentRunId: Any = UNSET


def cut_tag(raw: bytes, tag: str) -> bytes | None:
    """Cut off the first `subagentRunId`, which has the value `tag` if that is the event's own. `None` if there is none.

    It may be one inside another member, or `tag` may be escaped in `raw`: the caller proves that the cut is right.
    """
    before, found, after = raw.partition(b',"subagentRunId":"')
    if not found:
        before, found, after = raw.partition(b', "subagentRunId": "')
    return before + after[len(tag.encode()) + 1 :] if found else None


def cut_message_tags(raw: bytes, messages: Sequence[TaggedMessage]) -> bytes | None:
    """Cut off the tags of these messages. `None` where the bytes do not prove which cuts are right.

    `raw` is JSON, has no escaped ASCII character, and no tag of its own outside the messages. So each message with a tag has
    its name in `raw` as it is. If the name occurs as often as there are such messages, there is none elsewhere: not in
    their calls, not in their metadata, and not twice in one.
    """
    kept: list[memoryview] = []  # no copies: each would be as large as the snapshot
    whole, end, found = memoryview(raw), 0, raw.find(_NAME)
    for tag in [message.subagentRunId for message in messages if message.subagentRunId is not UNSET]:
        # A comma before the name, and the value behind it as it is: no space, no escape.
        member = b',%b:"%b"' % (_NAME, tag.encode()) if isinstance(tag, str) else b""
        if not member or found < 0 or not raw.startswith(member, found - 1):
            return None
        kept.append(whole[end : found - 1])
        end = found - 1 + len(member)
        found = raw.find(_NAME, end)
    return None if found >= 0 else b"".join([*kept, whole[end:]])

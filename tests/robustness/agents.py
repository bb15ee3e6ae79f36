"""The run that every test of this folder streams, and what a reader of each mode is to get of it."""

from typing import Any

from tests.robustness.exchange import frame

Event = dict[str, Any]

RUN: list[Event] = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
    {"type": "TEXT_MESSAGE_START", "messageId": "p", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "p", "delta": "two at once: "},
    {"type": "TEXT_MESSAGE_END", "messageId": "p"},
    {"type": "SUBAGENT_STARTED", "subagentRunId": "s1", "name": "scout"},
    {"type": "SUBAGENT_STARTED", "subagentRunId": "s2", "name": "critic"},
    {"type": "TEXT_MESSAGE_START", "messageId": "a", "role": "assistant", "subagentRunId": "s1"},
    {"type": "TEXT_MESSAGE_START", "messageId": "b", "role": "assistant", "subagentRunId": "s2"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "SECRET north"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "b", "delta": "SECRET south", "subagentRunId": "s2"},
    {"type": "TEXT_MESSAGE_END", "messageId": "b"},
    {"type": "TEXT_MESSAGE_END", "messageId": "a", "subagentRunId": "s1"},
    {"type": "SUBAGENT_FINISHED", "subagentRunId": "s2"},
    {"type": "SUBAGENT_FINISHED", "subagentRunId": "s1"},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
]
FRAMES = [frame(event) for event in RUN]

_OF_SUBAGENTS = ("a", "b")


def _untagged(event: Event) -> Event:
    return {name: value for name, value in event.items() if name != "subagentRunId"}


INLINE: list[Event] = [_untagged(event) for event in RUN if not event["type"].startswith("SUBAGENT_")]
HIDDEN: list[Event] = [event for event in INLINE if event.get("messageId") not in _OF_SUBAGENTS]
SEEN: dict[str, list[Event]] = {"attributed": RUN, "inline": INLINE, "hidden": HIDDEN}

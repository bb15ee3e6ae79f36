"""The event types of AG-UI, and the one table from which everything that depends on a type is derived.

A type without a row, or a row without one of its columns, does not import. What a filter needs to know of a type it asks
of the table (`types`, `type_that`), so a new type is one line in each of the two lists below.

A type that is in neither is *unknown*. An unknown event passes through unchanged, closes no lane, belongs to the subagent
that its tag names or that owns any entity which its ids name, and is dropped for releases before 1.0.0, which reject what
they do not know (`agui_middleware.downgrades.guard`).
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from agui_middleware.protocol.event_kind import (
    ACTIVITY,
    CALL,
    CONVERSATION,
    ENCRYPTED,
    NOTHING,
    REASONING,
    REASONING_SPAN,
    RUN,
    STATE,
    STEP,
    SUBAGENT,
    TEXT,
    THINKING,
    THINKING_SPAN,
    Carries,
    Does,
    Entity,
    EventKind,
    Lane,
    Owner,
)

__all__ = ["EVENT_KINDS", "EventType", "type_that", "types"]


class EventType(StrEnum):
    """The 31 event types of AG-UI 1.0 and 1.1, and the five THINKING_* of the releases before 1.0."""

    TEXT_MESSAGE_CONTENT = "TEXT_MESSAGE_CONTENT"
    TEXT_MESSAGE_END = "TEXT_MESSAGE_END"
    TEXT_MESSAGE_CHUNK = "TEXT_MESSAGE_CHUNK"
    TOOL_CALL_START = "TOOL_CALL_START"
    TOOL_CALL_ARGS = "TOOL_CALL_ARGS"
    TOOL_CALL_END = "TOOL_CALL_END"
    TOOL_CALL_CHUNK = "TOOL_CALL_CHUNK"
    TOOL_CALL_RESULT = "TOOL_CALL_RESULT"
    STATE_SNAPSHOT = "STATE_SNAPSHOT"
    STATE_DELTA = "STATE_DELTA"
    MESSAGES_SNAPSHOT = "MESSAGES_SNAPSHOT"
    ACTIVITY_SNAPSHOT = "ACTIVITY_SNAPSHOT"
    ACTIVITY_DELTA = "ACTIVITY_DELTA"
    RAW = "RAW"
    CUSTOM = "CUSTOM"
    RUN_STARTED = "RUN_STARTED"
    RUN_FINISHED = "RUN_FINISHED"
    RUN_ERROR = "RUN_ERROR"
    STEP_STARTED = "STEP_STARTED"
    STEP_FINISHED = "STEP_FINISHED"
    REASONING_START = "REASONING_START"
    REASONING_END = "REASONING_END"
    REASONING_MESSAGE_START = "REASONING_MESSAGE_START"
    REASONING_MESSAGE_CONTENT = "REASONING_MESSAGE_CONTENT"
    REASONING_MESSAGE_END = "REASONING_MESSAGE_END"
    REASONING_MESSAGE_CHUNK = "REASONING_MESSAGE_CHUNK"
    REASONING_ENCRYPTED_VALUE = "REASONING_ENCRYPTED_VALUE"
    SUBAGENT_STARTED = "SUBAGENT_STARTED"
    SUBAGENT_FINISHED = "SUBAGENT_FINISHED"
    SUBAGENT_ERROR = "SUBAGENT_ERROR"
    THINKING_START = "THINKING_START"
    THINKING_END = "THINKING_END"
    THINKING_TEXT_MESSAGE_START = "THINKING_TEXT_MESSAGE_START"
    THINKING_TEXT_MESSAGE_CONTENT = "THINKING_TEXT_MESSAGE_CONTENT"
    THINKING_TEXT_MESSAGE_END = "THINKING_TEXT_MESSAGE_END"

"""The entities that a stream opens and closes, and the first release of @ag-ui/client that verifies each.

The rules are those of each release's own verifier. An entity is open from its START event to its END event; a release
rejects the START of an open entity, any other event of one that is not open, and RUN_FINISHED while an entity that
`must_end` is open.
"""

from collections.abc import Hashable
from typing import Final, NamedTuple

from agui_middleware.protocol.event import Event
from agui_middleware.protocol.releases import ClientVersion


class Lifecycle(NamedTuple):
    """One kind of entity."""

    name: str
    """The name in messages, such as "text message"."""
    start: str
    parts: tuple[str, ...]
    ends: tuple[str, ...]
    id: str = ""
    """The member that names the entity; empty where there is at most one at a time."""
    verified_since: ClientVersion = ClientVersion(0, 0, 0)
    must_end: bool = True
    within: str = ""
    """The name of the lifecycle that must be open at its START."""


_FIRST_WITH_SUBAGENTS: Final = ClientVersion(0, 0, 59)
_FIRST_WITH_SPANS: Final = ClientVersion(1, 0, 0)

LIFECYCLES: Final = (
    Lifecycle("text message", "TEXT_MESSAGE_START", ("TEXT_MESSAGE_CONTENT",), ("TEXT_MESSAGE_END",), "messageId"),
    Lifecycle("tool call", "TOOL_CALL_START", ("TOOL_CALL_ARGS",), ("TOOL_CALL_END",), "toolCallId"),
    Lifecycle("step", "STEP_STARTED", (), ("STEP_FINISHED",), "stepName"),
    Lifecycle("thinking", "THINKING_START", (), ("THINKING_END",), must_end=False),
    Lifecycle(
        "thinking message",
        "THINKING_TEXT_MESSAGE_START",
        ("THINKING_TEXT_MESSAGE_CONTENT",),
        ("THINKING_TEXT_MESSAGE_END",),
        must_end=False,
        within="thinking",
    ),
    Lifecycle(
        "reasoning message",
        "REASONING_MESSAGE_START",
        ("REASONING_MESSAGE_CONTENT",),
        ("REASONING_MESSAGE_END",),
        "messageId",
        _FIRST_WITH_SPANS,
    ),
    Lifecycle("reasoning span", "REASONING_START", (), ("REASONING_END",), "messageId", _FIRST_WITH_SPANS),
    Lifecycle(
        "subagent",
        "SUBAGENT_STARTED",
        (),
        ("SUBAGENT_FINISHED", "SUBAGENT_ERROR"),
        "subagentRunId",
        _FIRST_WITH_SUBAGENTS,
    ),
)

_FIRST_WITH_STEP_NAMES: Final = ClientVersion(0, 0, 34)
"""Earlier releases look for a step's name in the wrong member, so that all steps are one step to them."""


def key_of(lifecycle: Lifecycle, event: Event, client: ClientVersion) -> Hashable:
    """The key by which `client` distinguishes entities of one kind. Since 0.0.59, steps of the same name in different
    subagents are different.
    """
    value = event.get(lifecycle.id) if lifecycle.id else ""
    id = value if isinstance(value, str) else ""
    if lifecycle.name != "step":
        return id
    if client < _FIRST_WITH_STEP_NAMES:
        return ""
    tag = event.head.subagentRunId
    return (id, tag) if client >= _FIRST_WITH_SUBAGENTS and isinstance(tag, str) else id

"""The entities that are opened and closed in a stream, and the release of @ag-ui/client from which on each is verified.

The rules are those of each release's own verifier. An entity is open from its START event to its END event; a release
rejects a START of what is open, everything else of what is not, and RUN_FINISHED while something is open that
`must_end`.
"""

from collections.abc import Hashable
from typing import Final, NamedTuple

from agui_middleware.protocol.event import Event
from agui_middleware.protocol.releases import ClientVersion


class Lifecycle(NamedTuple):
    """One kind of entity."""

    name: str
    """As a message names it, such as "text message"."""
    start: str
    parts: tuple[str, ...]
    ends: tuple[str, ...]
    id: str = ""
    """The member that names the entity; empty where there is at most one at a time."""
    verified_since: ClientVersion = ClientVersion(0, 0, 0)
    must_end: bool = True
    within: str = ""
    """The name of what has to be open at its START."""


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
"""Before, a release looks for a step's name in the wrong member: all steps are one to it."""


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

"""The messages that a client holds, derived from the events that it is sent: ids and roles, no contents.

Messages from before the stream are known only if a snapshot or an input echo restates them. Memory grows with the
messages of a stream, not with its events.
"""

from collections.abc import Iterator
from typing import Any, Final, Literal

from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.event_kind import Action, Carries
from agui_middleware.protocol.event_types import types_that
from agui_middleware.protocol.messages import messages_of
from agui_middleware.protocol.releases import ClientVersion

MAKES_MESSAGES: Final = types_that(
    lambda kind: (
        kind.carries in (Carries.MESSAGES, Carries.ECHO)
        or (kind.about.role is not None and kind.action in (Action.OPENS, Action.REPLACES, Action.ANSWERS))
    )
)
"""The types that `ClientMessages` follows."""

_FIRST_TO_INTERLEAVE: Final = ClientVersion(0, 0, 37)
_FIRST_WITH_ACTIVITIES: Final = ClientVersion(0, 0, 41)
_FIRST_TO_CONTINUE_TEXTS: Final = ClientVersion(0, 0, 44)
_FIRST_WITH_REASONING: Final = ClientVersion(0, 0, 45)
_FIRST_TO_MERGE: Final = ClientVersion(0, 0, 46)  # before it, a snapshot takes the place of all messages
_FIRST_TO_KEEP_REASONING: Final = ClientVersion(0, 0, 50)
_FIRST_TO_INFER: Final = ClientVersion(0, 0, 58)  # that a snapshot with activities has them all


class ClientMessages:
    """The messages of one client, fed with its events in order.

    - `roles`: the role of each known message, by id, in the client's order.
    - `last`: the id of the client's last message; `None` if it is uncertain.
    - `merges`: whether messages that a snapshot restates keep their positions.
    """

    __slots__ = (
        "_activities",
        "_doubles",
        "_infers",
        "_interleaves",
        "_preserved",
        "_reasoning",
        "last",
        "merges",
        "roles",
    )

    def __init__(self, client: ClientVersion | None) -> None:
        self.roles: dict[str, str] = {}
        self.last: str | None = None
        self._interleaves = client is None or client >= _FIRST_TO_INTERLEAVE
        self._doubles = client is not None and client < _FIRST_TO_CONTINUE_TEXTS
        self._activities = client is None or client >= _FIRST_WITH_ACTIVITIES
        self._reasoning = client is None or client >= _FIRST_WITH_REASONING
        self.merges: bool = client is None or client >= _FIRST_TO_MERGE
        self._infers = client is None or client >= _FIRST_TO_INFER
        keeps_reasoning = client is None or client >= _FIRST_TO_KEEP_REASONING
        self._preserved = ("activity", "reasoning") if keeps_reasoning else ("activity",)

    def take(self, event: Event) -> None:
        """Apply `event` to the list of messages."""
        head = event.head
        match head.type:
            case "TEXT_MESSAGE_START":
                self._start_text(head.messageId, event.get("role", "assistant"))
            case "TOOL_CALL_START":
                holder = head.parentMessageId or head.toolCallId
                self._push(holder, "assistant", "yes" if self._interleaves else "perhaps")
            case "TOOL_CALL_RESULT":
                self._push(head.messageId, "tool", "yes")
            case "REASONING_MESSAGE_START" if self._reasoning:
                self._push(head.messageId, "reasoning", "no")
            case "ACTIVITY_SNAPSHOT" if self._activities:
                self._push(head.messageId, "activity", "no")
                if isinstance(head.messageId, str) and event.get("replace") is not False:
                    self.roles[head.messageId] = "activity"
            case "RUN_STARTED":
                for id, role in _restated(event):
                    self._push(id, role, "no")
            case "MESSAGES_SNAPSHOT":
                self._reconcile(dict(_restated(event)))

    def _start_text(self, id: Any, role: Any) -> None:
        if self._interleaves or role == "assistant":
            self._push(id, role if isinstance(role, str) else "assistant", "perhaps" if self._doubles else "no")
        elif isinstance(id, str) and isinstance(role, str):
            self.roles.setdefault(id, role)  # a text that a client up to 0.0.36 does not get

    def _push(self, id: Any, role: str, again: Literal["yes", "no", "perhaps"]) -> None:
        """Append a message; `again`: whether the client appends another one if it already has that id."""
        if not isinstance(id, str):
            return
        if id not in self.roles or again == "yes":
            self.last = id
        elif again == "perhaps" and self.last != id:
            self.last = None
        self.roles.setdefault(id, role)

    def _reconcile(self, restated: dict[str, str]) -> None:
        preserved = [role for role in self._preserved if not (self._infers and role in restated.values())]
        kept: dict[str, str] = {}
        if self.merges:
            for id, role in self.roles.items():
                if id in restated or role in preserved:
                    kept[id] = restated.get(id, role)
        self.roles = {**kept, **{id: role for id, role in restated.items() if id not in kept}}
        # What nobody streamed is either new, and goes to the end, or was there from the start.
        certain = not kept or len(self.roles) == len(kept)
        self.last = next(reversed(self.roles), None) if certain else None


def _restated(event: Event) -> Iterator[tuple[str, str]]:
    for message in messages_of(event) or ():
        if isinstance(message, JsonObject):
            id, role = message.get("id"), message.get("role")
            if isinstance(id, str) and isinstance(role, str):
                yield id, role

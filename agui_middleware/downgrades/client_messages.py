"""The messages that a client holds, derived from the events that it is sent: ids and roles, no contents.

Messages from before the stream are known only if a snapshot or an input echo restates them. Memory grows with the
messages of a stream, not with its events, and counts against the response's budget. Work per event is linear in the event,
also for a small snapshot of a long conversation.
"""

from collections.abc import Iterator
from typing import Any, Final, Literal

from agui_middleware.filters.declared import INPUT_ECHO
from agui_middleware.protocol.budget import Budget, Index
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.event_kind import Action, Carries
from agui_middleware.protocol.event_types import types_that
from agui_middleware.protocol.messages import messages_of
from agui_middleware.protocol.releases import ClientVersion

MAKES_MESSAGES: Final = {INPUT_ECHO} | types_that(
    lambda kind: (
        kind.carries is Carries.MESSAGES
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
        "_budget",
        "_deleted",
        "_doubles",
        "_ids",
        "_infers",
        "_interleaves",
        "_preserved",
        "_reasoning",
        "last",
        "merges",
        "roles",
    )

    def __init__(self, client: ClientVersion | None, budget: Budget | None = None) -> None:
        self._budget = budget or Budget()
        self.roles: Index[str, str] = Index(self._budget)
        self._ids: dict[str, dict[str, None]] = {"activity": {}, "reasoning": {}, "": {}}  # by role; "": any other
        self._deleted = 0  # from `roles`, since that was made
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
                self._show_activity(head.messageId, event.get("replace") is not False)
            case "RUN_STARTED":
                for id, role in _restated(event):
                    self._push(id, role, "no")
            case "MESSAGES_SNAPSHOT":
                self._reconcile(dict(_restated(event)))

    def _start_text(self, id: Any, role: Any) -> None:
        if self._interleaves or role == "assistant":
            self._push(id, role if isinstance(role, str) else "assistant", "perhaps" if self._doubles else "no")
        elif isinstance(id, str) and isinstance(role, str):
            self._assign(id, self.roles.get(id, role))  # a text that a client up to 0.0.36 does not get

    def _show_activity(self, id: Any, replaces: bool) -> None:
        self._push(id, "activity", "no")
        if isinstance(id, str) and replaces:
            self._assign(id, "activity")

    def _push(self, id: Any, role: str, again: Literal["yes", "no", "perhaps"]) -> None:
        """Append a message; `again`: whether the client appends another one if it already has that id."""
        if not isinstance(id, str):
            return
        if id not in self.roles or again == "yes":
            self.last = id
        elif again == "perhaps" and self.last != id:
            self.last = None
        self._assign(id, self.roles.get(id, role))

    def _assign(self, id: str, role: str) -> None:
        before = self.roles.get(id)
        self.roles[id] = role
        if before != role:
            if before is not None:
                del self._ids_of(before)[id]
            self._ids_of(role)[id] = None

    def _ids_of(self, role: str) -> dict[str, None]:
        return self._ids[role if role in self._ids else ""]

    def _reconcile(self, restated: dict[str, str]) -> None:
        said = set(restated.values())
        for role, ids in self._ids.items():
            # Only what goes and what the snapshot restates is looked at. So a thousand empty snapshots of a conversation
            # with a thousand activities, which stay, cost a thousand steps.
            if not self.merges or role not in self._preserved or (self._infers and role in said):
                stays = restated if self.merges else {}
                self._delete([id for id in ids if id not in stays])
                self._ids[role] = {id: None for id in ids if id in stays}
        kept = len(self.roles)
        for id, role in restated.items():
            self._assign(id, role)
        # What nobody streamed is either new, and goes to the end, or was there from the start.
        certain = kept in (0, len(self.roles))
        self.last = next(reversed(self.roles), None) if certain else None

    def _delete(self, ids: list[str]) -> None:
        for id in ids:
            del self.roles[id]
        self._deleted += len(ids)
        if self._deleted > len(self.roles):  # a dict steps over what was deleted whenever it is asked for its end
            before, self.roles = self.roles, Index(self._budget)
            self._deleted = 0
            for id in list(before):
                self.roles[id] = before.pop(id)


def _restated(event: Event) -> Iterator[tuple[str, str]]:
    for message in messages_of(event) or ():
        if isinstance(message, JsonObject):
            id, role = message.get("id"), message.get("role")
            if isinstance(id, str) and isinstance(role, str):
                yield id, role

"""A MESSAGES_SNAPSHOT that waits for the end of a text or tool call, and what is added to its messages meanwhile."""

from typing import Any, TypeAlias

import msgspec

from agui_middleware.protocol.budget import Index
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.messages import edit_elements, edit_messages, edit_object, messages_of

Key: TypeAlias = tuple[str, str]
"""Of a text or tool call: the member that names it, and its id."""


class HeldSnapshot(msgspec.Struct, gc=False, eq=False):
    """A MESSAGES_SNAPSHOT that is held back, and content that arrives for messages that it may restate, until the next one.

    Of several snapshots only the newest gets the content: it has the last word, and each piece leaves once.
    """

    event: Event
    era: int
    ids: Index[str, Any]
    """Of its messages, once somebody has asked."""
    added: dict[Key, list[Event]] = {}
    asked: bool = False

    def whole(self) -> Event:
        """The snapshot with that content. `added` is empty afterwards: of two messages of one id, the first gets it."""
        return edit_messages(self.event, self._continue)

    def restates(self, id: str) -> bool:
        """Whether a message of this id is in it."""
        if not self.asked:
            self.asked = True
            for message in messages_of(self.event) or ():
                if isinstance(message, JsonObject) and isinstance(known := message.get("id"), str):
                    self.ids.add(known)
        return id in self.ids

    def _continue(self, message: JsonObject) -> JsonObject:
        if added := self._text("messageId", message.get("id")):
            message = message.replace(content=_text(message.get("content")) + added)
        return edit_elements(message, "toolCalls", self._continue_call)

    def _continue_call(self, call: JsonObject) -> JsonObject:
        added = self._text("toolCallId", call.get("id"))
        if not added:
            return call
        return edit_object(call, "function", lambda f: f.replace(arguments=_text(f.get("arguments")) + added))

    def _text(self, member: str, id: Any) -> str:
        return "".join(_text(event.get("delta")) for event in self.added.pop((member, _text(id)), ()))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

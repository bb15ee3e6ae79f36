"""Reasoning and activities that a snapshot leaves out.

Agents that do not store such messages cannot restate them, so 1.0.0 keeps them if a snapshot has none of their role.
Clients up to 0.0.45 delete activities then, and clients up to 0.0.49 reasoning: for them the snapshot restates what was
streamed. Messages of earlier requests are known only from an input echo, and lost otherwise.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import msgspec

from agui_middleware.downgrades.client_messages import MAKES_MESSAGES, ClientMessages
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.messages import messages_of
from agui_middleware.protocol.releases import ClientVersion

_FIRST_WITH_REASONING: Final = ClientVersion(0, 0, 45)
_FIRST_TO_KEEP_ACTIVITIES: Final = ClientVersion(0, 0, 46)
_LATER: Final = ("REASONING_MESSAGE_CONTENT", "REASONING_ENCRYPTED_VALUE", "ACTIVITY_DELTA")


@handles(*MAKES_MESSAGES, *_LATER)
async def restate_streamed_messages(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Add to a snapshot the messages that the client would delete, and send the patches of activities behind it again.

    What is kept for this takes at most `context.max_event_bytes`; past it, it is forgotten, and reported.
    """
    streamed = Streamed(context)
    async for event in events:
        if event.head.type != "MESSAGES_SNAPSHOT":
            streamed.take(event)
            yield event
            continue
        yield streamed.restated(event)
        for patch in streamed.patches():
            yield Event.parse(patch.raw, event.fields)


class Message(msgspec.Struct, gc=False):
    """A message as it was last sent in full, and later changes: texts, or ACTIVITY_DELTA events."""

    base: JsonObject
    texts: list[str]
    patches: list[Event]
    size: int
    """Of all this, in bytes."""

    def restated(self) -> JsonObject:
        """The message with all its text. Patches are not applied."""
        if not self.texts:
            return self.base
        return self.base.replace(content="".join([str(self.base.get("content", "")), *self.texts]))


class Streamed:
    """The messages of one stream that its client would delete."""

    __slots__ = ("_context", "_messages", "_roles", "_roster", "_size")

    def __init__(self, context: Context) -> None:
        client = context.client
        self._context = context
        self._roles = {"reasoning"} if client is None or client >= _FIRST_WITH_REASONING else set()
        self._roles |= set() if client is None or client >= _FIRST_TO_KEEP_ACTIVITIES else {"activity"}
        self._roster = ClientMessages(client)
        self._messages: dict[str, Message] = {}
        self._size = 0

    def take(self, event: Event) -> None:
        """Apply an event that is not a snapshot."""
        type, id = event.head.type, event.head.messageId
        if type == "RUN_STARTED":
            for message in messages_of(event) or ():
                if _id(message) not in self._roster.roles:
                    self._learn(message)
        elif type == "REASONING_ENCRYPTED_VALUE":
            self._encrypt(event)
        elif isinstance(id, str):
            self._take_of(event, type, id)
        self._roster.take(event)
        if self._size > self._context.max_event_bytes:
            self._context.lost("streamed messages", "reasoning and activities that are too large to restate", "0.0.50")
            self._keep({})

    def restated(self, snapshot: Event) -> Event:
        """Return the snapshot with the messages that it leaves out, and use it as their state from now on."""
        messages = snapshot.get_list("messages")
        if messages is None:
            return snapshot
        said = [_role(message) for message in messages]
        kept = {id: message for id, message in self._messages.items() if message.base["role"] not in said}
        if kept:
            snapshot = snapshot.replace(messages=list(self._merged(messages, kept)))
        self._roster.take(snapshot)
        self._keep(kept)
        for message in messages:
            self._learn(message)
        return snapshot

    def patches(self) -> Iterator[Event]:
        """The patches of the activities that were added to the last snapshot."""
        for message in self._messages.values():
            yield from message.patches

    def _take_of(self, event: Event, type: str, id: str) -> None:
        known, role = self._messages.get(id), self._roster.roles.get(id)
        if type == "REASONING_MESSAGE_START" and role is None:
            self._learn(JsonObject({"id": id, "role": "reasoning", "content": ""}))
        elif type == "ACTIVITY_SNAPSHOT" and (role is None or event.get("replace") is not False):
            members = {name: value for name, value in event.members().items() if name in ("activityType", "content")}
            self._learn(JsonObject({"id": id, "role": "activity", **members}))
        elif known is not None and type == "REASONING_MESSAGE_CONTENT" and isinstance(delta := event.get("delta"), str):
            known.texts.append(delta)
            self._grow(known, len(delta))
        elif known is not None and type == "ACTIVITY_DELTA":
            known.patches.append(event)
            self._grow(known, len(event.raw))

    def _learn(self, message: JsonObject | Any) -> None:
        id = _id(message)
        if id is not None and _role(message) in self._roles:
            self._size -= self._messages[id].size if id in self._messages else 0
            self._messages[id] = Message(message, [], [], 0)
            self._grow(self._messages[id], len(message.raw))

    def _encrypt(self, event: Event) -> None:
        id = event.head.entityId
        known = self._messages.get(id) if isinstance(id, str) and event.get("subtype") == "message" else None
        if known is not None and _role(known.base) == "reasoning":
            known.base = known.base.replace(encryptedValue=event.get("encryptedValue"))
            self._grow(known, len(event.raw))

    def _grow(self, message: Message, size: int) -> None:
        message.size += size
        self._size += size

    def _keep(self, messages: dict[str, Message]) -> None:
        self._messages = messages
        self._size = sum(message.size for message in messages.values())

    def _merged(self, messages: list[JsonObject | Any], kept: dict[str, Message]) -> Iterator[JsonObject | Any]:
        """Yield the messages of a snapshot, with each kept message before its successors."""
        places = {id: place for place, id in enumerate(self._roster.roles)}
        waiting = sorted(kept, key=lambda id: places.get(id, 0), reverse=True)
        for message in messages:
            place = places.get(_id(message) or "", -1)
            while waiting and places.get(waiting[-1], 0) < place:
                yield kept[waiting.pop()].restated()
            yield message
        while waiting:
            yield kept[waiting.pop()].restated()


def _id(message: JsonObject | Any) -> str | None:
    id = message.get("id") if isinstance(message, JsonObject) else None
    return id if isinstance(id, str) else None


def _role(message: JsonObject | Any) -> str | None:
    role = message.get("role") if isinstance(message, JsonObject) else None
    return role if isinstance(role, str) else None

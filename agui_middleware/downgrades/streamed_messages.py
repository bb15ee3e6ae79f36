"""Reasoning and activities that a snapshot leaves out.

Agents that do not store such messages cannot restate them, so 1.0.0 keeps them if a snapshot has none of their role.
Clients up to 0.0.45 delete activities then, and clients up to 0.0.49 reasoning: for them the snapshot restates what was
streamed. Messages of earlier requests are known only from an input echo, and lost otherwise.

A thousand small snapshots of a thousand messages would make a million of them. So at most `FACTOR` times the size of the
stream is restated. A snapshot for which that is not enough is sent as it is, and a later one restates what it has deleted.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final

import msgspec

from agui_middleware.downgrades.client_messages import MAKES_MESSAGES, ClientMessages
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.budget import OVERHEAD, Index, size_of
from agui_middleware.protocol.errors import EventTooLarge
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.messages import messages_of
from agui_middleware.protocol.releases import ClientVersion

_FIRST_WITH_REASONING: Final = ClientVersion(0, 0, 45)
_FIRST_TO_KEEP_ACTIVITIES: Final = ClientVersion(0, 0, 46)
FACTOR: Final = 4
_LATER: Final = ("REASONING_MESSAGE_CONTENT", "REASONING_ENCRYPTED_VALUE", "ACTIVITY_DELTA")


@handles(*MAKES_MESSAGES, *_LATER)
async def restate_streamed_messages(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Add to a snapshot the messages that the client would delete, and send the patches of activities behind it again.

    What is kept for this counts against `context.budget`; where there is no more room, it is forgotten, and reported.
    """
    streamed = Streamed(context)
    async for event in events:
        streamed.credit += FACTOR * len(event.raw)
        if event.head.type != "MESSAGES_SNAPSHOT":
            streamed.take(event)
            yield event
            continue
        restated = streamed.restated(event)
        yield restated
        if restated is not event:
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

    __slots__ = ("_context", "_messages", "_roles", "_roster", "_sizes", "credit")

    def __init__(self, context: Context) -> None:
        client = context.client
        self._context = context
        self._roles = {"reasoning"} if client is None or client >= _FIRST_WITH_REASONING else set()
        self._roles |= set() if client is None or client >= _FIRST_TO_KEEP_ACTIVITIES else {"activity"}
        self._roster = ClientMessages(client, context.budget)
        self._messages: dict[str, Index[str, Message]] = {role: Index(context.budget) for role in sorted(self._roles)}
        self._sizes = dict.fromkeys(self._messages, 0)  # of the messages of a role
        self.credit: int = 0
        """How many bytes may be restated, or messages looked at for that."""

    def take(self, event: Event) -> None:
        """Apply an event that is not a snapshot."""
        self._unless_too_large(self._take, event)
        self._roster.take(event)

    def restated(self, snapshot: Event) -> Event:
        """Return the snapshot with the messages that it leaves out, and use it as their state from now on."""
        messages = snapshot.get_list("messages")
        if messages is None:
            return snapshot
        for role in {_role(message) for message in messages} & self._messages.keys():
            self._forget(str(role))
        shown = self._with_kept(snapshot, messages)
        self._roster.take(shown)
        for message in messages:
            self._unless_too_large(self._learn, message)
        return shown

    def patches(self) -> Iterator[Event]:
        """The patches of the messages that were added to the last snapshot."""
        for messages in self._messages.values():
            for message in messages.values():
                yield from message.patches

    def _unless_too_large(self, learn: Callable[[Any], None], source: JsonObject | Any) -> None:
        try:
            learn(source)
        except EventTooLarge:
            self._context.lost("streamed messages", "reasoning and activities that are too large to restate", "0.0.50")
            for role in self._messages:
                self._forget(role)

    def _take(self, event: Event) -> None:
        type, id = event.head.type, event.head.messageId
        if type == "RUN_STARTED":
            for message in messages_of(event) or ():
                if _id(message) not in self._roster.roles:
                    self._learn(message)
        elif type == "REASONING_ENCRYPTED_VALUE":
            self._encrypt(event)
        elif isinstance(id, str):
            self._take_of(event, type, id)

    def _take_of(self, event: Event, type: str, id: str) -> None:
        known, role = self._known(id), self._roster.roles.get(id)
        if type == "REASONING_MESSAGE_START" and role is None:
            self._learn(JsonObject({"id": id, "role": "reasoning", "content": ""}))
        elif type == "ACTIVITY_SNAPSHOT" and (role is None or event.get("replace") is not False):
            members = {name: value for name, value in event.members().items() if name in ("activityType", "content")}
            self._learn(JsonObject({"id": id, "role": "activity", **members}))
        elif known is not None and type == "REASONING_MESSAGE_CONTENT" and isinstance(delta := event.get("delta"), str):
            self._grow(known, size_of(delta))
            known.texts.append(delta)
        elif known is not None and type == "ACTIVITY_DELTA":
            self._grow(known, len(event.raw) + OVERHEAD)
            known.patches.append(event)

    def _known(self, id: str) -> Message | None:
        return next((found for messages in self._messages.values() if (found := messages.get(id))), None)

    def _learn(self, message: JsonObject | Any) -> None:
        id, role = _id(message), _role(message)
        if id is not None and role in self._messages:
            if (before := self._known(id)) is not None:
                self._grow(before, -before.size)
                for messages in self._messages.values():
                    messages.discard(id)
            self._messages[role][id] = learned = Message(message, [], [], 0)
            self._grow(learned, len(message.raw))

    def _encrypt(self, event: Event) -> None:
        id = event.head.entityId
        known = self._known(id) if isinstance(id, str) and event.get("subtype") == "message" else None
        if known is not None and _role(known.base) == "reasoning":
            self._grow(known, len(event.raw))
            known.base = known.base.replace(encryptedValue=event.get("encryptedValue"))

    def _grow(self, message: Message, size: int) -> None:
        self._context.budget.hold(size)
        message.size += size
        self._sizes[message.base["role"]] += size

    def _forget(self, role: str) -> None:
        self._context.budget.release(self._sizes[role])
        self._sizes[role] = 0
        self._messages[role].clear()

    def _with_kept(self, snapshot: Event, messages: list[JsonObject | Any]) -> Event:
        cost = sum(self._sizes.values())
        if cost == 0:
            return snapshot
        cost += len(self._roster.roles)
        if cost > self.credit:
            self._context.lost("streamed messages", "reasoning and activities, until a later snapshot", "0.0.50")
            return snapshot
        self.credit -= cost
        kept = {id: message for of_role in self._messages.values() for id, message in of_role.items()}
        return snapshot.replace(messages=list(self._merged(messages, kept)))

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

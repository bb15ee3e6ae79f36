"""A posted RunAgentInput, or what comes in place of one: the conversation that a client sends with a run.

A conversation has hundreds of messages, of which an upgrade changes few. So the members by which messages belong together
are decoded once for all of them, and the rest of a message only where it changes.
"""

from collections.abc import Callable, Iterable
from typing import Any, Self

import msgspec
from msgspec import Raw

from agui_middleware.protocol import json_scan
from agui_middleware.protocol.event import as_id
from agui_middleware.protocol.json_object import UNDECODABLE, JsonObject, MalformedEvent
from agui_middleware.protocol.messages import calls_of


class CallHead(msgspec.Struct, gc=False):
    """What identifies a tool call; `None` where it is absent or not a string."""

    id: str | None = None


class MessageHead(msgspec.Struct, gc=False):
    """What identifies a message and relates it to others; `None` where it is absent or of a wrong type."""

    id: str | None = None
    role: str | None = None
    toolCallId: str | None = None
    toolCalls: list[CallHead] | None = None

    @property
    def calls(self) -> list[str]:
        """The ids of its tool calls."""
        return [call.id for call in self.toolCalls or () if call.id is not None]


class _Heads(msgspec.Struct, gc=False):
    messages: list[MessageHead]


Messages = list[tuple[MessageHead, Raw]]
Edit = Callable[[JsonObject], JsonObject]
_decode_heads = msgspec.json.Decoder(_Heads).decode
_decode_head = msgspec.json.Decoder(MessageHead).decode


class Posted:
    """A RunAgentInput, or what an SDK posts in place of one, and its messages, undecoded. Edits return another one."""

    __slots__ = ("input", "messages")

    input: JsonObject
    messages: Messages

    def __init__(self, input: JsonObject, messages: Messages) -> None:
        self.input = input
        self.messages = messages

    @classmethod
    def read(cls, body: bytes) -> Self | None:
        """Read the body of a request; `None` where it is not an object with the list `messages`, or null in its place.

        Raises `MalformedEvent` where it is not JSON.
        """
        input = JsonObject.of(body)
        raws = input.get_raw_list("messages")
        if raws is None and input.get("messages", "") is None:
            raws = []
        if raws is None:
            return None
        return cls(input, _with_heads(body, raws))

    @property
    def raw(self) -> bytes:
        """The whole input as JSON."""
        return self.input.raw

    @property
    def is_run_input(self) -> bool:
        """Whether it is a RunAgentInput, which has the strings `threadId` and `runId`."""
        return isinstance(self.input.get("threadId"), str) and isinstance(self.input.get("runId"), str)

    @property
    def thread(self) -> str | None:
        """The conversation's id; `None` where it has none, or two, also in another spelling: a server may read the other."""
        names = [name for name in self._names() if name.lower().replace("_", "") == "threadid"]
        thread = self.input.get("threadId")
        return thread if names == ["threadId"] and isinstance(thread, str) else None

    def _names(self) -> Iterable[str]:
        """The names of its members, each as often as it is there."""
        input = self.input
        if input.raw.count(b'"threadId"') == 1 and not input.has_escapes():
            return input
        return json_scan.names(input.raw)

    def with_input(self, input: JsonObject) -> Self:
        """A copy with other members beside the messages; the same object where the input is the same."""
        return self if input is self.input else type(self)(input, self.messages)

    def with_members(self, **members: Any) -> Self:
        """A copy with these members set."""
        return type(self)(self.input.replace(**members), self.messages)

    def without_members(self, *names: str) -> Self:
        """A copy without these members."""
        return type(self)(self.input.without(*names), self.messages)

    def with_messages(self, messages: Iterable[tuple[MessageHead, Raw]]) -> Self:
        """A copy with these messages."""
        after = list(messages)
        return type(self)(self.input.replace(messages=[raw for _, raw in after]), after)

    def holds_messages_of(self, other: "Posted") -> bool:
        """Whether its messages are those of another one: the very same, in the same order."""
        return len(self.messages) == len(other.messages) and all(
            new[1] is old[1] for new, old in zip(self.messages, other.messages, strict=True)
        )

    def edit(self, edit: Edit, *, containing: bytes, keeps_heads: bool = False) -> Self:
        """Edit the messages in which a word may stand; the same object where nothing changes.

        `keeps_heads`: the edit changes nothing that is in a head, which is then not read again.
        """
        everywhere = self.input.has_escapes()
        if not everywhere and self.input.raw.find(containing) < 0:
            return self
        after = []
        for head, raw in self.messages:
            may_change = everywhere or bytes(raw).find(containing) >= 0
            message = edited(raw, edit) if may_change else raw
            after.append((head, message) if keeps_heads or message is raw else (head_of(bytes(message)), message))
        changed = any(new[1] is not old[1] for new, old in zip(after, self.messages, strict=True))
        return self.with_messages(after) if changed else self


def messages_in(holder: JsonObject) -> Messages:
    """The messages in the list `messages` of an object, such as a MESSAGES_SNAPSHOT or an input echo; none if it is none."""
    try:
        raw = holder.raw
        raws = JsonObject.of(raw).get_raw_list("messages")
        return _with_heads(raw, raws) if raws else []
    except MalformedEvent:
        return []


def _with_heads(holder: bytes, raws: list[Raw]) -> Messages:
    try:
        heads = _decode_heads(holder).messages
    except UNDECODABLE:
        heads = [head_of(bytes(raw)) for raw in raws]
    return list(zip(heads, raws, strict=True))


def edited(raw: Raw, edit: Edit) -> Raw:
    """A message after an edit; what is not an object stays as it is."""
    before = JsonObject.of(bytes(raw))
    if before.raw[:1] != b"{":
        return raw
    after = edit(before)
    return raw if after is before else Raw(after.raw)


def as_message(message: JsonObject) -> tuple[MessageHead, Raw]:
    """A new message with its head."""
    return head_of(message.raw), Raw(message.raw)


def head_of(raw: bytes) -> MessageHead:
    """The head of one message, of any JSON value. Raises `MalformedEvent` where it is not JSON."""
    try:
        return _decode_head(raw)
    except UNDECODABLE:
        if raw[:1] != b"{":
            return MessageHead()
        message = JsonObject.of(raw)
        id, role, result_of = (as_id(message.get(name)) for name in ("id", "role", "toolCallId"))
        return MessageHead(id, role, result_of, [CallHead(as_id(call.get("id"))) for call in calls_of(message)])

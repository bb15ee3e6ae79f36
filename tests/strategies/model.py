"""What `hidden` and `inline` should leave of a conversation, told from the original stream alone.

Nothing of the package is used here. A test reads the original with the real @ag-ui/client 1.0.0, whose messages keep
`subagentRunId`, and takes the subagents out of what the client ended with:

    expected = without_subagents(original.messages, events)
    assert client.read(rewritten).messages == expected

It holds for what `runs` draws without `reown`: there an id keeps its owner for the whole stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .reader import Json, Owner


@dataclass
class Owners:
    """Who owns each id that an event or a list of messages put on record. Absent: nobody opened it by name."""

    message: dict[str, Owner] = field(default_factory=dict)
    tool: dict[str, Owner] = field(default_factory=dict)
    reasoning: dict[str, Owner] = field(default_factory=dict)
    activity: dict[str, Owner] = field(default_factory=dict)

    def of_message(self, message: Json) -> Owner:
        """The owner of a message: of a tool message its call's, whoever executed it.

        A message that only a call minted, and that holds no call but subagents', is theirs although it has no tag.
        """
        tag: Owner = message.get("subagentRunId")
        if message["role"] == "tool":
            return self.tool.get(message["toolCallId"], tag)
        if tag is not None:
            return tag
        known = {"reasoning": self.reasoning, "activity": self.activity}.get(message["role"], self.message)
        calls = [self.tool.get(call["id"]) for call in message.get("toolCalls", ())]
        if message["id"] not in known and calls and None not in calls:
            return calls[0]
        return known.get(message["id"])


def owners(events: Iterable[Json]) -> Owners:
    """Ownership by first opener, kept after the close and across the runs of the stream; lists of messages overwrite.

    An untagged call belongs to the owner of the message it names. A replacing ACTIVITY_SNAPSHOT and a TOOL_CALL_RESULT
    own what they mint anew.
    """
    known = Owners()
    for event in events:
        _open(known, event)
        for message in event.get("messages", ()):
            _restate(known, message, overwrite=True)
        for message in event.get("input", {}).get("messages", ()):
            _restate(known, message, overwrite=False)
    return known


def _open(known: Owners, event: Json) -> None:
    tag: Owner = event.get("subagentRunId")
    match event:
        case {"type": "TEXT_MESSAGE_START" | "TEXT_MESSAGE_CHUNK", "messageId": message}:
            known.message.setdefault(message, tag)
        case {"type": "TOOL_CALL_START" | "TOOL_CALL_CHUNK", "toolCallId": call}:
            # No default for the look-up: the empty string is an id.
            inherited = known.message.get(event["parentMessageId"]) if "parentMessageId" in event else None
            known.tool.setdefault(call, inherited if tag is None else tag)
        case {"type": "TOOL_CALL_RESULT", "messageId": message}:
            known.message[message] = tag
        case {
            "type": "REASONING_START" | "REASONING_MESSAGE_START" | "REASONING_MESSAGE_CHUNK",
            "messageId": message,
        }:
            known.reasoning.setdefault(message, tag)
        case {"type": "ACTIVITY_SNAPSHOT", "messageId": message}:
            if event.get("replace", True) or message not in known.activity:
                known.activity[message] = tag


def _restate(known: Owners, message: Json, overwrite: bool) -> None:
    tag: Owner = message.get("subagentRunId")
    bucket = {"reasoning": known.reasoning, "activity": known.activity}.get(message["role"], known.message)
    for ids, id_ in [(bucket, message["id"]), *((known.tool, call["id"]) for call in message.get("toolCalls", ()))]:
        if overwrite or id_ not in ids:
            ids[id_] = tag


def without_subagents(messages: Iterable[Json], events: Iterable[Json]) -> list[Json]:
    """The messages that are left when everything a subagent owns is hidden, and no tag on them.

    Gone are a subagent's messages, its calls in a message that another minted, and every result of a call of its own,
    the parent's answers included. A result for the parent's call stays, whoever executed it.
    """
    known = owners(events)
    shown = [message for message in messages if known.of_message(message) is None]
    return [_without_calls(message, known) for message in untagged(shown)]


def _without_calls(message: Json, known: Owners) -> Json:
    if "toolCalls" not in message:
        return message
    calls = [call for call in message["toolCalls"] if known.tool.get(call["id"]) is None]
    rest = {member: value for member, value in message.items() if member != "toolCalls"}
    return rest | ({"toolCalls": calls} if calls or not message["toolCalls"] else {})


def untagged(messages: Iterable[Json]) -> list[Json]:
    """The messages as a consumer from before subagents gets them: all of them, no tag on any."""
    return [{member: value for member, value in message.items() if member != "subagentRunId"} for message in messages]

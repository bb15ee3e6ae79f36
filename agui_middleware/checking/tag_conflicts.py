"""Ownership: releases of @ag-ui/client from 0.0.59 on reject an event whose `subagentRunId` contradicts an earlier one.

Owners are kept to the end of a run, after their entity has ended too. An event without a tag agrees with every owner. The
parent agent, `None`, is an owner like any other.
"""

from typing import Final

from agui_middleware.protocol.event import Event, JsonObject, as_id
from agui_middleware.protocol.messages import calls_of, messages_of

_ROLES: Final = {"reasoning": "reasoning", "activity": "activity"}
_KNOWN_ROLES: Final = frozenset({"developer", "system", "assistant", "user", "tool", *_ROLES})

# By event type: which kind of entity it is about, and by which member.
_ABOUT: Final = {
    **dict.fromkeys(("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"), ("message", "messageId")),
    **dict.fromkeys(("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"), ("call", "toolCallId")),
    **dict.fromkeys(
        (
            *("REASONING_START", "REASONING_END", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT"),
            "REASONING_MESSAGE_END",
        ),
        ("reasoning", "messageId"),
    ),
    "ACTIVITY_DELTA": ("activity", "messageId"),
}
_STARTS: Final = frozenset({"TEXT_MESSAGE_START", "TOOL_CALL_START", "REASONING_START", "REASONING_MESSAGE_START"})

Owners = dict[str, str | None]


class Attribution:
    """The owners in one run."""

    def __init__(self) -> None:
        self._owners: dict[str, Owners] = {"message": {}, "call": {}, "reasoning": {}, "activity": {}}

    def take(self, event: Event) -> bool:
        """Return whether `event` contradicts a known owner, and record the owners that it names."""
        type, tag = event.type, as_id(event.head.subagentRunId)
        if type in _ABOUT:
            kind, member = _ABOUT[type]
            return self._take_part(event, self._owners[kind], event.get(member), tag)
        if type == "REASONING_ENCRYPTED_VALUE":
            return self._contradicts_entity(event, tag)
        if type == "TOOL_CALL_RESULT":
            self._owners["message"][event["messageId"]] = tag
        elif type == "ACTIVITY_SNAPSHOT":
            if event.get("replace") is not False or event["messageId"] not in self._owners["activity"]:
                self._owners["activity"][event["messageId"]] = tag
        elif type in ("MESSAGES_SNAPSHOT", "RUN_STARTED"):
            for message in messages_of(event) or ():
                self._take_message(message, overwrites=type == "MESSAGES_SNAPSHOT")
        return False

    def _take_part(self, event: Event, owners: Owners, id: str, tag: str | None) -> bool:
        known = id in owners
        if tag is not None and known and owners[id] != tag:
            return True
        if event.type not in _STARTS:
            return False
        owner = tag
        parent = as_id(event.head.parentMessageId) if event.type == "TOOL_CALL_START" else None
        if parent is not None and parent in self._owners["message"]:
            owner = self._owners["message"][parent]
            if (tag is not None and tag != owner) or (tag is None and known and owners[id] != owner):
                return True
        owners.setdefault(id, owner)
        return False

    def _contradicts_entity(self, event: Event, tag: str | None) -> bool:
        kinds = ("call",) if event["subtype"] == "tool-call" else ("message", "reasoning")
        known = [self._owners[kind][event["entityId"]] for kind in kinds if event["entityId"] in self._owners[kind]]
        return tag is not None and bool(known) and known[0] != tag

    def _take_message(self, message: object, *, overwrites: bool) -> None:
        if not isinstance(message, JsonObject) or as_id(message.get("role")) not in _KNOWN_ROLES:
            return
        tag = as_id(message.get("subagentRunId"))
        owned = [(_ROLES.get(message["role"], "message"), message["id"])]
        owned += [("call", call["id"]) for call in calls_of(message)]
        for kind, id in owned:
            if overwrites:
                self._owners[kind][id] = tag
            else:
                self._owners[kind].setdefault(id, tag)

"""How expanded events change the messages and the state of @ag-ui/client 1.0.0."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from .patch import patched

if TYPE_CHECKING:
    from .lanes import Json

ABSENT = object()


class Conversation:
    """`messages` and `state`, by the rules of protocol version 1.0 as the client applies them.

    A message is looked up as the first one with its id, whatever its role. What the client only warns about
    (text for an activity, arguments of an unknown call, a patch that fails) changes nothing here.
    """

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self.state: Any = {}
        self.started_calls: list[str] = []
        self.answered_calls: set[str] = set()

    def apply(self, event: Json) -> None:
        rule = getattr(self, f"_{event['type'].lower()}", None)
        if rule:
            rule(event)

    def find(self, message_id: str) -> Json | None:
        return next((message for message in self.messages if message["id"] == message_id), None)

    def holder(self, call_id: str) -> Json | None:
        """The message that carries a tool call."""
        return next((m for m in self.messages if any(c["id"] == call_id for c in m.get("toolCalls", ()))), None)

    def pending_calls(self) -> list[str]:
        """The calls of this run without a result, in the order of their first START."""
        return [call for call in self.started_calls if call not in self.answered_calls]

    def _text_message_start(self, event: Json) -> None:
        name = {"name": event["name"]} if "name" in event else {}
        self._open(event, {"role": event.get("role", "assistant"), "content": "", **name})

    def _reasoning_message_start(self, event: Json) -> None:
        self._open(event, {"role": "reasoning", "content": ""})

    def _open(self, event: Json, members: Json) -> None:
        message = self.find(event["messageId"])
        if message is None:
            message = {"id": event["messageId"], **members, **_tag(event)}
            self.messages.append(message)
        if message["role"] != "activity":
            _merge_metadata(message, event)

    def _text_message_content(self, event: Json) -> None:
        message = self.find(event["messageId"])
        if message is not None and message["role"] != "activity":
            content = message.get("content")
            message["content"] = (content if isinstance(content, str) else "") + event["delta"]
            _merge_metadata(message, event)

    def _text_message_end(self, event: Json) -> None:
        message = self.find(event["messageId"])
        if message is not None and message["role"] != "activity":
            _merge_metadata(message, event)

    _reasoning_message_content = _text_message_content
    _reasoning_message_end = _text_message_end

    def _tool_call_start(self, event: Json) -> None:
        call_id = event["toolCallId"]
        if call_id not in self.started_calls:
            self.started_calls.append(call_id)
        call = self._call(call_id)
        if call is None:
            call = {"id": call_id, "type": "function", "function": {"name": event["toolCallName"], "arguments": ""}}
            self._holder_for(event).setdefault("toolCalls", []).append(call)
        call["function"]["name"] = event["toolCallName"]
        _merge_metadata(call, event)

    def _holder_for(self, event: Json) -> Json:
        """The assistant message that the call names, or else one minted for it."""
        parent = event.get("parentMessageId")
        existing = self.find(parent) if parent else None
        if existing is not None and existing["role"] == "assistant":
            return existing
        minted_id = parent if parent and existing is None else event["toolCallId"]
        tag = _tag(event) if self.find(minted_id) is None else {}
        self.messages.append({"id": minted_id, "role": "assistant", **tag})
        return self.messages[-1]

    def _call(self, call_id: str) -> Json | None:
        calls = (call for message in self.messages for call in message.get("toolCalls", ()))
        return next((call for call in calls if call["id"] == call_id), None)

    def _tool_call_args(self, event: Json) -> None:
        call = self._call(event["toolCallId"])
        if call is not None:
            call["function"]["arguments"] += event["delta"]
            _merge_metadata(call, event)

    def _tool_call_end(self, event: Json) -> None:
        call = self._call(event["toolCallId"])
        if call is not None:
            _merge_metadata(call, event)

    def _tool_call_result(self, event: Json) -> None:
        self.answered_calls.add(event["toolCallId"])
        message = {"id": event["messageId"], "role": "tool", "toolCallId": event["toolCallId"], **_tag(event)}
        message["content"] = copy.deepcopy(event["content"])
        _merge_metadata(message, event)
        self.messages.insert(result_place(self.messages, event["toolCallId"]), message)

    def _activity_snapshot(self, event: Json) -> None:
        message, replace = self.find(event["messageId"]), event.get("replace", True)
        activity = {"id": event["messageId"], "role": "activity", "activityType": event["activityType"], **_tag(event)}
        activity["content"] = copy.deepcopy(event["content"])
        if message is None:
            message = activity
            self.messages.append(message)
        elif replace:
            kept = {"metadata": message["metadata"]} if message["role"] == "activity" and "metadata" in message else {}
            message.clear()
            message.update(activity | kept)
        _merge_metadata(message, event)

    def _activity_delta(self, event: Json) -> None:
        message = self.find(event["messageId"])
        if message is None or message["role"] != "activity":
            return
        _merge_metadata(message, event)
        content = _try_patch(message["content"], event["patch"])
        if content is not ABSENT:
            message |= {"content": content, "activityType": event["activityType"]}

    def _state_snapshot(self, event: Json) -> None:
        self.state = copy.deepcopy(event["snapshot"])

    def _state_delta(self, event: Json) -> None:
        state = _try_patch(self.state, event["delta"])
        if state is not ABSENT:
            self.state = state

    def _reasoning_encrypted_value(self, event: Json) -> None:
        is_call = event["subtype"] == "tool-call"
        target = self._call(event["entityId"]) if is_call else self.find(event["entityId"])
        if target is not None and target.get("role") != "activity":
            target["encryptedValue"] = event["encryptedValue"]

    def _messages_snapshot(self, event: Json) -> None:
        self.messages = reconciled(self.messages, copy.deepcopy(event["messages"]), event.get("metadata", {}))

    def _run_started(self, event: Json) -> None:
        self.started_calls, self.answered_calls = [], set()
        for message in copy.deepcopy(event.get("input", {}).get("messages", [])):
            if self.find(message["id"]) is None:
                self.messages.append(message)


def result_place(messages: list[Json], call_id: str) -> int:
    """Where a result goes: behind the message with the call and the tool messages that follow it, or last."""
    for index, message in enumerate(messages):
        if message["role"] == "assistant" and any(call["id"] == call_id for call in message.get("toolCalls", ())):
            index += 1
            while index < len(messages) and messages[index]["role"] == "tool":
                index += 1
            return index
    return len(messages)


def reconciled(messages: list[Json], snapshot: list[Json], metadata: Json) -> list[Json]:
    """The conversation after a MESSAGES_SNAPSHOT: local order, the snapshot's copies, its new messages last."""
    copies = {message["id"]: message for message in snapshot}
    roles = {message["role"] for message in snapshot}
    claim = metadata.get("@ag-ui/client", {}).get("authoritativeActivityTypes", ABSENT)

    def preserved(message: Json) -> bool:
        if message["role"] == "activity":
            inferred = claim is ABSENT and "activity" not in roles
            return inferred or (isinstance(claim, list) and message["activityType"] not in claim)
        return message["role"] == "reasoning" and "reasoning" not in roles

    kept = [copies.get(m["id"], m) for m in messages if m["id"] in copies or preserved(m)]
    known = {message["id"] for message in kept}
    return kept + [message for message in snapshot if message["id"] not in known]


def _tag(event: Json) -> Json:
    return {"subagentRunId": event["subagentRunId"]} if "subagentRunId" in event else {}


def _merge_metadata(target: Json, event: Json) -> None:
    if "metadata" in event:
        target["metadata"] = target.get("metadata", {}) | copy.deepcopy(event["metadata"])


def _try_patch(document: Any, patch: list[Json]) -> Any:
    try:
        return patched(document, patch)
    except (LookupError, TypeError, ValueError):
        return ABSENT

"""A short notation for streams that tests write by hand.

    stream("SUB+ s; TS n @s; TC n psst; TE n; SUB- s")

Events are parted by `;`. Each is a code, the members that the code takes in order (`_` leaves one out), then any other
members as `name=json`, and `@s` for `"subagentRunId": "s"`.

The messages of SNAP, and of RS behind the run's id, are `id`, then `:role` (assistant by default), `+call` for each tool
call it carries, `=call` for the call that a tool message answers, and `@s`.
"""

import json
import re
from typing import Any

Json = dict[str, Any]

CODES: dict[str, tuple[str, ...]] = {
    "RS": ("RUN_STARTED", "runId"),
    "RF": ("RUN_FINISHED", "runId"),
    "RE": ("RUN_ERROR", "message"),
    "TS": ("TEXT_MESSAGE_START", "messageId"),
    "TC": ("TEXT_MESSAGE_CONTENT", "messageId", "delta"),
    "TE": ("TEXT_MESSAGE_END", "messageId"),
    "TK": ("TEXT_MESSAGE_CHUNK", "messageId", "delta"),
    "KS": ("TOOL_CALL_START", "toolCallId", "parentMessageId"),
    "KA": ("TOOL_CALL_ARGS", "toolCallId", "delta"),
    "KE": ("TOOL_CALL_END", "toolCallId"),
    "KK": ("TOOL_CALL_CHUNK", "toolCallId", "delta", "toolCallName", "parentMessageId"),
    "KR": ("TOOL_CALL_RESULT", "toolCallId", "messageId"),
    "GS": ("REASONING_MESSAGE_START", "messageId"),
    "GC": ("REASONING_MESSAGE_CONTENT", "messageId", "delta"),
    "GE": ("REASONING_MESSAGE_END", "messageId"),
    "GK": ("REASONING_MESSAGE_CHUNK", "messageId", "delta"),
    "SPAN+": ("REASONING_START", "messageId"),
    "SPAN-": ("REASONING_END", "messageId"),
    "EV": ("REASONING_ENCRYPTED_VALUE", "subtype", "entityId"),
    "AS": ("ACTIVITY_SNAPSHOT", "messageId"),
    "AD": ("ACTIVITY_DELTA", "messageId"),
    "STEP+": ("STEP_STARTED", "stepName"),
    "STEP-": ("STEP_FINISHED", "stepName"),
    "SUB+": ("SUBAGENT_STARTED", "subagentRunId"),
    "SUB-": ("SUBAGENT_FINISHED", "subagentRunId"),
    "SUB!": ("SUBAGENT_ERROR", "subagentRunId"),
    "STATE": ("STATE_SNAPSHOT",),
    "PATCH": ("STATE_DELTA",),
    "CUSTOM": ("CUSTOM", "name"),
    "RAW": ("RAW",),
    "SNAP": ("MESSAGES_SNAPSHOT",),
}
# What an event needs and no rule depends on.
REST: dict[str, Json] = {
    "RS": {"threadId": "t"},
    "RF": {"threadId": "t"},
    "TS": {"role": "assistant"},
    "KS": {"toolCallName": "search"},
    "KR": {"content": "found"},
    "GS": {"role": "reasoning"},
    "EV": {"encryptedValue": "x"},
    "AS": {"activityType": "plan", "content": {"a": 0}},
    "AD": {"activityType": "plan", "patch": [{"op": "replace", "path": "/a", "value": 1}]},
    "SUB+": {"name": "researcher"},
    "SUB!": {"message": "broken"},
    "STATE": {"snapshot": {"subagentRunId": "s"}},
    "PATCH": {"delta": [{"op": "add", "path": "/a", "value": {"subagentRunId": "s"}}]},
    "CUSTOM": {"value": None},
    "RAW": {"event": {"subagentRunId": "s"}},
}
MESSAGE = re.compile(r"(?P<id>\w+)(:(?P<role>\w+))?(?P<calls>(\+\w+)*)(=(?P<call>\w+))?(@(?P<tag>\w+))?")


def stream(text: str) -> list[Json]:
    """The events of a stream in the notation."""
    return [event(*line.split()) for line in text.split(";") if line.strip()]


def event(code: str, *words: str) -> Json:
    """One event: its code and its words."""
    type, *names = CODES[code]
    members: Json = {"type": type, **REST.get(code, {})}
    plain = [word for word in words if _is_plain(code, word)]
    members |= {name: word for name, word in zip(names, plain, strict=False) if word != "_"}
    listed = [message(word) for word in plain[len(names) :]]
    if code == "SNAP":
        members["messages"] = listed
    elif listed:
        members["input"] = {"threadId": "t", "runId": members["runId"], "messages": listed}
    for word in words:
        if word.startswith("@"):
            members["subagentRunId"] = word[1:]
        elif "=" in word and word not in plain:
            name, _, value = word.partition("=")
            members[name] = json.loads(value)
    return members


def _is_plain(code: str, word: str) -> bool:
    """Whether a word is not `name=json` and not the event's own tag. What answers a call has a `=` too."""
    listed = code in ("SNAP", "RS") and MESSAGE.fullmatch(word) is not None
    return listed or not ("=" in word or word.startswith("@"))


def message(word: str) -> Json:
    """One message of a snapshot or an echo."""
    match = MESSAGE.fullmatch(word)
    assert match is not None, word
    role = match["role"] or ("tool" if match["call"] else "assistant")
    members: Json = {"id": match["id"], "role": role, "content": "hello"}
    if role == "activity":
        members |= {"activityType": "plan", "content": {"a": 0}}
    if match["call"]:
        members["toolCallId"] = match["call"]
    if match["calls"]:
        calls = match["calls"][1:].split("+")
        members["toolCalls"] = [
            {"id": call, "type": "function", "function": {"name": "search", "arguments": "{}"}} for call in calls
        ]
    return members | ({"subagentRunId": match["tag"]} if match["tag"] else {})


def untagged(events: list[Json]) -> list[Json]:
    """The events without their own tags; what they carry keeps its."""
    return [{name: value for name, value in event.items() if name != "subagentRunId"} for event in events]

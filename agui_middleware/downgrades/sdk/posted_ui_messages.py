"""The messages of TanStack's client before its 0.10.0, which posts no RunAgentInput.

    posted    {"messages": [{"id", "role", "parts": [{"type": "text", "content"}, {"type": "tool-call", ...}]}],
               "data": {"conversationId"}}

From 0.10.0 on it posts the same as a RunAgentInput, in which each part has become what it becomes here.
"""

from collections.abc import Iterator
from typing import Any, Final

from agui_middleware.downgrades.content_parts import is_media
from agui_middleware.protocol.event import JsonObject, as_id
from agui_middleware.protocol.json_object import encode
from agui_middleware.protocol.posted import Posted, as_message

_OWN: Final = ("parts", "createdAt")


def ui_messages_as_input(posted: Posted) -> Posted:
    """Make a RunAgentInput of them: the conversation is the thread, and the message that was posted last names the run.

    A body that names no conversation, or that is a RunAgentInput, stays as it is.
    """
    data, last = posted.input.get_object("data"), posted.messages[-1][0].id if posted.messages else None
    thread = None if data is None else data.get("conversationId")
    if "threadId" in posted.input or not isinstance(thread, str) or last is None:
        return posted
    messages = [JsonObject.of(bytes(raw)) for _, raw in posted.messages]
    after = [as_message(written) for message in messages for written in _written(message)]
    input = posted.input.without("data").replace(threadId=thread, runId=last, forwardedProps=data)
    return posted.with_input(input).with_messages(after)


def _written(message: JsonObject) -> Iterator[JsonObject]:
    """A message of TanStack's as those of the protocol: reasoning, the message itself, and the results of its calls."""
    parts = message.get_list("parts")
    if parts is None:
        yield message
        return
    known = [part for part in parts if isinstance(part, JsonObject)]
    thoughts = [part for part in known if part.get("type") == "thinking"]
    for number, part in enumerate(thoughts):
        id = f"{message.get('id')}-reasoning-{number}"
        yield JsonObject({"role": "reasoning", "id": id, "content": _text(part)})
    yield _message(message, known)
    yield from _results(known)


def _message(message: JsonObject, parts: list[JsonObject]) -> JsonObject:
    calls = [_call(part) for part in parts if part.get("type") == "tool-call"]
    contents = [part for part in parts if part.get("type") == "text" or is_media(part)]
    changes: dict[str, Any] = {}
    if any(map(is_media, contents)):
        changes["content"] = [part if is_media(part) else {"type": "text", "text": _text(part)} for part in contents]
    elif contents or message.get("role") != "assistant":
        changes["content"] = "".join(map(_text, contents))
    if calls:
        changes["toolCalls"] = calls
    return message.without(*_OWN).replace(**changes)


def _call(part: JsonObject) -> dict[str, Any]:
    function = {"name": part.get("name"), "arguments": part.get("arguments", "")}
    return {"id": part.get("id"), "type": "function", "function": function}


def _results(parts: list[JsonObject]) -> Iterator[JsonObject]:
    results = {as_id(part.get("toolCallId")): _text(part) for part in parts if part.get("type") == "tool-result"}
    for part in parts:  # the result of a tool that the client ran stands in its call
        id = as_id(part.get("id"))
        if part.get("type") == "tool-call" and "output" in part and id not in results:
            output = part["output"]
            results[id] = output if isinstance(output, str) else encode(output).decode()
    for call, content in results.items():
        if call is not None:
            yield JsonObject({"role": "tool", "id": f"tool-{call}", "toolCallId": call, "content": content})


def _text(part: JsonObject) -> str:
    content = part.get("content")
    return content if isinstance(content, str) else ""

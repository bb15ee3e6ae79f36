"""Messages and tool calls in several pieces, put together again in the conversation that a client posts.

A release before 0.0.44 makes a second message of one that is continued after its end, one before 0.0.58 a second call:

    posted    assistant m1 "The answer", tool call c1, assistant m1 " is 42"
    upgraded  assistant m1 "The answer is 42", tool call c1

A server that finds messages by their id, as LangGraph does, would replace the first piece by the second.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from agui_middleware.protocol.event import JsonObject, as_id
from agui_middleware.protocol.json_object import UNDECODABLE
from agui_middleware.protocol.messages import calls_of

_STARTED: Final = frozenset({"assistant", "user", "system", "developer"})  # roles that a TEXT_MESSAGE_START may have
_is_json = msgspec.json.Decoder(msgspec.Raw).decode


def join_texts(input: JsonObject) -> JsonObject:
    """Put the pieces of messages together, each message in the place of its first piece, and those of tool calls."""
    return join_calls(_joined(input, texts=True))


def join_calls(input: JsonObject) -> JsonObject:
    """Put the pieces of tool calls together, each call in the message of its first piece.

    Two calls whose arguments are complete are not pieces of one: an agent has used the id twice. Only an exact copy that no
    result of its own follows goes.
    """
    joined = _joined(input, texts=False)
    messages = joined.get_list("messages") or []
    after = _with_whole_calls(messages)
    return joined if after is messages else joined.replace(messages=after)


def _joined(input: JsonObject, *, texts: bool) -> JsonObject:
    before = input.get_list("messages") or []
    after: dict[int, Any] = dict(enumerate(before))
    first: dict[str, int] = {}
    for place, message in enumerate(before):
        id = as_id(message.get("id")) if isinstance(message, JsonObject) else None
        earlier = place if id is None else first.setdefault(id, place)
        if earlier != place and (whole := _whole(after[earlier], message, texts)) is not None:
            after[earlier] = whole
            del after[place]
    return input if len(after) == len(before) else input.replace(messages=list(after.values()))


def _whole(first: JsonObject, piece: JsonObject, texts: bool) -> JsonObject | None:
    """The two as one message. `None` where the second is a message of its own, such as a tool's second result."""
    text, calls = _content(piece), piece.get_list("toolCalls") or []
    role, known = piece.get("role"), _content(first)
    if role not in _STARTED or not isinstance(text, str) or not (texts or text == ""):
        return None
    if (role != "assistant" and text) or (calls and first.get("role") != "assistant"):
        return None
    if text and not isinstance(known, str):
        return None
    changes: dict[str, Any] = {"content": known + text} if text else {}
    if calls:
        changes["toolCalls"] = [*(first.get_list("toolCalls") or ()), *calls]
    added = {name: value for name, value in piece.members().items() if name not in first and name != "content"}
    return first.replace(**{**added, **changes}) if added or changes else first


def _content(message: JsonObject) -> Any:
    content = message.get("content")
    return "" if content is None else content


def _with_whole_calls(messages: list[Any]) -> list[Any]:
    """The messages with every tool call once; the same list where nothing changed."""
    if not _repeats_a_call(messages):
        return messages
    results = Counter(result for message in messages for result in _answered(message))
    first: dict[str, tuple[int, int]] = {}
    calls: dict[int, list[Any]] = {}
    changed = set()
    for place, message in enumerate(messages):
        calls[place] = []
        for call in calls_of(message):
            id = as_id(call.get("id"))
            holder, index = first.setdefault(id, (place, len(calls[place]))) if id is not None else (place, -1)
            if (holder, index) in ((place, len(calls[place])), (place, -1)):
                calls[place].append(call)
            elif (whole := _continued(calls[holder][index], call, results[id] > 1)) is not None:
                calls[holder][index] = whole
                changed |= {holder, place}
            else:
                calls[place].append(call)
    kept = (
        _with_calls(message, calls[place]) if place in changed else message for place, message in enumerate(messages)
    )
    return [message for message in kept if message is not None] if changed else messages


def _repeats_a_call(messages: list[Any]) -> bool:
    ids = [as_id(call.get("id")) for message in messages for call in calls_of(message)]
    return len(set(ids)) < len(ids)


def _answered(message: Any) -> Iterator[Any]:
    if isinstance(message, JsonObject) and message.get("role") == "tool":
        yield as_id(message.get("toolCallId"))


def _continued(first: JsonObject, piece: JsonObject, several_results: bool) -> JsonObject | None:
    """The two as one call, with the name of the second; `None` where the second is a call of its own."""
    function, more = first.get_object("function"), piece.get_object("function")
    if function is None or more is None:
        return None
    arguments, added = function.get("arguments"), more.get("arguments")
    if not isinstance(arguments, str) or not isinstance(added, str):
        return None
    if _is_complete(arguments) and _is_complete(added):
        copied = arguments == added and function.get("name") == more.get("name")
        return first if copied and not several_results else None
    return first.replace(function=function.replace(name=more.get("name"), arguments=arguments + added))


def _is_complete(arguments: str) -> bool:
    try:
        _is_json(arguments)
    except UNDECODABLE:
        return False
    return True


def _with_calls(message: JsonObject, calls: list[Any]) -> JsonObject | None:
    """The message with these calls; `None` where it was there for calls alone, and has none left."""
    if calls:
        return message.replace(toolCalls=calls)
    return message.without("toolCalls") if message.get("content") else None

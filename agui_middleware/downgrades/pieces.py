"""Messages and tool calls in several pieces, put together again in the conversation that a client posts.

A release before 0.0.44 makes a second message of one that is continued after its end, one before 0.0.58 a second call:

    posted    assistant m1 "The answer", tool call c1, assistant m1 " is 42"
    upgraded  assistant m1 "The answer is 42", tool call c1

A server that finds messages by their id, as LangGraph does, would replace the first piece by the second.
"""

from collections import Counter
from typing import Any, Final

import msgspec
from msgspec import Raw

from agui_middleware.downgrades.result_order import results_behind_calls
from agui_middleware.protocol.event import JsonObject, as_id
from agui_middleware.protocol.json_object import UNDECODABLE
from agui_middleware.protocol.messages import calls_of
from agui_middleware.protocol.posted import MessageHead, Posted, as_message

_STARTED: Final = frozenset({"assistant", "user", "system", "developer"})  # roles that a TEXT_MESSAGE_START may have
_is_json = msgspec.json.Decoder(Raw).decode


def join_texts(posted: Posted) -> Posted:
    """Put the pieces of messages together, each message in the place of its first piece, and those of tool calls."""
    return join_calls(_joined(posted, texts=True))


def join_calls(posted: Posted) -> Posted:
    """Put the pieces of tool calls together, each call in the message of its first piece.

    Two calls whose arguments are complete are not pieces of one: an agent has used the id twice. Only an exact copy that no
    result of its own follows goes.
    """
    joined = _joined(posted, texts=False)
    ids = [call.id for head, _ in joined.messages if head.toolCalls for call in head.toolCalls if call.id is not None]
    whole = joined if len(set(ids)) == len(ids) else _with_whole_calls(joined)
    return joined if whole is joined else results_behind_calls(whole)  # that of a piece follows the whole call


def _joined(posted: Posted, *, texts: bool) -> Posted:
    if len({head.id for head, _ in posted.messages}) == len(posted.messages):
        return posted
    after: dict[int, tuple[MessageHead, Raw]] = dict(enumerate(posted.messages))
    first: dict[str, int] = {}
    for place, (head, raw) in enumerate(posted.messages):
        earlier = place if head.id is None else first.setdefault(head.id, place)
        if earlier != place and head.role in _STARTED:
            known = JsonObject.of(bytes(after[earlier][1]))
            whole = _whole(known, JsonObject.of(bytes(raw)), texts)
            if whole is not None:
                after[earlier] = after[earlier] if whole is known else as_message(whole)
                del after[place]
    return posted if len(after) == len(posted.messages) else posted.with_messages(after.values())


def _whole(first: JsonObject, piece: JsonObject, texts: bool) -> JsonObject | None:
    """The two as one message. `None` where the second is a message of its own, such as what a user has typed."""
    text, calls = _content(piece), piece.get_list("toolCalls") or []
    role, known = piece.get("role"), _content(first)
    if not isinstance(text, str) or not (texts or text == ""):
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


def _with_whole_calls(posted: Posted) -> Posted:
    messages = [(head, raw, _calls(head, raw)) for head, raw in posted.messages]
    results = Counter(head.toolCallId for head, _ in posted.messages if head.role == "tool")
    first: dict[str, tuple[int, int]] = {}
    kept: list[list[JsonObject]] = []
    changed = set()
    for place, (_, _, calls) in enumerate(messages):
        kept.append([])
        for call in calls:
            id = as_id(call.get("id"))
            holder, index = (place, len(kept[place])) if id is None else first.setdefault(id, (place, len(kept[place])))
            known = kept[holder][index] if (holder, index) != (place, len(kept[place])) else None
            whole = None if known is None else _continued(known, call, results[id] > 1)
            if whole is None:
                kept[place].append(call)
            else:
                kept[holder][index] = whole
                changed |= {holder, place}
    after = (
        (head, raw) if place not in changed else _with_calls(raw, kept[place])
        for place, (head, raw, _) in enumerate(messages)
    )
    return posted.with_messages([message for message in after if message is not None]) if changed else posted


def _calls(head: MessageHead, raw: Raw) -> list[JsonObject]:
    return list(calls_of(JsonObject.of(bytes(raw)))) if head.toolCalls else []


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


def _with_calls(raw: Raw, calls: list[JsonObject]) -> tuple[MessageHead, Raw] | None:
    """The message with these calls; `None` where it was there for calls alone, and has none left."""
    message = JsonObject.of(bytes(raw))
    if calls:
        return as_message(message.replace(toolCalls=calls))
    return as_message(message.without("toolCalls")) if message.get("content") else None

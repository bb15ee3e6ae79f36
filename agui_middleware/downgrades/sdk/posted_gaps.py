"""What typed SDKs leave out of a posted conversation, or post as null, so that a server refuses the request.

Go posts null for every list that is not set. .NET posts null for a message's `name`, `content` and `id`, Dart leaves out an
`id` that the application has not given. C++ leaves out a content that is empty, also of a tool's result, and the content of
activities, which Kotlin calls `activityContent`.
"""

from typing import Final

from msgspec import Raw

from agui_middleware.downgrades.sdk.null_members import message_without_nulls
from agui_middleware.protocol.event import JsonObject, as_id
from agui_middleware.protocol.messages import edit_elements, edit_object
from agui_middleware.protocol.posted import MessageHead, Posted, as_message

_HAVE_TEXT: Final = frozenset({"user", "system", "developer", "tool", "reasoning"})


def without_gaps(posted: Posted) -> Posted:
    """Fill in what is empty, and remove nulls. An activity without its content goes: 1.0.0 posts none.

    A message without an id is named for its thread and its place, so that it is the same one in the next request.
    """
    input = posted.input
    empty: dict[str, object] = {name: {} for name in ("state", "forwardedProps") if input.get(name, "") is None}
    if not posted.messages and input.get("messages") is None:
        empty["messages"] = []
    posted = posted.with_members(**empty) if empty else posted
    after = [
        _mended(head, raw, f"{input.get('threadId')}-{place}") for place, (head, raw) in enumerate(posted.messages)
    ]
    changed = any(new is None or new[1] is not old[1] for new, old in zip(after, posted.messages, strict=True))
    return posted.with_messages(message for message in after if message is not None) if changed else posted


def _mended(head: MessageHead, raw: Raw, id: str) -> tuple[MessageHead, Raw] | None:
    read = bytes(raw)
    is_whole = head.id is not None and head.role != "activity" and b'"content"' in read and b"null" not in read
    if is_whole or read[:1] != b"{":
        return head, raw
    before = JsonObject.of(read)
    after = _message(before, id)
    return None if after is None else (head, raw) if after is before else as_message(after)


def _message(message: JsonObject, id: str) -> JsonObject | None:
    message = message_without_nulls(message)
    if message.get("id") is None:
        message = message.replace(id=id)
    role = as_id(message.get("role"))
    if role == "activity":
        return _activity(message)
    if role in _HAVE_TEXT and message.get("content") is None:
        message = message.replace(content="")
    return edit_elements(message, "toolCalls", lambda call: edit_object(call, "function", _function))


def _activity(message: JsonObject) -> JsonObject | None:
    if "content" in message:
        return message
    content = message.get_object("activityContent")
    return None if content is None else message.replace(content=content).without("activityContent")


def _function(function: JsonObject) -> JsonObject:
    return function if function.get("arguments") is not None else function.replace(arguments="")

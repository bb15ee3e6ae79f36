"""Members that are posted in snake_case.

SDKs in Python name them as their classes do: AGUIChatClient those of the input and `tool_calls`, ragas all; Dart 0.1.0
`thread_id` and `run_id`. Servers on Pydantic's models take both spellings, others refuse the request or read no calls.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from agui_middleware.protocol.event import JsonObject
from agui_middleware.protocol.messages import edit_elements, edit_object
from agui_middleware.protocol.posted import Posted


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _names(*names: str) -> Mapping[str, str]:
    return {name: _camel(name) for name in names}


# What an application names stays as it is: state, forwarded properties, arguments, metadata, schemas.
_OF_AN_INPUT: Final = _names("thread_id", "run_id", "parent_run_id", "protocol_version", "forwarded_props")
_OF_A_MESSAGE: Final = _names(
    "tool_calls", "tool_call_id", "encrypted_value", "encrypted_value_type", "activity_type", "subagent_run_id"
)
_OF_A_CALL: Final = _names("encrypted_value", "encrypted_value_type")
_OF_A_PART: Final = _names("mime_type")
_OF_AN_ANSWER: Final = _names("interrupt_id")


def camel_case_names(posted: Posted) -> Posted:
    """Name them as the protocol does. Where both spellings are there, the protocol's stays."""
    input = edit_elements(
        _renamed(posted.input, _OF_AN_INPUT), "resume", lambda answer: _renamed(answer, _OF_AN_ANSWER)
    )
    return posted.with_input(input).edit(_message, containing=b"_")


def _message(message: JsonObject) -> JsonObject:
    message = _renamed(message, _OF_A_MESSAGE)
    message = edit_elements(message, "toolCalls", lambda call: _renamed(call, _OF_A_CALL))
    return edit_elements(message, "content", _part)


def _part(part: JsonObject) -> JsonObject:
    return edit_object(_renamed(part, _OF_A_PART), "source", lambda source: _renamed(source, _OF_A_PART))


def _renamed(holder: JsonObject, names: Mapping[str, str]) -> JsonObject:
    snake = names.keys() & holder.keys()
    if not snake:
        return holder
    kept: Iterable[tuple[str, object]] = (
        (names.get(name, name), value)
        for name, value in holder.members().items()
        if not (name in snake and names[name] in holder)
    )
    return JsonObject(dict(kept))

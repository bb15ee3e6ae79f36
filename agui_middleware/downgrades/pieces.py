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
from agui_middleware.protocol.event import UNSET, JsonObject, as_id
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
    first: dict[str, int] = {}
    wholes: dict[int, _Whole] = {}
    pieces: set[int] = set()
    for place, (head, raw) in enumerate(posted.messages):
        earlier = place if head.id is None else first.setdefault(head.id, place)
        if earlier != place and head.role in _STARTED:
            if earlier not in wholes:
                wholes[earlier] = _Whole(posted.messages[earlier])
            if wholes[earlier].takes(JsonObject.of(bytes(raw)), texts):
                pieces.add(place)
    if not pieces:
        return posted
    kept = ((place, message) for place, message in enumerate(posted.messages) if place not in pieces)
    return posted.with_messages(wholes[place].message() if place in wholes else message for place, message in kept)


class _Whole:
    """A message that is put together: joined once, and not at each of its pieces."""

    def __init__(self, message: tuple[MessageHead, Raw]) -> None:
        self._before = message
        self._first = JsonObject.of(bytes(message[1]))
        content, self._role = _content(self._first), self._first.get("role", UNSET)
        self._texts: list[str] | None = [content] if isinstance(content, str) else None
        self._calls = list(self._first.get_list("toolCalls") or ())
        self._changes: dict[str, Any] = {}

    def takes(self, piece: JsonObject, texts: bool) -> bool:
        """Add a piece; `False` where it is a message of its own, such as what a user has typed."""
        text, calls = _content(piece), piece.get_list("toolCalls") or []
        role = piece.get("role", UNSET)
        if not isinstance(text, str) or not (texts or text == ""):
            return False
        if (role != "assistant" and text) or (calls and self._role != "assistant"):
            return False
        if text and self._texts is None:
            return False
        for name, value in piece.members().items():
            if name not in self._first and name != "content":
                self._changes.setdefault(name, value)
        self._role = role if self._role is UNSET else self._role
        if text and self._texts is not None:
            self._texts.append(text)
            self._changes["content"] = self._texts
        if calls:
            self._calls += calls
            self._changes["toolCalls"] = self._calls
        return True

    def message(self) -> tuple[MessageHead, Raw]:
        """The message with all its pieces; the very same pair where they add nothing."""
        if not self._changes:
            return self._before
        changes = dict(self._changes)
        if "content" in changes:
            changes["content"] = "".join(self._texts or ())
        return as_message(self._first.replace(**changes))


def _content(message: JsonObject) -> Any:
    content = message.get("content")
    return "" if content is None else content


def _with_whole_calls(posted: Posted) -> Posted:
    messages = [(head, raw, _calls(head, raw)) for head, raw in posted.messages]
    results = Counter(head.toolCallId for head, _ in posted.messages if head.role == "tool")
    checks = _Checks(16 * sum(len(bytes(raw)) for _, raw, calls in messages if calls))
    first: dict[str, tuple[int, _WholeCall]] = {}
    kept: list[list[_WholeCall]] = []
    changed = set()
    for place, (_, _, calls) in enumerate(messages):
        kept.append([])
        for call in calls:
            id, whole = as_id(call.get("id")), _WholeCall(call, checks)
            holder, known = (place, whole) if id is None else first.setdefault(id, (place, whole))
            if known is whole or not known.takes(call, results[id] > 1):
                kept[place].append(whole)
            else:
                changed |= {holder, place}
    after = (
        (head, raw) if place not in changed else _with_calls(raw, [call.json() for call in kept[place]])
        for place, (head, raw, _) in enumerate(messages)
    )
    return posted.with_messages([message for message in after if message is not None]) if changed else posted


def _calls(head: MessageHead, raw: Raw) -> list[JsonObject]:
    return list(calls_of(JsonObject.of(bytes(raw)))) if head.toolCalls else []


class _Checks:
    """Looks whether arguments are complete, at so many bytes in all: each piece could be one for which to look again."""

    def __init__(self, left: int) -> None:
        self._left = left

    def is_complete(self, arguments: str) -> bool:
        """Whether arguments are JSON; `False` where nobody looks any more."""
        self._left -= len(arguments)
        if self._left < 0:
            return False
        try:
            _is_json(arguments)
        except UNDECODABLE:
            return False
        return True


class _WholeCall:
    """A call that is put together: joined once, and not at each of its pieces."""

    def __init__(self, first: JsonObject, checks: _Checks) -> None:
        self._first = first
        self._checks = checks
        self._function: JsonObject | None = None
        self._name: Any = None
        self._arguments: list[str] = []

    def takes(self, piece: JsonObject, several_results: bool) -> bool:
        """Add a piece, whose name counts; `False` where it is a call of its own."""
        function, more = self._function or self._first.get_object("function"), piece.get_object("function")
        if function is None or more is None:
            return False
        begun, added = function.get("arguments"), more.get("arguments")
        if not isinstance(begun, str) or not isinstance(added, str):
            return False
        if self._checks.is_complete(added) and self._checks.is_complete(known := self._joined(begun)):
            name = function.get("name") if self._function is None else self._name
            return known == added and name == more.get("name") and not several_results
        if self._function is None:
            self._function, self._arguments = function, [begun]
        self._arguments.append(added)
        self._name = more.get("name")
        return True

    def json(self) -> JsonObject:
        """The call with all its pieces; the very same object where they add nothing."""
        if self._function is None:
            return self._first
        function = self._function.replace(name=self._name, arguments=self._joined(""))
        return self._first.replace(function=function)

    def _joined(self, begun: str) -> str:
        if self._function is None:
            return begun
        self._arguments = ["".join(self._arguments)]
        return self._arguments[0]


def _with_calls(raw: Raw, calls: list[JsonObject]) -> tuple[MessageHead, Raw] | None:
    """The message with these calls; `None` where it was there for calls alone, and has none left."""
    message = JsonObject.of(bytes(raw))
    if calls:
        return as_message(message.replace(toolCalls=calls))
    return as_message(message.without("toolCalls")) if message.get("content") else None

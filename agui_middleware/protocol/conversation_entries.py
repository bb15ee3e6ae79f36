"""The messages and tool calls of a conversation while a stream changes them; untouched ones keep their bytes."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

from msgspec import Raw

from agui_middleware.protocol.event import as_id
from agui_middleware.protocol.json_object import JsonObject
from agui_middleware.protocol.posted import CallHead, MessageHead


class Call:
    """A tool call. `name` and what is appended to its arguments are set apart from the JSON that it came in."""

    __slots__ = ("_changes", "_source", "arguments", "id", "marker", "name")

    def __init__(self, id: str, source: JsonObject | None) -> None:
        self.id: str = id
        self.name: str | None = None
        self.arguments: list[str] | None = None
        self.marker: object = None
        """For whoever leaves out arguments that it has seen elsewhere: what stands in their place."""
        self._source = source
        self._changes: dict[str, Any] = {}

    def append(self, delta: str) -> bool:
        """Append to the arguments; returns whether it did."""
        if self.arguments is None:
            self.arguments = [self.so_far()]
        self.arguments.append(delta)
        return True

    def so_far(self) -> str:
        """The arguments."""
        if self.arguments is not None:
            return "".join(self.arguments)
        before = None if self._source is None else self._function().get("arguments")
        return before if isinstance(before, str) else ""

    def get(self, name: str) -> Any:
        """A member other than `function`."""
        return self._changes.get(name, None if self._source is None else self._source.get(name))

    def set(self, name: str, value: Any) -> None:
        """Set a member other than `function`."""
        self._changes[name] = value

    def merge_metadata(self, added: Mapping[str, Any]) -> None:
        """Put names into its metadata."""
        _merge_metadata(self._changes, self.get("metadata"), added)

    def json(self) -> JsonObject:
        """The call as it stands in its message."""
        function: dict[str, Any] = {} if self.name is None else {"name": self.name}
        if self.arguments is not None:
            function["arguments"] = "".join(self.arguments)
        if self._source is None:
            whole = {"name": "", "arguments": "", **function}
            return JsonObject({"id": self.id, "type": "function", "function": whole, **self._changes})
        changes = dict(self._changes)
        if function:
            changes["function"] = self._function().replace(**function)
        return self._source.replace(**changes) if changes else self._source

    def _function(self) -> JsonObject:
        function = None if self._source is None else self._source.get_object("function")
        return JsonObject({}) if function is None else function


class Entry:
    """A message in the list of a conversation."""

    __slots__ = (
        "_calls",
        "_changes",
        "_head",
        "_last_result",
        "_raw",
        "_source",
        "borrowed",
        "id",
        "marker",
        "next",
        "role",
        "text",
    )

    def __init__(self, head: MessageHead, raw: Raw) -> None:
        self.id: str | None = head.id
        self.role: Any = head.role
        self.text: list[str] | None = None
        self.next: Entry | None = None
        self.marker: object = None
        """As `Call.marker`, for its text."""
        self.borrowed: bool = False
        """Whether it keeps the bytes of the whole event that brought it."""
        self._head = head
        self._raw: Raw | None = raw
        self._source: JsonObject | None = None
        self._calls: list[Any] | None = None
        self._changes: dict[str, Any] = {}
        self._last_result: Entry | None = None  # not itself, which would wait for the garbage collector

    @classmethod
    def new(cls, members: dict[str, Any]) -> Self:
        """A message that the stream makes."""
        entry = cls(MessageHead(members["id"], as_id(members["role"]), as_id(members.get("toolCallId"))), Raw(b""))
        entry.become(members)
        return entry

    def become(self, members: dict[str, Any]) -> None:
        """Take over other members altogether."""
        self._raw, self._source, self._calls, self.text, self.marker = None, JsonObject(members), None, None, None
        self._changes = {}
        self.role = members["role"]
        self._head = MessageHead(self.id, as_id(self.role), as_id(members.get("toolCallId")))

    def append(self, delta: str) -> bool:
        """Append to its text, which begins anew where the content was content parts; returns whether it did."""
        if self.role == "activity":
            return False
        if self.text is None:
            self.text = [self.so_far()]
        self.text.append(delta)
        return True

    def so_far(self) -> str:
        """Its text; empty where the content is no text."""
        if self.text is not None:
            return "".join(self.text)
        before = self.get("content")
        return before if isinstance(before, str) else ""

    def get(self, name: str) -> Any:
        """A member other than the content and the calls that the stream has made."""
        return self._changes.get(name, self._object().get(name))

    def set(self, name: str, value: Any) -> None:
        """Set a member other than content and calls; not of an activity, whose members nobody posts."""
        if self.role != "activity":
            self._changes[name] = value

    def merge_metadata(self, added: Mapping[str, Any]) -> None:
        """Put names into its metadata; not into an activity's."""
        if self.role != "activity":
            _merge_metadata(self._changes, self.get("metadata"), added)

    def detach(self) -> int:
        """Copy what it keeps of the event that brought it, so that this can be freed; returns how many bytes."""
        copied = self._raw if self.borrowed else None
        self.borrowed = False
        if copied is None:
            return 0
        self._raw = copied.copy()
        return len(bytes(copied))

    def call_ids(self) -> Iterable[str]:
        """The ids of the calls that it came with."""
        return self._head.calls if self._head.toolCalls else ()

    def calls(self) -> Iterable[Call]:
        """Its calls that have ids."""
        return (call for call in self._read_calls() if isinstance(call, Call))

    def add_call(self, id: str) -> Call:
        """Add a call."""
        call = Call(id, None)
        self._read_calls().append(call)
        return call

    def last_result(self) -> "Entry":
        """The last of the tool messages that follow it; itself where none does."""
        entry = self._last_result or self
        while entry.next is not None and entry.next.role == "tool":
            entry = entry.next
        self._last_result = entry if entry is not self else None
        return entry

    def message(self) -> tuple[MessageHead, Raw]:
        """The message as it is posted; the pair that it came as where nothing has changed it."""
        changes = dict(self._changes)
        if self.text is not None:
            changes["content"] = "".join(self.text)
        if self._calls is not None:
            changes["toolCalls"] = [call.json() if isinstance(call, Call) else call for call in self._calls]
        if self._raw is not None and not changes:
            return self._head, self._raw
        heads = self._head.toolCalls
        if self._calls is not None:
            heads = [CallHead(call.id if isinstance(call, Call) else None) for call in self._calls]
        message = self._object().replace(**changes) if changes else self._object()
        return MessageHead(self.id, self._head.role, self._head.toolCallId, heads), Raw(message.raw)

    def _object(self) -> JsonObject:
        if self._source is None:
            self._source = JsonObject.of(bytes(self._raw or b"{}"))
        return self._source

    def _read_calls(self) -> list[Any]:
        if self._calls is None:
            calls = self._object().get_list("toolCalls") or []
            self._calls = [_as_call(call) for call in calls]
        return self._calls


def _as_call(value: Any) -> Any:
    id = as_id(value.get("id")) if isinstance(value, JsonObject) else None
    return value if id is None else Call(id, value)


def _merge_metadata(changes: dict[str, Any], before: Any, added: Mapping[str, Any]) -> None:
    """In place from the second time on: a copy for each token would grow with the square of their number."""
    if type(changes.get("metadata")) is not _Metadata:
        changes["metadata"] = _Metadata(before if isinstance(before, dict) else {})
    changes["metadata"].update(added)


class _Metadata(dict[str, Any]):
    """Metadata of this conversation's own."""

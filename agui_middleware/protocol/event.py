"""One AG-UI event: a JSON object that remembers its bytes, and the few members that every filter looks at."""

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, final

import msgspec
from msgspec import UNSET, Raw

from agui_middleware.protocol import json_scan
from agui_middleware.protocol.event_types import EVENT_KINDS
from agui_middleware.protocol.json_object import UNDECODABLE, JsonObject, MalformedEvent, decode
from agui_middleware.protocol.tag_cuts import TaggedMessage, cut_message_tags, cut_tag

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["UNSET", "Event", "Head", "JsonObject", "MalformedEvent", "as_event", "as_id"]


class Head(msgspec.Struct, gc=False, frozen=True):
    """The members that filters look at on every event, decoded once; `UNSET` where absent.

    All but `type` may be of any JSON type: a malformed event is still an event, and not ours to repair.
    """

    type: str
    messageId: Any = UNSET
    toolCallId: Any = UNSET
    subagentRunId: Any = UNSET
    parentMessageId: Any = UNSET
    entityId: Any = UNSET
    stepName: Any = UNSET


class _SnapshotHead(Head, gc=False, frozen=True):
    """The same, and the tags of the messages of a snapshot: in one reading, which is most of what a large event costs."""

    messages: list[TaggedMessage] = []


_HEAD_MEMBERS = frozenset(Head.__struct_fields__)


def require_in_head(members: Iterable[str | None]) -> None:
    """Check that filters see all `members` of events. Raises `LookupError` with those that `Head` lacks."""
    if missing := {*members} - _HEAD_MEMBERS - {None}:
        raise LookupError(f"Head: no member {', '.join(map(str, missing))}, which names what an event is about")


require_in_head(kind.about.id for kind in EVENT_KINDS.values())
_LARGE = 16 * 1024  # bytes; from here on reading an event twice costs more than writing it anew
_LARGE_SNAPSHOT = b'{"type":"MESSAGES_SNAPSHOT",'
_decode_head = msgspec.json.Decoder(Head).decode
_decode_snapshot = msgspec.json.Decoder(_SnapshotHead).decode
_new = object.__new__
_replace_head = msgspec.structs.replace


@final
class Event(JsonObject):
    """One AG-UI event, an immutable `Mapping[str, Any]` over its JSON object.

    `Event(type="CUSTOM", name="x", value=1)` makes a new one; `replace` and `without` derive one from another and keep
    the bytes of every member they do not name, see `JsonObject`. `head` gives the members of `Head` without a look-up.

    An event carries the `id`, `event` and `retry` fields of its SSE frame, and so do the events derived from it; where
    several leave, the last one takes `id` and `retry`.
    """

    __slots__ = ("_tagged", "fields", "head")

    head: Head
    _tagged: list[TaggedMessage]  # the messages of a large snapshot, as it came; absent for every other event
    fields: Any  # the SSE fields of the frame it came in, opaque here; `None` for almost every event

    def __init__(self, /, type: str, **members: Any) -> None:
        if not isinstance(type, str):
            raise TypeError(f"an event's type is a string, not {type!r}")
        super().__init__({"type": str(type), **members})
        self.head = Head(str(type), **{name: _plain(members[name], name) for name in members.keys() & _HEAD_MEMBERS})
        self.fields = None

    @staticmethod
    def parse(raw: bytes, fields: Any = None) -> "Event":
        """Read one JSON object in UTF-8, on one line. Raises `MalformedEvent` where it is none, or has no string `type`."""
        try:
            head = _decode_head(raw) if len(raw) < _LARGE else _decode_large_head(raw)
        except UNDECODABLE:
            head = _scan_head(raw)
        event = _new(Event)
        event.head = head
        event.fields = fields
        event._raw = raw
        event._members = None
        event._values = None
        if len(raw) >= _LARGE and type(head) is _SnapshotHead:
            event._tagged = head.messages
        return event

    @property
    def type(self) -> str:
        return self.head.type

    def __getitem__(self, name: str) -> Any:
        if name in _HEAD_MEMBERS and (value := getattr(self.head, name)) is not UNSET:
            return value
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None, /) -> Any:
        if name not in _HEAD_MEMBERS:
            return super().get(name, default)
        value = getattr(self.head, name)
        return default if value is UNSET else value

    def __contains__(self, name: object) -> bool:
        if name in _HEAD_MEMBERS:
            return getattr(self.head, str(name)) is not UNSET
        return super().__contains__(name)

    def replace(self, **changes: Any) -> "Event":
        head = self.head
        if not _HEAD_MEMBERS.isdisjoint(changes):
            named = {name: _plain(value, name) for name, value in changes.items() if name in _HEAD_MEMBERS}
            if not isinstance(named.get("type", ""), str):
                raise TypeError("an event keeps a string 'type'")
            head = _replace_head(head, **named)
        return self._with({**self.members(), **changes}, head)

    def without(self, *names: str) -> "Event":
        if names == ("subagentRunId",) and type(self.head.subagentRunId) is str:
            return self.untagged()
        before = self.members()
        members = before.copy()
        for name in names:
            members.pop(name, None)
        if len(members) == len(before):
            return self
        if "type" not in members:
            raise TypeError("an event keeps a string 'type'")
        head = self.head
        if not _HEAD_MEMBERS.isdisjoint(names):
            head = _replace_head(head, **{name: UNSET for name in names if name in _HEAD_MEMBERS})
        return self._with(members, head)

    def untagged(self) -> "Event":
        """The event without its `subagentRunId`; the event itself where that is absent, or no string."""
        tag, raw = self.head.subagentRunId, self._raw
        if type(tag) is not str:
            return self
        if raw is not None and len(raw) < _LARGE and tag.isascii():
            # Nearly every event of a subagent loses its tag, and nothing else: a cut costs no decoding of the rest. One at
            # a nested tag leaves the event's own in sight; one through an escape leaves an odd number of quotes, no JSON.
            cut = cut_tag(raw, tag)
            if cut is not None:
                try:
                    shorter = Event.parse(cut, self.fields)
                except MalformedEvent:
                    shorter = self
                if shorter.head.subagentRunId is UNSET:
                    return shorter
        members = self.members().copy()
        del members["subagentRunId"]
        return self._with(members, _replace_head(self.head, subagentRunId=UNSET))

    def messages_untagged(self) -> "Event | None":
        """A large MESSAGES_SNAPSHOT without the tags of its messages: by a cut through the bytes, or the event itself.

        `None` where that cannot be proved to be right: the messages have to be read.
        """
        raw = self._raw
        if raw is None or not hasattr(self, "_tagged") or self.has_escapes() or self.head.subagentRunId is not UNSET:
            return None
        if all(message.subagentRunId is UNSET for message in self._tagged):
            return self
        shorter = cut_message_tags(raw, self._tagged)
        if shorter is None:
            return None
        return self.with_same_head(shorter)

    def with_same_head(self, raw: bytes) -> "Event":
        """The event that `raw` is, which nobody reads, since its `head` is known to be this one's."""
        other = _new(Event)
        other.head, other.fields, other._raw = self.head, self.fields, raw
        other._members = other._values = None
        return other

    def _with(self, members: dict[str, Any], head: Head) -> "Event":
        derived = _new(Event)
        derived.head = head
        derived.fields = self.fields
        derived._raw = None
        derived._members = members
        derived._values = None
        return derived


def _decode_large_head(raw: bytes) -> Head:
    if raw.startswith(_LARGE_SNAPSHOT):
        try:
            return _decode_snapshot(raw)
        except UNDECODABLE:
            pass  # what it calls messages is anything
    return _decode_head(raw)


def as_id(value: object) -> str | None:
    """An id as a key; `None` for what is none, since a malformed event may carry anything there, also what has no hash."""
    return value if isinstance(value, str) else None


def as_event(value: object) -> Event:
    """What a filter yielded as an event: an `Event`, a mapping, or a pydantic model such as those of ag-ui-protocol.

    Raises `TypeError` for anything else, and where there is no string `type`.
    """
    if isinstance(value, Event):
        return value
    # Without an import: pydantic costs as much as all else, and who yields a model has imported it.
    pydantic = sys.modules.get("pydantic")
    if pydantic is not None and isinstance(value, pydantic.BaseModel):
        value = _members_of_model(value)
    if not isinstance(value, Mapping):
        raise TypeError(f"a filter yields events, mappings or pydantic models, not {type(value).__name__}")
    return Event(**value)


def _members_of_model(model: "BaseModel") -> dict[str, Any]:
    """Its members under their camelCase aliases. An optional one that is not set is omitted, never null; a required one,
    such as the snapshot of a state, may well be null.
    """
    fields = type(model).model_fields.items()
    null = {
        field.serialization_alias or name: None
        for name, field in fields
        if field.is_required() and getattr(model, name) is None
    }
    return {**null, **model.model_dump(mode="json", by_alias=True, exclude_none=True)}


def _plain(value: Any, name: str) -> Any:
    return decode(bytes(value), name) if type(value) is Raw else value


def _scan_head(raw: bytes) -> Head:
    try:
        members = {name: value for name, value in json_scan.members(raw).items() if name in _HEAD_MEMBERS}
    except ValueError as error:
        raise MalformedEvent(f"not a JSON object: {error}") from error
    head = {name: _lenient(value) for name, value in members.items()}
    if not isinstance(head.get("type"), str):
        raise MalformedEvent("no string member 'type'")
    return Head(**head)


def _lenient(raw: bytes) -> Any:
    try:
        return json_scan.loads(raw)
    except RecursionError:  # nested past any id: of a wrong type all the same
        return Raw(raw)
